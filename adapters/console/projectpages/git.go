package projectpages

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/app/projects/gitwork"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// gitAt returns the path that git forms of a project post to.
func gitAt(id, more string) string { return root + "/git/" + url.PathEscape(id) + more }

// found reads the uncommitted changes, the branches and the stashes. It returns a node to show instead if that fails.
func (a *about) found() (found gitwork.ChangesAnswer, instead ui.Node) {
	err := a.read(gitwork.Changes.Name, ui.Args{"path": a.dir}, &found)
	switch {
	case err != nil && fault.From(err).Code == codeNoRepository:
		return found, ui.Empty("Not a git repository.")
	case err != nil:
		return found, ui.ErrorNotice(err)
	}
	return found, nil
}

// changes returns the tab of uncommitted changes, hunk by hunk, with the forms that stage, commit, stash, push and pull.
func (a *about) changes() ui.Node {
	if !a.Calls.Serves(a.v, gitwork.Changes.Name) {
		return a.standing()
	}
	found, instead := a.found()
	if instead != nil {
		return instead
	}
	return ui.Group{a.gitFacts(found), a.Calls.PolicyNotice(a.r.Context(), a.v, "Change the repository", gitwork.Stage.Name), a.gitFiles("Staged", "unstage", "Unstage", found.Staged, "No staged changes."), a.committing(found),
		a.gitFiles("Not staged", "stage", "Stage", found.Unstaged, "No unstaged changes."), a.stashingChanges(found), a.syncing(found)}
}

// branches returns the tab of branches, stashes and worktrees.
func (a *about) branches() ui.Node {
	if !a.Calls.Serves(a.v, gitwork.Changes.Name) {
		return a.worktrees()
	}
	found, instead := a.found()
	if instead != nil {
		return instead
	}
	return ui.Group{a.branching(found), a.stashes(found), a.worktrees()}
}

// git redirects to the tab of changes.
func (s *Section) git(w http.ResponseWriter, r *http.Request, _ httpauth.Identity) {
	to := at(r.PathValue("id"))
	if tree := r.URL.Query().Get("worktree"); tree != "" {
		to += "?worktree=" + url.QueryEscape(tree)
	}
	http.Redirect(w, r, ui.TabPath(to, tabChanges), http.StatusSeeOther)
}

func (a *about) gitFacts(found gitwork.ChangesAnswer) ui.Node {
	branch := ui.OptionalText(found.Branch)
	if found.Branch == "" {
		branch = ui.Text("none (detached HEAD)")
	}
	upstream := ui.Text("none")
	if found.Upstream != "" {
		upstream = ui.Group{ui.OptionalCode(found.Upstream), ui.Text(fmt.Sprintf(" (%d ahead, %d behind, as of the last fetch)", found.Ahead, found.Behind))}
	}
	out := ui.Group{ui.Facts(ui.Fact{Name: "Directory", Value: ui.OptionalCode(found.Top)}, ui.Fact{Name: "Branch", Value: branch}, ui.Fact{Name: "Commit", Value: ui.OptionalCode(found.Head[:min(len(found.Head), 12)])},
		ui.Fact{Name: "Upstream", Value: upstream}, ui.Fact{Name: "In progress", Value: ui.OptionalText(found.Doing)})}
	if len(found.Conflicted) > 0 {
		out = append(out, ui.Notice(ui.Bad, ui.P(ui.Text("Resolve the conflicts in these files: "+ui.Printable(strings.Join(found.Conflicted, ", "))))))
	}
	if len(found.Filters) > 0 {
		out = append(out, ui.Notice(ui.Warn, ui.P(ui.Text("The repository configures filter programs, which Countersign does not run. Stage with git in a terminal. Filters: "+ui.Printable(strings.Join(found.Filters, ", "))))))
	}
	if found.MoreUntracked > 0 {
		out = append(out, ui.Notice(ui.Warn, ui.P(ui.Text(fmt.Sprintf("%d more untracked files are not shown.", found.MoreUntracked)))))
	}
	return out
}

// gitFiles returns changed files with checkboxes, and with one for each hunk that can be staged separately.
func (a *about) gitFiles(title, to, verb string, files []gitwork.ChangedFile, empty string) ui.Node {
	if len(files) == 0 {
		return ui.Part(title, ui.Empty(empty))
	}
	fields := ui.Group{ui.Hidden("worktree", a.dir)}
	for i, f := range files {
		id, what := fmt.Sprintf("%s-%d", to, i), f.Status
		if f.Untracked {
			what = "new"
		}
		line := fmt.Sprintf("%s: %s, +%d −%d", ui.Printable(f.Path), what, f.Added, f.Deleted)
		if f.Binary {
			line = ui.Printable(f.Path) + ": " + what + ", binary"
		}
		fields = append(fields, box(id, "file", f.Path, "Whole file "+line))
		var hunks ui.Group
		for n, h := range f.Hunks {
			label := fmt.Sprintf("Hunk %d of %s", n+1, ui.Printable(f.Path))
			if f.Status == "modified" && len(f.Hunks) > 1 {
				hunks = append(hunks, box(fmt.Sprintf("%s-%d", id, n), "hunk", h.ID, label))
			}
			if h.Text == "" {
				hunks = append(hunks, ui.P(ui.Class("quiet"), ui.Text("This hunk is too long to show. To see it, run: countersign git changes FILE")))
			} else {
				hunks = append(hunks, ui.Diff(strings.ToLower(title)+": "+label, ui.Output(h.Head+"\n"+h.Text)))
			}
		}
		if len(hunks) > 0 {
			fields = append(fields, ui.Disclosure("Changes in "+ui.Printable(f.Path), len(files) <= 10, hunks))
		}
	}
	return ui.Part(title, ui.PostForm(a.v, gitAt(a.of.ID, "/"+to), fields, ui.SubmitButton(verb+" selected")),
		ui.Div(ui.Class("buttons"), ui.ActionForm(a.v, gitAt(a.of.ID, "/"+to), verb+" all", "files of "+ui.Printable(a.of.Name), ui.Hidden("worktree", a.dir), ui.Hidden("file", "."))))
}

// box returns a checkbox with a value.
func box(id, name, value, label string) ui.Node {
	return ui.Div(ui.Class("check"), ui.Input(ui.ID(id), ui.Type("checkbox"), ui.Name(name), ui.Value(value)), ui.Label(ui.For(id), ui.Text(label)))
}

func (a *about) form(to string, fields ...ui.Node) ui.Node {
	return ui.PostForm(a.v, gitAt(a.of.ID, "/"+to), append([]ui.Node{ui.Hidden("worktree", a.dir)}, fields...)...)
}

func (a *about) committing(found gitwork.ChangesAnswer) ui.Node {
	if len(found.Staged) == 0 {
		return nil
	}
	return ui.Panel("Commit", a.form("commit", ui.TextareaField("commit-message", "message", "Commit message", ""),
		ui.CheckboxField("commit-amend", "amend", "Replace the last commit", false), ui.CheckboxField("commit-hooks", "hooks", "Run the repository's hooks", false), ui.SubmitButton("Commit")))
}

func (a *about) syncing(found gitwork.ChangesAnswer) ui.Node {
	if found.Branch == "" {
		return nil
	}
	return ui.Panel("Remote", ui.P(ui.Text("The plan shows the commits and the URL.")),
		ui.Div(ui.Class("buttons"), a.form("push", ui.SubmitButton("Push", ui.Aria("label", "Push "+ui.Printable(found.Branch)))), ui.If(found.Upstream != "", a.form("pull", ui.SubmitButton("Pull", ui.Aria("label", "Pull into "+ui.Printable(found.Branch)))))),
		ui.Disclosure("More options …", false, a.form("push", ui.Field("push-remote", "remote", "Remote (default: from git configuration)", ""),
			ui.CheckboxField("push-force", "force", "Overwrite fetched commits on the remote branch (--force-with-lease)", false),
			ui.CheckboxField("push-hooks", "hooks", "Run the pre-push hook", false), ui.SubmitButton("Push with options")),
			ui.If(found.Upstream != "", a.form("pull", ui.Hidden("merge", "true"), ui.SubmitButton("Pull with a merge commit")))))
}

func (a *about) branching(found gitwork.ChangesAnswer) ui.Node {
	var rows []ui.Node
	for _, b := range found.Branches {
		var can ui.Node
		state := ui.OptionalText(b.Place)
		if b.Current {
			state = ui.Badge(ui.Good, "checked out")
		} else if b.Place == "" {
			called := ui.Printable(b.Name)
			can = ui.Group{ui.ActionForm(a.v, gitAt(a.of.ID, "/switch"), "Switch", "to "+called, ui.Hidden("worktree", a.dir), ui.Hidden("name", b.Name)),
				a.form("branch", ui.Hidden("name", b.Name), ui.Hidden("delete", "true"), ui.Danger("Delete", ui.Aria("label", "Delete branch "+called)))}
		}
		rows = append(rows, ui.Row(ui.OptionalText(b.Name), ui.OptionalCode(b.Commit[:min(len(b.Commit), 12)]), ui.OptionalText(b.Upstream), state, can))
	}
	return ui.Part("Branches", ui.DataTable("branches", []string{"Name", "Commit", "Upstream", "Status", "Actions"}, rows, "No commits yet."),
		ui.Disclosure("New branch …", false, a.form("switch", ui.Field("branch-name", "name", "Branch name", "", ui.Required()), ui.Field("branch-from", "from", "Start point (default: current branch)", ""), ui.Hidden("create", "true"), ui.SubmitButton("Create and switch"))))
}

// stashes returns the stashes, with buttons that apply and drop them.
func (a *about) stashes(found gitwork.ChangesAnswer) ui.Node {
	var rows []ui.Node
	for _, one := range found.Stashes {
		act := func(label, action string) ui.Node {
			button := ui.SubmitButton
			if action == "drop" {
				button = ui.Danger
			}
			return a.form("stash", ui.Hidden("action", action), ui.Hidden("stash", one.Commit), button(label, ui.Aria("label", label+" "+ui.Printable(one.Name))))
		}
		rows = append(rows, ui.Row(ui.OptionalCode(one.Name), ui.OptionalText(one.Subject), ui.Group{act("Pop", "pop"), act("Apply", "apply"), act("Drop", "drop")}))
	}
	return ui.Part("Stashes", ui.DataTable("stashes", []string{"Name", "Message", "Actions"}, rows, "No stashes."))
}

// stashingChanges returns the form that stashes the uncommitted changes; nil if there are none.
func (a *about) stashingChanges(found gitwork.ChangesAnswer) ui.Node {
	if len(found.Staged)+len(found.Unstaged) == 0 {
		return nil
	}
	return ui.Disclosure("Stash changes …", false, a.form("stash", ui.Hidden("action", "push"), ui.Field("stash-message", "message", "Message (optional)", ""), ui.SubmitButton("Stash changes")))
}

// gitDo calls the git tool that a form names.
func (s *Section) gitDo(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	of, err := s.find(r, v)
	if err != nil {
		s.Fail(w, v, err)
		return
	}
	dir := cmp.Or(r.PostFormValue("worktree"), of.Path)
	args, form := ui.Args{"path": dir}, r.PostForm
	name, title, tab := tool.Name("git_"+r.PathValue("do")), "", tabChanges
	switch name {
	case gitwork.Stage.Name, gitwork.Unstage.Name:
		title = map[tool.Name]string{gitwork.Stage.Name: "Stage changes", gitwork.Unstage.Name: "Unstage changes"}[name]
		if files := form["file"]; len(files) > 0 {
			args["files"] = files
		}
		if hunks := form["hunk"]; len(hunks) > 0 {
			args["hunks"] = hunks
		}
	case gitwork.Commit.Name:
		title = "Commit"
		if text := strings.ReplaceAll(form.Get("message"), "\r\n", "\n"); text != "" || form.Get("amend") != "true" {
			args["message"] = text
		}
		args = args.Flag("hooks", form.Get("hooks")).Flag("amend", form.Get("amend"))
	case gitwork.Branch.Name:
		tab = tabBranches
		title = "Branch " + ui.Printable(form.Get("name"))
		args = args.Set("name", form.Get("name")).Flag("delete", form.Get("delete"))
	case gitwork.Switch.Name:
		tab = tabBranches
		title = "Switch to " + ui.Printable(form.Get("name"))
		args = args.Set("name", form.Get("name")).Set("from", form.Get("from")).Flag("create", form.Get("create"))
	case gitwork.Stash.Name:
		if form.Get("action") != "push" {
			tab = tabBranches
		}
		title = map[string]string{"push": "Stash changes", "pop": "Pop stash", "apply": "Apply stash", "drop": "Drop stash"}[form.Get("action")]
		args = args.Set("action", form.Get("action")).Set("message", form.Get("message")).Set("stash", form.Get("stash"))
	case gitwork.Push.Name:
		title = "Push"
		args = args.Set("remote", form.Get("remote")).Flag("force_with_lease", form.Get("force")).Flag("hooks", form.Get("hooks"))
	case gitwork.Pull.Name:
		title = "Pull"
		args = args.Flag("merge", form.Get("merge"))
	default:
		http.NotFound(w, r)
		return
	}
	s.Calls.Do(w, r, v, ui.Task{Title: cmp.Or(title, "Git") + " in " + ui.Printable(of.Name), Tool: name, Args: args, Back: ui.TabPath(in(of, dir), tab)})
}
