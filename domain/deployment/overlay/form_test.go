package overlay

import (
	"regexp"
	"strconv"
	"testing"

	"github.com/countersign-dev/countersign/internal/testkit/words"
)

// TestHunkHeadersAreTheirForm compares hunk headers with the equivalent expression.
func TestHunkHeadersAreTheirForm(t *testing.T) {
	form := regexp.MustCompile(`^@@ -([0-9]{1,9})(?:,([0-9]{1,9}))? \+([0-9]{1,9})(?:,([0-9]{1,9}))? @@`)
	for s := range words.Over(5, "1", "23456789", "0", ",", " +", " @@", "-", "x") {
		for _, line := range []string{"@@ -" + s, "@@ -1 +" + s, "@@ -" + s + " @@ f()"} {
			h, ok := hunkHeader(line)
			found := form.FindStringSubmatch(line)
			if ok != (found != nil) {
				t.Fatalf("%q: %v", line, ok)
			}
			if !ok {
				continue
			}
			for i, n := range []int{h.OldStart, h.OldLines, h.NewStart, h.NewLines} {
				want := 1
				if found[i+1] != "" {
					want, _ = strconv.Atoi(found[i+1])
				}
				if n != want {
					t.Fatalf("%q: number %d is %d instead of %d", line, i, n, want)
				}
			}
		}
	}
}
