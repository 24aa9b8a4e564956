package anchoring_test

import (
	"os"
	"testing"

	"github.com/countersign-dev/countersign/internal/testkit/workroom"
)

func TestMain(m *testing.M) { os.Exit(workroom.Run(m, "")) }
