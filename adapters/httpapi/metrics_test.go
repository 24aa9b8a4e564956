package httpapi_test

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/httpapi"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/local"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
	"github.com/countersign-dev/countersign/internal/testkit/nopolicy"
	"github.com/countersign-dev/countersign/internal/testkit/person"
)

var (
	_ httpapi.Core          = (*app.App)(nil)
	_ httpapi.MetricsSource = (*app.App)(nil)
)

func open(t *testing.T) *local.Local {
	t.Helper()
	dir := t.TempDir()
	c := local.Config{Trust: nopolicy.Trust(t.TempDir()), Dir: filepath.Join(dir, "state"), Options: person.ByCaller(local.Defaults()), Toolsets: []string{"packs", "projects"}, Packs: local.Packs{Root: dir, Source: dir},
		Projects: local.Projects{Home: dir}, Log: slog.New(slog.DiscardHandler)}
	c.Options.Policy.Approval = policy.ApprovalHuman
	l, err := local.Open(c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l
}

func call(name, args string) tool.Call {
	return tool.Call{Session: "s1", Principal: policy.Principal{ID: "local", Grants: policy.All}, Tool: tool.Name(name), Args: []byte(args)}
}

// own returns what a server shows besides the process itself, with durations hidden.
func own(t *testing.T, text string) string {
	t.Helper()
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "countersign_") || strings.HasPrefix(line, "# ") {
			lines = append(lines, line)
		}
	}
	text = strings.Join(lines, "\n") + "\n"
	text = regexp.MustCompile(`(?m)^.*_bucket\{.*,le="[0-9.]+"\} \d+\n`).ReplaceAllString(text, "")
	text = regexp.MustCompile(`(_sum\{[^}]*\}) [0-9.e-]+`).ReplaceAllString(text, "$1 SUM")
	text = regexp.MustCompile(`countersign_audit_seq \d+`).ReplaceAllString(text, "countersign_audit_seq N")
	return regexp.MustCompile(`go="[^"]*"`).ReplaceAllString(text, `go="VERSION"`)
}

// TestWhatIsCounted, and nothing that somebody sent.
func TestWhatIsCounted(t *testing.T) {
	l := open(t)
	g := httpapi.NewMetrics(httpapi.MetricsOptions{Version: `1.2"3`, Book: l, Streams: func() int { return 3 }, Sessions: func() int { return 2 }, Dropped: func() int64 { return 7 }})
	g.Begin(t.Context())
	core := g.Observe(l)
	ctx := t.Context()
	require.NoError(t, core.Call(ctx, call("list_projects", `{}`)).Err)
	require.NoError(t, core.Call(ctx, call("list_projects", `{}`)).Err)
	require.Error(t, core.Call(ctx, call("list_projects", `{"a":1}`)).Err)
	require.Error(t, core.Call(ctx, call("sent_by_somebody", `{}`)).Err)
	require.Error(t, core.Call(ctx, call(`evil"} 1`, `{}`)).Err)
	require.Error(t, core.Call(ctx, call("create_workflow", `{"name":"a"}`)).Err)
	require.Error(t, core.Call(ctx, call("create_workflow", `{"name":"b"}`)).Err)
	require.Error(t, core.Call(ctx, call("create_workflow", `{"name":"c"}`)).Err)
	views, err := l.Confirmations(ctx, "")
	require.NoError(t, err)
	for i, yes := range []bool{true, false} {
		_, err = l.Answer(ctx, confirm.Decision{ID: views[i].ID, Approve: yes, By: []string{"terminal", "console key_secret"}[i], Proof: person.AtTerminal})
		require.NoError(t, err)
	}
	n := 0
	for range core.Specs() {
		n++
	}
	assert.Positive(t, n)
	g.Requested("GET /api/v1/tools", 200, time.Millisecond)
	g.Requested("GET /api/v1/tools", 12345, time.Millisecond)

	r := httptest.NewRecorder()
	g.Serve(r, httptest.NewRequest(http.MethodGet, "/metrics", nil), httpauth.Identity{})
	text := r.Body.String()
	assert.Equal(t, "text/plain; version=0.0.4; charset=utf-8", r.Header().Get("Content-Type"))
	golden.Text(t, "metrics", own(t, text))
	for _, of := range []string{"process_resident_memory_bytes", "go_goroutines", "go_memstats_alloc_bytes"} {
		assert.Regexp(t, `(?m)^`+of+` \d`, text)
	}
	readable(t, text)
	assert.NotContains(t, text, "sent_by_somebody")
	assert.NotContains(t, text, "key_secret")
}

// readable holds a text to the format: every line is a comment or a sample, buckets rise, and each metric's head stands once.
func readable(t *testing.T, text string) {
	t.Helper()
	sample := regexp.MustCompile(`^[a-z_:][a-z0-9_:]*(\{[a-z_]+="([^"\\\n]|\\.)*"(,[a-z_]+="([^"\\\n]|\\.)*")*\})? [0-9.eE+-]+$`)
	heads, last := map[string]bool{}, map[string]float64{}
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if strings.HasPrefix(line, "# TYPE ") {
			assert.False(t, heads[line], line)
			heads[line] = true
			continue
		}
		if strings.HasPrefix(line, "# HELP ") {
			continue
		}
		require.Regexp(t, sample, line)
		if before, after, ok := strings.Cut(line, ",le="); ok {
			var n float64
			_, err := fmt.Sscan(after[strings.LastIndex(after, " ")+1:], &n)
			require.NoError(t, err)
			assert.GreaterOrEqual(t, n, last[before], line)
			last[before] = n
		}
	}
	assert.NotEmpty(t, last)
}

// TestADurationFallsIntoItsBucket, at the edge as well.
func TestADurationFallsIntoItsBucket(t *testing.T) {
	g := httpapi.NewMetrics(httpapi.MetricsOptions{})
	for _, took := range []time.Duration{-time.Second, 0, 500 * time.Microsecond, 501 * time.Microsecond, time.Second, 2 * time.Hour} {
		g.Requested("r", 200, took)
	}
	var b strings.Builder
	g.Write(t.Context(), &b)
	for le, n := range map[string]int{"0.0005": 3, "0.001": 4, "0.5": 4, "1": 5, "300": 5, "+Inf": 6} {
		assert.Contains(t, b.String(), fmt.Sprintf("countersign_http_request_seconds_bucket{route=\"r\",le=%q} %d\n", le, n))
	}
	assert.Contains(t, b.String(), `countersign_http_request_seconds_count{route="r"} 6`)
	assert.Contains(t, b.String(), `countersign_http_request_seconds_sum{route="r"} 7201.001001`)
}

// TestRoutesAreCounted by the name they are given, and streams pass through.
func TestRoutesAreCounted(t *testing.T) {
	g := httpapi.NewMetrics(httpapi.MetricsOptions{})
	server := httptest.NewServer(g.Route("/page", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/stream":
			_, _ = w.Write([]byte("first"))
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		case "/none":
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusNotFound)
		}
	})))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	for path, want := range map[string]int{"/": 200, "/none": 404, "/stream": 200} {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+path, nil)
		require.NoError(t, err)
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		assert.Equal(t, want, answer.StatusCode)
		if path == "/stream" {
			first := make([]byte, 5)
			_, err := answer.Body.Read(first)
			require.NoError(t, err)
			defer answer.Body.Close()
			continue
		}
		answer.Body.Close()
	}
	cancel()
	require.Eventually(t, func() bool {
		var b strings.Builder
		g.Write(t.Context(), &b)
		return strings.Contains(b.String(), `countersign_http_requests_total{route="/page",status="200"} 2`) && strings.Contains(b.String(), `status="404"} 1`)
	}, time.Minute, time.Millisecond)
}

// bare is a core that does nothing.
type bare struct{}

func (bare) Specs() iter.Seq[tool.Spec] { return func(func(tool.Spec) bool) {} }
func (bare) Call(context.Context, tool.Call) tool.Outcome {
	return tool.Outcome{Spec: tool.Spec{Name: "look"}}
}

// TestCountingCostsLittle: less than a microsecond a call, and nothing is allocated.
func TestCountingCostsLittle(t *testing.T) {
	core := httpapi.NewMetrics(httpapi.MetricsOptions{}).Observe(bare{})
	ctx, c := t.Context(), tool.Call{Tool: "look"}
	core.Call(ctx, c)
	plain := testing.AllocsPerRun(1000, func() { bare{}.Call(ctx, c) })
	assert.LessOrEqual(t, testing.AllocsPerRun(1000, func() { core.Call(ctx, c) }), plain+2)
}

// TestManyCountAtOnce.
func TestManyCountAtOnce(t *testing.T) {
	g := httpapi.NewMetrics(httpapi.MetricsOptions{})
	core := g.Observe(bare{})
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 100 {
				core.Call(t.Context(), tool.Call{})
				g.Write(t.Context(), &strings.Builder{})
			}
		})
	}
	all.Wait()
	var b strings.Builder
	g.Write(t.Context(), &b)
	assert.Contains(t, b.String(), `countersign_calls_total{tool="look",outcome="ok"} 1600`)
	assert.Contains(t, b.String(), `countersign_call_seconds_count{tool="look"} 1600`)
	assert.Contains(t, b.String(), "countersign_calls_in_flight 0\n")
}

// BenchmarkObserve is what counting a call costs, beside the call itself: its floor.
func BenchmarkObserve(b *testing.B) {
	ctx, c := context.Background(), tool.Call{Tool: "look"}
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			bare{}.Call(ctx, c)
		}
	})
	b.Run("observed", func(b *testing.B) {
		core := httpapi.NewMetrics(httpapi.MetricsOptions{}).Observe(bare{})
		for b.Loop() {
			core.Call(ctx, c)
		}
	})
}
