package wiring

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/countersign-dev/countersign/adapters/cli"
	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/adapters/local"
	"github.com/countersign-dev/countersign/adapters/mcp/mcphttp"
	"github.com/countersign-dev/countersign/adapters/mcp/mcpserver"
	"github.com/countersign-dev/countersign/domain/tool"
)

// What the gateway is made of: who calls for it in the audit, how many calls it takes at once, and how often it looks for servers to stop.
const (
	gatewaySession = "gateway"
	gatewayCalls   = 256 // many of them wait for an agent, and its permission replies must get through
	evictEvery     = 30 * time.Second
)

// serveGateway serves the tools that route to agent servers over HTTP, and stops servers that are idle or too large.
func (b Build) serveGateway(ctx context.Context, t *command.Terminal, env func(string) string, o cli.GatewayOptions) error {
	table, err := filepath.Abs(o.Servers)
	if err != nil {
		return command.ErrUsage.WithMessage("the path of the server table: %v", err)
	}
	token := env("MCP_BEARER_TOKEN")
	if token == "" {
		return command.ErrUsage.WithMessage("MCP_BEARER_TOKEN is empty; the gateway needs a token")
	}
	only := func(toolset string) func(string) string {
		return func(name string) string {
			if name == "COUNTERSIGN_TOOLSETS" {
				return toolset
			}
			return env(name)
		}
	}
	projects, err := b.openLocal(only("sandboxes"), nil)
	if err != nil {
		return err
	}
	defer projects.Close() //nolint:errcheck // nothing is left to write
	routes, err := b.openLocal(only(gatewaySession), func(c *local.Config) {
		c.Sandboxes.Table, c.Sandboxes.Ensure = table, starting(projects)
	})
	if err != nil {
		return err
	}
	defer routes.Close() //nolint:errcheck // nothing is left to write
	log := local.Logger(os.Stderr, env, "info")
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(o.Port)))
	if err != nil {
		return command.ErrUsage.WithMessage("cannot listen on port %d: %v", o.Port, err)
	}
	go evicting(ctx, projects)
	face := mcpserver.New(ctx, mcpserver.Core(routes.App), mcpserver.Options{Version: b.Version, Instructions: instructions, Principal: routes.Owner(), Session: gatewaySession,
		Log: log, Concurrency: gatewayCalls, Unordered: true})
	t.Note("the gateway serves MCP at http://127.0.0.1:%d/mcp", o.Port)
	router := routes.Router()
	within := func(given string) (mcpserver.Caller, bool) {
		id, known := router.Scope(token, given)
		return mcpserver.Caller{Principal: routes.Owner(), Session: local.GatewaySession(id)}, known
	}
	return mcphttp.ServeGateway(ctx, listener, mcphttp.GatewayHandler(face.MCP(), mcphttp.GatewayOptions{Token: token, Within: within, Health: router.Counts, Log: log}))
}

// starting starts the stopped server of a project, or of an isolated sandbox, through the same call pipeline as every call.
func starting(projects *local.Local) func(ctx context.Context, sc tool.Scope, id string) error {
	return func(ctx context.Context, sc tool.Scope, id string) error {
		wanted := map[string]string{}
		var box string
		if wanted["git_url"], box = local.ServerOf(id); box != "" {
			wanted["sandbox"] = box
		}
		args, err := json.Marshal(wanted)
		if err != nil {
			return err
		}
		o := projects.Call(ctx, tool.Call{Session: gatewaySession, Client: sc.Client, Principal: sc.Principal, Tool: "opencode_project_start", Args: args, Progress: sc.Progress})
		return o.Err
	}
}

// evicting stops servers that are idle or too large, now and then.
func evicting(ctx context.Context, projects *local.Local) {
	tick := time.NewTicker(evictEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			projects.EvictServers(ctx) //nolint:errcheck // the next turn finds the same
		}
	}
}
