package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
)

// Markdown writes a Markdown document: unchanged into a pipe or file; on a terminal in colour and, if page is set and it is longer than the screen,
// through the user's pager.
func (t *Terminal) Markdown(ctx context.Context, doc string, page bool) error {
	if !t.Drawn() {
		_, err := io.WriteString(t.Out, doc)
		return err
	}
	doc = Block(doc)
	if t.colour(t.Out) {
		doc = t.styled(doc)
	}
	_, height := t.size()
	if page && strings.Count(doc, "\n") >= height {
		if cmd := t.pager(ctx, doc); cmd != nil {
			return paged(ctx, cmd)
		}
	}
	_, err := io.WriteString(t.Out, doc)
	return err
}

// paged runs a pager. If it is terminated from outside, the document was not read to its end, and paged fails as interrupted.
func paged(ctx context.Context, pager *exec.Cmd) error {
	err := pager.Run()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		if status, ok := ended.Sys().(syscall.WaitStatus); ok && status.Signaled() && status.Signal() == syscall.SIGINT {
			return context.Canceled // both were interrupted, and the pager ended first
		}
	}
	return err
}

// pagerEnds is how long a pager may take to restore the terminal when the command is interrupted.
const pagerEnds = 2 * time.Second

// pager returns $PAGER, or less if it is installed; nil is none.
func (t *Terminal) pager(ctx context.Context, doc string) *exec.Cmd {
	argv := strings.Fields(t.env("PAGER"))
	if len(argv) == 0 {
		argv = []string{"less", "-FRX"}
	}
	if argv[0] == "cat" {
		return nil
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return nil
	}
	cmd := exec.CommandContext(ctx, path, argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(doc), t.Out, t.Err
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // so that it restores the terminal
	cmd.WaitDelay = pagerEnds
	return cmd
}

// styled colours a Markdown document line by line: headings, fences, notes and the line numbers of excerpts.
func (t *Terminal) styled(doc string) string {
	var out strings.Builder
	fence := ""
	for line := range strings.Lines(doc) {
		body := strings.TrimSuffix(line, "\n")
		mark := body[:len(body)-len(strings.TrimLeft(body, "`"))]
		switch {
		case fence == "" && len(mark) >= 3:
			fence = mark
			body = text.Faint.Sprint(body)
		case fence != "" && body == fence:
			fence = ""
			body = text.Faint.Sprint(body)
		case fence != "":
			if number, rest, ok := strings.Cut(body, ": "); ok && strings.Trim(number, " 0123456789") == "" {
				body = text.Faint.Sprint(number+":") + " " + rest
			}
		case strings.HasPrefix(body, "#"):
			body = text.Colors{text.Bold, text.FgCyan}.Sprint(body)
		case strings.HasPrefix(body, "> "), strings.HasPrefix(body, "_"):
			body = text.FgYellow.Sprint(body)
		case strings.HasPrefix(body, "- "):
			if name, rest, ok := strings.Cut(body, ": "); ok {
				body = text.Faint.Sprint(name+":") + " " + rest
			}
		case body == "[LEGEND]" || body == "[CONTENT]":
			body = text.Faint.Sprint(body)
		}
		out.WriteString(body)
		out.WriteByte('\n')
	}
	return out.String()
}

// barCells is the width of a progress bar in characters.
const barCells = 24

// Progress draws a bar on the error stream, only on a terminal. total 0 means unknown. Done clears it.
func (t *Terminal) Progress(done, total int64, message string) {
	if !isTerminal(t.Err) {
		return
	}
	bar := ""
	if total > 0 {
		full := int(min(max(done, 0), total) * barCells / total)
		bar = "[" + strings.Repeat("#", full) + strings.Repeat(" ", barCells-full) + "] "
	}
	width, _ := t.size()
	fmt.Fprintf(t.Err, "\r\x1b[K%s%s", bar, text.Trim(Plain(message), max(width-barCells-8, 10)))
}

// Done clears what Progress drew.
func (t *Terminal) Done() {
	if isTerminal(t.Err) {
		fmt.Fprint(t.Err, "\r\x1b[K")
	}
}
