package projects

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestArgumentsAreInTheSummary: approval requests for one script differ by its arguments, whose blanks and quotes are visible, and which are not cut.
func TestArgumentsAreInTheSummary(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"":                              nil,
		" --port 3000":                  {"--port", "3000"},
		` "" "a b" "x;y" "$(z)" "\n" k`: {"", "a b", "x;y", "$(z)", "\n", "k"},
		` "\u202e"`:                     {"\u202e"},
		" [300 bytes] b":                {strings.Repeat("x", 300), "b"},
		strings.Repeat(" "+strings.Repeat("y", 110), 2) + " [and 3 more]": {strings.Repeat("y", 110), strings.Repeat("y", 110), strings.Repeat("y", 110), "b", "c"},
	} {
		assert.Equal(t, want, spelled(args))
	}
}
