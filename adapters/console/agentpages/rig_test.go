package agentpages_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/console/agentpages"
	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/local"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/consolerig"
	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"
	"github.com/countersign-dev/countersign/internal/testkit/nopolicy"
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
	door               *local.Local
	top, home, project string
	repo               *gitfixture.Repo
}

func open(t *testing.T, change ...func(*local.Config)) *world {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	w := &world{top: top, home: filepath.Join(top, "home"), project: filepath.Join(top, "project"), repo: gitfixture.New(t, config)}
	for _, dir := range []string{agentpack(top), filepath.Join(w.project, ".git")} {
		require.NoError(t, os.MkdirAll(dir, 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(w.project, ".git", "HEAD"), []byte("ref: refs/heads/main\n"), 0o644))
	require.NoError(t, os.Symlink(w.repo.Dir, filepath.Join(agentpack(top), "repo")))
	c := settings(top)
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

// agentpack is the home of deployments in the world below top.
func agentpack(top string) string { return filepath.Join(top, "home", ".agentpack") }

// settings are those of every process in the world below top.
func settings(top string) local.Config {
	env := map[string]string{"HOME": filepath.Join(top, "home"), "AGENTPACK_HOME": agentpack(top), "AGENTPACK_MACHINE_ID": "ada"}
	return local.Config{Trust: nopolicy.Trust(top), Dir: filepath.Join(top, "state"), Options: person.ByCaller(local.Defaults()), Toolsets: []string{"deployments", "authoring"},
		Env: func(name string) string { return env[name] }, Deployments: local.Deployments{Dir: filepath.Join(top, "project"), Offline: true}}
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

// deployed deploys everything from the plan page.
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

// interrupt has another process deploy everything, which is killed in the middle of it.
func (w *world) interrupt() {
	w.T.Helper()
	out, err := exec.CommandContext(w.T.Context(), os.Args[0], doomedArg, w.top).CombinedOutput()
	require.Error(w.T, err)
	require.Empty(w.T, string(out), "it ended by itself")
	require.FileExists(w.T, filepath.Join(agentpack(w.top), "state", "journal.json"))
}

// doomedArg starts the test binary as a process that deploys everything in a world, and kills itself once the first file is written.
const doomedArg = "deploying-doomed"

// doomed is that process. It returns only when it could not deploy.
func doomed(top string) error {
	runtime.GOMAXPROCS(1) // few files are written at a time, so that some are left
	door, err := local.Open(settings(top))
	if err != nil {
		return err
	}
	call := func(name tool.Name, args string, token confirm.Token) tool.Outcome {
		return door.Call(context.Background(), tool.Call{Session: "doomed", Principal: door.Owner(), Tool: name, Args: json.RawMessage(args), Token: token,
			Progress: func(p tool.Progress) {
				if self, err := os.FindProcess(os.Getpid()); p.Message == "deploying" && err == nil && self.Kill() == nil {
					select {}
				}
			}})
	}
	plan := call("deploy", `{}`, confirm.Token{})
	if plan.Request == nil {
		return fmt.Errorf("no plan to confirm: %w", plan.Err)
	}
	return fmt.Errorf("it was not killed: %w", call("deploy_apply", `{"yes":true}`, plan.Request.Token).Err)
}

// human configures a core that takes approvals from users only.
func human(c *local.Config) { c.Options.Policy.Approval = policy.ApprovalHuman }

// call is an agent's call.
func (w *world) call(name tool.Name, args string) tool.Outcome {
	w.T.Helper()
	return w.door.Call(context.Background(), tool.Call{Session: "agent", Principal: w.door.Owner(), Tool: name, Args: json.RawMessage(args)})
}
