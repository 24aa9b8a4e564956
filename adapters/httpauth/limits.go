package httpauth

import (
	"cmp"
	"sync"
	"time"
)

// Limits bound what a visitor can take of a server. Zero fields are the defaults.
type Limits struct {
	Body      int64         // bytes of a request's body; 4 MiB
	BodyTime  time.Duration // for a body to arrive; 20 s
	WriteTime time.Duration // for what was written to be taken; 30 s
	Recheck   time.Duration // between two looks whether the credential behind a stream is still good; 2 s
	InFlight  int           // requests at once of one credential; 512
	Failures  int           // credentials that are not good, per second; 5
}

// complete returns the limits with the defaults in place of zeros.
func (l Limits) complete() Limits {
	return Limits{
		Body: cmp.Or(l.Body, 4<<20), BodyTime: cmp.Or(l.BodyTime, 20*time.Second), WriteTime: cmp.Or(l.WriteTime, 30*time.Second),
		Recheck: cmp.Or(l.Recheck, 2*time.Second), InFlight: cmp.Or(l.InFlight, 512), Failures: cmp.Or(l.Failures, 5),
	}
}

// bucket holds tokens: so many flow in each second, up to twice as many, and it is full at first.
type bucket struct {
	mu    sync.Mutex
	rate  float64
	level float64
	at    time.Time
}

func newBucket(perSecond int) *bucket {
	return &bucket{rate: float64(perSecond), level: 2 * float64(perSecond)}
}

// take reports whether there was a token left, and takes it.
func (b *bucket) take(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.at.IsZero() && now.After(b.at) {
		b.level = min(b.level+b.rate*now.Sub(b.at).Seconds(), 2*b.rate)
	}
	b.at = now
	if b.level < 1 {
		return false
	}
	b.level--
	return true
}

// inFlight counts the requests under way of each credential.
type inFlight struct {
	mu   sync.Mutex
	most int
	of   map[string]int
}

// begin counts one in, unless there are too many.
func (f *inFlight) begin(credential string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of[credential] >= f.most {
		return false
	}
	f.of[credential]++
	return true
}

// end counts one out.
func (f *inFlight) end(credential string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of[credential]--; f.of[credential] <= 0 {
		delete(f.of, credential)
	}
}
