package sandboxes_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/opencode"
	"github.com/countersign-dev/countersign/adapters/sandboxfile"
	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/app/sandboxes"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/fakeserver"
	"github.com/countersign-dev/countersign/internal/testkit/projectrig"
	"github.com/countersign-dev/countersign/internal/testkit/sandboxrig"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// wished returns the preferred port of a repository's project.
func wished(t testing.TB, origin string) int {
	t.Helper()
	url, err := git.ParseURL("file://" + origin)
	require.NoError(t, err)
	return sandbox.PreferredPort(url)
}

// gate has every server that starts from now on wait before it listens, and returns where each says so.
func gate(t testing.TB) net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	t.Setenv(fakeserver.Variable, "gate="+l.Addr().String())
	return l
}

// pretender is a foreign program that takes a port while the next server is about to use it, answers every probe as healthy, and must not be told a
// password. Servers after that one are not held up.
func pretender(r *sandboxrig.Rig, port int) (still func() bool) {
	servers := gate(r.T)
	var foreign atomic.Pointer[net.Listener]
	go func() {
		for {
			conn, err := servers.Accept()
			if err != nil {
				return
			}
			if foreign.Load() != nil {
				_ = conn.Close()
				continue
			}
			l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
			if err != nil {
				_ = conn.Close()
				return
			}
			foreign.Store(&l)
			go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
				if _, word, _ := q.BasicAuth(); word != "" {
					r.T.Error("the foreign program was told the password")
				}
				_, _ = io.WriteString(w, `{"healthy":true,"version":"9"}`)
			}))
			_ = conn.Close()
		}
	}()
	return func() bool {
		l := foreign.Load()
		require.NotNil(r.T, l, "port %d was not to be had", port)
		resp, err := http.Get("http://" + (*l).Addr().String())
		if err == nil {
			_ = resp.Body.Close()
		}
		_ = (*l).Close()
		return err == nil
	}
}

// TestPortTakenByOthers: a program that takes the port between the check and the start keeps it, and is not mistaken for the server, whatever it
// answers.
func TestPortTakenByOthers(t *testing.T) {
	r := sandboxrig.New(t)
	url, _ := r.Origin("shop", nil)
	port := wished(t, url)
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

// TestPortOfADeadServer: a program that takes the port of a server that has ended is told no password by the gateway, whose table still has the server as
// active.
func TestPortOfADeadServer(t *testing.T) {
	r := sandboxrig.New(t)
	url, _ := r.Origin("shop", nil)
	started := r.Do(start, args{"git_url": url})
	store := sandboxfile.New(sandboxfile.Options{Home: r.Home, Clock: system.Clock{}, Env: os.Getenv, Environ: os.Environ})
	manager := sandboxes.ProjectManager{Deps: sandboxes.Deps{States: store, Sockets: opencode.Sockets{}, Processes: r.Servers()}}
	password := func(ctx context.Context, _ string) (string, error) {
		settings, err := store.Settings(ctx, "")
		return settings.Password, err
	}
	router := opencode.NewRouter(opencode.RouterOptions{Table: store.TablePath(), Secret: password, Listens: manager.Listens})
	list := sandboxport.RouteRequest{Act: sandbox.SessionList, Server: "file://" + url}
	_, err := router.Call(t.Context(), list)
	require.NoError(t, err, "the server itself is asked")

	require.NoError(t, syscall.Kill(int(started["opencode_pid"].(float64)), syscall.SIGKILL))
	var l net.Listener
	for deadline := time.Now().Add(10 * time.Second); l == nil && time.Now().Before(deadline); {
		l, _ = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", int(started["opencode_port"].(float64))))
	}
	require.NotNil(t, l, "the port was not given back")
	other := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the foreign program was asked") })}
	go other.Serve(l) //nolint:errcheck // it is closed
	defer other.Close()
	for range 2 { // the first takes the connection to the server that has ended
		_, err = router.Call(t.Context(), list)
		require.ErrorIs(t, err, sandbox.ErrUnhealthy)
	}
	assert.ErrorContains(t, err, "does not listen at port")
}

// TestPortTakenByOurs: two projects with the same preferred port start at once. Neither is mistaken for the other, though both servers have the same
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
	servers := gate(t)
	go func() { // none listens before both are about to
		var waiting []net.Conn
		for range names {
			if conn, err := servers.Accept(); err == nil {
				waiting = append(waiting, conn)
			}
		}
		for _, conn := range waiting {
			_ = conn.Close()
		}
	}()
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

// TestOneGateway: many projects that start at once share one gateway; one that a killed call left is stopped when another is needed, or none; the
// preferred port is used if it is free.
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

// TestSupervisorKilled: a server whose supervisor was killed counts as stopped. It is killed before anything else is done with its project.
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

// zombie reports whether a process has ended and was not waited for.
func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

// TestStartWithoutOrigin: a cloned project starts even if its origin is gone or cannot be reached.
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

// TestHalfDestroyed: the same call finishes a destruction that was killed halfway, and so does a restart, which then has nothing to restart.
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

// TestHost: a server that listens on another address is probed there, and distinguished from one that other machines can reach.
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

// TestWhereToRegister: the result says where the host accepts the key.
func TestWhereToRegister(t *testing.T) {
	r := sandboxrig.New(t)
	r.Write(filepath.Join(r.Home, "bin"), "ssh", "#!/bin/sh\necho 'Permission denied (publickey).' >&2\nexit 255\n")
	require.NoError(t, os.Chmod(filepath.Join(r.Home, "bin", "ssh"), 0o755))
	said := r.Do(start, args{"git_url": "git@github.com:Acme/Shop.git"})
	assert.Equal(t, "waiting_for_key", said["status"])
	assert.Equal(t, "https://github.com/Acme/Shop/settings/keys", said["register_url"])
	assert.NotContains(t, r.Do(start, args{"git_url": "git@git.example.com:other/shop.git"}), "register_url")
}

// TestForgottenServers: when the record of projects is moved away, their servers are found and stopped.
func TestForgottenServers(t *testing.T) {
	r := sandboxrig.New(t)
	r.Project("shop", nil)
	require.NoError(t, os.Remove(filepath.Join(r.Memory, "opencode-state.json")))
	said := r.Do("opencode_cleanup_orphaned", args{})
	assert.EqualValues(t, 2, said["cleaned_count"], said)
	assert.Empty(t, r.Running())
}

// TestKills kills a manager at twenty points during starting, stopping, restarting and destroying. Repeating the command does what it says, and
// leaves no unrecorded server.
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
			_ = elsewhere.Wait() // it was killed, or finished before
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
