package sandboxes

import "context"

// rounds shares work between concurrent callers. A caller that arrives during a round gets the next one, so that no result is older than its request.
type rounds[T any] struct {
	turn chan struct{}  // holds one value while a round is in progress
	next chan *round[T] // holds the round that has not begun, nil if nobody waits for it; empty while it is being read
}

type round[T any] struct {
	done  chan struct{}
	value T
	err   error
}

func newRounds[T any]() *rounds[T] {
	r := &rounds[T]{turn: make(chan struct{}, 1), next: make(chan *round[T], 1)}
	r.next <- nil
	return r
}

// do returns the result of work. The value is shared and must not be changed.
func (r *rounds[T]) do(ctx context.Context, work func(context.Context) (T, error)) (T, error) {
	mine := <-r.next
	if mine == nil {
		mine = &round[T]{done: make(chan struct{})}
		r.next <- mine
		r.run(context.WithoutCancel(ctx), mine, work) // the first caller does it for all, and does not give up before the others
		return mine.value, mine.err
	}
	r.next <- mine
	select {
	case <-mine.done:
		return mine.value, mine.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

func (r *rounds[T]) run(ctx context.Context, mine *round[T], work func(context.Context) (T, error)) {
	r.turn <- struct{}{}
	defer func() { <-r.turn }()
	<-r.next
	r.next <- nil
	mine.value, mine.err = work(ctx)
	close(mine.done)
}
