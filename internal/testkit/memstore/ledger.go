package memstore

import (
	"context"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/ports"
)

// Issue stores a new grant. A digest or ID that exists already is an internal error.
func (s *Store) Issue(ctx context.Context, g confirm.Request) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.ledger.Lock()
	defer s.ledger.Unlock()
	for _, have := range s.ledger.grants {
		if have.Digest == g.Digest || have.ID == g.ID {
			return fault.ErrInternal.WithMessage("approval request %s already exists", g.ID)
		}
	}
	g = copied(g)
	s.ledger.grants = append(s.ledger.grants, &g)
	return nil
}

// Settle runs f on the grant with that digest and stores what f leaves, except for another ID or digest: a grant keeps its identity.
func (s *Store) Settle(ctx context.Context, d confirm.Digest, f func(*confirm.Request) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.ledger.Lock()
	defer s.ledger.Unlock()
	for _, have := range s.ledger.grants {
		if have.Digest != d {
			continue
		}
		g := copied(*have)
		err := f(&g)
		g.ID, g.Digest = have.ID, have.Digest
		*have = copied(g)
		return err
	}
	return confirm.ErrUnknown
}

// Pending lists copies of the grants that still wait at now, oldest first.
func (s *Store) Pending(ctx context.Context, f ports.PendingFilter, now time.Time) ([]confirm.Request, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.ledger.Lock()
	defer s.ledger.Unlock()
	var found []confirm.Request
	for _, g := range s.ledger.grants {
		if !g.Final() && !g.Expired(now) && matches(f, g) {
			c := copied(*g)
			if f.Brief {
				c.Plan, c.Exhibit = nil, nil
			}
			found = append(found, c)
		}
	}
	slices.SortStableFunc(found, func(a, b confirm.Request) int { return a.IssuedAt.Compare(b.IssuedAt) })
	return found, nil
}

func matches(f ports.PendingFilter, g *confirm.Request) bool {
	return f.Names == g.Names && (f.ID == "" || f.ID == g.ID) && (f.Session == "" || f.Session == g.Binding.Session) && (f.Binding == nil || *f.Binding == g.Binding)
}

// Purge forgets the grants that expired before the given time.
func (s *Store) Purge(ctx context.Context, before time.Time) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.ledger.Lock()
	defer s.ledger.Unlock()
	n := len(s.ledger.grants)
	s.ledger.grants = slices.DeleteFunc(s.ledger.grants, func(g *confirm.Request) bool { return g.ExpiresAt.Before(before) })
	return n - len(s.ledger.grants), nil
}

// copied shares nothing with g and has its times in UTC, as a grant read back from a disk has.
func copied(g confirm.Request) confirm.Request {
	g.Args, g.Plan, g.Exhibit = slices.Clone(g.Args), slices.Clone(g.Plan), slices.Clone(g.Exhibit)
	g.IssuedAt, g.ExpiresAt = g.IssuedAt.UTC().Round(0), g.ExpiresAt.UTC().Round(0)
	if g.Proof != nil {
		proof := *g.Proof
		g.Proof = &proof
	}
	return g
}
