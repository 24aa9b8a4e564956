package workspace_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/app/ecosystems/workspace"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

func TestATicketFromItsStartToItsEnd(t *testing.T) {
	t.Parallel()
	r := ticketNewRig(t)
	a := r.does(start, ticketArgs{"ticket_id": "T-1"})
	assert.Equal(t, map[string]string{"api": "create", "web": "create", "docs": "skipped"}, results(a.Repos), "nothing is worked on in what is read-only")
	assert.Equal(t, "T-1", *a.Active)
	assert.Equal(t, "Started ticket T-1 in 2 of 3 repositories", a.Text.Summary)
	assert.Contains(t, a.Text.Details, "– docs: skipped (read-only)")
	for _, name := range []string{"api", "web"} {
		assert.Equal(t, "feature/T-1", r.branch(r.tree("T-1", name)))
		assert.FileExists(t, filepath.Join(r.tree("T-1", name), name+".txt"))
	}
	b := r.does(start, ticketArgs{"ticket_id": "T-2", "repos": []string{"web"}})
	assert.Equal(t, map[string]string{"web": "create"}, results(b.Repos))
	s := r.state()
	assert.Equal(t, "T-2", s.Active())
	assert.Equal(t, map[string]string{"api": "feature/T-1", "web": "feature/T-1"}, s.Tickets["T-1"].Repos)
	assert.Equal(t, filepath.Join(r.layout.Workspace, "tickets", "T-1"), s.Tickets["T-1"].WorktreeBase)

	require.NoError(t, os.WriteFile(filepath.Join(r.tree("T-1", "api"), "new"), nil, 0o600))
	require.NoError(t, os.RemoveAll(r.tree("T-1", "web")))
	l := read[workspace.TicketList](t, r.call(list, "", nil).Value)
	assert.Equal(t, 2, l.Count)
	assert.Equal(t, "T-1", l.Tickets[0].ID, "the oldest first")
	assert.False(t, l.Tickets[0].Active)
	assert.True(t, l.Tickets[1].Active)
	assert.Equal(t, "started", l.Tickets[0].Phase)
	assert.Equal(t, []string{"dirty", "missing worktree"}, []string{l.Tickets[0].Repos[0].Status, l.Tickets[0].Repos[1].Status})
	assert.Equal(t, "ok", l.Tickets[1].Repos[0].Status)
	assert.Equal(t, []string{"T-1: 2 repositories, api dirty, web missing worktree", "T-2 (active): 1 repository"}, l.Text.Details)

	c := r.does(switch6, ticketArgs{"ticket_id": "T-1"})
	assert.Equal(t, map[string]string{"api": "exists", "web": "reuse"}, results(c.Repos))
	assert.FileExists(t, filepath.Join(r.tree("T-1", "api"), "new"), "what is there stays")
	assert.Equal(t, "feature/T-1", r.branch(r.tree("T-1", "web")))
	assert.True(t, r.does(switch6, ticketArgs{"ticket_id": "T-1"}).Noop)
	assert.Nil(t, r.does(switch6, ticketArgs{"ticket_id": "main"}).Active)
	again := r.does(switch6, ticketArgs{"ticket_id": "main"})
	assert.True(t, again.Noop)
	assert.Equal(t, "success", again.Status)

	r.does(switch6, ticketArgs{"ticket_id": "T-1"})
	d := r.does(end, ticketArgs{"ticket_id": "T-1"})
	assert.Equal(t, map[string]string{"api": "kept", "web": "kept"}, results(d.Repos))
	assert.Equal(t, "T-2", *d.Active, "the next one is active now")
	assert.FileExists(t, filepath.Join(r.tree("T-1", "api"), "new"))
	assert.Nil(t, r.does(end, ticketArgs{"ticket_id": "T-2"}).Active)
	assert.Empty(t, r.state().Tickets)
	e := r.does(start, ticketArgs{"ticket_id": "T-1"})
	assert.Equal(t, map[string]string{"api": "exists", "web": "exists", "docs": "skipped"}, results(e.Repos), "its worktrees were still there")
}

func TestEndingAnotherTicketLeavesTheActiveOne(t *testing.T) {
	t.Parallel()
	r := ticketNewRig(t)
	r.does(start, ticketArgs{"ticket_id": "T-1"})
	r.does(start, ticketArgs{"ticket_id": "T-2"})
	assert.Equal(t, "T-2", *r.does(end, ticketArgs{"ticket_id": "T-1"}).Active)
}

// TestAskAndPlanChangeNothing, whatever is called.
func TestAskAndPlanChangeNothing(t *testing.T) {
	t.Parallel()
	r := ticketNewRig(t)
	r.does(start, ticketArgs{"ticket_id": "T-1"})
	r.does(start, ticketArgs{"ticket_id": "T-2"})
	r.commit(r.tree("T-1", "api"))
	require.NoError(t, os.RemoveAll(r.tree("T-1", "web")))
	before := r.files()
	for _, c := range []struct {
		tool    string
		in      ticketArgs
		explain bool
	}{
		{start, ticketArgs{"ticket_id": "T-3"}, false}, {switch6, ticketArgs{"ticket_id": "T-1"}, false}, {end, ticketArgs{"ticket_id": "T-1"}, false},
		{end, ticketArgs{"ticket_id": "T-1", "cleanup": "local"}, true}, {end, ticketArgs{"ticket_id": "T-1", "cleanup": "all", "force": true}, true},
	} {
		o := r.call(c.tool, "ask", c.in)
		require.ErrorIs(t, o.Err, app.ErrMode, "%s %v", c.tool, c.in)
		assert.Equal(t, c.explain, o.Explained, "%s %v", c.tool, c.in)
		o = r.call(c.tool, "plan", c.in)
		require.NoError(t, o.Err)
		assert.True(t, o.DryRun)
		p := read[runs.Plan](t, o.Value)
		assert.Equal(t, "demo", p.Ecosystem)
		assert.NotZero(t, p.PreviewHash)
	}
	require.NoError(t, r.call(list, "", nil).Err)
	assert.Equal(t, before, r.files())
}

func TestACleanUpIsConfirmed(t *testing.T) {
	t.Parallel()
	r := ticketNewRig(t)
	r.does(start, ticketArgs{"ticket_id": "T-1"})
	in := ticketArgs{"ticket_id": "T-1", "cleanup": "local"}
	o := r.call(end, "execute", in)
	require.ErrorIs(t, o.Err, app.ErrRequired)
	assert.Equal(t, "simple", o.Request.Strength.String())
	assert.Equal(t, "end ticket T-1 in demo", o.Request.Prompt)
	// What has changed since is asked about anew.
	head := r.commit(r.tree("T-1", "api"))
	r.root.Git("-C", r.tree("T-1", "api"), "push", "--quiet", "origin", "feature/T-1")
	changed := r.call(end, "execute", ticketArgs{"ticket_id": "T-1", "cleanup": "local", "confirm_token": o.Request.Token.Reveal()})
	require.Error(t, changed.Err)
	assert.Contains(t, fmt.Sprintf("%s", fault.From(changed.Err).Details), "current_plan_hash")
	require.NotNil(t, changed.Request, "there is a fresh question")
	done := r.call(end, "execute", ticketArgs{"ticket_id": "T-1", "cleanup": "local", "confirm_token": changed.Request.Token.Reveal()})
	require.NoError(t, done.Err)
	assert.Equal(t, map[string]string{"api": "removed", "web": "removed"}, results(read[workspace.TicketResult](t, done.Value).Repos))
	assert.NoDirExists(t, filepath.Dir(r.tree("T-1", "api")))
	assert.Equal(t, "main", r.root.Git("-C", r.clone("api"), "branch", "--format=%(refname:short)"))
	assert.Contains(t, r.root.Git("ls-remote", r.origins["api"].Remote), head+"\trefs/heads/feature/T-1", "cleanup local leaves origin alone")
	assert.Empty(t, r.state().Tickets)
}

// TestWorkIsNotCleanedUp, neither here nor at origin, unless force says so; then it is kept.
func TestWorkIsNotCleanedUp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		given   func(*ticketRig)
		cleanup string
		says    string
	}{
		"a change": {func(r *ticketRig) {
			require.NoError(r.t, os.WriteFile(filepath.Join(r.tree("T-1", "api"), "x"), nil, 0o600))
		}, "local", "not committed"},
		"a commit":      {func(r *ticketRig) { r.commit(r.tree("T-1", "api")) }, "local", "no other remote branch"},
		"a commit, all": {func(r *ticketRig) { r.commit(r.tree("T-1", "api")) }, "all", "no other remote branch"},
		"a commit without dir": {func(r *ticketRig) {
			r.commit(r.tree("T-1", "api"))
			require.NoError(r.t, os.RemoveAll(r.tree("T-1", "api")))
		}, "local", "no other remote branch"},
		"a commit that would go at origin too": {func(r *ticketRig) {
			r.commit(r.tree("T-1", "api"))
			r.root.Git("-C", r.tree("T-1", "api"), "push", "--quiet", "origin", "feature/T-1")
		}, "all", "no other remote branch"},
	} {
		t.Run(name, func(t *testing.T) {
			r := ticketNewRig(t)
			r.does(start, ticketArgs{"ticket_id": "T-1"})
			c.given(r)
			before := r.files()
			in := ticketArgs{"ticket_id": "T-1", "cleanup": c.cleanup}
			o := r.call(end, "execute", in)
			require.ErrorIs(t, o.Err, ecosystem.ErrUnsaved)
			assert.Nil(t, o.Request, "nobody is asked about what is refused")
			assert.Contains(t, o.Err.Error(), c.says)
			o = r.call(end, "plan", in)
			require.NoError(t, o.Err)
			p := read[runs.Plan](t, o.Value)
			require.Len(t, p.Warnings, 1)
			assert.Contains(t, p.Warnings[0], c.says)
			assert.Equal(t, before, r.files())
			in["force"] = true
			o = r.confirmed(end, in)
			require.NoError(t, o.Err)
			a := read[workspace.TicketResult](t, o.Value)
			require.Len(t, a.Repos[0].Kept, 1)
			r.root.Git("-C", r.clone("api"), "rev-parse", "--verify", a.Repos[0].Kept[0])
			assert.Contains(t, strings.Join(a.Text.Details, "\n"), a.Repos[0].Kept[0])
			assert.NotContains(t, r.root.Git("-C", r.clone("api"), "branch"), "feature")
			if c.cleanup == "all" {
				assert.NotContains(t, r.root.Git("ls-remote", r.origins["api"].Remote), "feature")
			}
		})
	}
}

func TestACleanUpThatFailsInOneRepositoryCanBeRepeated(t *testing.T) {
	t.Parallel()
	r := ticketNewRig(t)
	r.does(start, ticketArgs{"ticket_id": "T-1"})
	for _, name := range []string{"api", "web"} {
		r.root.Git("-C", r.tree("T-1", name), "push", "--quiet", "origin", "feature/T-1")
	}
	r.origins["web"].Git("-C", r.origins["web"].Remote, "config", "receive.denyDeletes", "true")
	in := ticketArgs{"ticket_id": "T-1", "cleanup": "all"}
	o := r.confirmed(end, in)
	require.ErrorIs(t, o.Err, ecosystem.ErrGit)
	assert.Contains(t, o.Err.Error(), "because of web")
	var details struct{ Repos []workspace.TicketRepo }
	doc, err := json.Marshal(fault.From(o.Err).Details)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(doc, &details))
	assert.Equal(t, map[string]string{"api": "removed, at origin too", "web": "failed"}, results(details.Repos))
	assert.Contains(t, r.state().Tickets, "T-1", "it is still on record")
	assert.DirExists(t, r.tree("T-1", "web"))
	r.origins["web"].Git("-C", r.origins["web"].Remote, "config", "--unset", "receive.denyDeletes")
	o = r.confirmed(end, in)
	require.NoError(t, o.Err)
	assert.Equal(t, map[string]string{"api": "removed", "web": "removed, at origin too"}, results(read[workspace.TicketResult](t, o.Value).Repos))
	assert.Empty(t, r.state().Tickets)
}

func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 65)
	r := ticketNewRig(t)
	r.does(start, ticketArgs{"ticket_id": "T-1"})
	for _, repo := range []string{"api", "web"} {
		r.root.Git("-C", r.clone(repo), "switch", "--quiet", "--create", "feature/T-2")
	}
	bare := filepath.Join(r.root.Dir, "ecosystems", "bare")
	require.NoError(t, os.MkdirAll(bare, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(bare, "ecosystem.yaml"), []byte("name: bare\nrepos: [{name: a, url: /nowhere}]\n"), 0o644))
	before := r.files()
	for name, c := range map[string]struct {
		tool string
		in   ticketArgs
		want *fault.Error
		says string
	}{
		"main":                    {start, ticketArgs{"ticket_id": "main"}, ecosystem.ErrTicketID, "do not use main"},
		"a path":                  {start, ticketArgs{"ticket_id": "../../x"}, ecosystem.ErrTicketID, "letter"},
		"a directory":             {start, ticketArgs{"ticket_id": "a/b"}, ecosystem.ErrTicketID, "letter"},
		"an option":               {start, ticketArgs{"ticket_id": "-b"}, ecosystem.ErrTicketID, "letter"},
		"a dot":                   {start, ticketArgs{"ticket_id": "."}, ecosystem.ErrTicketID, "letter"},
		"a lock":                  {start, ticketArgs{"ticket_id": "a.lock"}, ecosystem.ErrTicketID, "letter"},
		"a line":                  {start, ticketArgs{"ticket_id": "a\nb"}, ecosystem.ErrTicketID, "letter"},
		"unicode":                 {start, ticketArgs{"ticket_id": "ünï"}, ecosystem.ErrTicketID, "letter"},
		"too long":                {start, ticketArgs{"ticket_id": long}, tool.ErrArguments, "ticket_id"},
		"no id":                   {start, ticketArgs{}, tool.ErrArguments, "ticket_id"},
		"started already":         {start, ticketArgs{"ticket_id": "T-1"}, ecosystem.ErrTicketExists, "amof_ticket_switch"},
		"read-only":               {start, ticketArgs{"ticket_id": "T-2", "repos": []string{"docs"}}, ecosystem.ErrReadOnly, "docs"},
		"repository not found":    {start, ticketArgs{"ticket_id": "T-2", "repos": []string{"nope"}}, ecosystem.ErrRepo, "it has: api, web, docs"},
		"ecosystem not found":     {start, ticketArgs{"ticket_id": "T-2", "ecosystem": "nope"}, ecosystem.ErrUnknown, ""},
		"not installed":           {start, ticketArgs{"ticket_id": "T-2", "ecosystem": "bare"}, ecosystem.ErrNotInstalled, "amof_install_ecosystem"},
		"switch to none":          {switch6, ticketArgs{"ticket_id": "T-9"}, ecosystem.ErrTicket, "T-1"},
		"switch to a path":        {switch6, ticketArgs{"ticket_id": "../x"}, ecosystem.ErrTicket, "T-1"},
		"end of main":             {end, ticketArgs{"ticket_id": "main"}, ecosystem.ErrTicketID, "no ticket"},
		"end of none":             {end, ticketArgs{"ticket_id": "T-9", "cleanup": "all"}, ecosystem.ErrTicket, "T-1"},
		"a cleanup that is none":  {end, ticketArgs{"ticket_id": "T-1", "cleanup": "everything"}, tool.ErrArguments, "cleanup"},
		"a branch elsewhere, all": {start, ticketArgs{"ticket_id": "T-2"}, ecosystem.ErrNoWork, "is checked out in"},
	} {
		t.Run(name, func(t *testing.T) {
			o := r.call(c.tool, "execute", c.in)
			require.ErrorIs(t, o.Err, c.want)
			assert.Contains(t, o.Err.Error(), c.says)
			assert.Equal(t, before, r.files())
		})
	}
}

// TestOneRepositoryDoesNotHoldUpTheOthers when a ticket is started.
func TestOneRepositoryDoesNotHoldUpTheOthers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		given func(*ticketRig)
		want  string // what comes of api
		says  string
	}{
		"the clone is missing":           {func(r *ticketRig) { require.NoError(r.t, os.RemoveAll(r.clone("api"))) }, "skipped", "amof_sync_ecosystem"},
		"the branch is elsewhere":        {func(r *ticketRig) { r.root.Git("-C", r.clone("api"), "switch", "--quiet", "--create", "feature/T-1") }, "skipped", "is checked out in"},
		"files are in its place":         {func(r *ticketRig) { require.NoError(r.t, os.MkdirAll(filepath.Join(r.tree("T-1", "api"), "x"), 0o755)) }, "skipped", "move it away"},
		"the branch is at origin":        {func(r *ticketRig) { r.root.Git("-C", r.clone("api"), "push", "--quiet", "origin", "main:feature/T-1") }, "track", ""},
		"origin is gone":                 {func(r *ticketRig) { require.NoError(r.t, os.RemoveAll(r.origins["api"].Remote)) }, "create", ""},
		"the clone stands on no branch":  {func(r *ticketRig) { r.root.Git("-C", r.clone("api"), "switch", "--quiet", "--detach") }, "create", ""},
		"it is not in the workspace yet": {func(r *ticketRig) { r.record(func(s *ecosystem.State) { s.Repos = s.Repos[1:] }) }, "skipped", "not in the workspace yet"},
	} {
		t.Run(name, func(t *testing.T) {
			r := ticketNewRig(t)
			c.given(r)
			a := r.does(start, ticketArgs{"ticket_id": "T-1"})
			assert.Equal(t, map[string]string{"api": c.want, "web": "create", "docs": "skipped"}, results(a.Repos))
			assert.Contains(t, a.Repos[0].Problem, c.says)
			_, has := r.state().Tickets["T-1"].Repos["api"]
			assert.Equal(t, c.want != "skipped", has)
		})
	}
}

// TestASwitchSaysWhatCannotBeMadeAgain and is made all the same.
func TestASwitchSaysWhatCannotBeMadeAgain(t *testing.T) {
	t.Parallel()
	r := ticketNewRig(t)
	r.does(start, ticketArgs{"ticket_id": "T-1"})
	r.does(start, ticketArgs{"ticket_id": "T-2"})
	require.NoError(t, os.RemoveAll(r.clone("api")))
	require.NoError(t, os.RemoveAll(r.tree("T-1", "api")))
	a := r.does(switch6, ticketArgs{"ticket_id": "T-1"})
	assert.Equal(t, map[string]string{"api": "failed", "web": "exists"}, results(a.Repos))
	assert.Equal(t, "T-1", *a.Active)
	assert.Equal(t, "Switched to T-1, but 1 of 2 worktrees could not be made", a.Text.Summary)
	assert.True(t, strings.HasPrefix(a.Text.Details[0], "✗ api: failed (the clone of api is missing"), a.Text.Details[0])
}

func TestATicketWhoseCloneIsGone(t *testing.T) {
	t.Parallel()
	r := ticketNewRig(t)
	r.does(start, ticketArgs{"ticket_id": "T-1"})
	require.NoError(t, os.RemoveAll(r.clone("api")))
	l := read[workspace.TicketList](t, r.call(list, "", nil).Value)
	assert.Equal(t, "missing worktree", l.Tickets[0].Repos[0].Status)
	assert.Contains(t, l.Tickets[0].Repos[0].Problem, "does not exist")
	o := r.call(end, "execute", ticketArgs{"ticket_id": "T-1", "cleanup": "local", "force": true})
	require.ErrorIs(t, o.Err, ecosystem.ErrConflict)
	assert.FileExists(t, filepath.Join(r.tree("T-1", "api"), "api.txt"), "nothing could keep it")
	require.NoError(t, os.RemoveAll(r.tree("T-1", "api")))
	require.NoError(t, r.confirmed(end, ticketArgs{"ticket_id": "T-1", "cleanup": "local"}).Err)
	assert.Empty(t, r.state().Tickets)
}

// TestARepositoryThatLeftTheWorkspace is told of and left alone.
func TestARepositoryThatLeftTheWorkspace(t *testing.T) {
	t.Parallel()
	r := ticketNewRig(t)
	r.does(start, ticketArgs{"ticket_id": "T-1"})
	r.record(func(s *ecosystem.State) { s.Repos = s.Repos[1:] })
	l := read[workspace.TicketList](t, r.call(list, "", nil).Value)
	assert.Equal(t, "not in the workspace any more", l.Tickets[0].Repos[1].Problem)
	o := r.confirmed(end, ticketArgs{"ticket_id": "T-1", "cleanup": "local", "force": true})
	require.NoError(t, o.Err)
	assert.Equal(t, map[string]string{"web": "removed", "api": "skipped"}, results(read[workspace.TicketResult](t, o.Value).Repos))
	assert.FileExists(t, filepath.Join(r.tree("T-1", "api"), "api.txt"))
}

// TestARecordOfAHostileTicket leads to no directory and no branch.
func TestARecordOfAHostileTicket(t *testing.T) {
	t.Parallel()
	r := ticketNewRig(t)
	outside := filepath.Join(r.home, "api")
	require.NoError(t, os.MkdirAll(outside, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(outside, "mine"), nil, 0o600))
	id := "../../../.." + r.home
	r.record(func(s *ecosystem.State) {
		s.Tickets = map[string]ecosystem.Ticket{id: {Repos: map[string]string{"api": "main"}}, "T-2": {Repos: map[string]string{"api": "--all"}}}
	})
	require.NoError(t, r.call(list, "", nil).Err)
	o := r.confirmed(end, ticketArgs{"ticket_id": id[:min(len(id), 64)], "cleanup": "all", "force": true})
	if o.Err == nil {
		assert.Empty(t, read[workspace.TicketResult](t, o.Value).Repos)
	}
	require.ErrorIs(t, r.confirmed(end, ticketArgs{"ticket_id": "T-2", "cleanup": "all", "force": true}).Err, ecosystem.ErrArguments)
	assert.FileExists(t, filepath.Join(outside, "mine"))
	assert.Equal(t, "main", r.branch(r.clone("api")))
}

func TestAProcessThatDiesBeforeItRecords(t *testing.T) {
	t.Parallel()
	r := ticketNewRig(t)
	err := r.other("die").Run()
	require.ErrorContains(t, err, "exit status 9")
	assert.DirExists(t, r.tree("T-1", "web"), "it had made the worktrees")
	assert.Empty(t, r.state().Tickets)
	r.commit(r.tree("T-1", "web"))
	a := r.does(start, ticketArgs{"ticket_id": "T-1"})
	assert.Equal(t, map[string]string{"api": "exists", "web": "exists", "docs": "skipped"}, results(a.Repos))
	assert.Equal(t, "T-1", r.state().Active())
}

func TestTwoProcessesAtOnce(t *testing.T) {
	t.Parallel()
	r := ticketNewRig(t)
	one, two := r.other("start"), r.other("start")
	var words [2]strings.Builder
	one.Stderr, two.Stderr = &words[0], &words[1]
	require.NoError(t, one.Start())
	require.NoError(t, two.Start())
	first, second := one.Wait(), two.Wait()
	assert.NotEqual(t, first == nil, second == nil, "exactly one has started it: %v %v", first, second)
	assert.Contains(t, words[0].String()+words[1].String(), "has a ticket T-1 already")
	for _, name := range []string{"api", "web"} {
		assert.Equal(t, "feature/T-1", r.branch(r.tree("T-1", name)))
	}
	assert.Len(t, r.state().Tickets["T-1"].Repos, 2)
}

func TestEnsureMakesAgainWhatIsMissing(t *testing.T) {
	t.Parallel()
	r := ticketNewRig(t)
	r.does(start, ticketArgs{"ticket_id": "T-1"})
	for _, name := range []string{"api", "web"} {
		require.NoError(t, os.RemoveAll(r.tree("T-1", name)))
	}
	require.NoError(t, os.RemoveAll(r.clone("api")))
	f, err := r.deps.FindAt(t.Context(), r.root.Dir, "demo")
	require.NoError(t, err)
	err = workspace.WorktreeEnsurer{Work: r.deps.Work}.Ensure(t.Context(), ecosystemport.Ticketed{Layout: r.layout, Manifest: f.Manifest(), State: f.State, Ticket: "T-1"})
	require.ErrorIs(t, err, ecosystem.ErrConflict)
	assert.Equal(t, "feature/T-1", r.branch(r.tree("T-1", "web")), "one that cannot be made does not hold up the others")
	require.NoError(t, workspace.WorktreeEnsurer{Work: r.deps.Work}.Ensure(t.Context(), ecosystemport.Ticketed{Manifest: f.Manifest(), State: f.State, Ticket: "none"}))
}
