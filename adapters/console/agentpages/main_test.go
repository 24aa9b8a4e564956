package agentpages_test

import (
	"os"
	"testing"

	"github.com/countersign-dev/countersign/internal/testkit/workroom"
)

// TestMain gives git a user who commits, whoever runs the tests.
func TestMain(m *testing.M) {
	os.Exit(workroom.Run(m, "[user]\n\tname = Ada\n\temail = ada@example.com\n"))
}
