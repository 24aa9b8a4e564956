package osproc_test

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/osproc"
	"github.com/countersign-dev/countersign/domain/owner"
	"github.com/countersign-dev/countersign/domain/process"
)

// ownProcesses tells the test that it runs in a PID namespace of its own.
const ownProcesses = "OSPROC_TEST_OWN_PROCESSES"

// contained starts the named test of this program beside a PID namespace of its own, as a container has it. It ends with the returned function, at
// once and with everything in it.
func contained(t *testing.T, name, dir string) (said *bufio.Reader, end func()) {
	t.Helper()
	cmd := exec.Command("unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc", os.Args[0], "-test.run=^"+name+"$")
	cmd.Env = append(os.Environ(), ownProcesses+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	end = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	t.Cleanup(end)
	return bufio.NewReader(out), end
}

// TestProcessesOfAnotherNamespace: a container beside the host shares its directory of processes. What runs there is neither declared dead nor
// touched from here; asked to, its owner ends it; and once the whole container is gone, the user has to say so.
func TestProcessesOfAnotherNamespace(t *testing.T) {
	if dir := os.Getenv(ownProcesses); dir != "" {
		s := sh(t, "echo up; exec sleep 300")
		done := make(chan error, 1)
		p := open(dir)
		_, err := p.Run(t.Context(), s, func(s process.State) { _, _ = os.Stdout.WriteString(string(s.ID) + "\n") })
		done <- err
		require.NoError(t, <-done)
		_, _ = os.Stdout.WriteString("over\n")
		return
	}
	dir := t.TempDir()
	line := func(from *bufio.Reader) string {
		text, err := from.ReadString('\n')
		require.NoError(t, err)
		return strings.TrimSpace(text)
	}
	said, _ := contained(t, "TestProcessesOfAnotherNamespace", dir)
	id := process.ID(line(said))

	here := open(dir)
	look := func(p *osproc.Processes) process.State {
		s, err := p.Inspect(t.Context(), id)
		require.NoError(t, err)
		return s
	}
	s := look(here)
	assert.Equal(t, process.Running, s.Status)
	assert.False(t, s.Lost)
	assert.Contains(t, s.Elsewhere, "owned by another machine or container (another container of this machine")
	settled, err := here.Recover(t.Context())
	require.NoError(t, err)
	assert.Empty(t, settled)
	assert.Equal(t, process.Running, look(here).Status)
	s, err = here.Stop(t.Context(), id, 0)
	require.NoError(t, err, "its owner heard it")
	assert.Equal(t, process.Stopped, s.Status)
	assert.False(t, s.Lost)
	assert.Equal(t, "over", line(said))

	said, end := contained(t, "TestProcessesOfAnotherNamespace", dir)
	id = process.ID(line(said))
	end()
	assert.Equal(t, process.Running, look(here).Status, "for all that is known")
	_, err = here.Stop(t.Context(), id, 0)
	require.ErrorIs(t, err, process.ErrElsewhere)
	settled, err = here.Recover(t.Context())
	require.NoError(t, err)
	assert.Empty(t, settled)

	told := osproc.New(osproc.Options{Dir: dir, Judge: func(name string) owner.Verdict {
		assert.NotEmpty(t, name)
		return owner.Dead // the user said so
	}})
	settled, err = told.Recover(t.Context())
	require.NoError(t, err)
	require.Len(t, settled, 1)
	assert.True(t, settled[0].Lost)
	assert.Equal(t, process.Failed, look(here).Status)
}

// TestProgramsAreNotRunWhereTheirProcessesAreNotSeen: in a PID namespace with another one's /proc, numbers would be others'.
func TestProgramsAreNotRunWhereTheirProcessesAreNotSeen(t *testing.T) {
	if dir := os.Getenv(ownProcesses); dir != "" {
		_, err := open(dir).Run(t.Context(), sh(t, "true"), nil)
		require.ErrorIs(t, err, process.ErrStart)
		require.ErrorContains(t, err, "/proc shows another PID namespace")
		assert.Equal(t, owner.Unknown, osproc.Judge(osproc.Self()), "its number is taken, by whomever")
		return
	}
	cmd := exec.Command("unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", os.Args[0], "-test.run=^TestProgramsAreNotRunWhereTheirProcessesAreNotSeen$")
	cmd.Env = append(os.Environ(), ownProcesses+"="+t.TempDir())
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", said)
}
