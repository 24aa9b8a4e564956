package ui

import (
	"fmt"
	"github.com/countersign-dev/countersign/domain/visible"
	"strings"
)

// MaxPrinted is the maximum size of a program's output on a page, in bytes; longer output is cut at the beginning.
const MaxPrinted = 128 << 10

// maxTitle is the maximum length of a text within an escape sequence. A longer one is shown as text, so that nothing after it is hidden.
const maxTitle = 2048

// Printable returns text from other sources, such as a name or a command, with every character replaced by its number that moves the cursor, reorders
// text or is invisible.
func Printable(s string) string { return visible.Text(s) }

// Output returns program output as a terminal would show it without colours; overwritten lines are shown one below the other.
func Output(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	var b strings.Builder
	for {
		at := strings.IndexByte(s, escapePage)
		if at < 0 {
			break
		}
		b.WriteString(s[:at])
		s = s[at+sequence(s[at:]):]
	}
	b.WriteString(s)
	return Printable(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(b.String()))
}

// escapePage starts terminal control sequences: colours, cursor movements, window titles.
const escapePage = 0x1b

// sequence returns the length of the escape sequence at the start of s (ECMA-48, 5.4 and 5.6): 1 if no valid one follows the first byte.
func sequence(s string) int {
	if len(s) < 2 {
		return 1
	}
	switch s[1] {
	case '[': // parameters and intermediates, then a final byte
		return 2 + ending(s[2:], 0x20, 0x3f)
	case ']', 'P', 'X', '^', '_': // a text, up to BEL or ST
		text := s[2:min(len(s), maxTitle)]
		switch end := strings.IndexAny(text, "\a\x1b"); {
		case end < 0:
			return 2
		case text[end] == '\a':
			return 2 + end + 1
		case strings.HasPrefix(text[end:], "\x1b\\"):
			return 2 + end + 2
		default: // another sequence starts
			return 2 + end
		}
	}
	return 1 + ending(s[1:], 0x20, 0x2f)
}

// ending returns the number of bytes of that range at the start of s, and one more for the final byte.
func ending(s string, from, to byte) int {
	n := 0
	for n < len(s) && s[n] >= from && s[n] <= to {
		n++
	}
	if n < len(s) && s[n] > ' ' && s[n] < 0x7f {
		n++
	}
	return n
}

// Printed returns a block with the output of a program: the last MaxPrinted bytes, and how much is missing before them.
func Printed(label, s string) Node {
	text, left := Tail(s, MaxPrinted)
	return Group{LeftOut(left), CodeBlock(label, Output(text))}
}

// LeftOut states how many bytes are missing before the shown ones; nothing for none.
func LeftOut(bytes int) Node {
	if bytes <= 0 {
		return nil
	}
	return P(Class("quiet"), TextNode(fmt.Sprintf("Output truncated: the first %d KB are not shown.", (bytes+1023)>>10)))
}

// Tail returns the last bytes of a text, at most most, from the beginning of a line if possible, and how many bytes are missing before them.
func Tail(s string, most int) (end string, missing int) {
	if len(s) <= most {
		return s, 0
	}
	missing = len(s) - most
	if line := strings.IndexByte(s[missing:], '\n'); line >= 0 && line < most-1 {
		missing += line + 1
	}
	return s[missing:], missing
}
