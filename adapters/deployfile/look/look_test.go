package look_test

import (
	"testing"

	"github.com/countersign-dev/countersign/adapters/deployfile/look"
	"github.com/countersign-dev/countersign/adapters/deployfile/statindex"
	"github.com/countersign-dev/countersign/internal/testkit/deploytest"
)

func TestConformance(t *testing.T) {
	deploytest.Look(t, func(testing.TB) deploytest.Looker { return look.New(statindex.Open("")) })
}
