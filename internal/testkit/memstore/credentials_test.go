package memstore_test

import (
	"testing"

	"github.com/countersign-dev/countersign/internal/testkit/memstore"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/porttest"
)

func credentials(testing.TB) ports.Credentials { return memstore.New().Credentials() }

func TestCredentials(t *testing.T) { porttest.Credentials(t, credentials) }

func BenchmarkCredentials(b *testing.B) { porttest.BenchmarkCredentials(b, credentials) }
