package toolrun_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/toolrun"
)

var at = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// arrows is the whole state machine (packageflow-security contract §5.2), written by hand. StatusNone is where a record begins.
var arrows = map[toolrun.Status][]toolrun.Status{
	toolrun.StatusNone:          {toolrun.PendingConfirmation, toolrun.Executing, toolrun.Failed, toolrun.Denied},
	toolrun.PendingConfirmation: {toolrun.Executing, toolrun.Denied},
	toolrun.Executing:           {toolrun.Completed, toolrun.Failed},
}

// TestEveryMove walks every pair of states, values nobody defined included.
func TestEveryMove(t *testing.T) {
	for from := range toolrun.Status(9) {
		for to := range toolrun.Status(9) {
			assert.Equal(t, slices.Contains(arrows[from], to), from.Reaches(to), "%d to %d", from, to)
		}
		assert.Equal(t, len(arrows[from]) == 0, from.Final() || from > toolrun.Denied, "%d", from)
	}
}

// TestEveryEventInEveryState: an event moves a record along its arrow, or leaves it exactly as it was.
func TestEveryEventInEveryState(t *testing.T) {
	events := map[string]struct {
		to toolrun.Status
		do func(*toolrun.Record) error
	}{
		"start":    {toolrun.Executing, func(r *toolrun.Record) error { return r.Start("call_2", "token", "me", at) }},
		"complete": {toolrun.Completed, func(r *toolrun.Record) error { return r.Finish(toolrun.Result{Success: true}, "ignored", at) }},
		"fail":     {toolrun.Failed, func(r *toolrun.Record) error { return r.Finish(toolrun.Result{}, toolrun.TimedOut, at) }},
		"deny":     {toolrun.Denied, func(r *toolrun.Record) error { return r.Deny(toolrun.UserDenied, at) }},
	}
	for _, from := range append(toolrun.Statuses(), toolrun.StatusNone, 99) {
		for name, e := range events {
			r := toolrun.Record{CallID: "call_1", Status: from}
			before := r
			err := e.do(&r)
			if slices.Contains(arrows[from], e.to) && from != toolrun.StatusNone {
				require.NoError(t, err, "%s %s", from, name)
				assert.Equal(t, e.to, r.Status)
				continue
			}
			if from == toolrun.StatusNone {
				continue // Begins decides how a record begins
			}
			require.ErrorIs(t, err, toolrun.ErrMove, "%s %s", from, name)
			assert.Equal(t, before, r)
		}
	}
}

func TestBegins(t *testing.T) {
	for status := range toolrun.Status(9) {
		err := (&toolrun.Record{CallID: "call_1", Status: status}).Begins()
		assert.Equal(t, slices.Contains(arrows[toolrun.StatusNone], status), err == nil, "%s", status)
	}
	require.ErrorIs(t, (&toolrun.Record{Status: toolrun.Executing}).Begins(), toolrun.ErrMove)
}

func TestSuccessHasNoReasonAndTimeIsThatOfTheRun(t *testing.T) {
	r := toolrun.Record{CallID: "call_1", Status: toolrun.PendingConfirmation, At: at}
	require.NoError(t, r.Start("call_2", "terminal", "me", at.Add(4*time.Minute)))
	assert.Equal(t, "terminal", r.Decision)
	require.NoError(t, r.Finish(toolrun.Result{Success: true, Output: "ok"}, toolrun.Errored, at.Add(4*time.Minute+1500*time.Millisecond)))
	assert.Equal(t, toolrun.Completed, r.Status)
	assert.Empty(t, r.Reason)
	assert.EqualValues(t, 1500, r.Result.DurationMS, "without the time a person took")
	back := toolrun.Record{Status: toolrun.Executing, StartedAt: at}
	require.NoError(t, back.Finish(toolrun.Result{}, toolrun.Errored, at.Add(-time.Hour)))
	assert.Zero(t, back.Result.DurationMS, "a clock that was set back")
}

func TestSettleEndsWhatOnlyLooksOpen(t *testing.T) {
	gone := func(owner string) bool { return owner != "alive" }
	for name, c := range map[string]struct {
		have   toolrun.Record
		now    time.Time
		status toolrun.Status
		reason toolrun.Reason
	}{
		"waiting":           {toolrun.Record{Status: toolrun.PendingConfirmation, ExpiresAt: at}, at.Add(-1), toolrun.PendingConfirmation, ""},
		"expired":           {toolrun.Record{Status: toolrun.PendingConfirmation, ExpiresAt: at}, at, toolrun.Denied, toolrun.Expired},
		"runs":              {toolrun.Record{Status: toolrun.Executing, Owner: "alive", ExpiresAt: at}, at.Add(time.Hour), toolrun.Executing, ""},
		"its owner is gone": {toolrun.Record{Status: toolrun.Executing, Owner: "dead", StartedAt: at}, at.Add(time.Hour), toolrun.Failed, toolrun.Interrupted},
		"it has none":       {toolrun.Record{Status: toolrun.Executing}, at, toolrun.Failed, toolrun.Interrupted},
		"completed":         {toolrun.Record{Status: toolrun.Completed, Owner: "dead", ExpiresAt: at}, at.Add(time.Hour), toolrun.Completed, ""},
		"denied":            {toolrun.Record{Status: toolrun.Denied, Reason: toolrun.Policy}, at, toolrun.Denied, toolrun.Policy},
	} {
		r := c.have
		assert.Equal(t, c.status != c.have.Status, r.Settle(c.now, gone), name)
		assert.Equal(t, c.status, r.Status, name)
		assert.Equal(t, c.reason, r.Reason, name)
		assert.False(t, r.Settle(c.now, gone), "%s: once is enough", name)
		if r.Reason == toolrun.Interrupted {
			assert.False(t, r.Result.Success)
			assert.Zero(t, r.Result.DurationMS, "nobody knows when it ended")
		}
	}
}

func TestCutEndsAtARune(t *testing.T) {
	assert.Equal(t, "short", toolrun.Cut("short"))
	whole := strings.Repeat("x", toolrun.MaxOutput)
	assert.Equal(t, whole, toolrun.Cut(whole), "what just fits stays whole")
	for _, s := range []string{whole + "y", strings.Repeat("é", toolrun.MaxOutput), "a" + strings.Repeat("語", toolrun.MaxOutput)} {
		cut := toolrun.Cut(s)
		assert.LessOrEqual(t, len(cut), toolrun.MaxOutput)
		assert.Greater(t, len(cut), toolrun.MaxOutput-4)
		assert.True(t, utf8.ValidString(cut))
		assert.True(t, strings.HasSuffix(cut, "\n[cut: the result is longer]"))
	}
	assert.True(t, utf8.ValidString(toolrun.Cut("\xff"+whole)), "also of what is no text")
}

// TestJSONIsTheSeeds: the fields of ToolExecutionState come first, under their names (seed 001).
func TestJSONIsTheSeeds(t *testing.T) {
	r := toolrun.Record{
		CallID: "call_1", Tool: "run_script", Status: toolrun.Failed, Args: json.RawMessage(`{"script":"build"}`), At: at, Reason: toolrun.TimedOut,
		Result: &toolrun.Result{Output: "half", Error: "too slow", Code: "timeout", DurationMS: 12}, Risk: policy.RiskMedium, Decision: "token",
		StartedAt: at, EndedAt: at, ExpiresAt: at, ConfirmationID: "cf_1", Redeemed: "call_2", Toolset: "projects", Session: "s", Principal: "me",
		Client: "demo/1.0", Owner: "42 7 boot", What: "run build",
	}
	doc, err := json.Marshal(r)
	require.NoError(t, err)
	const stamp = `"2026-03-04T05:06:07Z"`
	assert.JSONEq(t, `{"callId":"call_1","toolName":"run_script","status":"failed","arguments":{"script":"build"},
		"result":{"success":false,"output":"half","error":"too slow","code":"timeout","durationMs":12},"timestamp":`+stamp+`,
		"reason":"timeout","risk":"medium","decisionSource":"token","what":"run build","startedAt":`+stamp+`,"endedAt":`+stamp+`,"expiresAt":`+stamp+`,
		"confirmationId":"cf_1","redeemedBy":"call_2","toolset":"projects","session":"s","principal":"me","client":"demo/1.0","owner":"42 7 boot"}`, string(doc))
	var back toolrun.Record
	require.NoError(t, json.Unmarshal(doc, &back))
	assert.Equal(t, r, back)

	doc, err = json.Marshal(toolrun.Record{CallID: "call_1", Tool: "t", Status: toolrun.PendingConfirmation, At: at}.Copy())
	require.NoError(t, err)
	assert.JSONEq(t, `{"callId":"call_1","toolName":"t","status":"pending_confirmation","arguments":{},"timestamp":`+stamp+`,"risk":"none"}`, string(doc))
}

func TestStatusWords(t *testing.T) {
	for i, word := range []string{"pending_confirmation", "executing", "completed", "failed", "denied"} {
		s := toolrun.Statuses()[i]
		assert.Equal(t, word, s.String())
		var back toolrun.Status
		require.NoError(t, back.UnmarshalText([]byte(word)))
		assert.Equal(t, s, back)
	}
	s := toolrun.Executing
	err := s.UnmarshalText([]byte("Executing"))
	require.ErrorIs(t, err, toolrun.ErrStatus)
	assert.ErrorContains(t, err, "pending_confirmation, executing, completed, failed, denied")
	assert.Equal(t, toolrun.Executing, s)
	assert.Equal(t, "invalid", toolrun.Status(99).String())
}

func TestWhy(t *testing.T) {
	for kind, want := range map[fault.Kind]toolrun.Reason{
		fault.Timeout: toolrun.TimedOut, fault.Canceled: toolrun.Stopped, fault.Internal: toolrun.Errored, fault.State: toolrun.Errored,
	} {
		assert.Equal(t, want, toolrun.Why(kind), kind)
	}
}
