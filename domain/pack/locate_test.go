package pack_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/domain/pack"
)

// file holds lines and returns them as a source does; it counts passes and lines.
type file struct {
	lines   []string
	passes  int
	visited int
}

func (f *file) read(from int, visit func(int, []byte) int) int {
	f.passes++
	for n := from; n <= len(f.lines); {
		f.visited++
		next := visit(n, []byte(f.lines[n-1]))
		if next <= n {
			return n
		}
		n = next
	}
	return len(f.lines)
}

func locateAll(f *file, refs ...pack.Ref) []pack.Evidence {
	r := pack.NewResolver(refs)
	for from, visit, ok := r.Pass(); ok; from, visit, ok = r.Pass() {
		r.Done(f.read(from, visit))
	}
	out := make([]pack.Evidence, len(refs))
	for i := range refs {
		out[i] = r.Evidence(i)
	}
	return out
}

func ref(start, end int) pack.Ref {
	return pack.Ref{Path: "f.go", Lines: pack.LineRange{Start: start, End: end}}
}

// anchored returns a ref with the anchor of its lines in text.
func anchored(text []string, start, end int) pack.Ref {
	r := ref(start, end)
	r.Anchor = locateAll(&file{lines: text}, r)[0].Anchor
	return r
}

func numbered(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("this is line %d", i+1)
	}
	return out
}

func TestOnePassReadsWhatIsWanted(t *testing.T) {
	f := &file{lines: numbered(10_000)}
	got := locateAll(f, ref(5000, 5002), ref(10, 11), ref(5001, 5005), ref(1, 1))
	assert.Equal(t, 1, f.passes)
	assert.Less(t, f.visited, 40, "lines between the refs cost nothing")
	for i, want := range []string{"this is line 5000", "this is line 10", "this is line 5001", "this is line 1"} {
		assert.Equal(t, pack.RefExact, got[i].Standing)
		assert.Equal(t, want, got[i].Text[0])
		assert.Len(t, got[i].Text, got[i].Lines.Span())
	}
}

func TestStandings(t *testing.T) {
	was := numbered(40)
	insert := func(at int, lines ...string) []string { return slices.Insert(slices.Clone(was), at, lines...) }
	replace := func(at int, line string) []string { c := slices.Clone(was); c[at-1] = line; return c }
	for name, c := range map[string]struct {
		now      []string
		start    int
		standing pack.RefStatus
		lines    pack.LineRange
		reason   string
	}{
		"untouched":                 {was, 20, pack.RefExact, pack.LineRange{Start: 20, End: 22}, ""},
		"lines above":               {insert(0, "x", "y"), 20, pack.RefMoved, pack.LineRange{Start: 22, End: 24}, ""},
		"right above":               {insert(19, "x"), 20, pack.RefMoved, pack.LineRange{Start: 21, End: 23}, ""},
		"lines removed above":       {was[5:], 20, pack.RefMoved, pack.LineRange{Start: 15, End: 17}, ""},
		"neighbour edited":          {replace(19, "x"), 20, pack.RefExact, pack.LineRange{Start: 20, End: 22}, ""},
		"both neighbours edited":    {func() []string { c := replace(19, "x"); c[22] = "y"; return c }(), 20, pack.RefExact, pack.LineRange{Start: 20, End: 22}, ""},
		"first line edited":         {replace(20, "x"), 20, pack.RefChanged, pack.LineRange{Start: 20, End: 22}, ""},
		"cut in two":                {insert(20, "x"), 20, pack.RefChanged, pack.LineRange{Start: 20, End: 22}, ""},
		"file too short":            {was[:10], 20, pack.RefStale, pack.LineRange{Start: 20, End: 22}, "f.go has 10 lines; start line 20 is beyond the last"},
		"file a little short":       {was[:21], 20, pack.RefStale, pack.LineRange{Start: 20, End: 22}, "f.go has 21 lines; end line 22 is beyond the last"},
		"empty file":                {nil, 20, pack.RefStale, pack.LineRange{Start: 20, End: 22}, "f.go has 0 lines; start line 20 is beyond the last"},
		"moved beyond the old end":  {append(numbered(38)[:18], was[34:40]...), 38, pack.RefMoved, pack.LineRange{Start: 22, End: 24}, ""},
		"last lines, shorter file":  {was[10:], 38, pack.RefMoved, pack.LineRange{Start: 28, End: 30}, ""},
		"first lines moved to end":  {append(numbered(40)[3:], was[0:3]...), 1, pack.RefMoved, pack.LineRange{Start: 38, End: 40}, ""},
		"nothing left":              {numbered(0), 1, pack.RefStale, pack.LineRange{Start: 1, End: 3}, "f.go has 0 lines; start line 1 is beyond the last"},
		"moved with its neighbours": {append(append([]string{}, was[20:]...), was[:20]...), 8, pack.RefMoved, pack.LineRange{Start: 28, End: 30}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := locateAll(&file{lines: c.now}, anchored(was, c.start, c.start+2))[0]
			assert.Equal(t, c.standing, e.Standing)
			assert.Equal(t, c.lines, e.Lines)
			assert.Equal(t, c.reason, e.Reason)
			if c.standing == pack.RefMoved || c.standing == pack.RefExact {
				assert.Equal(t, was[c.start-1:c.start+2], e.Text)
			}
		})
	}
}

// TestSurroundingsDecide: of several places with the same text, the one with the old surroundings is chosen, then the nearest.
func TestSurroundingsDecide(t *testing.T) {
	was := []string{"func a() {", "x", "}", "", "func b() {", "y", "}", "", "func c() {", "z", "}"}
	now := append([]string{"1", "2", "3", "4"}, was...)
	e := locateAll(&file{lines: now}, anchored(was, 7, 7))[0]
	assert.Equal(t, pack.RefMoved, e.Standing)
	assert.Equal(t, 11, e.Lines.Start, "line 7 holds a brace again, but not this one")

	many := slices.Repeat([]string{"}", "other", "other", "other", "other"}, 20)
	e = locateAll(&file{lines: many}, anchored(was, 7, 7))[0]
	assert.Equal(t, pack.RefChanged, e.Standing, "a brace anywhere else is no move")

	long := "a line with enough in it to be known by itself"
	twice := []string{"q", "q", "q", "q", long, "r", "r", "r", "r"}
	e = locateAll(&file{lines: append(numbered(3), twice...)}, anchored([]string{"1", "2", "3", long, "5", "6", "7"}, 4, 4))[0]
	assert.Equal(t, pack.RefMoved, e.Standing, "substantial text that stands once is found without its neighbours")
}

func TestTooMuchIsNotGathered(t *testing.T) {
	f := &file{lines: slices.Repeat([]string{strings.Repeat("x", 1<<20)}, 40)}
	got := locateAll(f, ref(1, 30), ref(2, 3))
	assert.Equal(t, pack.RefUnreadable, got[0].Standing)
	assert.Contains(t, got[0].Reason, "16 MiB")
	assert.Equal(t, pack.RefExact, got[1].Standing, "what fits is shown")
	assert.Less(t, f.visited, 20)
}

// TestFindsWhatWasInserted: when lines are inserted anywhere outside a ref's text, the text is found at its new lines.
func TestFindsWhatWasInserted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		was := numbered(rapid.IntRange(10, 60).Draw(t, "lines"))
		start := rapid.IntRange(1, len(was)-3).Draw(t, "start")
		end := rapid.IntRange(start, len(was)).Draw(t, "end")
		r := anchored(was, start, end)
		above := rapid.IntRange(0, start-1).Draw(t, "above")
		added := rapid.SliceOfN(rapid.SampledFrom([]string{"", "}", "new", was[start-1]}), 0, 9).Draw(t, "added")
		now := slices.Insert(slices.Clone(was), above, added...)
		e := locateAll(&file{lines: now}, r)[0]
		require.Contains(t, []pack.RefStatus{pack.RefExact, pack.RefMoved}, e.Standing)
		require.Equal(t, was[start-1:end], e.Text)
		require.Equal(t, now[e.Lines.Start-1:e.Lines.End], e.Text, "the lines say where the text is")
		if len(added) > 0 && start != end {
			require.Equal(t, start+len(added), e.Lines.Start)
		}
	})
}

func TestHugeLineNumbersAreHarmless(t *testing.T) {
	top := int(^uint(0) >> 1)
	e := locateAll(&file{lines: numbered(5)}, ref(top-1, top), ref(1, 1))
	assert.Equal(t, pack.RefStale, e[0].Standing)
	assert.Equal(t, pack.RefExact, e[1].Standing)
}
