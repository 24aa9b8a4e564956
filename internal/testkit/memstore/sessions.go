package memstore

import (
	"context"
	"sync"

	"github.com/countersign-dev/countersign/ports"
)

// Sessions is a ports.Sessions; Store.Sessions makes it.
type Sessions struct {
	mu    sync.Mutex
	byKey map[string]ports.Session
}

// Load returns a copy of the session, zero when nothing was stored.
func (s *Sessions) Load(ctx context.Context, key string) (ports.Session, error) {
	if err := ctx.Err(); err != nil {
		return ports.Session{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byKey[key].Copy(), nil
}

// Update runs change on the session and stores it unless change fails, or leaves a mode that does not exist (policy.ErrWord).
func (s *Sessions) Update(ctx context.Context, key string, change func(*ports.Session) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	session := s.byKey[key].Copy()
	if err := change(&session); err != nil {
		return err
	}
	if err := writable(session); err != nil {
		return err
	}
	s.byKey[key] = session.Copy()
	return nil
}

// End forgets the session.
func (s *Sessions) End(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byKey, key)
	return nil
}

// List is copies of all that is remembered, by key.
func (s *Sessions) List(ctx context.Context) (map[string]ports.Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make(map[string]ports.Session, len(s.byKey))
	for key, session := range s.byKey {
		all[key] = session.Copy()
	}
	return all, nil
}
