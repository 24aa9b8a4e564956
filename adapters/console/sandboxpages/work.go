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

// work shows the changes of a sandbox compared with its base, and its actions.
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
		s.Show(w, r, v, ui.Page{Title: "Sandbox " + ui.Printable(d.Name), Crumbs: crumbs(ui.PageLink{Text: ui.Printable(of.Name), Href: at(of.Name, "")}), Live: []string{"ai-tool-result"},
			Body: []ui.Node{standing(d), uncommitted(d), looked(v, of, d, r.URL.Query().Get("since_review") == "true" && d.Seen != nil), comments(v, of, said), integrating(v, of, d), commitTable(d), fileTable(d), lines(d)}})
	})
}

// looked returns what changed since the user marked the sandbox as seen, and the button that marks it.
func looked(v httpauth.Identity, of sandboxes.ProjectItem, d sandboxes.SandboxComparison, since bool) ui.Node {
	page := workPath(of, d.Name)
	about := ui.Group{ui.P(ui.Text("Not marked as seen yet."))}
	switch {
	case since:
		about = ui.Group{ui.P(ui.Text("Showing only changes since you marked this sandbox as seen ("), ui.When(d.Seen.At), ui.Text("). "), ui.LinkTo(page, "Show all changes"))}
	case d.Seen != nil && d.Again > 0:
		about = ui.Group{ui.P(ui.Text(ui.Count(d.Again, "file", "files")+" changed since you marked this sandbox as seen ("), ui.When(d.Seen.At), ui.Text("). "), ui.LinkTo(page+"?since_review=true", "Show only these changes"))}
	case d.Seen != nil:
		about = ui.Group{ui.P(ui.Text("No changes since you marked this sandbox as seen ("), ui.When(d.Seen.At), ui.Text(")."))}
	}
	if d.Seen == nil || d.Seen.Files != d.FilesID {
		about = append(about, ui.ActionForm(v, at(of.Name, "/seen"), "Mark as seen", "sandbox "+ui.Printable(d.Name), ui.Hidden("box", d.Name), ui.Hidden("seen", d.FilesID)))
	}
	return ui.Part("Review", about)
}

// comments returns the comments on the sandbox and the form that adds one.
func comments(v httpauth.Identity, of sandboxes.ProjectItem, said sandboxes.ReviewComments) ui.Node {
	box := ui.Hidden("box", said.Name)
	var rows []ui.Node
	for _, c := range said.Comments {
		number, where := strconv.Itoa(c.Number), ui.Printable(c.Path)
		if c.Line > 0 {
			where += ":" + strconv.Itoa(c.Line)
		}
		state := ui.Badge(ui.Plain, "resolved")
		if !c.Done {
			state = ui.ActionForm(v, at(of.Name, "/comment"), "Resolve", "comment "+number, box, ui.Hidden("done", number))
		}
		rows = append(rows, ui.Row(ui.Text(number), ui.Text(where), ui.OptionalText(c.Text), ui.When(c.At), state))
	}
	return ui.Part("Comments", ui.P(ui.Text("The agent in the sandbox reads comments with the tool sandbox_review. Start it again to continue.")),
		ui.DataTable("Comments", []string{"Number", "File", "Comment", "Written", "Status"}, rows, "No comments."),
		ui.Disclosure("Add a comment", false, ui.PostForm(v, at(of.Name, "/comment"), box, ui.Field("comment-text", "text", "Comment", ""),
			ui.Field("comment-path", "path", "File (optional)", ""), ui.NumberField("comment-line", "line", "Line (optional)", ""),
			ui.SubmitButton("Comment", ui.Aria("label", "Comment on sandbox "+ui.Printable(said.Name))))))
}

func (s *section) comment(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.about(w, r, v, func(of sandboxes.ProjectItem) {
		name, done := r.PostFormValue("box"), r.PostFormValue("done")
		title := "Comment on sandbox " + ui.Printable(name)
		if done != "" {
			title = "Resolve a comment on sandbox " + ui.Printable(name)
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
		ui.Fact{Name: "Compared with base", Value: ui.Text(fmt.Sprintf("%s ahead, %d behind", ui.Count(d.Ahead, "commit", "commits"), d.Behind))},
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
	return ui.Notice(ui.Warn, ui.P(ui.Text("Uncommitted changes, not included in a merge:")), ui.CodeBlock("Uncommitted changes", ui.Printable(strings.Join(d.Uncommitted, "\n")+more)))
}

// integrating returns the forms that merge, update, push and archive.
func integrating(v httpauth.Identity, of sandboxes.ProjectItem, d sandboxes.SandboxComparison) ui.Node {
	called := ui.Printable(d.Name)
	box := ui.Hidden("box", d.Name)
	return ui.Part("Merge and push", ui.P(ui.Text("Merge and push show their plan and ask for approval. Archive needs the work to be merged.")),
		ui.Disclosure("Merge into "+ui.Printable(d.Base), true, ui.PostForm(v, at(of.Name, "/merge"), box,
			ui.SelectField("merge-method", "method", "Method", "", ui.Choice{Value: "", Text: "Fast-forward or merge commit"}, ui.Choice{Value: "squash", Text: "Squash into one commit"}, ui.Choice{Value: "rebase", Text: "Rebase"}),
			ui.Field("merge-into", "into", "Target branch (default: "+ui.Printable(d.Base)+")", ""), ui.Field("merge-message", "message", "Commit message (optional)", ""),
			ui.CheckboxField("merge-committed", "committed_only", "Leave uncommitted changes in the sandbox", false), ui.SubmitButton("Merge", ui.Aria("label", "Merge sandbox "+called)))),
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
	return ui.Part("Commits", ui.DataTable("Commits not in the base", []string{"Commit", "Subject", "Author", "Date"}, rows, "No commits ahead of the base."))
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
	return ui.Part("Files", ui.DataTable("Changed files", []string{"File", "Review"}, rows, "No differences from the base."))
}

func lines(d sandboxes.SandboxComparison) ui.Node {
	if d.Lines == "" {
		return nil
	}
	body := ui.Group{ui.Diff("Diff of the sandbox", ui.Printable(d.Lines))}
	if d.Cut {
		body = append(body, ui.P(ui.Text("Diff truncated. To show the diff of single files, run countersign sandbox diff with their paths.")))
	}
	return ui.Part("Diff", body)
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
