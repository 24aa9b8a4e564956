package mcpserver

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"iter"
	"log/slog"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/semaphore"
)

// Name is the name of the server in the protocol (product rules: rulings on policy).
const Name = "countersign"

// DefaultConcurrency is the default number of concurrent calls.
const DefaultConcurrency = 16

// Core is the core: an *app.App.
type Core interface {
	Specs() iter.Seq[tool.Spec] // the tools to publish; Call checks again
	Call(ctx context.Context, c tool.Call) tool.Outcome
}

// Options configures a Server. The zero Options serves a principal without grants.
type Options struct {
	Version      string           // of the program
	Instructions string           // for the model, about all tools
	Principal    policy.Principal // for requests whose transport provides no Caller
	Session      string           // likewise: the client instance, which owns mode, grants and approval requests
	Entry        string           // likewise: the host entry that the server was started from; if empty, no forms are shown
	Concurrency  int              // zero is DefaultConcurrency
	Each         int              // concurrent calls of one client instance; zero is the limit of all
	People       People           // nil: no call waits for the user
	Wait         time.Duration    // how long a call waits; zero is DefaultWait, negative is not at all
	Beat         time.Duration    // how often a waiting call reports it; zero is DefaultBeat
	Forecaster   Forecaster       // nil: tools/list contains no verdicts
	Unordered    bool             // calls do not wait for earlier ones: there are many clients and many target servers
	Log          *slog.Logger

	Unserved func(name string) string // text about a tool that exists but is not enabled; nil or empty: none

	Source    string    // the toolset behind resources, prompts and completions: these wait for its earlier changes
	Resources Resources // nil: none
	Prompts   Prompts   // nil: none
	Completer Completer // nil: none
}

// Server serves MCP on any number of transports. It is safe for concurrent use.
type Server struct {
	core     Core
	opts     Options
	life     context.Context //nolint:containedctx // the lifetime of the server, which ends every call in flight
	sdk      *mcp.Server
	caps     *mcp.ServerCapabilities
	tools    map[string]tool.Spec
	plain    map[string]bool // tools whose calls can be direct
	offers   *Offers
	fixtures map[string]bool // tools that exist only in the server for the conformance suite; nil in every release
	turns    *Scheduler
	shares   *Shares
	slots    *semaphore.Weighted
	patience *semaphore.Weighted // of calls that wait for users
	left     leaving
	seal     Seal
	info     json.RawMessage // the server's description of itself in each result of the era without sessions
	enlist   sync.Once
}

// New returns a server. When life ends, calls in flight are cancelled.
func New(life context.Context, core Core, o Options) *Server {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Concurrency <= 0 {
		o.Concurrency = DefaultConcurrency
	}
	o.Wait, o.Beat = cmp.Or(o.Wait, DefaultWait), max(cmp.Or(o.Beat, DefaultBeat), time.Millisecond)
	s := &Server{
		core: core, opts: o, life: life, caps: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}, tools: map[string]tool.Spec{}, plain: map[string]bool{}, turns: NewScheduler(),
		slots: semaphore.NewWeighted(int64(o.Concurrency)), shares: NewShares(o.Each), patience: semaphore.NewWeighted(maxWaiting), seal: NewSeal(rand.Text()),
	}
	for spec := range core.Specs() {
		s.tools[string(spec.Name)] = spec
		s.plain[string(spec.Name)] = !bytes.Contains(spec.Input, []byte("x-mcp-header"))
	}
	s.info = s.describedSelf()
	s.offers = NewOffers(OffersOptions{Resources: o.Resources, Prompts: o.Prompts, Completer: o.Completer, Tools: s.tools, Caller: s.callerOf, Log: o.Log})
	s.sdk = mcp.NewServer(s.implementation(), s.sdkOptions())
	s.sdk.AddReceivingMiddleware(s.guard, s.direct, s.offers.Listings, s.permissions, s.narrowed)
	if err := s.addDirect(); err != nil {
		panic(err) // the method name is taken: only another SDK version could cause that
	}
	s.offers.Enlist(life, s.sdk)
	return s
}

// MCP returns the SDK's server, for transports in other packages.
func (s *Server) MCP() *mcp.Server { return s.sdk }

func (s *Server) implementation() *mcp.Implementation {
	return &mcp.Implementation{Name: Name, Title: "Countersign", Version: s.opts.Version}
}

// sdkOptions states the capabilities in full, so that none is inferred: the lists never change while the server runs, and hosts ignore change
// notifications.
func (s *Server) sdkOptions() *mcp.ServerOptions {
	o := &mcp.ServerOptions{
		Instructions: s.opts.Instructions,
		Capabilities: s.caps,
		// What is served depends on the machine, its configuration and the caller.
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.CacheScope = "private" },
	}
	s.offers.Announce(s.caps, o)
	return o
}

// Handshake returns the result of initialize for a revision, for transports whose client asks again.
func (s *Server) Handshake(version string) json.RawMessage {
	result, err := json.Marshal(&mcp.InitializeResult{
		ProtocolVersion: version, Capabilities: s.caps, Instructions: s.opts.Instructions, ServerInfo: s.implementation(),
	})
	if err != nil { // plain data always marshals
		s.opts.Log.Error("the handshake cannot be encoded", "error", err)
		return json.RawMessage("{}")
	}
	return result
}

// enlistTools registers the tools with the SDK, which parses every schema. It runs on the first request that needs it, so that the handshake does not
// wait.
func (s *Server) enlistTools() {
	s.enlist.Do(func() {
		for spec := range s.core.Specs() {
			s.sdk.AddTool(describe(spec), s.handler(spec))
		}
	})
}

// describe returns a tool as published.
func describe(spec tool.Spec) *mcp.Tool {
	t := &mcp.Tool{
		Meta: MetaOf(present.Listing(spec)),
		Name: string(spec.Name), Title: spec.Title, Description: spec.Description,
		InputSchema: spec.Input, Annotations: hints(spec),
	}
	if results := present.Results(spec); len(results) > 0 {
		t.OutputSchema = results
	}
	return t
}

// hints returns the four annotations, derived from the class and from Idempotent (product rules: hints by class). Hosts skip their own approval based
// on them, so none is left to a default.
func hints(spec tool.Spec) *mcp.ToolAnnotations {
	destructive := spec.Class >= policy.ClassDangerous || spec.Class == policy.ClassUnknown || spec.RunsOtherCalls
	open := spec.Effects&(policy.Network|policy.Exec) != 0 || spec.RunsOtherCalls
	read := spec.Class == policy.ClassRead && !spec.RunsOtherCalls
	return &mcp.ToolAnnotations{
		Title: spec.Title, ReadOnlyHint: read, IdempotentHint: read || spec.Idempotent && !spec.RunsOtherCalls, DestructiveHint: &destructive, OpenWorldHint: &open,
	}
}
