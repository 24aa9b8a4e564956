package projects

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/projects/runner"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/webhook"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/projectport"
)

// The typed handles.
var (
	ListActions    = tool.Ref[ListInput, ActionList]{Name: "list_actions"}
	GetAction      = tool.Ref[ActionInput, ActionView]{Name: "get_action"}
	ListExecutions = tool.Ref[HistoryInput, ExecutionList]{Name: "list_action_executions"}
	GetExecution   = tool.Ref[ExecutionInput, ExecutionAnswer]{Name: "get_execution_status"}
	GetPermissions = tool.Ref[PermissionInput, PermissionAnswer]{Name: "get_action_permissions"}
	TriggerWebhook = tool.Ref[TriggerInput, TriggerResult]{Name: "trigger_webhook"}
)

// ActionDeps holds the dependencies of the tools. Every field is required.
type ActionDeps struct {
	Sites      runner.SiteFinder
	Actions    projectport.Actions
	Rules      projectport.Rules
	Executions projectport.Executions
	Webhooks   projectport.Webhooks
	Runner     runner.Runner
	Runs       ports.Runs
	Owner      ports.ProcessIdentity
	Clock      ports.Clock
	UUIDs      ports.UUIDs
	Mask       runner.RedactFunc // replaces secrets in what is stored
}

type service struct{ ActionDeps }

// ActionEntries returns the tools.
func ActionEntries(d ActionDeps) []tool.Entry {
	s := service{d}
	return []tool.Entry{
		bind.Query(ListActions, runner.ReadSpec(runner.CategoryActions, "List actions", "List stored actions: programs, webhooks and workflows that can be triggered by their id. With a project, also global ones.", listSchema), s.list),
		bind.Query(GetAction, runner.ReadSpec(runner.CategoryActions, "Get action", "Show a stored action with its configuration; secrets are masked.", actionSchema), s.get),
		bind.Query(ListExecutions, runner.ReadSpec(runner.CategoryActions, "List executions", "List executions of actions and workflows, newest first.", historySchema), s.history),
		bind.Query(GetExecution, runner.ReadSpec(runner.CategoryActions, "Execution status", "Show an execution with steps and output; also a call that waits for a confirmation, by its callId, and a process.", executionSchema), s.execution),
		bind.Query(GetPermissions, runner.ReadSpec(runner.CategoryActions, "Action permissions", "Show which rule holds for an action and where it comes from, or all rules.", permissionSchema), s.permissions),
		bind.Command(TriggerWebhook, runner.ExecuteSpec(runner.CategoryActions, "Trigger webhook", "Send a stored webhook's request, with a payload or variables for its template. Asks for a confirmation that shows the address and the payload.", triggerSchema), s.planTrigger, s.trigger),
	}
}

// ListInput selects actions.
type ListInput struct {
	Type      string `json:"actionType,omitempty" jsonschema:"enum=script,enum=webhook,enum=workflow"`
	ProjectID string `json:"projectId,omitempty" jsonschema:"description=those of this project and of none"`
	Enabled   bool   `json:"enabledOnly,omitempty" jsonschema:"description=leave out those that are switched off"`
}

// ActionView is an action as the contract lists it, with secrets in its configuration masked (packageflow contract §1.6).
type ActionView struct {
	ID          string       `json:"id"`
	Type        project.Kind `json:"actionType"`
	Name        string       `json:"name"`
	Description *string      `json:"description"`
	Config      any          `json:"config"`
	ProjectID   *string      `json:"projectId"`
	Enabled     bool         `json:"isEnabled"`
	CreatedAt   time.Time    `json:"createdAt"`
	UpdatedAt   time.Time    `json:"updatedAt"`
	Revision    int64        `json:"revision"`
}

// ActionList is actions, the last updated first.
type ActionList struct {
	Actions []ActionView `json:"actions"`
	Total   int          `json:"total"`
}

// masked replaces the values of an action's own environment variables.
const masked = "[REDACTED]"

// NewActionView returns the view of an action.
func NewActionView(a webhook.Action) ActionView {
	v := ActionView{ID: a.ID, Type: a.Type, Name: a.Name, Description: tool.NilIfZero(a.Description), ProjectID: tool.NilIfZero(a.ProjectID), Enabled: a.Enabled,
		CreatedAt: a.CreatedAt, UpdatedAt: a.UpdatedAt, Revision: a.Revision}
	switch {
	case a.Script != nil:
		c := *a.Script
		c.Env = map[string]string{}
		for name := range a.Script.Env {
			c.Env[name] = masked
		}
		v.Config = c
	case a.Webhook != nil:
		v.Config = a.Webhook.Masked()
	case a.Workflow != nil:
		v.Config = a.Workflow
	}
	return v
}

func (s service) list(ctx context.Context, _ tool.Scope, in ListInput) (ActionList, error) {
	out := ActionList{Actions: []ActionView{}}
	if in.ProjectID != "" {
		if _, err := s.Sites.Projects.Find(ctx, project.ID(in.ProjectID)); err != nil {
			return out, err
		}
	}
	found, err := s.Actions.List(ctx, project.ID(in.ProjectID))
	for _, a := range found {
		if (in.Type == "" || string(a.Type) == in.Type) && (a.Enabled || !in.Enabled) {
			out.Actions = append(out.Actions, NewActionView(a))
		}
	}
	out.Total = len(out.Actions)
	return out, err
}

// ActionInput names an action.
type ActionInput struct {
	ID string `json:"actionId" jsonschema:"minLength=1,description=as list_actions shows it"`
}

func (s service) get(ctx context.Context, _ tool.Scope, in ActionInput) (ActionView, error) {
	a, err := s.Actions.Find(ctx, in.ID)
	if err != nil {
		return ActionView{}, err
	}
	return NewActionView(a), nil
}

// HistoryInput selects executions.
type HistoryInput struct {
	ActionID string `json:"actionId,omitempty"`
	Type     string `json:"actionType,omitempty" jsonschema:"enum=script,enum=webhook,enum=workflow"`
	Status   string `json:"status,omitempty" jsonschema:"enum=queued,enum=running,enum=completed,enum=failed,enum=cancelled,enum=timed_out,enum=pending_confirm,enum=denied"`
	Limit    int    `json:"limit,omitempty" jsonschema:"minimum=1,maximum=200,description=default 20"`
}

// What an execution consists of in answers.
type (
	Execution     = project.Execution
	ExecutionStep = project.ExecutionStep
	OutputLine    = project.OutputLine
)

// ExecutionList is executions, the last started first, without steps, output and long results, which get_execution_status shows.
type ExecutionList struct {
	Executions []project.Execution `json:"executions"`
	Total      int                 `json:"total"`
	HasMore    bool                `json:"hasMore"`
}

// shownResult is the number of bytes of a result in a list.
const shownResult = 2 << 10

func (s service) history(ctx context.Context, _ tool.Scope, in HistoryInput) (ExecutionList, error) {
	if status, calls := callStatus(in.Status); calls {
		return s.calls(ctx, in, status)
	}
	if err := s.settleAll(ctx); err != nil {
		return ExecutionList{}, err
	}
	f := project.ExecutionFilter{ActionID: in.ActionID, Kind: project.Kind(in.Type), Status: project.Status(in.Status), Limit: in.Limit}
	if strings.HasPrefix(in.ActionID, "wf-") { // of a workflow, which is not an action
		f.ActionID, f.WorkflowID = "", in.ActionID
	}
	page, total, err := s.Executions.List(ctx, f)
	if err != nil {
		return ExecutionList{}, err
	}
	out := ExecutionList{Executions: []project.Execution{}, Total: total, HasMore: total > len(page)}
	for _, e := range page {
		if len(e.Result) > shownResult {
			e.Result = nil
		}
		out.Executions = append(out.Executions, e)
	}
	return out, nil
}

// settleAll ends executions whose process is gone, so that a filter finds their real status.
func (s service) settleAll(ctx context.Context) error {
	for _, status := range []project.Status{project.Queued, project.Running} {
		open, _, err := s.Executions.List(ctx, project.ExecutionFilter{Status: status, Limit: project.MaxListSize})
		if err != nil {
			return err
		}
		for _, e := range open {
			if !s.Owner.Judge(e.Owner).Dead() {
				continue
			}
			if _, err := s.settled(ctx, e.ID); err != nil && !errors.Is(err, project.ErrExecutionNotFound) {
				return err
			}
		}
	}
	return nil
}

// settled returns an execution in its real state: one whose process is gone has failed.
func (s service) settled(ctx context.Context, id string) (project.Execution, error) {
	e, err := s.Executions.Find(ctx, id)
	if err != nil || e.Status.Final() {
		return e, err
	}
	if !s.Owner.Judge(e.Owner).Dead() {
		e.Error = s.Owner.Elsewhere(e.Owner)
		return e, nil
	}
	gone := e.Owner
	return s.Executions.Update(ctx, id, func(e *project.Execution) error {
		if e.Owner == gone {
			e.Interrupt(s.Clock.Now())
		}
		return nil
	})
}

// ExecutionInput names an execution, a call or a process.
type ExecutionInput struct {
	ID string `json:"executionId" jsonschema:"minLength=1,description=of an execution\\, a call (callId) or a process"`
}

// ExecutionAnswer is what has the requested ID: an execution, a call or a process. The other two are nil.
type ExecutionAnswer struct {
	Execution *project.Execution
	Call      *tool.Record
	Process   *runner.Process
}

// MarshalJSON writes the form that is set.
func (a ExecutionAnswer) MarshalJSON() ([]byte, error) {
	switch {
	case a.Call != nil:
		return tool.Encode(a.Call)
	case a.Process != nil:
		return tool.Encode(a.Process)
	}
	return tool.Encode(a.Execution)
}

// UnmarshalJSON reads either form: only calls have the name of a tool, and only processes a pid.
func (a *ExecutionAnswer) UnmarshalJSON(doc []byte) error {
	var has struct {
		Tool *string `json:"toolName"`
		PID  *int    `json:"pid"`
	}
	if err := json.Unmarshal(doc, &has); err != nil {
		return err
	}
	*a = ExecutionAnswer{}
	switch {
	case has.Tool != nil:
		return json.Unmarshal(doc, &a.Call)
	case has.PID != nil:
		return json.Unmarshal(doc, &a.Process)
	}
	return json.Unmarshal(doc, &a.Execution)
}

// execution finds what has that ID: an execution, a call, or a process.
func (s service) execution(ctx context.Context, sc tool.Scope, in ExecutionInput) (ExecutionAnswer, error) {
	e, err := s.settled(ctx, in.ID)
	if err == nil {
		e = fitting(e, runner.OutputBudget(sc))
		return ExecutionAnswer{Execution: &e}, nil
	}
	if !errors.Is(err, project.ErrExecutionNotFound) {
		return ExecutionAnswer{}, err
	}
	if r, err := s.Runs.Load(ctx, in.ID); err == nil {
		r = s.call(r)
		return ExecutionAnswer{Call: &r}, nil
	}
	if state, err := s.Runner.Processes.Inspect(ctx, process.ID(in.ID)); err == nil && state.Labels[runner.LabelCapability] == runner.CapabilityProjects {
		running := runner.ProcessOf(state)
		return ExecutionAnswer{Process: &running}, nil
	}
	return ExecutionAnswer{}, project.ErrExecutionNotFound.WithMessage("there is no execution, call or process %q; list_action_executions shows executions", in.ID)
}

// fitting returns the execution with as much of its newest output as fits room bytes as JSON, beside its result.
func fitting(e project.Execution, room int) project.Execution {
	const around = 160 // JSON of a line without its texts
	room -= len(e.Result)
	from := len(e.Output)
	for ; from > 0; from-- {
		l := e.Output[from-1]
		if room -= runner.JSONSize(l.Content) + runner.JSONSize(l.Node) + around; room < 0 {
			break
		}
	}
	e.Output, e.Dropped = e.Output[from:], e.Dropped+int64(from)
	return e
}

// call returns a call's record in its real state.
func (s service) call(r tool.Record) tool.Record {
	r.Settle(s.Clock.Now(), func(owner string) bool { return s.Owner.Judge(owner).Dead() })
	r.Session, r.Owner = "", "" // only the core needs them
	return r
}

// PermissionInput names an action, or none for all rules.
type PermissionInput struct {
	ID string `json:"actionId,omitempty" jsonschema:"description=none lists every rule"`
}

// Permission is the level in force for one action.
type Permission struct {
	ActionID string        `json:"actionId"`
	Level    webhook.Level `json:"permissionLevel"`
	From     string        `json:"resolvedFrom"`
}

// Permissions is every rule.
type Permissions struct {
	Rules   []webhook.ActionRule `json:"permissions"`
	Default webhook.Level        `json:"defaultLevel"`
}

// PermissionAnswer is the level in force for the named action, or every rule if none is named. The other one is nil.
type PermissionAnswer struct {
	*Permission
	*Permissions
}

func (s service) permissions(ctx context.Context, _ tool.Scope, in PermissionInput) (PermissionAnswer, error) {
	rules, err := s.Rules.List(ctx)
	if err != nil {
		return PermissionAnswer{}, err
	}
	if in.ID == "" {
		if rules == nil {
			rules = []webhook.ActionRule{}
		}
		return PermissionAnswer{Permissions: &Permissions{Rules: rules, Default: webhook.RequireConfirm}}, nil
	}
	a, err := s.Actions.Find(ctx, in.ID)
	if err != nil {
		return PermissionAnswer{}, err
	}
	p := Permission{ActionID: a.ID}
	p.Level, p.From = webhook.ResolveLevel(rules, a.ID, a.Type)
	return PermissionAnswer{Permission: &p}, nil
}

// allowed returns the action with that ID if it is enabled, and its rule.
func (s service) allowed(ctx context.Context, id string, kind project.Kind) (webhook.Action, policy.ActionRule, error) {
	a, err := s.Actions.Find(ctx, id)
	if err != nil {
		return a, 0, err
	}
	switch {
	case a.Type != kind:
		return a, 0, project.ErrArgument.WithMessage("action %q is a %s, not a %s", a.Name, a.Type, kind)
	case !a.Enabled:
		return a, 0, project.ErrActionDisabled.WithMessage("action %q is disabled; countersign action enable %s enables it", a.Name, a.ID)
	}
	rules, err := s.Rules.List(ctx)
	if err != nil {
		return a, 0, err
	}
	level, from := webhook.ResolveLevel(rules, a.ID, a.Type)
	if from == webhook.FromDefault {
		return a, policy.ActionNone, nil
	}
	switch level {
	case webhook.AutoApprove:
		return a, policy.ActionAutoApprove, nil
	case webhook.RequireConfirm:
		return a, policy.ActionRequireConfirm, nil
	}
	return a, policy.ActionDeny, nil
}

// recorded records an execution of the action, runs do, and ends the execution with its result. parameters are those of the caller.
func (s service) recorded(ctx context.Context, sc tool.Scope, a webhook.Action, parameters sent, do func() (any, error)) (string, error) {
	e := project.Execution{ID: "exec-" + s.UUIDs.NewUUID(), Kind: a.Type, ActionID: a.ID, ProjectID: a.ProjectID, Name: a.Name, SourceClient: sc.Client,
		TriggeredBy: runner.TriggeredBy(sc), CallID: sc.CallID, Parameters: s.stored(parameters), Status: project.Running, Owner: s.Owner.Self(), StartedAt: s.Clock.Now()}
	if err := s.Executions.Create(ctx, e); err != nil {
		return "", err
	}
	result, failed := do()
	ctx = context.WithoutCancel(ctx)
	_, err := s.Executions.Update(ctx, e.ID, func(e *project.Execution) error {
		e.Result = s.stored(result)
		status, reason := verdict(result, failed)
		message := ""
		if failed != nil {
			message = s.Mask.Text(fault.From(failed).Message)
		}
		return e.End(status, reason, message, s.Clock.Now())
	})
	if failed != nil {
		return e.ID, failed
	}
	_ = s.Executions.Prune(ctx, "", 0, s.Clock.Now().Add(-project.RetentionDays*24*time.Hour)) // the next one prunes
	return e.ID, err
}

// verdict returns the final status of an execution with this result, and the reason.
func verdict(result any, failed error) (status project.Status, reason string) {
	program, ran := result.(ProgramResult)
	switch {
	case failed == nil:
		return project.Completed, ""
	case errors.Is(failed, project.ErrExecutionTimeout):
		return project.TimedOut, "timeout"
	case errors.Is(failed, project.ErrCancelled), errors.Is(failed, context.Canceled):
		return project.Cancelled, "cancelled"
	case ran && program.ExitCode != 0:
		return project.Failed, "non_zero_exit"
	}
	return project.Failed, "error"
}

// maxStored bounds a stored document, in bytes.
const maxStored = 256 << 10

// stored returns a value as it is stored: masked, and only its size if it is too long.
func (s service) stored(value any) json.RawMessage {
	doc, err := tool.Encode(value)
	if value == nil || err != nil || string(doc) == "{}" {
		return nil
	}
	if len(doc) > maxStored {
		doc, _ = tool.Encode(map[string]int{"bytes": len(doc)}) // a number always encodes
	}
	return s.Mask(doc)
}
