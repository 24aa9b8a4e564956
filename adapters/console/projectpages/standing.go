package projectpages

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/page"
	"github.com/countersign-dev/countersign/adapters/console/sectionpage"
	"github.com/countersign-dev/countersign/adapters/console/work"
	"github.com/countersign-dev/countersign/adapters/httpguard"
	"github.com/countersign-dev/countersign/adapters/present/answers"
	"github.com/countersign-dev/countersign/domain/fault"
)

// badge is the state of a work tree in a few words.
func badge(c answers.Changes) markup.Node {
	if c.Clean {
		return page.Badge(page.Good, "clean")
	}
	var parts []string
	for _, l := range c.Lists() {
		parts = append(parts, fmt.Sprintf("%d %s", l.Count, l.What))
	}
	tone := page.Warn
	if c.ConflictN > 0 {
		tone = page.Bad
	}
	return page.Badge(tone, strings.Join(parts, ", "))
}

// files is the names of what is changed, list by list.
func files(c answers.Changes) markup.Node {
	var out markup.Group
	for _, l := range c.Lists() {
		var more markup.Node
		if left := l.More(); left > 0 {
			more = markup.P(markup.Class("quiet"), page.Text(fmt.Sprintf("and %d more", left)))
		}
		out = append(out, page.Fold(fmt.Sprintf("%s%s: %s", strings.ToUpper(l.What[:1]), l.What[1:], sectionpage.Count(l.Count, "file", "files")), len(l.Names) <= 20,
			markup.Ul(markup.Map(l.Names, func(name string) markup.Node { return markup.Li(sectionpage.Code(name)) })), more))
	}
	return out
}

// standing is what git says of the work tree: its branch, its changes, and the diff of what is staged.
func (a *about) standing() markup.Node {
	const title = "Git"
	var st answers.Standing
	err := a.read("get_worktree_status", sectionpage.Args{"worktree_path": a.dir}, &st)
	switch {
	case err != nil && fault.From(err).Code == codeNoRepository:
		return page.Part(title, page.Empty("This directory is no git repository."))
	case err != nil:
		return page.Part(title, sectionpage.Tell(err))
	}
	branch := sectionpage.Text(st.Branch)
	if st.Detached {
		branch = page.Text("none: the head is detached")
	}
	upstream := page.Text("none")
	if st.Upstream != "" {
		upstream = markup.Group{sectionpage.Code(st.Upstream), page.Text(fmt.Sprintf(" (%d ahead, %d behind)", st.Ahead, st.Behind))}
	}
	return page.Part(title, page.Facts(page.Fact{Name: "State", Value: badge(st.Changes)}, page.Fact{Name: "Branch", Value: branch},
		page.Fact{Name: "Commit", Value: sectionpage.Code(st.Head)}, page.Fact{Name: "Upstream", Value: upstream}), files(st.Changes), a.staged(st.StagedN))
}

// staged is the diff of what is staged, with how much each file changes.
func (a *about) staged(files int) markup.Node {
	if files == 0 {
		return page.Empty("Nothing is staged.")
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
	if err := a.read("get_git_diff", sectionpage.Args{"worktree_path": a.dir}, &d); err != nil {
		return sectionpage.Tell(err)
	}
	var rows []markup.Node
	for _, f := range d.Files {
		name, lines := f.Path, fmt.Sprintf("+%d −%d", f.Plus, f.Minus)
		if f.From != "" {
			name = f.From + " → " + f.Path
		}
		if f.Binary {
			lines = "binary"
		}
		rows = append(rows, page.Row(sectionpage.Code(name), page.Text(lines)))
	}
	var cut markup.Node
	if d.Truncated {
		cut = markup.P(markup.Class("quiet"), page.Text(fmt.Sprintf("The diff has %d KB; a part of it is left out.", (d.Total+1023)>>10)))
	}
	return markup.Group{markup.H3(page.Text(fmt.Sprintf("Staged: +%d −%d lines", d.Plus, d.Minus))),
		page.Table("staged files", []string{"File", "Lines"}, rows, "No file is staged."), cut, page.Diff("diff of what is staged", page.Output(d.Diff))}
}

// worktrees are the repository's work trees, each with a page of its own.
func (a *about) worktrees() markup.Node {
	const title = "Worktrees"
	var all answers.Worktrees
	err := a.read("list_worktrees", sectionpage.Args{"project_path": a.of.Path}, &all)
	switch {
	case err != nil && fault.From(err).Code == codeNoRepository:
		return nil
	case err != nil:
		return page.Part(title, sectionpage.Tell(err))
	}
	var rows []markup.Node
	for _, t := range all.Worktrees {
		path := page.To(in(a.of, t.Path), page.Printable(t.Path))
		if t.Bare || t.Prunable || t.Path == a.dir {
			path = sectionpage.Code(t.Path)
		}
		rows = append(rows, page.Row(path, sectionpage.Text(t.Branch), sectionpage.Code(t.Commit()), page.Text(strings.Join(t.Marks(), ", "))))
	}
	return page.Part(title, page.Table("git worktrees", []string{"Directory", "Branch", "Commit", "State"}, rows, "There are none."))
}

// settings is what a person may change of the project: what it is called, and what its processes and webhooks may.
func (a *about) settings() markup.Node {
	if !a.Desk.Serves(a.v, toolChange) {
		return nil
	}
	set, to := a.of.Settings, at(a.of.ID)
	return markup.Group{page.Part("Settings", page.Form(a.v, to+"/settings",
		page.Field("name", "name", "Name", a.of.Name), page.Field("description", "description", "Description", a.of.Description),
		page.Area("env", "env", "Variables that its processes inherit beyond the usual, one a line", strings.Join(set.EnvPass, "\n")),
		page.Check("loopback", "loopback", "Webhooks may reach this machine, at the hosts below", set.AllowLoopback),
		page.Area("hosts", "hosts", "Hosts that webhooks may reach although they are private or plain (host:port, one a line)", strings.Join(set.AllowHosts, "\n")),
		page.Button("Save"))),
		page.Part("Unregister", page.Form(a.v, to+"/unregister", page.Danger("Unregister", markup.Aria("label", "Unregister "+page.Printable(a.of.Name))),
			markup.P(markup.Class("quiet"), page.Text("The project and its actions are forgotten; the directory and its workflows stay."))))}
}

func (s *Section) change(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	id := r.PathValue("id")
	args := sectionpage.Args{"project": id, "name": r.PostFormValue("name"), "description": r.PostFormValue("description"),
		"env_pass": list(r.PostFormValue("env")), "webhook_allow_loopback": r.PostFormValue("loopback") == "true", "webhook_allow_hosts": list(r.PostFormValue("hosts"))}
	s.Desk.Do(w, r, v, work.Task{Title: "Change project " + page.Printable(r.PostFormValue("name")), Tool: toolChange, Args: args, Back: at(id)})
}

// list is the lines of a field; none is an empty list, which says that nothing is wanted.
func list(text string) []string { return append([]string{}, sectionpage.Lines(text)...) }

func (s *Section) unregister(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	s.Desk.Do(w, r, v, work.Task{Title: "Unregister the project", Tool: toolRemove, Args: sectionpage.Args{"project": r.PathValue("id")}, Back: root})
}
