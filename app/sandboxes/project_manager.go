package sandboxes

import (
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// ProjectManager stops servers, removes projects and recovers interrupted operations.
type ProjectManager struct{ Deps }

// StopServers ends all servers of the project, as StopServer does one, and reports whether any ran.
func (m ProjectManager) StopServers(ctx context.Context, f FoundProject) (bool, error) {
	state, err := m.Current(ctx)
	if err != nil {
		return false, err
	}
	some := false
	for name := range state.Projects[f.URL.String()].Servers() {
		was, err := m.StopServer(ctx, f, name)
		if some = some || was; err != nil {
			return some, err
		}
	}
	return some, nil
}

// StopServer stops the project's server, or the own server of the sandbox with that name, records that, and reports whether it ran. The caller holds the project.
func (m ProjectManager) StopServer(ctx context.Context, f FoundProject, box string) (bool, error) {
	state, err := m.Current(ctx)
	if err != nil {
		return false, err
	}
	p, known := state.Projects[f.URL.String()]
	if known {
		if _, err := m.Clear(ctx, p); err != nil {
			return false, err
		}
	}
	server := p.ServerOf(box)
	if !known || server.ProcessID == "" {
		return false, nil
	}
	ended, err := m.Processes.Stop(ctx, process.ID(server.ProcessID), sandbox.StopGrace)
	if err != nil && !errors.Is(err, process.ErrNotFound) {
		return false, sandbox.ErrTimeout.WithMessage("the server (pid %d) could not be stopped: %s", server.PID, fault.From(err).Message).WithCause(err)
	}
	if err == nil && !ended.Status.Final() {
		return false, sandbox.ErrTimeout.WithMessage("the server (pid %d) is still running after it was killed", server.PID)
	}
	server.PID, server.ProcessID, server.Status, server.LastError = 0, "", sandbox.Stopped, ""
	return true, m.Record(ctx, f, box, server)
}

// unrecordedServers returns running servers of the project that are not recorded: those of calls that were killed before they had recorded them. Only
// a caller that holds the project can tell them from one that is just being started; servers whose owner cannot be observed from here are not
// returned.
func (m ProjectManager) unrecordedServers(ctx context.Context, p sandbox.Project) ([]process.State, error) {
	all, err := m.Processes.List(ctx)
	at := m.Homes.Layout(p.Name, p.BaseDir)
	recorded := map[string]bool{}
	for _, server := range p.Servers() {
		recorded[server.ProcessID] = true
	}
	return slices.DeleteFunc(all, func(s process.State) bool {
		return s.Labels["kind"] != "agent_server" || !worksIn(at, s) || s.Status.Final() || s.Elsewhere != "" || recorded[string(s.ID)]
	}), err
}

// worksIn reports a server of a project's clone, or of one of its sandboxes.
func worksIn(at sandbox.Layout, s process.State) bool {
	return s.Dir == at.Repo || s.Labels["sandbox"] != "" && path.Dir(s.Dir) == at.Worktrees
}

// UnknownServers returns servers that run here and belong to no recorded project: the file was moved away, or the project was removed from it.
func (m ProjectManager) UnknownServers(ctx context.Context) ([]process.State, error) {
	all, err := m.Processes.List(ctx) // first: a server's project is recorded before the server is started
	if err != nil {
		return nil, err
	}
	state, err := m.States.Load(ctx)
	known := func(s process.State) bool {
		for _, p := range state.Projects {
			if worksIn(m.Homes.Layout(p.Name, p.BaseDir), s) {
				return true
			}
		}
		return false
	}
	logs := path.Dir(m.Homes.Layout("", "").ServerLog) // other state directories may have servers in the same table
	return slices.DeleteFunc(all, func(s process.State) bool {
		return s.Labels["kind"] != "agent_server" || known(s) || s.Status.Final() || s.Elsewhere != "" || path.Dir(s.Log) != logs
	}), err
}

// Stray reports whether the project may have an unrecorded server.
func (m ProjectManager) Stray(ctx context.Context, p sandbox.Project) bool {
	unrecordedServers, err := m.unrecordedServers(ctx, p)
	return err == nil && len(unrecordedServers) > 0
}

// Clear stops servers of the project that are not recorded, and returns their process IDs. The caller holds the project.
func (m ProjectManager) Clear(ctx context.Context, p sandbox.Project) (pids []int, err error) {
	// A server whose supervisor was killed counts as ended but may still run; the same applies, shortly after, to one whose start was interrupted.
	if _, err := m.Processes.Recover(ctx); err != nil {
		return nil, err
	}
	unrecordedServers, err := m.unrecordedServers(ctx, p)
	if err != nil {
		return nil, err
	}
	return m.End(ctx, unrecordedServers)
}

// End stops unrecorded servers, and returns their process IDs.
func (m ProjectManager) End(ctx context.Context, unrecordedServers []process.State) (pids []int, err error) {
	for _, s := range unrecordedServers {
		if _, err := m.Processes.Stop(ctx, s.ID, sandbox.StopGrace); err != nil && !errors.Is(err, process.ErrNotFound) {
			return pids, sandbox.ErrTimeout.WithMessage("an unrecorded server (pid %d) could not be stopped: %s", s.PID, fault.From(err).Message).WithCause(err)
		}
		pids = append(pids, s.PID)
	}
	return pids, nil
}

// Record stores what is known of the project's server, or of a sandbox's own server.
func (m ProjectManager) Record(ctx context.Context, f FoundProject, box string, server sandbox.Server) error {
	return m.Change(ctx, f, func(p *sandbox.Project) {
		p.SetServer(box, server)
		if server.Status == sandbox.Running && box == "" {
			p.LastHealth = m.Clock.Now()
		}
	})
}

// Change changes the record of the project. It fails with sandbox.ErrProjectNotFound if the project is gone.
func (m ProjectManager) Change(ctx context.Context, f FoundProject, change func(*sandbox.Project)) error {
	_, err := m.States.Update(ctx, func(st *sandbox.State) error {
		p, known := st.Projects[f.URL.String()]
		if !known {
			return sandbox.ErrProjectNotFound.WithMessage("the project of %s was destroyed meanwhile", f.URL)
		}
		change(&p)
		st.Projects[f.URL.String()] = p
		return nil
	})
	return err
}

// DestroyProject stops the project's servers, deletes its directories and removes its record, in this order: after an interruption, the project is still recorded
// as being destroyed.
func (m ProjectManager) DestroyProject(ctx context.Context, f FoundProject) ([]string, error) {
	if _, err := m.StopServers(ctx, f); err != nil {
		return nil, err
	}
	for _, box := range f.Project.Sandboxes {
		if _, err := m.stopAgent(ctx, box); err != nil {
			return nil, err
		}
	}
	deleted, err := m.Homes.Discard(ctx, f.Layout)
	if err != nil {
		return nil, err
	}
	if _, err := m.States.Update(ctx, func(st *sandbox.State) error {
		delete(st.Projects, f.URL.String())
		return nil
	}); err != nil {
		return nil, err
	}
	return deleted, GatewayManager(m).Retire(ctx)
}

// Isolated returns the command that runs argv with the sandbox's isolation; argv itself without one.
func (m ProjectManager) Isolated(ctx context.Context, url, name, path string, argv []string) ([]string, error) {
	f, err := m.Must(ctx, url)
	if err != nil {
		return nil, err
	}
	box, err := must(f, name)
	if err != nil {
		return nil, err
	}
	return m.Isolator.Wrap(box.Isolation, f.Layout.Repo, box.Directory, path, slices.Collect(maps.Keys(box.Leases)), argv)
}

// LockProject prevents other changes of the project until release is called. It fails with sandbox.ErrBusy while a change is in progress whose owner
// cannot be observed from here and may still be working on it.
func (m ProjectManager) LockProject(ctx context.Context, url git.URL) (release func(), err error) {
	if release, err = m.States.Hold(ctx, url); err != nil {
		return nil, err
	}
	state, err := m.States.Load(ctx)
	if p := state.Projects[url.String()]; err == nil && p.Doing != nil {
		if where := m.Owner.Elsewhere(p.Doing.Owner); where != "" {
			err = sandbox.ErrBusy.WithMessage("another operation on project %s is in progress (%s %s): it is %s", p.Name, p.Doing.What, p.Doing.Sandbox, where)
		}
	}
	if err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// Interrupted reports whether the project has a change whose owner died.
func (m ProjectManager) Interrupted(p sandbox.Project) bool {
	return p.Doing != nil && m.Owner.Judge(p.Doing.Owner).Dead()
}

// DestroyInterrupted reports whether an allowed destruction of the project was interrupted.
func (m ProjectManager) DestroyInterrupted(ctx context.Context, p sandbox.Project) (bool, error) {
	if !m.Interrupted(p) || p.Doing.What != "destroy" {
		return false, nil
	}
	return m.Begun(ctx, p)
}

// Project returns the present record, after finishing or undoing interrupted operations of the project. The caller holds the project.
func (m ProjectManager) Project(ctx context.Context, f FoundProject) (sandbox.State, error) {
	state, err := m.Current(ctx)
	if err != nil {
		return state, err
	}
	p, known := state.Projects[f.URL.String()]
	if !known || !m.Interrupted(p) {
		return state, nil
	}
	f.Project, f.Layout = p, m.Homes.Layout(p.Name, p.BaseDir)
	begun, err := m.Begun(ctx, p)
	if err != nil {
		return state, err
	}
	switch what := p.Doing.What; {
	case what == "destroy" && !begun:
		err = sandbox.ErrState.WithMessage("project %s is recorded as being destroyed, but the audit log has no call that was allowed to do that: nothing is deleted; opencode_project_destroy shows what would be lost, and asks; to keep the project, remove \"doing\" from its entry in opencode-state.json", p.Name)
	case what == "destroy":
		_, err = m.DestroyProject(ctx, f)
	case begun && (what == "create" || what == "delete"):
		err = m.drop(ctx, f, p.Doing.Sandbox)
	case begun && (what == doingMerge || what == doingUpdate):
		err = m.finishMerge(ctx, f)
	default: // an operation that was never allowed does not remove work either
		err = m.Change(ctx, f, func(p *sandbox.Project) { p.Doing = nil })
	}
	if err != nil {
		return state, err
	}
	return m.Current(ctx)
}

// drop removes a half-created or half-deleted sandbox. Its work is backed up.
func (m ProjectManager) drop(ctx context.Context, f FoundProject, name string) error {
	box, known := f.Project.Sandboxes[strings.ToLower(name)]
	if known {
		if _, err := m.stopAgent(ctx, box); err != nil {
			return err
		}
		if _, err := m.StopServer(ctx, f, box.Name); err != nil {
			return err
		}
		r := sandboxport.Removal{Name: box.Name, Branch: box.Branch, DeleteBranch: box.CreatedBranch, Force: true, At: m.Clock.Now()}
		if _, err := m.Repos.Remove(ctx, f.Layout.Repo, box.Directory, r); err != nil {
			return err
		}
	}
	return m.Change(ctx, f, func(p *sandbox.Project) {
		forgetSandbox(p, name)
		p.Doing = nil
	})
}

// forgetSandbox removes a sandbox from the record, but keeps its isolation for a later restore.
func forgetSandbox(p *sandbox.Project, name string) {
	key := sandbox.SandboxKey(name)
	within := p.Sandboxes[key].Isolation
	p.Sandboxes, p.Isolations = maps.Clone(p.Sandboxes), maps.Clone(p.Isolations)
	delete(p.Sandboxes, key)
	if delete(p.Isolations, key); within == "" {
		return
	}
	if p.Isolations == nil {
		p.Isolations = map[string]string{}
	}
	p.Isolations[key] = within
}
