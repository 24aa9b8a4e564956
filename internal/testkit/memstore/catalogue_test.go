package memstore_test

import (
	"testing"

	"github.com/countersign-dev/countersign/internal/testkit/cataloguetest"
	"github.com/countersign-dev/countersign/internal/testkit/memstore"
	"github.com/countersign-dev/countersign/ports/projectport"
)

func open(testing.TB) projectport.Catalogue { return memstore.NewCatalogue() }

func TestCatalogue(t *testing.T) { cataloguetest.Catalogue(t, open) }

func BenchmarkCatalogue(b *testing.B) { cataloguetest.Benchmark(b, open) }
