package opencode_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/countersign-dev/countersign/adapters/opencode"
	"github.com/countersign-dev/countersign/adapters/osproc"
	"github.com/countersign-dev/countersign/domain/sandbox"

	"github.com/countersign-dev/countersign/internal/testkit/fakeserver"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

var (
	_ sandboxport.Launcher = (*opencode.Launcher)(nil)
	_ sandboxport.Sockets  = opencode.Sockets{}
)

// TestMain lets the test binary be the agent server, and the supervisors of its processes.
func TestMain(m *testing.M) {
	fakeserver.RunIfAsked()
	if len(os.Args) > 1 && os.Args[1] == "supervise" {
		if osproc.Supervise(os.Stdin, osproc.Options{}) != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestLauncher(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	bin, err := fakeserver.Install(t.TempDir())
	require.NoError(t, err)
	p := osproc.New(osproc.Options{Dir: t.TempDir(), Supervisor: []string{self, "supervise"}})
	launcher(t, launcherFixture{
		Launcher: opencode.NewLauncher(opencode.LauncherOptions{Processes: p}), Sockets: opencode.Sockets{}, Processes: p, Bin: bin,
	})
}

func TestSpec(t *testing.T) {
	l := opencode.NewLauncher(opencode.LauncherOptions{})
	at := sandbox.Layout{Base: "/p/owner-repo", Repo: "/p/owner-repo/repo", ServerLog: "/m/owner-repo.log"}
	s := sandboxport.Settings{Password: "pass-word-1234", Bin: "/bin/opencode", Environ: []string{
		"PATH=/bin", "HOME=/home/me", "ANTHROPIC_API_KEY=key-of-a-provider", "OTHER=1", "CI=true", "OPENCODE_CONFIG=/c.json", "OPENCODE_SERVER_USERNAME=somebody",
		"OPENCODE_PASSWORD=pass-word-1234", "GIT_SSH_COMMAND=ssh -i /other", "OPENCODE_PASS_ENV=ANTHROPIC_API_KEY, SSH_AUTH_SOCK",
	}}
	spec := l.Spec(s, at, 4107, "")
	assert.Equal(t, []string{"/bin/opencode", "serve", "--hostname", "127.0.0.1", "--port", "4107"}, spec.Argv)
	assert.Equal(t, map[string]string{
		"PATH": "/bin", "HOME": "/home/me", "NO_COLOR": "1", "FORCE_COLOR": "0", "GIT_TERMINAL_PROMPT": "0", "OPENCODE_CONFIG": "/c.json",
		"ANTHROPIC_API_KEY":        "key-of-a-provider",
		"OPENCODE_SERVER_PASSWORD": "pass-word-1234", "OPENCODE_SERVER_USERNAME": "opencode", "OPENCODE_DISABLE_AUTOUPDATE": "1",
	}, spec.Env, "a provider's key only because the user said so; without a key of the project, git uses the user's own configuration")
	assert.ElementsMatch(t, []string{"pass-word-1234", "key-of-a-provider"}, spec.Secrets)
	assert.Equal(t, "/m/owner-repo.log", spec.Log)
	assert.Equal(t, map[string]string{"kind": "agent_server", "project": "owner-repo", "port": "4107"}, spec.Labels)
	require.NoError(t, spec.Validate())
	s.Bin, s.Args, s.Host = "/opt/other", "  run --listen={host}:{port} --quiet ", "0.0.0.0"
	assert.Equal(t, []string{"/opt/other", "run", "--listen=0.0.0.0:4107", "--quiet"}, l.Spec(s, at, 4107, "").Argv)
}

// No proxy and no redirection is told the password, and an endless answer ends.
func TestHealthStaysHere(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("somebody else was asked") }))
	defer elsewhere.Close()
	t.Setenv("HTTP_PROXY", elsewhere.URL)
	t.Setenv("http_proxy", elsewhere.URL)
	answers := map[string]http.HandlerFunc{
		"endless": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(strings.Repeat(" ", 1<<20) + `{"healthy":false}`))
		},
		"redirect": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, http.StatusFound) },
		"fails":    func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		"forbids":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
	}
	want := map[string]error{"redirect": sandbox.ErrUnhealthy, "fails": sandbox.ErrUnhealthy, "forbids": sandbox.ErrAuth}
	for name, answer := range answers {
		server := httptest.NewServer(answer)
		_, port, err := net.SplitHostPort(server.Listener.Addr().String())
		require.NoError(t, err)
		n, err := strconv.Atoi(port)
		require.NoError(t, err)
		_, err = opencode.NewLauncher(opencode.LauncherOptions{}).Healthy(t.Context(), "", n, "password-1234")
		if want[name] == nil {
			require.NoError(t, err, name)
		} else {
			require.ErrorIs(t, err, want[name], name)
		}
		server.Close()
	}
}

// TestServes: a port is served by who listens there, at whatever address, and by whoever started him; not by others, and by nobody when it is free.
func TestServes(t *testing.T) {
	s := opencode.Sockets{}
	for _, address := range []string{"127.0.0.1:0", "127.0.0.1:0", "[::1]:0", ":0"} {
		l, err := net.Listen("tcp", address)
		if err != nil && strings.HasPrefix(address, "[") {
			continue // there is no such address here
		}
		require.NoError(t, err)
		port := l.Addr().(*net.TCPAddr).Port
		assert.True(t, s.Serves(t.Context(), os.Getpid(), port), address)
		other := exec.Command("sleep", "60")
		require.NoError(t, other.Start())
		assert.False(t, s.Serves(t.Context(), other.Process.Pid, port), address)
		require.NoError(t, other.Process.Kill())
		_ = other.Wait()
		assert.True(t, s.Serves(t.Context(), os.Getppid(), port), "a child of it does")
		require.NoError(t, l.Close())
		assert.False(t, s.Serves(t.Context(), os.Getpid(), port), address)
	}
	assert.False(t, s.Serves(t.Context(), 1<<30, 1))
}

// TestBusy: one session at work in one of the directories is enough. A server that cannot say, or does not answer, has none.
func TestBusy(t *testing.T) {
	answers := map[string]string{"/idle": `{}`, "/rests": `{"ses_1":{"type":"idle"}}`, "/works": `{"ses_1":{"type":"idle"},"ses_2":{"type":"busy"}}`, "/tries": `{"ses_1":{"type":"retry"}}`, "/page": `<html>`}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, password, _ := r.BasicAuth()
		if password != "p w" || r.URL.Path != "/session/status" {
			w.WriteHeader(http.StatusUnauthorized)
		}
		_, _ = w.Write([]byte(answers[r.URL.Query().Get("directory")]))
	}))
	_, text, err := net.SplitHostPort(server.Listener.Addr().String())
	require.NoError(t, err)
	port, err := strconv.Atoi(text)
	require.NoError(t, err)
	l, settings := opencode.NewLauncher(opencode.LauncherOptions{}), sandboxport.Settings{Password: "p w"}
	assert.False(t, l.Busy(t.Context(), settings, port, nil))
	assert.False(t, l.Busy(t.Context(), settings, port, []string{"/idle", "/rests", "/page", "/a b&c"}))
	assert.True(t, l.Busy(t.Context(), settings, port, []string{"/page", "/idle", "/works"}))
	assert.True(t, l.Busy(t.Context(), settings, port, []string{"/tries"}))
	assert.False(t, l.Busy(t.Context(), sandboxport.Settings{Password: "another"}, port, []string{"/works"}))
	server.Close()
	assert.False(t, l.Busy(t.Context(), settings, port, []string{"/works"}))
}

// TestModelsOfASlowProgram: an answer that comes too late is the next one's, and the program is not started again for it.
func TestModelsOfASlowProgram(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bin, starts, held := filepath.Join(dir, "slow"), filepath.Join(dir, "starts"), filepath.Join(dir, "held")
	require.NoError(t, unix.Mkfifo(held, 0o600))
	require.NoError(t, os.WriteFile(bin, []byte("#!/bin/sh\necho started >>'"+starts+"'\ncat '"+held+"'\n"), 0o700))
	slow := opencode.NewLauncher(opencode.LauncherOptions{Processes: osproc.New(osproc.Options{Dir: t.TempDir(), Supervisor: []string{os.Args[0], "supervise"}}), ModelsWait: time.Millisecond})
	settings := sandboxport.Settings{Bin: bin, Environ: os.Environ()}
	_, err := slow.Models(t.Context(), settings)
	require.ErrorIs(t, err, sandbox.ErrTimeout)
	require.NoError(t, os.WriteFile(held, []byte("openai/gpt\n"), 0o600))
	require.Eventually(t, func() bool {
		models, err := slow.Models(t.Context(), settings)
		return err == nil && slices.Equal(models, []string{"openai/gpt"})
	}, time.Minute, time.Millisecond)
	started, err := os.ReadFile(starts)
	require.NoError(t, err)
	assert.Equal(t, "started\n", string(started))
}
