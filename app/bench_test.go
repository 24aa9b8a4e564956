package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/sqlitestore"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// BenchmarkCallOfAQuery is the whole pipeline without I/O. The budget is 25 µs at the median and 100 µs at the 99th percentile.
func BenchmarkCallOfAQuery(b *testing.B) {
	h := open(&testing.T{})
	defer func() { require.NoError(b, h.App.Close(context.Background())) }()
	c := tool.Call{Session: "s1", Principal: me, Tool: "read_note", Args: json.RawMessage(`{"name":"a","text":"some words"}`)}
	took := make([]time.Duration, 0, b.N)
	b.ReportAllocs()
	for b.Loop() {
		start := time.Now()
		if o := h.App.Call(context.Background(), c); o.Err != nil {
			b.Fatal(o.Err)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e3, "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e3, "p99-µs")
}

// BenchmarkLongAudit is the first call of a process in a home with an audit of 100,000 records where nobody ever stored settings, and what looks an
// approval up there: its answer, whether a call ran with it, and a remote.
func BenchmarkLongAudit(b *testing.B) {
	path := filepath.Join(b.TempDir(), "countersign.db")
	store := sqlitestore.Open(path)
	defer func() { require.NoError(b, store.Close()) }()
	events := make([]audit.Event, 100_000)
	for i := range events {
		events[i] = audit.Event{Time: time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC), Phase: audit.Outcome, CallID: fmt.Sprint("call_abcdefghij", i), Session: "s-abcdef", Principal: "local",
			Client: "claude-code/2.1.0", Tool: "get_git_status", Class: "read", Args: json.RawMessage(`{"project_id":"prj_abcdefgh","path":"/home/me/src/shop","limit":20}`),
			Verdict: "allow", Rule: "read", DurationUS: 1234}
	}
	events[10].Phase, events[10].CallID, events[11].Confirmation = audit.Answer, "cf_7", "cf_7"
	require.NoError(b, store.Append(b.Context(), events...))

	h := open(&testing.T{})
	defer func() { require.NoError(b, h.App.Close(context.Background())) }()
	c := tool.Call{Session: "s1", Principal: me, Tool: "read_note", Args: json.RawMessage(`{"name":"a","text":"some words"}`), FromUser: true, View: true}
	b.Run("FirstCall", func(b *testing.B) {
		for b.Loop() {
			s, core := sqlitestore.Open(path), h.core
			core.Audit, core.Settings = s, s
			a, err := app.New(core, app.Options{Policy: policy.Policy{Ceiling: policy.Execute, Level: policy.ExecuteWithConfirm}}, h.caps...)
			require.NoError(b, err)
			require.NoError(b, a.Call(b.Context(), c).Err)
			require.NoError(b, a.Close(b.Context()))
			require.NoError(b, s.Close())
		}
	})
	for name, f := range map[string]audit.Filter{
		"Answer": {Phase: audit.Answer, Call: "cf_7", Limit: audit.MaxListed}, "Used": {Confirmation: "cf_7", Limit: audit.MaxListed},
		"Remote": {Phase: audit.Outcome, Call: "remote_0123456789", Tool: "approve_remote", Limit: 1},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_, err := store.Search(b.Context(), f)
				require.NoError(b, err)
			}
		})
	}
}
