package visible

import (
	"unicode"
	"unicode/utf8"
)

// The characters that join or separate their neighbours, and those that select how a character looks.
const (
	nonJoiner = '\u200c'
	joiner    = '\u200d'
	asText    = '\ufe0e'
	asEmoji   = '\ufe0f'
	keycap    = '\u20e3'
)

// joins reports whether a joiner is in a valid position: between two emoji, or between letters of a script that needs it.
func joins(s string, i int, r rune) bool {
	if r != joiner && r != nonJoiner {
		return false
	}
	before, after := s[:i], s[i+utf8.RuneLen(r):]
	next, _ := utf8.DecodeRuneInString(after)
	last, n := utf8.DecodeLastRuneInString(before)
	if r == joiner && pictured(next) {
		if last == asEmoji || tone(last) {
			last, _ = utf8.DecodeLastRuneInString(before[:len(before)-n])
		}
		return pictured(last)
	}
	for n > 0 && unicode.Is(unicode.Inherited, last) && unicode.Is(unicode.M, last) { // vowel signs that many scripts share
		before = before[:len(before)-n]
		last, n = utf8.DecodeLastRuneInString(before)
	}
	return joining(last) && joining(next)
}

// joining reports whether r is a letter or mark of a script whose words need joiners.
func joining(r rune) bool {
	return unicode.In(r, unicode.L, unicode.M) && unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Nko, unicode.Mandaic, unicode.Mongolian, unicode.Adlam,
		unicode.Hanifi_Rohingya, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu,
		unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar, unicode.Tibetan)
}

// selects reports whether a variation selector is in a valid position: after one emoji, or in a keycap.
func selects(s string, i int, r rune) bool {
	if r != asText && r != asEmoji {
		return false
	}
	last, _ := utf8.DecodeLastRuneInString(s[:i])
	if next, _ := utf8.DecodeRuneInString(s[i+utf8.RuneLen(r):]); next == keycap && r == asEmoji {
		return last == '#' || last == '*' || last >= '0' && last <= '9'
	}
	return pictured(last)
}

// pictured reports whether a character may be shown as an emoji.
func pictured(r rune) bool {
	switch {
	case r >= 0x1f000 && r <= 0x1faff:
		return !tone(r)
	case r >= 0x2190 && r <= 0x21ff, r >= 0x2300 && r <= 0x23ff, r >= 0x25a0 && r <= 0x27bf, r >= 0x2900 && r <= 0x297f, r >= 0x2b00 && r <= 0x2bff:
		return true
	}
	switch r {
	case '\u00a9', '\u00ae', '\u203c', '\u2049', '\u2122', '\u2139', '\u24c2', '\u3030', '\u303d', '\u3297', '\u3299':
		return true
	}
	return false
}

// tone reports whether r is a skin-tone modifier.
func tone(r rune) bool { return r >= 0x1f3fb && r <= 0x1f3ff }
