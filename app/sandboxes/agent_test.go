package sandboxes_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/isolation"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/internal/testkit/sandboxrig"
)

const (
	sandboxAgent = "sandbox_agent"
	projectStop  = "opencode_project_stop"
)

// firstOf returns the agent of the only sandbox, as the list has it.
func firstOf(r *sandboxrig.Rig, url any) sandboxArgs {
	view, _ := r.Do(listSandbox, sandboxArgs{"git_url": url})["sandboxes"].([]any)[0].(sandboxArgs)["agent"].(sandboxArgs)
	return view
}

// ended waits until the only process in the rig's table that is an agent has ended.
func ended(t *testing.T, r *sandboxrig.Rig) {
	t.Helper()
	for _, p := range r.Running() {
		if p.Labels["kind"] != "sandbox_agent" {
			continue
		}
		for at := process.Cursor(0); ; {
			chunk, err := r.Servers().Watch(t.Context(), p.ID, at)
			require.NoError(t, err)
			if at = chunk.Next; chunk.Ended {
				break
			}
		}
	}
}

// TestAnAgentWorksInASandbox: the command is shown in full, runs in the background with the sandbox's variables, is listed with its status, and stops
// with its sandbox.
func TestAnAgentWorksInASandbox(t *testing.T) {
	r, url, _ := started(t, nil)
	one := sandboxArgs{"git_url": url, "name": "one", "agent": "claude", "prompt": "Fix it"}
	bin := filepath.Join(r.Home, "agents")
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	r.Write(bin, "claude", "")
	f := r.Refused("sandbox_agent_not_installed", sandboxCreate, one)
	assert.Contains(t, f.Message, "npm install")
	assert.Zero(t, r.Do(listSandbox, sandboxArgs{"git_url": url})["count"], "nothing is made without it")

	gate := filepath.Join(r.Top, "gate")
	require.NoError(t, syscall.Mkfifo(gate, 0o600))
	r.Write(bin, "claude", "#!/bin/sh\necho \"$@\" > got\necho \"in $SANDBOX_NAME\"\nread answer < '"+gate+"'\nexit $answer\n")
	require.NoError(t, os.Chmod(filepath.Join(bin, "claude"), 0o755))
	require.Error(t, r.Confirmed(sandboxCreate, sandboxArgs{"git_url": url, "name": "one", "agent": "claude"}).Err, "it needs a prompt")
	require.Error(t, r.Confirmed(sandboxCreate, sandboxArgs{"git_url": url, "name": "one", "prompt": "Fix it"}).Err, "a prompt needs an agent")
	o := r.Ask(sandboxCreate, one)
	require.NotNil(t, o.Request)
	assert.Equal(t, policy.Preview, o.Request.Strength)
	assert.Contains(t, string(o.Request.Plan), `"`+filepath.Join(bin, "claude")+`","-p","--permission-mode","acceptEdits","--","Fix it"`)
	assert.Contains(t, string(o.Request.Plan), "without isolation")
	answer := r.Do(sandboxCreate, one)
	box := made(t, answer)["directory"].(string)
	assert.Equal(t, "claude", answer["agent"].(sandboxArgs)["agent"])

	open, err := os.OpenFile(gate, os.O_WRONLY, 0) // it has reached that point
	require.NoError(t, err)
	view := firstOf(r, url)
	assert.Equal(t, []any{"running", "in one"}, []any{view["status"], view["last_line"]})
	assert.Equal(t, "-p --permission-mode acceptEdits -- Fix it\n", r.Read(box, "got"))
	r.Refused("sandbox_agent_runs", sandboxAgent, sandboxArgs{"git_url": url, "name": "one", "prompt": "more"})
	r.Refused("sandbox_agent_runs", sandboxArchive, sandboxArgs{"git_url": url, "name": "one"})
	_, err = open.WriteString("3\n")
	require.NoError(t, err)
	require.NoError(t, open.Close())
	ended(t, r)
	view = firstOf(r, url)
	assert.Equal(t, []any{"failed", 3.0}, []any{view["status"], view["exit_code"]})
	assert.Contains(t, r.Read("/", view["log"].(string)), "in one")
	all, err := r.Servers().List(t.Context())
	require.NoError(t, err)
	for _, p := range all {
		if p.Labels["kind"] == "sandbox_agent" {
			assert.Equal(t, sandbox.AgentKept, p.Keep)
			require.NoError(t, os.RemoveAll(filepath.Join(r.State, "servers", string(p.ID)))) // as if the process table had forgotten it
		}
	}
	view = firstOf(r, url)
	assert.Equal(t, []any{"failed", 3.0}, []any{view["status"], view["exit_code"]})

	done := r.Do(sandboxAgent, sandboxArgs{"git_url": url, "name": "one", "prompt": "Go on"})
	assert.Equal(t, "running", done["agent"].(sandboxArgs)["status"], "the one that was started last")
	r.Do(sandboxAgent, sandboxArgs{"git_url": url, "name": "one", "stop": true})
	assert.Equal(t, "stopped", firstOf(r, url)["status"])
	require.NoError(t, r.Ask(sandboxAgent, sandboxArgs{"git_url": url, "name": "one", "stop": true}).Err, "nobody is asked about nothing")
	r.Do(sandboxAgent, sandboxArgs{"git_url": url, "name": "one", "prompt": "Go on"})
	o = r.Ask(remove, sandboxArgs{"git_url": url, "name": "one", "force": true})
	require.NotNil(t, o.Request)
	assert.Contains(t, string(o.Request.Plan), `"stops_agent":"claude"`)
	r.Do(remove, sandboxArgs{"git_url": url, "name": "one", "force": true})
	ended(t, r)
	assert.NoDirExists(t, box)
}

// tools returns a PATH without bubblewrap, wherever this machine has it.
func tools(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"git", "sh", "cat", "ssh-keygen", "ssh"} {
		if program, err := exec.LookPath(name); err == nil {
			require.NoError(t, os.Symlink(program, filepath.Join(dir, name)))
		}
	}
	return dir
}

// TestIsolation: programs in an isolated sandbox are confined, and the plan says how far; if this machine cannot do it, nothing is created.
func TestIsolation(t *testing.T) {
	r, url, _ := started(t, nil)
	t.Setenv("PATH", tools(t))
	r.Write(r.Home, "secret", "secret\n")
	secret := filepath.Join(r.Home, "secret")
	in := sandboxArgs{"git_url": url, "name": "one", "isolate": "landlock", "start_command": "cat '" + secret + "' > read || echo kept > read; echo x > '" + secret + "'; true"}
	f := r.Refused("sandbox_isolation_missing", sandboxCreate, with(in, sandboxArgs{"isolate": "bubblewrap", "name": "two"}))
	assert.Contains(t, f.Message, "bwrap")
	if isolation.Available(false) != nil {
		r.Refused("sandbox_isolation_missing", sandboxCreate, in)
		return
	}
	o := r.Ask(sandboxCreate, in)
	require.NotNil(t, o.Request)
	assert.Contains(t, string(o.Request.Plan), `"does_not_hold":["refs and objects of the clone's other branches"`)
	box := made(t, r.Do(sandboxCreate, in))["directory"].(string)
	assert.Equal(t, []string{"kept\n", "secret\n"}, []string{r.Read(box, "read"), r.Read(r.Home, "secret")})
	bin := filepath.Join(r.Home, "agents")
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	r.Write(bin, "claude", "#!/bin/sh\ncat '"+secret+"' > agent || echo \"kept $SANDBOX_NAME\" > agent\n")
	require.NoError(t, os.Chmod(filepath.Join(bin, "claude"), 0o755))
	r.Do(sandboxAgent, sandboxArgs{"git_url": url, "name": "one", "agent": "claude", "prompt": "Look"})
	ended(t, r)
	assert.Equal(t, "kept one\n", r.Read(box, "agent"))
	o = r.Ask(sandboxAgent, sandboxArgs{"git_url": url, "name": "one", "agent": "opencode", "prompt": "Look"})
	require.NotNil(t, o.Request)
	assert.Contains(t, string(o.Request.Plan), "an agent server of the sandbox's own, isolated as the sandbox is")
	r.Do("opencode_project_stop", sandboxArgs{"git_url": url})
	r.Do(sandboxAgent, sandboxArgs{"git_url": url, "name": "one", "agent": "opencode", "prompt": "Look"})
	status := r.Do("opencode_project_status", sandboxArgs{"git_url": url})
	assert.Equal(t, false, status["opencode"].(sandboxArgs)["running"], "the project's works in no isolated sandbox")
	own := status["sandbox_servers"].([]any)[0].(sandboxArgs)
	assert.Equal(t, []any{"one", "landlock", true}, []any{own["sandbox"], own["isolation"], own["running"]})
	r.ByPerson("sandbox_isolate", sandboxArgs{"git_url": url, "name": "one", "isolate": "landlock-offline"})
	assert.NotContains(t, r.Do("opencode_project_status", sandboxArgs{"git_url": url}), "sandbox_servers", "it was stopped")
	r.Refused("sandbox_invalid_arguments", "opencode_project_start", sandboxArgs{"git_url": url, "sandbox": "one"})
	r.ByPerson("sandbox_isolate", sandboxArgs{"git_url": url, "name": "one", "isolate": "landlock"})
	assert.Equal(t, "landlock", r.Do(listSandbox, sandboxArgs{"git_url": url})["sandboxes"].([]any)[0].(sandboxArgs)["isolation"])
}

// TestAContainerStaysWithTheSandbox: a program in place of docker runs what follows the image; the plan shows how it is started, and a restored
// sandbox has the same isolation.
func TestAContainerStaysWithTheSandbox(t *testing.T) {
	r, url, _ := started(t, nil)
	bin := filepath.Join(r.Home, "engine")
	r.Write(bin, "docker", "#!/bin/sh\necho \"$@\" > '"+r.Top+"/said'\nwhile [ \"$1\" != here:1 ]; do shift; done\nshift\nexec \"$@\"\n")
	require.NoError(t, os.Chmod(filepath.Join(bin, "docker"), 0o755))
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	in := sandboxArgs{"git_url": url, "name": "one", "isolate": "container-offline:here:1", "start_command": "echo \"$SANDBOX_NAME\" > made"}
	o := r.Ask(sandboxCreate, in)
	require.NotNil(t, o.Request)
	for _, want := range []string{`"command_begins":["` + filepath.Join(bin, "docker") + `","run","--rm"`, `"--network","none"`, `"here:1"]`, "vulnerabilities of the kernel"} {
		assert.Contains(t, string(o.Request.Plan), want)
	}
	box := made(t, r.Do(sandboxCreate, in))["directory"].(string)
	assert.Equal(t, "one\n", r.Read(box, "made"))
	assert.Contains(t, r.Read(r.Top, "said"), "--env SANDBOX_NAME ")
	r.Do(remove, sandboxArgs{"git_url": url, "name": "one", "force": true})
	kept := r.ByPerson(backups, sandboxArgs{"git_url": url})["backups"].([]any)
	require.NotEmpty(t, kept)
	again := sandboxArgs{"git_url": url, "ref": kept[0].(sandboxArgs)["ref"]}
	r.ByPerson(restore, again)
	assert.Equal(t, "container-offline:here:1", r.Do(listSandbox, sandboxArgs{"git_url": url})["sandboxes"].([]any)[0].(sandboxArgs)["isolation"])
	call := r.New(restore, with(again, sandboxArgs{"name": "two", "isolate": "none"}))
	call.FromUser = true
	asked := r.Call(t.Context(), call)
	require.NotNil(t, asked.Request, "taking it away is asked about")
	assert.Equal(t, "high", asked.Request.Risk)
	assert.Contains(t, string(asked.Request.Plan), `"held_until_now":["only the sandbox and the clone's .git are visible`)
	r.ByPerson(restore, with(again, sandboxArgs{"name": "two", "isolate": "none"}))
	for _, b := range r.Do(listSandbox, sandboxArgs{"git_url": url})["sandboxes"].([]any) {
		if b := b.(sandboxArgs); b["name"] == "two" {
			assert.NotContains(t, b, "isolation")
		}
	}
}

// TestIsolationIsChangedLater: only users change it, a plan that removes it explains the effect and is high risk, and a plan overtaken by another
// change is not applied.
func TestIsolationIsChangedLater(t *testing.T) {
	const isolate = "sandbox_isolate"
	r, url, _ := started(t, nil)
	bin := filepath.Join(r.Home, "engine")
	r.Write(bin, "docker", "#!/bin/sh\n")
	require.NoError(t, os.Chmod(filepath.Join(bin, "docker"), 0o755))
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	one := sandboxArgs{"git_url": url, "name": "one"}
	r.Do(sandboxCreate, one)
	kept, none := with(one, sandboxArgs{"isolate": "container:here:1"}), with(one, sandboxArgs{"isolate": "none"})
	require.Error(t, r.Confirmed(isolate, kept).Err, "an agent")
	assert.Equal(t, "container:here:1", r.ByPerson(isolate, kept)["isolation"])
	status := r.Do("opencode_project_status", sandboxArgs{"git_url": url})
	assert.Equal(t, []any{"none", []any{"one"}}, []any{status["server_isolation"], status["isolated_worktrees"]})

	call := r.New(isolate, none)
	call.FromUser = true
	asked := r.Call(t.Context(), call)
	require.NotNil(t, asked.Request)
	assert.Equal(t, "high", asked.Request.Risk)
	for _, want := range []string{`"means":["commands, set-up and agents`, `"held_until_now":["only the sandbox and the clone's .git are visible`} {
		assert.Contains(t, string(asked.Request.Plan), want)
	}
	assert.Equal(t, "container:here:1", firstIsolation(r, url), "a plan changes nothing")
	assert.Equal(t, "none", r.ByPerson(isolate, none)["isolation"])
	assert.Nil(t, firstIsolation(r, url))
	assert.Equal(t, "the sandbox already has this isolation", r.ByPerson(isolate, none)["message"])
}

func firstIsolation(r *sandboxrig.Rig, url string) any {
	return r.Do(listSandbox, sandboxArgs{"git_url": url})["sandboxes"].([]any)[0].(sandboxArgs)["isolation"]
}

// TestAnAgentInTheServer: a session of the project's server, which is started if needed, gets the prompt.
func TestAnAgentInTheServer(t *testing.T) {
	r, url, _ := started(t, nil)
	r.Do(projectStop, sandboxArgs{"git_url": url})
	answer := r.Do(sandboxCreate, sandboxArgs{"git_url": url, "name": "one", "agent": "opencode", "prompt": "work on it"})
	box := made(t, answer)["directory"].(string)
	view := answer["agent"].(sandboxArgs)
	assert.Equal(t, []any{"opencode", "working"}, []any{view["agent"], view["status"]})
	session := r.Agent(url, "GET", "/session/"+view["session"].(string), box, nil)
	assert.Equal(t, []any{box, "sandbox one"}, []any{session["directory"], session["title"]})
	r.Do(projectStop, sandboxArgs{"git_url": url})
	assert.Equal(t, "off", firstOf(r, url)["status"])
}
