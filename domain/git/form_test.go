package git

import (
	"regexp"
	"testing"

	"github.com/countersign-dev/countersign/internal/testkit/words"
)

// TestHostsAndUsersAreTheirForms compares both checks with the expressions that they stand for.
func TestHostsAndUsersAreTheirForms(t *testing.T) {
	host := regexp.MustCompile(`^([a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?|\[[0-9a-f:.]*:[0-9a-f:.]*\])$`)
	user := regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.+-]*$`)
	for s := range words.Over(5, "a", "z", "9", "_", ".", "-", "[", "]", ":", "\n") {
		if host.MatchString(s) != isHost(s) {
			t.Fatalf("host %q: %v", s, isHost(s))
		}
	}
	for s := range words.Over(3, "a", "z", "A", "Z", "0", "9", "_", ".", "+", "-", "@", "[", "`", "{", "/", ":", "é", "\xc1", "\n") {
		if user.MatchString(s) != isUser(s) {
			t.Fatalf("user %q: %v", s, isUser(s))
		}
		if host.MatchString(s) != isHost(s) {
			t.Fatalf("host %q: %v", s, isHost(s))
		}
	}
}
