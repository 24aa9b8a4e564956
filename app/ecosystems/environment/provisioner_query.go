package environment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/tool"
)

// AskInput says what to ask a provisioner.
type AskInput struct {
	runs.Target
	EnvironmentInput
	Action string `json:"action" jsonschema:"enum=status,enum=plan"`
}

// AskAnswer is what a provisioner said.
type AskAnswer struct {
	Status      string            `json:"status"` // success, failed or unsupported
	Ecosystem   string            `json:"ecosystem"`
	Environment string            `json:"environment"`
	Provisioner string            `json:"provisioner"`
	Action      string            `json:"action"`
	ExitCode    int               `json:"exit_code"`
	Lines       []string          `json:"lines"` // the last 200
	Dropped     int64             `json:"dropped"`
	Outputs     map[string]string `json:"outputs"`
	runs.Envelope
}

// Bounds of asking: it happens within a call.
const (
	askTimeout = 2 * time.Minute
	maxAsked   = 200
)

// asked is what ask needs to know.
type asked struct {
	payload
	Action ecosystem.Action `json:"action"`
}

func (s service) planAsk(ctx context.Context, sc tool.Scope, in AskInput) (runs.Plan, error) {
	f, err := s.FindValid(ctx, sc, in.Ecosystem)
	if err != nil {
		return runs.Plan{}, err
	}
	p, err := s.toAsk(ctx, f, in.name(), ecosystem.Action(in.Action))
	if err != nil {
		return runs.Plan{}, err
	}
	name, action := f.Layout.Name, ecosystem.Action(in.Action)
	argv, err := p.provisioner.Command(action, f.Layout, nil)
	if err != nil {
		return runs.Plan{}, err
	}
	line := shown(argv, p.provisioner.Line(action))
	doc, err := tool.Encode(asked{payload: payload{Environment: p.environment}, Action: action})
	return s.sealed(f, runs.Plan{Tool: Ask.Name, Summary: fmt.Sprintf("%s of environment %s of %s with %s", action, p.environment, name, p.provisioner.Name), Facts: p.facts(), Payload: doc,
		Preview:     map[string]any{"environment": p.environment, "provisioner": p.provisioner.Name, "action": action, "command": argv, "reads": p.code.Reads, "not_bound": p.code.NotBound},
		Explanation: runs.Explanation{What: "run the provisioner's " + string(action) + " action, which changes nothing by protocol: " + line, Affects: []string{}},
		Current:     p.state.Brief(), Risk: runs.Risk{Level: "low"}}, err)
}

// toAsk returns the environment with what deployed it; where nothing is, with what would.
func (s service) toAsk(ctx context.Context, f runs.Ecosystem, environment string, a ecosystem.Action) (picture, error) {
	p, err := s.look(ctx, f, environment, nil)
	if err != nil {
		return p, err
	}
	if p.state.State == ecosystem.PhaseNone || a == ecosystem.ActionPlan {
		p.provisioner, err = ecosystem.FindProvisioner(f.Manifest(), s.script(ctx, f))
	} else {
		p.provisioner, err = ecosystem.Deployer(p.state, f.Manifest(), s.script(ctx, f))
	}
	if err == nil && p.provisioner.Kind == ecosystem.KindLocal {
		err = ecosystem.ErrUnsupported.WithMessage("the built-in provisioner local has no %s of its own; ecosystem_spin_status shows its services, and the dry run of amof_spin_deploy what it would start", a)
	}
	if err == nil {
		if _, unsupported := p.provisioner.Command(a, f.Layout, nil); unsupported == nil {
			err = s.read(ctx, &p, a)
		}
	}
	return p, err
}

func (s service) ask(ctx context.Context, sc tool.Scope, plan runs.Plan) (AskAnswer, error) {
	var in asked
	if err := json.Unmarshal(plan.Payload, &in); err != nil {
		return AskAnswer{}, err
	}
	f, err := s.FindValid(ctx, sc, plan.Ecosystem)
	if err != nil {
		return AskAnswer{}, err
	}
	p, err := s.toAsk(ctx, f, in.Environment, in.Action)
	if err != nil {
		return AskAnswer{}, err
	}
	if now, err := runs.FactsHash(p.facts()); err != nil || !plan.From(now) {
		return AskAnswer{}, errors.Join(err, ecosystem.ErrChanged.WithMessage("what the provisioner of %s was to be asked with has changed since; call again to see it as it is", plan.Ecosystem))
	}
	spec, err := s.question(ctx, p, in.Action)
	if err != nil {
		return AskAnswer{}, err
	}
	a := AskAnswer{Status: "success", Ecosystem: f.Layout.Name, Environment: p.environment, Provisioner: p.provisioner.Name, Action: string(in.Action), Lines: []string{}, Outputs: map[string]string{}}
	heard := NewProcessOutput(func(_, line string) { a.Lines = append(a.Lines, line) }, a.Outputs)
	st, err := s.programs().Run(ctx, spec, heard)
	if err != nil {
		return a, err
	}
	switch a.ExitCode = st.Exit.Code; {
	case st.Status == process.TimedOut:
		return a, fault.ErrTimeout.WithMessage("%s took longer than %v to answer and was ended", p.provisioner.Name, spec.Timeout).WithDetails(map[string]any{"last_lines": heard.LastLines()})
	case st.Exit.Code == ecosystem.ExitUnsupported:
		a.Status = "unsupported"
	case st.Status != process.Completed:
		a.Status = "failed"
	}
	cut := max(0, len(a.Lines)-maxAsked)
	a.Lines, a.Dropped = a.Lines[cut:], heard.DroppedLines()+int64(cut)
	if in.Action == ecosystem.ActionPlan && a.Status == "success" {
		if err := s.notePlanned(ctx, p, a.Lines); err != nil {
			return a, err
		}
	}
	a.Envelope = s.Show(sc, runs.Subject{Ecosystem: a.Ecosystem}, runs.AnswerText{Summary: fmt.Sprintf("Asked %s for its %s: %s", short(a.Provisioner), a.Action, a.Status), Details: a.Lines[:min(len(a.Lines), 15)]})
	return a, nil
}

// planned is what a provisioner said that it would do, and what it was asked about.
type planned struct {
	Facts string   `json:"facts"`
	Lines []string `json:"lines"`
}

func plannedNote(environment string) string { return "spin-plans/" + environment }

// notePlanned keeps what a provisioner said that it would do, for the plans of deployments.
func (s service) notePlanned(ctx context.Context, p picture, lines []string) error {
	facts, err := runs.FactsHash(p.facts())
	if err != nil {
		return err
	}
	doc, err := json.Marshal(planned{Facts: facts, Lines: lines})
	if err != nil {
		return err
	}
	return s.States.Note(ctx, p.found.Layout, plannedNote(p.environment), doc)
}

// plannedBefore returns what the provisioner said when it was asked for its plan, where everything is as it was then; nil where it is not. It runs nothing.
func (s service) plannedBefore(ctx context.Context, f runs.Ecosystem, environment string) ([]string, error) {
	doc, err := s.States.Noted(ctx, f.Layout, plannedNote(environment))
	var said planned
	if err != nil || doc == nil || json.Unmarshal(doc, &said) != nil {
		return nil, err
	}
	p, err := s.toAsk(ctx, f, environment, ecosystem.ActionPlan)
	if err != nil {
		return nil, nil //nolint:nilerr // there is nobody to ask any more
	}
	if now, err := runs.FactsHash(p.facts()); err != nil || now != said.Facts {
		return nil, err
	}
	return said.Lines, nil
}

// question returns how a provisioner is asked.
func (s service) question(ctx context.Context, p picture, a ecosystem.Action) (process.Spec, error) {
	l := p.found.Layout
	argv, err := p.provisioner.Command(a, l, nil)
	if err != nil {
		return process.Spec{}, err
	}
	dir, err := s.Provisioners.Dir(ctx, l, p.environment)
	if err != nil {
		return process.Spec{}, err
	}
	spec := s.started(l, ecosystem.ActionContext{Ticket: p.found.State.Active(), Environment: p.environment, RunID: p.state.RunID, Dir: dir}, argv, l.Root, nil)
	spec.Timeout = min(ecosystem.ProvisionerTimeout(p.found.Manifest()), askTimeout)
	if a == ecosystem.ActionPlan {
		spec.Env["AMOF_DRY_RUN"] = "1"
	}
	return spec, nil
}
