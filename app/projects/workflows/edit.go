package workflows

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
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

	Inputs []project.Input `json:"inputs,omitempty" jsonschema:"description=what a run may be given: environment variables of its steps"`
}

// CreatedWorkflow is a new workflow.
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

// storing returns the assessment of storing something: low, and high if it would be high when it runs.
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
	if err := w.SetInputs(in.Inputs); err != nil {
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
	about := map[string]any{"name": w.Name, "description": w.Description, "project_id": of, "project": name}
	if len(w.Inputs) > 0 {
		about["inputs"] = w.Inputs
	}
	p.Plan, err = runner.NewPlan(CreateWorkflow.Name, fmt.Sprintf("create workflow %q", w.Name), about,
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
	Command    string `json:"command" jsonschema:"minLength=1,description={pm} is the package manager"`
	Cwd        string `json:"cwd,omitempty" jsonschema:"description=inside the project"`
	Order      *int   `json:"order,omitempty" jsonschema:"description=place from 0 (default: the end)"`
	TimeoutMS  int64  `json:"timeout,omitempty" jsonschema:"minimum=1,maximum=3600000,description=milliseconds (default 300000)"`

	Settings map[string]any `json:"settings,omitempty" jsonschema:"description=as change_workflow_step has them"`
	when     StepSettings
}

// Validate reads the settings.
func (in *StepInput) Validate() (err error) {
	in.when, err = readSettings(in.Settings)
	return err
}

// StepSettings is when and how often a step runs. Omitted fields stay as they are.
type StepSettings struct {
	Needs        []string `json:"needs"`     // steps before it that it waits for; an empty list: none
	NeedsAll     bool     `json:"needs_all"` // it waits for all of them, the default
	Retry        *int     `json:"retry"`
	RetryDelayMS *int64   `json:"retry_delay_ms"`
	Files        []string `json:"files"` // patterns: it is skipped while their files are unchanged; an empty list: none
}

// readSettings reads settings as a call has them: one argument, because separate ones would take room in every model's context.
func readSettings(given map[string]any) (out StepSettings, err error) {
	doc, err := tool.Encode(given)
	if err != nil {
		return out, err
	}
	read := json.NewDecoder(bytes.NewReader(doc))
	read.DisallowUnknownFields()
	if err := read.Decode(&out); err != nil {
		return out, project.ErrArgument.WithMessage("settings are needs (a list of steps), needs_all, retry, retry_delay_ms and files (a list of patterns): %v", err)
	}
	if out.NeedsAll && out.Needs != nil {
		return out, project.ErrArgument.WithMessage("needs_all contradicts needs")
	}
	return out, nil
}

// into applies the settings to the configuration of a workflow's step.
func (in StepSettings) into(w project.Workflow, c *project.NodeConfig) error {
	needs, err := w.StepIDs(in.Needs)
	switch {
	case err != nil:
		return err
	case in.NeedsAll:
		c.Needs = nil
	case needs != nil:
		c.Needs = needs
	}
	if in.Retry != nil {
		c.Retry = *in.Retry
	}
	if in.RetryDelayMS != nil {
		c.RetryDelayMS = *in.RetryDelayMS
	}
	if in.Files != nil {
		c.Files = in.Files
	}
	return nil
}

// AddedStep is a new step.
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
	if err := in.when.into(w, &p.node.Config); err != nil {
		return stepPlan{}, err
	}
	after := w
	if err := after.Insert(p.node, in.Order, s.Clock.Now()); err != nil {
		return stepPlan{}, err
	}
	findings, err := s.judge(ctx, w, p.node)
	if err != nil {
		return stepPlan{}, err
	}
	order := len(w.Nodes)
	if in.Order != nil {
		order = *in.Order
	}
	about := map[string]any{"workflow": w.Name, "workflow_id": w.ID, "revision": w.Revision, "steps_before": names(w.Nodes[:order]), "steps_after": names(w.Nodes[order:]),
		"name": p.node.Name, "command": p.node.Config.Command, "cwd": p.node.Config.Cwd, "timeout_ms": in.TimeoutMS, "order": order, "findings": findings}
	maps.Copy(about, settings(w, p.node.Config))
	p.Plan, err = runner.NewPlan(AddStep.Name, fmt.Sprintf("add step %q to workflow %q: %s", in.Name, w.Name, p.node.Config.Command), about, storing(findings, w.ID))
	return p, err
}

// settings returns when and how often a step runs, for display.
func settings(w project.Workflow, c project.NodeConfig) map[string]any {
	out := map[string]any{}
	if c.Needs != nil {
		out["waits_for"] = w.WaitsFor(c)
	}
	if c.Retry > 0 {
		out["retry"], out["retry_delay_ms"] = c.Retry, c.RetryDelay().Milliseconds()
	}
	if len(c.Files) > 0 {
		out["skipped_while_unchanged"] = c.Files
	}
	return out
}

// judge returns the linter's findings for a step's command in its directory.
func (s service) judge(ctx context.Context, w project.Workflow, n project.Node) (runner.Findings, error) {
	of, err := s.home(ctx, w)
	if err != nil {
		return nil, err
	}
	at, err := s.workDir(ctx, w, n, of)
	if err != nil {
		return nil, err
	}
	if open := shellcmd.Placeholders(n.Config.Command); len(open) > 0 {
		return nil, project.ErrArgument.WithMessage("the command still holds <%s>; put in what it stands for", strings.Join(open, ">, <"))
	}
	findings, err := s.inspect(ctx, at, n.Config.Command)
	if err != nil {
		return nil, err
	}
	return append(findings, s.Engine.Runner.Hidden(n.Config.Command)...), nil
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

// workDir returns a step's directory: in the workflow's project, or for a global workflow in a registered one. It need not exist yet, and is empty if
// it is not known.
func (s service) workDir(ctx context.Context, w project.Workflow, n project.Node, home project.Project) (runner.Site, error) {
	if n.Config.Cwd == "" {
		return runner.Site{Project: home, Dir: home.Path, Root: home.Path}, nil
	}
	if w.ProjectID == "" && !strings.HasPrefix(n.Config.Cwd, "/") { // relative to where the workflow will run
		return runner.Site{}, project.CheckPath("/" + n.Config.Cwd)
	}
	at, err := project.ExpandedStep{Node: n, Workflow: &w}.Dir(home.Path, "")
	if err != nil {
		return runner.Site{}, err
	}
	site, err := s.Sites.Planned(ctx, at)
	if err == nil && w.ProjectID != "" && !s.Sites.Contains(ctx, home, site.Dir) {
		err = project.ErrPath.WithMessage("cwd %q is not inside the workflow's project", n.Config.Cwd)
	}
	return site, err
}

// inspect returns the linter's findings for a command in that directory, with names for placeholders and npm for the package manager.
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
			return project.ErrConflict.WithMessage("workflow %q changed in the meantime; call again to see the new plan", w.Name)
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

// ChangeStepInput is the changes of a step; omitted fields stay.
type ChangeStepInput struct {
	WorkflowID string  `json:"workflow_id" jsonschema:"minLength=1"`
	NodeID     string  `json:"node_id" jsonschema:"minLength=1,description=or the step's name"`
	Name       string  `json:"name,omitempty"`
	Command    string  `json:"command,omitempty"`
	Cwd        *string `json:"cwd,omitempty"`
	Order      *int    `json:"order,omitempty" jsonschema:"description=its new place from 0"`
	TimeoutMS  int64   `json:"timeout,omitempty" jsonschema:"minimum=1,maximum=3600000"`

	Settings map[string]any `json:"settings,omitempty" jsonschema:"description=needs: [steps before it] ([]: none); needs_all; retry; retry_delay_ms; files: [patterns] (skip while unchanged)"`
	when     StepSettings
}

// Validate reads the settings.
func (in *ChangeStepInput) Validate() (err error) {
	in.when, err = readSettings(in.Settings)
	return err
}

// ChangedStep is a step after a change.
type ChangedStep struct {
	NodeID     string `json:"nodeId"`
	WorkflowID string `json:"workflowId"`
	Name       string `json:"name"`
	Order      int    `json:"order"`
	Revision   int64  `json:"revision"`
}

// planChange computes the changed step.
func (s service) planChange(ctx context.Context, _ tool.Scope, in ChangeStepInput) (stepPlan, error) {
	w, err := s.Workflows.Find(ctx, in.WorkflowID)
	if err != nil {
		return stepPlan{}, err
	}
	ids, err := w.StepIDs([]string{in.NodeID})
	if err != nil {
		return stepPlan{}, err
	}
	at := slices.IndexFunc(w.Nodes, func(n project.Node) bool { return n.ID == ids[0] })
	p := stepPlan{workflowID: w.ID, revision: w.Revision, order: in.Order, node: w.Nodes[at]}
	n := &p.node
	n.Name = cmp.Or(strings.TrimSpace(in.Name), n.Name)
	c := &n.Config
	c.Command = cmp.Or(strings.TrimSpace(in.Command), c.Command)
	if in.Cwd != nil {
		c.Cwd = strings.TrimSpace(*in.Cwd)
	}
	c.TimeoutMS = cmp.Or(in.TimeoutMS, c.TimeoutMS)
	if err := in.when.into(w, c); err != nil {
		return stepPlan{}, err
	}
	after := w
	if err := after.Replace(*n, in.Order, s.Clock.Now()); err != nil {
		return stepPlan{}, err
	}
	if in.Order == nil && same(w.Nodes[at], *n) {
		return stepPlan{}, project.ErrArgument.WithMessage("step %q is like that already", n.Name)
	}
	var findings runner.Findings
	if n.Type == project.NodeScript {
		if findings, err = s.judge(ctx, w, *n); err != nil {
			return stepPlan{}, err
		}
	}
	about := map[string]any{"workflow": w.Name, "workflow_id": w.ID, "revision": w.Revision, "node_id": n.ID, "before": shownNode(w, w.Nodes[at]), "after": shownNode(after, *n),
		"steps_in_order": names(after.Nodes), "findings": findings}
	what := n.Name
	if c.Command != "" {
		what += ": " + runner.OneLine(c.Command)
	}
	p.Plan, err = runner.NewPlan(ChangeStep.Name, fmt.Sprintf("change step %q of workflow %q to %s", w.Nodes[at].Name, w.Name, what), about, storing(findings, w.ID))
	return p, err
}

// same reports whether two steps are the same.
func same(a, b project.Node) bool {
	one, err := tool.Encode(a)
	other, failed := tool.Encode(b)
	return err == nil && failed == nil && bytes.Equal(one, other)
}

// shownNode returns a stored step for display.
func shownNode(w project.Workflow, n project.Node) map[string]any {
	out := settings(w, n.Config)
	out["name"] = n.Name
	if n.Type == project.NodeTrigger {
		out["starts"] = n.Config.TargetID
		return out
	}
	out["command"], out["timeout_ms"] = n.Config.Command, n.Config.Timeout().Milliseconds()
	if n.Config.Cwd != "" {
		out["cwd"] = n.Config.Cwd
	}
	return out
}

func (s service) changeStep(ctx context.Context, _ tool.Scope, p stepPlan) (ChangedStep, error) {
	w, err := s.Workflows.Update(ctx, p.workflowID, func(w *project.Workflow) error {
		if w.Revision != p.revision {
			return project.ErrConflict.WithMessage("workflow %q changed in the meantime; call again to see the new plan", w.Name)
		}
		return w.Replace(p.node, p.order, s.Clock.Now())
	})
	if err != nil {
		return ChangedStep{}, err
	}
	at := slices.IndexFunc(w.Nodes, func(n project.Node) bool { return n.ID == p.node.ID })
	return ChangedStep{NodeID: p.node.ID, WorkflowID: w.ID, Name: p.node.Name, Order: at, Revision: w.Revision}, nil
}
