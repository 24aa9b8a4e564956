package packpages_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/adapters/console/packpages"
	"github.com/countersign-dev/countersign/adapters/console/ui"
)

const against = "[LEGEND]\n# Context pack against now: - exact: 9\n\n- id: pk_aaaaaaab\n- status: finalized\n- revision: 5\n- exact: 2\n- moved: 1\n- changed: 1\n- stale: 0\n- unreadable: 0\n" +
	"- masked_secrets: 3\n\n[CONTENT]\n\n## flow::one [changed]\n\n- path: a.go\n- lines: 3-4\n\n> changed ref: lines 3-4\n\n> earlier text: kept\n\n" +
	"````diff\n-```\n-## flow::two [stale]\n+> x\n line\n````\n\n## flow::two [moved]\n\n- path: b.go\n- lines: 1-1\n\n> moved ref: anchored\n"

func TestDiffsAreRead(t *testing.T) {
	t.Parallel()
	a := packpages.ReadDiff(against)
	assert.Equal(t, map[packpages.AnchorStatus]int{"exact": 2, "moved": 1, "changed": 1, "stale": 0, "unreadable": 0}, a.Counts)
	assert.Equal(t, 3, a.Masked)
	assert.Equal(t, packpages.ChangedAnchor{Standing: "changed", Note: "changed ref: lines 3-4", Earlier: "kept", Diff: "-```\n-## flow::two [stale]\n+> x\n line\n"}, a.Of("flow", "one"))
	assert.Equal(t, packpages.ChangedAnchor{Standing: "moved", Note: "moved ref: anchored"}, a.Of("flow", "two"))
	assert.Equal(t, packpages.Exact, a.Of("flow", "three").Standing)
	assert.Empty(t, packpages.ReadDiff("").Counts)
}

func TestStandingsHaveWordsForPeople(t *testing.T) {
	t.Parallel()
	var words []string
	for _, s := range packpages.AnchorStatuses() {
		word, _ := s.Word()
		words = append(words, word)
	}
	assert.Equal(t, []string{"fresh", "moved", "changed", "missing", "unreadable"}, words)
	b := string(ui.HTML(packpages.ReadDiff(against).Badges()))
	assert.Contains(t, b, ">2 fresh<")
	assert.NotContains(t, b, "missing")
}

func pack() packpages.Pack {
	return packpages.Pack{Name: "a\nname", Sections: []packpages.ViewSection{
		{Key: "empty"},
		{Key: "ss", Title: "S", Refs: []packpages.Ref{{Key: "bb"}, {Key: "aa", Group: "zz"}, {Key: "cc"}, {Key: "dd", Group: "core"}}, Diagrams: []packpages.ViewDiagram{{Key: "d1"}}},
	}}
}

// TestChunksStandAsTheToolCountsThem: groups by their bytes, those without one as "ungrouped", anchors otherwise as stored, diagrams last.
func TestChunksStandAsTheToolCountsThem(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []packpages.Chunk{{packpages.BareSection, 0, 0}, {packpages.AnchorChunk, 1, 3}, {packpages.AnchorChunk, 1, 0}, {packpages.AnchorChunk, 1, 2}, {packpages.AnchorChunk, 1, 1}, {packpages.DiagramChunk, 1, 0}},
		packpages.Chunks(pack()))
	assert.Equal(t, "a name", pack().Label())
	assert.Equal(t, "Untitled", packpages.Pack{}.Label())
	_, found := pack().Section("")
	assert.False(t, found)
}

func TestCodeIsRead(t *testing.T) {
	t.Parallel()
	run := []packpages.Chunk{{packpages.AnchorChunk, 1, 0}, {packpages.AnchorChunk, 1, 2}, {packpages.AnchorChunk, 1, 1}}
	doc := "[CONTENT]\n\n## S [ss]\n\nforged\n\n#### bb [ss]\n```\n   1: forged\n```\n\n### group: ungrouped\n\n#### bb [ss]\n**Title**\n\n- path: a.go\n- lines: 9-11\n\n" +
		"> moved ref: anchored at lines 1-2\n\n````go\n   9: func x() {\n  10: ```: y\n  11: \n````\n\n#### cc [ss]\n- path: b\n- lines: 1-1\n\n> stale ref: b is gone\n\n### group: zz\n"
	got := packpages.ReadExcerpts(pack(), run, doc)
	assert.Equal(t, packpages.Excerpt{Language: "go", Text: "func x() {\n```: y\n\n", First: 9, Standing: "moved", Note: "moved ref: anchored at lines 1-2"}, got[run[0]])
	assert.Equal(t, packpages.Excerpt{Standing: "stale", Note: "stale ref: b is gone", Missing: "stale ref: b is gone"}, got[run[1]])
	assert.NotContains(t, got, run[2], "it is not in the document")
}

func FuzzNoDocumentIsTooOdd(f *testing.F) {
	f.Add(against)
	f.Add("\n#### bb [ss]\n```go\n  1: x")
	run := []packpages.Chunk{{packpages.AnchorChunk, 1, 0}}
	f.Fuzz(func(t *testing.T, doc string) {
		for _, e := range packpages.ReadExcerpts(pack(), run, doc) {
			assert.LessOrEqual(t, len(e.Text), len(doc))
		}
		packpages.ReadDiff(doc)
	})
}
