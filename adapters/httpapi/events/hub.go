package events

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Hub is where listeners come together: one pump looks for all of them, and none runs while nobody listens. It is safe for concurrent use; New
// makes it.
type Hub struct {
	source Source
	log    *slog.Logger
	life   context.Context //nolint:containedctx // the lifetime of the hub, which ends every listener
	end    context.CancelFunc
	mu     sync.Mutex
	pump   *pump // that runs; nil while nobody listens
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

// Subscribe returns what happens from now on, and before that what the filter asks for of the past and every question that waits. The channel is closed
// once ctx ends or the hub is closed, and after a Lagged event, which is the last one that a listener gets who leaves more than Waiting events
// untaken. Whoever subscribes ends ctx when done, or takes events until the channel is closed. What happens after Subscribe has returned is heard;
// it returns at once unless the database cannot be read just now.
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

// joining is how long Subscribe waits for the pump. A listener that joins later misses what happened before.
const joining = 2 * time.Second

// enter takes a listener in, and begins to hand it events. It reports false when the hub is closed.
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

// leave takes a listener out; with the last one the pump ends.
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

// Listeners returns how many there are.
func (h *Hub) Listeners() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.open
}

// Close ends every listener and waits until all is still. Whoever subscribes afterwards hears nothing.
func (h *Hub) Close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.end()
	h.tasks.Wait()
}

// tell hands an event to every listener of the pump that has joined and keeps it.
func (h *Hub) tell(p *pump, e Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for l, waits := range p.listeners {
		if !waits && l.filter.keeps(e, h.source.Spec) {
			l.offer(e)
		}
	}
}

// join lets those who wait hear what follows the given moment.
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
		l.joined <- *here // there is room for the one that ever comes
		close(l.ready)
	}
}
