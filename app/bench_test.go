package app_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
