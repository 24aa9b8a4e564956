package ecosystems_test

import (
	"context"
	"encoding/json"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/ecosystemfile"
	"github.com/countersign-dev/countersign/adapters/gitcli/ecogit"
	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/ecosystems"
	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/redact"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"
	"github.com/countersign-dev/countersign/internal/testkit/memstore"
	"github.com/countersign-dev/countersign/internal/testkit/resultschema"
)

type args = map[string]any

// idle are workers that nobody wakes here.
type idle struct{}

func (idle) Wake(context.Context, ecosystem.Layout) error { return nil }
func (idle) Turn(context.Context, int) (func(), error)    { return func() {}, nil }

// clock stands until it is set.
type clock struct{ time.Time }

func (c *clock) Now() time.Time { return c.Time }

// rig is a workspace root, and the core over everything real.
type rig struct {
	*app.App
	t     testing.TB
	root  *gitfixture.Repo
	home  string
	deps  ecosystems.InfoDeps
	clock *clock
}

func newRig(t testing.TB) *rig {
	t.Helper()
	r := &rig{t: t, root: gitfixture.New(t, "first\n-- README.md --\nroot\n"), home: t.TempDir(), clock: &clock{time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}}
	t.Setenv("HOME", r.home)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	env := map[string]string{"AMOF_WORKSPACE_ROOT": r.root.Dir, "AMOF_HOME": filepath.Join(r.home, "amof")}
	files := ecosystemfile.New(ecosystemfile.Options{Env: func(name string) string { return env[name] }, Home: r.home, Dir: r.root.Dir, Clock: r.clock})
	store := memstore.New()
	r.deps = ecosystems.InfoDeps{Surveyor: ecogit.NewSurveyor(), Deps: runs.Deps{Places: files, Manifests: files, States: files.States(), Runs: files.Runs(), Workers: idle{},
		Sessions: store.Sessions(), Owner: system.Owner{}, Clock: r.clock, UUIDs: system.IDs{}}}
	core := app.Dependencies{Clock: system.Clock{}, IDs: system.IDs{}, Tokens: system.Tokens{}, Ledger: store, Audit: store, Settings: store, Sessions: store.Sessions(),
		Limiter: memstore.Unlimited{}, Runs: store.Runs(), Owner: system.Owner{}, Log: slog.New(slog.DiscardHandler),
		Redact: sync.OnceValue(func() *redact.Redactor { return redact.New(redact.Options{}) })}
	var err error
	r.App, err = app.New(core, app.Options{Policy: policy.Policy{Approval: policy.ApprovalCaller, Ceiling: policy.Execute, Level: policy.ExecuteWithConfirm}},
		tool.Capability{Name: "ecosystems", Contract: "amof.v1", Mode: policy.Ask, Entries: ecosystems.InfoEntries(r.deps)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close(context.Background())) })
	return r
}

// raw returns a call of that session.
func (r *rig) raw(session, name string, a args) tool.Outcome {
	r.t.Helper()
	doc, err := json.Marshal(a)
	require.NoError(r.t, err)
	return resultschema.Checked(r.t, r.Call(context.Background(), tool.Call{Session: session, Principal: policy.Principal{ID: "me", Grants: policy.All}, Tool: tool.Name(name), Args: doc}))
}

// do returns a call that succeeds.
func (r *rig) do(name string, a args) args {
	r.t.Helper()
	return r.answer(r.raw("s", name, a))
}

func (r *rig) answer(o tool.Outcome) args {
	r.t.Helper()
	require.NoError(r.t, o.Err, "%s", fault.From(o.Err))
	out := args{}
	require.NoError(r.t, json.Unmarshal(o.Value, &out))
	return out
}

// refused returns a call that fails with that code.
func (r *rig) refused(code, name string, a args) *fault.Error {
	r.t.Helper()
	o := r.raw("s", name, a)
	require.Error(r.t, o.Err, string(o.Value))
	f := fault.From(o.Err)
	require.Equal(r.t, code, string(f.Code), f.Message)
	return f
}

// manifest writes an ecosystem's.
func (r *rig) manifest(name, text string) {
	r.t.Helper()
	r.write(filepath.Join(r.root.Dir, "ecosystems", name, "ecosystem.yaml"), text)
}

func (r *rig) write(path, text string) {
	r.t.Helper()
	require.NoError(r.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(r.t, os.WriteFile(path, []byte(text), 0o644))
}

// simple returns the manifest of an ecosystem with those repositories; one that ends in ! is read-only.
func simple(name string, repos ...string) string {
	text := "name: " + name + "\ndescription: about " + name + "\nrepos:\n"
	for _, repo := range repos {
		readonly := "false"
		if strings.HasSuffix(repo, "!") {
			readonly = "true"
		}
		repo = strings.TrimSuffix(repo, "!")
		text += "  - {name: " + repo + ", url: \"file:///origins/" + repo + ".git\", branch: main, readonly: " + readonly + "}\n"
	}
	return text
}

// installed puts the ecosystem's workspace there as its installation does, and returns its directory. change has the last word about its state.
func (r *rig) installed(name string, change func(dir string, s *ecosystem.State)) string {
	r.t.Helper()
	found, err := r.deps.FindAt(r.t.Context(), r.root.Dir, name)
	require.NoError(r.t, err)
	m, dir := found.Manifest(), found.Layout.Workspace
	r.root.Git("worktree", "add", "-q", "-b", m.WorkspaceBranch(), dir)
	r.write(filepath.Join(r.root.Dir, ".git", "info", "exclude"), "/repos/\n/tickets/\n")
	_, err = r.deps.States.Update(r.t.Context(), found.Layout, func(s *ecosystem.State) error {
		*s = ecosystem.State{Version: ecosystem.StateVersion, Ecosystem: name, Root: r.root.Dir, WorkspaceBranch: m.WorkspaceBranch(), WorkspaceDir: dir, Tickets: map[string]ecosystem.Ticket{}}
		for _, repo := range m.Active() {
			origin := gitfixture.New(r.t, "first\n-- "+repo.Name+" --\nx\n")
			r.root.Git("clone", "-q", origin.Remote, filepath.Join(dir, repo.Path))
			s.Repos = append(s.Repos, ecosystem.RepoState{Name: repo.Name, URL: repo.URL, Path: repo.Path, Branch: repo.Branch, ReadOnly: repo.ReadOnly, Enabled: true})
		}
		if change != nil {
			change(dir, s)
		}
		return nil
	})
	require.NoError(r.t, err)
	return dir
}

// files returns all files of the root and of the user's home, with their contents.
func (r *rig) files() map[string]string {
	r.t.Helper()
	out := map[string]string{}
	for _, top := range []string{r.root.Dir, r.home} {
		require.NoError(r.t, filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				out[path] = ""
				return err
			}
			content, err := os.ReadFile(path)
			out[path] = string(content)
			return err
		}))
	}
	return out
}

// actions returns the ids that an answer suggests.
func actions(a args) (ids []string) {
	for _, action := range a["suggested_actions"].([]any) {
		ids = append(ids, action.(args)["id"].(string))
	}
	return ids
}
