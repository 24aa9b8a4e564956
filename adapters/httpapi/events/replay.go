package events

import (
	"context"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/tool"
)

// Limits of past events (packageflow-security contract §5.4).
const (
	ReplayedEvents = 1000
	ReplayedFor    = 24 * time.Hour
)

// again is the delay before a failed read is repeated: the database may be locked.
const again = 250 * time.Millisecond

// replay recreates events from the records between two points. It may repeat a result, because a result precedes the audit record that it belongs to;
// it never misses one.
type replay struct {
	source Source
	filter *Filter
	until  int64           // the last record that belongs to the past
	told   map[string]bool // calls whose end is reported
	found  []Event
}

// events returns those that the filter selects, in order. It retries an unreadable database until ctx ends.
func (r *replay) events(ctx context.Context) []Event {
	for r.filter.After > 0 && r.filter.After < r.until {
		r.found = r.found[:0]
		clear(r.told)
		err := r.read(ctx)
		if err == nil {
			return r.found
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(again):
		}
	}
	return nil
}

func (r *replay) read(ctx context.Context) error {
	oldest := time.Now().Add(-ReplayedFor)
	start, since := max(r.filter.After, r.until-ReplayedEvents), oldest
	cut := start > r.filter.After
	for rec, err := range r.source.AuditTrail(ctx, start-1) {
		if err != nil {
			return err
		}
		if rec.Seq > r.until {
			break
		}
		if old := rec.Event.Time.Before(oldest); old || rec.Seq <= start { // the listener knows the first one, or it is the last one left out
			cut = cut || rec.Seq > start
			if !old {
				since = rec.Event.Time
			}
			continue
		}
		if err := r.call(ctx, rec); err != nil {
			return err
		}
		r.add(recorded(rec))
	}
	if err := r.silent(ctx, since); err != nil {
		return err
	}
	r.bound(cut)
	return nil
}

// add keeps an event that the filter selects.
func (r *replay) add(e Event) {
	if r.filter.keeps(e, r.source.Spec) {
		r.found = append(r.found, e)
	}
}

// call reports the end of the call of a record, if it has ended.
func (r *replay) call(ctx context.Context, rec audit.Record) error {
	if !changes(rec.Event) || rec.Event.Phase == audit.Intent {
		return nil
	}
	run, err := r.source.CallRecord(ctx, rec.Event.CallID)
	if unknown(err) {
		return nil
	}
	if err == nil {
		r.end(run)
	}
	return err
}

func (r *replay) end(run tool.Record) {
	if run.Status.Final() && !r.told[run.CallID] {
		r.told[run.CallID] = true
		r.add(moved(run))
		r.add(ended(run))
	}
}

// silent reports the calls that ended since without an audit record, or whose record is not written yet.
func (r *replay) silent(ctx context.Context, since time.Time) error {
	runs, err := r.source.Calls(ctx, app.RunFilter{Limit: seeded})
	if err != nil {
		return err
	}
	slices.SortStableFunc(runs, func(a, b tool.Record) int { return a.EndedAt.Compare(b.EndedAt) })
	for _, run := range runs {
		if run.EndedAt.After(since) {
			r.end(run)
		}
	}
	return nil
}

// bound keeps the last events, and marks where events are missing.
func (r *replay) bound(cut bool) {
	if over := len(r.found) - ReplayedEvents; over > 0 {
		r.found, cut = r.found[over:], true
	}
	if !cut {
		return
	}
	first := r.until + 1
	for _, e := range r.found {
		if e.ID > 0 {
			first = e.ID
			break
		}
	}
	gap := event(KindGap, struct {
		After int64 `json:"after"` // the last record that the listener knew
		Next  int64 `json:"next"`  // the first one that follows
	}{r.filter.After, first})
	r.found = append([]Event{gap}, r.found...)
}
