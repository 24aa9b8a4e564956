package memstore

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
)

// Runs is a ports.Runs; Store.Runs makes it. A function handed to Change must not call it: it would wait for itself.
type Runs struct {
	mu  sync.Mutex
	all []tool.Record // in order of being added
}

// Runs returns the store's ports.Runs.
func (s *Store) Runs() *Runs { return &s.runs }

// Add stores a new record, or fails with tool.ErrTaken or tool.ErrMove.
func (s *Runs) Add(ctx context.Context, r tool.Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := r.Begins(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(s.all, func(have tool.Record) bool { return have.CallID == r.CallID }) {
		return tool.DuplicateRecordError(r.CallID)
	}
	s.all = append(s.all, r.Copy())
	return nil
}

// Change runs change on the record that goes by id and stores what it leaves, unless it fails.
func (s *Runs) Change(ctx context.Context, id string, change func(*tool.Record) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.find(id)
	if err != nil {
		return err
	}
	next, err := r.Changed(change)
	if err == nil {
		*r = next
	}
	return err
}

// Load returns a copy of the record that goes by id.
func (s *Runs) Load(ctx context.Context, id string) (tool.Record, error) {
	if err := ctx.Err(); err != nil {
		return tool.Record{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.find(id)
	if err != nil {
		return tool.Record{}, err
	}
	return r.Copy(), nil
}

// find returns the record that goes by id: of a call sooner than of its redemption, and of that sooner than of a confirmation.
func (s *Runs) find(id string) (*tool.Record, error) {
	for _, by := range []func(tool.Record) bool{
		func(r tool.Record) bool { return r.CallID == id },
		func(r tool.Record) bool { return r.Redeemed == id },
		func(r tool.Record) bool { return r.ConfirmationID == id },
	} {
		if i := slices.IndexFunc(s.all, by); id != "" && i >= 0 {
			return &s.all[i], nil
		}
	}
	return nil, tool.UnknownRecordError(id)
}

// newest returns the places of the records, newest first.
func (s *Runs) newest() []int {
	order := make([]int, len(s.all))
	for i := range order {
		order[i] = len(s.all) - 1 - i
	}
	slices.SortStableFunc(order, func(a, b int) int { return s.all[b].At.Compare(s.all[a].At) })
	return order
}

// List is copies of the records that the filter chooses, newest first.
func (s *Runs) List(ctx context.Context, f ports.RunFilter) ([]tool.Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []tool.Record
	for _, i := range s.newest() {
		if len(found) < f.Most() && f.Matches(&s.all[i]) {
			found = append(found, s.all[i].Copy())
		}
	}
	return found, nil
}

// Purge forgets records that have ended: those that are not among the newest keep, and those from before the given time.
func (s *Runs) Purge(ctx context.Context, keep int, before time.Time) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	gone := map[string]bool{}
	for rank, i := range s.newest() {
		if r := s.all[i]; r.Status.Final() && (rank >= keep || r.At.Before(before)) {
			gone[r.CallID] = true
		}
	}
	s.all = slices.DeleteFunc(s.all, func(r tool.Record) bool { return gone[r.CallID] })
	return len(gone), nil
}
