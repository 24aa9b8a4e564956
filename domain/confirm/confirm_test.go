package confirm_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
)

var (
	start   = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	expiry  = start.Add(confirm.DefaultTTL)
	binding = confirm.Binding{Session: "s-1", Principal: "me", Tool: "deploy_apply", Subject: canon.SumBytes("test", []byte("plan"))}
)

// seat is the proof of a decision in a terminal.
var seat = confirm.Proof{Surface: confirm.SurfaceTerminal, User: "me", TTY: "/dev/pts/1"}

func grant() confirm.Request {
	return confirm.Request{
		ID: "cf_1", Digest: confirm.NewToken("secret").Digest(), Binding: binding, Strength: policy.Typed, Target: "work",
		IssuedAt: start, ExpiresAt: expiry,
	}
}

// unknown is a state that no program wrote: a newer one did, or a damaged disk.
const unknown confirm.State = 9

type step struct {
	to  confirm.State
	err error
}

// walk is the whole state machine, by hand: for each operation, what it does from pending, approved, spent, denied, canceled, burnt and
// from a state nobody knows, when the binding and the typed name are right.
var walk = map[string]struct {
	do   func(g *confirm.Request, now time.Time) error
	from [7]step
}{
	"check": {
		func(g *confirm.Request, now time.Time) error { return g.Check(binding, "work", now) },
		[7]step{{confirm.Pending, nil}, {confirm.Approved, nil}, used, denied, canceled, burnt, lost},
	},
	"redeem": {
		func(g *confirm.Request, now time.Time) error { return g.Redeem(binding, "work", now) },
		[7]step{{confirm.Spent, nil}, {confirm.Spent, nil}, used, denied, canceled, burnt, lost},
	},
	"approve": {
		func(g *confirm.Request, now time.Time) error { return g.Approve("terminal", "work", now) },
		[7]step{{confirm.Approved, nil}, {confirm.Approved, confirm.ErrAnswered}, used, {confirm.Denied, confirm.ErrAnswered}, canceled, burnt, lost},
	},
	"deny": {
		func(g *confirm.Request, now time.Time) error { return g.Deny("terminal", now) },
		[7]step{{confirm.Denied, nil}, {confirm.Approved, confirm.ErrAnswered}, used, {confirm.Denied, confirm.ErrAnswered}, canceled, burnt, lost},
	},
	"cancel": {
		func(g *confirm.Request, now time.Time) error { return g.Cancel(now) },
		[7]step{{confirm.Canceled, nil}, {confirm.Canceled, nil}, used, denied, canceled, burnt, lost},
	},
	"answer yes": {
		func(g *confirm.Request, now time.Time) error {
			return confirm.Decision{Approve: true, Typed: "work", By: "terminal", Proof: seat}.Settle(g, now)
		},
		[7]step{{confirm.Approved, nil}, {confirm.Approved, confirm.ErrAnswered}, used, {confirm.Denied, confirm.ErrAnswered}, canceled, burnt, lost},
	},
	"answer no": {
		func(g *confirm.Request, now time.Time) error { return confirm.Decision{By: "terminal"}.Settle(g, now) },
		[7]step{denied, {confirm.Approved, confirm.ErrAnswered}, used, {confirm.Denied, confirm.ErrAnswered}, canceled, burnt, lost},
	},
}

// What final states answer, and stay.
var (
	used     = step{confirm.Spent, confirm.ErrUsed}
	denied   = step{confirm.Denied, confirm.ErrDenied}
	canceled = step{confirm.Canceled, confirm.ErrCanceled}
	burnt    = step{confirm.Burnt, confirm.ErrBurnt}
	lost     = step{unknown, confirm.ErrUsed}
)

var states = [7]confirm.State{confirm.Pending, confirm.Approved, confirm.Spent, confirm.Denied, confirm.Canceled, confirm.Burnt, unknown}

func TestEveryOperationFromEveryState(t *testing.T) {
	for name, op := range walk {
		for i, state := range states {
			t.Run(name+" from "+state.String(), func(t *testing.T) {
				g := grant()
				g.State = state
				err := op.do(&g, expiry.Add(-time.Nanosecond))
				require.ErrorIs(t, err, op.from[i].err)
				assert.Equal(t, op.from[i].to, g.State)

				g = grant()
				g.State = state
				want := step{state, op.from[i].err}
				if state == confirm.Pending || state == confirm.Approved {
					want.err = confirm.ErrExpired
				}
				before := g
				require.ErrorIs(t, op.do(&g, expiry), want.err, "once it has expired")
				assert.Equal(t, before, g, "an expired grant never changes")
			})
		}
	}
}

func TestFinal(t *testing.T) {
	for i, want := range [7]bool{false, false, true, true, true, true, true} {
		g := grant()
		g.State = states[i]
		assert.Equal(t, want, g.Final(), states[i])
	}
}

func TestStateNames(t *testing.T) {
	for i, want := range [7]string{"pending", "approved", "spent", "denied", "canceled", "burnt", "invalid"} {
		assert.Equal(t, want, states[i].String())
	}
}

func TestExpiresAtTheInstant(t *testing.T) {
	for now, want := range map[time.Time]bool{
		start: false, expiry.Add(-time.Second): false, expiry.Add(-time.Nanosecond): false,
		expiry: true, expiry.Add(time.Nanosecond): true, expiry.In(time.FixedZone("east", 3600)): true,
	} {
		g := grant()
		assert.Equal(t, want, g.Expired(now), now)
	}
	var never confirm.Request
	assert.True(t, never.Expired(start), "a grant without an expiry has expired")
}

func TestTTLs(t *testing.T) {
	assert.Equal(t, []time.Duration{time.Minute, 5 * time.Minute, 10 * time.Minute}, []time.Duration{confirm.MinTTL, confirm.DefaultTTL, confirm.MaxTTL})
}

func TestBoundToEachField(t *testing.T) {
	for name, change := range map[string]func(*confirm.Binding){
		"session":   func(b *confirm.Binding) { b.Session = "" },
		"principal": func(b *confirm.Binding) { b.Principal = "me " },
		"tool":      func(b *confirm.Binding) { b.Tool = "deploy" },
		"subject":   func(b *confirm.Binding) { b.Subject[0] ^= 0x80 },
		"no plan":   func(b *confirm.Binding) { b.Subject = canon.Hash{} },
		"nothing":   func(b *confirm.Binding) { *b = confirm.Binding{} },
	} {
		for _, state := range []confirm.State{confirm.Pending, confirm.Approved} {
			g := grant()
			g.State = state
			b := binding
			change(&b)
			before := g
			require.ErrorIs(t, g.Check(b, "work", start), confirm.ErrMismatch, name)
			require.ErrorIs(t, g.Redeem(b, "wrong", start), confirm.ErrMismatch, name)
			assert.Equal(t, before, g, "%s: somebody else's token spends nothing and counts no miss", name)
			require.NoError(t, g.Redeem(binding, "work", start))
		}
	}
}

func TestTypedMisses(t *testing.T) {
	type try struct {
		typed  string
		err    error
		misses int
	}
	for name, c := range map[string]struct {
		strength policy.Strength
		target   string
		tries    []try
	}{
		"right at once":        {policy.Typed, "work", []try{{"work", nil, 0}}},
		"right after two":      {policy.Typed, "work", []try{{"wrk", confirm.ErrTyped, 1}, {"Work", confirm.ErrTyped, 2}, {"work", nil, 2}}},
		"three burn":           {policy.Typed, "work", []try{{"a", confirm.ErrTyped, 1}, {"b", confirm.ErrTyped, 2}, {"c", confirm.ErrBurnt, 3}, {"work", confirm.ErrBurnt, 3}}},
		"nothing is no miss":   {policy.Typed, "work", []try{{"", confirm.ErrTyped, 0}, {"", confirm.ErrTyped, 0}, {"", confirm.ErrTyped, 0}, {"", confirm.ErrTyped, 0}, {"work", nil, 0}}},
		"space counts":         {policy.Typed, "work", []try{{" work", confirm.ErrTyped, 1}, {"work ", confirm.ErrTyped, 2}, {"work\n", confirm.ErrBurnt, 3}}},
		"no target, no way":    {policy.Typed, "", []try{{"", confirm.ErrTyped, 0}, {"x", confirm.ErrTyped, 1}, {"", confirm.ErrTyped, 1}}},
		"preview asks nothing": {policy.Preview, "work", []try{{"wrong", nil, 0}}},
		"simple asks nothing":  {policy.Simple, "work", []try{{"", nil, 0}}},
		"unknown strength":     {policy.Typed + 1, "work", []try{{"", confirm.ErrTyped, 0}, {"work", nil, 0}}},
	} {
		t.Run(name, func(t *testing.T) {
			for how, do := range map[string]func(*confirm.Request, string) error{
				"check":   func(g *confirm.Request, typed string) error { return g.Check(binding, typed, start) },
				"redeem":  func(g *confirm.Request, typed string) error { return g.Redeem(binding, typed, start) },
				"approve": func(g *confirm.Request, typed string) error { return g.Approve("console", typed, start) },
			} {
				g := grant()
				g.Strength, g.Target = c.strength, c.target
				for i, try := range c.tries {
					require.ErrorIs(t, do(&g, try.typed), try.err, "%s, try %d", how, i+1)
					assert.Equal(t, try.misses, g.Misses, "%s, try %d", how, i+1)
				}
				assert.Equal(t, g.Misses >= confirm.MaxMisses, g.State == confirm.Burnt)
			}
		})
	}
}

func TestMissesAddUpOverAllWays(t *testing.T) {
	g := grant()
	require.ErrorIs(t, g.Check(binding, "a", start), confirm.ErrTyped)
	require.ErrorIs(t, g.Approve("console", "b", start), confirm.ErrTyped)
	require.ErrorIs(t, g.Redeem(binding, "c", start), confirm.ErrBurnt)
}

func TestTypedMessageSaysWhatIsLeft(t *testing.T) {
	g := grant()
	assert.ErrorContains(t, g.Check(binding, "", start), `type "work" as typed_value`)
	assert.ErrorContains(t, g.Check(binding, "a", start), "2 of 3 tries are left")
	assert.ErrorContains(t, g.Check(binding, "b", start), "1 of 3 tries are left")
}

func TestOnlyAPersonAnswersHumanOnly(t *testing.T) {
	g := grant()
	g.HumanOnly = true
	before := g
	require.ErrorIs(t, g.Check(binding, "work", start), confirm.ErrPending)
	require.ErrorIs(t, g.Redeem(binding, "work", start), confirm.ErrPending)
	require.ErrorIs(t, g.Redeem(binding, "wrong", start), confirm.ErrPending)
	assert.Equal(t, before, g, "a token in the caller's hands neither spends nor burns it")
	require.ErrorIs(t, g.Approve("console", "", start), confirm.ErrTyped, "a person types the name too")
	require.NoError(t, g.Approve("console", "work", start))
	assert.Equal(t, "console", g.Answerer)
	require.ErrorIs(t, g.Redeem(confirm.Binding{}, "", start), confirm.ErrMismatch, "for this call alone")
	require.NoError(t, g.Redeem(binding, "", start), "and the caller need not type it again")
	require.ErrorIs(t, g.Redeem(binding, "", start), confirm.ErrUsed)
}

func TestFirstApprovalCounts(t *testing.T) {
	g := grant()
	require.NoError(t, g.Approve("console", "work", start))
	require.ErrorIs(t, g.Approve("terminal", "work", start), confirm.ErrAnswered)
	require.ErrorIs(t, g.Deny("terminal", start), confirm.ErrAnswered)
	assert.Equal(t, "console", g.Answerer)
}

func TestZeroGrantLetsNothingPass(t *testing.T) {
	var g confirm.Request
	require.Error(t, g.Redeem(confirm.Binding{}, "", start))
	require.Error(t, g.Approve("console", "", start))
}

func TestTokenHides(t *testing.T) {
	token := confirm.NewToken("5e12e7")
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%p", "%c", "%20s"} {
		for _, value := range []any{token, &token, []confirm.Token{token}, struct{ T confirm.Token }{token}, struct{ t confirm.Token }{token}} {
			text := fmt.Sprintf(verb, value)
			assert.NotContains(t, text, "5e12e7", "%s of %T", verb, value)
			assert.NotContains(t, text, "356531326537", "%s of %T", verb, value)
		}
	}
	raw, err := json.Marshal(map[string]any{"token": token})
	require.NoError(t, err)
	assert.NotContains(t, string(raw), "5e12e7")
	assert.Equal(t, "5e12e7", token.Reveal())
	assert.Equal(t, "[token]", token.String())
	assert.Empty(t, confirm.Token{}.String())
	assert.Empty(t, confirm.Token{}.Reveal())
	assert.True(t, confirm.NewToken("").IsZero())
	assert.True(t, confirm.Token{}.IsZero())
	assert.False(t, token.IsZero())
}

func TestDigest(t *testing.T) {
	d := confirm.NewToken("secret").Digest()
	assert.Regexp(t, `^[0-9a-f]{64}$`, d.String())
	assert.Equal(t, d, confirm.NewToken("secret").Digest())
	assert.NotEqual(t, d, confirm.NewToken("secret ").Digest())
	assert.Equal(t, canon.SumBytes("confirm.token.v1", []byte("secret")).Hex(), d.String(), "a digest stored today must be found tomorrow")
}

func TestViewShowsNoSecret(t *testing.T) {
	g := grant()
	g.Args, g.Plan, g.Prompt = json.RawMessage(`{"a":1}`), json.RawMessage(`{"b":2}`), "Deploy?"
	raw, err := json.Marshal(confirm.Views([]confirm.Request{g}))
	require.NoError(t, err)
	assert.NotContains(t, string(raw), g.Digest.String())
	assert.JSONEq(t, `[{"id":"cf_1","tool":"deploy_apply","strength":"type","risk":"high","prompt":"Deploy?","target":"work","state":"pending",
		"plan_hash":"`+binding.Subject.String()+`","plan":{"b":2},"issued_at":"2026-01-02T03:04:05Z","expires_at":"2026-01-02T03:09:05Z"}]`, string(raw))
	raw, err = json.Marshal(confirm.Views(nil))
	require.NoError(t, err)
	assert.Equal(t, "[]", string(raw))
}

// TestWhatAnAlwaysAllows: in words where a plan has words for its scope, with what is bound and what is not.
func TestWhatAnAlwaysAllows(t *testing.T) {
	plan := canon.SumBytes("t", []byte("plan"))
	g := confirm.Request{ID: "cf_1", Binding: confirm.Binding{Tool: "run_script", Subject: plan}, Scope: "0449a6d4/build@5f2c", Prompt: "run script build of shop: node build.js"}
	words := func(scope, covers string) string {
		g.Scope, g.Covers = scope, covers
		return g.View().AlwaysTerms()
	}
	assert.Equal(t, "script build of shop (run_script), as it reads now, with these arguments, for at most 12 hours; not bound: how often it runs; the contents of other files",
		words("0449a6d4/build@5f2c", "script build of shop"))
	assert.Equal(t, "script build of shop", g.SessionGrant("terminal", time.Time{}).About())
	assert.Equal(t, "run_script: script build of shop", g.SessionGrant("terminal", time.Time{}).String())
	assert.Equal(t, "run_script of 0449a6d4/build, as it reads now, with these arguments, for at most 12 hours; not bound: how often it runs; the contents of other files",
		words("0449a6d4/build@5f2c", ""))
	assert.Equal(t, "run_script with these arguments and this plan, for at most 12 hours; not bound: how often it runs", words(confirm.PlanScope("0449a6d4", plan), "script build of shop"))
	assert.Equal(t, "run script build of shop: node build.js (this plan only)", g.SessionGrant("terminal", time.Time{}).About())
	assert.Equal(t, "run_script of shop, for at most 12 hours; not bound: other arguments and contents; how often it runs", words("shop", ""))
	assert.Equal(t, "shop", g.SessionGrant("terminal", time.Time{}).About())
}
