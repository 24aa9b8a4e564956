// Package visible replaces characters that a reader would not see or would misread by visible text: characters without a shape, characters that change
// the reading order, characters outside any alphabet, bytes that are not UTF-8, and these look-alikes:
//   - letters of another alphabet in a word that mixes them;
//   - words wholly in Cyrillic or Greek letters that look like Latin ones (Greek from two letters on), in a text without other letters of that alphabet;
//   - mathematical letters and digits that stand for Latin ones, always, and fullwidth ones in a word with ASCII letters;
//   - Latin letters that look like ASCII ones ("ı") in a word with ASCII letters, in a text without other Latin letters beyond ASCII;
//   - signs that look like ASCII punctuation ("∕") between ASCII letters, digits and punctuation, except in a fraction or a range of numbers.
//
// The list covers common look-alikes, not all: punctuation beside a word, fullwidth punctuation, dashes and quotation marks, and words in other
// alphabets stay as they are. The alphabet is determined for each text, in a JSON document for each string.
//
// A character is shown by its number as ␣U+202E (packageflow-security contract §4.2), an invalid byte as ␣xFF, and the carriage return of a line end
// as ␍. The functions are idempotent.
//
// Its API may change at any time.
package visible

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns the text as it is shown to users before a decision: nothing in it is hidden. Line ends and tabs stay.
func Text(s string) string { return shown(s, false) }

// OneLine is Text without line ends: they become spaces, and every run of spaces becomes one.
func OneLine(s string) string {
	return strings.Join(strings.Fields(Text(strings.ReplaceAll(s, "\r\n", "\n"))), " ")
}

// Lines is Text that keeps carriage returns before line ends, for programs that read it line by line.
func Lines(s string) string { return shown(s, true) }

// Bytes returns the text in data with invalid bytes made visible and everything else unchanged.
func Bytes(data []byte) []byte {
	if utf8.Valid(data) {
		return data
	}
	var b bytes.Buffer
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n < 2 {
			fmt.Fprintf(&b, sign+"x%02X", data[i])
		} else {
			b.Write(data[i : i+n])
		}
		i += n
	}
	return b.Bytes()
}

// shown is Text; lines keeps carriage returns before line ends, for uses in which they are visible as such.
func shown(s string, lines bool) string {
	if plain(s) {
		return s
	}
	return within(s, 0, len(s), lines)
}

// within returns s[from:to] as it is shown in s; no character or mark crosses its ends.
func within(s string, from, to int, lines bool) string {
	var b strings.Builder
	done := from
	each(s, settingOf(s), func(p part) {
		if p.from < from || p.from >= to || p.class == seen || lines && p.class == lineEnd {
			return
		}
		b.WriteString(s[done:p.from])
		b.WriteString(p.mark(s))
		done = p.to
	})
	if done == from {
		return s[from:to]
	}
	b.WriteString(s[done:to])
	return b.String()
}

// Hidden returns what is invisible or misleading in the text, in order of first appearance and each once: "U+202E", "byte 0xFF", or the word with
// look-alike letters, as Text shows it. It leaves out what is harmless: one byte order mark at the beginning, carriage returns before line ends,
// joiners and variation selectors in emoji, and joiners between letters of scripts that need them.
func Hidden(s string) []string {
	var out []string
	hiddenAt(s, func(what string, _ int) { out = append(out, what) })
	return out
}

// hiddenAt yields the parts of Hidden, with the position of each.
func hiddenAt(s string, found func(what string, at int)) {
	if plain(s) {
		return
	}
	known := map[string]bool{}
	add := func(what string, at int) {
		if !known[what] {
			known[what] = true
			found(what, at)
		}
	}
	word, t := -1, settingOf(s)
	each(s, t, func(p part) {
		switch p.class {
		case hidden:
			add(fmt.Sprintf("U+%04X", p.r), p.from)
		case broken:
			add(fmt.Sprintf("byte 0x%02X", s[p.from]), p.from)
		case lost:
			add("bytes that are not text", p.from)
		case foreign:
			if p.word != word {
				word = p.word
				add(`"`+misread(s[p.word:p.wordEnd], t)+`"`, p.word)
			}
		}
	})
}

// misread returns a word with look-alike letters, made visible.
func misread(word string, t setting) string {
	var b strings.Builder
	done := 0
	eachForeign(word, 0, len(word), true, t, func(p part) {
		b.WriteString(word[done:p.from])
		b.WriteString(p.mark(word))
		done = p.to
	})
	return b.String() + word[done:]
}

// plain reports whether nothing in the text must be examined: printable ASCII, tabs and line ends.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= 0x7f || c < ' ' && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

// class determines how a character is treated.
type class uint8

const (
	seen    class = iota
	quiet         // shown, and harmless in its position
	lineEnd       // a carriage return before a line end: shown, and harmless
	hidden
	broken  // an invalid byte
	lost    // U+FFFD: the original character is unknown
	foreign // a letter or digit of a word that looks like another
)

// part is one character of a text.
type part struct {
	from, to      int
	r             rune
	class         class
	word, wordEnd int // of a foreign letter
}

// mark returns the text that replaces the part.
func (p part) mark(s string) string {
	switch p.class {
	case lineEnd:
		return "␍"
	case broken:
		return fmt.Sprintf("␣x%02X", s[p.from])
	case lost:
		return s[p.from:p.to]
	}
	return fmt.Sprintf("␣U+%04X", p.r)
}

// each yields the parts of s that are not plainly visible, in order.
func each(s string, t setting, give func(part)) {
	after := false // the next character follows a mark, or something that becomes one
	floor := 0     // the end of the last mark
	for i := 0; i < len(s); {
		if n := marked(s[i:]); n > 0 {
			if s[i+len(sign)] == 'x' {
				give(part{from: i, to: i + n, r: utf8.RuneError, class: lost}) // bytes that were already replaced before
			}
			i, after = i+n, true
			floor = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if reads(r) != 0 {
			end := i + n
			for end < len(s) {
				if r, n = utf8.DecodeRuneInString(s[end:]); reads(r) == 0 {
					break
				}
				end += n
			}
			if after = misleads(s, floor, i, end); after {
				for at, r := range s[i:end] {
					give(part{from: i + at, to: i + at + utf8.RuneLen(r), r: r, class: hidden})
				}
			}
			i = end
			continue
		}
		if isWordRune(r, n) {
			end := i + n
			for end < len(s) {
				if r, n = utf8.DecodeRuneInString(s[end:]); !isWordRune(r, n) {
					break
				}
				end += n
			}
			eachForeign(s, i, end, after, t, give)
			i, after = end, false
			continue
		}
		c := classOf(s, i, r, n)
		if after = c != seen && c != lost; c != seen {
			give(part{from: i, to: i + n, r: r, class: c})
		}
		i += n
	}
}

// sign is the start of every mark except that of a line end.
const sign = "␣"

// marked returns the length of the mark at the start of s; 0 for none.
func marked(s string) int {
	rest, ok := strings.CutPrefix(s, sign)
	if !ok || len(rest) == 0 {
		return 0
	}
	digits, most, least := rest[1:], 2, 2
	if inner, ok := strings.CutPrefix(rest, "U+"); ok {
		digits, most, least = inner, 6, 4
	} else if rest[0] != 'x' {
		return 0
	}
	n := 0
	for n < most && n < len(digits) && (digits[n] >= '0' && digits[n] <= '9' || digits[n] >= 'A' && digits[n] <= 'F') {
		n++
	}
	if n < least {
		return 0
	}
	return len(s) - len(digits) + n
}

// classOf returns how the character r at s[i:], n bytes long and not in a word, is treated.
func classOf(s string, i int, r rune, n int) class {
	switch {
	case r == utf8.RuneError && n < 2:
		return broken
	case r == utf8.RuneError:
		return lost
	case r == '\n' || r == '\t' || r >= ' ' && r < 0x7f:
		return seen
	case r == '\r' && strings.HasPrefix(s[i+1:], "\n"):
		return lineEnd
	case !shapeless(r):
		return seen
	case r == bom && leads(s[:i]), joins(s, i, r), selects(s, i, r):
		return quiet
	}
	return hidden
}

// shapeless reports whether a reader does not see a character as what it is.
func shapeless(r rune) bool {
	switch {
	case unicode.Is(unicode.Prepended_Concatenation_Mark, r): // signs around numbers: they are visible
		return false
	case unicode.Is(unicode.C, r), unicode.Is(unicode.Zl, r), unicode.Is(unicode.Zp, r), unicode.Is(unicode.Variation_Selector, r):
		return true
	case posing(r):
		return true
	case r == '\ufffc', unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r), r == '\u2800', r == '\U0001d159': // letters, marks and signs without a shape
		return true
	}
	return !unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z) // unassigned
}

const bom = '\ufeff'

// leads reports whether the text starts a file: it is the beginning of the text, or of the first line of a file in a unified diff.
func leads(before string) bool {
	if before == "" {
		return true
	}
	at := len(before) - 1
	if strings.IndexByte("+- ", before[at]) < 0 || at == 0 || before[at-1] != '\n' {
		return false
	}
	above := before[:at-1]
	line := above[strings.LastIndexByte(above, '\n')+1:]
	if strings.HasPrefix(line, "-") && len(line) < len(above) { // the line that this one replaces
		above = above[:len(above)-len(line)-1]
		line = above[strings.LastIndexByte(above, '\n')+1:]
	}
	for _, first := range []string{"@@ -0,0 +1", "@@ -1,", "@@ -1 "} {
		if strings.HasPrefix(line, first) {
			return true
		}
	}
	return false
}
