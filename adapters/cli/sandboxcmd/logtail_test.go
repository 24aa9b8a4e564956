package sandboxcmd_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/cli/sandboxcmd"
)

// write makes a log, or adds to it.
func write(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	require.NoError(t, err)
	_, err = f.WriteString(text)
	require.NoError(t, errors.Join(err, f.Close()))
}

// numbered returns the lines from low to high.
func numbered(low, high int) string {
	var b strings.Builder
	for i := low; i <= high; i++ {
		fmt.Fprintf(&b, "line %d %s\n", i, strings.Repeat("x", i%97))
	}
	return b.String()
}

func TestLast(t *testing.T) {
	long := numbered(1, 5000) // several blocks
	all := strings.Split(strings.TrimSuffix(long, "\n"), "\n")
	for name, c := range map[string]struct {
		older, log string
		n          int
		want       []string
	}{
		"an empty log":                   {"", "", 3, nil},
		"fewer than asked for":           {"", "a\nb\n", 3, []string{"a", "b"}},
		"as many":                        {"", "a\nb\nc\n", 3, []string{"a", "b", "c"}},
		"more":                           {"", "a\nb\nc\nd\n", 3, []string{"b", "c", "d"}},
		"a line without its end":         {"", "a\nb\nc", 2, []string{"b", "c"}},
		"blank lines count":              {"", "a\n\n\n", 2, []string{"", ""}},
		"over blocks":                    {"", long, 4000, all[1000:]},
		"the rest from the one before":   {"1\n2\n3\n", "4\n5\n", 4, []string{"2", "3", "4", "5"}},
		"just rotated":                   {"1\n2\n", "", 5, []string{"1", "2"}},
		"the one before is not needed":   {"1\n", "2\n3\n", 2, []string{"2", "3"}},
		"what is no text does not break": {"", "\xff\xfe\n\x00\n", 2, []string{"\xff\xfe", "\x00"}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.log")
			write(t, path, c.log)
			if c.older != "" {
				write(t, path+".1", c.older)
			}
			lines, at, err := sandboxcmd.LastLines(path, c.n)
			require.NoError(t, err)
			at.Close()
			assert.Equal(t, c.want, append([]string(nil), lines...))
		})
	}
}

func TestWhatIsNoLog(t *testing.T) {
	dir := t.TempDir()
	lines, at, err := sandboxcmd.LastLines(filepath.Join(dir, "nothing.log"), 5)
	require.NoError(t, err, "a server that never ran has printed nothing")
	at.Close()
	assert.Empty(t, lines)
	_, _, err = sandboxcmd.LastLines(dir, 5)
	assert.ErrorIs(t, err, sandboxcmd.ErrLog)
}

// followed follows a log while act changes it step by step: the next step is taken when everything before it has been seen.
func followed(t *testing.T, path string, steps []func(), want []string) {
	t.Helper()
	_, at, err := sandboxcmd.LastLines(path, 1)
	require.NoError(t, err)
	defer at.Close()
	enough := errors.New("seen")
	var seen []string
	steps[0]()
	steps = steps[1:]
	err = at.Follow(context.Background(), func(line string) error {
		seen = append(seen, line)
		if strings.HasSuffix(line, "!") {
			if len(steps) == 0 {
				return enough
			}
			steps[0]()
			steps = steps[1:]
		}
		return nil
	})
	require.ErrorIs(t, err, enough)
	assert.Equal(t, want, seen)
}

func TestFollow(t *testing.T) {
	t.Run("what is added, a line at a time", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "x.log")
		write(t, path, "old\n")
		followed(t, path, []func(){
			func() { write(t, path, "one\ntwo!\nhal") },
			func() { write(t, path, "f\nlast!\n") },
		}, []string{"one", "two!", "half", "last!"})
	})
	t.Run("over a rotation, nothing lost and nothing twice", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "x.log")
		write(t, path, "old\n")
		followed(t, path, []func(){
			func() { write(t, path, "one!\n") },
			func() {
				write(t, path, "two\n")
				require.NoError(t, os.Rename(path, path+".1"))
				write(t, path, "three!\n")
			},
			func() { write(t, path, "four!\n") },
		}, []string{"one!", "two", "three!", "four!"})
	})
	t.Run("a log that is not there yet", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "x.log")
		followed(t, path, []func(){func() { write(t, path, "one!\n") }}, []string{"one!"})
	})
	t.Run("a log that was emptied", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "x.log")
		write(t, path, "a long line that was there before\n")
		followed(t, path, []func(){func() {
			require.NoError(t, os.Truncate(path, 0))
			write(t, path, "one!\n")
		}}, []string{"one!"})
	})
	t.Run("until the context ends", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "x.log")
		write(t, path, "old\n")
		_, at, err := sandboxcmd.LastLines(path, 1)
		require.NoError(t, err)
		defer at.Close()
		ctx, cancel := context.WithCancel(context.Background())
		write(t, path, "x\n")
		assert.ErrorIs(t, at.Follow(ctx, func(string) error { cancel(); return nil }), context.Canceled)
	})
	t.Run("a line without end comes in parts", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "x.log")
		write(t, path, "")
		_, at, err := sandboxcmd.LastLines(path, 1)
		require.NoError(t, err)
		defer at.Close()
		write(t, path, strings.Repeat("x", 3<<20))
		enough, got := errors.New("enough"), 0
		err = at.Follow(context.Background(), func(line string) error {
			got += len(line)
			assert.LessOrEqual(t, len(line), 2<<20)
			if got >= 2<<20 {
				return enough
			}
			return nil
		})
		assert.ErrorIs(t, err, enough)
	})
}
