package workflows

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/projects/runner"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/shellcmd"
	"github.com/countersign-dev/countersign/domain/project/webhook"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/projectport"
)

// The typed handles.
var (
	ListWorkflows  = tool.Ref[ListInput, WorkflowList]{Name: "list_workflows"}
	GetWorkflow    = tool.Ref[WorkflowInput, WorkflowDetail]{Name: "get_workflow"}
	CreateWorkflow = tool.Ref[CreateInput, CreatedWorkflow]{Name: "create_workflow"}
	AddStep        = tool.Ref[StepInput, AddedStep]{Name: "add_workflow_step"}
	ChangeStep     = tool.Ref[ChangeStepInput, ChangedStep]{Name: "change_workflow_step"}
	RunWorkflow    = tool.Ref[RunInput, RunResult]{Name: "run_workflow"}
	ListTemplates  = tool.Ref[TemplatesInput, TemplateList]{Name: "list_step_templates"}
	CreateTemplate = tool.Ref[TemplateInput, TemplateCreated]{Name: "create_step_template"}
)

// Deps holds the dependencies of the tools. Every field is required.
type Deps struct {
	Sites      runner.SiteFinder
	Workflows  projectport.Workflows
	Templates  projectport.Templates
	Executions projectport.Executions
	Engine     Engine
	Webhooks   projectport.Webhooks
	Clock      ports.Clock
	UUIDs      ports.UUIDs
}

type service struct{ Deps }

// Entries returns the tools.
func Entries(d Deps) []tool.Entry {
	s := service{d}
	return []tool.Entry{
		bind.Query(ListWorkflows, runner.ReadSpec(runner.CategoryWorkflows, "List workflows", "List the workflows, the last changed first.", listSchema), s.list),
		bind.Query(GetWorkflow, runner.ReadSpec(runner.CategoryWorkflows, "Get workflow", "Show a workflow with its steps in order.", workflowSchema), s.get),
		bind.Command(CreateWorkflow, runner.StoreSpec(runner.CategoryWorkflows, "Create workflow", "Create a workflow without steps, for a project or global; add_workflow_step fills it.", createSchema), s.planCreate, s.create),
		bind.Command(AddStep, runner.StoreSpec(runner.CategoryWorkflows, "Add workflow step", "Add a command as a step of a workflow, at a place or at the end. Very dangerous commands are refused.", stepSchema), s.planStep, s.addStep),
		bind.Command(ChangeStep, runner.StoreSpec(runner.CategoryWorkflows, "Change workflow step", "Change a step of a workflow, or move it.", changeStepSchema), s.planChange, s.changeStep),
		bind.Command(RunWorkflow, runner.ExecuteSpec(runner.CategoryWorkflows, "Run workflow", "Run a workflow's steps in order and wait, until one fails. Asks for a confirmation that shows every command. Progress is sent as steps begin.", runSchema), s.planRun, s.run),
		bind.Query(ListTemplates, runner.ReadSpec(runner.CategoryTemplates, "List step templates", "List templates for workflow steps, built-in ones first; {pm} stands for the project's package manager.", templatesSchema), s.templates),
		bind.Command(CreateTemplate, runner.StoreSpec(runner.CategoryTemplates, "Create step template", "Store a template of your own for workflow steps.", templateSchema), s.planTemplate, s.createTemplate),
	}
}

// ListInput selects workflows.
type ListInput struct {
	ProjectID string `json:"project_id,omitempty" jsonschema:"description=only those of this project"`
}

// WorkflowItem is a workflow in a list.
type WorkflowItem struct {
	ID             string     `json:"id"`
	Name           string     `json:"name"`
	Description    *string    `json:"description"`
	ProjectID      *string    `json:"projectId"`
	StepCount      int        `json:"stepCount"`
	CreatedAt      time.Time  `json:"createdAt"`
	UpdatedAt      time.Time  `json:"updatedAt"`
	LastExecutedAt *time.Time `json:"lastExecutedAt"`
}

// WorkflowList is workflows, the last updated first.
type WorkflowList struct {
	Workflows []WorkflowItem `json:"workflows"`
	Total     int            `json:"total"`
}

func (s service) list(ctx context.Context, _ tool.Scope, in ListInput) (WorkflowList, error) {
	out := WorkflowList{Workflows: []WorkflowItem{}}
	if in.ProjectID != "" {
		if _, err := s.Sites.Projects.Find(ctx, project.ID(in.ProjectID)); err != nil {
			return out, err
		}
	}
	found, err := s.Workflows.List(ctx, project.ID(in.ProjectID))
	for _, w := range found {
		out.Workflows = append(out.Workflows, WorkflowItem{ID: w.ID, Name: w.Name, Description: tool.NilIfZero(w.Description), ProjectID: tool.NilIfZero(string(w.ProjectID)),
			StepCount: len(w.Nodes), CreatedAt: w.CreatedAt, UpdatedAt: w.UpdatedAt, LastExecutedAt: tool.NilIfZero(w.LastExecutedAt)})
	}
	out.Total = len(out.Workflows)
	return out, err
}

// WorkflowInput names a workflow.
type WorkflowInput struct {
	ID string `json:"workflow_id" jsonschema:"minLength=1,description=as list_workflows shows it"`
}

// WorkflowDetail is a whole workflow, with the secrets of its webhooks masked.
type WorkflowDetail struct {
	project.Workflow
	NodeCount int `json:"nodeCount"`
}

// masked replaces a secret that is kept and not shown.
const masked = "[REDACTED]"

// RedactedWorkflow returns a workflow without the secrets of its webhooks.
func RedactedWorkflow(w project.Workflow) project.Workflow {
	if w.Webhook != nil {
		hook := *w.Webhook
		hook.Headers = map[string]string{}
		for name := range w.Webhook.Headers {
			hook.Headers[name] = masked
		}
		hook.URL = webhook.Config{URL: hook.URL}.Masked().URL
		w.Webhook = &hook
	}
	if w.Incoming != nil {
		hook := *w.Incoming
		hook.TokenDigest = masked
		if hook.Secret != "" {
			hook.Secret = masked
		}
		w.Incoming = &hook
	}
	return w
}

func (s service) get(ctx context.Context, _ tool.Scope, in WorkflowInput) (WorkflowDetail, error) {
	w, err := s.Workflows.Find(ctx, in.ID)
	if err != nil {
		return WorkflowDetail{}, err
	}
	return WorkflowDetail{Workflow: RedactedWorkflow(w), NodeCount: len(w.Nodes)}, nil
}

// TemplatesInput selects step templates.
type TemplatesInput struct {
	Category string `json:"category,omitempty" jsonschema:"description=package-manager or git or docker or shell or testing or code-quality or kubernetes or database or cloud or ai or security or nodejs or custom"`
	Query    string `json:"query,omitempty" jsonschema:"description=part of a name\\, command or description"`
	Builtin  *bool  `json:"include_builtin,omitempty" jsonschema:"description=default true"`
}

// TemplateList is step templates, built-in ones first.
type TemplateList struct {
	Templates []shellcmd.Template `json:"templates"`
	Total     int                 `json:"total"`
}

func (s service) templates(ctx context.Context, _ tool.Scope, in TemplatesInput) (TemplateList, error) {
	out := TemplateList{Templates: []shellcmd.Template{}}
	own, err := s.Templates.List(ctx)
	if err != nil {
		return out, err
	}
	f := shellcmd.TemplateFilter{Query: in.Query, Builtin: in.Builtin == nil || *in.Builtin}
	if strings.TrimSpace(in.Category) != "" {
		if f.Category, err = shellcmd.ParseCategory(in.Category); err != nil {
			return out, err
		}
	}
	out.Templates = append(out.Templates, shellcmd.SelectTemplates(own, f)...)
	out.Total = len(out.Templates)
	return out, nil
}

// TemplateInput is a template to store.
type TemplateInput struct {
	Name        string `json:"name" jsonschema:"minLength=1"`
	Command     string `json:"command" jsonschema:"minLength=1,description=may hold {pm} and <placeholders>"`
	Category    string `json:"category,omitempty" jsonschema:"description=as in list_step_templates (default custom)"`
	Description string `json:"description,omitempty"`
}

// TemplateCreated is a new template.
type TemplateCreated struct {
	TemplateID string            `json:"templateId"`
	Name       string            `json:"name"`
	Category   shellcmd.Category `json:"category"`
	CreatedAt  time.Time         `json:"createdAt"`
}

type templatePlan struct {
	runner.Plan
	made shellcmd.Template
}

func (s service) planTemplate(ctx context.Context, _ tool.Scope, in TemplateInput) (templatePlan, error) {
	t, err := shellcmd.NewTemplate(shellcmd.CustomPrefix+"new", shellcmd.TemplateDraft{Name: in.Name, Command: in.Command, Category: in.Category, Description: in.Description}, s.Clock.Now())
	if err != nil {
		return templatePlan{}, err
	}
	findings, err := s.inspect(ctx, runner.Site{}, t.Command)
	if err != nil {
		return templatePlan{}, err
	}
	findings = append(findings, s.Engine.Runner.Hidden(t.Command)...)
	if findings.Risk() == policy.RiskHigh {
		t.Risk = shellcmd.RiskHigh
	}
	p := templatePlan{made: t}
	p.Plan, err = runner.NewPlan(CreateTemplate.Name, fmt.Sprintf("store the step template %q: %s", t.Name, t.Command),
		map[string]any{"name": t.Name, "command": t.Command, "category": t.Category, "description": t.Description, "findings": findings},
		storing(findings, "templates"))
	return p, err
}

func (s service) createTemplate(ctx context.Context, _ tool.Scope, p templatePlan) (TemplateCreated, error) {
	t := p.made
	t.ID = shellcmd.CustomPrefix + s.UUIDs.NewUUID()
	t.CreatedAt = s.Clock.Now()
	return TemplateCreated{TemplateID: t.ID, Name: t.Name, Category: t.Category, CreatedAt: t.CreatedAt}, s.Templates.Create(ctx, t)
}
