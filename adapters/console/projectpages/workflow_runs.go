package projectpages

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/app/projects"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// history is a workflow's runs, the last started first, or why they are not known.
type history struct {
	runs []projects.Execution
	err  error
}

func (s *workflowSection) history(ctx context.Context, v httpauth.Identity, id string) history {
	var answer struct {
		Executions []projects.Execution `json:"executions"`
	}
	err := s.Calls.Read(ctx, v, "list_action_executions", ui.Args{"actionId": id}, &answer)
	return history{answer.Executions, err}
}

// going returns the run that goes on now.
func (h history) going() (projects.Execution, bool) {
	for _, e := range h.runs {
		if isGoing(e) {
			return e, true
		}
	}
	return projects.Execution{}, false
}

func (h history) table() ui.Node {
	if h.err != nil {
		return ui.Part("Executions", ui.ErrorNotice(h.err))
	}
	return ui.Part("Executions", ExecutionTable("executions of this workflow", h.runs, "No executions yet."))
}

// going returns how far a run is: its steps, and what the one that runs prints.
func (s *workflowSection) going(ctx context.Context, v httpauth.Identity, id string) ui.Node {
	var e projects.Execution
	if err := s.Calls.Read(ctx, v, "get_execution_status", ui.Args{"executionId": id}, &e); err != nil {
		return nil
	}
	return ui.Part("Running now", ui.P(ui.Text("This page updates automatically. "), ui.LinkTo(executionPath(id), "View execution"), ui.Text(" "), ui.LinkTo(workflowPath(e.WorkflowID), "Reload")),
		stepTable(e), printing(ctx, s.Calls, v, e))
}

// printing returns what the steps print that run now.
func printing(ctx context.Context, runner *ui.CallRunner, v httpauth.Identity, e projects.Execution) ui.Node {
	at := runningSteps(e)
	if len(at) == 1 {
		return LatestOutput(ctx, runner, v, at[0].ProcessID)
	}
	var out ui.Group
	for _, step := range at {
		if shown := latestOutput(ctx, runner, v, "Output of "+ui.Printable(step.Name), step.ProcessID); shown != nil {
			out = append(out, shown)
		}
	}
	return out
}

// watch is work.Task.Watch for a run of the workflow of that id.
func (s *workflowSection) watch(v httpauth.Identity, id string) func(context.Context, []tool.Progress) ui.Node {
	return func(ctx context.Context, _ []tool.Progress) ui.Node {
		if now, ok := s.history(ctx, v, id).going(); ok {
			return s.going(ctx, v, now.ID)
		}
		return nil
	}
}

// ran is work.Task.Show for a run: how it ended, and the last lines of its steps.
func ran(o tool.Outcome) ui.Node {
	doc, tone := o.Value, ui.Good
	var wrong ui.Node
	if o.Err != nil {
		tone, wrong = ui.Bad, ui.ErrorNotice(o.Err)
		var err error
		if doc, err = tool.Encode(fault.From(o.Err).Details); err != nil {
			return nil
		}
	}
	var out struct {
		ID      string   `json:"executionId"`
		Status  string   `json:"status"`
		Done    int      `json:"stepsExecuted"`
		Total   int      `json:"totalSteps"`
		Summary []string `json:"outputSummary"`
	}
	if json.Unmarshal(doc, &out) != nil || out.ID == "" {
		return nil
	}
	return ui.Group{wrong, ui.Notice(tone, ui.P(ui.Text(fmt.Sprintf("Execution %s: %d of %d steps started. ", out.Status, out.Done, out.Total)),
		ui.LinkTo(executionPath(out.ID), "View steps and output"))),
		ui.Part("Last lines of output", ui.Printed("the last lines of output", strings.Join(out.Summary, "\n")))}
}
