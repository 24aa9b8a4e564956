//go:build linux

package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAQuestionOutlivesWhoAskedIt: the server that asked is killed or ends, the user approves in another process, and the same call of the same host
// entry, made in a third, picks the answer up. One yes lets one call run.
func TestAQuestionOutlivesWhoAskedIt(t *testing.T) {
	for name, ends := range map[string]func(h *hand){
		"killed": func(h *hand) {
			require.NoError(h.t, h.cmd.Process.Kill())
			h.Wait()
		},
		"ended": func(h *hand) { h.leaves() },
	} {
		t.Run(name, func(t *testing.T) {
			w, h, hi := office(t)
			h.leaves()
			first := w.serve("--approval", "human", "--host", "editor")
			first.send("one", "run_script", hi)
			q := w.questions(1)[0]
			ends(first)
			assert.Equal(t, q.ID, w.questions(1)[0].ID, "the question stays")
			seen, code := w.atTerminal("y", "approve", q.ID)
			require.Zero(t, code, seen)

			third := w.serve("--approval", "human", "--host", "editor", "--confirm-wait", "0s")
			var ran struct{ Stdout string }
			third.sees(&ran, "run_script", hi)
			assert.Contains(t, ran.Stdout, "hi")
			runs := w.runs("run_script")
			require.NotEmpty(t, runs)
			assert.Equal(t, "completed", runs[0].Status)
			third.send("again", "run_script", hi)
			assert.NotEqual(t, q.ID, w.questions(1)[0].ID, "once")
			third.leaves()
		})
	}
}
