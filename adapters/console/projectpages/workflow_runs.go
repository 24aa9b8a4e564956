package projectpages

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/app/projects"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// history is a workflow's executions, newest first, or the error of reading them.
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

// going returns the execution that runs now.
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

// going returns a running execution: its steps, and the output of those that run.
func (s *workflowSection) going(ctx context.Context, v httpauth.Identity, f flow, id string) ui.Node {
	var e projects.Execution
	if err := s.Calls.Read(ctx, v, "get_execution_status", ui.Args{"executionId": id}, &e); err != nil {
		return nil
	}
	return ui.Group{ui.Part("Running now", ui.P(ui.Text("This page updates automatically. "), ui.LinkTo(executionPath(id), "View execution")),
		s.graph(v, f, &e), stepTable(e)), printing(ctx, s.Calls, v, e)}
}

// lastExecution returns the graph of the steps with their status in the last execution.
func (s *workflowSection) lastExecution(ctx context.Context, v httpauth.Identity, f flow, past history) ui.Node {
	if len(f.Nodes) == 0 {
		return ui.Group{ui.Empty("No steps yet."), ui.P(ui.ButtonLink(workflowTab(f.ID, tabSteps), "Add step"))}
	}
	if past.err != nil {
		return ui.Group{ui.ErrorNotice(past.err), s.graph(v, f, nil)}
	}
	if len(past.runs) == 0 {
		return ui.Part("Steps", ui.P(ui.Class("quiet"), ui.Text("No executions yet.")), s.graph(v, f, nil))
	}
	var e projects.Execution
	if err := s.Calls.Read(ctx, v, "get_execution_status", ui.Args{"executionId": past.runs[0].ID}, &e); err != nil {
		return ui.Group{ui.ErrorNotice(err), s.graph(v, f, nil)}
	}
	return ui.Part("Last execution", ui.P(StatusBadge(string(e.Status)), ui.Text(" "), ui.A(ui.Href(executionPath(e.ID)), ui.When(e.StartedAt)), ui.Text(" "),
		ui.Span(ui.Class("quiet"), ui.Text(ui.Took(e.DurationMS)+" "), ui.OptionalText(e.Error))), s.graph(v, f, &e))
}

// graph returns the steps of a workflow with what each waits for, and their status in an execution, which may be nil.
func (s *workflowSection) graph(v httpauth.Identity, f flow, e *projects.Execution) ui.Node {
	changes := s.Calls.Serves(v, toolChangeStep)
	ran := map[string]projects.ExecutionStep{}
	if e != nil {
		for _, step := range e.Steps {
			if step.Depth == 0 {
				ran[step.NodeID] = step
			}
		}
	}
	steps := slices.Clone(f.Nodes) // those that run last are the last ones
	slices.SortStableFunc(steps, func(a, b present.Step) int { return cmp.Compare(runsLast(a), runsLast(b)) })
	at := map[string]int{}
	var nodes []ui.GraphNode
	for i, step := range steps {
		at[step.ID] = i
		n := ui.GraphNode{Text: step.Name, Tone: ui.Plain, Note: step.Config.Command, Detail: step.Starts()}
		if e != nil {
			n.Note, n.Detail = "Not run", strings.TrimPrefix(n.Detail+", "+step.Config.Command, ", ")
		}
		if done, ok := ran[step.ID]; ok {
			n.Note, n.Tone = strings.TrimSuffix(statusText(string(done.Status))+", "+ui.Took(done.DurationMS), ", "), statusTone(string(done.Status))
		}
		if changes {
			n.Href = stepPath(f.ID, step.ID)
		}
		if step.Config.Needs == nil {
			for k := range i {
				if runsLast(step) == 1 || runsLast(steps[k]) == 0 {
					n.After = append(n.After, k)
				}
			}
		}
		for _, id := range step.Config.Needs {
			if k, ok := at[id]; ok && k < i {
				n.After = append(n.After, k)
			}
		}
		nodes = append(nodes, n)
	}
	return ui.Graph("Steps of "+f.Name, nodes)
}

// runsLast returns 1 for a step that starts a workflow without waiting for it, which runs after the others, and 0 for any other.
func runsLast(s present.Step) int {
	if s.Config.Target != "" && s.Config.Wait != nil && !*s.Config.Wait {
		return 1
	}
	return 0
}

// printing returns the latest output of the steps that run now.
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

// watch returns ui.Task.Watch for an execution of the workflow with that ID.
func (s *workflowSection) watch(v httpauth.Identity, id string) func(context.Context, []tool.Progress) ui.Node {
	return func(ctx context.Context, _ []tool.Progress) ui.Node {
		if now, ok := s.history(ctx, v, id).going(); ok {
			f, err := s.load(ctx, v, id)
			if err != nil {
				return nil
			}
			return s.going(ctx, v, f, now.ID)
		}
		return nil
	}
}

// ran is ui.Task.Show for an execution: its result, and the last lines of its output.
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
