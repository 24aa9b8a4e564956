package redact

import (
	"strings"
	"unicode/utf8"
)

// invisible reports characters that change how a text reads but are not visible: zero-width, directional, annotation and tag characters.
func invisible(c rune) bool {
	return c >= 0x200B && c <= 0x200F || c >= 0x202A && c <= 0x202E || c >= 0x2060 && c <= 0x206F || c == 0xFEFF ||
		c >= 0xFFF9 && c <= 0xFFFB || c >= 0xE0000 && c <= 0xE007F
}

// control reports control characters other than line ends and tabs.
func control(c rune) bool {
	return c < ' ' && c != '\n' && c != '\r' && c != '\t' || c >= 0x7f && c < 0xa0
}

// StripControl removes terminal escapes (ANSI sequences, OSC and other strings), control characters and invisible characters, and keeps line ends and
// tabs. Bytes that are not UTF-8 become U+FFFD. Clean text is returned unchanged.
func StripControl(s string) string {
	if !dirty(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		c, width := utf8.DecodeRuneInString(s[i:])
		switch {
		case c == 0x1b || c >= 0x90 && c < 0xa0:
			i += escape(s[i:])
			continue
		case invisible(c) || control(c):
		default:
			b.WriteRune(c)
		}
		i += width
	}
	return b.String()
}

func dirty(s string) bool {
	for i, c := range s {
		if invisible(c) || control(c) {
			return true
		}
		if c == utf8.RuneError {
			if _, width := utf8.DecodeRuneInString(s[i:]); width < 2 {
				return true
			}
		}
	}
	return false
}

// escape returns the length of the terminal escape at the start of s. An unfinished one ends with its line.
func escape(s string) int {
	c, i := utf8.DecodeRuneInString(s)
	if c == 0x1b {
		if len(s) == 1 {
			return 1
		}
		c = rune(s[1]) + 0x40 // ESC [ is the two-byte form of U+009B
		i = 2
	}
	switch c {
	case 0x9b: // a control sequence: parameters, intermediates, one final byte
		for i < len(s) && s[i] >= ' ' && s[i] <= '?' {
			i++
		}
		if i < len(s) && s[i] >= '@' && s[i] <= '~' {
			i++
		}
		return i
	case 0x90, 0x98, 0x9d, 0x9e, 0x9f: // a string, up to BEL or ST
		for ; i < len(s) && s[i] != '\n'; i++ {
			switch {
			case s[i] == 0x07:
				return i + 1
			case s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\' || strings.HasPrefix(s[i:], "\u009c"):
				return i + 2
			case s[i] == 0x1b:
				return i
			}
		}
		return i
	}
	if s[0] != 0x1b {
		return i
	}
	for i = 1; i < len(s) && s[i] >= ' ' && s[i] <= '/'; i++ { // ESC ( B and the like
	}
	if i < len(s) && s[i] > ' ' && s[i] <= '~' {
		i++
	}
	return i
}
