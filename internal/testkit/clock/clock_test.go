package clock_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/internal/testkit/clock"
	"github.com/countersign-dev/countersign/ports"
)

var _ ports.Clock = (*clock.Fake)(nil)

func TestMovesOnlyWhenTold(t *testing.T) {
	var c clock.Fake
	assert.Equal(t, clock.Epoch, c.Now(), "the zero clock stands at the epoch")
	assert.Equal(t, clock.Epoch, c.Now(), "and stays there")
	assert.Equal(t, clock.Epoch.Add(time.Minute), c.Advance(time.Minute))

	there := time.Date(2030, 5, 6, 7, 8, 9, 10, time.FixedZone("east", 3600))
	c.Set(there)
	assert.True(t, there.Equal(c.Now()))
	assert.Equal(t, time.UTC, c.Now().Location())
	assert.Equal(t, there.Add(-time.Hour).UTC(), c.Advance(-time.Hour))
}

func TestManyGoroutinesLoseNoStep(t *testing.T) {
	var c clock.Fake
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() { c.Advance(time.Second) })
	}
	wg.Wait()
	assert.Equal(t, clock.Epoch.Add(100*time.Second), c.Now())
}
