package governance

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testkit/words"
)

// TestInlineCommandsAreTheirForm compares what Claude Code runs in a line with the equivalent expression.
func TestInlineCommandsAreTheirForm(t *testing.T) {
	form := regexp.MustCompile("!`([^`\n]+)`|^[ \t]*!([A-Za-z0-9_./~$].*)$")
	same := func(s string) {
		var want []string
		for _, found := range form.FindAllStringSubmatch(s, -1) {
			want = append(want, found[1]+found[2])
		}
		require.Equal(t, want, inline(s), "%q", s)
	}
	for s := range words.Over(6, "!", "`", "!`", "a", " ", "\t") {
		same(s)
	}
	for c := range 256 {
		if c != '\n' {
			same("!" + string([]byte{byte(c)}) + "x`")
		}
	}
}
