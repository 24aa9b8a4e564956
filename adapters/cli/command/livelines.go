package command

import (
	"fmt"
	"os"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"
)

// Board is lines at the bottom of the error stream that are redrawn while other lines scroll above them. If nothing can be drawn (no terminal, a dumb
// one, NO_COLOR) it is nil, which shows nothing.
type Board struct {
	t     *Terminal
	drawn int
}

// Board returns a new board, or nil.
func (t *Terminal) Board() *Board {
	if !isTerminal(t.Err) || t.env("TERM") == "dumb" || !t.colour(t.Err) {
		return nil
	}
	return &Board{t: t}
}

// Show replaces the lines, each cut to the terminal's width; if they do not fit, only the last ones are shown.
func (b *Board) Show(lines []string) {
	if b == nil {
		return
	}
	b.Clear()
	width, height := b.size()
	lines = lines[max(0, len(lines)-max(height-2, 1)):]
	var out strings.Builder
	for _, line := range lines {
		out.WriteString(text.Trim(Block(line), max(width-1, 1)))
		out.WriteByte('\n')
	}
	fmt.Fprint(b.t.Err, out.String())
	b.drawn = len(lines)
}

// Clear removes the lines, so that others can be written.
func (b *Board) Clear() {
	if b == nil || b.drawn == 0 {
		return
	}
	fmt.Fprintf(b.t.Err, "\x1b[%dA\r\x1b[J", b.drawn)
	b.drawn = 0
}

func (b *Board) size() (width, height int) {
	if f, ok := b.t.Err.(*os.File); ok {
		if w, h, err := term.GetSize(int(f.Fd())); err == nil && w > 0 && h > 0 {
			return w, h
		}
	}
	return defaultWidth, defaultHeight
}
