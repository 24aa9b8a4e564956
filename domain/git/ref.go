package git

import (
	"strings"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/domain/fault"
)

// The errors of invalid names of branches and commits.
var (
	ErrBranch = fault.New(fault.Invalid, "git_branch_invalid", "not a valid branch name")
	ErrCommit = fault.New(fault.Invalid, "git_commit_invalid", "invalid commit; use 40 or 64 hex digits")
)

// Branch is a branch name that git accepts, without refs/heads/. The zero Branch names nothing.
type Branch struct{ name string }

// ParseBranch accepts exactly the names that git check-ref-format --branch accepts, except that it expands nothing ("@" and "@{-1}" stand for other
// branches and are rejected) and requires valid UTF-8. It fails with ErrBranch.
func ParseBranch(s string) (Branch, error) {
	if problem := branchProblem(s); problem != "" {
		return Branch{}, ErrBranch.WithMessage("invalid branch name %.200q: %s", s, problem)
	}
	return Branch{name: s}, nil
}

func branchProblem(s string) string {
	switch {
	case s == "" || s == "HEAD" || s == "@":
		return "it is empty or reserved"
	case !utf8.ValidString(s):
		return "it is not valid UTF-8"
	case s[0] == '-':
		return "it starts with a dash"
	case strings.HasSuffix(s, "."):
		return "it ends with a dot"
	case strings.Contains(s, "..") || strings.Contains(s, "@{"):
		return `it contains ".." or "@{"`
	case strings.ContainsAny(s, " ~^:?*[\\") || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return `it contains a space, a control character or one of ~^:?*[\`
	}
	for part := range strings.SplitSeq(s, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock") {
			return "a part between slashes is empty, starts with a dot or ends with .lock"
		}
	}
	return ""
}

// String returns the name.
func (b Branch) String() string { return b.name }

// Ref returns the full name, refs/heads/ and the branch name; empty for the zero Branch.
func (b Branch) Ref() string {
	if b.IsZero() {
		return ""
	}
	return "refs/heads/" + b.name
}

// IsZero reports whether b is the zero Branch.
func (b Branch) IsZero() bool { return b.name == "" }

// MarshalText returns the result of String.
func (b Branch) MarshalText() ([]byte, error) { return []byte(b.name), nil }

// UnmarshalText parses the text with ParseBranch.
func (b *Branch) UnmarshalText(text []byte) error {
	parsed, err := ParseBranch(string(text))
	if err != nil {
		return err
	}
	*b = parsed
	return nil
}

// Commit is the full ID of a commit: 40 (SHA-1) or 64 (SHA-256) lower-case hex digits. The zero Commit names nothing.
type Commit struct{ id string }

const shortDigits = 12

// ParseCommit parses a full commit ID in either case. It rejects abbreviations, because they can become ambiguous, and the all-zero ID, because git
// uses it for "none". It fails with ErrCommit.
func ParseCommit(s string) (Commit, error) {
	id := strings.ToLower(s)
	switch {
	case len(s) != 40 && len(s) != 64, strings.Trim(id, "0123456789abcdef") != "":
		return Commit{}, ErrCommit.WithMessage("invalid commit %.80q: give all 40 or 64 hex digits", s)
	case strings.Trim(id, "0") == "":
		return Commit{}, ErrCommit.WithMessage("the all-zero hash is not a commit")
	}
	return Commit{id: id}, nil
}

// String returns the full ID.
func (c Commit) String() string { return c.id }

// Short returns the first twelve digits of the ID, for users.
func (c Commit) Short() string { return c.id[:min(len(c.id), shortDigits)] }

// IsZero reports whether c is the zero Commit.
func (c Commit) IsZero() bool { return c.id == "" }

// MarshalText returns the result of String.
func (c Commit) MarshalText() ([]byte, error) { return []byte(c.id), nil }

// UnmarshalText parses the text with ParseCommit.
func (c *Commit) UnmarshalText(text []byte) error {
	parsed, err := ParseCommit(string(text))
	if err != nil {
		return err
	}
	*c = parsed
	return nil
}
