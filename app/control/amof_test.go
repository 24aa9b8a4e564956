package control_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/control"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/redact"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
	"github.com/countersign-dev/countersign/internal/testkit/memstore"
)

// pushing is the plan of amof_push. Its state is the fixture's.
type pushing struct {
	State int `json:"state"`
	typed bool
}

func (p pushing) Hash() canon.Hash { return canon.SumBytes("test", []byte{byte(p.State)}) }
func (p pushing) Target() string   { return "Demo" }
func (p pushing) Strength() policy.Strength {
	if p.typed {
		return policy.Typed
	}
	return policy.Simple
}

type pushInput struct {
	Mode  string `json:"mode,omitempty"`
	Typed bool   `json:"typed,omitempty"`
}

func (in pushInput) CallMode() string { return in.Mode }

// fixture is a core with a tool that needs approval, and the control tools under the amof contract's names.
type fixture struct {
	*app.App
	t        *testing.T
	clock    *clock.Fake
	state    int // of what is pushed
	pushed   int
	ceiling  policy.Mode
	standard policy.Mode
	standing func(context.Context, tool.Scope) (control.SessionStatus, error)
}

func open(t *testing.T, change ...func(*fixture)) *fixture {
	t.Helper()
	h := &fixture{t: t, clock: &clock.Fake{}, ceiling: policy.Execute, standard: policy.Ask}
	for _, f := range change {
		f(h)
	}
	store := memstore.New()
	core := app.Dependencies{Clock: h.clock, IDs: system.IDs{}, Tokens: system.Tokens{}, Ledger: store, Audit: store, Settings: store, Sessions: store.Sessions(), Limiter: memstore.Unlimited{},
		Runs: store.Runs(), Owner: system.Owner{}, Redact: func() *redact.Redactor { return redact.New(redact.Options{}) }, Log: slog.New(slog.DiscardHandler)}
	operator := policy.Policy{Approval: policy.ApprovalCaller, Ceiling: policy.Execute, Level: policy.ExecuteWithConfirm}
	deps := control.Deps{Clock: h.clock, Ledger: store, Runs: store.Runs(), Audit: store, Sessions: store.Sessions(), Settings: store, Operator: operator,
		Toolsets: func() []tool.Toolset { return nil }, Ceiling: func() policy.Mode { return h.ceiling }, Default: func() policy.Mode { return h.standard }}
	h.standing = control.SessionStatusOf(deps)
	spec := tool.Spec{Title: "Push", Description: "A tool for tests.", Class: policy.ClassDangerous, Effects: policy.Read | policy.Write, Confirm: policy.Simple, ReaskOnChange: true}
	push := bind.Command(tool.Ref[pushInput, map[string]int]{Name: "amof_push"}, spec,
		func(_ context.Context, _ tool.Scope, in pushInput) (pushing, error) {
			return pushing{h.state, in.Typed}, nil
		},
		func(context.Context, tool.Scope, pushing) (map[string]int, error) {
			h.pushed++
			return map[string]int{"pushed": h.pushed}, nil
		})
	var err error
	h.App, err = app.New(core, app.Options{Policy: operator}, tool.Capability{Name: "ecosystems", Contract: "amof.v1", Mode: h.standard, Ceiling: h.ceiling, Entries: append(control.AMOFTools(deps), push)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close(context.Background())) })
	return h
}

type args = map[string]any

func (h *fixture) call(name string, in args, session ...string) tool.Outcome {
	h.t.Helper()
	if in == nil {
		in = args{}
	}
	doc, err := json.Marshal(in)
	require.NoError(h.t, err)
	c := tool.Call{Session: "s", Principal: policy.Principal{ID: "me", Grants: policy.All}, Tool: tool.Name(name), Args: doc}
	if len(session) > 0 {
		c.Session = session[0]
	}
	return h.Call(h.t.Context(), c)
}

// does returns a call that goes well.
func (h *fixture) does(name string, in args) args {
	h.t.Helper()
	o := h.call(name, in)
	require.NoError(h.t, o.Err)
	var out args
	require.NoError(h.t, json.Unmarshal(o.Value, &out))
	return out
}

// asked returns the token of a push that has to be confirmed.
func (h *fixture) asked(in args) string {
	h.t.Helper()
	o := h.call("amof_push", in)
	require.ErrorIs(h.t, o.Err, app.ErrRequired)
	return o.Request.Token.Reveal()
}

func (h *fixture) mode(mode string) args {
	h.t.Helper()
	return h.does("amof_set_mode", args{"mode": mode})
}

func TestSetMode(t *testing.T) {
	h := open(t)
	previous := "ask"
	for _, mode := range []string{"ask", "plan", "execute", "ask", "execute", "plan", "ask"} { // any transition
		a := h.mode(mode)
		assert.Equal(t, args{"status": "success", "mode": mode, "previous_mode": previous, "max_mode": "execute", "canceled_confirmations": 0.0, "_text": args{"summary": "Set mode " + mode}}, a)
		previous = mode
	}
	o := h.call("amof_set_mode", args{"mode": "sudo"})
	require.ErrorIs(t, o.Err, tool.ErrArguments)
	assert.Equal(t, "ask", h.mode("ask")["previous_mode"], "a bad value changes nothing")
}

func TestTheCeiling(t *testing.T) {
	h := open(t, func(h *fixture) { h.ceiling = policy.Plan })
	require.ErrorIs(t, h.call("amof_set_mode", args{"mode": "execute"}).Err, policy.ErrCeiling)
	assert.Equal(t, "plan", h.mode("plan")["max_mode"])
	require.ErrorIs(t, h.call("amof_push", args{"mode": "execute"}).Err, policy.ErrCeiling, "nor does a call's own mode pass it")
	assert.Zero(t, h.pushed)
}

// TestTheToolsetsOwnDefault: it is the mode of a session without one.
func TestTheToolsetsOwnDefault(t *testing.T) {
	h := open(t, func(h *fixture) { h.standard = policy.Execute })
	s, err := h.standing(t.Context(), tool.Scope{Session: "s", Principal: policy.Principal{ID: "me"}})
	require.NoError(t, err)
	assert.Equal(t, control.SessionStatus{Mode: policy.Execute, Ceiling: policy.Execute}, s)
	h.does("amof_confirm", args{"token": h.asked(nil)})
	assert.Equal(t, 1, h.pushed)
	assert.Equal(t, "execute", h.mode("ask")["previous_mode"])
}

func TestConfirm(t *testing.T) {
	for name, c := range map[string]struct {
		in     args // of the push
		answer args
		want   *fault.Error
	}{
		"yes":                      {nil, args{"decision": "yes"}, nil},
		"no decision is yes":       {nil, nil, nil},
		"typed":                    {args{"typed": true}, args{"typed_value": "Demo"}, nil},
		"typed with blanks around": {args{"typed": true}, args{"typed_value": " Demo\n"}, nil},
		"typed in another case":    {args{"typed": true}, args{"typed_value": "demo"}, confirm.ErrTyped},
		"typed nothing":            {args{"typed": true}, nil, confirm.ErrTyped},
		"a decision that is none":  {nil, args{"decision": "always"}, tool.ErrArguments},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t)
			h.mode("execute")
			in := args{"token": h.asked(c.in)}
			for k, v := range c.answer {
				in[k] = v
			}
			o := h.call("amof_confirm", in)
			if c.want != nil {
				require.ErrorIs(t, o.Err, c.want)
				assert.Zero(t, h.pushed)
				return
			}
			require.NoError(t, o.Err)
			assert.Equal(t, 1, h.pushed)
			assert.True(t, o.Confirmed)
			assert.Equal(t, tool.Name("amof_push"), o.Spec.Name, "the answer is that of the tool")
			require.ErrorIs(t, h.call("amof_confirm", in).Err, confirm.ErrUsed, "a token is good once")
			assert.Equal(t, 1, h.pushed)
		})
	}
}

func TestWhatConfirmsNothing(t *testing.T) {
	for name, c := range map[string]struct {
		given func(h *fixture, token string) string // the token that is sent
		want  *fault.Error
	}{
		"an unknown token": {func(*fixture, string) string { return "6f1c0000-0000-4000-8000-000000000000" }, confirm.ErrUnknown},
		"another session's": {func(h *fixture, token string) string {
			for _, name := range []string{"amof_confirm", "amof_cancel_confirm"} {
				o := h.call(name, args{"token": token}, "other")
				require.ErrorIs(h.t, o.Err, confirm.ErrUnknown)
				assert.NotContains(h.t, o.Err.Error(), "cf_", "nor is told whose it is")
			}
			h.does("amof_confirm", args{"token": token})
			h.pushed = 0
			return token
		}, confirm.ErrUsed},
		"after five minutes": {func(h *fixture, token string) string { h.clock.Advance(5 * time.Minute); return token }, confirm.ErrExpired},
		"said no": {func(h *fixture, token string) string {
			a := h.does("amof_confirm", args{"token": token, "decision": "no"})
			assert.Equal(h.t, args{"status": "cancelled", "tool": "amof_push", "_text": args{"summary": "Cancelled the confirmation of amof_push"}}, a)
			return token
		}, confirm.ErrCanceled},
		"cancelled": {func(h *fixture, token string) string {
			assert.Equal(h.t, "cancelled", h.does("amof_cancel_confirm", args{"token": token})["status"])
			require.ErrorIs(h.t, h.call("amof_cancel_confirm", args{"token": token}).Err, confirm.ErrCanceled)
			return token
		}, confirm.ErrCanceled},
		"the mode was lowered": {func(h *fixture, token string) string {
			a := h.mode("plan")
			assert.Equal(h.t, 1.0, a["canceled_confirmations"])
			assert.Equal(h.t, args{"summary": "Set mode plan, cancelled what waited for confirmation (1)"}, a["_text"])
			return token
		}, control.ErrModeChanged},
		"it was lowered and raised again":  {func(h *fixture, token string) string { h.mode("ask"); h.mode("execute"); return token }, confirm.ErrCanceled},
		"the operator lowered the ceiling": {func(h *fixture, token string) string { h.ceiling = policy.Plan; return token }, control.ErrModeChanged},
		"what was shown has changed":       {func(h *fixture, token string) string { h.state++; return token }, confirm.ErrMismatch},
		"a newer question took its place":  {func(h *fixture, token string) string { h.state++; h.asked(nil); return token }, confirm.ErrCanceled},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t)
			h.mode("execute")
			token := c.given(h, h.asked(nil))
			o := h.call("amof_confirm", args{"token": token})
			require.ErrorIs(t, o.Err, c.want)
			assert.Zero(t, h.pushed)
		})
	}
}

func TestThreeMissesVoidAToken(t *testing.T) {
	h := open(t)
	h.mode("execute")
	token := h.asked(args{"typed": true})
	for _, want := range []*fault.Error{confirm.ErrTyped, confirm.ErrTyped, confirm.ErrBurnt} {
		require.ErrorIs(t, h.call("amof_confirm", args{"token": token, "typed_value": "x"}).Err, want)
	}
	require.ErrorIs(t, h.call("amof_confirm", args{"token": token, "typed_value": "Demo"}).Err, confirm.ErrBurnt)
	assert.Zero(t, h.pushed)
}

// TestACallsOwnMode: it applies to its approval too, in any mode of the session.
func TestACallsOwnMode(t *testing.T) {
	h := open(t)
	h.does("amof_confirm", args{"token": h.asked(args{"mode": "execute"})})
	assert.Equal(t, 1, h.pushed)
	token := h.asked(args{"mode": "execute"})
	assert.Equal(t, 1.0, h.mode("ask")["canceled_confirmations"])
	require.ErrorIs(t, h.call("amof_confirm", args{"token": token}).Err, control.ErrModeChanged)
}

func TestAFreshQuestionAfterAChange(t *testing.T) {
	h := open(t)
	h.mode("execute")
	token := h.asked(nil)
	h.state++
	o := h.call("amof_confirm", args{"token": token})
	require.ErrorIs(t, o.Err, confirm.ErrMismatch)
	require.NotNil(t, o.Request)
	h.does("amof_confirm", args{"token": o.Request.Token.Reveal()})
	assert.Equal(t, 1, h.pushed)
}

func TestWhatWaits(t *testing.T) {
	h := open(t)
	h.mode("execute")
	assert.Equal(t, args{"count": 0.0, "confirmations": []any{}, "_text": args{"summary": "Listed confirmations that wait for an answer (0)"}}, h.does("amof_list_confirmations", nil))
	token := h.asked(nil)
	a := h.does("amof_list_confirmations", nil)
	assert.Equal(t, 1.0, a["count"])
	doc, err := json.Marshal(a)
	require.NoError(t, err)
	assert.NotContains(t, string(doc), token)
	o := h.call("amof_list_confirmations", nil, "other")
	require.NoError(t, o.Err)
	assert.Contains(t, string(o.Value), `"count":0`, "another session's are its own")
	s, err := h.standing(t.Context(), tool.Scope{Session: "s", Principal: policy.Principal{ID: "me"}})
	require.NoError(t, err)
	assert.Equal(t, control.SessionStatus{Mode: policy.Execute, Ceiling: policy.Execute, Pending: 1}, s)
}
