package sandboxpages

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/app/sandboxes"
)

// workPath returns the page of a sandbox's work.
func workPath(of sandboxes.ProjectItem, box string) string {
	return at(of.Name, "/work/"+url.PathEscape(box))
}

// work shows what a sandbox changes against its base, and what can be done with it.
func (s *section) work(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.about(w, r, v, func(of sandboxes.ProjectItem) {
		var d sandboxes.SandboxComparison
		if err := s.Calls.Read(r.Context(), v, sandboxes.SandboxDiff.Name, ui.Args{"git_url": of.URL, "name": r.PathValue("box")}.Set("base", r.URL.Query().Get("base")).Flag("since_review", r.URL.Query().Get("since_review")), &d); err != nil {
			s.Fail(w, v, err)
			return
		}
		var said sandboxes.ReviewComments
		if err := s.Calls.Read(r.Context(), v, sandboxes.SandboxReview.Name, ui.Args{"git_url": of.URL, "name": d.Name}, &said); err != nil {
			s.Fail(w, v, err)
			return
		}
		s.Show(w, r, v, ui.Page{Title: "Work in " + ui.Printable(d.Name), Crumbs: crumbs(ui.PageLink{Text: ui.Printable(of.Name), Href: at(of.Name, "")}), Live: []string{"ai-tool-result"},
			Body: []ui.Node{standing(d), uncommitted(d), looked(v, of, d, r.URL.Query().Get("since_review") == "true" && d.Seen != nil), comments(v, of, said), integrating(v, of, d), commitTable(d), fileTable(d), lines(d)}})
	})
}

// looked says what has changed since a person marked the work as seen, and marks it as it is shown.
func looked(v httpauth.Identity, of sandboxes.ProjectItem, d sandboxes.SandboxComparison, since bool) ui.Node {
	page := workPath(of, d.Name)
	about := ui.Group{ui.P(ui.Text("Nobody has marked this work as seen yet."))}
	switch {
	case since:
		about = ui.Group{ui.P(ui.Text("Only what has changed since it was marked as seen ("), ui.When(d.Seen.At), ui.Text(") is below. "), ui.LinkTo(page, "All of it"))}
	case d.Seen != nil && d.Again > 0:
		about = ui.Group{ui.P(ui.Text(ui.Count(d.Again, "file", "files")+" changed since it was marked as seen ("), ui.When(d.Seen.At), ui.Text("). "), ui.LinkTo(page+"?since_review=true", "Only these lines"))}
	case d.Seen != nil:
		about = ui.Group{ui.P(ui.Text("Nothing has changed since it was marked as seen ("), ui.When(d.Seen.At), ui.Text(")."))}
	}
	if d.Seen == nil || d.Seen.Files != d.FilesID {
		about = append(about, ui.ActionForm(v, at(of.Name, "/seen"), "Mark as seen", "sandbox "+ui.Printable(d.Name), ui.Hidden("box", d.Name), ui.Hidden("seen", d.FilesID)))
	}
	return ui.Part("Your review", about)
}

// comments lists what was said of the work, and adds to it.
func comments(v httpauth.Identity, of sandboxes.ProjectItem, said sandboxes.ReviewComments) ui.Node {
	box := ui.Hidden("box", said.Name)
	var rows []ui.Node
	for _, c := range said.Comments {
		number, where := strconv.Itoa(c.Number), ui.Printable(c.Path)
		if c.Line > 0 {
			where += ":" + strconv.Itoa(c.Line)
		}
		state := ui.Badge(ui.Plain, "settled")
		if !c.Done {
			state = ui.ActionForm(v, at(of.Name, "/comment"), "Settle", "comment "+number, box, ui.Hidden("done", number))
		}
		rows = append(rows, ui.Row(ui.Text(number), ui.Text(where), ui.OptionalText(c.Text), ui.When(c.At), state))
	}
	return ui.Part("Comments", ui.P(ui.Text("The agent in the sandbox reads them with the tool sandbox_review. Start it again to have it go on.")),
		ui.DataTable("comments on the work", []string{"Number", "Where", "Comment", "When", "State"}, rows, "Nobody has commented on this work."),
		ui.Disclosure("Add a comment", false, ui.PostForm(v, at(of.Name, "/comment"), box, ui.Field("comment-text", "text", "Comment", ""),
			ui.Field("comment-path", "path", "File (empty: all of the work)", ""), ui.NumberField("comment-line", "line", "Line (may be empty)", ""),
			ui.SubmitButton("Comment", ui.Aria("label", "Comment on sandbox "+ui.Printable(said.Name))))))
}

func (s *section) comment(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.about(w, r, v, func(of sandboxes.ProjectItem) {
		name, done := r.PostFormValue("box"), r.PostFormValue("done")
		title := "Comment on sandbox " + ui.Printable(name)
		if done != "" {
			title = "Settle a comment on sandbox " + ui.Printable(name)
		}
		s.Calls.Do(w, r, v, ui.Task{Title: title, Tool: sandboxes.SandboxComment.Name, Back: workPath(of, name),
			Args: ui.Args{"git_url": of.URL, "name": name}.Set("text", r.PostFormValue("text")).Set("path", r.PostFormValue("path")).
				Number("line", r.PostFormValue("line")).Number("done", done)})
	})
}

func (s *section) seen(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.about(w, r, v, func(of sandboxes.ProjectItem) {
		name := r.PostFormValue("box")
		s.Calls.Do(w, r, v, ui.Task{Title: "Mark sandbox " + ui.Printable(name) + " as seen", Tool: sandboxes.SandboxComment.Name, Back: workPath(of, name),
			Args: ui.Args{"git_url": of.URL, "name": name}.Set("seen", r.PostFormValue("seen"))})
	})
}

func standing(d sandboxes.SandboxComparison) ui.Node {
	return ui.Facts(ui.Fact{Name: "Branch", Value: ui.OptionalText(d.Branch)}, ui.Fact{Name: "Base", Value: ui.OptionalText(d.Base)},
		ui.Fact{Name: "Against the base", Value: ui.Text(fmt.Sprintf("%s ahead, %d behind", ui.Count(d.Ahead, "commit", "commits"), d.Behind))},
		ui.Fact{Name: "Changes", Value: ui.Text(fmt.Sprintf("%s, %s added, %d deleted", ui.Count(d.FileCount, "file", "files"), ui.Count(d.Added, "line", "lines"), d.Deleted))},
		ui.Fact{Name: "In progress", Value: ui.OptionalText(d.Doing)}, ui.Fact{Name: "Directory", Value: ui.OptionalCode(d.Directory)})
}

func uncommitted(d sandboxes.SandboxComparison) ui.Node {
	if len(d.Uncommitted) == 0 {
		return nil
	}
	more := ""
	if d.MoreChanges > 0 {
		more = fmt.Sprintf("\n… and %d more", d.MoreChanges)
	}
	return ui.Notice(ui.Warn, ui.P(ui.Text("Not committed, so that a merge does not take it:")), ui.CodeBlock("changes that are not committed", ui.Printable(strings.Join(d.Uncommitted, "\n")+more)))
}

// integrating returns the forms that merge, update, push and archive. Each shows its plan first.
func integrating(v httpauth.Identity, of sandboxes.ProjectItem, d sandboxes.SandboxComparison) ui.Node {
	called := ui.Printable(d.Name)
	box := ui.Hidden("box", d.Name)
	return ui.Part("Bring it back", ui.P(ui.Text("A merge and a push show what they would do and ask first; an archive takes only what is merged.")),
		ui.Disclosure("Merge into "+ui.Printable(d.Base), true, ui.PostForm(v, at(of.Name, "/merge"), box,
			ui.SelectField("merge-method", "method", "How", "", ui.Choice{Value: "", Text: "move forward, or a merge commit"}, ui.Choice{Value: "squash", Text: "all of it as one commit"}, ui.Choice{Value: "rebase", Text: "each commit anew on top"}),
			ui.Field("merge-into", "into", "Into (empty: "+ui.Printable(d.Base)+")", ""), ui.Field("merge-message", "message", "Message of the commit (empty: made from the work)", ""),
			ui.CheckboxField("merge-committed", "committed_only", "Leave what is not committed in the sandbox", false), ui.SubmitButton("Merge", ui.Aria("label", "Merge sandbox "+called)))),
		ui.Div(ui.Class("buttons"), ui.ActionForm(v, at(of.Name, "/update"), "Update", "sandbox "+called, box), ui.ActionForm(v, at(of.Name, "/update"), "Rebase", "sandbox "+called, box, ui.Hidden("method", "rebase")),
			ui.ActionForm(v, at(of.Name, "/push"), "Push", "sandbox "+called, box), ui.ActionForm(v, at(of.Name, "/archive"), "Archive", "sandbox "+called, box)))
}

func commitTable(d sandboxes.SandboxComparison) ui.Node {
	var rows []ui.Node
	for _, c := range d.Commits {
		rows = append(rows, ui.Row(ui.OptionalCode(c.Commit[:min(len(c.Commit), 12)]), ui.OptionalText(c.Subject), ui.OptionalText(c.Author), ui.When(c.At)))
	}
	if d.MoreCommits > 0 {
		rows = append(rows, ui.Row(nil, ui.Text(fmt.Sprintf("… and %d more", d.MoreCommits)), nil, nil))
	}
	return ui.Part("Commits", ui.DataTable("commits that the base does not have", []string{"Commit", "Subject", "Author", "When"}, rows, "None that the base does not have."))
}

func fileTable(d sandboxes.SandboxComparison) ui.Node {
	var rows []ui.Node
	for _, f := range d.Files {
		mark := ui.Node(nil)
		if f.Again {
			mark = ui.Badge(ui.Warn, "changed since")
		}
		rows = append(rows, ui.Row(ui.OptionalText(f.Line()), mark))
	}
	if d.MoreFiles > 0 {
		rows = append(rows, ui.Row(ui.Text(fmt.Sprintf("… and %d more", d.MoreFiles)), nil))
	}
	return ui.Part("Files", ui.DataTable("changed files", []string{"File", "Your review"}, rows, "Nothing differs from the base."))
}

func lines(d sandboxes.SandboxComparison) ui.Node {
	if d.Lines == "" {
		return nil
	}
	body := ui.Group{ui.Diff("lines that the sandbox changes", ui.Printable(d.Lines))}
	if d.Cut {
		body = append(body, ui.P(ui.Text("The rest is left out here; countersign sandbox diff takes paths.")))
	}
	return ui.Part("Lines", body)
}

func (s *section) merge(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.about(w, r, v, func(of sandboxes.ProjectItem) {
		name := r.PostFormValue("box")
		s.Calls.Do(w, r, v, ui.Task{Title: "Merge sandbox " + ui.Printable(name), Tool: sandboxes.SandboxMerge.Name, Back: workPath(of, name),
			Args: ui.Args{"git_url": of.URL, "name": name}.Set("method", r.PostFormValue("method")).Set("into", r.PostFormValue("into")).Set("message", r.PostFormValue("message")).
				Flag("committed_only", r.PostFormValue("committed_only"))})
	})
}

func (s *section) update(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.about(w, r, v, func(of sandboxes.ProjectItem) {
		name := r.PostFormValue("box")
		s.Calls.Do(w, r, v, ui.Task{Title: "Update sandbox " + ui.Printable(name), Tool: sandboxes.SandboxUpdate.Name, Back: workPath(of, name),
			Args: ui.Args{"git_url": of.URL, "name": name}.Set("method", r.PostFormValue("method"))})
	})
}

func (s *section) push(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.about(w, r, v, func(of sandboxes.ProjectItem) {
		name := r.PostFormValue("box")
		s.Calls.Do(w, r, v, ui.Task{Title: "Push sandbox " + ui.Printable(name), Tool: sandboxes.SandboxPush.Name, Back: workPath(of, name), Args: ui.Args{"git_url": of.URL, "name": name}})
	})
}

func (s *section) archive(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.about(w, r, v, func(of sandboxes.ProjectItem) {
		name := r.PostFormValue("box")
		s.Calls.Do(w, r, v, ui.Task{Title: "Archive sandbox " + ui.Printable(name), Tool: sandboxes.SandboxArchive.Name, Back: at(of.Name, ""), Args: ui.Args{"git_url": of.URL, "name": name}})
	})
}
