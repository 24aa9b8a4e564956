package authoring_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
)

const toolsRepo = `tools
-- skills/review/SKILL.md --
---
name: review
description: Review a change
---
Look closely.
-- skills/review/run.sh --
echo review
`

const localModule = "  - {id: 'instructions:base', type: instructions, tags: [base], source: {local_path: {path: modules/base}}}\n"

func gitModule(r *gitfixture.Repo, ref string) string {
	return fmt.Sprintf("  - {id: 'skill:review', type: skill, tags: [base], source: {git: {url: %q, ref: %s, subdir: skills/review}}}\n", r.Remote, ref)
}

// locked returns a world whose modules are a local one, one from git and one that is off.
func locked(t *testing.T) (*world, *gitfixture.Repo) {
	w, r := newWorld(t), gitfixture.New(t, toolsRepo)
	w.manifest(gitModule(r, "main"), localModule, "  - {id: 'prompt:off', type: prompt, enabled: false, source: {local_path: {path: none.md}}}\n")
	w.Write(w.in("modules/base/AGENTS.md"), "# Base instructions\n")
	return w, r
}

func (w *world) lock() *deployment.Lock {
	config, err := w.deps.Compiler.Configs.Load(w.Context(), w.repo)
	require.NoError(w, err)
	require.NotNil(w, config.Lock)
	return config.Lock
}

func TestLock(t *testing.T) {
	w, r := locked(t)
	dry := w.Quiet("agents_lock", args{"dry_run": true})
	out := w.Golden("lock", "agents_lock", yes())
	assert.JSONEq(t, string(dry.Data), string(out.Data))
	l := w.lock()
	require.Len(t, l.Modules, 2, "sorted, without what is off")
	base, review := l.Modules[0], l.Modules[1]
	assert.Equal(t, w.clock.Now(), l.GeneratedAt)
	assert.Equal(t, "local", base.Version)
	assert.Equal(t, "06581cd68997d0eb174ec84a280072bb5515c40b7634724a3b515b1a0a1331df", base.Sum.String(), "agentpack contract §1.7")
	assert.Equal(t, deployment.ResolvedSource{Git: &deployment.ResolvedGit{URL: r.Remote, Commit: r.Head(), Subdir: "skills/review"}}, review.Source)
	assert.Equal(t, r.Head(), review.Version)
	assert.Len(t, review.Manifest, 2)

	w.clock.Advance(time.Hour)
	w.Quiet("agents_lock", yes())
	w.Write(w.in("modules/base/AGENTS.md"), "# Changed\n")
	w.Call("agents_lock", yes())
	assert.Equal(t, w.clock.Now(), w.lock().GeneratedAt)
}

// TestLockPlansAreStable: a plan that is confirmed later is the same one.
func TestLockPlansAreStable(t *testing.T) {
	w, _ := locked(t)
	for name, a := range map[string]args{"agents_lock": yes(), "agents_update": yes("lock", true)} {
		first, err := w.Begin(name, a)
		require.NoError(t, err)
		w.clock.Advance(time.Minute)
		second, err := w.Begin(name, a)
		require.NoError(t, err)
		assert.Equal(t, first.Plan.Hash(), second.Plan.Hash(), name)
	}
	before, err := w.Begin("agents_lock", yes())
	require.NoError(t, err)
	w.Write(w.in("modules/base/AGENTS.md"), "# Other\n")
	after, err := w.Begin("agents_lock", yes())
	require.NoError(t, err)
	assert.NotEqual(t, before.Plan.Hash(), after.Plan.Hash())
}

func TestLockReplacesWhatCannotBeRead(t *testing.T) {
	w, _ := locked(t)
	for text, sentinel := range map[string]error{"{": deployment.ErrLock, `{"version": 9, "modules": []}`: deployment.ErrLockVersion} {
		w.Write(w.in("agentpack.lock.json"), text)
		for _, name := range []string{"agents_fetch", "agents_update"} {
			_, err := w.Try(name, yes())
			assert.ErrorIs(t, err, sentinel, name)
		}
		out := w.Call("agents_lock", yes())
		require.Len(t, out.Warnings, 1)
		assert.Contains(t, out.Warnings[0], "is replaced")
		assert.Len(t, w.lock().Modules, 2)
	}
	w.Write(w.in("agentpack.lock.json"), "{")
	w.Call("agents_update", yes("latest", true))
	assert.Len(t, w.lock().Modules, 2)
}

func TestLockFails(t *testing.T) {
	w, r := locked(t)
	w.manifest("  - {id: 'prompt:p', type: prompt, source: {local_path: {path: none.md}}}\n")
	w.Refused(deployment.ErrConfig, "agents_lock", yes())
	w.manifest(gitModule(r, "nowhere"))
	w.Refused(deployment.ErrGit, "agents_lock", yes())
	w.manifest(gitModule(r, "main"))
	w.deps.Compiler.Offline = true
	details := w.Refused(deployment.ErrOffline, "agents_lock", yes())
	assert.Equal(t, "skill:review", details["module_id"])
	w.manifest(gitModule(r, r.Head()))
	w.Refused(deployment.ErrOffline, "agents_lock", yes())
	w.deps.Compiler.Offline = false
	w.Call("agents_lock", yes())
	w.deps.Compiler.Offline = true
	w.Quiet("agents_lock", yes())
}

func TestFetch(t *testing.T) {
	w, r := locked(t)
	details := w.Refused(deployment.ErrLockMissing, "agents_fetch", yes())
	assert.Equal(t, "/w/user/.agentpack/repo/agentpack.lock.json", details["path"])
	assert.NotEmpty(t, details["hint"])
	w.Call("agents_lock", yes())
	cache := filepath.Join(w.user, ".agentpack", "cache")
	require.NoError(t, os.RemoveAll(cache))
	dry := w.Quiet("agents_fetch", args{"dry_run": true})
	assert.NoDirExists(t, cache)
	out := w.Golden("fetch", "agents_fetch", yes())
	assert.JSONEq(t, string(dry.Data), string(out.Data))
	w.deps.Compiler.Offline = true
	w.Quiet("agents_fetch", yes())

	checkout := filepath.Join(cache, "git", deployment.SumOf([]byte(r.Remote)).String(), r.Head())
	w.Write(filepath.Join(checkout, "skills", "review", "SKILL.md"), "tampered\n")
	details = w.Refused(deployment.ErrContent, "agents_fetch", yes())
	assert.Equal(t, "skill:review", details["module_id"])
	assert.Equal(t, "/w"+checkout[len(w.Top):], details["checkout"])
	w.deps.Compiler.Offline = false
	details = w.Refused(deployment.ErrContent, "agents_lock", yes())
	assert.Equal(t, "skill:review", details["module_id"], "what is in the cache is not locked because it is there")
	w.deps.Compiler.Offline = true
	require.NoError(t, os.RemoveAll(checkout))
	w.Refused(deployment.ErrOffline, "agents_fetch", yes())
	w.deps.Compiler.Offline = false
	w.Call("agents_fetch", yes())
}

// TestFetchReplacesWhatWasChanged: each checkout once, whatever was done to it and however many modules are in it, and none that is as it was.
func TestFetchReplacesWhatWasChanged(t *testing.T) {
	w, r := newWorld(t), gitfixture.New(t, toolsRepo+"-- prompts/p.md --\np\n")
	other := gitfixture.New(t, toolsRepo)
	w.manifest(gitModule(r, "main"), fmt.Sprintf("  - {id: 'prompt:p', type: prompt, source: {git: {url: %q, ref: main, subdir: prompts}}}\n", r.Remote),
		fmt.Sprintf("  - {id: 'skill:other', type: skill, source: {git: {url: %q, ref: main, subdir: skills/review}}}\n", other.Remote))
	w.Call("agents_lock", yes())
	at := func(r *gitfixture.Repo, file string) string {
		return filepath.Join(w.user, ".agentpack", "cache", "git", deployment.SumOf([]byte(r.Remote)).String(), r.Head(), file)
	}
	untouched, err := os.Stat(at(other, "skills"))
	require.NoError(t, err)
	for name, c := range map[string]struct {
		damage   func()
		replaced int
	}{
		"nothing":          {func() {}, 0},
		"edited":           {func() { w.Write(at(r, "skills/review/SKILL.md"), "tampered\n") }, 1},
		"added":            {func() { w.Write(at(r, "skills/review/more.md"), "more\n") }, 1},
		"both":             {func() { w.Write(at(r, "skills/review/more.md"), "more\n"); w.Write(at(r, "prompts/p.md"), "q\n") }, 1},
		"subdir gone":      {func() { require.NoError(t, os.RemoveAll(at(r, "skills"))) }, 1},
		"a link leads out": {func() { require.NoError(t, os.Symlink("/etc/hostname", at(r, "skills/review/link"))) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			for _, call := range []string{"agents_fetch", "agents_update"} {
				c.damage()
				out := w.Call(call, yes())
				require.Len(t, out.Warnings, c.replaced, "%v", out.Warnings)
				for _, warning := range out.Warnings {
					assert.Contains(t, warning, "replaced")
				}
				assert.Empty(t, w.Quiet("agents_fetch", yes()).Warnings)
				assert.Contains(t, w.Text(at(r, "skills/review/SKILL.md")), "Look closely.")
				assert.NoFileExists(t, at(r, "skills/review/more.md"))
				now, err := os.Stat(at(other, "skills"))
				require.NoError(t, err)
				assert.True(t, os.SameFile(untouched, now))
			}
		})
	}
	w.Write(w.in("agentpack.lock.json"), strings.ReplaceAll(w.Text(w.in("agentpack.lock.json")), w.lock().Modules[0].Sum.String(), deployment.SumOf(nil).String()))
	details := w.Refused(deployment.ErrContent, "agents_fetch", yes())
	assert.Equal(t, "prompt:p", details["module_id"])
	w.Write(at(r, "skills/review/SKILL.md"), "tampered\n")
	require.NoError(t, os.Rename(r.Remote, r.Remote+".gone"))
	w.Refused(deployment.ErrGit, "agents_fetch", yes())
}

func TestUpdate(t *testing.T) {
	w, r := locked(t)
	w.Refused(deployment.ErrYes, "agents_update", args{})
	w.Refused(deployment.ErrLockMissing, "agents_update", yes("no_lock", true))
	w.Quiet("agents_update", args{"no_lock": true, "no_fetch": true})
	w.Quiet("agents_update", args{"dry_run": true})
	w.Golden("update", "agents_update", yes())
	first := w.lock().Modules[1].Version
	assert.Equal(t, r.Head(), first)

	r.Write("-- skills/review/more.md --\nmore\n")
	r.Commit("more")
	r.Git("push", "--quiet")
	w.clock.Advance(time.Minute)
	w.Golden("update_fetch", "agents_update", yes())
	assert.Equal(t, first, w.lock().Modules[1].Version, "a lockfile that is there stays")
	w.Quiet("agents_update", yes("no_fetch", true))
	for _, c := range [][2]string{{"lock", "update_changes"}, {"latest", "update"}} { // a commit that changes is told
		flag, file := c[0], c[1]
		w.clock.Advance(time.Minute)
		w.Golden(file, "agents_update", yes(flag, true))
		assert.Equal(t, r.Head(), w.lock().Modules[1].Version)
		require.NoError(t, os.WriteFile(w.in("modules/base/AGENTS.md"), []byte(flag), 0o644))
	}
	w.Golden("update_lock", "agents_update", yes("lock", true, "no_fetch", true))
	out := w.Quiet("agents_update", args{"no_lock": true, "no_fetch": true})
	golden.JSON(t, "update_nothing", out)
}

func TestUpdateContradictions(t *testing.T) {
	w := newWorld(t)
	for _, pair := range [][2]string{{"lock", "no_lock"}, {"fetch", "no_fetch"}, {"latest", "no_lock"}} {
		_, err := w.Try("agents_update", args{pair[0]: true, pair[1]: true})
		require.ErrorIs(t, err, tool.ErrArguments, "%v", pair)
		assert.Contains(t, err.Error(), pair[0]+" and "+pair[1])
	}
}
