package projectpages

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/console/ui"
)

// execution is one row of the history. A list leaves out steps and output.
type execution struct {
	ID          string          `json:"id"`
	Kind        string          `json:"actionType"`
	ActionID    string          `json:"actionId"`
	WorkflowID  string          `json:"workflowId"`
	Name        string          `json:"actionName"`
	Client      string          `json:"sourceClient"`
	TriggeredBy string          `json:"triggeredBy"`
	Parameters  json.RawMessage `json:"parameters"`
	Status      string          `json:"status"`
	Reason      string          `json:"reason"`
	Result      json.RawMessage `json:"result"`
	Error       string          `json:"errorMessage"`
	Steps       []step          `json:"steps"`
	Output      []OutputLine    `json:"output"`
	Dropped     int64           `json:"outputDropped"`
	StartedAt   time.Time       `json:"startedAt"`
	EndedAt     time.Time       `json:"completedAt"`
	Duration    int64           `json:"durationMs"`
}

// step is how far one step of a workflow is.
type step struct {
	Name     string `json:"nodeName"`
	Depth    int    `json:"depth"`
	Status   string `json:"status"`
	ExitCode *int   `json:"exitCode"`
	Error    string `json:"errorMessage"`
	Process  string `json:"processId"`
	Reason   string `json:"reason"`
	Tries    int    `json:"tries"`
	Duration int64  `json:"durationMs"`
}

// OutputLine is a line of kept output.
type OutputLine struct {
	Node    string `json:"nodeName"`
	Stream  string `json:"stream"`
	Content string `json:"content"`
}

// Going reports an execution that is not over.
func (e execution) Going() bool { return e.Status == "running" || e.Status == "queued" }

// At returns the steps that run, which have processes.
func (e execution) At() (out []step) {
	for _, s := range e.Steps {
		if s.Status == "running" && s.Process != "" {
			out = append(out, s)
		}
	}
	return out
}

// By returns who had it run.
func (e execution) By() string {
	return strings.TrimSuffix(strings.TrimSpace(e.TriggeredBy+" ("+e.Client+")"), " ()")
}

// ExecutionTable returns a list of executions, each with a page of its own.
func ExecutionTable(caption string, all []execution, empty string) ui.Node {
	var rows []ui.Node
	for _, e := range all {
		why := e.Error
		if why == "" {
			why = strings.ReplaceAll(e.Reason, "_", " ")
		}
		rows = append(rows, ui.Row(ui.A(ui.Href(executionPath(e.ID)), ui.When(e.StartedAt)), ui.OptionalText(e.Kind), ui.OptionalText(e.Name), StatusBadge(e.Status),
			ui.Text(ui.Took(e.Duration)), ui.OptionalText(e.By()), ui.OptionalText(why)))
	}
	return ui.DataTable(caption, []string{"Started", "Kind", "What", "State", "Took", "Asked for by", "Why it ended so"}, rows, empty)
}

// StepTable returns the steps of a run, in order; nil for what has none.
func (e execution) StepTable() ui.Node {
	if len(e.Steps) == 0 {
		return nil
	}
	var rows []ui.Node
	for i, s := range e.Steps {
		name := s.Name
		if s.Depth > 0 {
			name = fmt.Sprintf("%s (level %d)", name, s.Depth+1)
		}
		ended := s.Error
		if ended == "" && s.ExitCode != nil {
			ended = fmt.Sprintf("exit code %d", *s.ExitCode)
		}
		if s.Reason != "" {
			ended = "its input files are " + s.Reason
		}
		if s.Tries > 1 {
			ended += fmt.Sprintf(" (started %d times)", s.Tries)
		}
		rows = append(rows, ui.Row(ui.Text(fmt.Sprint(i+1)), ui.OptionalText(name), StatusBadge(s.Status), ui.Text(ui.Took(s.Duration)), ui.OptionalText(ended)))
	}
	return ui.DataTable("steps of this run", []string{"Step", "Name", "State", "Took", "End"}, rows, "")
}

// Kept returns the output that was kept of a run; nil for none.
func (e execution) Kept() ui.Node {
	if len(e.Output) == 0 {
		return nil
	}
	var b strings.Builder
	for _, l := range e.Output {
		if l.Stream != "system" {
			b.WriteString("  " + l.Stream + ": ")
		}
		b.WriteString(l.Content + "\n")
	}
	var dropped ui.Node
	if e.Dropped > 0 {
		dropped = ui.P(ui.Class("quiet"), ui.Text(fmt.Sprintf("%d lines before these are not kept.", e.Dropped)))
	}
	return ui.Part("Output", dropped, ui.Printed("output", b.String()))
}
