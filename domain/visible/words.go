package visible

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// wordly reports a character of a word: a letter, a mark upon one, a digit.
func wordly(r rune, n int) bool {
	switch {
	case r < utf8.RuneSelf:
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	case r == utf8.RuneError && n < 2, shapeless(r):
		return false
	}
	return unicode.In(r, unicode.L, unicode.M, unicode.Nd)
}

// alphabet is one of those whose letters are taken for one another.
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

// alike are the letters of the other alphabets that stand for a Latin one in most fonts.
const alike = "аеіјкорсԁһԛѕԝхуӏьАВЕІЈКМНОРСԌЅТХУҮԚԜЗӀ" + "αγικνορτυχϲϳωΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹϳ"

// eachForeign gives the letters of the word s[from:to] that belong to another alphabet than the rest of it, where that misleads. Ordinary words that mix
// alphabets do not: a Latin stem with a Cyrillic ending that is read as one ("SQLом"), and signs of mathematics and physics ("Δx", "μs"). Directly after
// a mark there is no such exception: what is stem and what is mark could not be told apart.
func eachForeign(s string, from, to int, after bool, give func(part)) {
	if plain(s[from:to]) {
		return
	}
	used := map[alphabet]bool{}
	ending, changes, looks := false, 0, false // the part behind the stem has begun; letters that fit neither; a letter that looks like a Latin one
	odd := false                              // a Cyrillic letter that looks like no Latin one
	for _, r := range s[from:to] {
		a := alphabetOf(r)
		if a == neutral {
			continue
		}
		used[a] = true
		like := a != latin && strings.ContainsRune(alike, r)
		switch {
		case a == cyrillic:
			ending, odd = true, odd || !like
		case a == latin && ending:
			changes++
		}
		looks = looks || like
	}
	home := latin
	switch {
	case len(used) < 2:
		return
	case !used[latin] && used[cyrillic]:
		home = cyrillic
	case !used[latin]:
		home = greek
	case after || len(used) > 2 || used[further]:
	case used[cyrillic] && changes == 0 && odd, used[greek] && !looks:
		return
	}
	for i, r := range s[from:to] {
		if a := alphabetOf(r); a != neutral && a != home {
			give(part{from: from + i, to: from + i + utf8.RuneLen(r), r: r, class: foreign, word: from, wordEnd: to})
		}
	}
}
