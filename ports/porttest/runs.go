package porttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
)

// Run returns the nth record of a test, waiting for its confirmation, with every field set that such a record has. Records are asked for a
// second apart.
func Run(n int) tool.Record {
	at := issued.Add(time.Duration(n) * time.Second)
	return tool.Record{
		CallID: fmt.Sprintf("call_%08d", n), Tool: "run_script", Status: tool.StatusPendingConfirmation, Args: json.RawMessage(`{"script":"<build> & überall","n":1.50}`),
		At: at, Decision: "strength", Risk: policy.RiskMedium, What: "run build", ExpiresAt: at.Add(5 * time.Minute),
		ConfirmationID: fmt.Sprintf("cf_%08d", n), Toolset: "projects", Session: "s-1", Principal: "me", Client: "demo/1.0",
	}
}

// Runs runs the contract of ports.Runs.
func Runs(t *testing.T, open func(testing.TB) ports.Runs) {
	for name, test := range map[string]func(*testing.T, ports.Runs){
		"EmptyKnowsNothing":         runsEmpty,
		"KeepsEveryField":           runsKeep,
		"RefusesDoublesAndOddStart": runsRefuse,
		"GoesByThreeIDs":            runsIDs,
		"MovesOnlyForward":          runsMove,
		"FailureStoresNothing":      runsFailure,
		"OneWinner":                 runsContention,
		"NewestFirstWithinLimits":   runsOrder,
		"Filters":                   runsFilter,
		"PurgeForgetsWhatHasEnded":  runsPurge,
		"CopiesNotAliases":          runsCopies,
		"EndedContextDoesNothing":   runsContext,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

func runsEmpty(t *testing.T, s ports.Runs) {
	for _, id := range []string{"call_1", ""} {
		_, err := s.Load(t.Context(), id)
		require.ErrorIs(t, err, tool.ErrRecordUnknown)
		err = s.Change(t.Context(), id, func(*tool.Record) error { t.Error("there is nothing to change"); return nil })
		require.ErrorIs(t, err, tool.ErrRecordUnknown)
	}
	found, err := s.List(t.Context(), ports.RunFilter{})
	require.NoError(t, err)
	assert.Empty(t, found)
	n, err := s.Purge(t.Context(), 0, issued)
	require.NoError(t, err)
	assert.Zero(t, n)
}

func runsKeep(t *testing.T, s ports.Runs) {
	want := Run(1)
	require.NoError(t, s.Add(t.Context(), want))
	assert.Equal(t, want, loadRun(t, s, want.CallID))
	require.NoError(t, s.Change(t.Context(), want.CallID, func(r *tool.Record) error {
		return r.Start("call_redeemed", "token", "42 7 boot", issued.Add(time.Minute))
	}))
	result := tool.Result{Output: "<half> & \u2028done", Error: "it ended with 3", Code: "execution_failed"}
	require.NoError(t, s.Change(t.Context(), want.CallID, func(r *tool.Record) error {
		return r.Finish(result, tool.ReasonNonZeroExit, issued.Add(time.Minute+1234567*time.Microsecond))
	}))
	want.Status, want.Redeemed, want.Decision, want.Owner, want.Reason = tool.StatusFailed, "call_redeemed", "token", "42 7 boot", tool.ReasonNonZeroExit
	want.StartedAt, want.EndedAt = issued.Add(time.Minute), issued.Add(time.Minute+1234567*time.Microsecond)
	result.DurationMS = 1234
	want.Result = &result
	assert.Equal(t, want, loadRun(t, s, want.CallID))

	bare := tool.Record{CallID: "call_bare", Status: tool.StatusDenied, At: issued.In(time.FixedZone("far", -7*3600)), Reason: tool.ReasonPolicy}
	require.NoError(t, s.Add(t.Context(), bare))
	bare.At, bare.Args = issued, json.RawMessage("{}")
	assert.Equal(t, bare, loadRun(t, s, bare.CallID), "arguments that are missing are an empty object")
}

func loadRun(t *testing.T, s ports.Runs, id string) tool.Record {
	t.Helper()
	r, err := s.Load(t.Context(), id)
	require.NoError(t, err)
	return r
}

func runsRefuse(t *testing.T, s ports.Runs) {
	first := Run(1)
	require.NoError(t, s.Add(t.Context(), first))
	other := Run(2)
	other.CallID = first.CallID
	require.ErrorIs(t, s.Add(t.Context(), other), tool.ErrTaken)
	for _, status := range []tool.Status{tool.StatusNone, tool.StatusCompleted, 77} {
		odd := Run(3)
		odd.Status = status
		require.ErrorIs(t, s.Add(t.Context(), odd), tool.ErrMove)
	}
	nameless := Run(4)
	nameless.CallID = ""
	require.ErrorIs(t, s.Add(t.Context(), nameless), tool.ErrMove)
	assert.Equal(t, []string{first.CallID}, listRuns(t, s, ports.RunFilter{}))
	assert.Equal(t, first, loadRun(t, s, first.CallID))
}

func listRuns(t *testing.T, s ports.Runs, f ports.RunFilter) []string {
	t.Helper()
	found, err := s.List(t.Context(), f)
	require.NoError(t, err)
	var ids []string
	for _, r := range found {
		ids = append(ids, r.CallID)
	}
	return ids
}

func runsIDs(t *testing.T, s ports.Runs) {
	one, other := Run(1), Run(2)
	one.Redeemed = "call_again"
	require.NoError(t, s.Add(t.Context(), one))
	require.NoError(t, s.Add(t.Context(), other))
	bare := Run(3)
	bare.ConfirmationID = "" // an empty ID matches no record
	require.NoError(t, s.Add(t.Context(), bare))
	for _, id := range []string{one.CallID, "call_again", one.ConfirmationID} {
		assert.Equal(t, one.CallID, loadRun(t, s, id).CallID)
		require.NoError(t, s.Change(t.Context(), id, func(r *tool.Record) error { r.What += "."; return nil }))
	}
	assert.Equal(t, one.What+"...", loadRun(t, s, one.CallID).What)
	assert.Equal(t, other, loadRun(t, s, other.ConfirmationID))
	_, err := s.Load(t.Context(), "")
	require.ErrorIs(t, err, tool.ErrRecordUnknown)
	require.NoError(t, s.Change(t.Context(), other.CallID, func(r *tool.Record) error { r.CallID = "call_else"; return nil }))
	assert.Equal(t, other, loadRun(t, s, other.CallID), "a record keeps its identity")
}

func runsMove(t *testing.T, s ports.Runs) {
	for n, path := range [][]tool.Status{
		{tool.StatusPendingConfirmation, tool.StatusExecuting, tool.StatusCompleted},
		{tool.StatusPendingConfirmation, tool.StatusExecuting, tool.StatusFailed},
		{tool.StatusPendingConfirmation, tool.StatusDenied},
		{tool.StatusExecuting, tool.StatusCompleted},
		{tool.StatusFailed}, {tool.StatusDenied},
	} {
		r := Run(n)
		r.Status = path[0]
		require.NoError(t, s.Add(t.Context(), r))
		to := func(status tool.Status) error {
			return s.Change(t.Context(), r.CallID, func(r *tool.Record) error { r.Status = status; return nil })
		}
		for i, at := range path {
			if i > 0 {
				require.NoError(t, to(at))
			}
			for _, next := range tool.Statuses() {
				if !at.Reaches(next) && next != at {
					require.ErrorIs(t, to(next), tool.ErrMove, "%s to %s", at, next)
				}
			}
			assert.Equal(t, at, loadRun(t, s, r.CallID).Status)
		}
		last := loadRun(t, s, r.CallID)
		if last.Status.Final() {
			require.ErrorIs(t, s.Change(t.Context(), r.CallID, func(r *tool.Record) error { r.What = "rewritten"; return nil }), tool.ErrMove)
			assert.Equal(t, last, loadRun(t, s, r.CallID), "what has ended stays as it is")
		}
	}
}

func runsFailure(t *testing.T, s ports.Runs) {
	r := Run(1)
	require.NoError(t, s.Add(t.Context(), r))
	said := errors.New("no")
	require.ErrorIs(t, s.Change(t.Context(), r.CallID, func(r *tool.Record) error { r.Status, r.What = tool.StatusDenied, "x"; return said }), said)
	assert.Panics(t, func() {
		s.Change(t.Context(), r.CallID, func(r *tool.Record) error { r.What = "x"; panic("half way") }) //nolint:errcheck // it panics
	})
	assert.Equal(t, r, loadRun(t, s, r.CallID))
}

func runsContention(t *testing.T, s ports.Runs) {
	r := Run(1)
	require.NoError(t, s.Add(t.Context(), r))
	var won, late atomic.Int64
	var wg sync.WaitGroup
	for n := range 16 {
		wg.Go(func() {
			err := s.Change(context.Background(), r.ConfirmationID, func(r *tool.Record) error {
				if n%2 == 0 {
					return r.Deny(tool.ReasonUserDenied, issued)
				}
				return r.Start(fmt.Sprint(n), "token", "me", issued)
			})
			switch {
			case err == nil:
				won.Add(1)
			case errors.Is(err, tool.ErrMove):
				late.Add(1)
			}
		})
	}
	wg.Wait()
	assert.EqualValues(t, 1, won.Load())
	assert.EqualValues(t, 15, late.Load())
}

func runsOrder(t *testing.T, s ports.Runs) {
	const many = ports.RunsAtMost + 10
	var want []string
	for n := range many {
		r := Run(n / 2) // two of each moment: the one added later is the newer
		r.CallID = fmt.Sprintf("call_%03d", n)
		require.NoError(t, s.Add(t.Context(), r))
		want = append([]string{r.CallID}, want...)
	}
	old := Run(0)
	old.CallID, old.At = "call_old", issued.Add(-time.Hour)
	require.NoError(t, s.Add(t.Context(), old), "what is added last may be the oldest")
	for limit, n := range map[int]int{-1: ports.RunsListed, 0: ports.RunsListed, 1: 1, 7: 7, ports.RunsAtMost: ports.RunsAtMost, ports.RunsAtMost + 1: ports.RunsAtMost} {
		assert.Equal(t, want[:n], listRuns(t, s, ports.RunFilter{Limit: limit}), "limit %d", limit)
	}
	assert.Equal(t, []string{"call_old"}, listRuns(t, s, ports.RunFilter{Before: issued, Limit: 5}))
}

func runsFilter(t *testing.T, s ports.Runs) {
	one, other := Run(1), Run(2)
	other.Tool, other.Session, other.Status, other.Reason = "trigger_webhook", "s-2", tool.StatusDenied, tool.ReasonPolicy
	require.NoError(t, s.Add(t.Context(), one))
	require.NoError(t, s.Add(t.Context(), other))
	for _, c := range []struct {
		filter ports.RunFilter
		want   []string
	}{
		{ports.RunFilter{}, []string{other.CallID, one.CallID}},
		{ports.RunFilter{Status: tool.StatusDenied}, []string{other.CallID}},
		{ports.RunFilter{Status: tool.StatusExecuting}, nil},
		{ports.RunFilter{Tool: "run_script"}, []string{one.CallID}},
		{ports.RunFilter{Tool: "run_scrip"}, nil},
		{ports.RunFilter{Session: "s-2"}, []string{other.CallID}},
		{ports.RunFilter{Session: "s-2", Tool: "run_script"}, nil},
		{ports.RunFilter{Before: other.At}, []string{one.CallID}},
		{ports.RunFilter{Before: one.At}, nil},
	} {
		assert.Equal(t, c.want, listRuns(t, s, c.filter), "%+v", c.filter)
	}
	require.NoError(t, s.Change(t.Context(), one.CallID, tool.Denial(tool.ReasonUserDenied, issued)))
	assert.Equal(t, []string{other.CallID, one.CallID}, listRuns(t, s, ports.RunFilter{Status: tool.StatusDenied}))
}

func runsPurge(t *testing.T, s ports.Runs) {
	for n := range 10 {
		r := Run(n)
		if n%2 == 0 {
			r.Status, r.Reason = tool.StatusDenied, tool.ReasonPolicy
		}
		require.NoError(t, s.Add(t.Context(), r))
	}
	n, err := s.Purge(t.Context(), 100, issued.Add(2*time.Second))
	require.NoError(t, err)
	assert.Equal(t, 1, n, "only what is older, and has ended: 0")
	n, err = s.Purge(t.Context(), 4, issued)
	require.NoError(t, err)
	assert.Equal(t, 2, n, "2 and 4 have ended and are not among the newest four")
	n, err = s.Purge(t.Context(), 0, issued)
	require.NoError(t, err)
	assert.Equal(t, 2, n)
	assert.Equal(t, []string{"call_00000009", "call_00000007", "call_00000005", "call_00000003", "call_00000001"}, listRuns(t, s, ports.RunFilter{}))
}

func runsCopies(t *testing.T, s ports.Runs) {
	r := Run(1)
	want := r.Copy()
	require.NoError(t, s.Add(t.Context(), r))
	r.Args[2] = 'X'
	got := loadRun(t, s, r.CallID)
	assert.Equal(t, want, got)
	got.Args[2] = 'X'
	found, err := s.List(t.Context(), ports.RunFilter{})
	require.NoError(t, err)
	assert.Equal(t, []tool.Record{want}, found)
	found[0].Args[2] = 'X'
	var kept *tool.Record
	require.NoError(t, s.Change(t.Context(), r.CallID, func(r *tool.Record) error { kept = r; return nil }))
	kept.Args[2] = 'X'
	assert.Equal(t, want, loadRun(t, s, r.CallID))
}

func runsContext(t *testing.T, s ports.Runs) {
	require.NoError(t, s.Add(t.Context(), Run(1)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.Add(ctx, Run(2)), context.Canceled)
	require.ErrorIs(t, s.Change(ctx, Run(1).CallID, func(r *tool.Record) error { r.What = "x"; return nil }), context.Canceled)
	_, err := s.Load(ctx, Run(1).CallID)
	require.ErrorIs(t, err, context.Canceled)
	_, err = s.List(ctx, ports.RunFilter{})
	require.ErrorIs(t, err, context.Canceled)
	_, err = s.Purge(ctx, 0, issued)
	require.ErrorIs(t, err, context.Canceled)
	found, err := s.List(t.Context(), ports.RunFilter{})
	require.NoError(t, err)
	assert.Equal(t, []tool.Record{Run(1)}, found)
}

// BenchmarkRuns is what one call that is recorded costs: its record added, and changed once.
func BenchmarkRuns(b *testing.B, open func(testing.TB) ports.Runs) {
	s := open(b)
	for n := 0; b.Loop(); n++ {
		r := Run(n)
		r.Status = tool.StatusExecuting
		require.NoError(b, s.Add(b.Context(), r))
		require.NoError(b, s.Change(b.Context(), r.CallID, func(r *tool.Record) error {
			return r.Finish(tool.Result{Success: true}, "", issued)
		}))
	}
}
