package projects

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/app/projects/runner"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/tool"
)

// The number of lines of get_background_process_output (packageflow contract §2.5, row 18).
const (
	defaultTail = 100
	maxTail     = 2000
)

// ProcessList is all background processes, newest first.
type ProcessList struct {
	Processes []runner.Process `json:"processes"`
	Total     int              `json:"total"`
}

// ours returns the background processes of projects.
func (s scriptService) ours(state process.State) bool {
	return state.Background && state.Labels[runner.LabelCapability] == runner.CapabilityProjects
}

func (s scriptService) list(ctx context.Context, _ tool.Scope, _ NoInput) (ProcessList, error) {
	states, err := s.Runner.Processes.List(ctx)
	out := ProcessList{Processes: []runner.Process{}}
	for _, state := range states {
		if s.ours(state) {
			p := runner.ProcessOf(state)
			p.Matched = s.matched(ctx, state)
			out.Processes = append(out.Processes, p)
		}
	}
	out.Total = len(out.Processes)
	return out, err
}

// matched reports whether a line of a process matched the pattern that its starter waited for. It is nil without a pattern, and if the line may no
// longer be kept.
func (s scriptService) matched(ctx context.Context, state process.State) *bool {
	pattern, err := regexp.Compile(state.Labels[runner.LabelPattern])
	if err != nil || state.Labels[runner.LabelPattern] == "" {
		return nil
	}
	chunk, err := s.Runner.Processes.Output(ctx, state.ID, 0)
	if err != nil {
		return nil
	}
	found := slices.ContainsFunc(chunk.Lines, func(l process.Line) bool { return pattern.MatchString(l.Text) })
	if !found && chunk.Dropped > 0 {
		return nil
	}
	return &found
}

// readable returns the process with that ID if its output may be read: a background process, or one that this session waits for.
func (s scriptService) readable(ctx context.Context, sc tool.Scope, id string) (process.State, error) {
	state, err := s.Runner.Processes.Inspect(ctx, process.ID(id))
	if err == nil && !s.ours(state) && (state.Labels[runner.LabelCapability] != runner.CapabilityProjects || sc.Session == "" || state.Labels[runner.LabelSession] != sc.Session) {
		err = process.ErrNotFound
	}
	return state, err
}

// find returns the process with that ID, whichever client started it.
func (s scriptService) find(ctx context.Context, id string) (process.State, error) {
	state, err := s.Runner.Processes.Inspect(ctx, process.ID(id))
	if err == nil && !s.ours(state) {
		err = process.ErrNotFound
	}
	if err != nil {
		return state, err
	}
	return state, nil
}

// OutputInput selects a part of a process's output.
type OutputInput struct {
	ID    string `json:"processId" jsonschema:"minLength=1,description=as list_background_processes shows it"`
	Tail  int    `json:"tailLines,omitempty" jsonschema:"minimum=1,maximum=2000,description=how many lines (default 100)"`
	Since *int64 `json:"sinceSeq,omitempty" jsonschema:"minimum=0,description=only lines after this nextSeq of an earlier answer"`
}

// OutputAnswer is a part of a process's output. Lines begin with [stdout] or [stderr].
type OutputAnswer struct {
	ProcessID  process.ID `json:"processId"`
	Status     string     `json:"status"`
	PID        int        `json:"pid"`
	ScriptName string     `json:"scriptName"`
	StartedAt  time.Time  `json:"startedAt"`
	ExitCode   *int       `json:"exitCode,omitempty"`
	Lines      []string   `json:"outputLines"`
	NextSeq    int64      `json:"nextSeq"`
	HasMore    bool       `json:"hasMore"` // more lines after nextSeq exist already; without sinceSeq: there were lines before these
	Total      int64      `json:"totalLines"`
	Dropped    int64      `json:"droppedLines"` // lines of the requested range that are no longer kept
}

func lineOf(l process.Line) string {
	if l.Stream == process.Stderr {
		return "[stderr] " + l.Text
	}
	return "[stdout] " + l.Text
}

func (s scriptService) output(ctx context.Context, sc tool.Scope, in OutputInput) (OutputAnswer, error) {
	state, err := s.readable(ctx, sc, in.ID)
	if err != nil {
		return OutputAnswer{}, err
	}
	n := in.Tail
	if n == 0 {
		n = defaultTail
	}
	from := process.TailCursor(n)
	if in.Since != nil {
		from = process.Cursor(*in.Since)
	}
	chunk, err := s.Runner.Processes.Output(ctx, state.ID, from)
	if err != nil {
		return OutputAnswer{}, err
	}
	v := runner.ProcessOf(state)
	out := OutputAnswer{ProcessID: state.ID, Status: v.Status, PID: v.PID, ScriptName: v.ScriptName, StartedAt: v.StartedAt, ExitCode: v.ExitCode,
		Lines: []string{}, NextSeq: int64(chunk.Next), Total: chunk.Total, Dropped: chunk.Dropped}
	if in.Since == nil {
		out.Lines = newest(chunk.Lines, runner.OutputBudget(sc))
		out.HasMore = chunk.Total > int64(len(out.Lines))
		return out, nil
	}
	if in.Tail == 0 {
		n = maxTail
	}
	out.Lines = oldest(chunk.Lines[:min(n, len(chunk.Lines))], runner.OutputBudget(sc))
	if shown := len(out.Lines); shown < len(chunk.Lines) {
		out.NextSeq, out.HasMore = chunk.Lines[shown].Number-1, true
	}
	return out, nil
}

// oldest returns the first lines that fit room bytes as JSON, at least one.
func oldest(lines []process.Line, room int) []string {
	out := []string{}
	for _, l := range lines {
		text := lineOf(l)
		if room -= runner.JSONSize(text) + 1; room < 0 && len(out) > 0 {
			break
		}
		out = append(out, text)
	}
	return out
}

// newest returns the last lines likewise.
func newest(lines []process.Line, room int) []string {
	for i := len(lines) - 1; i >= 0; i-- {
		if room -= runner.JSONSize(lineOf(lines[i])) + 1; room < 0 && i < len(lines)-1 {
			return oldest(lines[i+1:], math.MaxInt)
		}
	}
	return oldest(lines, math.MaxInt)
}

// StopInput names a process to stop.
type StopInput struct {
	ID    string `json:"processId" jsonschema:"minLength=1,description=as list_background_processes shows it"`
	Force bool   `json:"force,omitempty" jsonschema:"description=kill it without asking it to end first"`
}

// stopPlan is the plan to stop a process.
type stopPlan struct {
	runner.Plan
	state process.State
	force bool
}

// stopAbout is what the user sees of it.
type stopAbout struct {
	ID        process.ID `json:"processId"`
	PID       int        `json:"pid"`
	Other     string     `json:"warning,omitempty"`
	Script    string     `json:"script"`
	Project   string     `json:"project"`
	Command   string     `json:"command"`
	StartedAt time.Time  `json:"startedAt"`
	Client    string     `json:"startedBy"`
	Force     bool       `json:"force"`
}

func (s scriptService) planStop(ctx context.Context, sc tool.Scope, in StopInput) (stopPlan, error) {
	state, err := s.find(ctx, in.ID)
	if err != nil {
		return stopPlan{}, err
	}
	v := runner.ProcessOf(state)
	risk, other := policy.RiskMedium, ""
	if v.Client != sc.Client || state.Labels[runner.LabelSession] != sc.Session {
		risk, other = policy.RiskHigh, "it was started by another client or session, whose work this ends"
	}
	p := stopPlan{state: state, force: in.Force}
	p.Plan, err = runner.NewPlan("stop_background_process", fmt.Sprintf("stop %s (script %s of %s)", v.ID, v.ScriptName, v.ProjectPath),
		stopAbout{ID: v.ID, PID: v.PID, Other: other, Script: v.ScriptName, Project: v.ProjectPath, Command: v.Command, StartedAt: v.StartedAt, Client: v.Client,
			Force: in.Force},
		policy.Assessment{Strength: policy.Simple, Risk: risk, Scope: v.ProjectPath + "/" + v.ScriptName + map[bool]string{true: "/force"}[in.Force]})
	return p, err
}

// StoppedProcess is how a process ended.
type StoppedProcess struct {
	Success  bool       `json:"success"`
	ID       process.ID `json:"process_id"`
	Status   string     `json:"status"`
	Already  bool       `json:"alreadyExited"`
	Escalate bool       `json:"escalated"` // it did not stop on the first signal and was killed
	ExitCode int        `json:"exitCode"`
	Message  string     `json:"message"`
}

func (s scriptService) stop(ctx context.Context, _ tool.Scope, p stopPlan) (StoppedProcess, error) {
	before, err := s.find(ctx, string(p.state.ID))
	if err != nil {
		return StoppedProcess{}, err
	}
	already := before.Status.Final()
	grace := runner.StopGrace
	if p.force {
		grace = 0
	}
	state, err := s.Runner.Processes.Stop(ctx, p.state.ID, grace)
	if err != nil {
		return StoppedProcess{}, err
	}
	if !state.Status.Final() {
		return StoppedProcess{}, project.ErrExecutionFailed.WithMessage("cannot stop %s: process %d is still running after it was killed", state.ID, state.PID)
	}
	out := StoppedProcess{Success: true, ID: state.ID, Status: runner.StatusOf(state), Already: already, Escalate: state.Escalated, ExitCode: state.Exit.Code,
		Message: fmt.Sprintf("%s and everything it started has ended", state.ID)}
	if state.Lost {
		out.ExitCode = -1
	}
	if already {
		out.Message = fmt.Sprintf("%s had ended already (%s)", state.ID, out.Status)
	}
	return out, nil
}
