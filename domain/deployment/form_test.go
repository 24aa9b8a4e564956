package deployment

import (
	"regexp"
	"testing"

	"github.com/countersign-dev/countersign/internal/testkit/words"
)

// TestShellCommandsAreTheirForm compares what Claude Code runs with the equivalent expression.
func TestShellCommandsAreTheirForm(t *testing.T) {
	form := regexp.MustCompile("!`[^`\n]+`|(?m:^[ \t]*```+!)|(?m:^![A-Za-z0-9_./~$])")
	for s := range words.Over(6, "!", "`", "```", "a", " ", "\n", "[") {
		if want := form.MatchString(s); shell(s) != want {
			t.Fatalf("%q: %v instead of %v", s, shell(s), want)
		}
	}
	for c := range 256 {
		s := "!" + string([]byte{byte(c)})
		if want := form.MatchString(s); shell(s) != want {
			t.Fatalf("%q: %v instead of %v", s, shell(s), want)
		}
	}
}
