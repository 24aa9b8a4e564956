package projects

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/projects/runner"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/webhook"
	"github.com/countersign-dev/countersign/domain/tool"
)

// The typed handles of the tools about workflows.
var (
	ChangeWorkflow = tool.Ref[ChangeWorkflowInput, ChangedWorkflow]{Name: "workflow_change"}
	RemoveWorkflow = tool.Ref[WorkflowInput, Removed]{Name: "workflow_remove"}
	RemoveStep     = tool.Ref[StepInput, ChangedWorkflow]{Name: "workflow_step_remove"}
	AddTrigger     = tool.Ref[AddTriggerInput, ChangedWorkflow]{Name: "workflow_trigger_add"}
	SetWebhook     = tool.Ref[SetWebhookInput, ChangedWorkflow]{Name: "workflow_webhook_set"}
	SetIncoming    = tool.Ref[SetIncomingInput, ChangedWorkflow]{Name: "workflow_incoming_set"}
)

func (s adminService) workflowEntries() []tool.Entry {
	return []tool.Entry{
		bind.Command(ChangeWorkflow, quietly(runner.StoreSpec(runner.CategoryWorkflows, "Change workflow", "Change a workflow's name, description, inputs or the number of executions to keep.", changeWorkflowSchema)), s.planChangeWorkflow, s.edit),
		bind.Command(RemoveWorkflow, runner.StoreSpec(runner.CategoryWorkflows, "Remove workflow", "Delete a workflow; keep its executions.", workflowSchema), s.planRemoveWorkflow, s.removeWorkflow),
		bind.Command(RemoveStep, runner.StoreSpec(runner.CategoryWorkflows, "Remove step", "Remove a step from a workflow.", stepSchema), s.planRemoveStep, s.edit),
		bind.Command(AddTrigger, quietly(runner.StoreSpec(runner.CategoryWorkflows, "Add workflow as step", "Add a step that starts another workflow.", addTriggerSchema)), s.planAddTrigger, s.edit),
		bind.Command(SetWebhook, quietly(runner.StoreSpec(runner.CategoryWorkflows, "Set workflow webhook", "Set or remove the URL that is called when an execution of a workflow ends.", setWebhookSchema)), s.planSetWebhook, s.edit),
		bind.Command(SetIncoming, quietly(runner.StoreSpec(runner.CategoryWorkflows, "Set incoming webhook", "Enable or disable signed external requests that start a workflow as it is now.", setIncomingSchema)), s.planSetIncoming, s.edit),
	}
}

// WorkflowInput names a workflow.
type WorkflowInput struct {
	ID string `json:"workflow_id" jsonschema:"minLength=1"`
}

// ChangedWorkflow is a workflow after a change.
type ChangedWorkflow struct {
	WorkflowID string `json:"workflowId"`
	Name       string `json:"name"`
	StepCount  int    `json:"stepCount"`
	Revision   int64  `json:"revision"`
	NodeID     string `json:"nodeId,omitempty"`
}

// editPlan is the plan to change a workflow, with a function that is run again on the stored one.
type editPlan struct {
	runner.Plan
	before project.Workflow
	apply  func(*project.Workflow) error
	nodeID string
}

// edit is a change of a workflow by the user.
type edit struct {
	tool    tool.Name
	id      string // of the workflow
	summary string
	shown   map[string]any
	apply   func(*project.Workflow) error
	human   policy.Strength // of the approval, if users approve
	always  policy.Strength // of the approval in any case
}

// planEdit shows the workflow after a change.
func (s adminService) planEdit(ctx context.Context, e edit) (editPlan, error) {
	before, err := s.Workflows.Find(ctx, e.id)
	if err != nil {
		return editPlan{}, err
	}
	after := before
	if err := e.apply(&after); err != nil {
		return editPlan{}, err
	}
	e.shown["workflow"], e.shown["workflow_id"], e.shown["revision"] = before.Name, before.ID, before.Revision
	p := editPlan{before: before, apply: e.apply}
	p.Plan, err = runner.NewPlan(e.tool, fmt.Sprintf("%s of workflow %q", e.summary, before.Name), e.shown, policy.Assessment{Strength: e.always, Risk: policy.RiskLow, Human: e.human})
	return p, err
}

func (s adminService) edit(ctx context.Context, _ tool.Scope, p editPlan) (ChangedWorkflow, error) {
	w, err := s.Workflows.Update(ctx, p.before.ID, func(w *project.Workflow) error {
		if w.Revision != p.before.Revision {
			return project.ErrConflict.WithMessage("workflow %q changed since you read it; read it again and retry", w.Name)
		}
		return p.apply(w)
	})
	return ChangedWorkflow{WorkflowID: w.ID, Name: w.Name, StepCount: len(w.Nodes), Revision: w.Revision, NodeID: p.nodeID}, err
}

// ChangeWorkflowInput is the changes; omitted fields stay.
type ChangeWorkflowInput struct {
	ID          string `json:"workflow_id" jsonschema:"minLength=1"`
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	History     int    `json:"max_history,omitempty" jsonschema:"minimum=1,maximum=500,description=executions kept (default 50)"`

	Inputs []project.Input `json:"inputs,omitzero" jsonschema:"description=in place of those there are; [] is none"`
}

func (s adminService) planChangeWorkflow(ctx context.Context, _ tool.Scope, in ChangeWorkflowInput) (editPlan, error) {
	about := map[string]any{"name": in.Name, "description": in.Description}
	if in.History > 0 {
		about["max_history"] = in.History
	}
	what, asks := "change the name, description or history", policy.None
	if in.Inputs != nil { // the environment of its steps
		before, err := s.Workflows.Find(ctx, in.ID)
		if err != nil {
			return editPlan{}, err
		}
		what, asks = "set the inputs", policy.Simple
		about["inputs"], about["inputs_before"] = in.Inputs, append([]project.Input{}, before.Inputs...)
	}
	return s.planEdit(ctx, edit{ChangeWorkflow.Name, in.ID, what, about,
		func(w *project.Workflow) error {
			if in.Inputs != nil {
				if err := w.SetInputs(in.Inputs); err != nil {
					return err
				}
			}
			if in.History > 0 {
				w.History = in.History
			}
			return w.Rename(in.Name, in.Description, s.Clock.Now())
		}, asks, asks})
}

type removeWorkflowPlan struct {
	runner.Plan
	id, name string
}

func (s adminService) planRemoveWorkflow(ctx context.Context, _ tool.Scope, in WorkflowInput) (removeWorkflowPlan, error) {
	w, err := s.Workflows.Find(ctx, in.ID)
	if errors.Is(err, project.ErrUnreadable) { // it can be removed all the same
		w, err = project.Workflow{ID: in.ID, Name: in.ID}, nil
	}
	if err != nil {
		return removeWorkflowPlan{}, err
	}
	var steps []string
	for _, n := range w.Nodes {
		steps = append(steps, n.Name)
	}
	left, err := s.starters(ctx, w.ID)
	if err != nil {
		return removeWorkflowPlan{}, err
	}
	p := removeWorkflowPlan{id: w.ID, name: w.Name}
	p.Plan, err = runner.NewPlan(RemoveWorkflow.Name, fmt.Sprintf("remove workflow %q with %d steps", w.Name, len(w.Nodes)),
		map[string]any{"workflow": w.Name, "workflow_id": w.ID, "revision": w.Revision, "steps": steps, "started_by": left}, policy.Assessment{Risk: policy.RiskLow})
	if len(left) > 0 {
		p.Plan = p.Plan.Warned("these workflows start it as a step, and cannot run until that step is removed: " + strings.Join(left, ", "))
	}
	return p, err
}

// starters returns the names of workflows that start the one with that ID.
func (s adminService) starters(ctx context.Context, id string) ([]string, error) {
	all, err := s.Workflows.List(ctx, "")
	out := []string{}
	for _, w := range all {
		for _, n := range w.Nodes {
			if n.Type == project.NodeTrigger && n.Config.TargetID == id && !slices.Contains(out, w.Name) {
				out = append(out, w.Name)
			}
		}
	}
	return out, err
}

func (s adminService) removeWorkflow(ctx context.Context, _ tool.Scope, p removeWorkflowPlan) (Removed, error) {
	return Removed{ID: p.id, Name: p.name, Removed: true}, s.Workflows.Delete(ctx, p.id)
}

// StepInput names a step of a workflow.
type StepInput struct {
	ID     string `json:"workflow_id" jsonschema:"minLength=1"`
	NodeID string `json:"node_id" jsonschema:"minLength=1"`
}

func (s adminService) planRemoveStep(ctx context.Context, _ tool.Scope, in StepInput) (editPlan, error) {
	w, err := s.Workflows.Find(ctx, in.ID)
	if err != nil {
		return editPlan{}, err
	}
	name := in.NodeID
	for _, n := range w.Nodes {
		if n.ID == in.NodeID {
			name = strconv.Quote(n.Name)
		}
	}
	return s.planEdit(ctx, edit{RemoveStep.Name, in.ID, "remove step " + name, map[string]any{"node_id": in.NodeID}, func(w *project.Workflow) error {
		return w.Remove(in.NodeID, s.Clock.Now())
	}, policy.None, policy.None})
}

// AddTriggerInput is a workflow to start as a step of another.
type AddTriggerInput struct {
	ID       string `json:"workflow_id" jsonschema:"minLength=1"`
	Name     string `json:"name" jsonschema:"minLength=1"`
	Target   string `json:"target_workflow_id" jsonschema:"minLength=1"`
	Order    *int   `json:"order,omitempty"`
	NoWait   bool   `json:"no_wait,omitempty" jsonschema:"description=its outcome does not matter; it runs after the other steps"`
	Continue bool   `json:"continue_on_failure,omitempty"`
}

func (s adminService) planAddTrigger(ctx context.Context, _ tool.Scope, in AddTriggerInput) (editPlan, error) {
	wait := !in.NoWait
	n := project.Node{ID: "node-" + s.UUIDs.NewUUID(), Type: project.NodeTrigger, Name: in.Name, Config: project.NodeConfig{TargetID: in.Target, Wait: &wait}}
	if in.Continue {
		n.Config.OnChildFailure = "continue"
	}
	load := func(id string) (*project.Workflow, error) {
		child, err := s.Workflows.Find(ctx, id)
		return &child, err
	}
	p, err := s.planEdit(ctx, edit{AddTrigger.Name, in.ID, "add workflow " + in.Target + " as a step", map[string]any{"name": in.Name, "target": in.Target, "no_wait": in.NoWait, "continue": in.Continue},
		func(w *project.Workflow) error {
			if err := w.Insert(n, in.Order, s.Clock.Now()); err != nil {
				return err
			}
			return project.CheckTriggers(w, func(id string) (*project.Workflow, error) {
				if id == w.ID {
					return w, nil
				}
				return load(id)
			})
		}, policy.None, policy.None})
	p.nodeID = n.ID
	return p, err
}

// SetWebhookInput is the webhook that is called when an execution ends. An empty URL removes it.
type SetWebhookInput struct {
	ID       string            `json:"workflow_id" jsonschema:"minLength=1"`
	URL      string            `json:"url,omitempty"`
	Trigger  string            `json:"trigger,omitempty" jsonschema:"enum=onSuccess,enum=onFailure,enum=always"`
	Headers  map[string]string `json:"headers,omitempty"`
	Template string            `json:"payload_template,omitempty"`
}

func (s adminService) planSetWebhook(ctx context.Context, _ tool.Scope, in SetWebhookInput) (editPlan, error) {
	var hook *project.Outgoing
	if in.URL != "" {
		hook = &project.Outgoing{Enabled: true, URL: in.URL, Trigger: in.Trigger, Headers: in.Headers, PayloadTemplate: in.Template}
		if hook.Trigger == "" {
			hook.Trigger = webhook.OnAlways
		}
		if err := webhook.Outgoing(*hook).Validate(); err != nil {
			return editPlan{}, err
		}
	}
	digest, err := canon.Sum("project.webhook.v1", in) // headers and template are part of the approval, but not shown
	if err != nil {
		return editPlan{}, err
	}
	shown := map[string]any{"url": webhook.Config{URL: in.URL}.Masked().URL, "trigger": in.Trigger, "digest": digest}
	return s.planEdit(ctx, edit{SetWebhook.Name, in.ID, "set the webhook", shown, func(w *project.Workflow) error {
		w.Webhook = hook
		w.Touch(s.Clock.Now())
		return nil
	}, policy.None, policy.None})
}

// SetIncomingInput enables requests that start a workflow. The client makes token and secret, and only it sees them.
type SetIncomingInput struct {
	ID               string `json:"workflow_id" jsonschema:"minLength=1"`
	Enabled          bool   `json:"enabled"`
	Token            string `json:"token,omitempty" jsonschema:"description=requests bring it; only its digest is kept"`
	Secret           string `json:"secret,omitempty" jsonschema:"description=signs requests"`
	RequireSignature bool   `json:"require_signature,omitempty"`
	Untimed          bool   `json:"untimed,omitempty" jsonschema:"description=signatures cover the body alone"`
}

// minToken is the length of a token that cannot be guessed.
const minToken = 20

func (s adminService) planSetIncoming(ctx context.Context, _ tool.Scope, in SetIncomingInput) (editPlan, error) {
	if in.Enabled && len(in.Token) < minToken {
		return editPlan{}, project.ErrArgument.WithMessage("the token has %d characters; at least %d keep it from being guessed", len(in.Token), minToken)
	}
	if in.RequireSignature && len(in.Secret) < minToken {
		return editPlan{}, project.ErrArgument.WithMessage("signatures need a secret of at least %d characters", minToken)
	}
	digest, err := canon.Sum("project.incoming.v1", in) // token and secret are part of the approval, and never shown
	if err != nil {
		return editPlan{}, err
	}
	shown := map[string]any{"enabled": in.Enabled, "require_signature": in.RequireSignature, "untimed": in.Untimed, "digest": digest}
	asks := policy.None
	if in.Enabled { // external requests then start executions without further approval
		asks = policy.Preview
	}
	return s.planEdit(ctx, edit{SetIncoming.Name, in.ID, "set the incoming webhook", shown,
		func(w *project.Workflow) error {
			now := s.Clock.Now()
			w.Touch(now)
			if w.Incoming = nil; in.Enabled {
				w.Incoming = &project.Incoming{Enabled: true, TokenDigest: webhook.DigestToken(in.Token), TokenCreatedAt: now, Secret: in.Secret,
					RequireSignature: in.RequireSignature, Untimed: in.Untimed, ApprovedRevision: w.Revision}
			}
			return nil
		}, asks, policy.None})
}
