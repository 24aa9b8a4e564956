package sandboxes

import (
	"context"
	"strings"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/domain/tool"
)

// planClone examines the present state. A clone needs neither the server's program nor its settings.
func (s service) planClone(ctx context.Context, _ tool.Scope, in StartInput) (startPlan, error) {
	f, err := s.Find(ctx, in.URL)
	if err != nil {
		return startPlan{}, err
	}
	if !f.Known {
		f = s.anew(f)
	}
	if in.Sandbox != "" {
		return startPlan{}, sandbox.ErrArguments.WithMessage("a clone is of a project; leave sandbox out")
	}
	p := startPlan{found: f, key: strings.TrimSpace(in.Key), runs: f.Known && f.Project.Doing == nil}
	shown := map[string]any{"git_url": f.URL.String(), "project": f.Project.Name, "base_dir": f.Layout.Base, "known": f.Known, "user_ssh_key": p.key}
	if others := p.Remotes()[1:]; len(others) > 0 && !f.URL.IsLocal() {
		shown["fetch_from"] = others
	}
	p.Plan, err = NewPlan(ProjectClone.Name, "clone "+f.URL.String()+" as project "+f.Project.Name+", without an agent server", shown, ConfirmOptions{Nothing: p.runs})
	return p, err
}

// clone runs the steps of a start up to the clone and its record.
func (s service) clone(ctx context.Context, sc tool.Scope, plan startPlan) (ProjectStarted, error) {
	f := plan.found
	const there = "the repository is cloned; sandboxes need no agent server, and countersign sandbox start starts one, behind the gateway"
	if plan.runs {
		return s.answer(f, "success", there), nil
	}
	release, err := s.manager.LockProject(ctx, f.URL)
	if err != nil {
		return ProjectStarted{}, err
	}
	defer release()
	if f, err = s.recorded(ctx, f, plan.key); err != nil {
		return ProjectStarted{}, err
	}
	if err := s.Homes.Prepare(ctx, f.Project, f.Layout); err != nil {
		return ProjectStarted{}, err
	}
	access, waiting, err := s.access(ctx, f, plan.key != "")
	if err != nil {
		return ProjectStarted{}, err
	}
	if waiting != nil {
		return *waiting, nil
	}
	f.Project, err = s.cloned(ctx, sc, f, access)
	return s.answer(f, "success", there), err
}

// ProjectUserOnlyEntries returns the project tools for users only.
func ProjectUserOnlyEntries(d Deps) []tool.Entry {
	s := service{Deps: d, gateway: GatewayManager{Deps: d}, manager: ProjectManager{Deps: d}, current: newRounds[sandbox.State]()}
	e := bind.Command(ProjectClone, ConfirmWhen(ChangeSpec("Clone project", "Clone a repository as a project, without an agent server.", startSchema), "unless it is already cloned"), s.planClone, s.clone)
	e.Spec.UserOnly = true
	return []tool.Entry{e}
}
