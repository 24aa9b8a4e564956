package projects

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
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
)

// TriggerInput names a webhook action and its data.
type TriggerInput struct {
	ID        string            `json:"webhook_id" jsonschema:"minLength=1,description=id of a webhook action; list_actions shows them"`
	Payload   json.RawMessage   `json:"payload,omitempty" jsonschema:"type=object,description=sent as it is in place of the stored template"`
	Variables map[string]string `json:"variables,omitempty" jsonschema:"description=values for {{names}} in the stored template"`
}

// triggerPlan is the plan of a request.
type triggerPlan struct {
	runner.Plan
	action  webhook.Action
	input   TriggerInput
	request webhook.Request
	rules   webhook.Rules
}

// planTrigger builds the exact request and resolves its host.
func (s service) planTrigger(ctx context.Context, _ tool.Scope, in TriggerInput) (triggerPlan, error) {
	a, rule, err := s.allowed(ctx, in.ID, project.KindWebhook)
	if err != nil {
		return triggerPlan{}, err
	}
	p := triggerPlan{action: a, input: in}
	if rule == policy.ActionDeny { // policy denies it, so no name server is asked
		p.Plan, err = runner.NewPlan(TriggerWebhook.Name, fmt.Sprintf("send webhook %q", a.Name), map[string]any{"action": a.Name, "action_id": a.ID, "rule": rule.String()},
			policy.Assessment{Action: rule, Scope: a.ID})
		return p, err
	}
	if a.ProjectID != "" {
		of, err := s.Sites.Projects.Find(ctx, project.ID(a.ProjectID))
		if err != nil {
			return triggerPlan{}, err
		}
		p.rules = webhook.Rules{AllowLoopback: of.Settings.AllowLoopback, AllowHosts: of.Settings.AllowHosts}
	}
	if p.request, err = a.Webhook.Build(webhook.Input{Variables: in.Variables, Payload: in.Payload}); err != nil {
		return triggerPlan{}, err
	}
	target, err := s.Webhooks.Resolve(ctx, p.request, p.rules)
	if err != nil {
		return triggerPlan{}, err
	}
	addresses := make([]string, 0, len(target.Addresses))
	for _, address := range target.Addresses {
		addresses = append(addresses, address.String())
	}
	slices.Sort(addresses)
	dangers, risk := target.Dangers(), policy.RiskMedium
	if len(in.Payload) > 0 && string(s.Mask(in.Payload)) != string(in.Payload) {
		dangers = append(dangers, "the payload holds a secret")
	}
	if len(dangers) > 0 {
		risk = policy.RiskHigh
	}
	view := p.request.View()
	p.Plan, err = runner.NewPlan(TriggerWebhook.Name, fmt.Sprintf("send webhook %q: %s %s", a.Name, view.Method, view.URL),
		map[string]any{"action": a.Name, "action_id": a.ID, "revision": a.Revision, "request": view, "host": target.Host, "addresses": addresses, "dangers": dangers, "variables": in.Variables},
		policy.Assessment{Strength: policy.Simple, Risk: risk, Action: rule, Scope: fmt.Sprintf("%s/%s@%d", a.ID, target.Host, a.Revision)})
	return p, err
}

// TriggerResult is the result of a webhook.
type TriggerResult struct {
	Success     bool             `json:"success"`
	ExecutionID string           `json:"executionId"`
	ActionName  string           `json:"actionName"`
	Result      webhook.Response `json:"result"`
}

// trigger sends the request. A response other than 2xx is an error, with the response as its details.
func (s service) trigger(ctx context.Context, sc tool.Scope, p triggerPlan) (TriggerResult, error) {
	if err := s.unchanged(ctx, p.action); err != nil {
		return TriggerResult{}, err
	}
	out := TriggerResult{ActionName: p.action.Name}
	var err error
	parameters := sent{Variables: p.input.Variables, Payload: p.input.Payload}
	out.ExecutionID, err = s.recorded(ctx, sc, p.action, parameters, func() (any, error) {
		var err error
		sc.Progress(tool.Progress{Message: fmt.Sprintf("webhook %s is being sent", p.action.Name)})
		out.Result, err = s.Webhooks.Send(ctx, p.request, p.rules)
		return out.Result, err
	})
	out.Success = err == nil
	if err != nil {
		return out, withExecution(err, out.ExecutionID, fault.From(err).Details)
	}
	return out, nil
}

// sent is the caller's data for an action, for its execution.
type sent struct {
	Variables map[string]string `json:"variables,omitempty"`
	Payload   json.RawMessage   `json:"payload,omitempty"`
	Args      []string          `json:"args,omitempty"`
}

// unchanged fails if the action is no longer the approved one.
func (s service) unchanged(ctx context.Context, a webhook.Action) error {
	now, err := s.Actions.Find(ctx, a.ID)
	if err != nil {
		return err
	}
	if now.Revision != a.Revision || !now.Enabled {
		return project.ErrConflict.WithMessage("action %q changed in the meantime; call again to see the new plan", a.Name)
	}
	return nil
}

// withExecution adds the execution's ID and the available result to the details of an error.
func withExecution(err error, id string, result any) error {
	return fault.From(err).WithDetails(map[string]any{"executionId": id, "result": result})
}

// ProgramInput names a script action: the other form of run_script's arguments (packageflow contract §2.6, row 19).
type ProgramInput struct {
	ID   string   `json:"actionId" jsonschema:"minLength=1,description=id of a script action"`
	Args []string `json:"args,omitempty" jsonschema:"description=further arguments"`
}

// programPlan is the plan to run a stored program.
type programPlan struct {
	runner.Plan
	action   webhook.Action
	args     []string
	of       project.Project
	spec     process.Spec
	command  runner.Command
	examined runner.ExamineResult
}

// Program is the result of a script action.
type Program struct {
	Success     bool          `json:"success"`
	ExecutionID string        `json:"executionId"`
	ActionName  string        `json:"actionName"`
	Result      ProgramResult `json:"result"`
}

// ProgramResult is the result of the program (packageflow contract §1.6).
type ProgramResult struct {
	ExitCode   int    `json:"exitCode"`
	Signal     string `json:"signal,omitempty"`
	Stdout     string `json:"stdout"`
	Stderr     string `json:"stderr"`
	Truncated  bool   `json:"truncated"`
	TotalBytes int64  `json:"totalBytes"`
	DurationMS int64  `json:"durationMs"`
}

func resultOf(e runner.ProcessResult) ProgramResult {
	return ProgramResult{ExitCode: e.ExitCode, Signal: e.Signal, Stdout: e.Stdout, Stderr: e.Stderr, Truncated: e.Truncated, TotalBytes: e.TotalBytes, DurationMS: e.DurationMS}
}

// ProgramHandler decodes and runs script actions under the tool run_script. spec is that tool's.
func ProgramHandler(d ActionDeps, spec tool.Spec) tool.Handler {
	s := service{d}
	spec.Input = json.RawMessage(programSchema)
	return bind.Command(tool.Ref[ProgramInput, Program]{Name: "run_script"}, spec, s.planProgram, s.program).Handler
}

func (s service) planProgram(ctx context.Context, _ tool.Scope, in ProgramInput) (programPlan, error) {
	a, rule, err := s.allowed(ctx, in.ID, project.KindScript)
	if err != nil {
		return programPlan{}, err
	}
	c := a.Script
	p := programPlan{action: a, args: in.Args}
	if a.ProjectID != "" {
		if p.of, err = s.Sites.Projects.Find(ctx, project.ID(a.ProjectID)); err != nil {
			return programPlan{}, err
		}
	}
	if err := runner.CheckArgs(in.Args); err != nil {
		return programPlan{}, err
	}
	site, err := s.programSite(ctx, c.Cwd, p.of)
	if err != nil {
		return programPlan{}, err
	}
	dir := site.Dir
	around, err := s.Runner.Around(ctx, site.Root, dir)
	if err != nil {
		return programPlan{}, err
	}
	argv := slices.Concat([]string{c.Command}, c.Args, in.Args)
	if c.UseVolta && around.Tools.Volta != "" {
		argv = slices.Concat([]string{around.Tools.Volta, "run"}, argv)
	}
	p.command = runner.Command{Root: site.Root, Dir: dir, Texts: []string{runner.QuoteArgs(argv)}}
	if p.examined, err = s.Runner.Examine(ctx, around, p.command); err != nil {
		return programPlan{}, err
	}
	findings := slices.Concat(p.examined.Findings, runner.ArgsOutside(dir, in.Args), s.Runner.Hidden(append(p.examined.Parts(), argv)...))
	env, err := s.Runner.Environment(around, p.of, c.Env)
	if err != nil {
		return programPlan{}, err
	}
	timeout := time.Duration(c.TimeoutMS) * time.Millisecond
	if timeout == 0 {
		timeout = webhook.DefaultTimeoutMS * time.Millisecond
	}
	p.spec = process.Spec{Argv: argv, Dir: dir, Env: env.Vars, Secrets: env.Secrets, Timeout: timeout}
	shown := map[string]any{"action": a.Name, "action_id": a.ID, "revision": a.Revision, "argv": argv, "cwd": dir, "timeout_ms": timeout.Milliseconds(),
		"env": slices.Sorted(maps.Keys(c.Env)), "env_passed": env.Passed, "findings": findings}
	if len(p.examined.Scripts) > 0 {
		shown["scripts"] = p.examined.Scripts
	}
	if len(p.examined.Settings) > 0 {
		shown["settings"] = p.examined.Settings
	}
	summary, assess := fmt.Sprintf("run action %q: %s", a.Name, strings.Join(argv, " ")), policy.Assessment{Strength: policy.Simple, Risk: findings.Risk(), Action: rule, Scope: a.ID}
	less, err := runner.NewPlan("run_script", summary, shown, assess)
	if err != nil {
		return programPlan{}, err
	}
	whole := maps.Clone(shown)
	if code := p.examined.Code; len(code.Reads) > 0 {
		whole["reads"] = code.Reads
	}
	if code := p.examined.Code; len(code.NotBound) > 0 {
		whole["not_bound"] = code.NotBound
	}
	p.Plan, err = runner.NewPlan("run_script", summary, whole, assess)
	p.Plan = p.Plan.BoundBut(less).Covering("action", a.Name, p.of.Name)
	return p, err
}

// programSite returns the directory of a script action: its own cwd, else its project's directory; always inside a registered project.
func (s service) programSite(ctx context.Context, cwd string, of project.Project) (runner.Site, error) {
	switch {
	case cwd == "" && of.Path == "":
		return runner.Site{}, project.ErrArgument.WithMessage("the action has no cwd and belongs to no project, so there is no directory to run it in")
	case cwd == "":
		cwd = of.Path
	case cwd[0] != '/' && of.Path != "":
		cwd = of.Path + "/" + cwd
	}
	return s.Sites.Directory(ctx, cwd)
}

// still fails with project.ErrConflict if the program would no longer do what was approved: it is examined again before it starts.
func (s service) still(ctx context.Context, p programPlan) error {
	if err := s.unchanged(ctx, p.action); err != nil {
		return err
	}
	site, err := s.programSite(ctx, p.action.Script.Cwd, p.of)
	if err != nil {
		return err
	}
	around, err := s.Runner.Around(ctx, site.Root, site.Dir)
	if err != nil {
		return err
	}
	now, err := s.Runner.Examine(ctx, around, p.command)
	if err == nil && (site.Dir != p.spec.Dir || !now.Same(p.examined)) {
		err = project.ErrConflict.WithMessage("what action %q starts changed in the meantime; call again to see the new plan", p.action.Name)
	}
	return err
}

func (s service) program(ctx context.Context, sc tool.Scope, p programPlan) (Program, error) {
	if err := s.still(ctx, p); err != nil {
		return Program{}, err
	}
	p.spec.Labels = runner.Labels(p.of, sc, map[string]string{runner.LabelScript: p.action.Name})
	out := Program{ActionName: p.action.Name}
	var err error
	ran := false
	out.ExecutionID, err = s.recorded(ctx, sc, p.action, sent{Args: p.args}, func() (any, error) {
		e, err := s.Runner.Wait(ctx, sc, "action "+p.action.Name, p.spec, func(e runner.ProcessResult) any { ran = true; return nil })
		if ran = ran || err == nil; !ran {
			return nil, err
		}
		out.Result = resultOf(e)
		return out.Result, err
	})
	if out.Success = err == nil; out.Success {
		return out, nil
	}
	if !ran { // it could not be started; the error says why
		return out, withExecution(err, out.ExecutionID, fault.From(err).Details)
	}
	return out, withExecution(err, out.ExecutionID, out.Result)
}
