package mcphttp_test

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// reads is what a session asks for, over and over.
var reads = []string{
	leanCall, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"get_policy","arguments":{}}}`,
	`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"output","arguments":{"action":"list"}}}`, leanCall,
	`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"list_confirmations","arguments":{},"_meta":{"progressToken":1}}}`, leanCall,
	`{"jsonrpc":"2.0","id":5,"method":"tools/list","params":{}}`, `{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"audit_tail","arguments":{"limit":5}}}`,
	`{"jsonrpc":"2.0","id":7,"method":"ping"}`, `{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"input","arguments":{"action":"list"}}}`,
}

// soak has so many sessions read for a while, and returns how long each answer took, sorted, and the heap in use after a quarter of the time and at
// its end.
func soak(t testing.TB, url string, many int, lasts time.Duration) (took []time.Duration, early, late uint64) {
	var group sync.WaitGroup
	all := make([][]time.Duration, many)
	var failed atomic.Int64
	crewed := make([]*lean, many)
	for i := range crewed {
		crewed[i] = leanSession(t, url)
	}
	over := time.Now().Add(lasts)
	for i, l := range crewed {
		group.Go(func() {
			defer l.conn.Close()
			for n := i; n < i+2 || time.Now().Before(over); n++ { // on a busy machine, too, each reads more than once
				began := time.Now()
				_, answer, err := l.exchange(reads[n%len(reads)])
				if err != nil || strings.Contains(string(answer), `"isError":true`) || strings.Contains(string(answer), `"error":{"code":`) {
					failed.Add(1)
					t.Errorf("%v: %.200s", err, answer)
					return
				}
				all[i] = append(all[i], time.Since(began))
			}
		})
	}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapInuse
	}
	<-time.After(lasts / 4)
	early = heap()
	group.Wait()
	late = heap()
	require.Zero(t, failed.Load())
	for _, one := range all {
		took = append(took, one...)
		late -= uint64(cap(one) * 8) // the measure is no part of what is measured
	}
	slices.Sort(took)
	return took, early, late
}

// 200 sessions that read without a pause are all answered; the long version is BenchmarkSessions.
func TestTwoHundredSessions(t *testing.T) {
	url, endpoint := whole(t)
	took, _, _ := soak(t, url, 200, time.Second)
	assert.Greater(t, len(took), 200)
	assert.Equal(t, 200, endpoint.Sessions())
	require.NoError(t, endpoint.Close(t.Context()))
	assert.Zero(t, endpoint.Sessions())
}

// BenchmarkSessions has 200 sessions read without a pause, for COUNTERSIGN_SOAK (product goals, for 60s: no error, p99 at most 20 times p50, memory
// flat).
func BenchmarkSessions(b *testing.B) {
	lasts, err := time.ParseDuration(os.Getenv("COUNTERSIGN_SOAK"))
	if err != nil {
		lasts = 2 * time.Second
	}
	url, _ := whole(b)
	took, early, late := soak(b, url, 200, lasts)
	p50, p99 := took[len(took)/2], took[len(took)*99/100]
	b.ReportMetric(float64(p50.Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(p99.Microseconds())/1000, "p99-ms")
	b.ReportMetric(p99.Seconds()/p50.Seconds(), "p99/p50")
	b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "max-ms")
	b.ReportMetric(float64(len(took))/lasts.Seconds(), "calls/s")
	b.ReportMetric(float64(early)/(1<<20), "heap-early-MB")
	b.ReportMetric(float64(late)/(1<<20), "heap-late-MB")
	b.ReportMetric(0, "ns/op")
}
