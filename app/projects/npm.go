package projects

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"time"

	"github.com/countersign-dev/countersign/app/projects/runner"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/tool"
)

// The bounds of run_npm_script's arguments (packageflow contract §2.6, row 20).
const (
	maxArgs       = 100
	maxPattern    = 1000 // bytes
	defaultReady  = 30 * time.Second
	maxReady      = 5 * time.Minute
	initialOutput = 20 // lines
)

// ErrForeground is returned for a script that would never end, called in the foreground.
var ErrForeground = fault.New(fault.Invalid, "project_script_never_ends", "the script runs until it is stopped; run it in the background")

// RunNPMInput names a script with its arguments.
type RunNPMInput struct {
	Path           string   `json:"projectPath" jsonschema:"description=as list_projects shows it"`
	Script         string   `json:"scriptName"`
	Args           []string `json:"args,omitempty" jsonschema:"description=passed on as they are"`
	TimeoutMS      *int64   `json:"timeoutMs,omitempty" jsonschema:"description=default 300000; none in the background"`
	Background     bool     `json:"runInBackground,omitempty"`
	SuccessPattern string   `json:"successPattern,omitempty" jsonschema:"description=wait for a line matching this RE2"`
	SuccessMS      int64    `json:"successTimeoutMs,omitempty"`
	ready          *ready
}

// ready is the condition that a background start waits for.
type ready struct {
	pattern *regexp.Regexp
	within  time.Duration
}

// Resources returns the project's path.
func (in *RunNPMInput) Resources() []string { return []string{in.Path} }

// Validate compiles the pattern before anything is started.
func (in *RunNPMInput) Validate() error {
	if len(in.Args) > maxArgs {
		return project.ErrArgument.WithMessage("there are %d args; at most %d are passed on", len(in.Args), maxArgs)
	}
	if err := runner.CheckArgs(in.Args); err != nil {
		return err
	}
	if in.SuccessMS < 0 || in.SuccessMS > maxReady.Milliseconds() {
		return project.ErrArgument.WithMessage("successTimeoutMs is not within 1 and %d", maxReady.Milliseconds())
	}
	if in.SuccessPattern == "" {
		if in.SuccessMS > 0 {
			return project.ErrArgument.WithMessage("successTimeoutMs says how long to wait for successPattern, which is missing")
		}
		return nil
	}
	if !in.Background {
		return project.ErrArgument.WithMessage("successPattern is for runInBackground: true; in the foreground the script is waited for anyway")
	}
	if len(in.SuccessPattern) > maxPattern {
		return project.ErrArgument.WithMessage("successPattern has more than %d bytes", maxPattern)
	}
	pattern, err := regexp.Compile(in.SuccessPattern)
	if err != nil {
		return project.ErrArgument.WithMessage("successPattern is not an RE2 regular expression: %v", err)
	}
	in.ready = &ready{pattern: pattern, within: defaultReady}
	if in.SuccessMS > 0 {
		in.ready.within = time.Duration(in.SuccessMS) * time.Millisecond
	}
	return nil
}

func (in *RunNPMInput) timeout() (time.Duration, error) {
	fallback := runner.DefaultTimeout
	if in.Background {
		fallback = 0
	}
	if in.TimeoutMS == nil {
		return fallback, nil
	}
	return runner.ParseTimeout(*in.TimeoutMS)
}

// StartedScript is a script that keeps running in the background.
type StartedScript struct {
	Success    bool            `json:"success"`
	Background bool            `json:"background"`
	ProcessID  process.ID      `json:"process_id"`
	PID        int             `json:"pid"`
	ScriptName string          `json:"script_name"`
	Manager    project.Manager `json:"package_manager"`
	Version    string          `json:"package_manager_version,omitempty"`
	Strategy   string          `json:"toolchain_strategy"`
	Status     string          `json:"status"`
	Matched    bool            `json:"pattern_matched"`
	Line       string          `json:"matched_line,omitempty"` // the first matching one
	Initial    []string        `json:"initial_output"`
	NextSeq    int64           `json:"nextSeq"` // for the output after initial_output: sinceSeq of get_background_process_output
	Command    string          `json:"command"`
	Message    string          `json:"message"`
}

// RunAnswer is the result of a script that ended, or one that keeps running in the background. The other one is nil.
type RunAnswer[R any] struct {
	Result  *R
	Started *StartedScript
}

// NPMScriptAnswer is a script that ended, or that keeps running.
type NPMScriptAnswer = RunAnswer[ScriptResult]

// MarshalJSON writes the form that is set.
func (a RunAnswer[R]) MarshalJSON() ([]byte, error) {
	if a.Started != nil {
		return tool.Encode(a.Started)
	}
	return tool.Encode(a.Result)
}

// UnmarshalJSON reads either form: both say whether it runs in the background.
func (a *RunAnswer[R]) UnmarshalJSON(doc []byte) error {
	var is struct {
		Background bool `json:"background"`
	}
	if err := json.Unmarshal(doc, &is); err != nil {
		return err
	}
	*a = RunAnswer[R]{}
	if is.Background {
		return json.Unmarshal(doc, &a.Started)
	}
	return json.Unmarshal(doc, &a.Result)
}

// either waits for the script or leaves it running.
func (s scriptService) either(ctx context.Context, sc tool.Scope, p runPlan) (NPMScriptAnswer, error) {
	if !p.background {
		result, err := s.foreground(ctx, sc, p)
		return NPMScriptAnswer{Result: &result}, err
	}
	started, err := s.start(ctx, sc, p)
	return NPMScriptAnswer{Started: &started}, err
}

func (s scriptService) start(ctx context.Context, sc tool.Scope, p runPlan) (StartedScript, error) {
	if err := s.unchanged(ctx, p); err != nil {
		return StartedScript{}, err
	}
	p.spec.Labels = p.labels(sc)
	return s.startProcess(ctx, sc, p.spec, p.ready, StartedScript{ScriptName: p.command.Name, Manager: p.command.Manager, Version: p.command.Version, Strategy: p.command.Strategy, Command: p.command.Text})
}

// startProcess starts a background process, and waits for output if that was requested. about describes it.
func (s scriptService) startProcess(ctx context.Context, sc tool.Scope, spec process.Spec, until *ready, about StartedScript) (StartedScript, error) {
	if until != nil {
		spec.Labels[runner.LabelPattern] = until.pattern.String()
	}
	state, err := s.Runner.Processes.Start(ctx, spec)
	if err != nil {
		return StartedScript{}, err
	}
	b := about
	b.Success, b.Background, b.ProcessID, b.PID, b.Status, b.Initial = true, true, state.ID, state.PID, runner.StatusOf(state), []string{}
	b.Message = fmt.Sprintf("script %s runs in the background as %s; get_background_process_output reads it", b.ScriptName, state.ID)
	if until == nil {
		return b, nil
	}
	return s.await(ctx, sc, until, b)
}

// await reads the output until a line matches, the process ends, or the time is up; then the process keeps running.
func (s scriptService) await(ctx context.Context, sc tool.Scope, until *ready, b StartedScript) (StartedScript, error) {
	limited, cancel := context.WithTimeout(ctx, until.within)
	defer cancel()
	sc.Progress(tool.Progress{Message: fmt.Sprintf("script %s runs (pid %d); waiting for %q", b.ScriptName, b.PID, until.pattern)})
	var at process.Cursor
	for {
		chunk, err := s.Runner.Processes.Watch(limited, b.ProcessID, at)
		if err != nil {
			return b, err
		}
		at = chunk.Next
		for _, line := range chunk.Lines {
			if len(b.Initial) < initialOutput {
				b.Initial, b.NextSeq = append(b.Initial, lineOf(line)), line.Number
			}
			if !b.Matched && until.pattern.MatchString(line.Text) {
				b.Matched, b.Line = true, lineOf(line)
			}
		}
		if chunk.Ended {
			state, err := s.Runner.Processes.Inspect(context.WithoutCancel(ctx), b.ProcessID)
			if err != nil {
				return b, err
			}
			b.Status = runner.StatusOf(state)
		}
		switch {
		case b.Matched:
			return b, nil
		case chunk.Ended:
			b.Success = false
			b.Message = fmt.Sprintf("script %s ended before a line matched", b.ScriptName)
			return b, project.ErrExecutionFailed.WithMessage("script %s ended (%s) before a line matched %q", b.ScriptName, b.Status, until.pattern).WithDetails(b)
		case ctx.Err() != nil:
			b.Success = false
			b.Message = fmt.Sprintf("the wait for a line was cancelled; %s keeps running", b.ProcessID)
			return b, project.ErrCancelled.WithMessage("waiting for a line of script %s was cancelled; the process %s keeps running: stop_background_process ends it", b.ScriptName, b.ProcessID).WithDetails(b)
		case limited.Err() != nil:
			b.Success = false
			b.Message = fmt.Sprintf("no line matched within %v; %s keeps running", until.within, b.ProcessID)
			return b, project.ErrExecutionTimeout.WithMessage("no line of script %s matched %q within %v; the process %s keeps running: read it with get_background_process_output or end it with stop_background_process",
				b.ScriptName, until.pattern, until.within, b.ProcessID).WithDetails(b)
		}
	}
}
