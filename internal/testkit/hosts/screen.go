//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// screen is a terminal window in tmux, in which a program draws.
type screen struct {
	trial *trial
	name  string
}

// tmux runs a command of the trial's own tmux server.
func (d *trial) tmux(arguments ...string) (string, error) {
	cmd := d.command("tmux", append([]string{"-S", filepath.Join(d.home, "tmux"), "-f", "/dev/null"}, arguments...)...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("tmux %s: %w: %s", arguments[0], err, said.String())
	}
	return string(out), err
}

// opens starts a command in a window of its own, as wide as many are, and tall enough for a plan. What it shows at last stays.
func (d *trial) opens(name string, cmd *exec.Cmd) (*screen, error) {
	window := []string{"new-session", "-d", "-x", "110", "-y", "60", "-s", name, "-c", cmd.Dir, "env", "-i"}
	program := append(slices.Clone(cmd.Env), "TERM=tmux-256color", "COLORTERM=truecolor") // of two the last one counts
	_, err := d.tmux(slices.Concat(window, program, cmd.Args, []string{";", "set-option", "-g", "remain-on-exit", "on"})...)
	return &screen{d, name}, err
}

// text returns what the user sees.
func (s *screen) text() string {
	text, err := s.trial.tmux("capture-pane", "-p", "-t", s.name)
	if err != nil {
		return err.Error()
	}
	return text
}

// presses presses keys, by tmux's names of them.
func (s *screen) presses(keys ...string) error {
	_, err := s.trial.tmux(append([]string{"send-keys", "-t", s.name}, keys...)...)
	return err
}

// types types a text as it is, and then Enter.
func (s *screen) types(text string) error {
	if _, err := s.trial.tmux("send-keys", "-t", s.name, "-l", "--", text); err != nil {
		return err
	}
	time.Sleep(reading) // hosts take an Enter right behind a text for a part of something pasted
	return s.presses("Enter")
}

// shows waits for a text on the screen, which tmux does not tell of, so that it is looked at again and again.
func (s *screen) shows(text string) error {
	for until := time.Now().Add(patience); time.Now().Before(until); time.Sleep(100 * time.Millisecond) {
		if strings.Contains(unbroken(s.text()), unbroken(text)) {
			return nil
		}
	}
	return fmt.Errorf("%s does not show %q:\n%s", s.name, text, s.text())
}

// unbroken returns a text as it was before it was broken into lines, and without frames.
func unbroken(text string) string {
	return strings.Join(strings.Fields(regexp.MustCompile(`[│┃╭╮╰╯─|]`).ReplaceAllString(text, " ")), " ")
}

// close ends the program and its window.
func (s *screen) close() { _, _ = s.trial.tmux("kill-session", "-t", s.name) }

// onScreen answers a question in the view of approvals, once its plan is on the screen.
func (d *trial) onScreen(q question, j job) error {
	s, err := d.opens("approvals", d.command(d.exe, "approvals"))
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.shows("1 waiting"); err != nil {
		return err
	}
	if err := s.presses("Enter"); err != nil {
		return err
	}
	if err := s.shows(j.shows); err != nil {
		return err
	}
	if !j.denied {
		if err := s.presses("G", "a"); err != nil {
			return err
		}
		return s.shows("approved; " + q.Tool)
	}
	if err := s.presses("d"); err != nil {
		return err
	}
	if err := s.types(reason); err != nil {
		return err
	}
	return s.shows("denied; " + q.Tool + " does not run")
}

// goesUp starts countersign up in a window, in a home in which nothing is yet.
func (d *trial) goesUp() error {
	s, err := d.opens("up", d.command(d.exe, "up", "--addr", "127.0.0.1:0"))
	if err != nil {
		return err
	}
	d.ends = func() error {
		if err := s.presses("C-c"); err != nil {
			return err
		}
		return s.shows("the server stopped")
	}
	return s.shows("countersign connect")
}

// watched has a host do a job in its terminal view, with the user before it; what Countersign asks they answer in another window.
func (d *trial) watched(h host, m *model, j job, before map[string]string) error {
	arguments, env := h.command(m.URL, false)
	cmd := d.command(h.program, arguments...)
	cmd.Env = append(cmd.Env, env...)
	s, err := d.opens("host", cmd)
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.shows(h.ready); err != nil {
		return err
	}
	if err := s.types(prompt); err != nil {
		return err
	}
	typed := time.Now()
	again := func() error {
		switch {
		case len(m.complaints()) > 0:
			m.play(j.steps...) // the host was still on its way to the server
			typed = time.Now()
			return s.types(prompt)
		case !m.asked() && time.Since(typed) > 5*reading:
			typed = time.Now()
			return s.presses("Enter") // the host was not yet listening to that
		}
		return nil
	}
	for _, tool := range j.asks {
		q, err := d.asked(tool, nil, again)
		if err != nil {
			return fmt.Errorf("%w:\n%s", err, s.text())
		}
		time.Sleep(reading) // a call that does not wait for the user is done by then, which same would see
		if err := d.same(before, "before the person's answer"); err != nil {
			return err
		}
		if err := d.answers(q, j); err != nil {
			return err
		}
	}
	if err := s.shows(done); err != nil {
		return err
	}
	if j.denied {
		return s.shows(reason)
	}
	return nil
}
