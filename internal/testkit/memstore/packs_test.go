package memstore_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testkit/clock"
	"github.com/countersign-dev/countersign/internal/testkit/memstore"
	"github.com/countersign-dev/countersign/internal/testkit/packtest"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/packport"
)

var _ packport.Doctor = (*memstore.Packs)(nil)

func TestPacks(t *testing.T) {
	packtest.Repository(t, packsInMemory)
}

func BenchmarkPacks(b *testing.B) { packtest.BenchmarkRepository(b, packsInMemory) }

func packsInMemory(_ testing.TB, c ports.Clock) packport.Repository { return memstore.NewPacks(c) }

func TestPacksAreNeverDamaged(t *testing.T) {
	r := memstore.NewPacks(&clock.Fake{})
	damage, err := r.Inspect(t.Context())
	require.NoError(t, err)
	assert.Empty(t, damage)
	_, err = r.Quarantine(t.Context(), "any")
	require.ErrorIs(t, err, packport.ErrHealthy)
}
