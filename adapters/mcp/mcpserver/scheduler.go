package mcpserver

import (
	"context"
	"slices"
	"sync"
)

// Scheduler is the call queues of a server. It is safe for concurrent use; NewScheduler makes it.
type Scheduler struct {
	mu     sync.Mutex
	queues map[string][]*Ticket // by name, in order of arrival, including running calls
}

// Ticket is one call's place in its queue.
type Ticket struct {
	turns   *Scheduler
	queue   string
	alone   bool
	ready   chan struct{} // closed when it is its turn
	granted bool
	over    bool
}

// NewScheduler returns an empty Scheduler.
func NewScheduler() *Scheduler { return &Scheduler{queues: map[string][]*Ticket{}} }

// Enqueue adds a call to the end of a queue.
func (t *Scheduler) Enqueue(queue string, alone bool) *Ticket {
	k := &Ticket{turns: t, queue: queue, alone: alone, ready: make(chan struct{})}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.queues[queue] = append(t.queues[queue], k)
	t.advance(queue)
	return k
}

// advance gives every ticket its turn that can have it now.
func (t *Scheduler) advance(queue string) {
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
func (k *Ticket) Wait(ctx context.Context) error {
	select {
	case <-k.ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Release leaves the queue; more than once is harmless.
func (k *Ticket) Release() {
	k.turns.mu.Lock()
	defer k.turns.mu.Unlock()
	if k.over {
		return
	}
	k.over = true
	rest := slices.DeleteFunc(k.turns.queues[k.queue], func(other *Ticket) bool { return other == k })
	if len(rest) == 0 {
		delete(k.turns.queues, k.queue)
		return
	}
	k.turns.queues[k.queue] = rest
	k.turns.advance(k.queue)
}

// Released reports whether the ticket has left its queue.
func (k *Ticket) Released() bool {
	k.turns.mu.Lock()
	defer k.turns.mu.Unlock()
	return k.over
}
