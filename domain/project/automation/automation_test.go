package automation_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/automation"
	"github.com/countersign-dev/countersign/domain/project/execution"
	"github.com/countersign-dev/countersign/domain/project/webhook"
)

func at(second int) time.Time { return time.Date(2025, 5, 6, 7, 8, second, 0, time.UTC) }

func program(c automation.ScriptConfig) automation.Action {
	return automation.Action{Type: execution.Script, Name: "a", Script: &c}
}

func TestValidateTakes(t *testing.T) {
	for name, a := range map[string]automation.Action{
		"a program":  program(automation.ScriptConfig{Command: "make", Args: []string{"all the things", "$(id)", ""}, Cwd: "sub", TimeoutMS: 3_600_000}),
		"by a path":  program(automation.ScriptConfig{Command: "./scripts/run.sh"}),
		"a webhook":  {Type: execution.Webhook, Name: "a", Webhook: &webhook.Config{URL: "https://example.com/x"}},
		"a workflow": {Type: execution.Workflow, Name: "a", Description: "two\nlines", Workflow: &automation.WorkflowConfig{WorkflowID: "wf-1"}},
	} {
		require.NoError(t, a.Validate(), name)
	}
}

func TestValidateRefuses(t *testing.T) {
	for name, a := range map[string]automation.Action{
		"no name":               {Type: execution.Script, Name: " ", Script: &automation.ScriptConfig{Command: "x"}},
		"a long name":           {Type: execution.Script, Name: strings.Repeat("x", 257), Script: &automation.ScriptConfig{Command: "x"}},
		"a long description":    {Type: execution.Script, Name: "a", Description: strings.Repeat("x", 2049), Script: &automation.ScriptConfig{Command: "x"}},
		"a name with an escape": {Type: execution.Script, Name: "a\x1b[2J", Script: &automation.ScriptConfig{Command: "x"}},
		"nothing":               {},
		"no config":             {Type: execution.Script, Name: "a"},
		"no type":               {Name: "a"},
		"another type":          {Type: "agent", Name: "a"},
		"another's config":      {Type: execution.Webhook, Name: "a", Script: &automation.ScriptConfig{Command: "x"}},
		"two configs":           {Type: execution.Script, Name: "a", Script: &automation.ScriptConfig{Command: "x"}, Workflow: &automation.WorkflowConfig{WorkflowID: "w"}},
		"no workflow":           {Type: execution.Workflow, Name: "a", Workflow: &automation.WorkflowConfig{}},
		"no program":            program(automation.ScriptConfig{Command: " "}),
		"a shell line":          program(automation.ScriptConfig{Command: "rm -rf /"}),
		"a line end":            program(automation.ScriptConfig{Command: "x\ny"}),
		"a long program":        program(automation.ScriptConfig{Command: strings.Repeat("x", project.MaxCommand+1)}),
		"NUL":                   program(automation.ScriptConfig{Command: "x\x00"}),
		"NUL in an argument":    program(automation.ScriptConfig{Command: "x", Args: []string{"y", "\x00"}}),
		"NUL in cwd":            program(automation.ScriptConfig{Command: "x", Cwd: "\x00"}),
		"a negative timeout":    program(automation.ScriptConfig{Command: "x", TimeoutMS: -1}),
		"more than an hour":     program(automation.ScriptConfig{Command: "x", TimeoutMS: 3_600_001}),
	} {
		require.ErrorIs(t, a.Validate(), project.ErrArgument, name)
	}
	bad := automation.Action{Type: execution.Webhook, Name: "a", Webhook: &webhook.Config{URL: "ftp://example.com"}}
	require.Error(t, bad.Validate(), "a webhook's own rules count")
}

func TestLevels(t *testing.T) {
	for _, l := range []automation.Level{automation.RequireConfirm, automation.AutoApprove, automation.Deny} {
		assert.True(t, l.Known(), l)
	}
	for _, l := range []automation.Level{"", "allow", "DENY"} {
		assert.False(t, l.Known(), l)
	}
}

// TestResolvePrecedence tries every set of rules, in every order that is possible: the nearest rule counts, wherever it stands.
func TestResolvePrecedence(t *testing.T) {
	own := automation.Rule{ActionID: "a", Level: automation.AutoApprove}
	kind := automation.Rule{Type: execution.Script, Level: automation.Deny}
	global := automation.Rule{Level: automation.RequireConfirm}
	noise := []automation.Rule{{ActionID: "b", Level: automation.Deny}, {Type: execution.Webhook, Level: automation.Deny}, {ActionID: "c", Type: execution.Script, Level: automation.AutoApprove}}
	rapid.Check(t, func(r *rapid.T) {
		rules := slices.Clone(noise)
		want, from := automation.RequireConfirm, automation.FromDefault
		for _, c := range []struct {
			rule automation.Rule
			from string
		}{{global, automation.FromGlobal}, {kind, automation.FromType}, {own, automation.FromAction}} {
			if rapid.Bool().Draw(r, c.from) {
				rules = append(rules, c.rule)
				want, from = c.rule.Level, c.from
			}
		}
		level, source := automation.Resolve(rapid.Permutation(rules).Draw(r, "rules"), "a", execution.Script)
		require.Equal(r, want, level)
		require.Equal(r, from, source)
	})
	level, from := automation.Resolve([]automation.Rule{{Level: automation.Deny}}, "", "")
	assert.Equal(t, automation.Deny, level)
	assert.Equal(t, automation.FromGlobal, from, "nothing named is no rule's action or type")
	level, from = automation.Resolve(nil, "a", execution.Script)
	assert.Equal(t, automation.RequireConfirm, level)
	assert.Equal(t, automation.FromDefault, from)
}

// TestLoosens: what takes a rule of care away wants a person; what adds one does not.
func TestLoosens(t *testing.T) {
	deny, ask, auto := automation.Deny, automation.RequireConfirm, automation.AutoApprove
	rules := []automation.Rule{{ActionID: "a", Level: deny}, {ActionID: "b", Level: ask}, {Type: execution.Webhook, Level: deny}, {Level: ask}}
	for _, c := range []struct {
		change automation.Rule
		kind   execution.Kind
		want   bool
	}{
		{automation.Rule{ActionID: "a"}, execution.Script, true},
		{automation.Rule{ActionID: "a", Level: ask}, execution.Script, true},
		{automation.Rule{ActionID: "a", Level: deny}, execution.Script, false},
		{automation.Rule{ActionID: "b"}, execution.Script, false}, // the global one asks as well
		{automation.Rule{ActionID: "b", Level: auto}, execution.Script, true},
		{automation.Rule{ActionID: "b", Level: deny}, execution.Script, false},
		{automation.Rule{ActionID: "c", Level: ask}, execution.Webhook, true}, // its type is denied
		{automation.Rule{ActionID: "c", Level: ask}, execution.Script, false},
		{automation.Rule{Type: execution.Webhook}, execution.Webhook, true},
		{automation.Rule{Type: execution.Script, Level: auto}, execution.Script, true},
		{automation.Rule{Type: execution.Script, Level: deny}, execution.Script, false},
		{automation.Rule{}, "", true},
		{automation.Rule{Level: deny}, "", false},
	} {
		assert.Equal(t, c.want, automation.Loosens(rules, c.change, c.kind), "%+v", c.change)
	}
	assert.False(t, automation.Loosens(nil, automation.Rule{Level: auto}, ""), "nobody had said otherwise")
}

func TestSortRules(t *testing.T) {
	want := []automation.Rule{
		{ActionID: "new", CreatedAt: at(9)}, {ActionID: "typed", Type: execution.Script, CreatedAt: at(5)}, {ActionID: "old", CreatedAt: at(1)},
		{Type: execution.Webhook, CreatedAt: at(8)}, {Type: execution.Script, CreatedAt: at(2)},
		{CreatedAt: at(7)}, {Level: automation.Deny, CreatedAt: at(3)},
	}
	rapid.Check(t, func(r *rapid.T) {
		rules := rapid.Permutation(want).Draw(r, "rules")
		automation.SortRules(rules)
		require.Equal(r, want, rules)
	})
}
