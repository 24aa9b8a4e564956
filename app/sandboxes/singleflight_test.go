package sandboxes

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRounds: callers that arrive during a round share the next one, and one that gives up does not affect the others.
func TestRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, made := newRounds[int](), 0
		work := func(context.Context) (int, error) {
			made++
			n := made
			time.Sleep(time.Second) // of the bubble's clock
			return n, nil
		}
		ask := func(ctx context.Context, want int) {
			go func() {
				got, err := r.do(ctx, work)
				assert.NoError(t, err)
				assert.Equal(t, want, got)
			}()
			synctest.Wait()
		}
		ask(t.Context(), 1)
		ctx, cancel := context.WithCancel(t.Context())
		ask(ctx, 2)
		cancel()
		_, err := r.do(ctx, work)
		require.ErrorIs(t, err, context.Canceled)
		for range 20 {
			ask(t.Context(), 2)
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		assert.Equal(t, 2, made)
		_, err = r.do(t.Context(), func(context.Context) (int, error) { return 0, errors.New("broken") })
		assert.ErrorContains(t, err, "broken")
	})
}
