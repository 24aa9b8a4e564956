package memstore_test

import (
	"testing"

	"github.com/countersign-dev/countersign/adapters/memstore"
	"github.com/countersign-dev/countersign/internal/testkit/porttest/keytest"
	"github.com/countersign-dev/countersign/ports"
)

func TestEnrolledKeys(t *testing.T) {
	keytest.Keys(t, func(testing.TB) ports.EnrolledKeys { return memstore.New().Keys() })
}
