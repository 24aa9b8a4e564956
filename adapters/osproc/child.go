package osproc

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/countersign-dev/countersign/domain/process"
)

// child is a program that runs, and whose parent this process is.
type child struct {
	p     *Processes
	rec   record
	cmd   *exec.Cmd
	kin   ProcessTree
	spool *Spool
	box   *Mailbox
	began time.Time
	spec  process.Spec

	stops  chan time.Duration // the graces of those who want it to end
	exited chan struct{}      // closed when the leader has ended; it has not been waited for
	quiet  chan struct{}      // closed when both streams have been read to their end
	full   chan struct{}      // closed when there will be no more output
	pipes  [2]*os.File        // the ends that are read
	tasks  sync.WaitGroup
}

// launch starts the program of a record that this process owns. When it fails with process.ErrStart the child's record says why.
func (p *Processes) launch(rec record, s process.Spec) (*child, error) {
	c := &child{p: p, rec: rec, began: time.Now(), spec: s, spool: NewSpool(p.path(rec.State.ID, ""), p.o.Redact, s.Secrets),
		stops: make(chan time.Duration, 8), exited: make(chan struct{}), quiet: make(chan struct{}), full: make(chan struct{}),
	}
	c.spool.LogTo(s.Log)
	err := c.start(s)
	if err == nil {
		return c, nil
	}
	failure := process.ErrStart.WithMessage("%s cannot be started in %s: %v", c.rec.State.Argv[0], s.Dir, err)
	c.rec.State.Reason = failure.Message
	c.move(process.Failed)
	return c, failure
}

// runIDName is the variable that tells the program its ID, by the name that scripts know (packageflow-security contract §4.8).
const runIDName = "PACKAGEFLOW_RUN_ID"

func (c *child) start(s process.Spec) error {
	if info, err := os.Stat(s.Dir); err != nil {
		return err
	} else if !info.IsDir() {
		return &os.PathError{Op: "chdir", Path: s.Dir, Err: syscall.ENOTDIR}
	}
	program, err := LookPath(s.Argv[0], s.Env["PATH"])
	if err != nil {
		return err
	}
	if c.box, err = OpenMailbox(c.p.path(c.rec.State.ID, boxName)); err != nil {
		return err
	}
	c.cmd = &exec.Cmd{Path: program, Args: s.Argv, Dir: s.Dir}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		if name != markName && name != runIDName {
			c.cmd.Env = append(c.cmd.Env, name+"="+s.Env[name])
		}
	}
	c.cmd.Env = append(c.cmd.Env, mark(c.rec.State.ID), runIDName+"="+string(c.rec.State.ID))
	SetProcessGroup(c.cmd)
	Seal()
	if err := c.spawn(); err != nil {
		return err
	}
	c.rec.State.PID = c.cmd.Process.Pid
	if !c.rec.State.Background { // what runs in the background has a supervisor, and outlives this process
		ours.guard(c.rec.State.PID)
	}
	c.rec.Leader, _ = IdentityOf(c.rec.State.PID) // it is there: nobody has waited for it
	c.kin = treeOf(c.rec)
	c.kin.Child = true
	c.tasks.Go(func() {
		_ = AwaitExit(c.rec.State.PID) // it cannot fail for a child that nobody waited for
		close(c.exited)
	})
	c.tasks.Go(func() { c.box.Listen(c.setGrace) })
	c.move(process.Running)
	return nil
}

// spawn starts the program and, before anything else, reading what it prints.
func (c *child) spawn() error {
	var writers [2]*os.File
	defer func() {
		for _, w := range writers {
			if w != nil {
				_ = w.Close()
			}
		}
	}()
	for i := range c.pipes {
		r, w, err := os.Pipe()
		if err != nil {
			c.closeFiles()
			return err
		}
		WidenPipe(w)
		c.pipes[i], writers[i] = r, w
	}
	c.cmd.Stdout, c.cmd.Stderr = writers[0], writers[1]
	if err := c.cmd.Start(); err != nil {
		c.closeFiles()
		return err
	}
	var readers sync.WaitGroup
	for i, stream := range []process.Stream{process.Stdout, process.Stderr} {
		readers.Go(func() { _ = c.spool.Drain(stream, c.pipes[i]) }) // it ends with the pipe, or when that is given up
	}
	c.tasks.Go(func() {
		readers.Wait()
		close(c.quiet)
	})
	c.tasks.Go(func() { c.spool.Keep(c.full) })
	return nil
}

func (c *child) closeFiles() {
	c.box.Close()
	for _, pipe := range c.pipes {
		if pipe != nil {
			_ = pipe.Close() // nothing is lost: all that was wanted has been read
		}
	}
}

func stopLine(grace time.Duration) string { return strconv.FormatInt(int64(max(grace, 0)), 10) }

// setGrace handles a posted stop request: the grace period until the program is killed, in nanoseconds.
func (c *child) setGrace(line string) {
	if ns, err := strconv.ParseInt(line, 10, 64); err == nil {
		select {
		case c.stops <- time.Duration(ns):
		default: // it is being asked often enough
		}
	}
}

// move goes to another status and writes that down, if it can be.
func (c *child) move(to process.Status) {
	if err := c.rec.State.Move(to, c.p.o.Clock.Now()); err != nil {
		c.rec.State.Reason = err.Error() // a defect: the state machine was asked for what it has not
	}
	if to.Final() {
		_ = c.p.conclude(c.rec) // what could not be written is kept, and tried again
	} else {
		_ = c.p.save(c.rec)
	}
}

// attend stays with the program until it and all it started are gone.
func (c *child) attend(ctx context.Context) {
	e := &ending{child: c, done: ctx.Done(), kill: time.NewTimer(time.Hour)}
	e.kill.Stop()
	if c.spec.Timeout > 0 {
		timer := time.NewTimer(c.spec.Timeout)
		defer timer.Stop()
		e.limit = timer.C
	}
	e.await()
	left := e.sweep()
	e.kill.Stop()
	c.finish(e.why, left)
}

// finish collects what the program left, and writes its last state.
func (c *child) finish(why process.Status, left []int) {
	select {
	case <-c.quiet:
	case <-time.After(leftoverGrace): // something that escaped still holds the output
		for _, pipe := range c.pipes {
			_ = pipe.SetReadDeadline(time.Now())
		}
		<-c.quiet
	}
	close(c.full)
	c.box.StopListening()
	c.tasks.Wait()
	ours.release(c.rec.State.PID)
	_ = c.cmd.Wait() // how it ended is in its state
	c.closeFiles()
	s := &c.rec.State
	s.Exit = exitOf(c.cmd.ProcessState)
	var reasons []string
	if len(left) > 0 {
		reasons = append(reasons, unkillable(left))
	}
	if err := c.spool.Err(); err != nil {
		reasons = append(reasons, fmt.Sprintf("some of its output could not be written: %v", err))
	}
	s.Reason = strings.Join(reasons, "; ")
	switch {
	case why != 0:
		c.move(why)
	case s.Exit == process.Exit{}:
		c.move(process.Completed)
	default:
		c.move(process.Failed)
	}
}

func exitOf(s *os.ProcessState) process.Exit {
	if s == nil {
		return process.Exit{Code: -1}
	}
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return process.Exit{Code: -1, Signal: w.Signal().String()}
	}
	return process.Exit{Code: s.ExitCode()}
}

func (c *child) result() process.Result {
	s := c.rec.State
	r := process.Result{Status: s.Status, Exit: s.Exit, Elapsed: time.Since(c.began)}
	r.Stdout, r.Stderr, r.Dropped, r.Printed = c.spool.Result()
	return r
}
