package runs

import (
	"context"
	"fmt"
	"time"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// The typed handles of the tools about the server: this process, and its optional listener (amof contract §20.7).
var (
	ServerStatus  = tool.Ref[NoInput, ServerInfo]{Name: "amof_get_server_status"}
	ServerAlias   = tool.Ref[NoInput, ServerInfo]{Name: "amof_server_status"}
	ServerStart   = tool.Ref[ServerInput, ServerInfo]{Name: "amof_server_start"}
	ServerStop    = tool.Ref[ServerInput, ServerInfo]{Name: "amof_server_stop"}
	ServerRestart = tool.Ref[ServerInput, ServerInfo]{Name: "amof_server_restart"}
)

// The default address of the listener (amof contract §22).
const (
	host = "127.0.0.1"
	port = 8000
)

// ServerInput says where to listen.
type ServerInput struct {
	Host string `json:"host,omitempty" jsonschema:"description=a loopback address (default 127.0.0.1)"`
	Port int    `json:"port,omitempty" jsonschema:"minimum=1,maximum=65535,description=default 8000"`
	ModeInput
}

// QueueCounts counts open runs.
type QueueCounts struct {
	Queued  int `json:"queued"`
	Running int `json:"running"`
}

// ServerInfo is this process, and its listener.
type ServerInfo struct {
	Running       bool        `json:"running"`
	PID           int         `json:"pid"`
	Port          *int        `json:"port"` // of the listener
	APIBase       *string     `json:"api_base"`
	Uptime        int64       `json:"uptime_seconds"`
	Version       string      `json:"version"`
	WorkspaceRoot *string     `json:"workspace_root"`
	Queue         QueueCounts `json:"queue"`
	Envelope
}

func (s service) server() []tool.Entry {
	status := func() tool.Spec {
		return ReadSpec("Server status", "Show the server: this process, its optional HTTP listener, and how many runs wait.", noSchema)
	}
	return []tool.Entry{
		bind.Query(ServerStatus, status(), s.serverStatus),
		bind.Query(ServerAlias, status(), s.serverStatus),
		bind.Command(ServerStart, SafeWriteSpec("Start listener", "Have this server listen for health checks over HTTP, on loopback alone.", serverSchema), s.planServer(ServerStart.Name), s.start),
		bind.Command(ServerStop, DangerousSpec(policy.Simple, "Stop listener", "Have this server listen over HTTP no more.", serverSchema), s.planServer(ServerStop.Name), s.stop),
		bind.Command(ServerRestart, DangerousSpec(policy.Simple, "Restart listener", "Stop this server's HTTP listener and start it again.", serverSchema), s.planServer(ServerRestart.Name), s.restart),
	}
}

func (s service) serverStatus(ctx context.Context, sc tool.Scope, _ NoInput) (ServerInfo, error) {
	return s.said(ctx, sc, "Looked at the server")
}

func (s service) said(ctx context.Context, sc tool.Scope, summary string) (ServerInfo, error) {
	is := s.Server.Status(ctx)
	out := ServerInfo{Running: true, PID: is.PID, Port: tool.NilIfZero(is.Port), Uptime: int64(s.Clock.Now().Sub(is.StartedAt) / time.Second), Version: is.Version}
	if is.Port != 0 {
		out.APIBase = tool.NilIfZero(fmt.Sprintf("http://%s:%d", is.Host, is.Port))
	}
	if root, err := s.Places.Root(ctx); err == nil {
		out.WorkspaceRoot = &root
	}
	open, err := s.Runs.List(ctx, ecosystem.RunFilter{Statuses: []ecosystem.RunStatus{ecosystem.RunQueued, ecosystem.RunRunning}})
	if err != nil {
		return out, err
	}
	for _, r := range open {
		if r.Status == ecosystem.RunQueued {
			out.Queue.Queued++
		} else {
			out.Queue.Running++
		}
	}
	out.Envelope = s.Show(sc, Subject{}, AnswerText{Summary: summary, Details: []string{fmt.Sprintf("pid %d, %d runs queued, %d running", out.PID, out.Queue.Queued, out.Queue.Running)}})
	return out, nil
}

// serverPlan is where to listen.
type serverPlan struct {
	Plan
	in ServerInput
}

func (s service) planServer(name tool.Name) func(context.Context, tool.Scope, ServerInput) (serverPlan, error) {
	return func(ctx context.Context, _ tool.Scope, in ServerInput) (serverPlan, error) {
		if in.Host == "" {
			in.Host = host
		}
		if in.Port == 0 {
			in.Port = port
		}
		is := s.Server.Status(ctx)
		now := map[string]any{"listening": is.Port != 0, "port": is.Port, "pid": is.PID}
		verb := string(name)[len("amof_server_"):]
		p, err := Plan{Tool: name, Summary: fmt.Sprintf("%s of the HTTP listener on %s:%d", verb, in.Host, in.Port), Current: now, Facts: now,
			Preview:     map[string]any{"host": in.Host, "port": in.Port, "listening": is.Port != 0},
			Explanation: Explanation{What: verb + " the HTTP listener of this server process", Affects: []string{fmt.Sprintf("port %d", in.Port)}, Alternatives: []string{"amof_get_server_status shows what there is"}},
			Risk:        Risk{Level: "moderate", Reasons: []string{"whoever uses the listener is cut off"}}}.SealedAs("", "")
		return serverPlan{Plan: p, in: in}, err
	}
}

func (s service) start(ctx context.Context, sc tool.Scope, p serverPlan) (ServerInfo, error) {
	if err := s.Server.Start(ctx, p.in.Host, p.in.Port); err != nil {
		return ServerInfo{}, err
	}
	return s.said(ctx, sc, fmt.Sprintf("Started the listener on port %d", p.in.Port))
}

func (s service) stop(ctx context.Context, sc tool.Scope, _ serverPlan) (ServerInfo, error) {
	stopped, err := s.Server.Stop(ctx)
	if err != nil {
		return ServerInfo{}, err
	}
	if !stopped {
		return s.said(ctx, sc, "Found no listener to stop")
	}
	return s.said(ctx, sc, "Stopped the listener")
}

func (s service) restart(ctx context.Context, sc tool.Scope, p serverPlan) (ServerInfo, error) {
	if _, err := s.Server.Stop(ctx); err != nil {
		return ServerInfo{}, err
	}
	return s.start(ctx, sc, p)
}
