package mcpclients_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/app/deployments/mcpclients"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

func TestForeignEntry(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	const doc = `{"mcpServers": {"countersign": {"command": "/usr/bin/other", "args": ["--key", "x"], "env": {"PASS": "hunter22"}}}}`
	path := s.put(filepath.Join(s.home, ".claude.json"), doc)
	_, err := s.try(args{"host": "claude"})
	require.ErrorIs(t, err, mcpclients.ErrForeign)
	assert.ErrorContains(t, err, "starts /usr/bin/other --key x")
	assert.ErrorContains(t, err, "--force")
	details, err := json.Marshal(fault.From(err).Details)
	require.NoError(t, err)
	assert.NotContains(t, string(details), "hunter22")
	_, err = s.try(args{"host": "claude", "remove": true})
	require.ErrorIs(t, err, mcpclients.ErrForeign)
	assert.Equal(t, doc, s.read(path))

	answer := s.must(args{"host": "claude", "name": "countersign-2"})
	assert.Equal(t, "connected", answer.State)
	s.must(args{"host": "claude", "name": "countersign-2", "remove": true})
	assert.Equal(t, doc, s.read(path))

	b, err := s.begin("connect_host", args{"host": "claude", "force": true})
	require.NoError(t, err)
	assert.Contains(t, b.plan.Summary, "replace")
	shown, err := json.Marshal(b.plan)
	require.NoError(t, err)
	assert.Contains(t, string(shown), "/usr/bin/other", "what is lost is shown")
	assert.NotContains(t, string(shown), "hunter22")
	_, _, err = b.commit()
	require.NoError(t, err)
	assert.Contains(t, s.read(path), program)
	assert.NotContains(t, s.read(path), "PASS")
}

func TestWhatIsNoFileOrMayNotBeWritten(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	require.NoError(t, os.Mkdir(filepath.Join(s.home, ".claude.json"), 0o755))
	_, err := s.try(args{"host": "claude-code"})
	require.ErrorIs(t, err, deployment.ErrPath)

	path := s.put(filepath.Join(s.home, ".cursor", "mcp.json"), "{}")
	require.NoError(t, os.Chmod(path, 0o444))
	_, err = s.try(args{"host": "cursor"})
	require.ErrorIs(t, err, deployment.ErrPermission)
	assert.ErrorContains(t, err, "chmod u+w")
	assert.Equal(t, "{}", s.read(path))

	s.put(filepath.Join(s.home, ".codex"), "a file where a directory belongs")
	_, err = s.try(args{"host": "codex"})
	require.ErrorIs(t, err, deployment.ErrPath)
	assert.NoFileExists(t, s.own)
}

func TestWhatDoesNotParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ host, file, text, says string }{
		{"claude-code", ".claude.json", "{\n  \"a\": 1,\n  \"b\" 2\n}\n", "line 3"},
		{"codex", ".codex/config.toml", "a = 1\nb =\n", "line 2"},
		{"claude-code", ".claude.json", `{"mcpServers": ["a"]}`, "mcpServers"},
		{"claude-code", ".claude.json", `{"mcpServers": {"countersign": {}, "countersign": {}}}`, "countersign"},
		{"gemini-cli", ".gemini/settings.json", `[1]`, "settings.json"},
	} {
		s := newStage(t)
		path := s.put(filepath.Join(s.home, filepath.FromSlash(c.file)), c.text)
		_, err := s.try(args{"host": c.host})
		require.ErrorIs(t, err, deployment.ErrConfig, c.text)
		assert.ErrorContains(t, err, path)
		assert.ErrorContains(t, err, c.says)
		assert.Equal(t, c.text, s.read(path))
		assert.Equal(t, "unreadable", s.listed(args{})[c.host].State)
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, c := range []struct {
		args args
		want error
		says string
	}{
		{args{"host": "emacs"}, mcpclients.ErrHost, "claude-code"},
		{args{"host": "curser"}, mcpclients.ErrHost, "did you mean cursor?"},
		{args{"host": "codex", "name": "a b"}, tool.ErrArguments, "name"},
		{args{"host": "codex", "name": strings.Repeat("a", 41)}, tool.ErrArguments, "40"},
		{args{"host": "codex", "toolsets": []string{"packs", "--x"}}, tool.ErrArguments, "toolsets"},
		{args{"host": "codex", "scope": "machine"}, tool.ErrArguments, "scope"},
		{args{"host": "codex", "url": "ftp://x/mcp"}, tool.ErrArguments, "url"},
		{args{"host": "codex", "url": "http://me:secret@x/mcp"}, tool.ErrArguments, "url"},
		{args{"host": "codex", "url": "http://127.0.0.1:1/mcp", "scope": "project"}, mcpclients.ErrShared, "scope user"},
	} {
		_, err := s.try(c.args)
		require.ErrorIs(t, err, c.want, "%v", c.args)
		assert.ErrorContains(t, err, c.says)
	}
	s.keys = nil
	_, err := s.try(args{"host": "codex", "url": "http://127.0.0.1:1/mcp"})
	require.ErrorIs(t, err, mcpclients.ErrServer)
	for alias, host := range map[string]string{"claude": "claude-code", "gemini": "gemini-cli", "vs-code": "vscode", "code": "vscode", "Codex": "codex"} {
		assert.Equal(t, host, s.must(args{"host": alias, "dry_run": true}).Host)
	}
	assert.Len(t, s.tree(), 1, "nothing was written")
	assert.NoFileExists(t, s.own)

	s.project = s.home
	_, err = s.try(args{"host": "codex", "scope": "project"})
	require.ErrorIs(t, err, deployment.ErrProject)
}

func TestLinks(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	real := s.put(filepath.Join(s.home, "dotfiles", "claude.json"), "{}\n")
	link := filepath.Join(s.home, ".claude.json")
	require.NoError(t, os.Symlink(filepath.Join("dotfiles", "claude.json"), link))
	require.NoError(t, os.Chmod(real, 0o640))
	b, err := s.begin("connect_host", args{"host": "claude-code"})
	require.NoError(t, err)
	assert.Equal(t, real, b.plan.Context.LeadsTo)
	_, _, err = b.commit()
	require.NoError(t, err)
	info, err := os.Lstat(link)
	require.NoError(t, err)
	assert.NotZero(t, info.Mode()&os.ModeSymlink, "the link stays a link")
	assert.Contains(t, s.read(real), program)
	info, err = os.Stat(real)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o640), info.Mode().Perm())
	s.must(args{"host": "claude-code", "remove": true})
	assert.Equal(t, "{}\n", s.read(real))

	require.NoError(t, os.Remove(real))
	_, err = s.try(args{"host": "claude-code"})
	require.ErrorIs(t, err, deployment.ErrPath)
	assert.ErrorContains(t, err, "is a dangling symbolic link")

	// No file of a repository leads out of it.
	outside := s.put(filepath.Join(s.home, "private.json"), "{}\n")
	require.NoError(t, os.Symlink(outside, filepath.Join(s.project, ".mcp.json")))
	_, err = s.try(args{"host": "claude-code", "scope": "project"})
	require.ErrorIs(t, err, deployment.ErrPath)
	assert.ErrorContains(t, err, "leads out of the project")
	require.NoError(t, os.MkdirAll(filepath.Join(s.home, "else"), 0o755))
	require.NoError(t, os.Symlink(filepath.Join(s.home, "else"), filepath.Join(s.project, ".cursor")))
	_, err = s.try(args{"host": "cursor", "scope": "project"})
	require.ErrorIs(t, err, deployment.ErrPath)
	assert.Equal(t, "{}\n", s.read(outside))
	assert.NoFileExists(t, filepath.Join(s.home, "else", "mcp.json"))
}

// TestChangedSince: a change after the plan is never overwritten.
func TestChangedSince(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(s *stage, path string){
		"content": func(s *stage, path string) { s.put(path, `{"mine": true}`) },
		"gone":    func(s *stage, path string) { require.NoError(s, os.Remove(path)) },
		"mode":    func(s *stage, path string) { require.NoError(s, os.Chmod(path, 0o600)) },
	} {
		s := newStage(t)
		path := s.put(filepath.Join(s.home, ".claude.json"), "{}")
		b, err := s.begin("connect_host", args{"host": "claude-code", "url": "http://127.0.0.1:1/mcp"})
		require.NoError(t, err)
		change(s, path)
		before := s.tree()
		_, _, err = b.commit()
		require.ErrorIs(t, err, deployment.ErrStale, name)
		assert.Equal(t, before, s.tree())
		assert.Empty(t, s.keys.secrets, "a token that came to nothing is no token")
		assert.NoDirExists(t, filepath.Join(s.own, "backups"))
	}
}

func TestLargeAndLong(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	var doc strings.Builder
	doc.WriteString("{\n  \"projects\": {\n")
	for i := range 12_000 {
		fmt.Fprintf(&doc, "    \"/home/me/project-%05d\": {\"allowedTools\": [], \"history\": [{\"display\": \"a line of %d\"}]},\n", i, i)
	}
	doc.WriteString("    \"last\": {}\n  }\n}\n")
	require.Greater(t, doc.Len(), 1<<20)
	path := s.put(filepath.Join(s.home, ".claude.json"), doc.String())
	b, err := s.begin("connect_host", args{"host": "claude-code"})
	require.NoError(t, err)
	assert.Less(t, len(b.plan.Context.Diff), 1000)
	_, _, err = b.commit()
	require.NoError(t, err)
	s.must(args{"host": "claude-code", "remove": true})
	assert.Equal(t, doc.String(), s.read(path))

	long := `{"a":"` + strings.Repeat("x", 1<<20) + `","mcpServers":{"b":{"command":"b","env":{"K":"supersecretvalue"}}},"z":1}`
	s.put(path, long)
	b, err = s.begin("connect_host", args{"host": "claude-code"})
	require.NoError(t, err)
	assert.Less(t, len(b.plan.Context.Diff), 1000, "of one long line only the change is shown")
	assert.Contains(t, b.plan.Context.Diff, program)
	assert.NotContains(t, b.plan.Context.Diff, "supersecretvalue")
	_, _, err = b.commit()
	require.NoError(t, err)
	s.must(args{"host": "claude-code", "remove": true})
	assert.Equal(t, long, s.read(path))
}
