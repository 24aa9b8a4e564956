package workflows

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	apprunner "github.com/countersign-dev/countersign/app/projects/runner"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/shellcmd"
	"github.com/countersign-dev/countersign/domain/project/webhook"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/projectport"
)

// RunInput names a workflow to run.
type RunInput struct {
	ID   string `json:"workflow_id" jsonschema:"minLength=1,description=as list_workflows shows it"`
	Path string `json:"project_path,omitempty" jsonschema:"description=run steps without a cwd here instead of in the workflow's project"`

	Inputs map[string]any `json:"inputs,omitempty" jsonschema:"description=values by name; get_workflow lists its inputs"`
	Force  bool           `json:"force,omitempty" jsonschema:"description=also run steps whose files are unchanged"`

	given map[string]string
}

// Validate reads the values of inputs as texts.
func (in *RunInput) Validate() error {
	in.given = map[string]string{}
	for name, value := range in.Inputs {
		switch v := value.(type) {
		case string:
			in.given[name] = v
		case bool:
			in.given[name] = strconv.FormatBool(v)
		case json.Number:
			in.given[name] = v.String()
		case float64:
			in.given[name] = strconv.FormatFloat(v, 'f', -1, 64)
		default:
			return project.ErrArgument.WithMessage("input %q is a text, a number, or true or false", name)
		}
	}
	return nil
}

// runPlan is the plan to run a workflow.
type runPlan struct {
	apprunner.Plan
	workflow  project.Workflow
	revisions map[string]int64 // of every workflow involved
	shown     []shownStep
	steps     []Step
	inputs    map[string]string
	checks    []func(context.Context) error // check that every step would do what was approved, before the first one runs
}

// shownStep is what the user sees of a step.
type shownStep struct {
	Number       int                       `json:"number"`
	Depth        int                       `json:"depth"`
	Workflow     string                    `json:"workflow"`
	NodeID       string                    `json:"node_id"`
	Name         string                    `json:"name"`
	Command      string                    `json:"command,omitempty"`
	Starts       string                    `json:"starts_workflow,omitempty"`
	Argv         []string                  `json:"argv,omitempty"`
	Cwd          string                    `json:"cwd,omitempty"`
	TimeoutMS    int64                     `json:"timeout_ms,omitempty"`
	WaitsFor     string                    `json:"waits_for,omitempty"` // the steps that it needs, unless it waits for all before it
	Retry        int                       `json:"retry,omitempty"`
	RetryDelayMS int64                     `json:"retry_delay_ms,omitempty"`
	Files        []string                  `json:"skipped_while_unchanged,omitempty"` // patterns of files
	Inputs       map[string]string         `json:"inputs,omitempty"`                  // of a workflow that another one starts
	EnvPassed    []string                  `json:"env_passed,omitempty"`
	Scripts      []apprunner.StartedScript `json:"scripts,omitempty"`  // scripts of package.json that the command starts
	Settings     []project.ManagerSetting  `json:"settings,omitempty"` // of the project's own package manager files, as far as they decide what runs
	process.Code                           // the files that are read as code, and what the plan does not cover
	Findings     apprunner.Findings        `json:"findings,omitempty"`
}

// preparing collects the steps while a plan is made.
type preparing struct {
	service
	override string // resolved
	given    map[string]string
	force    bool
	around   map[placeOf]around
	shown    []shownStep
	checks   []func(context.Context) error
	risk     policy.Risk
}

// placeOf is the directory of a workflow's steps.
type placeOf struct{ dir, workflow string }

// around is what all steps of a workflow in one directory share.
type around struct {
	found   projectport.Surroundings
	env     apprunner.Env
	manager project.Manager
}

// planRun prepares every command exactly as it would run.
func (s service) planRun(ctx context.Context, _ tool.Scope, in RunInput) (runPlan, error) {
	w, err := s.Workflows.Find(ctx, in.ID)
	if err != nil {
		return runPlan{}, err
	}
	p := &preparing{service: s, given: in.given, force: in.Force, around: map[placeOf]around{}, risk: policy.RiskMedium}
	if in.Path != "" {
		site, err := s.Sites.Directory(ctx, in.Path)
		if err != nil {
			return runPlan{}, err
		}
		p.override = site.Dir
	}
	tree, err := project.ExpandWorkflow(&w, func(id string) (*project.Workflow, error) {
		child, err := s.Workflows.Find(ctx, id)
		return &child, err
	})
	if err != nil {
		return runPlan{}, err
	}
	taking := []project.Workflow{w}
	for _, s := range project.FlattenSteps(tree) {
		if s.Child != nil {
			taking = append(taking, *s.Child)
		}
	}
	if err := project.CheckInputs(in.given, taking...); err != nil {
		return runPlan{}, err
	}
	values, err := w.Values(in.given)
	if err != nil {
		return runPlan{}, err
	}
	steps, err := p.prepare(ctx, tree)
	if err != nil {
		return runPlan{}, err
	}
	out := runPlan{workflow: w, revisions: revisions(&w, tree), steps: steps, shown: p.shown, checks: p.checks, inputs: values}
	plan := func(steps []shownStep) (apprunner.Plan, error) {
		about := map[string]any{"workflow": w.Name, "workflow_id": w.ID, "revisions": out.revisions, "steps": steps, "total": len(p.shown), "webhook": hookOf(w)}
		if len(values) > 0 {
			about["inputs"] = values
		}
		if in.Force {
			about["force"] = true
		}
		return apprunner.NewPlan(RunWorkflow.Name, fmt.Sprintf("run workflow %q: %d steps", w.Name, len(p.shown)), about,
			policy.Assessment{Strength: policy.Simple, Risk: p.risk, Scope: w.ID})
	}
	bare := slices.Clone(p.shown)
	for i := range bare {
		bare[i].Code = process.Code{}
	}
	less, err := plan(bare)
	if err != nil {
		return runPlan{}, err
	}
	whole, err := plan(p.shown)
	of := ""
	if w.ProjectID != "" {
		if found, err := s.Sites.Projects.Find(ctx, w.ProjectID); err == nil {
			of = found.Name
		}
	}
	out.Plan = whole.BoundBut(less).Covering("workflow", w.Name, of)
	return out, err
}

// revisions returns those of every workflow that takes part.
func revisions(w *project.Workflow, tree []project.ExpandedStep) map[string]int64 {
	out := map[string]int64{w.ID: w.Revision}
	for _, s := range project.FlattenSteps(tree) {
		if s.Child != nil {
			out[s.Child.ID] = s.Child.Revision
		}
	}
	return out
}

// hookOf returns the URL that is called when the workflow ends, if any.
func hookOf(w project.Workflow) string {
	if w.Webhook == nil || !w.Webhook.Enabled {
		return ""
	}
	return w.Webhook.Trigger + ": " + webhook.Config{URL: w.Webhook.URL}.Masked().URL
}

func (p *preparing) prepare(ctx context.Context, tree []project.ExpandedStep) ([]Step, error) {
	var out []Step
	for _, s := range tree {
		shown := shownStep{Number: len(p.shown) + 1, Depth: s.Depth, Workflow: s.Workflow.Name, NodeID: s.Node.ID, Name: s.Node.Name, WaitsFor: s.Workflow.WaitsFor(s.Node.Config)}
		if s.Child != nil {
			shown.Starts = s.Child.Name
			p.shown = append(p.shown, shown)
			steps, err := p.prepare(ctx, s.Steps)
			if err != nil {
				return nil, err
			}
			out = append(out, Step{Step: s, Steps: steps})
			continue
		}
		step, err := p.script(ctx, s, &shown)
		if err != nil {
			return nil, err
		}
		p.shown = append(p.shown, shown)
		out = append(out, step)
	}
	return out, nil
}

// script returns how one command is started: without a shell if it is a plain one.
func (p *preparing) script(ctx context.Context, s project.ExpandedStep, shown *shownStep) (Step, error) {
	site, err := p.place(ctx, s, p.override)
	if err != nil {
		return Step{}, err
	}
	values, err := s.Workflow.Values(p.given)
	if err != nil {
		return Step{}, err
	}
	near, err := p.at(ctx, site, s.Workflow.ID, values)
	if err != nil {
		return Step{}, err
	}
	command, err := shellcmd.FillPackageManager(s.Node.Config.Command, near.manager)
	if err != nil {
		return Step{}, err
	}
	if open := shellcmd.Placeholders(command); len(open) > 0 {
		return Step{}, project.ErrArgument.WithMessage("step %q still holds <%s>; put in what it stands for", s.Node.Name, strings.Join(open, ">, <"))
	}
	runner := p.Engine.Runner
	of := apprunner.Command{Root: site.Root, Dir: site.Dir, Texts: []string{command}}
	examined, err := runner.Examine(ctx, near.found, of)
	if err != nil {
		f := fault.From(err)
		return Step{}, f.WithMessage("step %q: %s", s.Node.Name, f.Message)
	}
	findings := append(examined.Findings, runner.Hidden(append(examined.Parts(), command)...)...)
	p.risk = max(p.risk, findings.Risk())
	argv, plain := runner.Parser.Parse(command).Argv()
	if !plain {
		argv = []string{"/bin/sh", "-c", command}
	}
	shown.Command, shown.Argv, shown.Cwd, shown.Findings, shown.Scripts, shown.Settings = command, argv, site.Dir, findings, examined.Scripts, examined.Settings
	shown.Code = examined.Code
	if shown.Number > 1 && len(shown.Reads) > 0 {
		shown.NotBound = append(slices.Clone(shown.NotBound), "files that earlier steps build or install are read as those steps leave them")
	}
	shown.TimeoutMS, shown.EnvPassed = s.Node.Config.Timeout().Milliseconds(), near.env.Passed
	if shown.Retry, shown.Files = s.Node.Config.Retry, s.Node.Config.Files; shown.Retry > 0 {
		shown.RetryDelayMS = s.Node.Config.RetryDelay().Milliseconds()
	}
	if s.Depth > 0 && len(values) > 0 {
		shown.Inputs = values
	}
	spec := process.Spec{Argv: argv, Dir: site.Dir, Env: near.env.Vars, Secrets: near.env.Secrets, Timeout: s.Node.Config.Timeout(),
		Labels: map[string]string{apprunner.LabelProject: site.Project.Path}}
	override := p.override
	still := func(same func(now, before apprunner.ExamineResult) bool) func(context.Context) error {
		return func(ctx context.Context) error {
			now, err := p.place(ctx, s, override)
			if err == nil && now.Dir != site.Dir {
				err = project.ErrConflict.WithMessage("step %q would run in another directory than was approved", s.Node.Name)
			}
			if err != nil {
				return err
			}
			return p.same(ctx, s.Node.Name, of, examined, same)
		}
	}
	p.checks = append(p.checks, still(apprunner.ExamineResult.Same))
	before := apprunner.ExamineResult.Same
	if shown.Number > 1 {
		before = apprunner.ExamineResult.Alike
	}
	out := Step{Step: s, Command: command, Spec: spec, Still: still(before), Again: still(apprunner.ExamineResult.Alike)}
	if len(s.Node.Config.Files) > 0 {
		out.Files = p.files(s, spec, values, examined)
	}
	return out, nil
}

// files returns a function that examines the input files of a step. They only count as unchanged if the command, the package.json scripts that it
// starts, its directory and its inputs are unchanged, too.
func (p *preparing) files(step project.ExpandedStep, spec process.Spec, values map[string]string, examined apprunner.ExamineResult) func(context.Context) (inputFiles, error) {
	id, node, force := step.Workflow.ID, step.Node, p.force
	return func(ctx context.Context) (inputFiles, error) {
		contents, err := p.Sites.Dirs.Fingerprint(ctx, spec.Dir, node.Config.Files)
		if err != nil || contents == "" { // without files nothing can be compared
			return inputFiles{}, err
		}
		all, err := canon.Sum("project.inputfiles.v1", map[string]any{"argv": spec.Argv, "dir": spec.Dir, "inputs": values, "patterns": node.Config.Files, "contents": contents,
			"scripts": examined.Scripts, "settings": examined.Settings})
		if err != nil {
			return inputFiles{}, err
		}
		now, err := p.Workflows.Find(ctx, id)
		if err != nil {
			return inputFiles{}, err
		}
		return inputFiles{unchanged: !force && now.Fresh[node.ID] == all.String(), keep: func(ctx context.Context) error {
			_, err := p.Workflows.Update(ctx, id, func(w *project.Workflow) error {
				w.Succeeded(node.ID, all.String())
				return nil
			})
			return err
		}}, nil
	}
}

// place returns the present directory of a step.
func (s service) place(ctx context.Context, step project.ExpandedStep, override string) (apprunner.Site, error) {
	home, err := s.home(ctx, *step.Workflow)
	if err != nil {
		return apprunner.Site{}, err
	}
	at, err := step.Dir(home.Path, override)
	if err != nil {
		return apprunner.Site{}, err
	}
	site, err := s.Sites.Directory(ctx, at)
	if err != nil {
		return apprunner.Site{}, err
	}
	if step.Workflow.ProjectID != "" && step.Node.Config.Cwd != "" && !s.Sites.Contains(ctx, home, site.Dir) {
		return apprunner.Site{}, project.ErrPath.WithMessage("step %q runs in %q, which is not inside the workflow's project", step.Node.Name, step.Node.Config.Cwd)
	}
	return site, nil
}

// same fails with project.ErrConflict if a command would start other scripts than in the examination, read other files, or use other settings.
func (s service) same(ctx context.Context, name string, of apprunner.Command, before apprunner.ExamineResult, same func(now, before apprunner.ExamineResult) bool) error {
	around, err := s.Engine.Runner.Around(ctx, of.Root, of.Dir)
	if err != nil {
		return err
	}
	now, err := s.Engine.Runner.Examine(ctx, around, of)
	if err == nil && !same(now, before) {
		err = project.ErrConflict.WithMessage("what step %q starts was changed since it was confirmed: %s; run the workflow again to see the new plan", name, now.Changed(before))
	}
	return err
}

func (p *preparing) at(ctx context.Context, site apprunner.Site, workflow string, values map[string]string) (around, error) {
	dir, of := site.Dir, site.Project
	if have, ok := p.around[placeOf{dir, workflow}]; ok {
		return have, nil
	}
	found, err := p.Engine.Runner.Around(ctx, site.Root, dir)
	if err != nil {
		return around{}, err
	}
	env, err := p.Engine.Runner.Environment(found, of, values)
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
	p.around[placeOf{dir, workflow}] = near
	return near, nil
}

// run runs the steps that were shown.
func (s service) run(ctx context.Context, sc tool.Scope, p runPlan) (RunResult, error) {
	if err := s.unchanged(ctx, p); err != nil {
		return RunResult{}, err
	}
	now := s.Clock.Now()
	e := project.Execution{ID: "exec-" + s.UUIDs.NewUUID(), Kind: project.KindWorkflow, WorkflowID: p.workflow.ID, ProjectID: string(p.workflow.ProjectID),
		Name: p.workflow.Name, Parameters: s.parameters(p.inputs), SourceClient: sc.Client, TriggeredBy: apprunner.TriggeredBy(sc), CallID: sc.CallID, Status: project.Running, StartedAt: now}
	for _, step := range p.shown {
		e.Steps = append(e.Steps, project.ExecutionStep{NodeID: step.NodeID, Name: step.Name, Depth: step.Depth, Status: project.StepPending})
	}
	label(p.steps, sc, map[string]string{apprunner.LabelExecution: e.ID, apprunner.LabelScript: p.workflow.Name})
	if _, err := s.Workflows.Update(ctx, p.workflow.ID, func(w *project.Workflow) error {
		if w.Revision != p.workflow.Revision {
			return project.ErrConflict.WithMessage("workflow %q changed in the meantime; call again to see the new plan", w.Name)
		}
		w.LastExecutedAt = now
		return nil
	}); err != nil {
		return RunResult{}, err
	}
	out, err := s.Engine.Run(ctx, sc, e, p.steps)
	s.tell(context.WithoutCancel(ctx), p.workflow, out, err)
	_ = s.Executions.Prune(context.WithoutCancel(ctx), p.workflow.ID, p.workflow.Kept(), now.Add(-project.RetentionDays*24*time.Hour)) // the next one prunes
	return out, err
}

// parameters returns the values of inputs for the execution.
func (s service) parameters(inputs map[string]string) json.RawMessage {
	if len(inputs) == 0 {
		return nil
	}
	doc, err := tool.Encode(inputs)
	if err != nil { // texts always encode
		return nil
	}
	return s.Engine.Mask(doc)
}

// unchanged fails with project.ErrConflict if a workflow involved is no longer the approved one.
func (s service) unchanged(ctx context.Context, p runPlan) error {
	for _, id := range slices.Sorted(maps.Keys(p.revisions)) {
		now, err := s.Workflows.Find(ctx, id)
		if err != nil {
			return err
		}
		if now.Revision != p.revisions[id] {
			return project.ErrConflict.WithMessage("workflow %q changed in the meantime; call again to see the new plan", now.Name)
		}
	}
	for _, check := range p.checks {
		if err := check(ctx); err != nil {
			return err
		}
	}
	return nil
}

// tell sends the request that the workflow wants when an execution has ended. Its result is stored in the execution and changes nothing else.
func (s service) tell(ctx context.Context, w project.Workflow, out RunResult, failed error) {
	if w.Webhook == nil || out.ExecutionID == "" || !webhook.Outgoing(*w.Webhook).Fires(failed == nil) {
		return
	}
	line := "[WEBHOOK] told " + webhook.Config{URL: w.Webhook.URL}.Masked().URL
	if err := s.send(ctx, w, out, failed); err != nil {
		line = "[WEBHOOK] " + s.Engine.Mask.Text(fault.From(err).Message)
	}
	s.Executions.Update(ctx, out.ExecutionID, func(e *project.Execution) error { //nolint:errcheck // the execution is over, and its outcome is returned
		e.Add(project.OutputLine{Stream: "system", Content: line, At: s.Clock.Now()})
		return nil
	})
}

func (s service) send(ctx context.Context, w project.Workflow, out RunResult, failed error) error {
	e, err := s.Executions.Find(ctx, out.ExecutionID)
	if err != nil {
		return err
	}
	ended := webhook.ExecutionEnd{WorkflowID: w.ID, WorkflowName: w.Name, ExecutionID: e.ID, Status: string(e.Status), Elapsed: e.CompletedAt.Sub(e.StartedAt), At: e.CompletedAt}
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

// label adds what a process belongs to, for all processes.
func label(steps []Step, sc tool.Scope, more map[string]string) {
	for i := range steps {
		spec := &steps[i].Spec
		spec.Labels = apprunner.Labels(project.Project{Path: spec.Labels[apprunner.LabelProject]}, sc, more)
		label(steps[i].Steps, sc, more)
	}
}
