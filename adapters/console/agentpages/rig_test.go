package agentpages_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/console/agentpages"
	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/local"
	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
	"github.com/countersign-dev/countersign/internal/testkit/consolerig"
	"github.com/countersign-dev/countersign/internal/testkit/deployrig"
	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"
	"github.com/countersign-dev/countersign/internal/testkit/person"
)

// config is a config repository for two agents.
const config = `
-- agentpack.yaml --
version: 1
profiles:
  default:
    include_tags: [base]
  small:
    include_modules: ["prompt:hello"]
targets:
  codex:
    mode: files
    scope: both
    options: {write_user_prompts: true}
  claude_code:
    mode: files
    scope: both
modules:
  - id: instructions:base
    type: instructions
    tags: [base]
    source: {local_path: {path: modules/base}}
  - id: prompt:hello
    type: prompt
    tags: [base]
    targets: [codex]
    source: {local_path: {path: modules/hello.md}}
  - id: command:check
    type: command
    tags: [base]
    targets: [claude_code]
    source: {local_path: {path: modules/check.md}}
-- modules/base/AGENTS.md --
# Rules

Be kind & careful.
-- modules/hello.md --
Say hello.
-- modules/check.md --
---
description: check things
allowed-tools: []
---
Check <everything>.
`

// world is a home with a config repository for two agents, a project, and a console.
type world struct {
	*consolerig.Site
	door          *local.Local
	home, project string
	env           map[string]string
	repo          *gitfixture.Repo
}

func open(t *testing.T, change ...func(*local.Config)) *world {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	w := &world{home: filepath.Join(top, "home"), project: filepath.Join(top, "project"), repo: gitfixture.New(t, config)}
	for _, dir := range []string{w.home, filepath.Join(w.project, ".git")} {
		require.NoError(t, os.MkdirAll(dir, 0o755))
	}
	w.env = map[string]string{"HOME": w.home, "AGENTPACK_HOME": filepath.Join(w.home, ".agentpack"), "AGENTPACK_MACHINE_ID": "ada"}
	require.NoError(t, os.MkdirAll(w.env["AGENTPACK_HOME"], 0o755))
	require.NoError(t, os.Symlink(w.repo.Dir, filepath.Join(w.env["AGENTPACK_HOME"], "repo")))
	c := local.Config{Dir: filepath.Join(top, "state"), Options: person.ByCaller(local.Defaults()), Toolsets: []string{"deployments", "authoring"}, Env: func(name string) string { return w.env[name] },
		Deployments: local.Deployments{Dir: w.project, Offline: true}}
	for _, f := range change {
		f(&c)
	}
	w.door, err = local.Open(c)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, w.door.Close()) })
	w.Site = consolerig.New(t, w.door, func(desk *ui.CallRunner, mux *http.ServeMux, person func(httpauth.Handler) http.Handler) {
		agentpages.New(desk).Mount(mux, person)
	})
	return w
}

// file is the path of a file below a home or project.
func file(parts ...string) string { return filepath.Join(parts...) }

// write puts a file there.
func (w *world) write(path, text string) {
	w.T.Helper()
	require.NoError(w.T, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(w.T, os.WriteFile(path, []byte(text), 0o644))
}

// reads is what a file holds; empty when there is none.
func (w *world) reads(path string) string {
	w.T.Helper()
	data, err := os.ReadFile(path)
	if !os.IsNotExist(err) {
		require.NoError(w.T, err)
	}
	return string(data)
}

// deployed has a person deploy everything.
func (w *world) deployed() {
	w.T.Helper()
	p := w.Get("/deployments/plan")
	p.Press(button(p)).See("Deploy:", "done")
}

// button is the name of the page's button of a decision.
func button(p consolerig.Page) string {
	p.Site.T.Helper()
	m := regexp.MustCompile(`<button type="submit" class="go" data-patience="700">([^<]*)</button>`).FindStringSubmatch(p.HTML)
	require.NotNil(p.Site.T, m, "nothing to decide on %s: %s", p.Path, p.Text())
	return m[1]
}

// interrupt leaves a deployment behind that died once its journal was written.
func (w *world) interrupt() {
	w.T.Helper()
	type died struct{}
	wired := deployrig.Wire(deployrig.Wiring{Env: w.env, Dir: w.project, Clock: &clock.Fake{}, Step: func(step, _ string) {
		if step == "journalled" {
			panic(died{})
		}
	}})
	state, err := wired.Compiler.Compile(w.T.Context(), planner.Request{Profile: "default", Target: "all"})
	require.NoError(w.T, err)
	result, err := wired.Planner.Deploy(w.T.Context(), state)
	require.NoError(w.T, err)
	require.PanicsWithValue(w.T, died{}, func() {
		_, _ = wired.Machine.Apply(w.T.Context(), result.Plan.Transaction(state.Place, deployment.KindDeploy, state.Config.LockSum), nil)
	})
}

// human is a door that takes approvals from people alone.
func human(c *local.Config) { c.Options.Policy.Approval = policy.ApprovalHuman }

// call is an agent's call.
func (w *world) call(name tool.Name, args string) tool.Outcome {
	w.T.Helper()
	return w.door.Call(context.Background(), tool.Call{Session: "agent", Principal: w.door.Owner(), Tool: name, Args: json.RawMessage(args)})
}
