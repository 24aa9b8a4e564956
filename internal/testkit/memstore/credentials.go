package memstore

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/domain/access"
)

// Credentials is a ports.Credentials; Store.Credentials makes it. A function handed to Change must not call it: it would wait for itself.
type Credentials struct {
	mu  sync.Mutex
	all []access.Credential // in order of being added
}

// Credentials returns the store's ports.Credentials.
func (s *Store) Credentials() *Credentials { return &s.credentials }

// Add stores a new credential. It fails with access.ErrTaken, and with policy.ErrWord when its scope has no written form.
func (s *Credentials) Add(ctx context.Context, c access.Credential) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := writable(c); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken(-1, &c) {
		return access.ErrTaken.WithMessage("a credential named %q already exists", c.Name)
	}
	s.all = append(s.all, c.Copy())
	return nil
}

// taken reports whether a credential, other than the one at that place, stands in the way of c.
func (s *Credentials) taken(except int, c *access.Credential) bool {
	for i := range s.all {
		have := &s.all[i]
		if i != except && (have.ID == c.ID || have.Digest == c.Digest || c.Holds(c.Name) && have.Holds(c.Name)) {
			return true
		}
	}
	return false
}

// Find returns a copy of the credential with that digest.
func (s *Credentials) Find(ctx context.Context, d access.Digest) (access.Credential, error) {
	if err := ctx.Err(); err != nil {
		return access.Credential{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.IndexFunc(s.all, func(c access.Credential) bool { return c.Digest == d }); i >= 0 {
		return s.all[i].Copy(), nil
	}
	return access.Credential{}, access.ErrUnknown
}

// Change runs change on the credential of that id and stores what it leaves, unless it fails, except for another id, kind or digest: a credential
// keeps its identity.
func (s *Credentials) Change(ctx context.Context, id string, change func(*access.Credential) error) (access.Credential, error) {
	if err := ctx.Err(); err != nil {
		return access.Credential{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.all, func(c access.Credential) bool { return c.ID == id })
	if i < 0 {
		return access.Credential{}, access.ErrMissing.WithMessage("credential %s not found", id)
	}
	have := s.all[i]
	next := have.Copy()
	if err := change(&next); err != nil {
		return access.Credential{}, err
	}
	next.ID, next.Kind, next.Digest = have.ID, have.Kind, have.Digest
	if err := writable(next); err != nil {
		return access.Credential{}, err
	}
	if s.taken(i, &next) {
		return access.Credential{}, access.ErrTaken.WithMessage("a credential named %q already exists", next.Name)
	}
	s.all[i] = next.Copy()
	return next.Copy(), nil
}

// List is copies of the credentials, oldest first.
func (s *Credentials) List(ctx context.Context) ([]access.Credential, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []access.Credential
	for _, c := range s.all {
		found = append(found, c.Copy())
	}
	slices.SortStableFunc(found, func(a, b access.Credential) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return found, nil
}

// Purge forgets the credentials that are gone before the given time.
func (s *Credentials) Purge(ctx context.Context, before time.Time) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.all)
	s.all = slices.DeleteFunc(s.all, func(c access.Credential) bool { return c.Gone(before) })
	return n - len(s.all), nil
}
