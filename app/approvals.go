package app

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/enrolled"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
)

// The maximum numbers of pending approval requests (packageflow-security contract §4.4). Users cannot review more with care.
const (
	MaxPendingPerSession = 5
	MaxPendingPerMachine = 20
)

// approvalsKept is how long an expired approval request is kept, so that its token can be told from an unknown one.
const approvalsKept = 24 * time.Hour

// ErrLimit is returned for a call that cannot ask because too many approval requests are pending.
var ErrLimit = fault.New(fault.Unavailable, "confirm_limit", "too many calls are waiting for approval")

// ApprovalTTL returns how long an approval request for the plan stays open: the operator's value, else the plan's; zero if neither sets one.
func ApprovalTTL(operator time.Duration, plan tool.Plan) time.Duration {
	ttl := operator
	if p, ok := plan.(tool.ApprovalTTL); ok && ttl == 0 {
		ttl = p.TTL()
	}
	if ttl == 0 {
		return confirm.DefaultTTL
	}
	return min(max(ttl, confirm.MinTTL), confirm.MaxTTL)
}

// CallRecorder records the end of calls that will not be applied.
type CallRecorder interface {
	Deny(ctx context.Context, confirmation string, reason tool.Reason, by, said string)
}

// ProofVerifier verifies recorded decisions that claim an enrolled key.
type ProofVerifier interface {
	Holds(ctx context.Context, answer audit.Event) error
}

// ApprovalsConfig configures Approvals. Every field is required except Dated and Home.
type ApprovalsConfig struct {
	Ledger   ports.ApprovalStore
	Audit    ports.AuditLog
	Sessions ports.Sessions
	Dated    ports.DatedGrants // nil: no grants until a date
	Clock    ports.Clock
	Runs     CallRecorder
	Owner    ports.ProcessIdentity
	Bell     ports.Bell // rung after every decision
	Proofs   ProofVerifier
	Strange  bool          // approvals from before this process started may come from other users or machines
	Home     func() string // identifies this home among its copies: approvals given in another home do not count; nil: there are no copies
	Log      *slog.Logger
}

// home returns the identity of this home among its copies; empty if there is none.
func (k *Approvals) home() string {
	if k.Home == nil {
		return ""
	}
	return k.Home()
}

// elsewhere reports whether a decision was made in another home, of which this one is a copy. An approval lets one call run, and a revocation in one
// copy is unknown in the others.
func (k *Approvals) elsewhere(e *audit.Event) bool {
	return e.Home != "" && e.Home != k.home()
}

// Approvals manages approval requests. It is safe for concurrent use. NewApprovals makes one.
type Approvals struct{ ApprovalsConfig }

// NewApprovals returns Approvals over the stores in p.
func NewApprovals(p ApprovalsConfig) *Approvals { return &Approvals{p} }

// Issue stores an approval request and deletes those that are too old to be asked about. It fails with ErrLimit if the session or the machine has the
// maximum of pending requests; byHand exempts what the user does directly from that limit.
func (k *Approvals) Issue(ctx context.Context, g confirm.Request, byHand bool) error {
	bounded := g.HumanOnly && !byHand
	if bounded {
		if err := k.room(ctx, g, 1); err != nil {
			return err
		}
	}
	if err := k.asks(ctx, &g); err != nil { // first, so that no user reads a request that is not in the audit log
		return err
	}
	if err := k.Ledger.Issue(ctx, g); err != nil {
		return err
	}
	if bounded { // other processes may have asked at the same time: those beyond the limit withdraw
		if err := k.room(ctx, g, 0); err != nil {
			_ = k.Ledger.Settle(context.WithoutCancel(ctx), g.Digest, func(g *confirm.Request) error { return g.Cancel(k.Clock.Now()) })
			return err
		}
	}
	if _, err := k.Ledger.Purge(ctx, k.Clock.Now().Add(-approvalsKept)); err != nil {
		k.Log.Warn("old approval requests could not be deleted", "cause", err.Error())
	}
	return nil
}

// asked is the audit record of an approval request, as the proof in that record.
type asked struct {
	Asked canon.Hash `json:"asked"`
}

// asks records in the audit log what users are asked.
func (k *Approvals) asks(ctx context.Context, g *confirm.Request) error {
	if !g.HumanOnly || g.Names {
		return nil
	}
	sum, err := json.Marshal(asked{g.Asked()})
	if err != nil {
		return err
	}
	return k.Audit.Append(ctx, audit.Event{Time: k.Clock.Now(), Phase: audit.Asked, CallID: g.ID, Session: g.Binding.Session, Principal: g.Binding.Principal, Client: g.Client,
		Tool: g.Binding.Tool, Class: policy.ClassRead.String(), Plan: g.Binding.Subject, Verdict: policy.Confirm.String(), Proof: sum})
}

// AsAsked fails with confirm.ErrEdited, and ends the request, unless it is identical to its audit record. So nobody can edit a stored row to make the
// user read something other than what they approve.
func (k *Approvals) AsAsked(ctx context.Context, g *confirm.Request) error {
	found, err := k.Audit.Search(ctx, audit.Filter{Phase: audit.Asked, Call: g.ID, Limit: 1})
	if err != nil {
		return err
	}
	for _, r := range found {
		var had asked
		if json.Unmarshal(r.Event.Proof, &had) == nil && had.Asked == g.Asked() && !had.Asked.IsZero() && r.Event.Plan == g.Binding.Subject && r.Event.Tool == g.Binding.Tool {
			return nil
		}
	}
	k.Log.Warn("an approval request differs from its audit record and was cancelled", "confirmation", g.ID)
	if err := k.Withdraw(ctx, g.ID, VerdictEdited); err != nil {
		k.Log.Warn("an edited approval request could not be cancelled", "confirmation", g.ID, "cause", err.Error())
	}
	return confirm.ErrEdited.WithMessage("the stored approval request %s was edited, so it was cancelled and nothing was approved; repeat the call to get a new request", g.ID)
}

// MaxOpenApprovals is how many requests older than PendingWindow stay open; one more makes the oldest expire.
const MaxOpenApprovals = 100

// PendingWindow is how long a request counts towards MaxPendingPerSession and MaxPendingPerMachine.
const PendingWindow = 5 * time.Minute

// room fails with ErrLimit if there is no room for more requests after the pending ones; if g is pending itself, only those up to g count.
func (k *Approvals) room(ctx context.Context, g confirm.Request, more int) error {
	waiting, err := k.Ledger.Pending(ctx, ports.PendingFilter{Brief: true}, k.Clock.Now())
	if err != nil {
		return err
	}
	waiting = slices.DeleteFunc(waiting, func(w confirm.Request) bool { return w.State != confirm.Pending || !w.HumanOnly })
	k.crowded(ctx, waiting)
	stale := k.Clock.Now().Add(-PendingWindow)
	waiting = slices.DeleteFunc(waiting, func(w confirm.Request) bool { return !w.IssuedAt.After(stale) || !w.GoneAt.IsZero() })
	if i := slices.IndexFunc(waiting, func(w confirm.Request) bool { return w.ID == g.ID }); i >= 0 {
		waiting = waiting[:i+1]
	}
	own := more
	for _, w := range waiting {
		if w.Binding.Session == g.Binding.Session && w.Binding.Principal == g.Binding.Principal {
			own++
		}
	}
	const way = "wait until the user has decided some (countersign approvals list shows them) or they expire"
	switch {
	case own > MaxPendingPerSession:
		return ErrLimit.WithMessage("this session has %d pending approval requests, the maximum; %s", MaxPendingPerSession, way)
	case len(waiting)+more > MaxPendingPerMachine:
		return ErrLimit.WithMessage("this machine has %d pending approval requests, the maximum; %s", MaxPendingPerMachine, way)
	}
	return nil
}

// crowded makes the oldest requests expire if more are open than MaxOpenApprovals allows.
func (k *Approvals) crowded(ctx context.Context, open []confirm.Request) {
	for _, g := range open[:max(len(open)-MaxOpenApprovals, 0)] {
		now := k.Clock.Now()
		err := k.Ledger.Settle(ctx, g.Digest, func(g *confirm.Request) error {
			if g.State == confirm.Pending {
				g.ExpiresAt = now
			}
			return nil
		})
		if err != nil {
			k.Log.Warn("an old approval request could not be expired", "confirmation", g.ID, "cause", err.Error())
			continue
		}
		k.Runs.Deny(ctx, g.ID, tool.ReasonExpired, "", "")
		k.Bell.Ring(g.ID)
	}
}

// Leave marks the open requests of a session that has ended.
func (k *Approvals) Leave(ctx context.Context, principal, session string) {
	now := k.Clock.Now()
	open, err := k.Ledger.Pending(ctx, ports.PendingFilter{Session: session, Brief: true}, now)
	for _, g := range open {
		if err == nil && g.Binding.Principal == principal && g.HumanOnly {
			err = k.Ledger.Settle(ctx, g.Digest, func(g *confirm.Request) error { return g.Leave(now) })
		}
	}
	if err != nil {
		k.Log.Warn("the approval requests of an ended session could not be marked", "session", session, "cause", err.Error())
	}
}

// Left marks one open request whose client no longer waits; its session may continue.
func (k *Approvals) Left(ctx context.Context, id string) error {
	now := k.Clock.Now()
	open, err := k.Ledger.Pending(ctx, ports.PendingFilter{ID: id, Brief: true}, now)
	for _, g := range open {
		if err == nil && g.HumanOnly {
			err = k.Ledger.Settle(ctx, g.Digest, func(g *confirm.Request) error { return g.Leave(now) })
		}
	}
	return err
}

// PickUp moves to the session of b the request that the same call made in an ended session: same principal, host entry, tool, arguments and plan.
func (k *Approvals) PickUp(ctx context.Context, b confirm.Binding, entry string, args json.RawMessage) (found confirm.Request, ok bool, err error) {
	now := k.Clock.Now()
	open, err := k.Ledger.Pending(ctx, ports.PendingFilter{}, now)
	if err != nil {
		return found, false, err
	}
	for _, g := range open {
		there := g.Binding
		there.Session = b.Session
		if !g.HumanOnly || k.Strange && g.State != confirm.Pending || there != b || g.Entry != entry || !same(g.Args, args) || g.GoneAt.IsZero() && (g.Owner == "" || !k.Owner.Judge(g.Owner).Dead()) {
			continue
		}
		err := k.Ledger.Settle(ctx, g.Digest, func(g *confirm.Request) error {
			err := g.PickUp(b.Session, k.Owner.Self(), now)
			found = *g
			return err
		})
		if err == nil {
			return found, true, nil
		}
	}
	return confirm.Request{}, false, nil
}

// same reports whether two calls have the same arguments.
func same(a, b json.RawMessage) bool {
	one, err := canon.Canonical(a)
	other, otherErr := canon.Canonical(b)
	if err != nil || otherErr != nil {
		return bytes.Equal(a, b)
	}
	return bytes.Equal(one, other)
}

// ApprovalPending reports whether the approval request with that ID is undecided: not decided, expired or withdrawn.
func (k *Approvals) ApprovalPending(ctx context.Context, id string) (bool, error) {
	found, err := k.Ledger.Pending(ctx, ports.PendingFilter{ID: id}, k.Clock.Now())
	if err != nil || len(found) == 0 {
		return false, err
	}
	if found[0].State == confirm.Approved { // an approval counts once the audit log has it
		vouched, err := k.OnRecord(ctx, found[0], found[0].Needs)
		if errors.Is(err, confirm.ErrUsed) { // the waiting client gets that error
			return false, nil
		}
		return !vouched, err
	}
	if found[0].State != confirm.Pending {
		return false, nil
	}
	needless, err := k.needless(ctx, &found[0])
	return !needless, err
}

// OnRecord reports whether the audit log has the decision that approved g, for the plan of g, with a proof at least as strong as needs: an edited row
// approves nothing. Signatures of enrolled keys are verified again. It fails with confirm.ErrUsed if a call has already run with that decision,
// whatever the row says.
func (k *Approvals) OnRecord(ctx context.Context, g confirm.Request, needs policy.Proving) (bool, error) {
	said, err := k.Audit.Search(ctx, audit.Filter{Phase: audit.Answer, Call: g.ID, Limit: audit.MaxListed})
	if err != nil {
		return false, err
	}
	for _, r := range said {
		if r.Event.Verdict != wordApprove || r.Event.Code != "" || r.Event.Plan != g.Binding.Subject || r.Event.Tool != g.Binding.Tool || r.Event.Principal != g.Binding.Principal || k.elsewhere(&r.Event) ||
			!(confirm.Proof{Surface: confirm.Surface(r.Event.Surface)}).Meets(needs) {
			continue
		}
		if before, err := k.restored(ctx, r.Seq); err != nil || before {
			return false, err
		}
		err := k.Proofs.Holds(ctx, r.Event)
		if err == nil {
			err = k.unused(ctx, g.ID, r.Seq)
		}
		if err == nil || !errors.Is(err, enrolled.ErrUnproven) {
			return err == nil, err
		}
	}
	return false, nil
}

// unused fails with confirm.ErrUsed if the audit log has, after the decision, a call that ran with the approval request of that ID.
func (k *Approvals) unused(ctx context.Context, id string, answered int64) error {
	ran, err := k.Audit.Search(ctx, audit.Filter{After: answered, Confirmation: id, Limit: 1})
	if err == nil && len(ran) > 0 {
		err = confirm.ErrUsed
	}
	return err
}

// restored reports whether the audit log was restored from a backup after that record. Earlier decisions then let nothing run, whatever the rows say,
// because the replaced audit log may have recorded their use.
func (k *Approvals) restored(ctx context.Context, answered int64) (bool, error) {
	last, err := k.Audit.Search(ctx, audit.Filter{Tool: audit.RestoreTool, Phase: audit.Answer, Limit: 1})
	return len(last) > 0 && last[0].Seq > answered, err
}

// AlwaysOnRecord reports whether the audit log has the decision that gave the session grant a, for the session and principal of b, less than
// confirm.SessionGrantTTL ago, with a proof as strong as is needed now. If b has a subject, the decision was about exactly that plan.
func (k *Approvals) AlwaysOnRecord(ctx context.Context, a confirm.SessionGrant, b confirm.Binding, needs policy.Proving) (bool, error) {
	now := k.Clock.Now()
	return k.ruled(ctx, a.ID, a.Tool, alwaysRule(a.Scope), needs, func(e *audit.Event) bool {
		a.At = e.Time
		return e.Session == b.Session && e.Principal == b.Principal && a.Holds(now) && (b.Subject == canon.Hash{} || e.Plan == b.Subject)
	})
}

// ruled reports whether the audit log has a decision that approved the request with that ID and recorded that rule of the tool, with a proof at least
// as strong as needs, and no later revocation. fits checks further conditions on it.
func (k *Approvals) ruled(ctx context.Context, id, tool, rule string, needs policy.Proving, fits func(*audit.Event) bool) (bool, error) {
	said, err := k.Audit.Search(ctx, audit.Filter{Phase: audit.Answer, Call: id, Limit: audit.MaxListed})
	if err != nil || slices.ContainsFunc(said, revoked) {
		return false, err
	}
	for _, r := range said {
		if r.Event.Verdict != wordApprove || r.Event.Code != "" || r.Event.Tool != tool || r.Event.Rule != rule || !fits(&r.Event) || k.elsewhere(&r.Event) ||
			!(confirm.Proof{Surface: confirm.Surface(r.Event.Surface)}).Meets(needs) || k.Proofs.Holds(ctx, r.Event) != nil {
			continue
		}
		if before, err := k.restored(ctx, r.Seq); err != nil || before {
			return false, err
		}
		since, err := k.Audit.Search(ctx, audit.Filter{After: r.Seq, Phase: audit.Answer, Call: id, Limit: audit.MaxListed})
		return err == nil && !slices.ContainsFunc(since, revoked), err
	}
	return false, err
}

func revoked(r audit.Record) bool { return r.Event.Verdict == wordRevoke && r.Event.Code == "" }

// Verdicts in the audit log for approvals and for revocations of session grants.
const (
	wordApprove = "approve"
	wordRevoke  = "revoke"
)

// alwaysRule returns the rule in the audit record of a decision that gave a session grant for the scope.
func alwaysRule(scope string) string {
	return "always " + canon.SumBytes("confirm.always.v1", []byte(scope)).Hex()[:16]
}

// Answer applies a decision to its approval request, records it with its author, and stores a session grant if the decision gives one and may. It
// fails with the errors of package confirm, for a denial with ErrDenied; it returns the request whenever it was found, also with an error.
func (k *Approvals) Answer(ctx context.Context, answer confirm.Decision) (confirm.Request, error) {
	word := wordApprove
	if !answer.Approve {
		word = "deny"
	}
	now := k.Clock.Now()
	if found, err := k.Ledger.Pending(ctx, ports.PendingFilter{ID: answer.ID}, now); !answer.Approve && err == nil && len(found) > 0 && found[0].State == confirm.Pending {
		k.Runs.Deny(ctx, answer.ID, tool.ReasonUserDenied, answer.By, answer.Reason) // before the call learns of the denial, so that it can state the reason
	}
	defer k.Bell.Ring(answer.ID) // last, so that a woken client finds everything stored
	settled, err := k.settle(ctx, answer.ID, word, answer.By, func(g *confirm.Request) error { return answer.Settle(g, now) })
	if errors.Is(err, confirm.ErrBurnt) {
		k.Runs.Deny(ctx, settled.ID, tool.ReasonMistyped, answer.By, "")
	}
	if err == nil && settled.Allowing {
		err = k.Remember(ctx, settled, answer.By)
	}
	if err == nil && settled.Dated != nil {
		err = k.keep(ctx, *settled.Dated)
	}
	return settled, err
}

// Why a request was withdrawn, if no user or client did it.
const (
	VerdictChanged = "changed" // its plan changed
	VerdictGranted = "granted" // a dated grant let its call run
	VerdictEdited  = "edited"  // it differs from its audit record
)

// Withdraw ends a request whose client no longer wants it decided, approved or not; by says who did it ("client").
func (k *Approvals) Withdraw(ctx context.Context, id, by string) error {
	now := k.Clock.Now()
	defer k.Bell.Ring(id)
	g, err := k.settle(ctx, id, "cancel", by, func(g *confirm.Request) error { return g.Cancel(now) })
	if g.State == confirm.Canceled {
		reason := tool.ReasonCancelled
		if by == VerdictChanged || by == VerdictEdited {
			reason = tool.ReasonContextChanged
		}
		k.Runs.Deny(ctx, g.ID, reason, "", "")
	}
	return err
}

// Supersede ends the older requests of g's session about the same scope of the same tool. Correctness does not depend on it: each stays bound to its
// plan.
func (k *Approvals) Supersede(ctx context.Context, g confirm.Request) {
	waiting, err := k.Ledger.Pending(ctx, ports.PendingFilter{Session: g.Binding.Session, Brief: true}, k.Clock.Now())
	for _, w := range waiting {
		if w.ID != g.ID && w.Binding.Tool == g.Binding.Tool && w.Binding.Principal == g.Binding.Principal && ownScope(&w) == ownScope(&g) && err == nil {
			err = k.Withdraw(ctx, w.ID, "superseded")
		}
	}
	if err != nil {
		k.Log.Warn("an older approval request could not be cancelled", "confirmation", g.ID, "cause", err.Error())
	}
}

func ownScope(g *confirm.Request) string {
	own, _ := confirm.OwnScope(g.Scope, g.Binding.Subject)
	return own
}

// over returns why the request of that ID cannot be decided or withdrawn: it was decided, or none is pending.
func (k *Approvals) over(ctx context.Context, id, word string) error {
	said, err := k.Audit.Search(ctx, audit.Filter{Phase: audit.Answer, Call: id, Limit: audit.MaxListed})
	if slices.ContainsFunc(said, func(r audit.Record) bool { return r.Event.Verdict == "cancel" && r.Event.Code == "" }) {
		said = nil // it was withdrawn, whatever was decided before
	}
	for _, r := range slices.Backward(said) { // the first decision counts
		if err != nil || word == "cancel" || r.Event.Code != "" {
			continue
		}
		switch r.Event.Verdict {
		case "approve":
			return confirm.ErrAnswered.WithMessage("this was already approved (%s); the first decision counts", r.Event.ApprovedBy)
		case "deny":
			return confirm.ErrAnswered.WithMessage("this was already denied (%s); the first decision counts", r.Event.ApprovedBy)
		}
	}
	return confirm.ErrUnknown.WithMessage("approval request %s is not pending; it may have expired or been cancelled", id)
}

// settle runs f on the pending request of that ID and records the result in the audit log.
func (k *Approvals) settle(ctx context.Context, id, word, by string, f func(*confirm.Request) error) (settled confirm.Request, err error) {
	now := k.Clock.Now()
	found, err := k.Ledger.Pending(ctx, ports.PendingFilter{ID: id, Brief: true}, now)
	if err != nil {
		return settled, err
	}
	if len(found) == 0 {
		return settled, k.over(ctx, id, word)
	}
	err = k.Ledger.Settle(ctx, found[0].Digest, func(g *confirm.Request) error {
		err := f(g)
		settled = *g
		return err
	})
	var proof json.RawMessage
	surface := ""
	if settled.Proof != nil {
		var unwritten error
		surface = string(settled.Proof.Surface)
		if proof, unwritten = json.Marshal(settled.Proof); unwritten != nil {
			proof, err = nil, cmp.Or(err, unwritten)
		}
	}
	rule := ""
	if settled.Allowing {
		rule = alwaysRule(settled.Scope)
	}
	if settled.Dated != nil && word == wordApprove {
		rule = settled.Dated.Rule()
	}
	event := audit.Event{Rule: rule, Surface: surface, Proof: proof, Time: now, Phase: audit.Answer, Session: settled.Binding.Session, Principal: settled.Binding.Principal,
		Tool: settled.Binding.Tool, Plan: settled.Binding.Subject, Verdict: word, ApprovedBy: by, CallID: id, Home: k.home()}
	if err != nil && (word != "deny" || !errors.Is(err, confirm.ErrDenied)) {
		event.Code = string(fault.From(err).Code) // it decided nothing
	}
	if auditErr := k.Audit.Append(ctx, event); auditErr != nil && err == nil {
		err = auditErr
	}
	return settled, err
}
