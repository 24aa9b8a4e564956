package deployment

import (
	"regexp"
	"testing"

	"github.com/countersign-dev/countersign/internal/testkit/words"
)

// TestContainersAreTheirForm compares what may precede a fence with the equivalent expression.
func TestContainersAreTheirForm(t *testing.T) {
	form := regexp.MustCompile(`^(?:[ \t>]|[-*+][ \t]|[0-9]{1,9}[.)][ \t])*`)
	for s := range words.Over(5, " ", "\t", ">", "-", "1", "12345678", ".", ")", "x") {
		if want := len(form.FindString(s)); container(s) != want {
			t.Fatalf("%q: %d instead of %d", s, container(s), want)
		}
	}
}
