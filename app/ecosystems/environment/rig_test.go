package environment_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/ecosystemfile"
	"github.com/countersign-dev/countersign/adapters/gitcli/ecogit"
	"github.com/countersign-dev/countersign/adapters/osproc"
	"github.com/countersign-dev/countersign/adapters/projectfile"
	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/ecosystems/environment"
	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/redact"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/ecosystemrig"
	"github.com/countersign-dev/countersign/internal/testkit/memstore"
	"github.com/countersign-dev/countersign/internal/testkit/resultschema"
	"github.com/countersign-dev/countersign/internal/testkit/workroom"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

var _ ecosystemport.Provisioners = ecosystemfile.ProvisionerFinder{}

// TestMain lets the test binary be the supervisors of what is started, and a service that answers over HTTP.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "supervise":
			if osproc.Supervise(os.Stdin, osproc.Options{}) != nil {
				os.Exit(1)
			}
			os.Exit(0)
		case "drain":
			if err := drain(os.Args[2], os.Args[3]); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		case "web":
			fmt.Fprintln(os.Stderr, web())
			os.Exit(1)
		}
	}
	_ = flag.Set("test.parallel", "6") // they wait more than they work
	code := workroom.Run(m, "[user]\n\tname = A\n\temail = a@example.com\n")
	for { // supervisors that nobody asked about since they ended
		if pid, err := syscall.Wait4(-1, nil, 0, nil); pid <= 0 && !errors.Is(err, syscall.EINTR) {
			os.Exit(code)
		}
	}
}

// web is a service: it says where it is, and answers with what it was told.
func web() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("::amof url=http://%s\n", l.Addr())
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		dir, _ := os.Getwd()
		_, _ = fmt.Fprintf(w, "%s %s %s", os.Getenv("AMOF_ECOSYSTEM"), os.Getenv("AMOF_ENVIRONMENT"), filepath.Base(dir))
	}))
}

type args = map[string]any

const (
	deploy  = "amof_spin_deploy"
	destroy = "amof_spin_destroy"
	status  = "ecosystem_spin_status"
	ask     = "ecosystem_spin_ask"
)

// rig is a machine with an installed ecosystem "demo" of the repositories api and web.
type rig struct {
	*app.App
	t      *testing.T
	root   string
	deps   environment.Deps
	worker runs.Worker
	store  *ecosystemfile.Store
	procs  *osproc.Processes
	layout ecosystem.Layout
	clones map[string]string
}

func newRig(t *testing.T, manifest string) *rig {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	r := &rig{t: t, root: filepath.Join(top, "w"), clones: map[string]string{}}
	r.write("ecosystems/demo/ecosystem.yaml", manifest, 0o644)
	r.git(r.root, "init", "-q", "-b", "main")
	r.assemble(top)
	r.layout, err = r.store.Layout(t.Context(), r.root, "demo")
	require.NoError(t, err)
	for _, name := range []string{"api", "web"} {
		dir := filepath.Join(r.layout.Workspace, "repos", name)
		require.NoError(t, os.MkdirAll(dir, 0o755))
		r.git(dir, "init", "-q", "-b", "main")
		r.commit(dir)
		r.clones[name] = dir
	}
	r.open()
	_, err = r.store.States().Update(t.Context(), r.layout, func(s *ecosystem.State) error {
		*s = ecosystem.State{Version: ecosystem.StateVersion, Ecosystem: "demo", Root: r.root, WorkspaceBranch: "workspace/demo", WorkspaceDir: r.layout.Workspace, Tickets: map[string]ecosystem.Ticket{}, CreatedAt: time.Now().UTC()}
		return nil
	})
	require.NoError(t, err)
	t.Cleanup(r.end)
	return r
}

// assemble puts together what the tools work with.
func (r *rig) assemble(top string) {
	env := map[string]string{"AMOF_WORKSPACE_ROOT": r.root, "AMOF_HOME": filepath.Join(top, "amof")}
	r.store = ecosystemfile.New(ecosystemfile.Options{Env: func(name string) string { return env[name] }, Home: top, Dir: r.root, Clock: system.Clock{}, Carry: osproc.ForWork})
	r.procs = osproc.New(osproc.Options{Dir: filepath.Join(top, "processes"), Supervisor: []string{os.Args[0], "supervise"}})
	workers := ecosystemfile.NewWorkers(ecosystemfile.WorkerOptions{Dir: r.store.WorkerDir, Start: func(context.Context, []string, string) error { return nil }}) // drain is when the test says
	r.deps = environment.Deps{
		Deps: runs.Deps{Places: r.store, Manifests: r.store, States: r.store.States(), Runs: r.store.Runs(), Workers: workers, Sessions: memstore.New().Sessions(),
			Owner: system.Owner{}, Clock: system.Clock{}, UUIDs: system.IDs{}},
		Provisioners: ecosystemfile.ProvisionerFinder{}, Surveyor: ecogit.NewSurveyor(), Processes: r.procs, Code: projectfile.Reader{Parser: projectfile.Parser{}},
	}
	r.worker = runs.Worker{QueueDeps: runs.QueueDeps{Deps: r.deps.Deps, Watch: ecosystemfile.NewWatch(r.store.Runs()), Audit: ecosystemrig.Known{Runs: r.deps.Runs}}, Performers: environment.Performers(r.deps)}
}

// settles has services listened to until that is so, however long it takes a busy machine.
func (r *rig) settles(so func() bool) {
	r.deps.Settling = func(ctx context.Context) (context.Context, context.CancelFunc) {
		window, over := context.WithTimeout(ctx, time.Minute)
		go func() {
			for ; window.Err() == nil && !so(); time.Sleep(5 * time.Millisecond) {
			}
			over()
		}()
		return window, over
	}
	r.worker.Performers = environment.Performers(r.deps)
}

// said reports whether everything that runs has said something.
func (r *rig) said() bool {
	for _, p := range r.living() {
		if chunk, err := r.procs.Output(context.Background(), p.ID, 0); err != nil || chunk.Total == 0 {
			return false
		}
	}
	return true
}

// drain is a worker's process.
func drain(root, top string) error {
	r := &rig{root: root}
	r.assemble(top)
	return r.worker.Drain(context.Background(), root, "demo")
}

// open is the core with the tools.
func (r *rig) open() {
	store := memstore.New()
	core := app.Dependencies{Clock: system.Clock{}, IDs: system.IDs{}, Tokens: system.Tokens{}, Ledger: store, Audit: store, Settings: store, Sessions: store.Sessions(), Limiter: memstore.Unlimited{},
		Runs: store.Runs(), Owner: system.Owner{}, Redact: func() *redact.Redactor { return redact.New(redact.Options{}) }, Log: slog.New(slog.DiscardHandler)}
	var err error
	r.App, err = app.New(core, app.Options{Policy: policy.Policy{Approval: policy.ApprovalCaller, Ceiling: policy.Execute, Level: policy.ExecuteWithConfirm}},
		tool.Capability{Name: "ecosystems", Contract: "amof.v1", Mode: policy.Ask, Entries: environment.Entries(r.deps)})
	require.NoError(r.t, err)
	r.t.Cleanup(func() { require.NoError(r.t, r.Close(context.Background())) })
}

// end takes down what a test left, and makes sure that there is nothing of it.
func (r *rig) end() {
	ctx := context.Background()
	for _, p := range r.living() {
		_, err := r.procs.Stop(ctx, p.ID, 0)
		require.NoError(r.t, err)
	}
}

func (r *rig) living() (out []process.State) {
	all, err := r.procs.List(context.Background())
	require.NoError(r.t, err)
	for _, p := range all {
		if !p.Status.Final() {
			out = append(out, p)
		}
	}
	return out
}

// runs returns how many processes run.
func (r *rig) runs() (n int) {
	for _, p := range r.living() {
		if p.Status == process.Running {
			n++
		}
	}
	return n
}

func (r *rig) git(dir string, argv ...string) {
	r.t.Helper()
	out, err := exec.Command("git", append([]string{"-C", dir}, argv...)...).CombinedOutput()
	require.NoError(r.t, err, "%s", out)
}

func (r *rig) commit(dir string) {
	r.t.Helper()
	r.git(dir, "commit", "-q", "--allow-empty", "-m", "more")
}

func (r *rig) write(name, text string, mode os.FileMode) string {
	r.t.Helper()
	file := filepath.Join(r.root, filepath.FromSlash(name))
	require.NoError(r.t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(r.t, os.WriteFile(file, []byte(text), 0o644))
	require.NoError(r.t, os.Chmod(file, mode))
	return file
}

// script returns the workspace's provisioner of that name.
func (r *rig) script(name, text string) string {
	r.t.Helper()
	return r.write("provisioners/"+name+"/spin.sh", "#!/bin/bash\n"+text, 0o755)
}

func (r *rig) say(name string, in args, change ...func(*tool.Call)) tool.Outcome {
	r.t.Helper()
	all := args{"ecosystem": "demo"}
	for k, v := range in {
		all[k] = v
	}
	doc, err := json.Marshal(all)
	require.NoError(r.t, err)
	c := tool.Call{Session: "s", Client: "t/1", Principal: policy.Principal{ID: "me", Grants: policy.All}, Tool: tool.Name(name), Args: doc}
	for _, f := range change {
		f(&c)
	}
	return resultschema.Checked(r.t, r.Call(r.t.Context(), c))
}

func person(c *tool.Call) { c.FromUser = true }

func with(token confirm.Token, typed string) func(*tool.Call) {
	return func(c *tool.Call) { c.Token, c.Typed = token, typed }
}

// confirmed returns what comes of a call in execute mode, with the confirmation it asks for.
func (r *rig) confirmed(name string, in args) tool.Outcome {
	r.t.Helper()
	all := args{"mode": "execute"}
	for k, v := range in {
		all[k] = v
	}
	o := r.say(name, all)
	if o.Request == nil {
		return o
	}
	return r.say(name, all, with(o.Request.Token, o.Request.Target))
}

// queued returns the id of the run that a confirmed call queues.
func (r *rig) queued(name string, in args) string {
	r.t.Helper()
	o := r.confirmed(name, in)
	require.NoError(r.t, o.Err)
	answer := object(r.t, o.Value)
	require.Equal(r.t, "queued", answer["status"], string(o.Value))
	return answer["run_id"].(string)
}

// done returns a run that was carried out, with what it logged.
func (r *rig) done(name string, in args) (ecosystem.Run, string) {
	r.t.Helper()
	id := r.queued(name, in)
	require.NoError(r.t, r.worker.Drain(r.t.Context(), r.root, "demo"))
	return r.ended(id)
}

func (r *rig) ended(id string) (ecosystem.Run, string) {
	r.t.Helper()
	rec, err := r.store.Runs().Load(r.t.Context(), id)
	require.NoError(r.t, err)
	require.True(r.t, rec.Status.Final(), rec.Status)
	chunk, err := r.store.Runs().Events(r.t.Context(), id, 0)
	require.NoError(r.t, err)
	var log strings.Builder
	for _, e := range chunk.Events {
		log.WriteString(e.Level + " " + e.Message + "\n")
	}
	return rec, log.String()
}

func (r *rig) state() args {
	r.t.Helper()
	o := r.say(status, nil, person)
	require.NoError(r.t, o.Err)
	return object(r.t, o.Value)
}

// note returns the recorded state.
func (r *rig) note() ecosystem.EnvironmentState {
	r.t.Helper()
	doc, err := r.store.States().Noted(r.t.Context(), r.layout, ecosystem.StateKey("default"))
	require.NoError(r.t, err)
	st, err := ecosystem.DecodeEnvironment("default", doc)
	require.NoError(r.t, err)
	return st
}

// keep records a state.
func (r *rig) keep(st ecosystem.EnvironmentState) error {
	doc, err := json.Marshal(st)
	require.NoError(r.t, err)
	return r.store.States().Note(r.t.Context(), r.layout, ecosystem.StateKey("default"), doc)
}

func object(t *testing.T, doc json.RawMessage) args {
	t.Helper()
	var out args
	require.NoError(t, json.Unmarshal(doc, &out), string(doc))
	return out
}

func fetch(t *testing.T, url string) (string, error) {
	t.Helper()
	res, err := http.Get(url) //nolint:gosec,noctx // a service of this test on the loopback address
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return string(body), err
}

// manifest is that of demo with more at its end.
func manifest(more string) string {
	return "name: demo\nrepos:\n  - {name: api, url: \"file:///nowhere/api\", branch: main}\n  - {name: web, url: \"file:///nowhere/web\", branch: main}\n" + more
}

// services returns a manifest in which both repositories run something.
func services(api, web string) string {
	quote := func(s string) string { doc, _ := json.Marshal(s); return string(doc) }
	return fmt.Sprintf("name: demo\nprovisioner: local\nrepos:\n  - {name: api, url: \"file:///nowhere/api\", branch: main, run: %s}\n  - {name: web, url: \"file:///nowhere/web\", branch: main, run: %s}\n", quote(api), quote(web))
}

func code(err error) string { return string(fault.From(err).Code) }
