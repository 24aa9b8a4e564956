package workspace_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/ecosystemfile"
	"github.com/countersign-dev/countersign/adapters/gitcli/ecogit"
	"github.com/countersign-dev/countersign/adapters/osproc"
	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/app/ecosystems/workspace"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/redact"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/ecosystemrig"
	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"
	"github.com/countersign-dev/countersign/internal/testkit/memstore"
	"github.com/countersign-dev/countersign/internal/testkit/resultschema"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

type args = map[string]any

const (
	install = "amof_install_ecosystem"
	sync9   = "amof_sync_ecosystem"
)

// patient leaves the queue to the test.
type patient struct{}

func (patient) Wake(context.Context, ecosystem.Layout) error { return nil }
func (patient) Turn(context.Context, int) (func(), error)    { return func() {}, nil }

// rig is a workspace root with the ecosystem demo, and everything real over it.
type rig struct {
	*app.App
	t       testing.TB
	top     string
	root    *gitfixture.Repo
	origins map[string]*gitfixture.Repo
	deps    workspace.InstallDeps
	worker  runs.Worker
}

// newRig has a root with one commit, and an origin for each name.
func newRig(t *testing.T, names ...string) *rig {
	t.Helper()
	r := rootOf(t)
	var text strings.Builder
	text.WriteString("name: demo\nrepos:\n")
	for _, name := range names {
		r.origins[name] = gitfixture.New(t, "first\n-- "+name+".txt --\none\n")
		fmt.Fprintf(&text, "  - {name: %s, url: %q, branch: main}\n", name, r.origins[name].Remote)
	}
	r.manifest(text.String())
	r.open()
	return r
}

// rootOf returns a rig without an ecosystem and without a core.
func rootOf(t testing.TB) *rig {
	t.Helper()
	r := &rig{t: t, top: t.TempDir(), root: gitfixture.New(t, "first\n-- README.md --\nroot\n"), origins: map[string]*gitfixture.Repo{}}
	home := filepath.Join(r.top, "home")
	require.NoError(t, os.Mkdir(home, 0o755))
	r.deps = dependencies(t, r.root.Dir, home)
	return r
}

// dependencies returns what the tools work with in that root.
func dependencies(t testing.TB, root, home string) workspace.InstallDeps {
	t.Helper()
	env := map[string]string{"AMOF_WORKSPACE_ROOT": root, "AMOF_HOME": filepath.Join(home, "amof")}
	store := ecosystemfile.New(ecosystemfile.Options{Env: func(name string) string { return env[name] }, Home: home, Dir: root, Clock: system.Clock{}, Carry: osproc.ForWork, End: func(work string) []int {
		_, _, left := osproc.ProcessTree{Mark: osproc.WorkMark(work)}.End(0)
		return left
	}})
	git := ecogit.New(ecogit.Options{Pause: 1})
	return workspace.InstallDeps{Deps: runs.Deps{Places: store, Manifests: store, States: store.States(), Runs: store.Runs(), Workers: patient{},
		Sessions: memstore.New().Sessions(), Owner: system.Owner{}, Clock: system.Clock{}, UUIDs: system.IDs{}}, Grounds: git, Clones: git.Clones(), Trash: ecogit.NewTrash(nil)}
}

func workerOf(d workspace.InstallDeps) runs.Worker {
	return runs.Worker{QueueDeps: runs.QueueDeps{Deps: d.Deps, Watch: ecosystemfile.NewWatch(d.Runs), Audit: ecosystemrig.Known{Runs: d.Runs}}, Performers: workspace.Performers(d)}
}

// open opens the core over the rig's dependencies as they are now.
func (r *rig) open() {
	r.t.Helper()
	store := memstore.New()
	r.deps.Sessions = store.Sessions()
	core := app.Dependencies{Clock: system.Clock{}, IDs: system.IDs{}, Tokens: system.Tokens{}, Ledger: store, Audit: store, Settings: store, Sessions: store.Sessions(),
		Limiter: memstore.Unlimited{}, Runs: store.Runs(), Owner: system.Owner{}, Log: slog.New(slog.DiscardHandler),
		Redact: sync.OnceValue(func() *redact.Redactor { return redact.New(redact.Options{}) })}
	var err error
	r.App, err = app.New(core, app.Options{Policy: policy.Policy{Approval: policy.ApprovalCaller, Ceiling: policy.Execute, Level: policy.ExecuteWithConfirm}},
		tool.Capability{Name: "ecosystems", Contract: "amof.v1", Mode: policy.Ask, Entries: workspace.InstallEntries(r.deps)})
	require.NoError(r.t, err)
	r.t.Cleanup(func() { require.NoError(r.t, r.Close(context.Background())) })
	r.worker = workerOf(r.deps)
}

// manifest writes demo's.
func (r *rig) manifest(text string) {
	r.t.Helper()
	dir := filepath.Join(r.root.Dir, "ecosystems", "demo")
	require.NoError(r.t, os.MkdirAll(dir, 0o755))
	require.NoError(r.t, os.WriteFile(filepath.Join(dir, "ecosystem.yaml"), []byte(text), 0o644))
}

// call returns one as an agent makes it, about demo.
func (r *rig) call(name string, mode string, a args) tool.Outcome {
	all := args{"ecosystem": "demo", "mode": mode}
	for k, v := range a {
		all[k] = v
	}
	doc, err := json.Marshal(all)
	require.NoError(r.t, err)
	return resultschema.Checked(r.t, r.Call(context.Background(), tool.Call{Session: "s", Principal: policy.Principal{ID: "me", Grants: policy.All}, Tool: tool.Name(name), Args: doc}))
}

// confirmed returns a call in execute mode, confirmed when it asks.
func (r *rig) confirmed(name string, a args) tool.Outcome {
	o := r.call(name, "execute", a)
	if o.Request == nil || o.Request.Token.IsZero() {
		return o
	}
	all := args{"confirm_token": o.Request.Token.Reveal()}
	for k, v := range a {
		all[k] = v
	}
	return r.call(name, "execute", all)
}

// queued returns the run that a call queues.
func (r *rig) queued(name string, a args) string {
	r.t.Helper()
	o := r.confirmed(name, a)
	require.NoError(r.t, o.Err)
	var q runs.QueuedRun
	require.NoError(r.t, json.Unmarshal(o.Value, &q))
	require.Equal(r.t, "queued", q.Status, string(o.Value))
	return q.RunID
}

// drain has the worker do what is queued, and is the run as it ended.
func (r *rig) drain(id string) ecosystem.Run {
	r.t.Helper()
	require.NoError(r.t, r.worker.Drain(context.Background(), r.root.Dir, "demo"))
	done, err := r.deps.Runs.Load(context.Background(), id)
	require.NoError(r.t, err)
	return done
}

// do queues and drains.
func (r *rig) do(name string, a args) ecosystem.Run { r.t.Helper(); return r.drain(r.queued(name, a)) }

// installedRig returns a rig after a successful installation.
func installedRig(t *testing.T, names ...string) *rig {
	t.Helper()
	r := newRig(t, names...)
	done := r.do(install, nil)
	require.Equal(t, ecosystem.RunSuccess, done.Status, done.Error)
	return r
}

func (r *rig) found() runs.Ecosystem {
	r.t.Helper()
	f, err := r.deps.FindAt(context.Background(), r.root.Dir, "demo")
	require.NoError(r.t, err)
	return f
}

// workspace returns a path in it.
func (r *rig) workspace(parts ...string) string {
	return filepath.Join(append([]string{r.root.Dir, "worktrees", "demo"}, parts...)...)
}

// git returns what git prints in a clone.
func (r *rig) git(name string, args ...string) string {
	return r.root.Git(append([]string{"-C", r.workspace("repos", name)}, args...)...)
}

// log returns what a run said.
func (r *rig) log(id string) string {
	r.t.Helper()
	chunk, err := r.deps.Runs.Events(context.Background(), id, 0)
	require.NoError(r.t, err)
	var text strings.Builder
	for _, e := range chunk.Events {
		text.WriteString(e.Level + " " + e.Message + "\n")
	}
	return text.String()
}

// outcomes returns a run's results by repository.
func outcomes(t testing.TB, done ecosystem.Run) map[string]workspace.RepoOutcome {
	t.Helper()
	var result struct{ Repos []workspace.RepoOutcome }
	require.NoError(t, json.Unmarshal(done.Result, &result), string(done.Result))
	by := map[string]workspace.RepoOutcome{}
	for _, o := range result.Repos {
		by[o.Name] = o
	}
	return by
}

// tree returns every file of the root with its content, and git's view of it: branches, worktrees.
func (r *rig) tree() map[string]string {
	r.t.Helper()
	all := map[string]string{"refs": r.root.Git("for-each-ref"), "worktrees": r.root.Git("worktree", "list"), "HEAD": r.root.Git("symbolic-ref", "HEAD")}
	require.NoError(r.t, filepath.WalkDir(r.root.Dir, func(path string, d os.DirEntry, err error) error {
		rel, _ := filepath.Rel(r.root.Dir, path)
		switch {
		case err != nil:
			return err
		case rel == filepath.Join(".git", "objects"), rel == filepath.Join(".git", "hooks"), rel == filepath.Join(".git", "logs"):
			return filepath.SkipDir
		case rel == filepath.Join(".git", "packed-refs"), rel == filepath.Join(".git", "countersign-busy"): // how git keeps refs; a lock's file
		case d.IsDir():
			if !strings.HasPrefix(rel, ".git") {
				all[rel+"/"] = ""
			}
		case d.Type()&os.ModeSymlink != 0:
			all[rel], err = os.Readlink(path)
			return err
		default:
			text, err := os.ReadFile(path)
			all[rel] = string(text)
			return err
		}
		return nil
	}))
	return all
}

var _ ecosystemport.Workers = patient{}
