package events

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Hub serves all listeners with one pump, which runs only while there are listeners. It is safe for concurrent use; NewHub makes it.
type Hub struct {
	source Source
	log    *slog.Logger
	life   context.Context //nolint:containedctx // the lifetime of the hub, which ends every listener
	end    context.CancelFunc
	mu     sync.Mutex
	pump   *pump // the running one; nil without listeners
	open   int   // listeners
	closed bool
	tasks  sync.WaitGroup
}

// NewHub returns a hub over that source. It starts nothing. log may be nil.
func NewHub(source Source, log *slog.Logger) *Hub {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	h := &Hub{source: source, log: log}
	h.life, h.end = context.WithCancel(context.Background())
	return h
}

// Subscribe returns the events from now on, preceded by the past events that the filter selects and every pending approval request. The channel is
// closed once ctx ends or the hub is closed, and after a Lagged event, the last event of a listener with more than MaxQueued unread ones. The caller
// must end ctx when done, or read until the channel is closed. No event after Subscribe has returned is missed; it returns at once unless the
// database cannot be read now.
func (h *Hub) Subscribe(ctx context.Context, f Filter) <-chan Event {
	l := newListener(f)
	if !h.enter(ctx, l) {
		close(l.out)
		return l.out
	}
	over := time.NewTimer(joining)
	defer over.Stop()
	select {
	case <-l.ready:
	case <-ctx.Done():
	case <-h.life.Done():
	case <-over.C:
	}
	return l.out
}

// joining is how long Subscribe waits for the pump. A listener that joins later misses earlier events.
const joining = 2 * time.Second

// enter adds a listener and starts to pass it events. It reports false if the hub is closed.
func (h *Hub) enter(ctx context.Context, l *listener) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	if h.pump == nil {
		h.pump = newPump(h)
		started := h.pump
		h.tasks.Go(started.run)
	}
	l.pump = h.pump
	l.pump.listeners[l] = true
	l.pump.wakeUp()
	h.open++
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(h.life, cancel)
	h.tasks.Go(func() {
		defer cancel()
		defer stop()
		defer h.leave(l)
		l.run(ctx, h.source)
	})
	return true
}

// leave removes a listener; the last one ends the pump.
func (h *Hub) leave(l *listener) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open--
	delete(l.pump.listeners, l)
	if len(l.pump.listeners) == 0 {
		l.pump.end()
		if h.pump == l.pump {
			h.pump = nil
		}
	}
}

// Listeners returns the number of listeners.
func (h *Hub) Listeners() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.open
}

// Close ends every listener and waits for the goroutines. Later subscriptions get no events.
func (h *Hub) Close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.end()
	h.tasks.Wait()
}

// tell passes an event to every joined listener of the pump whose filter selects it.
func (h *Hub) tell(p *pump, e Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for l, waits := range p.listeners {
		if !waits && l.filter.keeps(e, h.source.Spec) {
			l.offer(e)
		}
	}
}

// join lets waiting listeners get the events after the given point.
func (h *Hub) join(p *pump, now func() joint) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var here *joint
	for l, waits := range p.listeners {
		if !waits {
			continue
		}
		if here == nil {
			made := now()
			here = &made
		}
		p.listeners[l] = false
		l.joined <- *here // the channel has room for its only value
		close(l.ready)
	}
}
