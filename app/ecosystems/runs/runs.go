package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// QueueDeps is the ports of the run tools. Every field is required.
type QueueDeps struct {
	Deps
	Watch  ecosystemport.RunWatch
	Server ecosystemport.ControlPlane
	Audit  ports.AuditLog // which call was let through to queue a run, and whether that was begun
}

// The typed handles.
var (
	List      = tool.Ref[ListInput, RunList]{Name: "amof_list_runs"}
	Active    = tool.Ref[ActiveInput, RunList]{Name: "amof_get_active_runs"}
	Status    = tool.Ref[StatusInput, StatusAnswer]{Name: "amof_get_run_status"}
	Logs      = tool.Ref[LogsInput, LogsAnswer]{Name: "amof_get_run_logs"}
	Summarize = tool.Ref[RunInput, RunSummary]{Name: "amof_summarize_run"}
	Cancel    = tool.Ref[CancelInput, Cancelled]{Name: "amof_cancel_run"}
	Telemetry = tool.Ref[NoInput, RunTotals]{Name: "amof_get_global_telemetry"}
)

// NoInput is the input of a tool without arguments.
type NoInput struct{}

// The default and the maximum length of a list of runs.
const (
	listed = 20
	most   = ecosystem.MaxKeptRuns
)

// Entries returns the tools for runs and the server.
func Entries(d QueueDeps) []tool.Entry {
	s := service{d}
	cancel := SafeWriteSpec("Cancel run", "Cancel a run: one that waits ends at once, one that is carried out is told to stop.", cancelSchema)
	return slices.Concat([]tool.Entry{
		bind.Query(List, ReadSpec("List runs", "List runs of ecosystems, newest first.", listSchema), s.list),
		bind.Query(Active, ReadSpec("Active runs", "List the runs that wait or are carried out, with their place in the queue.", activeSchema), s.active),
		bind.Query(Status, ReadSpec("Run status", "Show the status of a run. With wait_seconds, wait until it ends and report progress.", statusSchema), s.status),
		bind.Query(Logs, ReadSpec("Run logs", "Read what a run said, from the end or after a sequence number.", logsSchema), s.logs),
		bind.Query(Summarize, ReadSpec("Summarize run", "Summarize a run: how it went, how long it took, its first errors.", runSchema), s.summarize),
		bind.Command(Cancel, cancel, s.planCancel, s.cancel),
		bind.Query(Telemetry, ReadSpec("Global telemetry", "Count the latest runs by status, ecosystem and action.", noSchema), s.telemetry),
	}, s.server())
}

type service struct{ QueueDeps }

// RunItem is a run in a list.
type RunItem struct {
	ID         string              `json:"run_id"`
	Ecosystem  string              `json:"ecosystem"`
	Action     string              `json:"action"`
	Status     ecosystem.RunStatus `json:"status"`
	CreatedAt  time.Time           `json:"created_at"`
	StartedAt  *time.Time          `json:"started_at"`
	FinishedAt *time.Time          `json:"finished_at"`
	ExitCode   *int                `json:"exit_code"`
	Position   *int                `json:"position"` // in the queue of its ecosystem, from 1
}

// RunList is runs, newest first.
type RunList struct {
	Runs  []RunItem `json:"runs"`
	Count int       `json:"count"`
	Envelope
}

// ListInput chooses runs.
type ListInput struct {
	Ecosystem string `json:"ecosystem,omitempty"`
	Status    string `json:"status,omitempty" jsonschema:"enum=queued,enum=paused,enum=running,enum=success,enum=failed,enum=cancelled"`
	Action    string `json:"action,omitempty"`
	Limit     int    `json:"limit,omitempty" jsonschema:"minimum=1,maximum=200,description=default 20"`
}

func (s service) list(ctx context.Context, sc tool.Scope, in ListInput) (RunList, error) {
	if in.Ecosystem != "" {
		if err := ecosystem.CheckName(in.Ecosystem); err != nil {
			return RunList{}, err
		}
	}
	f := ecosystem.RunFilter{Ecosystem: in.Ecosystem, Action: in.Action, Limit: in.Limit}
	if in.Status != "" {
		f.Statuses = []ecosystem.RunStatus{ecosystem.RunStatus(in.Status)}
	}
	return s.listing(ctx, sc, f)
}

// ActiveInput chooses open runs.
type ActiveInput struct {
	Limit  int    `json:"limit,omitempty" jsonschema:"minimum=1,maximum=200,description=default 20"`
	Status string `json:"status,omitempty" jsonschema:"enum=queued,enum=paused,enum=running"`
}

// open returns the states of runs that have not ended.
func open() []ecosystem.RunStatus {
	return []ecosystem.RunStatus{ecosystem.RunQueued, ecosystem.RunPaused, ecosystem.RunRunning}
}

func (s service) active(ctx context.Context, sc tool.Scope, in ActiveInput) (RunList, error) {
	f := ecosystem.RunFilter{Statuses: open(), Limit: in.Limit}
	if in.Status != "" {
		f.Statuses = []ecosystem.RunStatus{ecosystem.RunStatus(in.Status)}
	}
	return s.listing(ctx, sc, f)
}

func (s service) listing(ctx context.Context, sc tool.Scope, f ecosystem.RunFilter) (RunList, error) {
	limit, wanted := f.Limit, f.Statuses
	if limit == 0 {
		limit = listed
	}
	f.Limit, f.Statuses = most, nil // what only looks open counts as what it is
	found, err := s.Runs.List(ctx, f)
	if err != nil {
		return RunList{}, err
	}
	out := RunList{Runs: []RunItem{}}
	var lines []string
	looked := s.look()
	for i := range found {
		found[i] = looked.settled(ctx, found[i])
	}
	for _, r := range found {
		if len(out.Runs) == limit || len(wanted) > 0 && !slices.Contains(wanted, r.Status) {
			continue
		}
		out.Runs = append(out.Runs, RunItem{ID: r.ID, Ecosystem: r.Ecosystem, Action: r.Action, Status: r.Status, CreatedAt: r.CreatedAt, StartedAt: r.StartedAt, FinishedAt: r.FinishedAt,
			ExitCode: r.ExitCode, Position: tool.NilIfZero(ecosystem.QueuePosition(r.ID, found))})
		if len(lines) < 14 {
			lines = append(lines, fmt.Sprintf("%s  %-14s %-20s %s", r.Short(), r.Action, r.Ecosystem, r.Status))
		}
	}
	out.Count = len(out.Runs)
	out.Envelope = s.Show(sc, Subject{Ecosystem: f.Ecosystem}, AnswerText{Summary: "Listed " + countRuns(out.Count), Details: lines})
	return out, nil
}

// look is one look at runs. It tries once an ecosystem to have what was left there put in order: where somebody is at work, that waits for them.
type look struct {
	service
	tried map[place]bool
}

// place is an ecosystem of a workspace.
type place struct{ root, ecosystem string }

func (s service) look() look { return look{service: s, tried: map[place]bool{}} }

// settled returns a run as it really is: what one left whose process is gone is put in order first, and one whose process cannot be
// seen from here says so. A process records the end of its run before it ends itself, so what is on record once it is gone is the last word.
// Where nobody can put it in order now, the run is shown as failed, with what is still to be done.
func (s look) settled(ctx context.Context, r ecosystem.Run) ecosystem.Run {
	if r.Status == ecosystem.RunRunning && s.Owner.Judge(r.Owner).Dead() {
		if last, err := s.Runs.Load(ctx, r.ID); err == nil {
			if last.Status != ecosystem.RunRunning || last.Owner != r.Owner {
				return last
			}
			r = last
		}
		if s.settle(ctx, r) {
			if last, err := s.Runs.Load(ctx, r.ID); err == nil && last.Status != ecosystem.RunRunning {
				return last
			}
		}
		_ = r.Interrupt(s.Clock.Now().UTC()) // a running one may end
	} else if r.Status == ecosystem.RunRunning {
		r.Error = s.Owner.Elsewhere(r.Owner)
	}
	return r
}

// settle has what was left in the run's ecosystem put in order, unless this look has tried already. It reports whether that may have changed the run.
func (s look) settle(ctx context.Context, r ecosystem.Run) bool {
	at := place{r.Root, r.Ecosystem}
	if s.Settle == nil || s.tried[at] {
		return false
	}
	s.tried[at] = true
	l, err := s.Places.Layout(ctx, r.Root, r.Ecosystem)
	return err == nil && s.Settle(ctx, l) == nil
}

// RunInput names a run.
type RunInput struct {
	ID string `json:"run_id,omitempty" jsonschema:"description=its id or the first 6 or more characters of it; default the selected run"`
}

// must returns the run that is named, else the one the session works on, else the newest.
func (s service) must(ctx context.Context, sc tool.Scope, id string) (ecosystem.Run, error) {
	if id == "" {
		f, err := s.Focus(ctx, sc)
		if err != nil {
			return ecosystem.Run{}, err
		}
		id = f.Run
	}
	if id == "" {
		return ecosystem.Run{}, ecosystem.ErrRunUnknown.WithMessage("no run is named; give run_id (amof_list_runs shows those there are)")
	}
	r, err := s.Runs.Load(ctx, id)
	return s.look().settled(ctx, r), err
}

// StatusInput names a run, and says whether to wait for it.
type StatusInput struct {
	RunInput
	Wait int `json:"wait_seconds,omitempty" jsonschema:"minimum=0,maximum=50,description=wait so long for its end"`
}

// StatusAnswer is the status of a run.
type StatusAnswer struct {
	ID         string              `json:"run_id"`
	Ecosystem  string              `json:"ecosystem"`
	Action     string              `json:"action"`
	Status     ecosystem.RunStatus `json:"status"`
	CreatedAt  time.Time           `json:"created_at"`
	StartedAt  *time.Time          `json:"started_at"`
	FinishedAt *time.Time          `json:"finished_at"`
	ExitCode   *int                `json:"exit_code"`
	EventCount int64               `json:"event_count"`
	Terminal   bool                `json:"terminal"`
	Last       *string             `json:"last_message"`
	Position   *int                `json:"position,omitempty"`
	Error      string              `json:"error,omitempty"`
	Code       string              `json:"code,omitempty"`
	Result     json.RawMessage     `json:"result,omitempty"` // what came of it
	Envelope
}

func (s service) status(ctx context.Context, sc tool.Scope, in StatusInput) (StatusAnswer, error) {
	r, err := s.must(ctx, sc, in.ID)
	if err != nil {
		return StatusAnswer{}, err
	}
	if r, err = s.wait(ctx, sc, r, time.Duration(in.Wait)*time.Second); err != nil {
		return StatusAnswer{}, err
	}
	chunk, err := s.Runs.Events(ctx, r.ID, 0)
	if err != nil {
		return StatusAnswer{}, err
	}
	a := StatusAnswer{ID: r.ID, Ecosystem: r.Ecosystem, Action: r.Action, Status: r.Status, CreatedAt: r.CreatedAt, StartedAt: r.StartedAt, FinishedAt: r.FinishedAt, ExitCode: r.ExitCode,
		EventCount: chunk.Total, Terminal: r.Status.Final(), Error: r.Error, Code: strings.TrimPrefix(r.Code, "eco_")}
	if n := len(chunk.Events); n > 0 {
		a.Last = &chunk.Events[n-1].Message
	}
	if len(r.Result) > 0 {
		a.Result = r.Result
	}
	if !a.Terminal {
		waiting, err := s.Runs.List(ctx, ecosystem.RunFilter{Root: r.Root, Ecosystem: r.Ecosystem, Statuses: open()})
		if err != nil {
			return a, err
		}
		a.Position = tool.NilIfZero(ecosystem.QueuePosition(r.ID, waiting))
	}
	actions := []Action{SuggestRunLogs(r.ID)}
	if !a.Terminal {
		actions = append(actions, SuggestRunStatus(r.ID))
	}
	text := AnswerText{Summary: fmt.Sprintf("Run %s: %s of %s is %s", r.Short(), r.Action, r.Ecosystem, r.Status)}
	if a.Last != nil {
		text.Details = []string{*a.Last}
	}
	a.Envelope = s.Show(sc, Subject{Ecosystem: r.Ecosystem, Run: r.ID}, text, actions...)
	return a, nil
}

// wait waits for the run's end, that long at most, and reports every message on the way.
func (s service) wait(ctx context.Context, sc tool.Scope, r ecosystem.Run, most time.Duration) (ecosystem.Run, error) {
	deadline := s.Clock.Now().Add(most)
	var seen int64
	for !r.Status.Final() {
		left := deadline.Sub(s.Clock.Now())
		if left <= 0 {
			return r, nil
		}
		next, err := s.Watch.Await(ctx, r.ID, seen, left)
		if err != nil {
			return r, err
		}
		r = s.look().settled(ctx, next)
		chunk, err := s.Runs.Events(ctx, r.ID, seen)
		if err != nil {
			return r, err
		}
		for _, e := range chunk.Events {
			seen = e.Number
			sc.Progress(tool.Progress{Done: seen, Message: e.Message})
		}
	}
	return r, nil
}

// CancelInput names a run to cancel.
type CancelInput struct {
	RunInput
	ModeInput
}

// Cancelled reports that a run is being cancelled.
type Cancelled struct {
	ID        string              `json:"run_id"`
	Status    ecosystem.RunStatus `json:"status"`
	Requested bool                `json:"requested"`
	Envelope
}

func (s service) planCancel(ctx context.Context, sc tool.Scope, in CancelInput) (Plan, error) {
	r, err := s.must(ctx, sc, in.ID)
	if err != nil {
		return Plan{}, err
	}
	if r.Status.Final() {
		return Plan{}, ecosystem.ErrMove.WithMessage("the run %s has ended already (%s)", r.Short(), r.Status)
	}
	p := Plan{Tool: Cancel.Name, Summary: "cancel of run " + r.Short() + " (" + r.Action + " of " + r.Ecosystem + ")",
		Preview: map[string]any{"run_id": r.ID, "action": r.Action, "ecosystem": r.Ecosystem, "status": r.Status}, Payload: []byte(r.ID),
		Explanation: Explanation{What: "end the run: one that waits never begins, one that is carried out is told to stop and put in order", Affects: []string{"run " + r.Short()}},
		Current:     map[string]any{"status": r.Status}, Risk: Risk{Level: "low"}}
	return p.SealedAs(r.Ecosystem, r.Root)
}

func (s service) cancel(ctx context.Context, sc tool.Scope, p Plan) (Cancelled, error) {
	now := s.Clock.Now().UTC()
	r, err := s.Runs.Change(ctx, string(p.Payload), func(r *ecosystem.Run) error {
		_, err := r.Cancel(now)
		return err
	})
	if err != nil && !errors.Is(err, ecosystem.ErrMove) {
		return Cancelled{}, err
	}
	if r.Status == ecosystem.RunCancelled {
		err = errors.Join(s.tell(ctx, r, audit.Ended, string(ecosystem.ErrStopped.Code)), // or a copy of its record would have it run after all
			s.Runs.Append(ctx, r.ID, ecosystem.RunEvent{Level: "info", Type: "exit", Message: "cancelled before it began"}))
	}
	text := AnswerText{Summary: "Cancelled run " + r.Short()}
	if !r.Status.Final() {
		text.Summary = "Told run " + r.Short() + " to stop"
	}
	return Cancelled{ID: r.ID, Status: r.Status, Requested: true, Envelope: s.Show(sc, Subject{Ecosystem: r.Ecosystem, Run: r.ID}, text, SuggestRunStatus(r.ID))}, err
}

// RunTotals counts runs.
type RunTotals struct {
	Total       int            `json:"total_runs"`
	ByStatus    map[string]int `json:"by_status"`
	ByEcosystem map[string]int `json:"by_ecosystem"`
	ByAction    map[string]int `json:"by_action"`
	Average     *float64       `json:"avg_duration_seconds"`
	Active      int            `json:"active"`
	Envelope
}

func (s service) telemetry(ctx context.Context, sc tool.Scope, _ NoInput) (RunTotals, error) {
	found, err := s.Runs.List(ctx, ecosystem.RunFilter{Limit: most})
	if err != nil {
		return RunTotals{}, err
	}
	t := RunTotals{Total: len(found), ByStatus: map[string]int{}, ByEcosystem: map[string]int{}, ByAction: map[string]int{}}
	var spent time.Duration
	ended := 0
	looked := s.look()
	for _, r := range found {
		r = looked.settled(ctx, r)
		t.ByStatus[string(r.Status)]++
		t.ByEcosystem[r.Ecosystem]++
		t.ByAction[r.Action]++
		if r.Status.Final() && r.StartedAt != nil && r.Code != string(errInterrupted.Code) { // nobody knows when one ended whose process is gone
			spent, ended = spent+r.Duration(s.Clock.Now()), ended+1
		} else if !r.Status.Final() {
			t.Active++
		}
	}
	if ended > 0 {
		average := (spent / time.Duration(ended)).Round(time.Millisecond).Seconds()
		t.Average = &average
	}
	t.Envelope = s.Show(sc, Subject{}, AnswerText{Summary: fmt.Sprintf("Counted %s, %d of them active", countRuns(t.Total), t.Active)})
	return t, nil
}

func countRuns(n int) string {
	if n == 1 {
		return "1 run"
	}
	return fmt.Sprintf("%d runs", n)
}
