package httpapi

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// Core is the core whose calls are counted: an *app.App.
type Core interface {
	Specs() iter.Seq[tool.Spec]
	Call(ctx context.Context, c tool.Call) tool.Outcome
}

// MetricsSource provides, on request, the pending approvals and decisions of all processes.
type MetricsSource interface {
	Confirmations(ctx context.Context, session string) ([]confirm.View, error)
	AuditTail(ctx context.Context, n int) ([]audit.Record, error)
	AuditTrail(ctx context.Context, after int64) iter.Seq2[audit.Record, error]
}

// MetricsOptions configures what is counted besides calls and requests. Every function may be nil.
type MetricsOptions struct {
	Version  string        // of the product
	Book     MetricsSource // nil: no metrics about approvals
	Streams  func() int    // open event streams
	Sessions func() int    // open client sessions
	Dropped  func() int64  // audit records of reads that this process could not write
}

// Metrics counts. It is safe for concurrent use; New makes it.
type Metrics struct {
	o        MetricsOptions
	calls    family
	requests family
	answers  family
	flying   atomic.Int64 // running calls
	took     *histograms  // of calls by tool
	served   *histograms  // of requests by route
	mu       sync.Mutex   // one read of the audit log at a time
	begun    bool
	seq      int64 // of the last audit record that was counted
}

// NewMetrics counts from zero.
func NewMetrics(o MetricsOptions) *Metrics {
	return &Metrics{o: o, calls: newFamily("countersign_calls_total", "Tool calls by result: ok, or the error code.", "counter"),
		requests: newFamily("countersign_http_requests_total", "Answered requests by route and status.", "counter"),
		answers:  newFamily("countersign_confirmations_answered_total", "Decisions on approval requests since the server started, from all processes.", "counter"),
		took:     newHistograms("countersign_call_seconds", "Duration of tool calls in seconds.", "tool"),
		served:   newHistograms("countersign_http_request_seconds", "Duration of requests in seconds.", "route"),
	}
}

// observed is a core that counts its calls.
type observed struct {
	Core
	gauges *Metrics
}

// Observe returns the core with its calls counted.
func (g *Metrics) Observe(core Core) Core { return observed{core, g} }

// Call implements Door.
func (o observed) Call(ctx context.Context, c tool.Call) tool.Outcome {
	o.gauges.flying.Add(1)
	defer o.gauges.flying.Add(-1)
	began := time.Now()
	out := o.Core.Call(ctx, c)
	o.gauges.called(out, time.Since(began))
	return out
}

// called counts a call. All unknown tools share one label.
func (g *Metrics) called(out tool.Outcome, took time.Duration) {
	name, code := string(out.Spec.Name), "ok"
	if name == "" {
		name = "unknown"
	}
	if out.Err != nil {
		code = string(fault.From(out.Err).Code)
	}
	g.calls.counter(pair{name, code}, `tool`, `outcome`).Inc()
	g.took.of(name).observe(took)
}

// Requested counts an answered request. The route is an existing one, never client input.
func (g *Metrics) Requested(route string, status int, took time.Duration) {
	if status < 100 || status > 599 {
		status = 0
	}
	g.requests.counter(pair{route, strconv.Itoa(status)}, `route`, `status`).Inc()
	g.served.of(route).observe(took)
}

// Route counts the requests that a handler serves, as that route.
func (g *Metrics) Route(route string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began, seen := time.Now(), &counted{ResponseWriter: w, code: http.StatusOK}
		defer func() { g.Requested(route, seen.code, time.Since(began)) }()
		next.ServeHTTP(seen, r)
	})
}

// counted is a ResponseWriter that records the status.
type counted struct {
	http.ResponseWriter
	code int
	told bool
}

// WriteHeader implements http.ResponseWriter.
func (w *counted) WriteHeader(code int) {
	if !w.told {
		w.code, w.told = code, code >= 200
	}
	w.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (w *counted) Write(b []byte) (int, error) {
	w.told = true
	return w.ResponseWriter.Write(b)
}

// Flush implements http.Flusher, for handlers that ask for one.
func (w *counted) Flush() {
	_ = http.NewResponseController(w.ResponseWriter).Flush() // otherwise everything is written at the end
}

// Unwrap supports http.ResponseController.
func (w *counted) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Serve writes all metrics; it is an httpauth.Handler.
func (g *Metrics) Serve(w http.ResponseWriter, r *http.Request, _ httpauth.Identity) {
	var body bytes.Buffer
	g.Write(r.Context(), &body)
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(body.Bytes()) // the client may be gone
}

// Write writes everything in the text format of Prometheus.
func (g *Metrics) Write(ctx context.Context, w io.Writer) {
	g.calls.write(w)
	g.took.write(w)
	one(w, "countersign_calls_in_flight", "Tool calls in progress.", float64(g.flying.Load()))
	g.requests.write(w)
	g.served.write(w)
	g.people(ctx, w)
	if g.o.Streams != nil {
		one(w, "countersign_event_streams", "Open event streams.", float64(g.o.Streams()))
	}
	if g.o.Sessions != nil {
		one(w, "countersign_sessions", "Open client sessions.", float64(g.o.Sessions()))
	}
	if g.o.Dropped != nil {
		head(w, "countersign_audit_dropped_total", "Records of reads that this process could not write to the audit log.", "counter")
		fmt.Fprintf(w, "countersign_audit_dropped_total %d\n", g.o.Dropped())
	}
	head(w, "countersign_build_info", "Version of the program.", "gauge")
	fmt.Fprintf(w, "countersign_build_info{version=%s,go=%s} 1\n", quoted(g.o.Version), quoted(runtime.Version()))
	process(w)
}

// process writes metrics of this process: its memory, goroutines and files. Paths on the machine are left out.
func process(w io.Writer) {
	var all bytes.Buffer
	metrics.WriteProcessMetrics(&all)
	for line := range bytes.Lines(all.Bytes()) {
		if !bytes.HasPrefix(line, []byte("go_info_ext{")) {
			_, _ = w.Write(line) // the client may be gone
		}
	}
}

// atOnce is the maximum number of audit records read per request; the next one continues.
const atOnce = 20_000

// people writes the pending approvals, and the decisions since the first request. It leaves out what cannot be read now.
func (g *Metrics) people(ctx context.Context, w io.Writer) {
	if g.o.Book == nil {
		return
	}
	if views, err := g.o.Book.Confirmations(ctx, ""); err == nil {
		states := map[string]int{}
		for _, v := range views {
			states[v.State]++
		}
		head(w, "countersign_confirmations", "Approval requests that have not ended.", "gauge")
		for _, state := range []string{confirm.Pending.String(), confirm.Approved.String()} {
			fmt.Fprintf(w, "countersign_confirmations{state=%s} %d\n", quoted(state), states[state])
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.count(ctx)
	g.answers.write(w)
	if g.begun {
		one(w, "countersign_audit_seq", "Number of the last audit record that was read.", float64(g.seq))
	}
}

// Begin counts decisions from now on; without it, counting starts with the first request for metrics.
func (g *Metrics) Begin(ctx context.Context) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.count(ctx)
}

// count reads new audit records. It runs under mu.
func (g *Metrics) count(ctx context.Context) {
	if g.o.Book == nil {
		return
	}
	if !g.begun {
		tail, err := g.o.Book.AuditTail(ctx, 1)
		if err != nil {
			return
		}
		for _, r := range tail {
			g.seq = r.Seq
		}
		g.begun = true
		return
	}
	read := 0
	for r, err := range g.o.Book.AuditTrail(ctx, g.seq) {
		if err != nil {
			return
		}
		if g.seq = r.Seq; r.Event.Phase == audit.Answer && r.Event.Code == "" && slices.Contains(verdicts, r.Event.Verdict) {
			g.answers.counter(pair{r.Event.Verdict, channel(r.Event.ApprovedBy)}, `verdict`, `by`).Inc()
		}
		if read++; read == atOnce {
			return
		}
	}
}

// verdicts are the possible verdicts of a decision. Credentials are also recorded as decisions.
var verdicts = []string{"approve", "deny", "cancel", "revoke"}

// channel returns the channel of a decision, one of a fixed set.
func channel(by string) string {
	first, _, _ := strings.Cut(by, " ")
	switch first {
	case "terminal", "console", "elicitation", "client", "changed", "superseded":
		return first
	}
	return "other"
}
