package httpauth

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/domain/access"
	"github.com/countersign-dev/countersign/domain/fault"
)

// lasting returns the context of an admitted request: it ends soon after its credential stops being valid, and that of an event stream also when the
// server ends. The caller calls done when the request has been served.
func (g *Guard) lasting(r *http.Request, v Identity) (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancel(r.Context())
	look := &credentialWatch{guard: g, ctx: ctx, cancel: cancel, kind: v.kind, digest: v.digest}
	look.start()
	if r.Method != http.MethodGet || !strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		return ctx, look.end
	}
	stay := context.AfterFunc(g.life, cancel)
	return ctx, func() {
		stay()
		look.end()
	}
}

// credentialWatch checks regularly whether a credential is still valid, and ends its request if not. Most requests end before the first check.
type credentialWatch struct {
	guard  *Guard
	ctx    context.Context
	cancel context.CancelFunc
	kind   access.Kind
	digest access.Digest

	mu    sync.Mutex
	timer *time.Timer
}

func (l *credentialWatch) start() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = time.AfterFunc(l.guard.limits.Recheck, l.look)
}

func (l *credentialWatch) look() {
	if err := l.guard.credentials.Still(l.ctx, l.kind, l.digest); err != nil && fault.From(err).Kind == fault.Denied {
		l.cancel()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() == nil {
		l.timer.Reset(l.guard.limits.Recheck)
	}
}

func (l *credentialWatch) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancel()
	l.timer.Stop()
}
