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

// MaxBytes is the maximum length of a path, in bytes after trimming (context-pack contract §1.1).
const MaxBytes = 1024

// ErrInvalid is returned for text that is not a relative path; its message names the broken rule.
var ErrInvalid = fault.New(fault.Invalid, "relpath_invalid", "the path must be relative to its root, like src/main.go")

// Path is a valid relative path, kept as typed except for surrounding white space and backslashes. Two values are equal if their text is; compare
// Clean forms to find out whether they name the same file. The zero Path names nothing; Parse returns it only with an error.
type Path struct{ text string }

// Parse trims Unicode white space, replaces every backslash by a slash, and then checks (context-pack contract §1.1): not empty, at most MaxBytes,
// valid UTF-8, no control characters, not absolute, no ".." component. "C:\x" is the relative path "C:/x". It fails with ErrInvalid.
func Parse(s string) (Path, error) {
	text := strings.ReplaceAll(strings.TrimSpace(s), `\`, "/")
	switch {
	case text == "":
		return Path{}, ErrInvalid.WithMessage("the path is empty; give one relative to its root, like src/main.go")
	case len(text) > MaxBytes:
		return Path{}, ErrInvalid.WithMessage("the path has %d bytes; at most %d are allowed", len(text), MaxBytes)
	case !utf8.ValidString(text):
		return Path{}, ErrInvalid.WithMessage("the path %q is not valid UTF-8", text)
	case strings.ContainsFunc(text, unicode.IsControl):
		return Path{}, ErrInvalid.WithMessage("the path %q contains a control character", text)
	case text[0] == '/':
		return Path{}, ErrInvalid.WithMessage("the path %q is absolute; give one relative to its root", text)
	}
	for part := range strings.SplitSeq(text, "/") {
		if part == ".." {
			return Path{}, ErrInvalid.WithMessage("the path %q has a \"..\" component; write the path without it", text)
		}
	}
	return Path{text: text}, nil
}

// String returns the path as typed, with slashes.
func (p Path) String() string { return p.text }

// IsZero reports whether p is the zero Path.
func (p Path) IsZero() bool { return p.text == "" }

// Clean returns the shortest equivalent path: no "." components, no doubled or trailing slashes; the root itself is ".". Compare and open this form;
// it satisfies io/fs.ValidPath. The zero Path stays zero.
func (p Path) Clean() Path {
	if p.IsZero() {
		return p
	}
	return Path{text: path.Clean(p.text)}
}

// MarshalText returns the result of String.
func (p Path) MarshalText() ([]byte, error) { return []byte(p.text), nil }

// UnmarshalText parses the text with Parse.
func (p *Path) UnmarshalText(b []byte) error {
	parsed, err := Parse(string(b))
	if err != nil {
		return err
	}
	*p = parsed
	return nil
}
