package planner

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestMayBeTaken: it is never false if a merge could equal the config repository's version.
func TestMayBeTaken(t *testing.T) {
	for name, c := range map[string]struct {
		base, ours, theirs string
		want               bool
	}{
		"the same edit":              {"a\nb\n", "a\nc\n", "a\nc\nd\n", true},
		"another edit":               {"a\nb\n", "a\nc\n", "a\nd\n", false},
		"only taken away":            {"a\nb\n", "a\n", "a\nb\nc\n", true},
		"a line of the base again":   {"a\n", "a\na\n", "b\n", false},
		"a line again, and there":    {"a\n", "a\na\n", "a\na\n", true},
		"other ends of lines":        {"a\r\nb\r\n", "a\r\nc\r\n", "a\nc\n", true},
		"no final newline":           {"a\nb", "a\nc", "a\nc\n", true},
		"nothing was there":          {"", "a\n", "a\n", true},
		"more than one of the edits": {"a\n", "a\nb\nc\n", "a\nb\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, versions{[]byte(c.base), []byte(c.ours), []byte(c.theirs)}.mayBeTaken())
		})
	}
}
