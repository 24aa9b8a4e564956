package redact

import (
	"fmt"
	"strings"
)

// invisible reports characters that change how text reads without being seen: zero-width, directional and tag characters.
func invisible(c rune) bool {
	return c >= 0x200B && c <= 0x200F || c >= 0x202A && c <= 0x202E || c >= 0x2060 && c <= 0x2064 || c == 0xFEFF ||
		c >= 0xFFF9 && c <= 0xFFFB || c >= 0xE0000 && c <= 0xE007F
}

// Clean strips terminal escapes and invisible characters.
func Clean(s string) string {
	if strings.ContainsAny(s, "\x1b\u009b") {
		s = unescaped(s)
	}
	if strings.IndexFunc(s, invisible) < 0 {
		return s
	}
	return strings.Map(func(c rune) rune {
		if invisible(c) {
			return -1
		}
		return c
	}, s)
}

const csi = "\u009b" // the one-character form of ESC [

// unescaped is s without ANSI control sequences, OSC and other strings, and two-byte escapes.
func unescaped(s string) string {
	var b strings.Builder
	for {
		i := strings.IndexAny(s, "\x1b"+csi)
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i])
		s = s[i+escape(s[i:]):]
	}
}

// escape is how long the escape is with which s begins; a sequence that is not one loses its ESC alone.
func escape(s string) int {
	if strings.HasPrefix(s, csi) {
		return sequence(s, len(csi))
	}
	if len(s) == 1 {
		return 1
	}
	switch s[1] {
	case '[':
		return sequence(s, 2)
	case ']', 'P', 'X', '^', '_': // a string, up to BEL or ESC \\
		i := strings.IndexAny(s[2:], "\x07\x1b")
		switch {
		case i < 0:
			return len(s)
		case s[2+i] == '\x1b' && strings.HasPrefix(s[3+i:], `\`):
			return i + 4
		case s[2+i] == '\x1b':
			return i + 2
		}
		return i + 3
	}
	i := 1
	for i < len(s) && s[i] >= ' ' && s[i] <= '/' {
		i++
	}
	if i < len(s) && s[i] >= '0' && s[i] <= '~' {
		return i + 1
	}
	return 1
}

// sequence is how long a control sequence is whose parameters begin at i.
func sequence(s string, i int) int {
	for i < len(s) && s[i] >= '0' && s[i] <= '?' {
		i++
	}
	for i < len(s) && s[i] >= ' ' && s[i] <= '/' {
		i++
	}
	if i < len(s) && s[i] >= '@' && s[i] <= '~' {
		i++
	}
	return i
}

// Visible shows invisible characters as ␣U+202E, for dialogs in which a person decides.
func Visible(s string) string {
	if strings.IndexFunc(s, invisible) < 0 {
		return s
	}
	var b strings.Builder
	for _, c := range s {
		if invisible(c) {
			fmt.Fprintf(&b, "␣U+%04X", c)
			continue
		}
		b.WriteRune(c)
	}
	return b.String()
}
