package ecosystem_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/git"
)

const head = "0123456789abcdef0123456789abcdef01234567"

func TestNewGitStatus(t *testing.T) {
	s := ecosystem.NewGitStatus(git.Status{Branch: "feature/x", Head: head, Upstream: "origin/feature/x", Tracked: true, Ahead: 2, Behind: 3, Changes: []git.Change{
		{Kind: git.Modified, Path: "a file"}, {Kind: git.Untracked, Path: ".amof/"}, {Kind: git.Untracked, Path: "new\nline"}, {Kind: git.Unmerged, Path: "both"},
		{Kind: git.Renamed, Path: "to", From: "from"}, {Kind: git.Ignored, Path: "ignored/"}}})
	assert.Equal(t, ecosystem.GitStatus{Branch: "feature/x", Head: head, Upstream: "origin/feature/x", Tracked: true, Ahead: 2, Behind: 3, Dirty: 4, Conflicts: 1, Porcelain: s.Porcelain}, s)
	assert.Len(t, s.Porcelain, 64)
	assert.True(t, ecosystem.NewGitStatus(git.Status{Detached: true}).Detached)
}

// TestPorcelain: the hash is over what is changed in the tree, so that it stays when only remotes moved or Countersign wrote its own notes.
func TestPorcelain(t *testing.T) {
	untracked := func(paths ...string) (s git.Status) {
		s.Head = head
		for _, path := range paths {
			s.Changes = append(s.Changes, git.Change{Kind: git.Untracked, Path: path, Record: "? " + path})
		}
		return s
	}
	sum := func(s git.Status) string { return ecosystem.NewGitStatus(s).Porcelain }
	clean := sum(untracked())
	moved := untracked(".amof/", ".amof/x")
	moved.Upstream, moved.Tracked, moved.Ahead = "o/m", true, 1
	assert.Equal(t, clean, sum(moved))
	assert.NotEqual(t, clean, sum(untracked("a")))
	assert.NotEqual(t, sum(untracked("a")), sum(untracked("b")))
	assert.NotEqual(t, sum(untracked("a", "b")), sum(untracked("a\n? b")))
	assert.Equal(t, 1, ecosystem.NewGitStatus(untracked(".amofx", ".amof/x")).Dirty, "a name that only begins so is somebody's")
}

// demo returns an ecosystem with a read-only repository and two others, installed, with the ticket T active in one of them.
func demo(active string) (ecosystem.Manifest, ecosystem.State) {
	repo := func(name string, readonly bool) ecosystem.Repo {
		return ecosystem.Repo{Name: name, Branch: "main", Path: "repos/" + name, ReadOnly: readonly, Enabled: true}
	}
	m := ecosystem.Manifest{Name: "demo", TicketPrefix: "feature", Repos: []ecosystem.Repo{repo("docs", true), repo("api", false), repo("web", false), {Name: "off", Path: "repos/off"}}}
	st := ecosystem.State{WorkspaceDir: "/w/demo", Tickets: map[string]ecosystem.Ticket{"T": {WorktreeBase: "/w/demo/tickets/T", Repos: map[string]string{"api": "feature/T"}}},
		Repos: []ecosystem.RepoState{{Name: "docs", Path: "repos/docs", Enabled: true}, {Name: "api", Path: "old/api", Enabled: true, LastPush: &ecosystem.Push{CommitFull: head}},
			{Name: "gone", Path: "repos/gone", Branch: "trunk", Enabled: true}}}
	if active != "" {
		st.ActiveTicket = &active
	}
	return m, st
}

func TestOf(t *testing.T) {
	m, st := demo("")
	var got []string
	for _, w := range ecosystem.ExpectedCheckouts(m, st) {
		got = append(got, strings.Join([]string{w.Name, w.Dir, w.Path, w.Branch, w.Prefix, w.Repo.Mode(), w.Pushed}, " "))
	}
	assert.Equal(t, []string{
		"docs /w/demo/repos/docs repos/docs main  RO ",
		"api /w/demo/old/api old/api main feature/ RW " + head,  // where it was installed
		"web /w/demo/repos/web repos/web main feature/ RW ",     // not installed yet
		"gone /w/demo/repos/gone repos/gone trunk feature/ RW ", // no longer in the manifest
	}, got)

	m, st = demo("T")
	wants := ecosystem.ExpectedCheckouts(m, st)
	assert.Equal(t, "/w/demo/tickets/T/api", wants[1].Dir)
	assert.Equal(t, "tickets/T/api", wants[1].Path)
	assert.Equal(t, []string{"docs", "api", "web", "gone"}, func() (names []string) {
		for _, c := range ecosystem.Checkouts(wants) {
			names = append(names, c.Name)
		}
		return names
	}())
	st.Tickets["T"] = ecosystem.Ticket{WorktreeBase: "/elsewhere", Repos: map[string]string{"api": "feature/T", "docs": "feature/T"}}
	wants = ecosystem.ExpectedCheckouts(m, st)
	assert.Equal(t, "/elsewhere/api", wants[1].Path)
	assert.Equal(t, "/w/demo/repos/docs", wants[0].Dir, "a read-only repository has no ticket")
	none := "none"
	st.ActiveTicket = &none
	assert.Equal(t, "/w/demo/old/api", ecosystem.ExpectedCheckouts(m, st)[1].Dir, "a ticket that is not on record")
}

func TestStatus(t *testing.T) {
	m, st := demo("T")
	wants := ecosystem.ExpectedCheckouts(m, st)
	docs, api, web := wants[0], wants[1], wants[2]
	on := func(branch string) ecosystem.GitStatus {
		return ecosystem.GitStatus{Branch: branch, Head: head, Porcelain: "x"}
	}
	dirty := func(s ecosystem.GitStatus) ecosystem.GitStatus { s.Dirty = 1; return s }
	ahead := func(s ecosystem.GitStatus) ecosystem.GitStatus { s.Unpushed = true; return s }
	detached := on("")
	detached.Detached = true
	for name, c := range map[string]struct {
		want   ecosystem.ExpectedCheckout
		is     ecosystem.GitStatus
		status string
	}{
		"read-only on its branch":     {docs, on("main"), "OK"},
		"read-only elsewhere":         {docs, on("feature/x"), "WRONG_BRANCH"},
		"the ticket's":                {api, on("feature/T"), "OK"},
		"another ticket's":            {api, on("feature/U"), "WRONG_BRANCH"},
		"main while a ticket is on":   {api, on("main"), "WRONG_BRANCH"},
		"a repository outside of it":  {web, on("main"), "OK"},
		"on some feature":             {web, on("feature/any"), "OK"},
		"on no feature":               {web, on("features/any"), "WRONG_BRANCH"},
		"everything at once":          {web, ahead(dirty(on("x"))), "WRONG_BRANCH+DIRTY+UNPUSHED"},
		"dirty and unpushed":          {web, ahead(dirty(on("main"))), "DIRTY+UNPUSHED"},
		"detached":                    {web, detached, "WRONG_BRANCH"},
		"missing, whatever else":      {web, ecosystem.GitStatus{Missing: true, Dirty: 3}, "MISSING"},
		"there, and not to be looked": {web, ecosystem.GitStatus{Problem: "broken"}, "UNREADABLE"},
		"a problem beside":            {web, ecosystem.GitStatus{Branch: "main", Porcelain: "x", Problem: "slow", Unpushed: true}, "UNPUSHED"},
	} {
		assert.Equal(t, c.status, c.want.Status(c.is), name)
		for _, word := range strings.Split(c.status, "+") {
			assert.True(t, ecosystem.HasStatus(c.status, word), name)
		}
	}
	assert.False(t, ecosystem.HasStatus("WRONG_BRANCH", "BRANCH"))
}

func TestWhy(t *testing.T) {
	w := ecosystem.ExpectedCheckout{Checkout: ecosystem.Checkout{Dir: "/w/api"}, Branch: "main"}
	for says, s := range map[string]ecosystem.GitStatus{
		"broken":                           {Problem: "broken", Missing: true},
		"amof_sync_ecosystem":              {Missing: true},
		"in the middle of a rebase of b;":  {Operation: "rebase", Taken: "b", Detached: true},
		"in the middle of a merge; finish": {Operation: "merge"},
		"instead of main":                  {Detached: true, Head: head},
		"no commits yet":                   {Branch: "main"},
	} {
		assert.Contains(t, w.Why(s), says)
	}
	assert.Empty(t, w.Why(ecosystem.GitStatus{Branch: "main", Head: head}))
}
