package events_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/countersign-dev/countersign/adapters/httpapi/events"
	"github.com/countersign-dev/countersign/adapters/local"
	"github.com/countersign-dev/countersign/adapters/sqlitestore"
	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/redact"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
	"github.com/countersign-dev/countersign/internal/testkit/memstore"
	"github.com/countersign-dev/countersign/internal/testkit/nopolicy"
	"github.com/countersign-dev/countersign/internal/testkit/person"
	"github.com/countersign-dev/countersign/internal/testkit/projectrig"
)

// asAgent is the word by which a test program is started as an agent's server.
const asAgent = "feed-agent"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == asAgent {
		if err := playAgent(os.Args[2], os.Args[3:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	projectrig.Main(func() int {
		code := m.Run()
		if err := goleak.Find(); code == 0 && err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
		return code
	})
}

func config(home string) local.Config {
	c := local.Config{Trust: nopolicy.Trust(home), Dir: home, Options: person.ByCaller(local.Defaults()), Toolsets: []string{"projects"}, Packs: local.Packs{Root: filepath.Join(home, "packs"), Source: home},
		Projects: local.Projects{Home: home}}
	c.Options.Policy.Approval = policy.ApprovalHuman
	return c
}

// agent is the caller in this machine's other process.
func agent(name, args string) tool.Call {
	return tool.Call{Session: "agent", Client: "agent/1", Principal: policy.Principal{ID: "local", Grants: policy.All}, Tool: tool.Name(name), Args: json.RawMessage(args)}
}

// playAgent is a process that opens the state in that home and makes a call whenever it is told one on its standard input: a tool and its arguments.
func playAgent(home string, _ []string) error {
	l, err := local.Open(config(home))
	if err != nil {
		return err
	}
	defer l.Close()
	fmt.Println("ready")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		name, args, _ := strings.Cut(in.Text(), " ")
		o := l.Call(context.Background(), agent(name, args))
		fmt.Println(o.CallID)
	}
	return nil
}

// elsewhere is such a process; the function has it make a call, and returns the call's id.
func elsewhere(t *testing.T, home string) func(name, args string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], asAgent, home)
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(out)
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	require.True(t, lines.Scan(), "the other process says that it is ready")
	return func(name, args string) string {
		_, err := fmt.Fprintln(in, name, args)
		require.NoError(t, err)
		require.True(t, lines.Scan())
		return lines.Text()
	}
}

// fixture is a core over a database of its own, with tools that do what a test asks of them.
type fixture struct {
	*app.App
	path  string
	store *sqlitestore.Store
	clock *clock.Fake
	reads atomic.Int64 // looks whether anything has changed
}

type target struct {
	Name string `json:"name"`
}

// wiping is a plan.
type wiping struct {
	Wipe string `json:"wipe"`
}

func (w wiping) Hash() canon.Hash { return canon.SumBytes("test.wiping", []byte(w.Wipe)) }
func (w wiping) Prompt() string   { return "wipe " + w.Wipe }

var errStuck = fault.New(fault.State, "test_stuck", "it is stuck")

// newDepot returns a depot whose clock stands at the present. Its home may be shared.
func newDepot(t testing.TB, home string) *fixture {
	t.Helper()
	d := &fixture{path: filepath.Join(home, "countersign.db"), clock: &clock.Fake{}}
	d.clock.Set(time.Now())
	store := sqlitestore.Open(d.path)
	d.store = store
	plan := func(_ context.Context, _ tool.Scope, in target) (wiping, error) { return wiping{in.Name}, nil }
	spec := func(s policy.Strength) tool.Spec {
		return tool.Spec{Title: "Wipe", Description: "Wipes what is named.", Class: policy.ClassWrite, Effects: policy.Read | policy.Write, Confirm: s, Risk: policy.RiskMedium}
	}
	entries := []tool.Entry{
		bind.Query(tool.Ref[target, target]{Name: "look"}, tool.Spec{Title: "Look", Description: "Looks.", Class: policy.ClassRead, Effects: policy.Read},
			func(_ context.Context, _ tool.Scope, in target) (target, error) { return in, nil }),
		bind.Command(tool.Ref[target, tool.Text]{Name: "wipe"}, spec(policy.Preview), plan, func(_ context.Context, _ tool.Scope, p wiping) (tool.Text, error) {
			if p.Wipe == "stuck" {
				return "", errStuck
			}
			return tool.Text("wiped " + p.Wipe), nil
		}),
		bind.Command(tool.Ref[target, tool.Text]{Name: "write"}, spec(policy.None), plan, func(_ context.Context, _ tool.Scope, p wiping) (tool.Text, error) {
			return tool.Text(p.Wipe), nil
		}),
	}
	core := app.Dependencies{Clock: d.clock, IDs: system.IDs{}, Tokens: system.Tokens{}, Ledger: sqlitestore.NewLedger(store), Audit: store, Settings: store, Sessions: store.Sessions(),
		Runs: sqlitestore.NewRuns(store), Owner: system.Owner{}, Limiter: memstore.Unlimited{}, Log: slog.New(slog.DiscardHandler),
		Redact: func() *redact.Redactor { return redact.New(redact.Options{}) }}
	var err error
	d.App, err = app.New(core, app.Options{Policy: policy.Policy{Ceiling: policy.Execute, Level: policy.ExecuteWithConfirm}},
		tool.Capability{Name: "depot", Contract: "countersign.v1", Mode: policy.Execute, Entries: entries})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, d.Close(context.Background()))
		require.NoError(t, store.Close())
	})
	return d
}

// ChangeCounter counts who asks.
func (d *fixture) ChangeCounter(ctx context.Context) (int64, error) {
	d.reads.Add(1)
	return d.App.ChangeCounter(ctx)
}

func (d *fixture) do(t testing.TB, name, what string) tool.Outcome {
	t.Helper()
	args, err := json.Marshal(target{what})
	require.NoError(t, err)
	return d.Call(t.Context(), agent(name, string(args)))
}

// approve answers the only question there is.
func (d *fixture) answer(t testing.TB, yes bool) {
	t.Helper()
	views, err := d.Confirmations(t.Context(), "")
	require.NoError(t, err)
	require.NotEmpty(t, views)
	_, err = d.Answer(t.Context(), confirm.Decision{ID: views[len(views)-1].ID, Approve: yes, Reason: "not now", By: "terminal", Proof: person.AtTerminal})
	require.NoError(t, err)
}

// ear is a subscription.
type ear struct {
	t      testing.TB
	events <-chan events.Event
	leave  context.CancelFunc
}

// listen returns a subscription until the test ends.
func listen(t testing.TB, hub *events.Hub, f events.Filter) *ear {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	e := &ear{t, hub.Subscribe(ctx, f), cancel}
	t.Cleanup(func() {
		cancel()
		for range e.events { // until it is closed
		}
	})
	return e
}

func newHub(t testing.TB, source events.Source) *events.Hub {
	hub := events.NewHub(source, nil)
	t.Cleanup(hub.Close)
	return hub
}

// next returns the next event.
func (e *ear) next() events.Event {
	e.t.Helper()
	select {
	case event, more := <-e.events:
		require.True(e.t, more, "the subscription goes on")
		return event
	case <-time.After(time.Minute):
		require.Fail(e.t, "nothing is heard")
	}
	return events.Event{}
}

// until returns the next event of that kind, after which what stood before it is forgotten.
func (e *ear) until(kind string) events.Event {
	e.t.Helper()
	for {
		if event := e.next(); event.Kind == kind {
			return event
		}
	}
}

// quiet requires that nothing is heard for a while.
func (e *ear) quiet(while time.Duration) {
	e.t.Helper()
	select {
	case event := <-e.events:
		require.Fail(e.t, "this is heard: "+event.Kind+" "+string(event.Data))
	case <-time.After(while):
	}
}

// data returns an event's payload.
func data(t testing.TB, e events.Event) map[string]any {
	t.Helper()
	var out map[string]any
	require.NoError(t, json.Unmarshal(e.Data, &out), string(e.Data))
	require.NotContains(t, string(e.Data), "\n")
	return out
}
