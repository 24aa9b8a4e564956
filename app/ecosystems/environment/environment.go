package environment

import (
	"context"
	"strings"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// Deps is the dependencies of the tools. Every field is required but Settling.
type Deps struct {
	runs.Deps
	Provisioners ecosystemport.Provisioners
	Surveyor     ecosystemport.Surveyor
	Processes    ports.Processes
	Code         ports.CodeReader

	// Settling is the time that services have to show that they do not end at once, and to say where they are: the result is over when it is. Nil is
	// a second and a half.
	Settling func(context.Context) (context.Context, context.CancelFunc)
}

// The typed handles.
var (
	Deploy  = tool.Ref[DeployInput, EnvironmentAnswer]{Name: "amof_spin_deploy"}
	Destroy = tool.Ref[DestroyInput, EnvironmentAnswer]{Name: "amof_spin_destroy"}
	Status  = tool.Ref[StatusInput, StatusAnswer]{Name: "ecosystem_spin_status"}
	Ask     = tool.Ref[AskInput, AskAnswer]{Name: "ecosystem_spin_ask"}
)

// Entries returns the tools about environments.
func Entries(d Deps) []tool.Entry {
	s := service{d}
	deploy := runs.DangerousSpec(policy.Preview, "Deploy environment", "Deploy an ecosystem's environment with its provisioner, as a run.", deploySchema)
	destroy := runs.DangerousSpec(policy.Typed, "Destroy environment", "Take an ecosystem's environment down with the provisioner that deployed it, as a run.", destroySchema)
	status := runs.ReadSpec("Environment status", "Show what is recorded of an ecosystem's environment, and which of its services run.", statusSchema)
	ask := runs.SafeWriteSpec("Ask provisioner", "Run the provisioner's status or plan action, which change nothing by protocol, and show what it says.", askSchema)
	status.UserOnly, ask.UserOnly = true, true
	deploy.When, destroy.When = "unless it is deployed so already", "unless nothing is deployed"
	return []tool.Entry{
		bind.Command(Deploy, deploy, s.planDeploy, s.queue),
		bind.Command(Destroy, destroy, s.planDestroy, s.queue),
		bind.Query(Status, status, s.status),
		bind.Command(Ask, ask, s.planAsk, s.ask),
	}
}

// limit is how long a run may take at most, in seconds: the longest timeout of a manifest, and the time to stop. The manifest's own comes first.
const limit = 3600 + 60

// Performers carry out the runs.
func Performers(d Deps) []runs.Performer {
	s := service{d}
	return []runs.Performer{
		{Action: ecosystem.RunDeploy, Limit: limit, Facts: s.deployFacts, Do: s.deploy, Recover: s.recoverRun},
		{Action: ecosystem.RunDestroy, Limit: limit, Facts: s.destroyFacts, Do: s.destroy, Recover: s.recoverRun},
	}
}

type service struct{ Deps }

// EnvironmentInput names an environment.
type EnvironmentInput struct {
	Environment string `json:"environment,omitempty" jsonschema:"description=default default"`
}

// Validate fails with ecosystem.ErrName.
func (in EnvironmentInput) Validate() error { return ecosystem.CheckName(in.name()) }

func (in EnvironmentInput) name() string {
	if in.Environment == "" {
		return ecosystem.DefaultEnvironment
	}
	return in.Environment
}

// The bounds of what is handed on to a provisioner.
const (
	maxArgs = 32
	maxArg  = 4096
)

// DeployInput says what to deploy.
type DeployInput struct {
	runs.Target
	EnvironmentInput
	Args []string `json:"args,omitempty" jsonschema:"description=handed on to the provisioner"`
}

// Validate fails with ecosystem.ErrName and ecosystem.ErrArguments.
func (in DeployInput) Validate() error {
	if err := in.EnvironmentInput.Validate(); err != nil {
		return err
	}
	if len(in.Args) > maxArgs {
		return ecosystem.ErrArguments.WithMessage("args has %d entries; at most %d are handed on", len(in.Args), maxArgs)
	}
	for i, arg := range in.Args {
		if len(arg) > maxArg || strings.ContainsRune(arg, 0) {
			return ecosystem.ErrArguments.WithMessage("args[%d] contains NUL or has more than %d bytes", i, maxArg)
		}
	}
	return nil
}

// DestroyInput says what to destroy.
type DestroyInput struct {
	runs.Target
	EnvironmentInput
}

// payload is what a run needs to know.
type payload struct {
	Environment string   `json:"environment"`
	Args        []string `json:"args,omitempty"`
}

// EnvironmentAnswer is the run that a deployment or destruction was queued as, or that there is nothing to do.
type EnvironmentAnswer struct {
	Status    string           `json:"status"`           // queued, or success where there is nothing to do
	RunID     string           `json:"run_id,omitempty"` // with Action and Position of a queued run alone
	Action    string           `json:"action,omitempty"`
	Noop      bool             `json:"noop,omitempty"` // with Message and Current where there is nothing to do
	Ecosystem string           `json:"ecosystem"`
	Position  int              `json:"position,omitempty"` // in the queue, counted from 1
	Message   string           `json:"message,omitempty"`
	Current   *ecosystem.Brief `json:"current_state,omitempty"`
	runs.Envelope
}

// queue queues the run, unless there is nothing to do.
func (s service) queue(ctx context.Context, sc tool.Scope, p runs.Plan) (EnvironmentAnswer, error) {
	if nothing, ok := p.Noop.(EnvironmentAnswer); ok {
		return nothing, nil
	}
	q, err := s.Enqueue(ctx, sc, p)
	return EnvironmentAnswer{Status: q.Status, RunID: q.RunID, Action: q.Action, Ecosystem: q.Ecosystem, Position: q.Position, Envelope: q.Envelope}, err
}

func (s service) idle(sc tool.Scope, p picture, message string, next ...runs.Action) EnvironmentAnswer {
	name := p.found.Layout.Name
	text, current := runs.AnswerText{Summary: "Found nothing to do", Details: []string{message}}, p.state.Brief()
	return EnvironmentAnswer{Status: "success", Noop: true, Ecosystem: name, Message: message, Current: &current, Envelope: s.Show(sc, runs.Subject{Ecosystem: name}, text, next...)}
}

// short keeps a name at a length that fits a summary.
func short(name string) string {
	const most = 24
	if len(name) > most {
		return name[:most-1] + "…"
	}
	return name
}
