package flowpages

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/page"
	"github.com/countersign-dev/countersign/adapters/console/projectpages/execview"
	"github.com/countersign-dev/countersign/adapters/console/sectionpage"
	"github.com/countersign-dev/countersign/adapters/httpguard"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// history is a workflow's runs, the last started first, or why they are not known.
type history struct {
	runs []execview.Execution
	err  error
}

func (s *Section) history(ctx context.Context, v httpguard.Visitor, id string) history {
	var answer struct {
		Executions []execview.Execution `json:"executions"`
	}
	err := s.Desk.Read(ctx, v, "list_action_executions", sectionpage.Args{"actionId": id}, &answer)
	return history{answer.Executions, err}
}

// going is the run that goes on now.
func (h history) going() (execview.Execution, bool) {
	for _, e := range h.runs {
		if e.Going() {
			return e, true
		}
	}
	return execview.Execution{}, false
}

func (h history) table() markup.Node {
	if h.err != nil {
		return page.Part("History", sectionpage.Tell(h.err))
	}
	return page.Part("History", execview.Table("runs of this workflow", h.runs, "It has never run."))
}

// going is how far a run is: its steps, and what the one that runs prints.
func (s *Section) going(ctx context.Context, v httpguard.Visitor, id string) markup.Node {
	var e execview.Execution
	if err := s.Desk.Read(ctx, v, "get_execution_status", sectionpage.Args{"executionId": id}, &e); err != nil {
		return nil
	}
	return page.Part("Running now", markup.P(page.Text("This page follows it. "), page.To(execview.ExecutionPath(id), "All of it"), page.Text(" "), page.To(Path(e.WorkflowID), "Look again")),
		e.StepTable(), execview.Latest(ctx, s.Desk, v, e.At()))
}

// watch is work.Task.Watch for a run of the workflow of that id.
func (s *Section) watch(v httpguard.Visitor, id string) func(context.Context, []tool.Progress) markup.Node {
	return func(ctx context.Context, _ []tool.Progress) markup.Node {
		if now, ok := s.history(ctx, v, id).going(); ok {
			return s.going(ctx, v, now.ID)
		}
		return nil
	}
}

// ran is work.Task.Show for a run: how it ended, and the last lines of its steps.
func ran(o tool.Outcome) markup.Node {
	doc, tone := o.Value, page.Good
	var wrong markup.Node
	if o.Err != nil {
		tone, wrong = page.Bad, sectionpage.Tell(o.Err)
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
	return markup.Group{wrong, page.Notice(tone, markup.P(page.Text(fmt.Sprintf("The run is %s: %d of %d steps were begun. ", out.Status, out.Done, out.Total)),
		page.To(execview.ExecutionPath(out.ID), "Its steps and its output"))),
		page.Part("The last lines", page.Printed("the last lines of output", strings.Join(out.Summary, "\n")))}
}
