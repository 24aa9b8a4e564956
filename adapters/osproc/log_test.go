package osproc_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/osproc"
	"github.com/countersign-dev/countersign/domain/process"
)

// logging returns a spool that also appends to the log, until the function is called.
func logging(t *testing.T, log string, secrets ...string) (*osproc.Spool, func()) {
	s := osproc.NewSpool(t.TempDir(), rules, secrets)
	s.LogTo(log)
	end := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { s.Keep(end) })
	return s, func() {
		close(end)
		wg.Wait()
	}
}

func contents(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

func TestLogIsAppendedTo(t *testing.T) {
	log := filepath.Join(t.TempDir(), "server.log")
	require.NoError(t, os.WriteFile(log, []byte("from before\n"), 0o644))
	s, end := logging(t, log, "hunter2-hunter2")
	require.NoError(t, s.Drain(process.Stdout, strings.NewReader("\x1b[31mred\x1b[0m hunter2-hunter2\nlast")))
	require.NoError(t, s.Drain(process.Stderr, strings.NewReader("oops\n")))
	end()
	require.NoError(t, s.Err())
	text := contents(t, log)
	assert.True(t, strings.HasPrefix(text, "from before\nred "), text)
	assert.True(t, strings.HasSuffix(text, "last\noops\n"), text)
	assert.NotContains(t, text, "hunter2")
	info, err := os.Stat(log)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "what was readable by others is not any more")
}

func TestLogRotates(t *testing.T) {
	log := filepath.Join(t.TempDir(), "server.log")
	for n, text := range map[string]string{"": strings.Repeat("x", osproc.LogBytes-10) + "\n", ".1": "one\n", ".2": "two\n", ".3": "three\n"} {
		require.NoError(t, os.WriteFile(log+n, []byte(text), 0o600))
	}
	s, end := logging(t, log)
	out := gate(make(chan string))
	var wg sync.WaitGroup
	wg.Go(func() { _ = s.Drain(process.Stdout, out) })
	out <- "fits\n"
	require.Eventually(t, func() bool { return strings.HasSuffix(contents(t, log), "fits\n") }, time.Minute, time.Millisecond)
	out <- "does not fit\n"
	close(out)
	wg.Wait()
	end()
	require.NoError(t, s.Err())
	assert.Equal(t, "does not fit\n", contents(t, log))
	assert.True(t, strings.HasSuffix(contents(t, log+".1"), "x\nfits\n"))
	assert.Equal(t, "one\n", contents(t, log+".2"))
	assert.Equal(t, "two\n", contents(t, log+".3"))
	assert.NoFileExists(t, log+".4")
}

// A log that somebody else moved away is begun again, so that two servers in a row never write into each other's old ones.
func TestLogThatIsMovedAway(t *testing.T) {
	log := filepath.Join(t.TempDir(), "server.log")
	s, end := logging(t, log)
	out := gate(make(chan string))
	var wg sync.WaitGroup
	wg.Go(func() { _ = s.Drain(process.Stdout, out) })
	out <- "one\n"
	require.Eventually(t, func() bool { text, err := os.ReadFile(log); return err == nil && len(text) > 0 }, time.Minute, time.Millisecond)
	require.NoError(t, os.Rename(log, log+".1"))
	out <- "two\n"
	close(out)
	wg.Wait()
	end()
	assert.Equal(t, "one\n", contents(t, log+".1"))
	assert.Equal(t, "two\n", contents(t, log))
}

// What came too fast is missing in the log too, which says how much that is.
func TestLogCountsWhatIsMissing(t *testing.T) {
	log := filepath.Join(t.TempDir(), "server.log")
	s, end := logging(t, log)
	const lines = 400_000
	var text strings.Builder
	for i := range lines {
		fmt.Fprintf(&text, "line %d\n", i+1)
	}
	require.NoError(t, s.Drain(process.Stdout, strings.NewReader(text.String())))
	end()
	seen := 0
	for l := range strings.Lines(contents(t, log)) {
		var n int
		if _, err := fmt.Sscanf(l, "[%d lines were dropped", &n); err == nil {
			seen += n
			continue
		}
		seen++
		require.Equal(t, fmt.Sprintf("line %d\n", seen), l)
	}
	assert.Equal(t, lines, seen)
}

func TestLogIsNoWayElsewhere(t *testing.T) {
	dir := t.TempDir()
	victim := filepath.Join(dir, "victim")
	require.NoError(t, os.WriteFile(victim, []byte("mine\n"), 0o600))
	log := filepath.Join(dir, "server.log")
	require.NoError(t, os.Symlink(victim, log))
	s, end := logging(t, log)
	require.NoError(t, s.Drain(process.Stdout, strings.NewReader("text\n")))
	end()
	require.ErrorContains(t, s.Err(), "not a file")
	assert.Equal(t, "mine\n", contents(t, victim))
	stdout, _, _, _ := s.Result()
	assert.Equal(t, "text\n", string(stdout), "and nothing else is lost")
}
