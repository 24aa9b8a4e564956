package cli_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/countersign-dev/countersign/adapters/cli"
	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/adapters/sqlitestore"
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
	"github.com/countersign-dev/countersign/ports"
)

func TestMain(m *testing.M) { testscript.Main(m, map[string]func(){"demo": playDemo}) }

// TestScripts runs the command line over a core with a few tools that do what no real one does on demand.
func TestScripts(t *testing.T) {
	cmds := map[string]func(*testscript.TestScript, bool, []string){"callid": callID}
	testscript.Run(t, testscript.Params{Dir: "testdata/script", RequireExplicitExec: true, Cmds: cmds, Setup: func(e *testscript.Env) error {
		e.Setenv("GORACE", "atexit_sleep_ms=0") // the race detector would have every command end a second later
		return nil
	}})
}

// callID puts the first call named in a file into the variable CALL.
func callID(ts *testscript.TestScript, _ bool, args []string) {
	found := regexp.MustCompile(`call_[a-z2-7]+`).FindString(ts.ReadFile(args[0]))
	if found == "" {
		ts.Fatalf("%s names no call", args[0])
	}
	ts.Setenv("CALL", found)
}

func playDemo() {
	os.Exit(cli.Main(cli.Program{Version: "1.0", Open: openDemo}, os.Args[1:]))
}

func openDemo(env func(string) string) (command.Core, error) {
	if env("DEMO_BROKEN") != "" {
		return command.Core{}, errors.New("the inside of the machine: 0xdeadbeef")
	}
	store := storesOf(env("DEMO_HOME"))
	operator := policy.Policy{Approval: person.Approval(env("DEMO_HUMAN") != ""), Ceiling: policy.Execute, Level: policy.ExecuteWithConfirm}
	if env("DEMO_ASK") != "" {
		operator.Mode = policy.Ask
	}
	var a *app.App
	core := app.Dependencies{Clock: system.Clock{}, IDs: system.IDs{}, Tokens: system.Tokens{}, Ledger: store, Audit: store, Settings: store, Sessions: store.sessions,
		Limiter: memstore.Unlimited{}, Runs: store.runs, Owner: system.Owner{}, Log: slog.New(slog.DiscardHandler), Redact: sync.OnceValue(func() *redact.Redactor { return redact.New(redact.Options{}) })}
	ctl := control.Capability(control.Deps{Clock: core.Clock, Ledger: store, Runs: store.runs, Audit: store, Sessions: store.sessions, Settings: store, Operator: operator,
		Toolsets: func() []tool.Toolset { return a.Toolsets() }})
	a, err := app.New(core, app.Options{Policy: operator}, ctl, demo())
	if err != nil {
		return command.Core{}, err
	}
	return command.Core{App: a, Principal: policy.Principal{ID: "local", Grants: policy.All}, Root: ".", Close: func() error { return errors.Join(a.Close(context.Background()), store.close()) }}, nil
}

// stores is what the demo keeps: in memory, or in a directory that several commands share.
type stores struct {
	ports.ApprovalStore
	kept
	sessions ports.Sessions
	runs     ports.Runs
	close    func() error
}

type kept interface {
	ports.AuditLog
	ports.SettingsStore
}

func storesOf(dir string) stores {
	if dir == "" {
		store := memstore.New()
		return stores{store, store, store.Sessions(), store.Runs(), func() error { return nil }}
	}
	store := sqlitestore.Open(filepath.Join(dir, "demo.db"))
	return stores{sqlitestore.NewLedger(store), store, store.Sessions(), sqlitestore.NewRuns(store), store.Close}
}

type input struct {
	Name string `json:"name,omitempty"`
}

// plan is to wipe something, whose name has to be typed.
type plan struct {
	Wipe string `json:"wipe"`
}

func (p plan) Hash() canon.Hash { return canon.SumBytes("demo", []byte(p.Wipe)) }
func (p plan) Target() string   { return p.Wipe }
func (p plan) Prompt() string   { return "wipe " + p.Wipe + "\x1b[2J for good" }

func demo() tool.Capability {
	spec := func(class policy.Class, effects policy.Effects, strength policy.Strength) tool.Spec {
		return tool.Spec{Title: "Demo", Description: "A tool for tests. It has more to say.", Class: class, Effects: effects, Confirm: strength}
	}
	query := func(name string, run func(context.Context, tool.Scope, input) (any, error)) tool.Entry {
		return bind.Query(tool.Ref[input, any]{Name: tool.Name(name)}, spec(policy.ClassRead, policy.Read, policy.None), run)
	}
	return tool.Capability{Name: "demo", Contract: control.Contract, Mode: policy.Execute, Entries: []tool.Entry{
		bind.Command(tool.Ref[input, any]{Name: "wipe"}, spec(policy.ClassDangerous, policy.Delete, policy.Typed),
			func(_ context.Context, _ tool.Scope, in input) (plan, error) { return plan{in.Name}, nil },
			func(_ context.Context, _ tool.Scope, p plan) (any, error) {
				return map[string]string{"wiped": p.Wipe}, nil
			}),
		query("panics", func(context.Context, tool.Scope, input) (any, error) { panic("0xdeadbeef") }),
		query("fails", func(context.Context, tool.Scope, input) (any, error) { return nil, errors.New("0xdeadbeef") }),
		query("steps", func(_ context.Context, s tool.Scope, _ input) (any, error) {
			for i := range int64(3) {
				s.Progress(tool.Progress{Done: i + 1, Total: 3, Message: "step"})
			}
			return tool.Text("done\x1b[2J\n"), nil
		}),
		query("late", func(ctx context.Context, _ tool.Scope, _ input) (any, error) {
			ctx, cancel := context.WithTimeout(ctx, time.Millisecond)
			defer cancel()
			<-ctx.Done()
			return nil, ctx.Err()
		}),
	}}
}
