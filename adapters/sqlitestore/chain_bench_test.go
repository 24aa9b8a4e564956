package sqlitestore_test

import (
	"crypto/sha256"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/internal/testkit/cputime"
	"github.com/countersign-dev/countersign/ports"
)

// BenchmarkChain checks a record of 100,000 reads, as they usually are, without and with its indexes, beside what cannot be saved: reading the rows and hashing
// as many bytes; in processor time. The second is what audit verify does.
func BenchmarkChain(b *testing.B) {
	const many = 100_000
	s := open(b)
	events := make([]audit.Event, many)
	for i := range events {
		events[i] = audit.Event{Time: time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC), Phase: audit.Outcome, CallID: "call_abcdefghijklmnop", Session: "s-abcdef", Principal: "local",
			Client: "claude-code/2.1.0", Tool: "get_git_status", Class: "read", Args: json.RawMessage(`{"project_id":"prj_abcdefgh","path":"/home/me/src/shop","limit":20}`),
			Verdict: "allow", Rule: "read", DurationUS: 1234}
	}
	require.NoError(b, s.Append(b.Context(), events...))
	walk := func(visit func(audit.Raw) error, over func(ports.StoredChain) error) time.Duration {
		n, began := 0, cputime.Self()
		require.NoError(b, s.Chain(b.Context(), 0, func(c ports.StoredChain) error {
			for r, err := range c.Records {
				if err != nil {
					return err
				}
				if err := visit(r); err != nil {
					return err
				}
				n++
			}
			return over(c)
		}))
		took := cputime.Self() - began
		require.Equal(b, many, n)
		return took
	}
	none := func(ports.StoredChain) error { return nil }
	floor := func(r audit.Raw) error { sha256.Sum256(r.Event); return nil }
	for name, over := range map[string]func(ports.StoredChain) error{"Records": none, "RecordsAndIndexes": func(c ports.StoredChain) error { return c.Index() }} {
		b.Run(name, func(b *testing.B) {
			now, least := time.Hour, time.Hour // the quickest of some, in turns: others use the processors as well
			for b.Loop() {
				c := audit.NewCheck()
				least, now = min(least, walk(floor, none)), min(now, walk(c.Next, over))
			}
			b.ReportMetric(float64(now.Nanoseconds())/many/1000, "us/record")
			b.ReportMetric(float64(now)/float64(least), "x-floor")
		})
	}
}
