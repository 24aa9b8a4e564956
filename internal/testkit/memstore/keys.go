package memstore

import (
	"context"
	"slices"
	"sync"

	"github.com/countersign-dev/countersign/domain/enrolled"
)

// keys is a ports.EnrolledKeys; Store.Keys makes it.
type keys struct {
	mu  sync.Mutex
	all []enrolled.Key // in order of being added
}

// Keys returns the store's ports.EnrolledKeys.
func (s *Store) Keys() *keys { return &s.keys }

// Add stores a new key, or fails with enrolled.ErrTaken.
func (s *keys) Add(ctx context.Context, k enrolled.Key) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(s.all, k.Same) {
		return enrolled.ErrTaken.WithMessage("this %s is already enrolled", k.Kind.Words())
	}
	s.all = append(s.all, k.Copy())
	return nil
}

// Remove forgets the key of that id, or fails with enrolled.ErrMissing.
func (s *keys) Remove(ctx context.Context, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.all)
	if s.all = slices.DeleteFunc(s.all, func(k enrolled.Key) bool { return k.ID() == id }); len(s.all) == n {
		return enrolled.ErrMissing.WithMessage("key %s not found", id)
	}
	return nil
}

// List is copies of all keys, oldest first.
func (s *keys) List(ctx context.Context) ([]enrolled.Key, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []enrolled.Key
	for _, k := range s.all {
		found = append(found, k.Copy())
	}
	return found, nil
}
