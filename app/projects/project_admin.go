package projects

import (
	"context"
	"fmt"
	"slices"
	"strings"

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

// WorkbenchName is the toolset's name.
const WorkbenchName = "workbench"

// AdminDeps holds the dependencies of the tools. Every field is required.
type AdminDeps struct {
	Sites     runner.SiteFinder
	Workflows projectport.Workflows
	Actions   projectport.Actions
	Rules     projectport.Rules
	Templates projectport.Templates
	Parser    projectport.ShellParser
	Clock     ports.Clock
	UUIDs     ports.UUIDs
}

type adminService struct{ AdminDeps }

// The typed handles of the tools about projects.
var (
	AddProject    = tool.Ref[AddInput, project.Project]{Name: "project_add"}
	ChangeProject = tool.Ref[ChangeInput, project.Project]{Name: "project_change"}
	RemoveProject = tool.Ref[RemoveInput, Removed]{Name: "project_remove"}
	ShowProject   = tool.Ref[RemoveInput, project.Project]{Name: "project_settings"}
)

// AdminEntries returns the tools.
func AdminEntries(d AdminDeps) []tool.Entry {
	s := adminService{d}
	entries := slices.Concat(s.projectEntries(), s.workflowEntries(), s.actionEntries())
	for i := range entries {
		entries[i].Spec.UserOnly = true
	}
	return entries
}

// quietly returns a tool that the user calls explicitly and that needs no further approval.
func quietly(s tool.Spec) tool.Spec {
	s.Confirm, s.Human = policy.None, policy.None
	return s
}

// opening returns a tool that gives agents access to something new: if users approve, it needs approval in a terminal or in the console, although
// only users may call it, because a program could call it too (consent design, section 5).
func opening(s tool.Spec) tool.Spec {
	s.Confirm, s.Human = policy.None, policy.Preview
	return s
}

func (s adminService) projectEntries() []tool.Entry {
	return []tool.Entry{
		bind.Command(AddProject, opening(runner.StoreSpec(runner.CategoryProjects, "Register project", "Register a directory as a project, so that tools can read it and run its scripts.", addSchema)), s.planAdd, s.add),
		bind.Command(ChangeProject, opening(runner.StoreSpec(runner.CategoryProjects, "Change project", "Change a project's name, description, or the permissions of its processes and webhooks.", changeSchema)), s.planChange, s.change),
		bind.Command(RemoveProject, runner.StoreSpec(runner.CategoryProjects, "Unregister project", "Unregister a project and delete its actions; keep its directory and its workflows.", removeSchema), s.planRemove, s.remove),
		bind.Query(ShowProject, runner.ReadSpec(runner.CategoryProjects, "Project settings", "Show the record of a project, by id, name or path.", removeSchema), s.show),
	}
}

// AddInput is a directory to register.
type AddInput struct {
	Path        string `json:"path" jsonschema:"minLength=1,description=absolute path of the directory"`
	Name        string `json:"name,omitempty" jsonschema:"description=default: the directory's name"`
	Description string `json:"description,omitempty"`
}

type addPlan struct {
	runner.Plan
	made project.Project
}

func (s adminService) planAdd(ctx context.Context, _ tool.Scope, in AddInput) (addPlan, error) {
	dir, err := s.Sites.Dirs.Register(ctx, in.Path)
	if err != nil {
		return addPlan{}, err
	}
	all, err := s.Sites.Projects.List(ctx)
	if err != nil {
		return addPlan{}, err
	}
	for _, p := range all {
		if p.Path == dir {
			return addPlan{}, project.ErrConflict.WithMessage("%s is registered already, as %q", dir, p.Name)
		}
	}
	made, err := project.NewProject("", in.Name, dir, in.Description, s.Clock.Now())
	if err != nil {
		return addPlan{}, err
	}
	p := addPlan{made: made}
	p.Plan, err = runner.NewPlan(AddProject.Name, fmt.Sprintf("register %s as project %q", dir, made.Name),
		map[string]any{"path": dir, "name": made.Name, "description": made.Description}, policy.Assessment{Risk: policy.RiskLow})
	return p, err
}

func (s adminService) add(ctx context.Context, _ tool.Scope, p addPlan) (project.Project, error) {
	made := p.made
	made.ID = project.ID(s.UUIDs.NewUUID())
	return made, s.Sites.Projects.Create(ctx, made)
}

// FindProject returns the project of that ID, path or name; a name that two projects have is project.ErrConflict.
func FindProject(ctx context.Context, projects projectport.Projects, word string) (project.Project, error) {
	all, err := projects.List(ctx)
	if err != nil {
		return project.Project{}, err
	}
	var named []project.Project
	for _, p := range all {
		switch {
		case string(p.ID) == word, p.Path == strings.TrimRight(word, "/"):
			return p, nil
		case strings.EqualFold(p.Name, word):
			named = append(named, p)
		}
	}
	switch len(named) {
	case 1:
		return named[0], nil
	case 0:
		return project.Project{}, project.ErrNotFound.WithMessage("no project is registered as %q; countersign project list lists the registered projects", word)
	}
	return project.Project{}, project.ErrConflict.WithMessage("%d projects are named %q; name it by its path or id", len(named), word)
}

// ChangeInput is the changes of a project; omitted fields stay.
type ChangeInput struct {
	Project       string    `json:"project" jsonschema:"minLength=1,description=id or path or name"`
	Name          *string   `json:"name,omitempty"`
	Description   *string   `json:"description,omitempty"`
	EnvPass       *[]string `json:"env_pass,omitempty" jsonschema:"description=variables its processes inherit beyond the usual"`
	AllowLoopback *bool     `json:"webhook_allow_loopback,omitempty" jsonschema:"description=webhooks may reach this machine at allowed hosts"`
	AllowHosts    *[]string `json:"webhook_allow_hosts,omitempty" jsonschema:"description=host:port entries"`
}

type changePlan struct {
	runner.Plan
	before, after project.Project
}

func (s adminService) planChange(ctx context.Context, _ tool.Scope, in ChangeInput) (changePlan, error) {
	before, err := FindProject(ctx, s.Sites.Projects, in.Project)
	if err != nil {
		return changePlan{}, err
	}
	after := before
	name, description := before.Name, before.Description
	if in.Name != nil {
		name = *in.Name
	}
	if in.Description != nil {
		description = *in.Description
	}
	checked, err := project.NewProject(before.ID, name, before.Path, description, before.CreatedAt)
	if err != nil {
		return changePlan{}, err
	}
	after.Name, after.Description = checked.Name, checked.Description
	if in.EnvPass != nil {
		if err := checkNames(*in.EnvPass); err != nil {
			return changePlan{}, err
		}
		after.Settings.EnvPass = *in.EnvPass
	}
	if in.AllowLoopback != nil {
		after.Settings.AllowLoopback = *in.AllowLoopback
	}
	if in.AllowHosts != nil {
		after.Settings.AllowHosts = *in.AllowHosts
	}
	if err := (webhook.Rules{AllowLoopback: after.Settings.AllowLoopback, AllowHosts: after.Settings.AllowHosts}).Validate(); err != nil {
		return changePlan{}, err
	}
	p := changePlan{before: before, after: after}
	p.Plan, err = runner.NewPlan(ChangeProject.Name, fmt.Sprintf("change project %q", before.Name),
		map[string]any{"before": shown(before), "after": shown(after)}, policy.Assessment{Risk: policy.RiskLow})
	return p, err
}

// checkNames rejects invalid names of variables.
func checkNames(names []string) error {
	for _, name := range names {
		if err := (process.Spec{Argv: []string{"true"}, Env: map[string]string{name: ""}}).Validate(); err != nil {
			return project.ErrArgument.WithMessage("env_pass: %s", fault.From(err).Message)
		}
	}
	return nil
}

func shown(p project.Project) map[string]any {
	return map[string]any{"id": p.ID, "name": p.Name, "path": p.Path, "description": p.Description, "settings": p.Settings}
}

func (s adminService) change(ctx context.Context, _ tool.Scope, p changePlan) (project.Project, error) {
	return s.Sites.Projects.Update(ctx, p.before.ID, func(now *project.Project) error {
		if now.Revision != p.before.Revision {
			return project.ErrConflict.WithMessage("project %q changed since you read it; read it again and retry", now.Name)
		}
		now.Name, now.Description, now.Settings = p.after.Name, p.after.Description, p.after.Settings
		return nil
	})
}

// RemoveInput names a project.
type RemoveInput struct {
	Project string `json:"project" jsonschema:"minLength=1,description=id or path or name"`
}

// Removed says what was removed.
type Removed struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Removed bool   `json:"removed"`
}

type removePlan struct {
	runner.Plan
	of project.Project
}

func (s adminService) planRemove(ctx context.Context, _ tool.Scope, in RemoveInput) (removePlan, error) {
	of, err := FindProject(ctx, s.Sites.Projects, in.Project)
	if err != nil {
		return removePlan{}, err
	}
	actions, err := s.Actions.List(ctx, of.ID)
	if err != nil {
		return removePlan{}, err
	}
	lost := []string{}
	for _, a := range actions {
		if a.ProjectID == string(of.ID) {
			lost = append(lost, a.Name)
		}
	}
	p := removePlan{of: of}
	p.Plan, err = runner.NewPlan(RemoveProject.Name, fmt.Sprintf("unregister project %q (%s stays as it is)", of.Name, of.Path),
		map[string]any{"project": shown(of), "actions_forgotten": lost}, policy.Assessment{Risk: policy.RiskLow, Strength: policy.Simple})
	return p, err
}

func (s adminService) remove(ctx context.Context, _ tool.Scope, p removePlan) (Removed, error) {
	if err := s.close(ctx, p.of.ID); err != nil {
		return Removed{}, err
	}
	return Removed{ID: string(p.of.ID), Name: p.of.Name, Removed: true}, s.Sites.Projects.Delete(ctx, p.of.ID)
}

// close disables the incoming webhooks of the project's workflows: without the project they are other workflows than those that the user enabled.
func (s adminService) close(ctx context.Context, of project.ID) error {
	flows, err := s.Workflows.List(ctx, of)
	if err != nil {
		return err
	}
	for _, w := range flows {
		if w.ProjectID != of || w.Incoming == nil {
			continue
		}
		if _, err := s.Workflows.Update(ctx, w.ID, func(w *project.Workflow) error {
			w.Touch(s.Clock.Now())
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

func (s adminService) show(ctx context.Context, _ tool.Scope, in RemoveInput) (project.Project, error) {
	return FindProject(ctx, s.Sites.Projects, in.Project)
}
