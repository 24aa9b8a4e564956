package wiring

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/adapters/console"
	"github.com/countersign-dev/countersign/adapters/console/homepages"
	"github.com/countersign-dev/countersign/adapters/httpapi"
	"github.com/countersign-dev/countersign/adapters/httpapi/events"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/local"
	"github.com/countersign-dev/countersign/adapters/mcp/mcphttp"
	"github.com/countersign-dev/countersign/adapters/mcp/mcpserver"
	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/tool"
)

// callsAtOnce is how many calls of all clients together run at once.
const callsAtOnce = 128

// parts are what a server is made of.
type parts struct {
	local   *local.Local
	version string
	cookie  string // name of the browsers' cookie
	open    bool   // whether everybody who reaches the server may read its figures: nobody but this machine can
	wait    time.Duration
	log     *slog.Logger

	hub    *events.Hub
	gauges *httpapi.Metrics
	mcp    *mcphttp.Endpoint
	jobs   func(context.Context) // waits for what was started on the console's pages
}

// assemble makes the parts, which serve until life ends. Whoever ends it calls close.
func (p *parts) assemble(life context.Context) {
	p.hub = events.NewHub(p.local.App, p.log)
	p.gauges = httpapi.NewMetrics(httpapi.MetricsOptions{Version: p.version, Book: p.local.App, Streams: p.hub.Listeners, Sessions: func() int { return p.mcp.Sessions() },
		Dropped: p.local.App.AuditDropped})
	o := published(p.gauges.Observe(p.local.App), p.version)
	o.Log, o.People, o.Wait, o.Forecaster = p.log, p.local.App, p.wait, p.local.App
	o.Concurrency, o.Each = callsAtOnce, mcpserver.DefaultConcurrency // no client's long calls keep the others waiting
	p.mcp = mcphttp.NewEndpoint(life, mcphttp.EndpointOptions{Server: mcpserver.New(life, o.core, o.Options), Known: mcphttp.NewKnownNames(p.local.Toolsets()), Log: p.log,
		EndSession: p.local.EndSession})
}

// mount adds the parts to a mux, each behind what lets visitors in.
func (p *parts) mount(life context.Context, mux *http.ServeMux, g *httpauth.Guard) {
	api := httpapi.New(httpapi.Options{App: p.local.App, Caller: p.gauges.Observe(p.local.App), Hub: p.hub, Version: p.version, Cookie: p.cookie,
		Observe: p.gauges.Requested, Log: p.log})
	mux.Handle(httpapi.Prefix+"/", g.RequireAny(api.Serve))
	mux.Handle("/mcp", p.gauges.Route("/mcp", g.RequireToken(p.mcp.ServeVisitor)))
	figures := func(w http.ResponseWriter, r *http.Request) { p.gauges.Serve(w, r, httpauth.Identity{}) }
	if p.open {
		mux.HandleFunc("GET /metrics", figures)
	} else {
		mux.Handle("GET /metrics", g.RequireAny(p.gauges.Serve))
	}
	p.jobs = console.Mount(life, mux, console.Options{App: p.local.App, Credentials: p.local.Admission(), Person: g.RequireBrowser, IDs: func() string { return system.IDs{}.NewID("work_", 16) },
		Machine: homepages.Machine{Damage: p.local.Damage, Free: func() (uint64, error) { return system.FreeSpace(p.local.Home()) }}})
}

// leaving is how long cancelled calls of the console may take to end, as those over MCP may.
const leaving = 8 * time.Second

// close ends what would not by itself, and waits for calls that were cancelled.
func (p *parts) close(ctx context.Context) error {
	p.hub.Close()
	err := p.mcp.Close(ctx)
	if p.jobs != nil {
		patience, cancel := context.WithTimeout(ctx, leaving)
		defer cancel()
		p.jobs(patience)
	}
	return err
}

// face is the tools of a core over MCP, on any transport.
type face struct {
	mcpserver.Options
	core mcpserver.Core
}

// published returns the face of a core: its tools, and resources, prompts and completions where it serves what they are made of.
func published(core mcpserver.Core, version string) face {
	f := face{core: core, Options: mcpserver.Options{Version: version, Instructions: instructions}}
	if knows, ok := core.(interface{ Unserved(name string) string }); ok {
		f.Unserved = knows.Unserved
	}
	as := tool.Call{Client: "resources"}
	if mcpserver.ServesPacks(core) {
		packs := mcpserver.NewPackResources(core, as)
		f.Source, f.core, f.Resources, f.Prompts, f.Completer = mcpserver.PackToolset, packs, packs.Resources(), packs.Prompts(), packs
	}
	if mcpserver.ServesPolicy(core) {
		f.Resources = mcpserver.NewPolicyResources(f.Resources, core, as)
	}
	return f
}

// patience returns how long calls wait for users, as the environment says.
func patience(env func(string) string) (time.Duration, error) {
	wait, ok := mcpserver.ConfirmWait(env("COUNTERSIGN_CONFIRM_WAIT"))
	if !ok {
		return 0, command.ErrUsage.WithMessage("COUNTERSIGN_CONFIRM_WAIT: invalid duration %q; use 0s to 24h", env("COUNTERSIGN_CONFIRM_WAIT"))
	}
	return wait, nil
}

// signalCore is the core that handles signals as soon as there is something to cancel.
type signalCore struct {
	*app.App
	onReady func()
}

// Call is app.App's.
func (h signalCore) Call(ctx context.Context, c tool.Call) tool.Outcome {
	h.onReady()
	return h.App.Call(ctx, c)
}
