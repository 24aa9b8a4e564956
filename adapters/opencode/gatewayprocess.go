package opencode

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// TokenVariable is the variable that the gateway's bearer token is in, for it is to stand in no argument (opencode contract §10).
const TokenVariable = "MCP_BEARER_TOKEN"

// healthTimeout bounds one question after the gateway's health.
const healthTimeout = 2 * time.Second

// GatewayProcess is a sandboxport.GatewayLauncher: how the gateway is started as a process, and asked whether it is well.
type GatewayProcess struct {
	Command []string          // program and arguments before --port and --servers-config
	Table   string            // path of the table of servers
	Dir     string            // where it runs; empty is /
	Log     string            // path of its log
	Env     map[string]string // what it needs besides what every program gets: where things are
}

// Spec is sandboxport.GatewayLauncher.
func (f GatewayProcess) Spec(s sandboxport.Settings, port int) process.Spec {
	env, secrets := process.ChildEnvironment(s.Environ, nil, nil, nil)
	maps.Copy(env, f.Env)
	env[TokenVariable] = s.GatewayToken
	dir := f.Dir
	if dir == "" {
		dir = "/"
	}
	argv := append(append([]string{}, f.Command...), "--port", strconv.Itoa(port), "--servers-config", f.Table)
	return process.Spec{Argv: argv, Dir: dir, Env: env, Log: f.Log, Secrets: append(secrets, s.GatewayToken, s.Password),
		Labels: map[string]string{"kind": "gateway", "port": strconv.Itoa(port)}}
}

// Healthy is sandboxport.GatewayLauncher.
func (f GatewayProcess) Healthy(ctx context.Context, port int) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	at := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at+"/health", nil)
	if err != nil {
		return sandbox.ErrGateway.WithCause(err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return sandbox.ErrGateway.WithMessage("no gateway answers at %s", at).WithCause(err)
	}
	defer resp.Body.Close()
	var health struct{ Status string }
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<10)).Decode(&health); err != nil || resp.StatusCode != http.StatusOK || health.Status != "ok" {
		return sandbox.ErrGateway.WithMessage("the server at %s (HTTP %d) is not a gateway", at, resp.StatusCode)
	}
	return nil
}
