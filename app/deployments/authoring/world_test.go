package authoring_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/deployfile/configrepo"
	"github.com/countersign-dev/countersign/adapters/docedit"
	"github.com/countersign-dev/countersign/app/deployments/authoring"
	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
	"github.com/countersign-dev/countersign/internal/testkit/deployrig"
)

// world is a user's home, a project and a config repository over the real adapters.
type world struct {
	*deployrig.Stage
	user, project, repo string
	clock               clock.Fake
	deps                authoring.ConfigRepoDeps
}

func newWorld(t *testing.T) *world {
	w := &world{Stage: deployrig.NewStage(t)}
	w.user, w.project = filepath.Join(w.Top, "user"), filepath.Join(w.Top, "project")
	w.repo = filepath.Join(w.user, ".agentpack", "repo")
	require.NoError(t, os.MkdirAll(w.user, 0o755))
	w.Write(filepath.Join(w.project, ".git", "HEAD"), "ref: refs/heads/main\n")
	w.Write(filepath.Join(w.project, ".git", "config"), "[remote \"origin\"]\n\turl = https://github.com/example/example.git\n")
	wired := deployrig.Wire(deployrig.Wiring{Env: map[string]string{"HOME": w.user, "HOSTNAME": "Box 1"}, Dir: w.project, Clock: &w.clock})
	w.deps = authoring.ConfigRepoDeps{Compiler: wired.Compiler, Machine: wired.Machine, Remote: wired.Git, Scanner: configrepo.NewScanner(wired.Files), Differ: docedit.Differ{}, Clock: &w.clock, Documents: wired.Planner.Documents}
	w.Unwatched = append(w.Unwatched, "cache")
	w.Tools = func() []tool.Entry { return authoring.ConfigRepoEntries(w.deps) }
	return w
}

type args = deployrig.Args

// yes returns arguments with approval.
func yes(pairs ...any) args { return deployrig.Yes(pairs...) }

func (w *world) in(path string) string { return filepath.Join(w.repo, filepath.FromSlash(path)) }

// manifest makes a config repository with these modules, each a line in flow style.
func (w *world) manifest(modules ...string) {
	w.Helper()
	text := "version: 1\n# kept\nprofiles:\n  default:\n    include_tags: [base]\ntargets:\n  codex: {mode: files, scope: both}\nmodules:"
	if len(modules) == 0 {
		text += " []"
	}
	w.Write(w.in("agentpack.yaml"), text+"\n"+strings.Join(modules, ""))
}

// asks returns what plans ask the compiler for.
func asks(w *world) planner.Request {
	return planner.Selected(planner.Selection{Repo: w.repo}).Request()
}

// replaced returns text with a part of it replaced, which has to be there.
func replaced(t testing.TB, text, old, by string) string {
	t.Helper()
	require.Contains(t, text, old)
	return strings.Replace(text, old, by, 1)
}
