package app_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/control"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/person"
)

var errGate = fault.New(fault.Unconfirmed, "test_gate", "say please")

// parcel is a capability of three tools: wrap shows a plan and gets a token for ship; ship takes only such tokens; wave carries its own
// approval.
type parcel struct {
	content string
	shipped int
	looked  int // how often a plan was made for ship
}

type parcelPlan struct {
	Content string `json:"content"`
	please  bool
}

func (p parcelPlan) Hash() canon.Hash   { return canon.SumBytes("test.parcel.v1", []byte(p.Content)) }
func (p parcelPlan) TTL() time.Duration { return confirm.MaxTTL }
func (p parcelPlan) Check() error {
	if p.please || p.Content != "rude" {
		return nil
	}
	return errGate
}

type wrapped struct{ plan parcelPlan }

func (w wrapped) MarshalJSON() ([]byte, error) { return json.Marshal(w.plan) }
func (w wrapped) Offer() (tool.Name, json.RawMessage, tool.Plan) {
	return "ship", json.RawMessage(`{"yes":true}`), w.plan
}

// step is one tool's invocation.
type step struct {
	parcel *parcel
	name   tool.Name
	please bool
	look   bool // a dry run: claims to read only
}

func (s step) Decode(args json.RawMessage) (tool.Invocation, error) {
	var in struct {
		Please bool `json:"please"`
		DryRun bool `json:"dry_run"`
	}
	err := json.Unmarshal(args, &in)
	s.please, s.look = in.Please, in.DryRun
	return s, err
}

func (s step) Claims() policy.Claims {
	if s.name == "wrap" || s.look {
		return policy.Claims{Class: policy.ClassRead, Effects: policy.Read}
	}
	return policy.Claims{Class: policy.ClassDangerous, Effects: policy.Read | policy.Write}
}

func (s step) Prepare(context.Context, tool.Scope) (tool.Plan, error) {
	if s.name == "wrap" {
		return nil, nil
	}
	s.parcel.looked++
	return parcelPlan{s.parcel.content, s.please}, nil
}

func (s step) Commit(_ context.Context, _ tool.Scope, p tool.Plan) (any, error) {
	switch {
	case s.name == "wrap":
		return wrapped{parcelPlan{Content: s.parcel.content}}, nil
	case s.look:
		return p, nil
	}
	s.parcel.shipped++
	return map[string]bool{"shipped": true}, nil
}

func (p *parcel) capability() tool.Capability {
	entry := func(name tool.Name, class policy.Class, effects policy.Effects) tool.Entry {
		return tool.Entry{Handler: step{parcel: p, name: name}, Spec: tool.Spec{Name: name, Title: "Parcel", Description: "A parcel tool for tests.",
			Class: class, Effects: effects, Input: json.RawMessage(`{"type":"object"}`)}}
	}
	ship := entry("ship", policy.ClassDangerous, policy.Read|policy.Write)
	ship.Spec.Preview, ship.Spec.Confirm = "wrap", policy.Preview
	wave := entry("wave", policy.ClassDangerous, policy.Read|policy.Write)
	wave.Spec.Approved = true
	return tool.Capability{Name: "parcels", Contract: control.Contract, Mode: policy.Execute,
		Entries: []tool.Entry{entry("wrap", policy.ClassRead, policy.Read), ship, wave}}
}

func parcels(t *testing.T, change ...func(*app.Options)) (*fixture, *parcel) {
	p := &parcel{content: "book"}
	return openWith(t, []tool.Capability{p.capability()}, change...), p
}

func token(o tool.Outcome) func(*tool.Call) {
	return func(c *tool.Call) { c.Token = o.Request.Token }
}

func TestAToolOfAPreviewTakesOnlyItsTokens(t *testing.T) {
	for name, change := range map[string]func(*app.Options){
		"by default":    func(*app.Options) {},
		"full access":   func(o *app.Options) { o.Policy.Level = policy.FullAccess },
		"allowed":       func(o *app.Options) { o.Policy.Tools = map[string]policy.Setting{"ship": policy.Allowed} },
		"auto-approved": func(o *app.Options) { o.Policy.Auto = policy.AutoApprove{Enabled: true, Tools: []string{"ship"}} },
	} {
		t.Run(name, func(t *testing.T) {
			h, p := parcels(t, change)
			none := h.call("ship", `{}`)
			assert.Equal(t, "confirm_token_required", code(none))
			assert.Nil(t, none.Request, "its tokens come from wrap alone")
			assert.Equal(t, "confirm_token_unknown", code(h.call("ship", `{"confirm_token":"made-up"}`)))
			assert.Zero(t, p.looked, "no plan is made for a call that cannot be confirmed")

			shown := h.call("wrap", `{}`)
			require.NoError(t, shown.Err)
			require.NotNil(t, shown.Request)
			assert.Equal(t, h.clock.Now().Add(confirm.MaxTTL), shown.Request.ExpiresAt, "as long as the plan says")
			require.NoError(t, h.call("ship", `{}`, token(shown)).Err)
			assert.Equal(t, "confirm_token_used", code(h.call("ship", `{}`, token(shown))))
			assert.Equal(t, 1, p.shipped)
		})
	}
}

func TestAChangedPlanIsToldFromAStrangeToken(t *testing.T) {
	h, p := parcels(t)
	shown := h.call("wrap", `{}`)
	p.content = "vase"
	changed := h.call("ship", `{}`, token(shown))
	require.Equal(t, "confirm_token_mismatch", code(changed))
	var details app.PlanChange
	require.NoError(t, json.Unmarshal(fault.From(changed.Err).Details.(json.RawMessage), &details))
	assert.Equal(t, parcelPlan{Content: "vase"}.Hash(), details.Current)
	assert.Equal(t, shown.Request.PlanHash, details.Confirmed)

	other := h.call("ship", `{}`, token(shown), func(c *tool.Call) { c.Session = "somebody" })
	require.Equal(t, "confirm_token_mismatch", code(other))
	assert.Nil(t, fault.From(other.Err).Details, "another session learns nothing about the plan")

	p.content = "book"
	require.NoError(t, h.call("ship", `{}`, token(shown)).Err, "the token is good for the plan it was given for")
}

func TestAGateLeavesTheTokenGood(t *testing.T) {
	h, p := parcels(t)
	p.content = "rude"
	shown := h.call("wrap", `{}`)
	assert.Equal(t, "test_gate", code(h.call("ship", `{}`, token(shown))))
	assert.Zero(t, p.shipped)
	require.NoError(t, h.call("ship", `{"please":true}`, token(shown)).Err)
	assert.Equal(t, 1, p.shipped)
}

func TestADryRunNeedsNoConfirmation(t *testing.T) {
	h, p := parcels(t)
	o := h.call("ship", `{"dry_run":true}`)
	require.NoError(t, o.Err)
	assert.JSONEq(t, `{"content":"book"}`, string(o.Value))
	p.content = "rude"
	require.NoError(t, h.call("ship", `{"dry_run":true}`).Err, "nor does its gate matter")
	assert.Zero(t, p.shipped)
}

func TestWhatApprovesItselfWaitsForAPersonWhereOnlyPeopleMay(t *testing.T) {
	h, p := parcels(t)
	require.NoError(t, h.call("wave", `{}`).Err)
	require.Equal(t, 1, p.shipped)

	h, p = parcels(t, func(o *app.Options) { o.Policy.Approval = policy.ApprovalHuman })
	asked := h.call("wave", `{}`)
	require.Equal(t, "confirm_token_required", code(asked))
	require.NotNil(t, asked.Request)
	assert.True(t, asked.Request.Token.IsZero())
	_, err := h.Answer(t.Context(), confirm.Decision{ID: asked.Request.ID, Approve: true, By: "terminal", Proof: person.AtTerminal})
	require.NoError(t, err)
	require.NoError(t, h.call("wave", `{}`).Err)
	assert.Equal(t, 1, p.shipped)

	shown := h.call("wrap", `{}`)
	require.NoError(t, shown.Err)
	named := withToken(shown.Request)
	for _, itself := range []func(*tool.Call){named, func(c *tool.Call) { named(c); c.Typed, c.Always = "anything", true }} {
		waiting := h.call("ship", `{}`, itself)
		require.Equal(t, "confirm_token_required", code(waiting), "a token is no consent")
		require.True(t, waiting.Request.Pending)
	}
	require.Len(t, h.waiting(t), 1, "one plan, one question")
	_, err = h.Answer(t.Context(), confirm.Decision{ID: h.waiting(t)[0].ID, Approve: true, By: "terminal", Proof: person.AtTerminal})
	require.NoError(t, err)
	require.NoError(t, h.call("ship", `{}`, named).Err, "what a person approved may run once")
	assert.Equal(t, 2, p.shipped)
	assert.Equal(t, "confirm_token_used", code(h.call("ship", `{}`, named)))
}

func TestACallerBoundsItsAnswer(t *testing.T) {
	h := open(t)
	wide := h.call("long_note", `{"name":"x"}`, func(c *tool.Call) { c.MaxOutput = 1 << 20 })
	require.NoError(t, wide.Err)
	assert.False(t, wide.Truncated)
	assert.True(t, h.call("long_note", `{"name":"x"}`).Truncated)
}

// TestACallThatWaitsKeepsItsToken: a token is judged when it is presented. A call that has waited for the user goes on with it, however long that took;
// one that presents it later is told that it has expired.
func TestACallThatWaitsKeepsItsToken(t *testing.T) {
	h, p := parcels(t, human)
	shown := h.call("wrap", `{}`)
	require.NoError(t, shown.Err)
	asked := h.call("ship", `{}`, token(shown))
	require.Equal(t, "confirm_token_required", code(asked))
	h.clock.Advance(confirm.MaxTTL + time.Hour)
	approve := func() {
		_, err := h.Answer(t.Context(), confirm.Decision{ID: h.waiting(t)[0].ID, Approve: true, By: "terminal", Proof: person.AtTerminal})
		require.NoError(t, err)
	}
	approve()
	assert.Equal(t, "confirm_token_expired", code(h.call("ship", `{}`, token(shown))), "a call that has not waited")
	assert.Zero(t, p.shipped)
	waited := func(c *tool.Call) { c.ApprovalDigest = asked.Request.Digest }
	require.NoError(t, h.call("ship", `{}`, token(shown), waited).Err)
	assert.Equal(t, 1, p.shipped)
	assert.Equal(t, "confirm_token_used", code(h.call("ship", `{}`, token(shown), waited)))

	shown = h.call("wrap", `{}`)
	asked = h.call("ship", `{}`, token(shown))
	h.clock.Advance(confirm.MaxTTL + time.Hour)
	approve()
	p.content = "vase"
	again := h.call("ship", `{}`, token(shown), func(c *tool.Call) { c.ApprovalDigest = asked.Request.Digest })
	assert.Equal(t, "confirm_token_mismatch", code(again), "the plan is worked out again")
	assert.Equal(t, 1, p.shipped)
}
