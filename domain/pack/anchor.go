package pack

import (
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/domain/canon"
)

// contextLines is how many lines before and after a ref its anchor remembers, as a fingerprint.
const contextLines = 3

// Anchor remembers what a ref's lines held, so that a change of the text is noticed and the text is found again when it moves.
type Anchor struct {
	Hash   canon.Hash  `json:"hash"`   // of the lines' text
	Print  Fingerprint `json:"print"`  // fingerprint of the same text, for finding it in one pass
	Before Fingerprint `json:"before"` // fingerprint of up to contextLines lines before
	After  Fingerprint `json:"after"`  // fingerprint of up to contextLines lines after
}

// Fingerprint is a 64-bit fingerprint of some lines; its text form is 16 hex digits. It finds candidates, Anchor.Hash decides.
type Fingerprint uint64

// MarshalText is 16 lower-case hex digits.
func (p Fingerprint) MarshalText() ([]byte, error) {
	s := strconv.FormatUint(uint64(p), 16)
	return []byte(strings.Repeat("0", 16-len(s)) + s), nil
}

// UnmarshalText reads hex digits.
func (p *Fingerprint) UnmarshalText(b []byte) error {
	n, err := strconv.ParseUint(string(b), 16, 64)
	if err != nil {
		return ErrValue.WithMessage("fingerprint %q is not 16 hex digits", b)
	}
	*p = Fingerprint(n)
	return nil
}

// TakeAnchor returns the anchor of text with the lines around it; before and after may be longer than what is remembered.
func TakeAnchor(before, text, after []string) Anchor {
	return Anchor{
		Hash: textHash([]byte(strings.Join(text, "\n"))), Print: FingerprintOf(text),
		Before: FingerprintOf(before[max(0, len(before)-contextLines):]), After: FingerprintOf(after[:min(len(after), contextLines)]),
	}
}

// textHash returns the Hash of an anchor of this text, lines joined by "\n".
func textHash(text []byte) canon.Hash { return canon.SumBytes("pack.anchor.v1", text) }

// rollBase is what a Print is rolled by: Print(lines) is the sum of every LineFingerprint times rollBase to the power of the lines after
// it, modulo 2^64. It is odd, so that multiplying loses nothing.
const rollBase uint64 = 0x9E3779B97F4A7C15

// FingerprintOf returns the fingerprint of some lines.
func FingerprintOf(lines []string) Fingerprint {
	var sum uint64
	for _, l := range lines {
		sum = sum*rollBase + LineFingerprint(l)
	}
	return Fingerprint(sum)
}

// LineFingerprint returns one line's part in a Print: FNV-1a with a final mix, never zero for practical purposes.
func LineFingerprint[T string | []byte](line T) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(line) {
		h = (h ^ uint64(line[i])) * 1099511628211
	}
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	return h ^ h>>29
}

// RefStatus is the relation of a ref to the current code.
type RefStatus uint8

// The statuses. The zero RefStatus is RefUnreadable: nothing is known.
const (
	RefUnreadable RefStatus = iota // the file cannot be shown; Reason says why
	RefStale                       // the file or lines are gone, and the text is nowhere in the file
	RefChanged                     // the lines exist and differ from what was anchored
	RefMoved                       // the anchored text is at other lines now
	RefExact                       // the lines are as anchored, or nothing was ever anchored
)

var standingNames = [...]string{"unreadable", "stale", "changed", "moved", "exact"}

// String returns the status's name.
func (s RefStatus) String() string { return standingNames[min(int(s), len(standingNames)-1)] }

// MarshalText returns the status's name.
func (s RefStatus) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Evidence is what a ref shows now.
type Evidence struct {
	Standing RefStatus
	Lines    LineRange // current lines of Text; the ref's own lines when there is none
	Text     []string  // one entry per line
	Reason   string    // for RefStale and RefUnreadable: names the path
	Anchor   *Anchor   // of Text at its current lines; nil when there is none
	Masked   int       // secrets masked in Text
	Above    []string  // lines before Text that are needed to recognise its secrets
}
