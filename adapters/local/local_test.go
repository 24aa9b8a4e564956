package local_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/local"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/nopolicy"
)

// environment returns an env function over pairs, with a home of the test's own.
func environment(t *testing.T, pairs map[string]string) func(string) string {
	if pairs == nil {
		pairs = map[string]string{}
	}
	if pairs["COUNTERSIGN_HOME"] == "" {
		pairs["COUNTERSIGN_HOME"] = filepath.Join(t.TempDir(), "home")
	}
	return func(name string) string { return pairs[name] }
}

func open(t *testing.T, pairs map[string]string) *local.Local {
	t.Helper()
	c, err := local.EnvironmentOver(local.Config{Trust: nopolicy.Trust(t.TempDir()), Options: local.Defaults()}, environment(t, pairs))
	require.NoError(t, err)
	c.Packs.Root = first(c.Packs.Root, filepath.Join(t.TempDir(), "packs"))
	l, err := local.Open(c)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, l.Close()) })
	return l
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func served(l *local.Local) (names []tool.Name) {
	for s := range l.Specs() {
		names = append(names, s.Name)
	}
	return names
}

// TestOpeningTouchesNothing: no file, no directory and no database before a call needs one, and none for reading alone.
func TestOpeningTouchesNothing(t *testing.T) {
	home, packs := filepath.Join(t.TempDir(), "home"), filepath.Join(t.TempDir(), "packs")
	l := open(t, map[string]string{"COUNTERSIGN_HOME": home, "CONTEXT_PACK_ROOT": packs})
	assert.NoDirExists(t, home)
	assert.NoDirExists(t, packs)
	_, err := l.Settings(context.Background())
	require.NoError(t, err)
	assert.NoDirExists(t, home)
	o := l.As(l.Owner()).Call(context.Background(), "input", json.RawMessage(`{"action":"create","ttl_minutes":5}`))
	require.NoError(t, o.Err)
	for _, dir := range []string{home, packs} {
		info, err := os.Stat(dir)
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o700), info.Mode().Perm(), dir)
	}
}

// TestZeroOptionsRefuse: a host that configures nothing can change nothing.
func TestZeroOptionsRefuse(t *testing.T) {
	l, err := local.Open(local.Config{Trust: nopolicy.Trust(t.TempDir()), Dir: t.TempDir(), Packs: local.Packs{Root: t.TempDir()}})
	require.NoError(t, err)
	defer l.Close()
	o := l.As(policy.Principal{ID: "host", Grants: policy.All}).Call(context.Background(), "input", json.RawMessage(`{"action":"create","ttl_minutes":5}`))
	require.Error(t, o.Err)
	assert.Equal(t, fault.Denied, fault.From(o.Err).Kind)
}

func TestDefaultsOfTheEnvironment(t *testing.T) {
	c, err := local.EnvironmentOver(local.Config{Trust: nopolicy.Trust(t.TempDir()), Options: local.Defaults()}, environment(t, nil))
	require.NoError(t, err)
	defaults := local.Defaults()
	defaults.Below = []policy.Layer{{Name: "config.yaml"}, {Name: "the environment or a flag"}}
	assert.Equal(t, defaults, c.Options)
	assert.Equal(t, []string{"packs", "deployments"}, c.Toolsets)
	l := open(t, nil)
	assert.Contains(t, served(l), tool.Name("input"))
	assert.Contains(t, served(l), tool.Name("confirm"))
	assert.NotContains(t, served(l), tool.Name("quarantine_pack_file"), "upkeep is served only where it is asked for")
	assert.Equal(t, policy.All, l.Owner().Grants)
	wd, err := os.Getwd()
	require.NoError(t, err)
	assert.Equal(t, wd, l.SourceRoot())
}

func TestEveryVariable(t *testing.T) {
	c, err := local.EnvironmentOver(local.Config{Trust: nopolicy.Trust(t.TempDir()), Options: local.Defaults()}, environment(t, map[string]string{
		"COUNTERSIGN_TOOLSETS": " packs, upkeep,", "COUNTERSIGN_TOOLS": "set_mode", "COUNTERSIGN_EXCLUDE_TOOLS": "input", "COUNTERSIGN_READ_ONLY": "TRUE",
		"COUNTERSIGN_MODE": "plan", "COUNTERSIGN_MAX_MODE": "plan", "COUNTERSIGN_PERMISSION_LEVEL": "full_access", "COUNTERSIGN_APPROVAL": "human",
		"COUNTERSIGN_CONFIRM_TTL": "10m", "CONTEXT_PACK_ROOT": "p", "CONTEXT_PACK_SOURCE_ROOT": "s", "CONTEXT_PACK_SOURCE_ROOTS": "api=../api, web=/srv/web",
	}))
	require.NoError(t, err)
	assert.Equal(t, app.Options{
		Policy: local.Defaults().Policy, ConfirmTTL: 10 * time.Minute,
		Below: []policy.Layer{{Name: "config.yaml"}, {Name: "the environment or a flag", Approval: policy.ApprovalHuman, Mode: policy.Plan, Ceiling: policy.Plan, Level: policy.FullAccess}},
		Serve: app.Selection{Toolsets: []string{"packs", "upkeep"}, Tools: []string{"set_mode"}, Exclude: []string{"input"}, ReadOnly: true},
	}, c.Options)
	assert.Equal(t, local.Packs{Root: "p", Source: "s", Sources: map[string]string{"api": "../api", "web": "/srv/web"}}, c.Packs)
}

// TestEveryProblemAtOnce: what is not understood is refused by name, all of it in one message.
func TestEveryProblemAtOnce(t *testing.T) {
	bad := map[string]string{"COUNTERSIGN_READ_ONLY": "perhaps", "COUNTERSIGN_MODE": "x", "COUNTERSIGN_MAX_MODE": "x", "COUNTERSIGN_PERMISSION_LEVEL": "x",
		"COUNTERSIGN_APPROVAL": "x", "COUNTERSIGN_CONFIRM_TTL": "11m", "CONTEXT_PACK_SOURCE_ROOTS": "x"}
	_, err := local.EnvironmentOver(local.Config{Trust: nopolicy.Trust(t.TempDir()), Options: local.Defaults()}, environment(t, bad))
	require.ErrorIs(t, err, local.ErrConfig)
	for name := range bad {
		if name != "COUNTERSIGN_HOME" {
			assert.Contains(t, err.Error(), name)
		}
	}
}

func TestConfirmTTLBounds(t *testing.T) {
	for value, ok := range map[string]bool{"59s": false, "1m": true, "10m": true, "10m1s": false, "5": false} {
		_, err := local.EnvironmentOver(local.Config{Trust: nopolicy.Trust(t.TempDir()), Options: local.Defaults()}, environment(t, map[string]string{"COUNTERSIGN_CONFIRM_TTL": value}))
		assert.Equal(t, ok, err == nil, value)
	}
}

func TestConfigFile(t *testing.T) {
	write := func(t *testing.T, text string) map[string]string {
		home := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(home, "config.yaml"), []byte(text), 0o600))
		return map[string]string{"COUNTERSIGN_HOME": home}
	}
	t.Run("below the environment", func(t *testing.T) {
		pairs := write(t, "mode: plan\npermission_level: read_only\nread_only: true\ntoolsets: [upkeep]\nconfirm_ttl: 2m\npacks:\n  source_roots: {api: ../api}\n")
		pairs["COUNTERSIGN_MODE"] = "ask"
		c, err := local.EnvironmentOver(local.Config{Trust: nopolicy.Trust(t.TempDir()), Options: local.Defaults()}, environment(t, pairs))
		require.NoError(t, err)
		in := policy.Resolve(c.Options.Policy, c.Options.Below...)
		assert.Equal(t, policy.Ask, in.Mode)
		assert.Equal(t, policy.ReadOnly, in.Level)
		assert.Equal(t, map[string]string{"mode": "the environment or a flag", "permission_level": "config.yaml"}, in.By)
		assert.Equal(t, []string{"upkeep"}, c.Options.Serve.Toolsets)
		assert.True(t, c.Options.Serve.ReadOnly)
		assert.Equal(t, 2*time.Minute, c.Options.ConfirmTTL)
		assert.Equal(t, map[string]string{"api": "../api"}, c.Packs.Sources)
	})
	t.Run("empty", func(t *testing.T) {
		_, err := local.EnvironmentOver(local.Config{Trust: nopolicy.Trust(t.TempDir()), Options: local.Defaults()}, environment(t, write(t, "\n")))
		assert.NoError(t, err)
	})
	for name, text := range map[string]string{"unknown key": "modus: plan\n", "repeated key": "mode: plan\nmode: ask\n", "no YAML": "{", "another type": "tools: 5\n"} {
		t.Run(name, func(t *testing.T) {
			_, err := local.EnvironmentOver(local.Config{Trust: nopolicy.Trust(t.TempDir()), Options: local.Defaults()}, environment(t, write(t, text)))
			require.ErrorIs(t, err, local.ErrConfig)
			assert.Contains(t, err.Error(), "config.yaml")
		})
	}
}

// TestSourceRootWords: some values mean the working directory (context-pack contract §6.6).
func TestSourceRootWords(t *testing.T) {
	wd, err := os.Getwd()
	require.NoError(t, err)
	for value, want := range map[string]string{"": wd, ".": wd, " cwd ": wd, "SESSION_CWD": wd, "__session_cwd__": wd, "below": filepath.Join(wd, "below"), "/abs": "/abs"} {
		assert.Equal(t, want, open(t, map[string]string{"CONTEXT_PACK_SOURCE_ROOT": value}).SourceRoot(), value)
	}
}

func TestUnknownNamesFailClosed(t *testing.T) {
	for variable, says := range map[string]string{"COUNTERSIGN_TOOLSETS": "unknown toolset", "COUNTERSIGN_TOOLS": "unknown tool", "COUNTERSIGN_EXCLUDE_TOOLS": "unknown tool"} {
		c, err := local.EnvironmentOver(local.Config{Trust: nopolicy.Trust(t.TempDir()), Options: local.Defaults()}, environment(t, map[string]string{variable: "nothing-like-it"}))
		require.NoError(t, err)
		_, err = local.Open(c)
		require.ErrorIs(t, err, app.ErrWiring, variable)
		assert.Contains(t, err.Error(), says)
	}
	c, err := local.EnvironmentOver(local.Config{Trust: nopolicy.Trust(t.TempDir()), Options: local.Defaults()}, environment(t, map[string]string{"CONTEXT_PACK_SOURCE_ROOTS": "not a name=/x"}))
	require.NoError(t, err)
	_, err = local.Open(c)
	require.ErrorIs(t, err, app.ErrWiring)
}

// TestSecretsOfTheProcess: the value of a variable that is named like a secret appears in no result.
func TestSecretsOfTheProcess(t *testing.T) {
	t.Setenv("SOME_SERVICE_TOKEN", "correct-horse-battery")
	source := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(source, "a.txt"), []byte("the value is correct-horse-battery here\n"), 0o600))
	l := open(t, map[string]string{"CONTEXT_PACK_SOURCE_ROOT": source})
	call := func(name tool.Name, args string) tool.Outcome {
		t.Helper()
		o := l.As(l.Owner()).Call(context.Background(), name, json.RawMessage(args))
		require.NoError(t, o.Err)
		return o
	}
	call("input", `{"action":"write","document":{"name":"leaky","sections":[{"key":"s1","title":"S","refs":[{"key":"r1","path":"a.txt","line_start":1,"line_end":1}]}]}}`)
	text := call("output", `{"name":"leaky"}`).Text
	assert.Contains(t, text, "the value is")
	assert.NotContains(t, text, "correct-horse-battery")
}

func TestLogger(t *testing.T) {
	cases := map[string]struct {
		own, original, otherwise string
		info, debug              bool
	}{
		"default":               {otherwise: "info", info: true},
		"off by default":        {otherwise: "off"},
		"own variable first":    {own: "off", original: "debug", otherwise: "info"},
		"the original's":        {original: "mcp_context_pack=debug", info: true, debug: true},
		"another program's":     {original: "hyper=trace", otherwise: "info", info: true},
		"several":               {original: "hyper=off, context_pack=warn"},
		"off":                   {original: "off", otherwise: "info"},
		"a module of ours":      {original: "mcp_context_pack::adapters=debug", info: true, debug: true},
		"what is no level":      {original: "loud", otherwise: "info", info: true},
		"the last one counts":   {own: "debug,error"},
		"levels in any letters": {own: " INFO ", info: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			env := map[string]string{"COUNTERSIGN_LOG": c.own, "CONTEXT_PACK_LOG": c.original}
			log := local.Logger(&out, func(n string) string { return env[n] }, c.otherwise)
			log.Info("at-info")
			log.Debug("at-debug")
			assert.Equal(t, c.info, bytes.Contains(out.Bytes(), []byte("at-info")), out.String())
			assert.Equal(t, c.debug, bytes.Contains(out.Bytes(), []byte("at-debug")), out.String())
		})
	}
}
