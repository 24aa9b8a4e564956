package project_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/project"
)

func at(second int) time.Time { return time.Date(2025, 5, 6, 7, 8, second, 0, time.UTC) }

func statuses() map[project.Status]bool { // and whether nothing follows
	return map[project.Status]bool{project.Queued: false, project.Running: false, project.Completed: true, project.Failed: true,
		project.Cancelled: true, project.TimedOut: true}
}

func TestWords(t *testing.T) {
	for s, final := range statuses() {
		assert.True(t, s.Known(), s)
		assert.Equal(t, final, s.Final(), s)
	}
	for _, s := range []project.Status{"", "done", "RUNNING", "pending_confirmation"} {
		assert.False(t, s.Known() || s.Final(), s)
	}
	for _, k := range []project.Kind{project.KindScript, project.KindWebhook, project.KindWorkflow} {
		assert.True(t, k.Known(), k)
	}
	assert.False(t, project.Kind("").Known())
	assert.False(t, project.Kind("Script").Known())
}

// TestEveryTransition: from queued and running to each final status, and no other way.
func TestEveryTransition(t *testing.T) {
	all := statuses()
	all["unknown"] = false
	all[""] = false
	for from := range all {
		for to := range all {
			e := project.Execution{ID: "exec-1", Status: from, StartedAt: at(1)}
			before := e
			err := e.End(to, "why", "message", at(3))
			if (from == project.Queued || from == project.Running) && all[to] {
				require.NoError(t, err, "%s → %s", from, to)
				assert.Equal(t, project.Execution{ID: "exec-1", Status: to, Reason: "why", Error: "message", StartedAt: at(1), CompletedAt: at(3), DurationMS: 2000}, e)
				continue
			}
			require.ErrorIs(t, err, project.ErrTransition, "%s → %s", from, to)
			assert.ErrorContains(t, err, "exec-1")
			assert.Equal(t, before, e)
		}
	}
	e := project.Execution{Status: project.Running, StartedAt: at(9)}
	require.NoError(t, e.End(project.Completed, "", "", at(1)))
	assert.Zero(t, e.DurationMS, "a clock that went back makes no negative time")
}

func TestAddKeepsTheLastLines(t *testing.T) {
	lines := func(from, to int) (out []project.OutputLine) {
		for i := from; i < to; i++ {
			out = append(out, project.OutputLine{Stream: "stdout", Content: fmt.Sprint(i), At: at(i % 60)})
		}
		return out
	}
	for name, sizes := range map[string][]int{"few": {3}, "exactly": {500}, "one more": {500, 1}, "one by one": nil, "at once": {1777}, "in parts": {499, 499, 2, 700}, "none": {}} {
		t.Run(name, func(t *testing.T) {
			if name == "one by one" {
				for range 1333 {
					sizes = append(sizes, 1)
				}
			}
			e, n := project.Execution{}, 0
			for _, size := range sizes {
				e.Add(lines(n, n+size)...)
				n += size
			}
			kept := min(n, project.MaxOutputLines)
			require.Len(t, e.Output, kept)
			assert.EqualValues(t, n-kept, e.Dropped)
			for i, l := range e.Output {
				require.Equal(t, lines(n-kept+i, n-kept+i+1)[0], l)
			}
			assert.LessOrEqual(t, cap(e.Output), 4*project.MaxOutputLines, "what is dropped is not held")
		})
	}
}

func TestAddCutsLines(t *testing.T) {
	for name, c := range map[string]struct {
		line string
		kept int // bytes of it; 0 is all
	}{
		"short":         {"x", 0},
		"exactly":       {strings.Repeat("x", 2048), 0},
		"long":          {strings.Repeat("x", 2049), 2048},
		"very long":     {strings.Repeat("x", 1<<20), 2048},
		"two bytes":     {"x" + strings.Repeat("ü", 2000), 2047},
		"three":         {"x" + strings.Repeat("日", 2000), 2047},
		"four":          {"x" + strings.Repeat("😀", 2000), 2045},
		"binary":        {strings.Repeat("\x80", 5000), 2044},
		"broken at end": {strings.Repeat("x", 2046) + "\x80\x80\x80\x80", 2045},
	} {
		t.Run(name, func(t *testing.T) {
			e := project.Execution{}
			e.Add(project.OutputLine{Content: c.line})
			got := e.Output[0].Content
			if c.kept == 0 {
				assert.Equal(t, c.line, got)
				return
			}
			assert.Equal(t, c.line[:c.kept]+"…", got)
			assert.True(t, utf8.ValidString(got) || !utf8.ValidString(c.line))
		})
	}
}

func FuzzAdd(f *testing.F) {
	f.Add("x", 2048)
	f.Add("\x80", 3000)
	f.Add("ü日😀", 700)
	f.Fuzz(func(t *testing.T, part string, times int) {
		line := strings.Repeat(part, max(times, 0)%4096)
		e := project.Execution{}
		e.Add(project.OutputLine{Content: line})
		got := e.Output[0].Content
		assert.LessOrEqual(t, len(got), project.MaxLineBytes+len("…"))
		assert.True(t, strings.HasPrefix(line, strings.TrimSuffix(got, "…")))
		assert.True(t, utf8.ValidString(got) || !utf8.ValidString(line))
	})
}

func TestInterrupt(t *testing.T) {
	steps := func() []project.ExecutionStep {
		return []project.ExecutionStep{{Name: "lint", Status: project.StepCompleted}, {Name: "release", Status: project.StepRunning}, {Name: "build", Depth: 1, Status: project.StepRunning},
			{Name: "test", Status: project.StepPending}, {Name: "old", Status: project.StepFailed, Error: "exit 1"}, {Name: "never", Status: project.StepSkipped}}
	}
	e := project.Execution{ID: "exec-1", Status: project.Running, StartedAt: at(1), Steps: steps()}
	require.True(t, e.Interrupt(at(4)))
	assert.Equal(t, project.Failed, e.Status)
	assert.Equal(t, "interrupted", e.Reason)
	assert.Contains(t, e.Error, "step release was running")
	assert.Contains(t, e.Error, "step build was running")
	assert.NotContains(t, e.Error, "lint")
	assert.EqualValues(t, 3000, e.DurationMS)
	var got []project.StepStatus
	for _, s := range e.Steps {
		got = append(got, s.Status)
	}
	assert.Equal(t, []project.StepStatus{project.StepCompleted, project.StepFailed, project.StepFailed, project.StepSkipped, project.StepFailed, project.StepSkipped}, got)
	assert.Equal(t, "exit 1", e.Steps[4].Error)
	before := e
	assert.False(t, e.Interrupt(at(9)), "once is enough")
	assert.Equal(t, before, e)

	e = project.Execution{Status: project.Queued}
	assert.True(t, e.Interrupt(at(1)), "one that waits is lost as well")
	for s, final := range statuses() {
		if final {
			e := project.Execution{Status: s, Steps: steps()}
			assert.False(t, e.Interrupt(at(1)), s)
			assert.Equal(t, project.Execution{Status: s, Steps: steps()}, e, "what has ended stays as it is, steps too")
		}
	}
}
