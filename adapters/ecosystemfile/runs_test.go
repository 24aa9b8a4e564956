package ecosystemfile_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/ecosystem"
)

// runs holds a Runs to its contract.
func runs(t *testing.T, open opener) {
	for name, test := range map[string]func(*testing.T, opener){
		"KeepsThem":           keepsRuns,
		"FindsByPrefix":       findsByPrefix,
		"ChangesOne":          changesOne,
		"ManyChangeOne":       manyChangeOne,
		"OneBegins":           oneBegins,
		"ListsNewestFirst":    listsRuns,
		"PurgesWhatEnded":     purgesRuns,
		"MasksErrors":         masksErrors,
		"NamesNoOtherFile":    namesNoOtherFile,
		"IsWhereItIsSaidToBe": runsElsewhere,
	} {
		t.Run(name, func(t *testing.T) { test(t, open) })
	}
}

// runNumber returns the nth id of runs.
func runNumber(n int) string { return fmt.Sprintf("%08x-0000-4000-8000-000000000000", n) }

func queued(n int, created time.Time) ecosystem.Run {
	return ecosystem.Run{ID: runNumber(n), Ecosystem: "demo", Action: "push", Command: []string{"countersign", "eco", "push"}, Status: ecosystem.RunQueued, CreatedAt: created, SessionID: "s",
		Root: "/ws", Tool: "amof_push_ecosystem", Payload: []byte(`{"a":"<b>&"}`), Facts: "sha256:x"}
}

func keepsRuns(t *testing.T, open opener) {
	u := newUser(t)
	h := open(t, u)
	list, err := h.Runs.List(t.Context(), ecosystem.RunFilter{})
	require.NoError(t, err)
	assert.Empty(t, list)
	require.NoError(t, h.Runs.Purge(t.Context()))
	r := queued(1, noon())
	require.NoError(t, h.Runs.Add(t.Context(), r))
	got, err := open(t, u).Runs.Load(t.Context(), r.ID)
	require.NoError(t, err)
	assert.Equal(t, r, got)
	require.Error(t, h.Runs.Add(t.Context(), r), "an id is one run's")
	list, err = open(t, u).Runs.List(t.Context(), ecosystem.RunFilter{})
	require.NoError(t, err)
	assert.Equal(t, []ecosystem.Run{r}, list)
}

func findsByPrefix(t *testing.T, open opener) {
	u := newUser(t)
	h := open(t, u)
	for _, n := range []int{0x12345678, 0x1234567f, 0xabcdef01} {
		require.NoError(t, h.Runs.Add(t.Context(), queued(n, noon())))
	}
	for prefix, want := range map[string]int{"abcdef": 0xabcdef01, "ABCDEF": 0xabcdef01, "abcdef01-0000": 0xabcdef01, "12345678": 0x12345678, runNumber(0x1234567f): 0x1234567f} {
		r, err := h.Runs.Load(t.Context(), prefix)
		require.NoError(t, err, prefix)
		assert.Equal(t, runNumber(want), r.ID)
	}
	_, err := h.Runs.Load(t.Context(), "123456")
	require.ErrorIs(t, err, ecosystem.ErrAmbiguous)
	assert.Contains(t, err.Error(), runNumber(0x12345678))
	for _, prefix := range []string{"", "abcde", "abcdef02", "zzzzzz", runNumber(7)} {
		_, err := h.Runs.Load(t.Context(), prefix)
		require.ErrorIs(t, err, ecosystem.ErrRunUnknown, prefix)
	}
}

func changesOne(t *testing.T, open opener) {
	u := newUser(t)
	h := open(t, u)
	require.NoError(t, h.Runs.Add(t.Context(), queued(1, noon())))
	r, err := h.Runs.Change(t.Context(), runNumber(1), func(r *ecosystem.Run) error { return r.Begin("me", noon()) })
	require.NoError(t, err)
	assert.Equal(t, ecosystem.RunRunning, r.Status)
	r, err = open(t, u).Runs.Change(t.Context(), runNumber(1), func(r *ecosystem.Run) error {
		r.Result = []byte(`{"pushed":1}`)
		return r.End(0, noon().Add(time.Second))
	})
	require.NoError(t, err)
	got, err := h.Runs.Load(t.Context(), runNumber(1))
	require.NoError(t, err)
	assert.Equal(t, r, got)
	assert.Equal(t, ecosystem.RunSuccess, got.Status)
	refusal := errors.New("no")
	_, err = h.Runs.Change(t.Context(), runNumber(1), func(r *ecosystem.Run) error { r.Action = "x"; return refusal })
	require.ErrorIs(t, err, refusal)
	got, err = h.Runs.Load(t.Context(), runNumber(1))
	require.NoError(t, err)
	assert.Equal(t, "push", got.Action)
	for _, unknown := range []string{runNumber(2), runNumber(1)[:8], "", "../x"} {
		_, err = h.Runs.Change(t.Context(), unknown, func(*ecosystem.Run) error { return nil })
		require.ErrorIs(t, err, ecosystem.ErrRunUnknown, unknown)
	}
}

func manyChangeOne(t *testing.T, open opener) {
	u := newUser(t)
	one, two := open(t, u), open(t, u)
	require.NoError(t, one.Runs.Add(t.Context(), queued(1, noon())))
	together(t, 16, func(i int) error {
		h := one
		if i%2 == 1 {
			h = two
		}
		for range 4 {
			if _, err := h.Runs.Change(t.Context(), runNumber(1), func(r *ecosystem.Run) error { r.Events++; return nil }); err != nil {
				return err
			}
			if _, err := h.Runs.List(t.Context(), ecosystem.RunFilter{}); err != nil {
				return err
			}
		}
		return nil
	})
	r, err := one.Runs.Load(t.Context(), runNumber(1))
	require.NoError(t, err)
	assert.EqualValues(t, 64, r.Events)
}

func oneBegins(t *testing.T, open opener) {
	u := newUser(t)
	require.NoError(t, open(t, u).Runs.Add(t.Context(), queued(1, noon())))
	var began atomic.Int32
	together(t, 16, func(i int) error {
		_, err := open(t, u).Runs.Change(t.Context(), runNumber(1), func(r *ecosystem.Run) error {
			if r.Status == ecosystem.RunRunning {
				return ecosystem.ErrMove
			}
			return r.Begin(fmt.Sprint(i), noon())
		})
		if err == nil {
			began.Add(1)
		} else if !errors.Is(err, ecosystem.ErrMove) {
			return err
		}
		return nil
	})
	assert.EqualValues(t, 1, began.Load())
}

func listsRuns(t *testing.T, open opener) {
	u := newUser(t)
	h := open(t, u)
	for n := range 5 {
		r := queued(n+1, noon().Add(time.Duration(n/2)*time.Minute))
		if n == 3 {
			r.Ecosystem, r.Action, r.Root, r.Status = "other", "sync", "/elsewhere", ecosystem.RunFailed
		}
		require.NoError(t, h.Runs.Add(t.Context(), r))
	}
	for _, c := range []struct {
		f    ecosystem.RunFilter
		want []int
	}{
		{ecosystem.RunFilter{}, []int{5, 4, 3, 2, 1}}, {ecosystem.RunFilter{Limit: 2}, []int{5, 4}}, {ecosystem.RunFilter{Ecosystem: "demo"}, []int{5, 3, 2, 1}}, {ecosystem.RunFilter{Action: "sync"}, []int{4}},
		{ecosystem.RunFilter{Root: "/elsewhere"}, []int{4}}, {ecosystem.RunFilter{Statuses: []ecosystem.RunStatus{ecosystem.RunQueued, ecosystem.RunRunning}, Limit: 3}, []int{5, 3, 2}}, {ecosystem.RunFilter{Ecosystem: "none"}, nil},
	} {
		list, err := h.Runs.List(t.Context(), c.f)
		require.NoError(t, err)
		var got []int
		for _, r := range list {
			var n int
			_, err := fmt.Sscanf(r.Short(), "%08x", &n)
			require.NoError(t, err)
			got = append(got, n)
		}
		assert.Equal(t, c.want, got, "%+v", c.f)
	}
	_, err := h.Runs.List(cancelled(t), ecosystem.RunFilter{})
	require.ErrorIs(t, err, cancelled(t).Err())
}

func purgesRuns(t *testing.T, open opener) {
	u := newUser(t)
	h := open(t, u)
	add := func(n int, status ecosystem.RunStatus, age time.Duration) {
		r := queued(n, noon().Add(-age))
		r.Status = status
		require.NoError(t, h.Runs.Add(t.Context(), r))
		require.NoError(t, h.Runs.Append(t.Context(), r.ID, ecosystem.RunEvent{Message: "x"}))
	}
	day := 24 * time.Hour
	for n := range ecosystem.MaxKeptRuns + 3 {
		add(n+1, ecosystem.RunSuccess, time.Duration(n)*time.Second)
	}
	add(1000, ecosystem.RunFailed, 31*day)
	add(1001, ecosystem.RunQueued, 31*day)
	add(1002, ecosystem.RunRunning, 90*day)
	add(1003, ecosystem.RunSuccess, -day) // of a clock that went backwards
	require.NoError(t, h.Runs.Purge(t.Context()))
	list, err := h.Runs.List(t.Context(), ecosystem.RunFilter{Limit: 10_000})
	require.NoError(t, err)
	assert.Len(t, list, ecosystem.MaxKeptRuns+2, "the newest, and those that have not ended")
	has := func(n int) bool {
		return slices.ContainsFunc(list, func(r ecosystem.Run) bool { return r.ID == runNumber(n) })
	}
	assert.True(t, has(1) && has(ecosystem.MaxKeptRuns-1) && has(1001) && has(1002) && has(1003))
	assert.False(t, has(ecosystem.MaxKeptRuns) || has(1000))
	chunk, err := h.Runs.Events(t.Context(), runNumber(1000), 0)
	require.NoError(t, err)
	assert.Empty(t, chunk.Events, "the log goes with the run")
}

func masksErrors(t *testing.T, open opener) {
	u := newUser(t)
	h := open(t, u)
	r := queued(1, noon())
	r.Error, r.Result = "push to https://me:hunter2hunter2@host/o/r failed", []byte(`{"remote":"https://me:hunter2hunter2@host/o/r","pushed":1}`)
	require.NoError(t, h.Runs.Add(t.Context(), r))
	got, err := h.Runs.Load(t.Context(), r.ID)
	require.NoError(t, err)
	assert.NotContains(t, got.Error, "hunter2")
	assert.Contains(t, got.Error, "failed")
	assert.NotContains(t, string(got.Result), "hunter2")
	assert.Contains(t, string(got.Result), `"pushed":1`)
	assert.Equal(t, r.Payload, got.Payload, "what is to be done is kept as it is")
}

func namesNoOtherFile(t *testing.T, open opener) {
	u := newUser(t)
	h := open(t, u)
	beside := filepath.Join(u.Home, ".local/share/amof")
	require.NoError(t, os.MkdirAll(beside, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(beside, "secret.json"), []byte(`{"run_id":"../secret","status":"queued"}`), 0o600))
	for _, bad := range []string{"../secret", "../../etc/passwd", "/etc/passwd", "a\x00b", "..", ".", "a/b", "", "-rf", "a*"} {
		_, err := h.Runs.Load(t.Context(), bad)
		require.ErrorIs(t, err, ecosystem.ErrRunUnknown, bad)
		require.ErrorIs(t, h.Runs.Append(t.Context(), bad, ecosystem.RunEvent{Message: "x"}), ecosystem.ErrRunUnknown, bad)
		_, err = h.Runs.Events(t.Context(), bad, 0)
		require.ErrorIs(t, err, ecosystem.ErrRunUnknown, bad)
		r := queued(1, noon())
		r.ID = bad
		require.ErrorIs(t, h.Runs.Add(t.Context(), r), ecosystem.ErrRunUnknown, bad)
	}
}

func runsElsewhere(t *testing.T, open opener) {
	u := newUser(t)
	u.Env = map[string]string{"AMOF_RUNS_DIR": filepath.Join(u.Home, "my runs")}
	require.NoError(t, open(t, u).Runs.Add(t.Context(), queued(1, noon())))
	assert.FileExists(t, filepath.Join(u.Home, "my runs", runNumber(1)+".json"))
	u.Env = map[string]string{"AMOF_HOME": filepath.Join(u.Home, "amof")}
	require.NoError(t, open(t, u).Runs.Add(t.Context(), queued(1, noon())))
	assert.FileExists(t, filepath.Join(u.Home, "amof", "share", "runs", runNumber(1)+".json"))
}
