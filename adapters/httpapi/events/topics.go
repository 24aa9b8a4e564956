package events

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// The kinds of events.
const (
	TopicProcessStatus = "background-process-status" // a background process has started or ended
	topicProcessOutput = "background-process-output" // lines of its output
	TopicRunProgress   = "run-progress"              // a run of an ecosystem has a new status or new output
	TopicUnreadable    = "topic-unreadable"          // the topic cannot be read and is no longer polled
)

// TopicUpdate is one change. Data is an object on one line.
type TopicUpdate struct {
	Kind string
	Data json.RawMessage
}

// ask calls a tool that only reads, for a listener.
type ask func(ctx context.Context, name tool.Name, args json.RawMessage) tool.Outcome

// TopicWatcher is the topics of one listener. It needs Ask to read anything.
type TopicWatcher struct {
	Ask       ask
	Processes bool   // the background processes and their end
	Process   string // the output of the background process with that ID, until it ends
	Since     *int64 // only output after this nextSeq of an earlier answer; nil starts with its last lines
	Runs      bool   // the runs of ecosystems and their status
	Run       string // the output of the run with that ID, until it ends
}

// How often a tool is called for a topic: frequently while there are changes, less and less often while there are none.
const (
	soonest = 400 * time.Millisecond
	latest  = 3 * time.Second
)

// maxField is the maximum size of the text in one event, in bytes (packageflow-security contract §5.4): more lines are more events.
const maxField = 8 << 10

// mostLines and mostEvents are the maximum that one call of a tool returns.
const (
	mostLines  = 1000
	mostEvents = 1000
)

// turn is one poll of a topic: its events, whether more are available at once, and whether it is over. A permanent error ends the topic.
type turn func(ctx context.Context) (found []TopicUpdate, more, over bool, err error)

// Watch polls the topics until ctx ends, in tasks of that group. put receives an event, and reports false if no more are wanted.
func (t *TopicWatcher) Watch(ctx context.Context, tasks *sync.WaitGroup, put func(TopicUpdate) bool) {
	if t.Ask == nil {
		return
	}
	for topic, look := range map[string]turn{
		"processes": t.when(t.Processes, &processes{ask: t.Ask, known: map[string]string{}}),
		"process":   t.when(t.Process != "", &output{ask: t.Ask, id: t.Process, next: t.Since}),
		"runs":      t.when(t.Runs, &runs{ask: t.Ask, known: map[string]string{}}),
		"run":       t.when(t.Run != "", &running{ask: t.Ask, id: t.Run}),
	} {
		if look != nil {
			tasks.Go(func() { follow(ctx, put, topic, look) })
		}
	}
}

// looker is a topic.
type looker interface {
	look(ctx context.Context) (found []TopicUpdate, more, over bool, err error)
}

func (t *TopicWatcher) when(wanted bool, l looker) turn {
	if !wanted {
		return nil
	}
	return l.look
}

// follow polls repeatedly, until the topic is over or can no longer be read.
func follow(ctx context.Context, put func(TopicUpdate) bool, topic string, look turn) {
	for pause := soonest; ; {
		found, more, over, err := look(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil && lasting(err) {
			put(unreadable(topic, fault.From(err)))
			return
		}
		for _, e := range found {
			if !put(e) {
				return
			}
		}
		if over {
			return
		}
		if pause = min(2*pause, latest); len(found) > 0 {
			pause = soonest
		}
		if more {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// lasting reports a permanent failure: the target does not exist or must not be read.
func lasting(err error) bool {
	switch fault.From(err).Kind {
	case fault.Unavailable, fault.Timeout, fault.Canceled:
		return false
	}
	return true
}

func unreadable(topic string, f *fault.Error) TopicUpdate {
	return topicEvent(TopicUnreadable, struct {
		Topic   string     `json:"topic"`
		Code    fault.Code `json:"code"`
		Message string     `json:"message"`
	}{topic, f.Code, f.Message})
}

// read calls a tool and decodes its value.
func read(ctx context.Context, ask ask, name tool.Name, args, into any) error {
	doc, err := tool.Encode(args)
	if err != nil {
		return err
	}
	out := ask(ctx, name, doc)
	if out.Err != nil {
		return out.Err
	}
	if err := json.Unmarshal(out.Value, into); err != nil {
		return fault.ErrInternal.WithMessage("the answer of %s is invalid", name).WithCause(err)
	}
	return nil
}

// topicEvent returns an event of that kind. Payloads are plain data, which always encodes.
func topicEvent(kind string, payload any) TopicUpdate {
	doc, err := tool.Encode(payload)
	if err != nil {
		doc = json.RawMessage("{}")
	}
	return TopicUpdate{Kind: kind, Data: doc}
}

// process is an entry of list_background_processes.
type process struct {
	ID        string     `json:"id"`
	Status    string     `json:"status"`
	Script    string     `json:"scriptName"`
	Project   string     `json:"projectPath"`
	PID       int        `json:"pid"`
	StartedAt time.Time  `json:"startedAt"`
	EndedAt   *time.Time `json:"completedAt,omitempty"`
	ExitCode  *int       `json:"exitCode,omitempty"`
}

// processes is the topic of background processes. It starts with the running ones.
type processes struct {
	ask   ask
	known map[string]string // status by id
	begun bool
}

func (p *processes) look(ctx context.Context) (found []TopicUpdate, more, over bool, err error) {
	var now struct {
		Processes []process `json:"processes"`
	}
	if err := read(ctx, p.ask, "list_background_processes", struct{}{}, &now); err != nil {
		return nil, false, false, err
	}
	seen := map[string]string{}
	for _, one := range now.Processes {
		seen[one.ID] = one.Status
		if p.known[one.ID] != one.Status && (p.begun || one.EndedAt == nil) {
			found = append(found, topicEvent(TopicProcessStatus, struct {
				ID string `json:"processId"`
				process
			}{one.ID, one}))
		}
	}
	p.known, p.begun = seen, true
	return found, false, false, nil
}

// output is the topic of one process's output.
type output struct {
	ask    ask
	id     string
	next   *int64
	status string
}

func (o *output) look(ctx context.Context) (found []TopicUpdate, more, over bool, err error) {
	var part struct {
		ID       string   `json:"processId"`
		Status   string   `json:"status"`
		ExitCode *int     `json:"exitCode"`
		Lines    []string `json:"outputLines"`
		Next     int64    `json:"nextSeq"`
		More     bool     `json:"hasMore"`
		Dropped  int64    `json:"droppedLines"`
	}
	first := o.next == nil
	err = read(ctx, o.ask, "get_background_process_output", struct {
		ID    string `json:"processId"`
		Tail  int    `json:"tailLines"`
		Since *int64 `json:"sinceSeq,omitempty"`
	}{o.id, mostLines, o.next}, &part)
	if err != nil {
		return nil, false, false, err
	}
	o.next = &part.Next
	for lines := range chunks(part.Lines, maxField) {
		found = append(found, topicEvent(topicProcessOutput, struct {
			ID        string   `json:"processId"`
			Lines     []string `json:"lines"`
			Next      int64    `json:"nextSeq"` // of the answer that contains these lines
			Dropped   int64    `json:"droppedLines,omitempty"`
			Truncated bool     `json:"truncated"` // a line is longer
		}{o.id, lines.texts, part.Next, part.Dropped, lines.cut}))
		part.Dropped = 0
	}
	final := part.Status != "running" && part.Status != "starting"
	more = part.More && !first // in the first answer it says that there were earlier lines
	if o.status != part.Status && (!final || !more) {
		o.status = part.Status
		found = append(found, topicEvent(TopicProcessStatus, struct {
			ID       string `json:"processId"`
			Status   string `json:"status"`
			ExitCode *int   `json:"exitCode,omitempty"`
		}{o.id, part.Status, part.ExitCode}))
	}
	return found, more, final && !more, nil
}

// cutTopic returns at most n bytes of a text, ending at the end of a rune, and whether it was cut.
func cutTopic(s string, n int) (string, bool) {
	if len(s) <= n {
		return s, false
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n], true
}

// chunk is lines that go into one event.
type chunk struct {
	texts []string
	cut   bool
}

// chunks returns the lines in parts of at most n bytes; a longer line is cut.
func chunks(lines []string, n int) func(yield func(chunk) bool) {
	return func(yield func(chunk) bool) {
		var c chunk
		for size, i := 0, 0; i < len(lines); i++ {
			text, short := cutTopic(lines[i], n)
			if size+len(text) > n && len(c.texts) > 0 {
				if !yield(c) {
					return
				}
				c, size = chunk{}, 0
			}
			size += len(text)
			c.texts, c.cut = append(c.texts, text), c.cut || short
		}
		if len(c.texts) > 0 {
			yield(c)
		}
	}
}

// item is an entry of amof_list_runs.
type item struct {
	ID        string `json:"run_id"`
	Ecosystem string `json:"ecosystem"`
	Action    string `json:"action"`
	Status    string `json:"status"`
	Position  *int   `json:"position"`
	ExitCode  *int   `json:"exit_code"`
}

// progress is the payload of a run's progress event.
type progress struct {
	ID        string `json:"runId"`
	Ecosystem string `json:"ecosystem,omitempty"`
	Action    string `json:"action,omitempty"`
	Status    string `json:"status"`
	Position  *int   `json:"position,omitempty"`
	ExitCode  *int   `json:"exitCode,omitempty"`
	Events    []said `json:"events,omitempty"`
	Next      int64  `json:"next,omitempty"` // of the answer that contains these events
	Truncated bool   `json:"truncated"`      // part of its output is missing here
}

// said is one message of a run.
type said struct {
	Timestamp time.Time `json:"timestamp"`
	Level     string    `json:"level"`
	Type      string    `json:"type"`
	Message   string    `json:"message"`
	Number    int64     `json:"seq"`
}

// runs is the topic of ecosystem runs. It starts with those that have not ended.
type runs struct {
	ask   ask
	known map[string]string // progress by ID
	begun bool
}

func (r *runs) look(ctx context.Context) (found []TopicUpdate, more, over bool, err error) {
	var now struct {
		Runs []item `json:"runs"`
	}
	if err := read(ctx, r.ask, "amof_list_runs", struct{}{}, &now); err != nil {
		return nil, false, false, err
	}
	seen := map[string]string{}
	for i := range now.Runs {
		one := now.Runs[len(now.Runs)-1-i] // oldest first
		far := one.Status
		if one.Position != nil {
			far += " " + strconv.Itoa(*one.Position)
		}
		seen[one.ID] = far
		if r.known[one.ID] != far && (r.begun || !done(one.Status)) {
			found = append(found, topicEvent(TopicRunProgress, progress{ID: one.ID, Ecosystem: one.Ecosystem, Action: one.Action, Status: one.Status, Position: one.Position, ExitCode: one.ExitCode}))
		}
	}
	r.known, r.begun = seen, true
	return found, false, false, nil
}

// done reports the status of a run that has ended (amof contract §9).
func done(status string) bool {
	return status == "success" || status == "failed" || status == "cancelled"
}

// running is the topic of one run's output.
type running struct {
	ask    ask
	id     string
	next   int64
	status string
}

func (r *running) look(ctx context.Context) (found []TopicUpdate, more, over bool, err error) {
	var part struct {
		Events    []said `json:"events"`
		Truncated bool   `json:"truncated"`
		Next      int64  `json:"next"`
		Status    string `json:"status"`
	}
	err = read(ctx, r.ask, "amof_get_run_logs", struct {
		ID    string `json:"run_id"`
		Since string `json:"since"`
		Tail  int    `json:"tail"`
	}{r.id, strconv.FormatInt(r.next, 10), mostEvents}, &part)
	if err != nil {
		return nil, false, false, err
	}
	heard, ended := len(part.Events) > 0, done(part.Status)
	p := progress{ID: r.id, Status: part.Status, Next: part.Next, Truncated: part.Truncated}
	if heard && ended {
		p.Status = "running" // it may have had more output at its end; its end is reported last
	}
	for size, i := 0, 0; i < len(part.Events); i++ {
		e := part.Events[i]
		var short bool
		e.Message, short = cutTopic(e.Message, maxField)
		if size += len(e.Message); size > maxField && len(p.Events) > 0 {
			found, size = append(found, topicEvent(TopicRunProgress, p)), len(e.Message)
			p.Events, p.Truncated = nil, false
		}
		p.Events, p.Truncated = append(p.Events, e), p.Truncated || short
	}
	if len(p.Events) > 0 || p.Status != r.status {
		found = append(found, topicEvent(TopicRunProgress, p))
	}
	r.next, r.status = max(part.Next, r.next), p.Status
	return found, heard, ended && !heard, nil
}
