package command

import (
	"errors"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// Documented makes c and every command below it end with exactly one document under --json: failures of the command line itself, which no tool has
// answered, are written in the contract's form.
func (s *Shell) Documented(c *cobra.Command, contract tool.Contract) {
	s.documented(c, contract)
	c.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if above := c.Parent(); above != nil {
			return s.refused(above.FlagErrorFunc()(cmd, err), contract) // with the texts that all commands share
		}
		return s.refused(Usage(cmd, "%v", err), contract)
	})
}

func (s *Shell) documented(c *cobra.Command, contract tool.Contract) {
	for _, below := range c.Commands() {
		s.documented(below, contract)
	}
	check, run := c.Args, c.RunE
	c.Args = func(cmd *cobra.Command, args []string) error { return s.refused(check(cmd, args), contract) }
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if !s.JSON {
			return run(cmd, args)
		}
		out := &noticed{Writer: s.Out}
		s.Out = out
		err := run(cmd, args)
		if s.Out = out.Writer; out.written {
			return err
		}
		return s.refused(err, contract)
	}
}

// refused writes a failure as JSON if requested, and returns it.
func (s *Shell) refused(err error, contract tool.Contract) error {
	var exit Exit
	if err == nil || !s.wantsJSON() || errors.As(err, &exit) {
		return err
	}
	f := fault.From(err)
	if hint, ok := f.Details.(Hint); ok {
		f = f.With(map[string]any{"suggestion": string(hint)})
	}
	s.Line("%s", present.For(contract)(tool.Outcome{Err: f}).Body)
	return err
}

// Documents makes every failure under --json end with a document on stdout. Call it before the command runs, and pass the failure to what it returns,
// which writes it in the form of Countersign's own contract unless the command has written something itself.
func (s *Shell) Documents() (failed func(f *fault.Error)) {
	if !s.wantsJSON() {
		return func(*fault.Error) {}
	}
	out := &noticed{Writer: s.Out}
	s.Out = out
	return func(f *fault.Error) {
		if s.Out = out.Writer; !out.written {
			_ = s.refused(f, present.Control)
		}
	}
}

// wantsJSON reports whether JSON is requested, even if the command line was not parsed to its end.
func (s *Shell) wantsJSON() bool {
	typed := s.Argv
	if end := slices.Index(typed, "--"); end >= 0 {
		typed = typed[:end]
	}
	return s.JSON || slices.Contains(typed, "--json") || slices.Contains(typed, "--json=true")
}

// noticed is a writer that records whether anything was written.
type noticed struct {
	io.Writer
	written bool
}

func (n *noticed) Write(p []byte) (int, error) {
	n.written = n.written || len(p) > 0
	return n.Writer.Write(p)
}
