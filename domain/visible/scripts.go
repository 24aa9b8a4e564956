package visible

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// isWordRune reports whether r is part of a word: a letter, a combining mark or a digit.
func isWordRune(r rune, n int) bool {
	switch {
	case r < utf8.RuneSelf:
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	case r == utf8.RuneError && n < 2, reads(r) != 0, shapeless(r):
		return false
	}
	return unicode.In(r, unicode.L, unicode.M, unicode.Nd) || r >= 'Ⅰ' && r <= 'ↈ' // Roman numerals
}

// alphabet is an alphabet whose letters are mistaken for those of another.
type alphabet uint8

const (
	neutral alphabet = iota // of another script, or of none
	latin
	cyrillic
	greek
	further // Armenian, Cherokee, Coptic, Lisu
)

func alphabetOf(r rune) alphabet {
	switch {
	case r < utf8.RuneSelf:
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return latin
		}
		return neutral
	case !unicode.IsLetter(r):
		return neutral
	case unicode.Is(unicode.Latin, r):
		return latin
	case unicode.Is(unicode.Cyrillic, r):
		return cyrillic
	case unicode.Is(unicode.Greek, r):
		return greek
	case unicode.In(r, unicode.Armenian, unicode.Cherokee, unicode.Coptic, unicode.Lisu):
		return further
	}
	return neutral
}

// alike are the letters of other alphabets that look like a Latin one in most fonts.
const alike = "аеіјкорсԁһԛѕԝхуӏьАВЕІЈКМНОРСԌЅТХУҮԚԜЗӀ" + "αγικνορτυχϲϳωΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹϳ"

// looksLatin reports whether r is a letter of another alphabet that looks like a Latin one in most fonts.
func looksLatin(r rune) bool { return strings.ContainsRune(alike, r) }

// setting is the evidence for how the letters of a text are meant, without those shown by number: whether it contains a Latin letter beyond ASCII
// that does not look like ASCII, and a Cyrillic and a Greek letter that does not look Latin.
type setting struct{ latin, cyrillic, greek bool }

// settingOf returns the setting of a whole text. The text as shown has the same setting: the letters that it counts stay.
func settingOf(s string) setting {
	var t setting
	var odd [further + 1]int
	other := false
	for _, r := range s {
		switch a := alphabetOf(r); {
		case a == cyrillic || a == greek:
			if other = true; !looksLatin(r) {
				odd[a]++
			}
		case t.latin || r < utf8.RuneSelf || a != latin && (r < 0x300 || r > 0x36f): // accents may be separate characters
		default:
			t.latin = !asciiLike(r) && !wide(r) && !shapeless(r)
		}
	}
	if other {
		each(s, setting{latin: t.latin, cyrillic: true, greek: true}, func(p part) {
			if p.class == foreign && !looksLatin(p.r) {
				odd[alphabetOf(p.r)]--
			}
		})
	}
	t.cyrillic, t.greek = odd[cyrillic] > 0, odd[greek] > 0
	return t
}

// eachForeign yields the letters and digits of the word s[from:to] that look like others: those of another alphabet than the rest of the word if that
// misleads, fullwidth ones and those that look like ASCII next to ASCII, and all that look Latin if the text contains no other letter of their
// alphabet. Ordinary words that mix alphabets do not mislead: a Latin stem with a recognisably Cyrillic ending ("SQLом"), and signs of mathematics
// and physics ("Δx", "μs"). Directly after a mark, or around one, there is no such exception, because stem and mark could not be told apart.
//
// Every remaining part of a word contains less than the word did, so that nothing in it is yielded when the shown text is processed again.
func eachForeign(s string, from, to int, after bool, t setting, give func(part)) {
	if plain(s[from:to]) {
		return
	}
	var used [further + 1]int
	alphabets := 0
	ending, changes, looks := false, 0, false  // the ending after the stem has begun; letters that fit neither; a letter that looks like a Latin one
	odd := false                               // a Cyrillic letter that does not look like a Latin one
	ascii, wides, likes := false, false, false // ASCII, fullwidth, or like ASCII
	for _, r := range s[from:to] {
		ascii = ascii || r < utf8.RuneSelf
		wides = wides || wide(r)
		likes = likes || asciiLike(r)
		a := alphabetOf(r)
		if a == neutral {
			continue
		}
		if used[a]++; used[a] == 1 {
			alphabets++
		}
		like := a != latin && looksLatin(r)
		switch {
		case a == cyrillic:
			ending, odd = true, odd || !like
		case a == latin && ending:
			changes++
		}
		looks = looks || like
	}
	wides, likes = wides && ascii, likes && ascii && !t.latin
	after = after || wides || likes
	home := latin
	mixes := true
	switch {
	case alphabets < 2:
		mixes = false
	case used[latin] == 0 && used[cyrillic] > 0:
		home = cyrillic
	case used[latin] == 0:
		home = greek
	case after || alphabets > 2 || used[further] > 0:
	case used[cyrillic] > 0 && changes == 0 && odd, used[greek] > 0 && !looks:
		mixes = false
	}
	for i, r := range s[from:to] {
		a := alphabetOf(r)
		misread := mixes && a != neutral && a != home || wides && wide(r) || likes && asciiLike(r) ||
			a == cyrillic && !t.cyrillic || a == greek && !t.greek && used[greek] > 1
		if misread {
			give(part{from: from + i, to: from + i + utf8.RuneLen(r), r: r, class: foreign, word: from, wordEnd: to})
		}
	}
}
