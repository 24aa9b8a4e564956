package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/toolrun"
	"github.com/countersign-dev/countersign/internal/testkit/person"
	"github.com/countersign-dev/countersign/ports"
)

// allowed has one call of a session answered with "always", and is the id of that.
func (h *house) allowed(t *testing.T, session string, i int) string {
	t.Helper()
	require.Equal(t, "confirm_token_required", code(h.call("write_note", note(i), in(session))))
	views := h.waiting(t)
	id := views[len(views)-1].ID
	_, err := h.Answer(context.Background(), confirm.Answer{ID: id, Approve: true, Always: true, By: "terminal", Proof: person.AtTerminal})
	require.NoError(t, err)
	require.NoError(t, h.call("write_note", note(i), in(session)).Err)
	return id
}

// TestWhatIsAlwaysAllowedIsListedAndRevoked: from the next call on it is asked about again (packageflow contract §5.5).
func TestWhatIsAlwaysAllowedIsListedAndRevoked(t *testing.T) {
	h, ctx := open(t, human), context.Background()
	all, err := h.AlwaysAllowed(ctx)
	require.NoError(t, err)
	assert.Empty(t, all)
	first := h.allowed(t, "s1", 1)
	begun := h.clock.Now()
	h.clock.Advance(confirm.DefaultTTL)
	second := h.allowed(t, "s2", 2)
	require.NoError(t, h.call("write_note", note(3), in("s1")).Err)

	all, err = h.AlwaysAllowed(ctx)
	require.NoError(t, err)
	require.Len(t, all, 2)
	assert.Equal(t, confirm.Always{Allowance: confirm.Allowance{ID: first, Tool: "write_note", By: "terminal", At: begun}, Session: "s1", Principal: "me",
		ExpiresAt: begun.Add(confirm.AllowanceLasts)}, all[0])
	assert.Equal(t, second, all[1].ID)

	ended, err := h.RevokeAlways(ctx, first, "console key_1")
	require.NoError(t, err)
	assert.Equal(t, all[0], ended)
	assert.Equal(t, "confirm_token_required", code(h.call("write_note", note(3), in("s1"))))
	require.NoError(t, h.call("write_note", note(3), in("s2")).Err, "the other session has its own")
	for _, id := range []string{first, "", "cf_none", "\x00"} {
		_, err = h.RevokeAlways(ctx, id, "terminal")
		require.ErrorIs(t, err, confirm.ErrNoAllowance, id)
	}
	tail, err := h.AuditTail(ctx, 100)
	require.NoError(t, err)
	told := 0
	for _, r := range tail {
		if r.Event.Verdict == "revoke" {
			told++
			assert.Equal(t, []string{first, "console key_1", "s1", "write_note"}, []string{r.Event.CallID, r.Event.ApprovedBy, r.Event.Session, r.Event.Tool})
		}
	}
	assert.Equal(t, 1, told)

	require.NoError(t, h.EndSession(ctx, "me", "s2"))
	all, err = h.AlwaysAllowed(ctx)
	require.NoError(t, err)
	assert.Empty(t, all, "it ends with its session")
}

// TestWhatWasRevokedDoesNotComeBack: a row that somebody puts there again counts for nothing, although its answer is on record.
func TestWhatWasRevokedDoesNotComeBack(t *testing.T) {
	h, ctx := open(t, human), context.Background()
	id := h.allowed(t, "s1", 1)
	key := ports.SessionKey("me", "s1")
	had, err := h.store.Sessions().Load(ctx, key)
	require.NoError(t, err)
	_, err = h.RevokeAlways(ctx, id, "terminal")
	require.NoError(t, err)
	require.NoError(t, h.store.Sessions().Update(ctx, key, func(s *ports.Session) error { *s = had; return nil }))
	assert.Equal(t, "confirm_token_required", code(h.call("write_note", note(2), in("s1"))))
}

// TestAQuestionEndsWithItsAlways: the call that asked, made anew, is what its question came to, also where it need not ask any more.
func TestAQuestionEndsWithItsAlways(t *testing.T) {
	h, ctx := open(t, human), context.Background()
	id := h.allowed(t, "s1", 1)
	rec, err := h.RunRecord(ctx, id)
	require.NoError(t, err)
	assert.Equal(t, toolrun.Completed, rec.Status)
	assert.Equal(t, "session_grant", rec.Decision)
	assert.Empty(t, h.waiting(t))
	require.NoError(t, h.call("write_note", note(1), in("s1")).Err)
	runs, err := h.Runs(ctx, app.RunFilter{})
	require.NoError(t, err)
	require.Len(t, runs, 2)
	assert.Empty(t, runs[0].ConfirmationID, "the next one is another")
}

// TestAlwaysRunsOut after twelve hours, however long its session goes on.
func TestAlwaysRunsOut(t *testing.T) {
	h, ctx := open(t, human), context.Background()
	id := h.allowed(t, "s1", 1)
	h.clock.Advance(confirm.AllowanceLasts - 1)
	require.NoError(t, h.call("write_note", note(2), in("s1")).Err)
	h.clock.Advance(1)
	assert.Equal(t, "confirm_token_required", code(h.call("write_note", note(2), in("s1"))))
	all, err := h.AlwaysAllowed(ctx)
	require.NoError(t, err)
	assert.Empty(t, all)
	var shown struct {
		Always []string `json:"always_allowed"`
	}
	require.NoError(t, json.Unmarshal(h.call("get_policy", `{}`, in("s1")).Value, &shown))
	assert.Empty(t, shown.Always)
	_, err = h.RevokeAlways(ctx, id, "terminal")
	assert.True(t, errors.Is(err, confirm.ErrNoAllowance))
}

// TestOneOfManyRevokes: the others are told that there is nothing to revoke any more.
func TestOneOfManyRevokes(t *testing.T) {
	h, ctx := open(t, human), context.Background()
	id := h.allowed(t, "s1", 1)
	var done atomic.Int32
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			switch _, err := h.RevokeAlways(ctx, id, "terminal"); {
			case err == nil:
				done.Add(1)
			case !errors.Is(err, confirm.ErrNoAllowance):
				t.Error(err)
			}
		})
	}
	group.Wait()
	assert.EqualValues(t, 1, done.Load())
}
