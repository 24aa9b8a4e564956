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
	ids   chan string // of the process, once it runs
	over  chan struct{}
	tasks sync.WaitGroup
	next  int64
	lines bool // some were shown
	lost  bool // not all of them
}

// watch begins to show what the script prints that runs next, when the output is a terminal.
func (g group) watch(ctx context.Context) *live {
	l := &live{g: g}
	if g.JSON || !g.Drawn() {
		return l
	}
	l.ids, l.over = make(chan string, 1), make(chan struct{})
	l.tasks.Go(func() { l.run(context.WithoutCancel(ctx)) })
	return l
}

// progress is told when the script runs, and as which process.
func (l *live) progress() func(tool.Progress) {
	if l.ids == nil {
		return nil
	}
	named := regexp.MustCompile(`\bruns as (run_[0-9a-f]+)\b`)
	return func(p tool.Progress) {
		if m := named.FindStringSubmatch(p.Message); m != nil {
			select {
			case l.ids <- m[1]:
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

func (l *live) run(ctx context.Context) {
	var id string
	select {
	case id = <-l.ids:
	case <-l.over: // it may have told its name just before it ended
		select {
		case id = <-l.ids:
		default:
			return
		}
	}
	every := time.NewTicker(pollLive)
	defer every.Stop()
	for ended := false; ; {
		more, ok := l.show(ctx, id)
		switch {
		case !ok && ended:
			l.lost = true
			return
		case more:
			continue
		case ended:
			return
		}
		select {
		case <-l.over:
			ended = true
		case <-every.C:
		}
	}
}

// show asks for what was printed since, and reports whether there is more, and whether it could be asked.
func (l *live) show(ctx context.Context, id string) (more, ok bool) {
	o, err := l.g.Send(ctx, "get_background_process_output", command.Arguments{"processId": id, "sinceSeq": l.next, "tailLines": 2000}, func(tool.Progress) {})
	var part output
	if err != nil || command.DecodeAnswer(o, &part) != nil {
		return false, false
	}
	l.lost = l.lost || part.Dropped > 0
	l.lines = l.lines || len(part.Lines) > 0
	l.next = part.Next
	return part.More, l.g.lines(part.Lines) == nil
}
