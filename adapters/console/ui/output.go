package ui

import (
	"fmt"
	"github.com/countersign-dev/countersign/domain/visible"
	"strings"
)

// MaxPrinted is how many bytes of a program's output a page shows: its end.
const MaxPrinted = 128 << 10

// maxTitle is how long a text within an escape sequence may be. A longer one is text, so that nothing behind it is hidden.
const maxTitle = 2048

// Printable is text that others wrote, such as a name or a command, with nothing in it that moves a cursor, reorders what is read, or is not seen:
// in place of each such character stands its number.
func Printable(s string) string { return visible.Text(s) }

// Output returns what a program printed, as a terminal would show it without colours: lines that it wrote one over the other stand one below the other.
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

// escapePage begins what programs write to a terminal besides text: colours, movements of the cursor, titles of windows.
const escapePage = 0x1b

// sequence returns how long the escape sequence is that s begins with (ECMA-48, 5.4 and 5.6): the first byte alone, when nothing follows that makes one.
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
		default: // another sequence begins
			return 2 + end
		}
	}
	return 1 + ending(s[1:], 0x20, 0x2f)
}

// ending returns how many bytes of that range s begins with, and one more for what ends them.
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

// Printed returns a block with what a program printed: the last MaxPrinted bytes of it, and how much is missing before them.
func Printed(label, s string) Node {
	text, left := Tail(s, MaxPrinted)
	return Group{LeftOut(left), CodeBlock(label, Output(text))}
}

// LeftOut says how many bytes before what is shown are not; nothing for none.
func LeftOut(bytes int) Node {
	if bytes <= 0 {
		return nil
	}
	return P(Class("quiet"), TextNode(fmt.Sprintf("Only the end is shown: %d KB before it are left out.", (bytes+1023)>>10)))
}

// Tail returns the last most bytes of a text, from the beginning of a line where there is one, and how many bytes are missing before them.
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
