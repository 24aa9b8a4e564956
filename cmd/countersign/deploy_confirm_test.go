package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testkit/stdiotest"
)

// TestConfirmationSequence is the known sequence of the agentpack contract §7.4, with its order of checks (§7.5).
func TestConfirmationSequence(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := s.agent()
	module, deployed := s.inRepo("modules/instructions/base/AGENTS.md"), s.inProject("AGENTS.md")
	v1 := a.deploys(nil)
	edit(t, module, "# House rules", "# House rules, second edition")
	first := a.does("deploy", nil)
	before := s.deployed()

	p := a.refuses("E_CONFIRM_REQUIRED", "deploy_apply", nil)
	assert.Equal(t, "deploy --apply", p.Details["command"])
	a.refuses("E_CONFIRM_REQUIRED", "deploy_apply", args{"confirm_token": first.Token})
	a.refuses("E_CONFIRM_REQUIRED", "deploy_apply", args{"yes": false, "confirm_token": "no token at all"})
	a.refuses("E_CONFIRM_TOKEN_REQUIRED", "deploy_apply", args{"yes": true})
	a.refuses("E_CONFIRM_TOKEN_REQUIRED", "deploy_apply", args{"yes": true, "confirm_token": ""})
	a.refuses("E_CONFIRM_TOKEN_MISMATCH", "deploy_apply", args{"yes": true, "confirm_token": "no token at all"})
	assert.NotContains(t, p.Details, "confirm_plan_hash")

	edit(t, module, "second edition", "third edition")
	p = a.refuses("E_CONFIRM_TOKEN_MISMATCH", "deploy_apply", args{"yes": true, "confirm_token": first.Token})
	assert.Equal(t, first.Hash, p.Details["expected_confirm_plan_hash"])
	assert.Regexp(t, `^[0-9a-f]{64}$`, p.Details["confirm_plan_hash"])
	assert.NotEqual(t, first.Hash, p.Details["confirm_plan_hash"])
	assert.Equal(t, before, s.deployed(), "nothing is written without the token of this very plan")

	fresh := a.does("deploy", nil)
	assert.Equal(t, p.Details["confirm_plan_hash"], fresh.Hash)
	v3 := a.does("deploy_apply", args{"yes": true, "confirm_token": fresh.Token})
	assert.Contains(t, read(t, deployed), "third edition")
	a.refuses("E_CONFIRM_TOKEN_MISMATCH", "deploy_apply", args{"yes": true, "confirm_token": fresh.Token})

	edit(t, module, "third edition", "fourth edition")
	a.deploys(nil)
	assert.Contains(t, read(t, deployed), "fourth edition")
	a.refuses("E_CONFIRM_REQUIRED", "rollback", args{"to": v3.Snapshot})
	a.refuses("E_CONFIRM_REQUIRED", "rollback", args{"to": "there is none", "yes": false})
	assert.Contains(t, read(t, deployed), "fourth edition")
	a.does("rollback", args{"to": v3.Snapshot, "yes": true})
	assert.Contains(t, read(t, deployed), "third edition")
	a.does("rollback", args{"to": v1.Snapshot, "yes": true})
	assert.Contains(t, read(t, deployed), "# House rules\n")
}

// spelledOut returns the arguments that a call has when it says nothing.
func (s *site) spelledOut() args {
	return args{"repo": s.repo, "profile": "default", "target": "all", "machine": "WorkBench"}
}

// TestBindingIsOfResolvedValues: a call with no arguments and the same spelled out are one binding; another one is not.
func TestBindingIsOfResolvedValues(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := s.agent()
	bare := a.does("deploy", nil)
	spelled := a.does("deploy", s.spelledOut())
	assert.Equal(t, bare.Hash, spelled.Hash)
	assert.NotEqual(t, bare.Token, spelled.Token, "every deploy gives a token of its own")
	for name, value := range map[string]string{"profile": "quiet", "target": "cursor", "machine": "another"} {
		in := args{"yes": true, "confirm_token": bare.Token, name: value}
		a.refuses("E_CONFIRM_TOKEN_MISMATCH", "deploy_apply", in)
	}
	copied := filepath.Join(s.countersign, "copy") // the same plan out of another repository, or for another machine, is another deployment
	require.NoError(t, os.CopyFS(copied, os.DirFS(s.repo)))
	first := a.does("deploy", args{"machine": "first"})
	assert.Equal(t, first.Changes, a.does("plan", args{"machine": "second", "repo": copied}).Changes)
	a.refuses("E_CONFIRM_TOKEN_MISMATCH", "deploy_apply", args{"yes": true, "confirm_token": first.Token, "machine": "second"})
	first = a.does("deploy", args{"machine": "first"})
	a.refuses("E_CONFIRM_TOKEN_MISMATCH", "deploy_apply", args{"yes": true, "confirm_token": first.Token, "machine": "first", "repo": copied})
	bare = a.does("deploy", nil)
	in := s.spelledOut()
	maps.Copy(in, args{"yes": true, "confirm_token": bare.Token, "dry_run": false, "adopt": false})
	assert.True(t, *a.does("deploy_apply", in).Applied)
}

// TestTokenIsOfProjectAndHome: the same words in another project or with another home are another deployment.
func TestTokenIsOfProjectAndHome(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.newProject(s.base+"/work/neighbour/other", "")
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(s.base+"/work/neighbour/other")) })
	here := s.agent().does("deploy", nil)
	assert.NotEqual(t, here.Hash, s.agentIn(s.base+"/work/neighbour/other").does("deploy", nil).Hash, "another project")
	s.env["AGENTPACK_HOME"], s.env["HOME"] = s.base+"/countersign/pack", s.base+"/countersign/home"
	require.NoError(t, os.MkdirAll(s.env["HOME"], 0o755))
	assert.NotEqual(t, here.Hash, s.agent().does("deploy", args{"repo": s.repo}).Hash, "another home")
}

// TestAdoptRefusalLeavesTheTokenGood: what would be overwritten was in the reviewed plan, so its token is good for adopting too.
func TestAdoptRefusalLeavesTheTokenGood(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	write(t, s.inProject("AGENTS.md"), "my own\n")
	a := s.agent()
	offer := a.does("deploy", nil)
	p := a.refuses("E_ADOPT_CONFIRM_REQUIRED", "deploy_apply", args{"yes": true, "confirm_token": offer.Token})
	assert.Equal(t, []any{s.inProject("AGENTS.md")}, p.Details["sample_paths"])
	assert.EqualValues(t, 1, p.Details["adopt_updates"])
	assert.Equal(t, "--adopt", p.Details["flag"])
	assert.Equal(t, "my own\n", read(t, s.inProject("AGENTS.md")))
	a.does("deploy_apply", args{"yes": true, "confirm_token": offer.Token, "adopt": true})
	assert.Contains(t, read(t, s.inProject("AGENTS.md")), "# House rules")
}

// TestTokenEndsWithItsSession: a token is of the client that got it; a server that was started anew knows nothing of it.
func TestTokenEndsWithItsSession(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := s.agent()
	offer := a.does("deploy", nil)
	a.CloseStdin()
	require.Equal(t, 0, a.Wait())
	before := s.deployed()
	s.agent().refuses("E_CONFIRM_TOKEN_MISMATCH", "deploy_apply", args{"yes": true, "confirm_token": offer.Token})
	assert.Equal(t, before, s.deployed())
}

// TestNoTokenForAFailingPlan: a deploy that fails has no data at all, so no token either.
func TestNoTokenForAFailingPlan(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	require.NoError(t, os.Remove(s.inRepo("modules/instructions/base/AGENTS.md")))
	e := s.agent().ask("deploy", nil)
	e.refusal(t, "E_CONFIG_INVALID")
	assert.NotContains(t, string(e.Data)+fmt.Sprint(e.Errors), "confirm_token")
}

// TestTokenOfADryRun: a dry run needs neither yes nor token, applies nothing and spends nothing.
func TestTokenOfADryRun(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := s.agent()
	before := s.deployed()
	offer := a.does("deploy", nil)
	for _, in := range []args{{}, {"yes": true}, {"yes": true, "confirm_token": offer.Token}} {
		in["dry_run"] = true
		dry := a.does("deploy_apply", in)
		assert.False(t, *dry.Applied)
		assert.Equal(t, offer.Changes, dry.Changes)
	}
	assert.Equal(t, before, s.deployed())
	assert.True(t, *a.does("deploy_apply", args{"yes": true, "confirm_token": offer.Token}).Applied)
}

// TestNothingToApply: an empty plan is applied as such, writes nothing and leaves no snapshot.
func TestNothingToApply(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := s.agent()
	a.deploys(nil)
	before := tree(t, s.home, s.project)
	again := a.deploys(nil)
	assert.False(t, *again.Applied)
	assert.Equal(t, "no_changes", again.Reason)
	assert.Empty(t, again.Snapshot)
	assert.Equal(t, before, tree(t, s.home, s.project))
}

// TestOneTokenAppliesOnce: one token, presented twenty times at once by one client while another process applies the same plan with a
// token of its own: exactly one of all of them writes, and the others say why not.
func TestOneTokenAppliesOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for i := range 60 {
		write(t, s.inRepo(fmt.Sprintf("modules/skills/release-notes/pages/%02d.md", i)), "a page\n")
	}
	clients := []*agent{s.agent(), s.agent()}
	applied := 0
	offers := []answer{clients[0].does("deploy", nil), clients[1].does("deploy", nil)}
	assert.Equal(t, offers[0].Hash, offers[1].Hash)
	clients[1].refuses("E_CONFIRM_TOKEN_MISMATCH", "deploy_apply", args{"yes": true, "confirm_token": offers[0].Token})
	const times = 10
	for n := range times { // all of them are on their way before the first is answered
		for i, c := range clients {
			c.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"%d","method":"tools/call","params":{"name":"deploy_apply","arguments":{"yes":true,"confirm_token":%q}}}`, n, offers[i].Token))
		}
	}
	for _, c := range clients {
		for range times {
			e := checked(t, stdiotest.ResultOf(t, response(t, c.Recv())))
			if e.OK {
				if *e.answer(t).Applied {
					applied++
				}
				continue
			}
			assert.Contains(t, []string{"E_CONFIRM_TOKEN_MISMATCH", "E_PLAN_STALE"}, e.Errors[0].Code, e.Errors[0].Message)
		}
	}
	assert.Equal(t, 1, applied, "deployments that wrote")
	assert.Empty(t, clients[0].does("plan", nil).Changes)
}

// TestTokenTime: a token says when it ends, at most ten minutes from now.
func TestTokenTime(t *testing.T) {
	t.Parallel()
	offer := newSite(t).agent().does("deploy", nil)
	expires, err := time.Parse(time.RFC3339Nano, offer.Expires)
	require.NoError(t, err)
	left := time.Until(expires)
	assert.Greater(t, left, time.Minute)
	assert.LessOrEqual(t, left, 10*time.Minute)
}
