package docedit

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"
)

// Differ makes diffs. It has no state; its zero value is ready.
type Differ struct{}

// Unified returns the unified diff that makes new out of old: the lines "--- <oldName>" and "+++ <newName>" exactly so, then hunks with
// three lines of context, and a line that begins with a backslash where the final line feed is missing. Equal texts have an empty
// diff. Names must not hold line feeds; to be applied they have to be a/<path> and b/<path>, without tabs.
func (Differ) Unified(oldName, newName string, old, new []byte) string {
	text := diff.Diff(oldName, old, newName, new)
	own := len("diff ") + len(oldName) + len(" ") + len(newName) + len("\n") // a first line that only the library writes
	if len(text) < own {
		return ""
	}
	return short(string(text[own:]))
}

// short writes hunks' ranges as git does: of one line without its number of lines. Nothing but a hunk's head begins with two at signs.
func short(text string) string {
	if !strings.Contains(text, ",1 ") {
		return text
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "@@ ") {
			line = strings.ReplaceAll(line, ",1 ", " ")
		}
		out.WriteString(line)
	}
	return out.String()
}

// DiffText reports whether b can be shown and compared by lines: valid UTF-8 without a NUL (agentpack contract, appendix D).
func DiffText(b []byte) bool { return bytes.IndexByte(b, 0) < 0 && utf8.Valid(b) }
