package agentpages_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/countersign-dev/countersign/internal/testkit/workroom"
)

// TestMain configures a git user for commits.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == doomedArg {
		fmt.Println(doomed(os.Args[2]))
		os.Exit(1)
	}
	os.Exit(workroom.Run(m, "[user]\n\tname = Ada\n\temail = ada@example.com\n"))
}
