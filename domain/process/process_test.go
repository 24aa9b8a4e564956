package process_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/domain/process"
)

func TestSpecAccepts(t *testing.T) {
	for name, s := range map[string]process.Spec{
		"a program":        {Argv: []string{"git"}},
		"odd arguments":    {Argv: []string{"/bin/my tool", "", "a b", "$HOME; rm -rf /", "-x", "日本", "\xff", "line\nend"}},
		"a relative place": {Argv: []string{"x"}, Dir: "sub/./dir"},
		"an absolute one":  {Argv: []string{"x"}, Dir: "/srv/a..b/repo"},
		"the root":         {Argv: []string{"x"}, Dir: "/"},
		"environment":      {Argv: []string{"x"}, Env: map[string]string{"A": "", "_b1": "line\nend", "C": strings.Repeat("x", process.MaxEnvBytes)}},
		"a time limit":     {Argv: []string{"x"}, Timeout: time.Hour},
		"many arguments":   {Argv: []string{"x", strings.Repeat("y", process.MaxArgvBytes-len("x")-2)}},
		"a long directory": {Argv: []string{"x"}, Dir: "/" + strings.Repeat("d", process.MaxDirBytes-1)},
	} {
		assert.NoError(t, s.Validate(), name)
	}
}

func TestSpecRefuses(t *testing.T) {
	for name, s := range map[string]process.Spec{
		"nothing":              {},
		"no program":           {Argv: []string{"", "x"}},
		"an option":            {Argv: []string{"-c", "x"}},
		"NUL in the program":   {Argv: []string{"a\x00b"}},
		"NUL in an argument":   {Argv: []string{"a", "\x00"}},
		"too many arguments":   {Argv: []string{"x", strings.Repeat("y", process.MaxArgvBytes-len("x")-1)}},
		"a negative limit":     {Argv: []string{"x"}, Timeout: -1},
		"a way up":             {Argv: []string{"x"}, Dir: "../x"},
		"a way up with \\":     {Argv: []string{"x"}, Dir: `a\..\..\x`},
		"an absolute way up":   {Argv: []string{"x"}, Dir: "/srv/../etc"},
		"NUL in the directory": {Argv: []string{"x"}, Dir: "/srv\x00"},
		"no UTF-8":             {Argv: []string{"x"}, Dir: "/srv/\xff"},
		"a longer directory":   {Argv: []string{"x"}, Dir: "/" + strings.Repeat("d", process.MaxDirBytes)},
		"an unnamed variable":  {Argv: []string{"x"}, Env: map[string]string{"": "x"}},
		"a variable with =":    {Argv: []string{"x"}, Env: map[string]string{"A=B": "x"}},
		"a variable with -":    {Argv: []string{"x"}, Env: map[string]string{"A-B": "x"}},
		"a digit first":        {Argv: []string{"x"}, Env: map[string]string{"1A": "x"}},
		"NUL in a value":       {Argv: []string{"x"}, Env: map[string]string{"A": "secret\x00"}},
		"a longer value":       {Argv: []string{"x"}, Env: map[string]string{"A": strings.Repeat("secret", process.MaxEnvBytes)}},
	} {
		err := s.Validate()
		require.ErrorIs(t, err, process.ErrSpec, name)
		assert.NotContains(t, err.Error(), "secret", "a value is never repeated")
		state, err := process.NewState("p", s, time.Time{})
		require.ErrorIs(t, err, process.ErrSpec, name)
		assert.Zero(t, state)
	}
}

// arrows is the state machine, written down a second time: from the row to the column. Final statuses have no arrows.
const arrows = `
          invalid starting running stopping completed failed stopped timed_out
invalid   .       .        .       .        .         .      .       .
starting  .       .        x       x        .         x      .       .
running   .       .        .       x        x         x      .       .
stopping  .       .        .       .        .         x      x       x
completed .       .        .       .        .         .      .       .
failed    .       .        .       .        .         .      .       .
stopped   .       .        .       .        .         .      .       .
timed_out .       .        .       .        .         .      .       .
`

func TestEveryPairOfStatuses(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	rows := strings.Split(strings.TrimSpace(arrows), "\n")
	names := strings.Fields(rows[0])
	require.Len(t, rows, len(names)+1)
	for from := range 256 {
		for to := range 256 {
			want := from < len(names) && to < len(names) && strings.Fields(rows[from+1])[to+1] == "x"
			s := process.State{ID: "p", Status: process.Status(from)}
			before := s
			assert.Equal(t, want, s.Status.May(process.Status(to)))
			err := s.Move(process.Status(to), now)
			if !want {
				require.ErrorIs(t, err, process.ErrTransition, "%v to %v", before.Status, process.Status(to))
				require.Equal(t, before, s, "a refused move changes nothing")
				continue
			}
			require.NoError(t, err)
			require.Equal(t, process.Status(to), s.Status)
			require.Equal(t, s.Status.Final(), !s.EndedAt.IsZero())
			require.Equal(t, names[to], s.Status.String())
		}
	}
}

func TestStatusWords(t *testing.T) {
	finals := 0
	for i := range 256 {
		s := process.Status(i)
		text, err := s.MarshalText()
		require.NoError(t, err)
		var back process.Status
		if s < process.Starting || s > process.TimedOut {
			assert.Equal(t, "invalid", string(text))
			require.ErrorIs(t, back.UnmarshalText(text), process.ErrTransition)
			assert.False(t, s.Final())
			continue
		}
		require.NoError(t, back.UnmarshalText(text))
		assert.Equal(t, s, back)
		if s.Final() {
			finals++
		}
	}
	assert.Equal(t, 4, finals)
	assert.True(t, process.Result{Status: process.Completed}.OK())
	assert.False(t, process.Result{}.OK(), "the zero Result is no success")
	assert.False(t, process.Result{Status: process.Stopped}.OK())
}

func TestNewKeepsSecretsOut(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	spec := process.Spec{
		Argv: []string{"npm", "run", "dev"}, Dir: "web", Env: map[string]string{"TOKEN": "s3cret"}, Secrets: []string{"s3cret"},
		Labels: map[string]string{"script": "dev"},
	}
	s, err := process.NewState("bp_1", spec, now)
	require.NoError(t, err)
	spec.Argv[0], spec.Labels["script"] = "changed", "changed"
	assert.Equal(t, process.State{
		ID: "bp_1", Argv: []string{"npm", "run", "dev"}, Dir: "web", Labels: map[string]string{"script": "dev"}, Status: process.Starting, StartedAt: now,
	}, s)
	doc, err := json.Marshal(s)
	require.NoError(t, err)
	assert.NotContains(t, string(doc), "s3cret")
	assert.Contains(t, string(doc), `"status":"starting"`)
}

func TestLose(t *testing.T) {
	last := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for status := process.Starting; status <= process.TimedOut; status++ {
		s := process.State{ID: "bp_1", Status: status}
		before := s
		err := s.Lose("its owner died", last)
		if status.Final() {
			require.ErrorIs(t, err, process.ErrTransition)
			assert.Equal(t, before, s, "what has ended cannot be lost")
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, process.State{ID: "bp_1", Status: process.Failed, Lost: true, Reason: "lost: its owner died", EndedAt: last}, s)
	}
}

func TestCursorResolve(t *testing.T) {
	for _, c := range []struct {
		cursor        process.Cursor
		gone, total   int64
		seen, dropped int64
	}{
		{0, 0, 0, 0, 0},
		{0, 0, 5, 0, 0},
		{3, 0, 5, 3, 0},
		{5, 0, 5, 5, 0},
		{9, 0, 5, 5, 0},
		{0, 10, 15, 10, 10},
		{7, 10, 15, 10, 3},
		{10, 10, 15, 10, 0},
		{12, 10, 15, 12, 0},
		{process.TailCursor(2), 0, 5, 3, 0},
		{process.TailCursor(5), 0, 5, 0, 0},
		{process.TailCursor(100), 0, 5, 0, 0},
		{process.TailCursor(100), 10, 15, 10, 0},
		{process.TailCursor(0), 0, 5, 4, 0},
		{process.TailCursor(-3), 0, 5, 4, 0},
		{process.TailCursor(3), 0, 0, 0, 0},
		{math.MinInt64, 10, 15, 10, 0},
		{math.MaxInt64, 10, 15, 15, 0},
	} {
		seen, dropped := c.cursor.Resolve(c.gone, c.total)
		assert.Equal(t, c.seen, seen, "%+v", c)
		assert.Equal(t, c.dropped, dropped, "%+v", c)
	}
}

// TestPollingLosesNothingSilently reads a growing, forgetting output in steps: every line is seen once, in order, or counted as lost.
func TestPollingLosesNothingSilently(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var gone, total, seenOrLost int64
		var at process.Cursor
		for range rapid.IntRange(1, 20).Draw(t, "polls") {
			total += rapid.Int64Range(0, 50).Draw(t, "printed")
			gone = max(gone, total-rapid.Int64Range(0, 30).Draw(t, "kept"))
			seen, dropped := at.Resolve(gone, total)
			require.GreaterOrEqual(t, seen, gone)
			require.LessOrEqual(t, seen, total)
			require.Equal(t, int64(at)+dropped, seen, "nothing is skipped without being counted")
			seenOrLost += dropped + total - seen
			at = process.Cursor(total)
		}
		require.Equal(t, total, seenOrLost)
	})
}
