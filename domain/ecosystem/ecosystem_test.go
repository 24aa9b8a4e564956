package ecosystem_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/ecosystem"
)

// TestNames: what names an ecosystem, a repository or a ticket (amof contract §3, §6).
func TestNames(t *testing.T) {
	for _, good := range []string{"a", "Shop", "a.b_c-d", "9", strings.Repeat("x", 64)} {
		assert.NoError(t, ecosystem.CheckName(good), good)
		assert.NoError(t, ecosystem.CheckTicket(good), good)
	}
	for _, bad := range []string{"", ".", "..", "-x", "_x", "a/b", `a\b`, "a b", "ä", "a\x00", "a\n", strings.Repeat("x", 65), "--force", ".git"} {
		assert.ErrorIs(t, ecosystem.CheckName(bad), ecosystem.ErrName, bad)
		assert.ErrorIs(t, ecosystem.CheckTicket(bad), ecosystem.ErrTicketID, bad)
	}
	for _, ref := range []string{"main", "a.lock", "a..b", "a."} {
		assert.NoError(t, ecosystem.CheckName(ref), ref)
		assert.ErrorIs(t, ecosystem.CheckTicket(ref), ecosystem.ErrTicketID, ref)
	}
	assert.Less(t, len(ecosystem.CheckName(strings.Repeat("y", 1<<20)).Error()), 400, "a message does not repeat all of it")
}

// TestRepos are chosen, told apart and named by the manifest's order.
func TestRepos(t *testing.T) {
	m := ecosystem.Manifest{Name: "shop", BranchPrefix: "workspace", TicketPrefix: "feature", Repos: []ecosystem.Repo{
		{Name: "api", Enabled: true}, {Name: "lib", Enabled: true, ReadOnly: true}, {Name: "old"}, {Name: "web", Enabled: true}}}
	assert.Equal(t, []string{"api", "lib", "web"}, ecosystem.RepoNames(m.Active()))
	assert.Equal(t, []string{"api", "web"}, ecosystem.RepoNames(m.Writable()))
	chosen, err := m.Choose([]string{"web", "api"})
	require.NoError(t, err)
	assert.Equal(t, []string{"api", "web"}, ecosystem.RepoNames(chosen))
	all, err := m.Choose(nil)
	require.NoError(t, err)
	assert.Len(t, all, 3)
	_, err = m.Choose([]string{"old"})
	require.ErrorIs(t, err, ecosystem.ErrRepo)
	assert.Contains(t, err.Error(), "api, lib, web")
	assert.Equal(t, "workspace/shop", m.WorkspaceBranch())
	assert.Equal(t, "feature/T-1", m.TicketBranch("T-1"))
	assert.Equal(t, "RO", m.Repos[1].Mode())
	assert.Equal(t, "RW", m.Repos[0].Mode())
	assert.Len(t, m.Repos, 4, "choosing changes nothing")
}

// TestState: nothing recorded is not installed; a repository is changed in place.
func TestState(t *testing.T) {
	var s ecosystem.State
	assert.False(t, s.Installed())
	assert.Empty(t, s.Active())
	assert.Nil(t, s.Repo("api"))
	s = ecosystem.State{WorkspaceDir: "/w", Repos: []ecosystem.RepoState{{Name: "api"}}}
	s.Repo("api").LastPush = &ecosystem.Push{Branch: "main"}
	assert.Equal(t, "main", s.Repos[0].LastPush.Branch)
	assert.True(t, s.Installed())
}
