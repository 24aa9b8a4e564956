package sandboxes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// foundPlan is a plan about a recorded project.
type foundPlan struct {
	Plan
	found FoundProject
}

func (s service) planStop(ctx context.Context, _ tool.Scope, in URLInput) (foundPlan, error) {
	f, err := s.Must(ctx, in.URL)
	if err != nil {
		return foundPlan{}, err
	}
	p := foundPlan{found: f}
	p.Plan, err = NewPlan(ProjectStop.Name, "stop the server of project "+f.Project.Name,
		map[string]any{"git_url": f.URL.String(), "project": f.Project.Name, "running": f.Project.Server.Status == sandbox.Running},
		ConfirmOptions{Nothing: f.Project.Server.PID == 0 && f.Project.Server.Status != sandbox.Running && f.Project.Server.Status != sandbox.Starting && f.Project.Doing == nil})
	return p, err
}

func (s service) stop(ctx context.Context, _ tool.Scope, plan foundPlan) (ProjectDone, error) {
	f := plan.found
	release, err := s.manager.LockProject(ctx, f.URL)
	if err != nil {
		return ProjectDone{}, err
	}
	defer release()
	was, err := s.manager.StopServer(ctx, f)
	if err != nil {
		return ProjectDone{}, err
	}
	if err := s.gateway.Retire(ctx); err != nil {
		return ProjectDone{}, err
	}
	out := ProjectDone{Status: "success", Project: f.Project.Name, URL: f.URL.String(), Message: "the project's server was stopped; files, key and sandboxes stay"}
	if !was {
		out.Message = "the project's server did not run"
	}
	return out, nil
}

func (s service) planRestart(ctx context.Context, _ tool.Scope, in URLInput) (foundPlan, error) {
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
	now, err := s.manager.Project(ctx, f)
	if err != nil {
		return ProjectStarted{}, err
	}
	var known bool
	if f.Project, known = now.Projects[f.URL.String()]; !known {
		return ProjectStarted{}, sandbox.ErrProjectNotFound.Sayf("the project of %s was destroyed; opencode_project_start makes it anew", f.URL)
	}
	settings, err := s.Homes.Settings(ctx, f.Project.Name)
	if err != nil {
		return ProjectStarted{}, err
	}
	if err := installed(settings); err != nil { // what runs is not stopped for what cannot start
		return ProjectStarted{}, err
	}
	key, err := s.serverKey(ctx, keyed(f, settings))
	if err != nil {
		return ProjectStarted{}, err
	}
	return s.launched(ctx, sc, f, launch{settings: settings, key: key, ensure: true})
}

// serverKey returns the key that pushes from within the server use: the user's own, or the deploy key when there is one.
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
	Force bool   `json:"force,omitempty" jsonschema:"description=work that is nowhere else may be lost"`
}

// Resources returns the project.
func (in DestroyInput) Resources() []string { return []string{in.URL} }

// ProjectDestroyed is a project that is gone, or that none is recorded for that URL, so that there is nothing to destroy.
type ProjectDestroyed struct {
	Status  string   `json:"status"` // success or not_found
	Project string   `json:"project,omitempty"`
	URL     string   `json:"git_url"`
	Message string   `json:"message"`
	Deleted []string `json:"deleted,omitzero"` // of a project that was recorded
}

// destroyPlan is a project about to be destroyed. One that is not recorded has nothing to lose.
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
		p.Plan, err = NewPlan(ProjectDestroy.Name, "nothing: no project is recorded for "+f.URL.String(), map[string]any{"git_url": f.URL.String()}, ConfirmOptions{Nothing: true})
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
	summary := fmt.Sprintf("destroy project %s: delete %s with %d sandboxes", f.Project.Name, f.Layout.Base, len(f.Project.Sandboxes))
	if len(backups) > 0 { // who deleted or reset a sandbox was told that its work is kept
		asks.Strength = policy.Preview
		summary += fmt.Sprintf(", and %d backups of work that was kept", len(backups))
	}
	if len(losses) > 0 {
		asks = ConfirmOptions{Strength: policy.Typed, Target: f.Project.Name}
		summary += fmt.Sprintf(", and lose work in %d places", len(losses))
	}
	p.Plan, err = NewPlan(ProjectDestroy.Name, summary, map[string]any{"git_url": f.URL.String(), "project": f.Project.Name, "base_dir": f.Layout.Base,
		"sandboxes": sandbox.SandboxNames(f.Project), "lost": losses, "backups": backups}, asks)
	return p, err
}

// checkUnsaved refuses to destroy what is nowhere else.
func checkUnsaved(f FoundProject, losses []sandboxport.Loss) error {
	if len(losses) == 0 {
		return nil
	}
	return sandbox.ErrUnpushed.Sayf("%s holds work that is nowhere else, in %d places; push it, or call again with force: true, which a person then confirms by typing the project's name",
		f.Project.Name, len(losses)).With(map[string]any{"trees": losses})
}

// losses returns what of the project is nowhere else: in the clone, in each worktree that git knows, recorded or not, and in each recorded directory, whether
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

// destroy takes the project away. It is written down first, so that one that was interrupted is finished by the next call about the project.
func (s service) destroy(ctx context.Context, sc tool.Scope, plan destroyPlan) (ProjectDestroyed, error) {
	f := plan.found
	if !f.Known { // the call that destroyed it may have been cut off before it came to the gateway
		return ProjectDestroyed{Status: notFound, URL: f.URL.String(), Message: "no project is recorded for this URL, so there is nothing to destroy"}, s.gateway.Retire(ctx)
	}
	release, err := s.manager.LockProject(ctx, f.URL)
	if err != nil {
		return ProjectDestroyed{}, err
	}
	defer release()
	for _, box := range f.Project.Sandboxes {
		if where := s.Owner.Elsewhere(box.Preparing); where != "" {
			return ProjectDestroyed{}, sandbox.ErrBusy.Sayf("the set-up of sandbox %s is still being run; it is %s", box.Name, where)
		}
	}
	if !plan.force { // somebody may have worked there since the plan was made
		losses, err := s.losses(ctx, f)
		if err = cmp.Or(err, checkUnsaved(f, losses)); err != nil {
			return ProjectDestroyed{}, err
		}
	}
	if _, err := s.manager.StopServer(ctx, f); err != nil { // nothing is lost yet, and nobody is to go on with it later
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
