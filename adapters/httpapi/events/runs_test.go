package events_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/ecosystemfile"
	"github.com/countersign-dev/countersign/adapters/httpapi/events"
	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/app"
	appruns "github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/redact"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/ecosystemrig"
	"github.com/countersign-dev/countersign/internal/testkit/memstore"
)

// workshop is a workspace with one ecosystem and a core with the tools about runs, which are carried out when a test says so.
type workshop struct {
	*app.App
	root string
	deps appruns.QueueDeps
}

func newWorkshop(t *testing.T) *workshop {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	env := map[string]string{"AMOF_WORKSPACE_ROOT": root, "AMOF_HOME": filepath.Join(root, "amof")}
	files := ecosystemfile.New(ecosystemfile.Options{Env: func(name string) string { return env[name] }, Home: root, Dir: root, Clock: system.Clock{}})
	workers := ecosystemfile.NewWorkers(ecosystemfile.WorkerOptions{Dir: files.WorkerDir, Command: []string{"worker"}, Start: func(context.Context, []string, string) error { return nil }})
	store, runs := memstore.New(), files.Runs()
	w := &workshop{root: root, deps: appruns.QueueDeps{Watch: ecosystemfile.NewWatch(runs), Server: ecosystemfile.NewControlPlane("1", system.Clock{}), Audit: ecosystemrig.Known{Runs: runs},
		Deps: appruns.Deps{Places: files, Manifests: files, States: files.States(), Runs: runs, Workers: workers, Sessions: store.Sessions(), Owner: system.Owner{},
			Clock: system.Clock{}, UUIDs: system.IDs{}}}}
	l, err := files.Layout(t.Context(), root, "demo")
	require.NoError(t, err)
	_, err = files.Create(t.Context(), l, ecosystem.Draft{Name: "demo", Repos: []ecosystem.Repo{{Name: "api", URL: "/srv/api", Branch: "main"}}})
	require.NoError(t, err)
	core := app.Dependencies{Clock: system.Clock{}, IDs: system.IDs{}, Tokens: system.Tokens{}, Ledger: store, Audit: store, Settings: store, Sessions: store.Sessions(),
		Limiter: memstore.Unlimited{}, Runs: store.Runs(), Owner: system.Owner{}, Log: slog.New(slog.DiscardHandler),
		Redact: func() *redact.Redactor { return redact.New(redact.Options{}) }}
	w.App, err = app.New(core, app.Options{Policy: policy.Policy{Approval: policy.ApprovalCaller, Ceiling: policy.Execute, Level: policy.FullAccess}},
		tool.Capability{Name: "ecosystems", Contract: "amof.v1", Mode: policy.Execute, Entries: appruns.Entries(w.deps)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close(context.Background())) })
	return w
}

func (w *workshop) ask(ctx context.Context, name tool.Name, args json.RawMessage) tool.Outcome {
	return w.Call(ctx, tool.Call{Tool: name, Args: args, Session: "s1", Principal: policy.Principal{ID: "me", Grants: policy.All}})
}

// queue puts a run on record.
func (w *workshop) queue(t *testing.T) string {
	t.Helper()
	f, err := w.deps.FindAt(t.Context(), w.root, "demo")
	require.NoError(t, err)
	p, err := appruns.Plan{Tool: "amof_install", Action: "install", Facts: 1, Payload: []byte(`{}`)}.Sealed(f)
	require.NoError(t, err)
	queued, err := w.deps.Enqueue(t.Context(), tool.Scope{Session: "s1", CallID: "c1"}, p)
	require.NoError(t, err)
	return queued.RunID
}

// TestARun is heard from the queue to its end, with what it said.
func TestARun(t *testing.T) {
	w := newWorkshop(t)
	first := w.queue(t)
	all := overhear(t, events.TopicWatcher{Ask: w.ask, Runs: true})
	one := overhear(t, events.TopicWatcher{Ask: w.ask, Run: first})
	kind, p := all.next()
	assert.Equal(t, events.TopicRunProgress, kind)
	assert.Equal(t, map[string]any{"runId": first, "ecosystem": "demo", "action": "install", "status": "queued", "position": 1.0, "truncated": false}, p)
	go func() {
		_ = appruns.Worker{QueueDeps: w.deps, Performers: []appruns.Performer{{Action: "install",
			Facts: func(context.Context, appruns.Ecosystem, json.RawMessage) (any, error) { return 1, nil },
			Do: func(_ context.Context, job appruns.Job) (any, error) {
				job.Log("info", "first word")
				job.Log("warning", strings.Repeat("long ", 4000))
				return map[string]any{}, nil
			}}}}.Drain(context.Background(), w.root, "demo")
	}()
	var said []string
	var last map[string]any
	for last == nil || last["status"] != "success" {
		_, last = one.next()
		assert.Equal(t, first, last["runId"])
		events, _ := last["events"].([]any)
		for _, e := range events {
			said = append(said, e.(map[string]any)["message"].(string))
		}
	}
	text := strings.Join(said, "\n")
	assert.Contains(t, text, "first word")
	assert.Contains(t, text, "long long")
	for p["status"] != "success" {
		_, p = all.next()
	}
	assert.EqualValues(t, 0, p["exitCode"])
}
