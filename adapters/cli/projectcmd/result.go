package projectcmd

import (
	"fmt"
	"io"
	"strings"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// ProgramResult is what a program printed and how it ended.
type ProgramResult struct {
	ExitCode  int    `json:"exit_code"`
	Signal    string `json:"signal"`
	Stdout    string `json:"stdout"`
	Stderr    string `json:"stderr"`
	Truncated bool   `json:"truncated"`
	Duration  int64  `json:"duration_ms"`
}

// codeFailed is the fault of something that ran and failed.
const codeFailed = "execution_failed"

// Failed is the exit of a command whose program ran and failed: 1, after the message. Another failure, and one that a program reads, keeps
// its own exit code.
func (d Runner) Failed(o tool.Outcome, err error) error {
	f := fault.From(err)
	if f == nil || f.Code != codeFailed {
		return d.Refused(o, err)
	}
	if d.JSON {
		_ = d.Fail(o, err) // it hands the error back
	}
	d.Terminal.Fail(f.Message, "")
	return command.Exit(1)
}

// Output writes what a program printed where the program would have: on a terminal without what moves its cursor. Under --json all of it
// goes to the error stream, because the output is the answer's.
func (d Runner) Output(r ProgramResult) {
	if r.Truncated {
		d.Note("output truncated")
	}
	out := d.Out
	if d.JSON {
		out = d.Err
	}
	write(out, r.Stdout, d.Drawn())
	write(d.Err, r.Stderr, true)
}

func write(w io.Writer, text string, shown bool) {
	if text == "" {
		return
	}
	if shown {
		text = command.Block(text)
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, _ = io.WriteString(w, text) // a reader that is gone wants no more
}

// Ended returns how a program ended, in a few words.
func (r ProgramResult) Ended() string {
	if r.Signal != "" {
		return "ended by signal " + r.Signal
	}
	return fmt.Sprintf("exit code %d after %s", r.ExitCode, command.Took(r.Duration))
}
