package memstore_test

import (
	"testing"

	"github.com/countersign-dev/countersign/adapters/memstore"
	"github.com/countersign-dev/countersign/internal/testkit/porttest/accesstest"
	"github.com/countersign-dev/countersign/ports"
)

func credentials(testing.TB) ports.Credentials { return memstore.New().Credentials() }

func TestCredentials(t *testing.T) { accesstest.Credentials(t, credentials) }

func BenchmarkCredentials(b *testing.B) { accesstest.BenchmarkCredentials(b, credentials) }
