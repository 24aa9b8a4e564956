package events

import (
	"context"
	"sync"
)

// MaxQueued is the maximum number of unread events of a listener; with one more it has lagged.
const MaxQueued = 1024

// joint is the point at which a listener joined the pump.
type joint struct {
	seq  int64   // of the last audit record reported before
	open []Event // the pending requests at that point, oldest first, and the running calls
}

// listener is one subscription.
type listener struct {
	filter Filter
	pump   *pump
	joined chan joint
	ready  chan struct{} // closed once it has joined
	queue  chan Event    // events after it joined
	lost   chan struct{} // closed when the queue was full
	once   sync.Once
	out    chan Event
}

func newListener(f Filter) *listener {
	return &listener{filter: f, joined: make(chan joint, 1), ready: make(chan struct{}), queue: make(chan Event, MaxQueued), lost: make(chan struct{}), out: make(chan Event)}
}

// offer queues an event without blocking.
func (l *listener) offer(e Event) {
	select {
	case l.queue <- e:
	default:
		l.once.Do(func() { close(l.lost) })
	}
}

// put queues an event of a topic; it blocks instead of making the listener lag. It reports false if the listener has ended.
func (l *listener) put(ctx context.Context, e Event) bool {
	select {
	case l.queue <- e:
		return true
	case <-l.lost:
	case <-ctx.Done():
	}
	return false
}

// run sends the listener its events until ctx ends, or it lags.
func (l *listener) run(ctx context.Context, source Source) {
	defer close(l.out)
	ctx, cancel := context.WithCancel(ctx)
	var watchers sync.WaitGroup
	defer watchers.Wait()
	defer cancel()
	var from joint
	select {
	case from = <-l.joined:
	case <-ctx.Done():
		return
	}
	if !l.begin(ctx, source, from) {
		return
	}
	l.filter.Topics.Watch(ctx, &watchers, func(e TopicUpdate) bool { return l.put(ctx, Event{Kind: e.Kind, Data: e.Data}) })
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.lost: // events queued before it lagged are lost
			l.lag(ctx)
			return
		case e := <-l.queue:
			if !l.send(ctx, e) {
				return
			}
		}
	}
}

// begin sends the requested past events and what is open. It reports false if the listener has ended.
func (l *listener) begin(ctx context.Context, source Source, from joint) bool {
	past := replay{source: source, filter: &l.filter, until: from.seq, told: map[string]bool{}}
	for _, e := range append(past.events(ctx), from.open...) {
		if l.filter.keeps(e, source.Spec) && !l.send(ctx, e) {
			return false
		}
	}
	return ctx.Err() == nil
}

// send blocks until the listener receives the event. It reports false if the listener has ended or lagged.
func (l *listener) send(ctx context.Context, e Event) bool {
	select {
	case l.out <- e:
		return true
	case <-l.lost:
		l.lag(ctx)
	case <-ctx.Done():
	}
	return false
}

// lag sends the listener, as the last event, that it was too slow.
func (l *listener) lag(ctx context.Context) {
	select {
	case l.out <- event(KindLagged, struct {
		Reason string `json:"reason"`
	}{"the client read events too slowly; reconnect from the last id"}):
	case <-ctx.Done():
	}
}
