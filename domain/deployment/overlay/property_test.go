package overlay_test

import (
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/overlay"
)

// author changes texts at random; every word it writes is unique, so that it can be found again.
type author struct {
	*rand.Rand
	name string
	n    int
}

func (a *author) word() string {
	a.n++
	return fmt.Sprintf("%s%d\n", a.name, a.n)
}

func (a *author) text() string {
	var b strings.Builder
	for range 3 + a.Intn(12) {
		b.WriteString(a.word())
	}
	return b.String()
}

// edit replaces, adds and removes a few lines.
func (a *author) edit(text string) string {
	lines := strings.SplitAfter(text, "\n")
	lines = lines[:len(lines)-1]
	for range 1 + a.Intn(3) {
		at := a.Intn(len(lines) + 1)
		switch a.Intn(3) {
		case 0:
			lines = slices.Insert(lines, at, a.word())
		case 1:
			if at < len(lines) {
				lines[at] = a.word()
			}
		default:
			if at < len(lines) && len(lines) > 1 {
				lines = slices.Delete(lines, at, at+1)
			}
		}
	}
	return strings.Join(lines, "")
}

// world returns a random upstream with an overlay.
func world(t *testing.T, seed int64, kind overlay.Kind) (d *disk, ours texts, me, them *author) {
	r := rand.New(rand.NewSource(seed))
	me, them = &author{Rand: r, name: "mine"}, &author{Rand: r, name: "theirs"}
	upstream, files := texts{}, texts{}
	ours = texts{}
	for _, path := range []string{"a", "b", "c/d", "c/e"} {
		upstream[path] = them.text()
		switch text := me.edit(upstream[path]); {
		case r.Intn(5) == 0:
		case kind == overlay.KindDir && r.Intn(5) == 0:
			files[path], ours[path] = upstream[path], upstream[path]
		case kind == overlay.KindDir:
			files[path], ours[path] = text, text
		case text != upstream[path]:
			files[patchAt(path)], ours[path] = diff(path, upstream[path], text), text
		}
	}
	if kind == overlay.KindDir {
		ours["added"] = me.text()
		files["added"] = ours["added"]
	}
	return newDisk(t, kind, upstream, files), ours, me, them
}

// moved returns upstream some edits later.
func (a *author) moved(upstream texts) texts {
	next := maps.Clone(upstream)
	for _, path := range slices.Sorted(maps.Keys(next)) {
		switch a.Intn(6) {
		case 0:
		case 1:
			delete(next, path)
		default:
			next[path] = a.edit(next[path])
		}
	}
	next["new"+a.word()[:7]] = a.text()
	return next
}

func eachWorld(t *testing.T, test func(t *testing.T, seed int64, kind overlay.Kind)) {
	for _, kind := range []overlay.Kind{overlay.KindDir, overlay.KindPatch} {
		t.Run(string(kind), func(t *testing.T) {
			for seed := range int64(25) {
				test(t, seed, kind)
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
		})
	}
}

func TestPropertyRebaseOntoTheSameIsNothing(t *testing.T) {
	eachWorld(t, func(t *testing.T, seed int64, kind overlay.Kind) {
		d, _, _, _ := world(t, seed, kind)
		before := maps.Clone(d.files)
		out := d.rebase("a")
		assert.Equal(t, before, d.files)
		assert.Empty(t, out.Files)
		assert.Empty(t, out.Remove)
		assert.Nil(t, out.Baseline)
		assert.Equal(t, out.Report.Summary.Processed, out.Report.Summary.Skipped)
	})
}

func TestPropertyCleanMergesComposeToTheMergedText(t *testing.T) {
	clean := 0
	eachWorld(t, func(t *testing.T, seed int64, kind overlay.Kind) {
		d, ours, _, them := world(t, seed, kind)
		d.sparsify = seed%2 == 0
		upstream := d.history[strings.Repeat("a", 40)]
		next := them.moved(upstream)
		d.publish("b", next)
		if len(d.rebase("b").Report.Conflicts) > 0 {
			return
		}
		clean++
		want := maps.Clone(next)
		for path, text := range ours {
			base, known := upstream[path]
			theirs, there := next[path]
			switch {
			case !known:
				want[path] = text
			case there:
				merged, conflicts, err := d.merge([]byte(base), []byte(text), []byte(theirs))
				require.NoError(t, err)
				require.Zero(t, conflicts)
				want[path] = string(merged)
			case text != base:
				want[path] = text
			}
		}
		composed, err := d.compose("b")
		require.NoError(t, err)
		assert.Equal(t, want, textsOf(t, composed.Tree))
		assert.Empty(t, composed.Warnings, "what was rebased does not drift")

		again := d.rebase("b")
		assert.Empty(t, append(again.Remove, again.Report.Updated...), "a second rebase does nothing")
	})
	assert.Greater(t, clean, 10, "the worlds are too full of conflicts to say anything")
}

func TestPropertyConflictsAreReportedAgainAndNothingIsLost(t *testing.T) {
	met := 0
	eachWorld(t, func(t *testing.T, seed int64, kind overlay.Kind) {
		d, ours, _, them := world(t, seed, kind)
		next := d.history[strings.Repeat("a", 40)]
		for _, letter := range []string{"b", "c", "d"} { // upstream changes, whether conflicts are resolved or not
			next = them.moved(next)
			d.publish(letter, next)
			out := d.rebase(letter)
			before, base := maps.Clone(d.files), d.baseline
			again := d.rebase(letter)
			assert.Equal(t, out.Report.Conflicts, again.Report.Conflicts)
			assert.Equal(t, before, d.files)
			assert.Equal(t, base, d.baseline)

			held := strings.Join(slices.Collect(maps.Values(d.files)), "\n")
			for path, text := range ours {
				for line := range strings.Lines(text) {
					if strings.HasPrefix(line, "mine") {
						assert.Contains(t, held, line, "a line of %s is lost", path)
					}
				}
			}
			_, err := d.compose(letter)
			if len(out.Report.Conflicts) > 0 {
				met++
				require.ErrorIs(t, err, deployment.ErrConflictsUnsolved)
			} else {
				require.NoError(t, err)
			}
		}
	})
	assert.Greater(t, met, 10, "the worlds have too few conflicts to say anything")
}

func TestPropertyResolvedIsResolved(t *testing.T) {
	eachWorld(t, func(t *testing.T, seed int64, kind overlay.Kind) {
		d, _, me, them := world(t, seed, kind)
		next := them.moved(d.history[strings.Repeat("a", 40)])
		d.publish("b", next)
		resolved := texts{}
		for _, path := range d.rebase("b").Report.Conflicts {
			resolved[path] = me.text()
			if _, there := next[path]; !there {
				resolved[path] = "" // the only answer for a patch of a file that is gone
			}
			d.files[conflictAt(path)] = resolved[path]
		}
		assert.Empty(t, d.rebase("b").Report.Conflicts)
		composed, err := d.compose("b")
		require.NoError(t, err)
		got := textsOf(t, composed.Tree)
		for path, text := range resolved {
			assert.Equal(t, text, got[path])
		}
		assert.Empty(t, composed.Warnings)
		assert.Equal(t, next.tree().Entries(), d.baseline.Manifest)
	})
}
