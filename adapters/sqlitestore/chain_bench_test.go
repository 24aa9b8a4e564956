package sqlitestore_test

import (
	"crypto/sha256"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/ports"
)

// BenchmarkChain checks a record of 100,000 reads, as they usually are, without and with its indexes, beside what cannot be saved: reading the rows and hashing
// as many bytes. The second is what audit verify does.
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
	walk := func(b *testing.B, visit func(audit.Raw) error, over func(ports.StoredChain) error) {
		for b.Loop() {
			n := 0
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
			require.Equal(b, many, n)
		}
		b.ReportMetric(float64(b.N)*many/b.Elapsed().Seconds(), "records/s")
	}
	none := func(ports.StoredChain) error { return nil }
	var c *audit.Check
	check := func(r audit.Raw) error {
		if r.Seq == 1 {
			c = audit.NewCheck()
		}
		return c.Next(r)
	}
	b.Run("Check", func(b *testing.B) { walk(b, check, none) })
	b.Run("CheckAndIndex", func(b *testing.B) { walk(b, check, func(c ports.StoredChain) error { return c.Index() }) })
	b.Run("FloorReadAndHash", func(b *testing.B) {
		walk(b, func(r audit.Raw) error { sha256.Sum256(r.Event); return nil }, none)
	})
}
