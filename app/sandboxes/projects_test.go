package sandboxes_test

import (
	"context"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/fakeserver"
	"github.com/countersign-dev/countersign/internal/testkit/projectrig"
	"github.com/countersign-dev/countersign/internal/testkit/sandboxrig"
	"github.com/countersign-dev/countersign/internal/testkit/workroom"
)

// TestMain lets the test binary be the agent server, the gateway, and their supervisor.
func TestMain(m *testing.M) { sandboxrig.Main(func() int { return workroom.Run(m, "") }) }

type args = map[string]any

const (
	start   = "opencode_project_start"
	status  = "opencode_project_status"
	stop    = "opencode_project_stop"
	restart = "opencode_project_restart"
	destroy = "opencode_project_destroy"
	list    = "opencode_project_list"
	create  = "opencode_sandbox_create"
)

// TestStart: one call starts an unknown project, and a second call finds it running. The JSON members are those that the opencode contract promises.
func TestStart(t *testing.T) {
	r := sandboxrig.New(t)
	url, _ := r.Origin("shop", nil)
	started := r.Do(start, args{"git_url": url})
	assert.Equal(t, "success", started["status"])
	for _, key := range []string{"status", "project", "git_url", "opencode_port", "mcp_tool_port", "base_dir", "message", "opencode_url", "opencode_pid", "sandbox_dir", "opencode_version"} {
		assert.Contains(t, started, key)
	}
	again := r.Do(start, args{"git_url": url + "/"})
	assert.Equal(t, "already_running", again["status"])
	assert.Equal(t, started["opencode_port"], again["opencode_port"])
	assert.Equal(t, started["opencode_pid"], again["opencode_pid"])
	assert.Len(t, r.Running(), 2, "one server, one gateway")
}

// TestStopAndRestart: both may be repeated; the gateway stops with the last server; a restart keeps the port.
func TestStopAndRestart(t *testing.T) {
	r := sandboxrig.New(t)
	url, _ := r.Project("shop", nil)
	before := r.Do(status, args{"git_url": url})["opencode"].(args)
	again := r.Do(restart, args{"git_url": url})
	assert.Equal(t, before["port"], again["opencode_port"])
	assert.NotEqual(t, before["pid"], again["opencode_pid"])
	assert.Len(t, r.Running(), 2)
	assert.Equal(t, true, r.Do(status, args{"git_url": url})["healthy"])
	for range 2 {
		assert.Equal(t, "success", r.Do(stop, args{"git_url": url})["status"])
		assert.Empty(t, r.Running(), "the gateway is retired with the last server")
	}
	assert.Equal(t, "success", r.Do(restart, args{"git_url": url})["status"], "a stopped project is started")
	r.Refused("sandbox_project_not_found", stop, args{"git_url": "https://h/o/none"})
	r.Refused("sandbox_project_not_found", restart, args{"git_url": "https://h/o/none"})
}

// TestWithoutTheProgram: the error says what to install, the clone exists, and sandboxes work.
func TestWithoutTheProgram(t *testing.T) {
	r := sandboxrig.New(t)
	t.Setenv("OPENCODE_BIN", filepath.Join(r.Top, "absent"))
	url, _ := r.Origin("shop", nil)
	said := r.Refused("sandbox_opencode_not_installed", start, args{"git_url": url})
	assert.Contains(t, said.Message, "npm install -g opencode-ai")
	assert.Empty(t, r.Running())
	assert.Equal(t, "success", r.Do(create, args{"git_url": url, "name": "one"})["status"])
	assert.EqualValues(t, 1, r.Do("opencode_sandbox_list", args{"git_url": url})["count"])
	assert.Equal(t, "success", r.Do("opencode_sandbox_delete", args{"git_url": url, "name": "one"})["status"])
}

// TestWithoutSettings: missing secrets are not invented.
func TestWithoutSettings(t *testing.T) {
	r := sandboxrig.New(t)
	require.NoError(t, os.Remove(filepath.Join(r.Memory, "opencode-manager.env")))
	url, _ := r.Origin("shop", nil)
	said := r.Refused("sandbox_configuration_error", start, args{"git_url": url})
	assert.Contains(t, said.Message, "countersign sandbox init")
	assert.NoFileExists(t, filepath.Join(r.Memory, "opencode-manager.env"))
}

// TestWaitingForKey: a host that rejects the key is not an error; the public key is in the result, the private one nowhere.
func TestWaitingForKey(t *testing.T) {
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("ssh-keygen is not installed")
	}
	r := sandboxrig.New(t)
	o := r.Confirmed(start, args{"git_url": "ssh://git@127.0.0.1:1/acme/shop.git"})
	require.NoError(t, o.Err)
	assert.Contains(t, string(o.Value), `"status":"waiting_for_key"`)
	assert.Regexp(t, `"public_key":"ssh-ed25519 [^"]+"`, string(o.Value))
	assert.NotContains(t, string(o.Value), "PRIVATE KEY")
	assert.Contains(t, string(r.Confirmed(start, args{"git_url": "ssh://git@127.0.0.1:1/acme/shop.git"}).Value), `"status":"waiting_for_key"`, "asking again is no harm")
	r.Refused("sandbox_ssh_key_not_found", start, args{"git_url": "ssh://git@127.0.0.1:1/acme/shop.git", "user_ssh_key": filepath.Join(r.Home, "none")})

	files, err := filepath.Glob(filepath.Join(r.Home, ".memory", "opencode-sandboxes", "*", ".env"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	settings := files[0]
	text, err := os.ReadFile(settings)
	require.NoError(t, err)
	edited := regexp.MustCompile(`(?m)^SSH_KEY_PATH=.*$`).ReplaceAllLiteral(text, []byte("SSH_KEY_PATH="+filepath.Join(r.Home, "mine")))
	require.NotEqual(t, string(text), string(edited))
	require.NoError(t, os.WriteFile(settings, edited, 0o600))
	refused := r.Refused("sandbox_ssh_key_not_found", start, args{"git_url": "ssh://git@127.0.0.1:1/acme/shop.git"})
	assert.ErrorContains(t, refused, "mine", "the key that a person put into the project's settings file wins")
}

// TestPorts: a configured port that is in use is an error, and the program that uses it keeps it; a default one is skipped.
func TestPorts(t *testing.T) {
	r := sandboxrig.New(t)
	url, dir := r.Project("shop", nil)
	port := int(r.Do(status, args{"git_url": url})["opencode"].(args)["port"].(float64))
	r.Do(stop, args{"git_url": url})
	l, err := net.Listen("tcp", (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}).String())
	require.NoError(t, err)
	defer l.Close()
	started := r.Do(start, args{"git_url": url})
	assert.NotEqualValues(t, port, started["opencode_port"])
	r.Do(stop, args{"git_url": url})
	env := filepath.Join(r.Memory, "opencode-sandboxes", filepath.Base(dir), ".env")
	text, err := os.ReadFile(env)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(env, append(text, "\nOPENCODE_PORT="+l.Addr().String()[len("127.0.0.1:"):]+"\n"...), 0o600))
	r.Refused("sandbox_port_in_use", start, args{"git_url": url})
	assert.Empty(t, r.Running())
}

// TestServersThatMisbehave: each failure has its code, shows the last lines, no password, and leaves no process.
func TestServersThatMisbehave(t *testing.T) {
	r := sandboxrig.New(t)
	url, _ := r.Origin("shop", nil)
	for quirk, code := range map[string]string{"exit=3": "sandbox_opencode_start_failed", "password=other": "sandbox_opencode_auth_failed"} {
		t.Setenv(fakeserver.Variable, quirk)
		o := r.Confirmed(start, args{"git_url": url})
		require.Error(t, o.Err, quirk)
		f := fault.From(o.Err)
		assert.Equal(t, code, string(f.Code), quirk)
		if quirk == "exit=3" {
			assert.Contains(t, string(sandboxrig.JSON(t, f.Details)), "cannot start today")
		}
		assert.NotContains(t, o.Err.Error(), password(r))
		assert.Empty(t, r.Running(), quirk)
		assert.Equal(t, "failed", r.Do(status, args{"git_url": url})["opencode"].(args)["status"])
	}
	t.Setenv(fakeserver.Variable, "hang")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	o := r.Call(ctx, r.Core.New(start, args{"git_url": url}))
	require.Error(t, o.Err)
	assert.Empty(t, r.Running(), "a server that nobody waits for any more is ended")
	t.Setenv(fakeserver.Variable, "stubborn")
	assert.Equal(t, "success", r.Do(start, args{"git_url": url})["status"], "and calling again resumes")
	assert.Equal(t, "success", r.Do(stop, args{"git_url": url})["status"])
	assert.Empty(t, r.Running(), "one that does not heed is killed")
}

func password(r *sandboxrig.Rig) string {
	for line := range strings.Lines(r.Read(r.Memory, "opencode-manager.env")) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "OPENCODE_PASSWORD="); ok {
			return strings.Trim(value, `"`)
		}
	}
	return "no password"
}

// TestKilledWhileStarting: a manager that is killed while its server starts leaves one server, which the next call replaces.
func TestKilledWhileStarting(t *testing.T) {
	r := sandboxrig.New(t)
	url, _ := r.Origin("shop", nil)
	t.Setenv(fakeserver.Variable, "hang")
	elsewhere := r.Elsewhere(start, args{"git_url": url})
	r.Soon(func() bool { return len(r.Running()) > 0 && r.Running()[0].Status == process.Running }, "the server is on its way")
	require.NoError(t, elsewhere.Process.Kill())
	t.Setenv(fakeserver.Variable, "")
	assert.Equal(t, "success", r.Do(start, args{"git_url": url})["status"])
	assert.Len(t, r.Running(), 2, "one server, one gateway")
	assert.Equal(t, true, r.Do(status, args{"git_url": url})["healthy"])
}

// TestCredentials: credentials in a URL are in no file, no result and no git configuration, and the result says so.
func TestCredentials(t *testing.T) {
	r := sandboxrig.New(t)
	const secret = "hunter2-very-secret"
	o := r.Confirmed(start, args{"git_url": "https://ada:" + secret + "@127.0.0.1:1/acme/shop.git"})
	require.NoError(t, o.Err)
	assert.Contains(t, string(o.Value), `"warnings":[`)
	assert.NotContains(t, string(o.Value), secret)
	assert.NotContains(t, string(r.Confirmed(status, args{"git_url": "https://ada:" + secret + "@127.0.0.1:1/acme/shop.git"}).Value), secret)
	require.NoError(t, filepath.WalkDir(r.Top, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(file)
		assert.NotContains(t, string(text), secret, file)
		return err
	}))
}

// TestDestroy: a clean project is destroyed at once; one with unsaved work is refused with the list, and force requires typing its name.
func TestDestroy(t *testing.T) {
	r := sandboxrig.New(t)
	url, dir := r.Project("shop", nil)
	r.Do(create, args{"git_url": url, "name": "one"})
	o := r.Ask(destroy, args{"git_url": url})
	require.NoError(t, o.Err, "nothing to lose, nothing to ask")
	assert.NoDirExists(t, dir)
	assert.Empty(t, r.Running())
	assert.Equal(t, "not_found", r.Do(status, args{"git_url": url})["status"])
	assert.Equal(t, "not_found", r.Do(destroy, args{"git_url": url})["status"])

	r.Do(start, args{"git_url": url})
	box := r.Do(create, args{"git_url": url, "name": "one"})["worktree"].(args)["directory"].(string)
	r.Write(box, "work.txt", "mine\n")
	r.Git(box, "add", "-A")
	r.Git(box, "commit", "-q", "-m", "mine alone")
	said := r.Refused("sandbox_unpushed_work", destroy, args{"git_url": url})
	assert.Contains(t, string(sandboxrig.JSON(t, said.Details)), "mine alone")
	o = r.Ask(destroy, args{"git_url": url, "force": true})
	require.NotNil(t, o.Request)
	assert.Equal(t, policy.Typed, o.Request.Strength)
	assert.Equal(t, filepath.Base(dir), o.Request.Target)
	assert.DirExists(t, box)
	c := r.Core.New(destroy, args{"git_url": url, "force": true})
	c.Token, c.Typed = o.Request.Token, "another"
	require.Error(t, r.Call(t.Context(), c).Err)
	assert.DirExists(t, box)
}

// TestInterruptedDestroy: the next call about the project finishes a destruction that was approved and begun.
func TestInterruptedDestroy(t *testing.T) {
	for _, finish := range []string{start, "opencode_cleanup_orphaned"} {
		t.Run(finish, func(t *testing.T) {
			r := sandboxrig.New(t)
			url, dir := r.Project("shop", nil)
			r.Do(stop, args{"git_url": url})
			r.Interrupt("destroy", "")
			require.NoError(t, os.RemoveAll(filepath.Join(dir, "repo", ".git", "refs")))
			if finish == start {
				assert.Equal(t, "success", r.Do(start, args{"git_url": url})["status"])
				assert.DirExists(t, filepath.Join(dir, "repo", ".git", "refs"), "it was cloned anew")
				return
			}
			cleaned := r.Do(tool.Name(finish), args{})
			assert.EqualValues(t, 1, cleaned["cleaned_count"], cleaned)
			assert.NoDirExists(t, dir)
			assert.Empty(t, r.Do(list, args{})["projects"])
		})
	}
}

// TestReconcile: every result shows a killed server as stopped, and the gateway stops with the last server.
func TestReconcile(t *testing.T) {
	r := sandboxrig.New(t)
	url, _ := r.Project("shop", nil)
	view := r.Do(status, args{"git_url": url})["opencode"].(args)
	pid := int(view["pid"].(float64))
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	r.Soon(func() bool { return len(r.Running()) == 1 }, "the supervisor has seen it")
	after := r.Do(status, args{"git_url": url})
	assert.Equal(t, "stopped", after["opencode"].(args)["status"])
	assert.Nil(t, after["opencode"].(args)["pid"])
	assert.EqualValues(t, 0, after["global_mcp_tool"].(args)["active_projects"])
	assert.Contains(t, r.Read(r.Memory, "opencode-mcp-tool-servers.json"), `"inactive"`)
	r.Do(stop, args{"git_url": url})
	assert.Empty(t, r.Running(), "nothing is left to route to")
	assert.Equal(t, "success", r.Do(start, args{"git_url": url})["status"])
}

// TestTwoManagers starts the same project twice at once: there is one server.
func TestTwoManagers(t *testing.T) {
	r := sandboxrig.New(t)
	url, _ := r.Origin("shop", nil)
	other := r.Another()
	var both sync.WaitGroup
	outcomes := make([]tool.Outcome, 2)
	for i, core := range []*projectrig.Core{r.Core, other} {
		both.Go(func() { outcomes[i] = core.Confirmed(start, args{"git_url": url}) })
	}
	both.Wait()
	said := []string{}
	for _, o := range outcomes {
		require.NoError(t, o.Err)
		said = append(said, projectrig.Object(t, o.Value)["status"].(string))
	}
	assert.ElementsMatch(t, []string{"success", "already_running"}, said)
	assert.Len(t, r.Running(), 2)
	assert.Equal(t, "success", projectrig.Object(t, other.Ask(stop, args{"git_url": url}).Value)["status"], "a manager stops what another started")
	assert.Empty(t, r.Running())
}
