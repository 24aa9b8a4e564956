package environment

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/tool"
)

// picture is an environment as it is, and with what it would be worked on.
type picture struct {
	found       runs.Ecosystem
	environment string
	args        []string
	provisioner ecosystem.Provisioner
	state       ecosystem.EnvironmentState // one that nobody brings on any more has failed, though nobody has put that on record yet
	heads       map[string]string
	missing     []string // repositories without a clone
	code        process.Code
}

// facts are what a preview is made from (amof contract §14 rule 4).
type facts struct {
	Manifest    string             `json:"manifest_sha256"`
	Provisioner string             `json:"provisioner"`
	Kind        ecosystem.Kind     `json:"kind"`
	Script      string             `json:"script"`
	SHA256      string             `json:"script_sha256"`
	Args        []string           `json:"args"`
	Environment string             `json:"environment"`
	Ticket      string             `json:"ticket"`
	Repos       map[string]string  `json:"repos"`
	Spin        []string           `json:"spin"`
	Reads       []process.CodeFile `json:"reads,omitempty"`
}

func (p picture) facts() facts {
	return facts{Manifest: p.found.Loaded.SHA256, Provisioner: p.provisioner.Name, Kind: p.provisioner.Kind, Script: p.provisioner.Script.Path, SHA256: p.provisioner.SHA256,
		Args: append([]string{}, p.args...), Environment: p.environment, Ticket: p.found.State.Active(), Repos: p.heads, Spin: p.state.Mark(), Reads: p.code.Reads}
}

// clone returns where a repository was cloned to.
func (p picture) clone(r ecosystem.Repo) string { return path.Join(p.found.Layout.Workspace, r.Path) }

// startables returns the repositories that the built-in provisioner local starts.
func (p picture) startables() (out []ecosystem.Repo) {
	for _, r := range p.found.Manifest().Active() {
		if r.Run != "" {
			out = append(out, r)
		}
	}
	return out
}

// look reads the recorded state and the status of the repositories.
func (s service) look(ctx context.Context, f runs.Ecosystem, environment string, args []string) (picture, error) {
	p := picture{found: f, environment: environment, args: args, heads: map[string]string{}}
	doc, err := s.States.Noted(ctx, f.Layout, ecosystem.StateKey(environment))
	if err != nil {
		return p, err
	}
	if p.state, err = ecosystem.DecodeEnvironment(environment, doc); err != nil {
		return p, err
	}
	if p.state.State.Passing() && !s.underWay(ctx, p.state.RunID) {
		p.state = p.state.Interrupted(p.state.Since)
	}
	var checkouts []ecosystem.Checkout
	for _, r := range f.Manifest().Active() {
		checkouts = append(checkouts, ecosystem.Checkout{Name: r.Name, Dir: p.clone(r)})
	}
	for _, st := range s.Surveyor.Survey(ctx, checkouts) {
		p.heads[st.Name] = st.Head
		if st.Missing {
			p.missing = append(p.missing, st.Name)
		}
	}
	return p, nil
}

// read finds the files that an action reads as code: those that services are started from, and those that a provisioner's program or shell line names.
func (s service) read(ctx context.Context, p *picture, a ecosystem.Action) (err error) {
	l := p.found.Layout
	var commands []process.ShellCommand
	switch {
	case p.provisioner.Kind == ecosystem.KindNoop, p.provisioner.Kind == ecosystem.KindLocal && a != ecosystem.ActionDeploy:
		return nil
	case p.provisioner.Kind == ecosystem.KindLocal:
		for _, r := range p.startables() {
			commands = append(commands, process.ShellCommand{Dir: p.clone(r), Text: r.Run})
		}
	case p.provisioner.Kind == ecosystem.KindScript:
		argv, err := p.provisioner.Command(a, l, nil)
		if err != nil {
			return err
		}
		for i := range argv {
			argv[i] = "'" + strings.ReplaceAll(argv[i], "'", `'\''`) + "'"
		}
		commands = append(commands, process.ShellCommand{Dir: l.Root, Text: strings.Join(argv, " ")})
	default:
		commands = append(commands, process.ShellCommand{Dir: l.Root, Text: p.provisioner.Line(a)})
	}
	if p.code, err = s.Code.Code(ctx, l.Root, commands); err == nil && p.provisioner.Kind != ecosystem.KindLocal {
		p.code.NotBound = append(p.code.NotBound, "what the provisioner does elsewhere: on other machines, in containers, at a provider")
	}
	return err
}

func (s service) script(ctx context.Context, f runs.Ecosystem) func(string) (ecosystem.Script, error) {
	return func(name string) (ecosystem.Script, error) { return s.Provisioners.Script(ctx, f.Layout, name) }
}

// toDeploy returns the environment, and what would deploy it.
func (s service) toDeploy(ctx context.Context, f runs.Ecosystem, environment string, args []string) (p picture, err error) {
	if p, err = s.look(ctx, f, environment, args); err != nil {
		return p, err
	}
	if p.provisioner, err = ecosystem.FindProvisioner(f.Manifest(), s.script(ctx, f)); err != nil {
		return p, err
	}
	if p.state.State == ecosystem.PhaseDeployed && p.state.Provisioner != p.provisioner.Name {
		return p, ecosystem.ErrOther.WithMessage("environment %s of %s was deployed with %s, and the manifest says %s now; destroy it first (amof_spin_destroy uses what deployed it)",
			environment, f.Layout.Name, p.state.Provisioner, p.provisioner.Name)
	}
	if p.provisioner.Kind != ecosystem.KindLocal {
		_, err = p.provisioner.Command(ecosystem.ActionDeploy, f.Layout, args)
	} else {
		err = p.startable()
	}
	if err != nil {
		return p, err
	}
	return p, s.read(ctx, &p, ecosystem.ActionDeploy)
}

// startable fails where the built-in provisioner local could start nothing.
func (p picture) startable() error {
	name, services := p.found.Layout.Name, p.startables()
	if len(p.args) > 0 {
		return ecosystem.ErrArguments.WithMessage("the built-in provisioner local takes no args; leave them out")
	}
	if len(services) == 0 {
		return ecosystem.ErrNoWork.WithMessage("no repository of %s says what to start; give one `run: <command>` in the manifest", name)
	}
	for _, r := range services {
		for _, missing := range p.missing {
			if r.Name == missing {
				return ecosystem.ErrNotInstalled.WithMessage("repository %s of %s has no clone at %s; amof_sync_ecosystem brings it back", r.Name, name, p.clone(r))
			}
		}
	}
	return nil
}

// toDestroy returns the environment, and what would take it down: what deployed it. A state of none has no provisioner.
func (s service) toDestroy(ctx context.Context, f runs.Ecosystem, environment string) (p picture, err error) {
	if p, err = s.look(ctx, f, environment, nil); err != nil || p.state.State == ecosystem.PhaseNone {
		return p, err
	}
	if p.state.Kind != ecosystem.KindLocal && p.state.Kind != ecosystem.KindNoop {
		if err := f.Sound(); err != nil {
			return p, err
		}
	}
	if p.provisioner, err = ecosystem.Deployer(p.state, f.Manifest(), s.script(ctx, f)); err != nil || p.provisioner.Kind == ecosystem.KindLocal {
		return p, err
	}
	if _, err = p.provisioner.Command(ecosystem.ActionDestroy, f.Layout, nil); err != nil {
		return p, err
	}
	return p, s.read(ctx, &p, ecosystem.ActionDestroy)
}

func (s service) deployFacts(ctx context.Context, f runs.Ecosystem, doc json.RawMessage) (any, error) {
	in, err := decode(doc)
	if err == nil {
		err = f.Sound()
	}
	if err != nil {
		return nil, err
	}
	p, err := s.toDeploy(ctx, f, in.Environment, in.Args)
	return p.facts(), err
}

func (s service) destroyFacts(ctx context.Context, f runs.Ecosystem, doc json.RawMessage) (any, error) {
	in, err := decode(doc)
	if err != nil {
		return nil, err
	}
	p, err := s.toDestroy(ctx, f, in.Environment)
	return p.facts(), err
}

func decode(doc json.RawMessage) (in payload, err error) {
	if err := json.Unmarshal(doc, &in); err != nil {
		return in, ecosystem.ErrArguments.WithMessage("what the run was queued with cannot be read").WithCause(err)
	}
	return in, ecosystem.CheckName(in.Environment)
}

// Preview is what would be done (amof contract §13.11, §13.12).
type Preview struct {
	Environment    string            `json:"environment"`
	Provisioner    string            `json:"provisioner"`
	Kind           ecosystem.Kind    `json:"provisioner_kind"`
	Script         string            `json:"script"`            // the script, or the shell line in full
	SHA256         *string           `json:"script_sha256"`     // null for what is built in
	Command        []string          `json:"command,omitempty"` // what is started, argument by argument
	Services       []ServiceStart    `json:"services,omitempty"`
	Seconds        *int64            `json:"estimated_duration_seconds"`
	Source         *string           `json:"estimate_source"`
	TimeoutSeconds int64             `json:"timeout_seconds"`
	Current        ecosystem.Brief   `json:"current_state"`
	Repos          map[string]string `json:"repos"`
	process.Code                     // the files that are read as code, and what is not bound
	PlanCommand    *string           `json:"plan_command"`          // tells more; ecosystem_spin_ask runs it, and nothing else does
	PlanOutput     []string          `json:"plan_output,omitempty"` // what it said when it was asked, where nothing has changed since
	Destroys       []string          `json:"destroys,omitempty"`
	Hint           string            `json:"execute_hint"`
}

// ServiceStart is what the built-in provisioner local would start.
type ServiceStart struct {
	Repo    string `json:"repo"`
	Command string `json:"command"`
	Dir     string `json:"dir"`
}

func (s service) preview(ctx context.Context, p picture, a ecosystem.Action, hint string) (Preview, error) {
	out := Preview{Environment: p.environment, Provisioner: p.provisioner.Name, Kind: p.provisioner.Kind, Script: p.provisioner.Shown(a), Current: p.state.Brief(), Repos: p.heads,
		TimeoutSeconds: int64(ecosystem.ProvisionerTimeout(p.found.Manifest()) / time.Second), Code: p.code, Hint: hint}
	if !p.provisioner.Built() {
		out.SHA256 = &p.provisioner.SHA256
	}
	if p.provisioner.Kind != ecosystem.KindLocal {
		var err error
		if out.Command, err = p.provisioner.Command(a, p.found.Layout, p.args); err != nil {
			return out, err
		}
		if argv, err := p.provisioner.Command(ecosystem.ActionPlan, p.found.Layout, p.args); err == nil && a == ecosystem.ActionDeploy {
			out.PlanCommand = tool.NilIfZero(shown(argv, p.provisioner.Line(ecosystem.ActionPlan)))
		}
	}
	action := map[ecosystem.Action]string{ecosystem.ActionDeploy: ecosystem.RunDeploy, ecosystem.ActionDestroy: ecosystem.RunDestroy}[a]
	l := p.found.Layout
	past, err := s.Runs.List(ctx, ecosystem.RunFilter{Root: l.Root, Ecosystem: l.Name, Action: action, Statuses: []ecosystem.RunStatus{ecosystem.RunSuccess}, Limit: ecosystem.MaxDurations})
	var took []time.Duration
	for _, r := range past {
		took = append(took, r.Duration(s.Clock.Now()))
	}
	out.Seconds, out.Source = ecosystem.EstimateDuration(took, p.found.Manifest().Spin.EstimateSeconds)
	return out, err
}

// shown returns a command as the user reads it: the shell line where there is one.
func shown(argv []string, line string) string {
	if line != "" {
		return line
	}
	return strings.Join(argv, " ")
}

func (s service) planDeploy(ctx context.Context, sc tool.Scope, in DeployInput) (runs.Plan, error) {
	f, err := s.FindInstalled(ctx, sc, in.Ecosystem)
	if err != nil {
		return runs.Plan{}, err
	}
	p, err := s.toDeploy(ctx, f, in.name(), in.Args)
	if err != nil {
		return runs.Plan{}, err
	}
	idle, err := s.upAlready(ctx, p)
	if err != nil {
		return runs.Plan{}, err
	}
	if idle {
		message := "environment " + p.environment + " is deployed as the repositories are, and every service runs"
		return runs.Plan{Tool: Deploy.Name, Noop: s.idle(sc, p, message, runs.SuggestAction("spin_destroy", f.Layout.Name, nil))}.Sealed(f)
	}
	name := f.Layout.Name
	hint := fmt.Sprintf("call amof_spin_deploy for %s in mode execute and confirm what it shows; it is queued then, and run_id is the answer", name)
	show, err := s.preview(ctx, p, ecosystem.ActionDeploy, hint)
	if err != nil {
		return runs.Plan{}, err
	}
	alternatives := []string{"amof_get_ecosystem_status shows what is deployed"}
	if show.PlanCommand != nil && len(in.Args) == 0 {
		if show.PlanOutput, err = s.plannedBefore(ctx, f, p.environment); err != nil {
			return runs.Plan{}, err
		}
		if show.PlanOutput == nil {
			alternatives = append(alternatives, "countersign eco spin plan has a user run the provisioner's own plan, and this shows what it said then")
		}
	}
	for _, r := range p.startables() {
		if p.provisioner.Kind == ecosystem.KindLocal {
			show.Services = append(show.Services, ServiceStart{Repo: r.Name, Command: r.Run, Dir: p.clone(r)})
		}
	}
	doc, err := tool.Encode(payload{Environment: p.environment, Args: in.Args})
	return s.sealed(f, runs.Plan{Tool: Deploy.Name, Action: ecosystem.RunDeploy, Summary: fmt.Sprintf("deploy of %s to environment %s with %s", name, p.environment, p.provisioner.Name), Preview: show,
		Facts: p.facts(), Warnings: p.warnings(), Hint: hint, Payload: doc, Current: p.state.Brief(),
		Explanation: runs.Explanation{What: fmt.Sprintf("bring up environment %s of %s with the provisioner %s, which runs programs on this machine: %s", p.environment, name, p.provisioner.Name, show.what()),
			Affects: []string{"environment " + p.environment + " of " + name}, Alternatives: alternatives},
		Risk: runs.Risk{Level: "high", Reasons: []string{"runs the provisioner's programs on this machine"}}}, err)
}

// what returns what would be run, in one line.
func (p Preview) what() string {
	if len(p.Services) == 0 {
		return p.Script
	}
	names := make([]string, len(p.Services))
	for i, start := range p.Services {
		names[i] = start.Repo + ": " + start.Command
	}
	return strings.Join(names, "; ")
}

func (service) sealed(f runs.Ecosystem, p runs.Plan, err error) (runs.Plan, error) {
	if err != nil {
		return runs.Plan{}, err
	}
	return p.Sealed(f)
}

// warnings returns what the user must know before approving.
func (p picture) warnings() (out []string) {
	switch p.state.State {
	case ecosystem.PhaseDeployed:
		out = append(out, fmt.Sprintf("environment %s is deployed already; it is deployed again, and services that run are started anew", p.environment))
	case ecosystem.PhaseDeploying, ecosystem.PhaseDestroying:
		out = append(out, fmt.Sprintf("the run %s is %s this environment; when that ends, this has to be confirmed again", ecosystem.Run{ID: p.state.RunID}.Short(), p.state.State))
	case ecosystem.PhaseFailed:
		out = append(out, "the last run about this environment failed: "+p.state.Error)
	}
	if len(p.missing) > 0 {
		out = append(out, "these repositories have no clone: "+strings.Join(p.missing, ", "))
	}
	return out
}

// upAlready reports that the built-in provisioner local would start what runs already, from the same commits.
func (s service) upAlready(ctx context.Context, p picture) (bool, error) {
	services := p.startables()
	if p.provisioner.Kind != ecosystem.KindLocal || p.state.State != ecosystem.PhaseDeployed || len(p.state.Services) != len(services) {
		return false, nil
	}
	for i, r := range services {
		was := p.state.Services[i]
		st, err := s.programs().Inspect(ctx, was.ProcessID)
		if err != nil || !IsRunning(st) || was.Repo != r.Name || was.Command != r.Run || p.state.Repos[r.Name] != p.heads[r.Name] {
			return false, err
		}
	}
	return true, nil
}

func (s service) planDestroy(ctx context.Context, sc tool.Scope, in DestroyInput) (runs.Plan, error) {
	f, err := s.Find(ctx, sc, in.Ecosystem)
	if err != nil {
		return runs.Plan{}, err
	}
	p, err := s.toDestroy(ctx, f, in.name())
	if err != nil {
		return runs.Plan{}, err
	}
	if p.state.State == ecosystem.PhaseNone {
		return runs.Plan{Tool: Destroy.Name, Noop: s.idle(sc, p, "nothing is deployed in environment "+p.environment, runs.AfterRemoval()...)}.Sealed(f)
	}
	name := f.Layout.Name
	hint := fmt.Sprintf("call amof_spin_destroy for %s in mode execute and type its name; it is queued then, and run_id is the answer", name)
	show, err := s.preview(ctx, p, ecosystem.ActionDestroy, hint)
	if err != nil {
		return runs.Plan{}, err
	}
	show.Destroys = p.destroys()
	warnings := p.warnings()
	if p.state.State == ecosystem.PhaseDeployed { // that it is deployed is what this is about
		warnings = warnings[1:]
	}
	if was := p.state.ScriptSHA256; was != "" && was != p.provisioner.SHA256 {
		warnings = append(warnings, "the provisioner is not what it was when it deployed this environment")
	}
	doc, err := tool.Encode(payload{Environment: p.environment})
	return s.sealed(f, runs.Plan{Tool: Destroy.Name, Action: ecosystem.RunDestroy, Summary: fmt.Sprintf("destruction of environment %s of %s with %s", p.environment, name, p.provisioner.Name),
		Preview: show, Facts: p.facts(), Warnings: warnings, Hint: hint, Payload: doc, Options: tool.PlanOptions{Target: name}, Current: p.state.Brief(),
		Explanation: runs.Explanation{What: fmt.Sprintf("take down environment %s of %s with the provisioner %s: %s", p.environment, name, p.provisioner.Name, show.Script), Irreversible: true,
			Affects: show.Destroys, Alternatives: []string{"amof_get_ecosystem_status shows what is deployed", "amof_spin_deploy deploys anew without destroying first"}},
		Risk: runs.Risk{Level: "critical", Irreversible: true, Reasons: []string{"what the environment holds is lost", "runs the provisioner's programs on this machine"}}}, err)
}

// destroys returns what would be gone.
func (p picture) destroys() []string {
	out := []string{fmt.Sprintf("environment %s of %s, %s since %s by run %s with %s", p.environment, p.found.Layout.Name, p.state.State, p.state.Since.UTC().Format(time.RFC3339),
		ecosystem.Run{ID: p.state.RunID}.Short(), p.state.Provisioner)}
	for _, v := range p.state.Services {
		out = append(out, fmt.Sprintf("service %s (pid %d): %s", v.Repo, v.PID, v.Command))
	}
	return out
}
