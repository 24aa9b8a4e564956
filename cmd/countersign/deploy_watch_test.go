//go:build linux

package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const watchedManifest = `version: 1
profiles: {default: {include_tags: [base]}}
targets:
  codex: {mode: files, scope: user}
modules:
  - {id: "instructions:base", type: instructions, tags: [base], source: {local_path: {path: modules/base}}}
`

// watching is a countersign agents watch that runs, and what it shows.
type watching struct {
	t            *testing.T
	cmd          *exec.Cmd
	shown        io.Reader
	unread, seen string
	home, module string
}

// newWatching is the command on a config repository with one module, before it is started.
func newWatching(t *testing.T, arguments ...string) *watching {
	t.Helper()
	t.Parallel()
	exe, err := exec.LookPath("countersign-strict")
	require.NoError(t, err)
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	w := &watching{t: t, home: filepath.Join(base, "home"), module: filepath.Join(base, "home/.agentpack/repo/modules/base/AGENTS.md")}
	write(t, filepath.Join(w.home, ".agentpack/repo/agentpack.yaml"), watchedManifest)
	write(t, w.module, "# One\n")
	w.cmd = exec.Command(exe, append([]string{"agents", "watch"}, arguments...)...)
	w.cmd.Dir = w.home
	w.cmd.Env = []string{"HOME=" + w.home, "PATH=" + os.Getenv("PATH"), "TERM=dumb", "GORACE=atexit_sleep_ms=0", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull}
	return w
}

// starts starts it, and ends it should the test be stuck.
func (w *watching) starts(shown io.Reader) {
	w.t.Helper()
	require.NoError(w.t, w.cmd.Start())
	w.shown = shown
	stuck := time.AfterFunc(2*time.Minute, func() { _ = w.cmd.Process.Kill() })
	w.t.Cleanup(func() {
		stuck.Stop()
		_ = w.cmd.Process.Kill() // it has ended, if all went well
	})
}

// until returns what is shown up to and with that text.
func (w *watching) until(text string) string {
	w.t.Helper()
	chunk := make([]byte, 4096)
	for !strings.Contains(w.unread, text) {
		n, err := w.shown.Read(chunk)
		w.unread += string(chunk[:n])
		require.NoError(w.t, err, "waiting for %q: %s%s", text, w.seen, w.unread)
	}
	before, after, _ := strings.Cut(w.unread, text)
	w.seen, w.unread = w.seen+before+text, after
	return before + text
}

// changes puts another text in the place of a file, whole: one change is one plan.
func (w *watching) changes(path, text string) {
	w.t.Helper()
	fresh := filepath.Join(w.home, "fresh")
	write(w.t, fresh, text)
	require.NoError(w.t, os.Rename(fresh, path))
}

func (w *watching) deployed() string {
	text, err := os.ReadFile(filepath.Join(w.home, ".codex/AGENTS.md"))
	if err != nil {
		return ""
	}
	return string(text)
}

// TestWatchAsksInATerminal: every change of the config repository is a plan that is shown and asked about; what is denied is not asked about again, and an
// interrupt ends it.
func TestWatchAsksInATerminal(t *testing.T) {
	w := newWatching(t)
	person, program := openTerminal(t)
	w.cmd.Stdin, w.cmd.Stdout, w.cmd.Stderr = program, program, program
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	w.starts(person)
	_ = program.Close()
	types := func(text string) {
		t.Helper()
		_, err := io.WriteString(person, text)
		require.NoError(t, err)
	}
	w.until("watching " + filepath.Join(w.home, ".agentpack/repo"))
	assert.Contains(t, w.until("Approve?"), "+# One")
	assert.Empty(t, w.deployed())
	types("y\n")
	w.until("deployed: 1 created")
	w.until("waiting for changes")
	assert.Equal(t, "# One\n", w.deployed())

	w.changes(w.module, "# Another\n")
	assert.Contains(t, w.until("Approve?"), "+# Another", "an answer is about one plan")
	types("n\n")
	w.until("denied")
	w.until("waiting for changes")
	assert.Equal(t, "# One\n", w.deployed())

	w.changes(w.module, "# One\n")
	w.until("nothing to deploy")
	w.until("waiting for changes")
	types("\x03")
	w.until("stopped watching")
	require.NoError(t, w.cmd.Wait())
}

// TestWatchWithoutATerminal shows what waits, asks nobody, and goes on after what it cannot plan.
func TestWatchWithoutATerminal(t *testing.T) {
	w := newWatching(t, "--scope", "user")
	out, err := w.cmd.StdoutPipe()
	require.NoError(t, err)
	w.cmd.Stderr = w.cmd.Stdout
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // what has no controlling terminal asks nobody
	w.starts(out)
	first := w.until("waiting for changes")
	assert.Contains(t, first, "Plan: +1 ~0 -0\nnext: countersign agents deploy --apply --scope user\n")
	w.changes(filepath.Join(w.home, ".agentpack/repo/agentpack.yaml"), strings.Replace(watchedManifest, "version: 1", "version: 7", 1))
	assert.Contains(t, w.until("waiting for changes"), "E_CONFIG_UNSUPPORTED_VERSION")
	w.changes(filepath.Join(w.home, ".agentpack/repo/agentpack.yaml"), strings.Replace(watchedManifest, "tags: [base], source", "tags: [], source", 1))
	assert.Contains(t, w.until("waiting for changes"), "nothing to deploy")
	assert.Empty(t, w.deployed())
	require.NoError(t, w.cmd.Process.Signal(syscall.SIGINT))
	w.until("stopped watching")
	require.NoError(t, w.cmd.Wait())

	asked := exec.Command(w.cmd.Path, "confirmations")
	asked.Env = w.cmd.Env
	text, err := asked.CombinedOutput()
	require.NoError(t, err)
	assert.Contains(t, string(text), "no pending approvals")
}

// TestWatchAppliesNothingUnasked: an answer for all plans to come is not taken.
func TestWatchAppliesNothingUnasked(t *testing.T) {
	w := newWatching(t, "--yes")
	text, err := w.cmd.CombinedOutput()
	require.Error(t, err)
	assert.Equal(t, 2, w.cmd.ProcessState.ExitCode())
	assert.Contains(t, string(text), "watch asks about every plan")
}
