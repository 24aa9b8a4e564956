package pack

import (
	"cmp"
	"slices"
)

// usualLine is the bytes a line of source code has, for sizing buffers.
const usualLine = 48

// gather collects line ranges of a file in one pass; overlapping ranges are read once.
type gather struct {
	spans []span // disjoint, in rising order
	at    int
	bytes int
	full  bool // the bound was reached; what came after is missing
}

// span is some consecutive lines, kept as one text with "\n" between lines.
type span struct {
	LineRange
	bytes []byte
	ends  []int  // of each line, in bytes
	text  string // the bytes, once complete
}

func newGather(ranges []LineRange) *gather {
	sorted := slices.Clone(ranges)
	slices.SortFunc(sorted, func(a, b LineRange) int { return cmp.Compare(a.Start, b.Start) })
	g := &gather{}
	for _, l := range sorted {
		if n := len(g.spans); n > 0 && l.Start <= g.spans[n-1].End+1 {
			g.spans[n-1].End = max(g.spans[n-1].End, l.End)
			continue
		}
		g.spans = append(g.spans, span{LineRange: l})
	}
	return g
}

func (g *gather) first() int { return g.spans[0].Start }

func (g *gather) visit(n int, line []byte) int {
	s := &g.spans[g.at]
	if g.bytes += len(line); g.bytes > maxGathered {
		g.full = true
		return 0
	}
	if len(s.ends) > 0 {
		s.bytes = append(s.bytes, '\n')
	} else {
		expect := min(s.End-s.Start, 4*MaxSpan) + 1
		s.ends, s.bytes = make([]int, 0, expect), make([]byte, 0, expect*usualLine)
	}
	s.bytes = append(s.bytes, line...)
	s.ends = append(s.ends, len(s.bytes))
	if n < s.End {
		return n + 1
	}
	if g.at++; g.at == len(g.spans) {
		return 0
	}
	return g.spans[g.at].Start
}

// excerpt is a range of lines together with its context.
type excerpt struct {
	before, text, after []string
	raw                 []byte // text with "\n" between lines
}

// anchor returns the anchor of the range; was may be nil, or an anchor that is returned again if it fits the very same text, to save work.
func (e excerpt) anchor(was *Anchor) Anchor {
	a := Anchor{Hash: textHash(e.raw), Before: FingerprintOf(e.before), After: FingerprintOf(e.after)}
	if was != nil && was.Hash == a.Hash {
		a.Print = was.Print
	} else {
		a.Print = FingerprintOf(e.text)
	}
	return a
}

// take returns the text of a range; ok is false if a line of it is missing.
func (g *gather) take(l LineRange) (e excerpt, ok bool) {
	i, _ := slices.BinarySearchFunc(g.spans, l.Start, func(s span, start int) int { return cmp.Compare(s.End, start) })
	if i == len(g.spans) {
		return e, false
	}
	s := &g.spans[i]
	from, to := l.Start-s.Start, l.End-s.Start+1
	if from < 0 || to > len(s.ends) {
		return e, false
	}
	if s.text == "" {
		s.text = string(s.bytes)
	}
	first := max(0, from-contextLines)
	all := s.lines(first, min(len(s.ends), to+contextLines))
	e.before, e.text, e.after = all[:from-first], all[from-first:to-first:to-first], all[to-first:]
	e.raw = s.bytes[s.start(from):s.ends[to-1]]
	return e, true
}

// start returns the offset of the i-th line.
func (s *span) start(i int) int {
	if i == 0 {
		return 0
	}
	return s.ends[i-1] + 1
}

func (s *span) lines(from, to int) []string {
	out := make([]string, 0, to-from)
	for i := from; i < to; i++ {
		out = append(out, s.text[s.start(i):s.ends[i]])
	}
	return out
}
