// Package clock provides a clock that moves only when a test moves it. Nothing sleeps or fires; use testing/synctest where goroutines wait.
package clock

import (
	"sync"
	"time"
)

// Epoch is the instant every Fake starts at.
var Epoch = time.Date(2026, time.January, 2, 3, 4, 5, 0, time.UTC)

// Fake is a ports.Clock. The zero Fake stands at Epoch; all methods may be called from many goroutines.
type Fake struct {
	mu      sync.Mutex
	elapsed time.Duration
}

// Now returns where the clock stands, in UTC.
func (f *Fake) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return Epoch.Add(f.elapsed)
}

// Advance moves the clock by d, backwards when d is negative, and returns where it stands then.
func (f *Fake) Advance(d time.Duration) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.elapsed += d
	return Epoch.Add(f.elapsed)
}

// Set moves the clock to t. Instants more than 292 years from Epoch cannot be reached.
func (f *Fake) Set(t time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.elapsed = t.Sub(Epoch)
}
