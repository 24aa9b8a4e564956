package console_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/console"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/local"
	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/browser"
	"github.com/countersign-dev/countersign/internal/testkit/consoletest"
	"github.com/countersign-dev/countersign/internal/testkit/nopolicy"
	"github.com/countersign-dev/countersign/internal/testkit/person"
	"github.com/countersign-dev/countersign/internal/testkit/workroom"
)

// machine is one user's machine: an agent's server stands in a project, and the console's somewhere else.
type machine struct {
	t     *testing.T
	base  string
	agent *local.Local
	here  *local.Local
	web   *consoletest.Web
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	base, err := filepath.EvalSymlinks(workroom.Far(t)) // projects are not in memory
	require.NoError(t, err)
	m := &machine{t: t, base: base}
	m.write("project/.git/HEAD", "ref: refs/heads/main\n")
	m.write("project/package.json", `{"name":"shop","version":"1.0.0","scripts":{"build":"echo built > built.txt"}}`)
	m.write("project/package-lock.json", `{"name":"shop","version":"1.0.0","lockfileVersion":3,"requires":true,"packages":{"":{"name":"shop","version":"1.0.0"}}}`)
	m.write("project/.github/copilot-instructions.md", "what a person wrote\n")
	m.write("agents/repo/agentpack.yaml", "version: 1\nprofiles:\n  default:\n    include_tags: [base]\ntargets:\n  vscode: {mode: files, scope: project}\nmodules:\n"+
		"  - {id: \"instructions:base\", type: instructions, tags: [base], source: {local_path: {path: modules/base}}}\n")
	m.write("agents/repo/modules/base/AGENTS.md", "# Base <script>\n")
	m.write("ws/README.md", "# Workspace\n")
	m.repository("ws")
	m.write("api/CHANGELOG.md", "# Changelog\n")
	m.repository("api")
	m.git("", "clone", "-q", "--bare", m.at("api"), m.at("origin/api.git"))
	require.NoError(t, os.MkdirAll(m.at("home"), 0o755))
	m.agent, m.here = m.open("project"), m.open("home")
	life, end := context.WithCancel(context.Background())
	wait := func(context.Context) {}
	t.Cleanup(func() {
		end()
		wait(context.Background())
	})
	m.web = consoletest.Serve(t, func(mux *http.ServeMux) {
		wait = console.Mount(life, mux, console.Options{App: m.here.App, Credentials: m.here.Admission(), Person: consoletest.Person(), IDs: func() string { return system.IDs{}.NewID("work_", 16) }, Machine: machineOf(m.here)})
		consoletest.Events(t, mux, &consoletest.TestCore{App: m.here.App}, consoletest.Person())
	})
	return m
}

// open opens a core as a process that stands in that directory does.
func (m *machine) open(dir string) *local.Local {
	env := map[string]string{"HOME": m.at("home"), "PATH": os.Getenv("PATH"), "AGENTPACK_HOME": m.at("agents"), "AMOF_WORKSPACE_ROOT": m.at("ws")}
	options := local.Defaults()
	l, err := local.Open(local.Config{Trust: nopolicy.Trust(m.t.TempDir()), Dir: m.at("state"), Options: options, Deployments: local.Deployments{Dir: m.at(dir)}, Packs: local.Packs{Root: m.at("packs"), Source: m.at(dir)},
		Projects: local.Projects{Supervisor: []string{os.Args[0], "supervise"}}, Env: func(name string) string { return env[name] }})
	require.NoError(m.t, err)
	m.t.Cleanup(func() { require.NoError(m.t, l.Close()) })
	return l
}

func (m *machine) at(path string) string { return filepath.Join(m.base, path) }

func (m *machine) write(path, text string) {
	m.t.Helper()
	require.NoError(m.t, os.MkdirAll(filepath.Dir(m.at(path)), 0o755))
	require.NoError(m.t, os.WriteFile(m.at(path), []byte(text), 0o600))
}

func (m *machine) read(path string) string {
	text, _ := os.ReadFile(m.at(path)) //nolint:errcheck // none is empty
	return string(text)
}

func (m *machine) git(in string, args ...string) {
	m.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = m.at(in)
	out, err := cmd.CombinedOutput()
	require.NoError(m.t, err, "%s", out)
}

func (m *machine) repository(dir string) {
	m.git(dir, "init", "-q", "-b", "main")
	m.git(dir, "add", "-A")
	m.git(dir, "commit", "-q", "-m", "begin")
}

// asks makes a call as an agent, waits for the user, and says what came of it.
func (m *machine) asks(name, args string) <-chan tool.Outcome {
	call := tool.Call{Session: "agent", Client: "claude-code/2.1", Principal: policy.Principal{ID: "local", Grants: policy.All}, Mode: policy.Execute, Tool: tool.Name(name), Args: json.RawMessage(args)}
	if name == "deploy_apply" { // its token names the plan
		plan := call
		plan.Tool, plan.Args = "deploy", json.RawMessage(`{}`)
		offered := m.agent.Call(context.Background(), plan)
		require.NotNil(m.t, offered.Request, "%v", offered.Err)
		call.Token = offered.Request.Token
	}
	asked := m.agent.Call(context.Background(), call)
	require.NotNil(m.t, asked.Request, "%s asked nothing: %v", name, asked.Err)
	done := make(chan tool.Outcome, 1)
	go func() {
		for {
			waits, err := m.agent.ApprovalPending(context.Background(), asked.Request.ID)
			if err != nil || !waits {
				call.ID, call.ApprovalDigest = asked.CallID, asked.Request.Digest
				done <- m.agent.Call(context.Background(), call)
				return
			}
			time.Sleep(5 * time.Millisecond) // between two looks, as a waiting call of another process has
		}
	}()
	return done
}

// came returns what came of a call.
func (m *machine) came(done <-chan tool.Outcome) tool.Outcome {
	m.t.Helper()
	select {
	case o := <-done:
		return o
	case <-time.After(time.Minute):
		require.Fail(m.t, "the call never went on")
		return tool.Outcome{}
	}
}

// TestTheMainJob: an agent's deployment, script and discard appear with their diff, command and losses; the user decides; the agent's call goes on.
func TestTheMainJob(t *testing.T) {
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("npm is not installed")
	}
	m := newMachine(t)
	m.prepared()
	p := browser.Open(t).Page(t, m.web.URL+"/approvals")
	p.WaitText("main", "No pending approvals")

	deployed := m.asks("deploy_apply", `{"yes":true,"adopt":true}`)
	p.WaitText("#waiting", "deploy to vscode: 0 to create, 1 to update, 0 to delete")
	p.WaitText("#waiting", "overwrites an unmanaged file")
	p.WaitText("#waiting", "@@ -1 +1 @@\n-what a person wrote\n+# Base <script>")
	p.Axe()
	p.Shot("a deployment")
	p.Press("Approve: deploy to vscode: 0 to create, 1 to update, 0 to delete (1 of them overwrite or delete files that no deployment wrote, or edits made here)")
	require.NoError(t, m.came(deployed).Err)
	assert.Equal(t, "# Base <script>\n", m.read("project/.github/copilot-instructions.md"))
	p.WaitText(".notice", "approved and completed")

	built := m.asks("run_script", `{"script_name":"build","project_path":"`+m.at("project")+`"}`)
	p.WaitText("#waiting", "echo built > built.txt")
	p.Axe()
	p.Shot("a script")
	var always string
	p.Eval(`document.querySelector('#waiting button[value="always"]').getAttribute("aria-label")`, &always)
	assert.Regexp(t, `^Always allow in this session: script build of project \(run_script\), as it reads now, with these arguments, for at most 12 hours; not bound: how often it runs; the contents of other files: run script build of project: echo built > built.txt$`, always)
	p.Press("Allow in this session …")
	p.Press(always)
	require.NoError(t, m.came(built).Err)
	assert.Equal(t, "built\n", m.read("project/built.txt"))

	discarded := m.asks("amof_discard_ecosystem", `{"ecosystem":"shop"}`)
	p.WaitText("#waiting", "worktrees/shop/repos/api/note.txt")
	p.WaitText("#waiting", "cannot be undone")
	p.Axe()
	p.Shot("a discard")
	p.Type("#waiting input[name=typed_value]", "shop\r")
	require.NoError(t, m.came(discarded).Err)
	require.Eventually(t, func() bool { _, err := os.Stat(m.at("ws/worktrees/shop")); return os.IsNotExist(err) }, time.Minute, 20*time.Millisecond)

	denied := m.asks("rollback", `{"to":"initial","yes":true}`)
	p.WaitText("#waiting", "-# Base <script>\n+what a person wrote")
	p.Type("#waiting input[name=reason]", "leave it")
	p.Press("Deny: roll back to initial: 0 to create, 1 to update, 0 to delete")
	require.ErrorIs(t, m.came(denied).Err, confirm.ErrDenied)
	p.WaitText(".notice", "denied by a user: leave it")
	for _, path := range []string{"/activity", "/audit"} {
		p.Go(m.web.URL + path)
		p.WaitText("main", "deploy_apply")
		p.Axe()
		p.Shot(strings.Trim(path, "/"))
		p.Dark(true)
		p.Axe()
		p.Dark(false)
	}
	p.Press("Verify audit log")
	p.WaitText("#chain", "The audit log is valid")
}

// prepared registers the project, and installs an ecosystem that holds work of its own.
func (m *machine) prepared() {
	m.t.Helper()
	me := httpauth.Identity{Principal: policy.Principal{ID: "local", Grants: policy.All}, Session: "terminal", Person: true}
	by := func(name, args string) {
		m.t.Helper()
		call := me.Call(tool.Name(name), json.RawMessage(args))
		call.Mode = policy.Execute
		out := m.agent.Call(context.Background(), call)
		if out.Request != nil && out.Err != nil {
			call.ID, call.Decision = out.CallID, &confirm.Decision{ID: out.Request.ID, Approve: true, By: "terminal", Proof: person.AtTerminal, Typed: out.Request.Target}
			out = m.agent.Call(context.Background(), call)
		}
		require.NoError(m.t, out.Err, name)
	}
	by("project_add", `{"path":"`+m.at("project")+`"}`)
	by("amof_create_ecosystem", `{"name":"shop","repos":[{"name":"api","url":"`+m.at("origin/api.git")+`"}]}`)
	by("amof_install_ecosystem", `{"ecosystem":"shop"}`)
	require.Eventually(m.t, func() bool { _, err := os.Stat(m.at("ws/worktrees/shop/repos/api/.git")); return err == nil }, time.Minute, 20*time.Millisecond)
	m.write("ws/worktrees/shop/repos/api/note.txt", "not anywhere else\n")
}
