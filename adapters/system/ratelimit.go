package system

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/ports"
)

// Rate is how often something may happen: Events in every Per on average, and up to Burst at once. The zero Rate is no limit; a rate
// with Events but no Burst allows nothing. Per is a minute when it is not positive.
type Rate struct {
	Events int
	Per    time.Duration
	Burst  int
}

// ErrRateLimited rejects a call that came too soon. Its details are rateLimited.
var ErrRateLimited = fault.New(fault.Unavailable, "rate_limited", "too many calls; try again later")

// rateLimited says when to try again. It is at least 1.
type rateLimited struct {
	RetryAfterMS int64 `json:"retry_after_ms"`
}

// bucketsKept is the number of buckets above which full ones, which carry no information, are dropped.
const bucketsKept = 1024

// Limiter is a ports.Limiter: one token bucket a key, full at first. All methods may be called from many goroutines.
type Limiter struct {
	clock   ports.Clock
	rates   func(key string) Rate
	mu      sync.Mutex
	buckets map[string]*rate.Limiter
	sweep   int // sweep when so many buckets are kept
}

// NewLimiter bounds each key at the rate that rates names for it. It tells the time by clock alone.
func NewLimiter(clock ports.Clock, rates func(key string) Rate) *Limiter {
	return &Limiter{clock: clock, rates: rates, buckets: map[string]*rate.Limiter{}, sweep: bucketsKept}
}

// Take charges one call to key, or fails with ErrRateLimited and charges nothing.
func (l *Limiter) Take(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r := l.rates(key)
	if r == (Rate{}) {
		return nil
	}
	if r.Per <= 0 {
		r.Per = time.Minute
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	charge := l.bucket(key, r, now).ReserveN(now, 1)
	if !charge.OK() {
		return limited(r.Per)
	}
	wait := charge.DelayFrom(now)
	if wait == 0 {
		return nil
	}
	charge.CancelAt(now)
	return limited(wait)
}

func (l *Limiter) bucket(key string, r Rate, now time.Time) *rate.Limiter {
	if b, ok := l.buckets[key]; ok {
		return b
	}
	if len(l.buckets) >= l.sweep {
		for k, b := range l.buckets {
			if b.TokensAt(now) >= float64(b.Burst()) {
				delete(l.buckets, k)
			}
		}
		l.sweep = max(bucketsKept, 2*len(l.buckets))
	}
	b := rate.NewLimiter(rate.Limit(float64(r.Events)/r.Per.Seconds()), r.Burst)
	l.buckets[key] = b
	return b
}

func limited(wait time.Duration) error {
	ms := wait.Milliseconds()
	if wait%time.Millisecond != 0 || ms == 0 {
		ms++
	}
	return ErrRateLimited.WithMessage("too many calls; try again in %d ms", ms).WithDetails(rateLimited{RetryAfterMS: ms})
}
