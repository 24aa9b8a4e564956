package push_test

import (
	"context"
	"encoding/json"
	"os"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// TestWorkThatOriginHasNoMore: what was last fetched of a branch says nothing once somebody has deleted it at origin.
func TestWorkThatOriginHasNoMore(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "rolib")
	far := map[string]func(args ...string){}
	for name, origin := range r.origins {
		far[name] = func(args ...string) { origin.Git(append([]string{"-C", origin.Remote}, args...)...) }
		origin.Git("checkout", "--quiet", "-b", "mine")
		origin.Commit("mine")
		origin.Git("push", "--quiet", "origin", "mine")
		r.git(name, "fetch", "--quiet", "origin")
		r.git(name, "checkout", "--quiet", "mine")
		r.git(name, "tag", "kept")
	}
	r.git("api", "checkout", "--quiet", "main")
	p := r.preview(discard, nil)
	assert.Equal(t, "what origin has now", p["judged_by"])
	assert.Equal(t, 0, unpushed(p, "api", "mine"))
	far["api"]("update-ref", "-d", "refs/heads/mine")
	far["rolib"]("update-ref", "-d", "refs/heads/mine")

	p = r.preview(discard, nil)
	assert.Equal(t, 1, unpushed(p, "api", "mine"))
	assert.Equal(t, args{"api": []any{"kept"}, "rolib": []any{"kept"}}, p["tags"])
	o := r.call(archive, "plan", nil)
	require.Error(t, o.Err)
	assert.Contains(t, o.Err.Error(), "api: mine (1 commit)")

	r.git("api", "push", "--quiet", "origin", "mine")
	p = r.preview(archive, nil)
	assert.Contains(t, p["bundles"], args{"repo": "rolib", "reason": "it is read-only and has commits of its own"})
	mine := r.git("rolib", "rev-parse", "mine")
	result := r.worked(archive, nil)
	assert.Contains(t, r.root.Git("bundle", "list-heads", result["bundles"].([]any)[1].(string)), mine)
}

func unpushed(preview args, repo, branch string) int {
	for _, b := range preview["branches"].([]any) {
		if b := b.(args); b["repo"] == repo && b["branch"] == branch {
			return int(b["unpushed_commits"].(float64))
		}
	}
	return -1
}

// TestAnOriginThatDoesNotAnswer: the plan says by what it judges then.
func TestAnOriginThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "rolib")
	for _, origin := range r.origins {
		require.NoError(t, os.Rename(origin.Remote, origin.Remote+".away"))
	}
	for _, name := range []string{discard, archive} {
		o := r.call(name, "plan", nil)
		require.NoError(t, o.Err)
		assert.Regexp(t, `rolib: origin did not answer; what it lacks is judged by what was last fetched on \d{4}-\d\d-\d\d"`, string(o.Value))
		assert.Equal(t, "what origin has now; for 2 of 3 repositories, what was last fetched from it", r.preview(name, nil)["judged_by"])
	}
}

// TestAnExplanationContactsNoOrigin (amof contract §11), and says so.
func TestAnExplanationContactsNoOrigin(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "rolib")
	r.commit("api", "new.txt")
	var reached atomic.Int32
	ctx, _ := gitcli.Outreach{}.Guard(t.Context(), func(context.Context, string) (bool, error) {
		reached.Add(1)
		return true, nil
	})
	call := func(name, mode string) tool.Outcome {
		in := args{"ecosystem": "demo", "mode": mode}
		if name == bump {
			in["bump_type"], in["pre_release"], in["push"] = "patch", "alpha", true
		}
		doc, err := json.Marshal(in)
		require.NoError(t, err)
		return r.Call(ctx, tool.Call{Session: "s", FromUser: true, Principal: policy.Principal{ID: "me", Grants: policy.All}, Tool: tool.Name(name), Args: doc})
	}
	for _, name := range []string{shippingPush, bump, archive, discard} {
		o := call(name, "ask")
		require.True(t, o.Explained, name)
		require.Zero(t, reached.Swap(0), name)
		if name == archive || name == discard {
			assert.Equal(t, "what was last fetched from origin", decoded(t, o.Value)["current_state"].(args)["judged_by"], name)
		}
		require.NoError(t, call(name, "plan").Err, name)
		require.NotZero(t, reached.Swap(0), "%s: a plan does", name)
	}
}
