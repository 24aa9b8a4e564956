package tool_test

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
	"github.com/countersign-dev/countersign/domain/tool"
)

var at = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// arrows is the whole state machine (packageflow-security contract §5.2), written by hand. StatusNone is where a record begins.
var arrows = map[tool.Status][]tool.Status{
	tool.StatusNone:                {tool.StatusPendingConfirmation, tool.StatusExecuting, tool.StatusFailed, tool.StatusDenied},
	tool.StatusPendingConfirmation: {tool.StatusExecuting, tool.StatusDenied},
	tool.StatusExecuting:           {tool.StatusCompleted, tool.StatusFailed},
}

// TestEveryMove walks every pair of states, values nobody defined included.
func TestEveryMove(t *testing.T) {
	for from := range tool.Status(9) {
		for to := range tool.Status(9) {
			assert.Equal(t, slices.Contains(arrows[from], to), from.Reaches(to), "%d to %d", from, to)
		}
		assert.Equal(t, len(arrows[from]) == 0, from.Final() || from > tool.StatusDenied, "%d", from)
	}
}

// TestEveryEventInEveryState: an event moves a record along its arrow, or leaves it exactly as it was.
func TestEveryEventInEveryState(t *testing.T) {
	events := map[string]struct {
		to tool.Status
		do func(*tool.Record) error
	}{
		"start":    {tool.StatusExecuting, func(r *tool.Record) error { return r.Start("call_2", "token", "me", at) }},
		"complete": {tool.StatusCompleted, func(r *tool.Record) error { return r.Finish(tool.Result{Success: true}, "ignored", at) }},
		"fail":     {tool.StatusFailed, func(r *tool.Record) error { return r.Finish(tool.Result{}, tool.ReasonTimedOut, at) }},
		"deny":     {tool.StatusDenied, func(r *tool.Record) error { return r.Deny(tool.ReasonUserDenied, at) }},
	}
	for _, from := range append(tool.Statuses(), tool.StatusNone, 99) {
		for name, e := range events {
			r := tool.Record{CallID: "call_1", Status: from}
			before := r
			err := e.do(&r)
			if slices.Contains(arrows[from], e.to) && from != tool.StatusNone {
				require.NoError(t, err, "%s %s", from, name)
				assert.Equal(t, e.to, r.Status)
				continue
			}
			if from == tool.StatusNone {
				continue // Begins decides how a record begins
			}
			require.ErrorIs(t, err, tool.ErrMove, "%s %s", from, name)
			assert.Equal(t, before, r)
		}
	}
}

func TestBegins(t *testing.T) {
	for status := range tool.Status(9) {
		err := (&tool.Record{CallID: "call_1", Status: status}).Begins()
		assert.Equal(t, slices.Contains(arrows[tool.StatusNone], status), err == nil, "%s", status)
	}
	require.ErrorIs(t, (&tool.Record{Status: tool.StatusExecuting}).Begins(), tool.ErrMove)
}

func TestSuccessHasNoReasonAndTimeIsThatOfTheRun(t *testing.T) {
	r := tool.Record{CallID: "call_1", Status: tool.StatusPendingConfirmation, At: at}
	require.NoError(t, r.Start("call_2", "terminal", "me", at.Add(4*time.Minute)))
	assert.Equal(t, "terminal", r.Decision)
	require.NoError(t, r.Finish(tool.Result{Success: true, Output: "ok"}, tool.ReasonErrored, at.Add(4*time.Minute+1500*time.Millisecond)))
	assert.Equal(t, tool.StatusCompleted, r.Status)
	assert.Empty(t, r.Reason)
	assert.EqualValues(t, 1500, r.Result.DurationMS, "without the time a person took")
	back := tool.Record{Status: tool.StatusExecuting, StartedAt: at}
	require.NoError(t, back.Finish(tool.Result{}, tool.ReasonErrored, at.Add(-time.Hour)))
	assert.Zero(t, back.Result.DurationMS, "a clock that was set back")
}

func TestSettleEndsWhatOnlyLooksOpen(t *testing.T) {
	gone := func(owner string) bool { return owner != "alive" }
	for name, c := range map[string]struct {
		have   tool.Record
		now    time.Time
		status tool.Status
		reason tool.Reason
	}{
		"waiting":           {tool.Record{Status: tool.StatusPendingConfirmation, ExpiresAt: at}, at.Add(-1), tool.StatusPendingConfirmation, ""},
		"expired":           {tool.Record{Status: tool.StatusPendingConfirmation, ExpiresAt: at}, at, tool.StatusDenied, tool.ReasonExpired},
		"runs":              {tool.Record{Status: tool.StatusExecuting, Owner: "alive", ExpiresAt: at}, at.Add(time.Hour), tool.StatusExecuting, ""},
		"its owner is gone": {tool.Record{Status: tool.StatusExecuting, Owner: "dead", StartedAt: at}, at.Add(time.Hour), tool.StatusFailed, tool.ReasonInterrupted},
		"it has none":       {tool.Record{Status: tool.StatusExecuting}, at, tool.StatusFailed, tool.ReasonInterrupted},
		"completed":         {tool.Record{Status: tool.StatusCompleted, Owner: "dead", ExpiresAt: at}, at.Add(time.Hour), tool.StatusCompleted, ""},
		"denied":            {tool.Record{Status: tool.StatusDenied, Reason: tool.ReasonPolicy}, at, tool.StatusDenied, tool.ReasonPolicy},
	} {
		r := c.have
		assert.Equal(t, c.status != c.have.Status, r.Settle(c.now, gone), name)
		assert.Equal(t, c.status, r.Status, name)
		assert.Equal(t, c.reason, r.Reason, name)
		assert.False(t, r.Settle(c.now, gone), "%s: once is enough", name)
		if r.Reason == tool.ReasonInterrupted {
			assert.False(t, r.Result.Success)
			assert.Zero(t, r.Result.DurationMS, "nobody knows when it ended")
		}
	}
}

func TestCutEndsAtARune(t *testing.T) {
	assert.Equal(t, "short", tool.TruncateOutput("short"))
	whole := strings.Repeat("x", tool.MaxOutput)
	assert.Equal(t, whole, tool.TruncateOutput(whole), "what just fits stays whole")
	for _, s := range []string{whole + "y", strings.Repeat("é", tool.MaxOutput), "a" + strings.Repeat("語", tool.MaxOutput)} {
		cut := tool.TruncateOutput(s)
		assert.LessOrEqual(t, len(cut), tool.MaxOutput)
		assert.Greater(t, len(cut), tool.MaxOutput-4)
		assert.True(t, utf8.ValidString(cut))
		assert.True(t, strings.HasSuffix(cut, "\n[cut: the result is longer]"))
	}
	assert.True(t, utf8.ValidString(tool.TruncateOutput("\xff"+whole)), "also of what is no text")
}

// TestJSONIsTheSeeds: the fields of ToolExecutionState come first, under their names (packageflow contract).
func TestJSONIsTheSeeds(t *testing.T) {
	r := tool.Record{
		CallID: "call_1", Tool: "run_script", Status: tool.StatusFailed, Args: json.RawMessage(`{"script":"build"}`), At: at, Reason: tool.ReasonTimedOut,
		Result: &tool.Result{Output: "half", Error: "too slow", Code: "timeout", DurationMS: 12}, Risk: policy.RiskMedium, Decision: "token",
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
	var back tool.Record
	require.NoError(t, json.Unmarshal(doc, &back))
	assert.Equal(t, r, back)

	doc, err = json.Marshal(tool.Record{CallID: "call_1", Tool: "t", Status: tool.StatusPendingConfirmation, At: at}.Copy())
	require.NoError(t, err)
	assert.JSONEq(t, `{"callId":"call_1","toolName":"t","status":"pending_confirmation","arguments":{},"timestamp":`+stamp+`,"risk":"none"}`, string(doc))
}

func TestStatusWords(t *testing.T) {
	for i, word := range []string{"pending_confirmation", "executing", "completed", "failed", "denied"} {
		s := tool.Statuses()[i]
		assert.Equal(t, word, s.String())
		var back tool.Status
		require.NoError(t, back.UnmarshalText([]byte(word)))
		assert.Equal(t, s, back)
	}
	s := tool.StatusExecuting
	err := s.UnmarshalText([]byte("Executing"))
	require.ErrorIs(t, err, tool.ErrStatus)
	assert.ErrorContains(t, err, "pending_confirmation, executing, completed, failed, denied")
	assert.Equal(t, tool.StatusExecuting, s)
	assert.Equal(t, "invalid", tool.Status(99).String())
}

func TestWhy(t *testing.T) {
	for kind, want := range map[fault.Kind]tool.Reason{
		fault.Timeout: tool.ReasonTimedOut, fault.Canceled: tool.ReasonStopped, fault.Internal: tool.ReasonErrored, fault.State: tool.ReasonErrored,
	} {
		assert.Equal(t, want, tool.ReasonOf(kind), kind)
	}
}
