package memstore_test

import (
	"testing"

	"github.com/countersign-dev/countersign/internal/testkit/memstore"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/porttest"
)

func TestEnrolledKeys(t *testing.T) {
	porttest.Keys(t, func(testing.TB) ports.EnrolledKeys { return memstore.New().Keys() })
}
