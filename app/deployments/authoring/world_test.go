package authoring_test

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
	"github.com/countersign-dev/countersign/adapters/deployfile/scan"
	"github.com/countersign-dev/countersign/adapters/deployfile/statindex"
	"github.com/countersign-dev/countersign/adapters/gitcli/confgit"
	"github.com/countersign-dev/countersign/app/deployments/authoring"
	"github.com/countersign-dev/countersign/app/deployments/compiler"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
)

// world is a user's home, a project and a config repository over the real adapters.
type world struct {
	*testing.T
	top, user, project, repo string
	clock                    clock.Fake
	deps                     authoring.Deps
}

type sources struct {
	*configrepo.Files
	*confgit.Client
}

func newWorld(t *testing.T) *world {
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	w := &world{T: t, top: top, user: filepath.Join(top, "user"), project: filepath.Join(top, "project")}
	w.repo = filepath.Join(w.user, ".agentpack", "repo")
	require.NoError(t, os.MkdirAll(w.user, 0o755))
	w.write(filepath.Join(w.project, ".git", "HEAD"), "ref: refs/heads/main\n")
	w.write(filepath.Join(w.project, ".git", "config"), "[remote \"origin\"]\n\turl = https://github.com/example/example.git\n")
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	env := map[string]string{"HOME": w.user, "HOSTNAME": "Box 1"}
	index := statindex.Open("")
	files := configrepo.NewFiles(index)
	git := confgit.New(confgit.Options{Tree: func(ctx context.Context, root, sub string) (deployment.Tree, error) {
		if sub == "" {
			return files.Tree(ctx, root)
		}
		return files.Local(ctx, deployment.Place{Repo: root}, sub)
	}})
	scopes := map[string][]deployment.Scope{}
	for _, name := range target.Names() {
		scopes[name] = target.Scopes(name)
	}
	w.deps = authoring.Deps{
		Compiler: compiler.Compiler{Places: place.New(func(name string) string { return env[name] }, w.project), Configs: configrepo.NewConfigs(scopes),
			Sources: sources{files, git}, Overlays: configrepo.NewOverlays(files), Sep: filepath.Separator},
		Machine: deployfile.New(deployfile.Options{Index: index, Clock: &w.clock, Env: func(string) string { return "" }}),
		Remote:  git, Scanner: scan.New(files), Clock: &w.clock,
	}
	return w
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

func (w *world) entry(name string) tool.Entry {
	entries := authoring.Entries(w.deps)
	i := slices.IndexFunc(entries, func(e tool.Entry) bool { return string(e.Spec.Name) == name })
	require.GreaterOrEqual(w, i, 0, name)
	return entries[i]
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
	e := w.entry(name)
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
	return w.read(out), nil
}

func (w *world) read(value any) (a answer) {
	text, err := json.Marshal(value)
	require.NoError(w, err)
	text = []byte(strings.ReplaceAll(string(text), w.top, "/w"))
	require.NoError(w, json.Unmarshal(text, &a))
	require.NotNil(w, a.Warnings, "warnings are a list")
	return a
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

// refused is the fault a call fails with; its details have a JSON form with paths below /w.
func (w *world) refused(sentinel *fault.Error, name string, a args) map[string]any {
	w.Helper()
	_, err := w.try(name, a)
	require.ErrorIs(w, err, sentinel, "%s %v", name, a)
	text, err := json.Marshal(fault.From(err).Details)
	require.NoError(w, err)
	var details map[string]any
	require.NoError(w, json.Unmarshal([]byte(strings.ReplaceAll(string(text), w.top, "/w")), &details))
	return details
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

func (w *world) in(path string) string { return filepath.Join(w.repo, filepath.FromSlash(path)) }

// manifest makes a config repository with these modules, each a line in flow style.
func (w *world) manifest(modules ...string) {
	w.Helper()
	text := "version: 1\n# kept\nprofiles:\n  default:\n    include_tags: [base]\ntargets:\n  codex: {mode: files, scope: both}\nmodules:"
	if len(modules) == 0 {
		text += " []"
	}
	w.write(w.in("agentpack.yaml"), text+"\n"+strings.Join(modules, ""))
}

// shape is every file below the world, but what git and locks keep, by name with its text.
func (w *world) shape() map[string]string {
	out := map[string]string{}
	require.NoError(w, filepath.WalkDir(w.top, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "cache"):
			return fs.SkipDir
		case d.Type().IsRegular():
			out[path] = w.text(path)
		}
		return nil
	}))
	return out
}

// quiet holds a call to leaving every file alone.
func (w *world) quiet(name string, a args) answer {
	w.Helper()
	before := w.shape()
	out := w.call(name, a)
	assert.Equal(w, before, w.shape(), "%s %v changed a file", name, a)
	return out
}
