package projectpages

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/app/projects"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// known is the stored data of a project.
type known struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Path        string `json:"path"`
	Description string `json:"description"`
	Settings    struct {
		EnvPass       []string `json:"envPass"`
		AllowLoopback bool     `json:"webhookAllowLoopback"`
		AllowHosts    []string `json:"webhookAllowHosts"`
	} `json:"settings"`
}

var errUnknown = fault.New(fault.NotFound, "project_unregistered", "project not found; see the list of registered projects")

// about makes a page about one project.
type about struct {
	*Section
	r   *http.Request
	v   httpauth.Identity
	of  known
	dir string // the directory that the page shows: the project's, or another worktree
}

// find returns the project that the request names.
func (s *Section) find(r *http.Request, v httpauth.Identity) (known, error) {
	var p known
	id := r.PathValue("id")
	if s.Calls.Serves(v, toolShow) {
		return p, s.Calls.Read(r.Context(), v, toolShow, ui.Args{"project": id}, &p)
	}
	var all projects.ProjectList
	err := s.Calls.Read(r.Context(), v, projects.ListProjects.Name, nil, &all)
	for _, p := range all.Projects {
		if string(p.ID) == id {
			return known{ID: id, Name: p.Name, Path: p.Path, Description: ui.Deref(p.Description)}, nil
		}
	}
	return p, cmp.Or(err, error(errUnknown))
}

// read calls a tool that only reads.
func (a *about) read(name tool.Name, args ui.Args, into any) error {
	return a.Calls.Read(a.r.Context(), a.v, name, args, into)
}

func (s *Section) show(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	of, err := s.find(r, v)
	if err != nil {
		s.Fail(w, v, err)
		return
	}
	a := &about{Section: s, r: r, v: v, of: of, dir: cmp.Or(r.URL.Query().Get("worktree"), of.Path)}
	p := ui.Page{Title: ui.Printable(of.Name), Crumbs: []ui.PageLink{{Text: "Projects", Href: root}}, Live: []string{"ai-tool-result", "background-process-status"}}
	if a.dir != of.Path {
		p.Crumbs, p.Title = append(p.Crumbs, ui.PageLink{Text: p.Title, Href: at(of.ID)}), "Worktree "+ui.Printable(a.dir)
	}
	p.Body = []ui.Node{a.tabs()}
	s.Show(w, r, v, p)
}

// The tabs of a project's page, besides those of workflows.
const (
	tabChanges   = "changes"
	tabBranches  = "branches"
	tabWorkflows = "workflows"
	tabActions   = "actions"
)

// tabs returns the tab bar and the tab that the request selects. The page of another worktree than the project's has only those about the directory.
func (a *about) tabs() ui.Node {
	tabs := []ui.Tab{
		{Text: "Overview", Body: func() ui.Node { return ui.Group{a.facts(), a.scripts(), a.tasks(), a.services()} }},
		{Key: tabChanges, Text: "Changes", Body: a.changes},
		{Key: tabBranches, Text: "Branches", Body: a.branches},
	}
	if a.dir == a.of.Path {
		tabs = append(tabs, ui.Tab{Key: tabWorkflows, Text: "Workflows", Body: func() ui.Node { return WorkflowsPart(a.SectionBase, a.r, a.v, a.of.ID) }},
			ui.Tab{Key: tabActions, Text: "Actions", Body: func() ui.Node { return ActionsPart(a.SectionBase, a.r, a.v, a.of) }},
			ui.Tab{Key: tabExecutions, Text: "Executions", Body: a.executions})
		if a.Calls.Serves(a.v, toolChange) {
			tabs = append(tabs, ui.Tab{Key: tabSettings, Text: "Settings", Body: a.settings})
		}
	}
	return ui.Tabbed(a.r, "Parts of this project", in(a.of, a.dir), tabs...)
}

// maxExecutions is the number of latest executions among which those of a project are found.
const maxExecutions = 200

// executions returns the executions in the project, newest first.
func (a *about) executions() ui.Node {
	var answer struct {
		Executions []projects.Execution `json:"executions"`
	}
	if err := a.read("list_action_executions", ui.Args{"limit": maxExecutions}, &answer); err != nil {
		return ui.ErrorNotice(err)
	}
	mine := slices.DeleteFunc(answer.Executions, func(e projects.Execution) bool { return e.ProjectID != a.of.ID })
	return ui.Group{ExecutionTable("executions in this project, newest first", mine, "No executions yet."), ui.P(ui.LinkTo(ExecutionsPath, "Executions of all projects"))}
}

// facts returns what is known about the directory: its type, its tools and its git status.
func (a *about) facts() ui.Node {
	var d struct {
		Remote   *string  `json:"gitRemote"`
		Branch   *string  `json:"currentBranch"`
		Manager  *string  `json:"packageManager"`
		Version  *string  `json:"packageManagerVersion"`
		Type     *string  `json:"projectType"`
		Node     *string  `json:"nodeVersion"`
		Monorepo bool     `json:"isMonorepo"`
		Tool     *string  `json:"monorepoTool"`
		Warnings []string `json:"warnings"`
	}
	if err := a.read("get_project", ui.Args{"path": a.of.Path}, &d); err != nil {
		return ui.ErrorNotice(err)
	}
	var warned ui.Group
	for _, w := range d.Warnings {
		warned = append(warned, ui.Notice(ui.Warn, ui.P(ui.OptionalText(w))))
	}
	manager := strings.TrimSpace(ui.Deref(d.Manager) + " " + ui.Deref(d.Version))
	mono := ui.Deref(d.Tool)
	if d.Monorepo {
		mono = cmp.Or(mono, "yes")
	}
	branch, status := ui.Deref(d.Branch), ui.Node(nil)
	var st present.GitStatus
	if err := a.read("get_worktree_status", ui.Args{"worktree_path": a.dir}, &st); err != nil {
		status = unknown(err)
	} else {
		branch = st.Branch
		status = ui.Group{badge(st.Changes), ui.Text(" "), ui.LinkTo(ui.TabPath(in(a.of, a.dir), tabChanges), "View changes")}
	}
	return ui.Group{warned, ui.Panel("Details", ui.Facts(ui.Fact{Name: "Directory", Value: ui.OptionalCode(a.dir)}, ui.Fact{Name: "Description", Value: ui.OptionalText(a.of.Description)},
		ui.Fact{Name: "Type", Value: ui.OptionalText(ui.Deref(d.Type))}, ui.Fact{Name: "Package manager", Value: ui.OptionalText(manager)},
		ui.Fact{Name: "Node", Value: ui.OptionalText(ui.Deref(d.Node))}, ui.Fact{Name: "Monorepo", Value: ui.OptionalText(mono)},
		ui.Fact{Name: "Branch", Value: ui.OptionalText(branch)}, ui.Fact{Name: "Git status", Value: status},
		ui.Fact{Name: "Remote", Value: ui.OptionalCode(ui.Deref(d.Remote))}))}
}

// scripts returns the scripts of package.json, each with buttons that run it.
func (a *about) scripts() ui.Node {
	var all struct {
		Scripts []struct {
			Name    string `json:"name"`
			Command string `json:"command"`
		} `json:"scripts"`
	}
	if err := a.read("list_project_scripts", ui.Args{"project_path": a.dir}, &all); err != nil && !strings.HasSuffix(err.Error(), "has no package.json, and so no scripts") { // no error: there is none to run
		return ui.Part("Scripts", ui.ErrorNotice(err))
	}
	var rows []ui.Node
	for i, script := range all.Scripts {
		rows = append(rows, ui.Row(ui.OptionalText(script.Name), ui.OptionalCode(script.Command), a.runs(fmt.Sprint("script-", i), script.Name)))
	}
	return ui.Part("Scripts", a.Calls.PolicyNotice(a.r.Context(), a.v, "Run scripts", "run_npm_script"), ui.DataTable("scripts of package.json", []string{"Name", "Command", "Run"}, rows, "No package.json with scripts."))
}

// tasks returns the tasks of other files, each with a button that runs it, and the members of the workspace.
func (a *about) tasks() ui.Node {
	var all projects.TaskList
	if err := a.read(projects.ListTasks.Name, ui.Args{"project_path": a.dir}, &all); err != nil {
		return ui.Part("Tasks", ui.ErrorNotice(err))
	}
	var rows []ui.Node
	count := map[string]int{}
	for _, t := range all.Tasks {
		count[t.Name]++
	}
	for i, t := range all.Tasks {
		if t.Packaged() {
			continue
		}
		name, command := t.Name, ui.OptionalCode(t.Command)
		if count[t.Name] > 1 {
			name = t.ID()
		}
		if t.Command == "" && len(t.Needs) > 0 {
			command = ui.Text("runs " + ui.Printable(strings.Join(t.Needs, ", ")))
		}
		rows = append(rows, ui.Row(ui.OptionalText(t.Name), ui.Text(string(t.Runner)), command, ui.OptionalText(t.Description), a.runsTask(fmt.Sprint("task-", i), name)))
	}
	var notes, members ui.Group
	for _, n := range all.Notes {
		notes = append(notes, ui.P(ui.Class("quiet"), ui.OptionalText(n)))
	}
	if w := all.Workspace; w != nil {
		var list []ui.Node
		for _, m := range w.Members {
			list = append(list, ui.Row(ui.OptionalText(m.Name), ui.OptionalCode(m.Dir), ui.Text(ui.Printable(strings.Join(m.Needs, ", "))), ui.Text(ui.Printable(strings.Join(m.Tasks, ", ")))))
		}
		members = ui.Group{ui.H3(ui.Text("Workspace: " + ui.Printable(strings.Join(w.Tools, ", ")))),
			ui.DataTable("members of the workspace", []string{"Member", "Directory", "Needs", "Tasks"}, list, "No members."),
			ui.Disclosure("Run a task in several members …", false, ui.PostForm(a.v, at(a.of.ID)+"/run", ui.Hidden("worktree", a.dir),
				ui.Field("members-task", "task", "Task", "", ui.Required()), ui.TextareaField("members-members", "members", "Members, one per line: names, directories or patterns; !NAME excludes (default: all)", ""),
				ui.Field("members-since", "since", "Only members changed since this commit, and members that need them (optional)", ""), ui.SubmitButton("Run in members")))}
	}
	return ui.Part("Tasks", ui.DataTable("tasks of other files", []string{"Name", "Runner", "Command", "Description", "Run"}, rows, "No task files such as Makefile, Taskfile, justfile, Cargo.toml or go.mod."), notes, members)
}

// runsTask returns the forms that run a task.
func (a *about) runsTask(id, name string) ui.Node {
	to, called := at(a.of.ID)+"/run", "task "+ui.Printable(name)
	fields := ui.Group{ui.Hidden("task", name), ui.Hidden("worktree", a.dir)}
	return ui.Group{
		ui.ActionForm(a.v, to, "Run", called, fields),
		ui.Disclosure("More options …", false, ui.PostForm(a.v, to, fields,
			ui.TextareaField(id+"-args", "args", "Arguments, one per line", ""),
			ui.CheckboxField(id+"-background", "background", "Run in the background (continues when the server stops)", false),
			ui.NumberField(id+"-timeout", "timeout", "Timeout in seconds (default 300; none in the background)", ""),
			ui.SubmitButton("Run", ui.Aria("label", "Run "+called+" with options")))),
	}
}

// runs returns the forms that run a script: with the defaults, in the background, or with options. The ids of its fields start with id.
func (a *about) runs(id, script string) ui.Node {
	to, called := at(a.of.ID)+"/run", ui.Printable(script)
	fields := ui.Group{ui.Hidden("script", script), ui.Hidden("worktree", a.dir)}
	return ui.Group{
		ui.ActionForm(a.v, to, "Run", called, fields),
		ui.ActionForm(a.v, to, "Run in background", called, fields, ui.Hidden("background", "true")),
		ui.Disclosure("More options …", false, ui.PostForm(a.v, to, fields,
			ui.TextareaField(id+"-args", "args", "Arguments, one per line", ""),
			ui.CheckboxField(id+"-background", "background", "Run in the background (continues when the server stops)", false),
			ui.Field(id+"-pattern", "pattern", "Background: wait for output that matches (regular expression, optional)", ""),
			ui.NumberField(id+"-patience", "patience", "Background: seconds to wait (default 30)", ""),
			ui.NumberField(id+"-timeout", "timeout", "Timeout in seconds (default 300; none in the background)", ""),
			ui.SubmitButton("Run", ui.Aria("label", "Run "+called+" with options")))),
	}
}

func (s *Section) run(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	of, err := s.find(r, v)
	if err != nil {
		s.Fail(w, v, err)
		return
	}
	script, dir := r.PostFormValue("script"), cmp.Or(r.PostFormValue("worktree"), of.Path)
	args := ui.Args{"projectPath": dir, "scriptName": script}.Flag("runInBackground", r.PostFormValue("background")).
		Number("timeoutMs", ui.Milliseconds(r.PostFormValue("timeout"))).Set("successPattern", r.PostFormValue("pattern")).
		Number("successTimeoutMs", ui.Milliseconds(r.PostFormValue("patience")))
	if lines := ui.Lines(r.PostFormValue("args")); len(lines) > 0 {
		args["args"] = lines
	}
	if task := r.PostFormValue("task"); task != "" {
		delete(args, "scriptName")
		args["task"] = task
		members, since := ui.Lines(r.PostFormValue("members")), strings.TrimSpace(r.PostFormValue("since"))
		if _, many := r.PostForm["members"]; many && len(members) == 0 && since == "" {
			members = []string{"*"}
		}
		if len(members) > 0 {
			args["members"] = members
		}
		s.Calls.Do(w, r, v, ui.Task{Title: "Run task " + ui.Printable(task) + " of " + ui.Printable(of.Name), Tool: projects.RunTask.Name, Args: args.Set("changedSince", since), Back: in(of, dir),
			Watch: WatchOutput(s.Calls, v), Show: TaskResult})
		return
	}
	s.Calls.Do(w, r, v, ui.Task{Title: "Run script " + ui.Printable(script) + " of " + ui.Printable(of.Name), Tool: "run_npm_script", Args: args, Back: in(of, dir),
		Watch: WatchOutput(s.Calls, v), Show: ScriptResult})
}

// in returns the path of the page of a project, or of one of its worktrees.
func in(of known, dir string) string {
	if dir == of.Path {
		return at(of.ID)
	}
	return at(of.ID) + "?worktree=" + url.QueryEscape(dir)
}
