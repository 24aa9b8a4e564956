package webhook_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/webhook"
)

func automationAt(second int) time.Time { return time.Date(2025, 5, 6, 7, 8, second, 0, time.UTC) }

func program(c webhook.ScriptConfig) webhook.Action {
	return webhook.Action{Type: project.KindScript, Name: "a", Script: &c}
}

func TestValidateTakes(t *testing.T) {
	for name, a := range map[string]webhook.Action{
		"a program":  program(webhook.ScriptConfig{Command: "make", Args: []string{"all the things", "$(id)", ""}, Cwd: "sub", TimeoutMS: 3_600_000}),
		"by a path":  program(webhook.ScriptConfig{Command: "./scripts/run.sh"}),
		"a webhook":  {Type: project.KindWebhook, Name: "a", Webhook: &webhook.Config{URL: "https://example.com/x"}},
		"a workflow": {Type: project.KindWorkflow, Name: "a", Description: "two\nlines", Workflow: &webhook.WorkflowConfig{WorkflowID: "wf-1"}},
	} {
		require.NoError(t, a.Validate(), name)
	}
}

func TestValidateRefuses(t *testing.T) {
	for name, a := range map[string]webhook.Action{
		"no name":               {Type: project.KindScript, Name: " ", Script: &webhook.ScriptConfig{Command: "x"}},
		"a long name":           {Type: project.KindScript, Name: strings.Repeat("x", 257), Script: &webhook.ScriptConfig{Command: "x"}},
		"a long description":    {Type: project.KindScript, Name: "a", Description: strings.Repeat("x", 2049), Script: &webhook.ScriptConfig{Command: "x"}},
		"a name with an escape": {Type: project.KindScript, Name: "a\x1b[2J", Script: &webhook.ScriptConfig{Command: "x"}},
		"nothing":               {},
		"no config":             {Type: project.KindScript, Name: "a"},
		"no type":               {Name: "a"},
		"another type":          {Type: "agent", Name: "a"},
		"another's config":      {Type: project.KindWebhook, Name: "a", Script: &webhook.ScriptConfig{Command: "x"}},
		"two configs":           {Type: project.KindScript, Name: "a", Script: &webhook.ScriptConfig{Command: "x"}, Workflow: &webhook.WorkflowConfig{WorkflowID: "w"}},
		"no workflow":           {Type: project.KindWorkflow, Name: "a", Workflow: &webhook.WorkflowConfig{}},
		"no program":            program(webhook.ScriptConfig{Command: " "}),
		"a shell line":          program(webhook.ScriptConfig{Command: "rm -rf /"}),
		"a line end":            program(webhook.ScriptConfig{Command: "x\ny"}),
		"a long program":        program(webhook.ScriptConfig{Command: strings.Repeat("x", project.MaxCommand+1)}),
		"NUL":                   program(webhook.ScriptConfig{Command: "x\x00"}),
		"NUL in an argument":    program(webhook.ScriptConfig{Command: "x", Args: []string{"y", "\x00"}}),
		"NUL in cwd":            program(webhook.ScriptConfig{Command: "x", Cwd: "\x00"}),
		"a negative timeout":    program(webhook.ScriptConfig{Command: "x", TimeoutMS: -1}),
		"more than an hour":     program(webhook.ScriptConfig{Command: "x", TimeoutMS: 3_600_001}),
	} {
		require.ErrorIs(t, a.Validate(), project.ErrArgument, name)
	}
	bad := webhook.Action{Type: project.KindWebhook, Name: "a", Webhook: &webhook.Config{URL: "ftp://example.com"}}
	require.Error(t, bad.Validate(), "a webhook's own rules count")
}

func TestLevels(t *testing.T) {
	for _, l := range []webhook.Level{webhook.RequireConfirm, webhook.AutoApprove, webhook.Deny} {
		assert.True(t, l.Known(), l)
	}
	for _, l := range []webhook.Level{"", "allow", "DENY"} {
		assert.False(t, l.Known(), l)
	}
}

// TestResolvePrecedence checks every set of rules in every order: the most specific rule wins, at any position.
func TestResolvePrecedence(t *testing.T) {
	own := webhook.ActionRule{ActionID: "a", Level: webhook.AutoApprove}
	kind := webhook.ActionRule{Type: project.KindScript, Level: webhook.Deny}
	global := webhook.ActionRule{Level: webhook.RequireConfirm}
	noise := []webhook.ActionRule{{ActionID: "b", Level: webhook.Deny}, {Type: project.KindWebhook, Level: webhook.Deny}, {ActionID: "c", Type: project.KindScript, Level: webhook.AutoApprove}}
	rapid.Check(t, func(r *rapid.T) {
		rules := slices.Clone(noise)
		want, from := webhook.RequireConfirm, webhook.FromDefault
		for _, c := range []struct {
			rule webhook.ActionRule
			from string
		}{{global, webhook.FromGlobal}, {kind, webhook.FromType}, {own, webhook.FromAction}} {
			if rapid.Bool().Draw(r, c.from) {
				rules = append(rules, c.rule)
				want, from = c.rule.Level, c.from
			}
		}
		level, source := webhook.ResolveLevel(rapid.Permutation(rules).Draw(r, "rules"), "a", project.KindScript)
		require.Equal(r, want, level)
		require.Equal(r, from, source)
	})
	level, from := webhook.ResolveLevel([]webhook.ActionRule{{Level: webhook.Deny}}, "", "")
	assert.Equal(t, webhook.Deny, level)
	assert.Equal(t, webhook.FromGlobal, from, "nothing named is no rule's action or type")
	level, from = webhook.ResolveLevel(nil, "a", project.KindScript)
	assert.Equal(t, webhook.RequireConfirm, level)
	assert.Equal(t, webhook.FromDefault, from)
}

// TestLoosens: only the user may remove a restricting rule; adding one needs no approval.
func TestLoosens(t *testing.T) {
	deny, ask, auto := webhook.Deny, webhook.RequireConfirm, webhook.AutoApprove
	rules := []webhook.ActionRule{{ActionID: "a", Level: deny}, {ActionID: "b", Level: ask}, {Type: project.KindWebhook, Level: deny}, {Level: ask}}
	for _, c := range []struct {
		change webhook.ActionRule
		kind   project.Kind
		want   bool
	}{
		{webhook.ActionRule{ActionID: "a"}, project.KindScript, true},
		{webhook.ActionRule{ActionID: "a", Level: ask}, project.KindScript, true},
		{webhook.ActionRule{ActionID: "a", Level: deny}, project.KindScript, false},
		{webhook.ActionRule{ActionID: "b"}, project.KindScript, false}, // the global one asks as well
		{webhook.ActionRule{ActionID: "b", Level: auto}, project.KindScript, true},
		{webhook.ActionRule{ActionID: "b", Level: deny}, project.KindScript, false},
		{webhook.ActionRule{ActionID: "c", Level: ask}, project.KindWebhook, true}, // its type is denied
		{webhook.ActionRule{ActionID: "c", Level: ask}, project.KindScript, false},
		{webhook.ActionRule{Type: project.KindWebhook}, project.KindWebhook, true},
		{webhook.ActionRule{Type: project.KindScript, Level: auto}, project.KindScript, true},
		{webhook.ActionRule{Type: project.KindScript, Level: deny}, project.KindScript, false},
		{webhook.ActionRule{}, "", true},
		{webhook.ActionRule{Level: deny}, "", false},
	} {
		assert.Equal(t, c.want, webhook.LoosensRules(rules, c.change, c.kind), "%+v", c.change)
	}
	assert.False(t, webhook.LoosensRules(nil, webhook.ActionRule{Level: auto}, ""), "nobody had said otherwise")
}

func TestSortRules(t *testing.T) {
	want := []webhook.ActionRule{
		{ActionID: "new", CreatedAt: automationAt(9)}, {ActionID: "typed", Type: project.KindScript, CreatedAt: automationAt(5)}, {ActionID: "old", CreatedAt: automationAt(1)},
		{Type: project.KindWebhook, CreatedAt: automationAt(8)}, {Type: project.KindScript, CreatedAt: automationAt(2)},
		{CreatedAt: automationAt(7)}, {Level: webhook.Deny, CreatedAt: automationAt(3)},
	}
	rapid.Check(t, func(r *rapid.T) {
		rules := rapid.Permutation(want).Draw(r, "rules")
		webhook.SortActionRules(rules)
		require.Equal(r, want, rules)
	})
}

// TestRulesThatWouldLetMorePass: everything that is denied or needs approval now and would not then, including through a specific rule that replaces
// a global one.
func TestRulesThatWouldLetMorePass(t *testing.T) {
	denied, asks := webhook.ActionRule{Type: project.KindWebhook, Level: webhook.Deny}, webhook.ActionRule{Level: webhook.RequireConfirm}
	own := webhook.ActionRule{ActionID: "a", Level: webhook.AutoApprove}
	for _, c := range []struct {
		now, then []webhook.ActionRule
		want      []string
	}{
		{nil, []webhook.ActionRule{denied, asks}, nil},
		{[]webhook.ActionRule{denied}, []webhook.ActionRule{denied}, nil},
		{[]webhook.ActionRule{denied}, nil, []string{"actions of type webhook: under no rule that denies or asks instead of denied"}},
		{[]webhook.ActionRule{asks}, nil, []string{"actions: under no rule that denies or asks instead of asked for by a rule"}},
		{[]webhook.ActionRule{denied}, []webhook.ActionRule{denied, own}, []string{"action a: under no rule that denies or asks instead of denied"}},
	} {
		assert.Equal(t, c.want, webhook.LoosenedRules(c.now, c.then))
	}
}
