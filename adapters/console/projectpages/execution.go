package projectpages

import (
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/app/projects"
)

// isGoing reports whether the execution has not ended.
func isGoing(e projects.Execution) bool { return e.Status == "running" || e.Status == "queued" }

// runningSteps returns the steps that run and have a process.
func runningSteps(e projects.Execution) (out []projects.ExecutionStep) {
	for _, s := range e.Steps {
		if s.Status == "running" && s.ProcessID != "" {
			out = append(out, s)
		}
	}
	return out
}

// startedBy returns the transport and the client that started the execution.
func startedBy(e projects.Execution) string {
	return strings.TrimSuffix(strings.TrimSpace(e.TriggeredBy+" ("+e.SourceClient+")"), " ()")
}

// ExecutionTable returns a table of executions with links to their pages.
func ExecutionTable(caption string, all []projects.Execution, empty string) ui.Node {
	var rows []ui.Node
	for _, e := range all {
		why := e.Error
		if why == "" {
			why = strings.ReplaceAll(e.Reason, "_", " ")
		}
		rows = append(rows, ui.Row(ui.A(ui.Href(executionPath(e.ID)), ui.When(e.StartedAt)), ui.OptionalText(string(e.Kind)), ui.OptionalText(e.Name), StatusBadge(string(e.Status)),
			ui.Text(ui.Took(e.DurationMS)), ui.OptionalText(startedBy(e)), ui.OptionalText(why)))
	}
	return ui.DataTable(caption, []string{"Started", "Type", "Name", "Status", "Duration", "Started by", "Reason"}, rows, empty)
}

// stepTable returns the table of the steps of an execution; nil if it has none.
func stepTable(e projects.Execution) ui.Node {
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
			ended = "input files " + s.Reason
		}
		if s.Tries > 1 {
			ended += fmt.Sprintf(" (%d attempts)", s.Tries)
		}
		rows = append(rows, ui.Row(ui.Text(fmt.Sprint(i+1)), ui.OptionalText(name), StatusBadge(string(s.Status)), ui.Text(ui.Took(s.DurationMS)), ui.OptionalText(ended)))
	}
	return ui.DataTable("steps of this execution", []string{"Step", "Name", "Status", "Duration", "Result"}, rows, "")
}

// keptOutput returns the stored output of an execution; nil for none.
func keptOutput(e projects.Execution) ui.Node {
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
		dropped = ui.P(ui.Class("quiet"), ui.Text(fmt.Sprintf("%d earlier lines were not stored.", e.Dropped)))
	}
	return ui.Part("Output", dropped, ui.Printed("output", b.String()))
}
