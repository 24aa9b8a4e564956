package keeping_test

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/deployfile"
	"github.com/countersign-dev/countersign/adapters/deployfile/configrepo"
	"github.com/countersign-dev/countersign/adapters/deployfile/place"
	"github.com/countersign-dev/countersign/adapters/deployfile/statindex"
	"github.com/countersign-dev/countersign/adapters/gitcli/confgit"
	"github.com/countersign-dev/countersign/app/deployments"
	"github.com/countersign-dev/countersign/app/deployments/action"
	"github.com/countersign-dev/countersign/app/deployments/compiler"
	"github.com/countersign-dev/countersign/app/deployments/inputs"
	"github.com/countersign-dev/countersign/app/deployments/keeping"
	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/plan"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
)

// world is a user's home, a project and a config repository over the real adapters.
type world struct {
	*testing.T
	top, user, home, project, repo string
	clock                          clock.Fake
	step                           func(step, path string) // of every operation of the machine
	deps                           keeping.Deps
}

type sources struct {
	*configrepo.Files
	*confgit.Client
}

func newWorld(t *testing.T) *world {
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	w := &world{T: t, top: top, user: filepath.Join(top, "user"), project: filepath.Join(top, "project"), step: func(string, string) {}}
	w.home = filepath.Join(w.user, ".agentpack")
	w.repo = filepath.Join(w.home, "repo")
	require.NoError(t, os.MkdirAll(w.project, 0o755))
	w.write(filepath.Join(w.repo, "agentpack.yaml"), `version: 1
profiles: {default: {include_tags: [base]}}
targets:
  codex: {mode: files, scope: both}
modules:
  - {id: "instructions:base", type: instructions, tags: [base], source: {local_path: {path: base}}}
  - {id: "prompt:quiet", type: prompt, source: {local_path: {path: quiet.md}}}
`)
	w.write(filepath.Join(w.repo, "base", "AGENTS.md"), "# Base\n")
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	env := map[string]string{"HOME": w.user, "HOSTNAME": "Box 1", "AGENTPACK_PROJECT_ROOT": w.project}
	index := statindex.Open("")
	files := configrepo.NewFiles(index)
	scopes := map[string][]deployment.Scope{}
	for _, name := range target.Names() {
		scopes[name] = target.Scopes(name)
	}
	machine := deployfile.New(deployfile.Options{Index: index, Clock: &w.clock, Env: func(string) string { return "" },
		Step: func(step, path string) { w.step(step, path) }})
	compile := compiler.Compiler{Places: place.New(func(name string) string { return env[name] }, w.project), Configs: configrepo.NewConfigs(scopes),
		Sources: sources{files, confgit.New(confgit.Options{})}, Overlays: configrepo.NewOverlays(files), Sep: filepath.Separator}
	w.deps = keeping.Deps{Compiler: compile, Machine: machine, Snapshots: machine, Recovery: machine, Events: configrepo.NewEvents(), Clock: &w.clock}
	capability := deployments.Capability(deployments.Deps{Compiler: compile, Planner: planner.Planner{Machine: machine, Snapshots: machine}, Recovery: machine})
	w.deps.Doctor = func(ctx context.Context, sc tool.Scope, c inputs.Call) (any, error) {
		raw, err := json.Marshal(map[string]string{"repo": c.Repo, "target": c.Target})
		require.NoError(t, err)
		invocation, err := entry(t, capability.Entries, "doctor").Handler.Decode(raw)
		require.NoError(t, err)
		return invocation.Commit(ctx, sc, nil)
	}
	return w
}

func entry(t *testing.T, entries []tool.Entry, name string) tool.Entry {
	i := slices.IndexFunc(entries, func(e tool.Entry) bool { return string(e.Spec.Name) == name })
	require.GreaterOrEqual(t, i, 0, name)
	return entries[i]
}

// place is where calls work.
func (w *world) place() deployment.Place {
	at, err := w.deps.Compiler.Places.Resolve(w.Context(), inputs.Call{}.Asked())
	require.NoError(w, err)
	return at
}

// deploy writes one file as a deployment does, and gives its snapshot.
func (w *world) deploy(file, text string) (string, error) {
	w.Helper()
	root := plan.Root{Target: "codex", Path: filepath.Join(w.user, ".codex")}
	path := filepath.Join(root.Path, file)
	seen, err := w.deps.Machine.Observe(w.Context(), look(path))
	require.NoError(w, err)
	put := action.Put(root.Path, path, seen.Files[path], []byte(text))
	require.NotNil(w, put)
	put.Target = "codex"
	return w.deps.Machine.Apply(w.Context(), plan.Transaction{Kind: plan.KindDeploy, Place: w.place(), Profile: "default", Targets: []string{"codex"},
		Roots: []plan.Root{root}, Writes: []plan.Write{*put}, Claim: true, Owned: []plan.Owned{{Target: "codex", Root: root.Path, Path: path,
			Sum: put.Data.Sum, Mode: deployment.Plain, Modules: []string{"instructions:base"}}}}, nil)
}

// deployed is deploy, which has to succeed.
func (w *world) deployed(file, text string) string {
	w.Helper()
	id, err := w.deploy(file, text)
	require.NoError(w, err)
	return id
}

// interrupt leaves a deployment behind that died once its journal was written.
func (w *world) interrupt(file, text string) {
	w.Helper()
	type died struct{}
	w.step = func(step, _ string) {
		if step == "journalled" {
			panic(died{})
		}
	}
	defer func() {
		require.Equal(w, died{}, recover())
		w.step = func(string, string) {}
	}()
	_, err := w.deploy(file, text)
	require.Fail(w, "it did not die", "%v", err)
}

type args map[string]any

// yes is arguments with approval.
func yes(pairs ...any) args {
	a := args{"yes": true}
	for i := 0; i < len(pairs); i += 2 {
		a[pairs[i].(string)] = pairs[i+1]
	}
	return a
}

type answer struct {
	Data     json.RawMessage `json:"data"`
	Warnings []string        `json:"warnings"`
}

// begun is a call that was prepared.
type begun struct {
	world      *world
	invocation tool.Invocation
	plan       tool.Plan
}

func (w *world) scope() tool.Scope { return tool.Scope{Progress: func(tool.Progress) {}} }

func (w *world) begin(name string, a args) (begun, error) {
	text, err := json.Marshal(a)
	require.NoError(w, err)
	e := entry(w.T, keeping.Entries(w.deps), name)
	b := begun{world: w}
	if b.invocation, err = e.Handler.Decode(text); err != nil {
		return b, err
	}
	assert.LessOrEqual(w, b.invocation.Claims().Class, e.Spec.Class)
	b.plan, err = b.invocation.Prepare(w.Context(), w.scope())
	if err != nil {
		assert.Nil(w, b.plan, "a plan beside an error")
	}
	return b, err
}

func (b begun) commit() (answer, error) {
	w := b.world
	out, err := b.invocation.Commit(w.Context(), w.scope(), b.plan)
	if err != nil {
		assert.Nil(w, out, "a result beside an error")
		return answer{}, err
	}
	text, err := json.Marshal(out)
	require.NoError(w, err)
	var a answer
	require.NoError(w, json.Unmarshal([]byte(strings.ReplaceAll(string(text), w.top, "/w")), &a))
	require.NotNil(w, a.Warnings, "warnings are a list")
	return a, nil
}

func (w *world) try(name string, a args) (answer, error) {
	b, err := w.begin(name, a)
	if err != nil {
		return answer{}, err
	}
	return b.commit()
}

func (w *world) call(name string, a args) answer {
	w.Helper()
	out, err := w.try(name, a)
	require.NoError(w, err, "%s %v", name, a)
	return out
}

// golden compares the data of a call, and its warnings, with a file.
func (w *world) golden(file, name string, a args) answer {
	w.Helper()
	out := w.call(name, a)
	golden.JSON(w, file, out)
	return out
}

// decode reads the data of an answer.
func (w *world) decode(a answer, into any) {
	w.Helper()
	require.NoError(w, json.Unmarshal(a.Data, into))
}

func (w *world) refused(sentinel *fault.Error, name string, a args) {
	w.Helper()
	_, err := w.try(name, a)
	require.ErrorIs(w, err, sentinel, "%s %v", name, a)
}

func (w *world) write(file, text string) {
	w.Helper()
	require.NoError(w, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(w, os.WriteFile(file, []byte(text), 0o644))
}

func (w *world) text(file string) string {
	w.Helper()
	data, err := os.ReadFile(file)
	require.NoError(w, err)
	return string(data)
}

// quiet holds a call to leaving every file alone.
func (w *world) quiet(name string, a args) answer {
	w.Helper()
	before := w.shape()
	out := w.call(name, a)
	assert.Equal(w, before, w.shape(), "%s %v changed a file", name, a)
	return out
}

// shape is every file below the world, but what git and locks keep, by name with its text.
func (w *world) shape() map[string]string {
	out := map[string]string{}
	require.NoError(w, filepath.WalkDir(w.top, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case d.Type().IsRegular():
			out[path] = w.text(path)
		}
		return nil
	}))
	return out
}
