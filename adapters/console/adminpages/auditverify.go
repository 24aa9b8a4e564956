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

// How long a check of the whole chain may take, and how long a page waits for one that is over at once.
const (
	longest  = 10 * time.Minute
	patience = 400 * time.Millisecond
)

// check is the last or running check of the chain; only one runs at a time.
type check struct {
	life context.Context //nolint:containedctx // a check goes on when its page is closed, and ends with the server
	core AuditLog

	mu      sync.Mutex
	begun   time.Time
	ended   time.Time // zero while it runs
	records int64
	err     error
	over    chan struct{} // closed when it is
}

// start begins a check, unless one runs, and waits a moment for its end.
func (c *check) start(ctx context.Context) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-c.begin():
	case <-timer.C:
	case <-ctx.Done():
	}
}

// begin starts a check, unless one runs. What it returns is closed when the check is over.
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

// show returns what is known of the chain, and whether a check runs.
func (c *check) show(v httpauth.Identity) (n ui.Node, running bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	button := ui.ActionForm(v, auditPath+"/verify", "Check the chain", "of the audit")
	switch {
	case c.begun.IsZero():
		return ui.Div(ui.ID("chain"), ui.P(ui.TextNode("The chain was not checked since the server has started.")), button), false
	case c.ended.IsZero():
		return ui.Div(ui.ID("chain"), ui.Notice(ui.Plain, ui.P(ui.TextNode("The chain is being checked since "), ui.When(c.begun), ui.TextNode(".")))), true
	case c.err != nil:
		return ui.Div(ui.ID("chain"), ui.Notice(ui.Bad, ui.P(ui.TextNode(fault.From(c.err).Message+".")),
			ui.P(ui.TextNode(fmt.Sprintf("%s; checked in %v at ", c.held(), c.took())), ui.When(c.ended))), button), false
	}
	return ui.Div(ui.ID("chain"), ui.Notice(ui.Good, ui.P(ui.TextNode(fmt.Sprintf("The chain is intact: %d records, checked in %v at ", c.records, c.took())),
		ui.When(c.ended))), button), false
}

// held returns up to where the chain is valid if it, or an anchor, has a problem.
func (c *check) held() string {
	if errors.Is(c.err, audit.ErrBroken) {
		return fmt.Sprintf("%d records before it hold", c.records)
	}
	return fmt.Sprintf("%d records make one chain; countersign audit verify says more", c.records)
}

func (c *check) took() time.Duration { return c.ended.Sub(c.begun).Round(time.Millisecond) }

func (s *ActivitySection) verify(w http.ResponseWriter, r *http.Request, _ httpauth.Identity) {
	s.check.start(r.Context())
	http.Redirect(w, r, auditPath, http.StatusSeeOther)
}
