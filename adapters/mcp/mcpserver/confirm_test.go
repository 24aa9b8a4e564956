package mcpserver_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/countersign-dev/countersign/adapters/mcp/mcpserver"
	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/control"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/redact"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/memstore"
	"github.com/countersign-dev/countersign/internal/testkit/person"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type target struct {
	Name string `json:"name"`
}

// razing is a plan that makes the user type a name.
type razing struct {
	Raze string `json:"raze"`
}

func (r razing) Hash() canon.Hash { return canon.SumBytes("razing.v1", []byte(r.Raze)) }
func (r razing) Target() string   { return r.Raze }
func (r razing) Prompt() string   { return "raze " + r.Raze + " to the ground" }

// fixture is a real core with things to destroy.
type fixture struct {
	*app.App
	store *memstore.Store
	razed atomic.Int64
}

func newTown(t testing.TB, humanOnly bool) *fixture {
	return newTownOver(t, humanOnly, func(*app.Dependencies) {})
}

// newTownOver returns a town over other parts than stores in memory.
func newTownOver(t testing.TB, humanOnly bool, change func(*app.Dependencies)) *fixture {
	w := &fixture{store: memstore.New()}
	raze := func(_ context.Context, _ tool.Scope, r razing) (razing, error) {
		w.razed.Add(1)
		return r, nil
	}
	plan := func(_ context.Context, _ tool.Scope, in target) (razing, error) { return razing{Raze: in.Name}, nil }
	spec := func(s policy.Strength) tool.Spec {
		return tool.Spec{Title: "T", Description: "D.", Class: policy.ClassDangerous, Effects: policy.Read | policy.Delete, Confirm: s}
	}
	entries := []tool.Entry{
		bind.Query(tool.Ref[target, target]{Name: "look"}, tool.Spec{Title: "L", Description: "D.", Class: policy.ClassRead, Effects: policy.Read},
			func(_ context.Context, _ tool.Scope, in target) (target, error) { return in, nil }),
		bind.Command(tool.Ref[target, razing]{Name: "wipe"}, spec(policy.Preview), plan, raze),
		bind.Command(tool.Ref[target, razing]{Name: "raze"}, spec(policy.Typed), plan, raze),
		bind.Command(tool.Ref[target, razing]{Name: "blast"}, risky(spec(policy.Simple)), plan, raze),
	}
	core := app.Dependencies{
		Bell: system.NewBell("", nil), Clock: system.Clock{}, IDs: system.IDs{}, Tokens: system.Tokens{}, Ledger: w.store, Audit: w.store, Settings: w.store,
		Sessions: w.store.Sessions(), Limiter: memstore.Unlimited{}, Runs: w.store.Runs(), Owner: system.Owner{}, Log: slog.New(slog.DiscardHandler),
		Redact: func() *redact.Redactor { return redact.New(redact.Options{}) },
	}
	change(&core)
	var err error
	p := policy.Policy{Approval: person.Approval(humanOnly), Ceiling: policy.Execute, Level: policy.ExecuteWithConfirm}
	w.App, err = app.New(core, app.Options{Policy: p}, control.Capability(control.Deps{Clock: core.Clock, Ledger: core.Ledger, Bell: core.Bell, Runs: core.Runs,
		Audit: core.Audit, Sessions: core.Sessions, Settings: core.Settings, Operator: p, Toolsets: func() []tool.Toolset { return w.Toolsets() }}), tool.Capability{Name: "town", Contract: "countersign.v1", Mode: policy.Execute, Entries: entries})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, w.Close(context.Background())) })
	return w
}

func risky(s tool.Spec) tool.Spec {
	s.Risk = policy.RiskHigh
	return s
}

// serve runs a server on pipes until the test ends.
func serve(t testing.TB, core mcpserver.Core, change func(*mcpserver.Options)) (io.ReadCloser, io.WriteCloser) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	o := mcpserver.Options{Version: "1", Session: "s1", Principal: policy.Principal{ID: "tester", Grants: policy.All}}
	if change != nil {
		change(&o)
	}
	s := mcpserver.New(ctx, core, o)
	over := make(chan struct{})
	go func() {
		defer close(over)
		assert.NoError(t, s.ServeStdio(inRead, outWrite, 0))
		_ = outWrite.Close()
	}()
	t.Cleanup(func() {
		_ = inWrite.Close()
		cancel()
		<-over
	})
	return outRead, inWrite
}

// serveOnce runs a server with the demo tools on pipes for one session.
func serveOnce(t testing.TB) (io.WriteCloser, io.Reader, <-chan struct{}) {
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	over := make(chan struct{})
	go func() {
		defer close(over)
		assert.NoError(t, mcpserver.New(context.Background(), newDemo(), mcpserver.Options{}).ServeStdio(inRead, outWrite, 0))
		_ = outWrite.Close()
	}()
	return inWrite, outRead, over
}

// connect returns the SDK's own client at a protocol revision, answering forms with answer; nil shows none.
func connect(t testing.TB, core mcpserver.Core, version string, change func(*mcpserver.Options), answer func(*mcp.ElicitParams) *mcp.ElicitResult) *mcp.ClientSession {
	t.Helper()
	r, w := serve(t, core, change)
	o := &mcp.ClientOptions{}
	if answer != nil {
		o.ElicitationHandler = func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return answer(req.Params), nil
		}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "9"}, o)
	session, err := client.Connect(context.Background(), &mcp.IOTransport{Reader: r, Writer: w}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return session
}

var eras = []string{"2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28"}

func call(t testing.TB, s *mcp.ClientSession, name string, args any) *mcp.CallToolResult {
	t.Helper()
	r, err := s.CallTool(context.Background(), &mcp.CallToolParams{Name: name, Arguments: args})
	require.NoError(t, err)
	return r
}

func text(r *mcp.CallToolResult) string { return r.Content[0].(*mcp.TextContent).Text }

// A client without forms gets the token, and repeats the call with it; under approval: human it gets none.
func TestTokensWhereTheClientHasNoForms(t *testing.T) {
	for _, era := range eras {
		w := newTown(t, false)
		s := connect(t, w, era, nil, nil)
		r := call(t, s, "wipe", map[string]any{"name": "x"})
		require.True(t, r.IsError)
		token := findToken(t, text(r))
		require.NotEmpty(t, token, text(r))
		r = call(t, s, "wipe", map[string]any{"name": "x", "confirm_token": token})
		assert.False(t, r.IsError, text(r))
		assert.EqualValues(t, 1, w.razed.Load())

		w = newTown(t, true)
		s = connect(t, w, era, nil, nil)
		r = call(t, s, "wipe", map[string]any{"name": "x"})
		assert.True(t, r.IsError)
		assert.Empty(t, findToken(t, text(r)))
	}
}

// findToken finds confirm_token anywhere in a JSON document.
func findToken(t *testing.T, doc string) string {
	var v any
	require.NoError(t, json.Unmarshal([]byte(doc), &v), doc)
	var find func(any) string
	find = func(v any) string {
		m, ok := v.(map[string]any)
		if !ok {
			return ""
		}
		if s, ok := m["confirm_token"].(string); ok {
			return s
		}
		for _, x := range m {
			if s := find(x); s != "" {
				return s
			}
		}
		return ""
	}
	return find(v)
}
