package environment

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/ports"
)

// Programs are those of this machine.
type Programs struct {
	Processes ports.Processes
}

// Run starts a program, which goes on when this process ends, listens to it until it has ended, and returns its last state. When ctx ends first the
// program is ended, and the end of ctx is the error.
func (p Programs) Run(ctx context.Context, spec process.Spec, heard *ProcessOutput) (process.State, error) {
	st, err := p.Processes.Start(ctx, spec)
	if err != nil {
		return st, err
	}
	var at process.Cursor
	for {
		chunk, err := p.Processes.Watch(ctx, st.ID, at)
		heard.Add(chunk)
		switch at = chunk.Next; {
		case err == nil && chunk.Ended:
			heard.End()
			return p.Processes.Inspect(context.WithoutCancel(ctx), st.ID)
		case err != nil || ctx.Err() != nil:
			_, stopping := p.Processes.Stop(context.WithoutCancel(ctx), st.ID, ecosystem.StopGrace)
			return st, errors.Join(ctx.Err(), err, stopping)
		}
	}
}

// Inspect returns the state of a process; the zero State if it is no longer known.
func (p Programs) Inspect(ctx context.Context, id string) (process.State, error) {
	st, err := p.Processes.Inspect(ctx, process.ID(id))
	if errors.Is(err, process.ErrNotFound) {
		return process.State{}, nil
	}
	return st, err
}

// IsRunning reports whether a process runs and is not being stopped.
func IsRunning(st process.State) bool {
	return st.Status == process.Running || st.Status == process.Starting
}

// IsGone reports that nothing is left of a process. A state may be final and still tell of something that could not be ended.
func IsGone(st process.State) bool {
	return st.Status.Final() && !strings.Contains(st.Reason, process.Unended)
}

// How much of a program's output goes to the log of the run line by line, and how much of its end is kept whatever it prints.
const (
	maxLogged = 5000
	maxLast   = 20
	maxSaid   = 300 // characters of its last line, in a message
)

// ProcessOutput is what is heard of one program: its lines go to the log, what it says of the environment to the outputs.
type ProcessOutput struct {
	service string // whose lines they are, where there are several
	log     func(level, message string)
	outputs map[string]string
	owners  map[string]string
	logged  int
	beyond  int64 // lines that the log has not
	last    []string
	grumble string // the last line that came over standard error: the two streams have no order between them
}

// NewProcessOutput hears for that log, and notes in outputs what a program says of its environment.
func NewProcessOutput(log func(level, message string), outputs map[string]string) *ProcessOutput {
	return &ProcessOutput{log: log, outputs: outputs, owners: map[string]string{}, last: []string{}}
}

// SetService continues with the output of another service.
func (h *ProcessOutput) SetService(service string) {
	h.service, h.last, h.grumble = service, []string{}, ""
}

// Add takes what a program printed.
func (h *ProcessOutput) Add(c process.Chunk) {
	h.beyond += c.Dropped
	for _, line := range c.Lines {
		h.line(line)
	}
}

func (h *ProcessOutput) line(line process.Line) {
	if line.Stream == process.Stdout {
		ecosystem.RecordOutput(h.outputs, h.owners, h.service, line.Text)
	} else if text := strings.TrimSpace(line.Text); text != "" {
		h.grumble = text
	}
	if len(h.last) == maxLast {
		h.last = append(h.last[:0], h.last[1:]...)
	}
	h.last = append(h.last, line.Text)
	text := line.Text
	if h.service != "" {
		text = h.service + ": " + text
	}
	if h.logged >= maxLogged {
		h.beyond++
		return
	}
	h.logged++
	level := "info"
	if line.Stream == process.Stderr {
		level = "warning"
	}
	h.log(level, text)
}

// End reports the output that is not in the log.
func (h *ProcessOutput) End() {
	if h.beyond == 0 {
		return
	}
	h.log("warning", fmt.Sprintf("%d more lines came than are kept here; the last ones:", h.beyond))
	if h.logged >= maxLogged {
		for _, text := range h.last {
			h.log("info", text)
		}
	}
}

// LastLines returns the last lines, whatever was logged: 20 at most.
func (h *ProcessOutput) LastLines() []string { return h.last }

// DroppedLines returns how many lines the log has not.
func (h *ProcessOutput) DroppedLines() int64 { return h.beyond }

// FailureMessage returns why the program failed, in its own words, for a message: its last line, of standard error if there is one.
func (h *ProcessOutput) FailureMessage() string {
	text := h.grumble
	for i := len(h.last) - 1; i >= 0 && text == ""; i-- {
		text = strings.TrimSpace(h.last[i])
	}
	if text == "" {
		return ""
	}
	runes := []rune(text)
	return ": " + string(runes[:min(len(runes), maxSaid)])
}
