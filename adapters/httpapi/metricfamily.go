package httpapi

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"
)

// family is one metric with all its labels. Each has its own set, so that its header can precede it.
type family struct {
	name, help, kind string
	set              *metrics.Set
	known            *sync.Map // pair → *metrics.Counter
}

// pair is the values of the two labels that every family has.
type pair struct{ first, second string }

func newFamily(name, help, kind string) family {
	return family{name: name, help: help, kind: kind, set: metrics.NewSet(), known: &sync.Map{}}
}

// counter returns the counter with these label values.
func (f family) counter(p pair, first, second string) *metrics.Counter {
	if c, ok := f.known.Load(p); ok {
		return c.(*metrics.Counter)
	}
	c := f.set.GetOrCreateCounter(f.name + "{" + first + "=" + quoted(p.first) + "," + second + "=" + quoted(p.second) + "}")
	f.known.Store(p, c)
	return c
}

func (f family) write(w io.Writer) {
	head(w, f.name, f.help, f.kind)
	f.set.WritePrometheus(w)
}

// head writes the header of a metric.
func head(w io.Writer, name, help, kind string) {
	fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

// one writes a metric with a single value.
func one(w io.Writer, name, help string, value float64) {
	head(w, name, help, "gauge")
	fmt.Fprintf(w, "%s %s\n", name, strconv.FormatFloat(value, 'g', -1, 64))
}

// quoted returns a quoted label value.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(strings.ToValidUTF8(s, "\uFFFD")) + `"`
}

// edges are the upper bounds of the buckets, in seconds: a read takes fractions of a millisecond, a script minutes.
var edges = []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300}

// histograms are one metric: a histogram for each value of one label.
type histograms struct {
	name, help, label string
	known             sync.Map // value → *histogram
}

func newHistograms(name, help, label string) *histograms {
	return &histograms{name: name, help: help, label: label}
}

// histogram counts durations by bucket; the counts are summed up on output.
type histogram struct {
	buckets []atomic.Uint64 // one more than edges
	nanos   atomic.Int64
}

func (h *histograms) of(value string) *histogram {
	if one, ok := h.known.Load(value); ok {
		return one.(*histogram)
	}
	one, _ := h.known.LoadOrStore(value, &histogram{buckets: make([]atomic.Uint64, len(edges)+1)})
	return one.(*histogram)
}

func (h *histogram) observe(took time.Duration) {
	i, _ := slices.BinarySearch(edges, took.Seconds())
	h.buckets[i].Add(1)
	h.nanos.Add(int64(max(took, 0)))
}

func (h *histograms) write(w io.Writer) {
	var values []string
	h.known.Range(func(value, _ any) bool {
		values = append(values, value.(string))
		return true
	})
	slices.Sort(values)
	head(w, h.name, h.help, "histogram")
	for _, value := range values {
		h.of(value).write(w, h.name, h.label+"="+quoted(value))
	}
}

func (h *histogram) write(w io.Writer, name, label string) {
	total := uint64(0)
	for i := range h.buckets {
		edge := math.Inf(1)
		if i < len(edges) {
			edge = edges[i]
		}
		total += h.buckets[i].Load()
		le := "+Inf"
		if !math.IsInf(edge, 1) {
			le = strconv.FormatFloat(edge, 'g', -1, 64)
		}
		fmt.Fprintf(w, "%s_bucket{%s,le=%q} %d\n", name, label, le, total)
	}
	fmt.Fprintf(w, "%s_sum{%s} %s\n%s_count{%s} %d\n", name, label, strconv.FormatFloat(time.Duration(h.nanos.Load()).Seconds(), 'g', -1, 64), name, label, total)
}
