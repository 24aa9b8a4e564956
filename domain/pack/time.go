package pack

import (
	"strconv"
	"strings"
	"time"
)

// expiringIn is the time left from which a pack is expiring_soon.
const expiringIn = 900 * time.Second

// Freshness says how much of its time to live a pack has left.
type Freshness string

// The freshness states. Expired packs are invisible, so readers only see the first two.
const (
	FreshnessFresh        Freshness = "fresh"
	FreshnessExpiringSoon Freshness = "expiring_soon"
	FreshnessExpired      Freshness = "expired"
)

// ParseFreshness reads one of the three words, trimmed and in any case.
func ParseFreshness(s string) (Freshness, error) {
	f := Freshness(strings.ToLower(strings.TrimSpace(s)))
	switch f {
	case FreshnessFresh, FreshnessExpiringSoon, FreshnessExpired:
		return f, nil
	}
	return "", ErrValue.WithMessage("unknown freshness %q; use fresh or expiring_soon", s)
}

// FreshnessAt returns the freshness of something that expires at the given time: at most expiringIn left is expiring_soon.
func FreshnessAt(expires, now time.Time) Freshness {
	switch left := expires.Sub(now); {
	case left <= 0:
		return FreshnessExpired
	case left <= expiringIn:
		return FreshnessExpiringSoon
	}
	return FreshnessFresh
}

// Remaining returns the whole seconds left, never negative.
func Remaining(expires, now time.Time) int64 {
	return max(0, int64(expires.Sub(now)/time.Second))
}

// HumanDuration returns the time left for users: expired, <1m, minutes, hours or days, rounded down (context-pack contract §5).
func HumanDuration(expires, now time.Time) string {
	left := expires.Sub(now)
	switch {
	case left <= 0:
		return "expired"
	case left < time.Minute:
		return "<1m"
	case left < time.Hour:
		return strconv.Itoa(int(left/time.Minute)) + "m"
	case left < 24*time.Hour:
		return strconv.Itoa(int(left/time.Hour)) + "h"
	}
	return strconv.Itoa(int(left/(24*time.Hour))) + "d"
}
