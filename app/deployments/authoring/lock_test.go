package authoring_test

import (
	"fmt"
	"os"
	"path/filepath"
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

// locked is a world whose modules are a local one, one from git and one that is off.
func locked(t *testing.T) (*world, *gitfixture.Repo) {
	w, r := newWorld(t), gitfixture.New(t, toolsRepo)
	w.manifest(gitModule(r, "main"), localModule, "  - {id: 'prompt:off', type: prompt, enabled: false, source: {local_path: {path: none.md}}}\n")
	w.write(w.in("modules/base/AGENTS.md"), "# Base instructions\n")
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
	dry := w.quiet("agents_lock", args{"dry_run": true})
	out := w.golden("lock", "agents_lock", yes())
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
	w.quiet("agents_lock", yes())
	w.write(w.in("modules/base/AGENTS.md"), "# Changed\n")
	w.call("agents_lock", yes())
	assert.Equal(t, w.clock.Now(), w.lock().GeneratedAt)
}

// TestLockPlansAreStable: a plan that is confirmed later is the same one.
func TestLockPlansAreStable(t *testing.T) {
	w, _ := locked(t)
	for name, a := range map[string]args{"agents_lock": yes(), "agents_update": yes("lock", true)} {
		first, err := w.begin(name, a)
		require.NoError(t, err)
		w.clock.Advance(time.Minute)
		second, err := w.begin(name, a)
		require.NoError(t, err)
		assert.Equal(t, first.plan.Hash(), second.plan.Hash(), name)
	}
	before, err := w.begin("agents_lock", yes())
	require.NoError(t, err)
	w.write(w.in("modules/base/AGENTS.md"), "# Other\n")
	after, err := w.begin("agents_lock", yes())
	require.NoError(t, err)
	assert.NotEqual(t, before.plan.Hash(), after.plan.Hash())
}

func TestLockReplacesWhatCannotBeRead(t *testing.T) {
	w, _ := locked(t)
	for text, sentinel := range map[string]error{"{": deployment.ErrLock, `{"version": 9, "modules": []}`: deployment.ErrLockVersion} {
		w.write(w.in("agentpack.lock.json"), text)
		for _, name := range []string{"agents_fetch", "agents_update"} {
			_, err := w.try(name, yes())
			assert.ErrorIs(t, err, sentinel, name)
		}
		out := w.call("agents_lock", yes())
		require.Len(t, out.Warnings, 1)
		assert.Contains(t, out.Warnings[0], "made anew")
		assert.Len(t, w.lock().Modules, 2)
	}
	w.write(w.in("agentpack.lock.json"), "{")
	w.call("agents_update", yes("latest", true))
	assert.Len(t, w.lock().Modules, 2)
}

func TestLockFails(t *testing.T) {
	w, r := locked(t)
	w.manifest("  - {id: 'prompt:p', type: prompt, source: {local_path: {path: none.md}}}\n")
	w.refused(deployment.ErrConfig, "agents_lock", yes())
	w.manifest(gitModule(r, "nowhere"))
	w.refused(deployment.ErrGit, "agents_lock", yes())
	w.manifest(gitModule(r, "main"))
	w.deps.Compiler.Offline = true
	details := w.refused(deployment.ErrOffline, "agents_lock", yes())
	assert.Equal(t, "skill:review", details["module_id"])
	w.manifest(gitModule(r, r.Head()))
	w.refused(deployment.ErrOffline, "agents_lock", yes())
	w.deps.Compiler.Offline = false
	w.call("agents_lock", yes())
	w.deps.Compiler.Offline = true
	w.quiet("agents_lock", yes())
}

func TestFetch(t *testing.T) {
	w, r := locked(t)
	details := w.refused(deployment.ErrLockMissing, "agents_fetch", yes())
	assert.Equal(t, "/w/user/.agentpack/repo/agentpack.lock.json", details["path"])
	assert.NotEmpty(t, details["hint"])
	w.call("agents_lock", yes())
	cache := filepath.Join(w.user, ".agentpack", "cache")
	require.NoError(t, os.RemoveAll(cache))
	dry := w.quiet("agents_fetch", args{"dry_run": true})
	assert.NoDirExists(t, cache)
	out := w.golden("fetch", "agents_fetch", yes())
	assert.JSONEq(t, string(dry.Data), string(out.Data))
	w.deps.Compiler.Offline = true
	w.quiet("agents_fetch", yes())

	checkout := filepath.Join(cache, "git", deployment.SumOf([]byte(r.Remote)).String(), r.Head())
	w.write(filepath.Join(checkout, "skills", "review", "SKILL.md"), "tampered\n")
	details = w.refused(deployment.ErrContent, "agents_fetch", yes())
	assert.Equal(t, "skill:review", details["module_id"])
	assert.Equal(t, "/w"+checkout[len(w.top):], details["checkout"])
	w.deps.Compiler.Offline = false
	details = w.refused(deployment.ErrContent, "agents_lock", yes())
	assert.Equal(t, "skill:review", details["module_id"], "what is in the cache is not locked because it is there")
	w.deps.Compiler.Offline = true
	require.NoError(t, os.RemoveAll(checkout))
	w.refused(deployment.ErrOffline, "agents_fetch", yes())
	w.deps.Compiler.Offline = false
	w.call("agents_fetch", yes())
}

func TestUpdate(t *testing.T) {
	w, r := locked(t)
	w.refused(deployment.ErrYes, "agents_update", args{})
	w.refused(deployment.ErrLockMissing, "agents_update", yes("no_lock", true))
	w.quiet("agents_update", args{"no_lock": true, "no_fetch": true})
	w.quiet("agents_update", args{"dry_run": true})
	w.golden("update", "agents_update", yes())
	first := w.lock().Modules[1].Version
	assert.Equal(t, r.Head(), first)

	r.Write("-- skills/review/more.md --\nmore\n")
	r.Commit("more")
	r.Git("push", "--quiet")
	w.clock.Advance(time.Minute)
	w.golden("update_fetch", "agents_update", yes())
	assert.Equal(t, first, w.lock().Modules[1].Version, "a lockfile that is there stays")
	w.quiet("agents_update", yes("no_fetch", true))
	for _, flag := range []string{"lock", "latest"} {
		w.clock.Advance(time.Minute)
		w.golden("update", "agents_update", yes(flag, true))
		assert.Equal(t, r.Head(), w.lock().Modules[1].Version)
		require.NoError(t, os.WriteFile(w.in("modules/base/AGENTS.md"), []byte(flag), 0o644))
	}
	w.golden("update_lock", "agents_update", yes("lock", true, "no_fetch", true))
	out := w.quiet("agents_update", args{"no_lock": true, "no_fetch": true})
	golden.JSON(t, "update_nothing", out)
}

func TestUpdateContradictions(t *testing.T) {
	w := newWorld(t)
	for _, pair := range [][2]string{{"lock", "no_lock"}, {"fetch", "no_fetch"}, {"latest", "no_lock"}} {
		_, err := w.try("agents_update", args{pair[0]: true, pair[1]: true})
		require.ErrorIs(t, err, tool.ErrArguments, "%v", pair)
		assert.Contains(t, err.Error(), pair[0]+" and "+pair[1])
	}
}
