package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
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

func human(o *app.Options) { o.Policy.Approval = policy.ApprovalHuman }

func in(session string) func(*tool.Call) { return func(c *tool.Call) { c.Session = session } }

func note(i int) string { return fmt.Sprintf(`{"name":"note %d"}`, i) }

func (h *fixture) waiting(t testing.TB) []confirm.View {
	t.Helper()
	views, err := h.Confirmations(context.Background(), "")
	require.NoError(t, err)
	return views
}

// TestOnlySoManyWaitForAPerson: five of a session, twenty of the machine (packageflow-security contract §4.4).
func TestOnlySoManyWaitForAPerson(t *testing.T) {
	h := open(t, human)
	for i := range app.MaxPendingPerSession {
		require.Equal(t, "confirm_token_required", code(h.call("write_note", note(i))))
	}
	o := h.call("write_note", note(9))
	require.Equal(t, "confirm_limit", code(o))
	assert.Equal(t, fault.Unavailable, fault.From(o.Err).Kind)
	assert.Contains(t, o.Err.Error(), "this session has 5 pending approval requests")
	assert.Nil(t, o.Request)
	assert.Len(t, h.waiting(t), app.MaxPendingPerSession)
	assert.Equal(t, "denied/rejected by  false confirm_limit", h.said(t))
	require.Equal(t, "confirm_token_required", code(h.call("write_note", note(1))), "what waits already may be asked again")
	require.Equal(t, "confirm_token_required", code(h.call("write_note", note(9), func(c *tool.Call) { c.FromUser = true })), "people are not held up")

	_, err := h.Answer(context.Background(), confirm.Decision{ID: h.waiting(t)[0].ID, Approve: true, By: "terminal", Proof: person.AtTerminal})
	require.NoError(t, err)
	_, err = h.Answer(context.Background(), confirm.Decision{ID: h.waiting(t)[1].ID, By: "terminal", Proof: person.AtTerminal})
	require.NoError(t, err)
	require.Equal(t, "confirm_token_required", code(h.call("write_note", note(10))), "what was answered does not wait")

	for i := range 15 {
		require.Equal(t, "confirm_token_required", code(h.call("write_note", note(i), in(fmt.Sprint("other ", i)))))
	}
	o = h.call("write_note", note(1), in("the last"))
	require.Equal(t, "confirm_limit", code(o))
	assert.Contains(t, o.Err.Error(), "this machine has 20 pending approval requests")
	h.clock.Advance(confirm.DefaultTTL)
	require.Equal(t, "confirm_token_required", code(h.call("write_note", note(1), in("the last"))), "nor does what has run out")
}

// TestManyAtOnceAreStillOnlySoMany: whoever comes too late steps back.
func TestManyAtOnceAreStillOnlySoMany(t *testing.T) {
	h := open(t, human)
	var group sync.WaitGroup
	for i := range 40 {
		group.Go(func() { h.call("write_note", note(i), in(fmt.Sprint("session ", i%5))) })
	}
	group.Wait()
	bySession := map[string]int{}
	for _, v := range h.waiting(t) {
		bySession[v.Session]++
	}
	assert.LessOrEqual(t, len(h.waiting(t)), app.MaxPendingPerMachine)
	for session, n := range bySession {
		assert.LessOrEqual(t, n, app.MaxPendingPerSession, session)
	}
	assert.NotEmpty(t, bySession)
}

// TestTokensHaveNoSuchLimit: a token is only the caller's own, and nobody has to read it.
func TestTokensHaveNoSuchLimit(t *testing.T) {
	h := open(t)
	for i := range 30 {
		require.Equal(t, "confirm_token_required", code(h.call("write_note", note(i))))
	}
}

// TestLookingIsNeverHeldUp: a preview gives a token that names its plan, and asks nobody, however often.
func TestLookingIsNeverHeldUp(t *testing.T) {
	h, _ := parcels(t, human)
	seen := map[string]bool{}
	for range 10 {
		o := h.call("wrap", `{}`)
		require.NoError(t, o.Err)
		assert.False(t, o.Request.Pending)
		seen[o.Request.Token.Reveal()] = true
	}
	assert.Len(t, seen, 10, "each has a token of its own")
	assert.Empty(t, h.waiting(t))
	o := h.call("ship", `{}`)
	assert.Equal(t, "confirm_token_required", code(o))
	assert.Nil(t, o.Request, "without a token nothing is asked")
}

// after returns the call again, by a transport that has waited for the user meanwhile.
func after(o tool.Outcome) func(*tool.Call) {
	return func(c *tool.Call) { c.ID, c.ApprovalDigest = o.CallID, o.Request.Digest }
}

func TestWhoAskedIsAnsweredByThePerson(t *testing.T) {
	h, w := openWorkshop(t, human)
	const build = `{"script":"build"}`
	asked := h.call("run_script", build)
	waits, err := h.ApprovalPending(context.Background(), asked.Request.ID)
	require.NoError(t, err)
	assert.True(t, waits)
	assert.Equal(t, "confirm_pending", code(h.call("run_script", build, after(asked))), "having asked is no answer")

	_, err = h.Answer(context.Background(), confirm.Decision{ID: asked.Request.ID, Approve: true, By: "terminal", Proof: person.AtTerminal})
	require.NoError(t, err)
	waits, err = h.ApprovalPending(context.Background(), asked.Request.ID)
	require.NoError(t, err)
	assert.False(t, waits)
	assert.Equal(t, "confirm_token_mismatch", code(h.call("run_script", build, after(asked), in("s2"))), "nor is it another session's")
	require.NoError(t, h.call("run_script", build, after(asked)).Err)
	assert.Equal(t, []string{"build"}, w.ran)
	assert.Equal(t, "confirm_token_used", code(h.call("run_script", build, after(asked))))

	asked = h.call("run_script", build)
	_, err = h.Answer(context.Background(), confirm.Decision{ID: asked.Request.ID, Reason: "password=hunter2hunter2", By: "terminal", Proof: person.AtTerminal})
	require.NoError(t, err)
	o := h.call("run_script", build, after(asked))
	require.Equal(t, "confirm_denied", code(o))
	assert.Contains(t, o.Err.Error(), "the user denied this call: password=[REDACTED")
	assert.Len(t, w.ran, 1)
}

// TestHavingAskedIsWorthNothingWhereTokensCount: the digest of a confirmation is no token.
func TestHavingAskedIsWorthNothingWhereTokensCount(t *testing.T) {
	h, w := openWorkshop(t)
	asked := h.call("run_script", `{"script":"build"}`)
	assert.Equal(t, "confirm_token_unknown", code(h.call("run_script", `{"script":"build"}`, after(asked))))
	assert.Empty(t, w.ran)
}

// TestAnAnswerHoldsWhateverPolicySaysMeanwhile: a no is a no where nobody would be asked any more, and a yes is spent.
func TestAnAnswerHoldsWhateverPolicySaysMeanwhile(t *testing.T) {
	h, w := openWorkshop(t, human)
	const build = `{"script":"build"}`
	asked := h.call("run_script", build)
	person.Settings(t, h.App, func(s *app.Settings) error { s.Level = policy.FullAccess; return nil })
	assert.Equal(t, "confirm_denied", code(h.call("run_script", build, func(c *tool.Call) {
		c.ID, c.Decision = asked.CallID, &confirm.Decision{ID: asked.Request.ID, By: "elicitation", Proof: person.AtTerminal}
	})))
	assert.Empty(t, w.ran)
	person.Settings(t, h.App, func(s *app.Settings) error { s.Level = policy.ExecuteWithConfirm; return nil })

	asked = h.call("run_script", build)
	_, err := h.Answer(context.Background(), confirm.Decision{ID: asked.Request.ID, Approve: true, Always: true, By: "terminal", Proof: person.AtTerminal})
	require.NoError(t, err)
	require.NoError(t, h.call("run_script", build, after(asked)).Err)
	assert.Empty(t, h.waiting(t), "it is spent, although the session may now")
	assert.Equal(t, "completed/ by terminal true", h.said(t))
}

// TestAlwaysIsNotHeededWhereItMayNotBeSaid, whoever says it.
func TestAlwaysIsNotHeededWhereItMayNotBeSaid(t *testing.T) {
	h, w := openWorkshop(t, human)
	w.knows["build"] = policy.Assessment{Risk: policy.RiskHigh}
	for name, args := range map[string]string{"run_script": `{"script":"build"}`, "write_note": `{"name":"precious"}`} {
		asked := h.call(name, args)
		require.Equal(t, "confirm_token_required", code(asked))
		assert.False(t, asked.Request.AllowsSessionGrant())
		assert.False(t, h.waiting(t)[0].AllowsSessionGrant())
		_, err := h.Answer(context.Background(), confirm.Decision{ID: asked.Request.ID, Approve: true, Always: true, Typed: "precious", By: "terminal", Proof: person.AtTerminal})
		require.NoError(t, err)
		require.NoError(t, h.call(name, args, after(asked)).Err)
		require.Equal(t, "confirm_token_required", code(h.call(name, args)), "it is asked about every time")
		_, err = h.Answer(context.Background(), confirm.Decision{ID: h.waiting(t)[0].ID, By: "terminal", Proof: person.AtTerminal})
		require.NoError(t, err)
	}
	asked := h.call("write_note", `{"name":"plain"}`)
	assert.True(t, asked.Request.AllowsSessionGrant())
	assert.True(t, h.waiting(t)[0].AllowsSessionGrant())
}

func TestAWithdrawnQuestionIsOver(t *testing.T) {
	for _, approved := range []bool{false, true} {
		h, w := openWorkshop(t, human)
		asked := h.call("run_script", `{"script":"build"}`)
		if approved {
			_, err := h.Answer(context.Background(), confirm.Decision{ID: asked.Request.ID, Approve: true, By: "terminal", Proof: person.AtTerminal})
			require.NoError(t, err)
		}
		require.NoError(t, h.CancelApproval(context.Background(), asked.Request.ID))
		assert.Equal(t, "denied/cancelled_by_client by", h.said(t))
		assert.Equal(t, "confirm_canceled", code(h.call("run_script", `{"script":"build"}`, after(asked))))
		require.ErrorIs(t, h.CancelApproval(context.Background(), asked.Request.ID), confirm.ErrUnknown)
		tail, err := h.AuditTail(context.Background(), 10)
		require.NoError(t, err)
		said := 0
		for _, r := range tail {
			if r.Event.Phase == audit.Answer && r.Event.Verdict == "cancel" {
				said++
				assert.Equal(t, "client", r.Event.ApprovedBy)
			}
		}
		assert.Equal(t, 1, said)
		assert.Empty(t, w.ran)
	}
}

// TestNothingIsHiddenFromWhoDecides: neither in the question nor in the plan nor in the arguments.
func TestNothingIsHiddenFromWhoDecides(t *testing.T) {
	h, w := openWorkshop(t, human)
	script := "build\u202e"
	w.command[script] = "rm \u200b-rf \u2066x\u2069"
	args := `{"script":"build\u202e"}`
	i := h.call("run_script", args).Request
	assert.Equal(t, `run build␣U+202E; it contains invisible or misleading characters: U+202E in script "build␣U+202E"; `+
		`U+200B, U+2066, U+2069 in command "rm ␣U+200B-rf ␣U+2066x␣U+2069"`, i.Prompt)
	assert.Equal(t, "high", i.Risk)
	assert.JSONEq(t, `{"script":"build␣U+202E","command":"rm ␣U+200B-rf ␣U+2066x␣U+2069"}`, string(i.Plan))
	assert.JSONEq(t, `{"script":"build␣U+202E"}`, string(i.Args))
	v := h.waiting(t)[0]
	assert.Equal(t, i.Prompt, v.Prompt)
	assert.JSONEq(t, string(i.Plan), string(v.Plan))
	assert.JSONEq(t, string(i.Args), string(v.Arguments))
	_, err := h.Answer(context.Background(), confirm.Decision{ID: i.ID, Approve: true, By: "terminal", Proof: person.AtTerminal})
	require.NoError(t, err)
	require.NoError(t, h.call("run_script", args).Err)
	assert.Equal(t, []string{script}, w.ran, "what runs is what was asked for")
}

// TestEveryArgumentIsShown, redacted.
func TestEveryArgumentIsShown(t *testing.T) {
	h := open(t)
	i := h.call("write_note", `{"name":"a","text":"`+secret()+`"}`).Request
	assert.JSONEq(t, `{"name":"a","text":"[REDACTED:github_token]"}`, string(i.Args))
	i = h.call("write_note", `{"name":"`+strings.Repeat("long ", 10_000)+`"}`).Request
	assert.Less(t, len(i.Args), 40_000, "they have their bounds")
	assert.True(t, json.Valid(i.Args))
}

// TestWhatChangedIsMaskedAlikeOnBothSides: where a secret was, what stands there now is none to show, whatever it looks like.
func TestWhatChangedIsMaskedAlikeOnBothSides(t *testing.T) {
	h, w := openWorkshop(t)
	for _, row := range [][2]string{{secret(), "XXXXXXXX99999999"}, {"nothing", secret()}} {
		w.command["build"] = row[0]
		asked := h.call("run_script", `{"script":"build"}`)
		w.command["build"] = row[1]
		o := h.call("run_script", `{"script":"build"}`, withToken(asked.Request))
		require.Equal(t, "confirm_token_mismatch", code(o))
		assert.Contains(t, o.Err.Error(), "the plan changed since it was approved")
		assert.Contains(t, o.Err.Error(), "see the differences")
		var changed app.PlanChange
		require.NoError(t, json.Unmarshal(fault.From(o.Err).Details.(json.RawMessage), &changed))
		masked := json.RawMessage(`"[REDACTED:github_token]"`)
		assert.Equal(t, []confirm.Difference{{Path: "$.command", Before: masked, After: masked}}, changed.Differences)
	}
	w.command["build"] = secret()
	asked := h.call("run_script", `{"script":"build"}`)
	w.command["build"] = strings.Replace(secret(), "a1", "b2", 1)
	o := h.call("run_script", `{"script":"build"}`, withToken(asked.Request))
	assert.Contains(t, o.Err.Error(), "it differs in parts that are not shown")
	other := h.call("run_script", `{"script":"build"}`, withToken(asked.Request), in("s2"))
	assert.Contains(t, other.Err.Error(), "is for a different call", "another session is told nothing")
}

// eager is a ledger whose users deny a question the moment it is there.
type eager struct {
	ports.ApprovalStore
	deny func(id string)
}

func (l eager) Issue(ctx context.Context, g confirm.Request) error {
	err := l.ApprovalStore.Issue(ctx, g)
	l.deny(g.ID)
	return err
}

// TestNoAnswerComesBeforeItsRecord: who denies at once still finds the record of the call.
func TestNoAnswerComesBeforeItsRecord(t *testing.T) {
	h := open(t, human)
	h.core.Ledger = eager{ApprovalStore: h.store, deny: func(id string) {
		_, err := h.Answer(t.Context(), confirm.Decision{ID: id, Reason: "no", By: "terminal", Proof: person.AtTerminal})
		assert.NoError(t, err)
	}}
	var err error
	h.App, err = app.New(h.core, app.Options{Policy: policy.Policy{Ceiling: policy.Execute, Level: policy.ExecuteWithConfirm}}, h.caps...)
	require.NoError(t, err)
	require.Equal(t, "confirm_token_required", code(h.call("write_note", note(1))))
	runs, err := h.Calls(t.Context(), app.RunFilter{})
	require.NoError(t, err)
	require.Len(t, runs, 1)
	assert.Equal(t, tool.StatusDenied, runs[0].Status)
	assert.Equal(t, tool.ReasonUserDenied, runs[0].Reason)
	assert.Equal(t, "no", runs[0].Said)
}
