package flows

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/app/projects/engine"
	"github.com/countersign-dev/countersign/app/projects/running"
	"github.com/countersign-dev/countersign/app/projects/shape"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/execution"
	"github.com/countersign-dev/countersign/domain/project/template"
	"github.com/countersign-dev/countersign/domain/project/webhook"
	"github.com/countersign-dev/countersign/domain/project/workflow"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/projectport"
)

// RunInput names a workflow to run.
type RunInput struct {
	ID   string `json:"workflow_id" jsonschema:"minLength=1,description=as list_workflows shows it"`
	Path string `json:"project_path,omitempty" jsonschema:"description=run steps without a cwd here instead of in the workflow's project"`
}

// runPlan is a workflow about to be run.
type runPlan struct {
	shape.Plan
	workflow  workflow.Workflow
	revisions map[string]int64 // of every workflow that takes part
	shown     []shownStep
	steps     []engine.Step
}

// shownStep is what a person sees of a step.
type shownStep struct {
	Number    int              `json:"number"`
	Depth     int              `json:"depth"`
	Workflow  string           `json:"workflow"`
	NodeID    string           `json:"node_id"`
	Name      string           `json:"name"`
	Command   string           `json:"command,omitempty"`
	Starts    string           `json:"starts_workflow,omitempty"`
	Argv      []string         `json:"argv,omitempty"`
	Cwd       string           `json:"cwd,omitempty"`
	TimeoutMS int64            `json:"timeout_ms,omitempty"`
	EnvPassed []string         `json:"env_passed,omitempty"`
	Findings  running.Findings `json:"findings,omitempty"`
}

// preparing collects the steps while a plan is made.
type preparing struct {
	service
	override string // resolved
	around   map[string]around
	shown    []shownStep
	risk     policy.Risk
}

// around is what is the same for all steps in one directory.
type around struct {
	found   projectport.Surroundings
	env     running.Env
	manager project.Manager
}

// planRun works out every command that would run, as it would run.
func (s service) planRun(ctx context.Context, _ tool.Scope, in RunInput) (runPlan, error) {
	w, err := s.Workflows.Find(ctx, in.ID)
	if err != nil {
		return runPlan{}, err
	}
	p := &preparing{service: s, around: map[string]around{}, risk: policy.RiskMedium}
	if in.Path != "" {
		site, err := s.Sites.Directory(ctx, in.Path)
		if err != nil {
			return runPlan{}, err
		}
		p.override = site.Dir
	}
	tree, err := workflow.Expand(&w, func(id string) (*workflow.Workflow, error) {
		child, err := s.Workflows.Find(ctx, id)
		return &child, err
	})
	if err != nil {
		return runPlan{}, err
	}
	steps, err := p.prepare(ctx, tree)
	if err != nil {
		return runPlan{}, err
	}
	out := runPlan{workflow: w, revisions: revisions(&w, tree), steps: steps, shown: p.shown}
	out.Plan, err = shape.NewPlan(RunWorkflow.Name, fmt.Sprintf("run workflow %q: %d steps", w.Name, len(p.shown)),
		map[string]any{"workflow": w.Name, "workflow_id": w.ID, "revisions": out.revisions, "steps": p.shown, "total": len(p.shown), "webhook": hookOf(w)},
		policy.Assessment{Strength: policy.Simple, Risk: p.risk, Scope: fmt.Sprintf("%s/%d", w.ID, w.Revision)})
	return out, err
}

// revisions are those of every workflow that takes part.
func revisions(w *workflow.Workflow, tree []workflow.Step) map[string]int64 {
	out := map[string]int64{w.ID: w.Revision}
	for _, s := range workflow.Flat(tree) {
		if s.Child != nil {
			out[s.Child.ID] = s.Child.Revision
		}
	}
	return out
}

// hookOf is where the workflow's end is told, if anywhere.
func hookOf(w workflow.Workflow) string {
	if w.Webhook == nil || !w.Webhook.Enabled {
		return ""
	}
	return w.Webhook.Trigger + ": " + webhook.Config{URL: w.Webhook.URL}.Masked().URL
}

func (p *preparing) prepare(ctx context.Context, tree []workflow.Step) ([]engine.Step, error) {
	var out []engine.Step
	for _, s := range tree {
		shown := shownStep{Number: len(p.shown) + 1, Depth: s.Depth, Workflow: s.Workflow.Name, NodeID: s.Node.ID, Name: s.Node.Name}
		if s.Child != nil {
			shown.Starts = s.Child.Name
			p.shown = append(p.shown, shown)
			steps, err := p.prepare(ctx, s.Steps)
			if err != nil {
				return nil, err
			}
			out = append(out, engine.Step{Step: s, Steps: steps})
			continue
		}
		spec, err := p.script(ctx, s, &shown)
		if err != nil {
			return nil, err
		}
		p.shown = append(p.shown, shown)
		out = append(out, engine.Step{Step: s, Spec: spec})
	}
	return out, nil
}

// script is how one command is started: without a shell when it is a plain one.
func (p *preparing) script(ctx context.Context, s workflow.Step, shown *shownStep) (process.Spec, error) {
	home, err := p.home(ctx, *s.Workflow)
	if err != nil {
		return process.Spec{}, err
	}
	at, err := s.Dir(home.Path, p.override)
	if err != nil {
		return process.Spec{}, err
	}
	site, err := p.Sites.Directory(ctx, at)
	if err != nil {
		return process.Spec{}, err
	}
	if s.Workflow.ProjectID != "" && s.Node.Config.Cwd != "" && !p.Sites.Contains(ctx, home, site.Dir) {
		return process.Spec{}, project.ErrPath.Sayf("step %q runs in %q, which is not inside the workflow's project", s.Node.Name, s.Node.Config.Cwd)
	}
	near, err := p.at(ctx, site.Dir, site.Project)
	if err != nil {
		return process.Spec{}, err
	}
	command, err := template.Fill(s.Node.Config.Command, near.manager)
	if err != nil {
		return process.Spec{}, err
	}
	if open := template.Placeholders(command); len(open) > 0 {
		return process.Spec{}, project.ErrArgument.Sayf("step %q still holds %s; put in what it stands for", s.Node.Name, strings.Join(open, ", "))
	}
	findings, err := p.Engine.Runner.Inspect(near.found, site.Project.Path, site.Dir, command)
	if err != nil {
		f := fault.From(err)
		return process.Spec{}, f.Sayf("step %q: %s", s.Node.Name, f.Message)
	}
	p.risk = max(p.risk, findings.Risk())
	argv, plain := p.Engine.Runner.Parser.Parse(command).Argv()
	if !plain {
		argv = []string{"/bin/sh", "-c", command}
	}
	shown.Command, shown.Argv, shown.Cwd, shown.Findings = command, argv, site.Dir, findings
	shown.TimeoutMS, shown.EnvPassed = s.Node.Config.Timeout().Milliseconds(), near.env.Passed
	return process.Spec{Argv: argv, Dir: site.Dir, Env: near.env.Vars, Secrets: near.env.Secrets, Timeout: s.Node.Config.Timeout(),
		Labels: map[string]string{running.LabelProject: site.Project.Path}}, nil
}

func (p *preparing) at(ctx context.Context, dir string, of project.Project) (around, error) {
	if have, ok := p.around[dir]; ok {
		return have, nil
	}
	found, err := p.Engine.Runner.Around(ctx, of.Path, dir)
	if err != nil {
		return around{}, err
	}
	env, err := p.Engine.Runner.Environment(found, of, nil)
	if err != nil {
		return around{}, err
	}
	facts, err := p.Sites.Dirs.Facts(ctx, dir)
	if err != nil && !errors.Is(err, project.ErrManifest) {
		return around{}, err
	}
	near := around{found: found, env: env, manager: facts.Manager}
	if !near.manager.Known() {
		near.manager = project.NPM
	}
	p.around[dir] = near
	return near, nil
}

// run carries out the steps that were shown.
func (s service) run(ctx context.Context, sc tool.Scope, p runPlan) (engine.Outcome, error) {
	if err := s.unchanged(ctx, p); err != nil {
		return engine.Outcome{}, err
	}
	now := s.Clock.Now()
	e := execution.Execution{ID: "exec-" + s.UUIDs.NewUUID(), Kind: execution.Workflow, WorkflowID: p.workflow.ID, ProjectID: string(p.workflow.ProjectID),
		Name: p.workflow.Name, SourceClient: sc.Client, TriggeredBy: running.TriggeredBy(sc), CallID: sc.CallID, Status: execution.Running, StartedAt: now}
	for _, step := range p.shown {
		e.Steps = append(e.Steps, execution.Step{NodeID: step.NodeID, Name: step.Name, Depth: step.Depth, Status: execution.StepPending})
	}
	label(p.steps, sc, map[string]string{running.LabelExecution: e.ID, running.LabelScript: p.workflow.Name})
	if _, err := s.Workflows.Update(ctx, p.workflow.ID, func(w *workflow.Workflow) error {
		if w.Revision != p.workflow.Revision {
			return project.ErrConflict.Sayf("workflow %q was changed meanwhile; call again to see it as it is", w.Name)
		}
		w.LastExecutedAt = now
		return nil
	}); err != nil {
		return engine.Outcome{}, err
	}
	out, err := s.Engine.Run(ctx, sc, e, p.steps)
	s.tell(context.WithoutCancel(ctx), p.workflow, out, err)
	_ = s.Executions.Prune(context.WithoutCancel(ctx), p.workflow.ID, p.workflow.Kept(), now.Add(-execution.RetentionDays*24*time.Hour)) // the next run does
	return out, err
}

// unchanged fails with project.ErrConflict when a workflow that takes part is not what was confirmed any more.
func (s service) unchanged(ctx context.Context, p runPlan) error {
	for _, id := range slices.Sorted(maps.Keys(p.revisions)) {
		now, err := s.Workflows.Find(ctx, id)
		if err != nil {
			return err
		}
		if now.Revision != p.revisions[id] {
			return project.ErrConflict.Sayf("workflow %q was changed meanwhile; call again to see it as it is", now.Name)
		}
	}
	return nil
}

// tell makes the request that the workflow wants made when a run has ended. What comes of it stands in the run's history and changes
// nothing else.
func (s service) tell(ctx context.Context, w workflow.Workflow, out engine.Outcome, failed error) {
	if w.Webhook == nil || out.ExecutionID == "" || !webhook.Outgoing(*w.Webhook).Fires(failed == nil) {
		return
	}
	line := "[WEBHOOK] told " + webhook.Config{URL: w.Webhook.URL}.Masked().URL
	if err := s.send(ctx, w, out, failed); err != nil {
		line = "[WEBHOOK] " + s.Engine.Mask.Text(fault.From(err).Message)
	}
	s.Executions.Update(ctx, out.ExecutionID, func(e *execution.Execution) error { //nolint:errcheck // the run is over, and told by its outcome
		e.Add(execution.Line{Stream: "system", Content: line, At: s.Clock.Now()})
		return nil
	})
}

func (s service) send(ctx context.Context, w workflow.Workflow, out engine.Outcome, failed error) error {
	e, err := s.Executions.Find(ctx, out.ExecutionID)
	if err != nil {
		return err
	}
	ended := webhook.Ended{WorkflowID: w.ID, WorkflowName: w.Name, ExecutionID: e.ID, Status: string(e.Status), Elapsed: e.CompletedAt.Sub(e.StartedAt), At: e.CompletedAt}
	if failed != nil {
		ended.Error = fault.From(failed).Message
	}
	request, err := webhook.Outgoing(*w.Webhook).Build(ended)
	if err != nil {
		return err
	}
	var rules webhook.Rules
	if w.ProjectID != "" {
		of, err := s.Sites.Projects.Find(ctx, w.ProjectID)
		if err != nil {
			return err
		}
		rules = webhook.Rules{AllowLoopback: of.Settings.AllowLoopback, AllowHosts: of.Settings.AllowHosts}
	}
	_, err = s.Webhooks.Send(ctx, request, rules)
	return err
}

// label names in every process what it belongs to.
func label(steps []engine.Step, sc tool.Scope, more map[string]string) {
	for i := range steps {
		spec := &steps[i].Spec
		spec.Labels = running.Labels(project.Project{Path: spec.Labels[running.LabelProject]}, sc, more)
		label(steps[i].Steps, sc, more)
	}
}
