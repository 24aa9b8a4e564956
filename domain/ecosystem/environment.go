package ecosystem

import (
	"encoding/json"
	"time"

	"github.com/countersign-dev/countersign/domain/fault"
)

// The ways spinning refuses and fails.
var (
	ErrEnvironmentNone = fault.New(fault.State, "eco_no_provisioner", "the ecosystem has no provisioner; give its manifest `provisioner:` or `spin:`")
	ErrMissing         = fault.New(fault.NotFound, "eco_provisioner_not_found", "provisioner not found")
	ErrUnsafe          = fault.New(fault.Denied, "eco_provisioner_refused", "the provisioner's script is not allowed to run")
	ErrUnsupported     = fault.New(fault.State, "eco_spin_unsupported", "the provisioner does not support this operation")
	ErrOther           = fault.New(fault.Conflict, "eco_spin_other_provisioner", "another provisioner deployed this environment")
	ErrProgram         = fault.New(fault.Unavailable, "eco_spin_failed", "the provisioner failed")
)

// The default environment, and the exit code of a provisioner for an unknown action (amof contract §20.5).
const (
	DefaultEnvironment = "default"
	ExitUnsupported    = 64
)

// The actions of runs.
const (
	RunDeploy  = "spin_deploy"
	RunDestroy = "spin_destroy"
)

// Phase is the status of an environment.
type Phase string

// The phases.
const (
	PhaseNone       Phase = "none"
	PhaseDeploying  Phase = "deploying"
	PhaseDeployed   Phase = "deployed"
	PhaseFailed     Phase = "failed"
	PhaseDestroying Phase = "destroying"
)

// Passing reports a phase that lasts only as long as a run does.
func (p Phase) Passing() bool { return p == PhaseDeploying || p == PhaseDestroying }

// EnvironmentState is what is recorded of an environment: the contract's spin.json, with more after it.
type EnvironmentState struct {
	Environment  string            `json:"environment"`
	State        Phase             `json:"state"`
	RunID        string            `json:"run_id"` // of the run that brought it there
	Since        time.Time         `json:"since"`
	Provisioner  string            `json:"provisioner"`
	ScriptSHA256 string            `json:"script_sha256"`
	Repos        map[string]string `json:"repos"` // commits that were checked out
	Outputs      map[string]string `json:"outputs"`

	Kind     Kind      `json:"kind,omitempty"`
	Services []Service `json:"services,omitempty"` // of the built-in provisioner local
	Error    string    `json:"error,omitempty"`    // why it is Failed
}

// Service is a program that the built-in provisioner local keeps running.
type Service struct {
	Repo      string    `json:"repo"`
	Command   string    `json:"command"`
	ProcessID string    `json:"process_id"` // as Countersign knows it; the pid comes again
	PID       int       `json:"pid"`
	StartedAt time.Time `json:"started_at"`
	Log       string    `json:"log"`
}

// StateKey returns the name under which the state of an environment is kept.
func StateKey(environment string) string { return "spin/" + environment }

// DecodeEnvironment reads what is recorded of an environment; nil is one that was never deployed. It fails with ecosystem.ErrState.
func DecodeEnvironment(environment string, doc []byte) (EnvironmentState, error) {
	s := EnvironmentState{State: PhaseNone}
	if doc != nil {
		if err := json.Unmarshal(doc, &s); err != nil {
			return EnvironmentState{}, ErrState.WithMessage("the record of environment %s cannot be read; repair or delete the file, then retry", environment).WithCause(err)
		}
	}
	s.Environment = environment
	if s.Repos == nil {
		s.Repos = map[string]string{}
	}
	if s.Outputs == nil {
		s.Outputs = map[string]string{}
	}
	return s, nil
}

// Begun returns the state once that run begins to bring the environment to another one.
func (s EnvironmentState) Begun(to Phase, runID string, now time.Time) EnvironmentState {
	s.State, s.RunID, s.Since, s.Error = to, runID, now, ""
	return s
}

// Ended returns the state when the run is done; why is empty unless it failed.
func (s EnvironmentState) Ended(to Phase, why string, now time.Time) EnvironmentState {
	s.State, s.Since, s.Error = to, now, why
	if to == PhaseNone {
		s.Outputs, s.Repos, s.Services = map[string]string{}, map[string]string{}, nil
	}
	return s
}

// Interrupted returns the state of an environment that a run was bringing on which is gone.
func (s EnvironmentState) Interrupted(now time.Time) EnvironmentState {
	return s.Ended(PhaseFailed, string(s.State)+" was interrupted", now)
}

// Mark returns what a confirmed preview was made from in the state: two states with one mark are the same to whoever saw one of them.
func (s EnvironmentState) Mark() []string {
	mark := []string{s.Environment, string(s.State), s.RunID, s.Provisioner, s.ScriptSHA256}
	for _, v := range s.Services {
		mark = append(mark, v.ProcessID)
	}
	return mark
}

// Brief is a state in few words, as previews and statuses show it.
type Brief struct {
	Environment string `json:"environment"`
	State       Phase  `json:"state"`
	RunID       string `json:"run_id,omitempty"`
	Since       string `json:"since,omitempty"` // RFC 3339
	Provisioner string `json:"provisioner,omitempty"`
	Error       string `json:"error,omitempty"`
}

// Brief returns the state in few words.
func (s EnvironmentState) Brief() Brief {
	b := Brief{Environment: s.Environment, State: s.State, RunID: s.RunID, Provisioner: s.Provisioner, Error: s.Error}
	if !s.Since.IsZero() {
		b.Since = s.Since.UTC().Format(time.RFC3339)
	}
	return b
}
