package system

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/domain/owner"
)

const (
	ending    = ".json"
	forgotten = ".forgotten" + ending
	maxFile   = 16 << 10
)

// leases is a ports.Leases; Open makes it. All methods may be called from many goroutines and processes.
type leases struct{ dir *docfile.Dir }

// NewLeases returns the leases in that directory, which is made when the first one is kept.
func NewLeases(dir string) *leases { return &leases{docfile.NewDir(dir)} }

// Renew records that the owner is active now.
func (l *leases) Renew(ctx context.Context, of string, now time.Time) error {
	name := owner.Name(of)
	return l.write(ctx, name+ending, owner.Lease{Name: name, Owner: of, RenewedAt: now.UTC()})
}

// Release deletes the lease; the user's declaration stays.
func (l *leases) Release(ctx context.Context, of string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := l.dir.Remove(owner.Name(of) + ending); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Find returns the lease with that name, with the user's declaration.
func (l *leases) Find(ctx context.Context, name string) (owner.Lease, error) {
	if err := cmp.Or(owner.CheckName(name), ctx.Err()); err != nil {
		return owner.Lease{}, err
	}
	found, err := l.read(name + ending)
	if err != nil {
		return owner.Lease{}, err
	}
	said, err := l.read(name + forgotten)
	found.Name, found.Owner, found.Forgotten, found.By = name, cmp.Or(found.Owner, said.Owner), said.Forgotten, said.By
	return found, err
}

// List returns all leases by name.
func (l *leases) List(ctx context.Context) ([]owner.Lease, error) {
	names := map[string]bool{}
	err := l.dir.Scan(".", func(file string, _ func() (fs.FileInfo, error)) error {
		name, _ := strings.CutSuffix(strings.TrimSuffix(file, ending), strings.TrimSuffix(forgotten, ending))
		if strings.HasSuffix(file, ending) && owner.CheckName(name) == nil {
			names[name] = true
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var all []owner.Lease
	for name := range names {
		found, err := l.Find(ctx, name)
		if err != nil {
			return nil, err
		}
		if !found.RenewedAt.IsZero() || !found.Forgotten.IsZero() { // otherwise it was released meanwhile
			all = append(all, found)
		}
	}
	slices.SortFunc(all, func(a, b owner.Lease) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// Forget records the user's declaration, unless it is recorded already.
func (l *leases) Forget(ctx context.Context, name, by string, now time.Time) (owner.Lease, error) {
	found, err := l.Find(ctx, name)
	if err != nil || !found.Forgotten.IsZero() {
		return found, err
	}
	found.Forgotten, found.By = now.UTC(), by
	said := found
	said.RenewedAt = time.Time{}
	return found, l.write(ctx, name+forgotten, said)
}

func (l *leases) write(ctx context.Context, file string, doc owner.Lease) error {
	text, err := json.Marshal(doc)
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return err
	}
	return l.dir.Write(file, append(text, '\n'))
}

// read returns the document in that file; a missing one is empty.
func (l *leases) read(file string) (doc owner.Lease, err error) {
	text, _, err := l.dir.Read(file, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return doc, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &doc)
	}
	return doc, err
}
