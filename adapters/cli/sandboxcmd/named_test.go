package sandboxcmd_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/adapters/cli/sandboxcmd"
	"github.com/countersign-dev/countersign/domain/sandbox"
)

// TestAnIssueNamesASandbox: whatever its title is.
func TestAnIssueNamesASandbox(t *testing.T) {
	for title, want := range map[string]string{"": "issue-17", "Login fails: \"500\" on /login!": "17-login-fails-500-on-login", "Über $(rm -rf /)": "17-ber-rm-rf", "日本": "issue-17",
		strings.Repeat("word ", 40): "17" + strings.Repeat("-word", 9)} {
		got := sandboxcmd.IssueName(17, title)
		assert.Equal(t, want, got)
		assert.NoError(t, sandbox.CheckName(got))
	}
}
