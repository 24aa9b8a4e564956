package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/owner"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/redact"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/memstore"
	"github.com/countersign-dev/countersign/internal/testkit/person"
	"github.com/countersign-dev/countersign/ports"
)

// runs returns every record there is, newest first.
func (h *fixture) runs(t *testing.T) []tool.Record {
	t.Helper()
	found, err := h.Calls(context.Background(), app.RunFilter{})
	require.NoError(t, err)
	return found
}

// said returns the newest record in one line: how far it is, why, who decided, what came of it.
func (h *fixture) said(t *testing.T) string {
	t.Helper()
	all := h.runs(t)
	require.NotEmpty(t, all)
	r := all[0]
	result := ""
	if r.Result != nil {
		result = fmt.Sprintf(" %t %s", r.Result.Success, r.Result.Code)
	}
	return strings.Trim(fmt.Sprintf("%s/%s by %s%s", r.Status, r.Reason, r.Decision, result), " ")
}

func TestReadsNotesAndDryRunsAreNoRuns(t *testing.T) {
	h, _ := openWorkshop(t)
	h.call("read_note", `{"name":"a"}`)
	h.call("scribble", `{"name":"a"}`)
	h.call("run_script", `{"script":"build","dry_run":true}`)
	h.call("nothing", `{}`)
	h.setMode(t, "plan")
	h.call("run_script", `{"script":"build"}`)
	h.setMode(t, "ask")
	assert.True(t, h.call("burn_note", `{"name":"a"}`).Explained)
	assert.Empty(t, h.runs(t))
}

func TestARunIsOnRecordFromTheQuestionToTheResult(t *testing.T) {
	h, _ := openWorkshop(t)
	asked := h.call("run_script", `{"script":"build"}`, func(c *tool.Call) { c.Client = "demo/1.0" })
	pending, err := h.CallRecord(context.Background(), asked.Request.ID)
	require.NoError(t, err)
	assert.Equal(t, tool.Record{
		CallID: asked.CallID, Tool: "run_script", Status: tool.StatusPendingConfirmation, Args: json.RawMessage(`{"script":"build"}`), At: h.clock.Now(),
		Risk: policy.RiskMedium, What: "run build", ExpiresAt: asked.Request.ExpiresAt, ConfirmationID: asked.Request.ID, Toolset: "projects",
		Session: "s1", Principal: "me", Client: "demo/1.0",
	}, pending)

	h.clock.Advance(time.Minute)
	done := h.call("run_script", `{"script":"build"}`, withToken(asked.Request))
	require.NoError(t, done.Err)
	for _, id := range []string{asked.CallID, done.CallID, asked.Request.ID} {
		r, err := h.CallRecord(context.Background(), id)
		require.NoError(t, err)
		assert.Equal(t, tool.StatusCompleted, r.Status)
		assert.Equal(t, asked.CallID, r.CallID)
		assert.Equal(t, done.CallID, r.Redeemed)
		assert.Equal(t, "token", r.Decision)
		assert.Equal(t, system.Owner{}.Self(), r.Owner)
		assert.Equal(t, h.clock.Now(), r.StartedAt)
		assert.Equal(t, &tool.Result{Success: true, Output: `{"output":"did vite build [REDACTED:github_token]"}`}, r.Result, "redacted as the answer is")
	}
	assert.Len(t, h.runs(t), 1)
	_, err = h.CallRecord(context.Background(), "call_nobody")
	require.ErrorIs(t, err, tool.ErrRecordUnknown)
}

func TestHowRunsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		policy func(*app.Options)
		script string
		change func(*workshop)
		want   string
	}{
		"allowed":             {fullAccess, "build", nil, "completed/ by full_access true"},
		"auto-approved":       {func(o *app.Options) { o.Policy.Auto = policy.AutoApprove{Enabled: true, Tools: []string{"run_script"}} }, "build", nil, "completed/ by auto_approve true"},
		"the command says so": {fullAccess, "build", func(w *workshop) { w.exit = tool.ReasonNonZeroExit }, "failed/non_zero_exit by full_access false"},
		"it fails":            {fullAccess, "build", func(w *workshop) { w.fails = fault.New(fault.State, "test_failed", "it failed") }, "failed/error by full_access false test_failed"},
		"too slow":            {fullAccess, "build", func(w *workshop) { w.fails = context.DeadlineExceeded }, "failed/timeout by full_access false timeout"},
		"stopped":             {fullAccess, "build", func(w *workshop) { w.fails = context.Canceled }, "failed/cancelled by full_access false canceled"},
		"a level":             {func(o *app.Options) { o.Policy.Level = policy.ReadOnly }, "build", nil, "denied/policy by permission_level"},
		"blocked":             {func(o *app.Options) { o.Policy.Tools = map[string]policy.Setting{"run_script": policy.Blocked} }, "build", nil, "denied/policy by tool_blocked"},
		"a mode":              {func(o *app.Options) { o.Policy.Mode = policy.Ask }, "build", nil, "denied/policy by mode"},
		"an action's rule": {fullAccess, "build", func(w *workshop) { w.knows["build"] = policy.Assessment{Action: policy.ActionDeny} },
			"denied/policy by action_rule"},
		"what it names is not allowed": {fullAccess, "outside", nil, "failed/rejected by  false test_path_not_allowed"},
		"bad arguments":                {fullAccess, "bad", nil, "failed/rejected by  false test_script_bad"},
	} {
		t.Run(name, func(t *testing.T) {
			h, w := openWorkshop(t, c.policy)
			if c.change != nil {
				c.change(w)
			}
			o := h.call("run_script", `{"script":"`+c.script+`"}`)
			assert.Equal(t, c.want, h.said(t))
			r := h.runs(t)[0]
			assert.Equal(t, o.CallID, r.CallID)
			assert.Equal(t, r.Status.Final(), !r.EndedAt.IsZero())
			assert.Len(t, h.runs(t), 1)
		})
	}
}

func TestHowQuestionsEnd(t *testing.T) {
	typed := func(value string) func(*tool.Call) { return func(c *tool.Call) { c.Typed = value } }
	for name, c := range map[string]struct {
		end  func(t *testing.T, h *fixture, ask *tool.ApprovalRequest)
		want string
	}{
		"a person in a terminal": {func(t *testing.T, h *fixture, ask *tool.ApprovalRequest) {
			_, err := h.Answer(context.Background(), confirm.Decision{ID: ask.ID, By: "terminal", Proof: person.AtTerminal})
			require.NoError(t, err)
		}, "denied/user_denied by terminal"},
		"a person in the client": {func(t *testing.T, h *fixture, ask *tool.ApprovalRequest) {
			o := h.call("burn_note", `{"name":"precious"}`, func(c *tool.Call) {
				c.Decision = &confirm.Decision{ID: ask.ID, By: "elicitation", Proof: person.AtTerminal}
			})
			require.Equal(t, "confirm_denied", code(o))
		}, "denied/user_denied by elicitation"},
		"the tool confirm": {func(t *testing.T, h *fixture, ask *tool.ApprovalRequest) {
			require.NoError(t, h.call("confirm", `{"token":"`+ask.Token.Reveal()+`","decision":"deny"}`).Err)
		}, "denied/user_denied by"},
		"withdrawn": {func(t *testing.T, h *fixture, ask *tool.ApprovalRequest) {
			require.NoError(t, h.call("cancel_confirm", `{"id":"`+ask.ID+`"}`).Err)
		}, "denied/cancelled_by_client by"},
		"the mode was lowered": {func(t *testing.T, h *fixture, _ *tool.ApprovalRequest) { h.setMode(t, "plan") }, "denied/cancelled_by_client by"},
		"nobody answered": {func(_ *testing.T, h *fixture, ask *tool.ApprovalRequest) {
			h.clock.Advance(confirm.DefaultTTL)
		}, "denied/expired by"},
		"mistyped with a token": {func(t *testing.T, h *fixture, ask *tool.ApprovalRequest) {
			for range confirm.MaxMisses {
				h.call("burn_note", `{"name":"precious"}`, withToken(ask), typed("wrong"))
			}
		}, "denied/mistyped by"},
		"mistyped in confirm": {func(t *testing.T, h *fixture, ask *tool.ApprovalRequest) {
			for range confirm.MaxMisses {
				h.call("confirm", `{"token":"`+ask.Token.Reveal()+`","typed_value":"wrong"}`)
			}
		}, "denied/mistyped by"},
		"mistyped in a terminal": {func(t *testing.T, h *fixture, ask *tool.ApprovalRequest) {
			for range confirm.MaxMisses {
				_, err := h.Answer(context.Background(), confirm.Decision{ID: ask.ID, Approve: true, Typed: "wrong", By: "terminal", Proof: person.AtTerminal})
				require.Error(t, err)
			}
		}, "denied/mistyped by terminal"},
		"still waiting": {func(t *testing.T, h *fixture, ask *tool.ApprovalRequest) {
			h.clock.Advance(confirm.DefaultTTL - 1)
			h.call("burn_note", `{"name":"precious"}`, withToken(ask), typed("wrong"))
			h.call("burn_note", `{"name":"other"}`, withToken(ask), typed("precious"))
			h.call("burn_note", `{"name":"precious"}`, withToken(&tool.ApprovalRequest{Token: confirm.NewToken("guessed")}))
		}, "pending_confirmation/ by"},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t)
			asked := h.call("burn_note", `{"name":"precious"}`)
			require.NotNil(t, asked.Request)
			c.end(t, h, asked.Request)
			assert.Equal(t, c.want, h.said(t))
			assert.Len(t, h.runs(t), 1, "refused redemptions are no runs of their own")
			settled, err := h.Calls(context.Background(), app.RunFilter{Status: h.runs(t)[0].Status})
			require.NoError(t, err)
			assert.Len(t, settled, 1, "it is found by what it is now")
		})
	}
}

// TestAChangedPlanLeavesTheQuestionOpen: the token is still good for the plan that was shown.
func TestAChangedPlanLeavesTheQuestionOpen(t *testing.T) {
	h, w := openWorkshop(t)
	asked := h.call("run_script", `{"script":"build"}`)
	w.command["build"] = "changed"
	require.Equal(t, "confirm_token_mismatch", code(h.call("run_script", `{"script":"build"}`, withToken(asked.Request))))
	assert.Equal(t, "pending_confirmation/ by", h.said(t))
	w.command["build"] = "vite build"
	require.NoError(t, h.call("run_script", `{"script":"build"}`, withToken(asked.Request)).Err)
	assert.Equal(t, "completed/ by token true", h.said(t))
}

func TestUnderHumanApprovalOneQuestionIsOneRun(t *testing.T) {
	h, _ := openWorkshop(t, func(o *app.Options) { o.Policy.Approval = policy.ApprovalHuman })
	asked := h.call("run_script", `{"script":"build"}`)
	h.call("run_script", `{"script":"build"}`)
	assert.Len(t, h.runs(t), 1, "asking again is the same question")
	_, err := h.Answer(context.Background(), confirm.Decision{ID: asked.Request.ID, Approve: true, By: "terminal", Proof: person.AtTerminal})
	require.NoError(t, err)
	require.NoError(t, h.call("run_script", `{"script":"build"}`).Err)
	assert.Equal(t, "completed/ by terminal true", h.said(t))
	assert.Len(t, h.runs(t), 1)
}

func TestThePreviewsTokenIsOneRunOfTheToolThatCarriesOut(t *testing.T) {
	p := &parcel{content: "polite"}
	h := openWith(t, []tool.Capability{p.capability()})
	offered := h.call("wrap", `{}`)
	require.NotNil(t, offered.Request)
	assert.Empty(t, h.runs(t), "a preview changes nothing")
	done := h.call("ship", `{"yes":true}`, withToken(offered.Request))
	require.NoError(t, done.Err)
	r, err := h.CallRecord(context.Background(), offered.Request.ID)
	require.NoError(t, err)
	assert.Equal(t, done.CallID, r.CallID)
	assert.Equal(t, tool.StatusCompleted, r.Status)
}

// other returns a core of another process over the same stores.
func (h *fixture) other(t *testing.T, change func(*app.Dependencies)) *app.App {
	t.Helper()
	core := app.Dependencies{Clock: h.clock, IDs: system.IDs{}, Tokens: system.Tokens{}, Ledger: h.store, Audit: h.store, Settings: h.store,
		Sessions: h.store.Sessions(), Limiter: memstore.Unlimited{}, Runs: h.store.Runs(), Owner: system.Owner{}, Log: slog.New(slog.DiscardHandler),
		Redact: sync.OnceValue(func() *redact.Redactor { return redact.New(redact.Options{}) })}
	change(&core)
	a, err := app.New(core, app.Options{Policy: policy.Policy{Approval: policy.ApprovalCaller, Ceiling: policy.Execute, Level: policy.ExecuteWithConfirm}}, h.noteStore.capability())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close(context.Background())) })
	return a
}

// gone is a process that has ended.
type gone struct{}

func (gone) Self() string               { return "999999999 1 an-earlier-start" }
func (gone) Judge(string) owner.Verdict { return owner.Dead }
func (gone) Elsewhere(string) string    { return "" }

// killed is a store whose process ends before it can say what came of a run.
type killed struct{ *memstore.Runs }

func (k killed) Change(ctx context.Context, id string, f func(*tool.Record) error) error {
	return k.Runs.Change(ctx, id, func(r *tool.Record) error {
		if err := f(r); err != nil || !r.Status.Final() {
			return err
		}
		return fault.New(fault.Unavailable, "test_killed", "killed")
	})
}

// TestWhatADeadProcessLeftHasFailed: it is settled by whoever looks, and never carried out again.
func TestWhatADeadProcessLeftHasFailed(t *testing.T) {
	h := open(t)
	dead := h.other(t, func(c *app.Dependencies) { c.Owner, c.Runs = gone{}, killed{h.store.Runs()} })
	asked := h.call("write_note", `{"name":"a"}`)
	c := tool.Call{Session: "s1", Principal: me, Tool: "write_note", Args: json.RawMessage(`{"name":"a"}`), Token: asked.Request.Token}
	o := dead.Call(context.Background(), c)
	require.NoError(t, o.Err, "the change itself was made")
	require.Len(t, o.Warnings, 1)
	raw, err := h.store.Runs().Load(context.Background(), asked.CallID)
	require.NoError(t, err)
	require.Equal(t, tool.StatusExecuting, raw.Status)
	require.Equal(t, gone{}.Self(), raw.Owner)

	shown, err := h.CallRecord(context.Background(), asked.CallID)
	require.NoError(t, err)
	assert.Equal(t, tool.ReasonInterrupted, shown.Reason)
	failed, err := h.Calls(context.Background(), app.RunFilter{Status: tool.StatusFailed})
	require.NoError(t, err)
	require.Len(t, failed, 1)
	assert.Equal(t, tool.ReasonInterrupted, failed[0].Reason)
	stored, err := h.store.Runs().Load(context.Background(), asked.CallID)
	require.NoError(t, err)
	assert.Equal(t, tool.StatusFailed, stored.Status, "listing stores it")
	assert.EqualValues(t, 1, h.noteStore.writes.Load())
}

// mute are runs that cannot be written, from a status on.
type mute struct {
	ports.Runs
	from tool.Status
}

func (m mute) Add(ctx context.Context, r tool.Record) error {
	if r.Status >= m.from {
		return fault.New(fault.Unavailable, "store_unavailable", "runs cannot be written")
	}
	return m.Runs.Add(ctx, r)
}

func (m mute) Change(context.Context, string, func(*tool.Record) error) error {
	return fault.New(fault.Unavailable, "store_unavailable", "runs cannot be written")
}

// TestNoRecordNoChange: what cannot be put on record is not carried out; what is only refused or asked needs no record.
func TestNoRecordNoChange(t *testing.T) {
	h := open(t)
	deaf := h.other(t, func(c *app.Dependencies) { c.Runs = mute{h.store.Runs(), tool.StatusPendingConfirmation} })
	c := tool.Call{Session: "s1", Principal: me, Tool: "write_note", Args: json.RawMessage(`{"name":"a"}`)}
	asked := deaf.Call(context.Background(), c)
	require.Equal(t, "confirm_token_required", code(asked), "the question is asked all the same")
	c.Token = asked.Request.Token
	o := deaf.Call(context.Background(), c)
	assert.Equal(t, "store_unavailable", code(o))
	assert.Zero(t, h.noteStore.writes.Load())
	require.NoError(t, deaf.Call(context.Background(), tool.Call{Session: "s1", Principal: me, Tool: "scribble", Args: json.RawMessage(`{"name":"n"}`)}).Err,
		"notes are no runs")

	late := h.other(t, func(c *app.Dependencies) { c.Runs = mute{h.store.Runs(), tool.StatusExecuting} })
	c.Token = confirm.Token{}
	asked = late.Call(context.Background(), c)
	c.Token = asked.Request.Token
	assert.Equal(t, "store_unavailable", code(late.Call(context.Background(), c)))
	assert.EqualValues(t, 1, h.noteStore.writes.Load(), "only the note")
	r, err := h.CallRecord(context.Background(), asked.CallID)
	require.NoError(t, err)
	assert.Equal(t, tool.StatusPendingConfirmation, r.Status)
}

func TestNewNeedsCallStore(t *testing.T) {
	h := open(t)
	for name, without := range map[string]func(*app.Dependencies){
		"runs": func(c *app.Dependencies) { c.Runs = nil }, "owner": func(c *app.Dependencies) { c.Owner = nil },
	} {
		core := app.Dependencies{Clock: h.clock, IDs: system.IDs{}, Tokens: system.Tokens{}, Ledger: h.store, Audit: h.store, Settings: h.store, Sessions: h.store.Sessions(),
			Limiter: memstore.Unlimited{}, Runs: h.store.Runs(), Owner: system.Owner{}, Log: slog.New(slog.DiscardHandler), Redact: func() *redact.Redactor { return nil }}
		without(&core)
		_, err := app.New(core, app.Options{})
		require.ErrorIs(t, err, app.ErrWiring, name)
	}
}

// counting is a limiter that keeps what it was asked.
type counting struct {
	mu   sync.Mutex
	keys []string
}

func (c *counting) Take(_ context.Context, key string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keys = append(c.keys, key)
	return nil
}

// TestWhatIsCharged: what was decided to run or to be asked, once, by toolset, kind and principal.
func TestWhatIsCharged(t *testing.T) {
	w := &workshop{command: map[string]string{}, knows: map[string]policy.Assessment{}}
	limiter := &counting{}
	h := open(t)
	core := app.Dependencies{Clock: h.clock, IDs: system.IDs{}, Tokens: system.Tokens{}, Ledger: h.store, Audit: h.store, Settings: h.store, Sessions: h.store.Sessions(),
		Limiter: limiter, Runs: h.store.Runs(), Owner: system.Owner{}, Log: slog.New(slog.DiscardHandler),
		Redact: sync.OnceValue(func() *redact.Redactor { return redact.New(redact.Options{}) })}
	opts := app.Options{Policy: policy.Policy{Approval: policy.ApprovalCaller, Ceiling: policy.Execute, Level: policy.ExecuteWithConfirm, Tools: map[string]policy.Setting{"burn_note": policy.Blocked}}}
	a, err := app.New(core, opts, w.capability(), h.noteStore.capability())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close(context.Background())) })
	call := func(name, args string, token confirm.Token) tool.Outcome {
		return a.Call(context.Background(), tool.Call{Session: "s1", Principal: me, Tool: tool.Name(name), Args: json.RawMessage(args), Token: token})
	}
	charged := func(want ...string) {
		t.Helper()
		assert.Equal(t, want, limiter.keys)
		limiter.keys = nil
	}
	call("burn_note", `{"name":"a"}`, confirm.Token{})
	call("run_script", `{"script":"bad"}`, confirm.Token{})
	charged() // what is refused costs nothing
	asked := call("run_script", `{"script":"build"}`, confirm.Token{})
	charged("projects/execute/me")
	require.NoError(t, call("run_script", `{"script":"build"}`, asked.Request.Token).Err)
	charged() // the redemption was charged when it was asked for
	call("run_script", `{"script":"build","dry_run":true}`, confirm.Token{})
	charged("projects/read/me")
	call("write_note", `{"name":"a"}`, confirm.Token{})
	call("read_note", `{"name":"a"}`, confirm.NewToken("made up")) // no token makes a call free that needs none
	charged("notes/write/me", "notes/read/me")
}
