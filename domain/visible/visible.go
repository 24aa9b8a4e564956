// Package visible shows what a reader would not see: characters that have no shape, that change the order in which others are read, that belong to no
// alphabet, bytes that are no text, and words that mix alphabets so that they read as others.
//
// It refuses to know what a text is for and who reads it. What it shows by number reads ␣U+202E (packageflow-security contract §4.2), a byte that is no
// text ␣xFF, and the carriage return before a line end ␍. Shown text is shown text: showing it again changes nothing.
package visible

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text is the text as people are shown it before they decide: nothing in it is hidden. Line ends and tabs stay.
func Text(s string) string { return shown(s, false) }

// OneLine is Text without line ends: they are blanks, and every run of blanks is one.
func OneLine(s string) string {
	return strings.Join(strings.Fields(Text(strings.ReplaceAll(s, "\r\n", "\n"))), " ")
}

// Lines is Text whose carriage returns before line ends stay, for programs that read it line by line.
func Lines(s string) string { return shown(s, true) }

// Bytes is the text that the bytes are, with those that are no text shown, and all else as it is.
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

// shown is Text; lines keeps carriage returns before line ends, for where they are seen as what they are.
func shown(s string, lines bool) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	done := 0
	each(s, func(p part) {
		if p.class == seen || lines && p.class == lineEnd {
			return
		}
		b.WriteString(s[done:p.from])
		b.WriteString(p.mark(s))
		done = p.to
	})
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// Hidden is what in the text cannot be seen, or reads as something else, in the order of its first appearance and each once: "U+202E", "byte 0xFF", or
// the word that mixes alphabets, as Text shows it. What is only shown is not in it: one byte order mark at the beginning, carriage returns before line
// ends, joiners and variation selectors in emoji, and joiners between letters of scripts that need them.
func Hidden(s string) []string {
	var out []string
	hiddenAt(s, func(what string, _ int) { out = append(out, what) })
	return out
}

// hiddenAt gives what Hidden is made of, with where it stands first.
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
	word := -1
	each(s, func(p part) {
		switch p.class {
		case hidden:
			add(fmt.Sprintf("U+%04X", p.r), p.from)
		case broken:
			add(fmt.Sprintf("byte 0x%02X", s[p.from]), p.from)
		case lost:
			add("bytes that are no text", p.from)
		case foreign:
			if p.word != word {
				word = p.word
				add(`"`+mixed(s[p.word:p.wordEnd])+`"`, p.word)
			}
		}
	})
}

// mixed is a word that mixes alphabets, shown.
func mixed(word string) string {
	var b strings.Builder
	done := 0
	eachForeign(word, 0, len(word), true, func(p part) {
		b.WriteString(word[done:p.from])
		b.WriteString(p.mark(word))
		done = p.to
	})
	return b.String() + word[done:]
}

// plain reports a text of which nothing has to be looked at: printable ASCII, tabs and line ends.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= 0x7f || c < ' ' && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

// class is how a character is treated.
type class uint8

const (
	seen    class = iota
	quiet         // shown, and harmless where it stands
	lineEnd       // a carriage return before a line end: shown, and harmless
	hidden
	broken  // a byte that is no text
	lost    // U+FFFD: what stood there is not known any more
	foreign // a letter of another alphabet in a word that mixes them
)

// part is one character of a text.
type part struct {
	from, to      int
	r             rune
	class         class
	word, wordEnd int // of a foreign letter
}

// mark is what stands in its place.
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

// each gives what in s is not simply seen, in order.
func each(s string, give func(part)) {
	after := false // what comes next follows a mark, or what becomes one
	for i := 0; i < len(s); {
		if n := marked(s[i:]); n > 0 {
			if s[i+len(sign)] == 'x' {
				give(part{from: i, to: i + n, r: utf8.RuneError, class: lost}) // bytes that were shown before they came here
			}
			i, after = i+n, true
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if wordly(r, n) {
			end := i + n
			for end < len(s) {
				if r, n = utf8.DecodeRuneInString(s[end:]); !wordly(r, n) {
					break
				}
				end += n
			}
			eachForeign(s, i, end, after, give)
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

// sign begins every mark but that of a line end.
const sign = "␣"

// marked is the length of the mark that s begins with; 0 for none.
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

// classOf is how the character r at s[i:], n bytes long and of no word, is treated.
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

// shapeless reports a character that a reader does not see for what it is.
func shapeless(r rune) bool {
	switch {
	case unicode.Is(unicode.Prepended_Concatenation_Mark, r): // signs around numbers: they are seen
		return false
	case unicode.Is(unicode.C, r), unicode.Is(unicode.Zl, r), unicode.Is(unicode.Zp, r), unicode.Is(unicode.Variation_Selector, r):
		return true
	case r == '\ufffc', unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r), r == '\u2800', r == '\U0001d159': // letters, marks and signs without a shape
		return true
	}
	return !unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z) // assigned to nothing
}

const bom = '\ufeff'

// leads reports that nothing of a file stands before: the beginning of the text, or the first line of a file in a unified diff.
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
