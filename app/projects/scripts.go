package projects

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/projects/runner"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/shellcmd"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/projectport"
)

// The typed handles.
var (
	RunScript        = tool.Ref[RunInput, ScriptResult]{Name: "run_script"}
	RunNPMScript     = tool.Ref[RunNPMInput, NPMScriptAnswer]{Name: "run_npm_script"}
	ListProcesses    = tool.Ref[NoInput, ProcessList]{Name: "list_background_processes"}
	GetProcessOutput = tool.Ref[OutputInput, OutputAnswer]{Name: "get_background_process_output"}
	RunTask          = tool.Ref[RunTaskInput, TaskAnswer]{Name: "run_task"}
	StopProcess      = tool.Ref[StopInput, StoppedProcess]{Name: "stop_background_process"}
)

// ScriptDeps holds the dependencies of the tools. Every field is required.
type ScriptDeps struct {
	Sites  runner.SiteFinder
	Runner runner.Runner
	Probes projectport.Probes
}

// NoInput is the input of a tool without arguments.
type NoInput struct{}

// RunInput names a script of a project.
type RunInput struct {
	Script string `json:"script_name" jsonschema:"minLength=1,description=name of the script in package.json; list_project_scripts shows them"`
	Path   string `json:"project_path" jsonschema:"minLength=1,description=absolute path of the registered project"`
}

// Resources returns the project's path.
func (in RunInput) Resources() []string { return []string{in.Path} }

// ScriptEntries returns the tools.
func ScriptEntries(d ScriptDeps) []tool.Entry {
	s := scriptService{d}
	entries := []tool.Entry{
		bind.Command(RunScript, runner.ExecuteSpec(runner.CategoryScripts, "Run script", "Run a package.json script of a registered project with its package manager and wait for it. "+
			"Asks for a confirmation that shows the real command. A script that serves or watches belongs to run_npm_script with runInBackground.", runSchema),
			func(ctx context.Context, _ tool.Scope, in RunInput) (runPlan, error) {
				return s.plan(ctx, "run_script", RunNPMInput{Path: in.Path, Script: in.Script})
			}, s.foreground),
		bind.Command(RunNPMScript, runner.ExecuteSpec(runner.CategoryScripts, "Run npm script", "Run a package.json script with arguments, a time limit, or in the background, where it outlives this server. "+
			"get_background_process_output reads it, stop_background_process ends it.", runNPMSchema),
			func(ctx context.Context, _ tool.Scope, in RunNPMInput) (runPlan, error) {
				return s.plan(ctx, "run_npm_script", in)
			}, s.either),
		bind.Command(RunTask, runner.ExecuteSpec(runner.CategoryScripts, "Run task", "Run a task of list_project_tasks, like make or cargo tasks. "+
			"With members or changedSince: in those members of a workspace, dependencies first, until one fails.", runTaskSchema), s.planTask, s.runTask),
		bind.Query(ListProcesses, runner.ReadSpec(runner.CategoryBackground, "List background processes", "List the processes that run in the background for any client on this machine, and those that ended recently.", noSchema), s.list),
		bind.Query(GetProcessOutput, runner.ReadSpec(runner.CategoryBackground, "Background process output", "Read a background process's output: the last lines, or with sinceSeq only those after the nextSeq of an earlier answer.", outputSchema), s.output),
		bind.Command(StopProcess, stopping(runner.ExecuteSpec(runner.CategoryBackground, "Stop background process", "Stop a background process and everything it started; force kills it at once.", stopSchema)), s.planStop, s.stop),
	}
	return append(entries, s.serviceEntries()...)
}

// stopping starts nothing and uses no network, and does not change what has ended.
func stopping(s tool.Spec) tool.Spec {
	s.Effects, s.Idempotent = policy.Read|policy.Exec, true
	return s
}

type scriptService struct{ ScriptDeps }

// runPlan is the plan to run a script.
type runPlan struct {
	runner.Plan
	command    shellcmd.ScriptCommand
	args       []string
	tools      shellcmd.Toolchain
	site       runner.Site
	examined   runner.ExamineResult
	toolchain  toolchain
	spec       process.Spec
	background bool
	ready      *ready
}

// labels returns those of the script's process.
func (p runPlan) labels(sc tool.Scope) map[string]string {
	return runner.Labels(p.site.Project, sc, map[string]string{runner.LabelScript: p.command.Name})
}

// toolchain is what decides which package manager runs (packageflow contract §2.6, row 20).
type toolchain struct {
	VoltaAvailable bool              `json:"volta_available"`
	Volta          map[string]string `json:"volta_config"`    // versions pinned in package.json; null without
	Corepack       *string           `json:"corepack_config"` // the packageManager field; null without
}

func toolchainOf(f project.Facts, tools shellcmd.Toolchain) toolchain {
	t := toolchain{VoltaAvailable: tools.Volta != ""}
	if len(f.Manifest.Volta) > 0 {
		t.Volta = f.Manifest.Volta
	}
	if f.Corepack {
		t.Corepack = &f.Declared
	}
	return t
}

// about is what the user sees of a script before it runs.
type about struct {
	Project projectRef `json:"project"`
	shellcmd.ScriptCommand
	Cwd          string                   `json:"cwd"`
	Background   bool                     `json:"background"`
	TimeoutMS    int64                    `json:"timeout_ms,omitempty"`
	Pattern      string                   `json:"success_pattern,omitempty"`
	PatternMS    int64                    `json:"success_timeout_ms,omitempty"`
	EnvPassed    []string                 `json:"env_passed,omitempty"` // names of variables passed on because of the project's settings
	Scripts      []runner.StartedScript   `json:"scripts,omitempty"`    // scripts of package.json that it starts in turn
	Settings     []project.ManagerSetting `json:"settings,omitempty"`   // of the project's own package manager files, as far as they decide what runs
	process.Code                          // the files that are read as code, and what the plan does not cover
	Findings     runner.Findings          `json:"findings,omitempty"`
	Notes        []string                 `json:"notes,omitempty"`
}

type projectRef struct {
	ID   project.ID `json:"id"`
	Name string     `json:"name"`
	Path string     `json:"path"`
}

// plan works out what running the script means now: the very text in package.json, what starts it, what it starts, and what the user should
// know of it.
func (s scriptService) plan(ctx context.Context, name tool.Name, in RunNPMInput) (runPlan, error) {
	site, err := s.Sites.Worktree(ctx, in.Path)
	if err != nil {
		return runPlan{}, err
	}
	p := runPlan{args: in.Args, site: site, background: in.Background, ready: in.ready}
	around, facts, err := s.look(ctx, &p, in.Script)
	if err != nil {
		return runPlan{}, err
	}
	if !in.Background && (p.command.DevLike || p.examined.DevLike != "") {
		return runPlan{}, ErrForeground.WithMessage("%q (%s) runs until it is stopped; call run_npm_script with runInBackground: true, and read it with get_background_process_output", in.Script, p.command.Text)
	}
	env, err := s.Runner.Environment(around, site.Project, nil)
	if err != nil {
		return runPlan{}, err
	}
	timeout, err := in.timeout()
	if err != nil {
		return runPlan{}, err
	}
	hidden := s.Runner.Hidden(append(p.examined.Parts(), p.command.Pre, p.command.Text, p.command.Post, p.command.Argv)...)
	findings := slices.Concat(p.examined.Findings, runner.ArgsOutside(site.Dir, in.Args), hidden)
	p.tools, p.toolchain = around.Tools, toolchainOf(facts, around.Tools)
	p.spec = process.Spec{Argv: p.command.Argv, Dir: site.Dir, Env: env.Vars, Secrets: env.Secrets, Timeout: timeout}
	shown := about{Project: projectRef{site.Project.ID, site.Project.Name, site.Project.Path}, ScriptCommand: p.command, Cwd: site.Dir, Background: in.Background,
		TimeoutMS: timeout.Milliseconds(), EnvPassed: env.Passed, Scripts: p.examined.Scripts, Settings: p.examined.Settings, Findings: findings, Notes: facts.Manifest.Notes}
	if in.ready != nil {
		shown.Pattern, shown.PatternMS = in.SuccessPattern, in.ready.within.Milliseconds()
	}
	summary, assess := "run script "+in.Script+" of "+site.Title()+": "+p.command.Text+spelled(in.Args), policy.Assessment{Strength: policy.Simple, Risk: findings.Risk(), Scope: string(site.Project.ID) + "/" + in.Script}
	less, err := runner.NewPlan(name, summary, shown, assess)
	if err != nil {
		return runPlan{}, err
	}
	shown.Code = p.examined.Code
	p.Plan, err = runner.NewPlan(name, summary, shown, assess)
	if err != nil {
		return p, err
	}
	if p.Plan = p.Plan.BoundBut(less).WithProject(site.Project.Name).Covering("script", in.Script, site.Project.Name); name != RunNPMScript.Name { // the others take no arguments
		return p, nil
	}
	if bare, ok := s.bare(ctx, p, in, shown); ok {
		p.Plan, err = p.Plan.Loosely(bare)
	}
	return p, err
}

// maxSpelled is the maximum size of arguments in a summary, in bytes; the plan has all of them.
const maxSpelled = 240

// spelled returns a script's arguments for its summary, after its command, each quoted unless it is one plain word. Arguments that are too long are
// not cut, because half a secret would not be masked: their length is shown instead.
func spelled(args []string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@%+,"
	var b strings.Builder
	for i, arg := range args {
		word := arg
		if arg == "" || strings.Trim(arg, plain) != "" {
			word = strconv.QuoteToGraphic(arg)
		}
		if len(word) > maxSpelled/2 {
			word = fmt.Sprintf("[%d bytes]", len(arg))
		}
		if b.Len()+len(word) > maxSpelled {
			fmt.Fprintf(&b, " [and %d more]", len(args)-i)
			break
		}
		b.WriteString(" " + word)
	}
	return b.String()
}

// bare returns what is shown of a script without its arguments and what depends on them: its timeout, and the files that they name. It returns
// nothing if the script cannot be examined without them.
func (s scriptService) bare(ctx context.Context, p runPlan, in RunNPMInput, shown about) (about, bool) {
	if p.args = nil; len(in.Args) > 0 {
		if _, _, err := s.look(ctx, &p, in.Script); err != nil {
			return about{}, false
		}
	}
	shown.ScriptCommand, shown.Argv = p.command, nil
	shown.Scripts, shown.Settings, shown.Code = p.examined.Scripts, p.examined.Settings, p.examined.Code
	shown.TimeoutMS, shown.Pattern, shown.PatternMS, shown.Findings = 0, "", 0, nil
	return shown, true
}

// look examines the script as it is now: its command, and everything that it starts.
func (s scriptService) look(ctx context.Context, p *runPlan, name string) (projectport.Surroundings, project.Facts, error) {
	facts, err := s.Runner.Facts(ctx, p.site.Root, p.site.Dir)
	if err != nil {
		return projectport.Surroundings{}, facts, err
	}
	around, err := s.Runner.Around(ctx, p.site.Root, p.site.Dir)
	if err != nil {
		return around, facts, err
	}
	if p.tools.Managers != nil { // the approved ones
		around.Tools = p.tools
	}
	if p.command, err = shellcmd.BuildScriptCommand(facts, around.Tools, name, p.args); err != nil {
		return around, facts, err
	}
	text := p.command.Text
	if len(p.args) > 0 {
		text += " " + runner.QuoteArgs(p.args) // as the package manager appends them
	}
	p.examined, err = s.Runner.Examine(ctx, around, runner.Command{Root: p.site.Root, Dir: p.site.Dir, Texts: []string{p.command.Pre, text, p.command.Post}, Managed: true, Script: name})
	return around, facts, err
}

// ScriptResult is the result of a script that ended.
type ScriptResult struct {
	Success    bool            `json:"success"`
	Background bool            `json:"background"`
	Script     string          `json:"script"`
	ScriptName string          `json:"script_name"`
	Manager    project.Manager `json:"package_manager"`
	Version    string          `json:"package_manager_version,omitempty"`
	Strategy   string          `json:"toolchain_strategy"`
	toolchain
	Command string   `json:"command"`
	Argv    []string `json:"argv"`
	runner.ProcessResult
}

func (p runPlan) ran(e runner.ProcessResult, ok bool) ScriptResult {
	return ScriptResult{Success: ok, Script: p.command.Name, ScriptName: p.command.Name, Manager: p.command.Manager, Version: p.command.Version,
		Strategy: p.command.Strategy, toolchain: p.toolchain, Command: p.command.Text, Argv: p.command.Argv, ProcessResult: e}
}

// foreground runs the script that was shown and waits for its end.
func (s scriptService) foreground(ctx context.Context, sc tool.Scope, p runPlan) (ScriptResult, error) {
	if err := s.unchanged(ctx, p); err != nil {
		return ScriptResult{}, err
	}
	p.spec.Labels = p.labels(sc)
	e, err := s.Runner.Wait(ctx, sc, "script "+p.command.Name, p.spec, func(e runner.ProcessResult) any { return p.ran(e, false) })
	return p.ran(e, err == nil), err
}

// unchanged fails with project.ErrConflict if the script, what it starts, the settings that decide how, or its directory are no longer the approved
// ones. Everything is examined again just before the package manager reads it.
func (s scriptService) unchanged(ctx context.Context, p runPlan) error {
	now := p
	var err error
	if now.site, err = s.Sites.Worktree(ctx, p.spec.Dir); err != nil {
		return err
	}
	if _, _, err := s.look(ctx, &now, p.command.Name); err != nil {
		return err
	}
	same := now.site.Dir == p.spec.Dir && now.command.Text == p.command.Text && now.command.Pre == p.command.Pre && now.command.Post == p.command.Post &&
		slices.Equal(now.command.Argv, p.command.Argv) && now.examined.Same(p.examined)
	if !same {
		what := ""
		if now.command.Text == p.command.Text && !now.examined.Same(p.examined) {
			what = ": " + now.examined.Changed(p.examined)
		}
		return project.ErrConflict.WithMessage("what script %s runs was changed while it was about to run%s; call again to see the new plan", p.command.Name, what)
	}
	return nil
}
