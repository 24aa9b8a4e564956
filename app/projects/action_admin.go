package projects

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/countersign-dev/countersign/app/bind"
	apprunner "github.com/countersign-dev/countersign/app/projects/runner"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/webhook"
	"github.com/countersign-dev/countersign/domain/tool"
)

// The typed handles of the tools about actions, rules and templates.
var (
	SaveAction     = tool.Ref[SaveActionInput, SavedAction]{Name: "action_save"}
	SwitchAction   = tool.Ref[SwitchInput, SavedAction]{Name: "action_switch"}
	RemoveAction   = tool.Ref[AdminActionInput, Removed]{Name: "action_remove"}
	SetActionRule  = tool.Ref[RuleInput, RuleAnswer]{Name: "action_rule_set"}
	RemoveTemplate = tool.Ref[TemplateInput, Removed]{Name: "step_template_remove"}
)

func (s adminService) actionEntries() []tool.Entry {
	return []tool.Entry{
		bind.Command(SaveAction, quietly(apprunner.StoreSpec(apprunner.CategoryActions, "Save action", "Store an action: a program, a webhook or a workflow that can be triggered by its id. With id, replace that one.", saveActionSchema)), s.planSave, s.save),
		bind.Command(SwitchAction, quietly(apprunner.StoreSpec(apprunner.CategoryActions, "Switch action", "Enable or disable an action.", switchSchema)), s.planSwitch, s.save),
		bind.Command(RemoveAction, apprunner.StoreSpec(apprunner.CategoryActions, "Remove action", "Delete an action and its rules; keep its executions.", adminActionSchema), s.planRemoveAction, s.removeAction),
		bind.Command(SetActionRule, quietly(apprunner.StoreSpec(apprunner.CategoryActions, "Set action rule", "Set the rule for one action, one type or all actions: run, ask or never run; or remove the rule.", ruleSchema)), s.planRule, s.rule),
		bind.Command(RemoveTemplate, apprunner.StoreSpec(apprunner.CategoryTemplates, "Remove step template", "Delete a custom step template.", templateSchema), s.planRemoveTemplate, s.removeTemplate),
	}
}

// SaveActionInput is an action. Exactly the config of its type is given.
type SaveActionInput struct {
	ID          string                  `json:"id,omitempty" jsonschema:"description=of the action to replace"`
	Type        string                  `json:"type" jsonschema:"enum=script,enum=webhook,enum=workflow"`
	Name        string                  `json:"name" jsonschema:"minLength=1"`
	Description string                  `json:"description,omitempty"`
	Project     string                  `json:"project,omitempty" jsonschema:"description=id or path or name; none: of no project"`
	Disabled    bool                    `json:"disabled,omitempty"`
	Script      *webhook.ScriptConfig   `json:"script,omitempty"`
	Webhook     *webhook.Config         `json:"webhook,omitempty"`
	Workflow    *webhook.WorkflowConfig `json:"workflow,omitempty"`
}

// SavedAction is an action after a change.
type SavedAction struct {
	ID       string       `json:"id"`
	Type     project.Kind `json:"actionType"`
	Name     string       `json:"name"`
	Enabled  bool         `json:"isEnabled"`
	Revision int64        `json:"revision"`
}

// savePlan is the plan to save an action; before has no ID for a new one.
type savePlan struct {
	apprunner.Plan
	before, after webhook.Action
}

func (s adminService) planSave(ctx context.Context, _ tool.Scope, in SaveActionInput) (savePlan, error) {
	var p savePlan
	var err error
	if in.ID != "" {
		if p.before, err = s.Actions.Find(ctx, in.ID); err != nil {
			return p, err
		}
	}
	p.after = webhook.Action{ID: in.ID, Type: project.Kind(in.Type), Name: in.Name, Description: in.Description, Enabled: !in.Disabled,
		Script: in.Script, Webhook: in.Webhook, Workflow: in.Workflow}
	if in.Project != "" {
		of, err := FindProject(ctx, s.Sites.Projects, in.Project)
		if err != nil {
			return p, err
		}
		p.after.ProjectID = string(of.ID)
	}
	if err := p.after.Validate(); err != nil {
		return p, err
	}
	if in.Workflow != nil {
		if _, err := s.Workflows.Find(ctx, in.Workflow.WorkflowID); err != nil {
			return p, err
		}
	}
	findings, err := s.inspect(ctx, p.after)
	if err != nil {
		return p, err
	}
	digest, err := canon.Sum("project.action.v1", p.after) // the approval also covers what is not shown of it
	if err != nil {
		return p, err
	}
	p.Plan, err = apprunner.NewPlan(SaveAction.Name, fmt.Sprintf("store the %s action %q", in.Type, in.Name),
		map[string]any{"id": in.ID, "name": in.Name, "type": in.Type, "description": in.Description, "enabled": p.after.Enabled, "projectId": p.after.ProjectID,
			"config": NewActionView(p.after).Config, "digest": digest, "revision": p.before.Revision, "findings": findings}, policy.Assessment{Risk: policy.RiskLow})
	return p, err
}

// inspect rejects a program that would not be run here, and variables that would change what programs are (packageflow-security contract §4.6, §4.8).
// Other types are not inspected: triggering shows what they do.
func (s adminService) inspect(ctx context.Context, a webhook.Action) (apprunner.Findings, error) {
	if a.Script == nil {
		return nil, nil
	}
	if err := process.CheckEnv(a.Script.Env); err != nil {
		return nil, err
	}
	of, err := s.home(ctx, a)
	if err != nil {
		return nil, err
	}
	runner := apprunner.Runner{Dirs: s.Sites.Dirs, Parser: s.Parser}
	around, err := s.Sites.Dirs.Surroundings(ctx, of)
	if err != nil {
		return nil, err
	}
	return runner.Inspect(around, of, of, apprunner.QuoteArgs(slices.Concat([]string{a.Script.Command}, a.Script.Args)))
}

// home returns the directory of an action's project, / for one without a project.
func (s adminService) home(ctx context.Context, a webhook.Action) (string, error) {
	if a.ProjectID == "" {
		return "/", nil
	}
	of, err := s.Sites.Projects.Find(ctx, project.ID(a.ProjectID))
	return of.Path, err
}

func (s adminService) save(ctx context.Context, _ tool.Scope, p savePlan) (SavedAction, error) {
	after, now := p.after, s.Clock.Now()
	after.UpdatedAt = now
	if p.before.ID == "" {
		after.ID, after.CreatedAt, after.Revision = s.UUIDs.NewUUID(), now, 1
		return savedOf(after), s.Actions.Create(ctx, after)
	}
	stored, err := s.Actions.Update(ctx, p.before.ID, func(a *webhook.Action) error {
		if a.Revision != p.before.Revision {
			return project.ErrConflict.WithMessage("action %q changed since you read it; read it again and retry", a.Name)
		}
		after.CreatedAt, after.Revision = a.CreatedAt, a.Revision
		*a = after
		return nil
	})
	return savedOf(stored), err
}

func savedOf(a webhook.Action) SavedAction {
	return SavedAction{ID: a.ID, Type: a.Type, Name: a.Name, Enabled: a.Enabled, Revision: a.Revision}
}

// SwitchInput enables or disables an action.
type SwitchInput struct {
	ID      string `json:"actionId" jsonschema:"minLength=1"`
	Enabled bool   `json:"enabled"`
}

func (s adminService) planSwitch(ctx context.Context, _ tool.Scope, in SwitchInput) (savePlan, error) {
	before, err := s.Actions.Find(ctx, in.ID)
	if err != nil {
		return savePlan{}, err
	}
	p := savePlan{before: before, after: before}
	p.after.Enabled = in.Enabled
	p.Plan, err = apprunner.NewPlan(SwitchAction.Name, fmt.Sprintf("switch action %q (enabled: %t)", before.Name, in.Enabled),
		map[string]any{"id": before.ID, "name": before.Name, "enabled": in.Enabled, "revision": before.Revision}, policy.Assessment{Risk: policy.RiskLow})
	return p, err
}

// AdminActionInput names an action.
type AdminActionInput struct {
	ID string `json:"actionId" jsonschema:"minLength=1"`
}

type removeActionPlan struct {
	apprunner.Plan
	id, name string
}

func (s adminService) planRemoveAction(ctx context.Context, _ tool.Scope, in AdminActionInput) (removeActionPlan, error) {
	a, err := s.Actions.Find(ctx, in.ID)
	if errors.Is(err, project.ErrUnreadable) { // it can be removed all the same
		a, err = webhook.Action{ID: in.ID, Name: in.ID, Type: "unreadable"}, nil
	}
	if err != nil {
		return removeActionPlan{}, err
	}
	p := removeActionPlan{id: a.ID, name: a.Name}
	p.Plan, err = apprunner.NewPlan(RemoveAction.Name, fmt.Sprintf("remove the %s action %q", a.Type, a.Name),
		map[string]any{"id": a.ID, "name": a.Name, "revision": a.Revision}, policy.Assessment{Risk: policy.RiskLow})
	return p, err
}

func (s adminService) removeAction(ctx context.Context, _ tool.Scope, p removeActionPlan) (Removed, error) {
	return Removed{ID: p.id, Name: p.name, Removed: true}, s.Actions.Delete(ctx, p.id)
}

// RuleInput is the user's rule for an action, for a type, or, with neither, for all. An empty level removes it.
type RuleInput struct {
	ActionID string `json:"actionId,omitempty"`
	Type     string `json:"actionType,omitempty" jsonschema:"enum=script,enum=webhook,enum=workflow"`
	Level    string `json:"permissionLevel,omitempty" jsonschema:"enum=require_confirm,enum=auto_approve,enum=deny"`
}

// RuleAnswer is the rule now in force for the named scope.
type RuleAnswer struct {
	ActionID string        `json:"actionId,omitempty"`
	Type     project.Kind  `json:"actionType,omitempty"`
	Level    webhook.Level `json:"permissionLevel"`
	From     string        `json:"resolvedFrom"`
}

type rulePlan struct {
	apprunner.Plan
	rule webhook.ActionRule
}

func (s adminService) planRule(ctx context.Context, _ tool.Scope, in RuleInput) (rulePlan, error) {
	p := rulePlan{rule: webhook.ActionRule{ActionID: in.ActionID, Type: project.Kind(in.Type), Level: webhook.Level(in.Level)}}
	if in.ActionID != "" && in.Type != "" {
		return p, project.ErrArgument.WithMessage("a rule is for one action or for one type, not for both")
	}
	kind := p.rule.Type
	if in.ActionID != "" {
		of, err := s.Actions.Find(ctx, in.ActionID)
		if err != nil {
			return p, err
		}
		kind = of.Type
	}
	rules, err := s.Rules.List(ctx)
	if err != nil {
		return p, err
	}
	a := policy.Assessment{Risk: policy.RiskLow}
	if webhook.LoosensRules(rules, p.rule, kind) {
		a.Human = policy.Preview
	}
	p.Plan, err = apprunner.NewPlan(SetActionRule.Name, "set the rule for actions", map[string]any{"actionId": in.ActionID, "actionType": in.Type, "permissionLevel": in.Level}, a)
	return p, err
}

func (s adminService) rule(ctx context.Context, _ tool.Scope, p rulePlan) (RuleAnswer, error) {
	r := p.rule
	var err error
	if r.Level == "" {
		_, err = s.Rules.Delete(ctx, r.ActionID, r.Type)
	} else {
		r.CreatedAt = s.Clock.Now()
		err = s.Rules.Put(ctx, r)
	}
	if err != nil {
		return RuleAnswer{}, err
	}
	rules, err := s.Rules.List(ctx)
	a := RuleAnswer{ActionID: r.ActionID, Type: r.Type}
	kind := r.Type
	if r.ActionID != "" {
		if action, err := s.Actions.Find(ctx, r.ActionID); err == nil {
			kind = action.Type
		}
	}
	a.Level, a.From = webhook.ResolveLevel(rules, r.ActionID, kind)
	return a, err
}

// TemplateInput names a custom template.
type TemplateInput struct {
	ID string `json:"templateId" jsonschema:"minLength=1"`
}

type removeTemplatePlan struct {
	apprunner.Plan
	id, name string
}

func (s adminService) planRemoveTemplate(ctx context.Context, _ tool.Scope, in TemplateInput) (removeTemplatePlan, error) {
	own, err := s.Templates.List(ctx)
	if err != nil {
		return removeTemplatePlan{}, err
	}
	for _, t := range own {
		if t.ID == in.ID {
			p := removeTemplatePlan{id: t.ID, name: t.Name}
			p.Plan, err = apprunner.NewPlan(RemoveTemplate.Name, fmt.Sprintf("remove the step template %q", t.Name), map[string]any{"id": t.ID, "name": t.Name, "command": t.Command},
				policy.Assessment{Risk: policy.RiskLow})
			return p, err
		}
	}
	return removeTemplatePlan{}, project.ErrTemplateNotFound.WithMessage("there is no custom template %q; built-in ones cannot be removed", in.ID)
}

func (s adminService) removeTemplate(ctx context.Context, _ tool.Scope, p removeTemplatePlan) (Removed, error) {
	return Removed{ID: p.id, Name: p.name, Removed: true}, s.Templates.Delete(ctx, p.id)
}
