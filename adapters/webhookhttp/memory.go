package webhookhttp

import (
	"sync"
	"time"

	"github.com/countersign-dev/countersign/domain/project/webhook"
)

// How much is remembered at most. Both are far above what honest senders on one machine need.
const (
	maxSenders    = 1024
	maxSignatures = 10_000
)

// rates counts requests by sender. The zero rates has seen none.
type rates struct {
	mu      sync.Mutex
	senders map[string]*webhook.SlidingWindow
}

// take charges a request to its sender. When there are more senders than are remembered, the further ones share one count.
func (r *rates) take(sender string, now time.Time) (time.Duration, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.senders == nil {
		r.senders = map[string]*webhook.SlidingWindow{}
	}
	if r.senders[sender] == nil && len(r.senders) >= maxSenders {
		for other, count := range r.senders {
			if count.Idle(now) {
				delete(r.senders, other)
			}
		}
		if len(r.senders) >= maxSenders {
			sender = ""
		}
	}
	count := r.senders[sender]
	if count == nil {
		count = &webhook.SlidingWindow{}
		r.senders[sender] = count
	}
	return count.Take(now)
}

// replays remembers signatures until their timestamps leave the window. The zero replays remembers none.
type replays struct {
	mu    sync.Mutex
	until map[string]time.Time
}

// claim takes a signature that was not taken yet. When no more can be remembered, nothing is taken: a request that cannot be told from a
// copy is not admitted.
func (r *replays) claim(key string, until, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.until == nil {
		r.until = map[string]time.Time{}
	}
	if taken, ok := r.until[key]; ok && now.Before(taken) {
		return false
	}
	if len(r.until) >= maxSignatures {
		for other, end := range r.until {
			if !now.Before(end) {
				delete(r.until, other)
			}
		}
		if len(r.until) >= maxSignatures {
			return false
		}
	}
	r.until[key] = until
	return true
}

func (r *replays) release(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.until, key)
}
