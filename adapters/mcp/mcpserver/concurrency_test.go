package mcpserver_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/mcp/mcpserver"
)

func TestNobodyTakesMoreThanAShare(t *testing.T) {
	s := mcpserver.NewShares(2)
	var group sync.WaitGroup
	var now, peak atomic.Int64
	for range 20 {
		group.Go(func() {
			assert.NoError(t, s.Take(context.Background(), "a"))
			defer s.Release("a")
			n := now.Add(1)
			defer now.Add(-1)
			for p := peak.Load(); n > p && !peak.CompareAndSwap(p, n); p = peak.Load() {
			}
			<-time.After(time.Millisecond)
		})
	}
	group.Wait()
	assert.EqualValues(t, 2, peak.Load())
	assert.Zero(t, s.Busy(), "who has run everything is forgotten")
}

func TestSharesAreApart(t *testing.T) {
	s := mcpserver.NewShares(1)
	require.NoError(t, s.Take(t.Context(), "a"))
	require.NoError(t, s.Take(t.Context(), "b"))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, s.Take(ctx, "a"), context.DeadlineExceeded)
	s.Release("a")
	require.NoError(t, s.Take(t.Context(), "a"))
	s.Release("a")
	s.Release("b")
	assert.Zero(t, s.Busy())
}

func TestZeroBoundsNobody(t *testing.T) {
	s := mcpserver.NewShares(0)
	for range 100 {
		require.NoError(t, s.Take(t.Context(), "a"))
	}
	s.Release("a")
	assert.Zero(t, s.Busy())
}
