package system

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
	"github.com/countersign-dev/countersign/ports"
)

var _ ports.Limiter = (*Limiter)(nil)

// scripts is the rate that scripts run at: 30 a minute, 20 at once.
var scripts = Rate{Events: 30, Per: time.Minute, Burst: 20}

func always(r Rate) func(string) Rate { return func(string) Rate { return r } }

// retry returns how many milliseconds the refusal asks to wait.
func retry(t *testing.T, err error) int64 {
	t.Helper()
	require.ErrorIs(t, err, ErrRateLimited)
	var f *fault.Error
	require.True(t, errors.As(err, &f))
	assert.Equal(t, fault.Unavailable, f.Kind)
	details, ok := f.Details.(rateLimited)
	require.True(t, ok)
	assert.Contains(t, f.Message, strconv.FormatInt(details.RetryAfterMS, 10)+" ms")
	return details.RetryAfterMS
}

func TestBurstThenOneEveryTwoSeconds(t *testing.T) {
	var now clock.Fake
	l := NewLimiter(&now, always(scripts))
	for range 20 {
		require.NoError(t, l.Take(t.Context(), "a"))
	}
	for range 3 {
		assert.Equal(t, int64(2000), retry(t, l.Take(t.Context(), "a")), "a refusal charges nothing")
	}
	now.Advance(1500 * time.Millisecond)
	assert.Equal(t, int64(500), retry(t, l.Take(t.Context(), "a")))
	now.Advance(499 * time.Millisecond)
	assert.Equal(t, int64(1), retry(t, l.Take(t.Context(), "a")))
	now.Advance(time.Millisecond)
	require.NoError(t, l.Take(t.Context(), "a"), "it passes when it was told to come back")
	assert.Equal(t, int64(2000), retry(t, l.Take(t.Context(), "a")))
	now.Advance(time.Hour)
	for range 20 {
		require.NoError(t, l.Take(t.Context(), "a"), "it never saves up more than the burst")
	}
	retry(t, l.Take(t.Context(), "a"))
}

func TestRetryAfterIsEnough(t *testing.T) {
	for _, r := range []Rate{scripts, {7, time.Minute, 1}, {3, time.Second, 2}, {1, time.Hour, 1}, {997, time.Minute, 5}, {100_000, time.Second, 1}, {2, 0, 1}} {
		var now clock.Fake
		l := NewLimiter(&now, always(r))
		for range 50 {
			err := l.Take(t.Context(), "a")
			if err == nil {
				continue
			}
			now.Advance(time.Duration(retry(t, err)) * time.Millisecond)
			require.NoError(t, l.Take(t.Context(), "a"), "%+v", r)
		}
	}
}

func TestKeysAreApart(t *testing.T) {
	var now clock.Fake
	l := NewLimiter(&now, func(key string) Rate {
		if strings.HasPrefix(key, "projects/") {
			return Rate{Events: 1, Per: time.Minute, Burst: 1}
		}
		return Rate{}
	})
	require.NoError(t, l.Take(t.Context(), "projects/write/me"))
	retry(t, l.Take(t.Context(), "projects/write/me"))
	require.NoError(t, l.Take(t.Context(), "projects/write/you"))
	for range 100 {
		require.NoError(t, l.Take(t.Context(), "packs/read/me"), "the zero rate is no limit")
	}
}

func TestClosedRates(t *testing.T) {
	var now clock.Fake
	noBurst := NewLimiter(&now, always(Rate{Events: 5, Per: time.Second}))
	assert.Equal(t, int64(1000), retry(t, noBurst.Take(t.Context(), "a")))
	once := NewLimiter(&now, always(Rate{Burst: 1}))
	require.NoError(t, once.Take(t.Context(), "a"))
	now.Advance(100 * 24 * time.Hour)
	assert.Positive(t, retry(t, once.Take(t.Context(), "a")), "no events, no more calls")
}

func TestBurstUnderContention(t *testing.T) {
	var now clock.Fake
	l := NewLimiter(&now, always(scripts))
	var passed atomic.Int64
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			if l.Take(t.Context(), "a") == nil {
				passed.Add(1)
			}
		})
	}
	wg.Wait()
	assert.Equal(t, int64(20), passed.Load())
}

func TestIdleBucketsAreThrownAway(t *testing.T) {
	var now clock.Fake
	l := NewLimiter(&now, always(scripts))
	require.NoError(t, l.Take(t.Context(), "busy"))
	for n := range 20_000 {
		require.NoError(t, l.Take(t.Context(), strconv.Itoa(n)))
		now.Advance(time.Second)
		require.LessOrEqual(t, len(l.buckets), bucketsKept+1)
	}
	for range 20 {
		require.NoError(t, l.Take(t.Context(), "last"))
	}
	for n := range 5000 {
		require.NoError(t, l.Take(t.Context(), "crowd"+strconv.Itoa(n)))
	}
	retry(t, l.Take(t.Context(), "last")) // what is in use is kept, however many there are
}

func TestEndedContextChargesNothing(t *testing.T) {
	var now clock.Fake
	l := NewLimiter(&now, always(Rate{Events: 1, Per: time.Hour, Burst: 1}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, l.Take(ctx, "a"), context.Canceled)
	require.NoError(t, l.Take(t.Context(), "a"))
}

func BenchmarkTake(b *testing.B) {
	var now clock.Fake
	l := NewLimiter(&now, always(Rate{Events: 1 << 30, Per: time.Second, Burst: 1 << 30}))
	for b.Loop() {
		if err := l.Take(b.Context(), "a"); err != nil {
			b.Fatal(err)
		}
	}
}
