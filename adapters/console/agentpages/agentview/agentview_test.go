package agentview_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/console/agentpages/agentview"
	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/present/answers"
)

func rendered(t *testing.T, n markup.Node) string {
	t.Helper()
	b := string(markup.HTML(n))
	return b
}

func text(s string) *string { return &s }

func plan() agentview.Plan {
	return agentview.Plan{Plan: answers.Plan{Changes: []answers.Change{
		{Target: "codex", Op: "create", Path: "/a", Reason: "file missing", After: text("1")},
		{Target: "codex", Op: "update", Path: "/b", UpdateKind: "adopt_update", Before: text("1"), After: text("2")},
		{Target: "codex", Op: "delete", Path: "/c", DeleteKind: "drifted_delete", Before: text("3")},
	}, Summary: answers.Summary{Create: 1, Update: 1, Delete: 1}}}
}

// TestMarksNameWhatIsShown: any change of what is shown is another mark.
func TestMarksNameWhatIsShown(t *testing.T) {
	t.Parallel()
	mark := plan().Mark()
	require.NotEmpty(t, mark)
	assert.Equal(t, mark, plan().Mark())
	for name, change := range map[string]func(*agentview.Plan){
		"content": func(p *agentview.Plan) { p.Changes[0].After = text("2") }, "before": func(p *agentview.Plan) { p.Changes[1].Before = nil },
		"file": func(p *agentview.Plan) { p.Changes[0].Path = "/x" }, "agent": func(p *agentview.Plan) { p.Changes[0].Target = "cursor" },
		"mode": func(p *agentview.Plan) { p.Changes[0].Mode = "0755" }, "gate": func(p *agentview.Plan) { p.Changes[1].UpdateKind = "managed_update" },
		"one less": func(p *agentview.Plan) { p.Changes = p.Changes[:2] }, "unlisted": func(p *agentview.Plan) { p.Omitted = 1 },
		"counts": func(p *agentview.Plan) { p.Summary.Create = 2 },
	} {
		p := plan()
		change(&p)
		assert.NotEqual(t, mark, p.Mark(), name)
	}
	assert.NotEqual(t, agentview.Proposal{}.Mark(), agentview.Proposal{Candidates: []agentview.Candidate{{Module: "m"}}}.Mark())
	assert.NotEqual(t, agentview.Restoration{}.Mark(), agentview.Restoration{Omitted: 1}.Mark())
}

func TestWhatNeedsAdoptIsNamed(t *testing.T) {
	t.Parallel()
	assert.Len(t, plan().Adoptions(), 2)
	out := rendered(t, plan().Table("Changes", nil))
	for _, want := range []string{"overwrites a file that no deployment wrote", "deletes a file with edits made since it was deployed", "file missing", "What to know"} {
		assert.Contains(t, out, want)
	}
	assert.NotContains(t, rendered(t, agentview.Of([]answers.Change{{Op: "create", Path: "/a"}}).Table("Changes", nil)), "What to know")
	assert.Contains(t, rendered(t, agentview.Plan{Plan: answers.Plan{Omitted: 3}}.Table("Changes", nil)), "3 more changes are too many")
	for kind, note := range map[string]string{"managed_update": "", "merge_update": "adds to the file, and leaves the rest of it alone", "drifted_update": "overwrites edits made since it was deployed"} {
		assert.Equal(t, note, answers.Change{UpdateKind: kind}.Note())
	}
}

// TestDiffsBelongToTheirChanges: the diff of another edition of a file is not shown for this one.
func TestDiffsBelongToTheirChanges(t *testing.T) {
	t.Parallel()
	p := plan()
	var pv agentview.Preview
	pv.Diff.Changes = append(pv.Diff.Changes, plan().Changes...)
	pv.Diff.Files = []agentview.File{{Unified: text("+a\n")}, {Unified: text("+b\n")}}
	assert.Len(t, pv.Diffs(p.Changes), 2)
	p.Changes[1].After = text("9")
	diffs := pv.Diffs(p.Changes)
	assert.Len(t, diffs, 1)
	out := rendered(t, p.Lines(diffs, nil))
	assert.Contains(t, out, "+a")
	assert.NotContains(t, out, "+b")
	assert.Contains(t, out, "There is no text to show")
	assert.Contains(t, out, "The file is deleted.")
}

func TestAFullPageLeadsToTheRest(t *testing.T) {
	t.Parallel()
	p := plan()
	long := strings.Repeat("+x\n", agentview.MaxLines/3)
	diffs := map[string]agentview.File{p.Changes[0].Key(): {Unified: &long}, p.Changes[1].Key(): {Unified: text("+b\n")}}
	out := rendered(t, p.Lines(diffs, func(c answers.Change) markup.Node { return markup.Text("see " + c.Path) }))
	assert.Contains(t, out, "+x")
	assert.Contains(t, out, "see /b")
	assert.NotContains(t, out, "+b")
}
