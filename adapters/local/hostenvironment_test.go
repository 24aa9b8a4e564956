package local_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/local"
	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/access"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/internal/testkit/memstore"
)

func TestReal(t *testing.T) {
	t.Parallel()
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	at := func(parts ...string) string { return filepath.Join(append([]string{top}, parts...)...) }
	require.NoError(t, os.MkdirAll(at("real", "sub"), 0o755))
	require.NoError(t, os.WriteFile(at("real", "file"), nil, 0o644))
	for link, to := range map[string]string{"dir": "real", "file": "dir/file", "chain": "file", "nowhere": "none", "a": "b", "b": "a", "into": "none/at/all"} {
		require.NoError(t, os.Symlink(to, at(link)))
	}
	for path, want := range map[string]string{"real/file": "real/file", "file": "real/file", "chain": "real/file", "dir/file": "real/file", "dir/new": "real/new",
		"dir/new/deep": "real/new/deep", "none": "none", "none/at/all": "none/at/all", "real/file/below": "real/file/below"} {
		got, err := local.ResolvePath(at(path))
		require.NoError(t, err, path)
		assert.Equal(t, at(want), got, path)
	}
	for _, path := range []string{"nowhere", "a", "nowhere/below", "into"} {
		_, err := local.ResolvePath(at(path))
		require.ErrorIs(t, err, deployment.ErrPath, path)
	}
}

func TestProgram(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	path, lasting, err := local.ExecutablePath()
	require.NoError(t, err)
	assert.Equal(t, self, path)
	assert.False(t, lasting, "go test has made it")

	// A name on PATH that leads here is what a package manager keeps up to date.
	bin := t.TempDir()
	require.NoError(t, os.Symlink(self, filepath.Join(bin, "countersign")))
	t.Setenv("PATH", bin)
	path, lasting, err = local.ExecutablePath()
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(bin, "countersign"), path)
	assert.True(t, lasting)

	require.NoError(t, os.Remove(filepath.Join(bin, "countersign")))
	require.NoError(t, os.WriteFile(filepath.Join(bin, "countersign"), []byte("#!/bin/sh\n"), 0o755))
	path, _, err = local.ExecutablePath()
	require.NoError(t, err)
	assert.Equal(t, self, path, "another program of that name is not this one")
}

func TestSurroundings(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bin, "host"), nil, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(bin, "text"), nil, 0o644))
	env := map[string]string{"PATH": "relative" + string(os.PathListSeparator) + bin}
	here := local.NewSurroundings("relative/home", func(name string) string { return env[name] })
	assert.True(t, filepath.IsAbs(here.Home))
	assert.False(t, here.Chosen)
	assert.True(t, here.Installed("host"))
	assert.False(t, here.Installed("text"))
	assert.False(t, here.Installed("none"))
	env["COUNTERSIGN_HOME"] = "/x"
	here = local.NewSurroundings("/x", func(name string) string { return env[name] })
	assert.True(t, here.Chosen)
}

func TestKeys(t *testing.T) {
	t.Parallel()
	store, ctx := memstore.New(), t.Context()
	keeper := app.NewCredentials(app.CredentialsConfig{Credentials: store.Credentials(), Clock: system.Clock{}, IDs: system.IDs{}, Audit: store, Log: slog.New(slog.DiscardHandler)})
	keys := local.HostTokens{Admission: keeper}
	good := func(secret string, toolsets ...string) bool {
		ok, err := keys.Good(ctx, "connect:codex", secret, toolsets)
		require.NoError(t, err)
		return ok
	}
	live := func(name, secret string) bool {
		ok, err := keys.Live(ctx, name, secret)
		require.NoError(t, err)
		return ok
	}
	require.NoError(t, keys.Revoke(ctx, "connect:codex"), "none there is no error")
	assert.False(t, live("connect:codex", ""))
	first, err := keys.Renew(ctx, "connect:codex", []string{"packs", "projects"})
	require.NoError(t, err)
	assert.GreaterOrEqual(t, len(first), 30)
	c, err := keeper.Admit(ctx, access.Token, access.DigestOf(first))
	require.NoError(t, err)
	assert.Equal(t, "connect:codex", c.Name)
	assert.Equal(t, []string{"packs", "projects"}, c.Scope.Toolsets)
	assert.True(t, good(first, "projects", "packs"))
	assert.False(t, good(first, "packs"))
	assert.False(t, good(first))
	assert.False(t, good(strings.ToLower(first), "packs", "projects"))
	other, err := keys.Good(ctx, "connect:cursor", first, []string{"packs", "projects"})
	require.NoError(t, err)
	assert.False(t, other, "it is another host's")

	assert.True(t, live("connect:codex", ""))
	assert.True(t, live("connect:codex", first), "whatever it lets in for")
	assert.False(t, live("connect:cursor", first))
	second, err := keys.Renew(ctx, "connect:codex", nil)
	require.NoError(t, err)
	assert.NotEqual(t, first, second)
	assert.False(t, good(first, "packs", "projects"))
	assert.True(t, good(second))
	assert.False(t, live("connect:codex", first))
	require.NoError(t, keys.Revoke(ctx, "connect:codex"))
	assert.False(t, good(second))
	assert.False(t, live("connect:codex", ""))
	_, err = keeper.Admit(ctx, access.Token, access.DigestOf(second))
	require.ErrorIs(t, err, access.ErrUnknown)
}
