package workspace_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/ecosystems/workspace"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// news returns a new commit at an origin.
func (r *rig) news(name string) string {
	r.t.Helper()
	o := r.origins[name]
	o.Write("-- " + name + ".txt --\ntwo\n")
	commit := o.Commit("second")
	o.Git("push", "--quiet", "origin", "main")
	return commit
}

func steps(t *testing.T, r *rig) map[string]workspace.SyncStep {
	t.Helper()
	o := r.call(sync9, "plan", nil)
	require.NoError(t, o.Err)
	var p struct{ Preview workspace.SyncPreview }
	require.NoError(t, json.Unmarshal(o.Value, &p))
	by := map[string]workspace.SyncStep{}
	for _, s := range p.Preview.Repos {
		by[s.Name] = s
	}
	return by
}

// TestSync: what is missing is cloned, what is behind is brought forward, and what must not be touched is not.
func TestSync(t *testing.T) {
	t.Parallel()
	names := []string{"absent", "behind", "clean", "dirty", "diverged", "ahead", "detached", "rebasing", "other", "foreign", "tampered", "gone"}
	r := installedRig(t, names...)
	require.NoError(t, os.RemoveAll(r.workspace("repos", "absent")))
	second := map[string]string{}
	for _, name := range []string{"behind", "dirty", "diverged", "detached", "rebasing", "other"} {
		second[name] = r.news(name)
	}
	mine := filepath.Join(r.workspace("repos", "dirty"), "mine.txt")
	require.NoError(t, os.WriteFile(mine, []byte("work"), 0o644))
	for _, name := range []string{"diverged", "ahead"} {
		r.git(name, "commit", "--quiet", "--allow-empty", "--message=mine")
	}
	r.git("detached", "checkout", "--quiet", "--detach")
	r.git("other", "checkout", "--quiet", "-b", "feature/x")
	require.NoError(t, os.Mkdir(filepath.Join(r.workspace("repos", "rebasing"), ".git", "rebase-merge"), 0o755))
	require.NoError(t, os.RemoveAll(r.workspace("repos", "foreign")))
	require.NoError(t, os.WriteFile(r.workspace("repos", "foreign"), []byte("a file"), 0o644))
	victim := gitfixture.New(t, "first\n-- a --\na\n")
	require.NoError(t, os.RemoveAll(filepath.Join(r.workspace("repos", "tampered"), ".git")))
	require.NoError(t, os.WriteFile(filepath.Join(r.workspace("repos", "tampered"), ".git"), []byte("gitdir: "+victim.Dir+"/.git\n"), 0o644))
	require.NoError(t, os.RemoveAll(r.origins["gone"].Remote))

	heads := map[string]string{}
	for _, name := range []string{"dirty", "diverged", "ahead", "detached", "rebasing", "other"} {
		heads[name] = r.git(name, "rev-parse", "HEAD")
	}
	want := map[string]string{"absent": "clone", "behind": "fetch+ff", "clean": "fetch+ff", "dirty": "skip", "diverged": "fetch+ff", "ahead": "fetch+ff", "detached": "skip", "rebasing": "skip", "other": "skip", "foreign": "skip", "tampered": "skip", "gone": "fetch+ff"}
	for name, step := range steps(t, r) {
		assert.Equal(t, want[name], step.Action, "%s: %s", name, step.Reason)
		assert.NotEmpty(t, step.Reason)
	}
	require.ErrorIs(t, r.call(sync9, "ask", nil).Err, app.ErrMode)

	id := r.queued(sync9, nil)
	done := r.drain(id)
	assert.Equal(t, ecosystem.RunFailed, done.Status, "one has failed")
	by := outcomes(t, done)
	for name, w := range map[string]struct{ result, reason string }{
		"absent": {"cloned", ""}, "behind": {"updated", ""}, "clean": {"up_to_date", ""}, "dirty": {"skipped", "1 change is not committed, mine.txt first"},
		"diverged": {"skipped", "1 commit of its own, 1 commit there"}, "ahead": {"up_to_date", "1 commit is not pushed"}, "detached": {"skipped", "detached"},
		"rebasing": {"skipped", "in the middle of a rebase"}, "other": {"skipped", "on branch feature/x, not on main"}, "foreign": {"skipped", "not a directory"},
		"tampered": {"skipped", "its .git is not a directory"}, "gone": {"failed", r.origins["gone"].Remote},
	} {
		assert.Equal(t, w.result, by[name].Result, "%s: %s", name, by[name].Reason)
		assert.Contains(t, by[name].Reason, w.reason, name)
	}
	assert.Equal(t, second["behind"], r.git("behind", "rev-parse", "HEAD"))
	assert.Empty(t, r.git("behind", "status", "--porcelain"))
	assert.FileExists(t, filepath.Join(r.workspace("repos", "absent"), "absent.txt"))
	for name, head := range heads {
		assert.Equal(t, head, r.git(name, "rev-parse", "HEAD"), name)
	}
	assert.FileExists(t, mine)
	assert.Equal(t, victim.Head(), victim.Git("rev-parse", "HEAD"))
	assert.Empty(t, victim.Git("status", "--porcelain"))
	log := r.log(id)
	assert.Contains(t, log, "warning dirty: skipped: ")
	assert.Contains(t, log, "error gone: ")
}

// TestSyncSome: only those that are named, in a manifest that has come to have more; what is cloned is put on record.
func TestSyncSome(t *testing.T) {
	t.Parallel()
	r := installedRig(t, "api", "web")
	more := gitfixture.New(t, "first\n-- a --\na\n")
	r.manifest(r.manifestText() + "  - {name: docs, url: " + more.Remote + ", branch: main, readonly: true}\n")
	r.news("web")
	before := r.git("web", "rev-parse", "HEAD")
	require.ErrorIs(t, r.call(sync9, "execute", args{"repos": []string{"none"}}).Err, ecosystem.ErrRepo)
	done := r.do(sync9, args{"repos": []string{"docs", "api"}})
	require.Equal(t, ecosystem.RunSuccess, done.Status, done.Error)
	assert.Len(t, outcomes(t, done), 2)
	assert.Equal(t, before, r.git("web", "rev-parse", "HEAD"))
	assert.Equal(t, "DISABLED", r.git("docs", "config", "remote.origin.pushurl"))
	st := r.found().State
	require.NotNil(t, st.Repo("docs"))
	assert.True(t, st.Repo("docs").ReadOnly)
}

// ensured is the tickets that were asked for.
type ensured struct {
	of  []string
	err error
}

func (e *ensured) Ensure(_ context.Context, t ecosystemport.Ticketed) error {
	e.of = append(e.of, t.Ticket)
	return e.err
}

// TestSyncTicket: the active ticket's worktrees are seen to afterwards, and without an active ticket nothing is.
func TestSyncTicket(t *testing.T) {
	t.Parallel()
	r := installedRig(t, "api")
	tickets := &ensured{}
	r.deps.Tickets = tickets
	r.open()
	require.Equal(t, ecosystem.RunSuccess, r.do(sync9, nil).Status)
	assert.Empty(t, tickets.of)
	_, err := r.deps.States.Update(context.Background(), r.found().Layout, func(s *ecosystem.State) error {
		id := "PROJ-1"
		s.ActiveTicket = &id
		s.Tickets = map[string]ecosystem.Ticket{id: {Ecosystem: "demo", Phase: "started"}}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, ecosystem.RunSuccess, r.do(sync9, nil).Status)
	assert.Equal(t, []string{"PROJ-1"}, tickets.of)
	tickets.err = ecosystem.ErrTicket
	assert.Equal(t, ecosystem.RunFailed, r.do(sync9, nil).Status)
}

// TestSyncWithoutAWorkspace says what to do, and makes nothing.
func TestSyncWithoutAWorkspace(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api")
	require.ErrorIs(t, r.call(sync9, "execute", nil).Err, ecosystem.ErrNotInstalled)
	require.Equal(t, ecosystem.RunSuccess, r.do(install, nil).Status)
	id := r.queued(sync9, nil)
	require.NoError(t, os.RemoveAll(r.workspace()))
	done := r.drain(id)
	assert.Equal(t, ecosystem.RunFailed, done.Status)
	assert.Contains(t, done.Error, "is gone")
	assert.NoDirExists(t, r.workspace())
}

// TestSyncNeedsNoNetworkToPreview: a plan is made while every origin is gone.
func TestSyncNeedsNoNetworkToPreview(t *testing.T) {
	t.Parallel()
	r := installedRig(t, "api")
	require.NoError(t, os.RemoveAll(r.origins["api"].Remote))
	assert.Equal(t, "fetch+ff", steps(t, r)["api"].Action)
}
