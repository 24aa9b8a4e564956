package releases_test

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
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/ecosystemfile"
	"github.com/countersign-dev/countersign/adapters/forge"
	"github.com/countersign-dev/countersign/adapters/gitcli/ecogit"
	"github.com/countersign-dev/countersign/adapters/osproc"
	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/ecosystems/releases"
	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/redact"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
	"github.com/countersign-dev/countersign/internal/testkit/ecosystemrig"
	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"
	"github.com/countersign-dev/countersign/internal/testkit/memstore"
	"github.com/countersign-dev/countersign/internal/testkit/resultschema"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

type args = map[string]any

const (
	status   = "amof_release_status"
	validate = "amof_release_validate"
	logs     = "amof_release_log"
	bump     = "amof_release_bump"
	promote  = "amof_release_promote"
)

// patient leaves the queue to the test.
type patient struct{}

func (patient) Wake(context.Context, ecosystem.Layout) error { return nil }
func (patient) Turn(context.Context, int) (func(), error)    { return func() {}, nil }
func depsOf(root, home string, c ports.Clock) releases.Deps {
	env := map[string]string{"AMOF_WORKSPACE_ROOT": root, "AMOF_HOME": filepath.Join(home, "amof")}
	store := ecosystemfile.New(ecosystemfile.Options{Env: func(name string) string { return env[name] }, Home: home, Dir: root, Clock: c, Carry: osproc.ForWork, End: func(work string) []int {
		_, _, left := osproc.ProcessTree{Mark: osproc.WorkMark(work)}.End(5 * time.Second)
		return left
	}})
	git := ecosystemport.ReleaseGit(ecogit.NewReleaseClient())
	if but, err := os.ReadFile(filepath.Join(home, "github")); err == nil {
		git = onGitHub{git, string(but)}
	}
	return releases.Deps{Deps: runs.Deps{Places: store, Manifests: store, States: store.States(), Runs: store.Runs(), Workers: patient{},
		Sessions: memstore.New().Sessions(), Owner: system.Owner{}, Clock: c, UUIDs: system.IDs{}}, Git: git, Forge: forge.Programs{}}
}

func workerOf(d releases.Deps) runs.Worker {
	return runs.Worker{QueueDeps: runs.QueueDeps{Deps: d.Deps, Watch: ecosystemfile.NewWatch(d.Runs), Audit: ecosystemrig.Known{Runs: d.Runs}}, Performers: releases.Performers(d)}
}

// rig is a workspace root with the installed ecosystem demo, and everything real over it.
type rig struct {
	*app.App
	t       testing.TB
	top     string
	home    string
	clock   *clock.Fake
	root    *gitfixture.Repo
	origins map[string]*gitfixture.Repo
	deps    releases.Deps
	client  string
}

// files are those of a repository: one of its two version files has carriage returns.
const files = `feat: first
-- VERSION --
0.0.0
-- app.json --
{
  "name": "app",
  "version": "0.0.0",
  "engines": {"version": "9.9.9"}
}
-- CHANGELOG.md --
# Changelog

## [Unreleased]
-- src/main.txt --
one
`

// carriage gives one of them carriage returns.
const carriage = "fix: carriage returns\n-- app.json --\n{\r\n  \"name\": \"app\",\r\n  \"version\": \"0.0.0\",\r\n  \"engines\": {\"version\": \"9.9.9\"}\r\n}\r\n"

// newRig has an installed clone of an origin for each name.
func newRig(t testing.TB, names ...string) *rig {
	t.Helper()
	r := &rig{t: t, top: t.TempDir(), clock: &clock.Fake{}, root: gitfixture.New(t, "first\n-- README.md --\nroot\n"), origins: map[string]*gitfixture.Repo{}, client: "agent/1"}
	r.home = filepath.Join(r.top, "home")
	require.NoError(t, os.Mkdir(r.home, 0o755))
	r.deps = depsOf(r.root.Dir, r.home, r.clock)
	var repos, versions strings.Builder
	for _, name := range names {
		o := gitfixture.New(t, files, carriage)
		r.origins[name] = o
		require.NoError(t, os.MkdirAll(filepath.Dir(r.dir(name)), 0o755))
		o.Git("clone", "--quiet", o.Remote, r.dir(name))
		fmt.Fprintf(&repos, "  - {name: %s, url: %q, branch: main}\n", name, o.Remote)
		fmt.Fprintf(&versions, "    - {repo: %s, path: VERSION, pattern: '^(\\S+)$'}\n    - {repo: %s, path: app.json, pattern: '\"version\": \"([^\"]*)\"'}\n", name, name)
	}
	r.manifest("name: demo\nrepos:\n" + repos.String() + "release:\n  version_files:\n" + versions.String())
	r.root.Write("-- .gitignore --\nworktrees/\n")
	r.root.Commit("demo")
	_, err := r.deps.States.Update(t.Context(), r.layout(), func(s *ecosystem.State) error {
		s.WorkspaceDir, s.WorkspaceBranch = filepath.Join(r.root.Dir, "worktrees", "demo"), "workspace/demo"
		return nil
	})
	require.NoError(t, err)
	r.open()
	return r
}

func (r *rig) dir(name string) string {
	return filepath.Join(r.root.Dir, "worktrees", "demo", "repos", name)
}

func (r *rig) layout() ecosystem.Layout {
	l, err := r.deps.Places.Layout(context.Background(), r.root.Dir, "demo")
	require.NoError(r.t, err)
	return l
}

// manifest writes demo's.
func (r *rig) manifest(text string) {
	r.t.Helper()
	dir := filepath.Join(r.root.Dir, "ecosystems", "demo")
	require.NoError(r.t, os.MkdirAll(dir, 0o755))
	require.NoError(r.t, os.WriteFile(filepath.Join(dir, "ecosystem.yaml"), []byte(text), 0o644))
}

// edit changes the manifest's text.
func (r *rig) edit(from, to string) {
	r.t.Helper()
	text := r.read(filepath.Join(r.root.Dir, "ecosystems", "demo", "ecosystem.yaml"))
	require.Contains(r.t, text, from)
	r.manifest(strings.ReplaceAll(text, from, to))
}

// open opens the core over the rig's dependencies as they are now.
func (r *rig) open() {
	r.t.Helper()
	store := memstore.New()
	r.deps.Sessions = store.Sessions()
	core := app.Dependencies{Clock: r.clock, IDs: system.IDs{}, Tokens: system.Tokens{}, Ledger: store, Audit: store, Settings: store, Sessions: store.Sessions(),
		Limiter: memstore.Unlimited{}, Runs: store.Runs(), Owner: system.Owner{}, Log: slog.New(slog.DiscardHandler),
		Redact: sync.OnceValue(func() *redact.Redactor { return redact.New(redact.Options{}) })}
	var err error
	r.App, err = app.New(core, app.Options{Policy: policy.Policy{Approval: policy.ApprovalCaller, Ceiling: policy.Execute, Level: policy.ExecuteWithConfirm}},
		tool.Capability{Name: "ecosystems", Contract: "amof.v1", Mode: policy.Ask, Entries: releases.Entries(r.deps)})
	require.NoError(r.t, err)
	opened := r.App
	r.t.Cleanup(func() { require.NoError(r.t, opened.Close(context.Background())) })
}

// call returns one as an agent makes it, about demo.
func (r *rig) call(name, mode string, a args) tool.Outcome {
	all := args{"ecosystem": "demo"}
	if mode != "" {
		all["mode"] = mode
	}
	for k, v := range a {
		all[k] = v
	}
	doc, err := json.Marshal(all)
	require.NoError(r.t, err)
	return resultschema.Checked(r.t, r.Call(context.Background(), tool.Call{Session: "s", Client: r.client, Principal: policy.Principal{ID: "me", Grants: policy.All}, Tool: tool.Name(name), Args: doc}))
}

// ask returns the answer of a tool that reads.
func (r *rig) ask(name string, a args) args {
	r.t.Helper()
	o := r.call(name, "", a)
	require.NoError(r.t, o.Err)
	return object(r.t, o.Value)
}

func object(t testing.TB, doc []byte) args {
	t.Helper()
	out := args{}
	require.NoError(t, json.Unmarshal(doc, &out), string(doc))
	return out
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
	require.NoError(r.t, workerOf(r.deps).Drain(context.Background(), r.root.Dir, "demo"))
	done, err := r.deps.Runs.Load(context.Background(), id)
	require.NoError(r.t, err)
	return done
}

// do queues and drains.
func (r *rig) do(name string, a args) ecosystem.Run { r.t.Helper(); return r.drain(r.queued(name, a)) }

// released does it and wants it done.
func (r *rig) released(name string, a args) args {
	r.t.Helper()
	done := r.do(name, a)
	require.Equal(r.t, ecosystem.RunSuccess, done.Status, "%s %s", done.Error, r.said(done.ID))
	return object(r.t, done.Result)
}

// git returns what git prints in a clone.
func (r *rig) git(name string, args ...string) string {
	return r.root.Git(append([]string{"-C", r.dir(name)}, args...)...)
}

// write puts a file into a clone.
func (r *rig) write(name, file, text string) {
	r.t.Helper()
	path := filepath.Join(r.dir(name), file)
	require.NoError(r.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(r.t, os.WriteFile(path, []byte(text), 0o644))
}

func (r *rig) commit(name, file, message string) {
	r.write(name, file, message)
	r.git(name, "add", "-A")
	r.git(name, "commit", "-q", "-m", message)
}

func (r *rig) read(path string) string {
	r.t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(r.t, err)
	return string(text)
}

// said returns what a run said.
func (r *rig) said(id string) string {
	r.t.Helper()
	chunk, err := r.deps.Runs.Events(context.Background(), id, 0)
	require.NoError(r.t, err)
	var text strings.Builder
	for _, e := range chunk.Events {
		text.WriteString(e.Level + " " + e.Message + "\n")
	}
	return text.String()
}

// snapshot returns everything that can be seen: refs, what is staged, what is changed, and every file.
func (r *rig) snapshot() map[string]string {
	r.t.Helper()
	all := map[string]string{}
	dirs := map[string]string{"": r.root.Dir}
	for name := range r.origins {
		dirs[name] = r.dir(name)
	}
	for name, dir := range dirs {
		for _, command := range []string{"for-each-ref", "status --porcelain=v2 --branch", "ls-files --stage"} {
			all[name+" "+command] = r.root.Git(append([]string{"-C", dir}, strings.Fields(command)...)...)
		}
		require.NoError(r.t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			rel, _ := filepath.Rel(dir, path)
			if err != nil || d.IsDir() && (rel == ".git" || rel == "worktrees") {
				return map[bool]error{true: err, false: filepath.SkipDir}[err != nil]
			}
			if d.Type().IsRegular() {
				all[name+":"+rel] = r.read(path)
			}
			return nil
		}))
	}
	return all
}

// noted reports whether a release is written down as under way.
func (r *rig) noted() bool {
	doc, err := r.deps.States.Noted(context.Background(), r.layout(), "release/journal")
	require.NoError(r.t, err)
	return doc != nil
}
