package policy_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/domain/policy"
)

// situation is one decision to make, with the settings it is made from.
type situation struct {
	policy  policy.Policy
	request policy.Request
}

func (s situation) verdict() policy.Verdict { return s.policy.Evaluate(s.request).Verdict }

// drawSituation draws values up to the given number for every enum: valid ones only, or any byte.
func drawSituation(t *rapid.T, anyByte bool) situation {
	pick := func(name string, last uint8) uint8 {
		if anyByte {
			return rapid.OneOf(rapid.Uint8Max(last), rapid.Uint8()).Draw(t, name)
		}
		return rapid.Uint8Max(last).Draw(t, name)
	}
	effects := rapid.Uint16Max(uint16(policy.All))
	if anyByte {
		effects = rapid.Uint16()
	}
	mode := func(name string) policy.Mode { return policy.Mode(pick(name, 3)) }
	tools := rapid.SliceOfDistinct(rapid.SampledFrom([]string{toolName, "other", "*", ""}), rapid.ID[string])
	s := situation{
		policy: policy.Policy{
			Mode: mode("operator"), Ceiling: mode("ceiling"), Level: policy.Level(pick("level", 3)),
			Tools: map[string]policy.Setting{toolName: policy.Setting(pick("setting", 3)), "other": policy.Setting(pick("other", 3))},
			Auto:  policy.AutoApprove{Enabled: rapid.Bool().Draw(t, "auto"), Tools: tools.Draw(t, "listed")},
		},
		request: policy.Request{
			Principal: policy.Principal{ID: "p", Grants: policy.Effects(effects.Draw(t, "grants"))},
			Tool:      toolName,
			Claims:    policy.Claims{Class: policy.Class(pick("class", 4)), Effects: policy.Effects(effects.Draw(t, "effects"))},
			Strength:  policy.Strength(pick("strength", 3)),
			Risk:      policy.Risk(pick("risk", 3)), Action: policy.ActionRule(pick("action", 3)),
			CallMode: mode("call"), SessionMode: mode("session"), ToolsetMode: mode("toolset"),
			Granted: rapid.Bool().Draw(t, "granted"),
		},
	}
	if rapid.Bool().Draw(t, "grant everything") { // otherwise missing grants hide every other rule
		s.request.Principal.Grants = ^policy.Effects(0)
	}
	return s
}

// restricted returns every situation that differs from s in one setting, moved in the direction of less.
func (s situation) restricted() map[string]situation {
	out := map[string]situation{}
	add := func(name string, change func(*situation)) {
		c := s
		c.policy.Tools = maps.Clone(s.policy.Tools)
		c.policy.Auto.Tools = slices.Clone(s.policy.Auto.Tools)
		change(&c)
		out[name] = c
	}
	s.lowerModes(add)
	for l := policy.LevelUnset; l < s.policy.Level; l++ {
		add(fmt.Sprintf("level %q", l), func(c *situation) { c.policy.Level = l })
	}
	for _, set := range tighter[s.policy.Tools[toolName]] {
		add(fmt.Sprintf("setting %q", set), func(c *situation) { c.policy.Tools[toolName] = set })
	}
	for strength := s.request.Strength + 1; strength <= policy.Typed; strength++ {
		add(fmt.Sprintf("strength %q", strength), func(c *situation) { c.request.Strength = strength })
	}
	for risk := s.request.Risk + 1; risk <= policy.RiskHigh; risk++ {
		add(fmt.Sprintf("risk %q", risk), func(c *situation) { c.request.Risk = risk })
	}
	for _, rule := range stricter[s.request.Action] {
		add(fmt.Sprintf("action rule %q", rule), func(c *situation) { c.request.Action = rule })
	}
	for bit := policy.Read; bit <= policy.Network; bit <<= 1 {
		add("without the grant "+bit.String(), func(c *situation) { c.request.Principal.Grants &^= bit })
		first := s.request.Claims.Effects&policy.Mutating == 0 && bit&policy.Mutating != 0
		if first && s.request.Claims.Class >= policy.ClassWrite {
			continue // until a change is named, Write stands for it
		}
		add("claiming also "+bit.String(), func(c *situation) { c.request.Claims.Effects |= bit })
	}
	add("without a session grant", func(c *situation) { c.request.Granted = false })
	add("auto-approve off", func(c *situation) { c.policy.Auto.Enabled = false })
	add("no longer listed", func(c *situation) {
		c.policy.Auto.Tools = slices.DeleteFunc(c.policy.Auto.Tools, func(n string) bool { return n == toolName })
	})
	return out
}

// lowerModes adds a lower value of the one mode that is effective, and lower ceilings.
func (s situation) lowerModes(add func(string, func(*situation))) {
	slots := func(c *situation) []*policy.Mode {
		return []*policy.Mode{&c.request.CallMode, &c.request.SessionMode, &c.policy.Mode, &c.request.ToolsetMode}
	}
	for i, m := range slots(&s) {
		if *m == policy.ModeUnset {
			continue
		}
		for lower := policy.Ask; lower < *m; lower++ {
			add(fmt.Sprintf("mode %d %q", i, lower), func(c *situation) { *slots(c)[i] = lower })
		}
		break
	}
	for ceiling := policy.ModeUnset; ceiling < s.policy.Ceiling; ceiling++ {
		add(fmt.Sprintf("ceiling %q", ceiling), func(c *situation) { c.policy.Ceiling = ceiling })
	}
}

// tighter is which per-tool settings allow less than another. confirm is not below "nobody set one": it opens a tool under read_only.
var tighter = map[policy.Setting][]policy.Setting{
	policy.SettingNone:   {policy.Blocked},
	policy.AlwaysConfirm: {policy.Blocked},
	policy.Allowed:       {policy.Blocked, policy.AlwaysConfirm, policy.SettingNone},
}

// stricter is which rules of an action allow less than another.
var stricter = map[policy.ActionRule][]policy.ActionRule{
	policy.ActionAutoApprove:    {policy.ActionNone, policy.ActionRequireConfirm, policy.ActionDeny},
	policy.ActionNone:           {policy.ActionRequireConfirm, policy.ActionDeny},
	policy.ActionRequireConfirm: {policy.ActionDeny},
}

func TestNothingThatRestrictsEverAllowsMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for range 20 {
			s := drawSituation(t, false)
			before := s.verdict()
			for name, r := range s.restricted() {
				if after := r.verdict(); after > before {
					t.Fatalf("%s turns %s into %s\n  policy %+v\n  request %+v", name, before, after, s.policy, s.request)
				}
			}
		}
	})
}

// TestOtherToolsSettingsChangeNothing also holds what the settings page promises: auto-approving a tool changes that tool only, and
// only under execute_with_confirm.
func TestOtherToolsSettingsChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSituation(t, false)
		before := s.policy.Evaluate(s.request)

		other := s
		other.policy.Tools = maps.Clone(s.policy.Tools)
		other.policy.Tools["other"] = policy.Setting(rapid.Uint8().Draw(t, "another setting"))
		other.policy.Auto.Tools = append(slices.Clone(s.policy.Auto.Tools), "other", "another")
		require.Equal(t, before, other.policy.Evaluate(other.request))

		auto := s
		auto.policy.Auto = policy.AutoApprove{Enabled: true, Tools: []string{toolName}}
		after := auto.policy.Evaluate(auto.request)
		if s.policy.Level != policy.ExecuteWithConfirm {
			require.Equal(t, before, after)
		} else if after.Verdict != before.Verdict {
			require.Equal(t, policy.RuleStrength, before.Rule, "it answers only what the level asks")
			require.Equal(t, policy.RuleAuto, after.Rule)
		}
	})
}

var rules = []string{
	policy.RuleClass, policy.RuleBlocked, policy.RuleGrants, policy.RuleLevel, policy.RuleMode, policy.RuleRead, policy.RuleScratch,
	policy.RuleToolConfirm, policy.RuleToolAllowed, policy.RuleTyped, policy.RuleSession, policy.RuleAuto, policy.RuleStrength,
	policy.RuleFullAccess, policy.RuleAction,
}

func TestDecideIsTotalAndFailsClosed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for range 20 {
			s := drawSituation(t, true)
			d := s.policy.Evaluate(s.request)
			require.Equal(t, d, s.policy.Evaluate(s.request), "the same question has the same answer")
			require.LessOrEqual(t, d.Verdict, policy.Allow)
			require.Contains(t, rules, d.Rule, "every decision names its source")
			require.True(t, d.Mode >= policy.Ask && d.Mode <= policy.Execute, "mode %d", d.Mode)
			require.Equal(t, s.policy.Effective(s.request), d.Mode)
			require.LessOrEqual(t, d.Strength, policy.Typed)
			require.Equal(t, d.Rule == policy.RuleGrants, d.Missing != 0)
			if d.Verdict == policy.Confirm {
				require.GreaterOrEqual(t, d.Strength, max(policy.Simple, min(s.request.Strength, policy.Typed)))
			}
			failsClosed(t, s, d)
		}
	})
}

// failsClosed checks what a value nobody defined, or one that refuses, must lead to.
func failsClosed(t require.TestingT, s situation, d policy.Result) {
	q, set := s.request, s.policy.Tools[toolName]
	changes := q.Claims.Class >= policy.ClassWrite || q.Claims.Effects&policy.Exec != 0
	switch {
	case q.Claims.Class == policy.ClassUnknown || q.Claims.Class > policy.ClassDangerous:
		require.Equal(t, policy.Deny, d.Verdict, "an unknown class is denied")
	case set == policy.Blocked || set > policy.Allowed:
		require.Equal(t, policy.Deny, d.Verdict, "blocked, and a setting nobody knows, deny")
	case q.Action == policy.ActionDeny || q.Action > policy.ActionAutoApprove:
		require.Equal(t, policy.Deny, d.Verdict, "a denied action, and a rule nobody knows, deny")
	case q.Claims.Effects&^q.Principal.Grants != 0 || q.Principal.Grants == 0:
		require.Equal(t, policy.Deny, d.Verdict, "nobody does what they were not granted; zero grants allow nothing")
	case changes && (s.policy.Level == policy.LevelUnset || s.policy.Level > policy.FullAccess):
		require.Equal(t, policy.Deny, d.Verdict, "no level, or one nobody knows, lets nothing change")
	case changes && (s.policy.Ceiling < policy.Plan || s.policy.Ceiling > policy.Execute):
		require.LessOrEqual(t, d.Verdict, policy.Explain, "no ceiling, or one nobody knows, is ask")
	}
	if changes && d.Mode != policy.Execute {
		require.LessOrEqual(t, d.Verdict, policy.DryRun, "nothing changes outside execute")
	}
	if q.Strength >= policy.Typed {
		require.LessOrEqual(t, d.Verdict, policy.Confirm, "nothing waives type-to-confirm")
	}
	if q.Risk >= policy.RiskHigh {
		inAdvance := d.Rule == policy.RuleSession || d.Rule == policy.RuleAuto || d.Rule == policy.RuleAction && d.Verdict == policy.Allow
		require.False(t, inAdvance, "nothing that was answered in advance covers high risk")
	}
}

func TestZeroValuesRefuse(t *testing.T) {
	assert.Equal(t, policy.Deny, policy.Policy{}.Evaluate(policy.Request{}).Verdict)
	assert.Zero(t, policy.Deny)
	rapid.Check(t, func(t *rapid.T) {
		s := drawSituation(t, true)
		require.Equal(t, policy.Deny, s.policy.Evaluate(policy.Request{}).Verdict, "the zero Request is denied by every policy")

		d := policy.Policy{}.Evaluate(s.request)
		if s.request.Claims.Class != policy.ClassRead {
			require.Equal(t, policy.Deny, d.Verdict, "the zero Policy lets nothing change")
		}
		if s.request.Claims.Effects&policy.Mutating != 0 {
			require.Equal(t, policy.Deny, d.Verdict, "not even when the change is called a read")
		}
		s.request.Principal.Grants = 0
		require.Equal(t, policy.Deny, s.verdict(), "zero grants allow nothing")
	})
}
