package app

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/enrolled"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/redact"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/domain/visible"
	"github.com/countersign-dev/countersign/ports"
)

// Limits of a call whose Spec sets none.
const (
	DefaultTimeout   = 2 * time.Minute
	DefaultMaxOutput = 256 << 10 // bytes
)

// Dependencies is the ports that an App needs. Every field is required except Account, AccountAudit, Leases, Dated, Home, Outreach, Bell, Notifier, Keys and
// Verifiers.
type Dependencies struct {
	Clock    ports.Clock
	IDs      ports.IDs
	Tokens   ports.Tokens
	Ledger   ports.ApprovalStore
	Audit    ports.AuditLog
	Settings ports.SettingsStore
	Account  ports.SettingsStore // the settings in the account's own directory if Settings are others; nil otherwise
	// AccountAudit is the audit log of the account's home: its settings widen permissions only if the change is recorded there.
	AccountAudit ports.AuditLog
	Sessions     ports.Sessions
	Limiter      ports.Limiter
	Runs         ports.Runs
	Owner        ports.ProcessIdentity
	Leases       ports.Leases            // where users declare that an owner has ended; nil if they cannot
	Dated        ports.DatedGrants       // nil: no grants until a date
	Home         func() string           // tells the home of these stores from a copy of it, see ApprovalsConfig; nil: there are no copies
	Outreach     ports.Outreach          // nil: nothing that tools use to read contacts another machine
	Bell         ports.Bell              // nil: waiting clients learn of a decision only by polling
	Notifier     ports.Notifier          // nil: no notifications of pending approvals
	Redact       func() *redact.Redactor // built on first need
	Log          *slog.Logger
	// Keys stores the enrolled keys, and Verifiers verifies their signatures, by kind. A decision that claims a key is accepted only with both.
	Keys      ports.EnrolledKeys
	Verifiers map[enrolled.Kind]ports.KeyVerifier
}

// Options is the server configuration. The zero Options allows no change.
type Options struct {
	Policy policy.Policy // built in; users approve unless its Approval is policy.ApprovalCaller
	// Above and Below are the policy layers around the stored settings: the system's file above; config.yaml, variables and flags below. Each can only narrow
	// the ones above it. Policy is the built-in policy, or that of an embedding program.
	Above, Below []policy.Layer
	ConfirmTTL   time.Duration // 1 to 10 minutes; zero is confirm.DefaultTTL
	Timeout      time.Duration // zero is DefaultTimeout
	MaxOutput    int           // bytes; zero is DefaultMaxOutput
	Version      string        // product version, for contracts that state it
	Place        string        // working directory of this process, for tools that depend on it; empty if none does
	Sight        string        // distinguishes processes of one place that see different files; empty if all see the same
	Serve        Selection
	Strange      bool                     // the home may come from another machine, with decisions of other users: its earlier grants do not count
	Forgotten    []string                 // IDs of enrolled keys that do not count: the system's file clears a lost key
	Absent       []tool.Toolset           // toolsets that exist but were not passed to New because Serve selects nothing of them: listed by name
	OwnerOf      func(name string) string // returns the toolset of Absent that has the named tool, or ""; nil knows none
}

// App is the core that every transport calls. It is safe for concurrent use.
type App struct {
	core     Dependencies
	opts     Options
	registry *tool.Registry
	served   map[tool.Name]bool
	journal  *AuditBuffer
	runs     *Calls
	grants   *Approvals
	keys     *KeyManager
	resolved PolicyCache
}

// Toolsets returns every toolset with its enabled and disabled tools, sorted by name.
func (a *App) Toolsets() []tool.Toolset { return ListToolsets(a.registry, a.served, a.opts.Absent) }

// Unserved returns, for a tool of a toolset that is not enabled, the name of that toolset and how to enable it; empty for any other tool.
func (a *App) Unserved(name string) string {
	set := ""
	if e, ok := a.registry.Lookup(tool.Name(name)); ok && !e.Spec.UserOnly {
		set = e.Spec.Toolset
	} else if !ok && a.opts.OwnerOf != nil {
		set = a.opts.OwnerOf(name)
	}
	serve := a.opts.Serve
	if set == "" || serve.Serves(set) || a.served[tool.Name(name)] {
		return ""
	}
	said := "it is in the toolset " + set + ", which is not enabled; "
	for _, t := range a.opts.Absent {
		if t.Name == set && !strings.HasPrefix(t.ServedWith, "--toolsets ") {
			return said + "to enable it, start with " + t.ServedWith
		}
	}
	sets := append(slices.DeleteFunc(slices.Clone(serve.Toolsets), func(n string) bool { return n == tool.ControlToolset }), set)
	return said + "the user enables it with countersign connect HOST --toolsets " + strings.Join(sets, ",") + " and restarts the host"
}

// New assembles an App from its ports and the tools of the capabilities. It opens and starts nothing.
func New(core Dependencies, opts Options, caps ...tool.Capability) (*App, error) {
	if core.Clock == nil || core.IDs == nil || core.Tokens == nil || core.Ledger == nil || core.Audit == nil || core.Settings == nil ||
		core.Sessions == nil || core.Limiter == nil || core.Runs == nil || core.Owner == nil || core.Redact == nil || core.Log == nil {
		return nil, ErrWiring.WithMessage("every part of app.Core is required")
	}
	if core.Bell == nil {
		core.Bell = nopBell{}
	}
	if core.Notifier == nil {
		core.Notifier = nopNotifier{}
	}
	registry, err := tool.NewRegistry(caps...)
	if err != nil {
		return nil, err
	}
	served, err := opts.Serve.Apply(registry, opts.Absent)
	if err != nil {
		return nil, err
	}
	keys := NewKeyManager(KeyConfig{Keys: core.Keys, Audit: core.Audit, Verifiers: core.Verifiers, Forgotten: opts.Forgotten})
	runs := NewCalls(core.Runs, core.Owner, core.Clock, core.Log)
	return &App{core: core, opts: opts, registry: registry, served: served, journal: NewAuditBuffer(core.Audit, core.Log), runs: runs, keys: keys,
		grants: NewApprovals(ApprovalsConfig{Ledger: core.Ledger, Audit: core.Audit, Sessions: core.Sessions, Dated: core.Dated, Clock: core.Clock, Runs: runs, Owner: core.Owner, Bell: core.Bell, Proofs: keys, Strange: opts.Strange, Home: core.Home, Log: core.Log})}, nil
}

// Close waits until pending audit records are written. The App must not be used afterwards.
func (a *App) Close(ctx context.Context) error { return a.journal.Close(ctx) }

// Specs yields the enabled tools, sorted by name, without those that only users may call.
func (a *App) Specs() iter.Seq[tool.Spec] {
	return func(yield func(tool.Spec) bool) {
		for s := range a.registry.Specs() {
			if a.served[s.Name] && !s.UserOnly && !yield(a.published(s)) {
				return
			}
		}
	}
}

// published returns a spec as this App's selection restricts it.
func (a *App) published(s tool.Spec) tool.Spec {
	if a.opts.Serve.ReadOnly {
		return s.ReadOnly()
	}
	return s
}

// Spec returns the enabled tool with exactly that name.
func (a *App) Spec(n tool.Name) (tool.Spec, bool) {
	e, ok := a.registry.Lookup(n)
	return a.published(e.Spec), ok && a.served[n]
}

// Call runs one tool call through the pipeline. It recovers panics and redacts every result.
func (a *App) Call(ctx context.Context, c tool.Call) tool.Outcome {
	return a.through(ctx, a.begin(c))
}

// through runs one call through the pipeline.
func (a *App) through(ctx context.Context, r *run) tool.Outcome {
	c := r.call
	value, err := r.guarded(ctx)
	if f := forwarded(value); f != nil && err == nil {
		next := *f
		next.RequestID, next.Progress, next.FromUser, next.View, next.Restrictions, next.Entry = c.RequestID, c.Progress, c.FromUser, c.View, c.Restrictions, c.Entry
		return a.Call(ctx, next)
	}
	return r.finish(ctx, value, err)
}

// forwarded returns the call that replaces a value; nil if the value is the result.
func forwarded(value any) *tool.Call {
	if f, ok := value.(tool.Forwarder); ok {
		return f.Forwards()
	}
	return nil
}

// guarded calls steps and turns a panic into an error, so that a faulty tool never stops the process.
func (r *run) guarded(ctx context.Context) (value any, err error) {
	defer func() {
		if p := recover(); p != nil {
			r.app.core.Log.Error("tool panicked", "tool", r.call.Tool, "call", r.call.ID, "panic", r.mask.Text(fmt.Sprint(p)), "stack", string(debug.Stack()))
			value, err = nil, fault.ErrInternal.WithMessage("internal error in tool %s; see the server log", r.call.Tool).
				WithCause(fmt.Errorf("panic: %v", p))
		}
	}()
	return r.steps(ctx)
}

// steps runs the steps of one call in order (architecture: flow of one call). No step before commit changes anything.
func (r *run) steps(ctx context.Context) (any, error) {
	if err := r.lookUp(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout())
	defer cancel()
	if err := r.takeToken(); err != nil {
		return nil, err
	}
	var err error
	if r.invocation, err = r.entry.Handler.Decode(r.call.Args); err != nil {
		return nil, err
	}
	if err := r.claim(ctx); err != nil {
		return nil, err
	}
	if err := r.broughtRemotes(ctx); err != nil {
		return nil, err
	}
	if err := r.decide(ctx); err != nil {
		return nil, err
	}
	if err := r.admit(ctx); err != nil {
		return nil, err
	}
	if err := r.present(ctx); err != nil {
		return nil, err
	}
	if err = r.prepare(ctx); err != nil {
		return nil, r.spent(ctx, err)
	}
	if err := r.subject(ctx); err != nil {
		return nil, err
	}
	switch r.decision.Verdict {
	case policy.DryRun:
		r.out.DryRun = true
		return r.plan, nil
	case policy.Explain:
		r.out.Explained = true
		return r.plan, DenialError(r.decision, r.call.Tool, r.assessment.Scope)
	case policy.Confirm:
		if r.human { // do not ask for an approval of a call that would be denied anyway
			if err := r.gate(); err != nil {
				return nil, err
			}
		}
		if err := r.confirmed(ctx); err != nil {
			return nil, err
		}
	}
	if err := r.gate(); err != nil {
		return nil, err
	}
	if err := r.intend(ctx); err != nil {
		return nil, err
	}
	value, err := r.commit(ctx)
	if a, ok := r.plan.(tool.Announced); ok && err == nil && a.Announcement() != "" {
		r.app.core.Notifier.Announce(visible.Text(r.mask.Text(a.Announcement())))
	}
	if offer, ok := value.(tool.TokenRequest); ok && err == nil {
		err = r.offer(ctx, offer)
	}
	return value, err
}

// prepare computes the plan.
func (r *run) prepare(ctx context.Context) error {
	r.scope.Explaining = r.decision.Verdict == policy.Explain
	var plan tool.Plan
	err := r.askingAboutRemotes(ctx, func(ctx context.Context) (err error) {
		plan, err = r.invocation.Prepare(ctx, r.scope)
		return err
	})
	if p, ok := plan.(tool.Fetching); ok && err == nil && r.claims.Class > policy.ClassRead {
		err = r.fetches(ctx, p.Fetches())
	}
	if err == nil {
		r.plan = plan
	}
	return err
}

// commit applies the plan. Without a plan it only reads, and remotes that it would contact need the same approval as during prepare.
func (r *run) commit(ctx context.Context) (value any, err error) {
	if r.plan != nil {
		return r.invocation.Commit(ctx, r.scope, r.plan)
	}
	if r.claims.Class != policy.ClassRead {
		return r.invocation.Commit(ctx, r.scope, nil)
	}
	err = r.askingAboutRemotes(ctx, func(ctx context.Context) (err error) {
		value, err = r.invocation.Commit(ctx, r.scope, nil)
		return err
	})
	return value, err
}

// finish redacts and bounds the result and records it.
func (r *run) finish(ctx context.Context, value any, err error) tool.Outcome {
	if err == nil || r.out.Explained {
		r.render(value)
	}
	if err != nil {
		f := fault.From(err)
		if f.Err != nil && (f.Kind == fault.Internal || f.Kind == fault.Unavailable) {
			r.app.core.Log.Error("call failed", "tool", r.call.Tool, "call", r.call.ID, "code", f.Code, "cause", r.mask.Text(f.Err.Error()))
		}
		r.out.Err = r.mask.Fault(f)
	}
	r.out.Decision, r.out.Redactions = r.decision, r.mask.Hits()
	r.out.Elapsed = r.app.core.Clock.Now().Sub(r.begun)
	ctx = context.WithoutCancel(ctx)
	r.keep(ctx, value)
	if auditErr := r.record(ctx); auditErr != nil {
		r.out.Warnings = append(r.out.Warnings, "this call could not be recorded in the audit log: "+fault.From(auditErr).Message)
	}
	return r.out
}

// viewed reports whether the user reads a page of their own: a read in which no agent takes part.
func (r *run) viewed() bool {
	class := r.claims.Class
	if r.invocation == nil { // the call failed before its claims were known
		class = r.entry.Spec.Class
	}
	return r.call.View && r.call.FromUser && class == policy.ClassRead
}

// record appends the outcome to the audit log, except for page views: at once if the intent was recorded or an approval let the call run, otherwise
// through the journal.
func (r *run) record(ctx context.Context) error {
	e := r.event(audit.Outcome)
	e.DurationUS = r.out.Elapsed.Microseconds()
	e.Redactions = r.out.Redactions
	var f *fault.Error
	if errors.As(r.out.Err, &f) {
		e.Code = string(f.Code)
	}
	switch {
	case r.intended || r.ranBy != "":
		return r.app.core.Audit.Append(ctx, e)
	case r.viewed():
		return nil
	}
	r.app.journal.Add(e)
	return nil
}
