//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/testkit/browser"
)

// serves starts countersign serve for the trial's home in the project, without a terminal.
func (d *trial) serves() error {
	s, err := d.begins(d.command(d.exe, "serve", "--addr", "127.0.0.1:0", "--no-open", "--json"))
	if err != nil {
		return err
	}
	d.ends = func() error {
		_ = s.cmd.Process.Signal(syscall.SIGINT) // as Ctrl-C does
		return s.waits()
	}
	for until := time.Now().Add(patience); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		if json.Valid([]byte(s.said.String())) {
			return nil
		}
		select {
		case <-s.ended:
			return fmt.Errorf("countersign serve has ended: %s", s.said.String())
		default:
		}
	}
	return fmt.Errorf("countersign serve says nothing: %s", s.said.String())
}

// eyes stand for the test that package browser wants: what fails in them ends the look at the page, and no more.
type eyes struct {
	testing.TB
	closing []func()
	wrong   []string
}

type blind struct{ why string }

func (e *eyes) Helper()                        {}
func (e *eyes) Name() string                   { return "console" }
func (e *eyes) Cleanup(f func())               { e.closing = append(e.closing, f) }
func (e *eyes) Errorf(format string, a ...any) { e.wrong = append(e.wrong, fmt.Sprintf(format, a...)) }
func (e *eyes) Fatalf(format string, a ...any) { panic(blind{fmt.Sprintf(format, a...)}) }
func (e *eyes) Skip(a ...any)                  { panic(blind{fmt.Sprint(a...)}) }

// look does something at a page, and says what went wrong.
func (e *eyes) look(do func()) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case blind:
			err = errors.New(p.why)
		default:
			panic(p)
		}
	}()
	do()
	return nil
}

// close closes what was opened, the last thing first, and says what pages complained of.
func (e *eyes) close() error {
	for len(e.closing) > 0 {
		last := e.closing[len(e.closing)-1]
		e.closing = e.closing[:len(e.closing)-1]
		last()
	}
	if len(e.wrong) > 0 {
		return errors.New(strings.Join(e.wrong, "\n"))
	}
	return nil
}

// logsIn has the trial's user open the console in a browser: by the link that countersign login prints at a terminal, and the button behind it.
func (d *trial) logsIn() error {
	if d.ends == nil {
		if err := d.serves(); err != nil {
			return err
		}
	}
	seen, err := d.atTerminal("y", "login", "--print", "/approvals")
	link := regexp.MustCompile(`http://localhost:\d+/login\?\S+`).FindString(seen)
	if err != nil || link == "" {
		return fmt.Errorf("countersign login: %w\n%s", err, seen)
	}
	d.eyes = &eyes{}
	return d.eyes.look(func() {
		d.page = browser.Open(d.eyes).Page(d.eyes, link)
		d.page.Press("Log this browser in")
		d.page.WaitFor(`location.pathname.startsWith("/approvals")`)
	})
}

// inConsole answers a question on the console's page of approvals, once it shows there what would be done.
func (d *trial) inConsole(q question, j job) error {
	if d.page == nil {
		if err := d.logsIn(); err != nil {
			return err
		}
	}
	return d.eyes.look(func() {
		card := "#" + q.ID
		d.page.WaitText(card, j.shows)
		d.page.Shot(q.Tool)
		if j.denied {
			d.page.Type(card+" input[name=reason]", reason)
			d.page.Click(card + ` button[value="deny"]`)
		} else {
			d.page.Click(card + ` button[value="approve"]`)
		}
		d.page.WaitFor("!document.querySelector(" + fmt.Sprintf("%q", card) + ")")
	})
}

// leave ends what runs for the trial. It fails when a page of the console misbehaved.
func (d *trial) leave() (err error) {
	if d.eyes != nil {
		err = d.eyes.close()
	}
	if d.ends != nil {
		err = errors.Join(err, d.ends())
	}
	_, _ = d.tmux("kill-server") // there may be none
	return err
}
