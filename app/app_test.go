package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/control"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/redact"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
	"github.com/countersign-dev/countersign/internal/testkit/memstore"
	"github.com/countersign-dev/countersign/internal/testkit/person"
	"github.com/countersign-dev/countersign/ports"
)

// fixture is the core over in-memory stores with one small capability: a shelf of notes.
type fixture struct {
	*app.App
	clock     *clock.Fake
	store     *memstore.Store
	noteStore *noteStore
	log       *strings.Builder
	core      app.Dependencies
	caps      []tool.Capability
}

type noteStore struct {
	mu      sync.Mutex
	notes   map[string]string
	version int
	failing error // of prepare
	writes  atomic.Int64
}

// fail has no plan be worked out from now on.
func (s *noteStore) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failing = err
}

type noteInput struct {
	Name string `json:"name"`
	Text string `json:"text,omitempty"`
}

type notePlan struct {
	Name    string          `json:"name"`
	Text    string          `json:"text"`
	Version int             `json:"version"`
	Raised  policy.Strength `json:"-"`
}

func (p notePlan) Hash() canon.Hash {
	h, err := canon.Sum("test.plan.v1", p)
	if err != nil {
		panic(err)
	}
	return h
}
func (p notePlan) Strength() policy.Strength { return p.Raised }
func (p notePlan) Target() string            { return p.Name }
func (p notePlan) Prompt() string            { return "write " + p.Name }

func (s *noteStore) prepare(_ context.Context, _ tool.Scope, in noteInput) (notePlan, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := notePlan{Name: in.Name, Text: in.Text, Version: s.version}
	if s.failing != nil {
		return p, s.failing
	}
	if in.Name == "precious" {
		p.Raised = policy.Typed
	}
	return p, nil
}

func (s *noteStore) commit(_ context.Context, _ tool.Scope, p notePlan) (map[string]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.Version != s.version {
		return nil, app.ErrPlanStale
	}
	s.version++
	s.writes.Add(1)
	s.notes[p.Name] = p.Text
	return map[string]string{"written": p.Name}, nil
}

func (s *noteStore) capability() tool.Capability {
	spec := func(class policy.Class, effects policy.Effects, strength policy.Strength) tool.Spec {
		return tool.Spec{Title: "Note", Description: "A note tool for tests.", Class: class, Effects: effects, Confirm: strength}
	}
	command := func(name string, class policy.Class, strength policy.Strength) tool.Entry {
		return bind.Command(tool.Ref[noteInput, map[string]string]{Name: tool.Name(name)}, spec(class, policy.Read|policy.Write, strength), s.prepare, s.commit)
	}
	query := func(name string, run func(context.Context, tool.Scope, noteInput) (any, error)) tool.Entry {
		return bind.Query(tool.Ref[noteInput, any]{Name: tool.Name(name)}, spec(policy.ClassRead, policy.Read, policy.None), run)
	}
	return tool.Capability{Name: "notes", Contract: control.Contract, Mode: policy.Execute, Entries: []tool.Entry{
		command("scribble", policy.ClassScratch, policy.None), command("write_note", policy.ClassWrite, policy.Simple),
		command("burn_note", policy.ClassDangerous, policy.Preview),
		query("read_note", func(_ context.Context, _ tool.Scope, in noteInput) (any, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			return map[string]string{"text": s.notes[in.Name]}, nil
		}),
		query("panic_note", func(context.Context, tool.Scope, noteInput) (any, error) { panic("boom " + secret()) }),
		query("torn_note", func(context.Context, tool.Scope, noteInput) (any, error) { return "half", app.ErrPlanStale }),
		query("leak_note", func(context.Context, tool.Scope, noteInput) (any, error) {
			return nil, fault.New(fault.Invalid, "test_leak", "a leak").WithMessage("cannot use %s", secret()).WithDetails(map[string]string{"password": "hunter2hunter2"})
		}),
		query("wait_note", func(ctx context.Context, _ tool.Scope, _ noteInput) (any, error) { <-ctx.Done(); return nil, ctx.Err() }),
		query("long_note", func(context.Context, tool.Scope, noteInput) (any, error) { return strings.Repeat("é", 400_000), nil }),
	}}
}

// secret returns a token-shaped text that no scanner finds in this file.
func secret() string { return "gh" + "p_" + strings.Repeat("a1B2", 9) }

var me = policy.Principal{ID: "me", Grants: policy.All}

func open(t *testing.T, change ...func(*app.Options)) *fixture {
	t.Helper()
	return openWith(t, nil, change...)
}

// openWith is open with further capabilities.
func openWith(t testing.TB, more []tool.Capability, change ...func(*app.Options)) *fixture {
	t.Helper()
	h := &fixture{clock: &clock.Fake{}, store: memstore.New(), noteStore: &noteStore{notes: map[string]string{}}, log: &strings.Builder{}}
	opts := app.Options{Policy: policy.Policy{Approval: policy.ApprovalCaller, Ceiling: policy.Execute, Level: policy.ExecuteWithConfirm}}
	for _, f := range change {
		f(&opts)
	}
	core := app.Dependencies{Clock: h.clock, IDs: system.IDs{}, Tokens: system.Tokens{}, Ledger: h.store, Dated: h.store.Dated(), Audit: h.store, Settings: h.store,
		Sessions: h.store.Sessions(), Limiter: memstore.Unlimited{}, Runs: h.store.Runs(), Owner: system.Owner{}, Log: slog.New(slog.NewTextHandler(h.log, nil)),
		Redact: sync.OnceValue(func() *redact.Redactor { return redact.New(redact.Options{}) })}
	ctl := control.Capability(control.Deps{Clock: h.clock, Ledger: h.store, Runs: h.store.Runs(), Audit: h.store, Sessions: h.store.Sessions(), Settings: h.store,
		Operator: opts.Policy, Toolsets: func() []tool.Toolset { return h.Toolsets() },
		Rules: func(ctx context.Context, s ports.Settings) (policy.Resolved, error) { return h.Resolve(ctx, s) }})
	var err error
	h.core, h.caps = core, append(more, ctl, h.noteStore.capability())
	h.App, err = app.New(core, opts, h.caps...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.App.Close(context.Background())) })
	return h
}

func (h *fixture) call(name, args string, change ...func(*tool.Call)) tool.Outcome {
	c := tool.Call{Session: "s1", Principal: me, Tool: tool.Name(name), Args: json.RawMessage(args)}
	for _, f := range change {
		f(&c)
	}
	return h.App.Call(context.Background(), c)
}

func code(o tool.Outcome) string {
	var f *fault.Error
	if errors.As(o.Err, &f) {
		return string(f.Code)
	}
	return ""
}

func withToken(i *tool.ApprovalRequest) func(*tool.Call) {
	return func(c *tool.Call) { c.Token = i.Token }
}

func (h *fixture) setMode(t *testing.T, mode string) {
	t.Helper()
	require.NoError(t, h.call("set_mode", `{"mode":"`+mode+`"}`).Err)
}

func TestReadsAndScratchNeedNoConfirmation(t *testing.T) {
	h := open(t)
	o := h.call("scribble", `{"name":"a","text":"hello"}`)
	require.NoError(t, o.Err)
	assert.JSONEq(t, `{"written":"a"}`, string(o.Value))
	o = h.call("read_note", `{"name":"a"}`)
	require.NoError(t, o.Err)
	assert.JSONEq(t, `{"text":"hello"}`, string(o.Value))
}

func TestModesHoldChangesBack(t *testing.T) {
	h := open(t)
	h.setMode(t, "ask")
	o := h.call("write_note", `{"name":"a"}`)
	assert.Equal(t, "mode_forbids", code(o))
	assert.Nil(t, o.Value, "a refused write shows no plan")
	o = h.call("burn_note", `{"name":"a"}`)
	assert.Equal(t, "mode_forbids", code(o))
	assert.True(t, o.Explained, "a refused dangerous call explains itself")
	assert.JSONEq(t, `{"name":"a","text":"","version":0}`, string(o.Value))
	require.NoError(t, h.call("scribble", `{"name":"b"}`).Err)

	h.setMode(t, "plan")
	for _, name := range []string{"write_note", "burn_note"} {
		o = h.call(name, `{"name":"a","text":"x"}`)
		require.NoError(t, o.Err)
		assert.True(t, o.DryRun)
		assert.JSONEq(t, `{"name":"a","text":"x","version":1}`, string(o.Value))
	}
	assert.EqualValues(t, 1, h.noteStore.writes.Load(), "only the scribble wrote")
}

func TestTheZeroOptionsChangeNothing(t *testing.T) {
	h := open(t, func(o *app.Options) { *o = app.Options{} })
	for _, name := range []string{"scribble", "write_note", "burn_note"} {
		require.Error(t, h.call(name, `{"name":"a"}`).Err, name)
	}
	require.NoError(t, h.call("read_note", `{"name":"a"}`).Err)
	assert.Zero(t, h.noteStore.writes.Load())
}

func TestAConfirmedPlanRunsOnceAndOnlyThatPlan(t *testing.T) {
	h := open(t)
	asked := h.call("write_note", `{"name":"a","text":"1"}`)
	require.Equal(t, "confirm_token_required", code(asked))
	require.NotNil(t, asked.Request)
	assert.False(t, asked.Request.Token.IsZero())
	assert.Equal(t, "write a", asked.Request.Prompt)
	assert.JSONEq(t, `{"name":"a","text":"1","version":0}`, string(asked.Request.Plan))
	assert.Zero(t, h.noteStore.writes.Load())

	other := h.call("write_note", `{"name":"a","text":"2"}`, withToken(asked.Request))
	assert.Equal(t, "confirm_token_mismatch", code(other), "another plan")
	stranger := h.call("write_note", `{"name":"a","text":"1"}`, withToken(asked.Request), func(c *tool.Call) { c.Session = "s2" })
	assert.Equal(t, "confirm_token_mismatch", code(stranger), "another session")

	args := `{"name":"a","text":"1","confirm_token":"` + asked.Request.Token.Reveal() + `"}`
	require.NoError(t, h.call("write_note", args).Err, "refusals left the token usable")
	assert.EqualValues(t, 1, h.noteStore.writes.Load())
	assert.Equal(t, "confirm_token_used", code(h.call("write_note", args)))
}

func TestATokenIsSpentOnceUnderContention(t *testing.T) {
	h := open(t)
	asked := h.call("burn_note", `{"name":"a"}`)
	var ran atomic.Int64
	var group sync.WaitGroup
	for range 64 {
		group.Go(func() {
			if h.call("burn_note", `{"name":"a"}`, withToken(asked.Request)).Err == nil {
				ran.Add(1)
			}
		})
	}
	group.Wait()
	assert.EqualValues(t, 1, ran.Load())
	assert.EqualValues(t, 1, h.noteStore.writes.Load())
}

func TestATokenExpiresAtTheSecond(t *testing.T) {
	h := open(t)
	asked := h.call("write_note", `{"name":"a"}`)
	h.clock.Advance(confirm.DefaultTTL - time.Nanosecond)
	other := h.call("write_note", `{"name":"b"}`, withToken(asked.Request))
	assert.Equal(t, "confirm_token_mismatch", code(other), "still alive, for its own plan")
	h.clock.Advance(time.Nanosecond)
	assert.Equal(t, "confirm_token_expired", code(h.call("write_note", `{"name":"a"}`, withToken(asked.Request))))
}

func TestOldConfirmationsAreForgotten(t *testing.T) {
	h := open(t)
	old := h.call("write_note", `{"name":"a"}`)
	h.clock.Advance(confirm.DefaultTTL + 24*time.Hour)
	h.call("write_note", `{"name":"b"}`)
	assert.Equal(t, "confirm_token_expired", code(h.call("write_note", `{"name":"a"}`, withToken(old.Request))), "a day long it is known to have expired")
	h.clock.Advance(time.Second)
	h.call("write_note", `{"name":"b"}`)
	assert.Equal(t, "confirm_token_unknown", code(h.call("write_note", `{"name":"a"}`, withToken(old.Request))))
}

func TestAPlanRaisesItsStrengthAndTypingIsNeverWaived(t *testing.T) {
	h := open(t, func(o *app.Options) {
		o.Policy.Level = policy.FullAccess
		o.Policy.Tools = map[string]policy.Setting{"write_note": policy.Allowed}
		o.Policy.Auto = policy.AutoApprove{Enabled: true, Tools: []string{"write_note"}}
	})
	require.NoError(t, h.call("write_note", `{"name":"plain"}`).Err)
	asked := h.call("write_note", `{"name":"precious"}`)
	require.NotNil(t, asked.Request)
	assert.Equal(t, policy.Typed, asked.Request.Strength)
	assert.Equal(t, "precious", asked.Request.Target)
	typed := func(s string) func(*tool.Call) { return func(c *tool.Call) { c.Typed = s } }
	assert.Equal(t, "confirm_typed_value_wrong", code(h.call("write_note", `{"name":"precious"}`, withToken(asked.Request), typed("nope"))))
	assert.Equal(t, "confirm_typed_value_wrong", code(h.call("write_note", `{"name":"precious"}`, withToken(asked.Request), typed("Precious"))))
	require.NoError(t, h.call("write_note", `{"name":"precious"}`, withToken(asked.Request), typed("precious")).Err)

	asked = h.call("write_note", `{"name":"precious"}`)
	for range 2 {
		h.call("write_note", `{"name":"precious"}`, withToken(asked.Request), typed("nope"))
	}
	assert.Equal(t, "confirm_token_burnt", code(h.call("write_note", `{"name":"precious"}`, withToken(asked.Request), typed("nope"))))
	assert.Equal(t, "confirm_token_burnt", code(h.call("write_note", `{"name":"precious"}`, withToken(asked.Request), typed("precious"))))
}

func TestConfirmRepeatsTheCallThatWasShown(t *testing.T) {
	h := open(t)
	asked := h.call("write_note", `{"name":"a","text":"1"}`)
	o := h.call("confirm", `{"token":"`+asked.Request.Token.Reveal()+`"}`)
	require.NoError(t, o.Err)
	assert.JSONEq(t, `{"written":"a"}`, string(o.Value))
	assert.Equal(t, tool.Name("write_note"), o.Spec.Name, "the repeated call answers in its own contract")
	assert.Equal(t, "confirm_token_used", code(h.call("confirm", `{"token":"`+asked.Request.Token.Reveal()+`"}`)))

	asked = h.call("write_note", `{"name":"b"}`)
	require.NoError(t, h.call("confirm", `{"token":"`+asked.Request.Token.Reveal()+`","decision":"deny"}`).Err)
	assert.Equal(t, "confirm_denied", code(h.call("write_note", `{"name":"b"}`, withToken(asked.Request))))

	asked = h.call("write_note", `{"name":"c"}`)
	require.NoError(t, h.call("confirm", `{"token":"`+asked.Request.Token.Reveal()+`","decision":"always"}`).Err)
	require.NoError(t, h.call("write_note", `{"name":"d"}`).Err, "always covers the tool in this session")
	assert.Equal(t, "confirm_token_required", code(h.call("write_note", `{"name":"d"}`, func(c *tool.Call) { c.Session = "s2" })), "and in no other")
	assert.Equal(t, "confirm_token_required", code(h.call("burn_note", `{"name":"d"}`)), "and no other tool")
}

func TestUnderHumanApprovalTheCallerNeverSeesTheToken(t *testing.T) {
	h := open(t, func(o *app.Options) { o.Policy.Approval = policy.ApprovalHuman })
	asked := h.call("write_note", `{"name":"a","text":"1"}`)
	require.Equal(t, "confirm_token_required", code(asked))
	assert.True(t, asked.Request.Token.IsZero())
	again := h.call("write_note", `{"name":"a","text":"1"}`)
	assert.Equal(t, asked.Request.ID, again.Request.ID, "asking again is the same question")

	_, err := h.Answer(context.Background(), confirm.Decision{ID: asked.Request.ID, Approve: true, By: "terminal", Proof: person.AtTerminal})
	require.NoError(t, err)
	require.Equal(t, "confirm_token_required", code(h.call("write_note", `{"name":"a","text":"other"}`)), "another plan was not approved")
	require.NoError(t, h.call("write_note", `{"name":"a","text":"1"}`).Err)
	assert.EqualValues(t, 1, h.noteStore.writes.Load())
	require.Error(t, h.call("write_note", `{"name":"a","text":"1"}`).Err, "an approval is spent once")

	asked = h.call("write_note", `{"name":"b"}`)
	view, err := h.Answer(context.Background(), confirm.Decision{ID: asked.Request.ID, By: "terminal", Proof: person.AtTerminal})
	require.NoError(t, err)
	assert.Equal(t, "denied", view.State)
	_, err = h.Answer(context.Background(), confirm.Decision{ID: asked.Request.ID, Approve: true, By: "terminal", Proof: person.AtTerminal})
	require.ErrorIs(t, err, confirm.ErrAnswered, "a denial is final")
	require.ErrorContains(t, err, "already denied (terminal); the first decision counts")
}

func TestAnAnswerInTheCallCountsAsThePersons(t *testing.T) {
	h := open(t, func(o *app.Options) { o.Policy.Approval = policy.ApprovalHuman })
	asked := h.call("burn_note", `{"name":"a"}`)
	answer := func(approve bool) func(*tool.Call) {
		return func(c *tool.Call) {
			c.Decision = &confirm.Decision{ID: asked.Request.ID, Approve: approve, By: "elicitation", Proof: person.AtTerminal}
		}
	}
	assert.Equal(t, "confirm_token_mismatch", code(h.call("burn_note", `{"name":"b"}`, answer(true))), "answered for another plan")
	asked = h.call("burn_note", `{"name":"a","text":"x"}`)
	assert.Equal(t, "confirm_denied", code(h.call("burn_note", `{"name":"a","text":"x"}`, answer(false))))
	asked = h.call("burn_note", `{"name":"a","text":"y"}`)
	require.NoError(t, h.call("burn_note", `{"name":"a","text":"y"}`, answer(true)).Err)
	records, err := h.store.Tail(context.Background(), 2)
	require.NoError(t, err)
	assert.Equal(t, "elicitation", records[0].Event.ApprovedBy)
}

func TestLoweringTheModeCancelsWhatWaits(t *testing.T) {
	h := open(t)
	asked := h.call("write_note", `{"name":"a"}`)
	theirs := h.call("write_note", `{"name":"a"}`, func(c *tool.Call) { c.Session = "s2" })
	o := h.call("set_mode", `{"mode":"plan"}`)
	require.NoError(t, o.Err)
	assert.Contains(t, string(o.Value), `"canceled_confirmations":1`)
	h.setMode(t, "execute")
	assert.Equal(t, "confirm_canceled", code(h.call("write_note", `{"name":"a"}`, withToken(asked.Request))))
	require.NoError(t, h.call("write_note", `{"name":"a"}`, withToken(theirs.Request), func(c *tool.Call) { c.Session = "s2" }).Err)
}

func TestNobodyPassesTheCeiling(t *testing.T) {
	h := open(t, func(o *app.Options) { o.Policy.Ceiling = policy.Plan })
	assert.Equal(t, "mode_not_permitted", code(h.call("set_mode", `{"mode":"execute"}`)))
	assert.True(t, h.call("write_note", `{"name":"a"}`, func(c *tool.Call) { c.Mode = policy.Execute }).DryRun)
}

func TestEveryCallIsOnRecord(t *testing.T) {
	h := open(t)
	require.NoError(t, h.call("scribble", `{"name":"a","text":"`+secret()+`"}`).Err)
	asked := h.call("write_note", `{"name":"b"}`)
	require.NoError(t, h.call("write_note", `{"name":"b"}`, withToken(asked.Request)).Err)
	h.call("read_note", `{"name":"a"}`)
	h.call("panic_note", `{"name":"a"}`)
	h.call("write_note", `{"nam":"b"}`)
	h.call("nothing", `{}`)
	require.NoError(t, h.App.Close(context.Background()))
	records, err := h.store.Records(context.Background(), 0, 100)
	require.NoError(t, err)
	var seen []string
	for _, r := range records {
		seen = append(seen, strings.Trim(string(r.Event.Phase)+" "+r.Event.Tool+" "+r.Event.Code, " "))
	}
	assert.ElementsMatch(t, []string{"intent scribble", "outcome scribble", "outcome write_note confirm_token_required", "intent write_note", "outcome write_note",
		"outcome read_note", "outcome panic_note internal", "outcome write_note invalid_arguments", "outcome nothing tool_unknown"}, seen)
	assert.Contains(t, string(records[0].Event.Args), "[REDACTED:github_token]")
	n, err := audit.Verify(audit.Record{}, func(yield func(audit.Record, error) bool) {
		for _, r := range records {
			if !yield(r, nil) {
				return
			}
		}
	})
	require.NoError(t, err)
	assert.EqualValues(t, len(records), n)
}

// What the user looks at on a page is nobody else's business; whatever changes something, or is a program's, is on record all the same.
func TestPageViewsAreNoRecords(t *testing.T) {
	h := open(t)
	view := func(c *tool.Call) { c.View, c.FromUser = true, true }
	require.NoError(t, h.call("read_note", `{"name":"a"}`, view).Err)
	require.Error(t, h.call("read_note", `{"nam":"a"}`, view).Err)
	require.Error(t, h.call("write_note", `{"nam":"b"}`, view).Err)
	require.NoError(t, h.call("scribble", `{"name":"c"}`, view).Err)
	require.NoError(t, h.call("read_note", `{"name":"d"}`, func(c *tool.Call) { c.View = true }).Err)
	require.NoError(t, h.call("read_note", `{"name":"e"}`, func(c *tool.Call) { c.FromUser = true }).Err)
	require.NoError(t, h.App.Close(context.Background()))
	records, err := h.store.Records(context.Background(), 0, 100)
	require.NoError(t, err)
	var seen []string
	for _, r := range records {
		seen = append(seen, string(r.Event.Args))
	}
	assert.ElementsMatch(t, []string{`{"nam":"b"}`, `{"name":"c"}`, `{"name":"c"}`, `{"name":"d"}`, `{"name":"e"}`}, seen)
}

// deaf is an audit log that cannot be written.
type deaf struct{ ports.AuditLog }

func (deaf) Append(context.Context, ...audit.Event) error {
	return fault.New(fault.Unavailable, "store_unavailable", "the audit cannot be written")
}

func TestNoIntentNoChange(t *testing.T) {
	h := open(t)
	core := app.Dependencies{Clock: h.clock, IDs: system.IDs{}, Tokens: system.Tokens{}, Ledger: h.store, Audit: deaf{h.store}, Settings: h.store,
		Sessions: h.store.Sessions(), Limiter: memstore.Unlimited{}, Runs: h.store.Runs(), Owner: system.Owner{}, Log: slog.New(slog.DiscardHandler),
		Redact: func() *redact.Redactor { return redact.New(redact.Options{}) }}
	a, err := app.New(core, app.Options{Policy: policy.Policy{Approval: policy.ApprovalCaller, Ceiling: policy.Execute, Level: policy.ExecuteWithConfirm}}, h.noteStore.capability())
	require.NoError(t, err)
	h.App = a
	assert.Equal(t, "store_unavailable", code(h.call("scribble", `{"name":"a"}`)))
	asked := h.call("write_note", `{"name":"a"}`)
	assert.Equal(t, "store_unavailable", code(h.call("write_note", `{"name":"a"}`, withToken(asked.Request))))
	assert.Zero(t, h.noteStore.writes.Load())
	require.NoError(t, h.call("read_note", `{"name":"a"}`).Err)
	pending, err := h.store.Pending(context.Background(), ports.PendingFilter{}, h.clock.Now())
	require.NoError(t, err)
	assert.Len(t, pending, 1, "a refusal before the commit leaves the token")
}

func TestOneBrokenToolStopsNobody(t *testing.T) {
	h := open(t)
	o := h.call("panic_note", `{"name":"a"}`)
	assert.Equal(t, "internal", code(o))
	assert.NotContains(t, o.Err.Error(), "boom")
	assert.NotContains(t, o.Err.Error(), "goroutine")
	assert.Contains(t, h.log.String(), "boom")
	assert.NotContains(t, h.log.String(), secret())
	o = h.call("torn_note", `{"name":"a"}`)
	assert.Equal(t, "plan_stale", code(o))
	assert.Nil(t, o.Value, "a failure shows no half of a result")
	require.NoError(t, h.call("read_note", `{"name":"a"}`).Err)
}

func TestSecretsNeverLeave(t *testing.T) {
	h := open(t)
	require.NoError(t, h.call("scribble", `{"name":"a","text":"key `+secret()+`"}`).Err)
	o := h.call("read_note", `{"name":"a"}`)
	assert.JSONEq(t, `{"text":"key [REDACTED:github_token]"}`, string(o.Value))
	assert.Equal(t, 1, o.Redactions)
	o = h.call("leak_note", `{"name":"a"}`)
	f := fault.From(o.Err)
	assert.NotContains(t, f.Message, secret())
	details, err := json.Marshal(f.Details)
	require.NoError(t, err)
	assert.NotContains(t, string(details), "hunter2")
	asked := h.call("write_note", `{"name":"b","text":"`+secret()+`"}`)
	assert.NotContains(t, string(asked.Request.Plan), secret())
}

func TestArgumentsAreHeldToThePublishedSchema(t *testing.T) {
	h := open(t)
	o := h.call("read_note", `{"nmae":"a","name":5}`)
	require.Equal(t, "invalid_arguments", code(o))
	f := fault.From(o.Err)
	assert.Contains(t, f.Message, "'nmae' is not supported; did you mean 'name'?")
	assert.Contains(t, f.Message, "'name' must be a string")
	assert.Contains(t, fault.From(h.call("read_note", `{}`).Err).Message, "'name' is required")
	for _, args := range []string{`[]`, `null`, `5`, `"x"`, `{`} {
		assert.Error(t, h.call("read_note", args).Err, args)
	}
}

func TestResultsAreBounded(t *testing.T) {
	h := open(t)
	o := h.call("long_note", `{"name":"a"}`)
	require.NoError(t, o.Err)
	assert.True(t, o.Truncated)
	assert.LessOrEqual(t, len(o.Value), app.DefaultMaxOutput)
	assert.True(t, json.Valid(o.Value))
}

func TestACallEndsWithItsContext(t *testing.T) {
	h := open(t, func(o *app.Options) { o.Timeout = time.Millisecond })
	assert.Equal(t, "timeout", code(h.call("wait_note", `{"name":"a"}`)))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	o := h.App.Call(ctx, tool.Call{Principal: me, Tool: "wait_note", Args: json.RawMessage(`{"name":"a"}`)})
	assert.Equal(t, "canceled", code(o))
}

func TestASelectionHidesToolsAndRefusesThem(t *testing.T) {
	h := open(t, func(o *app.Options) { o.Serve = app.Selection{ReadOnly: true, Exclude: []string{"leak_note"}} })
	var names []string
	for s := range h.Specs() {
		names = append(names, string(s.Name))
	}
	assert.Contains(t, names, "scribble", "it may have something to read")
	assert.Contains(t, names, "get_policy")
	assert.NotContains(t, names, "write_note")
	assert.NotContains(t, names, "leak_note")
	assert.Equal(t, "tool_unknown", code(h.call("write_note", `{"name":"a"}`)))
	readOnly := func(c *tool.Call) { c.Principal.Grants = app.ReadOnlyPermissions }
	assert.Equal(t, "policy_denied", code(h.call("scribble", `{"name":"a"}`, readOnly)))

	reading := tool.Spec{Class: policy.ClassScratch, Effects: policy.Read | policy.Write, Reading: &tool.ReadOnlyVariant{Title: "Look", Input: json.RawMessage(`{}`)}}.ReadOnly()
	assert.Equal(t, policy.ClassRead, reading.Class, "what is left of a tool that also reads is a reading tool")
	assert.Equal(t, "Look", reading.Title)

	for _, bad := range []app.Selection{{Toolsets: []string{"nots"}}, {Tools: []string{"x"}}, {Exclude: []string{"x"}}} {
		_, err := app.New(app.Dependencies{}, app.Options{Serve: bad})
		require.Error(t, err)
	}
}

func TestSettingsRuleAtOnce(t *testing.T) {
	h := open(t)
	person.Settings(t, h.App, func(s *app.Settings) error {
		s.Tools = map[string]policy.Setting{"read_note": policy.Blocked, "write_note": policy.Allowed, "scribble": policy.AlwaysConfirm}
		return nil
	})
	assert.Equal(t, "policy_denied", code(h.call("read_note", `{"name":"a"}`)))
	require.NoError(t, h.call("write_note", `{"name":"a"}`).Err)
	asked := h.call("scribble", `{"name":"a"}`)
	require.Equal(t, "confirm_token_required", code(asked))
	require.NoError(t, h.call("confirm", `{"token":"`+asked.Request.Token.Reveal()+`"}`).Err)
	asked = h.call("scribble", `{"name":"b"}`)
	require.NoError(t, h.call("scribble", `{"name":"b","confirm_token":"`+asked.Request.Token.Reveal()+`"}`).Err, "its schema need not say so")
}

func TestDoIsTypedAllTheWay(t *testing.T) {
	h := open(t)
	ref := tool.Ref[noteInput, map[string]string]{Name: "write_note"}
	caller := h.As(me)
	_, err := app.Do(context.Background(), caller, ref, noteInput{Name: "a"})
	var ask *app.ApprovalRequiredError
	require.ErrorAs(t, err, &ask)
	require.ErrorIs(t, err, app.ErrRequired)
	out, err := app.Do(context.Background(), caller.WithToken(ask.Request.Token), ref, noteInput{Name: "a"})
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"written": "a"}, out)
}
