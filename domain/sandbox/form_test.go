package sandbox

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testkit/words"
)

// TestNamesAreTheirForms compares the checks of names with the expressions that they stand for.
func TestNamesAreTheirForms(t *testing.T) {
	sandboxName := regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9_-]*$`)
	projectName := regexp.MustCompile(`^[\p{L}\p{N}_][^/\\\x00-\x1f\x7f]*$`)
	modelForm := regexp.MustCompile(`^[A-Za-z0-9._-]+/\S+$`)
	alphabet := []string{"a", "z", "A", "Z", "0", "9", "_", "-", ".", "/", "\\", "@", "[", "`", "{", ":", "é", "½", "́", "\x00", "\x1f", "\x7f", " ", "\n"}
	for s := range words.Over(3, alphabet...) {
		require.Equal(t, sandboxName.MatchString(s), s != "" && CheckName(s) == nil, "%q", s)
		require.Equal(t, projectName.MatchString(s), CheckProjectName(s) == nil, "%q", s)
		_, _, err := SplitModel(s)
		require.Equal(t, modelForm.MatchString(s) && !strings.ContainsAny(s, "\x00\x1f\x7f"), err == nil, "%q", s)
	}
}
