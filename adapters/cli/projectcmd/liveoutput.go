package projectcmd

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/app/projects"
	"github.com/countersign-dev/countersign/domain/tool"
)

// pollLive is how often a script that is waited for is asked for what it printed: seldom enough for the limit on such questions.
const pollLive = 300 * time.Millisecond

// live shows on a terminal what a script prints while it is waited for. The zero live shows nothing.
type live struct {
	g     group
	ids   chan begun // processes that run, one after the other
	over  chan struct{}
	asked chan chan struct{} // to show at once what there is, and to close that then
	tasks sync.WaitGroup
	next  int64
	lines bool // some were shown
	lost  bool // not all of them

	titled bool // each process is named first
	named  bool // processes run side by side, and each line begins with the name of its own
}

// runsAs is what a message says as a process begins: what it is, and its id.
var runsAs = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:step |service )?(.*) runs as ((?:run|bp)_[0-9a-f]+)\b`)
})

// begun is a process that runs, and what it is.
type begun struct{ id, what string }

// maxBegun is how many processes may have begun that are not shown yet.
const maxBegun = 1000

// watch begins to show what the scripts print that run next, when the output is a terminal.
func (g group) watch(ctx context.Context, titled bool) *live {
	return (&live{g: g, titled: titled}).begin(ctx)
}

// watchBeside is watch for processes that may run side by side.
func (g group) watchBeside(ctx context.Context) *live { return (&live{g: g, named: true}).begin(ctx) }

func (l *live) begin(ctx context.Context) *live {
	g := l.g
	if g.JSON || !g.Drawn() {
		return l
	}
	return l.start(ctx)
}

func (l *live) start(ctx context.Context) *live {
	l.ids, l.over, l.asked = make(chan begun, maxBegun), make(chan struct{}), make(chan chan struct{})
	l.tasks.Go(func() { l.run(context.WithoutCancel(ctx)) })
	return l
}

// follower is where one of several processes is read.
type follower struct {
	begun
	next  int64
	ended bool
}

// beside shows what processes print that run side by side, asking one after the other, so that there are no more questions than for one.
func (l *live) beside(ctx context.Context) {
	every := time.NewTicker(pollLive)
	defer every.Stop()
	var all []*follower
	over := l.over
	begin := func() { // those that have begun since
		for {
			select {
			case one := <-l.ids:
				all = append(all, &follower{begun: one})
			default:
				return
			}
		}
	}
	for turn := 0; ; turn++ {
		begin()
		if over == nil && len(all) == 0 {
			return
		}
		if len(all) > 0 {
			at := turn % len(all)
			if l.look(ctx, all[at], over == nil, l.prefix(all[at].what)) {
				all = append(all[:at], all[at+1:]...)
			}
		}
		if over == nil { // all of it is there already
			continue
		}
		select {
		case <-over:
			over = nil
		case done := <-l.asked:
			begin()
			all = slices.DeleteFunc(all, func(f *follower) bool { return l.look(ctx, f, false, l.prefix(f.what)) })
			close(done)
		case <-every.C:
		}
	}
}

// catchUp returns when everything is shown that processes have printed that run side by side: what is said next stands below it.
func (l *live) catchUp() {
	if l.ids == nil {
		return
	}
	done := make(chan struct{})
	select {
	case l.asked <- done:
		<-done
	case <-l.over:
	}
}

// prefix returns what the lines of one of several processes begin with: its name, in a colour of its own.
func (l *live) prefix(name string) string { return l.g.linePrefix(name, len(name)) }

// linePrefix returns what the lines of something named begin with, in a column of that width.
func (g group) linePrefix(name string, width int) string {
	tints := []command.Tint{command.Heading, command.Added, command.Faded, command.Removed}
	sum := 0
	for _, c := range name {
		sum += int(c)
	}
	return g.Tinted(fmt.Sprintf("%-*s |", width, command.Plain(name)), tints[sum%len(tints)]) + " "
}

// look shows what one of them printed since, and reports whether that was all.
func (l *live) look(ctx context.Context, f *follower, over bool, prefix string) bool {
	for {
		was := f.ended
		l.next = f.next
		part, ok := l.show(ctx, f.id, prefix)
		f.next = l.next
		switch {
		case !ok:
			l.lost = l.lost || over
			return over
		case part.HasMore:
			continue
		case part.Status == statusRunning && !over:
			return false
		case was: // what it printed last was there before it had ended
			return true
		}
		f.ended = true
	}
}

// progress is told when the script runs, and as which process.
func (l *live) progress() func(tool.Progress) {
	if l.ids == nil {
		return nil
	}
	return func(p tool.Progress) {
		if m := runsAs().FindStringSubmatch(p.Message); m != nil {
			select {
			case l.ids <- begun{m[2], m[1]}:
			default:
			}
		}
	}
}

// end shows what is left once the script has ended, and reports whether its output stands on the terminal now.
func (l *live) end() bool {
	if l.ids == nil {
		return false
	}
	close(l.over)
	l.tasks.Wait()
	if l.lost && l.lines {
		l.g.Note("output truncated")
	}
	return l.lines
}

// run shows one process after the other, each to its end; or those that run side by side.
func (l *live) run(ctx context.Context) {
	if l.named {
		l.beside(ctx)
		return
	}
	for {
		var one begun
		select {
		case one = <-l.ids:
		case <-l.over: // it may have told its name just before it ended
			select {
			case one = <-l.ids:
			default:
				return
			}
		}
		if l.titled {
			l.g.Note("%s:", command.Plain(one.what))
		}
		l.next = 0
		l.follow(ctx, one.id)
	}
}

// follow shows what a process prints until it has ended, or everything has.
func (l *live) follow(ctx context.Context, id string) {
	every := time.NewTicker(pollLive)
	defer every.Stop()
	for ended := false; ; {
		state, ok := l.show(ctx, id, "")
		switch {
		case !ok && ended:
			l.lost = true
			return
		case state.HasMore:
			continue
		case ended:
			return
		case ok && state.Status != statusRunning: // what it printed last was there before that was so
			ended = true
			continue
		}
		select {
		case <-l.over:
			ended = true
		case <-every.C:
		}
	}
}

// show asks for what was printed since, and reports whether there is more, and whether it could be asked.
func (l *live) show(ctx context.Context, id, before string) (part projects.OutputAnswer, ok bool) {
	o, err := l.g.Send(ctx, "get_background_process_output", command.Arguments{"processId": id, "sinceSeq": l.next, "tailLines": 2000}, func(tool.Progress) {})
	if err != nil || command.DecodeAnswer(o, &part) != nil {
		return part, false
	}
	l.lost = l.lost || part.Dropped > 0
	l.lines = l.lines || len(part.Lines) > 0
	l.next = part.NextSeq
	return part, l.g.prefixed(before, part.Lines) == nil
}
