package push_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/ecosystem/release"
)

const (
	bump          = "amof_release_bump"
	releaseStatus = "amof_release_status"
)

// released makes the next alpha, which needs no changelog.
func (r *rig) released(push bool) string {
	r.t.Helper()
	return r.worked(bump, args{"bump_type": "patch", "pre_release": "alpha", "push": push})["tag"].(string)
}

// remoteTags returns the tags of a repository's origin.
func (r *rig) remoteTags(name string) string {
	r.t.Helper()
	return r.origins[name].Git("-C", r.origins[name].Remote, "tag")
}

// version returns the current version, and what is not pushed of it.
func (r *rig) version() (string, []any) {
	r.t.Helper()
	o := r.call(releaseStatus, "", nil)
	require.NoError(r.t, o.Err)
	found := decoded(r.t, o.Value)
	left, _ := found["unpushed_records"].([]any)
	return found["current_version"].(string), left
}

// recordOut reports whether the workspace root's origin has the record of a release, and that it says that the release is pushed.
func (r *rig) recordOut(tag string) bool {
	r.t.Helper()
	doc, ok := release.ReadRecord([]byte(r.root.Git("-C", r.root.Remote, "show", "main:ecosystems/demo/releases/"+tag+".json")))
	return ok && doc.Pushed
}

// TestAReleaseIsPushedLater: tags, branches and the record get out together, and the preview says so.
func TestAReleaseIsPushedLater(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "web")
	r.ticket("T-1", "api")
	tag := r.released(false)
	assert.Empty(t, r.remoteTags("api"))
	now, left := r.version()
	assert.Equal(t, "v0.0.1-alpha.1", now)
	assert.Equal(t, []any{tag}, left)

	p := r.preview(shippingPush, nil)
	clone := p["repos"].([]any)[0].(args)
	assert.Equal(t, []any{tag}, clone["tags"], "the clone goes with the ticket, for its tags")
	assert.NotContains(t, clone, "ticket")
	root := p["root"].(args)
	assert.Equal(t, "main", root["branch"])
	assert.Equal(t, []any{"chore(release): " + tag + " pushed"}, root["commits"])
	assert.Equal(t, []any{"ecosystems/demo/releases/" + tag + ".json"}, root["files"])
	assert.Contains(t, root["also_pushed"], "chore(release): "+tag)

	result := r.worked(shippingPush, nil)
	assert.Equal(t, "pushed", result["root"].(args)["status"])
	assert.Equal(t, tag, r.remoteTags("api"))
	assert.Equal(t, tag, r.remoteTags("web"))
	assert.Equal(t, r.git("web", "rev-parse", "main"), r.remote("web", "main"))
	assert.NotEmpty(t, r.remote("api", "feature/T-1"))
	assert.True(t, r.recordOut(tag))
	_, left = r.version()
	assert.Empty(t, left)
	o := r.call(shippingPush, "execute", nil)
	require.NoError(t, o.Err)
	assert.Equal(t, true, decoded(t, o.Value)["noop"])
}

// TestAReleaseSurvivesItsArchive: what was released is at the remotes, or in bundles, and the next workspace goes on from there.
func TestAReleaseSurvivesItsArchive(t *testing.T) {
	t.Parallel()
	for name, offline := range map[string]bool{"pushed": false, "in bundles": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "api", "web")
			r.commit("api", "new.txt")
			tag := r.released(false)
			head := r.git("api", "rev-parse", "HEAD")
			r.worked(archive, args{"offline": offline})
			assert.Equal(t, offline, r.remoteTags("api") == "")
			assert.Equal(t, !offline, strings.Contains(r.root.Git("-C", r.root.Remote, "log", "--format=%s", "main"), tag+" pushed"))
			p := r.preview("amof_install_ecosystem", nil)
			assert.Equal(t, offline, p["repos"].([]any)[0].(args)["bundle"] != nil)
			r.worked("amof_install_ecosystem", nil)
			assert.Equal(t, head, r.git("api", "rev-parse", "HEAD"), "nothing that was archived is lost")
			now, left := r.version()
			assert.Equal(t, tag, now)
			assert.Equal(t, offline, len(left) > 0)
			assert.Equal(t, "v0.0.1-alpha.2", r.released(true))
			assert.Equal(t, tag+"\nv0.0.1-alpha.2", r.remoteTags("web"))
			assert.True(t, r.recordOut(tag) && r.recordOut("v0.0.1-alpha.2"))
		})
	}
}

// TestTagsThatNobodyPushes are saved in a bundle when their repository is archived; where that is not possible, nothing is removed.
func TestTagsThatNobodyPushes(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "lib", "web")
	r.git("api", "tag", "mine")
	r.git("lib", "tag", "-a", "-m", "x", "noted")
	r.git("web", "tag", "-a", "-m", "x", "v9.9.9")
	r.git("web", "push", "--quiet", "origin", "v9.9.9")
	r.git("web", "tag", "-f", "-a", "-m", "y", "v9.9.9") // the remote has another one
	p := r.preview(archive, nil)
	reasons := map[string]any{}
	for _, b := range p["bundles"].([]any) {
		reasons[b.(args)["repo"].(string)] = b.(args)["reason"]
	}
	assert.Equal(t, map[string]any{"api": "tags that no remote has: mine", "lib": "tags that no remote has: noted", "web": "tags that no remote has: v9.9.9"}, reasons)
	was := r.git("lib", "rev-parse", "noted")
	result := r.worked(archive, nil)
	require.Len(t, result["bundles"], 3)
	r.worked("amof_install_ecosystem", nil)
	assert.Equal(t, "mine", r.git("api", "tag"))
	assert.Equal(t, was, r.git("lib", "rev-parse", "noted"))

	tag := r.released(false)
	r.git("web", "checkout", "--quiet", "--detach")
	refusal := r.refused("eco_unsaved_work", archive, nil)
	assert.Contains(t, refusal.Message, "web: "+tag)
	p = r.preview(discard, nil)
	assert.Equal(t, args{"api": []any{"mine", tag}, "lib": []any{"noted", tag}, "web": []any{tag}}, p["tags"])
}

// TestAReleaseThatIsPushedIsKilledAnywhere: afterwards it is there altogether or not at all, the status says what is not pushed, and a push finishes it.
func TestAReleaseThatIsPushedIsKilledAnywhere(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "web")
	half := 0
	for step := 17; ; step += 2 { // every repository is tagged and the release recorded before 13; each state is one between two steps
		id := r.queued(bump, args{"bump_type": "patch", "pre_release": "alpha", "push": true})
		more := r.killed(step, bump)
		done := r.drain(id)
		tags := r.git("api", "tag")
		require.Equal(t, tags, r.git("web", "tag"), step)
		if !more {
			require.Equal(t, ecosystem.RunSuccess, done.Status, done.Error)
			break
		}
		require.Equal(t, ecosystem.RunFailed, done.Status)
		tag := "v" + strings.TrimPrefix(tags[strings.LastIndex(tags, "\n")+1:], "v")
		if tag == "v" {
			continue
		}
		_, left := r.version()
		if out := r.remoteTags("api") == tags && r.remoteTags("web") == tags; !out {
			half++
			require.NotEmpty(t, left, step)
		}
		o := r.confirmed(shippingPush, nil)
		require.NoError(t, o.Err, step)
		if answer := decoded(t, o.Value); answer["noop"] != true {
			require.Equal(t, ecosystem.RunSuccess, r.drain(answer["run_id"].(string)).Status, step)
		}
		for _, name := range []string{"api", "web"} {
			require.Equal(t, tags, r.remoteTags(name), step)
			require.Equal(t, r.git(name, "rev-parse", "main"), r.remote(name, "main"), step)
		}
		require.Equal(t, r.root.Git("rev-parse", "main"), r.root.Git("-C", r.root.Remote, "rev-parse", "main"), step)
		require.Empty(t, r.root.Git("status", "--porcelain"), step)
		_, left = r.version()
		require.Empty(t, left, step)
	}
	assert.GreaterOrEqual(t, half, 3)
	for tag := range strings.SplitSeq(r.git("api", "tag"), "\n") {
		assert.True(t, r.recordOut(tag), tag)
	}
}

// TestARelativeOrigin is the same place from every worktree.
func TestARelativeOrigin(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api")
	near, err := filepath.Rel(r.root.Dir, r.root.Remote)
	require.NoError(t, err)
	r.root.Git("remote", "set-url", "origin", near)
	require.NoError(t, os.WriteFile(r.at("new.txt"), []byte("x"), 0o644))
	r.root.Git("-C", r.at(), "add", "new.txt")
	r.root.Git("-C", r.at(), "commit", "--quiet", "--message", "new")
	assert.Equal(t, "pushed", statuses(r.worked(shippingPush, nil))["workspace"])
	assert.Equal(t, r.root.Git("rev-parse", "workspace/demo"), r.root.Git("-C", r.root.Remote, "rev-parse", "workspace/demo"))
}

// TestASpentTokenSaysSo also where what it was for cannot be planned any more.
func TestASpentTokenSaysSo(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api")
	o := r.call(archive, "execute", nil)
	require.NotNil(t, o.Request)
	token := args{"confirm_token": o.Request.Token.Reveal()}
	o = r.call(archive, "execute", token)
	require.NoError(t, o.Err)
	require.Equal(t, ecosystem.RunSuccess, r.drain(decoded(t, o.Value)["run_id"].(string)).Status)
	assert.ErrorIs(t, r.call(archive, "execute", token).Err, confirm.ErrUsed)
	assert.ErrorIs(t, r.call(archive, "execute", nil).Err, ecosystem.ErrNotInstalled)
}

// TestEveryEnvironmentIsWarnedOf before its workspace goes, whatever it is called.
func TestEveryEnvironmentIsWarnedOf(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api")
	for name, state := range map[string]string{"default": "none", "staging": "deployed", "demo-2": "failed"} {
		require.NoError(t, r.deps.States.Note(t.Context(), r.found().Layout, ecosystem.StateKey(name), []byte(`{"environment":"`+name+`","state":"`+state+`"}`)))
	}
	for _, name := range []string{archive, discard} {
		o := r.call(name, "plan", nil)
		require.NoError(t, o.Err)
		said := string(o.Value)
		assert.Contains(t, said, "the environment staging is deployed, and may run")
		assert.Contains(t, said, "the environment demo-2 is failed, and may run")
		assert.NotContains(t, said, "the environment default")
	}
}
