package projects

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
)

// callStatus returns the status of a call that has not become an execution: one that waits for the user, or was denied (packageflow contract §1.8).
func callStatus(status string) (tool.Status, bool) {
	switch status {
	case "pending_confirm":
		return tool.StatusPendingConfirmation, true
	case "denied":
		return tool.StatusDenied, true
	}
	return 0, false
}

// calls returns the newest calls of actions and workflows with that status, as executions that never began.
func (s service) calls(ctx context.Context, in HistoryInput, status tool.Status) (ExecutionList, error) {
	out := ExecutionList{Executions: []project.Execution{}}
	limit := cmp.Or(in.Limit, project.DefaultListSize)
	records, err := s.Runs.List(ctx, ports.RunFilter{Limit: ports.RunsAtMost})
	if err != nil {
		return out, err
	}
	for _, r := range records {
		r = s.call(r)
		kind, id := targetOf(r)
		if r.Status != status || kind == "" || in.Type != "" && string(kind) != in.Type || in.ActionID != "" && in.ActionID != id {
			continue
		}
		if out.Total++; len(out.Executions) == limit {
			out.HasMore = true
			continue
		}
		e := project.Execution{ID: r.CallID, Kind: kind, Name: id, SourceClient: r.Client, CallID: r.CallID, Parameters: r.Args, Status: project.Status(in.Status),
			Reason: string(r.Reason), Error: r.Said, StartedAt: r.At, CompletedAt: r.EndedAt}
		if kind == project.KindWorkflow {
			e.WorkflowID = id
		} else {
			e.ActionID = id
			if a, err := s.Actions.Find(ctx, id); err == nil {
				e.Name = a.Name
			}
		}
		out.Executions = append(out.Executions, e)
	}
	return out, nil
}

// targetOf returns what a call would have run: an action or a workflow; a kind of "" for any other call.
func targetOf(r tool.Record) (project.Kind, string) {
	var args struct {
		Action   string `json:"actionId"`
		Action2  string `json:"action_id"`
		Webhook  string `json:"webhook_id"`
		Workflow string `json:"workflow_id"`
	}
	if json.Unmarshal(r.Args, &args) != nil {
		return "", ""
	}
	action := cmp.Or(args.Action, args.Action2)
	switch {
	case r.Tool == string(TriggerWebhook.Name):
		return project.KindWebhook, cmp.Or(args.Webhook, action)
	case r.Tool == "run_script" && action != "":
		return project.KindScript, action
	case r.Tool == "run_workflow":
		return project.KindWorkflow, args.Workflow
	}
	return "", ""
}
