package local

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
)

// TestOnlyStartingProgramsForProjectsIsLimited at the edges: 20 at once, then one every two seconds, each principal for itself.
func TestOnlyStartingProgramsForProjectsIsLimited(t *testing.T) {
	now := &clock.Fake{}
	limiter := system.NewLimiter(now, rates)
	take := func(key string) error { return limiter.Take(context.Background(), key) }
	for range ExecutesAtOnce {
		require.NoError(t, take("projects/execute/me"))
	}
	require.ErrorIs(t, take("projects/execute/me"), system.ErrRateLimited)
	require.NoError(t, take("projects/execute/somebody else"))
	now.Advance(time.Minute/ExecutesPerMinute - time.Millisecond)
	require.ErrorIs(t, take("projects/execute/me"), system.ErrRateLimited)
	now.Advance(time.Millisecond)
	require.NoError(t, take("projects/execute/me"))
	for _, free := range []string{"projects/read/me", "projects/write/me", "deployments/execute/me", "projects/executes/me", "control/scratch/me"} {
		for range 10 * ExecutesAtOnce {
			assert.NoError(t, take(free), free)
		}
	}
}
