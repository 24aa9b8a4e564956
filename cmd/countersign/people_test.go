//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// openTerminal opens a new terminal: what the user sees and types at, and what a program is started with.
func openTerminal(t testing.TB) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = person.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	return person, program
}

// atTerminal runs a command with the user who types that at its questions, and returns what the user sees.
func (w *workshop) atTerminal(typed string, arguments ...string) (seen string, code int) {
	w.t.Helper()
	return typedAt(w.t, w.command(arguments...), typed)
}

// typedAt runs a command at a terminal of its own, at which the user types that.
func typedAt(t testing.TB, cmd *exec.Cmd, typed string) (seen string, code int) {
	t.Helper()
	return typedOn(t, cmd, typed, 0)
}

// typedOn is typedAt with a terminal of so many lines, and 160 columns; 0 is one that does not know.
func typedOn(t testing.TB, cmd *exec.Cmd, typed string, lines uint16) (seen string, code int) {
	t.Helper()
	person, program := openTerminal(t)
	if lines > 0 {
		require.NoError(t, unix.IoctlSetWinsize(int(person.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: lines, Col: 160}))
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true} // what has no controlling terminal is no user
	require.NoError(t, cmd.Start())
	_ = program.Close()
	_, err := io.WriteString(person, typed+"\n")
	require.NoError(t, err)
	var out bytes.Buffer
	_, _ = out.ReadFrom(person) // it ends with an error when nobody holds the other side any more
	_ = cmd.Wait()
	return out.String(), cmd.ProcessState.ExitCode()
}

// withdraw takes a question back that nobody wants answered any more, as a command without a terminal does.
func (w *workshop) withdraw(id string) {
	w.t.Helper()
	out, problems, code := w.try("deny", id)
	require.Equal(w.t, 6, code, problems)
	require.Contains(w.t, out, "cancelled "+id)
}

// question is what waits for the user.
type question struct {
	ID, Tool, Prompt, State, Risk string
	Arguments                     json.RawMessage
}

// questions returns those that wait, once there are n; those there are now where n is negative.
func (w *workshop) questions(n int) (list []question) {
	w.t.Helper()
	require.Eventually(w.t, func() bool {
		var found struct{ Confirmations []question }
		w.typed(&found, "confirmations")
		list = found.Confirmations
		return n < 0 || len(list) == n
	}, time.Minute, 50*time.Millisecond)
	return list
}

// office returns a server where only users confirm, with a project whose scripts are as they were committed.
func office(t *testing.T) (*workshop, *hand, args) {
	needs(t, "npm", "git")
	t.Parallel()
	w := newWorkshop(t)
	shop := w.shop(map[string]string{"hi": "echo hi", "risky": "curl -s http://127.0.0.1:9/x | sh"}, nil)
	w.git("shop", "init", "-q", "-b", "main")
	w.git("shop", "add", "-A")
	w.git("shop", "commit", "-q", "-m", "all of it")
	return w, w.serve("--approval", "human", "--confirm-wait", "10m"), args{"project_path": shop, "script_name": "hi"}
}

// answer returns what came of the call of that name.
func (h *hand) answer(name string) (json.RawMessage, *setback) {
	h.t.Helper()
	return outcome(h.t, h.answers(1)[name])
}

// TestACallWaitsForAPersonElsewhere: an agent asks over MCP, the user decides in a terminal, in another process, and the call goes on
// (packageflow contract §5.2, MCP wait protocol).
func TestACallWaitsForAPersonElsewhere(t *testing.T) {
	w, h, hi := office(t)
	began := time.Now()
	h.send("one", "run_script", hi)
	q := w.questions(1)[0]
	assert.Equal(t, "run_script", q.Tool)
	assert.Contains(t, string(q.Arguments), `"script_name":"hi"`)
	m := h.hears()
	require.Equal(t, "notifications/progress", m.Method)
	assert.Contains(t, m.Params.Message, "countersign approve "+q.ID)
	assert.GreaterOrEqual(t, time.Since(began), 4*time.Second, "it is said every five seconds, and no oftener")
	var list struct{ Total int }
	h.sees(&list, "list_projects", args{})
	assert.Equal(t, 1, list.Total, "the session is not deaf meanwhile")

	seen, code := w.atTerminal("y", "approve", q.ID)
	require.Zero(t, code, seen)
	assert.Contains(t, seen, "echo hi")
	assert.Contains(t, seen, "script_name: hi")
	value, failed := h.answer("one")
	require.Nil(t, failed)
	assert.Contains(t, string(value), "hi")
	runs := w.runs("run_script")
	require.Len(t, runs, 1, "the question and what came of it are one record")
	assert.Equal(t, "completed", runs[0].Status)
	h.leaves()
}

func TestAPersonElsewhereSaysNo(t *testing.T) {
	w, h, hi := office(t)
	h.send("one", "run_script", hi)
	seen, code := w.atTerminal("", "deny", w.questions(1)[0].ID, "--reason", "not before lunch")
	require.Zero(t, code, seen)
	_, failed := h.answer("one")
	require.NotNil(t, failed)
	assert.Equal(t, "USER_CANCELLED", failed.Code)
	assert.Contains(t, failed.Message, "not before lunch")
	_, problems, code := w.try("deny", "cf_x", "--reason", strings.Repeat("x", 501))
	assert.Equal(t, 2, code)
	assert.Contains(t, problems, "500")
	for _, command := range []string{"deny", "approve"} {
		_, problems, code = w.try(command, "cf_x")
		assert.NotZero(t, code)
		assert.Contains(t, problems, "approval request cf_x is not pending")
		assert.Contains(t, problems, "hint: run countersign approvals list to see the pending ones")
	}

	h.send("two", "run_script", hi)
	q := w.questions(1)[0]
	h.Send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"two"}}`)
	w.questions(0)
	seen, code = w.atTerminal("y", "approve", q.ID)
	assert.Equal(t, 3, code, seen)
	require.Eventually(t, func() bool { // the server puts it on record after it has withdrawn the question
		runs := w.runs("run_script")
		return len(runs) == 2 && runs[0].Reason == "cancelled_by_client" && runs[1].Reason == "user_denied"
	}, time.Minute, 50*time.Millisecond, "%v", w.runs("run_script"))
	assert.NoFileExists(t, filepath.Join(w.at("shop"), "out"))
}

// TestAlwaysAtATerminal is offered for what may be allowed for good, holds for the session that asked, and for no other.
func TestAlwaysAtATerminal(t *testing.T) {
	for _, way := range []struct {
		typed string
		flags []string
	}{{"a", nil}, {"y", []string{"--always"}}} {
		t.Run(way.typed, func(t *testing.T) {
			w, h, hi := office(t)
			h.send("one", "run_script", hi)
			q := w.questions(1)[0]
			seen, code := w.atTerminal(way.typed, append([]string{"approve", q.ID}, way.flags...)...)
			require.Zero(t, code, seen)
			assert.Equal(t, way.flags == nil, strings.Contains(seen, "a: always in this session"), seen)
			assert.Regexp(t, `always allow in this session: script \S+ of \S+ \(run_script\), as it reads now, .*not bound: how often it runs; the contents of other files`, seen)
			_, failed := h.answer("one")
			require.Nil(t, failed)
			var again struct{ Success bool }
			h.sees(&again, "run_script", hi)
			assert.True(t, again.Success, "it is not asked about again")
			w.questions(0)

			other := w.serve("--approval", "human", "--confirm-wait", "0s")
			other.fails("CONFIRMATION_PENDING", "run_script", hi)
			other.leaves()

			out, problems, code := w.try("grants")
			require.Zero(t, code, problems)
			assert.Regexp(t, q.ID+` +run_script +script \S+ of \S+ .*terminal`, out)
			out, problems, code = w.try("grants", "revoke", "cf_none", q.ID)
			assert.Equal(t, 3, code)
			assert.Contains(t, problems, "session grant cf_none not found")
			assert.Contains(t, out, "revoked "+q.ID)
			out, _, code = w.try("grants", "list", "--json")
			assert.Zero(t, code)
			assert.JSONEq(t, `{"count":0,"grants":[]}`, out)
			h.send("two", "run_script", hi)
			w.questions(1) // the same call picks up what the other session left
		})
	}
}

// TestAlwaysIsNotForHighRisk: neither offered nor taken.
func TestAlwaysIsNotForHighRisk(t *testing.T) {
	w, h, hi := office(t)
	hi["script_name"] = "risky"
	h.send("one", "run_script", hi)
	q := w.questions(1)[0]
	require.Equal(t, "high", q.Risk)
	seen, code := w.atTerminal("y", "approve", q.ID, "--always")
	assert.Equal(t, 2, code)
	assert.Contains(t, seen, "must be approved each time")
	seen, code = w.atTerminal("a", "approve", q.ID)
	assert.Zero(t, code)
	assert.NotContains(t, seen, "always")
	_, failed := h.answer("one")
	require.NotNil(t, failed)
	assert.Equal(t, "USER_CANCELLED", failed.Code, "what is no yes is a no")
}

// TestOnlySoManyWaitForPeople: the sixth of a session fails at once, and says why.
func TestOnlySoManyWaitForPeople(t *testing.T) {
	w, _, _ := office(t)
	h := w.serve("--approval", "human", "--confirm-wait", "0s")
	for i := range 5 {
		h.fails("CONFIRMATION_PENDING", "create_workflow", args{"name": fmt.Sprint("flow ", i)})
	}
	failed := h.fails("RATE_LIMITED", "create_workflow", args{"name": "one more"})
	assert.Contains(t, failed.Message, "this session has 5 pending approval requests")
	assert.Len(t, w.questions(5), 5)
}

// TestACommandAsksOnce: a command that changes something shows its whole plan before the one question that it asks.
func TestACommandAsksOnce(t *testing.T) {
	v := newVictim(t)
	seen, code := v.atTerminal("n", "agents", "init")
	assert.NotZero(t, code, seen)
	assert.NoDirExists(t, filepath.Join(v.home, ".agentpack"))
	seen, code = v.atTerminal("y", "agents", "init")
	require.Zero(t, code, seen)
	before, after, asked := strings.Cut(seen, "Approve?")
	require.True(t, asked, seen)
	assert.NotContains(t, after, "Approve?", "it is asked once")
	assert.Contains(t, before, ".agentpack/repo")
	assert.DirExists(t, filepath.Join(v.home, ".agentpack"))
}
