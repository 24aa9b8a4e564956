package sandboxfile_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/sandboxfile"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/internal/testkit/clock"

	"github.com/countersign-dev/countersign/ports/sandboxport"
)

const complete = "OPENCODE_PASSWORD=pw\nMCP_BEARER_TOKEN=tok\n"

// settings returns those of a home with these files.
func settings(t testing.TB, global, own string, pairs ...string) (sandboxport.Settings, error) {
	t.Helper()
	home := place(t)
	write(t, memory(home, "opencode-manager.env"), global)
	if own != "" {
		write(t, memory(home, "opencode-sandboxes", "user-repo", ".env"), own)
	}
	return open(home, pairs...).Settings(t.Context(), "user-repo")
}

func TestInit(t *testing.T) {
	home := place(t)
	s := open(home)
	path, created, err := s.Init(t.Context())
	require.NoError(t, err)
	assert.True(t, created)
	assert.Equal(t, memory(home, "opencode-manager.env"), path)
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	text := read(t, path)
	assert.Regexp(t, regexp.MustCompile(`(?m)^OPENCODE_PASSWORD=[0-9a-f]{32}$`), text)
	assert.Regexp(t, regexp.MustCompile(`(?m)^MCP_BEARER_TOKEN=[0-9a-f]{64}$`), text)
	got, err := s.Settings(t.Context(), "")
	require.NoError(t, err)
	assert.Len(t, got.Password, 32)
	assert.NotContains(t, path, got.Password)

	_, created, err = s.Init(t.Context())
	require.NoError(t, err)
	assert.False(t, created)
	assert.Equal(t, text, read(t, path), "what is there stays")
	other := open(place(t))
	_, _, err = other.Init(t.Context())
	require.NoError(t, err)
	fresh, err := other.Settings(t.Context(), "")
	require.NoError(t, err)
	assert.NotEqual(t, got.Password, fresh.Password)
}

func TestConfigurationIsRefused(t *testing.T) {
	for text, want := range map[string][]string{
		"":                           {"OPENCODE_PASSWORD", "MCP_BEARER_TOKEN"},
		"OPENCODE_PASSWORD=s3cr3t\n": {"MCP_BEARER_TOKEN"},
		"OPENCODE_PASSWORD=\"\"\nMCP_BEARER_TOKEN=s3cr3t":                             {"OPENCODE_PASSWORD"},
		"OPENCODE_PASSWORD=CHANGE_ME_REQUIRED\nMCP_BEARER_TOKEN='CHANGE_ME_REQUIRED'": {"OPENCODE_PASSWORD", "MCP_BEARER_TOKEN"},
	} {
		_, err := settings(t, text, "")
		require.ErrorIs(t, err, sandbox.ErrConfiguration, text)
		for _, key := range want {
			assert.ErrorContains(t, err, key)
		}
		assert.NotContains(t, err.Error(), "s3cr3t")
		details := fault.From(err).Details.(sandboxfile.ConfigurationFault)
		assert.Equal(t, want, slices.Concat(details.Missing, details.Unset))
	}

	home := place(t)
	path := memory(home, "opencode-manager.env")
	write(t, path, complete)
	for _, mode := range []os.FileMode{0o640, 0o604, 0o660, 0o601} {
		require.NoError(t, os.Chmod(path, mode))
		_, err := open(home).Settings(t.Context(), "")
		require.ErrorIs(t, err, sandbox.ErrConfiguration)
		assert.ErrorContains(t, err, "chmod 600 '"+path+"'")
	}
	require.NoError(t, os.Chmod(path, 0o400))
	_, err := open(home).Settings(t.Context(), "")
	require.NoError(t, err)

	require.NoError(t, os.Remove(path))
	write(t, filepath.Join(home, "dotfiles", "env"), complete)
	require.NoError(t, os.Symlink(filepath.Join(home, "dotfiles", "env"), path))
	_, err = open(home).Settings(t.Context(), "")
	require.NoError(t, err, "people keep such files elsewhere")
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Mkdir(path, 0o700))
	_, err = open(home).Settings(t.Context(), "")
	require.ErrorIs(t, err, sandbox.ErrConfiguration)
}

func TestSettings(t *testing.T) {
	got, err := settings(t, complete, "")
	require.NoError(t, err)
	got.Missing = ""
	assert.Equal(t, sandboxport.Settings{Password: "pw", GatewayToken: "tok", Host: "127.0.0.1", AllowCommands: true}, got)

	got, err = settings(t, complete+"OPENCODE_HOSTNAME=10.0.0.1\nOPENCODE_MEMORY_LIMIT_MB=512\nOPENCODE_IDLE_STOP=2h\nOPENCODE_ALLOW_START_COMMAND=off\n",
		"GIT_URL="+origin+"\nSSH_KEY_PATH=~/.ssh/id\nOPENCODE_PORT=4150\nOPENCODE_PASSWORD=theirs\nMCP_TOOL_DIR=/x\n", "OPENCODE_MEMORY_LIMIT_MB", "1024")
	require.NoError(t, err)
	assert.Equal(t, "pw", got.Password, "secrets of a project's own are of an earlier time")
	assert.Equal(t, 4150, got.Port)
	assert.Equal(t, "10.0.0.1", got.Host)
	assert.Equal(t, 1024, got.MemoryLimitMB, "the environment comes before the file")
	assert.Equal(t, 2*time.Hour, got.IdleStop)
	assert.False(t, got.AllowCommands)
	assert.True(t, filepath.IsAbs(got.SSHKey) && strings.HasSuffix(got.SSHKey, "/.ssh/id"))

	for own, want := range map[string]string{"": "serve -p {port}", "OPENCODE_SERVER_ARGS=run {host}:{port}\n": "run {host}:{port}"} {
		got, err = settings(t, complete+"OPENCODE_SERVER_ARGS=serve -p {port}\n", own)
		require.NoError(t, err)
		assert.Equal(t, want, got.Args, "the project's own comes before the machine's")
	}
	for _, zero := range []string{"OPENCODE_IDLE_STOP=0\n", "OPENCODE_MEMORY_LIMIT_MB=0\n"} {
		_, err = settings(t, complete+zero, "")
		require.NoError(t, err)
	}
	for _, bad := range []string{"OPENCODE_HOSTNAME=-x", "OPENCODE_HOSTNAME=a b", "OPENCODE_HOSTNAME=http://x", "OPENCODE_MEMORY_LIMIT_MB=-1", "OPENCODE_MEMORY_LIMIT_MB=2G",
		"OPENCODE_IDLE_STOP=soon", "OPENCODE_IDLE_STOP=-1h", "OPENCODE_IDLE_STOP=30", "OPENCODE_ALLOW_START_COMMAND=maybe",
		"OPENCODE_SERVER_ARGS=serve"} {
		_, err = settings(t, complete+bad+"\n", "")
		require.ErrorIs(t, err, sandbox.ErrConfig, bad)
		name, _, _ := strings.Cut(bad, "=")
		assert.ErrorContains(t, err, name)
	}
	for _, bad := range []string{"x", "-1", "65536", "4100.5"} {
		_, err = settings(t, complete, "OPENCODE_PORT="+bad+"\n")
		require.ErrorIs(t, err, sandbox.ErrConfig, bad)
	}
}

func TestEnvironHasNoneOfOurSecrets(t *testing.T) {
	home := place(t)
	write(t, memory(home, "opencode-manager.env"), complete)
	s := sandboxfile.New(sandboxfile.Options{Home: home, Clock: &clock.Fake{}, Environ: func() []string {
		return []string{"PATH=/bin", "ANTHROPIC_API_KEY=k", "OPENCODE_PASSWORD=x", "MCP_BEARER_TOKEN=x", "GLOBAL_MCP_BEARER_TOKEN=x", "OPENCODE_SERVER_PASSWORD=x", "COUNTERSIGN_TOKEN=x",
			"COPY=pw", "OTHER=tok", "EMPTY=", "OPENCODE_CONFIG=c"}
	}})
	got, err := s.Settings(t.Context(), "")
	require.NoError(t, err)
	assert.Equal(t, []string{"PATH=/bin", "ANTHROPIC_API_KEY=k", "EMPTY=", "OPENCODE_CONFIG=c"}, got.Environ)
}

// TestProgram is the order of opencode contract §5.4.
func TestProgram(t *testing.T) {
	home := place(t)
	program := func(parts ...string) string {
		path := filepath.Join(append([]string{home}, parts...)...)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755))
		return path
	}
	own, global, env, path := program("own"), program("global"), program("env"), program("bin", "opencode")
	npm := program("npm", "node_modules", ".bin", "opencode")
	named := program("bin", "other")
	write(t, filepath.Join(home, "plain"), "x")
	at := func(ownBin, globalBin, envBin, searched string) (string, string) {
		text := complete
		if globalBin != "" {
			text += "OPENCODE_BIN=" + globalBin + "\n"
		}
		write(t, memory(home, "opencode-manager.env"), text)
		write(t, memory(home, "opencode-sandboxes", "user-repo", ".env"), "OPENCODE_BIN="+ownBin+"\n")
		got, err := open(home, "OPENCODE_BIN", envBin, "PATH", searched).Settings(t.Context(), "user-repo")
		require.NoError(t, err)
		return got.Bin, got.Missing
	}
	search := "relative:" + filepath.Join(home, "nowhere") + ":" + filepath.Join(home, "bin")
	for _, row := range [][5]string{
		{own, global, env, search, own}, {"", global, env, search, global}, {"", "", env, search, env}, {"", "", "", search, path},
		{"~/own", "", "", "", own}, {"other", "", "", search, named}, {"", "", filepath.Join(home, "npm"), "", npm},
		{"", "", filepath.Join(home, "npm", "opencode"), "", npm}, {"", "", filepath.Join(home), "", path}, {"", "", "", "", ""},
	} {
		bin, missing := at(row[0], row[1], row[2], row[3])
		assert.Equal(t, row[4], bin, row)
		assert.Equal(t, bin == "", missing != "", row)
	}
	for _, bad := range []string{filepath.Join(home, "gone", "x"), filepath.Join(home, "plain"), "absent", "./own", "../own"} {
		bin, missing := at(bad, "", "", search)
		assert.Empty(t, bin, bad)
		assert.Contains(t, missing, bad)
		assert.Contains(t, missing, ".env", "it says which setting is wrong")
	}
}

// TestDepartedRepository: a project whose local repository is gone can still be named, to stop and to destroy it.
func TestDepartedRepository(t *testing.T) {
	home := place(t)
	s := open(home)
	bare := bareRepository(t, filepath.Join(home, "srv", "repo.git"))
	url, _, _, err := s.Identify(t.Context(), bare)
	require.NoError(t, err)
	put(t, s, record(t, url.String()))
	require.NoError(t, os.RemoveAll(filepath.Join(home, "srv")))
	got, _, warnings, err := s.Identify(t.Context(), bare)
	require.NoError(t, err)
	assert.Equal(t, url, got)
	assert.Len(t, warnings, 1)
	_, _, _, err = s.Identify(t.Context(), bare+"x")
	require.ErrorIs(t, err, sandbox.ErrURL)
}

// TestLinkedRoots: both roots may be links to somewhere else.
func TestLinkedRoots(t *testing.T) {
	home := place(t)
	for _, name := range []string{".memory", ".opencode-projects"} {
		require.NoError(t, os.MkdirAll(filepath.Join(home, "disk", name), 0o700))
		require.NoError(t, os.Symlink(filepath.Join(home, "disk", name), filepath.Join(home, name)))
	}
	s := open(home)
	furnish(t, s)
	p := record(t, origin)
	l := s.Layout(p.Name, "")
	require.NoError(t, s.Prepare(t.Context(), p, l))
	require.NoError(t, os.Remove(filepath.Join(l.Base, sandbox.MarkerFile)))
	deleted, err := s.Discard(t.Context(), l)
	require.NoError(t, err)
	assert.Len(t, deleted, 2)
}

// TestDeletionGoesOn: the mark goes last, so that what was cut off can be done again.
func TestDeletionGoesOn(t *testing.T) {
	home := place(t)
	s := open(home)
	p := record(t, origin)
	l := s.Layout(p.Name, filepath.Join(home, "own"))
	require.NoError(t, s.Prepare(t.Context(), p, l))
	entries, err := os.ReadDir(l.Base)
	require.NoError(t, err)
	for _, entry := range entries {
		if entry.Name() != sandbox.MarkerFile {
			require.NoError(t, os.RemoveAll(filepath.Join(l.Base, entry.Name())))
		}
	}
	deleted, err := s.Discard(t.Context(), l)
	require.NoError(t, err)
	assert.Contains(t, deleted, l.Base)

	bare := filepath.Join(home, "bare")
	require.NoError(t, os.Mkdir(bare, 0o700))
	_, err = s.Discard(t.Context(), s.Layout(p.Name, bare))
	require.ErrorIs(t, err, sandbox.ErrBaseDir, "also an empty directory without a mark")
}
