package sandboxcmd

import (
	"errors"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/shell"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// answering has c and every command below it end with exactly one document under --json: what no tool has answered, because the command line itself
// refused it, is written in the contract's form.
func (g group) answering(c *cobra.Command) {
	for _, below := range c.Commands() {
		g.answering(below)
	}
	check, run := c.Args, c.RunE
	c.Args = func(cmd *cobra.Command, args []string) error { return g.answered(check(cmd, args)) }
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if !g.JSON {
			return run(cmd, args)
		}
		out := &noticed{Writer: g.Out}
		g.Out = out
		err := run(cmd, args)
		if g.Out = out.Writer; out.written {
			return err
		}
		return g.answered(err)
	}
}

// answered writes a failure as JSON where that is wanted, and hands it on.
func (g group) answered(err error) error {
	var exit shell.Exit
	if err == nil || !g.wantsJSON() || errors.As(err, &exit) {
		return err
	}
	f := fault.From(err)
	if hint, ok := f.Details.(shell.Hint); ok {
		f = f.With(map[string]any{"suggestion": string(hint)})
	}
	g.Line("%s", present.For(present.Opencode)(tool.Outcome{Err: f}).Body)
	return err
}

// wantsJSON reports whether JSON is wanted, on a command line that may not have been read to its end.
func (g group) wantsJSON() bool {
	typed := g.Argv
	if end := slices.Index(typed, "--"); end >= 0 {
		typed = typed[:end]
	}
	return g.JSON || slices.Contains(typed, "--json") || slices.Contains(typed, "--json=true")
}

// noticed is a writer that knows whether anything was written.
type noticed struct {
	io.Writer
	written bool
}

func (n *noticed) Write(p []byte) (int, error) {
	n.written = n.written || len(p) > 0
	return n.Writer.Write(p)
}
