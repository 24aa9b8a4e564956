package projectcmd

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
)

// taskList is what a directory can run, as list_project_tasks answers it.
type taskList struct {
	Path      string `json:"path"`
	Manager   string `json:"packageManager"`
	Version   string `json:"packageManagerVersion"`
	Tasks     []task `json:"tasks"`
	Workspace *struct {
		Root    string   `json:"root"`
		Tools   []string `json:"tools"`
		Members []struct {
			Name  string   `json:"name"`
			Dir   string   `json:"dir"`
			Kinds []string `json:"kinds"`
			Needs []string `json:"dependsOn"`
			Tasks []string `json:"tasks"`
		} `json:"members"`
	} `json:"workspace"`
	Notes []string `json:"notes"`
}

// task is one that a directory can run.
type task struct {
	Name        string   `json:"name"`
	Runner      string   `json:"runner"`
	Command     string   `json:"command"`
	Description string   `json:"description"`
	Needs       []string `json:"needs"`
}

// has reports whether the directory can run what a word names. Any name may follow that of a runner whose tasks only it knows.
func (l taskList) has(word string) bool {
	runner, _, _ := strings.Cut(word, ":")
	return slices.ContainsFunc(l.Tasks, func(t task) bool {
		return t.Name == word || t.Runner+":"+t.Name == word || t.Runner == runner && (runner == "gradle" || runner == "mvn")
	})
}

func (g group) tasks() *cobra.Command {
	return &cobra.Command{Use: "tasks [PROJECT]", Short: "List the tasks of a project: scripts, Makefile, Taskfile, just, Cargo, Go …", Args: command.Args(0, 1), ValidArgsFunction: g.completeOne,
		Long: "List the tasks of a project's directory and their commands, read from its files without running anything.\n\n" +
			"Supported: package.json, Makefile, Taskfile, justfile, mise.toml, pyproject.toml (uv, Poetry, Hatch), composer.json, Cargo.toml with its aliases, go.mod, and the usual\n" +
			"tasks of Gradle and Maven. To run one: countersign run NAME, or make:NAME if several files have it.",
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := g.Dir(cmd.Context(), command.First(args))
			if err != nil {
				return err
			}
			return command.CallAndShow(cmd.Context(), g.Runner, "list_project_tasks", command.Arguments{"project_path": dir}, func(found taskList) {
				var rows [][]string
				for _, t := range found.Tasks {
					text, more, _ := strings.Cut(t.Command, "\n")
					if more != "" {
						text += " …"
					}
					if text == "" && len(t.Needs) > 0 {
						text = "first " + strings.Join(t.Needs, ", ")
					}
					rows = append(rows, []string{t.Name, t.Runner, text, t.Description})
				}
				if len(rows) == 0 {
					g.Note("no tasks found in %s", command.Plain(dir))
				} else {
					g.Table([]string{"task", "runner", "runs", "about"}, rows)
				}
				for _, note := range found.Notes {
					g.Note("%s", command.Plain(note))
				}
			})
		}}
}

func (g group) members() *cobra.Command {
	return &cobra.Command{Use: "members [PROJECT]", Short: "List the members of a project's workspace", Args: command.Args(0, 1), ValidArgsFunction: g.completeOne,
		Long: "List the packages of a monorepo (npm, pnpm, yarn, bun, Lerna, Nx, go.work, Cargo or uv) with their dependencies and tasks.\n" +
			"To run a task in some of them, dependencies first: countersign run TASK --member NAME",
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := g.Dir(cmd.Context(), command.First(args))
			if err != nil {
				return err
			}
			return command.CallAndShow(cmd.Context(), g.Runner, "list_project_tasks", command.Arguments{"project_path": dir}, func(found taskList) {
				if found.Workspace == nil {
					g.Note("%s is not part of a workspace", command.Plain(dir))
					return
				}
				if found.Manager != "" {
					g.Note("%s; package manager %s", command.Plain(strings.Join(found.Workspace.Tools, ", ")), command.Plain(strings.TrimSpace(found.Manager+" "+found.Version)))
				} else {
					g.Note("%s", command.Plain(strings.Join(found.Workspace.Tools, ", ")))
				}
				var rows [][]string
				for _, m := range found.Workspace.Members {
					rows = append(rows, []string{m.Name, m.Dir, strings.Join(m.Kinds, ", "), strings.Join(m.Needs, ", "), strings.Join(m.Tasks, ", ")})
				}
				g.Table([]string{"member", "directory", "kind", "needs", "tasks"}, rows)
				for _, note := range found.Notes {
					g.Note("%s", command.Plain(note))
				}
			})
		}}
}

// taskDir returns where a task runs that is no script of package.json: the directory that was named, or the nearest one upwards that has it. Where nothing has that name, it is
// the nearest directory that has tasks, which then names them; ok is false where a script of package.json has it, or there are no tasks.
func (g group) taskDir(ctx context.Context, w wish, name string) (dir string, ok bool) {
	dir, err := g.Dir(ctx, w.project)
	if err != nil {
		return "", false
	}
	scripts, err := g.ScriptDir(ctx, w.project)
	if err != nil || scripts != dir && g.hasScript(ctx, scripts, name) { // those of the directory itself stand among its tasks
		return "", false
	}
	nearest := ""
	for at := dir; ; at = filepath.Dir(at) {
		var found taskList
		if !g.Quietly(ctx, "list_project_tasks", command.Arguments{"project_path": at}, &found) {
			return nearest, nearest != ""
		}
		if at == scripts && slices.ContainsFunc(found.Tasks, func(t task) bool { return t.Runner == "script" && t.Name == name }) {
			return "", false
		}
		if found.has(name) {
			return at, true
		}
		if nearest == "" && slices.ContainsFunc(found.Tasks, func(t task) bool { return t.Runner != "script" }) {
			nearest = at
		}
		if w.project != "" || at == filepath.Dir(at) {
			return nearest, nearest != ""
		}
	}
}

func (g group) hasScript(ctx context.Context, dir, name string) bool {
	var v struct {
		Scripts []task `json:"scripts"`
	}
	return g.Quietly(ctx, "list_project_scripts", command.Arguments{"project_path": dir}, &v) && slices.ContainsFunc(v.Scripts, func(s task) bool { return s.Name == name })
}

// taskResult is what came of a task.
type taskResult struct {
	Steps []struct {
		ProgramResult
		Member    string `json:"member"`
		Directory string `json:"directory"`
		Status    string `json:"status"`
	} `json:"steps"`
}

// runTask runs a task in the directory, or in members of its workspace, and waits.
func (g group) runTask(ctx context.Context, call command.Arguments) error {
	_, some := call["members"]
	_, since := call["changedSince"]
	l := g.watch(ctx, some || since)
	o, err := g.Send(ctx, "run_task", call, l.progress())
	shown := l.end()
	var r taskResult
	if err != nil {
		if command.FailureDetails(err, &r) {
			g.drawSteps(call["task"].(string), r, shown)
		}
		return g.Failed(o, err)
	}
	if g.JSON {
		return g.Show(o)
	}
	if err := command.DecodeAnswer(o, &r); err != nil {
		return err
	}
	g.drawSteps(call["task"].(string), r, shown)
	return nil
}

// drawSteps shows what each step printed, unless it was shown while it ran, and how each ended.
func (g group) drawSteps(task string, r taskResult, shown bool) {
	for _, s := range r.Steps {
		name := s.Member
		if name == "" {
			name = task
		}
		if !shown && s.Status != "skipped" {
			if len(r.Steps) > 1 {
				g.Note("%s:", command.Plain(name))
			}
			g.Output(s.ProgramResult)
		}
		switch {
		case s.Status == "skipped":
			g.Note("%s: not run", command.Plain(name))
		case s.Status == "completed":
			g.Note("%s: done in %s", command.Plain(name), command.Took(s.Duration))
		case len(r.Steps) > 1:
			g.Note("%s: failed, %s", command.Plain(name), s.Ended())
		}
	}
}

// taskArguments turns those of a script into those of a task.
func taskArguments(call command.Arguments, dir string, w wish) command.Arguments {
	call["projectPath"], call["task"] = dir, call["scriptName"]
	delete(call, "scriptName")
	if len(w.members) > 0 {
		call["members"] = w.members
	}
	return call.Set("changedSince", w.since)
}

// completeMember completes the members of the workspace around the working directory.
func (g group) completeMember(cmd *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	dir, err := g.Dir(cmd.Context(), "")
	var found taskList
	if err != nil || !g.Quietly(cmd.Context(), "list_project_tasks", command.Arguments{"project_path": dir}, &found) || found.Workspace == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []cobra.Completion
	for _, m := range found.Workspace.Members {
		out = command.Offer(out, m.Name, m.Dir, begun)
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// many reports whether it is run in members of a workspace.
func (w wish) many() bool { return len(w.members) > 0 || w.since != "" }
