package mcpserver

import (
	"context"
	"slices"
	"sync"
)

// turns make calls take effect as if in the order of their arrival within a toolset: reads go together,
// anything else goes alone (product rules: rulings on the wire).
type turns struct {
	mu     sync.Mutex
	queues map[string][]*ticket // by toolset, in order of arrival, those whose turn it is included
}

// ticket is one call's place in its queue.
type ticket struct {
	turns   *turns
	queue   string
	alone   bool
	ready   chan struct{} // closed when it is its turn
	granted bool
	over    bool
}

func newTurns() *turns { return &turns{queues: map[string][]*ticket{}} }

// take joins the end of a queue.
func (t *turns) take(queue string, alone bool) *ticket {
	k := &ticket{turns: t, queue: queue, alone: alone, ready: make(chan struct{})}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.queues[queue] = append(t.queues[queue], k)
	t.advance(queue)
	return k
}

// advance gives every ticket its turn that has one now.
func (t *turns) advance(queue string) {
	for i, k := range t.queues[queue] {
		if k.alone && i > 0 {
			return
		}
		if !k.granted {
			k.granted = true
			close(k.ready)
		}
		if k.alone {
			return
		}
	}
}

// Wait returns when it is the ticket's turn, or with the context's error.
func (k *ticket) Wait(ctx context.Context) error {
	select {
	case <-k.ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Release leaves the queue.
func (k *ticket) Release() {
	k.turns.mu.Lock()
	defer k.turns.mu.Unlock()
	if k.over {
		return
	}
	k.over = true
	rest := slices.DeleteFunc(k.turns.queues[k.queue], func(other *ticket) bool { return other == k })
	if len(rest) == 0 {
		delete(k.turns.queues, k.queue)
		return
	}
	k.turns.queues[k.queue] = rest
	k.turns.advance(k.queue)
}

func (k *ticket) released() bool {
	k.turns.mu.Lock()
	defer k.turns.mu.Unlock()
	return k.over
}
