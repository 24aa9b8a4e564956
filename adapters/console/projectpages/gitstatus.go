package projectpages

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/fault"
)

// badge returns the git status of a worktree.
func badge(c present.Changes) ui.Node {
	if c.Clean {
		return ui.Badge(ui.Good, "clean")
	}
	var parts []string
	for _, l := range c.Lists() {
		parts = append(parts, fmt.Sprintf("%d %s", l.Count, l.What))
	}
	tone := ui.Warn
	if c.ConflictN > 0 {
		tone = ui.Bad
	}
	return ui.Badge(tone, strings.Join(parts, ", "))
}

// files returns the names of changed files, list by list.
func files(c present.Changes) ui.Node {
	var out ui.Group
	for _, l := range c.Lists() {
		var more ui.Node
		if left := l.More(); left > 0 {
			more = ui.P(ui.Class("quiet"), ui.Text(fmt.Sprintf("and %d more", left)))
		}
		out = append(out, ui.Disclosure(fmt.Sprintf("%s%s: %s", strings.ToUpper(l.What[:1]), l.What[1:], ui.Count(l.Count, "file", "files")), len(l.Names) <= 20,
			ui.Ul(ui.Map(l.Names, func(name string) ui.Node { return ui.Li(ui.OptionalCode(name)) })), more))
	}
	return out
}

// standing returns the git status: the branch, the changed files, and the diff of the staged ones.
func (a *about) standing() ui.Node {
	const title = "Git status"
	var st present.GitStatus
	err := a.read("get_worktree_status", ui.Args{"worktree_path": a.dir}, &st)
	switch {
	case err != nil && fault.From(err).Code == codeNoRepository:
		return ui.Part(title, ui.Empty("Not a git repository."))
	case err != nil:
		return ui.Part(title, ui.ErrorNotice(err))
	}
	branch := ui.OptionalText(st.Branch)
	if st.Detached {
		branch = ui.Text("none (detached HEAD)")
	}
	upstream := ui.Text("none")
	if st.Upstream != "" {
		upstream = ui.Group{ui.OptionalCode(st.Upstream), ui.Text(fmt.Sprintf(" (%d ahead, %d behind)", st.Ahead, st.Behind))}
	}
	return ui.Part(title, ui.Facts(ui.Fact{Name: "Status", Value: badge(st.Changes)}, ui.Fact{Name: "Branch", Value: branch},
		ui.Fact{Name: "Commit", Value: ui.OptionalCode(st.Head)}, ui.Fact{Name: "Upstream", Value: upstream}), files(st.Changes), a.staged(st.StagedN))
}

// staged returns the diff of the staged files, with the number of changed lines of each.
func (a *about) staged(files int) ui.Node {
	if files == 0 {
		return ui.Empty("No staged changes.")
	}
	var d struct {
		Diff  string `json:"diff"`
		Plus  int    `json:"insertions"`
		Minus int    `json:"deletions"`
		Files []struct {
			Path   string `json:"path"`
			From   string `json:"from"`
			Plus   int    `json:"insertions"`
			Minus  int    `json:"deletions"`
			Binary bool   `json:"binary"`
		} `json:"files"`
		Truncated bool  `json:"truncated"`
		Total     int64 `json:"totalBytes"`
	}
	if err := a.read("get_git_diff", ui.Args{"worktree_path": a.dir}, &d); err != nil {
		return ui.ErrorNotice(err)
	}
	var rows []ui.Node
	for _, f := range d.Files {
		name, lines := f.Path, fmt.Sprintf("+%d −%d", f.Plus, f.Minus)
		if f.From != "" {
			name = f.From + " → " + f.Path
		}
		if f.Binary {
			lines = "binary"
		}
		rows = append(rows, ui.Row(ui.OptionalCode(name), ui.Text(lines)))
	}
	var cut ui.Node
	if d.Truncated {
		cut = ui.P(ui.Class("quiet"), ui.Text(fmt.Sprintf("Diff truncated; it has %d KB in total.", (d.Total+1023)>>10)))
	}
	return ui.Group{ui.H3(ui.Text(fmt.Sprintf("Staged: +%d −%d lines", d.Plus, d.Minus))),
		ui.DataTable("staged files", []string{"File", "Lines"}, rows, "No staged files."), cut, ui.Diff("diff of what is staged", ui.Output(d.Diff))}
}

// worktrees returns the worktrees of the repository with links to their pages.
func (a *about) worktrees() ui.Node {
	const title = "Worktrees"
	var all present.Worktrees
	err := a.read("list_worktrees", ui.Args{"project_path": a.of.Path}, &all)
	switch {
	case err != nil && fault.From(err).Code == codeNoRepository:
		return nil
	case err != nil:
		return ui.Part(title, ui.ErrorNotice(err))
	}
	var rows []ui.Node
	for _, t := range all.Worktrees {
		path := ui.LinkTo(in(a.of, t.Path), ui.Printable(t.Path))
		if t.Bare || t.Prunable || t.Path == a.dir {
			path = ui.OptionalCode(t.Path)
		}
		rows = append(rows, ui.Row(path, ui.OptionalText(t.Branch), ui.OptionalCode(t.Commit()), ui.Text(strings.Join(t.Marks(), ", "))))
	}
	return ui.Part(title, ui.DataTable("git worktrees", []string{"Directory", "Branch", "Commit", "Status"}, rows, "No worktrees."))
}

// settings returns the form that changes the project, and the one that unregisters it.
func (a *about) settings() ui.Node {
	set, to := a.of.Settings, at(a.of.ID)
	return ui.Group{ui.Panel("General", ui.PostForm(a.v, to+"/settings",
		ui.Field("name", "name", "Name", a.of.Name), ui.Field("description", "description", "Description", a.of.Description),
		ui.TextareaField("env", "env", "Additional environment variables to pass, one per line", strings.Join(set.EnvPass, "\n")),
		ui.CheckboxField("loopback", "loopback", "Allow webhooks to this machine, to the hosts below", set.AllowLoopback),
		ui.TextareaField("hosts", "hosts", "Private or plain-HTTP hosts that webhooks can reach (host:port), one per line", strings.Join(set.AllowHosts, "\n")),
		ui.SubmitButton("Save project"))),
		ui.DangerPanel("Unregister project", ui.P(ui.Text("Removes the project and its actions from Countersign. The directory and the workflows are kept.")),
			ui.PostForm(a.v, to+"/unregister", ui.Danger("Unregister project", ui.Aria("label", "Unregister project "+ui.Printable(a.of.Name)))))}
}

func (s *Section) change(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	id := r.PathValue("id")
	args := ui.Args{"project": id, "name": r.PostFormValue("name"), "description": r.PostFormValue("description"),
		"env_pass": list(r.PostFormValue("env")), "webhook_allow_loopback": r.PostFormValue("loopback") == "true", "webhook_allow_hosts": list(r.PostFormValue("hosts"))}
	s.Calls.Do(w, r, v, ui.Task{Title: "Save project " + ui.Printable(r.PostFormValue("name")), Tool: toolChange, Args: args, Back: ui.TabPath(at(id), tabSettings)})
}

// list returns the lines of a field; an empty list, which clears the setting, if there are none.
func list(text string) []string { return append([]string{}, ui.Lines(text)...) }

func (s *Section) unregister(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.Calls.Do(w, r, v, ui.Task{Title: "Unregister project", Tool: toolRemove, Args: ui.Args{"project": r.PathValue("id")}, Back: root})
}
