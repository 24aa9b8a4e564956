package tool_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// handler decodes nothing; registries only ask that there is one.
type handler struct{}

func (handler) Decode(json.RawMessage) (tool.Invocation, error) { return nil, nil }

// entry returns the smallest tool a registry takes.
func entry(name tool.Name) tool.Entry {
	return tool.Entry{Handler: handler{}, Spec: tool.Spec{
		Name: name, Title: "A tool", Description: "Does a thing.", Class: policy.ClassWrite, Effects: policy.Read | policy.Write,
		Input: json.RawMessage(`{"type":"object"}`),
	}}
}

func TestRegistryRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*tool.Entry)
		says   string
	}{
		"no name":               {func(e *tool.Entry) { e.Spec.Name = "" }, "a name must match [a-z][a-z0-9_]* and have at most 40 characters"},
		"upper case":            {func(e *tool.Entry) { e.Spec.Name = "Deploy" }, "a name must match [a-z][a-z0-9_]* and have at most 40 characters"},
		"a dash":                {func(e *tool.Entry) { e.Spec.Name = "a-b" }, "a name must match [a-z][a-z0-9_]* and have at most 40 characters"},
		"a digit first":         {func(e *tool.Entry) { e.Spec.Name = "1a" }, "a name must match [a-z][a-z0-9_]* and have at most 40 characters"},
		"an underscore first":   {func(e *tool.Entry) { e.Spec.Name = "_a" }, "a name must match [a-z][a-z0-9_]* and have at most 40 characters"},
		"a line end":            {func(e *tool.Entry) { e.Spec.Name = "a\n" }, "a name must match [a-z][a-z0-9_]* and have at most 40 characters"},
		"41 characters":         {func(e *tool.Entry) { e.Spec.Name = tool.Name(strings.Repeat("a", 41)) }, "at most 40"},
		"no title":              {func(e *tool.Entry) { e.Spec.Title = "" }, "title"},
		"no description":        {func(e *tool.Entry) { e.Spec.Description = "" }, "description"},
		"no class":              {func(e *tool.Entry) { e.Spec.Class = policy.ClassUnknown }, "class"},
		"a class nobody knows":  {func(e *tool.Entry) { e.Spec.Class = 9 }, "class"},
		"a read that writes":    {func(e *tool.Entry) { e.Spec.Class = policy.ClassRead }, "class read with effects read,write"},
		"notes that run things": {func(e *tool.Entry) { e.Spec.Class, e.Spec.Effects = policy.ClassScratch, policy.Exec }, "class scratch"},
		"an unknown strength":   {func(e *tool.Entry) { e.Spec.Confirm = 9 }, "strength"},
		"an unknown least":      {func(e *tool.Entry) { e.Spec.Human = 9 }, "strength"},
		"an unknown risk":       {func(e *tool.Entry) { e.Spec.Risk = 9 }, "risk"},
		"unmasked, for agents":  {func(e *tool.Entry) { e.Spec.Unmasked = true }, "arguments that agents may write must not be redacted"},
		"no handler":            {func(e *tool.Entry) { e.Handler = nil }, "handler"},
		"no schema":             {func(e *tool.Entry) { e.Spec.Input = nil }, "input schema"},
		"a schema of a string":  {func(e *tool.Entry) { e.Spec.Input = json.RawMessage(`{"type":"string"}`) }, "input schema"},
		"a schema of nothing":   {func(e *tool.Entry) { e.Spec.Input = json.RawMessage(`{}`) }, "input schema"},
		"a schema that is true": {func(e *tool.Entry) { e.Spec.Input = json.RawMessage(`true`) }, "input schema"},
		"a broken schema":       {func(e *tool.Entry) { e.Spec.Input = json.RawMessage(`{"type":"object"`) }, "input schema"},
	} {
		t.Run(name, func(t *testing.T) {
			bad := entry("bad")
			c.change(&bad)
			r, err := tool.NewRegistry(tool.Capability{Name: "things", Entries: []tool.Entry{entry("good"), bad}})
			require.ErrorIs(t, err, tool.ErrRegistry)
			assert.Nil(t, r)
			assert.Contains(t, err.Error(), c.says)
			assert.Contains(t, err.Error(), "things", "the message names the capability")
		})
	}
	_, err := tool.NewRegistry(tool.Capability{Name: "things", Mode: 9, Entries: []tool.Entry{entry("a")}})
	require.ErrorIs(t, err, tool.ErrRegistry)
	_, err = tool.NewRegistry(tool.Capability{Entries: []tool.Entry{entry(tool.Name(strings.Repeat("a", 40)))}})
	require.NoError(t, err, "40 characters are the edge")
}

func TestRegistryRefusesRepeatedNames(t *testing.T) {
	for name, caps := range map[string][]tool.Capability{
		"in one capability":  {{Name: "a", Entries: []tool.Entry{entry("same"), entry("other"), entry("same")}}},
		"across two of them": {{Name: "a", Entries: []tool.Entry{entry("same")}}, {Name: "b", Entries: []tool.Entry{entry("same")}}},
	} {
		_, err := tool.NewRegistry(caps...)
		require.ErrorIs(t, err, tool.ErrRegistry, name)
		assert.Contains(t, err.Error(), `"same" is defined twice`)
	}
}

func TestRegistryIsSortedAndFillsIn(t *testing.T) {
	given := []tool.Entry{entry("zeta"), entry("alpha")}
	r, err := tool.NewRegistry(
		tool.Capability{Name: "second", Contract: "b.v1", Mode: policy.Ask, Entries: given},
		tool.Capability{Name: "empty"},
		tool.Capability{Name: "first", Contract: "a.v2", Mode: policy.Execute, Entries: []tool.Entry{entry("middle"), entry("alpha_2")}},
	)
	require.NoError(t, err)
	var names []tool.Name
	for s := range r.Specs() {
		names = append(names, s.Name)
	}
	assert.Equal(t, []tool.Name{"alpha", "alpha_2", "middle", "zeta"}, names)
	assert.Equal(t, len(names), r.Len())

	e, ok := r.Lookup("zeta")
	require.True(t, ok)
	assert.Equal(t, "second", e.Spec.Toolset)
	assert.Equal(t, tool.Contract("b.v1"), e.Spec.Contract)
	assert.Equal(t, policy.Ask, e.Spec.Mode)
	e, ok = r.Lookup("middle")
	require.True(t, ok)
	assert.Equal(t, "first", e.Spec.Toolset)
	assert.Equal(t, policy.Execute, e.Spec.Mode)
	assert.Empty(t, given[0].Spec.Toolset, "what was handed in is not written to")
}

func TestLookupIsExact(t *testing.T) {
	r, err := tool.NewRegistry(tool.Capability{Name: "a", Entries: []tool.Entry{entry("pack_get")}})
	require.NoError(t, err)
	for _, n := range []tool.Name{"", "pack", "pack_get ", "Pack_get", "pack_get\x00", "pack-get"} {
		e, ok := r.Lookup(n)
		assert.False(t, ok, "%q", n)
		assert.Nil(t, e.Handler)
	}
	none, err := tool.NewRegistry()
	require.NoError(t, err)
	assert.Zero(t, none.Len())
	_, ok := none.Lookup("pack_get")
	assert.False(t, ok)
}

func TestRegistryCannotBeChangedThroughWhatItGives(t *testing.T) {
	entries := []tool.Entry{entry("a"), entry("b")}
	r, err := tool.NewRegistry(tool.Capability{Name: "x", Entries: entries})
	require.NoError(t, err)
	entries[0].Spec.Name, entries[1].Handler = "changed", nil
	e, _ := r.Lookup("a")
	e.Spec.Class = policy.ClassRead
	for s := range r.Specs() {
		s.Description = ""
		_ = s
	}
	again, ok := r.Lookup("a")
	require.True(t, ok)
	assert.Equal(t, policy.ClassWrite, again.Spec.Class)
	assert.NotEmpty(t, again.Spec.Description)
	b, _ := r.Lookup("b")
	assert.NotNil(t, b.Handler)
}

func TestSpecsStopsWhenAsked(t *testing.T) {
	r, err := tool.NewRegistry(tool.Capability{Entries: []tool.Entry{entry("a"), entry("b"), entry("c")}})
	require.NoError(t, err)
	seen := 0
	for range r.Specs() {
		if seen++; seen == 2 {
			break
		}
	}
	assert.Equal(t, 2, seen)
	assert.Equal(t, slices.Collect(r.Specs()), slices.Collect(r.Specs()), "and starts over")
}

// big returns a registry the size of everything switched on.
func big(tb testing.TB) *tool.Registry {
	var entries []tool.Entry
	for i := range 100 {
		entries = append(entries, entry(tool.Name(fmt.Sprintf("tool_%02d", i))))
	}
	r, err := tool.NewRegistry(tool.Capability{Name: "all", Entries: entries})
	require.NoError(tb, err)
	return r
}

func TestLookupAndSpecsAllocateNothing(t *testing.T) {
	r := big(t)
	var found bool
	assert.Zero(t, testing.AllocsPerRun(100, func() { _, found = r.Lookup("tool_42") }))
	assert.True(t, found)
	n := 0
	assert.LessOrEqual(t, testing.AllocsPerRun(100, func() {
		for range r.Specs() {
			n++
		}
	}), 2.0)
}

func BenchmarkSpecs(b *testing.B) {
	r := big(b)
	b.ReportAllocs()
	for b.Loop() {
		for s := range r.Specs() {
			_ = s.Name
		}
	}
}
