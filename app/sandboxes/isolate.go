package sandboxes

import (
	"context"
	"fmt"
	"maps"

	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/domain/tool"
)

// IsolateInput sets the isolation of a sandbox's programs.
type IsolateInput struct {
	URL     string `json:"git_url" jsonschema:"minLength=1"`
	Name    string `json:"name" jsonschema:"minLength=1"`
	Isolate string `json:"isolate" jsonschema:"minLength=1,description=landlock or bubblewrap or container or container:IMAGE; with -offline; or none"`
}

// Resources returns the project.
func (in IsolateInput) Resources() []string { return []string{in.URL} }

// SandboxIsolated is a sandbox after a change of its isolation.
type SandboxIsolated struct {
	Status    string `json:"status"`
	Project   string `json:"project"`
	URL       string `json:"git_url"`
	Name      string `json:"name"`
	Isolation string `json:"isolation"` // empty for none
	Message   string `json:"message"`
}

type isolatePlan struct {
	Plan
	found  FoundProject
	box    sandbox.Sandbox
	within string
}

// planIsolate shows what the new and the old isolation confine. Removing one, or replacing it by another kind, needs full approval, because it may
// confine less.
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
		p.Plan, err = NewPlan(SandboxIsolate.Name, fmt.Sprintf("nothing to do: the isolation of sandbox %s is already %s", box.Name, will), shown, ConfirmOptions{Nothing: true})
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
		asks = replacesIsolation(shown, box.Isolation, p.within)
		summary += ", in place of " + was
	}
	if p.within == "" {
		summary = fmt.Sprintf("remove the isolation by %s from sandbox %s of %s", was, box.Name, f.Project.Name)
	}
	shown["not_bound"] = []string{"programs that already run in it: they keep the isolation that they were started with"}
	if box.Server != nil && !idle(*box.Server) {
		shown["stops"] = "the sandbox's own agent server, which was started with the isolation of now"
	}
	if view := s.agentView(ctx, f, box); view != nil && view.Running() {
		shown["running_agent"] = view.Agent
	}
	p.Plan, err = NewPlan(SandboxIsolate.Name, summary, shown, asks)
	return p, err
}

// replacesIsolation adds to a plan what an isolation that is removed or replaced has held, and returns how such a plan is approved.
func replacesIsolation(shown map[string]any, was, will string) ConfirmOptions {
	shown["held_until_now"], _ = sandbox.IsolationHolds(was)
	if will == "" {
		shown["means"] = []string{"commands, set-up and agents of this sandbox can then read and change everything that you can: all your files, your logins and the network"}
	}
	return ConfirmOptions{Strength: policy.Preview, Human: policy.Preview, Risk: policy.RiskHigh}
}

// isolationWord returns an isolation as shown in plans and results.
func isolationWord(isolation string) string {
	if isolation == "" {
		return sandbox.IsolationNone
	}
	return isolation
}

func (s sandboxService) isolate(ctx context.Context, _ tool.Scope, p isolatePlan) (SandboxIsolated, error) {
	f := p.found
	done := SandboxIsolated{Status: "success", Project: f.Project.Name, URL: f.URL.String(), Name: p.box.Name, Isolation: isolationWord(p.within),
		Message: "programs started in the sandbox from now on have this isolation"}
	if p.within == "" {
		done.Message = "programs started in the sandbox from now on are not isolated"
	}
	if p.within == p.box.Isolation {
		done.Message = "the sandbox already has this isolation"
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
		return SandboxIsolated{}, sandbox.ErrMoved.WithMessage("sandbox %s changed after the plan was made; call again", p.box.Name)
	}
	if _, err := s.manager.StopServer(ctx, f, p.box.Name); err != nil {
		return SandboxIsolated{}, err
	}
	return done, s.manager.Change(ctx, f, func(project *sandbox.Project) {
		project.Sandboxes = maps.Clone(project.Sandboxes)
		box := project.Sandboxes[key]
		box.Isolation, box.Server = p.within, nil // the next one keeps nothing of this one but the files
		project.Sandboxes[key] = box
	})
}
