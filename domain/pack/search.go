package pack

// maxCandidates is how many places of one text are compared; the nearest to its old lines are kept.
const maxCandidates = 8

// search finds every place where as many lines as a ref had have its fingerprint, in one pass, and keeps the nearest.
type search struct {
	want   uint64
	near   int // where the text was
	ring   []uint64
	seen   int
	sum    uint64
	power  uint64 // rollBase^len(ring)
	starts []int
}

func newSearch(a Anchor, was LineRange) *search {
	s := &search{want: uint64(a.Print), near: was.Start, ring: make([]uint64, was.Span()), power: 1}
	for range s.ring {
		s.power *= rollBase
	}
	return s
}

// add takes the fingerprint of line n; lines come in order from 1.
func (s *search) add(n int, print uint64) {
	at := s.seen % len(s.ring)
	s.sum = s.sum*rollBase + print - s.ring[at]*s.power
	s.ring[at] = print
	s.seen++
	if s.seen < len(s.ring) || s.sum != s.want {
		return
	}
	s.starts = append(s.starts, n-len(s.ring)+1)
	if len(s.starts) > maxCandidates {
		s.dropFarthest()
	}
}

// dropFarthest keeps the list sorted: the farthest entry is the first or the last.
func (s *search) dropFarthest() {
	last := len(s.starts) - 1
	if s.near-s.starts[0] > s.starts[last]-s.near {
		s.starts = append(s.starts[:0], s.starts[1:]...)
		return
	}
	s.starts = s.starts[:last]
}
