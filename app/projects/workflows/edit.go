package workflows

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/app/projects/runner"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/shellcmd"
	"github.com/countersign-dev/countersign/domain/tool"
)

// CreateInput is a workflow to create.
type CreateInput struct {
	Name        string `json:"name" jsonschema:"minLength=1"`
	Description string `json:"description,omitempty"`
	ProjectID   string `json:"project_id,omitempty" jsonschema:"description=the project it belongs to; none makes it global"`
}

// CreatedWorkflow is the answer to a workflow created.
type CreatedWorkflow struct {
	WorkflowID string    `json:"workflowId"`
	Name       string    `json:"name"`
	ProjectID  *string   `json:"projectId"`
	CreatedAt  time.Time `json:"createdAt"`
	Warning    string    `json:"warning,omitempty"`
}

type createPlan struct {
	runner.Plan
	made    project.Workflow
	warning string
}

// storing returns what storing something is assessed as: low, and high when what is stored would be when it runs.
func storing(f runner.Findings, scope string) policy.Assessment {
	a := policy.Assessment{Strength: policy.Simple, Risk: policy.RiskLow, Scope: scope}
	if f.Risk() == policy.RiskHigh {
		a.Risk = policy.RiskHigh
	}
	return a
}

func (s service) planCreate(ctx context.Context, _ tool.Scope, in CreateInput) (createPlan, error) {
	of := project.ID(strings.TrimSpace(in.ProjectID))
	var name string
	if of != "" {
		p, err := s.Sites.Projects.Find(ctx, of)
		if err != nil {
			return createPlan{}, err
		}
		name = p.Name
	}
	w, err := project.NewWorkflow("", in.Name, in.Description, of, s.Clock.Now())
	if err != nil {
		return createPlan{}, err
	}
	p := createPlan{made: w}
	all, err := s.Workflows.List(ctx, of)
	if err != nil {
		return createPlan{}, err
	}
	for _, have := range all {
		if have.ProjectID == of && strings.EqualFold(have.Name, w.Name) {
			p.warning = fmt.Sprintf("there is a workflow %q already (%s)", have.Name, have.ID)
		}
	}
	p.Plan, err = runner.NewPlan(CreateWorkflow.Name, fmt.Sprintf("create workflow %q", w.Name),
		map[string]any{"name": w.Name, "description": w.Description, "project_id": of, "project": name},
		policy.Assessment{Strength: policy.Simple, Risk: policy.RiskLow, Scope: cmp.Or(string(of), "global")})
	p.Plan = p.Plan.Warned(p.warning)
	return p, err
}

func (s service) create(ctx context.Context, _ tool.Scope, p createPlan) (CreatedWorkflow, error) {
	w := p.made
	w.ID, w.CreatedAt = "wf-"+s.UUIDs.NewUUID(), s.Clock.Now()
	w.UpdatedAt = w.CreatedAt
	return CreatedWorkflow{WorkflowID: w.ID, Name: w.Name, ProjectID: tool.NilIfZero(string(w.ProjectID)), CreatedAt: w.CreatedAt, Warning: p.warning}, s.Workflows.Create(ctx, w)
}

// StepInput is a step to add.
type StepInput struct {
	WorkflowID string `json:"workflow_id" jsonschema:"minLength=1"`
	Name       string `json:"name" jsonschema:"minLength=1"`
	Command    string `json:"command" jsonschema:"minLength=1,description=no shell for a plain one; {pm} is the package manager"`
	Cwd        string `json:"cwd,omitempty" jsonschema:"description=directory inside the project (default: the project's)"`
	Order      *int   `json:"order,omitempty" jsonschema:"description=place from 0; later steps move on (default: the end)"`
	TimeoutMS  int64  `json:"timeout,omitempty" jsonschema:"minimum=1,maximum=3600000,description=milliseconds (default 300000)"`
}

// AddedStep is the answer to a step added.
type AddedStep struct {
	NodeID     string `json:"nodeId"`
	WorkflowID string `json:"workflowId"`
	Name       string `json:"name"`
	Order      int    `json:"order"`
}

type stepPlan struct {
	runner.Plan
	workflowID string
	revision   int64
	node       project.Node
	order      *int
}

func (s service) planStep(ctx context.Context, _ tool.Scope, in StepInput) (stepPlan, error) {
	w, err := s.Workflows.Find(ctx, in.WorkflowID)
	if err != nil {
		return stepPlan{}, err
	}
	p := stepPlan{workflowID: w.ID, revision: w.Revision, order: in.Order, node: project.Node{Type: project.NodeScript, Name: in.Name,
		Config: project.NodeConfig{Command: strings.TrimSpace(in.Command), Cwd: strings.TrimSpace(in.Cwd), TimeoutMS: in.TimeoutMS}}}
	before := w
	if err := before.Insert(p.node, in.Order, s.Clock.Now()); err != nil {
		return stepPlan{}, err
	}
	of, err := s.home(ctx, w)
	if err != nil {
		return stepPlan{}, err
	}
	at, err := s.workDir(ctx, w, p.node, of)
	if err != nil {
		return stepPlan{}, err
	}
	if open := shellcmd.Placeholders(p.node.Config.Command); len(open) > 0 {
		return stepPlan{}, project.ErrArgument.Sayf("the command still holds <%s>; put in what it stands for", strings.Join(open, ">, <"))
	}
	findings, err := s.inspect(ctx, at, p.node.Config.Command)
	if err != nil {
		return stepPlan{}, err
	}
	findings = append(findings, s.Engine.Runner.Hidden(p.node.Config.Command)...)
	order := len(w.Nodes)
	if in.Order != nil {
		order = *in.Order
	}
	p.Plan, err = runner.NewPlan(AddStep.Name, fmt.Sprintf("add step %q to workflow %q: %s", in.Name, w.Name, p.node.Config.Command),
		map[string]any{"workflow": w.Name, "workflow_id": w.ID, "revision": w.Revision, "steps_before": names(w.Nodes[:order]), "steps_after": names(w.Nodes[order:]),
			"name": p.node.Name, "command": p.node.Config.Command, "cwd": p.node.Config.Cwd, "timeout_ms": in.TimeoutMS, "order": order, "findings": findings},
		storing(findings, w.ID))
	return p, err
}

func names(nodes []project.Node) []string {
	out := make([]string, 0, len(nodes))
	for _, n := range nodes {
		out = append(out, n.Name)
	}
	return out
}

// home returns a workflow's project; the zero one for a global workflow.
func (s service) home(ctx context.Context, w project.Workflow) (project.Project, error) {
	if w.ProjectID == "" {
		return project.Project{}, nil
	}
	return s.Sites.Projects.Find(ctx, w.ProjectID)
}

// workDir returns where a step would run: in the workflow's project, or for a global workflow in a registered one. That need not exist yet, and
// is nowhere when nothing says where.
func (s service) workDir(ctx context.Context, w project.Workflow, n project.Node, home project.Project) (runner.Site, error) {
	if n.Config.Cwd == "" {
		return runner.Site{Project: home, Dir: home.Path, Root: home.Path}, nil
	}
	at, err := project.ExpandedStep{Node: n, Workflow: &w}.Dir(home.Path, "")
	if err != nil {
		return runner.Site{}, err
	}
	site, err := s.Sites.Planned(ctx, at)
	if err == nil && w.ProjectID != "" && !s.Sites.Contains(ctx, home, site.Dir) {
		err = project.ErrPath.Sayf("cwd %q is not inside the workflow's project", n.Config.Cwd)
	}
	return site, err
}

// inspect returns what the linter says of a command as it would run there, with placeholders for names and npm for the package manager.
func (s service) inspect(ctx context.Context, at runner.Site, command string) (runner.Findings, error) {
	around, err := s.Sites.Dirs.Surroundings(ctx, cmp.Or(at.Project.Path, "/"))
	if err != nil {
		return nil, err
	}
	if command, err = shellcmd.FillPackageManager(shellcmd.FilledExample(command), project.NPM); err != nil {
		return nil, err
	}
	return s.Engine.Runner.Inspect(around, at.Project.Path, at.Dir, command)
}

func (s service) addStep(ctx context.Context, _ tool.Scope, p stepPlan) (AddedStep, error) {
	n := p.node
	n.ID = "node-" + s.UUIDs.NewUUID()
	w, err := s.Workflows.Update(ctx, p.workflowID, func(w *project.Workflow) error {
		if w.Revision != p.revision {
			return project.ErrConflict.Sayf("workflow %q was changed meanwhile; call again to see it as it is", w.Name)
		}
		return w.Insert(n, p.order, s.Clock.Now())
	})
	if err != nil {
		return AddedStep{}, err
	}
	for _, have := range w.Nodes {
		if have.ID == n.ID {
			n = have
		}
	}
	return AddedStep{NodeID: n.ID, WorkflowID: w.ID, Name: n.Name, Order: n.Order}, nil
}
