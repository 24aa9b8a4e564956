package releases_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/ecosystem"
)

// independent is an ecosystem in which api depends on lib, and app on api, each with versions of its own.
func independent(t *testing.T) *rig {
	t.Helper()
	r := newRig(t, "app", "api", "lib", "web")
	r.edit("{name: api,", "{name: api, depends_on: [lib],")
	r.edit("{name: app,", "{name: app, depends_on: [api],")
	r.edit("release:\n", "release:\n  versions: independent\n")
	r.root.Commit("independent")
	return r
}

// tags returns the tags of a clone.
func (r *rig) tags(name string) string { return r.git(name, "tag", "--sort=v:refname") }

// TestIndependentVersions: each repository goes on by its own commits, what depends on it by a patch, and the rest stays.
func TestIndependentVersions(t *testing.T) {
	t.Parallel()
	r := independent(t)
	r.released(bump, args{"bump_type": "auto"})
	for name := range r.origins {
		assert.Equal(t, "v0.1.0", r.tags(name), "feat: raises minor")
	}
	o := r.call(bump, "plan", args{"bump_type": "auto"})
	require.Error(t, o.Err)
	assert.Contains(t, o.Err.Error(), "nothing was committed")

	r.commit("lib", "a.txt", "fix: a")
	r.commit("web", "a.txt", "refactor!: other names\n\nBREAKING CHANGE: all of them")
	status := r.ask(status, nil)
	assert.Equal(t, "independent", status["versions"])
	next := map[string]any{}
	for _, repo := range status["repos"].([]any) {
		next[repo.(args)["name"].(string)] = repo.(args)["next"]
	}
	assert.Equal(t, map[string]any{"app": nil, "api": nil, "lib": "v0.1.1", "web": "v0.2.0"}, next, "before 1.0.0, what breaks raises minor")
	shown := object(t, r.call(bump, "plan", args{"bump_type": "auto", "push": true}).Value)["preview"].(args)
	assert.Equal(t, "independent", shown["versions"])
	var planned [][3]any
	for _, repo := range shown["repos"].([]any) {
		planned = append(planned, [3]any{repo.(args)["name"], repo.(args)["tag"], repo.(args)["updated"]})
	}
	assert.Equal(t, [][3]any{{"lib", "v0.1.1", nil}, {"api", "v0.1.1", []any{"lib to 0.1.1"}}, {"app", "v0.1.1", []any{"api to 0.1.1"}}, {"web", "v0.2.0", nil}}, planned)

	r.released(bump, args{"bump_type": "auto", "push": true})
	assert.Contains(t, r.read(filepath.Join(r.dir("app"), "CHANGELOG.md")), "## [0.1.1] - 2026-01-02\n\n- Updated api to 0.1.1\n")
	assert.Equal(t, "0.2.0\n", r.read(filepath.Join(r.dir("web"), "VERSION")))
	for name, o := range r.origins {
		assert.Equal(t, r.tags(name), o.Git("-C", o.Remote, "tag"), "with those of the release before")
	}
	record := object(t, []byte(r.root.Git("-C", r.root.Remote, "show", "main:ecosystems/demo/releases/release-2.json")))
	assert.Equal(t, true, record["pushed"])
	assert.Equal(t, "v0.1.0", record["repos"].(args)["lib"].(args)["previous_tag"])
	entry := r.ask(logs, nil)["records"].([]any)[0].(args)
	assert.Equal(t, []any{"api v0.1.1", "app v0.1.1", "lib v0.1.1", "web v0.2.0"}, entry["tags"])
	assert.Equal(t, "release-2", entry["tag"])

	r.commit("api", "b.txt", "feat: b")
	r.released(bump, args{"bump_type": "minor", "pre_release": "alpha"})
	assert.Equal(t, "v0.1.0\nv0.1.1\nv0.2.0-alpha.1", r.tags("api"))
	assert.Equal(t, "v0.1.0\nv0.1.1\nv0.1.2-alpha.1", r.tags("app"))
	r.released(promote, nil)
	assert.Contains(t, r.read(filepath.Join(r.dir("api"), "CHANGELOG.md")), "## [0.2.0] - 2026-01-02\n\n- feat: b\n")
	assert.Equal(t, "v0.1.0\nv0.2.0", r.tags("web"))
}

// TestKilledWithIndependentVersions: as with one version, a release is there altogether after a kill, or not at all; and eco push finishes its push.
func TestKilledWithIndependentVersions(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "web")
	before := r.snapshot()
	id := r.queued(bump, args{"bump_type": "auto", "independent": true})
	require.True(t, r.doom(4), "after the first repository")
	assert.Equal(t, "v0.1.0", r.tags("api")+r.tags("web"))
	assert.Equal(t, ecosystem.RunFailed, r.drain(id).Status)
	assert.Equal(t, before, r.snapshot())
	id = r.queued(bump, args{"bump_type": "auto", "independent": true, "push": true})
	require.True(t, r.doom(8), "after the last repository")
	r.drain(id)
	assert.Contains(t, r.said(id), "finishing release-1")
	r.commit("web", "a.txt", "fix: a")
	id = r.queued(bump, args{"bump_type": "auto", "independent": true, "push": true})
	done := r.drain(id)
	require.Equal(t, ecosystem.RunSuccess, done.Status, done.Error)
	assert.Equal(t, "v0.1.0\nv0.1.1", r.origins["web"].Git("-C", r.origins["web"].Remote, "tag"), "with the tag that the kill left here")
	assert.Equal(t, []any{"release-1"}, r.ask(status, nil)["unpushed_records"], "api's tag of it is not out")
}

// TestTheCommitsDecide about one version for all, too.
func TestTheCommitsDecide(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "web")
	r.released(bump, args{"bump_type": "major"})
	r.commit("web", "a.txt", "fix: a")
	assert.Equal(t, "v1.0.1", object(t, r.call(bump, "plan", args{"bump_type": "auto"}).Value)["preview"].(args)["tag"])
	r.commit("api", "a.txt", "chore: b\n\nBREAKING CHANGE: c")
	assert.Equal(t, "v2.0.0", object(t, r.call(bump, "plan", args{"bump_type": "auto"}).Value)["preview"].(args)["tag"])
}
