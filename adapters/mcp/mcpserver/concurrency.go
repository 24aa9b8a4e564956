package mcpserver

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// Shares limits the concurrent calls of each client. It is safe for concurrent use; NewShares makes it.
type Shares struct {
	each int64

	mu    sync.Mutex
	taken map[string]*share // by client that runs a call or waits to
}

type share struct {
	room  *semaphore.Weighted
	users int
}

// NewShares returns Shares that allow each concurrent calls per client. Zero means no limit.
func NewShares(each int) *Shares {
	return &Shares{each: int64(max(each, 0)), taken: map[string]*share{}}
}

// Take waits until who may run one more call, or fails with the context's error. The caller must call Release.
func (s *Shares) Take(ctx context.Context, who string) error {
	if s.each == 0 {
		return nil
	}
	s.mu.Lock()
	own := s.taken[who]
	if own == nil {
		own = &share{room: semaphore.NewWeighted(s.each)}
		s.taken[who] = own
	}
	own.users++
	s.mu.Unlock()
	if err := own.room.Acquire(ctx, 1); err != nil {
		s.leave(who, own)
		return err
	}
	return nil
}

// Release returns what Take took.
func (s *Shares) Release(who string) {
	if s.each == 0 {
		return
	}
	s.mu.Lock()
	own := s.taken[who]
	s.mu.Unlock()
	own.room.Release(1)
	s.leave(who, own)
}

// leave removes a client that runs nothing.
func (s *Shares) leave(who string, own *share) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if own.users--; own.users == 0 {
		delete(s.taken, who)
	}
}

// Busy returns the number of clients that run a call or wait to.
func (s *Shares) Busy() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.taken)
}
