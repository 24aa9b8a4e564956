package tracked_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/ecosystem/tracked"
)

func at(second int) time.Time { return time.Date(2026, 3, 1, 12, 0, second, 0, time.UTC) }

// TestEveryTransition is the table of amof contract §9, walked from every state to every other.
func TestEveryTransition(t *testing.T) {
	allowed := map[tracked.Status][]tracked.Status{
		tracked.Queued:    {tracked.Queued, tracked.Paused, tracked.Running, tracked.Cancelled, tracked.Failed},
		tracked.Paused:    {tracked.Paused, tracked.Queued, tracked.Cancelled},
		tracked.Running:   {tracked.Running, tracked.Success, tracked.Failed, tracked.Cancelled},
		tracked.Success:   {tracked.Success},
		tracked.Failed:    {tracked.Failed},
		tracked.Cancelled: {tracked.Cancelled},
	}
	for _, from := range tracked.Statuses() {
		for _, to := range tracked.Statuses() {
			assert.Equal(t, slices.Contains(allowed[from], to), from.Reaches(to), "%s → %s", from, to)
		}
		assert.Equal(t, len(allowed[from]) == 1, from.Final(), from)
	}
	assert.False(t, tracked.Status("").Reaches(tracked.Running), "what is no state goes nowhere")
}

// TestALife: begun, ended by each kind of exit, cancelled, interrupted.
func TestALife(t *testing.T) {
	for exit, want := range map[int]tracked.Status{0: tracked.Success, 1: tracked.Failed, tracked.ExitTimeout: tracked.Failed, tracked.ExitCancelled: tracked.Cancelled} {
		r := tracked.Run{ID: "1a2b3c4d5e", Status: tracked.Queued}
		require.ErrorIs(t, (&tracked.Run{Status: tracked.Success}).Begin("me", at(0)), tracked.ErrMove)
		require.NoError(t, r.Begin("me", at(1)))
		assert.Equal(t, 4*time.Second, r.Duration(at(5)))
		require.NoError(t, r.End(exit, at(3)))
		assert.Equal(t, want, r.Status)
		assert.Equal(t, exit, *r.ExitCode)
		assert.Equal(t, 2*time.Second, r.Duration(at(9)))
		require.ErrorIs(t, r.End(1, at(4)), tracked.ErrMove, "the end is the end")
		_, err := r.Cancel(at(4))
		require.ErrorIs(t, err, tracked.ErrMove)
		assert.Equal(t, "1a2b3c4d", r.Short())
	}
	waiting, going := tracked.Run{Status: tracked.Queued}, tracked.Run{Status: tracked.Running}
	ended, err := waiting.Cancel(at(1))
	require.NoError(t, err)
	assert.True(t, ended)
	ended, err = going.Cancel(at(1))
	require.NoError(t, err)
	assert.False(t, ended, "it is told to stop")
	assert.True(t, going.Stopping)
	require.NoError(t, going.Interrupt(at(2)))
	assert.Equal(t, tracked.Failed, going.Status)
	assert.Zero(t, waiting.Duration(at(9)), "it never began")
	back := tracked.Run{Status: tracked.Running}
	require.NoError(t, back.End(0, at(1)))
	start := at(5)
	back.StartedAt = &start
	assert.Zero(t, back.Duration(at(9)), "a clock that went backwards makes no negative time")
}

// TestPosition counts those of one's own ecosystem that are open and older.
func TestPosition(t *testing.T) {
	run := func(id, eco string, s tracked.Status, second int) tracked.Run {
		return tracked.Run{ID: id, Ecosystem: eco, Status: s, CreatedAt: at(second)}
	}
	open := []tracked.Run{run("d", "x", tracked.Queued, 4), run("b", "x", tracked.Queued, 2), run("c", "y", tracked.Queued, 1), run("a", "x", tracked.Running, 1), run("e", "x", tracked.Success, 0)}
	for id, want := range map[string]int{"a": 1, "b": 2, "d": 3, "c": 1, "z": 0} {
		assert.Equal(t, want, tracked.Position(id, open), id)
	}
	slices.SortFunc(open, tracked.Older)
	assert.Equal(t, "e", open[0].ID)
	assert.Negative(t, tracked.Older(run("a", "x", tracked.Queued, 1), run("b", "x", tracked.Queued, 1)), "the id decides between equals")
}

// TestFilter matches what it says, and everything where it says nothing.
func TestFilter(t *testing.T) {
	r := tracked.Run{Root: "/w", Ecosystem: "x", Action: "push", Status: tracked.Failed}
	for _, f := range []tracked.Filter{{}, {Root: "/w"}, {Ecosystem: "x"}, {Action: "push"}, {Statuses: []tracked.Status{tracked.Success, tracked.Failed}}} {
		assert.True(t, f.Matches(r), f)
	}
	for _, f := range []tracked.Filter{{Root: "/v"}, {Ecosystem: "y"}, {Action: "sync"}, {Statuses: []tracked.Status{tracked.Success}}} {
		assert.False(t, f.Matches(r), f)
	}
}
