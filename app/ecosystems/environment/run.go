package environment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/tool"
)

// The labels of processes that are started here, by which they are found again whatever became of the record.
const (
	labelState       = "ecosystem_state" // the state directory, which no two ecosystems share
	labelEnvironment = "environment"
	labelRun         = "run"
	labelService     = "service" // the repository; of what keeps running alone
)

// RunResult is what came of a run.
type RunResult struct {
	Environment string              `json:"environment"`
	State       ecosystem.Phase     `json:"state"`
	Provisioner string              `json:"provisioner"`
	ExitCode    *int                `json:"exit_code"` // of the provisioner's program; null where there was none, or it was ended
	Outputs     map[string]string   `json:"outputs"`
	Repos       map[string]string   `json:"repos"`
	Services    []ecosystem.Service `json:"services,omitempty"`
	Stopped     []string            `json:"stopped,omitempty"` // services that were ended
}

// work is one run that is carried out.
type work struct {
	service
	runs.Job
	picture
	dir string // the environment's private one
	out RunResult
}

func (s service) open(ctx context.Context, j runs.Job, find func(context.Context, runs.Ecosystem, payload) (picture, error)) (*work, error) {
	in, err := decode(j.Run.Payload)
	if err != nil {
		return nil, err
	}
	w := &work{service: s, Job: j}
	if w.picture, err = find(ctx, j.Found, in); err != nil {
		return nil, err
	}
	w.dir, err = s.Provisioners.Dir(ctx, j.Found.Layout, w.environment)
	w.out = RunResult{Environment: w.environment, Provisioner: w.provisioner.Name, Outputs: map[string]string{}, Repos: w.heads}
	return w, err
}

// deploy carries out spin_deploy.
func (s service) deploy(ctx context.Context, j runs.Job) (any, error) {
	w, err := s.open(ctx, j, func(ctx context.Context, f runs.Ecosystem, in payload) (picture, error) {
		return s.toDeploy(ctx, f, in.Environment, in.Args)
	})
	if err != nil {
		return nil, err
	}
	begun := w.state.Begun(ecosystem.PhaseDeploying, j.Run.ID, s.now())
	begun.Provisioner, begun.Kind, begun.ScriptSHA256, begun.Repos = w.provisioner.Name, w.provisioner.Kind, w.provisioner.SHA256, w.heads
	begun.Outputs = map[string]string{}
	if err := w.note(ctx, begun); err != nil { // before anything is done: Recover goes by it
		return nil, err
	}
	if w.provisioner.Kind == ecosystem.KindLocal {
		err = w.startAll(ctx)
	} else {
		err = w.program(ctx, ecosystem.ActionDeploy)
	}
	w.state.Outputs = w.out.Outputs
	return w.ended(ctx, ecosystem.PhaseDeployed, err)
}

// destroy carries out spin_destroy.
func (s service) destroy(ctx context.Context, j runs.Job) (any, error) {
	w, err := s.open(ctx, j, func(ctx context.Context, f runs.Ecosystem, in payload) (picture, error) {
		return s.toDestroy(ctx, f, in.Environment)
	})
	if err != nil {
		return nil, err
	}
	if w.state.State == ecosystem.PhaseNone {
		return w.out, ecosystem.ErrChanged.WithMessage("nothing is deployed in environment %s any more", w.environment)
	}
	if err := w.note(ctx, w.state.Begun(ecosystem.PhaseDestroying, j.Run.ID, s.now())); err != nil {
		return nil, err
	}
	if w.provisioner.Kind == ecosystem.KindLocal {
		w.out.Stopped, err = w.stopAll(ctx, isService)
	} else {
		err = w.program(ctx, ecosystem.ActionDestroy)
	}
	return w.ended(ctx, ecosystem.PhaseNone, err)
}

func (s service) programs() Programs {
	return Programs{Processes: s.Processes}
}

func (s service) now() time.Time { return s.Clock.Now().UTC() }

// note records the state, also while everything stops.
func (w *work) note(ctx context.Context, st ecosystem.EnvironmentState) error {
	doc, err := tool.Encode(st)
	if err == nil {
		err = w.States.Note(context.WithoutCancel(ctx), w.Found.Layout, ecosystem.StateKey(w.environment), doc)
	}
	if err == nil {
		w.state = st
	}
	return err
}

// ended records how it went.
func (w *work) ended(ctx context.Context, to ecosystem.Phase, failure error) (any, error) {
	why := ""
	if failure != nil {
		to, why = ecosystem.PhaseFailed, fault.From(failure).Message
	}
	err := w.note(ctx, w.state.Ended(to, why, w.now()))
	w.out.State, w.out.Services = w.state.State, w.state.Services
	if failure == nil {
		w.Log("info", "environment "+w.environment+" is "+string(to))
	}
	return w.out, errors.Join(failure, err)
}

// spec returns how a program of this run is started.
func (w *work) spec(argv []string, dir string, extra map[string]string) process.Spec {
	about := ecosystem.ActionContext{Ticket: w.Found.State.Active(), Environment: w.environment, RunID: w.Run.ID, Dir: w.dir}
	return w.started(w.Found.Layout, about, argv, dir, extra)
}

// opted returns what of our own environment a provisioner is given besides what every program is: where container engines and clusters are, which are
// no secrets.
func opted() []string {
	return []string{"DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "KUBECONFIG"}
}

func (s service) started(l ecosystem.Layout, about ecosystem.ActionContext, argv []string, dir string, labels map[string]string) process.Spec {
	env, secrets := process.ChildEnvironment(s.Provisioners.Inherited(), opted(), ecosystem.ProvisionerEnv(l, about), nil)
	all := map[string]string{labelState: l.State, labelEnvironment: about.Environment, labelRun: about.RunID}
	for name, value := range labels {
		all[name] = value
	}
	return process.Spec{Argv: argv, Dir: dir, Env: env, Secrets: secrets, Labels: all}
}

// program has the provisioner's program carry out an action, to its end.
func (w *work) program(ctx context.Context, a ecosystem.Action) error {
	l := w.Found.Layout
	argv, err := w.provisioner.Command(a, l, w.args)
	if err != nil {
		return err
	}
	spec := w.spec(argv, l.Root, nil)
	spec.Timeout, spec.Leaves = ecosystem.ProvisionerTimeout(w.Found.Manifest()), true
	w.Log("info", fmt.Sprintf("%s with %s: %s", a, w.provisioner.Name, shown(argv, w.provisioner.Line(a))))
	heard := NewProcessOutput(w.Log, w.out.Outputs)
	st, err := w.programs().Run(ctx, spec, heard)
	if err != nil {
		return err
	}
	if st.Exit.Signal == "" && st.Status != process.TimedOut {
		w.out.ExitCode = &st.Exit.Code
	}
	return w.judge(a, st, heard)
}

// judge is what the end of a program means.
func (w *work) judge(a ecosystem.Action, st process.State, heard *ProcessOutput) error {
	name := w.provisioner.Name
	details := map[string]any{"exit_code": st.Exit.Code, "last_lines": heard.LastLines()}
	switch {
	case st.Status == process.Completed:
		return nil
	case st.Status == process.TimedOut:
		return fault.ErrTimeout.WithMessage("%s with %s took longer than %v and was ended; spin.timeout_seconds in the manifest allows more, up to 3600", a, name, ecosystem.ProvisionerTimeout(w.Found.Manifest())).
			WithDetails(details).WithCause(context.DeadlineExceeded)
	case st.Exit.Code == ecosystem.ExitUnsupported:
		return ecosystem.ErrUnsupported.WithMessage("the provisioner %s does not know %s (exit code %d)", name, a, ecosystem.ExitUnsupported).WithDetails(details)
	case st.Exit.Signal != "":
		return ecosystem.ErrProgram.WithMessage("%s with %s was ended by a signal (%s)%s", a, name, st.Exit.Signal, heard.FailureMessage()).WithDetails(details)
	case st.Lost:
		return ecosystem.ErrProgram.WithMessage("%s with %s: %s", a, name, st.Reason).WithDetails(details)
	}
	return ecosystem.ErrProgram.WithMessage("%s with %s ended with exit code %d%s", a, name, st.Exit.Code, heard.FailureMessage()).WithDetails(details)
}

// recoverRun stops the processes of an interrupted run and marks it failed. If the run had finished its work, its result is kept.
func (s service) recoverRun(ctx context.Context, j runs.Job) error {
	in, err := decode(j.Run.Payload)
	if err != nil {
		return err
	}
	doc, err := s.States.Noted(ctx, j.Found.Layout, ecosystem.StateKey(in.Environment))
	if err != nil {
		return err
	}
	st, err := ecosystem.DecodeEnvironment(in.Environment, doc)
	if err != nil || st.RunID != j.Run.ID || !st.State.Passing() {
		return err
	}
	if _, err := s.Processes.Recover(ctx); err != nil { // what was just being started must not begin to run now
		return err
	}
	w := &work{service: s, Job: j, picture: picture{found: j.Found, environment: in.Environment, state: st}}
	stopped, err := w.stopAll(ctx, func(p process.State) bool { return p.Labels[labelRun] == j.Run.ID })
	for _, name := range stopped {
		j.Log("warning", "ended "+name)
	}
	return errors.Join(err, w.note(ctx, st.Interrupted(s.now())))
}
