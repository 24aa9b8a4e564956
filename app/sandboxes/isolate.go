package sandboxes

import (
	"context"
	"fmt"
	"maps"

	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/domain/tool"
)

// IsolateInput says what is to keep the programs of a sandbox inside of it from now on.
type IsolateInput struct {
	URL     string `json:"git_url" jsonschema:"minLength=1"`
	Name    string `json:"name" jsonschema:"minLength=1"`
	Isolate string `json:"isolate" jsonschema:"minLength=1,description=landlock or bubblewrap or container or container:IMAGE; with -offline; or none"`
}

// Resources returns the project.
func (in IsolateInput) Resources() []string { return []string{in.URL} }

// SandboxIsolated is a sandbox with another isolation.
type SandboxIsolated struct {
	Status    string `json:"status"`
	Project   string `json:"project"`
	URL       string `json:"git_url"`
	Name      string `json:"name"`
	Isolation string `json:"isolation"` // none for none
	Message   string `json:"message"`
}

type isolatePlan struct {
	Plan
	found  FoundProject
	box    sandbox.Sandbox
	within string
}

// planIsolate shows what the new isolation holds, and what the old one held. One that is taken away or replaced by another kind is looked at in full: less may
// be held than before.
func (s sandboxService) planIsolate(ctx context.Context, _ tool.Scope, in IsolateInput) (isolatePlan, error) {
	f, box, err := s.readySandbox(ctx, in.URL, in.Name)
	if err != nil {
		return isolatePlan{}, err
	}
	p := isolatePlan{found: f, box: box, within: in.Isolate}
	if p.within == sandbox.IsolationNone {
		p.within = ""
	}
	if err := s.Isolator.Check(p.within); err != nil {
		return p, err
	}
	was, will := isolationWord(box.Isolation), isolationWord(p.within)
	shown := map[string]any{"git_url": f.URL.String(), "project": f.Project.Name, "name": box.Name, "directory": box.Directory, "from": was, "to": will}
	if was == will {
		p.Plan, err = NewPlan(SandboxIsolate.Name, fmt.Sprintf("nothing: the isolation of sandbox %s is %s already", box.Name, will), shown, ConfirmOptions{Nothing: true})
		return p, err
	}
	asks := ConfirmOptions{}
	summary := fmt.Sprintf("isolate sandbox %s of %s by %s", box.Name, f.Project.Name, will)
	if p.within != "" {
		changed := box
		changed.Isolation = p.within
		if shown["isolation"], err = s.isolationShown(f, changed, nil); err != nil {
			return p, err
		}
	}
	if box.Isolation != "" {
		shown["held_until_now"], _ = sandbox.IsolationHolds(box.Isolation)
		asks = ConfirmOptions{Strength: policy.Preview, Human: policy.Preview, Risk: policy.RiskHigh}
		summary += ", in place of " + was
	}
	if p.within == "" {
		summary = fmt.Sprintf("take the isolation by %s away from sandbox %s of %s", was, box.Name, f.Project.Name)
		shown["means"] = []string{"commands, set-up and agents of this sandbox may then read and change whatever you may: every file of yours, your logins and the network"}
	}
	shown["not_bound"] = []string{"programs that run in it now: they keep what they were started with"}
	if view := s.agentView(ctx, f, box); view != nil && view.Running() {
		shown["running_agent"] = view.Agent
	}
	p.Plan, err = NewPlan(SandboxIsolate.Name, summary, shown, asks)
	return p, err
}

// isolationWord returns an isolation as plans and answers have it.
func isolationWord(isolation string) string {
	if isolation == "" {
		return sandbox.IsolationNone
	}
	return isolation
}

func (s sandboxService) isolate(ctx context.Context, _ tool.Scope, p isolatePlan) (SandboxIsolated, error) {
	f := p.found
	done := SandboxIsolated{Status: "success", Project: f.Project.Name, URL: f.URL.String(), Name: p.box.Name, Isolation: isolationWord(p.within),
		Message: "what is started in the sandbox from now on is isolated so"}
	if p.within == "" {
		done.Message = "what is started in the sandbox from now on is not isolated"
	}
	if p.within == p.box.Isolation {
		done.Message = "the sandbox was isolated so already"
		return done, nil
	}
	release, err := s.manager.LockProject(ctx, f.URL)
	if err != nil {
		return SandboxIsolated{}, err
	}
	defer release()
	state, err := s.manager.Project(ctx, f)
	if err != nil {
		return SandboxIsolated{}, err
	}
	key := sandbox.SandboxKey(p.box.Name)
	now, there := state.Projects[f.URL.String()].Sandboxes[key]
	if !there || now.Isolation != p.box.Isolation || now.Directory != p.box.Directory {
		return SandboxIsolated{}, sandbox.ErrMoved.Sayf("sandbox %s has changed since it was looked at; call again", p.box.Name)
	}
	return done, s.manager.Change(ctx, f, func(project *sandbox.Project) {
		project.Sandboxes = maps.Clone(project.Sandboxes)
		box := project.Sandboxes[key]
		box.Isolation = p.within
		project.Sandboxes[key] = box
	})
}
