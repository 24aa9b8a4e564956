// Package relpath provides Path, a relative path with slashes that cannot leave the root it is joined to, on any operating system.
//
// It does not look at the file system: open such paths through os.Root, which checks symbolic links.
//
// Its API may change at any time.
package relpath

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/domain/fault"
)

// MaxBytes is how long a path may be, in bytes after trimming (context-pack contract §1.1).
const MaxBytes = 1024

// ErrInvalid reports text that is no relative path; its message says which rule was broken.
var ErrInvalid = fault.New(fault.Invalid, "relpath_invalid", "the path must be relative to its root, like src/main.go")

// Path is a valid relative path, kept as it was typed apart from surrounding blanks and backslashes. Two values are equal when their
// text is; compare Clean forms to ask whether they name the same place. The zero Path names nothing, and Parse never returns it
// without an error.
type Path struct{ text string }

// Parse trims Unicode white space, rewrites every backslash to a slash, and only then checks (context-pack contract §1.1): not empty,
// at most MaxBytes, valid UTF-8, no control characters, not absolute, no ".." component. "C:\x" is the relative path "C:/x". It fails
// with ErrInvalid.
func Parse(s string) (Path, error) {
	text := strings.ReplaceAll(strings.TrimSpace(s), `\`, "/")
	switch {
	case text == "":
		return Path{}, ErrInvalid.Sayf("the path is empty; give one relative to its root, like src/main.go")
	case len(text) > MaxBytes:
		return Path{}, ErrInvalid.Sayf("the path has %d bytes; at most %d are allowed", len(text), MaxBytes)
	case !utf8.ValidString(text):
		return Path{}, ErrInvalid.Sayf("the path %q is not valid UTF-8", text)
	case strings.ContainsFunc(text, unicode.IsControl):
		return Path{}, ErrInvalid.Sayf("the path %q contains a control character", text)
	case text[0] == '/':
		return Path{}, ErrInvalid.Sayf("the path %q is absolute; give one relative to its root", text)
	}
	for part := range strings.SplitSeq(text, "/") {
		if part == ".." {
			return Path{}, ErrInvalid.Sayf("the path %q has a \"..\" component; name the place without going up", text)
		}
	}
	return Path{text: text}, nil
}

// String returns the path as it was typed, with slashes.
func (p Path) String() string { return p.text }

// IsZero reports whether p names nothing.
func (p Path) IsZero() bool { return p.text == "" }

// Clean returns the shortest path to the same place: no "." components, no doubled or trailing slashes; the root itself is ".". It is what
// to compare and what to open, and satisfies io/fs.ValidPath. The zero Path stays zero.
func (p Path) Clean() Path {
	if p.IsZero() {
		return p
	}
	return Path{text: path.Clean(p.text)}
}

// MarshalText is String.
func (p Path) MarshalText() ([]byte, error) { return []byte(p.text), nil }

// UnmarshalText is Parse.
func (p *Path) UnmarshalText(b []byte) error {
	parsed, err := Parse(string(b))
	if err != nil {
		return err
	}
	*p = parsed
	return nil
}
