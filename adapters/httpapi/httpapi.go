package httpapi

import (
	"context"
	"iter"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/countersign-dev/countersign/adapters/httpapi/events"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// Prefix is the prefix of every route's path.
const Prefix = "/api/v1"

// App is the core: an *app.App.
type App interface {
	Caller
	Catalogue
	Approvals
	Records
	Rules
}

// Caller is the core.
type Caller interface {
	Call(ctx context.Context, c tool.Call) tool.Outcome
}

// Catalogue lists the tools and the verdicts of policy.
type Catalogue interface {
	Specs() iter.Seq[tool.Spec]
	Spec(n tool.Name) (tool.Spec, bool)
	Toolsets() []tool.Toolset
	Evaluate(ctx context.Context, c tool.Call) policy.Result
}

// Approvals decides approval requests.
type Approvals interface {
	Confirmations(ctx context.Context, session string) ([]confirm.View, error)
	Answer(ctx context.Context, answer confirm.Decision) (confirm.View, error)
	Decided(id string) (told <-chan struct{}, stop func())
	ApprovalPending(ctx context.Context, id string) (bool, error)
}

// Records reads call records and the audit log.
type Records interface {
	Calls(ctx context.Context, f app.RunFilter) ([]tool.Record, error)
	CallRecord(ctx context.Context, id string) (tool.Record, error)
	AuditSearch(ctx context.Context, f audit.Filter) ([]audit.Record, error)
	AuditTrail(ctx context.Context, after int64) iter.Seq2[audit.Record, error]
	CheckAudit(ctx context.Context) (audit.Report, error)
}

// Rules reads and changes the user's settings and grants.
type Rules interface {
	SessionGrants(ctx context.Context) ([]confirm.ListedGrant, error)
	RevokeSessionGrant(ctx context.Context, id, by string) (confirm.ListedGrant, error)
	Settings(ctx context.Context) (app.Settings, error)
	PolicyInForce(ctx context.Context) (policy.Resolved, error)
	ChangeSettings(ctx context.Context, c tool.Call, change func(*app.Settings) error) (app.Settings, error)
}

// Options configures an API.
type Options struct {
	App     App
	Caller  Caller      // what runs the calls if not App itself, for example with metrics; nil is App
	Hub     *events.Hub // source of events
	Version string      // of the product
	Cookie  string      // name of the browser cookie, for the OpenAPI document
	// Observe is called for every answered request, with the route as defined in this package, never client input. It may be nil.
	Observe func(route string, status int, took time.Duration)
	Log     *slog.Logger // nil discards
}

// maxWaiting is the maximum number of calls that wait for users at a time. A further call is answered at once; its approval request stays open.
const maxWaiting = 64

// API serves the routes. It is safe for concurrent use; New makes it.
type API struct {
	Options
	routes    []route
	patience  *semaphore.Weighted // of calls that wait for users
	verifying *semaphore.Weighted
	document  func() (described, error)
}

// New returns an API with these options.
func New(o Options) *API {
	if o.Caller == nil {
		o.Caller = o.App
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Observe == nil {
		o.Observe = func(string, int, time.Duration) {}
	}
	a := &API{Options: o, patience: semaphore.NewWeighted(maxWaiting), verifying: semaphore.NewWeighted(1)}
	a.routes = a.table()
	a.document = sync.OnceValues(func() (described, error) { return a.describe(nil) })
	return a
}

// Serve serves one authenticated request; it is an httpauth.Handler.
func (a *API) Serve(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	began := time.Now()
	x := &Exchange{W: &Watched{ResponseWriter: w}, R: r, Visitor: v}
	name := a.dispatch(x)
	a.Observe(name, x.W.Status(), time.Since(began))
}
