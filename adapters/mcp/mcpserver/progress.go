package mcpserver

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// every is the minimum time between two reports of a call.
const every = 50 * time.Millisecond

// maxHeld is the maximum number of queued reports. When there are more, the oldest are dropped.
const maxHeld = 64

// hair is added to the value of a report without progress: each value must be greater than the one before.
const hair = 1.0 / 1024

// SendProgress sends one notification to the client.
type SendProgress func(*mcp.ProgressNotificationParams)

// Reporter reports the progress of one call. Of reports that differ only in their number, it sends the newest. It is safe for concurrent use;
// NewReporter makes it.
type Reporter struct {
	tell SendProgress

	token json.RawMessage

	mu      sync.Mutex
	stopped bool
	held    []tool.Progress // reports that came too early, in order of arrival
	newest  *tool.Progress  // last report received
	value   float64         // of the last that was sent
	sent    time.Time
	timer   *time.Timer // until the next may be sent
}

// NewReporter returns a Reporter that sends under a request's token with that function. Without a token the client does not want progress, and
// nothing is sent.
func NewReporter(token json.RawMessage, tell SendProgress) *Reporter {
	return &Reporter{token: token, tell: tell}
}

// Wanted reports whether the client wants progress.
func (r *Reporter) Wanted() bool { return r.token != nil }

// Report reports a step.
func (r *Reporter) Report(p tool.Progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped || !r.Wanted() {
		return
	}
	if last := r.newest; last != nil && last.Total == p.Total && last.Message == p.Message {
		if p.Done <= last.Done {
			return // nothing new
		}
		if n := len(r.held); n > 0 {
			r.held = r.held[:n-1]
		}
	}
	r.newest = &p
	if r.held = append(r.held, p); len(r.held) > maxHeld {
		r.held = r.held[1:]
	}
	r.advance()
}

// advance sends what may be sent now, and schedules the rest.
func (r *Reporter) advance() {
	for len(r.held) > 0 {
		if early := every - time.Since(r.sent); early > 0 && !r.sent.IsZero() {
			if r.timer == nil {
				r.timer = time.AfterFunc(early, r.late)
			}
			return
		}
		r.send()
	}
}

func (r *Reporter) late() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.timer = nil; !r.stopped {
		r.advance()
	}
}

// send sends the oldest report that is held.
func (r *Reporter) send() {
	p := r.held[0]
	r.held = r.held[1:]
	value := float64(p.Done)
	if !r.sent.IsZero() && value <= r.value {
		value = r.value + hair
	}
	r.value, r.sent = value, time.Now()
	r.tell(&mcp.ProgressNotificationParams{ProgressToken: r.token, Progress: value, Total: float64(p.Total), Message: p.Message})
}

// Stop sends the queued reports and ends reporting.
func (r *Reporter) Stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.held) > 0 && !r.stopped {
		r.send()
	}
	r.stopped = true
	if r.timer != nil {
		r.timer.Stop()
	}
}
