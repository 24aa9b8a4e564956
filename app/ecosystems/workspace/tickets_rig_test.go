package workspace_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
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
	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/app/ecosystems/workspace"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/redact"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"
	"github.com/countersign-dev/countersign/internal/testkit/memstore"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

type ticketArgs = map[string]any

const (
	list    = "amof_ticket_list"
	start   = "amof_ticket_start"
	switch6 = "amof_ticket_switch"
	end     = "amof_ticket_end"
)

// another returns what that process does: exit code 0 says that it has started the ticket.
func another(how, root, home string) int {
	d := ticketDependencies(root, home)
	if how == "die" {
		d.States = deadly{d.States}
	}
	a, err := newCore(d)
	if err != nil {
		return 2
	}
	o := a.Call(context.Background(), tool.Call{Session: "other", Principal: policy.Principal{ID: "me", Grants: policy.All}, Tool: start,
		Args: json.RawMessage(`{"ecosystem":"demo","mode":"execute","ticket_id":"T-1"}`)})
	if o.Err != nil {
		fmt.Fprintln(os.Stderr, o.Err)
		return 1
	}
	return 0
}

// deadly is States at which the process dies when it is to record something.
type deadly struct{ ecosystemport.States }

func (deadly) Update(context.Context, ecosystem.Layout, func(*ecosystem.State) error) (ecosystem.State, error) {
	os.Exit(9)
	return ecosystem.State{}, nil
}

// ticketRig is a workspace root with the ecosystem demo installed: api and web, and docs, which is read-only.
type ticketRig struct {
	*app.App
	t       *testing.T
	home    string
	root    *gitfixture.Repo
	deps    workspace.TicketDeps
	layout  ecosystem.Layout
	origins map[string]*gitfixture.Repo
}

func ticketNewRig(t *testing.T) *ticketRig {
	t.Helper()
	r := &ticketRig{t: t, home: t.TempDir(), root: gitfixture.New(t, "first\n-- README.md --\nroot\n"), origins: map[string]*gitfixture.Repo{}}
	r.deps = ticketDependencies(r.root.Dir, r.home)
	var text strings.Builder
	text.WriteString("name: demo\nrepos:\n")
	for _, name := range []string{"api", "web", "docs"} {
		r.origins[name] = gitfixture.New(t, "first\n-- "+name+".txt --\none\n")
		fmt.Fprintf(&text, "  - {name: %s, url: %q, branch: main, readonly: %t}\n", name, r.origins[name].Remote, name == "docs")
	}
	r.manifest(text.String())
	var err error
	r.layout, err = r.deps.Places.Layout(t.Context(), r.root.Dir, "demo")
	require.NoError(t, err)
	r.install()
	r.App, err = newCore(r.deps)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close(context.Background())) })
	return r
}

// manifest writes demo's.
func (r *ticketRig) manifest(text string) {
	r.t.Helper()
	dir := filepath.Join(r.root.Dir, "ecosystems", "demo")
	require.NoError(r.t, os.MkdirAll(dir, 0o755))
	require.NoError(r.t, os.WriteFile(filepath.Join(dir, "ecosystem.yaml"), []byte(text), 0o644))
}

// install makes by hand what an installation makes.
func (r *ticketRig) install() {
	r.t.Helper()
	r.root.Git("worktree", "add", "--quiet", "-b", "workspace/demo", r.layout.Workspace)
	repos := []ecosystem.RepoState{}
	for _, name := range []string{"api", "web", "docs"} {
		r.root.Git("clone", "--quiet", r.origins[name].Remote, r.clone(name))
		repos = append(repos, ecosystem.RepoState{Name: name, URL: r.origins[name].Remote, Path: "repos/" + name, Branch: "main", ReadOnly: name == "docs", Enabled: true})
	}
	r.record(func(s *ecosystem.State) {
		*s = ecosystem.State{WorkspaceBranch: "workspace/demo", WorkspaceDir: r.layout.Workspace, Repos: repos}
	})
}

func (r *ticketRig) record(change func(*ecosystem.State)) {
	r.t.Helper()
	_, err := r.deps.States.Update(r.t.Context(), r.layout, func(s *ecosystem.State) error {
		change(s)
		return nil
	})
	require.NoError(r.t, err)
}

func (r *ticketRig) state() ecosystem.State {
	r.t.Helper()
	s, err := r.deps.States.Load(r.t.Context(), r.layout)
	require.NoError(r.t, err)
	return s
}

// ticketDependencies returns what the tools work with in that root.
func ticketDependencies(root, home string) workspace.TicketDeps {
	env := map[string]string{"AMOF_WORKSPACE_ROOT": root, "AMOF_HOME": filepath.Join(home, "amof")}
	store := ecosystemfile.New(ecosystemfile.Options{Env: func(name string) string { return env[name] }, Home: home, Dir: root, Clock: system.Clock{}, Carry: osproc.ForWork, End: func(work string) []int {
		_, _, left := osproc.ProcessTree{Mark: osproc.WorkMark(work)}.End(5 * time.Second)
		return left
	}})
	return workspace.TicketDeps{Deps: runs.Deps{Places: store, Manifests: store, States: store.States(), Runs: store.Runs(), Workers: idle{},
		Sessions: memstore.New().Sessions(), Owner: system.Owner{}, Clock: system.Clock{}, UUIDs: system.IDs{}}, Work: ecogit.NewTicketClient(system.Clock{}), Surveyor: ecogit.NewSurveyor(),
		Merges: ecogit.NewTicketClient(system.Clock{}), Pushes: ecogit.NewPushClient(time.Millisecond), Forge: forge.Programs{}}
}

// idle are workers that nothing here needs.
type idle struct{}

func (idle) Wake(context.Context, ecosystem.Layout) error { return nil }
func (idle) Turn(context.Context, int) (func(), error)    { return func() {}, nil }

// core is the core with the tools.
func newCore(d workspace.TicketDeps) (*app.App, error) {
	store := memstore.New()
	core := app.Dependencies{Clock: system.Clock{}, IDs: system.IDs{}, Tokens: system.Tokens{}, Ledger: store, Audit: store, Settings: store, Sessions: store.Sessions(),
		Limiter: memstore.Unlimited{}, Runs: store.Runs(), Owner: system.Owner{}, Log: slog.New(slog.DiscardHandler),
		Redact: sync.OnceValue(func() *redact.Redactor { return redact.New(redact.Options{}) })}
	return app.New(core, app.Options{Policy: policy.Policy{Approval: policy.ApprovalCaller, Ceiling: policy.Execute, Level: policy.ExecuteWithConfirm}},
		tool.Capability{Name: "ecosystems", Contract: "amof.v1", Mode: policy.Ask, Entries: workspace.TicketEntries(d)})
}

// call returns one as an agent makes it, about demo.
func (r *ticketRig) call(name, mode string, in ticketArgs) tool.Outcome {
	r.t.Helper()
	all := ticketArgs{"ecosystem": "demo"}
	if name != list && name != proposals {
		all["mode"] = mode
	}
	for k, v := range in {
		all[k] = v
	}
	doc, err := json.Marshal(all)
	require.NoError(r.t, err)
	return r.Call(r.t.Context(), tool.Call{Session: "s", Principal: policy.Principal{ID: "me", Grants: policy.All}, Tool: tool.Name(name), Args: doc})
}

// does returns a call in execute mode that needs no confirmation.
func (r *ticketRig) does(name string, in ticketArgs) workspace.TicketResult {
	r.t.Helper()
	o := r.call(name, "execute", in)
	require.NoError(r.t, o.Err)
	return read[workspace.TicketResult](r.t, o.Value)
}

// confirmed returns a call in execute mode, confirmed where that is asked for.
func (r *ticketRig) confirmed(name string, in ticketArgs) tool.Outcome {
	r.t.Helper()
	o := r.call(name, "execute", in)
	if o.Request == nil {
		return o
	}
	all := ticketArgs{"confirm_token": o.Request.Token.Reveal()}
	for k, v := range in {
		all[k] = v
	}
	return r.call(name, "execute", all)
}

func read[T any](t *testing.T, doc json.RawMessage) (v T) {
	t.Helper()
	require.NoError(t, json.Unmarshal(doc, &v), string(doc))
	return v
}

func (r *ticketRig) clone(name string) string {
	return filepath.Join(r.layout.Workspace, "repos", name)
}

// tree returns a ticket's worktree.
func (r *ticketRig) tree(id, name string) string {
	return filepath.Join(r.layout.Workspace, "tickets", id, name)
}

// commit makes a commit in a directory.
func (r *ticketRig) commit(dir string) string {
	r.t.Helper()
	r.root.Git("-C", dir, "commit", "--quiet", "--allow-empty", "--message", "work")
	return r.root.Git("-C", dir, "rev-parse", "HEAD")
}

func (r *ticketRig) branch(dir string) string {
	return r.root.Git("-C", dir, "branch", "--show-current")
}

// other starts a process that starts T-1.
func (r *ticketRig) other(how string) *exec.Cmd {
	return exec.Command(os.Args[0], how, r.root.Dir, r.home)
}

// files returns everything in the root, with git's view of each clone.
func (r *ticketRig) files() map[string]string {
	r.t.Helper()
	all := map[string]string{}
	for _, name := range []string{"api", "web", "docs"} {
		all[name] = r.root.Git("-C", r.clone(name), "for-each-ref") + r.root.Git("-C", r.clone(name), "worktree", "list")
	}
	for _, top := range []string{r.root.Dir, r.home} {
		require.NoError(r.t, filepath.WalkDir(top, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				all[path+"/"] = ""
				return err
			}
			text, err := os.ReadFile(path)
			all[path] = string(text)
			return err
		}))
	}
	return all
}

// results returns a change's results by repository.
func results(items []workspace.TicketRepo) map[string]string {
	by := map[string]string{}
	for _, i := range items {
		by[i.Name] = i.Result
	}
	return by
}
