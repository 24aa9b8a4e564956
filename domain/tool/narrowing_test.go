package tool_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

func TestNarrowing(t *testing.T) {
	read := tool.Spec{Name: "list_notes", Toolset: "notes", Class: policy.ClassRead}
	scratch := tool.Spec{Name: "input", Toolset: "packs", Class: policy.ClassScratch}
	write := tool.Spec{Name: "write_note", Toolset: "notes", Class: policy.ClassWrite}
	mode := tool.Spec{Name: "set_mode", Toolset: tool.ControlToolset, Class: policy.ClassScratch}
	for name, c := range map[string]struct {
		n    tool.Restriction
		want [4]bool // read, scratch, write, mode
	}{
		"nothing said":            {tool.Restriction{}, [4]bool{true, true, true, true}},
		"one toolset":             {tool.Restriction{Toolsets: []string{"notes"}}, [4]bool{true, false, true, true}},
		"one tool":                {tool.Restriction{Tools: []string{"input"}}, [4]bool{false, true, false, true}},
		"a toolset and a tool":    {tool.Restriction{Toolsets: []string{"packs"}, Tools: []string{"list_notes"}}, [4]bool{true, true, false, true}},
		"excluded":                {tool.Restriction{Exclude: []string{"input", "set_mode"}}, [4]bool{true, false, true, false}},
		"excluded beats included": {tool.Restriction{Tools: []string{"input"}, Exclude: []string{"input"}}, [4]bool{false, false, false, true}},
		"read-only":               {tool.Restriction{ReadOnly: true}, [4]bool{true, true, false, true}},
		"unknown":                 {tool.Restriction{Toolsets: []string{"no"}}, [4]bool{false, false, false, true}},
	} {
		for i, s := range []tool.Spec{read, scratch, write, mode} {
			assert.Equal(t, c.want[i], c.n.Covers(s), "%s: %s", name, s.Name)
		}
	}
}

// TestNarrowingOnlyTakesAway: whatever is added to a list of narrowings, nothing is covered that was not.
func TestNarrowingOnlyTakesAway(t *testing.T) {
	names := rapid.SliceOfN(rapid.SampledFrom([]string{"notes", "packs", "input", "write_note"}), 0, 3)
	one := rapid.Custom(func(t *rapid.T) tool.Restriction {
		return tool.Restriction{Toolsets: names.Draw(t, "toolsets"), Tools: names.Draw(t, "tools"), Exclude: names.Draw(t, "exclude"), ReadOnly: rapid.Bool().Draw(t, "ro")}
	})
	rapid.Check(t, func(t *rapid.T) {
		some := rapid.SliceOfN(one, 0, 3).Draw(t, "some")
		more := append(some[:len(some):len(some)], one.Draw(t, "one more"))
		s := tool.Spec{Name: tool.Name(rapid.SampledFrom([]string{"input", "write_note"}).Draw(t, "tool")),
			Toolset: rapid.SampledFrom([]string{"notes", "packs", tool.ControlToolset}).Draw(t, "toolset"), Class: policy.Class(rapid.Uint8Max(4).Draw(t, "class"))}
		if tool.Covered(more, s) && !tool.Covered(some, s) {
			t.Fatalf("%v covers %v, %v does not", more, s, some)
		}
		if tool.ReadsOnly(some) && !tool.ReadsOnly(more) {
			t.Fatal("reading alone was lifted")
		}
	})
}
