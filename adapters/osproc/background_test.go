package osproc_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/process"
)

const forever = "echo ready; exec sleep 300"

func startEnds(t *testing.T, r *fixture) {
	for text, want := range map[string]process.State{
		"echo ready":         {Status: process.Completed},
		"echo ready; exit 7": {Status: process.Failed, Exit: process.Exit{Code: 7}},
	} {
		s, err := r.Start(t.Context(), r.script(t, text))
		require.NoError(t, err)
		assert.Equal(t, process.Running, s.Status)
		assert.True(t, s.Background)
		assert.Positive(t, s.PID)
		assert.NotEqual(t, os.Getpid(), s.Owner, "this process can end")
		assert.Regexp(t, `^bp_[0-9a-f]{8}$`, string(s.ID))
		have := r.final(t, s.ID)
		assert.Equal(t, want.Status, have.Status)
		assert.Equal(t, want.Exit, have.Exit)
		assert.False(t, have.EndedAt.IsZero())
		assert.Empty(t, have.Reason)
	}
}

func startTimesOut(t *testing.T, r *fixture) {
	spec := r.script(t, forever)
	spec.Timeout = 200 * time.Millisecond
	s, err := r.Start(t.Context(), spec)
	require.NoError(t, err)
	assert.Equal(t, process.TimedOut, r.final(t, s.ID).Status)
	assert.Empty(t, carriers(s.ID))
}

// Of more starts at once than there are places, as many come through as may, and no more.
func startLimit(t *testing.T, r *fixture) {
	const before, most, at = 17, 20, 8
	spec := r.script(t, forever)
	states, errs := make([]process.State, before+at), make([]error, before+at)
	for i := range before { // one after another, because a start waits for the lock no longer than it may
		states[i], errs[i] = r.Start(t.Context(), spec)
		require.NoError(t, errs[i])
	}
	var wg sync.WaitGroup
	tables := []adapter{r.adapter, r.Open(t, r.dir)}
	for i := before; i < before+at; i++ {
		wg.Go(func() { states[i], errs[i] = tables[i%2].Start(t.Context(), spec) })
	}
	wg.Wait()
	started := slices.DeleteFunc(slices.Clone(states), func(s process.State) bool { return s.Status != process.Running })
	assert.Len(t, started, most)
	for i, err := range errs {
		if states[i].Status != process.Running {
			require.ErrorIs(t, err, process.ErrLimit)
		}
	}
	_, err := r.Start(t.Context(), spec)
	require.ErrorIs(t, err, process.ErrLimit)
	assert.ErrorContains(t, err, string(started[0].ID), "it says what runs")
	for _, s := range started {
		wg.Go(func() {
			_, err := r.Stop(t.Context(), s.ID, 0)
			assert.NoError(t, err)
		})
	}
	wg.Wait()
	_, err = r.Start(t.Context(), spec)
	require.NoError(t, err, "and the slots are free again")
}

func stopStubborn(t *testing.T, r *fixture) {
	s := r.start(t, "trap '' TERM; echo ready; while :; do sleep 1; done")
	have, err := r.Stop(t.Context(), s.ID, 300*time.Millisecond)
	require.NoError(t, err)
	assert.Equal(t, process.Stopped, have.Status)
	assert.True(t, have.Escalated)
	assert.Equal(t, process.Exit{Code: -1, Signal: "killed"}, have.Exit)
	assert.Empty(t, carriers(s.ID))
	assert.Equal(t, have, r.inspect(t, s.ID))

	s = r.start(t, "trap 'echo bye; exit 5' TERM; echo ready; while :; do sleep 0.1; done")
	have, err = r.Stop(t.Context(), s.ID, 20*time.Second)
	require.NoError(t, err)
	assert.Equal(t, process.Stopped, have.Status)
	assert.False(t, have.Escalated, "who heeds the first signal is not killed")
	assert.Equal(t, process.Exit{Code: 5}, have.Exit)
	said := r.watch(t, s.ID, 1).Lines
	assert.True(t, slices.ContainsFunc(said, func(l process.Line) bool { return l.Text == "bye" }), "and has the last word: %v", said)
}

func stopElsewhere(t *testing.T, r *fixture) {
	other := r.Open(t, r.dir)
	s := r.start(t, "(sleep 300 & setsid sleep 300 & wait) & "+forever)
	seen, err := other.Inspect(t.Context(), s.ID)
	require.NoError(t, err)
	assert.Equal(t, s, seen)
	have, err := other.Stop(t.Context(), s.ID, 5*time.Second)
	require.NoError(t, err)
	assert.Equal(t, process.Stopped, have.Status)
	assert.Equal(t, have, r.inspect(t, s.ID))
	assert.Empty(t, carriers(s.ID))

	var id process.ID
	var wg sync.WaitGroup
	result, err := r.Run(t.Context(), r.script(t, forever), func(s process.State) {
		id = s.ID
		wg.Go(func() {
			have, err := other.Stop(t.Context(), s.ID, 5*time.Second)
			assert.NoError(t, err)
			assert.Equal(t, process.Stopped, have.Status)
		})
	})
	require.NoError(t, err)
	wg.Wait()
	assert.Equal(t, process.Stopped, result.Status, "a run of another process is stopped as well, and its caller told")
	assert.Equal(t, process.Stopped, r.inspect(t, id).Status)
}

func stopEnded(t *testing.T, r *fixture) {
	s, err := r.Start(t.Context(), r.script(t, "exit 4"))
	require.NoError(t, err)
	before := r.final(t, s.ID)
	after, err := r.Stop(t.Context(), s.ID, 0)
	require.NoError(t, err)
	assert.Equal(t, before, after)
	assert.Equal(t, process.Failed, after.Status)
}

// Whoever comes later with less patience is obeyed, and a caller that gives up does not call the end off.
func stopImpatient(t *testing.T, r *fixture) {
	s := r.start(t, "trap '' TERM; echo ready; while :; do sleep 1; done")
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		defer cancel()
		assert.Eventually(t, func() bool { return r.inspect(t, s.ID).Status == process.Stopping }, time.Minute, time.Millisecond)
	})
	have, err := r.Stop(ctx, s.ID, time.Hour)
	wg.Wait()
	require.ErrorIs(t, err, context.Canceled)
	assert.Contains(t, []process.Status{process.Running, process.Stopping}, have.Status, "as it was seen last")
	have, err = r.Stop(t.Context(), s.ID, 0)
	require.NoError(t, err)
	assert.Equal(t, process.Stopped, have.Status)
	assert.True(t, have.Escalated)
}

func outputCursors(t *testing.T, r *fixture) {
	s, err := r.Start(t.Context(), r.script(t, "echo 1; echo 2; echo 3; until [ -e go ]; do sleep 0.02; done; echo 4 >&2; echo 5 >&2"))
	require.NoError(t, err)
	for at := process.Cursor(0); at < 3; { // what two streams print at once is in no order
		chunk := r.watch(t, s.ID, at)
		require.NotEqual(t, at, chunk.Next, "its first lines do not come")
		at = chunk.Next
	}
	require.NoError(t, os.WriteFile(filepath.Join(r.work, "go"), nil, 0o600))
	assert.Equal(t, process.Completed, r.final(t, s.ID).Status)
	for _, c := range []struct {
		from process.Cursor
		want string
		next process.Cursor
	}{
		{0, "1 2 3 4 5", 5}, {2, "3 4 5", 5}, {5, "", 5}, {99, "", 5}, {process.TailCursor(2), "4 5", 5}, {process.TailCursor(99), "1 2 3 4 5", 5},
	} {
		chunk, err := r.Output(t.Context(), s.ID, c.from)
		require.NoError(t, err)
		var texts []string
		for _, l := range chunk.Lines {
			texts = append(texts, l.Text)
			assert.Equal(t, strings.Repeat("x", int(l.Number)), strings.Repeat("x", int(l.Text[0]-'0')), "the number of line %s", l.Text)
			assert.Equal(t, map[bool]process.Stream{true: process.Stderr, false: process.Stdout}[l.Number > 3], l.Stream)
		}
		assert.Equal(t, c.want, strings.Join(texts, " "), "from %d", c.from)
		chunk.Lines = nil
		assert.Equal(t, process.Chunk{Next: c.next, Total: 5, Ended: true}, chunk, "from %d", c.from)
	}
	s, err = r.Start(t.Context(), r.script(t, ":"))
	require.NoError(t, err)
	r.final(t, s.ID)
	chunk, err := r.Output(t.Context(), s.ID, 7)
	require.NoError(t, err)
	assert.Equal(t, process.Chunk{Lines: []process.Line{}, Ended: true}, chunk, "nothing was printed")
}

func outputNewest(t *testing.T, r *fixture) {
	var id process.ID
	const printed = process.MaxLines + 2345
	result, err := r.Run(t.Context(), r.script(t, "seq 1 12345"), func(s process.State) { id = s.ID })
	require.NoError(t, err)
	assert.True(t, strings.HasSuffix(string(result.Stdout), "12344\n12345\n"))
	all, err := os.ReadFile(seq(t, r, printed))
	require.NoError(t, err)
	head, rest, ok := strings.Cut(string(result.Stdout), "[... 345 lines are left out ...]\n")
	require.True(t, ok, "the beginning is kept, and what is missing is counted")
	assert.True(t, strings.HasPrefix(string(all), head))
	assert.True(t, strings.HasSuffix(string(all), rest))
	assert.Equal(t, process.HeadLines, strings.Count(head, "\n"))
	assert.Equal(t, process.MaxLines, strings.Count(rest, "\n"))
	assert.Equal(t, int64(len(all)), int64(len(head)+len(rest))+result.Dropped)
	assert.Equal(t, int64(len(all)), result.Printed)
	chunk, err := r.Output(t.Context(), id, 0)
	require.NoError(t, err)
	assert.Equal(t, int64(printed), chunk.Total)
	assert.Equal(t, int64(printed-process.MaxLines), chunk.Dropped)
	require.Len(t, chunk.Lines, process.MaxLines)
	assert.Equal(t, process.Line{Number: 2346, Stream: process.Stdout, Text: "2346"}, chunk.Lines[0])
	chunk, err = r.Output(t.Context(), id, 2000)
	require.NoError(t, err)
	assert.Equal(t, int64(345), chunk.Dropped, "only what the reader has not seen")

	result, err = r.Run(t.Context(), r.script(t, "yes $(head -c 999 /dev/zero | tr '\\0' y) | head -n 5000"), func(s process.State) { id = s.ID })
	require.NoError(t, err)
	head, rest, ok = strings.Cut(string(result.Stdout), "[... ")
	require.True(t, ok)
	assert.Equal(t, process.HeadBytes/1000*1000, len(head), "the beginning, in whole lines")
	number, tail, ok := strings.Cut(rest, " lines are left out ...]\n")
	require.True(t, ok)
	missing, err := strconv.Atoi(number)
	require.NoError(t, err)
	assert.Equal(t, 5000, strings.Count(head+tail, "\n")+missing)
	assert.LessOrEqual(t, len(tail), process.MaxBytes)
	assert.Greater(t, len(tail), process.MaxBytes*7/8)
	assert.Equal(t, int64(5000*1000), int64(len(head)+len(tail))+result.Dropped, "what is missing is counted")
	assert.Equal(t, int64(5000*1000), result.Printed)
	chunk, err = r.Output(t.Context(), id, 0)
	require.NoError(t, err)
	assert.Equal(t, int64(5000), chunk.Total)
	assert.Equal(t, int64(5000), chunk.Dropped+int64(len(chunk.Lines)))
	assert.InDelta(t, process.MaxBytes/1000, len(chunk.Lines), process.MaxBytes/1000/4)
	for i, l := range chunk.Lines {
		require.Equal(t, chunk.Dropped+int64(i)+1, l.Number)
	}
}

// seq returns a file with the numbers up to n.
func seq(t *testing.T, r *fixture, n int) string {
	file := filepath.Join(r.work, "numbers")
	spec := r.script(t, "seq 1 $1 > numbers")
	spec.Argv = append(spec.Argv, "12345")
	require.Equal(t, 12345, n)
	_, err := r.Run(t.Context(), spec, nil)
	require.NoError(t, err)
	return file
}

func outputWatch(t *testing.T, r *fixture) {
	other := r.Open(t, r.dir)
	s := r.start(t, "echo ready; until [ -e go ]; do sleep 0.05; done; echo gone; until [ -e end ]; do sleep 0.05; done")
	assert.Equal(t, "ready", r.watch(t, s.ID, process.TailCursor(1)).Lines[0].Text, "what is there is not waited for")
	ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
	defer cancel()
	chunk, err := other.Watch(ctx, s.ID, 1)
	require.NoError(t, err, "the end of waiting is no error")
	assert.Equal(t, process.Chunk{Lines: []process.Line{}, Next: 1, Total: 1}, chunk)
	require.NoError(t, os.WriteFile(filepath.Join(r.work, "go"), nil, 0o600))
	chunk = r.watch(t, s.ID, 1)
	assert.Equal(t, process.Chunk{Lines: []process.Line{{Number: 2, Stream: process.Stdout, Text: "gone"}}, Next: 2, Total: 2}, chunk)
	require.NoError(t, os.WriteFile(filepath.Join(r.work, "end"), nil, 0o600))
	chunk = r.watch(t, s.ID, 99)
	assert.Equal(t, process.Chunk{Lines: []process.Line{}, Next: 2, Total: 2, Ended: true}, chunk)
}

func recoverRun(t *testing.T, r *fixture) {
	server := r.server(t)
	s := server.start(t, false, r.script(t, "(setsid sleep 300 & sleep 300 & wait) & "+forever))
	r.awaitReady(t, s.ID)
	assert.Equal(t, process.Running, r.inspect(t, s.ID).Status)
	settled, err := r.Recover(t.Context())
	require.NoError(t, err)
	assert.Empty(t, settled, "its owner lives")
	server.kill()
	shown := r.inspect(t, s.ID)
	assert.Equal(t, process.Failed, shown.Status, "at once, for whoever asks")
	assert.True(t, shown.Lost)
	assert.Regexp(t, "^lost: ", shown.Reason)
	chunk, err := r.Output(t.Context(), s.ID, 0)
	require.NoError(t, err)
	assert.True(t, chunk.Ended)
	assert.Equal(t, "ready", chunk.Lines[0].Text)
	settled, err = r.Recover(t.Context())
	require.NoError(t, err)
	require.Len(t, settled, 1)
	assert.Equal(t, process.Failed, settled[0].Status)
	assert.True(t, settled[0].Lost)
	assert.Equal(t, settled[0], r.inspect(t, s.ID))
	assert.Empty(t, carriers(s.ID))
	settled, err = r.Recover(t.Context())
	require.NoError(t, err)
	assert.Empty(t, settled, "once")
}

// endsWithItsOwner: nobody has to come and find what a killed process was running.
func endsWithItsOwner(t *testing.T, r *fixture) {
	server := r.server(t)
	s := server.start(t, false, r.script(t, "sh -c 'sleep 300; :' & "+forever))
	r.awaitReady(t, s.ID)
	server.kill()
	require.Eventually(t, func() bool { return len(carriers(s.ID)) == 0 }, time.Minute, 5*time.Millisecond)
}

func recoverStart(t *testing.T, r *fixture) {
	server := r.server(t)
	s := server.start(t, true, r.script(t, "(setsid sleep 300 & sleep 300 & wait) & echo ready; sleep 0.5; echo again; exec sleep 300"))
	r.awaitReady(t, s.ID)
	server.kill()
	assert.Equal(t, "again", r.watch(t, s.ID, 1).Lines[0].Text, "it goes on without whoever started it")
	have := r.inspect(t, s.ID)
	assert.Equal(t, process.Running, have.Status)
	killOwner(t, have)
	require.Eventually(t, func() bool { return r.inspect(t, s.ID).Lost }, time.Minute, 5*time.Millisecond)
	settled, err := r.Recover(t.Context())
	require.NoError(t, err)
	require.Len(t, settled, 1)
	assert.Empty(t, carriers(s.ID))
}

// killOwner ends the supervisor of a process that was just started in the background.
func killOwner(t *testing.T, s process.State) {
	t.Helper()
	require.True(t, s.Background)
	require.Greater(t, s.Owner, 1)
	require.NotEqual(t, os.Getpid(), s.Owner)
	require.NoError(t, syscall.Kill(s.Owner, syscall.SIGKILL))
}

func recoverByStop(t *testing.T, r *fixture) {
	s := r.start(t, "trap '' TERM; echo ready; while :; do sleep 1; done")
	killOwner(t, s)
	require.Eventually(t, func() bool { return r.inspect(t, s.ID).Lost }, time.Minute, 5*time.Millisecond)
	have, err := r.Stop(t.Context(), s.ID, 300*time.Millisecond)
	require.NoError(t, err)
	assert.Equal(t, process.Stopped, have.Status)
	assert.True(t, have.Lost)
	assert.True(t, have.Escalated)
	assert.Equal(t, have, r.inspect(t, s.ID))
	assert.Empty(t, carriers(s.ID))
}

func recoverNothing(t *testing.T, r *fixture) {
	settled, err := r.Recover(t.Context())
	require.NoError(t, err)
	assert.Empty(t, settled)
	states, err := r.List(t.Context())
	require.NoError(t, err)
	assert.Empty(t, states)
	assert.NoDirExists(t, r.dir)
}

func listOrder(t *testing.T, r *fixture) {
	labels := map[string]string{"script": "dev", "project": "p_1"}
	spec := r.script(t, forever)
	spec.Labels = labels
	first, err := r.Start(t.Context(), spec)
	require.NoError(t, err)
	r.run(t, ":")
	last, err := r.Start(t.Context(), spec)
	require.NoError(t, err)
	for _, table := range []adapter{r.adapter, r.Open(t, r.dir)} {
		states, err := table.List(t.Context())
		require.NoError(t, err)
		require.Len(t, states, 3)
		assert.Equal(t, last, states[0])
		assert.Equal(t, process.Completed, states[1].Status)
		assert.Equal(t, first, states[2])
		assert.Equal(t, labels, states[2].Labels)
	}
}

func listUnknown(t *testing.T, r *fixture) {
	r.run(t, ":")
	for _, id := range []process.ID{"", "bp_00000000", "..", "../work", "active", "bp_0000000g", "bp_00000000/.."} {
		_, err := r.Inspect(t.Context(), id)
		require.ErrorIs(t, err, process.ErrNotFound, "%q", id)
		_, err = r.Output(t.Context(), id, 0)
		require.ErrorIs(t, err, process.ErrNotFound, "%q", id)
		_, err = r.Watch(t.Context(), id, 0)
		require.ErrorIs(t, err, process.ErrNotFound, "%q", id)
		_, err = r.Stop(t.Context(), id, 0)
		require.ErrorIs(t, err, process.ErrNotFound, "%q", id)
	}
}
