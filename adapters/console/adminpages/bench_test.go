package adminpages_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/internal/testkit/consoletest"
)

// records is how long the audit is of the pages that are looked at.
const records = 100_000

// busy returns a fixture with a long audit, and as many questions and calls as there may be.
func busy(t testing.TB) *consoletest.Web {
	t.Helper()
	agent, h, web := open(t)
	for i := range records / 10_000 {
		events := make([]audit.Event, 10_000)
		for j := range events {
			n := i*10_000 + j
			events[j] = audit.Event{Time: time.Now(), Phase: audit.Outcome, CallID: fmt.Sprintf("call_%012d", n), Session: "s1", Principal: "local", Client: "claude-code/2.1", Tool: "input",
				Class: "read", Verdict: "allow", Rule: "read", DurationUS: int64(n), Args: json.RawMessage(fmt.Sprintf(`{"action":"get","id":"pk_%08d","note":"what was looked for in this call"}`, n))}
		}
		require.NoError(t, h.Store.Append(t.Context(), events...))
	}
	for i := range 20 {
		h.Agent(fmt.Sprint("s", i)).Ask(t, "write_note", map[string]string{"name": fmt.Sprint("note ", i), "text": "text\nof\nseveral\nlines"})
	}
	for range 300 {
		require.Error(t, agent.Call("write_note", map[string]any{"name": 1}).Err)
	}
	return web
}

func pages() []string {
	return []string{"/approvals", "/approvals/count", "/activity", "/audit", "/audit?before=50000", "/audit?tool=input&failed=true&text=nowhere", "/audit/50000"}
}

// TestPagesAreSmallWithALongAudit: however long the audit is, a page is of one length. How long it takes is the benchmark's to say.
func TestPagesAreSmallWithALongAudit(t *testing.T) {
	if testing.Short() {
		t.Skip("it fills an audit with 100,000 records")
	}
	web := busy(t)
	for _, path := range pages() {
		p := web.Get(path)
		require.Equal(t, http.StatusOK, p.Status, path)
		assert.LessOrEqual(t, len(p.Body), 150<<10, path)
	}
}

func BenchmarkPagesWithALongAudit(b *testing.B) {
	web := busy(b)
	for _, path := range pages() {
		b.Run(path, func(b *testing.B) {
			for b.Loop() {
				web.Get(path)
			}
		})
	}
}
