package policy_test

import (
	"encoding"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/policy"
)

func TestVerdictsAreOrdered(t *testing.T) {
	assert.IsIncreasing(t, []policy.Verdict{policy.Deny, policy.Explain, policy.DryRun, policy.Confirm, policy.Allow})
	assert.IsIncreasing(t, []policy.Strength{policy.None, policy.Simple, policy.Preview, policy.Typed})
	assert.IsIncreasing(t, []policy.Mode{policy.ModeUnset, policy.Ask, policy.Plan, policy.Execute})
	assert.IsIncreasing(t, []policy.Level{policy.LevelUnset, policy.ReadOnly, policy.ExecuteWithConfirm, policy.FullAccess})
	assert.IsIncreasing(t, []policy.Risk{policy.RiskNone, policy.RiskLow, policy.RiskMedium, policy.RiskHigh})
}

func TestAssessmentsOnlyRaise(t *testing.T) {
	base := policy.Assessment{Strength: policy.Preview, Human: policy.Simple, Risk: policy.RiskMedium, Scope: "ignored", Action: policy.ActionAutoApprove}
	for _, c := range []struct{ have, want policy.Assessment }{
		{policy.Assessment{}, policy.Assessment{Strength: policy.Preview, Human: policy.Simple, Risk: policy.RiskMedium}},
		{policy.Assessment{Strength: policy.Simple, Risk: policy.RiskLow}, policy.Assessment{Strength: policy.Preview, Human: policy.Simple, Risk: policy.RiskMedium}},
		{policy.Assessment{Strength: policy.Typed, Human: policy.Preview, Risk: policy.RiskHigh, Action: policy.ActionDeny, Scope: "s"},
			policy.Assessment{Strength: policy.Typed, Human: policy.Preview, Risk: policy.RiskHigh, Action: policy.ActionDeny, Scope: "s"}},
	} {
		assert.Equal(t, c.want, c.have.Raised(base))
	}
}

func TestEffects(t *testing.T) {
	assert.Equal(t, "", policy.Effects(0).String())
	assert.Equal(t, "read,write,delete,exec,network", policy.All.String())
	assert.Equal(t, "write,delete,exec", policy.Mutating.String())
	assert.Zero(t, policy.Mutating&(policy.Read|policy.Network))
}

func TestClassPermits(t *testing.T) {
	for e := policy.Effects(0); e <= policy.All; e++ {
		assert.False(t, policy.ClassUnknown.Permits(e))
		assert.False(t, policy.Class(5).Permits(e))
		assert.False(t, policy.Class(255).Permits(e))
		assert.Equal(t, e&policy.Mutating == 0, policy.ClassRead.Permits(e), "read %s", e)
		assert.Equal(t, e&policy.Exec == 0, policy.ClassScratch.Permits(e), "scratch %s", e)
		assert.True(t, policy.ClassWrite.Permits(e))
		assert.True(t, policy.ClassDangerous.Permits(e))
	}
}

// TestMissingNamesTheEffects shows what a refusal tells: exactly what the principal lacks, also what the tool forgot to claim.
func TestMissingNamesTheEffects(t *testing.T) {
	for _, c := range []struct {
		class                    policy.Class
		claimed, grants, missing policy.Effects
	}{
		{policy.ClassRead, policy.Read, 0, policy.Read},
		{policy.ClassRead, 0, 0, policy.Read},
		{policy.ClassRead, policy.Read | policy.Network, policy.Read, policy.Network},
		{policy.ClassRead, policy.Network, policy.Network, policy.Read},
		{policy.ClassScratch, 0, policy.Write, policy.Read},
		{policy.ClassScratch, policy.Read, policy.Read, 0}, // set_mode: a session's own state
		{policy.ClassScratch, policy.Write, policy.Read, policy.Write},
		{policy.ClassWrite, policy.Read, policy.Read, policy.Write},
		{policy.ClassWrite, policy.Exec, policy.Read | policy.Write, policy.Exec},
		{policy.ClassDangerous, policy.Delete | policy.Exec, policy.Write, policy.Delete | policy.Exec},
		{policy.ClassDangerous, 0, policy.Read, policy.Write},
		{policy.ClassDangerous, policy.Exec, policy.Exec, 0},
	} {
		p := policy.Policy{Ceiling: policy.Execute, Level: policy.FullAccess, Mode: policy.Execute}
		d := p.Evaluate(policy.Request{Claims: policy.Claims{Class: c.class, Effects: c.claimed}, Principal: policy.Principal{Grants: c.grants}})
		assert.Equal(t, c.missing, d.Missing, "%+v", c)
		assert.Equal(t, c.missing == 0, d.Verdict == policy.Allow, "%+v", c)
	}
}

// TestExplicitConfirmAsksAtLeastSimple: a tool of strength none that somebody set to confirm has to be asked about somehow.
func TestExplicitConfirmAsksAtLeastSimple(t *testing.T) {
	p := policy.Policy{Ceiling: policy.Execute, Level: policy.FullAccess, Mode: policy.Execute,
		Tools: map[string]policy.Setting{"t": policy.AlwaysConfirm}}
	for s, want := range []policy.Strength{policy.Simple, policy.Simple, policy.Preview, policy.Typed, policy.Typed} {
		d := p.Evaluate(policy.Request{Tool: "t", Strength: policy.Strength(s), Principal: policy.Principal{Grants: policy.All},
			Claims: policy.Claims{Class: policy.ClassWrite, Effects: policy.Write}})
		assert.Equal(t, policy.Confirm, d.Verdict)
		assert.Equal(t, want, d.Strength)
	}
}

func TestWordsRoundTrip(t *testing.T) {
	roundTrip(t, new(policy.Class), policy.ClassUnknown, policy.ClassRead, policy.ClassScratch, policy.ClassWrite, policy.ClassDangerous)
	roundTrip(t, new(policy.Mode), policy.ModeUnset, policy.Ask, policy.Plan, policy.Execute)
	roundTrip(t, new(policy.Strength), policy.None, policy.Simple, policy.Preview, policy.Typed)
	roundTrip(t, new(policy.Verdict), policy.Deny, policy.Explain, policy.DryRun, policy.Confirm, policy.Allow)
	roundTrip(t, new(policy.Level), policy.LevelUnset, policy.ReadOnly, policy.ExecuteWithConfirm, policy.FullAccess)
	roundTrip(t, new(policy.Setting), policy.SettingNone, policy.Blocked, policy.AlwaysConfirm, policy.Allowed)
	roundTrip(t, new(policy.Risk), policy.RiskNone, policy.RiskLow, policy.RiskMedium, policy.RiskHigh)
	roundTrip(t, new(policy.ActionRule), policy.ActionNone, policy.ActionDeny, policy.ActionRequireConfirm, policy.ActionAutoApprove)
}

func roundTrip[T interface {
	~uint8
	encoding.TextMarshaler
	String() string
}, P interface {
	*T
	encoding.TextUnmarshaler
}](t *testing.T, into P, values ...T) {
	t.Helper()
	for i, v := range values {
		require.EqualValues(t, i, v, "values are numbered in order")
		text, err := v.MarshalText()
		require.NoError(t, err)
		assert.Equal(t, v.String(), string(text))
		require.NoError(t, into.UnmarshalText(text))
		assert.Equal(t, v, *into)
	}
	last := *into
	for _, bad := range []string{"nonsense", "invalid", "ALLOWED", " ask"} {
		require.ErrorIs(t, into.UnmarshalText([]byte(bad)), policy.ErrWord)
		assert.Equal(t, last, *into, "a refused word leaves the value alone")
	}
	assert.Equal(t, "invalid", T(len(values)).String())
	assert.Equal(t, "invalid", T(255).String())
}

func TestUnknownWordNamesTheKnownOnes(t *testing.T) {
	var m policy.Mode
	require.ErrorContains(t, m.UnmarshalText([]byte("exec")), `unknown mode "exec"; use one of ask, plan, execute`)
	var s struct{ Level policy.Level }
	require.ErrorContains(t, json.Unmarshal([]byte(`{"Level":"root"}`), &s), "read_only, execute_with_confirm, full_access")
}

var decision policy.Result

func TestDecideAllocatesNothing(t *testing.T) {
	p, q := busiest()
	assert.Zero(t, testing.AllocsPerRun(100, func() { decision = p.Evaluate(q) }))
	assert.Equal(t, policy.RuleAuto, decision.Rule)
}

func BenchmarkDecide(b *testing.B) {
	p, q := busiest()
	b.ReportAllocs()
	for b.Loop() {
		decision = p.Evaluate(q)
	}
}

// busiest returns a request that passes every check up to the last.
func busiest() (policy.Policy, policy.Request) {
	p := policy.Policy{Mode: policy.Execute, Ceiling: policy.Execute, Level: policy.ExecuteWithConfirm,
		Tools: map[string]policy.Setting{"a": policy.Blocked, "b": policy.Allowed},
		Auto:  policy.AutoApprove{Enabled: true, Tools: []string{"a", "b", "c", "d", "e", "f", "g", "tool"}}}
	return p, policy.Request{Tool: "tool", Strength: policy.Preview, Principal: policy.Principal{ID: "p", Grants: policy.All},
		Claims: policy.Claims{Class: policy.ClassDangerous, Effects: policy.Write | policy.Exec}}
}

func TestAPrincipalsCeilingIsOneMore(t *testing.T) {
	p := policy.Policy{Mode: policy.Execute, Ceiling: policy.Execute}
	for ceiling, want := range map[policy.Mode]policy.Mode{policy.ModeUnset: policy.Execute, policy.Ask: policy.Ask, policy.Plan: policy.Plan, policy.Execute: policy.Execute, 9: policy.Ask} {
		assert.Equal(t, want, p.Effective(policy.Request{Principal: policy.Principal{Ceiling: ceiling}}), "%d", ceiling)
		assert.LessOrEqual(t, p.Effective(policy.Request{Principal: policy.Principal{Ceiling: ceiling}, ToolsetCeiling: policy.Plan}), policy.Plan)
		low := policy.Policy{Mode: policy.Execute, Ceiling: policy.Ask}
		assert.Equal(t, policy.Ask, low.Effective(policy.Request{Principal: policy.Principal{Ceiling: ceiling}}), "nobody raises the operator's")
	}
}
