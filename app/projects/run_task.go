package projects

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/app/projects/runner"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/shellcmd"
	"github.com/countersign-dev/countersign/domain/project/tasks"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/projectport"
)

// maxFilters is the maximum number of filters for members.
const maxFilters = 100

// RunTaskInput names a task, and where it runs.
type RunTaskInput struct {
	Path           string   `json:"projectPath"`
	Task           string   `json:"task" jsonschema:"minLength=1,description=or make:NAME"`
	Members        []string `json:"members,omitempty" jsonschema:"description=names or patterns; !NAME leaves out"`
	ChangedSince   string   `json:"changedSince,omitempty" jsonschema:"description=a commit"`
	Args           []string `json:"args,omitempty"`
	TimeoutMS      *int64   `json:"timeoutMs,omitempty"`
	Background     bool     `json:"runInBackground,omitempty"`
	SuccessPattern string   `json:"successPattern,omitempty"`
	SuccessMS      int64    `json:"successTimeoutMs,omitempty"`
	script         RunNPMInput
}

// Resources returns the project's path.
func (in *RunTaskInput) Resources() []string { return []string{in.Path} }

// Validate checks what does not need the project.
func (in *RunTaskInput) Validate() error {
	in.script = RunNPMInput{Path: in.Path, Script: in.Task, Args: in.Args, TimeoutMS: in.TimeoutMS, Background: in.Background, SuccessPattern: in.SuccessPattern, SuccessMS: in.SuccessMS}
	if len(in.Members) > maxFilters {
		return project.ErrArgument.WithMessage("there are %d members; at most %d are taken: use a pattern", len(in.Members), maxFilters)
	}
	if slices.Contains(in.Members, "") {
		return project.ErrArgument.WithMessage("a member has no name")
	}
	return in.script.Validate()
}

func (in *RunTaskInput) many() bool { return len(in.Members) > 0 || in.ChangedSince != "" }

// taskStep is a task in one directory, ready to run.
type taskStep struct {
	member   string // empty for the named directory
	site     runner.Site
	task     tasks.Task
	shown    taskShown
	open     []string // what cannot be determined without running it
	examined runner.ExamineResult
	spec     process.Spec
	manager  project.Manager
	version  string
	strategy string
	devLike  bool
}

// taskShown is what the user sees of a task in one directory.
type taskShown struct {
	Directory string                   `json:"directory"` // below the root of the project
	Task      string                   `json:"task"`
	Command   string                   `json:"command,omitempty"`  // as the file has it
	ReadAs    string                   `json:"read_as,omitempty"`  // the same with the runner's own variables as far as they are known
	Sets      []string                 `json:"sets,omitempty"`     // what its file says that affects how it runs
	Needs     []neededTask             `json:"needs,omitempty"`    // tasks that the runner starts with it
	Pre       string                   `json:"pre,omitempty"`      // of a script
	Post      string                   `json:"post,omitempty"`     // likewise
	Runner    string                   `json:"runner"`             // and its version, where that is known
	Argv      []string                 `json:"argv"`               // what is started
	Scripts   []runner.StartedScript   `json:"scripts,omitempty"`  // scripts of package.json that it starts in turn
	Settings  []project.ManagerSetting `json:"settings,omitempty"` // of package managers
}

// neededTask is a task that another starts.
type neededTask struct {
	Name    string `json:"name"`
	Command string `json:"command,omitempty"`
	ReadAs  string `json:"read_as,omitempty"`
	Sets    string `json:"sets,omitempty"` // one line each, without those of all tasks of the file
}

// taskPlan is the plan to run a task in one directory, or in several.
type taskPlan struct {
	runner.Plan
	in    RunTaskInput
	top   string
	steps []taskStep
	ready *ready
}

// aboutTask is what the user sees of it.
type aboutTask struct {
	Project    projectRef  `json:"project"`
	Task       string      `json:"task"`
	Cwd        string      `json:"cwd"` // parent of the steps' directories
	Background bool        `json:"background"`
	TimeoutMS  int64       `json:"timeout_ms,omitempty"` // of each step
	Pattern    string      `json:"success_pattern,omitempty"`
	PatternMS  int64       `json:"success_timeout_ms,omitempty"`
	EnvPassed  []string    `json:"env_passed,omitempty"`
	Steps      []taskShown `json:"steps"` // in the order in which they run
	process.Code
	Findings runner.Findings `json:"findings,omitempty"`
	Notes    []string        `json:"notes,omitempty"`
}

// planTask determines the present meaning of the task: in each directory the text in its file, what starts it, what it starts, and what the user
// should know.
func (s scriptService) planTask(ctx context.Context, _ tool.Scope, in RunTaskInput) (taskPlan, error) {
	site, err := s.Sites.Worktree(ctx, in.Path)
	if err != nil {
		return taskPlan{}, err
	}
	p := taskPlan{in: in, top: site.Dir, ready: in.script.ready}
	timeout, err := in.script.timeout()
	if err != nil {
		return p, err
	}
	shown := aboutTask{Project: projectRef{site.Project.ID, site.Project.Name, site.Project.Path}, Task: in.Task, Background: in.Background, TimeoutMS: timeout.Milliseconds()}
	if in.script.ready != nil {
		shown.Pattern, shown.PatternMS = in.SuccessPattern, in.script.ready.within.Milliseconds()
	}
	targets, notes, err := s.targets(ctx, site, &p)
	if err != nil {
		return p, err
	}
	shown.Cwd = p.top
	if shown.Notes = notes; in.Background && len(targets) > 1 {
		return p, project.ErrArgument.WithMessage("runInBackground is for one member, and %d were chosen; name one", len(targets))
	}
	var findings runner.Findings
	for _, t := range targets {
		one, env, err := s.step(ctx, t, in.Task, in.Args)
		if err != nil {
			return p, err
		}
		if !in.Background && (one.devLike || one.examined.DevLike != "") {
			return p, ErrForeground.WithMessage("%q (%s) runs until it is stopped; call run_task with runInBackground: true for its directory alone, and read it with get_background_process_output", in.Task, one.task.Command)
		}
		one.spec = process.Spec{Argv: one.shown.Argv, Dir: t.site.Dir, Env: env.Vars, Secrets: env.Secrets, Timeout: timeout}
		p.steps = append(p.steps, one)
		shown.Steps, shown.EnvPassed = append(shown.Steps, one.shown), env.Passed
		for _, note := range one.open {
			if !slices.Contains(shown.Notes, note) {
				shown.Notes = append(shown.Notes, note)
			}
		}
		for _, f := range slices.Concat(one.examined.Findings, optionsOf(one.task, in.Args), runner.ArgsOutside(t.site.Dir, in.Args), s.Runner.Hidden(append(one.examined.Parts(), one.shown)...)) {
			if !slices.Contains(findings, f) {
				findings = append(findings, f)
			}
		}
	}
	shown.Findings = findings
	return p, s.finish(&p, site, shown)
}

// finish makes the plan from what is shown.
func (s scriptService) finish(p *taskPlan, site runner.Site, shown aboutTask) error {
	first := p.steps[0]
	summary := fmt.Sprintf("run task %s%s of %s: %s", p.in.Task, spelled(p.in.Args), site.Title(), runner.OneLine(first.task.Command))
	switch {
	case p.in.many() && len(p.steps) == 1:
		summary = fmt.Sprintf("run task %s%s in %s of %s", p.in.Task, spelled(p.in.Args), first.member, site.Title())
	case p.in.many():
		summary = fmt.Sprintf("run task %s%s in %d members of %s", p.in.Task, spelled(p.in.Args), len(p.steps), site.Title())
	}
	assess := policy.Assessment{Strength: policy.Simple, Risk: shown.Findings.Risk(), Scope: string(site.Project.ID) + "/task/" + p.in.Task}
	less, err := runner.NewPlan(RunTask.Name, summary, shown, assess)
	if err != nil {
		return err
	}
	for _, one := range p.steps {
		for _, read := range one.examined.Code.Reads {
			if !slices.Contains(shown.Reads, read) {
				shown.Reads = append(shown.Reads, read)
			}
		}
		for _, note := range one.examined.Code.NotBound {
			if !slices.Contains(shown.NotBound, note) {
				shown.NotBound = append(shown.NotBound, note)
			}
		}
	}
	p.Plan, err = runner.NewPlan(RunTask.Name, summary, shown, assess)
	p.Plan = p.Plan.BoundBut(less).WithProject(site.Project.Name).Covering("task", p.in.Task, site.Project.Name)
	return err
}

// optionsOf returns findings for arguments that make reads as its own options: some of them are code.
func optionsOf(t tasks.Task, args []string) (out runner.Findings) {
	for _, a := range args {
		if t.Runner == tasks.Make && strings.HasPrefix(a, "-") {
			out = append(out, shellcmd.Finding{Rule: "argument_option", Verdict: shellcmd.VerdictHigh, Message: "make takes this argument for an option of its own", Fragment: a})
		}
	}
	return out
}

// target is a directory that the task runs in.
type target struct {
	member string
	site   runner.Site
}

// targets returns where the task runs: the named directory, or the selected members that have it, dependencies first.
func (s scriptService) targets(ctx context.Context, site runner.Site, p *taskPlan) (out []target, notes []string, err error) {
	if !p.in.many() {
		return []target{{site: site}}, nil, nil
	}
	find := finder{s.Runner}
	top, w, err := find.workspace(ctx, site)
	if err != nil {
		return nil, nil, err
	}
	p.top = top
	chosen, err := tasks.Select(w.Members, p.in.Members)
	if err != nil {
		return nil, nil, err
	}
	if p.in.ChangedSince != "" {
		files, err := s.Sites.Git.Changed(ctx, top, p.in.ChangedSince)
		if err != nil {
			return nil, nil, err
		}
		affected := tasks.Affected(w.Members, files)
		chosen = slices.DeleteFunc(chosen, func(m tasks.Member) bool {
			return !slices.ContainsFunc(affected, func(a tasks.Member) bool { return a.Dir == m.Dir })
		})
	}
	ordered, circle := tasks.Ordered(chosen)
	if len(circle) > 0 {
		notes = append(notes, "members with cyclic dependencies are sorted by directory: "+strings.Join(circle, ", "))
	}
	var without []string
	for _, m := range ordered {
		at := runner.Site{Project: site.Project, Dir: path.Join(top, m.Dir), Root: site.Root}
		if at.Dir, _, err = s.Runner.Dirs.Resolve(ctx, at.Dir, []string{site.Root}); err != nil {
			return nil, nil, err
		}
		found, err := find.tasks(ctx, site.Root, at.Dir)
		if err != nil {
			return nil, nil, err
		}
		if _, err := found.list.Find(p.in.Task); fault.From(err) != nil && fault.From(err).Code == project.ErrScriptNotFound.Code {
			without = append(without, m.Name)
			continue
		}
		out = append(out, target{m.Name, at})
	}
	if len(out) == 0 {
		return nil, nil, noTarget(p.in, len(w.Members), len(chosen))
	}
	if len(without) > 0 {
		notes = append(notes, "skipped, because they have no such task: "+strings.Join(without, ", "))
	}
	return out, notes, nil
}

// noTarget returns why a task runs nowhere.
func noTarget(in RunTaskInput, members, chosen int) error {
	switch {
	case members == 0:
		return project.ErrArgument.WithMessage("%s belongs to no workspace, so it has no members; list_project_tasks shows what it can run", in.Path)
	case chosen == 0 && in.ChangedSince != "":
		return project.ErrScriptNotFound.WithMessage("no member that was chosen was changed since %.100q, so there is nothing to run", in.ChangedSince)
	}
	return project.ErrScriptNotFound.WithMessage("none of the %d members that were chosen has a task %.100q; list_project_tasks shows what they have", chosen, in.Task)
}

// step examines the task in one directory: its command, and everything that it starts.
func (s scriptService) step(ctx context.Context, t target, name string, args []string) (taskStep, runner.Env, error) {
	one := taskStep{member: t.member, site: t.site}
	found, err := finder{s.Runner}.tasks(ctx, t.site.Root, t.site.Dir)
	if err != nil {
		return one, runner.Env{}, err
	}
	if one.task, err = found.list.Find(name); err != nil {
		if t.member != "" {
			f := fault.From(err)
			err = f.WithMessage("member %s: %s", t.member, f.Message)
		}
		return one, runner.Env{}, err
	}
	around, err := s.Runner.Around(ctx, t.site.Root, t.site.Dir)
	if err != nil {
		return one, runner.Env{}, err
	}
	texts, err := s.command(ctx, &one, found, around, args)
	if err != nil {
		return one, runner.Env{}, err
	}
	dir := strings.TrimPrefix(strings.TrimPrefix(t.site.Dir, t.site.Root), "/")
	if one.shown.Directory = dir; dir == "" {
		one.shown.Directory = "."
	}
	script := ""
	if one.task.Runner == tasks.Script {
		script = one.task.Name
	}
	one.examined, err = s.Runner.Examine(ctx, around, runner.Command{Root: t.site.Root, Dir: t.site.Dir, Texts: texts, Managed: script != "", Script: script})
	if err != nil {
		return one, runner.Env{}, err
	}
	one.shown.Scripts, one.shown.Settings = one.examined.Scripts, one.examined.Settings
	env, err := s.Runner.Environment(around, t.site.Project, nil)
	return one, env, err
}

// command sets what starts the task, and returns everything that is known to run as shell text.
func (s scriptService) command(ctx context.Context, one *taskStep, found foundTasks, around projectport.Surroundings, args []string) ([]string, error) {
	t := one.task
	one.shown.Task, one.shown.Command = t.ID(), t.Command
	if t.Runner == tasks.Script {
		c, err := shellcmd.BuildScriptCommand(found.facts, around.Tools, t.Name, args)
		if err != nil {
			return nil, err
		}
		one.manager, one.version, one.strategy, one.devLike = c.Manager, c.Version, c.Strategy, c.DevLike
		one.shown.Pre, one.shown.Post, one.shown.Argv, one.shown.Runner = c.Pre, c.Post, c.Argv, strings.TrimSpace(string(c.Manager)+" "+c.Version)
		text := c.Text
		if len(args) > 0 {
			text += " " + runner.QuoteArgs(args)
		}
		return []string{c.Pre, text, c.Post}, nil
	}
	for i, a := range args {
		if strings.ContainsRune(a, 0) {
			return nil, project.ErrArgument.WithMessage("argument %d of task %.100q contains a NUL character, which is not allowed in arguments", i+1, t.Name)
		}
	}
	program, err := s.Runner.Dirs.Program(ctx, one.site.Root, one.site.Dir, t.Argv[0])
	if err != nil {
		return nil, err
	}
	rest := slices.Clone(t.Argv[1:])
	if t.After && len(args) > 0 {
		rest = append(rest, "--")
	}
	rest = append(rest, args...)
	one.manager, one.strategy = project.Manager(t.Runner), shellcmd.ToolchainSystem
	one.devLike = shellcmd.LooksLongRunning(t.Name, t.Shell)
	one.shown.Argv, one.shown.Runner = append([]string{program}, rest...), string(t.Runner)
	texts := []string{t.Argv[0] + " " + runner.QuoteArgs(rest)}
	if t.Usual {
		return texts, nil
	}
	texts = append(texts, t.Shell)
	one.shown.Sets, one.open = t.Sets, t.Open
	for _, file := range t.Loads { // they are read as code, too
		texts = append(texts, t.Argv[0]+" "+map[tasks.Runner]string{tasks.Just: "--justfile", tasks.Taskfile: "--taskfile"}[t.Runner]+" "+runner.QuoteArgs([]string{file}))
	}
	if one.shown.ReadAs = readAs(t); t.Command == "" && len(t.Needs) == 0 {
		one.shown.Command = runner.OneLine(strings.Join(append([]string{t.Argv[0]}, rest...), " "))
	}
	for _, need := range found.list.Needed(t) {
		texts = append(texts, need.Shell)
		own := slices.DeleteFunc(slices.Clone(need.Sets), func(line string) bool { return slices.Contains(t.Sets, line) })
		one.shown.Needs = append(one.shown.Needs, neededTask{need.Name, need.Command, readAs(need), strings.Join(own, "\n")})
		for _, note := range need.Open {
			if !slices.Contains(one.open, note) {
				one.open = append(slices.Clone(one.open), note)
			}
		}
	}
	return texts, nil
}

// readAs returns a task's shell text if it says more than the file.
func readAs(t tasks.Task) string {
	if t.Shell == t.Command {
		return ""
	}
	return t.Shell
}

// TaskStep is the result of a task in one directory.
type TaskStep struct {
	Member    string   `json:"member,omitempty"`
	Directory string   `json:"directory"` // below the root of the project
	Task      string   `json:"task"`
	Runner    string   `json:"runner"`
	Argv      []string `json:"argv"`
	Status    string   `json:"status"` // completed, failed or skipped
	runner.ProcessResult
}

// TaskResult is the result of a task, in one directory or in several.
type TaskResult struct {
	Success    bool       `json:"success"`
	Background bool       `json:"background"`
	Task       string     `json:"task"`
	Steps      []TaskStep `json:"steps"`
}

// TaskAnswer is a task that ended, or that keeps running.
type TaskAnswer = RunAnswer[TaskResult]

// The states of a step.
const (
	stepDone    = "completed"
	stepFailed  = "failed"
	stepSkipped = "skipped"
)

// runTask runs the steps that were shown, one after the other, until one fails.
func (s scriptService) runTask(ctx context.Context, sc tool.Scope, p taskPlan) (TaskAnswer, error) {
	if p.in.Background {
		started, err := s.background(ctx, sc, p)
		return TaskAnswer{Started: &started}, err
	}
	out := &TaskResult{Task: p.in.Task, Steps: []TaskStep{}}
	for _, one := range p.steps {
		out.Steps = append(out.Steps, TaskStep{Member: one.member, Directory: one.shown.Directory, Task: one.shown.Task, Runner: one.shown.Runner, Argv: one.shown.Argv, Status: stepSkipped})
	}
	room := sc
	room.MaxOutput = max(runner.OutputBudget(sc)/len(p.steps), minStepOutput) * 4 / 3
	for i, one := range p.steps {
		what := "task " + one.task.Name
		if one.member != "" {
			what += " of " + one.member
		}
		if err := s.still(ctx, one, p.in, i > 0); err != nil {
			return TaskAnswer{Result: out}, fault.From(err).WithDetails(out)
		}
		one.spec.Labels = one.labels(sc)
		result, err := s.Runner.Wait(ctx, room, what, one.spec, func(e runner.ProcessResult) any {
			out.Steps[i].Status, out.Steps[i].ProcessResult = stepFailed, e
			return out
		})
		if err != nil {
			out.Steps[i].Status = stepFailed
			return TaskAnswer{Result: out}, err
		}
		out.Steps[i].Status, out.Steps[i].ProcessResult = stepDone, result
		if len(p.steps) > 1 {
			sc.Progress(tool.Progress{Done: int64(i + 1), Total: int64(len(p.steps)), Message: what + " is done"})
		}
	}
	out.Success = true
	return TaskAnswer{Result: out}, nil
}

// minStepOutput is the minimum of each step's output in a result, in bytes.
const minStepOutput = 1 << 10

func (one taskStep) labels(sc tool.Scope) map[string]string {
	return runner.Labels(one.site.Project, sc, map[string]string{runner.LabelScript: one.task.Name})
}

// still fails with project.ErrConflict if the task would no longer do what was shown. later is for a step after others, which may have made files
// that it reads.
func (s scriptService) still(ctx context.Context, one taskStep, in RunTaskInput, later bool) error {
	site, err := s.Sites.Worktree(ctx, one.site.Dir)
	if err != nil {
		return err
	}
	now, _, err := s.step(ctx, target{one.member, site}, in.Task, in.Args)
	if err != nil {
		return err
	}
	same := now.examined.Same
	if later {
		same = now.examined.Alike
	}
	a, b := now.shown, one.shown
	if site.Dir == one.site.Dir && a.Task == b.Task && a.Command == b.Command && a.ReadAs == b.ReadAs && a.Pre == b.Pre && a.Post == b.Post && slices.Equal(a.Argv, b.Argv) &&
		slices.Equal(a.Needs, b.Needs) && slices.Equal(a.Sets, b.Sets) && slices.Equal(now.open, one.open) && same(one.examined) {
		return nil
	}
	what := ""
	if a.Command == b.Command && !same(one.examined) {
		what = ": " + now.examined.Changed(one.examined)
	}
	return project.ErrConflict.WithMessage("what task %s runs in %s was changed while it was about to run%s; call again to see the new plan", in.Task, one.shown.Directory, what)
}

// background starts the only step that was shown, and leaves it running.
func (s scriptService) background(ctx context.Context, sc tool.Scope, p taskPlan) (StartedScript, error) {
	one := p.steps[0]
	if err := s.still(ctx, one, p.in, false); err != nil {
		return StartedScript{}, err
	}
	one.spec.Labels = one.labels(sc)
	return s.startProcess(ctx, sc, process.Spec(one.spec), p.ready, StartedScript{ScriptName: one.task.Name, Manager: one.manager, Version: one.version, Strategy: one.strategy, Command: one.task.Command})
}
