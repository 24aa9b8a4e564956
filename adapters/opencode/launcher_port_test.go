package opencode_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/internal/testkit/fakeserver"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// launcherFixture is where a launcher is tested: Bin is the fake server's program, and Processes starts it for real.
type launcherFixture struct {
	Launcher  sandboxport.Launcher
	Sockets   sandboxport.Sockets
	Processes ports.Processes
	Bin       string
}

const (
	launcherPassword = "launcher-password-0123456789"
	otherPassword    = "another-password-9876543210"
)

// launcher holds a launcher and the sockets to their contracts.
func launcher(t *testing.T, h launcherFixture) {
	t.Run("a server is started, asked and ended", h.wholeLife)
	t.Run("health", h.health)
	t.Run("a server that ends at once says why", h.endsAtOnce)
	t.Run("a port is free, or is not", h.ports)
	t.Run("memory", h.memory)
	t.Run("foreign servers", h.foreign)
	t.Run("models", h.models)
}

// layout returns a project's place in a new directory.
func (h launcherFixture) layout(t *testing.T) sandbox.Layout {
	base := filepath.Join(t.TempDir(), "owner-repo")
	l := sandbox.Layout{Base: base, Repo: filepath.Join(base, "repo"), ServerLog: filepath.Join(base, "server.log")}
	require.NoError(t, os.MkdirAll(l.Repo, 0o700))
	return l
}

func (h launcherFixture) settings(quirks string) sandboxport.Settings {
	return sandboxport.Settings{Password: launcherPassword, Bin: h.Bin, Host: "127.0.0.1", Environ: append(os.Environ(), fakeserver.Variable+"="+quirks)}
}

// free returns a port that nobody listens on.
func free(t *testing.T) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// start has a server run until the test ends.
func (h launcherFixture) start(t *testing.T, spec process.Spec) process.State {
	state, err := h.Processes.Start(t.Context(), spec)
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = h.Processes.Stop(context.WithoutCancel(t.Context()), state.ID, 0) })
	return state
}

// up waits until the server answers with anything but that nobody does.
func (h launcherFixture) up(t *testing.T, port int) {
	require.Eventually(t, func() bool {
		c, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		return err == nil && c.Close() == nil
	}, time.Minute, 10*time.Millisecond)
}

func (h launcherFixture) wholeLife(t *testing.T) {
	port, at := free(t), h.layout(t)
	spec := h.Launcher.Spec(h.settings("slow=50ms,loud=20"), at, port, "/keys/it's mine")
	assert.Equal(t, at.Repo, spec.Dir)
	assert.NotContains(t, fmt.Sprint(spec.Argv), launcherPassword, "arguments are for everybody to see")
	assert.Contains(t, spec.Secrets, launcherPassword)
	assert.Equal(t, `ssh -i '/keys/it'\''s mine' -o IdentitiesOnly=yes -o StrictHostKeyChecking=accept-new -o BatchMode=yes`, spec.Env["GIT_SSH_COMMAND"])
	assert.Equal(t, "1", spec.Env["OPENCODE_DISABLE_AUTOUPDATE"])
	_, err := h.Launcher.Healthy(t.Context(), "127.0.0.1", port, launcherPassword)
	require.ErrorIs(t, err, sandbox.ErrUnhealthy, "nobody is there yet")
	state := h.start(t, spec)
	h.up(t, port)
	version, err := h.Launcher.Healthy(t.Context(), "127.0.0.1", port, launcherPassword)
	require.NoError(t, err)
	assert.Equal(t, fakeserver.Version, version)
	assert.False(t, h.Sockets.Free(port))
	began := time.Now()
	state, err = h.Processes.Stop(t.Context(), state.ID, sandbox.StopGrace)
	require.NoError(t, err)
	assert.Equal(t, process.Stopped, state.Status)
	assert.False(t, state.Escalated, "it ended when it was told to, after %v", time.Since(began))
	assert.True(t, h.Sockets.Free(port))
	log, err := os.ReadFile(at.ServerLog)
	require.NoError(t, err)
	assert.Contains(t, string(log), "line 20 of the server's output\nopencode server listening on ")
}

func (h launcherFixture) health(t *testing.T) {
	for quirks, want := range map[string]error{"password=" + otherPassword: sandbox.ErrAuth, "hang": sandbox.ErrUnhealthy, "unhealthy": sandbox.ErrUnhealthy, "old": nil} {
		t.Run(quirks, func(t *testing.T) {
			port := free(t)
			h.start(t, h.Launcher.Spec(h.settings(quirks), h.layout(t), port, ""))
			h.up(t, port)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			if quirks == "hang" {
				ctx, cancel = context.WithTimeout(t.Context(), time.Second)
			}
			defer cancel()
			_, err := h.Launcher.Healthy(ctx, "0.0.0.0", port, launcherPassword)
			if want == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, want)
			assert.NotContains(t, err.Error(), launcherPassword)
		})
	}
}

func (h launcherFixture) endsAtOnce(t *testing.T) {
	at := h.layout(t)
	state := h.start(t, h.Launcher.Spec(h.settings("exit=3"), at, free(t), ""))
	require.Eventually(t, func() bool {
		var err error
		state, err = h.Processes.Inspect(t.Context(), state.ID)
		return err == nil && state.Status.Final()
	}, time.Minute, 10*time.Millisecond)
	assert.Equal(t, process.Exit{Code: 3}, state.Exit)
	for _, said := range [][]byte{h.output(t, state.ID), textOf(t, at.ServerLog)} {
		assert.Contains(t, string(said), "cannot start today")
		assert.NotContains(t, string(said), launcherPassword)
	}
	h.stubborn(t)
}

func (h launcherFixture) output(t *testing.T, id process.ID) []byte {
	chunk, err := h.Processes.Output(t.Context(), id, 0)
	require.NoError(t, err)
	var all bytes.Buffer
	for _, l := range chunk.Lines {
		all.WriteString(l.Text + "\n")
	}
	return all.Bytes()
}

func textOf(t *testing.T, file string) []byte {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return text
}

// stubborn is a server that has to be killed.
func (h launcherFixture) stubborn(t *testing.T) {
	port := free(t)
	state := h.start(t, h.Launcher.Spec(h.settings("stubborn"), h.layout(t), port, ""))
	h.up(t, port)
	state, err := h.Processes.Stop(t.Context(), state.ID, 50*time.Millisecond)
	require.NoError(t, err)
	assert.True(t, state.Escalated)
	assert.True(t, h.Sockets.Free(port))
}

func (h launcherFixture) ports(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "0.0.0.0:0", "[::]:0"} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			continue // there is no such network here
		}
		port := l.Addr().(*net.TCPAddr).Port
		assert.False(t, h.Sockets.Free(port), address)
		require.NoError(t, l.Close())
		assert.True(t, h.Sockets.Free(port), address)
	}
	assert.False(t, h.Sockets.Free(-1))
	assert.False(t, h.Sockets.Free(1<<16))
}

func (h launcherFixture) memory(t *testing.T) {
	const held = 64
	port := free(t)
	state := h.start(t, h.Launcher.Spec(h.settings(fmt.Sprint("child=", held)), h.layout(t), port, ""))
	h.up(t, port)
	megabytes, err := h.Sockets.ResidentMB(state.PID)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, megabytes, held, "what it started counts")
	assert.Less(t, megabytes, held*10)
	_, err = h.Sockets.ResidentMB(1 << 30)
	require.ErrorIs(t, err, process.ErrNotFound)
}

// foreign servers are those that were not started here.
func (h launcherFixture) foreign(t *testing.T) {
	port, at := free(t), h.layout(t)
	ours := h.Launcher.Spec(h.settings(""), at, port, "")
	h.start(t, ours)
	h.up(t, port)
	theirs := free(t)
	cmd, err := os.StartProcess(h.Bin, []string{h.Bin, "serve", "--port", strconv.Itoa(theirs)},
		&os.ProcAttr{Dir: at.Repo, Env: slices.DeleteFunc(os.Environ(), func(pair string) bool { return len(pair) > 11 && pair[:11] == "COUNTERSIGN" })})
	require.NoError(t, err)
	defer cmd.Wait() //nolint:errcheck // it was killed
	defer cmd.Kill() //nolint:errcheck // it may have ended
	h.up(t, theirs)
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(at.Base, link))
	for _, dirs := range [][]string{{at.Repo}, {link}, {t.TempDir(), at.Base}} {
		found, err := h.Sockets.Foreign(t.Context(), dirs)
		require.NoError(t, err)
		require.Len(t, found, 1, "ours is not foreign")
		assert.Equal(t, cmd.Pid, found[0].PID)
		assert.Equal(t, "repo", filepath.Base(found[0].Dir))
		assert.Contains(t, found[0].Cmd, "serve --port")
	}
	for _, dirs := range [][]string{nil, {t.TempDir()}, {at.Repo[:len(at.Repo)-1]}, {filepath.Join(at.Repo, "gone")}} {
		found, err := h.Sockets.Foreign(t.Context(), dirs)
		require.NoError(t, err)
		assert.Empty(t, found, "%q", dirs)
	}
}

func (h launcherFixture) models(t *testing.T) {
	models, err := h.Launcher.Models(t.Context(), h.settings(""))
	require.NoError(t, err)
	assert.Equal(t, []string{"anthropic/claude-fake-1", "openai/gpt-fake/preview", "opencode/big-pickle"}, models, "each once, in order, and nothing else")
	_, err = h.Launcher.Models(t.Context(), h.settings("exit=2"))
	require.ErrorIs(t, err, sandbox.ErrConfig)
	assert.ErrorContains(t, err, "the configuration is not valid")
	none := h.settings("")
	none.Bin = filepath.Join(t.TempDir(), "none")
	_, err = h.Launcher.Models(t.Context(), none)
	require.ErrorIs(t, err, sandbox.ErrNotInstalled)
	none.Bin, none.Missing = "", "looked in /nowhere"
	_, err = h.Launcher.Models(t.Context(), none)
	require.ErrorIs(t, err, sandbox.ErrNotInstalled)
	assert.ErrorContains(t, err, "/nowhere")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = h.Launcher.Models(ctx, h.settings("hang"))
	require.ErrorIs(t, err, context.DeadlineExceeded)
}
