package sandboxes

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// The typed handles.
var (
	GatewayStatus  = tool.Ref[NoInput, GatewayView]{Name: "opencode_mcp_status"}
	GatewayRestart = tool.Ref[NoInput, GatewayRestarted]{Name: "opencode_mcp_restart"}
	GatewayStop    = tool.Ref[NoInput, GatewayStopped]{Name: "opencode_stop_mcp_tool"}
)

// NoInput is the input of a tool without arguments.
type NoInput struct{}

// GatewayManager starts and stops the gateway.
type GatewayManager struct{ Deps }

// GatewayEntries returns the tools.
func GatewayEntries(d Deps) []tool.Entry {
	g := GatewayManager{d}
	return []tool.Entry{
		bind.Query(GatewayStatus, ReadSpec("Gateway status", "Show the global MCP tool (the gateway in front of all projects' servers).", noSchema), g.status),
		bind.Command(GatewayRestart, ChangeSpec("Restart gateway", "Restart the global MCP tool; refused while no project is active.", noSchema), g.planRestart, g.restart),
		bind.Command(GatewayStop, Repeatable(ChangeSpec("Stop gateway", "Stop the global MCP tool until a project starts or it is restarted.", noSchema)), g.planStop, g.stop),
	}
}

// GatewayBrief is the gateway in the results of project tools.
type GatewayBrief struct {
	PID     *int   `json:"pid"`
	Port    *int   `json:"port"`
	Status  string `json:"status"`
	Running bool   `json:"running"`
	Active  int    `json:"active_projects"`
}

// BriefOf returns the recorded gateway.
func BriefOf(s sandbox.State) GatewayBrief {
	g := s.Gateway
	status := g.Status
	if status == "" {
		status = sandbox.Stopped
	}
	return GatewayBrief{PID: tool.NilIfZero(g.PID), Port: tool.NilIfZero(g.Port), Status: string(status), Running: g.Status == sandbox.Running, Active: ActiveCount(s)}
}

// GatewayView is the gateway in the result of its own tool.
type GatewayView struct {
	Status  string `json:"status"`            // running, stopped or not_started
	Message string `json:"message,omitempty"` // set if the gateway was never started
	*GatewayDetails
}

// GatewayDetails is the rest, for a gateway that was started.
type GatewayDetails struct {
	PID        *int       `json:"pid"`
	Port       *int       `json:"port"`
	Active     int        `json:"active_projects"`
	StartedAt  *time.Time `json:"started_at"`
	LastHealth *time.Time `json:"last_health_check"`
	Error      *string    `json:"error"`
}

func (g GatewayManager) status(ctx context.Context, _ tool.Scope, _ NoInput) (GatewayView, error) {
	state, err := g.Current(ctx)
	if err != nil {
		return GatewayView{}, err
	}
	if state.Gateway.Port == 0 {
		return GatewayView{Status: "not_started", Message: "the gateway was never started; it starts with the first project"}, nil
	}
	b := BriefOf(state)
	w := GatewayView{Status: "stopped", GatewayDetails: &GatewayDetails{PID: b.PID, Port: b.Port, Active: b.Active, StartedAt: tool.NilIfZero(state.Gateway.StartedAt), LastHealth: tool.NilIfZero(state.Gateway.LastHealth), Error: tool.NilIfZero(state.Gateway.Error)}}
	if b.Running {
		w.Status = "running"
	}
	return w, nil
}

// GatewayRestarted is the gateway after a restart.
type GatewayRestarted struct {
	Status  string `json:"status"`
	Message string `json:"message"`
	PID     int    `json:"pid"`
	Port    int    `json:"port"`
}

func (g GatewayManager) planRestart(ctx context.Context, _ tool.Scope, _ NoInput) (Plan, error) {
	state, err := g.Current(ctx)
	if err != nil {
		return Plan{}, err
	}
	if ActiveCount(state) == 0 {
		return Plan{}, sandbox.ErrGateway.WithMessage("no project is active, so there is nothing to route to; opencode_project_start starts one")
	}
	return NewPlan(GatewayRestart.Name, "restart the gateway", map[string]any{"port": state.Gateway.Port}, ConfirmOptions{})
}

func (g GatewayManager) restart(ctx context.Context, sc tool.Scope, _ Plan) (GatewayRestarted, error) {
	release, err := g.hold(ctx)
	if err != nil {
		return GatewayRestarted{}, err
	}
	defer release()
	if err := g.end(ctx, false); err != nil {
		return GatewayRestarted{}, err
	}
	state, err := g.ensure(ctx, true)
	if err != nil {
		return GatewayRestarted{}, err
	}
	return GatewayRestarted{Status: "success", Message: "the gateway was restarted", PID: state.Gateway.PID, Port: state.Gateway.Port}, nil
}

// GatewayStopped is the gateway after it was stopped.
type GatewayStopped struct {
	Status  string `json:"status"`
	Message string `json:"message"`
	Active  int    `json:"active_projects"`
}

func (g GatewayManager) planStop(ctx context.Context, _ tool.Scope, _ NoInput) (Plan, error) {
	state, err := g.Current(ctx)
	if err != nil {
		return Plan{}, err
	}
	if state.Gateway.Status != sandbox.Running {
		return Plan{}, sandbox.ErrGateway.WithMessage("the gateway is not running")
	}
	return NewPlan(GatewayStop.Name, "stop the gateway", map[string]any{"port": state.Gateway.Port}, ConfirmOptions{})
}

func (g GatewayManager) stop(ctx context.Context, _ tool.Scope, _ Plan) (GatewayStopped, error) {
	release, err := g.hold(ctx)
	if err != nil {
		return GatewayStopped{}, err
	}
	defer release()
	if err := g.end(ctx, true); err != nil {
		return GatewayStopped{}, err
	}
	state, err := g.States.Load(ctx)
	return GatewayStopped{Status: "success", Message: "the gateway was stopped; it starts again with the next project", Active: ActiveCount(state)}, err
}

// hold locks the gateway: there is one for all projects, and many start at the same time.
func (g GatewayManager) hold(ctx context.Context) (release func(), err error) {
	return g.States.Hold(ctx, git.URL{})
}

// end stops the gateway if it runs; held says that it must stay stopped. The caller holds the gateway.
func (g GatewayManager) end(ctx context.Context, held bool) error {
	state, err := g.States.Load(ctx)
	if err != nil {
		return err
	}
	if _, err := g.clear(ctx, state); err != nil {
		return err
	}
	if id := state.Gateway.ProcessID; id != "" {
		if _, err := g.Processes.Stop(ctx, process.ID(id), sandbox.StopGrace); err != nil && !errors.Is(err, process.ErrNotFound) {
			return sandbox.ErrGateway.WithMessage("the gateway could not be stopped: %s", fault.From(err).Message).WithCause(err)
		}
	}
	_, err = g.States.Update(ctx, func(s *sandbox.State) error {
		s.Gateway.PID, s.Gateway.ProcessID, s.Gateway.Status, s.Gateway.Held = 0, "", sandbox.Stopped, held
		return nil
	})
	return err
}

// Clear stops gateways that are not recorded, and returns their process IDs: those of calls that were killed before they had recorded them.
func (g GatewayManager) Clear(ctx context.Context) ([]int, error) {
	release, err := g.hold(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	state, err := g.States.Load(ctx)
	if err != nil {
		return nil, err
	}
	return g.clear(ctx, state)
}

// clear is Clear for a caller that holds the gateway. It leaves gateways of other state directories alone, which use other tables of servers.
func (g GatewayManager) clear(ctx context.Context, state sandbox.State) (pids []int, err error) {
	settings, err := g.Homes.Settings(ctx, "")
	if err != nil {
		return nil, nil // nothing can have been started without them
	}
	if _, err := g.Processes.Recover(ctx); err != nil { // a gateway of a killed call may be starting and not count as running yet
		return nil, err
	}
	all, err := g.Processes.List(ctx)
	mine := g.Front.Spec(settings, 0).Log
	for _, s := range all {
		if s.Labels["kind"] != "gateway" || s.Log != mine || s.Status.Final() || s.Elsewhere != "" || string(s.ID) == state.Gateway.ProcessID {
			continue
		}
		if _, err := g.Processes.Stop(ctx, s.ID, sandbox.StopGrace); err != nil && !errors.Is(err, process.ErrNotFound) {
			return pids, sandbox.ErrGateway.WithMessage("an unrecorded gateway (pid %d) could not be stopped: %s", s.PID, fault.From(err).Message).WithCause(err)
		}
		pids = append(pids, s.PID)
	}
	return pids, err
}

// Retire stops the gateway when no server is left to route to.
func (g GatewayManager) Retire(ctx context.Context) error {
	release, err := g.hold(ctx)
	if err != nil {
		return err
	}
	defer release()
	state, err := g.Current(ctx)
	switch {
	case err != nil || ActiveCount(state) > 0:
		return err
	case state.Gateway.Status == sandbox.Running:
		return g.end(ctx, false)
	}
	_, err = g.clear(ctx, state)
	return err
}

// Ensure starts the gateway if needed. unhold starts it even if the user stopped it.
func (g GatewayManager) Ensure(ctx context.Context, unhold bool) (sandbox.State, error) {
	release, err := g.hold(ctx)
	if err != nil {
		return sandbox.State{}, err
	}
	defer release()
	return g.ensure(ctx, unhold)
}

// ensure is Ensure for a caller that holds the gateway.
func (g GatewayManager) ensure(ctx context.Context, unhold bool) (sandbox.State, error) {
	state, err := g.Current(ctx)
	if err != nil || state.Gateway.Status == sandbox.Running || state.Gateway.Held && !unhold {
		return state, err
	}
	settings, err := g.Homes.Settings(ctx, "")
	if err != nil {
		return state, err
	}
	if _, err := g.clear(ctx, state); err != nil {
		return state, err
	}
	port, started, err := g.started(ctx, state, settings, nil)
	for tried := []int{port}; err != nil && port != 0 && len(tried) <= maxTries && ctx.Err() == nil && (portTaken(err) || !g.Sockets.Free(port)); tried = append(tried, port) {
		port, started, err = g.started(ctx, state, settings, tried) // another program took the port first
	}
	if err != nil {
		return state, err
	}
	now := g.Clock.Now()
	return g.States.Update(ctx, func(s *sandbox.State) error {
		s.Gateway = sandbox.Gateway{ProcessID: string(started.ID), PID: started.PID, Port: port, Status: sandbox.Running, StartedAt: now, LastHealth: now}
		return nil
	})
}

const maxTries = 3

// portTaken reports whether the gateway ended because another program listens on its port, which may have ended in the meantime.
func portTaken(err error) bool {
	f := fault.From(err)
	if f == nil {
		return false
	}
	said, _ := f.Details.(map[string]string)
	return strings.Contains(said["output"], "address already in use")
}

// started starts a gateway and returns it with its port, which is none of tried, once it answers. One that does not answer is stopped.
func (g GatewayManager) started(ctx context.Context, s sandbox.State, settings sandboxport.Settings, tried []int) (int, process.State, error) {
	port, err := g.port(s, settings, tried)
	if err != nil {
		return 0, process.State{}, err
	}
	started, err := g.Processes.Start(ctx, g.Front.Spec(settings, port))
	if err != nil {
		return 0, started, sandbox.ErrGateway.WithMessage("the gateway did not start: %s", fault.From(err).Message).WithCause(err)
	}
	if err = g.await(ctx, started, port); err != nil {
		g.Processes.Stop(context.WithoutCancel(ctx), started.ID, sandbox.StopGrace) //nolint:errcheck // the reason for the failed start is what matters
	}
	return port, started, err
}

// port returns the gateway's previous port, else the one that GLOBAL_MCP_TOOL_PORT names, else the first free one (opencode contract §7), except
// those in tried.
func (g GatewayManager) port(s sandbox.State, settings sandboxport.Settings, tried []int) (int, error) {
	free := func(port int) bool { return !slices.Contains(tried, port) && g.Sockets.Free(port) }
	wished := 0
	for _, pair := range settings.Environ {
		if value, ok := strings.CutPrefix(pair, "GLOBAL_MCP_TOOL_PORT="); ok {
			wished, _ = strconv.Atoi(value) // an invalid port is ignored
		}
	}
	for _, port := range []int{s.Gateway.Port, wished} {
		if port > 0 && free(port) {
			return port, nil
		}
	}
	for port := sandbox.FirstGatewayPort; port < sandbox.FirstGatewayPort+sandbox.GatewayPorts; port++ {
		if free(port) {
			return port, nil
		}
	}
	return 0, sandbox.ErrNoPort.WithMessage("no port from %d to %d is free for the gateway", sandbox.FirstGatewayPort, sandbox.FirstGatewayPort+sandbox.GatewayPorts-1)
}

// The interval and timeout of the gateway's probes.
const (
	pause   = 100 * time.Millisecond
	patient = 10 * time.Second
)

// await probes the gateway until it answers; another program that took the port first might answer instead.
func (g GatewayManager) await(ctx context.Context, started process.State, port int) error {
	id := string(started.ID)
	limited, cancel := context.WithTimeout(ctx, patient)
	defer cancel()
	var at process.Cursor
	for {
		err := g.Front.Healthy(limited, port)
		if err == nil {
			if g.Sockets.Serves(limited, started.PID, port) {
				return nil
			}
			err = sandbox.ErrGateway.WithMessage("another program answers there")
		}
		turn, done := context.WithTimeout(limited, pause)
		chunk, watching := g.Processes.Watch(turn, process.ID(id), at)
		done()
		at = chunk.Next
		if watching != nil || chunk.Ended || limited.Err() != nil {
			return sandbox.ErrGateway.WithMessage("the gateway does not answer at port %d: %s", port, fault.From(err).Message).WithDetails(map[string]string{"output": g.Tail(context.WithoutCancel(ctx), id, 20)})
		}
	}
}
