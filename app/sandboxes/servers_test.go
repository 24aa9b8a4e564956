package sandboxes_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/fakeserver"
	"github.com/countersign-dev/countersign/internal/testkit/projectrig"
	"github.com/countersign-dev/countersign/internal/testkit/sandboxrig"
)

// wished returns the port that the project of a repository gets when it is free.
func wished(t testing.TB, origin string) int {
	t.Helper()
	url, err := git.ParseURL("file://" + origin)
	require.NoError(t, err)
	return sandbox.PreferredPort(url)
}

// pretender returns a foreign program that takes a port as soon as a server is on its way to it, and says to everybody that it is well.
func pretender(r *sandboxrig.Rig, port int) (still func() bool) {
	taken := make(chan net.Listener, 1)
	go func() {
		defer close(taken)
		for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
			for _, s := range r.Running() {
				if s.Labels["kind"] != "agent_server" || s.Status != process.Running {
					continue
				}
				l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
				if err != nil {
					return
				}
				taken <- l
				_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					_, _ = io.WriteString(w, `{"healthy":true,"version":"9"}`)
				}))
				return
			}
		}
	}()
	return func() bool {
		l, ok := <-taken
		require.True(r.T, ok, "the pretender was not quick enough")
		resp, err := http.Get("http://" + l.Addr().String())
		if err == nil {
			_ = resp.Body.Close()
		}
		_ = l.Close()
		return err == nil
	}
}

// TestPortTakenByOthers: a program that takes the port between the look and the start keeps it, and is not taken for the server, whatever it says.
func TestPortTakenByOthers(t *testing.T) {
	r := sandboxrig.New(t)
	url, _ := r.Origin("shop", nil)
	port := wished(t, url)
	t.Setenv(fakeserver.Variable, "slow=700ms")
	still := pretender(r, port)
	started := r.Do(start, args{"git_url": url})
	assert.Equal(t, "success", started["status"])
	assert.NotEqualValues(t, port, started["opencode_port"])
	assert.Equal(t, fakeserver.Version, started["opencode_version"])
	assert.True(t, still(), "it was left alone")
	assert.Len(t, r.Running(), 2)

	base := filepath.Base(started["base_dir"].(string))
	r.Do(stop, args{"git_url": url})
	own := filepath.Join(r.Memory, "opencode-sandboxes", base, ".env")
	text, err := os.ReadFile(own)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(own, append(text, "\nOPENCODE_PORT="+strconv.Itoa(port)+"\n"...), 0o600))
	still = pretender(r, port)
	said := r.Refused("sandbox_port_in_use", start, args{"git_url": url})
	assert.Contains(t, said.Message, strconv.Itoa(port))
	assert.True(t, still())
	assert.Empty(t, r.Running())
}

// TestPortTakenByOurs: two projects whose first choice is the same port start at once. Neither is taken for the other, though both servers have the same
// password, and there is one gateway for both.
func TestPortTakenByOurs(t *testing.T) {
	r := sandboxrig.New(t)
	first := map[int]string{}
	var names []string
	for i := 0; names == nil; i++ {
		name := fmt.Sprintf("p%d", i)
		port := wished(t, filepath.Join(r.Top, "origins", name+".git"))
		if other, taken := first[port]; taken {
			names = []string{other, name}
		}
		first[port] = name
	}
	t.Setenv(fakeserver.Variable, "slow=500ms")
	said := make([]map[string]any, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		url, _ := r.Origin(name, nil)
		core := r.Another()
		all.Go(func() {
			o := core.Confirmed(start, args{"git_url": url})
			if assert.NoError(t, o.Err) {
				said[i] = projectrig.Object(t, o.Value)
			}
		})
	}
	all.Wait()
	require.NotNil(t, said[0])
	require.NotNil(t, said[1])
	assert.Equal(t, []any{"success", "success"}, []any{said[0]["status"], said[1]["status"]})
	assert.NotEqual(t, said[0]["opencode_port"], said[1]["opencode_port"])
	assert.Equal(t, said[0]["mcp_tool_port"], said[1]["mcp_tool_port"])
	assert.Len(t, r.Running(), 3, "two servers, one gateway")
	for _, one := range said {
		assert.Equal(t, true, r.Do(status, args{"git_url": one["git_url"]})["healthy"])
	}
}

// TestOneGateway: many projects that start at once have one gateway; one that a killed call has left behind goes when another is needed, or none; the port
// that somebody wishes is taken where it is free.
func TestOneGateway(t *testing.T) {
	r := sandboxrig.New(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := l.Addr().(*net.TCPAddr).Port
	require.NoError(t, l.Close())
	t.Setenv("GLOBAL_MCP_TOOL_PORT", strconv.Itoa(port))
	url, _ := r.Project("shop", nil)
	assert.EqualValues(t, port, r.Do("opencode_mcp_status", args{})["port"])
	gateways := func() (out []process.State) {
		for _, s := range r.Running() {
			if s.Labels["kind"] == "gateway" {
				out = append(out, s)
			}
		}
		return out
	}
	forget := func() {
		text := r.Read(r.Memory, "opencode-state.json")
		forgotten := strings.Replace(text, `"process_id": "`+string(gateways()[0].ID)+`"`, `"process_id": ""`, 1)
		require.NotEqual(t, text, forgotten)
		require.NoError(t, os.WriteFile(filepath.Join(r.Memory, "opencode-state.json"), []byte(forgotten), 0o600))
	}
	before := gateways()[0].PID
	forget()
	assert.Equal(t, "already_running", r.Do(start, args{"git_url": url})["status"])
	require.Len(t, gateways(), 1)
	assert.NotEqual(t, before, gateways()[0].PID)
	forget()
	said := r.Do("opencode_cleanup_orphaned", args{})
	assert.EqualValues(t, 1, said["cleaned_count"], said)
	assert.Empty(t, gateways())
	r.Do(start, args{"git_url": url})
	forget()
	r.Do(stop, args{"git_url": url})
	assert.Empty(t, r.Running())
}

// TestSupervisorKilled: a server whose supervisor was killed counts as stopped. It is ended before anything else is done with its project.
func TestSupervisorKilled(t *testing.T) {
	for _, next := range []string{start, stop, restart, destroy} {
		t.Run(next, func(t *testing.T) {
			r := sandboxrig.New(t)
			url, _ := r.Project("shop", nil)
			pid := int(r.Do(status, args{"git_url": url})["opencode"].(args)["pid"].(float64))
			for _, s := range r.Running() {
				if s.PID == pid {
					require.NoError(t, syscall.Kill(s.Owner, syscall.SIGKILL))
				}
			}
			r.Soon(func() bool { return r.Do(status, args{"git_url": url})["opencode"].(args)["status"] == "stopped" }, "that is noticed")
			assert.NoError(t, syscall.Kill(pid, 0), "it runs all the same")
			switch next {
			case start:
				r.Do(start, args{"git_url": url})
			case stop:
				r.Do(stop, args{"git_url": url})
			case restart:
				r.Do(restart, args{"git_url": url})
			case destroy:
				r.Do(destroy, args{"git_url": url})
			}
			r.Soon(func() bool { return syscall.Kill(pid, 0) != nil || zombie(pid) }, "it is ended")
		})
	}
}

// zombie reports a process that has ended and that nobody has waited for.
func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

// TestStartWithoutOrigin: what is cloned starts although its origin is gone or cannot be reached.
func TestStartWithoutOrigin(t *testing.T) {
	r := sandboxrig.New(t)
	url, dir := r.Project("shop", nil)
	r.Do(stop, args{"git_url": url})
	require.NoError(t, os.Rename(url, url+".away"))
	started := r.Do(start, args{"git_url": url})
	assert.Equal(t, "success", started["status"], started)
	r.Do(stop, args{"git_url": url})
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "repo")))
	r.Refused("sandbox_git_failed", start, args{"git_url": url})
	require.NoError(t, os.Rename(url+".away", url))
	assert.Equal(t, "success", r.Do(start, args{"git_url": url})["status"], "it is cloned anew")
}

// TestRestartThatCannot: a server is not stopped for one that cannot be started.
func TestRestartThatCannot(t *testing.T) {
	r := sandboxrig.New(t)
	url, _ := r.Project("shop", nil)
	t.Setenv("OPENCODE_BIN", filepath.Join(r.Top, "absent"))
	r.Refused("sandbox_opencode_not_installed", restart, args{"git_url": url})
	assert.Equal(t, true, r.Do(status, args{"git_url": url})["healthy"])
}

// TestHalfDestroyed: what a killed call has half deleted is finished by the same call, and by a restart, which then has nothing to restart.
func TestHalfDestroyed(t *testing.T) {
	for _, next := range []string{destroy, restart} {
		t.Run(next, func(t *testing.T) {
			r := sandboxrig.New(t)
			url, dir := r.Project("shop", nil)
			r.Do(stop, args{"git_url": url})
			r.Interrupt("destroy", "")
			require.NoError(t, os.RemoveAll(filepath.Join(dir, "repo", ".git", "refs")))
			if next == destroy {
				o := r.Ask(destroy, args{"git_url": url})
				require.NoError(t, o.Err, "it was asked before")
			} else {
				r.Refused("sandbox_project_not_found", restart, args{"git_url": url})
			}
			assert.NoDirExists(t, dir)
			assert.Empty(t, r.Do(list, args{})["projects"])
			assert.Empty(t, r.Running())
		})
	}
}

// TestHost: a server that listens at another address is asked there, and told apart from one that others can reach.
func TestHost(t *testing.T) {
	r := sandboxrig.New(t)
	t.Setenv("OPENCODE_HOSTNAME", "127.0.0.2")
	url, _ := r.Origin("shop", nil)
	started := r.Do(start, args{"git_url": url})
	assert.Equal(t, "success", started["status"])
	assert.Contains(t, started["opencode_url"], "http://127.0.0.2:")
	assert.NotContains(t, started, "exposed", "it is this machine all the same")
	assert.Equal(t, true, r.Do(status, args{"git_url": url})["healthy"])
}

// TestWhereToRegister: whoever waits for a key is told where the host takes it.
func TestWhereToRegister(t *testing.T) {
	r := sandboxrig.New(t)
	r.Write(filepath.Join(r.Home, "bin"), "ssh", "#!/bin/sh\necho 'Permission denied (publickey).' >&2\nexit 255\n")
	require.NoError(t, os.Chmod(filepath.Join(r.Home, "bin", "ssh"), 0o755))
	said := r.Do(start, args{"git_url": "git@github.com:Acme/Shop.git"})
	assert.Equal(t, "waiting_for_key", said["status"])
	assert.Equal(t, "https://github.com/Acme/Shop/settings/keys", said["register_url"])
	assert.NotContains(t, r.Do(start, args{"git_url": "git@git.example.com:other/shop.git"}), "register_url")
}

// TestForgottenServers: when the record of projects is moved away, their servers are found and ended.
func TestForgottenServers(t *testing.T) {
	r := sandboxrig.New(t)
	r.Project("shop", nil)
	require.NoError(t, os.Remove(filepath.Join(r.Memory, "opencode-state.json")))
	said := r.Do("opencode_cleanup_orphaned", args{})
	assert.EqualValues(t, 2, said["cleaned_count"], said)
	assert.Empty(t, r.Running())
}

// TestKills kills a manager at twenty moments, spread over starting, stopping, restarting and destroying. The same command, given again, does what it says,
// and leaves no server that nobody knows of.
func TestKills(t *testing.T) {
	const each = 5
	r := sandboxrig.New(t)
	url, _ := r.Origin("shop", nil)
	project := args{"git_url": url}
	before := map[string]func(){
		start:   func() { r.Do(destroy, project) },
		stop:    func() { r.Do(start, project) },
		restart: func() { r.Do(start, project) },
		destroy: func() { r.Do(start, project) },
	}
	after := map[string]int{start: 2, stop: 0, restart: 2, destroy: 0}
	for _, name := range []string{start, stop, restart, destroy} {
		before[name]()
		began := time.Now()
		require.NoError(t, r.Elsewhere(tool.Name(name), project).Wait(), name)
		whole := time.Since(began)
		for i := range each {
			before[name]()
			elsewhere := r.Elsewhere(tool.Name(name), project)
			timer := time.AfterFunc(whole*time.Duration(2*i+1)/(2*each), func() { _ = elsewhere.Process.Kill() })
			_ = elsewhere.Wait() // it was killed, or quicker than that
			timer.Stop()
			said := r.Do(tool.Name(name), project)
			assert.Contains(t, []any{"success", "already_running", "not_found"}, said["status"], "%s %d: %v", name, i, said)
			assert.Len(t, r.Running(), after[name], "%s %d", name, i)
			view := r.Do(status, project)
			switch name {
			case destroy:
				assert.Equal(t, "not_found", view["status"], i)
				left, err := os.ReadDir(filepath.Join(r.Home, ".opencode-projects"))
				require.NoError(t, err)
				assert.Empty(t, left, i)
			default:
				assert.Equal(t, after[name] > 0, view["healthy"], "%s %d", name, i)
			}
		}
	}
}
