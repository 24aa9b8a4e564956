package command

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/countersign-dev/countersign/domain/visible"
)

// Tint is what a word means, where colour can show it.
type Tint uint8

// The tints.
const (
	Added Tint = iota + 1
	Removed
	Changed
	Heading
	Faded
)

func (i Tint) colours() text.Colors {
	switch i {
	case Added:
		return text.Colors{text.FgGreen}
	case Removed:
		return text.Colors{text.FgRed}
	case Changed:
		return text.Colors{text.FgYellow}
	case Heading:
		return text.Colors{text.Bold}
	}
	return text.Colors{text.Faint}
}

// Tinted is s in one line, its spaces kept, coloured where the output takes colour.
func (t *Terminal) Tinted(s string, as Tint) string {
	return t.paint(t.Out, strings.Join(strings.FieldsFunc(Block(strings.ReplaceAll(s, "\r\n", "\n")), isBreak), " "), as.colours()...)
}

// Coloured is s as it is, coloured where the output takes colour. It is for text that was made plain and laid out before: once more would make another text of it.
func (t *Terminal) Coloured(s string, as Tint) string { return t.paint(t.Out, s, as.colours()...) }

// Put is Say for one line that means something, its spaces kept; zero is nothing in particular.
func (t *Terminal) Put(line string, as Tint) {
	w := t.asking()
	if w == nil {
		return
	}
	if line = Block(line); as != 0 {
		line = t.paint(w, line, as.colours()...)
	}
	fmt.Fprintln(w, line)
}

func isBreak(r rune) bool { return r == '\n' || r == '\t' }

// Diff returns a unified diff as the output stream takes it, with everything in it seen: coloured on a terminal, and without marks of line ends elsewhere.
func (t *Terminal) Diff(unified string) string {
	if !t.Drawn() {
		return visible.Lines(unified)
	}
	unified = Block(unified)
	if !t.colour(t.Out) {
		return unified
	}
	var out strings.Builder
	header := true // up to the first hunk
	for line := range strings.Lines(unified) {
		body, end := strings.TrimSuffix(line, "\n"), ""
		if body != line {
			end = "\n"
		}
		header = header && !strings.HasPrefix(body, "@@")
		out.WriteString(terminalTintOf(body, header).Sprint(body) + end)
	}
	return out.String()
}

func terminalTintOf(line string, header bool) text.Colors {
	switch {
	case header:
		return Heading.colours()
	case strings.HasPrefix(line, "@@"):
		return text.Colors{text.FgCyan}
	case strings.HasPrefix(line, "+"):
		return Added.colours()
	case strings.HasPrefix(line, "-"):
		return Removed.colours()
	}
	return nil
}

// Page writes a text that is made for this terminal already: through the user's pager when it is longer than the screen, and as it is
// into a pipe or file.
func (t *Terminal) Page(ctx context.Context, doc string) error {
	_, height := t.size()
	if t.Drawn() && strings.Count(doc, "\n") >= height {
		if cmd := t.pager(ctx, doc); cmd != nil {
			return paged(ctx, cmd)
		}
	}
	_, err := io.WriteString(t.Out, doc)
	return err
}

// Terminals reports whether the input and the output are terminals.
func (t *Terminal) Terminals() (in, out bool) { return isTerminal(t.In), isTerminal(t.Out) }
