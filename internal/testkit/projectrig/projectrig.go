// Package projectrig assembles the project toolsets over real parts: database, files, git, processes and sockets, in temporary directories. Only npm and pnpm
// are replaced, by small programs that record their arguments.
package projectrig

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/local"
	"github.com/countersign-dev/countersign/adapters/osproc"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/nopolicy"
	"github.com/countersign-dev/countersign/internal/testkit/person"
	"github.com/countersign-dev/countersign/internal/testkit/resultschema"
)

// The words by which a test program is started as something else.
const (
	supervise = "projectrig-supervise"
	oneCall   = "projectrig-call"
)

// Main is the TestMain of tests over a rig: their program is also the supervisor of what runs in the background, and, where a test wants
// to end one, a Countersign process that carries out one call. run is the tests themselves; Main does not return.
func Main(run func() int) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case supervise:
			exit(local.Supervise())
		case oneCall:
			exit(callOnce(os.Args[2:]))
		}
	}
	code := run()
	for { // ended supervisors that were not queried since
		if pid, err := syscall.Wait4(-1, nil, 0, nil); pid <= 0 && err != syscall.EINTR {
			os.Exit(code)
		}
	}
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Rig is a machine with a user.
type Rig struct {
	T     testing.TB
	Top   string // everything lies below it
	Home  string // the user's, with bin first on the PATH
	State string // Countersign's own
}

// manager is a package manager that starts NAME.sh of the directory it is started in for the script NAME, and writes down what it was told.
const manager = `#!/bin/sh
printf '%s\0' "${0##*/}" "$@" >> "$HOME/told"
printf '\n' >> "$HOME/told"
shift; name=$1; shift
[ "$1" = -- ] && shift
exec sh "./$name.sh" "$@"
`

// New returns a machine with npm and pnpm, for this test alone.
func New(t testing.TB) *Rig {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	r := &Rig{T: t, Top: top, Home: filepath.Join(top, "ada"), State: filepath.Join(top, "state")}
	for _, name := range []string{"npm", "pnpm"} {
		r.Write(filepath.Join(r.Home, "bin"), name, manager)
		require.NoError(t, os.Chmod(filepath.Join(r.Home, "bin", name), 0o755))
	}
	t.Setenv("PATH", filepath.Join(r.Home, "bin")+":"+os.Getenv("PATH"))
	t.Setenv("HOME", r.Home)
	for _, name := range []string{"VOLTA_HOME", "PNPM_HOME", "BUN_INSTALL", "NVM_BIN", "FNM_MULTISHELL_PATH", "CARGO_HOME", "XDG_CONFIG_HOME", "COUNTERSIGN_HOME"} {
		t.Setenv(name, "")
	}
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	t.Cleanup(r.stop)
	return r
}

// Core is one Countersign process with one client.
type Core struct {
	*local.Local
	Session string
	Client  string
	rig     *Rig
}

// OpenCore opens the core as a server does. change, if not nil, sees the configuration first.
func (r *Rig) OpenCore(change func(*local.Config)) *Core {
	r.T.Helper()
	c := configOf(r.State, r.Home)
	if change != nil {
		change(&c)
	}
	l, err := local.Open(c)
	require.NoError(r.T, err)
	d := &Core{Local: l, Session: "session", Client: "rig/1", rig: r}
	r.T.Cleanup(func() { require.NoError(r.T, l.Close()) })
	return d
}

func configOf(state, home string) local.Config {
	return local.Config{Trust: nopolicy.Trust(state), Dir: state, Options: person.ByCaller(local.Defaults()), Packs: local.Packs{Root: filepath.Join(state, "packs"), Source: state},
		Projects: local.Projects{Home: home, Supervisor: []string{os.Args[0], supervise}}}
}

func theUser() policy.Principal { return policy.Principal{ID: "local", Grants: policy.All} }

// Table returns every process of the machine that Countersign started, without the core.
func (r *Rig) Table() *osproc.Processes {
	return osproc.New(osproc.Options{Dir: filepath.Join(r.State, "processes")})
}

// stop ends what a test left running.
func (r *Rig) stop() {
	ctx := context.Background()
	_, err := r.Table().Recover(ctx)
	require.NoError(r.T, err)
	states, err := r.Table().List(ctx)
	require.NoError(r.T, err)
	for _, s := range states {
		_, err := r.Table().Stop(ctx, s.ID, 0)
		require.NoError(r.T, err)
	}
}

// Call returns what comes of a call, which is what its tool publishes.
func (d *Core) Call(ctx context.Context, c tool.Call) tool.Outcome {
	return resultschema.Checked(d.rig.T, d.Local.Call(ctx, c))
}

// call carries a call out, with the confirmation it asks for.
func call(ctx context.Context, core interface {
	Call(ctx context.Context, c tool.Call) tool.Outcome
}, c tool.Call) tool.Outcome {
	o := core.Call(ctx, c)
	if o.Request == nil || o.Err == nil || o.Request.Token.IsZero() {
		return o
	}
	c.ID, c.Token = "", o.Request.Token
	return core.Call(ctx, c)
}

// Args are the arguments of a call: anything that marshals to an object, or its text.
type Args = any

func encode(args Args) json.RawMessage {
	switch args := args.(type) {
	case nil:
		return nil
	case string:
		return json.RawMessage(args)
	case json.RawMessage:
		return args
	}
	doc, err := json.Marshal(args)
	if err != nil {
		panic(err) // a test's mistake
	}
	if string(doc) == "null" {
		return nil
	}
	return doc
}

// Fresh is another process with the same client: it has its own count of how often it is called.
func (d *Core) Fresh() *Core {
	d.rig.T.Helper()
	fresh := d.rig.OpenCore(nil)
	fresh.Session, fresh.Client = d.Session, d.Client
	return fresh
}

// New returns a call of the core's client.
func (d *Core) New(name tool.Name, args Args) tool.Call {
	return tool.Call{Session: d.Session, Client: d.Client, Principal: theUser(), Tool: name, Args: encode(args)}
}

// Ask returns what comes of a call as an agent makes it.
func (d *Core) Ask(name tool.Name, args Args) tool.Outcome {
	return d.Call(d.rig.T.Context(), d.New(name, args))
}

// Confirmed returns what comes of a call that is confirmed when it asks.
func (d *Core) Confirmed(name tool.Name, args Args) tool.Outcome {
	return call(d.rig.T.Context(), d, d.New(name, args))
}

// Do returns the answer of a call that is confirmed when it asks, and that has to go well.
func (d *Core) Do(name tool.Name, args Args) map[string]any {
	d.rig.T.Helper()
	return d.answer(d.Confirmed(name, args))
}

// ByPerson returns the answer of a call that the user makes, which has to go well.
func (d *Core) ByPerson(name tool.Name, args Args) map[string]any {
	d.rig.T.Helper()
	c := d.New(name, args)
	c.FromUser = true
	return d.answer(call(d.rig.T.Context(), d, c))
}

func (d *Core) answer(o tool.Outcome) map[string]any {
	d.rig.T.Helper()
	require.NoError(d.rig.T, o.Err)
	return Object(d.rig.T, o.Value)
}

// Object returns a JSON object.
func Object(t testing.TB, doc json.RawMessage) map[string]any {
	t.Helper()
	var out map[string]any
	require.NoError(t, json.Unmarshal(doc, &out), string(doc))
	return out
}

// Register registers a directory as a project, and is its ID.
func (d *Core) Register(dir string) project.ID {
	d.rig.T.Helper()
	return project.ID(d.ByPerson("project_add", map[string]any{"path": dir})["id"].(string))
}

// Project returns a new directory of that name with the files of a txtar archive, registered.
func (d *Core) Project(name, archive string) (dir string, id project.ID) {
	d.rig.T.Helper()
	dir = d.rig.Dir(name, archive)
	return dir, d.Register(dir)
}

// Dir returns a new directory of that name with the files of a txtar archive.
func (r *Rig) Dir(name, archive string) string {
	r.T.Helper()
	dir := filepath.Join(r.Top, name)
	require.NoError(r.T, os.MkdirAll(dir, 0o755))
	for _, f := range txtar.Parse([]byte(archive)).Files {
		r.Write(dir, f.Name, string(f.Data))
	}
	return dir
}

// Write puts a file below dir, with directories as needed.
func (r *Rig) Write(dir, name, text string) {
	r.T.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	require.NoError(r.T, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(r.T, os.WriteFile(file, []byte(text), 0o644))
}

// Read returns a file below dir, empty when there is none.
func (r *Rig) Read(dir, name string) string {
	r.T.Helper()
	text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if !os.IsNotExist(err) {
		require.NoError(r.T, err)
	}
	return string(text)
}

// Told returns what package managers were told, a start each: the manager's name and its arguments.
func (r *Rig) Told() (starts [][]string) {
	r.T.Helper()
	for line := range strings.SplitSeq(strings.TrimSuffix(r.Read(r.Home, "told"), "\x00\n"), "\x00\n") {
		if line != "" {
			starts = append(starts, strings.Split(line, "\x00"))
		}
	}
	return starts
}

// Soon waits until what is true in the end is so, and fails the test when it takes more than ten seconds.
func (r *Rig) Soon(so func() bool, what string) {
	r.T.Helper()
	require.Eventually(r.T, so, time.Minute, 10*time.Millisecond, what)
}
