package httpauth

import (
	"cmp"
	"sync"
	"time"
)

// Limits bounds what a client can use of a server. Zero fields are the defaults.
type Limits struct {
	Body      int64         // bytes of a request's body; 4 MiB
	BodyTime  time.Duration // for a body to arrive; 20 s
	WriteTime time.Duration // for a client to read what was written; 30 s
	Recheck   time.Duration // between two checks of the credential of a stream; 2 s
	InFlight  int           // concurrent requests of one credential; 512
	Failures  int           // invalid credentials per second; 5
}

// complete returns the limits with zeros replaced by the defaults.
func (l Limits) complete() Limits {
	return Limits{
		Body: cmp.Or(l.Body, 4<<20), BodyTime: cmp.Or(l.BodyTime, 20*time.Second), WriteTime: cmp.Or(l.WriteTime, 30*time.Second),
		Recheck: cmp.Or(l.Recheck, 2*time.Second), InFlight: cmp.Or(l.InFlight, 512), Failures: cmp.Or(l.Failures, 5),
	}
}

// bucket is a token bucket: it gains a fixed number of tokens per second, holds twice as many, and is full at first.
type bucket struct {
	mu    sync.Mutex
	rate  float64
	level float64
	at    time.Time
}

func newBucket(perSecond int) *bucket {
	return &bucket{rate: float64(perSecond), level: 2 * float64(perSecond)}
}

// take takes a token, and reports whether there was one.
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

// inFlight counts the running requests of each credential.
type inFlight struct {
	mu   sync.Mutex
	most int
	of   map[string]int
}

// begin counts a request, unless there are too many.
func (f *inFlight) begin(credential string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of[credential] >= f.most {
		return false
	}
	f.of[credential]++
	return true
}

// end ends the count of a request.
func (f *inFlight) end(credential string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of[credential]--; f.of[credential] <= 0 {
		delete(f.of, credential)
	}
}
