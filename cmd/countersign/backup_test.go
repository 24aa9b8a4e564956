//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAPersonBacksUpAndRestores: at a terminal the user is shown what the backup holds, and what the restore brings back, and says yes; without a
// terminal, or with a no, nothing happens. While a server runs on the home nobody is even asked to restore.
func TestAPersonBacksUpAndRestores(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	bin := filepath.Join(t.TempDir(), "countersign-strict")
	require.NoError(t, os.Symlink(self, bin))
	account := t.TempDir()
	run := func(arguments ...string) *exec.Cmd {
		cmd := exec.Command(bin, arguments...)
		cmd.Dir = account
		cmd.Env = []string{"HOME=" + account, "PATH=" + os.Getenv("PATH"), "TERM=dumb", "TMPDIR=" + t.TempDir()}
		return cmd
	}
	file := filepath.Join(account, "b.tar")
	out, err := run("backup", file, "--yes").CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(out), "countersign approve cf_")
	assert.Equal(t, 6, err.(*exec.ExitError).ExitCode()) //nolint:errorlint,forcetypeassert // it is that of the process
	assert.NoFileExists(t, file)

	seen, code := typedAt(t, run("backup", file), "n")
	require.Equal(t, 5, code, seen)
	assert.NoFileExists(t, file)
	seen, code = typedAt(t, run("backup", file), "y")
	require.Zero(t, code, seen)
	assert.Contains(t, seen, "keys/secret.key: opens the sealed columns of the database")
	assert.Contains(t, seen, "can sign as this home's audit")
	assert.FileExists(t, file)

	server := run("serve", "--addr", "127.0.0.1:0")
	said, err := server.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())
	t.Cleanup(func() { _ = server.Process.Kill() })
	line := make([]byte, 1)
	_, err = said.Read(line) // it says where it serves once it does
	require.NoError(t, err)
	seen, code = typedAt(t, run("restore", file), "y")
	assert.NotZero(t, code)
	assert.Contains(t, seen, "a server is running for")
	assert.NotContains(t, seen, "does not come back")
	require.NoError(t, server.Process.Signal(os.Interrupt))
	require.NoError(t, server.Wait())

	seen, code = typedAt(t, run("restore", file), "y")
	require.Zero(t, code, seen)
	assert.Contains(t, seen, "does not come back")
	assert.Contains(t, seen, "its former content is in")
	out, err = run("audit", "verify").CombinedOutput()
	require.NoError(t, err, string(out))
}
