package projectcmd

import (
	"context"
	"regexp"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/domain/tool"
)

// pollLive is how often a script that is waited for is asked for what it printed: seldom enough for the limit on such questions.
const pollLive = 300 * time.Millisecond

// live shows on a terminal what a script prints while it is waited for. The zero live shows nothing.
type live struct {
	g     group
	ids   chan begun // processes that run, one after the other
	over  chan struct{}
	tasks sync.WaitGroup
	next  int64
	lines bool // some were shown
	lost  bool // not all of them

	titled bool // each process is named first
}

// begun is a process that runs, and what it is.
type begun struct{ id, what string }

// maxBegun is how many processes may have begun that are not shown yet.
const maxBegun = 1000

// watch begins to show what the scripts print that run next, when the output is a terminal.
func (g group) watch(ctx context.Context, titled bool) *live {
	l := &live{g: g, titled: titled}
	if g.JSON || !g.Drawn() {
		return l
	}
	l.ids, l.over = make(chan begun, maxBegun), make(chan struct{})
	l.tasks.Go(func() { l.run(context.WithoutCancel(ctx)) })
	return l
}

// progress is told when the script runs, and as which process.
func (l *live) progress() func(tool.Progress) {
	if l.ids == nil {
		return nil
	}
	named := regexp.MustCompile(`^(.*) runs as (run_[0-9a-f]+)\b`)
	return func(p tool.Progress) {
		if m := named.FindStringSubmatch(p.Message); m != nil {
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
		l.g.Note("not all of what it printed is here")
	}
	return l.lines
}

// run shows one process after the other, each to its end.
func (l *live) run(ctx context.Context) {
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
		state, ok := l.show(ctx, id)
		switch {
		case !ok && ended:
			l.lost = true
			return
		case state.More:
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
func (l *live) show(ctx context.Context, id string) (part output, ok bool) {
	o, err := l.g.Send(ctx, "get_background_process_output", command.Arguments{"processId": id, "sinceSeq": l.next, "tailLines": 2000}, func(tool.Progress) {})
	if err != nil || command.DecodeAnswer(o, &part) != nil {
		return part, false
	}
	l.lost = l.lost || part.Dropped > 0
	l.lines = l.lines || len(part.Lines) > 0
	l.next = part.Next
	return part, l.g.lines(part.Lines) == nil
}
