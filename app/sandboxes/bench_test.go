package sandboxes_test

import (
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testkit/fakeserver"
	"github.com/countersign-dev/countersign/internal/testkit/sandboxrig"
)

// BenchmarkStatus requests the status of 20 projects with servers concurrently, and compares that with the slowest single status, which is the lower
// bound (at most 1 s in total while they are healthy). With "hang" three of the servers never answer, so that the lower bound is the timeout of a
// probe.
func BenchmarkStatus(b *testing.B) {
	const projects = 20
	for name, hanging := range map[string]int{"well": 0, "hang": 3} {
		b.Run(name, func(b *testing.B) {
			r := sandboxrig.New(b)
			urls := make([]string, projects)
			for i := range urls {
				urls[i], _ = r.Project(fmt.Sprintf("p%02d", i), nil)
			}
			b.Setenv(fakeserver.Variable, "freeze=1")
			for i := range hanging {
				r.Do(restart, args{"git_url": urls[i]})
			}
			look := func(url string) float64 {
				began := time.Now()
				o := r.Ask(status, args{"git_url": url})
				took := time.Since(began).Seconds() * 1e3
				require.NoError(b, o.Err)
				return took
			}
			floor, all, listed := 0.0, math.Inf(1), math.Inf(1)
			for _, url := range urls {
				floor = max(floor, look(url))
			}
			for range max(b.N, 5) {
				var together sync.WaitGroup
				began := time.Now()
				for _, url := range urls {
					together.Go(func() { look(url) })
				}
				together.Wait()
				all = min(all, time.Since(began).Seconds()*1e3)
				began = time.Now()
				r.Do(list, nil)
				listed = min(listed, time.Since(began).Seconds()*1e3)
			}
			b.ReportMetric(floor, "one-ms")
			b.ReportMetric(all, "all-ms")
			b.ReportMetric(listed, "list-ms")
			b.ReportMetric(all/floor, "x-floor")
			b.ReportMetric(0, "ns/op")
		})
	}
}
