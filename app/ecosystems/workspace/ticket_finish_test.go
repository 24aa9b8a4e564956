package workspace_test

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/app/ecosystems/workspace"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

const (
	syncTicket = "ecosystem_ticket_sync"
	merge      = "ecosystem_ticket_merge"
	proposals  = "ecosystem_ticket_pr"
)

// work commits a file in a directory, and returns the commit.
func (r *ticketRig) work(dir, file, text string) string {
	r.t.Helper()
	require.NoError(r.t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644))
	r.root.Git("-C", dir, "add", "--all")
	r.root.Git("-C", dir, "commit", "--quiet", "--message", "work on "+file)
	return r.root.Git("-C", dir, "rev-parse", "HEAD")
}

// elsewhere pushes a commit to the origin of a repository, as a colleague does.
func (r *ticketRig) elsewhere(name, file, text string) string {
	r.t.Helper()
	o := r.origins[name]
	head := r.work(o.Dir, file, text)
	o.Git("push", "--quiet", "origin", "main")
	return head
}

// finish returns what came of a confirmed call, by repository.
func (r *ticketRig) finish(name string, in ticketArgs) (map[string]workspace.FinishRepo, tool.Outcome) {
	r.t.Helper()
	o := r.confirmed(name, in)
	by := map[string]workspace.FinishRepo{}
	if o.Err == nil {
		for _, one := range read[workspace.FinishResult](r.t, o.Value).Repos {
			by[one.Name] = one
		}
	}
	return by, o
}

// TestTicketSync rebases on what origin has now, leaves alone what conflicts, and says what it would do beforehand.
func TestTicketSync(t *testing.T) {
	t.Parallel()
	r := ticketNewRig(t)
	r.does(start, ticketArgs{"ticket_id": "T-1"})
	o := r.call(syncTicket, "execute", nil)
	require.NoError(t, o.Err)
	assert.True(t, read[workspace.FinishResult](t, o.Value).Noop, "nothing to do, nothing to ask")

	mine := r.work(r.tree("T-1", "api"), "mine.txt", "mine")
	r.work(r.tree("T-1", "web"), "web.txt", "mine")
	theirs := r.elsewhere("api", "theirs.txt", "theirs")
	r.elsewhere("web", "web.txt", "theirs")
	plan := r.call(syncTicket, "plan", nil)
	require.NoError(t, plan.Err)
	assert.Contains(t, string(plan.Value), `"action":"rebase"`)
	assert.Equal(t, mine, r.root.Git("-C", r.tree("T-1", "api"), "rev-parse", "HEAD"), "a plan changes nothing")

	before := r.root.Git("-C", r.tree("T-1", "web"), "rev-parse", "HEAD")
	_, o = r.finish(syncTicket, nil)
	require.ErrorIs(t, o.Err, ecosystem.ErrConflict)
	assert.Contains(t, o.Err.Error(), "both changed web.txt")
	assert.Equal(t, theirs, r.root.Git("-C", r.tree("T-1", "api"), "rev-parse", "HEAD~1"), "the others are done")
	assert.Equal(t, "mine", r.root.Git("-C", r.tree("T-1", "api"), "show", "HEAD:mine.txt"))
	assert.FileExists(t, filepath.Join(r.tree("T-1", "api"), "theirs.txt"))
	assert.Equal(t, "feature/T-1", r.branch(r.tree("T-1", "api")))
	assert.Equal(t, before, r.root.Git("-C", r.tree("T-1", "web"), "rev-parse", "HEAD"))
	assert.Empty(t, r.root.Git("-C", r.tree("T-1", "web"), "status", "--porcelain"))
	assert.Len(t, strings.Split(r.root.Git("-C", r.clone("web"), "worktree", "list"), "\n"), 2, "nothing is left of the attempt")

	plan = r.call(syncTicket, "plan", nil)
	require.NoError(t, plan.Err)
	assert.Contains(t, string(plan.Value), "web: both sides have changed web.txt", "which is known beforehand once it is here")
	require.NoError(t, os.WriteFile(filepath.Join(r.tree("T-1", "web"), "web.txt"), []byte("dirty"), 0o644))
	o = r.call(syncTicket, "execute", nil)
	require.Error(t, o.Err)
	assert.Nil(t, o.Request, "nobody is asked about what cannot be")
	assert.Contains(t, o.Err.Error(), "changes that are not committed (web.txt)")
}

// TestTicketMerge merges in the order of dependencies, all of it checked first, and goes on where it was stopped.
// TestAnExplanationOfATicketContactsNoOrigin (amof contract §11), although a plan of the same call does.
func TestAnExplanationOfATicketContactsNoOrigin(t *testing.T) {
	t.Parallel()
	r := ticketNewRig(t)
	r.does(start, ticketArgs{"ticket_id": "T-1"})
	r.work(r.tree("T-1", "web"), "mine.txt", "web")
	var reached atomic.Int32
	ctx, _ := gitcli.Outreach{}.Guard(t.Context(), func(context.Context, string) (bool, error) {
		reached.Add(1)
		return true, nil
	})
	call := func(name, mode string, in ticketArgs) tool.Outcome {
		in["ecosystem"], in["mode"] = "demo", mode
		doc, err := tool.Encode(in)
		require.NoError(t, err)
		return r.Call(ctx, tool.Call{Session: "s", Principal: policy.Principal{ID: "me", Grants: policy.All}, Tool: tool.Name(name), Args: doc})
	}
	for name, in := range map[string]ticketArgs{syncTicket: {}, merge: {"push": true}, end: {"cleanup": "all", "force": true}} {
		o := call(name, "ask", in)
		require.True(t, o.Explained, "%s: %v", name, o.Err)
		require.Zero(t, reached.Swap(0), name)
		require.NoError(t, call(name, "plan", in).Err, name)
		require.NotZero(t, reached.Swap(0), "%s: a plan does", name)
	}
}

func TestTicketMerge(t *testing.T) {
	t.Parallel()
	r := ticketNewRig(t)
	text, err := os.ReadFile(filepath.Join(r.root.Dir, "ecosystems", "demo", "ecosystem.yaml"))
	require.NoError(t, err)
	r.manifest(strings.Replace(string(text), "branch: main, readonly: false}", "branch: main, depends_on: [web]}", 1))
	r.does(start, ticketArgs{"ticket_id": "T-1"})
	head := r.work(r.tree("T-1", "web"), "mine.txt", "web")
	r.work(r.tree("T-1", "api"), "api.txt", "ours")
	r.work(r.clone("api"), "api.txt", "another")
	o := r.call(merge, "execute", ticketArgs{"push": true})
	require.ErrorIs(t, o.Err, ecosystem.ErrConflict)
	assert.Contains(t, o.Err.Error(), "api: both sides have changed api.txt; ecosystem_ticket_sync rebases it; nothing was changed")
	assert.NotEqual(t, head, r.root.Git("-C", r.clone("web"), "rev-parse", "main"))

	r.root.Git("-C", r.clone("api"), "reset", "--quiet", "--hard", "origin/main")
	r.work(r.clone("api"), "other.txt", "another")
	r.origins["web"].Git("-C", r.origins["web"].Remote, "config", "receive.hideRefs", "refs/heads/main")
	plan := r.call(merge, "plan", ticketArgs{"push": true})
	require.NoError(t, plan.Err)
	assert.Contains(t, string(plan.Value), `"order":["web","api"]`)
	_, o = r.finish(merge, ticketArgs{"push": true})
	require.Error(t, o.Err)
	assert.Contains(t, o.Err.Error(), "main is merged here, and its push was rejected")
	assert.Equal(t, head, r.root.Git("-C", r.clone("web"), "rev-parse", "main"))
	assert.NotContains(t, r.root.Git("-C", r.clone("api"), "log", "--format=%s", "main"), "Merge", "what depends on it waits")

	r.origins["web"].Git("-C", r.origins["web"].Remote, "config", "--unset", "receive.hideRefs")
	done, o := r.finish(merge, ticketArgs{"push": true})
	require.NoError(t, o.Err)
	assert.Equal(t, "pushed", done["web"].Result)
	assert.Equal(t, "pushed", done["api"].Result)
	for _, name := range []string{"web", "api"} {
		assert.Equal(t, r.root.Git("-C", r.clone(name), "rev-parse", "main"), r.origins[name].Git("-C", r.origins[name].Remote, "rev-parse", "main"))
		assert.Empty(t, r.root.Git("-C", r.clone(name), "status", "--porcelain"))
	}
	assert.Equal(t, "Merge feature/T-1", r.root.Git("-C", r.clone("api"), "log", "-1", "--format=%s", "main"))
	assert.Equal(t, "ours", r.root.Git("-C", r.clone("api"), "show", "main:api.txt"))
	again, o := r.finish(merge, ticketArgs{"push": true})
	require.NoError(t, o.Err)
	assert.Equal(t, "none", again["api"].Action)

	r.work(r.tree("T-1", "web"), "more.txt", "1")
	r.work(r.tree("T-1", "web"), "more.txt", "2")
	_, o = r.finish(merge, ticketArgs{"ticket_id": "T-1", "squash": true, "message": "One thing"})
	require.NoError(t, o.Err)
	assert.Equal(t, "One thing\nwork on mine.txt", r.root.Git("-C", r.clone("web"), "log", "-2", "--format=%s", "main"))
	r.work(r.tree("T-1", "api"), "late.txt", "y")
	id := r.call(merge, "execute", nil)
	require.NotNil(t, id.Request)
	r.work(r.tree("T-1", "api"), "later.txt", "y")
	o = r.call(merge, "execute", ticketArgs{"confirm_token": id.Request.Token.Reveal()})
	require.Error(t, o.Err, "another plan than the one that was confirmed")
}

// TestTicketMergeThatIsNotPushed: where the base would be pushed to, it has commits that are not here. Nothing is merged, in no repository.
func TestTicketMergeThatIsNotPushed(t *testing.T) {
	t.Parallel()
	r := ticketNewRig(t)
	r.does(start, ticketArgs{"ticket_id": "T-1"})
	r.work(r.tree("T-1", "web"), "mine.txt", "web")
	r.work(r.tree("T-1", "api"), "mine.txt", "api")
	was := r.root.Git("-C", r.clone("web"), "rev-parse", "main")
	refused := func(in ticketArgs, says string) {
		o := r.call(merge, "execute", in)
		require.ErrorIs(t, o.Err, ecosystem.ErrConflict)
		assert.Contains(t, o.Err.Error(), says)
		assert.Equal(t, was, r.root.Git("-C", r.clone("web"), "rev-parse", "main"))
	}
	r.elsewhere("api", "theirs.txt", "x")
	refused(ticketArgs{"push": true}, "api: the push of main would be rejected: "+r.origins["api"].Remote+" has commits that are not here")
	_, o := r.finish(syncTicket, nil)
	require.NoError(t, o.Err)
	refused(ticketArgs{"push": true, "squash": true}, "api: the push of main would be rejected")

	fork := filepath.Join(t.TempDir(), "fork.git")
	r.root.Git("clone", "--quiet", "--bare", r.origins["web"].Remote, fork)
	r.root.Git("-C", fork, "update-ref", "refs/heads/main", r.root.Git("-C", fork, "commit-tree", "-p", "main", "-m", "in the fork", "main^{tree}"))
	r.root.Git("-C", r.clone("web"), "remote", "set-url", "--push", "origin", fork)
	refused(ticketArgs{"push": true}, "web: the push of main would be rejected: "+fork+" has commits that are not here")
	r.root.Git("-C", fork, "update-ref", "refs/heads/main", was)
	traps := gitfixture.NewTraps(t, "exit 0")
	r.root.Git("-C", r.clone("web"), "config", "core.hooksPath", traps.Hooks("pre-push", "reference-transaction", "post-merge", "post-checkout", "post-index-change"))
	traps.Sprung()
	done, o := r.finish(merge, ticketArgs{"push": true})
	require.NoError(t, o.Err)
	assert.Equal(t, "pushed", done["web"].Result)
	assert.Equal(t, "pushed", done["api"].Result)
	assert.Empty(t, traps.Sprung(), "the plan names no hooks, so none runs")
	r.root.Git("-C", r.clone("web"), "config", "--unset", "core.hooksPath")
	assert.Equal(t, r.root.Git("-C", r.clone("web"), "rev-parse", "main"), r.root.Git("-C", fork, "rev-parse", "main"))

	r.origins["api"].Git("pull", "--quiet", "origin", "main")
	r.elsewhere("api", "later.txt", "x")
	r.work(r.tree("T-1", "web"), "more.txt", "web")
	done, o = r.finish(merge, ticketArgs{"push": true})
	require.NoError(t, o.Err, "there is nothing to push of api")
	assert.Equal(t, "up_to_date", done["api"].Result)
}

// TestTicketNotCommitted: what is not committed is not passed over, even where there is nothing else to do; a merge refuses it, a sync names it.
func TestTicketNotCommitted(t *testing.T) {
	t.Parallel()
	r := ticketNewRig(t)
	r.does(start, ticketArgs{"ticket_id": "T-1"})
	r.work(r.tree("T-1", "web"), "mine.txt", "mine")
	was := r.root.Git("-C", r.clone("web"), "rev-parse", "main")
	mine := filepath.Join(r.tree("T-1", "api"), "forgotten.txt")
	require.NoError(t, os.WriteFile(mine, []byte("work"), 0o644))
	o := r.call(merge, "execute", nil)
	require.ErrorIs(t, o.Err, ecosystem.ErrConflict)
	assert.Nil(t, o.Request)
	assert.Contains(t, o.Err.Error(), "has changes that are not committed (forgotten.txt), and only commits are merged; commit them there, or merge what is committed alone (committed_only)")
	assert.Equal(t, was, r.root.Git("-C", r.clone("web"), "rev-parse", "main"), "all of it is checked first")
	o = r.call(syncTicket, "execute", nil)
	require.NoError(t, o.Err)
	synced := read[workspace.FinishResult](t, o.Value)
	assert.True(t, synced.Noop)
	for _, one := range synced.Repos {
		assert.Equal(t, one.Name == "api", strings.Contains(one.Problem, "not committed (forgotten.txt)"), one.Name)
	}
	done, o := r.finish(merge, ticketArgs{"committed_only": true})
	require.NoError(t, o.Err)
	assert.Equal(t, "merged", done["web"].Result)
	assert.Equal(t, []string{"mine.txt"}, done["web"].Files)
	assert.FileExists(t, mine)
}

// cutOff is a merge whose process goes once it has begun, before its branch moves.
type cutOff struct{ ecosystemport.TicketMerges }

func (c cutOff) Merge(ctx context.Context, t ecosystemport.TicketTree, head, base, message string, squash bool, begun func(ecosystemport.MergeStep) error) (string, error) {
	return c.TicketMerges.Merge(ctx, t, head, base, message, squash, func(step ecosystemport.MergeStep) error {
		return cmp.Or(begun(step), errors.New("the process is gone"))
	})
}

// TestTicketMergeCutOff is finished by whoever comes next.
func TestTicketMergeCutOff(t *testing.T) {
	t.Parallel()
	r := ticketNewRig(t)
	r.does(start, ticketArgs{"ticket_id": "T-1", "repos": []string{"api"}})
	r.work(r.tree("T-1", "api"), "mine.txt", "mine")
	r.work(r.clone("api"), "other.txt", "other")
	was := r.root.Git("-C", r.clone("api"), "rev-parse", "main")
	broken := r.deps
	broken.Merges = cutOff{r.deps.Merges}
	core, err := newCore(broken)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, core.Close(context.Background())) })
	whole := r.App
	r.App = core
	_, o := r.finish(merge, nil)
	require.Error(t, o.Err)
	assert.Equal(t, was, r.root.Git("-C", r.clone("api"), "rev-parse", "main"))
	r.App = whole
	o = r.call(merge, "plan", nil)
	require.NoError(t, o.Err)
	assert.Equal(t, "Merge feature/T-1", r.root.Git("-C", r.clone("api"), "log", "-1", "--format=%s", "main"))
	assert.Empty(t, r.root.Git("-C", r.clone("api"), "status", "--porcelain"))
	_, o = r.finish(merge, nil)
	require.NoError(t, o.Err)
	assert.True(t, read[workspace.FinishResult](t, o.Value).Noop)
}

// TestTicketRequests names the pages where the host is known, and says what is not pushed.
func TestTicketRequests(t *testing.T) {
	t.Parallel()
	r := ticketNewRig(t)
	r.does(start, ticketArgs{"ticket_id": "T-1"})
	r.work(r.tree("T-1", "api"), "x.txt", "x")
	r.root.Git("-C", r.tree("T-1", "api"), "push", "--quiet", "origin", "feature/T-1")
	r.work(r.tree("T-1", "web"), "x.txt", "x")
	r.root.Git("-C", r.clone("web"), "remote", "set-url", "origin", "https://www.github.invalid/acme/web.git")
	o := r.call(proposals, "", nil)
	require.NoError(t, o.Err)
	found := read[workspace.Proposals](t, o.Value)
	require.Len(t, found.Repos, 2)
	assert.True(t, found.Repos[0].Pushed)
	assert.Contains(t, found.Repos[0].Problem, "its host is not known by name")
	assert.False(t, found.Repos[1].Pushed)
	assert.Equal(t, "https://www.github.invalid/acme/web/compare/main...feature/T-1?expand=1", found.Repos[1].Page)
	assert.Equal(t, []string{"gh", "pr", "create", "--fill", "--base", "main", "--head", "feature/T-1"}, found.Repos[1].Command)
}

// onGitHub has every origin be on GitHub, where it is a file.
type onGitHub struct{ ecosystemport.TicketMerges }

func (g onGitHub) Compare(ctx context.Context, t ecosystemport.TicketTree, local, ask bool) (ecosystemport.TicketDistance, error) {
	d, err := g.TicketMerges.Compare(ctx, t, local, ask)
	d.URL = "https://github.com" + d.URL
	return d, err
}

// requestsProgram is a gh for repositories on "GitHub", which are bare ones on this disk: it keeps the text of one request beside each.
const requestsProgram = `#!/bin/sh
[ "$1" = pr ] && [ "$PWD" = / ] || exit 9
verb=$2
while [ "$1" != --repo ]; do number=$1; shift; done
repo=${2#github.com}
[ -e "$repo.broken" ] && { echo "HTTP 502" >&2; exit 1; }
case $verb in
list) if [ -e "$repo.text" ]; then printf '[{"url":"https://github.com/%s/pull/7","state":"%s","body":"%s"}]' x "$(cat "$repo.state")" "$(sed 's/$/\\n/' "$repo.text" | tr -d '\n')"; else echo '[]'; fi ;;
create) [ -e "$repo.text" ] && exit 7; cat >"$repo.text"; echo "$*" >"$repo.args"; echo OPEN >"$repo.state"; echo "https://github.com/$(basename $(dirname $repo))/pull/7" ;;
edit) [ "$number" = 7 ] || exit 6; cat >"$repo.text" ;;
esac
`

// TestTicketRequestsAreOpened with gh: one in each repository, linked to each other; a call that was cut off goes on; states are shown.
func TestTicketRequestsAreOpened(t *testing.T) {
	bin := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bin, "gh"), []byte(requestsProgram), 0o755))
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	r := ticketNewRig(t)
	r.does(start, ticketArgs{"ticket_id": "T-1"})
	r.work(r.tree("T-1", "api"), "x.txt", "x")
	r.work(r.tree("T-1", "web"), "x.txt", "x")
	hosted := r.deps
	hosted.Merges = onGitHub{r.deps.Merges}
	core, err := newCore(hosted)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, core.Close(context.Background())) })
	r.App = core
	const propose = "ecosystem_ticket_propose"
	o := r.call(propose, "execute", nil)
	require.ErrorIs(t, o.Err, ecosystem.ErrConflict)
	assert.Contains(t, o.Err.Error(), "api: origin does not have feature/T-1 as it is here; amof_push_ecosystem pushes it; web: origin")
	for _, name := range []string{"api", "web"} {
		r.root.Git("-C", r.tree("T-1", name), "push", "--quiet", "origin", "feature/T-1")
	}
	beside := func(name, ending string) string { return strings.TrimSuffix(r.origins[name].Remote, ".git") + ending }
	text := func(name string) string { doc, _ := os.ReadFile(beside(name, ".text")); return string(doc) }

	plan := r.call(propose, "plan", ticketArgs{"text": "Why."})
	require.NoError(t, plan.Err)
	assert.Contains(t, string(plan.Value), `"title":"T-1: work on x.txt"`)
	assert.Empty(t, text("api"), "a plan opens nothing")
	o = r.call(propose, "execute", ticketArgs{"text": "Why."})
	require.NotNil(t, o.Request)
	assert.Contains(t, o.Request.Prompt, "open 2 requests for ticket T-1 of demo")
	require.NoError(t, os.WriteFile(beside("web", ".broken"), nil, 0o600))
	o = r.call(propose, "plan", nil)
	require.ErrorIs(t, o.Err, nil)
	assert.Contains(t, string(o.Value), "HTTP 502", "a site that does not answer is known beforehand")
	require.NoError(t, os.Remove(beside("web", ".broken")))
	require.NoError(t, os.WriteFile(beside("api", ".text"), []byte("mine\n<!-- countersign: begin -->\nold\n<!-- countersign: end -->\nmore"), 0o600))
	require.NoError(t, os.WriteFile(beside("api", ".state"), []byte("OPEN"), 0o600))
	o = r.confirmed(propose, ticketArgs{"text": "Why."})
	require.NoError(t, o.Err)
	by := map[string]workspace.RequestRepo{}
	for _, one := range read[workspace.RequestsResult](t, o.Value).Repos {
		by[one.Name] = one
	}
	assert.Equal(t, "kept", by["api"].Result)
	assert.Equal(t, "opened", by["web"].Result)
	assert.True(t, strings.HasPrefix(text("api"), "mine\n<!-- countersign: begin -->\nTicket T-1, to be merged in this order:\n- api (this one)\n- web: https://github.com/"), text("api"))
	assert.True(t, strings.HasSuffix(strings.TrimSpace(text("api")), "<!-- countersign: end -->\nmore"), "nothing else of it is touched")
	assert.True(t, strings.HasPrefix(text("web"), "Why.\n\n<!-- countersign: begin -->"), text("web"))
	assert.Contains(t, text("web"), "- api: https://github.com/x/pull/7\n- web (this one)")
	o = r.call(propose, "execute", nil)
	require.NoError(t, o.Err)
	assert.True(t, read[workspace.RequestsResult](t, o.Value).Noop)

	require.NoError(t, os.WriteFile(beside("web", ".state"), []byte("MERGED"), 0o600))
	o = r.call(proposals, "", nil)
	require.NoError(t, o.Err)
	states := map[string]string{}
	for _, one := range read[workspace.Proposals](t, o.Value).Repos {
		states[one.Name] = one.State + " " + one.Page
	}
	assert.Equal(t, map[string]string{"api": "open https://github.com/x/pull/7", "web": "merged https://github.com/x/pull/7"}, states)
}

// TestTheOnlyTicketNeedsNoName to be ended.
func TestTheOnlyTicketNeedsNoName(t *testing.T) {
	t.Parallel()
	r := ticketNewRig(t)
	r.does(start, ticketArgs{"ticket_id": "T-1", "repos": []string{"api"}})
	r.does(start, ticketArgs{"ticket_id": "T-2", "repos": []string{"api"}})
	o := r.call("amof_ticket_end", "execute", nil)
	require.ErrorIs(t, o.Err, ecosystem.ErrTicket)
	assert.Contains(t, o.Err.Error(), "2 tickets: T-1, T-2; name the one to end")
	r.does("amof_ticket_end", ticketArgs{"ticket_id": "T-1"})
	r.does("amof_ticket_end", nil)
	assert.Contains(t, r.call("amof_ticket_end", "execute", nil).Err.Error(), "has 0 tickets")
}
