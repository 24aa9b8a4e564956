package command

import (
	"io"
	"slices"

	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// failure writes a failure as a document: its message and hint in words for the command line, and what the outcome says beside them. Under --jq and
// --template there is none: the user selected a part of an answer, and there is no answer.
func (s *Shell) failure(o tool.Outcome, err error) {
	if s.filter != nil {
		return
	}
	f, hint, details := fault.From(err), "", any(nil)
	if h, ok := f.Details.(Hint); ok {
		hint = string(h)
	} else {
		details = f.Details
	}
	if said := fault.From(o.Err); said != nil && details == nil {
		if _, isHint := said.Details.(Hint); !isHint {
			details = said.Details
		}
	}
	s.Line("%s", present.CommandFailure(o, f, hint, details))
}

// Documents makes every failure under --json end with a document on stdout. Call it before the command runs, and pass the failure to what it returns,
// which writes it unless the command has written something itself.
func (s *Shell) Documents() (failed func(f *fault.Error)) {
	if !s.wantsJSON() {
		return func(*fault.Error) {}
	}
	out := &noticed{Writer: s.Out}
	s.Out = out
	return func(f *fault.Error) {
		if s.Out = out.Writer; !out.written {
			s.failure(tool.Outcome{}, f)
		}
	}
}

// wantsJSON reports whether JSON is requested, even if the command line was not parsed to its end.
func (s *Shell) wantsJSON() bool {
	typed := s.Argv
	if end := slices.Index(typed, "--"); end >= 0 {
		typed = typed[:end]
	}
	return s.filter == nil && (s.JSON || slices.Contains(typed, "--json") || slices.Contains(typed, "--json=true"))
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
