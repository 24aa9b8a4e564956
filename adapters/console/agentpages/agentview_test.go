package agentpages_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/console/agentpages"
	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/present"
)

func rendered(t *testing.T, n ui.Node) string {
	t.Helper()
	b := string(ui.HTML(n))
	return b
}

func text(s string) *string { return &s }

func agentviewPlan() agentpages.Plan {
	return agentpages.Plan{Plan: present.Plan{Changes: []present.Change{
		{Target: "codex", Op: "create", Path: "/a", Reason: "file missing", After: text("1")},
		{Target: "codex", Op: "update", Path: "/b", UpdateKind: "adopt_update", Before: text("1"), After: text("2")},
		{Target: "codex", Op: "delete", Path: "/c", DeleteKind: "drifted_delete", Before: text("3")},
	}, Summary: present.Summary{Create: 1, Update: 1, Delete: 1}}}
}

// TestMarksNameWhatIsShown: any change of what is shown is another mark.
func TestMarksNameWhatIsShown(t *testing.T) {
	t.Parallel()
	mark := agentviewPlan().Mark()
	require.NotEmpty(t, mark)
	assert.Equal(t, mark, agentviewPlan().Mark())
	for name, change := range map[string]func(*agentpages.Plan){
		"content": func(p *agentpages.Plan) { p.Changes[0].After = text("2") }, "before": func(p *agentpages.Plan) { p.Changes[1].Before = nil },
		"file": func(p *agentpages.Plan) { p.Changes[0].Path = "/x" }, "agent": func(p *agentpages.Plan) { p.Changes[0].Target = "cursor" },
		"mode": func(p *agentpages.Plan) { p.Changes[0].Mode = "0755" }, "gate": func(p *agentpages.Plan) { p.Changes[1].UpdateKind = "managed_update" },
		"one less": func(p *agentpages.Plan) { p.Changes = p.Changes[:2] }, "unlisted": func(p *agentpages.Plan) { p.Omitted = 1 },
		"counts": func(p *agentpages.Plan) { p.Summary.Create = 2 },
	} {
		p := agentviewPlan()
		change(&p)
		assert.NotEqual(t, mark, p.Mark(), name)
	}
	assert.NotEqual(t, agentpages.Proposal{}.Mark(), agentpages.Proposal{Candidates: []agentpages.Candidate{{Module: "m"}}}.Mark())
	assert.NotEqual(t, agentpages.Restoration{}.Mark(), agentpages.Restoration{Omitted: 1}.Mark())
}

func TestWhatNeedsAdoptIsNamed(t *testing.T) {
	t.Parallel()
	assert.Len(t, agentviewPlan().Adoptions(), 2)
	out := rendered(t, agentviewPlan().Table("Changes", nil))
	for _, want := range []string{"overwrites a file that no deployment wrote", "deletes a file with edits made since it was deployed", "file missing", "Notes"} {
		assert.Contains(t, out, want)
	}
	assert.NotContains(t, rendered(t, agentpages.NewPlan([]present.Change{{Op: "create", Path: "/a"}}).Table("Changes", nil)), "Notes")
	assert.Contains(t, rendered(t, agentpages.Plan{Plan: present.Plan{Omitted: 3}}.Table("Changes", nil)), "3 more changes are not listed")
	for kind, note := range map[string]string{"managed_update": "", "merge_update": "adds to the file and keeps the rest unchanged", "drifted_update": "overwrites edits made since it was deployed"} {
		assert.Equal(t, note, present.Change{UpdateKind: kind}.Note())
	}
}

// TestDiffsBelongToTheirChanges: the diff of another edition of a file is not shown for this one.
func TestDiffsBelongToTheirChanges(t *testing.T) {
	t.Parallel()
	p := agentviewPlan()
	var pv agentpages.Preview
	pv.Diff.Changes = append(pv.Diff.Changes, agentviewPlan().Changes...)
	pv.Diff.Files = []agentpages.File{{Unified: text("+a\n")}, {Unified: text("+b\n")}}
	assert.Len(t, pv.Diffs(p.Changes), 2)
	p.Changes[1].After = text("9")
	diffs := pv.Diffs(p.Changes)
	assert.Len(t, diffs, 1)
	out := rendered(t, p.Lines(diffs, nil))
	assert.Contains(t, out, "+a")
	assert.NotContains(t, out, "+b")
	assert.Contains(t, out, "No diff: ")
	assert.Contains(t, out, "The file is deleted.")
}

func TestAFullPageLeadsToTheRest(t *testing.T) {
	t.Parallel()
	p := agentviewPlan()
	long := strings.Repeat("+x\n", agentpages.MaxLines/3)
	diffs := map[string]agentpages.File{p.Changes[0].Key(): {Unified: &long}, p.Changes[1].Key(): {Unified: text("+b\n")}}
	out := rendered(t, p.Lines(diffs, func(c present.Change) ui.Node { return ui.TextNode("see " + c.Path) }))
	assert.Contains(t, out, "+x")
	assert.Contains(t, out, "see /b")
	assert.NotContains(t, out, "+b")
}
