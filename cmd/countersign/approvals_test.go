//go:build linux

package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/countersign-dev/countersign/internal/testkit/stdiotest"
	"github.com/countersign-dev/countersign/internal/testkit/terminal"
)

// sitting is the user at a terminal with a program that draws on it.
type sitting struct {
	t       testing.TB
	person  *os.File
	program *os.File // kept open, so that what the terminal is set to can be asked
	cmd     *exec.Cmd
	exited  chan struct{}

	mu     sync.Mutex
	raw    bytes.Buffer
	screen *terminal.Screen
}

// sits starts a command at a terminal of that size.
func (w *workshop) sits(width, height uint16, arguments ...string) *sitting {
	w.t.Helper()
	return sit(w.t, w.command(arguments...), width, height)
}

func sit(t testing.TB, cmd *exec.Cmd, width, height uint16) *sitting {
	t.Helper()
	person, program := openTerminal(t)
	s := &sitting{t: t, person: person, program: program, exited: make(chan struct{}), screen: terminal.NewScreen(0, 0)}
	s.resize(width, height)
	s.cmd = cmd
	s.cmd.Env = append(s.cmd.Env, "TERM=xterm-256color")
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = program, program, program
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(t, s.cmd.Start())
	go s.watch()
	go func() {
		_ = s.cmd.Wait()
		close(s.exited)
	}()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		<-s.exited
		_ = program.Close()
	})
	return s
}

func (s *sitting) resize(width, height uint16) {
	s.t.Helper()
	s.mu.Lock()
	s.screen.Resize(int(width), int(height))
	s.mu.Unlock()
	require.NoError(s.t, unix.IoctlSetWinsize(int(s.person.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: height, Col: width}))
}

func (s *sitting) watch() {
	data := make([]byte, 4096)
	for {
		n, err := s.person.Read(data)
		s.mu.Lock()
		s.raw.Write(data[:n])
		_, _ = s.screen.Write(data[:n])
		for _, fault := range s.screen.Faults() {
			s.t.Errorf("the terminal is sent %s", fault)
		}
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// shown returns the screen as it is.
func (s *sitting) shown() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.screen.String()
}

func (s *sitting) bytes() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.raw.String()
}

// sees waits until all of the texts are on the screen.
func (s *sitting) sees(texts ...string) {
	s.t.Helper()
	ok := assert.Eventually(s.t, func() bool {
		shown := s.shown()
		for _, text := range texts {
			if !strings.Contains(shown, text) {
				return false
			}
		}
		return true
	}, time.Minute, 20*time.Millisecond)
	require.True(s.t, ok, "%q are not on the screen:\n%s", texts, s.shown())
}

func (s *sitting) types(text string) {
	s.t.Helper()
	_, err := io.WriteString(s.person, text)
	require.NoError(s.t, err)
}

// leaves waits until the program has ended, and holds it to giving the terminal back.
func (s *sitting) leaves() int {
	s.t.Helper()
	select {
	case <-s.exited:
	case <-time.After(time.Minute):
		require.FailNow(s.t, "it does not end", s.shown())
	}
	require.Eventually(s.t, func() bool { return strings.Contains(s.bytes(), "\x1b[?1049l") }, time.Minute, 10*time.Millisecond)
	out := s.bytes()
	for _, mode := range []string{"\x1b[?25h", "\x1b[?2004l", "\x1b[>4m", "\x1b[<1u"} {
		assert.Contains(s.t, out, mode)
	}
	termios, err := unix.IoctlGetTermios(int(s.program.Fd()), unix.TCGETS)
	require.NoError(s.t, err)
	assert.NotZero(s.t, termios.Lflag&unix.ICANON, "lines are read as lines again")
	assert.NotZero(s.t, termios.Lflag&unix.ECHO)
	return s.cmd.ProcessState.ExitCode()
}

// TestApprovals: agents ask over MCP in other processes, the user decides on the screen, and their calls go on.
func TestApprovals(t *testing.T) {
	w, h, hi := office(t)
	s := w.sits(100, 30, "approvals")
	s.sees("No pending approvals")
	s.types("\x1a") // nothing stops without a shell, and the view goes on
	h.send("one", "run_script", hi)
	s.sees("run_script", "1 pending", "Enter open")
	s.types("Ga")
	s.sees("press Enter to open it")
	s.types("\r")
	s.sees("echo hi", "script_name", "a approve", "expires in")
	s.types("Ga")
	s.sees("approved", "No pending approvals")
	value, failed := h.answer("one")
	require.Nil(t, failed)
	assert.Contains(t, string(value), "hi")

	h.send("two", "run_script", hi)
	s.sees("1 pending")
	s.types("\rd")
	s.sees("Reason (optional")
	s.types("not before lunch\x7f\x7f\x1b[200~ch\n\x1b[31m!\x1b[201~\r")
	_, failed = h.answer("two")
	require.NotNil(t, failed)
	assert.Equal(t, "USER_CANCELLED", failed.Code)
	assert.Contains(t, failed.Message, "not before lunch")
	s.sees("denied; run_script does not run")

	s.types("?")
	s.sees("any key: back")
	s.types("x")
	s.sees("No pending approvals")
	s.types("q")
	assert.Zero(t, s.leaves())
	h.leaves()
}

// TestApprovalsMoveAndScroll: several wait, the list is moved in, a long plan is scrolled, the screen is resized, and the kind that may be allowed for
// good is.
func TestApprovalsMoveAndScroll(t *testing.T) {
	w, h, hi := office(t)
	h.send("one", "run_script", hi)
	w.questions(1)
	h.send("two", "run_script", args{"project_path": hi["project_path"], "script_name": "risky"})
	w.questions(2)
	s := w.sits(80, 12, "approvals")
	s.sees("2 pending")
	s.types("j\x1b[Ak\x1b[B\r")
	s.sees("risk      high", "Space: next page")
	assert.NotContains(t, s.shown(), "A always")
	s.types("GA")
	s.sees("must be approved each time")
	s.types("G")
	s.sees("script_name")
	s.types("\x1b[5~\x1b[5~g")
	s.sees("risk      high")
	s.resize(44, 20)
	s.sees("risk      high", "expires in")
	s.resize(10, 4)
	s.sees("too small")
	s.resize(100, 40)
	s.sees("risk      high", "script_name")
	s.types("\x1b")
	s.sees("2 pending")
	s.types("k\r")
	s.sees("A always")
	s.types("GA")
	s.sees("1 pending", "session grant added")
	_, failed := h.answer("one")
	require.Nil(t, failed)
	s.types("\x03")
	assert.Zero(t, s.leaves())
	var again struct{ Success bool }
	h.sees(&again, "run_script", hi)
	assert.True(t, again.Success)
	w.withdraw(w.questions(1)[0].ID)
	_, failed = h.answer("two")
	require.NotNil(t, failed)
	h.leaves()
}

// TestAnInterruptedQuestionIsWithdrawn: nobody waits for its answer any more.
func TestAnInterruptedQuestionIsWithdrawn(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	shop := w.shop(map[string]string{"hi": "touch made"}, nil)
	w.env = append(w.env, "COUNTERSIGN_APPROVAL=human")
	s := w.sits(140, 40, "run", "hi", "--project", shop)
	s.sees("Approve? [y/N]")
	s.types("\x03")
	s.sees("with it; nothing was changed")
	<-s.exited
	assert.Equal(t, 130, s.cmd.ProcessState.ExitCode())
	w.questions(0)
	assert.NoFileExists(t, filepath.Join(shop, "made"))
}

// TestApprovalsAreOvertaken: by another user, by the client that asked, and by what the plan was made from.
func TestApprovalsAreOvertaken(t *testing.T) {
	w, h, hi := office(t)
	s := w.sits(110, 40, "approvals")
	h.send("one", "run_script", hi)
	s.sees("1 pending")
	s.types("\r")
	s.sees("echo hi")
	seen, code := w.atTerminal("", "deny", w.questions(1)[0].ID, "--reason", "I was faster")
	require.Zero(t, code, seen)
	s.sees("already denied in another terminal before you: I was faster", "not pending")
	s.types("Ga")
	_, failed := h.answer("one")
	require.NotNil(t, failed)
	s.types("q")

	h.send("two", "run_script", hi)
	s.sees("1 pending")
	s.types("\r")
	s.sees("echo hi")
	h.Send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"two"}}`)
	s.sees("the client no longer waits for it")
	s.types("q")

	h.send("three", "run_script", hi)
	s.sees("1 pending")
	s.types("\r")
	s.sees("echo hi", "a approve")
	write(t, w.at("shop/package.json"), `{"name": "shop", "version": "1.0.0", "scripts": {"hi": "echo something else", "risky": "true"}}`)
	s.types("Ga")
	s.sees("out of date", "Changes since the plan below was computed", `- "echo hi"`, `+ "echo something else"`)
	s.types("q")
	assert.Zero(t, func() int { s.types("q"); return s.leaves() }())
	assert.NoFileExists(t, w.at("shop/out"))
}

// TestApprovingWhatIsOutOfDate: the command shows what has changed, and approves nothing.
func TestApprovingWhatIsOutOfDate(t *testing.T) {
	w, h, hi := office(t)
	h.send("one", "run_script", hi)
	s := w.sits(100, 60, "approve", w.questions(1)[0].ID)
	s.sees("echo hi", "Approve?")
	write(t, w.at("shop/package.json"), `{"name": "shop", "version": "1.0.0", "scripts": {"hi": "echo something else"}}`)
	s.types("y\n")
	s.sees("changes since that plan was computed", `- "echo hi"`, `+ "echo something else"`)
	<-s.exited
	assert.Equal(t, 6, s.cmd.ProcessState.ExitCode())
	w.questions(0)
	_, failed := h.answer("one")
	require.NotNil(t, failed)
}

// TestApprovalsGiveTheTerminalBack: when they are ended by a signal, too.
func TestApprovalsGiveTheTerminalBack(t *testing.T) {
	w, h, hi := office(t)
	h.send("one", "run_script", hi)
	w.questions(1)
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		s := w.sits(80, 24, "approvals")
		s.sees("1 pending")
		s.types("\r")
		s.sees("echo hi")
		require.NoError(t, s.cmd.Process.Signal(signal))
		s.leaves()
	}
	w.withdraw(w.questions(1)[0].ID)
}

// TestApprovalsShowHostileTextAsText: nothing that others wrote reaches the terminal as anything but text (which the screen checks for every byte),
// and NO_COLOR is heeded.
func TestApprovalsShowHostileTextAsText(t *testing.T) {
	needs(t, "npm", "git")
	t.Parallel()
	w := newWorkshop(t)
	w.env = append(w.env, "NO_COLOR=1")
	shop := w.shop(map[string]string{"hi": "echo 漢字かな交じり文 \x1b]0;owned\x07\x1b[2J\x1b[1;1H\x9b2J \u202egnp.exe \u200bhidden \r approved"}, nil)
	h := w.serve("--approval", "human")
	h.send("one", "run_script", args{"project_path": shop, "script_name": "hi"})
	w.questions(1)
	for _, width := range []uint16{100, 30} {
		s := w.sits(width, 40, "approvals")
		s.sees("1 pending", "run script hi")
		s.types("\r")
		s.sees("漢", "U+202E", "U+001B")
		s.types("qq")
		assert.Zero(t, s.leaves())
		assert.NotRegexp(t, `\x1b\[[\d;]*m`, s.bytes())
		assert.NotContains(t, s.bytes(), "\u202e")
	}
	w.withdraw(w.questions(1)[0].ID)
}

// TestApprovalsWithoutAScreen are a list.
func TestApprovalsWithoutAScreen(t *testing.T) {
	w, h, hi := office(t)
	h.send("one", "run_script", hi)
	q := w.questions(1)[0]
	assert.Contains(t, w.must("approvals"), q.ID)
	var list struct{ Count int }
	w.typed(&list, "approvals")
	assert.Equal(t, 1, list.Count)
	w.env = append(w.env, "TERM=dumb")
	seen, code := w.atTerminal("", "approvals", "--json")
	assert.Zero(t, code)
	assert.Contains(t, seen, q.ID)
	w.withdraw(q.ID)
}

// TestApprovalsOfADeployment: the files that change, each with its diff, and then they are deployed.
func TestApprovalsOfADeployment(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	a := site.agentIn(site.project, "--approval", "human")
	offer := a.ask("deploy", nil)
	require.True(t, offer.OK)
	named := offer.answer(t).Token
	applied := make(chan stdiotest.Result, 1)
	go func() { applied <- a.Call("deploy_apply", args{"yes": true, "confirm_token": named}) }()
	s := sit(t, site.commandIn(site.project, "approvals"), 120, 200)
	s.sees("1 pending", "deploy_apply")
	s.types("\r")
	s.sees("| create "+site.inProject("AGENTS.md"), "+# House rules", "a approve")
	s.types("Ga")
	answer := checked(t, <-applied)
	require.True(t, answer.OK, "%+v", answer.Errors)
	assert.FileExists(t, site.inProject("AGENTS.md"))
	s.types("q")
	assert.Zero(t, s.leaves())
}

// TestApprovalsOfALoss: what would be lost is listed, and the name is typed.
func TestApprovalsOfALoss(t *testing.T) {
	t.Parallel()
	c := newEcosystemClient(t)
	c.must("eco", "create", "shop", "--provisioner", "noop", "--repo", "api="+c.at("origin/api.git"))
	c.must("eco", "install", "shop", "-y")
	write(t, c.at("ws/worktrees/shop/repos/api/main.txt"), "nowhere else\n")
	agent := stdiotest.Start(t, c.command("mcp", "--toolsets", "ecosystems", "--mode", "execute", "--approval", "human", "--confirm-wait", "10m"))
	agent.Initialize("2025-06-18")
	gone := make(chan stdiotest.Result, 1)
	go func() {
		agent.Call("amof_discard_ecosystem", args{"ecosystem": "shop"}) // answers with the question; the call waits when it is repeated
		gone <- agent.Call("amof_discard_ecosystem", args{"ecosystem": "shop"})
	}()
	s := c.sits(100, 60, "approvals")
	s.sees("amof_discard_ecosystem", "1 pending")
	s.types("\r")
	s.sees("main.txt", "risk      high", "to approve, type the name shop")
	s.types("Gashopp\r")
	s.sees("2 of 3 tries are left")
	assert.DirExists(t, c.at("ws/worktrees/shop"))
	s.types("Gashop\r")
	answer := <-gone
	assert.False(t, answer.IsError, answer.Text)
	s.sees("approved")
	s.types("q")
	assert.Zero(t, s.leaves())
	require.Eventually(t, func() bool { _, err := os.Stat(c.at("ws/worktrees/shop")); return os.IsNotExist(err) }, time.Minute, 50*time.Millisecond)
	agent.CloseStdin()
	assert.Zero(t, agent.Wait())
	c.deserted()
}

// TestApprovalsRevealWhatIsMasked: on a key, in the view and in front of one question, and before what may run behind a mask is approved.
func TestApprovalsRevealWhatIsMasked(t *testing.T) {
	needs(t, "npm", "git")
	t.Parallel()
	w := newWorkshop(t)
	token := "gh" + "p_" + strings.Repeat("a1B2", 9)
	shop := w.shop(map[string]string{"hi": "echo said --token " + token}, nil)
	h := w.serve("--approval", "human")
	hi := args{"project_path": shop, "script_name": "hi"}
	h.send("one", "run_script", hi)
	w.questions(1)
	s := w.sits(140, 60, "approvals")
	s.sees("1 pending")
	s.types("\r")
	s.sees("REDACTED", "reveal it before you approve", "r reveal")
	assert.NotContains(t, s.shown(), token)
	s.types("Ga")
	s.sees("nothing was approved: press r")
	s.types("r")
	s.sees(token)
	s.types("Ga")
	s.sees("approved", "No pending approvals")
	_, failed := h.answer("one")
	require.Nil(t, failed)
	s.types("q")
	assert.Zero(t, s.leaves())

	h.send("two", "run_script", hi)
	id := w.questions(1)[0].ID
	s = w.sits(140, 60, "approve", id)
	s.sees("reveal it before you approve", "r: show the redacted parts")
	s.types("y\r")
	s.sees("so reveal them before you approve it")
	<-s.exited
	assert.NotZero(t, s.cmd.ProcessState.ExitCode())
	assert.NotContains(t, s.bytes(), token)
	s = w.sits(140, 60, "approve", id, "--reveal")
	s.sees(token, "Approve?")
	s.types("y\r")
	s.sees("approved " + id)
	<-s.exited
	assert.Zero(t, s.cmd.ProcessState.ExitCode())
	_, failed = h.answer("two")
	require.Nil(t, failed)
	h.leaves()
}
