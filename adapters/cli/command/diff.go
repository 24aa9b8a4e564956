package command

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/countersign-dev/countersign/domain/visible"
)

// Tint is the meaning of a word, which colour can show.
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

// Tinted returns s as one line with its spaces, coloured if the output supports it.
func (t *Terminal) Tinted(s string, as Tint) string {
	return t.paint(t.Out, strings.Join(strings.FieldsFunc(Block(strings.ReplaceAll(s, "\r\n", "\n")), isBreak), " "), as.colours()...)
}

// Coloured returns s unchanged, coloured if the output supports it. It is for text that is already sanitized and laid out: doing that twice would
// change it.
func (t *Terminal) Coloured(s string, as Tint) string { return t.paint(t.Out, s, as.colours()...) }

// Put is Say for one line with a meaning, keeping its spaces; zero is no meaning.
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

// Diff returns a unified diff for the output stream with hidden characters made visible: coloured on a terminal, and elsewhere without marks of line
// ends.
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

// Page writes a text formatted for this terminal: through the user's pager if it is longer than the screen, and unchanged into a pipe or file.
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
