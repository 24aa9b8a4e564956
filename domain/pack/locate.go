package pack

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

const (
	maxGathered = 16 << 20                        // bytes kept of one file
	substance   = 24                              // non-blank bytes that make a text recognisable without its surroundings
	lastLine    = int(^uint(0)>>1) - contextLines // so that widening a range cannot overflow
)

// resolver finds the evidence of all refs to one file in as few passes as possible: one, unless an anchored text is no longer at its lines. Use: for
// from, visit, ok := r.Pass(); ok; from, visit, ok = r.Pass() { read the file; r.Done(lines) }.
type resolver struct {
	refs     []Ref
	found    []Evidence
	phase    int
	lines    int
	gather   *gather
	open     []int     // indices of refs that the later passes look for
	searches []*search // aligned with open
}

// NewResolver returns a resolver for refs that all point to the same file.
func NewResolver(refs []Ref) *resolver {
	return &resolver{refs: refs, found: make([]Evidence, len(refs))}
}

// Pass returns what to read next: start at line from and follow visit, which returns the next line it wants and 0 for none. ok is false when
// everything is known.
func (r *resolver) Pass() (from int, visit func(n int, line []byte) (next int), ok bool) {
	switch r.phase {
	case 0:
		ranges := make([]LineRange, len(r.refs))
		for i, ref := range r.refs {
			ranges[i] = widen(ref.Lines)
		}
		r.gather = newGather(ranges)
	case 1:
		if len(r.open) == 0 {
			return 0, nil, false
		}
		return 1, r.look, true
	case 2:
		var ranges []LineRange
		for k, i := range r.open {
			for _, s := range r.searches[k].starts {
				ranges = append(ranges, widen(LineRange{Start: s, End: s + r.refs[i].Lines.Span() - 1}))
			}
		}
		if len(ranges) == 0 {
			return 0, nil, false
		}
		r.gather = newGather(ranges)
	default:
		return 0, nil, false
	}
	return r.gather.first(), r.gather.visit, true
}

// Done takes the number of lines that the read reported and evaluates what was gathered.
func (r *resolver) Done(lines int) {
	switch r.phase {
	case 0:
		r.lines = lines
		for i := range r.refs {
			r.compare(i)
		}
	case 2:
		for k, i := range r.open {
			r.choose(i, r.searches[k].starts)
		}
	}
	r.phase++
}

// Evidence returns the evidence of the i-th ref.
func (r *resolver) Evidence(i int) Evidence { return r.found[i] }

// widen adds the lines of context.
func widen(l LineRange) LineRange {
	return LineRange{Start: max(1, l.Start-contextLines), End: min(l.End, lastLine) + contextLines}
}

// compare judges the i-th ref by its own lines and decides whether to search for its text.
func (r *resolver) compare(i int) {
	ref := r.refs[i]
	found, whole := r.gather.take(ref.Lines)
	if !whole {
		r.found[i] = r.absent(ref)
	} else {
		anchor := found.anchor(ref.Anchor)
		r.found[i] = Evidence{Standing: RefExact, Lines: ref.Lines, Text: found.text, Anchor: &anchor}
		switch was := ref.Anchor; {
		case was == nil, anchor.Hash == was.Hash && (anchor.Before == was.Before || anchor.After == was.After):
			return
		case anchor.Hash != was.Hash:
			r.found[i].Standing = RefChanged
		}
		// The same text in other surroundings, such as a lone brace: the original surroundings may be elsewhere.
	}
	if ref.Anchor != nil && !r.gather.full {
		r.open = append(r.open, i)
		r.searches = append(r.searches, newSearch(*ref.Anchor, ref.Lines))
	}
}

// absent returns the evidence of a ref whose lines do not all exist. The start is tested first (context-pack contract §3.3).
func (r *resolver) absent(ref Ref) Evidence {
	e := Evidence{Standing: RefStale, Lines: ref.Lines}
	switch {
	case r.gather.full:
		e.Standing = RefUnreadable
		e.Reason = fmt.Sprintf("%s: the lines are more than %d MiB together; anchor fewer", ref.Path, maxGathered>>20)
	case ref.Lines.Start > r.lines:
		e.Reason = fmt.Sprintf("%s has %d lines; start line %d is beyond the last", ref.Path, r.lines, ref.Lines.Start)
	default:
		e.Reason = fmt.Sprintf("%s has %d lines; end line %d is beyond the last", ref.Path, r.lines, ref.Lines.End)
	}
	return e
}

// look returns the second pass: it feeds every line to every search.
func (r *resolver) look(n int, line []byte) int {
	print := LineFingerprint(line)
	for _, s := range r.searches {
		s.add(n, print)
	}
	return n + 1
}

// choose picks, of the places that hold the text, the one with the most of the old surroundings, then the nearest. A place with none of them counts
// only if it is the only one and the text is not a mere brace: otherwise it was probably there before.
func (r *resolver) choose(i int, starts []int) {
	ref := r.refs[i]
	best, bestScore := Evidence{}, 0
	slices.SortStableFunc(starts, func(a, b int) int {
		return cmp.Compare(distance(a, ref.Lines.Start), distance(b, ref.Lines.Start))
	})
	for _, s := range starts {
		at := LineRange{Start: s, End: s + ref.Lines.Span() - 1}
		found, whole := r.gather.take(at)
		if !whole {
			continue
		}
		anchor := found.anchor(ref.Anchor)
		if anchor.Hash != ref.Anchor.Hash {
			continue
		}
		score := 1
		if anchor.Before == ref.Anchor.Before {
			score += 2
		}
		if anchor.After == ref.Anchor.After {
			score += 2
		}
		if score == 1 && (len(starts) > 1 || !substantial(found.text)) {
			continue
		}
		if score > bestScore {
			best, bestScore = Evidence{Standing: RefMoved, Lines: at, Text: found.text, Anchor: &anchor}, score
		}
	}
	if bestScore > 0 && best.Lines != ref.Lines {
		r.found[i] = best
	}
}

func substantial(text []string) bool {
	n := 0
	for _, l := range text {
		n += len(strings.TrimSpace(l))
	}
	return n >= substance
}

func distance(a, b int) int { return max(a-b, b-a) }
