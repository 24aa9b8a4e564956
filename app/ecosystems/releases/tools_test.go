package releases_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/ecosystem/release"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
)

// TestFromAlphaToStable is the whole way of a version.
func TestFromAlphaToStable(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "web")
	found := r.ask(status, nil)
	assert.Equal(t, "v0.0.0", found["current_version"])
	assert.Nil(t, found["tag"])
	assert.EqualValues(t, 4, found["commits_since_tag"])

	r.commit("web", "src/more.txt", "feat: more")
	out := r.released(bump, args{"bump_type": "patch", "pre_release": "alpha", "message": "The first one."})
	assert.Equal(t, "v0.0.1-alpha.1", out["tag"])
	for _, name := range []string{"api", "web"} {
		assert.Equal(t, "chore(release): v0.0.1-alpha.1", r.git(name, "log", "-1", "--format=%s"))
		assert.Equal(t, "Ada <ada@example.com>", r.git(name, "log", "-1", "--format=%an <%ae>"))
		assert.Equal(t, "tag", r.git(name, "cat-file", "-t", "v0.0.1-alpha.1"))
		assert.Equal(t, r.git(name, "rev-parse", "HEAD"), r.git(name, "rev-parse", "v0.0.1-alpha.1^{commit}"))
		assert.Empty(t, r.git(name, "status", "--porcelain"))
		assert.Empty(t, r.git(name, "diff-files"))
		assert.Equal(t, "0.0.1-alpha.1\n", r.read(filepath.Join(r.dir(name), "VERSION")))
		assert.Equal(t, "{\r\n  \"name\": \"app\",\r\n  \"version\": \"0.0.1-alpha.1\",\r\n  \"engines\": {\"version\": \"9.9.9\"}\r\n}\r\n", r.read(filepath.Join(r.dir(name), "app.json")))
	}
	assert.Contains(t, r.git("web", "cat-file", "-p", "v0.0.1-alpha.1"), "The first one.\n\nEcosystem: demo\nPrevious: none\nBranch: main\n\n- feat: more\n- fix: carriage returns\n- feat: first")
	assert.Equal(t, "# Changelog\n\n## [Unreleased]\n\n## [0.0.1-alpha.1] - 2026-01-02\n\n- feat: more\n- fix: carriage returns\n- feat: first\n", r.read(filepath.Join(r.dir("web"), "CHANGELOG.md")))
	assert.Equal(t, "chore(release): v0.0.1-alpha.1", r.root.Git("log", "-1", "--format=%s"))
	assert.Empty(t, r.root.Git("status", "--porcelain"))

	record, ok := release.ReadRecord([]byte(r.root.Git("show", "HEAD:ecosystems/demo/releases/v0.0.1-alpha.1.json")))
	require.True(t, ok)
	assert.Equal(t, 2, record.Schema)
	assert.Equal(t, "agent", record.Origin)
	assert.Equal(t, 5, record.Commits)
	assert.Equal(t, r.git("api", "rev-parse", "v0.0.1-alpha.1"), record.Repos["api"].TagSHA)
	assert.Equal(t, r.git("web", "rev-parse", "HEAD"), record.Repos["web"].SHA)
	assert.False(t, record.Pushed)

	r.client = "countersign-cli/1"
	for i, step := range []struct{ target, tag string }{{"beta", "v0.0.1-beta.1"}, {"beta", "v0.0.1-beta.2"}, {"rc", "v0.0.1-rc.1"}, {"", "v0.0.1"}} {
		r.clock.Advance(-48 * time.Hour) // nothing depends on the clock going forwards
		a := args{}
		if step.target != "" {
			a["target"] = step.target
		}
		assert.Equal(t, step.tag, r.released(promote, a)["tag"], i)
		assert.Equal(t, step.tag, r.ask(status, nil)["tag"])
	}
	assert.Equal(t, "v0.0.2", r.released(bump, args{"bump_type": "patch"})["tag"], "and not 0.0.3")
	listed := r.ask(logs, args{"limit": 3})
	assert.Equal(t, "records", listed["source"])
	var tags []any
	for _, item := range listed["records"].([]any) {
		tags = append(tags, item.(args)["tag"])
	}
	assert.Equal(t, []any{"v0.0.2", "v0.0.1", "v0.0.1-rc.1"}, tags)
	assert.Equal(t, "cli", listed["records"].([]any)[0].(args)["origin"])
	assert.ErrorIs(t, r.call(promote, "execute", nil).Err, release.ErrStep, "stable")
	require.NoError(t, os.RemoveAll(filepath.Join(r.root.Dir, "ecosystems", "demo", "releases")))
	listed = r.ask(logs, nil)
	assert.Equal(t, "tags", listed["source"])
	assert.Equal(t, "v0.0.2", listed["records"].([]any)[0].(args)["tag"])
	assert.NotContains(t, r.git("api", "log", "-1", "--format=%s", "origin/main"), "release", "nothing was pushed")
}

// TestModes: ask and plan change nothing, and say what would be; execute asks with a preview.
func TestModes(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "web")
	before := r.snapshot()
	a := args{"bump_type": "minor"}
	o := r.call(bump, "ask", a)
	require.Error(t, o.Err)
	assert.Contains(t, string(o.Value), "v0.1.0")
	o = r.call(bump, "plan", a)
	require.NoError(t, o.Err)
	assert.True(t, o.DryRun)
	shown := object(t, o.Value)["preview"].(args)
	for _, key := range []string{"current", "next", "branch", "commits", "files", "tag", "will_push", "validation"} {
		assert.Contains(t, shown, key)
	}
	assert.Equal(t, []any{args{"path": "worktrees/demo/repos/api/VERSION", "change": "0.0.0 → 0.1.0"}, args{"path": "worktrees/demo/repos/api/app.json", "change": "0.0.0 → 0.1.0"},
		args{"path": "worktrees/demo/repos/api/CHANGELOG.md", "change": "section [0.1.0]"}, args{"path": "worktrees/demo/repos/web/VERSION", "change": "0.0.0 → 0.1.0"},
		args{"path": "worktrees/demo/repos/web/app.json", "change": "0.0.0 → 0.1.0"}, args{"path": "worktrees/demo/repos/web/CHANGELOG.md", "change": "section [0.1.0]"},
		args{"path": "ecosystems/demo/releases/v0.1.0.json", "change": "new record"}}, shown["files"])
	o = r.call(bump, "execute", a)
	require.NotNil(t, o.Request)
	assert.Equal(t, policy.Preview, o.Request.Strength)
	for _, mode := range []string{status, validate, logs} {
		require.NoError(t, r.call(mode, "", nil).Err)
	}
	assert.Equal(t, before, r.snapshot())
}

// TestFirstLowers: before the first release, a version file may be ahead of what is counted from. The plan says so, and what it says to do helps.
func TestFirstLowers(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api")
	r.commit("api", "VERSION", "0.1.0\n")
	const lowers = "api: VERSION has version 0.1.0, but no release of it was found, so the first release starts from 0.0.0; this release lowers it to 0.0.1. " +
		"If 0.1.0 was released, tag its commit in every repository first (git tag v0.1.0 COMMIT); if not, bump minor, which is 0.1.0"
	warned := func(a args) any {
		o := r.call(bump, "plan", a)
		require.NoError(t, o.Err)
		return object(t, o.Value)["preview"].(args)["validation"].(args)["warnings"]
	}
	assert.Equal(t, []any{lowers}, warned(args{"bump_type": "patch"}))
	assert.Empty(t, warned(args{"bump_type": "minor"}))
	assert.Equal(t, []any{strings.Replace(lowers, "this release", "a patch", 1)}, r.ask(validate, nil)["warnings"])
	r.git("api", "tag", "v0.1.0", "HEAD")
	r.commit("api", "src/more.txt", "feat: more")
	assert.Equal(t, "v0.1.1", r.released(bump, args{"bump_type": "patch"})["tag"])
}

// TestChangedSinceConfirmed: a commit between the confirmation and the run stops it.
func TestChangedSinceConfirmed(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "web")
	id := r.queued(bump, args{"bump_type": "patch"})
	r.commit("web", "late.txt", "feat: late")
	before := r.snapshot()
	done := r.drain(id)
	assert.Equal(t, ecosystem.RunFailed, done.Status)
	assert.Equal(t, "eco_preview_changed", done.Code)
	assert.Equal(t, before, r.snapshot())
}

// TestRefused: what is in the way is named before anything is changed.
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*rig)
		a     args
		want  *fault.Error
		says  string
		bare  bool // there is no branch or directory to look at
	}{
		"dirty":          {func(r *rig) { r.write("web", "src/main.txt", "two") }, args{"pre_release": "beta"}, release.ErrChecks, "web: uncommitted: 1 change", false},
		"dirty, strict":  {func(r *rig) { r.write("web", "src/main.txt", "two") }, args{"pre_release": "alpha", "strict": true}, release.ErrChecks, "web: uncommitted: 1 change", false},
		"a touched file": {func(r *rig) { r.write("web", "VERSION", "0.0.0\nmore\n") }, args{"pre_release": "alpha", "skip_validation": true}, release.ErrChecks, "VERSION has uncommitted changes, but a release writes to it", false},
		"detached":       {func(r *rig) { r.git("api", "checkout", "-q", "--detach") }, nil, release.ErrChecks, "api: HEAD is detached", true},
		"a tag in one":   {func(r *rig) { r.git("web", "tag", "v0.0.1") }, nil, release.ErrTag, "in web", false},
		"a missing file": {func(r *rig) { r.git("api", "rm", "-q", "VERSION"); r.git("api", "commit", "-qm", "gone") }, nil, release.ErrChecks, "version file VERSION is missing", false},
		"no match":       {func(r *rig) { r.commit("api", "app.json", "{}") }, nil, release.ErrChecks, "no match for its pattern", false},
		"a bad pattern":  {func(r *rig) { r.edit(`^(\S+)$`, `^0\.0\.(\d)$`) }, args{"pre_release": "rc"}, release.ErrChecks, "does not match all of", false},
		"a link": {func(r *rig) {
			require.NoError(r.t, os.Remove(filepath.Join(r.dir("api"), "VERSION")))
			require.NoError(r.t, os.Symlink("src/main.txt", filepath.Join(r.dir("api"), "VERSION")))
			r.git("api", "commit", "-qam", "link")
		}, nil, release.ErrChecks, "behind a link", false},
		"no changelog":    {func(r *rig) { r.git("web", "rm", "-q", "CHANGELOG.md"); r.git("web", "commit", "-qm", "gone") }, nil, release.ErrChecks, "web: CHANGELOG.md is missing", false},
		"nobody":          {func(r *rig) { r.t.(*testing.T).Setenv("HOME", r.home) }, nil, release.ErrChecks, "git has no user name and email", false},
		"a lost clone":    {func(r *rig) { require.NoError(r.t, os.RemoveAll(r.dir("web"))) }, nil, release.ErrChecks, "web cannot be released", true},
		"a rebase":        {rebasing, nil, release.ErrChecks, "a git rebase is in progress", true},
		"a record":        {func(r *rig) { r.root.Write("-- ecosystems/demo/releases/v0.0.1.json --\n{}\n") }, nil, release.ErrChecks, "is there already", false},
		"a detached root": {func(r *rig) { r.root.Git("checkout", "-q", "--detach") }, nil, release.ErrChecks, "workspace root", true},
		"a read-only one": {func(r *rig) {
			r.edit("release:\n", "release:\n  repos: [api, web]\n")
			r.edit("branch: main}\nrelease", "branch: main, readonly: true}\nrelease")
		}, nil, nil, "web", false},
		"back from rc": {func(r *rig) { r.released(bump, args{"bump_type": "patch", "pre_release": "rc"}) }, args{"promote": "beta"}, release.ErrStep, "past beta", false},
		"a pushed tag": {func(r *rig) {
			r.origins["web"].Git("tag", "v0.0.1")
			r.origins["web"].Git("push", "-q", "origin", "v0.0.1")
		}, args{"push": true}, release.ErrTag, "origin of web", false},
		"a moved origin": {theirs, args{"push": true}, release.ErrChecks, "commits that are not here, in web (main)", false},
		"no answer":      {func(r *rig) { require.NoError(r.t, os.RemoveAll(r.origins["web"].Remote)) }, args{"push": true}, ecosystem.ErrGit, "does not answer", false},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "nobody" { // whose home is the process's
				t.Parallel()
			}
			r := newRig(t, "api", "web")
			c.spoil(r)
			var before map[string]string
			if !c.bare {
				before = r.snapshot()
			}
			tool, a := bump, args{"bump_type": "patch"}
			for k, v := range c.a {
				a[k] = v
			}
			if target, ok := a["promote"]; ok {
				tool, a = promote, args{"target": target}
			}
			o := r.call(tool, "execute", a)
			require.Error(t, o.Err)
			assert.Nil(t, o.Request)
			if c.want != nil {
				require.ErrorIs(t, o.Err, c.want)
			}
			assert.Contains(t, o.Err.Error(), c.says)
			if !c.bare {
				assert.Equal(t, before, r.snapshot())
			}
		})
	}
}

// theirs has somebody else push to the origin of web.
func theirs(r *rig) {
	web := r.origins["web"]
	web.Write("-- theirs.txt --\none\n")
	web.Git("add", "theirs.txt")
	web.Git("commit", "-qm", "theirs")
	web.Git("push", "-q", "origin", "HEAD:main")
}

// TestAnOriginMovesMeanwhile between the approval and the run: nothing is tagged or pushed anywhere.
func TestAnOriginMovesMeanwhile(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "web")
	id := r.queued(bump, args{"bump_type": "patch", "push": true})
	theirs(r)
	before := r.snapshot()
	done := r.drain(id)
	assert.Equal(t, ecosystem.RunFailed, done.Status)
	assert.Contains(t, done.Error, "commits that are not here, in web (main)")
	assert.Equal(t, before, r.snapshot())
	for _, name := range []string{"api", "web"} {
		assert.Empty(t, r.git(name, "tag"))
		assert.Empty(t, r.origins[name].Git("-C", r.origins[name].Remote, "tag"))
	}
	assert.False(t, r.noted())
}

// rebasing leaves api in the middle of one, which stopped at a conflict.
func rebasing(r *rig) {
	r.git("api", "branch", "side")
	r.commit("api", "src/main.txt", "two")
	r.git("api", "checkout", "-q", "side")
	r.commit("api", "src/main.txt", "three")
	stopped := exec.Command("git", "-C", r.dir("api"), "rebase", "-q", "main")
	stopped.Env = r.root.Env()
	require.Error(r.t, stopped.Run())
}

// TestDirtyAlpha warns, and keeps what is not its own: changes, staged ones too, and other files.
func TestDirtyAlpha(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api")
	r.write("api", "src/main.txt", "not committed")
	r.write("api", "staged.txt", "staged")
	r.git("api", "add", "staged.txt")
	r.write("api", "stray.txt", "stray")
	was := r.git("api", "status", "--porcelain")
	o := r.call(bump, "plan", args{"bump_type": "patch", "pre_release": "alpha"})
	require.NoError(t, o.Err)
	assert.Contains(t, string(o.Value), "uncommitted: 3 changes")
	r.released(bump, args{"bump_type": "patch", "pre_release": "alpha"})
	assert.Equal(t, was, r.git("api", "status", "--porcelain"))
	assert.Equal(t, "CHANGELOG.md\nVERSION\napp.json", r.git("api", "show", "--format=", "--name-only"))
	assert.Equal(t, "not committed", r.read(filepath.Join(r.dir("api"), "src/main.txt")))
}

// TestPush: one refused push fails the run, keeps the release, and the next release with push brings both tags out.
func TestPush(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "web", "doc")
	locked := filepath.Join(r.origins["web"].Remote, "refs", "heads", "main.lock")
	require.NoError(t, os.WriteFile(locked, nil, 0o644))
	done := r.do(bump, args{"bump_type": "patch", "pre_release": "alpha", "push": true})
	assert.Equal(t, ecosystem.RunFailed, done.Status)
	assert.Contains(t, done.Error, "could not be pushed from web")
	out := object(t, done.Result)
	var pushes []any
	for _, repo := range out["repos"].([]any) {
		pushes = append(pushes, repo.(args)["push"])
	}
	assert.Equal(t, []any{"pushed", "failed", "pushed"}, pushes)
	assert.Contains(t, out["resume"].([]any)[1], "push --atomic origin main v0.0.1-alpha.1")
	for _, name := range []string{"api", "web", "doc"} {
		assert.Equal(t, "v0.0.1-alpha.1", r.git(name, "tag"))
		remote := r.origins[name].Git("-C", r.origins[name].Remote, "for-each-ref", "--format=%(refname:short)")
		assert.Equal(t, name != "web", strings.Contains(remote, "v0.0.1-alpha.1"), remote)
	}
	require.NoError(t, os.Remove(locked))
	o := r.call(promote, "plan", args{"push": true})
	require.NoError(t, o.Err)
	assert.Equal(t, args{"web": []any{"v0.0.1-alpha.1"}}, object(t, o.Value)["preview"].(args)["also_pushed"])
	out = r.released(promote, args{"push": true})
	assert.Equal(t, true, out["pushed"])
	assert.Equal(t, "v0.0.1\nv0.0.1-alpha.1", r.origins["web"].Git("-C", r.origins["web"].Remote, "tag"))
	assert.Equal(t, r.git("web", "rev-parse", "main"), r.origins["web"].Git("-C", r.origins["web"].Remote, "rev-parse", "main"))
	record, _ := release.ReadRecord([]byte(r.root.Git("show", "HEAD:ecosystems/demo/releases/v0.0.1.json")))
	assert.True(t, record.Pushed)
	record, _ = release.ReadRecord([]byte(r.root.Git("show", "HEAD:ecosystems/demo/releases/v0.0.1-alpha.1.json")))
	assert.True(t, record.Pushed)
	assert.Empty(t, r.root.Git("status", "--porcelain"))
	o = r.call(bump, "plan", args{"bump_type": "patch", "push": true})
	require.NoError(t, o.Err)
	assert.NotContains(t, object(t, o.Value)["preview"], "also_pushed")
}

// TestDrift: repositories and files that say different things are told of; the common version counts.
func TestDrift(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "web")
	r.released(bump, args{"bump_type": "minor"})
	r.git("web", "tag", "v0.3.0")
	r.git("web", "tag", "v1.0.0-rc.x.y") // a form of its own
	found := r.ask(status, nil)
	assert.Equal(t, "v0.1.0", found["current_version"])
	assert.Equal(t, true, found["version_drift"])
	checked := r.ask(validate, args{"target": "beta"})
	assert.Equal(t, "warning", checked["status"])
	assert.Contains(t, checked["warnings"].([]any)[0], "web v1.0.0-rc.x.y")
	assert.Equal(t, "v0.1.1", r.released(bump, args{"bump_type": "patch"})["tag"])
}

// TestHooksDoNotRun: neither on the commits nor on the tags nor on the push.
func TestHooksDoNotRun(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api")
	names := []string{"pre-commit", "commit-msg", "post-commit", "reference-transaction", "pre-push", "post-index-change"}
	for _, dir := range []string{r.dir("api"), r.root.Dir} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, ".git", "hooks"), 0o755))
		for _, name := range names {
			require.NoError(t, os.WriteFile(filepath.Join(dir, ".git", "hooks", name), []byte("#!/bin/sh\n>>'"+r.top+"/sprung'\nexit 1\n"), 0o755))
		}
	}
	r.released(bump, args{"bump_type": "patch", "push": true})
	assert.NoFileExists(t, filepath.Join(r.top, "sprung"))
}

// TestThePlanNamesEverything: branch, commits and files of every repository and of the workspace root, and what is pushed.
func TestThePlanNamesEverything(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "web")
	r.commit("web", "src/more.txt", "feat: more")
	r.released(bump, args{"bump_type": "patch", "pre_release": "alpha"})
	r.commit("api", "src/last.txt", "fix: last")
	o := r.call(promote, "plan", args{"push": true, "message": "Out."})
	require.NoError(t, o.Err)
	plan := object(t, o.Value)
	assert.Contains(t, plan["warnings"].([]any)[0], "v0.0.1-alpha.1 is released here and not pushed")
	shown := plan["preview"].(args)
	web := shown["repos"].([]any)[1].(args)
	assert.Equal(t, "main", web["branch"])
	assert.Equal(t, "chore(release): v0.0.1\n\nOut.\n", web["commit_message"])
	assert.EqualValues(t, 3, web["files_total"])
	below := func(file, change string) any { return args{"path": "worktrees/demo/repos/" + file, "change": change} }
	assert.Equal(t, []any{below("api/VERSION", "0.0.1-alpha.1 → 0.0.1"), below("api/app.json", "0.0.1-alpha.1 → 0.0.1"), below("api/CHANGELOG.md", "section [0.0.1]"),
		below("web/VERSION", "0.0.1-alpha.1 → 0.0.1"), below("web/app.json", "0.0.1-alpha.1 → 0.0.1"), below("web/CHANGELOG.md", "section [0.0.1]"),
		args{"path": "ecosystems/demo/releases/v0.0.1.json", "change": "new record"}}, shown["files"], "each once")
	assert.Equal(t, args{"repositories": 2.0, "commits_made": 4.0, "files_written": 7.0, "tags": 2.0}, shown["totals"])
	assert.Equal(t, []any{"main", "v0.0.1-alpha.1", "v0.0.1"}, web["pushes"])
	root := shown["root"].(args)
	assert.Equal(t, []any{"chore(release): v0.0.1", "chore(release): v0.0.1-alpha.1, v0.0.1 pushed"}, root["commits"])
	assert.Equal(t, []any{"ecosystems/demo/releases/v0.0.1-alpha.1.json"}, root["files"], "besides the new one")
	assert.Equal(t, r.root.Remote, root["remote"])
	assert.Equal(t, []any{"chore(release): v0.0.1-alpha.1", "demo"}, root["also_pushed"])

	out := r.released(promote, args{"push": true, "message": "Out."})
	assert.Equal(t, "pushed", out["root"].(args)["status"])
	assert.Equal(t, "chore(release): v0.0.1-alpha.1, v0.0.1 pushed\nchore(release): v0.0.1\nchore(release): v0.0.1-alpha.1", r.root.Git("-C", r.root.Remote, "log", "-3", "--format=%s", "main"))
	const notes = "## [0.0.1] - 2026-01-02\n\n- feat: more\n- fix: carriage returns\n- feat: first\n\n## [0.0.1-alpha.1]"
	assert.Contains(t, r.read(filepath.Join(r.dir("web"), "CHANGELOG.md")), notes, "everything since the last stable release")
	assert.Contains(t, r.read(filepath.Join(r.dir("api"), "CHANGELOG.md")), "## [0.0.1] - 2026-01-02\n\n- fix: last\n")

	o = r.call(bump, "plan", args{"bump_type": "patch"})
	require.NoError(t, o.Err)
	assert.Contains(t, string(o.Value), "no commits since v0.0.1; this releases the same content again")
}

// TestStandardVersionFiles are found where the manifest names none; those that git does not track are left alone.
func TestStandardVersionFiles(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "web")
	text := r.read(filepath.Join(r.root.Dir, "ecosystems", "demo", "ecosystem.yaml"))
	r.manifest(text[:strings.Index(text, "release:")])
	r.commit("api", "package.json", `{"name": "api", "version": "0.0.0", "private": true, "dependencies": {"@x/web": "^0.0.0"}}`)
	r.commit("web", "package.json", `{"name": "@x/web", "version": "0.0.0"}`)
	r.write("api", ".gitignore", "package-lock.json\n")
	r.git("api", "add", "-A")
	r.git("api", "commit", "-qm", "ignore")
	r.write("api", "package-lock.json", `{"version": "0.0.0"}`)
	r.commit("web", "Cargo.toml", "[package]\nname = \"web\"\nversion = \"0.0.0\"\n")
	assert.Contains(t, string(r.call(bump, "plan", args{"bump_type": "minor"}).Value), "0.0.0 → 0.1.0, @x/web ^0.0.0 → ^0.1.0")
	r.released(bump, args{"bump_type": "minor"})
	assert.Equal(t, `{"name": "api", "version": "0.1.0", "private": true, "dependencies": {"@x/web": "^0.1.0"}}`, r.git("api", "show", "v0.1.0:package.json"))
	assert.Equal(t, `{"version": "0.0.0"}`, r.read(filepath.Join(r.dir("api"), "package-lock.json")))
	assert.Equal(t, "[package]\nname = \"web\"\nversion = \"0.1.0\"", r.git("web", "show", "v0.1.0:Cargo.toml"))
	assert.Equal(t, "0.1.0", r.git("web", "show", "v0.1.0:VERSION"))
	assert.Equal(t, false, r.ask(status, nil)["version_drift"])
	r.commit("web", "Cargo.toml", "[package]\nname = \"web\"\nversion = \"0.0.9\"\n")
	assert.Equal(t, true, r.ask(status, nil)["version_drift"])
	assert.Contains(t, r.ask(validate, nil)["warnings"], "web: Cargo.toml has version 0.0.9, but the current version is 0.1.0")
	r.manifest(text[:strings.Index(text, "release:")] + "release: {version_files: []}\n")
	assert.Equal(t, false, r.ask(status, nil)["version_drift"], "the manifest says that there are none")
}
