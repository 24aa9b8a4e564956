package chat_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/chat"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/control"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/owner"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/redact"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
	"github.com/countersign-dev/countersign/internal/testkit/memstore"
)

// fixture is the core over in-memory stores with a few tools of the contract: one project with scripts.
type fixture struct {
	*app.App
	clock  *clock.Fake
	store  *memstore.Store
	script atomic.Value // the text of every script
	ran    atomic.Int64
	hold   chan struct{} // a script runs until it can be received from; nil does not
}

type listIn struct {
	Query string `json:"query,omitempty"`
}

type scriptIn struct {
	Script  string `json:"script_name" jsonschema:"enum=build,enum=wipe,enum=fail"`
	Project string `json:"project_path" jsonschema:"description=the project's absolute path"`
}

type hookIn struct {
	Webhook string         `json:"webhook_id"`
	Payload map[string]any `json:"payload,omitempty" jsonschema:"description=what is sent"`
	Retries int            `json:"retries,omitempty" jsonschema:"minimum=0,maximum=5"`
}

type scriptPlan struct {
	Script  string            `json:"script"`
	Context map[string]string `json:"context"`
}

func (p scriptPlan) Hash() canon.Hash {
	h, err := canon.Sum("test.plan.v1", p)
	if err != nil {
		panic(err)
	}
	return h
}

func (p scriptPlan) Prompt() string { return "run " + p.Script }
func (p scriptPlan) Target() string { return "shop" }

func (p scriptPlan) Assessment() policy.Assessment {
	if p.Script == "wipe" {
		return policy.Assessment{Strength: policy.Typed, Risk: policy.RiskHigh}
	}
	return policy.Assessment{}
}

func (s *fixture) prepare(_ context.Context, _ tool.Scope, in scriptIn) (scriptPlan, error) {
	return scriptPlan{Script: in.Script, Context: map[string]string{"command": s.script.Load().(string), "cwd": in.Project}}, nil
}

func (s *fixture) commit(ctx context.Context, sc tool.Scope, p scriptPlan) (map[string]any, error) {
	s.ran.Add(1)
	sc.Progress(tool.Progress{Done: 1, Total: 1, Message: "ran"})
	if s.hold != nil {
		select {
		case <-s.hold:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if p.Script == "fail" {
		return nil, fault.New(fault.State, "execution_failed", "fail ended with exit code 2").WithDetails(map[string]any{"exitCode": 2, "stderr": "boom"})
	}
	return map[string]any{"success": true, "script": p.Script, "stdout": "done"}, nil
}

func (s *fixture) capability() tool.Capability {
	spec := func(description, category string, class policy.Class, effects policy.Effects) tool.Spec {
		out := tool.Spec{Title: category, Description: description, Category: category, Class: class, Effects: effects}
		if class > policy.ClassRead {
			out.Confirm, out.Risk = policy.Simple, policy.RiskMedium
		}
		return out
	}
	read := func(name string, run func(context.Context, tool.Scope, listIn) (map[string]any, error)) tool.Entry {
		return bind.Query(tool.Ref[listIn, map[string]any]{Name: tool.Name(name)}, spec("Lists registered projects.", "Project Management", policy.ClassRead, policy.Read), run)
	}
	return tool.Capability{Name: "projects", Contract: present.Packageflow, Mode: policy.Execute, Entries: []tool.Entry{
		read("list_projects", func(_ context.Context, _ tool.Scope, in listIn) (map[string]any, error) {
			return map[string]any{"projects": []string{"shop"}, "total": 1, "query": in.Query}, nil
		}),
		bind.Query(tool.Ref[struct{}, map[string]any]{Name: "list_background_processes"}, spec("Lists processes.", "Background Processes", policy.ClassRead, policy.Read),
			func(context.Context, tool.Scope, struct{}) (map[string]any, error) { return nil, fault.ErrUnavailable }),
		bind.Command(tool.Ref[scriptIn, map[string]any]{Name: "run_script"}, spec("Runs a script of a project.", "NPM/Package Scripts", policy.ClassWrite, policy.Read|policy.Exec),
			s.prepare, s.commit),
		bind.Direct(tool.Ref[hookIn, map[string]any]{Name: "trigger_webhook"}, spec("Calls a webhook.", "MCP Actions", policy.ClassWrite, policy.Write|policy.Network),
			func(_ context.Context, _ tool.Scope, in hookIn) (map[string]any, error) {
				return map[string]any{"sent": in.Webhook}, nil
			}),
	}}
}

type alone struct{}

func (alone) Self() string               { return "test" }
func (alone) Judge(string) owner.Verdict { return owner.Alive }
func (alone) Elsewhere(string) string    { return "" }

var me = policy.Principal{ID: "me", Grants: policy.All}

// open returns the core of a fixture.
func open(t *testing.T, change ...func(*app.Options)) *fixture {
	t.Helper()
	s := &fixture{clock: &clock.Fake{}, store: memstore.New()}
	s.script.Store("vite build")
	opts := app.Options{Policy: policy.Policy{Approval: policy.ApprovalCaller, Ceiling: policy.Execute, Level: policy.ExecuteWithConfirm}}
	for _, f := range change {
		f(&opts)
	}
	core := app.Dependencies{Clock: s.clock, IDs: system.IDs{}, Tokens: system.Tokens{}, Ledger: s.store, Audit: s.store, Settings: s.store,
		Sessions: s.store.Sessions(), Limiter: memstore.Unlimited{}, Runs: s.store.Runs(), Owner: alone{}, Log: slog.New(slog.DiscardHandler),
		Redact: sync.OnceValue(func() *redact.Redactor { return redact.New(redact.Options{}) })}
	ctl := control.Capability(control.Deps{Clock: s.clock, Ledger: s.store, Audit: s.store, Sessions: s.store.Sessions(), Settings: s.store,
		Operator: opts.Policy, Toolsets: func() []tool.Toolset { return s.Toolsets() }})
	var err error
	s.App, err = app.New(core, opts, ctl, s.capability())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.App.Close(context.Background())) })
	return s
}

// chat returns a conversation in the fixture.
func (s *fixture) chat(t *testing.T, change ...func(*chat.Options)) *chat.Handler {
	t.Helper()
	o := chat.Options{Principal: me, Client: "host 1", Now: s.clock.Now}
	for _, f := range change {
		f(&o)
	}
	h, err := chat.New(s.App, o)
	require.NoError(t, err)
	return h
}

// build returns a call that the user has to agree to.
func build(id string) chat.Call {
	return chat.Call{ID: id, Name: "run_script", Arguments: json.RawMessage(`{"script_name":"build","project_path":"/w/shop"}`)}
}

func script(id, name string) chat.Call {
	return chat.Call{ID: id, Name: "run_script", Arguments: json.RawMessage(`{"script_name":"` + name + `","project_path":"/w/shop"}`)}
}
