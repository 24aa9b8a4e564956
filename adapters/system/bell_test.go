package system_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/ports"
)

var _ ports.Bell = (*system.Bell)(nil)

// TestMain lets the test binary play the other process: it listens for ever, and says each time that it was woken.
func TestMain(m *testing.M) {
	dir := os.Getenv("BELL_LISTEN")
	if dir == "" {
		goleak.VerifyTestMain(m)
		return
	}
	rings, _ := system.NewBell(dir, nil).Listen("cf_1")
	fmt.Println("listening")
	for range rings {
		fmt.Println("rung")
	}
}

// listener is another process that listens.
func listener(t testing.TB, dir string) *bufio.Reader {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "BELL_LISTEN="+dir, "GORACE=atexit_sleep_ms=0")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewReader(out)
	says(t, lines, "listening")
	return lines
}

func says(t testing.TB, lines *bufio.Reader, want string) {
	t.Helper()
	line, err := lines.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, want+"\n", line)
}

func TestAnotherProcessIsWoken(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "signals")
	one, two := listener(t, dir), listener(t, dir)
	for range 3 {
		system.NewBell(dir, nil).Ring("cf_1")
		says(t, one, "rung")
		says(t, two, "rung")
	}
}

func TestThisProcessIsWoken(t *testing.T) {
	for _, dir := range []string{"", filepath.Join(t.TempDir(), "signals")} {
		b := system.NewBell(dir, nil)
		rings, stop := b.Listen("cf_1")
		b.Ring("cf_1")
		<-rings
		stop()
		stop()
		b.Ring("cf_1")
		again, stop := b.Listen("cf_1")
		b.Ring("cf_1")
		<-again
		stop()
	}
	b := system.NewBell("", nil)
	mine, stop := b.Listen("cf_1")
	defer stop()
	others, stop := b.Listen("cf_2")
	defer stop()
	b.Ring("cf_2")
	<-others
	assert.Empty(t, mine, "who waits for something else is left alone in this process")
}

// TestNothingToWatch: without a directory that can be made, what happens in this process is heard all the same, and ringing harms nobody.
func TestNothingToWatch(t *testing.T) {
	taken := filepath.Join(t.TempDir(), "taken")
	require.NoError(t, os.WriteFile(taken, nil, 0o600))
	b := system.NewBell(filepath.Join(taken, "signals"), nil)
	rings, stop := b.Listen("cf_1")
	defer stop()
	b.Ring("cf_1")
	<-rings
}

// TestNobodyHasEverWaited: who answers leaves nothing behind where nobody listens.
func TestNobodyHasEverWaited(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "signals")
	system.NewBell(dir, nil).Ring("cf_1")
	assert.NoDirExists(t, dir)
}

// BenchmarkAnotherProcess is from a ring to its being heard in another process, as a ratio to a floor in the same run: writing a byte to a file, and
// another process that answers a byte on a pipe. p95 is of the ring alone.
func BenchmarkAnotherProcess(b *testing.B) {
	dir, touched := filepath.Join(b.TempDir(), "signals"), filepath.Join(b.TempDir(), "touched")
	require.NoError(b, os.MkdirAll(dir, 0o700))
	system.NewBell(dir, nil).Ring("cf_1") // makes the file, so that every ring is one event
	lines := listener(b, dir)
	ringer, echo := system.NewBell(dir, nil), exec.Command("cat")
	in, err := echo.StdinPipe()
	require.NoError(b, err)
	out, err := echo.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, echo.Start())
	defer func() { _ = in.Close(); _ = echo.Wait() }()
	var heard []time.Duration
	var floor time.Duration
	one := make([]byte, 1)
	for b.Loop() {
		began := time.Now()
		require.NoError(b, os.WriteFile(touched, one, 0o600))
		_, err := in.Write(one)
		require.NoError(b, err)
		_, err = io.ReadFull(out, one)
		require.NoError(b, err)
		floor += time.Since(began)
		began = time.Now()
		ringer.Ring("cf_1")
		says(b, lines, "rung")
		heard = append(heard, time.Since(began))
	}
	slices.Sort(heard)
	var all time.Duration
	for _, d := range heard {
		all += d
	}
	b.ReportMetric(float64(all)/float64(floor), "×floor")
	b.ReportMetric(float64(heard[len(heard)*95/100].Microseconds()), "p95-µs")
}
