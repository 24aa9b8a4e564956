package osproc_test

import (
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/osproc"
	"github.com/countersign-dev/countersign/domain/process"
)

// TestWhatItLeaves: what a program started goes on where that was wanted and the program ended by itself, and ends with it everywhere else.
func TestWhatItLeaves(t *testing.T) {
	const script = `sleep 60 >/dev/null 2>&1 & echo $!`
	for name, c := range map[string]struct {
		leaves bool
		script string
		limit  time.Duration
		lives  bool
	}{
		"wanted":         {true, script, 0, true},
		"it failed":      {true, script + "; exit 3", 0, true},
		"not wanted":     {false, script, 0, false},
		"it was stopped": {true, script + "; sleep 60", 300 * time.Millisecond, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := open(filepath.Join(t.TempDir(), "p"))
			var printed string
			for limit := c.limit; printed == ""; limit *= 2 { // as long as it takes to say so
				require.Less(t, limit, time.Minute)
				spec := sh(t, c.script)
				spec.Leaves, spec.Timeout = c.leaves, limit
				s, err := p.Start(t.Context(), spec)
				require.NoError(t, err)
				var chunk process.Chunk
				for at := process.Cursor(0); !chunk.Ended; at = chunk.Next {
					chunk, err = p.Watch(t.Context(), s.ID, at)
					require.NoError(t, err)
					for _, line := range chunk.Lines {
						printed += line.Text
					}
				}
			}
			pid, err := strconv.Atoi(strings.TrimSpace(printed))
			require.NoError(t, err)
			left, there := osproc.IdentityOf(pid)
			alive := there && left.Alive() // one that ended and that nobody waited for is there
			_ = syscall.Kill(pid, syscall.SIGKILL)
			assert.Equal(t, c.lives, alive)
		})
	}
}
