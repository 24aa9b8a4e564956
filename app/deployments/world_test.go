package deployments_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/deployfile/configrepo"
	"github.com/countersign-dev/countersign/app/deployments"
	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
	"github.com/countersign-dev/countersign/internal/testkit/deployrig"
)

// maintenanceWorld is a user's home, a project and a config repository over the real adapters.
type maintenanceWorld struct {
	*deployrig.Stage
	user, home, project, repo string
	clock                     clock.Fake
	step                      func(step, path string) // of every operation of the machine
	deps                      deployments.MaintenanceDeps
}

func maintenanceNewWorld(t *testing.T) *maintenanceWorld {
	w := &maintenanceWorld{Stage: deployrig.NewStage(t), step: func(string, string) {}}
	w.user, w.project = filepath.Join(w.Top, "user"), filepath.Join(w.Top, "project")
	w.home = filepath.Join(w.user, ".agentpack")
	w.repo = filepath.Join(w.home, "repo")
	require.NoError(t, os.MkdirAll(w.project, 0o755))
	w.Write(filepath.Join(w.repo, "agentpack.yaml"), `version: 1
profiles: {default: {include_tags: [base]}}
targets:
  codex: {mode: files, scope: both}
modules:
  - {id: "instructions:base", type: instructions, tags: [base], source: {local_path: {path: base}}}
  - {id: "prompt:quiet", type: prompt, source: {local_path: {path: quiet.md}}}
`)
	w.Write(filepath.Join(w.repo, "base", "AGENTS.md"), "# Base\n")
	wired := deployrig.Wire(deployrig.Wiring{Env: map[string]string{"HOME": w.user, "HOSTNAME": "Box 1", "AGENTPACK_PROJECT_ROOT": w.project}, Dir: w.project,
		Clock: &w.clock, Step: func(step, path string) { w.step(step, path) }})
	machine := wired.Machine
	w.deps = deployments.MaintenanceDeps{Compiler: wired.Compiler, Machine: machine, Snapshots: machine, Recovery: machine, Registry: machine, Events: configrepo.NewEvents(), Clock: &w.clock}
	w.Tools = func() []tool.Entry { return deployments.MaintenanceEntries(w.deps) }
	w.deps.Doctor = deployments.DoctorQuery(deployments.Deps{Compiler: wired.Compiler, Planner: wired.Planner, Recovery: machine})
	return w
}

// place returns the place of calls.
func (w *maintenanceWorld) place() deployment.Locations {
	at, err := w.deps.Compiler.Places.Resolve(w.Context(), planner.Selection{}.Asked())
	require.NoError(w, err)
	return at
}

// deploy writes one file as a deployment does, and returns its snapshot.
func (w *maintenanceWorld) deploy(file, text string) (string, error) {
	w.Helper()
	root := deployment.Root{Target: "codex", Path: filepath.Join(w.user, ".codex")}
	path := filepath.Join(root.Path, file)
	seen, err := w.deps.Machine.Observe(w.Context(), look(path))
	require.NoError(w, err)
	put := planner.FileWrite(root.Path, path, seen.Files[path], []byte(text))
	require.NotNil(w, put)
	put.Target = "codex"
	return w.deps.Machine.Apply(w.Context(), deployment.Transaction{Kind: deployment.KindDeploy, Place: w.place(), Profile: "default", Targets: []string{"codex"},
		Roots: []deployment.Root{root}, Writes: []deployment.Write{*put}, Claim: true, Owned: []deployment.Owned{{Target: "codex", Root: root.Path, Path: path,
			Sum: put.Data.Sum, Mode: deployment.PlainMode, Modules: []string{"instructions:base"}}}}, nil)
}

// deployed is deploy, which must succeed.
func (w *maintenanceWorld) deployed(file, text string) string {
	w.Helper()
	id, err := w.deploy(file, text)
	require.NoError(w, err)
	return id
}

// interrupt leaves a deployment that died once its operation log was written.
func (w *maintenanceWorld) interrupt(file, text string) {
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

type args = deployrig.Args

// yes returns arguments with approval.
func yes(pairs ...any) args { return deployrig.Yes(pairs...) }
