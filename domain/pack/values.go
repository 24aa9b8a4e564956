package pack

import (
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/relpath"
)

// Limits of the value types (context-pack contract §1.1). Lengths are bytes of UTF-8.
const (
	IDPrefix    = "pk_"
	IDChars     = 8 // characters after the prefix, out of a-z2-7
	minName     = 3
	maxName     = 120
	minKey      = 2
	maxKey      = 64
	MaxSpan     = 2000      // lines of one ref
	MaxLine     = 1<<31 - 1 // highest line number
	maxRoot     = 64
	minCommit   = 7
	maxCommit   = 64
	minTTL      = TTL(1)
	MaxTTL      = TTL(5 * 365 * 24 * 60) // five years
	MaxIDTries  = 8                      // how often create draws another id after a collision
	maxRemovals = 16
)

// ErrValue reports a value that breaks its type's rule.
var ErrValue = fault.New(fault.Invalid, "pack_value_invalid", "invalid value")

// ID identifies a pack: pk_ and 8 characters out of a-z2-7.
type ID string

// Name is a pack's own name: 3 to 120 bytes, case-sensitive, trimmed, and never of the form of an ID.
type Name string

// Key names a section, ref or diagram: 2 to 64 characters [a-z0-9_-], the first a letter or digit.
type Key string

// Path is a slash path relative to a source root, as typed but with / for \; it never names a parent directory.
type Path string

// Root names a configured source root; empty is the default one.
type Root string

// Commit is 7 to 64 lower-case hex digits, or empty.
type Commit string

// TTL is a time to live in minutes.
type TTL uint64

// Duration returns the TTL as a duration.
func (t TTL) Duration() time.Duration { return time.Duration(t) * time.Minute }

func (t TTL) check() error {
	if t < minTTL || t > MaxTTL {
		return ErrValue.WithMessage("a time to live is %d to %d minutes, not %d", minTTL, MaxTTL, uint64(t))
	}
	return nil
}

// LineRange is a range of lines, first and last, both from 1 and included.
type LineRange struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// Span returns the number of lines in the range.
func (l LineRange) Span() int { return l.End - l.Start + 1 }

// NewLineRange checks a range: start ≥ 1, end ≥ start, at most MaxSpan lines, none beyond MaxLine.
func NewLineRange(start, end int) (LineRange, error) {
	switch {
	case start < 1 || start > MaxLine || end > MaxLine:
		return LineRange{}, ErrValue.WithMessage("lines %d-%d: lines count from 1 to %d", start, end, MaxLine)
	case end < start:
		return LineRange{}, ErrValue.WithMessage("line_end %d lies before line_start %d", end, start)
	case end-start >= MaxSpan:
		return LineRange{}, ErrValue.WithMessage("lines %d-%d are more than %d; split the ref", start, end, MaxSpan)
	}
	return LineRange{start, end}, nil
}

// ParseID trims and checks an ID.
func ParseID(s string) (ID, error) {
	s = strings.TrimSpace(s)
	if !validID(s) {
		return "", ErrValue.WithMessage("invalid pack id %q: use pk_ and 8 characters of a-z2-7", s)
	}
	return ID(s), nil
}

func validID(s string) bool {
	rest, ok := strings.CutPrefix(s, IDPrefix)
	if !ok || len(rest) != IDChars {
		return false
	}
	for i := range len(rest) {
		if c := rest[i]; (c < 'a' || c > 'z') && (c < '2' || c > '7') {
			return false
		}
	}
	return true
}

// ParseName trims and checks a name.
func ParseName(s string) (Name, error) {
	s = strings.TrimSpace(s)
	switch {
	case len(s) < minName || len(s) > maxName:
		return "", ErrValue.WithMessage("a pack name has %d to %d bytes, not %d", minName, maxName, len(s))
	case validID(s):
		return "", ErrValue.WithMessage("%q has the form of a pack id; choose another name", s)
	}
	return Name(s), nil
}

// ParseKey trims and checks a key; what names the field it is for.
func ParseKey(what, s string) (Key, error) {
	s = strings.TrimSpace(s)
	if !validKey(s) {
		return "", ErrValue.WithMessage("%s %q must match ^[a-z0-9][a-z0-9_-]{1,63}$", what, s)
	}
	return Key(s), nil
}

func validKey(s string) bool {
	if len(s) < minKey || len(s) > maxKey || s[0] == '_' || s[0] == '-' {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// ParsePath reads a path by the rules of package relpath: trimmed, with / for \, not empty, absolute or too long, and without .. .
func ParsePath(s string) (Path, error) {
	p, err := relpath.Parse(s)
	if err != nil {
		return "", ErrValue.WithMessage("%s", fault.From(err).Message)
	}
	return Path(p.String()), nil
}

// ParseRoot trims and checks the name of a source root: at most maxRoot letters, digits and ._- , the first a letter or digit; empty is
// the default root.
func ParseRoot(s string) (Root, error) {
	const alnum = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	s = strings.TrimSpace(s)
	if len(s) > maxRoot || strings.Trim(s, alnum+"._-") != "" || strings.IndexAny(s, "._-") == 0 {
		return "", ErrValue.WithMessage("invalid root name %q: use up to %d letters, digits, dots, underscores and dashes", s, maxRoot)
	}
	return Root(s), nil
}

// ParseCommit trims and checks an abbreviated or full commit; empty stays empty.
func ParseCommit(s string) (Commit, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return "", nil
	}
	if len(s) < minCommit || len(s) > maxCommit || strings.Trim(s, "0123456789abcdef") != "" {
		return "", ErrValue.WithMessage("commit %q is not %d to %d lower-case hex digits", s, minCommit, maxCommit)
	}
	return Commit(s), nil
}

// Status is a pack's status. The zero Status is invalid.
type Status uint8

// The statuses.
const (
	Draft Status = iota + 1
	Finalized
)

var statusNames = [...]string{"", "draft", "finalized"}

// String returns the status's name, empty for an invalid one.
func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return ""
}

// MarshalText returns the status's name.
func (s Status) MarshalText() ([]byte, error) {
	if s.String() == "" {
		return nil, ErrValue.WithMessage("status %d does not exist", uint8(s))
	}
	return []byte(s.String()), nil
}

// UnmarshalText parses a name as ParseStatus does.
func (s *Status) UnmarshalText(b []byte) (err error) {
	*s, err = ParseStatus(string(b))
	return err
}

// ParseStatus reads draft or finalized, trimmed and in any case.
func ParseStatus(s string) (Status, error) {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "draft":
		return Draft, nil
	case "finalized":
		return Finalized, nil
	}
	return 0, ErrValue.WithMessage("unknown status %q; use draft or finalized", s)
}

// Expired reports whether now is at or past the expiry.
func Expired(expires, now time.Time) bool { return !now.Before(expires) }

func decimal(n int) string { return strconv.Itoa(n) }
