package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestServersOfTwoNamespaces: one home has one server, also where the second one is in a container that cannot see the first. When that is gone, so
// that nothing holds the home any more, the next one serves.
func TestServersOfTwoNamespaces(t *testing.T) {
	t.Parallel()
	w := served(newPlace(t))
	program := filepath.Join(t.TempDir(), "countersign") // by this name the test binary is the command
	require.NoError(t, os.Symlink(w.command().Path, program))
	contained := func(args ...string) *exec.Cmd {
		c := exec.Command("unshare", append([]string{"--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc", program}, args...)...)
		like := w.command()
		c.Dir, c.Env = like.Dir, like.Env
		return c
	}
	said, err := contained("serve", "--addr", "127.0.0.1:0", "--no-open").CombinedOutput()
	var ended *exec.ExitError
	require.ErrorAs(t, err, &ended, "%s", said)
	assert.Equal(t, 4, ended.ExitCode(), "%s", said)
	assert.Contains(t, string(said), "a server for this COUNTERSIGN_HOME is recorded at "+w.pages())
	assert.Contains(t, string(said), "another container of this machine")
	assert.Contains(t, string(said), "countersign owners forget ")
	assert.FileExists(t, w.record(), "what the first one recorded is not overwritten")
	said, err = contained("login", "--print").CombinedOutput()
	require.NoError(t, err, "%s", said)
	assert.Contains(t, string(said), w.pages())

	w.end(syscall.SIGKILL)
	assert.FileExists(t, w.record())
	said, err = contained("login", "--print").CombinedOutput()
	require.Error(t, err, "%s", said)
	assert.Contains(t, string(said), "start one with countersign up", "nothing holds the home")

	again := served(w.place)
	state := again.end(os.Interrupt)
	assert.Zero(t, state.ExitCode(), again.errors)
}
