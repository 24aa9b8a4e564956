package memstore

import (
	"context"
	"slices"

	"github.com/countersign-dev/countersign/domain/audit"
)

// page is how many records Records lists when nobody says.
const page = 100

// Append links the events behind the last record, all or none.
func (s *Store) Append(ctx context.Context, events ...audit.Event) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.audit.Lock()
	defer s.audit.Unlock()
	var last audit.Record
	if n := len(s.audit.records); n > 0 {
		last = s.audit.records[n-1]
	}
	linked := make([]audit.Record, 0, len(events))
	for _, e := range events {
		e.Args = slices.Clone(e.Args)
		r, err := audit.Link(last, e)
		if err != nil {
			return err
		}
		linked, last = append(linked, r), r
	}
	s.audit.records = append(s.audit.records, linked...)
	return nil
}

// Records lists up to limit records with Seq > after in rising order; limit ≤ 0 means 100.
func (s *Store) Records(ctx context.Context, after int64, limit int) ([]audit.Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if limit <= 0 {
		limit = page
	}
	s.audit.Lock()
	defer s.audit.Unlock()
	n := int64(len(s.audit.records))
	from := min(max(after, 0), n) // Seq starts at 1 and has no gaps here
	return detached(s.audit.records[from:min(from+int64(limit), n)]), nil
}

// Tail lists the last n records in rising order.
func (s *Store) Tail(ctx context.Context, n int) ([]audit.Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.audit.Lock()
	defer s.audit.Unlock()
	all := s.audit.records
	return detached(all[len(all)-min(max(n, 0), len(all)):]), nil
}

// Search is the newest records that the filter chooses, newest first.
func (s *Store) Search(ctx context.Context, f audit.Filter) ([]audit.Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.audit.Lock()
	defer s.audit.Unlock()
	var found []audit.Record
	for _, r := range slices.Backward(s.audit.records) {
		if len(found) == f.Most() {
			break
		}
		if f.Matches(&r) {
			found = append(found, r)
		}
	}
	return detached(found), nil
}

func detached(records []audit.Record) []audit.Record {
	out := slices.Clone(records)
	for i := range out {
		out[i].Event.Args = slices.Clone(out[i].Event.Args)
	}
	return out
}
