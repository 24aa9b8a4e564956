package memstore

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/countersign-dev/countersign/domain/pack"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/packport"
)

// Packs is a packport.Repository and a packport.Doctor; a store in memory has nothing to heal. Its methods may run concurrently, but a function
// handed to Update or Delete must not call it back.
type Packs struct {
	clock   ports.Clock
	mu      sync.Mutex
	packs   map[pack.ID]*pack.Pack
	trashed map[pack.ID]bool
}

// NewPacks returns an empty repository. clock decides what has expired.
func NewPacks(clock ports.Clock) *Packs {
	return &Packs{clock: clock, packs: map[pack.ID]*pack.Pack{}, trashed: map[pack.ID]bool{}}
}

// Get implements packport.Reader.
func (r *Packs) Get(ctx context.Context, id pack.ID) (*pack.Pack, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	p, err := r.live(id)
	if err != nil {
		return nil, err
	}
	return p.Clone(), nil
}

func (r *Packs) live(id pack.ID) (*pack.Pack, error) {
	p, ok := r.packs[id]
	if !ok || p.Expired(r.clock.Now()) {
		return nil, pack.ErrNotFound.WithMessage("pack %s not found; it may have expired", id)
	}
	return p, nil
}

// Lookup implements packport.Reader.
func (r *Packs) Lookup(ctx context.Context, name pack.Name) ([]pack.Summary, error) {
	return r.list(ctx, func(p *pack.Pack) bool { return string(p.Name()) == string(name) })
}

// List implements packport.Reader.
func (r *Packs) List(ctx context.Context) ([]pack.Summary, error) {
	return r.list(ctx, func(*pack.Pack) bool { return true })
}

func (r *Packs) list(ctx context.Context, want func(*pack.Pack) bool) ([]pack.Summary, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.matching(want), nil
}

func (r *Packs) matching(want func(*pack.Pack) bool) []pack.Summary {
	now := r.clock.Now()
	found := []pack.Summary{}
	for _, p := range r.packs {
		if !p.Expired(now) && want(p) {
			found = append(found, p.Summary())
		}
	}
	slices.SortFunc(found, func(a, b pack.Summary) int { return cmp.Compare(a.ID, b.ID) })
	return found
}

// Create implements packport.Writer.
func (r *Packs) Create(ctx context.Context, p *pack.Pack) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, taken := r.packs[p.ID()]; taken || r.trashed[p.ID()] {
		return pack.ErrExists.WithMessage("pack %s already exists, or existed until it was deleted; use another id", p.ID())
	}
	if name := p.Name(); name != "" {
		if same := r.matching(func(other *pack.Pack) bool { return other.Name() == name }); len(same) > 0 {
			return pack.ErrNameTaken.WithMessage("pack %s already has the name %q; choose another name or use that pack", same[0].ID, name)
		}
	}
	r.packs[p.ID()] = p.Clone()
	return nil
}

// Update implements packport.Writer.
func (r *Packs) Update(ctx context.Context, id pack.ID, change func(*pack.Pack) error) (*pack.Pack, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	stored, err := r.live(id)
	if err != nil {
		return nil, err
	}
	next := stored.Clone()
	if err := change(next); err != nil {
		return nil, err
	}
	if next.Revision() != stored.Revision() {
		r.packs[id] = next.Clone()
		return next, nil
	}
	return stored.Clone(), nil
}

// Delete implements packport.Writer.
func (r *Packs) Delete(ctx context.Context, id pack.ID, check func(*pack.Pack) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	stored, err := r.live(id)
	if err != nil {
		return err
	}
	if err := check(stored.Clone()); err != nil {
		return err
	}
	delete(r.packs, id)
	r.trashed[id] = true
	return nil
}

// Inspect implements packport.Doctor: there is never any damage.
func (r *Packs) Inspect(ctx context.Context) ([]packport.Damage, error) {
	return []packport.Damage{}, ctx.Err()
}

// Quarantine implements packport.Doctor.
func (r *Packs) Quarantine(_ context.Context, file string) (string, error) {
	return "", packport.ErrHealthy.WithMessage("%s is not among the damaged packs; packs in memory have no files", file)
}
