package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDeployedShapes: whatever a module's files are called and hold, they arrive as they are and go again.
func TestDeployedShapes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.manifest(projectOnly)
	before := s.deployed()
	odd := map[string]string{"empty.md": "", "data/raw.bin": "\x00\xff\xfe\x01", "crlf.md": "a\r\nb\r\n", "no newline": "x", "sp ace/ü-日本.md": "ü\n", "-dash": "-\n",
		"a'b\"c$d`e": "quoted\n", ".hidden/.x": "x\n", "deep/er/and/deep/er/x": "x\n"}
	for name, text := range odd {
		write(t, s.inRepo("modules/skills/release-notes/"+name), text)
	}
	a := s.agent()
	id := a.deploys(nil).Snapshot
	for name, text := range odd {
		assert.Equal(t, text, read(t, s.inProject(".agents/skills/release-notes/"+name)), name)
	}
	assert.Empty(t, a.does("plan", nil).Changes)
	full := s.deployed()
	a.does("rollback", args{"to": "initial", "yes": true})
	assert.Equal(t, before, s.deployed())
	a.does("rollback", args{"to": id, "yes": true})
	assert.Equal(t, contents(full), contents(s.deployed()), "forward again")
	assert.Empty(t, a.does("plan", nil).Changes)
	a.does("rollback", args{"to": "initial", "yes": true})
	assert.Equal(t, before, s.deployed())
	assert.Empty(t, a.does("rollback", args{"to": "initial", "yes": true}).Changes, "twice is once")
}

// TestAFileBecomesADirectory: and the other way round, forwards and back.
func TestAFileBecomesADirectory(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.manifest(projectOnly)
	at := s.inRepo("modules/skills/release-notes/notes")
	a := s.agent()
	write(t, at, "a file\n")
	first := a.deploys(nil).Snapshot
	file := contents(s.deployed())
	require.NoError(t, os.Remove(at))
	write(t, filepath.Join(at, "one/two.md"), "below\n")
	second := a.deploys(nil).Snapshot
	dir := contents(s.deployed())
	assert.Equal(t, "below\n", read(t, s.inProject(".agents/skills/release-notes/notes/one/two.md")))
	a.does("rollback", args{"to": first, "yes": true})
	assert.Equal(t, file, contents(s.deployed()))
	a.does("rollback", args{"to": second, "yes": true})
	assert.Equal(t, dir, contents(s.deployed()))
	write(t, s.inProject(".agents/skills/release-notes/notes/mine.md"), "the user's\n")
	e := a.ask("rollback", args{"to": first, "yes": true})
	assert.False(t, e.OK, "a directory with something of the user's in it stays")
	assert.Equal(t, "the user's\n", read(t, s.inProject(".agents/skills/release-notes/notes/mine.md")))
	assert.Equal(t, "below\n", read(t, s.inProject(".agents/skills/release-notes/notes/one/two.md")), "and so does everything")
}

// TestDotfiles: a home whose directories and documents are links into a dotfiles repository works as any other, and the links stay.
func TestDotfiles(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.partsConfig()
	write(t, s.inHome("dotfiles/codex/config.toml"), "model = \"small\"\n")
	write(t, s.inHome("dotfiles/claude.json"), "{}\n")
	require.NoError(t, os.MkdirAll(s.inHome("dotfiles/claude"), 0o755))
	require.NoError(t, os.Symlink("dotfiles/claude", s.inHome(".claude")))
	require.NoError(t, os.Symlink("../dotfiles/codex/config.toml", s.inHome(".codex/config.toml")))
	require.NoError(t, os.Symlink("dotfiles/claude.json", s.inHome(".claude.json")))
	before := s.deployed()
	a := s.agent()
	offer := a.does("deploy", nil)
	for _, name := range []string{".codex/config.toml", ".claude.json"} {
		assert.Equal(t, "adopt_update", offer.at(t, s.inHome(name)).UpdateKind, "a file would take the place of a link")
	}
	a.refuses("E_ADOPT_CONFIRM_REQUIRED", "deploy_apply", args{"yes": true, "confirm_token": offer.Token})
	assert.Equal(t, before, s.deployed())
	a.deploys(nil)
	after := s.deployed()
	assert.Equal(t, "-> dotfiles/claude", after[s.inHome(".claude")])
	assert.Regexp(t, "^-rw------- ", after[s.inHome(".codex/config.toml")], "as private as it may have been")
	assert.Contains(t, read(t, s.inHome(".codex/config.toml")), "model = \"small\"\n")
	assert.Equal(t, before[s.inHome("dotfiles/codex/config.toml")], after[s.inHome("dotfiles/codex/config.toml")], "nothing is written through a link")
	assert.Empty(t, a.does("plan", nil).Changes)
	a.does("rollback", args{"to": "initial", "yes": true})
	assert.Equal(t, before, s.deployed())
}
