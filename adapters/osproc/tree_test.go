package osproc_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/osproc"
	"github.com/countersign-dev/countersign/domain/owner"
)

// start starts sh with the text as leader of a group, and returns once it has printed a line.
func start(t *testing.T, mark, text string) (*exec.Cmd, osproc.Identity) {
	t.Helper()
	cmd := exec.Command("sh", "-c", text)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), mark}
	osproc.SetProcessGroup(cmd)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it was not waited for before
		_ = cmd.Wait()
	})
	_, err = out.Read(make([]byte, 64))
	require.NoError(t, err)
	id, ok := osproc.IdentityOf(cmd.Process.Pid)
	require.True(t, ok)
	return cmd, id
}

func TestIdentity(t *testing.T) {
	self := osproc.SelfIdentity()
	assert.True(t, self.Alive())
	assert.Equal(t, os.Getpid(), self.PID())
	assert.Zero(t, osproc.Identity("").PID())
	cmd, id := start(t, "A=1", "echo ready; exec sleep 300")
	assert.True(t, id.Alive())
	assert.NotEqual(t, self, id)
	require.NoError(t, cmd.Process.Kill())
	require.NoError(t, osproc.AwaitExit(cmd.Process.Pid))
	assert.False(t, id.Alive(), "who has ended is dead before anybody waited for him")
	same, ok := osproc.IdentityOf(cmd.Process.Pid)
	assert.True(t, ok)
	assert.Equal(t, id, same)
	_, ok = osproc.IdentityOf(1 << 30)
	assert.False(t, ok)
}

// A name with blanks and parentheses does not shift the fields that are read behind it.
func TestIdentityOfAnOddName(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	require.NoError(t, err)
	odd := filepath.Join(t.TempDir(), "a) S 1 (b")
	require.NoError(t, os.Symlink(sleep, odd))
	cmd := exec.Command(odd, "300")
	cmd.Args[0] = "sleep"
	osproc.SetProcessGroup(cmd)
	require.NoError(t, cmd.Start())
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	id, ok := osproc.IdentityOf(cmd.Process.Pid)
	require.True(t, ok)
	k := osproc.ProcessTree{Leader: id}
	assert.Equal(t, []int{cmd.Process.Pid}, k.Living())
}

func TestFamily(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("environ: marks are seen on Linux alone")
	}
	mark := "KIN_TEST_MARK=" + strconv.Itoa(os.Getpid()) + t.Name()
	cmd, id := start(t, mark, "sleep 300 & setsid sh -c 'echo ready; exec sleep 300' & wait")
	marked, unmarked := osproc.ProcessTree{Leader: id, Mark: mark}, osproc.ProcessTree{Leader: id}
	assert.Len(t, unmarked.Living(), 2, "the group: sh and its child")
	assert.Len(t, marked.Living(), 3, "and who left it")
	assert.Len(t, osproc.ProcessTree{Mark: mark}.Living(), 3, "the mark is enough")
	assert.Empty(t, osproc.ProcessTree{Mark: mark + "x"}.Living())
	assert.Empty(t, osproc.ProcessTree{Mark: mark[:len(mark)-1]}.Living())
	assert.Empty(t, osproc.ProcessTree{}.Living())
	assert.Zero(t, osproc.ProcessTree{}.Signal(syscall.SIGKILL))
	other := strings.Replace(string(id), ":", ":9", 1)
	assert.Empty(t, osproc.ProcessTree{Leader: osproc.Identity(other)}.Living(), "the number alone says nothing")
	assert.Zero(t, osproc.ProcessTree{Leader: osproc.Identity(other)}.Signal(syscall.SIGKILL))
	own, ok := owner.ParseID(string(id))
	require.True(t, ok)
	later, beside := own, own
	later.Boot, beside.Space = "another-boot", "1"
	for _, away := range []owner.ID{later, beside} {
		assert.Zero(t, osproc.ProcessTree{Leader: osproc.Identity(away.String()), Mark: mark}.Signal(syscall.SIGKILL), "nor does anything, after another boot or in another namespace")
	}

	found, escalated, left := marked.End(0)
	assert.Equal(t, 3, found)
	assert.False(t, escalated, "there was nothing before")
	assert.Empty(t, left)
	assert.Empty(t, marked.Living())
	found, _, _ = marked.End(time.Hour)
	assert.Zero(t, found, "with nobody there, there is no grace")
	_, ok = osproc.IdentityOf(cmd.Process.Pid)
	assert.True(t, ok, "the leader is still there to be waited for, and counts as gone")
}

// A mark is seen wherever it stands in an environment, however long that is.
func TestMarkBehindMuch(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("environ: marks are seen on Linux alone")
	}
	mark := "KIN_TEST_MARK=" + strconv.Itoa(os.Getpid()) + t.Name()
	for _, size := range []int{8<<10 - 40, 8 << 10, 100 << 10} {
		cmd := exec.Command("sleep", "300")
		cmd.Env = []string{"A=" + strings.Repeat("x", size), mark}
		require.NoError(t, cmd.Start())
		assert.Equal(t, []int{cmd.Process.Pid}, osproc.ProcessTree{Mark: mark}.Living(), "behind %d bytes", size)
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait() // it was killed
	}
}

func TestReap(t *testing.T) {
	cmd := exec.Command("sleep", "300")
	require.NoError(t, cmd.Start())
	pid := cmd.Process.Pid
	require.NoError(t, cmd.Process.Kill())
	require.NoError(t, osproc.AwaitExit(pid))
	require.NoError(t, cmd.Process.Release())
	assert.True(t, osproc.ReapChild(pid))
	_, there := osproc.IdentityOf(pid)
	assert.False(t, there)
	assert.True(t, osproc.ReapChild(pid), "and again")
}

func TestMailbox(t *testing.T) {
	path := filepath.Join(t.TempDir(), "box")
	assert.False(t, osproc.PostToMailbox(path, "x"), "no box")
	box, err := osproc.OpenMailbox(path)
	require.NoError(t, err)
	_, err = osproc.OpenMailbox(path)
	require.ErrorIs(t, err, os.ErrExist)
	assert.True(t, osproc.PostToMailbox(path, "one"))
	assert.True(t, osproc.PostToMailbox(path, "two"))
	box.StopListening()
	var heard []string
	box.Listen(func(line string) { heard = append(heard, line) })
	assert.Equal(t, []string{"one", "two"}, heard)
	box.Close()
	assert.False(t, osproc.PostToMailbox(path, "x"), "nobody reads any more, and nobody waits for that")
}

func TestProgram(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"tool": 0o700, "text": 0o600} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, mode))
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "directory"), 0o700))
	for name, want := range map[string]string{"tool": dir + "/tool", "./tool": "./tool", "/x/y": "/x/y", "text": "", "directory": "", "none": ""} {
		have, err := osproc.LookPath(name, "relative::/no/such:"+dir)
		assert.Equal(t, want, have, name)
		assert.Equal(t, want == "", err != nil, name)
	}
	t.Chdir(dir)
	_, err := osproc.LookPath("tool", ".:")
	require.ErrorIs(t, err, exec.ErrNotFound)
}
