package sqlitestore_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/sqlitestore"
	"github.com/countersign-dev/countersign/domain/audit"
)

// grown appends so many records as agents leave them: of a hundred, two are of a change that a person approved and one of a read that failed. Of a hundred
// thousand, one change ran without a person.
func grown(tb testing.TB, s *sqlitestore.Store, many int) {
	tb.Helper()
	const batch = 10_000
	events := make([]audit.Event, 0, batch)
	for i := range many {
		e := audit.Event{Time: time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC).Add(time.Duration(i) * 10 * time.Second), Phase: audit.Outcome, CallID: fmt.Sprintf("call_%016x", i),
			Session: fmt.Sprintf("s-%06d", i/500), Principal: "local", Client: "claude-code/2.1.0", Tool: fmt.Sprintf("tool_%d", i%30), Class: "read",
			Args: json.RawMessage(`{"project_id":"prj_abcdefgh","path":"/home/me/src/shop","limit":20}`), Verdict: "allow", Rule: "read", DurationUS: 1234}
		switch i % 100 {
		case 50:
			e.Code = "pack_not_found"
		case 98, 99:
			e.CallID, e.Tool, e.Class, e.Verdict, e.Rule = fmt.Sprintf("call_%016x", i|1), "deploy_apply", "write", "confirm", "default"
			e.ApprovedBy, e.Confirmation = "terminal", fmt.Sprintf("cf_%016x", i/100)
			if i%100 == 98 {
				e.Phase = audit.Intent
			}
			if i/100%1000 == 0 {
				e.ApprovedBy, e.Grant = "caller", "gr_1"
			}
		}
		if events = append(events, e); len(events) == batch || i == many-1 {
			require.NoError(tb, s.Append(tb.Context(), events...))
			events = events[:0]
		}
	}
}

// BenchmarkPages is a page of the audit, with each filter, of a million records; the floor is a page of a hundred records that shows as many. A text is not
// indexed: the search for one that is nowhere reads everything, and is left out.
func BenchmarkPages(b *testing.B) {
	small, large := open(b), open(b)
	grown(b, small, 100)
	grown(b, large, 1_000_000)
	page := func(b *testing.B, s *sqlitestore.Store, f audit.Filter) time.Duration {
		const times = 20
		best := time.Hour
		for range times { // the quickest of some: others use the processors as well
			began := time.Now()
			_, err := s.Search(b.Context(), f)
			require.NoError(b, err)
			best = min(best, time.Since(began))
		}
		return best
	}
	for _, c := range []struct {
		name   string
		filter audit.Filter
	}{
		{"All", audit.Filter{}}, {"Before", audit.Filter{Before: 51}}, {"Call", audit.Filter{Call: "call_0000000000000063"}}, {"Tool", audit.Filter{Tool: "tool_7"}},
		{"ToolNowhere", audit.Filter{Tool: "nowhere"}}, {"Phase", audit.Filter{Phase: audit.Intent}}, {"PhaseNowhere", audit.Filter{Phase: audit.Asked}},
		{"Code", audit.Filter{Code: "pack_not_found"}}, {"CodeNowhere", audit.Filter{Code: "nowhere"}}, {"Failed", audit.Filter{Failed: true}},
		{"Grant", audit.Filter{Grant: "gr_1"}}, {"Unattended", audit.Filter{Unattended: true}}, {"FailedOfTool", audit.Filter{Failed: true, Tool: "tool_20"}},
	} {
		b.Run(c.name, func(b *testing.B) {
			f := c.filter
			var now, floor time.Duration
			shown := func(s *sqlitestore.Store) int {
				found, err := s.Search(b.Context(), f)
				require.NoError(b, err)
				return len(found)
			}
			full := page(b, large, f)
			if few := shown(small); few > 0 { // as many as there are of a hundred: what each of those costs that are shown is the same
				f.Limit = few
			}
			for b.Loop() {
				floor, now = page(b, small, f), page(b, large, f)
			}
			b.ReportMetric(float64(full.Microseconds()), "us/full-page")
			b.ReportMetric(float64(now)/float64(floor), "x-floor")
		})
	}
}
