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

// ProjectManager mends.
type ProjectManager struct{ Deps }

// StopServer ends the project's server, records that, and reports whether it ran. It is called by who holds the project.
func (m ProjectManager) StopServer(ctx context.Context, f FoundProject) (bool, error) {
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
	if !known || p.Server.ProcessID == "" {
		return false, nil
	}
	ended, err := m.Processes.Stop(ctx, process.ID(p.Server.ProcessID), sandbox.StopGrace)
	if err != nil && !errors.Is(err, process.ErrNotFound) {
		return false, sandbox.ErrTimeout.Sayf("the server (pid %d) could not be stopped: %s", p.Server.PID, fault.From(err).Message).Because(err)
	}
	if err == nil && !ended.Status.Final() {
		return false, sandbox.ErrTimeout.Sayf("the server (pid %d) is still there after it was killed", p.Server.PID)
	}
	server := p.Server
	server.PID, server.ProcessID, server.Status, server.LastError = 0, "", sandbox.Stopped, ""
	return true, m.Record(ctx, f, server)
}

// unrecordedServers are servers of the project that run and are not on record: those of calls that were killed before they had written them down. Only who
// holds the project can tell them from one that is just being started; those whose owner cannot be seen from here nobody can.
func (m ProjectManager) unrecordedServers(ctx context.Context, p sandbox.Project) ([]process.State, error) {
	all, err := m.Processes.List(ctx)
	repo := m.Homes.Layout(p.Name, p.BaseDir).Repo
	return slices.DeleteFunc(all, func(s process.State) bool {
		return s.Labels["kind"] != "agent_server" || s.Dir != repo || s.Status.Final() || s.Elsewhere != "" || string(s.ID) == p.Server.ProcessID
	}), err
}

// UnknownServers are servers that run here and belong to no project that is recorded: the file was moved away, or the project was taken out of it.
func (m ProjectManager) UnknownServers(ctx context.Context) ([]process.State, error) {
	all, err := m.Processes.List(ctx) // first: a server's project is recorded before it is started
	if err != nil {
		return nil, err
	}
	state, err := m.States.Load(ctx)
	known := map[string]bool{}
	for _, p := range state.Projects {
		known[m.Homes.Layout(p.Name, p.BaseDir).Repo] = true
	}
	logs := path.Dir(m.Homes.Layout("", "").ServerLog) // others may keep other records, and servers in the same table
	return slices.DeleteFunc(all, func(s process.State) bool {
		return s.Labels["kind"] != "agent_server" || known[s.Dir] || s.Status.Final() || s.Elsewhere != "" || path.Dir(s.Log) != logs
	}), err
}

// Stray reports whether the project may have a server that is not on record.
func (m ProjectManager) Stray(ctx context.Context, p sandbox.Project) bool {
	unrecordedServers, err := m.unrecordedServers(ctx, p)
	return err == nil && len(unrecordedServers) > 0
}

// Clear ends servers of the project that are not on record, and returns their process IDs. It is called by who holds the project.
func (m ProjectManager) Clear(ctx context.Context, p sandbox.Project) (pids []int, err error) {
	// One whose supervisor was killed counts as ended, and may run all the same; so may one whose start was cut off, a moment later.
	if _, err := m.Processes.Recover(ctx); err != nil {
		return nil, err
	}
	unrecordedServers, err := m.unrecordedServers(ctx, p)
	if err != nil {
		return nil, err
	}
	return m.End(ctx, unrecordedServers)
}

// End ends servers that nobody keeps a record of, and returns their process IDs.
func (m ProjectManager) End(ctx context.Context, unrecordedServers []process.State) (pids []int, err error) {
	for _, s := range unrecordedServers {
		if _, err := m.Processes.Stop(ctx, s.ID, sandbox.StopGrace); err != nil && !errors.Is(err, process.ErrNotFound) {
			return pids, sandbox.ErrTimeout.Sayf("a server that was left behind (pid %d) could not be stopped: %s", s.PID, fault.From(err).Message).Because(err)
		}
		pids = append(pids, s.PID)
	}
	return pids, nil
}

// Record keeps what is known of the project's server.
func (m ProjectManager) Record(ctx context.Context, f FoundProject, server sandbox.Server) error {
	return m.Change(ctx, f, func(p *sandbox.Project) {
		p.Server = server
		if server.Status == sandbox.Running {
			p.LastHealth = m.Clock.Now()
		}
	})
}

// Change changes what is recorded of the project, or fails with sandbox.ErrProjectNotFound when it is gone.
func (m ProjectManager) Change(ctx context.Context, f FoundProject, change func(*sandbox.Project)) error {
	_, err := m.States.Update(ctx, func(st *sandbox.State) error {
		p, known := st.Projects[f.URL.String()]
		if !known {
			return sandbox.ErrProjectNotFound.Sayf("the project of %s was destroyed meanwhile", f.URL)
		}
		change(&p)
		st.Projects[f.URL.String()] = p
		return nil
	})
	return err
}

// DestroyProject stops the project's server, deletes its directories and forgets it, in this order: whatever interrupts it, the project is still recorded as
// being destroyed.
func (m ProjectManager) DestroyProject(ctx context.Context, f FoundProject) ([]string, error) {
	if _, err := m.StopServer(ctx, f); err != nil {
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

// Isolated returns the command that runs argv in a sandbox of the project as the sandbox says; argv itself where it says nothing.
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

// LockProject keeps everybody else from changing the project until release is called. It fails with sandbox.ErrBusy while a change is under way whose owner
// cannot be seen from here: nobody knows whether that owner goes on with it.
func (m ProjectManager) LockProject(ctx context.Context, url git.URL) (release func(), err error) {
	if release, err = m.States.Hold(ctx, url); err != nil {
		return nil, err
	}
	state, err := m.States.Load(ctx)
	if p := state.Projects[url.String()]; err == nil && p.Doing != nil {
		if where := m.Owner.Elsewhere(p.Doing.Owner); where != "" {
			err = sandbox.ErrBusy.Sayf("something is being done with project %s already (%s %s): it is %s", p.Name, p.Doing.What, p.Doing.Sandbox, where)
		}
	}
	if err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// Interrupted reports a change of the project that nobody will finish.
func (m ProjectManager) Interrupted(p sandbox.Project) bool {
	return p.Doing != nil && m.Owner.Judge(p.Doing.Owner).Dead()
}

// DestroyInterrupted reports a project whose destruction a call was let through to carry out and was cut off.
func (m ProjectManager) DestroyInterrupted(ctx context.Context, p sandbox.Project) (bool, error) {
	if !m.Interrupted(p) || p.Doing.What != "destroy" {
		return false, nil
	}
	return m.Begun(ctx, p)
}

// Project returns what is recorded now, after whatever was interrupted in this project has been finished or undone. It is called by who holds it.
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
		err = sandbox.ErrState.Sayf("project %s is recorded as being destroyed, and the audit knows no call that was let through to do that: nothing is deleted; opencode_project_destroy shows what would be lost, and asks; to keep the project, take \"doing\" out of its entry in opencode-state.json", p.Name)
	case what == "destroy":
		_, err = m.DestroyProject(ctx, f)
	case begun && (what == "create" || what == "delete"):
		err = m.drop(ctx, f, p.Doing.Sandbox)
	case begun && (what == doingMerge || what == doingUpdate):
		err = m.finishMerge(ctx, f)
	default: // what nobody was let through to do has no work taken away either
		err = m.Change(ctx, f, func(p *sandbox.Project) { p.Doing = nil })
	}
	if err != nil {
		return state, err
	}
	return m.Current(ctx)
}

// drop takes away the sandbox that was half made or half deleted. What it might hold is kept under backup refs.
func (m ProjectManager) drop(ctx context.Context, f FoundProject, name string) error {
	box, known := f.Project.Sandboxes[strings.ToLower(name)]
	if known {
		if _, err := m.stopAgent(ctx, box); err != nil {
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

// forgetSandbox takes a sandbox off the record. What kept its programs inside stays known, for when it is restored.
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
