package command

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
)

// maxAnswer is the maximum size of a typed answer, in bytes.
const maxAnswer = 4096

// YesNo asks a question; only y or yes is a yes. It fails with ErrNoAnswer if the input ends, and with ctx's error if that ends first.
func (t *Terminal) YesNo(ctx context.Context, question string) (bool, error) {
	answer, err := t.Ask(ctx, question+" [y/N]")
	answer = strings.ToLower(answer)
	return answer == "y" || answer == "yes", err
}

// Ask asks and reads one line, trimmed. It fails like YesNo.
func (t *Terminal) Ask(ctx context.Context, question string) (string, error) {
	w := t.asking()
	if w == nil {
		return "", ErrNoAnswer
	}
	fmt.Fprint(w, t.paint(w, Plain(question), text.Bold), " ")
	if t.lines == nil {
		t.lines = bufio.NewReaderSize(io.LimitReader(t.listening(), 1<<20), maxAnswer)
	}
	type read struct {
		line []byte
		err  error
	}
	answered := make(chan read, 1)
	go func() { // a read of a terminal cannot be cancelled; it ends with the process
		line, err := t.lines.ReadSlice('\n')
		answered <- read{append([]byte(nil), line...), err}
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(w)
		return "", ctx.Err()
	case r := <-answered:
		line := strings.TrimSpace(string(r.line))
		if r.err != nil && line == "" {
			fmt.Fprintln(w)
			return "", ErrNoAnswer
		}
		return line, nil
	}
}
