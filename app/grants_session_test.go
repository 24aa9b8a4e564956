package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/person"
	"github.com/countersign-dev/countersign/ports"
)

// job returns the arguments of a script that does the same whenever it runs.
func job(i int) string { return fmt.Sprintf(`{"script":"job %d"}`, i) }

func opened(t *testing.T) (*fixture, context.Context) {
	h, _ := openWorkshop(t, human)
	return h, context.Background()
}

// allowed has one call of a session answered with "always", and is the id of that.
func (h *fixture) allowed(t *testing.T, session string, i int) string {
	t.Helper()
	require.Equal(t, "confirm_token_required", code(h.call("run_script", job(i), in(session))))
	views := h.waiting(t)
	id := views[len(views)-1].ID
	_, err := h.Answer(context.Background(), confirm.Decision{ID: id, Approve: true, Always: true, By: "terminal", Proof: person.AtTerminal})
	require.NoError(t, err)
	require.NoError(t, h.call("run_script", job(i), in(session)).Err)
	return id
}

// TestWhatIsAlwaysAllowedIsListedAndRevoked: from the next call on it is asked about again (packageflow contract §5.5).
func TestWhatIsAlwaysAllowedIsListedAndRevoked(t *testing.T) {
	h, ctx := opened(t)
	all, err := h.SessionGrants(ctx)
	require.NoError(t, err)
	assert.Empty(t, all)
	first := h.allowed(t, "s1", 1)
	begun := h.clock.Now()
	h.clock.Advance(confirm.DefaultTTL)
	second := h.allowed(t, "s2", 2)
	require.NoError(t, h.call("run_script", job(1), in("s1")).Err)

	all, err = h.SessionGrants(ctx)
	require.NoError(t, err)
	require.Len(t, all, 2)
	assert.Equal(t, confirm.ListedGrant{SessionGrant: confirm.SessionGrant{ID: first, Tool: "run_script", Scope: confirm.PlanScope("", scriptPlan{Script: "job 1"}.Hash()), By: "terminal", At: begun, What: "run job 1 (this plan only)"}, Session: "s1", Principal: "me",
		ExpiresAt: begun.Add(confirm.SessionGrantTTL)}, all[0])
	assert.Equal(t, second, all[1].ID)

	ended, err := h.RevokeSessionGrant(ctx, first, "console key_1")
	require.NoError(t, err)
	assert.Equal(t, all[0], ended)
	assert.Equal(t, "confirm_token_required", code(h.call("run_script", job(1), in("s1"))))
	require.NoError(t, h.call("run_script", job(2), in("s2")).Err, "the other session has its own")
	for _, id := range []string{first, "", "cf_none", "\x00"} {
		_, err = h.RevokeSessionGrant(ctx, id, "terminal")
		require.ErrorIs(t, err, confirm.ErrNoSessionGrant, id)
	}
	tail, err := h.AuditTail(ctx, 100)
	require.NoError(t, err)
	told := 0
	for _, r := range tail {
		if r.Event.Verdict == "revoke" {
			told++
			assert.Equal(t, []string{first, "console key_1", "s1", "run_script"}, []string{r.Event.CallID, r.Event.ApprovedBy, r.Event.Session, r.Event.Tool})
		}
	}
	assert.Equal(t, 1, told)

	require.NoError(t, h.EndSession(ctx, "me", "s2"))
	all, err = h.SessionGrants(ctx)
	require.NoError(t, err)
	assert.Empty(t, all, "it ends with its session")
}

// TestWhatWasRevokedDoesNotComeBack: a row that somebody puts there again counts for nothing, although its answer is on record.
func TestWhatWasRevokedDoesNotComeBack(t *testing.T) {
	h, ctx := opened(t)
	id := h.allowed(t, "s1", 1)
	key := ports.SessionKey("me", "s1")
	had, err := h.store.Sessions().Load(ctx, key)
	require.NoError(t, err)
	_, err = h.RevokeSessionGrant(ctx, id, "terminal")
	require.NoError(t, err)
	require.NoError(t, h.store.Sessions().Update(ctx, key, func(s *ports.Session) error { *s = had; return nil }))
	assert.Equal(t, "confirm_token_required", code(h.call("run_script", job(1), in("s1"))))
}

// TestAQuestionEndsWithItsAlways: the call that asked, made anew, is what its question came to, also where it need not ask any more.
func TestAQuestionEndsWithItsAlways(t *testing.T) {
	h, ctx := opened(t)
	id := h.allowed(t, "s1", 1)
	rec, err := h.CallRecord(ctx, id)
	require.NoError(t, err)
	assert.Equal(t, tool.StatusCompleted, rec.Status)
	assert.Equal(t, "session_grant", rec.Decision)
	assert.Empty(t, h.waiting(t))
	ran, err := h.AuditSearch(ctx, audit.Filter{Confirmation: id})
	require.NoError(t, err)
	require.Len(t, ran, 2, "intent and outcome name what let the call run")
	assert.Equal(t, ran[0].Event.CallID, ran[1].Event.CallID)
	require.NoError(t, h.call("run_script", job(1), in("s1")).Err)
	runs, err := h.Calls(ctx, app.RunFilter{})
	require.NoError(t, err)
	require.Len(t, runs, 2)
	assert.Empty(t, runs[0].ConfirmationID, "the next one is another")
}

// TestAlwaysRunsOut after twelve hours, however long its session goes on.
func TestAlwaysRunsOut(t *testing.T) {
	h, ctx := opened(t)
	id := h.allowed(t, "s1", 1)
	h.clock.Advance(confirm.SessionGrantTTL - 1)
	require.NoError(t, h.call("run_script", job(1), in("s1")).Err)
	h.clock.Advance(1)
	assert.Equal(t, "confirm_token_required", code(h.call("run_script", job(1), in("s1"))))
	all, err := h.SessionGrants(ctx)
	require.NoError(t, err)
	assert.Empty(t, all)
	var shown struct {
		Always []string `json:"always_allowed"`
	}
	require.NoError(t, json.Unmarshal(h.call("get_policy", `{}`, in("s1")).Value, &shown))
	assert.Empty(t, shown.Always)
	_, err = h.RevokeSessionGrant(ctx, id, "terminal")
	assert.True(t, errors.Is(err, confirm.ErrNoSessionGrant))
}

// TestOneOfManyRevokes: the others are told that there is nothing to revoke any more.
func TestOneOfManyRevokes(t *testing.T) {
	h, ctx := opened(t)
	id := h.allowed(t, "s1", 1)
	var done atomic.Int32
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			switch _, err := h.RevokeSessionGrant(ctx, id, "terminal"); {
			case err == nil:
				done.Add(1)
			case !errors.Is(err, confirm.ErrNoSessionGrant):
				t.Error(err)
			}
		})
	}
	group.Wait()
	assert.EqualValues(t, 1, done.Load())
}

// TestAlwaysCoversTheOnePlan that the user saw: neither other arguments nor another content of a plan, nor one whose scope is the same; and no row that covers
// the whole tool counts, whoever put it there.
func TestAlwaysCoversTheOnePlan(t *testing.T) {
	h, w := openWorkshop(t, human, func(o *app.Options) { o.Policy.Tools = map[string]policy.Setting{"read_note": policy.AlwaysConfirm} })
	for _, scope := range []string{"", "shop"} {
		for i := range 2 {
			w.knows[fmt.Sprintf("job %d", i)] = policy.Assessment{Scope: scope}
		}
		id := h.allowed(t, "s1", 0)
		asks := func(i int) {
			t.Helper()
			o := h.call("run_script", job(i), in("s1"))
			assert.Equal(t, "confirm_token_required", code(o))
			if o.Request != nil {
				require.NoError(t, h.CancelApproval(context.Background(), o.Request.ID))
			}
		}
		require.NoError(t, h.call("run_script", job(0), in("s1")).Err, "the same again")
		asks(1)
		w.command["job 0"] = "something else"
		asks(0)
		require.NoError(t, h.store.Sessions().Update(context.Background(), ports.SessionKey("me", "s1"), func(s *ports.Session) error {
			s.Granted[0].Scope = scope
			return nil
		}))
		asks(0)
		delete(w.command, "job 0")
		_, err := h.RevokeSessionGrant(context.Background(), id, "terminal")
		require.NoError(t, err)
	}

	// A tool without a plan is bound to its arguments.
	ask := `{"name":"a"}`
	o := h.call("read_note", ask, in("s1"))
	require.Equal(t, "confirm_token_required", code(o))
	_, err := h.Answer(context.Background(), confirm.Decision{ID: o.Request.ID, Approve: true, Always: true, By: "terminal", Proof: person.AtTerminal})
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, h.call("read_note", ask, in("s1")).Err)
	}
	assert.Equal(t, "confirm_token_required", code(h.call("read_note", `{"name":"b"}`, in("s1"))))
}

// TestAnAlwaysStaysInItsSession: a row that is copied into another session, or to another principal, opens nothing; and one that says it is younger than
// its answer holds no longer.
func TestAnAlwaysStaysInItsSession(t *testing.T) {
	h, ctx := opened(t)
	h.allowed(t, "s1", 1)
	had, err := h.store.Sessions().Load(ctx, ports.SessionKey("me", "s1"))
	require.NoError(t, err)
	put := func(principal, session string) {
		t.Helper()
		require.NoError(t, h.store.Sessions().Update(ctx, ports.SessionKey(principal, session), func(s *ports.Session) error { *s = had.Copy(); return nil }))
	}
	put("me", "s2")
	assert.Equal(t, "confirm_token_required", code(h.call("run_script", job(1), in("s2"))))
	put("you", "s1")
	assert.Equal(t, "confirm_token_required", code(h.call("run_script", job(1), in("s1"), func(c *tool.Call) { c.Principal.ID = "you" })))
	require.NoError(t, h.call("run_script", job(1), in("s1")).Err)
	h.clock.Advance(confirm.SessionGrantTTL)
	had.Granted[0].At = h.clock.Now()
	put("me", "s1")
	assert.Equal(t, "confirm_token_required", code(h.call("run_script", job(1), in("s1"))))
}

// TestAYesIsUsedOnceWhateverItsRowSays: the audit has the call that it let run, and a row that is brought back lets no other run.
func TestAYesIsUsedOnceWhateverItsRowSays(t *testing.T) {
	for name, again := range map[string]func(asked *tool.ApprovalRequest) func(*tool.Call){
		"the same call": func(*tool.ApprovalRequest) func(*tool.Call) { return in("s1") },
		"the call that waited": func(i *tool.ApprovalRequest) func(*tool.Call) {
			return func(c *tool.Call) { c.ApprovalDigest = i.Digest }
		},
		"another session": func(*tool.ApprovalRequest) func(*tool.Call) { return in("s2") },
	} {
		h, w := openWorkshop(t, human)
		ctx := context.Background()
		asked := h.call("run_script", job(1)).Request
		_, err := h.Answer(ctx, confirm.Decision{ID: asked.ID, Approve: true, By: "terminal", Proof: person.AtTerminal})
		require.NoError(t, err)
		require.NoError(t, h.call("run_script", job(1)).Err)
		ran, err := h.AuditSearch(ctx, audit.Filter{Confirmation: asked.ID})
		require.NoError(t, err)
		require.Len(t, ran, 2, "intent and outcome")
		require.NoError(t, h.store.Settle(ctx, asked.Digest, func(g *confirm.Request) error {
			g.State, g.GoneAt = confirm.Approved, h.clock.Now()
			return nil
		}))
		waiting, err := h.ApprovalPending(ctx, asked.ID)
		require.NoError(t, err)
		assert.False(t, waiting, name)
		o := h.call("run_script", job(1), again(asked))
		require.Error(t, o.Err, name)
		assert.Equal(t, fault.Unconfirmed, fault.From(o.Err).Kind, name)
		if o.Request != nil {
			assert.NotEqual(t, asked.ID, o.Request.ID, name)
		}
		assert.Len(t, w.ran, 1, name)
	}
}

// TestWhatWasAllowedBeforeARestoreIsAskedAgain: where the audit was put back from a backup, what was always allowed before may have been revoked in the
// record that was replaced.
func TestWhatWasAllowedBeforeARestoreIsAskedAgain(t *testing.T) {
	h, ctx := opened(t)
	h.allowed(t, "s1", 1)
	require.NoError(t, h.call("run_script", job(1), in("s1")).Err)
	require.NoError(t, h.store.Append(ctx, audit.SelfEvent(h.clock.Now(), audit.RestoreTool, "", "call_1", audit.Restored{ID: "restore_1"})))
	assert.Equal(t, "confirm_token_required", code(h.call("run_script", job(1), in("s1"))))
	h.allowed(t, "s1", 2)
	require.NoError(t, h.call("run_script", job(2), in("s1")).Err, "what is allowed since holds")
}
