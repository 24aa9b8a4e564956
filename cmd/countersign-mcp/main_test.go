package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/cmd/internal/wiring"
	"github.com/countersign-dev/countersign/internal/testkit/nopolicy"
	"github.com/countersign-dev/countersign/internal/testkit/stdiotest"
)

// TestMain lets the test binary be the command, on a machine without policy.
func TestMain(m *testing.M) {
	if os.Getenv("PLAY_COUNTERSIGN_MCP") != "" {
		os.Exit(run(wiring.Build{Version: version, Trust: nopolicy.Trust(os.Getenv("HOME"))}))
	}
	os.Exit(m.Run())
}

func start(t *testing.T, dir string, env ...string) *stdiotest.Client {
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe)
	cmd.Dir = dir
	cmd.Env = append([]string{"PLAY_COUNTERSIGN_MCP=1", "HOME=" + t.TempDir(), "CONTEXT_PACK_LOG=off", "GORACE=atexit_sleep_ms=0"}, env...)
	return stdiotest.Start(t, cmd)
}

// TestDropIn: started without an argument, it is the context-pack server that the original's environment variables describe.
func TestDropIn(t *testing.T) {
	packs, sources := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(sources, "a.go"), []byte("package a\n"), 0o644))
	c := start(t, t.TempDir(), "CONTEXT_PACK_ROOT="+packs, "CONTEXT_PACK_SOURCE_ROOT="+sources)
	c.Framed().Initialize("2024-11-05")
	call := func(args map[string]any) {
		t.Helper()
		r := c.Call("input", args)
		require.False(t, r.IsError, r.Text)
	}
	call(map[string]any{"action": "create", "ttl_minutes": 5, "name": "drop-in"})
	call(map[string]any{"action": "upsert_section", "name": "drop-in", "expected_revision": 1, "section_key": "s1", "section_title": "S"})
	call(map[string]any{"action": "upsert_ref", "name": "drop-in", "expected_revision": 2, "section_key": "s1", "ref_key": "r1", "path": "a.go", "line_start": 1, "line_end": 1})
	call(map[string]any{"action": "set_status", "name": "drop-in", "expected_revision": 3, "status": "finalized"})
	assert.Contains(t, c.Call("output", map[string]any{"name": "drop-in"}).Text, "```go\n   1: package a\n```\n")
	assert.DirExists(t, filepath.Join(packs, "packs"))
	c.CloseStdin()
	assert.Equal(t, 0, c.Wait())
	assert.Empty(t, c.Stderr())
}

// TestNothingDeafensIt: after any bytes and a newline a ping is answered, from the first bytes of a session on.
func TestNothingDeafensIt(t *testing.T) {
	c := start(t, t.TempDir(), "CONTEXT_PACK_ROOT="+t.TempDir())
	for _, garbage := range []string{
		strings.Repeat("[", 1100), "[", "{", "\"", `{"a":`, `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"in`, strings.Repeat(`{"a":[`, 900) + "\"",
		"[1" + strings.Repeat(",1", 1<<20), "{\"a\":\"" + strings.Repeat("a", 3<<20), "\xff\xfe\x00", "hello", "hello: world", "Content-Length: 10\r\n",
		"Content-Length: 70000\r\n\r\n[", "Content-Length: 200000000\r\n\r\n", "\xef\xbb\xbf[\n[\n[",
	} {
		c.SendBytes(garbage + "\n")
		require.JSONEq(t, "{}", string(c.Request("ping", nil).Result), "after %.40q", garbage)
	}
	c.SendBytes("{\n  \"jsonrpc\": \"2.0\",\n  \"id\": \"pretty\",\n  \"method\": \"ping\"\n}\n")
	assert.JSONEq(t, `{"jsonrpc":"2.0","id":"pretty","result":{}}`, string(c.Recv()))
	refused := 0
	for _, n := range c.Notifications {
		var r stdiotest.Response
		require.NoError(t, json.Unmarshal(n, &r))
		require.NotNil(t, r.Error, "%s", n)
		assert.Contains(t, []int{-32700, -32600}, r.Error.Code)
		refused++
	}
	assert.GreaterOrEqual(t, refused, 12, "what was given up is answered")
	c.CloseStdin()
	assert.Equal(t, 0, c.Wait())
}

// TestRefusesToStart: an unknown toolset ends the process before anything is served.
func TestRefusesToStart(t *testing.T) {
	c := start(t, t.TempDir(), "COUNTERSIGN_TOOLSETS=nothing")
	assert.Equal(t, 2, c.Wait())
	assert.Contains(t, c.Stderr(), `error: unknown toolset "nothing"`)
}
