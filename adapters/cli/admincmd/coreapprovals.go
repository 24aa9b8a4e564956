package admincmd

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
)

// CoreApprovals provides the approvals view with the data of a core. NewCoreApprovals makes one.
type CoreApprovals struct {
	person  *command.Shell
	core    command.Core
	proof   confirm.Proof
	client  string
	clients map[string]string // the client of each request; only Waiting uses it

	touching    atomic.Bool // an agent that waits for a touch answers nothing else
	looked      time.Time   // when untouchable was determined; only Waiting uses both
	untouchable error       // why no security key is available
}

// keysHold is how long the availability of a security key is cached.
const keysHold = 5 * time.Second

// NewCoreApprovals returns a CoreApprovals over that core, for the user at this terminal.
func NewCoreApprovals(core command.Core, s *command.Shell) *CoreApprovals {
	return &CoreApprovals{person: s, core: core, client: s.Client, proof: s.Proof(), clients: map[string]string{}}
}

// Waiting serves the approvals view.
func (d *CoreApprovals) Waiting(ctx context.Context) ([]ApprovalItem, error) {
	views, err := d.core.App.Confirmations(ctx, "")
	if err != nil {
		return nil, err
	}
	out := make([]ApprovalItem, 0, len(views))
	for _, v := range views {
		if v.State == confirm.Pending.String() {
			out = append(out, ApprovalItem{View: v, Client: d.asker(ctx, v), Always: AllowsSessionGrant(v), Dated: AllowsDatedGrant(v)})
		}
	}
	if len(out) > 0 {
		d.touchable(ctx, out)
	}
	return out, nil
}

// touchable marks the requests that a security key can approve, and those that cannot be approved here.
func (d *CoreApprovals) touchable(ctx context.Context, items []ApprovalItem) {
	if !d.touching.Load() && time.Since(d.looked) > keysHold {
		_, d.untouchable = d.person.Touchable(ctx)
		d.looked = time.Now()
	}
	untouchable := d.untouchable
	for i := range items {
		item := &items[i]
		item.Touch = untouchable == nil
		err := command.Elsewhere(item.View)
		if err == nil && item.Needs == policy.ProvingTouch {
			err = untouchable
		}
		if err != nil {
			f := fault.From(err)
			item.Unmet, item.Touch = f.Message, false
			if hint, ok := f.Details.(command.Hint); ok {
				item.Unmet += "; " + string(hint)
			}
		}
	}
}

// Touch serves the approvals view.
func (d *CoreApprovals) Touch(ctx context.Context, i ApprovalItem, tell func(line string)) (confirm.Proof, error) {
	d.touching.Store(true)
	defer d.touching.Store(false)
	return d.person.Touch(ctx, i.View, tell)
}

// AllowsSessionGrant reports whether a session grant can be given. Calls from a terminal belong to no session that ends.
func AllowsSessionGrant(v confirm.View) bool {
	return v.AllowsSessionGrant() && v.Session != command.Session
}

// AllowsDatedGrant reports whether a dated grant can be given.
func AllowsDatedGrant(v confirm.View) bool { return v.Datable() && v.Session != command.Session }

// asker returns the client's own name.
func (d *CoreApprovals) asker(ctx context.Context, v confirm.View) string {
	if name, known := d.clients[v.ID]; known {
		return name
	}
	record, err := d.core.App.CallRecord(ctx, v.ID)
	if err != nil {
		return ""
	}
	d.clients[v.ID] = record.Client
	return record.Client
}

// Before serves the approvals view.
func (d *CoreApprovals) Before(ctx context.Context, i ApprovalItem) int {
	n, err := d.core.App.Earlier(ctx, i.ID)
	if err != nil {
		return 0
	}
	return n
}

// ChangeCounter serves the approvals view.
func (d *CoreApprovals) ChangeCounter(ctx context.Context) (int64, error) {
	return d.core.App.ChangeCounter(ctx)
}

// Answer serves the approvals view.
func (d *CoreApprovals) Answer(ctx context.Context, a confirm.Decision) (confirm.View, error) {
	if a.By = command.ByTerminal; a.Proof.Surface != confirm.SurfaceTouch {
		a.Proof = d.proof
	}
	return d.core.App.Answer(ctx, a)
}

// Reveal serves the approvals view.
func (d *CoreApprovals) Reveal(ctx context.Context, i ApprovalItem) (ApprovalItem, error) {
	bare, err := d.core.App.Reveal(ctx, i.ID)
	if err == nil {
		i.View = bare
	}
	return i, err
}

// recent is the number of audit records searched for a decision.
const recent = 500

// A decision takes effect shortly before it is in the audit log. How often, and at what interval, it is looked for.
const (
	looks     = 20
	lookPause = 50 * time.Millisecond
)

// Fate reads the result of a decided request from the audit log.
func (d *CoreApprovals) Fate(ctx context.Context, i ApprovalItem) string {
	for range looks {
		tail, err := d.core.App.AuditTail(ctx, recent)
		if err != nil {
			return ""
		}
		for _, r := range slices.Backward(tail) {
			if e := r.Event; e.Phase == audit.Answer && e.CallID == i.ID && e.Code == "" {
				return d.outcomeText(ctx, i, e.Verdict, e.ApprovedBy)
			}
		}
		if !time.Now().Before(i.ExpiresAt) {
			return "expired without a decision"
		}
		select {
		case <-ctx.Done():
			return ""
		case <-time.After(lookPause):
		}
	}
	return ""
}

func (d *CoreApprovals) outcomeText(ctx context.Context, i ApprovalItem, verdict, by string) string {
	where := map[string]string{command.ByTerminal: "in another terminal", "console": "in the console", "elicitation": "in the client's own form"}[by]
	if where == "" {
		where = "elsewhere (" + by + ")"
	}
	switch verdict {
	case "approve":
		return "already approved " + where + " before you"
	case "deny":
		said := ""
		if record, err := d.core.App.CallRecord(ctx, i.ID); err == nil && record.Said != "" {
			said = ": " + record.Said
		}
		return "already denied " + where + " before you" + said
	}
	switch by {
	case "client":
		return "the client no longer waits for it"
	case "granted":
		return "a grant until a date allowed its call"
	case "superseded":
		return "a newer request of the same session replaced it"
	case "changed":
		return "its plan changed; the client must repeat the call"
	}
	return "cancelled (" + by + ")"
}

// Diffs returns the diffs that were computed when the request was made.
func (d *CoreApprovals) Diffs(_ context.Context, i ApprovalItem) string {
	return command.ExhibitText(i.Exhibit)
}
