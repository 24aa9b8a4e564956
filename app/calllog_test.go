package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/owner"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
	"github.com/countersign-dev/countersign/internal/testkit/memstore"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/porttest"
)

// living is a machine on which the named processes run.
type living []string

func (l living) Self() string { return l[0] }
func (l living) Judge(name string) owner.Verdict {
	switch {
	case slices.Contains(l, name):
		return owner.Alive
	case strings.HasPrefix(name, "away"):
		return owner.Unknown
	}
	return owner.Dead
}
func (l living) Elsewhere(name string) string { return "" }

func openCalls(t *testing.T, owners ports.ProcessIdentity) (*app.Calls, *memstore.Runs, *clock.Fake, *strings.Builder) {
	t.Helper()
	now, store, log := &clock.Fake{}, memstore.New().Runs(), &strings.Builder{}
	now.Advance(porttest.Run(0).At.Sub(now.Now()))
	return app.NewCalls(store, owners, now, slog.New(slog.NewTextHandler(log, nil))), store, now, log
}

// TestOldRunsAreForgottenNowAndThen: by the first record of a process, and after many more.
func TestOldRunsAreForgottenNowAndThen(t *testing.T) {
	k, store, now, _ := openCalls(t, living{"me"})
	ended := func(n int) tool.Record {
		r := porttest.Run(n)
		r.Status, r.Reason, r.At = tool.StatusDenied, tool.ReasonPolicy, now.Now()
		return r
	}
	require.NoError(t, store.Add(t.Context(), ended(1)))
	now.Advance(tool.RecordRetention + time.Second)
	k.Note(t.Context(), ended(2))
	found, err := k.List(t.Context(), ports.RunFilter{})
	require.NoError(t, err)
	require.Len(t, found, 1, "the month is over")
	assert.Equal(t, now.Now(), found[0].EndedAt)
	for n := range tool.MaxKeptRecords + 70 {
		k.Note(t.Context(), ended(10+n))
	}
	left, err := store.Purge(t.Context(), 0, now.Now())
	require.NoError(t, err)
	assert.LessOrEqual(t, left, tool.MaxKeptRecords+64)
}

func TestARunIsStartedOnce(t *testing.T) {
	k, store, now, _ := openCalls(t, living{"me"})
	waiting := porttest.Run(1)
	require.NoError(t, store.Add(t.Context(), waiting))
	again := waiting
	again.CallID = "call_again"
	require.NoError(t, k.Start(t.Context(), again))
	require.ErrorIs(t, k.Start(t.Context(), again), tool.ErrMove, "its confirmation is spent")
	fresh := porttest.Run(2)
	require.NoError(t, k.Start(t.Context(), fresh), "of a confirmation without a record there is a new one")
	fresh.ConfirmationID = ""
	require.ErrorIs(t, k.Start(t.Context(), fresh), tool.ErrTaken)
	now.Advance(3 * time.Second)
	require.NoError(t, k.Finish(t.Context(), "call_again", tool.Result{Success: true}, ""))
	r, err := k.Load(t.Context(), waiting.ConfirmationID)
	require.NoError(t, err)
	assert.Equal(t, tool.StatusCompleted, r.Status)
	assert.EqualValues(t, 3000, r.Result.DurationMS)
	require.ErrorIs(t, k.Finish(t.Context(), "call_again", tool.Result{}, ""), tool.ErrMove)
}

// TestLookingSettlesWhatOnlyLooksOpen, and leaves alone what another living process carries out, and what a process does that cannot be seen from here.
func TestLookingSettlesWhatOnlyLooksOpen(t *testing.T) {
	k, store, now, log := openCalls(t, living{"me", "other"})
	for n, owner := range []string{"me", "other", "gone", "away: another container"} {
		r := porttest.Run(n)
		r.Status, r.Owner = tool.StatusExecuting, owner
		require.NoError(t, store.Add(t.Context(), r))
	}
	require.NoError(t, store.Add(t.Context(), porttest.Run(4)))
	now.Advance(5*time.Minute + 4*time.Second)
	said := func(list func(context.Context, ports.RunFilter) ([]tool.Record, error)) string {
		found, err := list(t.Context(), ports.RunFilter{})
		require.NoError(t, err)
		var words []string
		for _, r := range found {
			words = append(words, fmt.Sprintf("%s/%s", r.Status, r.Reason))
		}
		return strings.Join(words, " ")
	}
	const want = "denied/expired executing/ failed/interrupted executing/ executing/"
	assert.Equal(t, want, said(k.List))
	assert.Equal(t, want, said(store.List), "and it is stored")
	open, err := k.List(t.Context(), ports.RunFilter{Status: tool.StatusPendingConfirmation})
	require.NoError(t, err)
	assert.Empty(t, open)
	assert.Empty(t, log.String())
}

// sealed are runs that can only be read.
type sealed struct{ ports.Runs }

var errSealed = fault.New(fault.Unavailable, "test_sealed", "sealed")

func (sealed) Add(context.Context, tool.Record) error                         { return errSealed }
func (sealed) Change(context.Context, string, func(*tool.Record) error) error { return errSealed }
func (sealed) Purge(context.Context, int, time.Time) (int, error)             { return 0, errSealed }

// TestWhatCannotBeStoredIsStillShownAsItIs: on a disk that cannot be written.
func TestWhatCannotBeStoredIsStillShownAsItIs(t *testing.T) {
	_, store, now, log := openCalls(t, living{"me"})
	k := app.NewCalls(sealed{store}, living{"me"}, now, slog.New(slog.NewTextHandler(log, nil)))
	require.NoError(t, store.Add(t.Context(), porttest.Run(0)))
	now.Advance(time.Hour)
	for status, want := range map[tool.Status]int{tool.StatusNone: 1, tool.StatusPendingConfirmation: 0} {
		found, err := k.List(t.Context(), ports.RunFilter{Status: status})
		require.NoError(t, err)
		require.Len(t, found, want, "%s", status)
	}
	r, err := k.Load(t.Context(), porttest.Run(0).CallID)
	require.NoError(t, err)
	assert.Equal(t, tool.ReasonExpired, r.Reason)
	assert.Contains(t, log.String(), "open call records could not be closed")
	k.Note(t.Context(), porttest.Run(1))
	k.Deny(t.Context(), "cf_00000000", tool.ReasonUserDenied, "terminal", "")
	assert.Contains(t, log.String(), "a call could not be recorded")
	assert.Contains(t, log.String(), "a denial could not be recorded")
	require.ErrorIs(t, k.Start(t.Context(), porttest.Run(1)), errSealed)
	require.ErrorIs(t, k.Finish(t.Context(), "call_00000000", tool.Result{}, ""), errSealed)
}

func TestADenialNeedsNoRecord(t *testing.T) {
	k, store, now, log := openCalls(t, living{"me"})
	k.Deny(t.Context(), "cf_nobody", tool.ReasonUserDenied, "terminal", "")
	require.NoError(t, store.Add(t.Context(), porttest.Run(1)))
	k.Deny(t.Context(), porttest.Run(1).ConfirmationID, tool.ReasonCancelled, "", "")
	k.Deny(t.Context(), porttest.Run(1).ConfirmationID, tool.ReasonUserDenied, "terminal", "")
	r, err := k.Load(t.Context(), porttest.Run(1).CallID)
	require.NoError(t, err)
	assert.Equal(t, tool.ReasonCancelled, r.Reason, "the first word counts")
	assert.Equal(t, now.Now(), r.EndedAt)
	assert.Empty(t, log.String())
}

// ended is a value that knows how it ended.
type ended struct{ why tool.Reason }

func (e ended) Failure() tool.Reason { return e.why }

func TestResults(t *testing.T) {
	long := strings.Repeat("é", tool.MaxOutput)
	f := fault.New(fault.State, "test_failed", "it failed").WithDetails(json.RawMessage(`{"output":"half"}`))
	for name, c := range map[string]struct {
		outcome tool.Outcome
		value   any
		result  tool.Result
		reason  tool.Reason
	}{
		"a value":         {tool.Outcome{Value: json.RawMessage(`{"a":1}`)}, 1, tool.Result{Success: true, Output: `{"a":1}`}, ""},
		"a text":          {tool.Outcome{Text: "done"}, tool.Text("done"), tool.Result{Success: true, Output: "done"}, ""},
		"nothing":         {tool.Outcome{}, nil, tool.Result{Success: true}, ""},
		"a good end":      {tool.Outcome{Text: "x"}, ended{}, tool.Result{Success: true, Output: "x"}, ""},
		"a bad end":       {tool.Outcome{Text: "x"}, ended{tool.ReasonNonZeroExit}, tool.Result{Output: "x"}, tool.ReasonNonZeroExit},
		"a fault":         {tool.Outcome{Err: f}, ended{tool.ReasonNonZeroExit}, tool.Result{Output: `{"output":"half"}`, Error: "it failed", Code: "test_failed"}, tool.ReasonErrored},
		"any other error": {tool.Outcome{Err: errors.New("x")}, nil, tool.Result{Error: fault.ErrInternal.Message, Code: "internal"}, tool.ReasonErrored},
		"a long one":      {tool.Outcome{Text: long}, nil, tool.Result{Success: true, Output: tool.TruncateOutput(long)}, ""},
	} {
		result, reason := app.CallResult(c.outcome, c.value)
		assert.Equal(t, c.result, result, name)
		assert.Equal(t, c.reason, reason, name)
	}
}
