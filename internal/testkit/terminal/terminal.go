// Package terminal provides the screen of a terminal for tests: what a program has drawn, and whether it sent anything else.
package terminal

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Screen is what a terminal shows. It knows the sequences that a full-screen program draws with, and nothing else: what could set a title, write a clipboard or
// ask for more than how to draw is a fault.
type Screen struct {
	rows        [][]string // a cell each; empty is the second half of a wide character
	width       int
	row, col    int
	top, bottom int  // what scrolls
	unwrapped   bool // what reaches the edge stays on the last cell
	last        rune // for repeating it
	rest        string
	faults      []string
}

// NewScreen returns an empty screen of that size.
func NewScreen(width, height int) *Screen {
	s := &Screen{}
	s.Resize(width, height)
	return s
}

// Resize empties the screen and gives it another size.
func (s *Screen) Resize(width, height int) {
	s.width, s.rows = width, make([][]string, height)
	for i := range s.rows {
		s.rows[i] = s.blank()
	}
	s.row, s.col, s.top, s.bottom = 0, 0, 0, height-1
}

// Faults returns the sequences since the last call that no drawing takes.
func (s *Screen) Faults() []string {
	faults := s.faults
	s.faults = nil
	return faults
}

// Rows returns the lines of the screen, without the blanks at their ends.
func (s *Screen) Rows() []string {
	out := make([]string, len(s.rows))
	for i, row := range s.rows {
		out[i] = strings.TrimRight(strings.Join(row, ""), " ")
	}
	return out
}

// String returns the screen as one text.
func (s *Screen) String() string { return strings.Join(s.Rows(), "\n") }

// Write draws. It never fails.
func (s *Screen) Write(data []byte) (int, error) {
	s.rest += string(data)
	for s.rest != "" {
		n := s.next(s.rest)
		if n == 0 { // it is not whole yet
			break
		}
		s.rest = s.rest[n:]
	}
	return len(data), nil
}

// What may be sent: a sequence with its prefix, parameters and final; of modes those that are named, of questions how to draw and which keys there are.
var (
	sequence  = regexp.MustCompile(`^\x1b\[([<=>?]?)([\d;]*)(\$?)([@-~])`)
	unfitting = regexp.MustCompile(`^\x1b(\[[<=>?]?[\d;]*\$?)?$`)
	known     = regexp.MustCompile(`^(\?(7|25|1049|2004|2026)[hl]|\?(2026|2027)\$p|\?5W|\?u|[<=>][\d;]*u|>4(;2)?m|[\d;]*[A-HJ-MPSTXZ@bdfmr])$`)
)

// next draws the first character or sequence, and is how long it is.
func (s *Screen) next(text string) int {
	switch c := text[0]; {
	case c == 0x1b:
		if strings.HasPrefix(text, "\x1bM") {
			s.back()
			return 2
		}
		m := sequence.FindStringSubmatch(text)
		switch {
		case m == nil && unfitting.MatchString(text):
			return 0
		case m == nil || !known.MatchString(m[0][2:]):
			s.faults = append(s.faults, fmt.Sprintf("%.16q", text))
			return 1
		case m[1] == "":
			s.act(m[4][0], m[2])
		case m[1]+m[2] == "?7":
			s.unwrapped = m[4] == "l"
		case m[1]+m[2] == "?1049":
			s.Resize(s.width, len(s.rows))
		}
		return len(m[0])
	case c == '\r':
		s.col = 0
	case c == '\n':
		s.forth()
	case c == '\b':
		s.col = max(min(s.col, s.width-1)-1, 0)
	case c == '\t':
		s.col = min(s.col/8*8+8, s.width-1)
	case c < ' ' || c == 0x7f:
		s.faults = append(s.faults, fmt.Sprintf("%q", text[:1]))
	case !utf8.FullRuneInString(text):
		return 0
	default:
		r, n := utf8.DecodeRuneInString(text)
		s.put(r)
		return n
	}
	return 1
}

// put draws a character where the cursor is.
func (s *Screen) put(r rune) {
	wide := Cells(r)
	if len(s.rows) == 0 || s.width < max(wide, 1) {
		return
	}
	if wide == 0 {
		at := max(min(s.col, s.width)-1, 0)
		if s.rows[s.row][at] == "" && at > 0 {
			at--
		}
		s.rows[s.row][at] += string(r)
		return
	}
	if s.col+wide > s.width {
		if s.unwrapped {
			s.col = s.width - wide
		} else {
			s.col = 0
			s.forth()
		}
	}
	s.rows[s.row][s.col] = string(r)
	if wide == 2 {
		s.rows[s.row][s.col+1] = ""
	}
	s.col, s.last = s.col+wide, r
}

// forth goes to the next line, and scrolls at the last.
func (s *Screen) forth() {
	if s.row == s.bottom {
		s.scroll(s.top, 1)
	} else {
		s.row = min(s.row+1, len(s.rows)-1)
	}
}

// back goes to the line before, and scrolls at the first.
func (s *Screen) back() {
	if s.row == s.top {
		s.scroll(s.top, -1)
	} else {
		s.row = max(s.row-1, 0)
	}
}

// scroll moves the lines from that one up by n, or down.
func (s *Screen) scroll(from, n int) {
	for range max(n, -n) {
		if n > 0 {
			copy(s.rows[from:s.bottom], s.rows[from+1:s.bottom+1])
			s.rows[s.bottom] = s.blank()
		} else {
			copy(s.rows[from+1:s.bottom+1], s.rows[from:s.bottom])
			s.rows[from] = s.blank()
		}
	}
}

func (s *Screen) blank() []string { return strings.Split(strings.Repeat(" ", s.width), "") }

func (s *Screen) erase(row, from, to int) {
	for i := max(from, 0); i < min(to, s.width); i++ {
		s.rows[row][i] = " "
	}
}

// act carries out a sequence without a prefix.
func (s *Screen) act(what byte, parameters string) {
	if len(s.rows) == 0 {
		return
	}
	var given [2]int
	for i, p := range strings.SplitN(parameters, ";", 3) {
		if i < len(given) {
			given[i], _ = strconv.Atoi(p)
		}
	}
	n, height := max(given[0], 1), len(s.rows)
	line := s.rows[s.row]
	switch at := min(s.col, s.width-1); what {
	case 'A':
		s.row = max(s.row-n, 0)
	case 'B':
		s.row = min(s.row+n, height-1)
	case 'C':
		s.col = min(at+n, s.width-1)
	case 'D':
		s.col = max(at-n, 0)
	case 'E':
		s.row, s.col = min(s.row+n, height-1), 0
	case 'F':
		s.row, s.col = max(s.row-n, 0), 0
	case 'G':
		s.col = min(n, s.width) - 1
	case 'd':
		s.row = min(n, height) - 1
	case 'H', 'f':
		s.row, s.col = min(n, height)-1, min(max(given[1], 1), s.width)-1
	case 'I':
		s.col = min((at/8+n)*8, s.width-1)
	case 'Z':
		s.col = max((at+7)/8*8-8*n, 0)
	case 'J':
		for i := range s.rows {
			if given[0] == 2 || i > s.row {
				s.erase(i, 0, s.width)
			}
		}
		if given[0] == 0 {
			s.erase(s.row, at, s.width)
		}
	case 'K':
		s.erase(s.row, map[int]int{0: at}[given[0]], map[int]int{0: s.width, 1: at + 1, 2: s.width}[given[0]])
	case 'X':
		s.erase(s.row, at, at+n)
	case '@':
		copy(line[min(at+n, s.width):], line[at:])
		s.erase(s.row, at, at+n)
	case 'P':
		copy(line[at:], line[min(at+n, s.width):])
		s.erase(s.row, s.width-n, s.width)
	case 'L':
		s.scroll(s.row, -n)
	case 'M':
		s.scroll(s.row, n)
	case 'S':
		s.scroll(s.top, n)
	case 'T':
		s.scroll(s.top, -n)
	case 'r':
		s.top, s.bottom = n-1, height-1
		if given[1] > 0 {
			s.bottom = min(given[1], height) - 1
		}
		s.row, s.col = 0, 0
	case 'b':
		for range n {
			s.put(s.last)
		}
	}
}

// wide are the characters that take two cells.
var wide = &unicode.RangeTable{R16: []unicode.Range16{{0x1100, 0x115f, 1}, {0x2e80, 0x303e, 1}, {0x3041, 0xa4cf, 1}, {0xa960, 0xa97f, 1}, {0xac00, 0xd7a3, 1}, {0xf900, 0xfaff, 1}, {0xfe30, 0xfe6f, 1}, {0xff00, 0xff60, 1}, {0xffe0, 0xffe6, 1}},
	R32: []unicode.Range32{{0x1f300, 0x1f64f, 1}, {0x1f900, 0x1f9ff, 1}, {0x20000, 0x3fffd, 1}}}

// Cells returns how many cells a terminal draws a character into, roughly: enough for the characters of tests.
func Cells(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}
