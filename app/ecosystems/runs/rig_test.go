package runs_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testkit/resultschema"

	"github.com/countersign-dev/countersign/adapters/ecosystemfile"
	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/app"
	appruns "github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/redact"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/memstore"
)

type args = map[string]any

// rig is a workspace with an ecosystem, a core with the tools about runs, and what carries runs out: here, when the test says so.
type rig struct {
	*app.App
	t     *testing.T
	root  string
	deps  appruns.QueueDeps
	store *memstore.Store
	woken []string
}

func newRig(t *testing.T, names ...string) *rig {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	r := &rig{t: t, root: root}
	home := t.TempDir()
	env := map[string]string{"AMOF_WORKSPACE_ROOT": root, "AMOF_HOME": filepath.Join(home, "amof")}
	files := ecosystemfile.New(ecosystemfile.Options{Env: func(name string) string { return env[name] }, Home: home, Dir: root, Clock: system.Clock{}})
	var mu sync.Mutex
	workers := ecosystemfile.NewWorkers(ecosystemfile.WorkerOptions{Dir: files.WorkerDir, Command: []string{"worker"}, Start: func(_ context.Context, argv []string, _ string) error {
		mu.Lock()
		defer mu.Unlock()
		r.woken = append(r.woken, argv[len(argv)-1])
		return nil
	}})
	runs := files.Runs()
	r.store = memstore.New()
	r.deps = appruns.QueueDeps{Watch: ecosystemfile.NewWatch(runs), Server: ecosystemfile.NewControlPlane("1.2.3", system.Clock{}), Audit: r.store,
		Deps: appruns.Deps{Places: files, Manifests: files, States: files.States(), Runs: runs, Workers: workers, Sessions: r.store.Sessions(), Owner: system.Owner{},
			Clock: system.Clock{}, UUIDs: system.IDs{}}}
	for _, name := range names {
		l, err := files.Layout(t.Context(), root, name)
		require.NoError(t, err)
		_, err = files.Create(t.Context(), l, ecosystem.Draft{Name: name, Repos: []ecosystem.Repo{{Name: "api", URL: "/srv/api", Branch: "main"}}})
		require.NoError(t, err)
	}
	r.serve()
	return r
}

// serve opens the tools anew, for what the test has changed in deps.
func (r *rig) serve() {
	r.t.Helper()
	store := r.store
	core := app.Dependencies{Clock: system.Clock{}, IDs: system.IDs{}, Tokens: system.Tokens{}, Ledger: store, Audit: store, Settings: store, Sessions: store.Sessions(),
		Limiter: memstore.Unlimited{}, Runs: store.Runs(), Owner: system.Owner{}, Log: slog.New(slog.DiscardHandler),
		Redact: sync.OnceValue(func() *redact.Redactor { return redact.New(redact.Options{}) })}
	opened, err := app.New(core, app.Options{Policy: policy.Policy{Approval: policy.ApprovalCaller, Ceiling: policy.Execute, Level: policy.FullAccess}},
		tool.Capability{Name: "ecosystems", Contract: "amof.v1", Mode: policy.Execute, Entries: appruns.Entries(r.deps)})
	require.NoError(r.t, err)
	r.App = opened
	r.t.Cleanup(func() { require.NoError(r.t, opened.Close(context.Background())) })
}

// queue puts a run of that action on record, confirmed from these facts.
func (r *rig) queue(name, action string, facts any) string {
	r.t.Helper()
	f, err := r.deps.FindAt(r.t.Context(), r.root, name)
	require.NoError(r.t, err)
	p, err := appruns.Plan{Tool: "amof_" + tool.Name(action), Action: action, Facts: facts, Payload: []byte(`{}`)}.Sealed(f)
	require.NoError(r.t, err)
	call := system.IDs{}.NewUUID()
	require.NoError(r.t, r.store.Append(r.t.Context(), audit.Event{Phase: audit.Intent, CallID: call, Plan: p.Hash()}))
	queued, err := r.deps.Enqueue(r.t.Context(), tool.Scope{Session: "s1", CallID: call}, p)
	require.NoError(r.t, err)
	return queued.RunID
}

func (r *rig) worker(performers ...appruns.Performer) appruns.Worker {
	return appruns.Worker{QueueDeps: r.deps, Performers: performers}
}

// drain carries out what is queued with these performers.
func (r *rig) drain(name string, performers ...appruns.Performer) {
	r.t.Helper()
	require.NoError(r.t, r.worker(performers...).Drain(r.t.Context(), r.root, name))
}

func (r *rig) load(id string) ecosystem.Run {
	r.t.Helper()
	run, err := r.deps.Runs.Load(r.t.Context(), id)
	require.NoError(r.t, err)
	return run
}

// call returns a call that has to succeed.
func (r *rig) call(name string, in args) args {
	r.t.Helper()
	o := r.try(name, in)
	require.NoError(r.t, o.Err)
	out := args{}
	require.NoError(r.t, json.Unmarshal(o.Value, &out))
	return out
}

func (r *rig) try(name string, in args) tool.Outcome {
	r.t.Helper()
	doc, err := json.Marshal(in)
	require.NoError(r.t, err)
	return resultschema.Checked(r.t, r.Call(r.t.Context(), tool.Call{Tool: tool.Name(name), Args: doc, Session: "s1", Principal: policy.Principal{ID: "me", Grants: policy.All}}))
}

// doing performs with do; what it was confirmed from is facts.
func doing(action string, facts any, do func(context.Context, appruns.Job) (any, error)) appruns.Performer {
	return appruns.Performer{Action: action, Do: do, Facts: func(context.Context, appruns.Ecosystem, json.RawMessage) (any, error) { return facts, nil }}
}
