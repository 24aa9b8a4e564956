//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testkit/stdiotest"
)

// workshop is a home of its own with projects in it, and the binary that works there. When the test ends nothing may run there any more.
type workshop struct {
	t    testing.TB
	exe  string // an absolute path: supervisors are started by it
	base string
	home string
	env  []string
}

// newWorkshop returns a workshop for the binary that the tests are, with the race detector where they have it.
func newWorkshop(t testing.TB) *workshop {
	t.Helper()
	exe, err := exec.LookPath("countersign") // TestMain has put it there
	require.NoError(t, err)
	return newWorkshopFor(t, exe)
}

func newWorkshopFor(t testing.TB, exe string) *workshop {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	w := &workshop{t: t, exe: exe, base: base, home: filepath.Join(base, "home")}
	w.env = []string{"HOME=" + w.home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + t.TempDir(), "COUNTERSIGN_LOG=warn", "GORACE=atexit_sleep_ms=0",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com"}
	write(t, filepath.Join(w.home, ".npmrc"), "update-notifier=false\nfund=false\naudit=false\n")
	t.Cleanup(w.clear)
	return w
}

// clear ends what still runs in the workshop. That is a failure of a test that has not failed otherwise.
func (w *workshop) clear() {
	left := w.running()
	for _, p := range left {
		_ = p.kill()
	}
	if !w.t.Failed() {
		assert.Empty(w.t, left, "processes were left running")
	}
}

// needs skips a test where a program is missing.
func needs(t testing.TB, programs ...string) {
	t.Helper()
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed", program)
		}
	}
}

// build makes the program, with the caller approving where nothing else is said, once for all tests. The directory goes with the one that TestMain has made.
var build = sync.OnceValues(func() (string, error) {
	beside, err := exec.LookPath("countersign")
	if err != nil {
		return "", err
	}
	exe := filepath.Join(filepath.Dir(beside), "built", "countersign")
	text, err := exec.Command("go", "build", "-buildvcs=false", "-o", exe, "./testdata/lenient").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, text)
	}
	return exe, err
})

// built returns the program in which the caller approves (testdata/lenient): a binary of its own, without anything of the tests in it.
func built(t testing.TB) string {
	t.Helper()
	exe, err := build()
	require.NoError(t, err)
	return exe
}

// projects writes the projects of testdata/projects.txtar that are named, and commits them.
func (w *workshop) projects(names ...string) {
	w.t.Helper()
	archive, err := txtar.ParseFile("testdata/projects.txtar")
	require.NoError(w.t, err)
	for _, name := range names {
		for _, f := range archive.Files {
			if strings.HasPrefix(f.Name, name+"/") {
				write(w.t, w.at(f.Name), string(f.Data))
			}
		}
		w.git(name, "init", "-q", "-b", "main")
		w.git(name, "add", "-A")
		w.git(name, "commit", "-q", "-m", "all of it")
	}
}

// shop returns a registered npm project with these scripts and files.
func (w *workshop) shop(scripts map[string]string, files map[string]string) string {
	w.t.Helper()
	doc, err := json.Marshal(args{"name": "shop", "version": "1.0.0", "scripts": scripts})
	require.NoError(w.t, err)
	write(w.t, w.at("shop/package.json"), string(doc))
	for name, text := range files {
		write(w.t, filepath.Join(w.at("shop"), name), text)
	}
	w.begins("project", "add", w.at("shop"))
	return w.at("shop")
}

// at returns a path in the workshop.
func (w *workshop) at(name string) string {
	return filepath.Join(w.base, "work", filepath.FromSlash(name))
}

func (w *workshop) git(project string, arguments ...string) string {
	w.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", w.at(project)}, arguments...)...)
	cmd.Env = append(w.env, "GIT_CONFIG_GLOBAL="+os.DevNull)
	out, err := cmd.CombinedOutput()
	require.NoError(w.t, err, "git %v: %s", arguments, out)
	return string(out)
}

func (w *workshop) command(arguments ...string) *exec.Cmd {
	cmd := exec.Command(w.exe, arguments...)
	cmd.Dir, cmd.Env = w.base, w.env
	return cmd
}

// try runs a command to its end. It may be called from any goroutine.
func (w *workshop) try(arguments ...string) (stdout, stderr string, code int) {
	var out, problems bytes.Buffer
	cmd := w.command(arguments...)
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); cmd.ProcessState == nil {
		return "", err.Error(), -1
	}
	return out.String(), problems.String(), cmd.ProcessState.ExitCode()
}

// begins is must where the caller approves: no user has to sit at a terminal for what a test needs to begin with.
func (w *workshop) begins(arguments ...string) string {
	w.t.Helper()
	env := w.env
	w.env = append(slices.Clone(env), "COUNTERSIGN_APPROVAL=host")
	defer func() { w.env = env }()
	return w.must(arguments...)
}

// must runs a command that has to succeed, and returns what it prints.
func (w *workshop) must(arguments ...string) string {
	w.t.Helper()
	out, problems, code := w.try(arguments...)
	require.Equal(w.t, 0, code, "countersign %s: %s%s", strings.Join(arguments, " "), out, problems)
	return out
}

// typed decodes the JSON of a command that has to succeed.
func (w *workshop) typed(into any, arguments ...string) {
	w.t.Helper()
	text := w.must(append(arguments, "--json")...)
	require.NoError(w.t, json.Unmarshal([]byte(text), into), text)
}

// run is a line of countersign calls.
type run struct {
	CallID string          `json:"callId"`
	Tool   string          `json:"toolName"`
	Status string          `json:"status"`
	Reason string          `json:"reason"`
	What   string          `json:"what"`
	Args   json.RawMessage `json:"arguments"`
	Result *struct {
		Success bool   `json:"success"`
		Error   string `json:"error"`
		Output  string `json:"output"`
	} `json:"result"`
}

// runs returns the runs of one tool, newest first; of all, if it is empty.
func (w *workshop) runs(tool string) []run {
	w.t.Helper()
	var list struct{ Runs []run }
	w.typed(&list, "runs", "list", "--limit", "200", "--tool", tool)
	return list.Runs
}

// hand is a client of countersign mcp with the toolset projects.
type hand struct {
	*stdiotest.Client
	t   testing.TB
	cmd *exec.Cmd
}

func (w *workshop) serve(flags ...string) *hand {
	w.t.Helper()
	cmd := w.command(append([]string{"mcp", "--toolsets", "projects"}, flags...)...)
	h := &hand{Client: stdiotest.Start(w.t, cmd), t: w.t, cmd: cmd}
	h.Initialize("2025-06-18")
	return h
}

// leaves ends the client's side, and requires the server to end well.
func (h *hand) leaves() {
	h.t.Helper()
	h.CloseStdin()
	assert.Equal(h.t, 0, h.Wait())
	assert.Empty(h.t, h.Stderr())
}

// setback is a failure over MCP (packageflow contract §2.3).
type setback struct {
	Code    string
	Message string
	Hint    string
	Details struct {
		Confirmation pending
		Differences  []difference // between what was confirmed and what there is now
		ExecutionID  string       `json:"executionId"`
		RetryAfter   int          `json:"retryAfterMs"`
		Stdout       string
	}
}

type difference struct{ Path, Before, After string }

// pending is what the user is shown before a call is carried out.
type pending struct {
	Token    string          `json:"confirm_token"`
	Strength string          `json:"strength"`
	Prompt   string          `json:"prompt"`
	Risk     string          `json:"risk"`
	Context  json.RawMessage `json:"context"`
}

// outcome reads an answer; exactly one of the results says something.
func outcome(t testing.TB, r stdiotest.Result) (value json.RawMessage, failed *setback) {
	t.Helper()
	require.Nil(t, r.Err, "an error of the protocol: %+v", r.Err)
	require.JSONEq(t, r.Text, string(r.Structured), "text and structuredContent differ")
	if !r.IsError {
		var waits struct {
			Status, Code, Message, Hint string
			Confirmation                pending
		}
		if json.Unmarshal(r.Structured, &waits) == nil && waits.Status == "pending_confirmation" { // no error, so that the model repeats the call
			failed = &setback{Code: waits.Code, Message: waits.Message, Hint: waits.Hint}
			failed.Details.Confirmation = waits.Confirmation
			return nil, failed
		}
		return r.Structured, nil
	}
	var body struct{ Error *setback }
	require.NoError(t, json.Unmarshal(r.Structured, &body), r.Text)
	require.NotNil(t, body.Error, r.Text)
	return nil, body.Error
}

// sees calls a tool that has to succeed at once.
func (h *hand) sees(into any, tool string, a args) {
	h.t.Helper()
	value, failed := outcome(h.t, h.Call(tool, a))
	require.Nil(h.t, failed, "%s: %+v", tool, failed)
	require.NoError(h.t, json.Unmarshal(value, into), string(value))
}

// fails calls a tool that has to fail with a code.
func (h *hand) fails(code, tool string, a args) *setback {
	h.t.Helper()
	value, failed := outcome(h.t, h.Call(tool, a))
	require.NotNil(h.t, failed, "%s succeeded: %s", tool, value)
	require.Equal(h.t, code, failed.Code, failed.Message)
	return failed
}

// asks calls a tool that has to ask the user first, and returns what that user sees.
func (h *hand) asks(tool string, a args) pending {
	h.t.Helper()
	p := h.fails("CONFIRMATION_PENDING", tool, a).Details.Confirmation
	require.NotEmpty(h.t, p.Token)
	require.Equal(h.t, "simple", p.Strength)
	return p
}

// with is arguments with a token.
func (p pending) with(a args) args {
	out := args{"confirm_token": p.Token}
	for name, value := range a {
		out[name] = value
	}
	return out
}

// does calls a tool, has it confirmed, and requires success.
func (h *hand) does(into any, tool string, a args) {
	h.t.Helper()
	h.sees(into, tool, h.asks(tool, a).with(a))
}

// begins sends a confirmed call that asks for progress, and does not wait for its answer. Its id and its progress token are the name.
func (h *hand) begins(name, tool string, a args) {
	h.t.Helper()
	h.send(name, tool, h.asks(tool, a).with(a))
}

func (h *hand) send(name, tool string, a args) {
	h.t.Helper()
	doc, err := json.Marshal(args{"jsonrpc": "2.0", "id": name, "method": "tools/call",
		"params": args{"name": tool, "arguments": a, "_meta": args{"progressToken": name}}})
	require.NoError(h.t, err)
	h.Send(string(doc))
}

// message is whatever the server says next.
type message struct {
	stdiotest.Response
	Method string
	Params struct {
		Token    any `json:"progressToken"`
		Progress float64
		Total    float64
		Message  string
	}
}

func (h *hand) hears() (m message) {
	h.t.Helper()
	require.NoError(h.t, json.Unmarshal(h.Recv(), &m))
	return m
}

// answers returns the next n answers by the names of their calls, in whatever order they come.
func (h *hand) answers(n int) map[string]stdiotest.Result {
	h.t.Helper()
	got := map[string]stdiotest.Result{}
	for len(got) < n {
		if m := h.hears(); m.ID != nil {
			var name string
			require.NoError(h.t, json.Unmarshal(m.ID, &name))
			got[name] = stdiotest.ResultOf(h.t, m.Response)
		}
	}
	return got
}

// eventually waits for what other processes bring about.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(stdiotest.Patience); !is(); <-tick.C {
		if time.Now().After(end) {
			require.FailNow(t, "it does not come about: "+what)
		}
	}
}

// alive is a process of this machine.
type alive struct {
	pid     int
	program string
}

func (p alive) kill() error { return syscall.Kill(p.pid, syscall.SIGKILL) }

// children returns the processes that Countersign has started in this workshop, whoever their parent is now.
func (w *workshop) children() []alive {
	return w.find(func(env []byte) bool { return bytes.Contains(env, []byte("\x00COUNTERSIGN_RUN_ID=")) })
}

// supervisors returns the processes that look after background processes of this workshop.
func (w *workshop) supervisors() []alive {
	var found []alive
	for _, p := range w.find(func([]byte) bool { return true }) {
		if strings.HasSuffix(p.program, "countersign\x00supervise\x00") {
			found = append(found, p)
		}
	}
	return found
}

// running returns all processes of the workshop.
func (w *workshop) running() []alive { return w.find(func([]byte) bool { return true }) }

// find looks for processes that have this workshop's home in their environment.
func (w *workshop) find(is func(env []byte) bool) (found []alive) {
	stats, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(w.t, err)
	for _, file := range stats {
		env, err := os.ReadFile(file)
		env = append([]byte{0}, env...)
		if err != nil || !bytes.Contains(env, []byte("\x00HOME="+w.home+"\x00")) || !is(env) {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		line, _ := os.ReadFile(filepath.Dir(file) + "/cmdline")
		if pid != os.Getpid() && len(line) > 0 {
			found = append(found, alive{pid, string(line)})
		}
	}
	return found
}

// deserted requires that nothing that was started in the workshop runs, now or in a moment.
func (w *workshop) deserted() {
	w.t.Helper()
	eventually(w.t, "everything that was started has ended", func() bool { return len(w.children())+len(w.supervisors()) == 0 })
}
