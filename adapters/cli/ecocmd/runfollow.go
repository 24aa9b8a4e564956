package ecocmd

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// shortID is how much of a run's id users see, and mostEvents how many events one question is answered with.
const (
	shortID    = 8
	mostEvents = 1000
)

func brief(id string) string { return id[:min(shortID, len(id))] }

// event is one thing that happened in a run.
type event struct{ Level, Type, Message string }

// news is what a run said after a while.
type news struct {
	Events    []event
	Truncated bool
	Next      int64
}

// follow shows what a run says until it ends. Its exit code is the command's. Interrupting the command leaves the run alone. Of what was said before,
// the last lines are shown.
func (g *group) follow(ctx context.Context, id string, last int) error {
	l := &live{g: g, board: g.Board()}
	defer l.board.Clear()
	var now runs.StatusAnswer
	if _, err := g.ask(ctx, id, 0, &now); err != nil {
		return err
	}
	id = now.ID
	if now.Action != "exec" { // whose output is what one wants to read
		l.expect(ctx, now.Ecosystem)
	}
	var end tool.Outcome // the status of a run that has ended: what it said before that is still to be heard
	for next, tail := int64(0), last; ; tail = mostEvents {
		var heard news
		o, err := g.Send(ctx, "amof_get_run_logs", command.Arguments{"run_id": id, "since": strconv.FormatInt(next, 10), "tail": tail}, quiet)
		if err == nil {
			err = command.DecodeAnswer(o, &heard)
		}
		if err != nil {
			return g.left(ctx, l, id, o, err)
		}
		if now.Terminal && len(heard.Events) == 0 && end.Value != nil {
			l.board.Clear()
			return g.ended(end, now)
		}
		if l.tell(heard.Events); heard.Truncated && !g.JSON && next > 0 {
			l.line("! output truncated; for the last lines: countersign eco runs logs " + brief(id) + " shows the last ones")
		}
		next = heard.Next
		wait := 0
		if len(heard.Events) == 0 {
			wait = 1
		}
		now = runs.StatusAnswer{}
		if end, err = g.ask(ctx, id, wait, &now); err != nil {
			return g.left(ctx, l, id, end, err)
		}
		l.place(now)
	}
}

func quiet(tool.Progress) {}

// ask returns how far a run is; wait seconds are waited for its end.
func (g *group) ask(ctx context.Context, id string, wait int, into *runs.StatusAnswer) (tool.Outcome, error) {
	o, err := g.Send(ctx, "amof_get_run_status", command.Arguments{"run_id": id, "wait_seconds": wait}, quiet)
	if err == nil {
		err = command.DecodeAnswer(o, into)
	}
	if err != nil && ctx.Err() == nil {
		err = g.Refused(o, err)
	}
	return o, err
}

// left is the end of following a run that goes on, because the user interrupted it or because it can be asked about no more.
func (g *group) left(ctx context.Context, l *live, id string, o tool.Outcome, err error) error {
	if ctx.Err() == nil {
		return g.Refused(o, err)
	}
	l.board.Clear()
	way := "run " + brief(id) + " continues; to follow it: countersign eco runs logs " + brief(id) + " --follow; to cancel it: countersign eco runs cancel " + brief(id) + " ends it"
	if g.JSON {
		return fault.ErrCanceled.WithMessage("%s", way)
	}
	g.Note("%s", way)
	return command.Exit(present.ExitCode(fault.Canceled))
}

// ended shows what came of a run: the Answer as JSON, or its repositories as a table.
func (g *group) ended(o tool.Outcome, now runs.StatusAnswer) error {
	code := 1
	if now.ExitCode != nil {
		code = *now.ExitCode
	}
	if g.JSON {
		if err := g.Show(o); err != nil || code == 0 {
			return err
		}
		return command.Exit(code)
	}
	g.Results(ParseAnswer(o.Value).Object("result"))
	what := strings.ReplaceAll(command.Plain(now.Action), "_", " ") + " of " + command.Plain(now.Ecosystem)
	if code == 0 {
		g.Step("%s: success", what)
		if next := map[string]string{"install": "ticket start TICKET, or countersign eco status"}[now.Action]; next != "" {
			g.Note("next: countersign eco %s", next)
		}
		return nil
	}
	why := what + ": " + string(now.Status)
	if now.Error != "" {
		why += ": " + CommandText(now.Error)
	}
	g.Terminal.Fail(why, "countersign eco runs logs "+brief(now.ID)+" shows all it said")
	return command.Exit(code)
}

// live is a run as it is followed: on a terminal a table of repositories at its foot, and lines without one.
type live struct {
	g      *group
	board  *command.Board
	names  []string          // of repositories, as the manifest has them
	order  []string          // of those that said something
	latest map[string]string // what each said last
	foot   string
}

// expect learns whose lines are whose. Without a board nobody needs to know.
func (l *live) expect(ctx context.Context, ecosystem string) {
	if l.board == nil || l.g.JSON {
		return
	}
	o, err := l.g.Send(ctx, "amof_describe_ecosystem", command.Arguments{"ecosystem": ecosystem}, quiet)
	if err != nil {
		return // lines, then
	}
	l.latest, l.names = map[string]string{}, []string{"workspace"}
	for _, r := range ParseAnswer(o.Value).List("repos") {
		l.names = append(l.names, r.Word("name"))
	}
}

// of returns the repository that a line is about, with its ticket, and what the line says.
func (l *live) of(line string) (who, what string) {
	who, what, ok := strings.Cut(line, ": ")
	name, _, _ := strings.Cut(who, " (")
	if !ok || !slices.Contains(l.names, name) {
		return "", ""
	}
	return who, what
}

// tell shows what was said. Under --json the output is the answer's alone.
func (l *live) tell(events []event) {
	for _, e := range events {
		line := command.Plain(CommandText(e.Message))
		who, what := l.of(line)
		switch {
		case e.Type == "exit" || l.g.JSON:
		case e.Level == "error":
			l.put(who, what)
			l.line("✗ " + line)
		case e.Level == "warning":
			l.put(who, what)
			l.line("! " + line)
		case who != "":
			l.put(who, what)
		case l.board != nil && counted(line):
			l.foot = line
		default:
			l.line("  " + line)
		}
	}
	l.draw()
}

// counted reports a line that only says how many are done.
func counted(line string) bool {
	var done, all int
	n, _ := fmt.Sscanf(line, "%d of %d done", &done, &all)
	return n == 2 && strings.HasSuffix(line, " done")
}

func (l *live) put(who, what string) {
	if who == "" {
		return
	}
	if _, known := l.latest[who]; !known {
		l.order = append(l.order, who)
	}
	l.latest[who] = what
}

// line is one that stays.
func (l *live) line(s string) {
	l.board.Clear()
	l.g.Note("%s", s)
}

// place says where in the queue a run waits.
func (l *live) place(now runs.StatusAnswer) {
	if now.Status != "queued" || now.Position == nil || *now.Position < 2 {
		return
	}
	if foot := fmt.Sprintf("position %d in the queue of %s", *now.Position, now.Ecosystem); foot != l.foot {
		l.foot = foot
		if l.board == nil && !l.g.JSON {
			l.g.Note("  %s", foot)
		}
		l.draw()
	}
}

func (l *live) draw() {
	if l.board == nil || l.g.JSON {
		return
	}
	width := 0
	for _, who := range l.order {
		width = max(width, len(who))
	}
	lines := make([]string, 0, len(l.order)+1)
	for _, who := range l.order {
		lines = append(lines, fmt.Sprintf("  %-*s  %s", width, who, l.latest[who]))
	}
	if l.foot != "" {
		lines = append(lines, "  "+l.foot)
	}
	l.board.Show(lines)
}
