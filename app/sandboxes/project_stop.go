package sandboxes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// foundPlan is a plan about a recorded project.
type foundPlan struct {
	Plan
	found FoundProject
	box   sandbox.Sandbox // whose own server is meant; zero for the project's
}

// ServerInput names a project, and a sandbox of it whose own server is meant.
type ServerInput struct {
	URL     string `json:"git_url" jsonschema:"minLength=1,description=Git repository URL (SSH or HTTPS; will be normalized)"`
	Sandbox string `json:"sandbox,omitempty" jsonschema:"description=an isolated sandbox: its own server alone"`
}

// Resources returns the project.
func (in ServerInput) Resources() []string { return []string{in.URL} }

// planStop stops the servers of a project with those that its sandboxes have of their own, or one of the latter.
func (s service) planStop(ctx context.Context, _ tool.Scope, in ServerInput) (foundPlan, error) {
	f, err := s.Must(ctx, in.URL)
	if err != nil {
		return foundPlan{}, err
	}
	p := foundPlan{found: f}
	shown := map[string]any{"git_url": f.URL.String(), "project": f.Project.Name}
	if in.Sandbox != "" {
		box, err := must(f, in.Sandbox)
		if err != nil {
			return p, err
		}
		if box.Server == nil {
			return p, sandbox.ErrArguments.WithMessage("sandbox %s has no agent server of its own; leave the sandbox out to stop the project's", box.Name)
		}
		p.box = box
		shown["sandbox"], shown["running"] = box.Name, box.Server.Status == sandbox.Running
		p.Plan, err = NewPlan(ProjectStop.Name, "stop the server of sandbox "+box.Name+" of project "+f.Project.Name, shown, ConfirmOptions{Nothing: idle(*box.Server) && f.Project.Doing == nil})
		return p, err
	}
	nothing := f.Project.Doing == nil
	for _, server := range f.Project.Servers() {
		nothing = nothing && idle(server)
	}
	summary := "stop the server of project " + f.Project.Name
	shown["running"] = f.Project.Server.Status == sandbox.Running
	if own := sandbox.RunningIn(f.Project); len(own) > 0 {
		shown["sandbox_servers"] = own
		summary += " and those of its sandboxes (" + strings.Join(own, ", ") + ")"
	}
	p.Plan, err = NewPlan(ProjectStop.Name, summary, shown, ConfirmOptions{Nothing: nothing})
	return p, err
}

// idle reports a server of which nothing is left to be stopped.
func idle(s sandbox.Server) bool {
	return s.PID == 0 && s.Status != sandbox.Running && s.Status != sandbox.Starting
}

func (s service) stop(ctx context.Context, _ tool.Scope, plan foundPlan) (ProjectDone, error) {
	f := plan.found
	release, err := s.manager.LockProject(ctx, f.URL)
	if err != nil {
		return ProjectDone{}, err
	}
	defer release()
	var was bool
	if plan.box.Name != "" {
		was, err = s.manager.StopServer(ctx, f, plan.box.Name)
	} else {
		was, err = s.manager.StopServers(ctx, f)
	}
	if err != nil {
		return ProjectDone{}, err
	}
	if err := s.gateway.Retire(ctx); err != nil {
		return ProjectDone{}, err
	}
	out := ProjectDone{Status: "success", Project: f.Project.Name, URL: f.URL.String(), Message: "the project's server was stopped; files, key and sandboxes stay"}
	switch {
	case plan.box.Name != "" && was:
		out.Message = "the server of sandbox " + plan.box.Name + " was stopped; its files stay"
	case plan.box.Name != "":
		out.Message = "the server of sandbox " + plan.box.Name + " was not running"
	case !was:
		out.Message = "the project's server was not running"
	}
	return out, nil
}

func (s service) planRestart(ctx context.Context, _ tool.Scope, in ServerInput) (foundPlan, error) {
	if in.Sandbox != "" {
		p, err := s.planOwn(ctx, ProjectRestart.Name, in.URL, in.Sandbox)
		return foundPlan{Plan: p.Plan, found: p.found, box: p.box}, err
	}
	f, err := s.Must(ctx, in.URL)
	if err != nil {
		return foundPlan{}, err
	}
	p := foundPlan{found: f}
	p.Plan, err = NewPlan(ProjectRestart.Name, "restart the server of project "+f.Project.Name, map[string]any{"git_url": f.URL.String(), "project": f.Project.Name, "not_bound": serves(f.Project)}, ConfirmOptions{})
	return p, err
}

func (s service) restart(ctx context.Context, sc tool.Scope, plan foundPlan) (ProjectStarted, error) {
	f := plan.found
	release, err := s.manager.LockProject(ctx, f.URL)
	if err != nil {
		return ProjectStarted{}, err
	}
	defer release()
	if plan.box.Name != "" {
		if _, err := s.ownReady(ctx, &f, plan.box); err != nil { // what runs is not stopped for what cannot start
			return ProjectStarted{}, err
		}
		if _, err := s.manager.StopServer(ctx, f, plan.box.Name); err != nil {
			return ProjectStarted{}, err
		}
		return s.own(ctx, sc, f, plan.box, false)
	}
	now, err := s.manager.Project(ctx, f)
	if err != nil {
		return ProjectStarted{}, err
	}
	var known bool
	if f.Project, known = now.Projects[f.URL.String()]; !known {
		return ProjectStarted{}, sandbox.ErrProjectNotFound.WithMessage("the project of %s was destroyed; opencode_project_start creates it again", f.URL)
	}
	settings, err := s.Homes.Settings(ctx, f.Project.Name)
	if err != nil {
		return ProjectStarted{}, err
	}
	if err := installed(settings); err != nil { // a running server is not stopped for one that cannot start
		return ProjectStarted{}, err
	}
	key, err := s.serverKey(ctx, keyed(f, settings))
	if err != nil {
		return ProjectStarted{}, err
	}
	return s.launched(ctx, sc, f, launch{settings: settings, key: key, ensure: true})
}

// serverKey returns the key for pushes from within the server: the user's own, or the deploy key if there is one.
func (s service) serverKey(ctx context.Context, f FoundProject) (string, error) {
	if f.Project.SSHKey != "" {
		key, err := s.Keys.Check(ctx, f.Project.SSHKey)
		return key.Path, err
	}
	key, _, err := s.Keys.Peek(ctx, f.Project.Name)
	return key.Path, err
}

// DestroyInput names a project to destroy.
type DestroyInput struct {
	URL   string `json:"git_url" jsonschema:"minLength=1,description=Git repository URL"`
	Force bool   `json:"force,omitempty" jsonschema:"description=unsaved work may be lost"`
}

// Resources returns the project.
func (in DestroyInput) Resources() []string { return []string{in.URL} }

// ProjectDestroyed is the result of a destruction, or says that no project is recorded for that URL.
type ProjectDestroyed struct {
	Status  string   `json:"status"` // success or not_found
	Project string   `json:"project,omitempty"`
	URL     string   `json:"git_url"`
	Message string   `json:"message"`
	Deleted []string `json:"deleted,omitzero"` // of a recorded project
}

// destroyPlan is the plan to destroy a project. One that is not recorded has nothing to lose.
type destroyPlan struct {
	Plan
	found FoundProject
	force bool
}

func (s service) planDestroy(ctx context.Context, _ tool.Scope, in DestroyInput) (destroyPlan, error) {
	f, err := s.Find(ctx, in.URL)
	if err != nil {
		return destroyPlan{}, err
	}
	p := destroyPlan{found: f, force: in.Force}
	if !f.Known {
		p.Plan, err = NewPlan(ProjectDestroy.Name, "nothing to do: no project is recorded for "+f.URL.String(), map[string]any{"git_url": f.URL.String()}, ConfirmOptions{Nothing: true})
		return p, err
	}
	half, err := s.manager.DestroyInterrupted(ctx, f.Project)
	if err != nil {
		return destroyPlan{}, err
	}
	if half {
		p.Plan, err = NewPlan(ProjectDestroy.Name, fmt.Sprintf("finish destroying project %s: delete %s", f.Project.Name, f.Layout.Base),
			map[string]any{"git_url": f.URL.String(), "project": f.Project.Name, "base_dir": f.Layout.Base}, ConfirmOptions{})
		return p, err
	}
	losses, err := s.losses(ctx, f)
	if err == nil && !in.Force {
		err = checkUnsaved(f, losses)
	}
	if err != nil {
		return destroyPlan{}, err
	}
	backups, err := s.Repos.Backups(ctx, f.Layout.Repo)
	if err != nil {
		return destroyPlan{}, err
	}
	asks := ConfirmOptions{}
	summary := fmt.Sprintf("destroy project %s: delete %s with %s", f.Project.Name, f.Layout.Base, sandboxCount(len(f.Project.Sandboxes)))
	if len(backups) > 0 { // users were told that backups are kept when they deleted or reset a sandbox
		asks.Strength = policy.Preview
		summary += ", and " + counted(len(backups), "backup")
	}
	if len(losses) > 0 {
		asks = ConfirmOptions{Strength: policy.Typed, Target: f.Project.Name}
		summary += ", and lose unsaved work in " + counted(len(losses), "place")
	}
	p.Plan, err = NewPlan(ProjectDestroy.Name, summary, map[string]any{"git_url": f.URL.String(), "project": f.Project.Name, "base_dir": f.Layout.Base,
		"sandboxes": sandbox.SandboxNames(f.Project), "lost": losses, "backups": backups}, asks)
	return p, err
}

func sandboxCount(n int) string {
	if n == 1 {
		return "1 sandbox"
	}
	return fmt.Sprintf("%d sandboxes", n)
}

// checkUnsaved fails if there is unsaved work.
func checkUnsaved(f FoundProject, losses []sandboxport.Loss) error {
	if len(losses) == 0 {
		return nil
	}
	return sandbox.ErrUnpushed.WithMessage("%s has unsaved work in %s; push it, or call again with force: true, which the user then approves by typing the project's name",
		f.Project.Name, counted(len(losses), "place")).WithDetails(map[string]any{"trees": losses})
}

// losses returns the project's unsaved work: in the clone, in each worktree that git knows, recorded or not, and in each recorded directory, whether
// git knows it or not.
func (s service) losses(ctx context.Context, f FoundProject) ([]sandboxport.Loss, error) {
	if half, err := s.manager.DestroyInterrupted(ctx, f.Project); err != nil || half {
		return nil, err
	}
	losses, err := s.Repos.Losses(ctx, f.Layout.Repo, nil)
	if err != nil || len(f.Project.Sandboxes) == 0 {
		return losses, err
	}
	dirs := make([]string, 0, len(f.Project.Sandboxes))
	for _, box := range f.Project.Sandboxes {
		dirs = append(dirs, box.Directory)
	}
	slices.Sort(dirs)
	recorded, err := s.Repos.Losses(ctx, f.Layout.Repo, dirs)
	for _, l := range recorded {
		if !slices.ContainsFunc(losses, func(has sandboxport.Loss) bool {
			return has.Directory == l.Directory || has.Branch == l.Branch && l.Branch != ""
		}) {
			losses = append(losses, l)
		}
	}
	return losses, err
}

// destroy removes the project. It records the operation first, so that the next call about the project finishes it after an interruption.
func (s service) destroy(ctx context.Context, sc tool.Scope, plan destroyPlan) (ProjectDestroyed, error) {
	f := plan.found
	if !f.Known { // the call that destroyed it may have been interrupted before it updated the gateway
		return ProjectDestroyed{Status: notFound, URL: f.URL.String(), Message: "no project is recorded for this URL, so there is nothing to destroy"}, s.gateway.Retire(ctx)
	}
	release, err := s.manager.LockProject(ctx, f.URL)
	if err != nil {
		return ProjectDestroyed{}, err
	}
	defer release()
	for _, box := range f.Project.Sandboxes {
		if where := s.Owner.Elsewhere(box.Preparing); where != "" {
			return ProjectDestroyed{}, sandbox.ErrBusy.WithMessage("the set-up of sandbox %s is still being run; it is %s", box.Name, where)
		}
	}
	if !plan.force { // there may be new work since the plan was made
		losses, err := s.losses(ctx, f)
		if err = cmp.Or(err, checkUnsaved(f, losses)); err != nil {
			return ProjectDestroyed{}, err
		}
	}
	if _, err := s.manager.StopServers(ctx, f); err != nil { // nothing is lost yet, and nobody is to go on with it later
		return ProjectDestroyed{}, err
	}
	doing, err := s.Begin(sc, plan.Plan, "destroy", "")
	if err != nil {
		return ProjectDestroyed{}, err
	}
	if err := s.manager.Change(ctx, f, func(p *sandbox.Project) { p.Doing = doing }); err != nil {
		return ProjectDestroyed{}, err
	}
	deleted, err := s.manager.DestroyProject(ctx, f)
	if errors.Is(err, sandbox.ErrBaseDir) { // nothing was deleted
		return ProjectDestroyed{}, errors.Join(err, s.manager.Change(context.WithoutCancel(ctx), f, func(p *sandbox.Project) { p.Doing = nil }))
	}
	if err != nil {
		return ProjectDestroyed{}, err
	}
	return ProjectDestroyed{Status: "success", Project: f.Project.Name, URL: f.URL.String(), Message: "the project was destroyed on this machine; its remote and its key stay", Deleted: deleted}, nil
}
