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
	"github.com/countersign-dev/countersign/domain/fault"
)

// changes is which files are not as they were committed. The lists may be shorter than the counts.
type changes struct {
	Staged      []string `json:"staged"`
	StagedN     int      `json:"staged_count"`
	Modified    []string `json:"modified"`
	ModifiedN   int      `json:"modified_count"`
	Untracked   []string `json:"untracked"`
	UntrackedN  int      `json:"untracked_count"`
	Conflicted  []string `json:"conflicted"`
	ConflictedN int      `json:"conflicted_count"`
	Clean       bool     `json:"clean"`
}

// badge is the state in a few words.
func (c changes) badge() markup.Node {
	if c.Clean {
		return page.Badge(page.Good, "clean")
	}
	var parts []string
	for _, n := range []struct {
		count int
		what  string
	}{{c.ConflictedN, "in conflict"}, {c.StagedN, "staged"}, {c.ModifiedN, "modified"}, {c.UntrackedN, "untracked"}} {
		if n.count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n.count, n.what))
		}
	}
	tone := page.Warn
	if c.ConflictedN > 0 {
		tone = page.Bad
	}
	return page.Badge(tone, strings.Join(parts, ", "))
}

// files is the names, list by list.
func (c changes) files() markup.Node {
	var out markup.Group
	for _, l := range []struct {
		title string
		names []string
		count int
	}{{"In conflict", c.Conflicted, c.ConflictedN}, {"Staged", c.Staged, c.StagedN}, {"Modified", c.Modified, c.ModifiedN}, {"Untracked", c.Untracked, c.UntrackedN}} {
		if l.count == 0 {
			continue
		}
		var more markup.Node
		if left := l.count - len(l.names); left > 0 {
			more = markup.P(markup.Class("quiet"), page.Text(fmt.Sprintf("and %d more", left)))
		}
		out = append(out, page.Fold(fmt.Sprintf("%s: %s", l.title, sectionpage.Count(l.count, "file", "files")), len(l.names) <= 20,
			markup.Ul(markup.Map(l.names, func(name string) markup.Node { return markup.Li(sectionpage.Code(name)) })), more))
	}
	return out
}

// standing is what git says of the work tree: its branch, its changes, and the diff of what is staged.
func (a *about) standing() markup.Node {
	const title = "Git"
	var st struct {
		Branch   string `json:"branch"`
		Head     string `json:"head"`
		Detached bool   `json:"detached"`
		Upstream string `json:"upstream"`
		Has      bool   `json:"has_upstream"`
		Ahead    int    `json:"ahead"`
		Behind   int    `json:"behind"`
		changes
	}
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
	if st.Has {
		upstream = markup.Group{sectionpage.Code(st.Upstream), page.Text(fmt.Sprintf(" (%d ahead, %d behind)", st.Ahead, st.Behind))}
	}
	return page.Part(title, page.Facts(page.Fact{Name: "State", Value: st.badge()}, page.Fact{Name: "Branch", Value: branch},
		page.Fact{Name: "Commit", Value: sectionpage.Code(st.Head)}, page.Fact{Name: "Upstream", Value: upstream}), st.files(), a.staged(st.StagedN))
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
	var all struct {
		Worktrees []struct {
			Path     string `json:"path"`
			Branch   string `json:"branch"`
			Head     string `json:"head"`
			Main     bool   `json:"is_main"`
			Bare     bool   `json:"is_bare"`
			Detached bool   `json:"is_detached"`
			Locked   bool   `json:"locked"`
			Prunable bool   `json:"prunable"`
		} `json:"worktrees"`
	}
	err := a.read("list_worktrees", sectionpage.Args{"project_path": a.of.Path}, &all)
	switch {
	case err != nil && fault.From(err).Code == codeNoRepository:
		return nil
	case err != nil:
		return page.Part(title, sectionpage.Tell(err))
	}
	var rows []markup.Node
	for _, t := range all.Worktrees {
		var said []string
		for _, w := range []struct {
			so   bool
			word string
		}{{t.Main, "main"}, {t.Bare, "bare"}, {t.Detached, "detached"}, {t.Locked, "locked"}, {t.Prunable, "directory gone"}} {
			if w.so {
				said = append(said, w.word)
			}
		}
		path := page.To(in(a.of, t.Path), page.Printable(t.Path))
		if t.Bare || t.Prunable || t.Path == a.dir {
			path = sectionpage.Code(t.Path)
		}
		rows = append(rows, page.Row(path, sectionpage.Text(t.Branch), sectionpage.Code(t.Head[:min(len(t.Head), 12)]), page.Text(strings.Join(said, ", "))))
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
