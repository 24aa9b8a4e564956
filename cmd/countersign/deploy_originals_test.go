package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWhatWasThereAlreadyStays: files of the user's that happen to hold what is deployed are taken over without a change, and are still
// there after going back to the beginning.
func TestWhatWasThereAlreadyStays(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	rules := read(t, s.inRepo("modules/instructions/base/AGENTS.md"))
	write(t, s.inProject("AGENTS.md"), rules)
	require.NoError(t, os.Chmod(s.inProject("AGENTS.md"), 0o600))
	write(t, s.inHome("dotfiles/AGENTS.md"), rules)
	require.NoError(t, os.Symlink("../dotfiles/AGENTS.md", s.inHome(".codex/AGENTS.md")))
	before := s.deployed()
	a := s.agent()
	quiet := args{"profile": "quiet"}
	for _, c := range a.does("plan", quiet).Changes {
		assert.NotContains(t, []string{s.inProject("AGENTS.md"), s.inHome(".codex/AGENTS.md")}, c.Path)
	}
	a.deploys(quiet)
	a.does("rollback", args{"to": "initial", "yes": true})
	assert.Equal(t, before, s.deployed())
	a.deploys(quiet)
	edit(t, s.inRepo("modules/instructions/base/AGENTS.md"), "# House rules", "# House rules 2")
	a.deploys(quiet)
	assert.Contains(t, read(t, s.inProject("AGENTS.md")), "# House rules 2")
	a.does("rollback", args{"to": "initial", "yes": true})
	assert.Equal(t, before, s.deployed(), "and come back when they were changed later on")
}

// TestEveryBeginningIsOne: after going back to the beginning a new one begins: what the user has then is what comes back the next time,
// and what they deleted since stays deleted.
func TestEveryBeginningIsOne(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := s.agent()
	mine, gone := s.inProject("AGENTS.md"), s.inHome(".codex/AGENTS.md")
	write(t, mine, "first\n")
	write(t, gone, "soon gone\n")
	a.deploys(nil)
	a.does("rollback", args{"to": "initial", "yes": true})
	assert.Equal(t, "first\n", read(t, mine))
	write(t, mine, "second\n")
	require.NoError(t, os.Remove(gone))
	a.does("rollback", args{"to": "initial", "yes": true})
	assert.NoFileExists(t, gone, "the user deleted it, no deployment did")
	a.deploys(nil)
	a.does("rollback", args{"to": "initial", "yes": true})
	assert.Equal(t, "second\n", read(t, mine))
	assert.NoFileExists(t, gone)
}

// TestADeletedOriginalComesBack: what a deployment adopted and a later one deleted comes back, though nothing owns it any more.
func TestADeletedOriginalComesBack(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := s.agent()
	s.userFiles()
	before := s.deployed()
	a.deploys(nil)
	edit(t, s.inRepo("agentpack.yaml"), "targets: [claude_code]", "enabled: false")
	a.deploys(nil)
	assert.NoFileExists(t, s.inHome(".claude/commands/tidy.md"))
	a.does("rollback", args{"to": "initial", "yes": true})
	assert.Equal(t, before, s.deployed())
}
