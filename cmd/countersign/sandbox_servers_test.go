//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testkit/fakeserver"
	"github.com/countersign-dev/countersign/internal/testkit/stdiotest"
)

// newFake returns a boxer whose server passes for opencode and behaves so.
func newFake(t *testing.T, quirks string, more ...string) *sandboxClient {
	t.Helper()
	bin, err := fakeserver.Install(t.TempDir())
	require.NoError(t, err)
	b := newBoxer(t, bin)
	b.env = append(append(b.env, fakeserver.Variable+"="+quirks), more...)
	b.CloseStdin() // what runs already knows nothing of that
	b.Wait()
	b.Client = b.boxes()
	return b
}

// TestSandboxServersKilledManager: the manager is killed with SIGKILL while its server comes up, and while it is being ended; another one finishes.
func TestSandboxServersKilledManager(t *testing.T) {
	t.Parallel()
	gate, err := net.Listen("tcp", "127.0.0.1:0") // where a server waits before it listens
	require.NoError(t, err)
	defer gate.Close()
	require.NoError(t, gate.(*net.TCPListener).SetDeadline(time.Now().Add(2*time.Minute)))
	b := newFake(t, "gate="+gate.Addr().String())
	project := args{"git_url": b.url}
	first := b.boxes()
	first.Send(`{"jsonrpc":"2.0","id":"s","method":"tools/call","params":{"name":"opencode_project_start","arguments":{"git_url":` + strconv.Quote(b.url) + `}}}`)
	onItsWay, err := gate.Accept()
	require.NoError(t, err)
	first.Kill()
	defer onItsWay.Close() // until it is ended
	go func() {            // those after it are not held up
		for {
			conn, err := gate.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	started := b.ask("opencode_project_start", project)
	assert.Equal(t, "success", started.Status, "%+v", started)
	assert.Len(t, b.supervisors(), 2, "one server, one gateway")
	assert.True(t, b.does("opencode_project_status", project).Healthy)

	second := b.boxes()
	second.Send(`{"jsonrpc":"2.0","id":"s","method":"tools/call","params":{"name":"opencode_project_stop","arguments":{"git_url":` + strconv.Quote(b.url) + `}}}`)
	state := func() string { return read(t, filepath.Join(b.home, ".memory/opencode-state.json")) }
	require.Contains(t, state(), `"running"`)
	second.Kill()
	b.does("opencode_project_stop", project)
	b.leaves()
}

// TestSandboxServersManyManagers: four managers start, restart and stop the same two projects in a jumble. In the end one server runs for each.
func TestSandboxServersManyManagers(t *testing.T) {
	t.Parallel()
	b := newFake(t, "slow=50ms")
	b.git("", "clone", "-q", "--bare", b.at("shop"), b.at("origin/twin.git"))
	urls := []string{b.url, b.at("origin/twin.git")}
	var all sync.WaitGroup
	managers := []*stdiotest.Client{b.Client, b.boxes(), b.boxes(), b.boxes()}
	for i, m := range managers {
		all.Go(func() {
			for j, tool := range []string{"opencode_project_start", "opencode_project_restart", "opencode_project_stop", "opencode_project_start"} {
				r := m.Call(tool, args{"git_url": urls[(i+j/2)%2]})
				if r.IsError && !strings.Contains(r.Text, "project_not_found") {
					t.Errorf("%s: %s", tool, r.Text)
				}
			}
		})
	}
	all.Wait()
	ports := map[int]bool{}
	for _, url := range urls {
		b.ask("opencode_project_start", args{"git_url": url})
		v := b.ask("opencode_project_start", args{"git_url": url})
		assert.Equal(t, "already_running", v.Status)
		ports[v.Port] = true
	}
	assert.Len(t, ports, 2)
	assert.Len(t, b.supervisors(), 3, "two servers, one gateway")
	for _, url := range urls {
		b.does("opencode_project_stop", args{"git_url": url})
	}
	for _, m := range managers[1:] {
		m.CloseStdin()
		m.Wait()
	}
	b.leaves()
}

// TestSandboxServersGateway: the gateway is killed, and found stopped; it comes again at the same port with the next start, and serves nobody without its token.
func TestSandboxServersGateway(t *testing.T) {
	t.Parallel()
	own := port(t) // other tests take the usual ones meanwhile
	b := newFake(t, "", "GLOBAL_MCP_TOOL_PORT="+strconv.Itoa(own))
	project := args{"git_url": b.url}
	port := b.does("opencode_project_start", project).GatewayPort
	require.Equal(t, own, port)
	var gateway struct {
		Status string
		PID    int
	}
	look := func() {
		gateway.PID = 0 // null says nothing about it
		require.NoError(t, json.Unmarshal(b.Call("opencode_mcp_status", args{}).Structured, &gateway))
	}
	look()
	require.NoError(t, syscall.Kill(gateway.PID, syscall.SIGKILL))
	eventually(t, "that is noticed", func() bool { look(); return gateway.Status == "stopped" && gateway.PID == 0 })
	again := b.ask("opencode_project_start", project)
	assert.Equal(t, []any{"already_running", port}, []any{again.Status, again.GatewayPort})
	at := "http://127.0.0.1:" + strconv.Itoa(port)
	for _, token := range []string{"", "Bearer ", "Bearer wrong"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at+"/mcp", bytes.NewReader([]byte(`{}`)))
		require.NoError(t, err)
		req.Header.Set("Authorization", token)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		assert.Equal(t, http.StatusUnauthorized, resp.StatusCode, token)
	}
	b.does("opencode_project_stop", project)
	b.leaves()
}

// TestSandboxServersLog: what a server prints is kept for users, in files of bounded size and number.
func TestSandboxServersLog(t *testing.T) {
	t.Parallel()
	b := newFake(t, "loud=1000")
	project := args{"git_url": b.url}
	b.does("opencode_project_start", project)
	b.does("opencode_project_stop", project)
	found, err := filepath.Glob(filepath.Join(b.home, ".memory/opencode-logs/*-opencode.log"))
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.NoError(t, os.Truncate(found[0], 10<<20)) // as large as it may become
	b.does("opencode_project_start", project)
	logs := func() (sizes []int64) {
		entries, err := os.ReadDir(filepath.Join(b.home, ".memory/opencode-logs"))
		require.NoError(t, err)
		for _, e := range entries {
			if info, err := e.Info(); err == nil && strings.Contains(e.Name(), "-opencode.log") {
				assert.Equal(t, os.FileMode(0o600), info.Mode().Perm(), e.Name())
				sizes = append(sizes, info.Size())
			}
		}
		return sizes
	}
	b.does("opencode_project_stop", project)
	sizes := logs()
	assert.Len(t, sizes, 2, "rotated once")
	for _, size := range sizes {
		assert.LessOrEqual(t, size, int64(10<<20))
	}
	b.leaves()
}
