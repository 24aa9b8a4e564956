package ecosystem_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/ecosystem"
)

func at(second int) time.Time { return time.Date(2026, 3, 1, 12, 0, second, 0, time.UTC) }

// TestEveryTransition is the table of amof contract §9, walked from every state to every other.
func TestEveryTransition(t *testing.T) {
	allowed := map[ecosystem.RunStatus][]ecosystem.RunStatus{
		ecosystem.RunQueued:    {ecosystem.RunQueued, ecosystem.RunPaused, ecosystem.RunRunning, ecosystem.RunCancelled, ecosystem.RunFailed},
		ecosystem.RunPaused:    {ecosystem.RunPaused, ecosystem.RunQueued, ecosystem.RunCancelled},
		ecosystem.RunRunning:   {ecosystem.RunRunning, ecosystem.RunSuccess, ecosystem.RunFailed, ecosystem.RunCancelled},
		ecosystem.RunSuccess:   {ecosystem.RunSuccess},
		ecosystem.RunFailed:    {ecosystem.RunFailed},
		ecosystem.RunCancelled: {ecosystem.RunCancelled},
	}
	for _, from := range ecosystem.RunStatuses() {
		for _, to := range ecosystem.RunStatuses() {
			assert.Equal(t, slices.Contains(allowed[from], to), from.Reaches(to), "%s → %s", from, to)
		}
		assert.Equal(t, len(allowed[from]) == 1, from.Final(), from)
	}
	assert.False(t, ecosystem.RunStatus("").Reaches(ecosystem.RunRunning), "what is no state goes nowhere")
}

// TestALife: begun, ended by each kind of exit, cancelled, interrupted.
func TestALife(t *testing.T) {
	for exit, want := range map[int]ecosystem.RunStatus{0: ecosystem.RunSuccess, 1: ecosystem.RunFailed, ecosystem.ExitTimeout: ecosystem.RunFailed, ecosystem.ExitCancelled: ecosystem.RunCancelled} {
		r := ecosystem.Run{ID: "1a2b3c4d5e", Status: ecosystem.RunQueued}
		require.ErrorIs(t, (&ecosystem.Run{Status: ecosystem.RunSuccess}).Begin("me", at(0)), ecosystem.ErrMove)
		require.NoError(t, r.Begin("me", at(1)))
		assert.Equal(t, 4*time.Second, r.Duration(at(5)))
		require.NoError(t, r.End(exit, at(3)))
		assert.Equal(t, want, r.Status)
		assert.Equal(t, exit, *r.ExitCode)
		assert.Equal(t, 2*time.Second, r.Duration(at(9)))
		require.ErrorIs(t, r.End(1, at(4)), ecosystem.ErrMove, "the end is the end")
		_, err := r.Cancel(at(4))
		require.ErrorIs(t, err, ecosystem.ErrMove)
		assert.Equal(t, "1a2b3c4d", r.Short())
	}
	waiting, going := ecosystem.Run{Status: ecosystem.RunQueued}, ecosystem.Run{Status: ecosystem.RunRunning}
	ended, err := waiting.Cancel(at(1))
	require.NoError(t, err)
	assert.True(t, ended)
	ended, err = going.Cancel(at(1))
	require.NoError(t, err)
	assert.False(t, ended, "it is told to stop")
	assert.True(t, going.Stopping)
	require.NoError(t, going.Interrupt(at(2)))
	assert.Equal(t, ecosystem.RunFailed, going.Status)
	assert.Zero(t, waiting.Duration(at(9)), "it never began")
	back := ecosystem.Run{Status: ecosystem.RunRunning}
	require.NoError(t, back.End(0, at(1)))
	start := at(5)
	back.StartedAt = &start
	assert.Zero(t, back.Duration(at(9)), "a clock that went backwards makes no negative time")
}

// TestPosition counts those of one's own ecosystem that are open and older.
func TestPosition(t *testing.T) {
	run := func(id, eco string, s ecosystem.RunStatus, second int) ecosystem.Run {
		return ecosystem.Run{ID: id, Ecosystem: eco, Status: s, CreatedAt: at(second)}
	}
	open := []ecosystem.Run{run("d", "x", ecosystem.RunQueued, 4), run("b", "x", ecosystem.RunQueued, 2), run("c", "y", ecosystem.RunQueued, 1), run("a", "x", ecosystem.RunRunning, 1), run("e", "x", ecosystem.RunSuccess, 0)}
	for id, want := range map[string]int{"a": 1, "b": 2, "d": 3, "c": 1, "z": 0} {
		assert.Equal(t, want, ecosystem.QueuePosition(id, open), id)
	}
	slices.SortFunc(open, ecosystem.CompareAge)
	assert.Equal(t, "e", open[0].ID)
	assert.Negative(t, ecosystem.CompareAge(run("a", "x", ecosystem.RunQueued, 1), run("b", "x", ecosystem.RunQueued, 1)), "the id decides between equals")
}

// TestFilter matches what it says, and everything where it says nothing.
func TestFilter(t *testing.T) {
	r := ecosystem.Run{Root: "/w", Ecosystem: "x", Action: "push", Status: ecosystem.RunFailed}
	for _, f := range []ecosystem.RunFilter{{}, {Root: "/w"}, {Ecosystem: "x"}, {Action: "push"}, {Statuses: []ecosystem.RunStatus{ecosystem.RunSuccess, ecosystem.RunFailed}}} {
		assert.True(t, f.Matches(r), f)
	}
	for _, f := range []ecosystem.RunFilter{{Root: "/v"}, {Ecosystem: "y"}, {Action: "sync"}, {Statuses: []ecosystem.RunStatus{ecosystem.RunSuccess}}} {
		assert.False(t, f.Matches(r), f)
	}
}
