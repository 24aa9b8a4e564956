package osproc

import (
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/countersign-dev/countersign/domain/process"
)

// ending is the end of a child: it exits, or it is stopped on request.
type ending struct {
	*child
	done  <-chan struct{} // the caller gave up; nil once that was heard
	limit <-chan time.Time
	why   process.Status // Stopped or TimedOut if that was asked while the leader lived
	left  bool           // the leader has ended
	told  bool           // it was signalled
	kill  *time.Timer    // when patience is over
	until time.Time      // the same
	dead  time.Time      // when it was killed; zero before
}

// await returns when the leader has ended and its output is complete or no longer waited for.
func (e *ending) await() {
	exited := e.exited
	var quiet chan struct{}
	var enough <-chan time.Time
	for !e.left || !e.told {
		select {
		case <-e.done:
			e.done = nil
			e.ask(process.Stopped, StopGrace)
		case <-e.limit:
			e.limit = nil
			e.ask(process.TimedOut, StopGrace)
		case grace := <-e.stops:
			e.ask(process.Stopped, grace)
		case <-e.kill.C:
			e.escalate()
		case <-exited:
			e.left = true
			exited, quiet = nil, e.quiet
			timer := time.NewTimer(waitDelay)
			defer timer.Stop()
			enough = timer.C
		case <-quiet:
			return
		case <-enough:
			return
		}
	}
}

// ask tells the program to end, and sets when it is killed. The first request sets the reason, and the shortest grace sets the time.
func (e *ending) ask(why process.Status, grace time.Duration) {
	if e.why == 0 && !e.left {
		e.why = why
		e.move(process.Stopping)
	}
	e.press(grace)
}

func (e *ending) press(grace time.Duration) {
	until := time.Now().Add(grace)
	switch {
	case grace <= 0:
		e.escalate()
		return
	case !e.told:
		e.kin.Signal(syscall.SIGTERM)
	case until.After(e.until):
		return
	}
	e.told, e.until = true, until
	e.kill.Reset(grace)
}

func (e *ending) escalate() {
	if !e.dead.IsZero() {
		return
	}
	e.rec.State.Escalated = e.told && e.why != 0
	e.told, e.dead = true, time.Now()
	e.kin.Signal(syscall.SIGKILL)
}

// sweep ends what the leader left behind, unless that may stay, and returns those that cannot be ended.
func (e *ending) sweep() []int {
	poll := time.NewTimer(0)
	defer poll.Stop()
	for wait := time.Millisecond; !e.spec.Leaves || e.told; wait = min(2*wait, 50*time.Millisecond) {
		living := e.kin.Living()
		if len(living) == 0 || !e.dead.IsZero() && time.Since(e.dead) > killWait {
			return living
		}
		switch {
		case !e.told:
			e.press(leftoverGrace)
		case !e.dead.IsZero():
			e.kin.Signal(syscall.SIGKILL) // what they started meanwhile
		}
		poll.Reset(wait)
		select {
		case <-e.done:
			e.done = nil
			e.ask(process.Stopped, StopGrace)
		case grace := <-e.stops:
			e.ask(process.Stopped, grace)
		case <-e.kill.C:
			e.escalate()
		case <-poll.C:
		}
	}
	return nil
}

func ownerDied(rec record) string {
	return fmt.Sprintf("its supervisor (pid %d) ended before it", rec.Owner.PID())
}

func unkillable(pids []int) string {
	return "these of its processes " + process.Unended + ": " + strings.Trim(fmt.Sprint(pids), "[]")
}
