package environment

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/tool"
)

// StatusInput names an environment.
type StatusInput struct {
	runs.EcosystemInput
	EnvironmentInput
}

// ServiceStatus is a service as it is now.
type ServiceStatus struct {
	ecosystem.Service
	Running bool   `json:"running"`
	Status  string `json:"status"` // of the process; "unknown" for one that ended long ago
}

// StatusAnswer is what is recorded of an environment, and which of its services run.
type StatusAnswer struct {
	Ecosystem    string            `json:"ecosystem"`
	Environment  string            `json:"environment"`
	State        ecosystem.Phase   `json:"state"`
	RunID        *string           `json:"run_id"`
	Since        *time.Time        `json:"since"`
	Provisioner  *string           `json:"provisioner"`
	ScriptSHA256 *string           `json:"script_sha256"`
	Repos        map[string]string `json:"repos"`
	Outputs      map[string]string `json:"outputs"`
	Services     []ServiceStatus   `json:"services"`
	Healthy      *bool             `json:"healthy"` // whether every service runs; null where none is looked after
	Interrupted  bool              `json:"interrupted"`
	Error        string            `json:"error,omitempty"`

	Others []runs.RecordedEnvironment `json:"others,omitempty"` // environments that are deployed too, or in between
	runs.Envelope
}

func (s service) status(ctx context.Context, sc tool.Scope, in StatusInput) (StatusAnswer, error) {
	f, err := s.Find(ctx, sc, in.Ecosystem)
	if err != nil {
		return StatusAnswer{}, err
	}
	doc, err := s.States.Noted(ctx, f.Layout, ecosystem.StateKey(in.name()))
	if err != nil {
		return StatusAnswer{}, err
	}
	st, err := ecosystem.DecodeEnvironment(in.name(), doc)
	if err != nil {
		return StatusAnswer{}, err
	}
	a := StatusAnswer{Ecosystem: f.Layout.Name, Environment: st.Environment, State: st.State, RunID: tool.NilIfZero(st.RunID), Provisioner: tool.NilIfZero(st.Provisioner),
		ScriptSHA256: tool.NilIfZero(st.ScriptSHA256), Repos: st.Repos, Outputs: st.Outputs, Services: []ServiceStatus{}, Error: st.Error}
	if !st.Since.IsZero() {
		a.Since = &st.Since
	}
	if err := s.services(ctx, &a, st); err != nil {
		return a, err
	}
	all, err := s.Environments(ctx, f.Layout)
	if err != nil {
		return a, err
	}
	a.Others = slices.DeleteFunc(all, func(e runs.RecordedEnvironment) bool { return e.Environment == a.Environment })
	a.Interrupted = st.State.Passing() && !s.underWay(ctx, st.RunID)
	a.Envelope = s.Show(sc, runs.Subject{Ecosystem: a.Ecosystem}, a.text(), a.next()...)
	return a, nil
}

// services looks at the services, and listens to what they said of themselves since they were started.
func (s service) services(ctx context.Context, a *StatusAnswer, st ecosystem.EnvironmentState) error {
	outputs := map[string]string{}
	heard := NewProcessOutput(func(string, string) {}, outputs)
	for _, v := range st.Services {
		p, err := s.programs().Inspect(ctx, v.ProcessID)
		if err != nil {
			return err
		}
		now := ServiceStatus{Service: v, Running: IsRunning(p), Status: "unknown"}
		if p.ID != "" {
			now.Status = p.Status.String()
			heard.SetService(v.Repo)
			if chunk, err := s.Processes.Output(ctx, p.ID, 0); err == nil {
				heard.Add(chunk)
			}
		}
		healthy := now.Running && (a.Healthy == nil || *a.Healthy)
		a.Healthy = &healthy
		a.Services = append(a.Services, now)
	}
	maps.Copy(a.Outputs, outputs)
	return nil
}

// underWay reports whether a process carries out the run.
func (s service) underWay(ctx context.Context, id string) bool {
	r, err := s.Runs.Load(ctx, id)
	return err == nil && r.Status == ecosystem.RunRunning && !s.Owner.Judge(r.Owner).Dead()
}

func (a StatusAnswer) next() []runs.Action {
	if a.State == ecosystem.PhaseNone || a.RunID == nil {
		return []runs.Action{runs.SuggestAction("spin_deploy", a.Ecosystem, nil)}
	}
	return []runs.Action{runs.SuggestRunStatus(*a.RunID), runs.SuggestAction("spin_deploy", a.Ecosystem, nil), runs.SuggestAction("spin_destroy", a.Ecosystem, nil)}
}

func (a StatusAnswer) text() runs.AnswerText {
	const most = 15
	text := runs.AnswerText{Summary: fmt.Sprintf("Read environment %s: %s", short(a.Environment), a.State)}
	if a.Interrupted {
		text.Summary += " (interrupted)"
	}
	if a.RunID != nil && a.Since != nil {
		text.Details = append(text.Details, fmt.Sprintf("run %s, since %s", ecosystem.Run{ID: *a.RunID}.Short(), a.Since.Format(time.RFC3339)))
	}
	if a.Error != "" {
		text.Details = append(text.Details, "error: "+a.Error)
	}
	for _, v := range a.Services {
		text.Details = append(text.Details, fmt.Sprintf("%-20s %-10s pid %d", v.Repo, v.Status, v.PID))
	}
	for _, key := range slices.Sorted(maps.Keys(a.Outputs)) {
		text.Details = append(text.Details, key+" = "+a.Outputs[key])
	}
	for _, e := range a.Others {
		text.Details = append([]string{"also: environment " + e.Environment + " is " + e.State}, text.Details...)
	}
	text.Details = text.Details[:min(len(text.Details), most)]
	return text
}
