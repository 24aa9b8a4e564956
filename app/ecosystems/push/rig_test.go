package push_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/ecosystemfile"
	"github.com/countersign-dev/countersign/adapters/forge"
	"github.com/countersign-dev/countersign/adapters/gitcli/ecogit"
	"github.com/countersign-dev/countersign/adapters/osproc"
	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/ecosystems/push"
	"github.com/countersign-dev/countersign/app/ecosystems/releases"
	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/app/ecosystems/workspace"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/fault"
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
	shippingPush = "amof_push_ecosystem"
	archive      = "amof_archive_ecosystem"
	discard      = "amof_discard_ecosystem"
	restore      = "ecosystem_restore"
	trash        = "ecosystem_trash"
)

// patient leaves the queue to the test.
type patient struct{}

func (patient) Wake(context.Context, ecosystem.Layout) error { return nil }
func (patient) Turn(context.Context, int) (func(), error)    { return func() {}, nil }

// clock can be set.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

// rig is a workspace root with the ecosystem demo, installed, and everything real over it.
type rig struct {
	*app.App
	t       *testing.T
	home    string
	root    *gitfixture.Repo
	origins map[string]*gitfixture.Repo
	clock   *clock
	deps    push.Deps
	worker  runs.Worker
}

// newRig installs demo with those repositories; one whose name begins with ro is read-only.
func newRig(t *testing.T, names ...string) *rig {
	t.Helper()
	r := &rig{t: t, home: t.TempDir(), root: gitfixture.New(t, "first\n-- README.md --\nroot\n"), origins: map[string]*gitfixture.Repo{}, clock: &clock{time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}}
	var text strings.Builder
	text.WriteString("name: demo\nguardrails: {no_touch_paths: [\"vault/**\"]}\nrepos:\n")
	for _, name := range names {
		r.origins[name] = gitfixture.New(t, "first\n-- "+name+".txt --\none\n")
		fmt.Fprintf(&text, "  - {name: %s, url: %q, branch: main, readonly: %t}\n", name, r.origins[name].Remote, strings.HasPrefix(name, "ro"))
	}
	dir := filepath.Join(r.root.Dir, "ecosystems", "demo")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ecosystem.yaml"), []byte(text.String()), 0o644))
	r.root.Commit("demo")
	r.open(dependencies(r.root.Dir, r.home, r.clock))
	done := r.do("amof_install_ecosystem", nil)
	require.Equal(t, ecosystem.RunSuccess, done.Status, done.Error)
	return r
}

// dependencies returns what the tools work with in that root.
func dependencies(root, home string, c *clock) push.Deps {
	env := map[string]string{"AMOF_WORKSPACE_ROOT": root, "AMOF_HOME": filepath.Join(home, "amof")}
	store := ecosystemfile.New(ecosystemfile.Options{Env: func(name string) string { return env[name] }, Home: home, Dir: root, Clock: c, Carry: osproc.ForWork, End: func(work string) []int {
		_, _, left := osproc.ProcessTree{Mark: osproc.WorkMark(work)}.End(5 * time.Second)
		return left
	}})
	git := ecogit.NewPushClient(time.Millisecond)
	return push.Deps{Deps: runs.Deps{Places: store, Manifests: store, States: store.States(), Runs: store.Runs(), Workers: patient{},
		Sessions: memstore.New().Sessions(), Owner: system.Owner{}, Clock: c, UUIDs: system.IDs{}}, Git: git, Trash: ecogit.NewTrash(nil), Releases: ecogit.NewReleaseClient(), Forge: forge.Programs{}}
}

// newCore returns a core over those dependencies, and them as it uses them.
func newCore(d push.Deps, entries func(push.Deps) []tool.Entry) (*app.App, push.Deps, error) {
	store := memstore.New()
	d.Sessions = store.Sessions()
	core := app.Dependencies{Clock: system.Clock{}, IDs: system.IDs{}, Tokens: system.Tokens{}, Ledger: store, Audit: store, Settings: store, Sessions: store.Sessions(),
		Limiter: memstore.Unlimited{}, Runs: store.Runs(), Owner: system.Owner{}, Log: slog.New(slog.DiscardHandler),
		Redact: sync.OnceValue(func() *redact.Redactor { return redact.New(redact.Options{}) })}
	opened, err := app.New(core, app.Options{Policy: policy.Policy{Approval: policy.ApprovalCaller, Ceiling: policy.Execute, Level: policy.ExecuteWithConfirm}},
		tool.Capability{Name: "ecosystems", Contract: "amof.v1", Mode: policy.Ask, Entries: entries(d)})
	return opened, d, err
}

// open opens the core over those dependencies.
func (r *rig) open(d push.Deps) {
	r.t.Helper()
	var err error
	clones := ecogit.New(ecogit.Options{Pause: 1})
	install := workspace.InstallDeps{Grounds: clones, Clones: clones.Clones(), Trash: d.Trash}
	r.App, r.deps, err = newCore(d, func(d push.Deps) []tool.Entry {
		install.Deps = d.Deps
		return slices.Concat(push.Entries(d), workspace.InstallEntries(install), releases.Entries(releases.Deps{Deps: d.Deps, Git: d.Releases}))
	})
	require.NoError(r.t, err)
	opened := r.App
	r.t.Cleanup(func() { require.NoError(r.t, opened.Close(context.Background())) })
	d = r.deps
	r.worker = runs.Worker{QueueDeps: runs.QueueDeps{Deps: d.Deps, Watch: ecosystemfile.NewWatch(d.Runs), Audit: ecosystemrig.Known{Runs: d.Runs}}, Performers: append(performers(d), workspace.Performers(install)...)}
}

// performers carry out pushes and releases.
func performers(d push.Deps) []runs.Performer {
	return append(push.Performers(d), releases.Performers(releases.Deps{Deps: d.Deps, Git: d.Releases})...)
}

// call returns one as the user makes it, about demo.
func (r *rig) call(name, mode string, a args) tool.Outcome {
	r.t.Helper()
	all := args{"ecosystem": "demo"}
	if mode != "" {
		all["mode"] = mode
	}
	for k, v := range a {
		all[k] = v
	}
	doc, err := json.Marshal(all)
	require.NoError(r.t, err)
	return resultschema.Checked(r.t, r.Call(context.Background(), tool.Call{Session: "s", FromUser: true, Principal: policy.Principal{ID: "me", Grants: policy.All}, Tool: tool.Name(name), Args: doc}))
}

// confirmed returns a call in execute mode, confirmed when it asks.
func (r *rig) confirmed(name string, a args) tool.Outcome {
	r.t.Helper()
	o := r.call(name, "execute", a)
	if o.Request == nil || o.Request.Token.IsZero() {
		return o
	}
	all := args{"confirm_token": o.Request.Token.Reveal()}
	if name == discard {
		all["typed_value"] = "demo"
	}
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

// worked is do for a run that succeeds, with its result.
func (r *rig) worked(name string, a args) args {
	r.t.Helper()
	done := r.do(name, a)
	require.Equal(r.t, ecosystem.RunSuccess, done.Status, "%s %s\n%s", done.Code, done.Error, r.log(done.ID))
	return decoded(r.t, done.Result)
}

// failed is do for a run that fails so.
func (r *rig) failed(code, name string, a args) (ecosystem.Run, args) {
	r.t.Helper()
	done := r.do(name, a)
	require.Equal(r.t, ecosystem.RunFailed, done.Status)
	require.Equal(r.t, code, done.Code, done.Error)
	if len(done.Result) == 0 {
		return done, nil
	}
	return done, decoded(r.t, done.Result)
}

// refused returns a call that is refused so.
func (r *rig) refused(code, name string, a args) *fault.Error {
	r.t.Helper()
	o := r.confirmed(name, a)
	require.Error(r.t, o.Err)
	var f *fault.Error
	require.True(r.t, errors.As(o.Err, &f))
	require.Equal(r.t, code, string(f.Code), f.Message)
	return f
}

// preview is that of a dry run.
func (r *rig) preview(name string, a args) args {
	r.t.Helper()
	o := r.call(name, "plan", a)
	require.NoError(r.t, o.Err)
	plan := decoded(r.t, o.Value)
	if p, ok := plan["preview"].(args); ok {
		return p
	}
	require.Contains(r.t, plan, "plan", string(o.Value))
	return plan["plan"].(args)["preview"].(args)
}

func decoded(t testing.TB, doc []byte) args {
	t.Helper()
	var out args
	require.NoError(t, json.Unmarshal(doc, &out), string(doc))
	return out
}

func (r *rig) found() runs.Ecosystem {
	r.t.Helper()
	f, err := r.deps.FindAt(context.Background(), r.root.Dir, "demo")
	require.NoError(r.t, err)
	return f
}

// at returns a path in the workspace.
func (r *rig) at(parts ...string) string {
	return filepath.Join(append([]string{r.root.Dir, "worktrees", "demo"}, parts...)...)
}

// git returns what git prints in a clone.
func (r *rig) git(name string, args ...string) string {
	r.t.Helper()
	return r.root.Git(append([]string{"-C", r.at("repos", name)}, args...)...)
}

// write writes a file in the workspace.
func (r *rig) write(text string, parts ...string) {
	r.t.Helper()
	require.NoError(r.t, os.MkdirAll(filepath.Dir(r.at(parts...)), 0o755))
	require.NoError(r.t, os.WriteFile(r.at(parts...), []byte(text), 0o644))
}

// commit makes a commit in a clone.
func (r *rig) commit(name, file string) string {
	r.t.Helper()
	r.write(file+"\n", "repos", name, file)
	r.git(name, "add", "--all")
	r.git(name, "commit", "--quiet", "--message", "add "+file)
	return r.git(name, "rev-parse", "HEAD")
}

// remote returns what a repository's origin has on a branch, or empty.
func (r *rig) remote(name, branch string) string {
	r.t.Helper()
	return r.origins[name].Git("-C", r.origins[name].Remote, "for-each-ref", "--format=%(objectname)", "refs/heads/"+branch)
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

// statuses returns the results of a push by name.
func statuses(result args) map[string]string {
	out := map[string]string{}
	for _, one := range result["repos"].([]any) {
		repo := one.(args)
		out[repo["name"].(string)] = repo["status"].(string)
	}
	return out
}

// lastPush returns what is recorded of a repository.
func (r *rig) lastPush(name string) *ecosystem.Push {
	r.t.Helper()
	f := r.found()
	return f.State.Repo(name).LastPush
}

// ticket starts one, and makes it the active one.
func (r *rig) ticket(id string, names ...string) {
	r.t.Helper()
	t := ecosystem.Ticket{CreatedAt: r.clock.now, Repos: map[string]string{}, WorktreeBase: r.at("tickets", id), Ecosystem: "demo", Phase: "started"}
	for _, name := range names {
		t.Repos[name] = "feature/" + id
		r.git(name, "worktree", "add", "--quiet", "-b", "feature/"+id, filepath.Join(t.WorktreeBase, name))
	}
	_, err := r.deps.States.Update(context.Background(), r.found().Layout, func(s *ecosystem.State) error {
		s.Tickets[id], s.ActiveTicket = t, &id
		return nil
	})
	require.NoError(r.t, err)
}

// elsewhere has the data directory on another file system.
type elsewhere struct {
	ecosystemport.Places
	data string
}

func (e elsewhere) Layout(ctx context.Context, root, name string) (ecosystem.Layout, error) {
	l, err := e.Places.Layout(ctx, root, name)
	l.Data = e.data
	return l, err
}
