package memstore

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
)

// Dated is a ports.DatedGrants; Store.Dated makes it.
type Dated struct {
	mu  sync.Mutex
	all []confirm.Dated
}

// Dated returns the store's ports.DatedGrants.
func (s *Store) Dated() *Dated { return &s.dated }

// Add stores a new grant.
func (s *Dated) Add(ctx context.Context, d confirm.Dated) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at(d.ID) >= 0 {
		return fault.ErrInternal.WithMessage("grant %s already exists", d.ID)
	}
	s.all = append(s.all, d)
	return nil
}

// Change runs change on the grant of that id and stores what it leaves, unless it fails.
func (s *Dated) Change(ctx context.Context, id string, change func(*confirm.Dated) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.at(id)
	if i < 0 {
		return confirm.ErrNoSessionGrant
	}
	d := s.all[i]
	if err := change(&d); err != nil {
		return err
	}
	d.ID = id
	s.all[i] = d
	return nil
}

// Remove forgets the grant of that id.
func (s *Dated) Remove(ctx context.Context, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.at(id)
	if i < 0 {
		return confirm.ErrNoSessionGrant
	}
	s.all = slices.Delete(s.all, i, i+1)
	return nil
}

// List returns all of them, oldest first.
func (s *Dated) List(ctx context.Context) ([]confirm.Dated, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Clone(s.all)
	slices.SortStableFunc(all, func(a, b confirm.Dated) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
	return all, nil
}

func (s *Dated) at(id string) int {
	return slices.IndexFunc(s.all, func(d confirm.Dated) bool { return d.ID == id })
}
