//go:build linux

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/countersign-dev/countersign/internal/testkit/browser"
)

// patience is how long anything may take that a host or Countersign does by itself.
const patience = 2 * time.Minute

// prompts are Countersign's questions on a terminal.
var prompts = regexp.MustCompile(`\[y/[nN]`)

// trial is one user's place: a home in which nothing was set up before, one project, and Countersign.
type trial struct {
	exe, home, project string
	account            string // whose everything is
	env                []string
	http               bool          // the host reaches a server over HTTP, and starts none
	ends               func() error  // ends the server; nil: none runs
	eyes               *eyes         // on the console; nil: none
	page               *browser.Page // of approvals, in the console
}

// newTrial makes a place below dir. A user sets up a config repository, adds the project, and connects the host, each in a terminal; over HTTP, to a
// server that countersign up has begun in the project before any of it.
func newTrial(exe, dir string, h host, http bool) (*trial, error) {
	me, err := user.Current()
	if err != nil {
		return nil, err
	}
	d := &trial{account: me.Username, exe: exe, http: http, home: filepath.Join(dir, "home"), project: filepath.Join(dir, "shop")}
	d.env = []string{"HOME=" + d.home, "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "LC_ALL=C.UTF-8", "GIT_CONFIG_NOSYSTEM=1", "NO_PROXY=127.0.0.1"}
	for _, made := range []string{d.home, d.project} {
		if err := os.MkdirAll(made, 0o700); err != nil {
			return nil, err
		}
	}
	scripts := map[string]string{}
	for _, name := range []string{"one", "two", "three", "four", "five", "six"} {
		scripts[name] = "echo done > " + name
	}
	manifest, err := json.Marshal(object{"name": "shop", "version": "1.0.0", "scripts": scripts})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(d.project, "package.json"), manifest, 0o600); err != nil {
		return nil, err
	}
	if out, err := d.command("git", "init", "-q").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("git init: %w: %s", err, out)
	}
	connect := []string{"connect", h.name, "--toolsets", "deployments,projects"}
	if http {
		if err = d.goesUp(); err != nil {
			_ = d.leave()
			return nil, err
		}
		connect = append(connect, "--http")
	}
	for _, arguments := range [][]string{
		{"agents", "init"},
		{"agents", "add", "instructions", "local:modules/instructions/base", "--tags", "base"},
		{"project", "add", d.project},
		connect,
	} {
		if seen, err := d.atTerminal("y", arguments...); err != nil {
			_ = d.leave()
			return nil, fmt.Errorf("countersign %s: %w\n%s", strings.Join(arguments, " "), err, seen)
		}
	}
	if h.prepare != nil {
		return d, h.prepare(d.home, d.project)
	}
	return d, nil
}

func (d *trial) command(name string, arguments ...string) *exec.Cmd {
	cmd := exec.Command(name, arguments...) //nolint:gosec // what the run was told to start
	cmd.Dir, cmd.Env = d.project, d.env
	return cmd
}

// atTerminal runs a command of Countersign at a terminal of its own, tall enough for every plan, where the user types that at each question. It returns
// what the user saw.
func (d *trial) atTerminal(typed string, arguments ...string) (string, error) {
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		return "", err
	}
	defer person.Close() //nolint:errcheck // nothing is left in it
	ours := int(person.Fd())
	if err := errors.Join(unix.IoctlSetPointerInt(ours, unix.TIOCSPTLCK, 0), unix.IoctlSetWinsize(ours, unix.TIOCSWINSZ, &unix.Winsize{Row: 999, Col: 160})); err != nil {
		return "", err
	}
	n, err := unix.IoctlGetInt(ours, unix.TIOCGPTN)
	if err != nil {
		return "", err
	}
	program, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return "", err
	}
	cmd := d.command(d.exe, arguments...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = cmd.Start()
	_ = program.Close()
	if err != nil {
		return "", err
	}
	hung := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer hung.Stop()
	var seen bytes.Buffer
	for asked, part := 0, make([]byte, 4096); ; {
		n, err := person.Read(part)
		if seen.Write(part[:n]); err != nil { // no process holds the other side any longer
			break
		}
		for questions := len(prompts.FindAllString(seen.String(), -1)); asked < questions; asked++ {
			if _, err := io.WriteString(person, typed+"\n"); err != nil {
				break
			}
		}
	}
	return seen.String(), cmd.Wait()
}

// question is what waits for the user.
type question struct {
	ID   string `json:"id"`
	Tool string `json:"tool"`
}

// event is a record of the audit, as far as it is looked at.
type event struct {
	Phase      string `json:"phase"`
	Tool       string `json:"tool"`
	Client     string `json:"client"`
	Verdict    string `json:"verdict"`
	Code       string `json:"code"`
	ApprovedBy string `json:"approved_by"`
	Proof      struct {
		Surface    string `json:"surface"`
		User       string `json:"user"`
		TTY        string `json:"tty"`
		Credential string `json:"credential"`
	} `json:"proof"`
}

// asks decodes what a command of Countersign's prints as JSON.
func (d *trial) asks(into any, arguments ...string) error {
	cmd := d.command(d.exe, append(arguments, "--json")...)
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("countersign %s: %w", strings.Join(arguments, " "), err)
	}
	return json.Unmarshal(out, into)
}

func (d *trial) questions() ([]question, error) {
	var list struct {
		Confirmations []question `json:"confirmations"`
	}
	err := d.asks(&list, "confirmations")
	return list.Confirmations, err
}

// record returns the audit from a number on, and the number after its end. It has to be intact.
func (d *trial) record(from int) (events []event, next int, err error) {
	if out, err := d.command(d.exe, "audit", "verify").CombinedOutput(); err != nil {
		return nil, from, fmt.Errorf("audit verify: %w: %s", err, out)
	}
	var list struct {
		Records []struct {
			Seq   int   `json:"seq"`
			Event event `json:"event"`
		} `json:"records"`
	}
	if err := d.asks(&list, "audit", "list", "--limit", "1000"); err != nil {
		return nil, from, err
	}
	for _, r := range list.Records {
		if next = max(next, r.Seq+1); r.Seq >= from {
			events = append(events, r.Event)
		}
	}
	return events, next, nil
}

// tree returns every file that the jobs can change, with a sum of its content: the project without what git keeps, and what is deployed into the home.
func (d *trial) tree() (map[string]string, error) {
	out := map[string]string{}
	add := func(name string) error {
		text, err := os.ReadFile(name)
		if err == nil {
			out[name] = fmt.Sprintf("%x", sha256.Sum256(text))
		}
		return err
	}
	err := filepath.WalkDir(d.project, func(name string, at fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case at.IsDir() && at.Name() == ".git":
			return fs.SkipDir
		case at.IsDir():
			return nil
		}
		return add(name)
	})
	if err != nil {
		return nil, err
	}
	if err := add(filepath.Join(d.home, ".codex", "AGENTS.md")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return out, nil
}

// unlike returns the files in which two trees differ.
func unlike(a, b map[string]string) (names []string) {
	all := maps.Clone(a)
	maps.Copy(all, b)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if a[name] != b[name] {
			names = append(names, name)
		}
	}
	return names
}

// session is one run of a program without a terminal.
type session struct {
	cmd   *exec.Cmd
	said  words
	ended chan struct{}
}

// words are what a program says, which is read while it speaks.
type words struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *words) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(text)
}

func (w *words) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// starts has a host work in the project.
func (d *trial) starts(h host, url string) (*session, error) {
	arguments, env := h.command(url, true)
	cmd := d.command(h.program, arguments...)
	cmd.Env = append(slices.Clone(d.env), env...)
	return d.begins(cmd)
}

// begins starts a program away from every terminal.
func (d *trial) begins(cmd *exec.Cmd) (*session, error) {
	s := &session{cmd: cmd, ended: make(chan struct{})}
	s.cmd.Stdout, s.cmd.Stderr = &s.said, &s.said
	s.cmd.WaitDelay = time.Second
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL} // no terminal is near, and nothing outlives the run
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(s.ended)
		_ = s.cmd.Wait()
	}()
	return s, nil
}

// kill ends a host and all that it started, at once.
func (s *session) kill() {
	_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
	<-s.ended
}

// waits is until the session has ended by itself.
func (s *session) waits() error {
	select {
	case <-s.ended:
		return nil
	case <-time.After(patience):
		s.kill()
		return errors.New("it does not end")
	}
}
