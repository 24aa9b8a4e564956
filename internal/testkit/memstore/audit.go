package memstore

import (
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/countersign-dev/countersign/domain/audit"
)

// page is the default number of records of Records.
const page = 100

// auditLog is the audit, with where in it the records are that are looked for.
type auditLog struct {
	sync.Mutex
	records []audit.Record
	by      map[sought][]int
}

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
	for _, r := range linked {
		s.audit.note(&r)
	}
	s.audit.records = append(s.audit.records, linked...)
	return nil
}

// sought is what records are looked for by; one of its fields, or the last two, are set.
type sought struct {
	call, confirmation, tool string
	phase                    audit.Phase
}

// keyOf is by what the filter's records are found without looking at the others; zero where they are not.
func keyOf(f audit.Filter) sought {
	switch {
	case f.After > 0:
	case f.Call != "":
		return sought{call: f.Call}
	case f.Confirmation != "":
		return sought{confirmation: f.Confirmation}
	case f.Tool != "" && f.Phase != "":
		return sought{tool: f.Tool, phase: f.Phase}
	}
	return sought{}
}

// note keeps by what a record is found.
func (l *auditLog) note(r *audit.Record) {
	if l.by == nil {
		l.by = map[sought][]int{}
	}
	e := &r.Event
	for _, key := range []sought{{call: e.CallID}, {confirmation: e.Confirmation}, {tool: e.Tool, phase: e.Phase}} {
		if key != (sought{}) {
			l.by[key] = append(l.by[key], int(r.Seq)-1)
		}
	}
}

// newestFirst yields the records that the filter may choose, and perhaps more.
func (l *auditLog) newestFirst(f audit.Filter) iter.Seq[*audit.Record] {
	return func(yield func(*audit.Record) bool) {
		if key := keyOf(f); key != (sought{}) {
			for _, i := range slices.Backward(l.by[key]) {
				if !yield(&l.records[i]) {
					return
				}
			}
			return
		}
		for i := len(l.records) - 1; i >= 0 && yield(&l.records[i]); i-- {
		}
	}
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

// Search returns the newest records that the filter chooses, newest first.
func (s *Store) Search(ctx context.Context, f audit.Filter) ([]audit.Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.audit.Lock()
	defer s.audit.Unlock()
	var found []audit.Record
	for r := range s.audit.newestFirst(f) {
		if len(found) == f.Most() {
			break
		}
		if f.Matches(r) {
			found = append(found, *r)
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
