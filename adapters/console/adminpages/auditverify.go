package adminpages

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/fault"
)

// The time limit of a verification, and how long a page waits for one that ends at once.
const (
	longest  = 10 * time.Minute
	patience = 400 * time.Millisecond
)

// check is the last or running verification of the audit log. Only one runs at a time.
type check struct {
	life context.Context //nolint:containedctx // a verification continues when its page is closed, and ends with the server
	core AuditLog

	mu      sync.Mutex
	begun   time.Time
	ended   time.Time // zero while it runs
	records int64
	err     error
	over    chan struct{} // closed when it has ended
}

// start begins a verification, unless one runs, and waits briefly for its end.
func (c *check) start(ctx context.Context) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-c.begin():
	case <-timer.C:
	case <-ctx.Done():
	}
}

// begin starts a verification, unless one runs. It returns a channel that is closed when the verification has ended.
func (c *check) begin() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.begun.IsZero() && c.ended.IsZero() {
		return c.over
	}
	over := make(chan struct{})
	c.begun, c.ended, c.over = time.Now(), time.Time{}, over
	go func() {
		defer close(over)
		ctx, cancel := context.WithTimeout(c.life, longest)
		defer cancel()
		n, err := c.core.VerifyAudit(ctx)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.ended, c.records, c.err = time.Now(), n, err
	}()
	return over
}

// show returns the result of the last verification, and whether one is running.
func (c *check) show(v httpauth.Identity) (n ui.Node, running bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	button := ui.ActionForm(v, auditPath+"/verify", "Verify audit log", "")
	switch {
	case c.begun.IsZero():
		return ui.Div(ui.ID("chain"), ui.P(ui.TextNode("Not verified since the server started.")), button), false
	case c.ended.IsZero():
		return ui.Div(ui.ID("chain"), ui.Notice(ui.Plain, ui.P(ui.TextNode("Verifying. Started "), ui.When(c.begun), ui.TextNode(".")))), true
	case c.err != nil:
		return ui.Div(ui.ID("chain"), ui.Notice(ui.Bad, ui.P(ui.TextNode(fault.From(c.err).Message+".")),
			ui.P(ui.TextNode(fmt.Sprintf("%s. Verified in %v, ", c.held(), c.took())), ui.When(c.ended), ui.TextNode("."))), button), false
	}
	return ui.Div(ui.ID("chain"), ui.Notice(ui.Good, ui.P(ui.TextNode(fmt.Sprintf("The audit log is valid: %d records, verified in %v, ", c.records, c.took())),
		ui.When(c.ended), ui.TextNode("."))), button), false
}

// held returns how many records are valid after a failed verification.
func (c *check) held() string {
	if errors.Is(c.err, audit.ErrBroken) {
		return fmt.Sprintf("The %d records before it are valid", c.records)
	}
	return fmt.Sprintf("%d records are valid; for details, run countersign audit verify", c.records)
}

func (c *check) took() time.Duration { return c.ended.Sub(c.begun).Round(time.Millisecond) }

func (s *ActivitySection) verify(w http.ResponseWriter, r *http.Request, _ httpauth.Identity) {
	s.check.start(r.Context())
	http.Redirect(w, r, auditPath, http.StatusSeeOther)
}
