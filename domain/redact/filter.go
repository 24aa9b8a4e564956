package redact

import (
	"math/bits"
	"strings"
)

const (
	lane    = 21 // bits in a lane: one for each bucket
	third   = (1<<lane - 1) << (2 * lane)
	nothing = ^uint64(0) // the state before the first byte
)

// bucketBytes assigns the keywords to buckets by their first byte. Keywords in one bucket should not combine into sequences that are common in
// ordinary text.
const bucketBytes = `A a BS b c d e g h k lr n p s t uy wx % 0 : \`

// Detector finds keywords in one pass. It is a shift-or machine that runs the first three bytes of all keywords at once: lane n of a byte's mask has
// a zero for each bucket with a keyword in which that byte may be the n-th. Three masks shifted over each other leave a zero in the third lane where
// a keyword of that bucket may begin; then the bucket's members are compared.
type Detector struct {
	masks   [256]uint64
	buckets [lane][]keyword
}

// newDetector builds a Detector, in about ten microseconds.
func newDetector() *Detector {
	words, f := keywords(), &Detector{}
	for c := range f.masks {
		f.masks[c] = nothing
	}
	groups := strings.Fields(bucketBytes)
	for _, w := range words {
		for b, group := range groups {
			if strings.IndexByte(group, w.text[0]) < 0 {
				continue
			}
			f.buckets[b] = append(f.buckets[b], w)
			for n := range 3 {
				f.allow(&w, n, uint64(1)<<(n*lane+b))
			}
		}
	}
	return f
}

// allow clears bit in the masks of all bytes that w accepts as its n-th.
func (f *Detector) allow(w *keyword, n int, bit uint64) {
	f.masks[w.text[n]] &^= bit
	if other := w.text[n] ^ 0x20; w.takes(other, n) {
		f.masks[other] &^= bit
	}
	for c := byte('0'); c <= '9' && w.kind == botKind; c++ {
		if w.takes(c, n) {
			f.masks[c] &^= bit
		}
	}
}

// takes reports whether c can be the n-th byte of the keyword: of a token case-sensitively, of other keywords in any case; 0 stands for any digit
// before a colon.
func (w *keyword) takes(c byte, n int) bool {
	want := w.text[n]
	switch {
	case c == want:
		return true
	case w.kind == botKind && want == '0':
		return isDigit(c)
	case w.kind == tokenKind || w.kind == pemKind:
		return false
	}
	return isLetter(c) && c|0x20 == want|0x20
}

// advance reads s from i in state, up to the third byte of a possible keyword. It returns its position and the state reached; at the end of s the
// state is nothing.
func advance[T text](f *Detector, s T, i int, state uint64) (int, uint64) {
	masks := &f.masks
	for ; i < len(s); i++ {
		state = state<<lane | masks[s[i]]
		if state&third != third {
			return i + 1, state
		}
	}
	return i, nothing
}

// candidates returns, as bits, the buckets whose keywords may begin three bytes before the position of state.
func candidates(state uint64) uint64 { return ^state & third >> (2 * lane) }

// bucket returns the keywords of the first of the candidates.
func (f *Detector) bucket(candidates uint64) []keyword {
	return f.buckets[bits.TrailingZeros64(candidates)]
}

// begins reports whether w is in s at i.
func begins[T text](s T, i int, w *keyword) bool {
	if len(s)-i < len(w.text) {
		return false
	}
	for n := range len(w.text) {
		if s[i+n] != w.text[n] && !w.takes(s[i+n], n) {
			return false
		}
	}
	return true
}
