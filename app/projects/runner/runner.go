package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/shellcmd"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/projectport"
)

// Timeouts of what is run (packageflow contract §2.4).
const (
	DefaultTimeout = 5 * time.Minute
	MaxTimeout     = time.Hour
	StopGrace      = 5 * time.Second // between asking a process group to end and killing it
)

// The limits of results, in bytes: each stream of a result, and all output of a result together as JSON, so that it stays below the caller's limit.
const (
	MaxStream = 100 << 10
	MaxOutput = 180 << 10
)

// The limits of arguments, in bytes, so that the user can see the whole call.
const (
	maxArg  = 32 << 10
	maxArgs = 128 << 10
)

// Labels of this capability's processes.
const (
	LabelCapability    = "capability"
	LabelScript        = "script"
	LabelProject       = "project"
	LabelClient        = "client"
	LabelSession       = "session"
	LabelExecution     = "execution"
	LabelPattern       = "pattern"  // of a line that shows that it is ready
	LabelServices      = "services" // the file that defines a service
	LabelCommand       = "command"  // what a service runs, as written in its file
	LabelPlace         = "place"    // position of a service among those started with it
	CapabilityProjects = "projects"
)

// Runner starts programs. Every field is required.
type Runner struct {
	Dirs      projectport.Directories
	Parser    projectport.ShellParser
	Processes ports.Processes
	Mask      RedactFunc       // replaces secrets in what the user is shown
	Code      ports.CodeReader // which files commands would read as code
}

// Env is the environment of a program of the project, and the secrets in it.
type Env struct {
	Vars    map[string]string
	Secrets []string
	Passed  []string // names of variables that the project's settings pass on and that are set
}

// Around returns the environment of a process in dir, inside the project at root. Programs inside the project are never taken for those of the
// machine. It includes the secrets and settings of both directories, and of those between them.
func (r Runner) Around(ctx context.Context, root, dir string) (projectport.Surroundings, error) {
	around, err := r.Dirs.Surroundings(ctx, root)
	if err != nil || dir == root {
		return around, err
	}
	upper := around.Settings
	for i, s := range upper {
		upper[i].File = path.Join(root, s.File)
	}
	around.Settings = nil
	for at := dir; at != root; at = path.Dir(at) {
		near, err := r.Dirs.Surroundings(ctx, at)
		if err != nil {
			return around, err
		}
		around.Secrets = append(around.Secrets, near.Secrets...)
		for _, s := range near.Settings {
			if at != dir {
				s.File = path.Join(at, s.File)
			}
			around.Settings = append(around.Settings, s)
		}
		if !within(at, root) { // a worktree outside of it
			break
		}
	}
	around.Settings = append(around.Settings, upper...)
	return around, nil
}

// Facts returns the facts of dir, inside the project at root or its worktree. If dir does not determine its package manager, the nearest directory
// above it that does so counts: in a workspace the manager of the whole runs each of its packages. It fails like projectport.Directories.Facts.
func (r Runner) Facts(ctx context.Context, root, dir string) (project.Facts, error) {
	facts, err := r.Dirs.Facts(ctx, dir)
	for at := dir; err == nil && facts.Manifest != nil && facts.DecidedBy == "" && at != root && within(at, root); {
		at = path.Dir(at)
		var outer project.Facts
		if outer, err = r.Dirs.Facts(ctx, at); err == nil {
			facts = facts.Within(outer)
		}
	}
	return facts, err
}

// within reports whether a directory is in another one, by spelling.
func within(dir, root string) bool {
	return dir == root || strings.HasPrefix(dir, strings.TrimSuffix(root, "/")+"/")
}

// Environment returns the environment of a program of project p in dir: the usual variables, those that the project's settings pass on, and extra
// ones, which may not be among those that change what programs are (packageflow-security contract §4.8).
func (r Runner) Environment(around projectport.Surroundings, p project.Project, extra map[string]string) (Env, error) {
	if err := process.CheckEnv(extra); err != nil {
		return Env{}, err
	}
	vars, secrets := process.ChildEnvironment(around.Environ, p.Settings.EnvPass, extra, around.Paths)
	e := Env{Vars: vars, Secrets: slices.Concat(secrets, around.Secrets)}
	for _, name := range p.Settings.EnvPass {
		if _, set := vars[name]; set {
			e.Passed = append(e.Passed, name)
		}
	}
	return e, nil
}

// Inspect returns the linter's findings for commands that would run in dir, inside the project at root; both are empty if that is not known. A
// blocked one is project.ErrCommandBlocked, with the reasons. Examine covers what the commands start in turn.
func (r Runner) Inspect(around projectport.Surroundings, root, dir string, commands ...string) (Findings, error) {
	var out Findings
	for _, text := range commands {
		report, err := r.judge(around, root, dir, text)
		if err != nil {
			return nil, err
		}
		out = append(out, report.Findings...)
	}
	return out, nil
}

func (r Runner) judge(around projectport.Surroundings, root, dir, text string) (shellcmd.CheckReport, error) {
	if strings.TrimSpace(text) == "" {
		return shellcmd.CheckReport{}, nil
	}
	report := shellcmd.CheckScript(r.Parser.Parse(text), shellcmd.CheckContext{Home: around.Home, Project: root, Dir: dir, OwnDirs: around.Own, Parse: r.Parser.Parse})
	return report, report.Refusal()
}

// QuoteArgs returns an argument vector as shell text, for the linter.
func QuoteArgs(argv []string) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
	}
	return strings.Join(words, " ")
}

// Findings is the linter's findings for the commands.
type Findings []shellcmd.Finding

// Risk returns high if a finding has high risk, otherwise medium.
func (f Findings) Risk() policy.Risk {
	if slices.ContainsFunc(f, func(x shellcmd.Finding) bool { return x.Verdict >= shellcmd.VerdictHigh }) {
		return policy.RiskHigh
	}
	return policy.RiskMedium
}

// ArgsOutside reports arguments that are paths outside dir.
func ArgsOutside(dir string, args []string) Findings {
	var out Findings
	for _, a := range args {
		_, value, assigned := strings.Cut(a, "=")
		if !assigned {
			value = a
		}
		p := value
		if !path.IsAbs(p) {
			if !strings.Contains(p, "..") {
				continue
			}
			p = path.Join(dir, p)
		}
		if p = path.Clean(p); p != dir && !strings.HasPrefix(p, dir+"/") {
			out = append(out, shellcmd.Finding{Rule: "argument_outside", Verdict: shellcmd.VerdictHigh, Message: "an argument is a path outside the project", Fragment: clip(a)})
		}
	}
	return out
}

// OneLine returns a command for a summary: its first line, and the number of others.
func OneLine(command string) string {
	first, rest, _ := strings.Cut(command, "\n")
	if rest != "" {
		first += " …"
	}
	return first
}

func clip(s string) string {
	if r := []rune(s); len(r) > 120 {
		return string(r[:119]) + "…"
	}
	return s
}

// ProcessResult is the result of a program that ended.
type ProcessResult struct {
	ProcessID  process.ID `json:"process_id,omitempty"`
	ExitCode   int        `json:"exit_code"`
	Signal     string     `json:"signal,omitempty"`
	Stdout     string     `json:"stdout"`
	Stderr     string     `json:"stderr"`
	Truncated  bool       `json:"truncated"`
	TotalBytes int64      `json:"total_bytes"` // of both streams, including what was left out
	DurationMS int64      `json:"duration_ms"`
}

// Wait runs the program to its end and reports progress once it runs. A failure is project.ErrExecutionFailed, ErrExecutionTimeout or ErrCancelled with details,
// returned after the whole process group has ended.
func (r Runner) Wait(ctx context.Context, sc tool.Scope, what string, spec process.Spec, details func(ProcessResult) any) (ProcessResult, error) {
	var id process.ID
	result, err := r.Processes.Run(ctx, spec, func(s process.State) {
		id = s.ID
		sc.Progress(tool.Progress{Message: fmt.Sprintf("%s runs as %s (pid %d)", what, s.ID, s.PID)})
	})
	if err != nil {
		return ProcessResult{}, err
	}
	e := ProcessResult{ProcessID: id, ExitCode: result.Exit.Code, Signal: result.Exit.Signal, DurationMS: result.Elapsed.Milliseconds()}
	e.TotalBytes = result.Printed
	var cut bool
	e.Stdout, e.Stderr, cut = streams(result.Stdout, result.Stderr, OutputBudget(sc))
	e.Truncated = cut || result.Dropped > 0
	switch {
	case result.OK():
		return e, nil
	case result.Status == process.TimedOut:
		return e, project.ErrExecutionTimeout.WithMessage("%s ran longer than its %v and was stopped", what, spec.Timeout).WithDetails(details(e))
	case result.Status == process.Stopped:
		return e, project.ErrCancelled.WithMessage("%s was cancelled and stopped", what).WithDetails(details(e))
	case result.Exit.Signal != "":
		return e, project.ErrExecutionFailed.WithMessage("%s was ended by signal %s", what, result.Exit.Signal).WithDetails(details(e))
	}
	return e, project.ErrExecutionFailed.WithMessage("%s ended with exit code %d", what, result.Exit.Code).WithDetails(details(e))
}

// OutputBudget returns the maximum size of output, in bytes of JSON, in the result of this call.
func OutputBudget(sc tool.Scope) int {
	if sc.MaxOutput > 0 {
		return min(MaxOutput, sc.MaxOutput*3/4)
	}
	return MaxOutput
}

// streams returns both streams as text of at most room bytes as JSON; of longer ones the beginning and the end.
func streams(stdout, stderr []byte, room int) (out, err string, cut bool) {
	var cutOut, cutErr bool
	for limit := MaxStream; ; limit /= 2 {
		out, cutOut = project.TruncateMiddle(string(stdout), limit)
		err, cutErr = project.TruncateMiddle(string(stderr), limit)
		if limit <= project.MinText || JSONSize(out)+JSONSize(err) <= room {
			return out, err, cutOut || cutErr
		}
	}
}

// JSONSize returns the size of the text as JSON, in bytes.
func JSONSize(text string) int {
	if !strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf }) {
		return len(text) + len(`""`)
	}
	doc, _ := tool.Encode(text) // a string always encodes
	return len(doc)
}

// RedactFunc replaces the secrets in a JSON document that is about to be stored.
type RedactFunc func(json.RawMessage) json.RawMessage

// Text returns the redacted text; a text that cannot be read is replaced.
func (m RedactFunc) Text(text string) string {
	if text == "" {
		return ""
	}
	doc, err := tool.Encode(text)
	var masked string
	if err != nil || json.Unmarshal(m(doc), &masked) != nil {
		return "[withheld]"
	}
	return masked
}

// TriggeredBy returns who started something, as far as the call shows: an external request, the user at the command line, or an agent.
func TriggeredBy(sc tool.Scope) string {
	switch {
	case strings.HasPrefix(sc.Principal.ID, "webhook"):
		return "webhook"
	case strings.HasPrefix(sc.Client, "countersign-cli"):
		return "cli"
	}
	return "mcp"
}

// Labels returns a process's labels: this capability's, and the given ones.
func Labels(p project.Project, sc tool.Scope, more map[string]string) map[string]string {
	out := map[string]string{LabelCapability: CapabilityProjects, LabelProject: p.Path, LabelClient: sc.Client, LabelSession: sc.Session}
	maps.Copy(out, more)
	return out
}

// ParseTimeout converts a requested timeout in milliseconds. It fails with project.ErrArgument.
func ParseTimeout(ms int64) (time.Duration, error) {
	if ms < 1 || ms > MaxTimeout.Milliseconds() {
		return 0, project.ErrArgument.WithMessage("timeoutMs is not within 1 and %d", MaxTimeout.Milliseconds())
	}
	return time.Duration(ms) * time.Millisecond, nil
}

// CheckArgs fails with project.ErrArgument for arguments that are too long to show: over 32 KiB each, or 128 KiB together.
func CheckArgs(args []string) error {
	all := 0
	for i, a := range args {
		if all += len(a); len(a) > maxArg {
			return project.ErrArgument.WithMessage("argument %d has %d bytes; at most %d are passed on: write it into a file and name that", i+1, len(a), maxArg)
		}
	}
	if all > maxArgs {
		return project.ErrArgument.WithMessage("the args have %d bytes; at most %d are passed on: write them into a file and name that", all, maxArgs)
	}
	return nil
}
