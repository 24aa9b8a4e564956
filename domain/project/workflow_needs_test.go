package project_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/project"
)

// needing returns a step that needs others.
func needing(id string, needs ...string) project.Node {
	n := step(id)
	n.Config.Needs = needs
	return n
}

// TestNeedsStandBefore: no change results in a step that needs one which is not before it, and a rejected change has no effect.
func TestNeedsStandBefore(t *testing.T) {
	w := made(t)
	for _, n := range []project.Node{needing("a"), needing("b"), needing("c", "a"), needing("d", "b", "c")} {
		require.NoError(t, w.Insert(n, nil, workflowAt(1)))
	}
	place := func(i int) *int { return &i }
	before := w
	for name, refused := range map[string]error{
		"a step that is not there":   w.Insert(needing("e", "x"), nil, workflowAt(2)),
		"a step behind it":           w.Insert(needing("e", "b"), place(1), workflowAt(2)),
		"itself":                     w.Replace(needing("a", "a"), nil, workflowAt(2)),
		"moved before what it needs": w.Replace(needing("c", "a"), place(0), workflowAt(2)),
		"moved behind what needs it": w.Replace(needing("a"), place(3), workflowAt(2)),
		"nowhere":                    w.Replace(needing("a"), place(4), workflowAt(2)),
		"taken away":                 w.Remove("a", workflowAt(2)),
	} {
		require.ErrorIs(t, refused, project.ErrArgument, name)
	}
	require.ErrorIs(t, w.Replace(needing("x"), nil, workflowAt(2)), project.ErrNode)
	assert.Equal(t, before, w)

	require.NoError(t, w.Replace(needing("b"), place(0), workflowAt(2)))
	require.NoError(t, w.Replace(needing("d"), place(2), workflowAt(3)))
	require.NoError(t, w.Remove("b", workflowAt(4)))
	var order []string
	for i, n := range w.Nodes {
		assert.Equal(t, i, n.Order)
		order = append(order, n.ID)
	}
	assert.Equal(t, []string{"a", "d", "c"}, order)
}

// TestStepsReadAsTheyWere: a document without the newer members is written as it was read; an empty list of needs is distinguished from an absent
// one.
func TestStepsReadAsTheyWere(t *testing.T) {
	for _, doc := range []string{
		`{"id":"n","type":"script","name":"n","config":{"command":"x"},"order":0}`,
		`{"id":"n","type":"script","name":"n","config":{"command":"x","needs":[],"retry":2,"retryDelayMs":10,"files":["src/**"]},"order":0}`,
	} {
		var n project.Node
		require.NoError(t, json.Unmarshal([]byte(doc), &n))
		again, err := json.Marshal(n)
		require.NoError(t, err)
		assert.Equal(t, doc, string(again))
	}
}

func TestStepSettingsRefuse(t *testing.T) {
	for name, c := range map[string]project.NodeConfig{
		"a negative retry":          {Command: "x", Retry: -1},
		"too many":                  {Command: "x", Retry: 11},
		"a negative delay":          {Command: "x", RetryDelayMS: -1},
		"a long delay":              {Command: "x", RetryDelayMS: 600_001},
		"an empty pattern":          {Command: "x", Files: []string{""}},
		"a pattern that is none":    {Command: "x", Files: []string{"[a"}},
		"files elsewhere":           {Command: "x", Files: []string{"../a"}},
		"an absolute pattern":       {Command: "x", Files: []string{"/etc/*"}},
		"files of another workflow": {TargetID: "wf-2", Files: []string{"a"}},
		"another workflow again":    {TargetID: "wf-2", Retry: 1},
	} {
		w := made(t)
		n := project.Node{ID: "n", Type: project.NodeScript, Name: "n", Config: c}
		if c.TargetID != "" {
			n.Type = project.NodeTrigger
		}
		require.ErrorIs(t, w.Insert(n, nil, workflowAt(1)), project.ErrArgument, name)
	}
}

func TestInputs(t *testing.T) {
	text := func(s string) *string { return &s }
	w := made(t)
	require.NoError(t, w.SetInputs([]project.Input{{Name: "VERSION"}, {Name: "COUNT", Type: "number", Default: text("2")}, {Name: "DRY", Type: "boolean", Default: text("false")},
		{Name: "TARGET", Type: "choice", Choices: []string{"staging", "production"}, Default: text("staging")}}))
	got, err := w.Values(map[string]string{"VERSION": "$(rm -rf /)", "TARGET": "production"})
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"VERSION": "$(rm -rf /)", "COUNT": "2", "DRY": "false", "TARGET": "production"}, got)
	for name, given := range map[string]map[string]string{
		"none where one is needed": {},
		"no number":                {"VERSION": "1", "COUNT": "two"},
		"a number with more":       {"VERSION": "1", "COUNT": "1 2"},
		"a text as a number":       {"VERSION": "1", "COUNT": `"2"`},
		"neither":                  {"VERSION": "1", "DRY": "yes"},
		"no choice":                {"VERSION": "1", "TARGET": "mars"},
		"a control character":      {"VERSION": "1\x1b"},
	} {
		_, err := w.Values(given)
		require.ErrorIs(t, err, project.ErrArgument, name)
	}
	require.NoError(t, project.CheckInputs(map[string]string{"DRY": "true"}, w))
	err = project.CheckInputs(map[string]string{"DYR": "true"}, w)
	require.ErrorIs(t, err, project.ErrArgument)
	require.ErrorContains(t, err, "COUNT, DRY, TARGET, VERSION")
	require.ErrorIs(t, project.CheckInputs(map[string]string{"A": ""}, made(t)), project.ErrArgument)

	before := w
	for name, in := range map[string][]project.Input{
		"twice":                  {{Name: "A"}, {Name: "A"}},
		"no type":                {{Name: "A", Type: "date"}},
		"no choices":             {{Name: "A", Type: "choice"}},
		"choices of a string":    {{Name: "A", Choices: []string{"a"}}},
		"a default that is none": {{Name: "A", Type: "number", Default: text("x")}},
	} {
		require.ErrorIs(t, w.SetInputs(in), project.ErrArgument, name)
	}
	for _, name := range []string{"", "a-b", "A B"} {
		require.ErrorIs(t, w.SetInputs([]project.Input{{Name: name}}), process.ErrSpec, name)
	}
	for _, name := range []string{"PATH", "LD_PRELOAD", "NODE_OPTIONS"} { // the caller must not choose which programs run
		require.ErrorIs(t, w.SetInputs([]project.Input{{Name: name}}), process.ErrEnv, name)
	}
	assert.Equal(t, before, w)
}
