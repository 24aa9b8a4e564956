package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/countersign-dev/countersign/adapters/cli"
	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/cmd/internal/wiring"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/internal/testkit/nopolicy"
	"github.com/countersign-dev/countersign/internal/testkit/stdiotest"
)

// args are the arguments of a tool.
type args = map[string]any

// place is a repository, a home and a pack store for one test.
type place struct {
	t    *testing.T
	repo string
	home string
}

func newPlace(t *testing.T) place {
	p := place{t: t, repo: t.TempDir(), home: t.TempDir()}
	p.write("src/token.go", "package src\n\n// Verify checks the expiry.\nfunc Verify(t string) bool {\n\treturn t != \"\"\n}\n")
	return p
}

func (p place) write(name, text string) {
	p.t.Helper()
	file := filepath.Join(p.repo, filepath.FromSlash(name))
	require.NoError(p.t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(p.t, os.WriteFile(file, []byte(text), 0o644))
}

func (p place) store(name string) string {
	return filepath.Join(p.repo, ".agents/mcp/context_pack/packs", name)
}

// command is this very binary as countersign, in the repository.
func (p place) command(arguments ...string) *exec.Cmd {
	p.t.Helper()
	exe, err := os.Executable()
	require.NoError(p.t, err)
	cmd := exec.Command(exe)
	cmd.Args = append([]string{"countersign"}, arguments...)
	cmd.Dir = p.repo
	cmd.Env = []string{"HOME=" + p.home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + p.t.TempDir(), "COUNTERSIGN_LOG=warn", "GORACE=atexit_sleep_ms=0"}
	return cmd
}

// run runs a command to its end.
func (p place) run(arguments ...string) (stdout, stderr string, code int) {
	p.t.Helper()
	var out, problems bytes.Buffer
	cmd := p.command(arguments...)
	cmd.Stdout, cmd.Stderr = &out, &problems
	err := cmd.Run()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		require.NoError(p.t, err)
	}
	return out.String(), problems.String(), cmd.ProcessState.ExitCode()
}

func (p place) serve(flags ...string) *stdiotest.Client {
	p.t.Helper()
	return stdiotest.Start(p.t, p.command(append([]string{"mcp"}, flags...)...))
}

// session is a client that edits one pack and keeps its revision.
type session struct {
	*stdiotest.Client
	t        testing.TB
	id       string
	revision uint64
}

// do calls input and requires success.
func (s *session) do(a args) json.RawMessage {
	s.t.Helper()
	if s.id != "" {
		a["id"], a["expected_revision"] = s.id, s.revision
	}
	r := s.Call("input", a)
	require.False(s.t, r.IsError, r.Text)
	var answer struct {
		Action  string
		Payload json.RawMessage
	}
	require.NoError(s.t, json.Unmarshal([]byte(r.Text), &answer))
	var pack struct {
		ID       string
		Revision uint64
	}
	require.NoError(s.t, json.Unmarshal(answer.Payload, &pack))
	s.id, s.revision = pack.ID, pack.Revision
	return answer.Payload
}

func (s *session) create(name string) {
	s.t.Helper()
	s.do(args{"action": "create", "ttl_minutes": 60, "name": name})
}

func (s *session) section() {
	s.t.Helper()
	s.do(args{"action": "upsert_section", "section_key": "flow", "section_title": "Flow"})
}

func (s *session) ref(path string, first, last int) {
	s.t.Helper()
	s.do(args{"action": "upsert_ref", "section_key": "flow", "ref_key": "verify", "path": path, "line_start": first, "line_end": last})
}

// TestMCPSession is the main job through countersign mcp: a pack is built, finalized and read, at every revision of the protocol, in
// both framings, and without any handshake.
func TestMCPSession(t *testing.T) {
	starts := map[string]func(*stdiotest.Client){
		"2024-11-05":    func(c *stdiotest.Client) { c.Initialize("2024-11-05") },
		"2025-06-18":    func(c *stdiotest.Client) { c.Initialize("2025-06-18") },
		"2025-11-25":    func(c *stdiotest.Client) { c.Initialize("2025-11-25") },
		"framed":        func(c *stdiotest.Client) { c.Framed().Initialize("2025-06-18") },
		"no initialize": func(*stdiotest.Client) {},
	}
	for name, start := range starts {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			s := &session{Client: p.serve(), t: t}
			start(s.Client)
			s.create("login-bug")
			s.section()
			s.ref("src/token.go", 4, 6)
			s.do(args{"action": "upsert_diagram", "section_key": "flow", "diagram_key": "calls", "title": "Calls", "mermaid": "graph TD\n a-->b"})
			s.do(args{"action": "set_status", "status": "finalized"})
			r := s.Call("output", args{"name": "login-bug"})
			require.False(t, r.IsError, r.Text)
			assert.Contains(t, r.Text, "- status: finalized\n")
			assert.Contains(t, r.Text, "```go\n   4: func Verify(t string) bool {\n   5: \treturn t != \"\"\n   6: }\n```\n")
			assert.Contains(t, r.Text, "```mermaid\ngraph TD\n a-->b\n```\n")
			s.CloseStdin()
			assert.Equal(t, 0, s.Wait())
			assert.Empty(t, s.Stderr())

			out, _, code := p.run("audit", "verify", "--json")
			assert.Equal(t, 0, code)
			assert.True(t, strings.HasPrefix(out, `{"intact":true,"records":11,`), "five changes of two records, one read: %s", out)
		})
	}
}

// TestServedTools: the default is packs, deployments and control, and a tool that is not served cannot be called either.
func TestServedTools(t *testing.T) {
	c := newPlace(t).serve()
	c.Initialize("2025-06-18")
	r := c.Request("tools/list", nil)
	var listed struct{ Tools []struct{ Name string } }
	require.NoError(t, json.Unmarshal(r.Result, &listed))
	var names []string
	for _, tool := range listed.Tools {
		names = append(names, tool.Name)
	}
	assert.Equal(t, []string{"audit_tail", "cancel_confirm", "confirm", "deploy", "deploy_apply", "diff", "doctor", "evolve_propose", "evolve_restore", "explain",
		"get_policy", "input", "list_confirmations", "list_toolsets", "output", "plan", "preview", "rollback", "set_mode", "status"}, names)
	hidden := c.Call("quarantine_pack_file", args{"file": "x"})
	require.NotNil(t, hidden.Err)
	assert.Equal(t, -32602, hidden.Err.Code)
}

// TestListedPermissions: a list of tools says what policy would answer, whatever else is served beside them.
func TestListedPermissions(t *testing.T) {
	for _, served := range []string{"projects", "packs,projects"} {
		c := newPlace(t).serve("--toolsets", served)
		c.Initialize("2025-06-18")
		var listed struct {
			Tools []struct {
				Name string
				Meta struct{ Permission string } `json:"_meta"`
			}
		}
		require.NoError(t, json.Unmarshal(c.Request("tools/list", nil).Result, &listed))
		said := map[string]string{}
		for _, tool := range listed.Tools {
			said[tool.Name] = tool.Meta.Permission
		}
		assert.Equal(t, "allow", said["list_projects"], served)
		assert.Equal(t, "confirm", said["run_script"], served)
	}
}

// TestReadOnlyServer reads and changes nothing.
func TestReadOnlyServer(t *testing.T) {
	p := newPlace(t)
	_, _, code := p.run("pack", "new", "kept")
	require.Equal(t, 0, code)
	c := p.serve("--read-only")
	assert.Contains(t, c.Call("output", nil).Text, "kept")
	assert.Contains(t, c.Call("input", args{"action": "list"}).Text, "kept")
	refused := c.Call("input", args{"action": "create", "ttl_minutes": 5, "name": "another"})
	assert.True(t, refused.IsError)
	assert.NotContains(t, c.Call("output", nil).Text, "another")
}

// TestModes: the mode of one client instance ends with it, and the ceiling holds.
func TestModes(t *testing.T) {
	p := newPlace(t)
	c := p.serve("--max-mode", "plan")
	c.Initialize("2025-06-18")
	assert.True(t, c.Call("set_mode", args{"mode": "execute"}).IsError)
	require.False(t, c.Call("set_mode", args{"mode": "ask"}).IsError)
	assert.Contains(t, c.Call("get_policy", args{}).Text, `"session_mode":"ask"`)
	c.CloseStdin()
	require.Equal(t, 0, c.Wait())
	assert.Contains(t, p.serve().Call("get_policy", args{}).Text, `"session_mode":""`)
}

// TestWatchdog: a server nobody speaks to ends by itself, without an error.
func TestWatchdog(t *testing.T) {
	p := newPlace(t)
	cmd := p.command("mcp")
	cmd.Env = append(cmd.Env, "CONTEXT_PACK_INITIALIZE_TIMEOUT_MS=50")
	assert.Equal(t, 0, stdiotest.Start(t, cmd).Wait())
}

// TestSignalDuringACall: SIGTERM while a change waits for a lock. The call is answered, recorded and undone, the process ends with 0,
// and the store is whole.
func TestSignalDuringACall(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("windows has no SIGTERM")
	}
	p := newPlace(t)
	s := &session{Client: nil, t: t}
	cmd := p.command("mcp")
	s.Client = stdiotest.Start(t, cmd)
	s.Initialize("2025-06-18")
	s.create("slow")
	lock := flock.New(p.store(s.id + ".lock"))
	require.NoError(t, lock.Lock())
	defer lock.Unlock()
	s.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"held","method":"tools/call","params":{"name":"input","arguments":{"action":"touch_ttl","ttl_minutes":9,"id":%q,"expected_revision":1}}}`, s.id))
	require.Eventually(t, func() bool { // until its intent is on record: from then on it waits for the lock
		out, _, _ := p.run("audit", "export")
		return strings.Count(out, `"phase":"intent"`) == 2
	}, stdiotest.Patience, 20*time.Millisecond)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	var answer stdiotest.Response
	require.NoError(t, json.Unmarshal(s.Recv(), &answer))
	assert.JSONEq(t, `"held"`, string(answer.ID))
	r := stdiotest.ResultOf(t, answer)
	assert.True(t, r.IsError, r.Text)
	assert.Contains(t, r.Text, "cancel")
	assert.Equal(t, 0, s.Wait(), s.Stderr())
	require.NoError(t, lock.Unlock())

	out, _, code := p.run("pack", "show", "slow", "--json")
	assert.Equal(t, 0, code)
	assert.Contains(t, out, `"revision":1`)
	out, _, _ = p.run("audit", "export")
	assert.Contains(t, out, `"code":"canceled"`)
	_, problem, code := p.run("audit", "verify")
	assert.Equal(t, 0, code, problem)
}

// TestInterruptedCommand: Ctrl-C cancels a command that waits, with exit code 130 and one line.
func TestInterruptedCommand(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("windows has no SIGINT for children")
	}
	p := newPlace(t)
	out, _, _ := p.run("pack", "new", "slow")
	lock := flock.New(p.store(strings.TrimSpace(out) + ".lock"))
	require.NoError(t, lock.Lock())
	defer lock.Unlock()
	cmd := p.command("pack", "touch", "slow", "--ttl", "9m")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool {
		records, _, _ := p.run("audit", "export")
		return strings.Count(records, `"phase":"intent"`) == 2
	}, stdiotest.Patience, 20*time.Millisecond)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	_ = cmd.Wait()
	assert.Equal(t, 130, cmd.ProcessState.ExitCode())
	assert.Equal(t, "error: cancelled\n", stderr.String())
}

// TestNothingIsLeftBehind: a server in this process, from its first message to the end of its input, leaves no goroutine.
func TestNothingIsLeftBehind(t *testing.T) {
	p := newPlace(t)
	before := goleak.IgnoreCurrent()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	env := map[string]string{"COUNTERSIGN_HOME": p.home, "CONTEXT_PACK_ROOT": filepath.Join(p.home, "packs"), "CONTEXT_PACK_SOURCE_ROOT": p.repo, "GOGC": "100"}
	ended := make(chan int)
	go func() {
		defer out.Close()
		ended <- cli.Run(context.Background(), wiring.Build{Version: "test", Approval: policy.ApprovalCaller, Trust: nopolicy.Trust(p.home)}.Program(), &command.Terminal{In: in, Out: out, Err: io.Discard,
			Env: func(name string) string { return env[name] }}, []string{"mcp"})
	}()
	s := &session{Client: stdiotest.Pipe(t, toServer, fromServer), t: t}
	s.Initialize("2025-06-18")
	s.create("fleeting")
	s.section()
	assert.Contains(t, s.Call("output", nil).Text, "fleeting")
	s.CloseStdin()
	assert.Equal(t, 0, <-ended)
	goleak.VerifyNone(t, before)
}

// TestRacingEdits: two users edit one pack at once; each command reads, and tries once more when the other was first.
func TestRacingEdits(t *testing.T) {
	p := newPlace(t)
	_, _, code := p.run("pack", "new", "shared")
	require.Equal(t, 0, code)
	_, _, code = p.run("pack", "note", "first", "-p", "shared")
	require.Equal(t, 0, code)
	for round := range 5 {
		commands := []*exec.Cmd{p.command("pack", "note", fmt.Sprint("left-", round), "-p", "shared"), p.command("pack", "note", fmt.Sprint("right-", round), "-p", "shared")}
		for _, c := range commands {
			require.NoError(t, c.Start())
		}
		for _, c := range commands {
			require.NoError(t, c.Wait())
		}
	}
	out, _, _ := p.run("pack", "show", "shared")
	for round := range 5 {
		assert.Contains(t, out, fmt.Sprint("left-", round))
		assert.Contains(t, out, fmt.Sprint("right-", round))
	}
}

// TestPacksAsResources: a pack can be attached, completed and handed off; a server without packs offers none of it.
func TestPacksAsResources(t *testing.T) {
	p := newPlace(t)
	s := &session{Client: p.serve(), t: t}
	s.Initialize("2025-06-18")
	s.create("login-bug")
	s.section()
	s.ref("src/token.go", 4, 6)
	uri := "countersign://packs/" + s.id
	assert.Contains(t, string(s.Request("resources/list", nil).Result), uri)
	assert.Contains(t, string(s.Request("resources/templates/list", nil).Result), "countersign://packs/{id}")
	assert.Contains(t, string(s.Request("resources/read", args{"uri": uri}).Result), "func Verify")
	assert.NotNil(t, s.Request("resources/read", args{"uri": "countersign://packs/pk_aaaaaaaa"}).Error)
	handoff := s.Request("prompts/get", args{"name": "handoff", "arguments": args{"pack": "login-bug", "task": "fix it"}})
	require.Nil(t, handoff.Error)
	assert.Contains(t, string(handoff.Result), "func Verify")
	completion := s.Request("completion/complete", args{"ref": args{"type": "ref/prompt", "name": "handoff"}, "argument": args{"name": "pack", "value": "log"}})
	assert.Contains(t, string(completion.Result), `"login-bug"`)

	bare := p.serve("--toolsets", "control")
	result := string(bare.Initialize("2025-06-18"))
	assert.NotContains(t, result, "resources")
	assert.NotContains(t, result, "prompts")
}

// TestTheHostDies: its ends of both pipes are gone while a call is answered. The server ends by itself, without an error, and its
// work is on record.
func TestTheHostDies(t *testing.T) {
	p := newPlace(t)
	cmd := p.command("mcp")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	require.NoError(t, out.Close())
	_, err = io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"input","arguments":{"action":"create","name":"orphan","ttl_minutes":5}}}`+"\n")
	require.NoError(t, err)
	require.NoError(t, in.Close())
	assert.NoError(t, cmd.Wait())
	listed, _, _ := p.run("pack", "list")
	assert.Contains(t, listed, "orphan")
	_, problem, code := p.run("audit", "verify")
	assert.Equal(t, 0, code, problem)
}
