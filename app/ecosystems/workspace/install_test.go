package workspace_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/app/ecosystems/workspace"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"
)

// planned is a plan as an answer shows it.
type planned struct {
	Preview     workspace.InstallPreview
	Explanation struct{ What string }
	Warnings    []string
}

func plan(t *testing.T, r *rig, a args) planned {
	t.Helper()
	o := r.call(install, "plan", a)
	require.NoError(t, o.Err)
	require.True(t, o.DryRun)
	var p planned
	require.NoError(t, json.Unmarshal(o.Value, &p), string(o.Value))
	return p
}

// TestInstall: ask explains, plan previews, execute confirms and queues; only the run makes anything.
func TestInstall(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "web")
	r.manifest(strings.Replace(r.manifestText(), "name: web,", "name: web, readonly: true,", 1))
	before := r.tree()

	asked := r.call(install, "ask", nil)
	require.Error(t, asked.Err)
	assert.True(t, asked.Explained)
	assert.Contains(t, string(asked.Value), r.workspace())

	p := plan(t, r, nil)
	assert.Equal(t, r.workspace(), p.Preview.WorkspaceDir)
	assert.Equal(t, "workspace/demo", p.Preview.Branch)
	assert.Empty(t, p.Preview.Conflicts)
	assert.Nil(t, p.Preview.Disk)
	assert.Equal(t, []workspace.CloneStep{{Name: "api", URL: r.origins["api"].Remote, Branch: "main", Mode: "RW", Path: "repos/api"},
		{Name: "web", URL: r.origins["web"].Remote, Branch: "main", Mode: "RO", Path: "repos/web"}}, p.Preview.Repos)
	for _, key := range []string{`"disk_estimate_bytes":null`, `"conflicts":[]`, `"steps":[`, `"exists":false`} {
		assert.Contains(t, string(r.call(install, "plan", nil).Value), key)
	}
	id := r.queued(install, nil)
	assert.Equal(t, before, r.tree(), "nothing is made before the run")

	done := r.drain(id)
	require.Equal(t, ecosystem.RunSuccess, done.Status, done.Error)
	assert.Equal(t, "workspace/demo", r.root.Git("-C", r.workspace(), "symbolic-ref", "--short", "HEAD"))
	assert.FileExists(t, r.workspace("README.md"))
	assert.Equal(t, r.root.Head(), r.root.Git("-C", r.workspace(), "rev-parse", "HEAD"))
	for name, origin := range r.origins {
		assert.Equal(t, origin.Head(), r.git(name, "rev-parse", "HEAD"))
		assert.Equal(t, origin.Remote, r.git(name, "config", "remote.origin.url"))
		assert.Equal(t, "origin/main", r.git(name, "rev-parse", "--abbrev-ref", "@{upstream}"))
	}
	assert.Equal(t, "DISABLED", r.git("web", "config", "remote.origin.pushurl"))
	assert.Empty(t, r.root.Git("-C", r.git("api", "rev-parse", "--show-toplevel"), "config", "--default", "", "remote.origin.pushurl"))
	assert.Equal(t, "?? ecosystems/", r.root.Git("status", "--porcelain"), "worktrees are excluded in the root")
	assert.Empty(t, r.root.Git("-C", r.workspace(), "status", "--porcelain"), "clones are excluded in the workspace")
	assert.Empty(t, r.root.Git("worktree", "prune", "--dry-run", "--verbose", "--expire=now"))
	assert.NotContains(t, r.root.Git("worktree", "list", "--porcelain"), "locked")

	st := r.found().State
	assert.Equal(t, r.workspace(), st.WorkspaceDir)
	assert.Equal(t, ecosystem.StateVersion, st.Version)
	assert.Equal(t, []string{"api", "web"}, []string{st.Repos[0].Name, st.Repos[1].Name})
	assert.True(t, st.Repos[1].ReadOnly)
	assert.Nil(t, st.ActiveTicket)
	log := r.log(id)
	assert.Contains(t, log, "api: cloning "+r.origins["api"].Remote+", branch main")
	assert.Contains(t, log, "web: cloned at "+r.origins["web"].Head()[:7])

	for _, mode := range []string{"ask", "plan", "execute"} {
		require.ErrorIs(t, r.call(install, mode, nil).Err, ecosystem.ErrInstalled, mode)
	}
	entries, err := os.ReadDir(filepath.Join(r.top, "home"))
	require.NoError(t, err)
	require.Len(t, entries, 1, "only Countersign's own directory: no shell file")
}

func (r *rig) manifestText() string {
	text, err := os.ReadFile(filepath.Join(r.root.Dir, "ecosystems", "demo", "ecosystem.yaml"))
	require.NoError(r.t, err)
	return string(text)
}

// TestInstallFails: every repository that fails is named with its reason, and the root is as it was.
func TestInstallFails(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "web", "gone", "tagged")
	require.NoError(t, os.RemoveAll(r.origins["gone"].Remote))
	r.origins["tagged"].Git("tag", "v1")
	r.origins["tagged"].Git("push", "--quiet", "origin", "v1")
	text := strings.Replace(r.manifestText(), `web.git", branch: main`, "", 1)
	text = strings.Replace(text, r.origins["web"].Remote+`", branch: main`, r.origins["web"].Remote+`", branch: absent`, 1)
	text = strings.Replace(text, r.origins["tagged"].Remote+`", branch: main`, r.origins["tagged"].Remote+`", branch: v1`, 1)
	r.manifest(text)
	before := r.tree()
	done := r.do(install, nil)
	require.Equal(t, ecosystem.RunFailed, done.Status)
	by := outcomes(t, done)
	assert.Equal(t, "cloned", by["api"].Result)
	assert.Contains(t, by["web"].Reason, `has no branch "absent"`)
	assert.Contains(t, by["tagged"].Reason, `"v1" is a tag`)
	assert.Equal(t, "failed", by["gone"].Result)
	assert.Contains(t, by["gone"].Reason, r.origins["gone"].Remote)
	assert.Contains(t, done.Error, "3 of 4 repositories")
	assert.Equal(t, before, r.tree())
	assert.False(t, r.found().State.Installed())
	doc, err := r.deps.States.Noted(context.Background(), r.found().Layout, "install")
	require.NoError(t, err)
	assert.Nil(t, doc)

	r.manifest(strings.NewReplacer("absent", "main", "branch: v1", "branch: main", r.origins["gone"].Remote, r.origins["api"].Remote).Replace(text))
	again := r.do(install, nil)
	require.Equal(t, ecosystem.RunSuccess, again.Status, again.Error)
}

// TestInstallConflicts: what is in the way is listed in plan, and refused in execute without asking anybody.
func TestInstallConflicts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		put  func(r *rig)
		says string
	}{
		"a file": {func(r *rig) {
			require.NoError(t, os.MkdirAll(filepath.Dir(r.workspace()), 0o755))
			require.NoError(t, os.WriteFile(r.workspace(), []byte("mine"), 0o644))
		}, "something is there already"},
		"a directory": {func(r *rig) { require.NoError(t, os.MkdirAll(r.workspace("repos", "api"), 0o755)) }, "something is there already"},
		"a link on the way": {func(r *rig) {
			require.NoError(t, os.Symlink(t.TempDir(), filepath.Dir(r.workspace())))
		}, "a link or a file"},
		"the branch in use": {func(r *rig) {
			r.root.Git("worktree", "add", "--quiet", "-b", "workspace/demo", filepath.Join(r.top, "else"))
		}, "is checked out there"},
		"credentials": {func(r *rig) {
			r.manifest("repos: [{name: api, url: 'https://ada:hunter2@example.com/x/y', branch: main}]\n")
		}, "holds credentials"},
		"a committed path": {func(r *rig) {
			r.root.Write("-- repos/api --\nmine\n")
			r.root.Commit("in the way")
		}, "own commits hold something"},
		"tickets": {func(r *rig) {
			r.manifest("repos: [{name: api, url: /x/y, branch: main, path: tickets/api}]\n")
		}, "the workspace itself uses"},
		"one in the other": {func(r *rig) {
			r.manifest("repos: [{name: api, url: /x/y, branch: main, path: a}, {name: web, url: /x/y, branch: main, path: a/b}]\n")
		}, "in each other"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, "api")
			c.put(r)
			before := r.tree()
			o := r.call(install, "plan", nil)
			if o.Err != nil { // the manifest's own rules refuse it already
				require.ErrorIs(t, o.Err, ecosystem.ErrManifest)
				assert.NotContains(t, o.Err.Error(), "hunter2")
				return
			}
			p := plan(t, r, nil)
			require.Len(t, p.Preview.Conflicts, 1)
			assert.Contains(t, p.Preview.Conflicts[0].Message, c.says)
			assert.NotEmpty(t, p.Preview.Conflicts[0].Fix)
			assert.NotContains(t, string(o.Value), "hunter2")
			o = r.call(install, "execute", nil)
			require.ErrorIs(t, o.Err, ecosystem.ErrConflict)
			assert.Nil(t, o.Request, "nobody is asked")
			assert.Equal(t, before, r.tree())
		})
	}
}

// TestInstallChanged: what comes to be there between the confirmation and the run is not touched.
func TestInstallChanged(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api")
	id := r.queued(install, nil)
	require.NoError(t, os.MkdirAll(r.workspace("mine"), 0o755))
	done := r.drain(id)
	assert.Equal(t, ecosystem.RunFailed, done.Status)
	assert.Equal(t, string(ecosystem.ErrChanged.Code), done.Code)
	assert.DirExists(t, r.workspace("mine"))
}

// TestInstallIntoARootWithoutCommits makes an empty first commit, which the preview tells of, and takes it back when something fails.
func TestInstallIntoARootWithoutCommits(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api")
	r.root = gitfixture.New(t, "")
	origin := r.origins["api"].Remote
	r.manifest("repos: [{name: api, url: " + origin + ", branch: absent}]\n")
	r.root.Git("add", "ecosystems")
	r.deps = dependencies(t, r.root.Dir, filepath.Join(r.top, "home"))
	r.open()
	assert.Contains(t, plan(t, r, nil).Preview.Steps[0], "empty first commit")
	before := r.tree()
	require.Equal(t, ecosystem.RunFailed, r.do(install, nil).Status)
	assert.Equal(t, before, r.tree())

	r.manifest("repos: [{name: api, url: " + origin + ", branch: main}]\n")
	done := r.do(install, nil)
	require.Equal(t, ecosystem.RunSuccess, done.Status, done.Error)
	assert.Equal(t, "1", r.root.Git("rev-list", "--count", "--all"))
	assert.Equal(t, "AM ecosystems/demo/ecosystem.yaml", r.root.Git("status", "--porcelain"), "what was staged is staged")
}

// TestInstallTakesUpItsBranch: an archived workspace comes back with its commits, and a failure leaves them.
func TestInstallTakesUpItsBranch(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api")
	kept := r.root.Commit("of an earlier workspace")
	r.root.Git("branch", "workspace/demo")
	r.root.Git("reset", "--quiet", "--hard", "HEAD^")
	r.manifest(strings.Replace("repos: [{name: api, url: URL, branch: absent}]\n", "URL", r.origins["api"].Remote, 1))
	before := r.tree()
	require.Equal(t, ecosystem.RunFailed, r.do(install, nil).Status)
	assert.Equal(t, before, r.tree())
	r.manifest(strings.Replace("repos: [{name: api, url: URL, branch: main}]\n", "URL", r.origins["api"].Remote, 1))
	done := r.do(install, nil)
	require.Equal(t, ecosystem.RunSuccess, done.Status, done.Error)
	assert.Equal(t, kept, r.root.Git("-C", r.workspace(), "rev-parse", "HEAD"))
}

// TestInstallPushes the workspace's branch when it is asked to; a push that fails leaves a workspace that is installed, and a run that failed.
func TestInstallPushes(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api")
	assert.Nil(t, plan(t, r, nil).Preview.PushTo)
	assert.Equal(t, r.root.Remote, *plan(t, r, args{"push": true}).Preview.PushTo)
	done := r.do(install, args{"push": true})
	require.Equal(t, ecosystem.RunSuccess, done.Status, done.Error)
	assert.Contains(t, string(done.Result), `"pushed":true`)
	assert.Equal(t, r.root.Head(), r.root.Git("-C", r.root.Remote, "rev-parse", "workspace/demo"))

	r = newRig(t, "api")
	id := r.queued(install, args{"push": true})
	require.NoError(t, os.RemoveAll(r.root.Remote))
	done = r.drain(id)
	assert.Equal(t, ecosystem.RunFailed, done.Status)
	assert.Contains(t, done.Error, "is installed, but its branch workspace/demo was not pushed")
	assert.True(t, r.found().State.Installed())

	r = newRig(t, "api")
	r.root.Git("remote", "remove", "origin")
	p := plan(t, r, args{"push": true})
	assert.Nil(t, p.Preview.PushTo)
	assert.Contains(t, strings.Join(p.Warnings, " "), "no remote named origin")
}

// TestInstallElsewhere: workspace_dir and paths of the manifest are where things go, and are excluded there.
func TestInstallElsewhere(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api")
	r.manifest("workspace_dir: spaces/the demo\nrepos: [{name: api, url: " + r.origins["api"].Remote + ", branch: main, path: services/api}]\n")
	done := r.do(install, nil)
	require.Equal(t, ecosystem.RunSuccess, done.Status, done.Error)
	dir := filepath.Join(r.root.Dir, "spaces", "the demo")
	assert.FileExists(t, filepath.Join(dir, "services", "api", "api.txt"))
	assert.Empty(t, r.root.Git("-C", dir, "status", "--porcelain"))
	assert.Equal(t, "?? ecosystems/", r.root.Git("status", "--porcelain"))
}

// TestNoRepositoryAsRoot says what to do.
func TestNoRepositoryAsRoot(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api")
	require.NoError(t, os.Rename(filepath.Join(r.root.Dir, ".git"), filepath.Join(r.top, "git")))
	o := r.call(install, "plan", nil)
	require.ErrorIs(t, o.Err, ecosystem.ErrRoot)
	assert.Contains(t, o.Err.Error(), "git init")
}
