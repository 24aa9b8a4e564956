// Package consoletest provides a core for tests of the console's pages: a real database, which several cores may share as processes do, a small capability of
// notes in real files, and a web server with a logged-in user. It does not import the console.
package consoletest

import (
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/passkey"
	"github.com/countersign-dev/countersign/adapters/sqlitestore"
	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/control"
	"github.com/countersign-dev/countersign/domain/enrolled"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/redact"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/memstore"
	"github.com/countersign-dev/countersign/ports"
)

// TestCore is a core with the notes that it keeps.
type TestCore struct {
	*app.App
	Notes Notes
	Store *sqlitestore.Store
}

// Change changes how a core is opened.
type Change func(*app.Dependencies, *app.Options)

// At has the core believe another clock.
func At(c ports.Clock) Change { return func(core *app.Dependencies, _ *app.Options) { core.Clock = c } }

// With changes the core's options.
func With(change func(*app.Options)) Change {
	return func(_ *app.Dependencies, o *app.Options) { change(o) }
}

// Open opens a core in that directory, where users confirm. A second one there is another process.
func Open(t testing.TB, dir string, changes ...Change) *TestCore {
	t.Helper()
	store := sqlitestore.Open(filepath.Join(dir, "countersign.db"))
	opts := app.Options{Policy: policy.Policy{Ceiling: policy.Execute, Level: policy.ExecuteWithConfirm}, Version: "v0.0.0-test"}
	core := app.Dependencies{Bell: system.NewBell(filepath.Join(dir, "signals"), nil), Clock: system.Clock{}, IDs: system.IDs{}, Tokens: system.Tokens{}, Ledger: sqlitestore.NewLedger(store), Dated: sqlitestore.NewDated(store), Audit: store, Settings: store,
		Sessions: store.Sessions(), Runs: sqlitestore.NewRuns(store), Owner: system.Owner{}, Limiter: memstore.Unlimited{}, Log: slog.New(slog.DiscardHandler),
		Keys: sqlitestore.NewKeys(store), Verifiers: map[enrolled.Kind]ports.KeyVerifier{enrolled.Passkey: passkey.Verifier{}},
		Redact: sync.OnceValue(func() *redact.Redactor { return redact.New(redact.Options{}) })}
	for _, change := range changes {
		change(&core, &opts)
	}
	h := &TestCore{Store: store, Notes: Notes{Dir: filepath.Join(dir, "notes")}}
	ctl := control.Capability(control.Deps{Clock: core.Clock, Ledger: core.Ledger, Bell: core.Bell, Runs: core.Runs, Audit: store, Sessions: core.Sessions, Settings: store,
		Operator: opts.Policy, Toolsets: func() []tool.Toolset { return h.Toolsets() },
		Keys: app.NewKeyManager(app.KeyConfig{Keys: core.Keys, Audit: store, Verifiers: core.Verifiers})})
	var err error
	h.App, err = app.New(core, opts, ctl, h.Notes.capability())
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, h.App.Close(context.Background()))
		require.NoError(t, store.Close())
	})
	return h
}

// Agent is a client of the core: what an agent does through it.
type Agent struct {
	TestCore *TestCore
	Session  string
	Client   string
}

// Agent returns an agent of that session.
func (h *TestCore) Agent(session string) *Agent {
	return &Agent{TestCore: h, Session: session, Client: "claude-code/2.1 (" + session + ")"}
}

// Call makes a call, as an agent does, with arguments that marshal to an object.
func (a *Agent) Call(name string, args any) tool.Outcome {
	doc, err := json.Marshal(args)
	if err != nil {
		return tool.Outcome{Err: err}
	}
	return a.TestCore.Call(context.Background(), a.call(name, doc))
}

func (a *Agent) call(name string, args json.RawMessage) tool.Call {
	return tool.Call{Session: a.Session, Client: a.Client, Principal: policy.Principal{ID: "local", Grants: policy.All}, Tool: tool.Name(name), Args: args}
}

// Ask makes a call that has to be confirmed, and gives the id of the question.
func (a *Agent) Ask(t testing.TB, name string, args any) string {
	t.Helper()
	out := a.Call(name, args)
	require.NotNil(t, out.Request, "%s asked nothing: %v", name, out.Err)
	return out.Request.ID
}

// Waits makes a call and waits until the user has answered, as a transport does; then it says what came of it.
func (a *Agent) Waits(t testing.TB, name string, args any) <-chan tool.Outcome {
	t.Helper()
	doc, err := json.Marshal(args)
	require.NoError(t, err)
	asked := a.TestCore.Call(context.Background(), a.call(name, doc))
	require.NotNil(t, asked.Request, "%s asked nothing: %v", name, asked.Err)
	done := make(chan tool.Outcome, 1)
	stop := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		for poll := newPoll(stop); poll.wait(); {
			if waits, err := a.TestCore.ApprovalPending(context.Background(), asked.Request.ID); err == nil && !waits {
				again := a.call(name, doc)
				again.ID, again.ApprovalDigest = asked.CallID, asked.Request.Digest
				done <- a.TestCore.Call(context.Background(), again)
				return
			}
		}
	})
	t.Cleanup(func() { close(stop); wait.Wait() })
	return done
}
