//go:build linux

package main

import (
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testkit/fakeserver"
	"github.com/countersign-dev/countersign/internal/testkit/stdiotest"
)

// sandboxClient is an agent that works with sandboxes over MCP.
type sandboxClient struct {
	*workshop
	*stdiotest.Client
	url string
}

// newBoxer returns a workshop with a bare origin of three branches and that program for a server.
func newBoxer(t *testing.T, program string) *sandboxClient {
	w := newWorkshopFor(t, built(t))
	w.env = append(w.env, "OPENCODE_BIN="+program, "OPENCODE_DISABLE_AUTOUPDATE=1")
	write(t, w.at("shop/README.md"), "# Shop\n")
	w.git("shop", "init", "-q", "-b", "main")
	w.git("shop", "add", "-A")
	w.git("shop", "commit", "-q", "-m", "all of it")
	w.git("shop", "branch", "feature")
	w.git("shop", "branch", "fix")
	w.git("", "clone", "-q", "--bare", w.at("shop"), w.at("origin/shop.git"))
	w.must("sandbox", "init")
	return &sandboxClient{workshop: w, Client: w.boxes(), url: w.at("origin/shop.git")}
}

// boxes returns a client of countersign mcp with the toolset sandboxes.
func (w *workshop) boxes() *stdiotest.Client {
	w.t.Helper()
	c := stdiotest.Start(w.t, w.command("mcp", "--toolsets", "sandboxes"))
	c.Initialize("2025-06-18")
	return c
}

// boxed is an answer of the contract opencode.v1, as far as these tests look.
type boxed struct {
	Status       string
	Error        string
	Message      string
	Port         int    `json:"opencode_port"`
	PID          int    `json:"opencode_pid"`
	GatewayPort  int    `json:"mcp_tool_port"`
	BaseDir      string `json:"base_dir"`
	Version      string `json:"opencode_version"`
	Healthy      bool
	Count        int
	Worktree     struct{ Name, Branch, Directory string }
	Start        struct{ Output string } `json:"start_command"`
	Backups      []string                `json:"backup_refs"`
	Available    []string                `json:"available_models"`
	Warning      string
	Confirmation pending
}

func (b *sandboxClient) ask(tool string, in args) (out boxed) {
	b.t.Helper()
	r := b.Call(tool, in)
	require.Nil(b.t, r.Err, "%s: %+v", tool, r.Err)
	require.NoError(b.t, json.Unmarshal(r.Structured, &out), r.Text)
	require.Equal(b.t, out.Status == "error", r.IsError, r.Text)
	return out
}

// does returns a call that has to succeed, with the confirmation it asks for.
func (b *sandboxClient) does(tool string, in args) boxed {
	b.t.Helper()
	out := b.ask(tool, in)
	if out.Confirmation.Token != "" {
		out = b.ask(tool, out.Confirmation.with(in))
	}
	require.Contains(b.t, []string{"success", "ok"}, out.Status, "%s: %s %s", tool, out.Error, out.Message)
	return out
}

// mainJob is the capability's one job (opencode contract §1), over MCP.
func (b *sandboxClient) mainJob() {
	t, project := b.t, args{"git_url": b.url}
	started := b.does("opencode_project_start", project)
	assert.NotZero(t, started.Port)
	assert.NotZero(t, started.GatewayPort)
	assert.NotEmpty(t, started.Version)
	assert.True(t, b.does("opencode_project_status", project).Healthy)
	dirs := map[string]string{}
	for name, branch := range map[string]string{"one": "", "two": "feature", "three": "fix"} {
		made := b.does("opencode_sandbox_create", args{"git_url": b.url, "name": name, "branch": branch, "start_command": "echo ready in $SANDBOX_NAME"})
		assert.Equal(t, "ready in "+name+"\n", made.Start.Output)
		dirs[name] = made.Worktree.Directory
	}
	assert.Equal(t, 3, b.does("opencode_sandbox_list", project).Count)
	write(t, filepath.Join(dirs["one"], "README.md"), "changed\n")
	assert.NotEmpty(t, b.does("opencode_sandbox_reset", args{"git_url": b.url, "name": "one"}).Backups)
	assert.Equal(t, "# Shop\n", read(t, filepath.Join(dirs["one"], "README.md")))
	b.does("opencode_sandbox_delete", args{"git_url": b.url, "name": "two"})
	assert.NoDirExists(t, dirs["two"])
	models := b.does("opencode_llm_config", args{})
	for range 60 { // a busy machine is told to ask again
		if len(models.Available) > 0 {
			break
		}
		require.Contains(t, models.Warning, "call again")
		models = b.does("opencode_llm_config", args{})
	}
	assert.NotEmpty(t, models.Available, models.Warning)
	again := b.does("opencode_project_restart", project)
	assert.Equal(t, started.Port, again.Port)
	assert.NotEqual(t, started.PID, again.PID)
	assert.True(t, b.does("opencode_project_status", project).Healthy)
	b.does("opencode_project_stop", project)
	b.does("opencode_project_destroy", project)
	assert.NoDirExists(t, started.BaseDir)
	assert.DirExists(t, b.url, "the remote stays")
	b.leaves()
}

func (b *sandboxClient) leaves() {
	b.t.Helper()
	b.CloseStdin()
	assert.Equal(b.t, 0, b.Wait())
	b.deserted()
}

// TestSandboxMainJob does the main job with a server that passes for opencode.
func TestSandboxMainJob(t *testing.T) {
	t.Parallel()
	bin, err := fakeserver.Install(t.TempDir())
	require.NoError(t, err)
	newBoxer(t, bin).mainJob()
}

// TestSandboxMainJobWithOpencode does the main job with the real program.
func TestSandboxMainJobWithOpencode(t *testing.T) {
	t.Parallel()
	bin, err := exec.LookPath(cmp.Or(os.Getenv("OPENCODE_BIN"), "opencode"))
	if err != nil {
		t.Skip("opencode is not installed; npm install -g opencode-ai does that")
	}
	newBoxer(t, bin).mainJob()
}

// TestSandboxesWithoutOpencode: the refusal says what to install, and sandboxes work all the same.
func TestSandboxesWithoutOpencode(t *testing.T) {
	t.Parallel()
	b := newBoxer(t, "/nowhere/opencode")
	refused := b.ask("opencode_project_start", args{"git_url": b.url})
	assert.Equal(t, "opencode_not_installed", refused.Error)
	assert.Contains(t, refused.Message, "npm install -g opencode-ai")
	made := b.does("opencode_sandbox_create", args{"git_url": b.url, "name": "one", "branch": "feature"})
	assert.FileExists(t, filepath.Join(made.Worktree.Directory, "README.md"))
	assert.Equal(t, 1, b.does("opencode_sandbox_list", args{"git_url": b.url}).Count)
	b.does("opencode_sandbox_delete", args{"git_url": b.url, "name": "one"})
	b.leaves()
}
