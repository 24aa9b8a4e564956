package sandboxpages

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/app/sandboxes"
	"github.com/countersign-dev/countersign/domain/fault"
)

// workPath returns the page of a sandbox's work.
func workPath(of sandboxes.ProjectItem, box string) string {
	return at(of.Name, "/work/"+url.PathEscape(box))
}

// errSandbox is returned for the page of a sandbox that does not exist.
var errSandbox = fault.New(fault.NotFound, "page_sandbox_unknown", "sandbox not found; the page of the project lists its sandboxes")

// showWork answers with one of the pages about a sandbox; below is its path.
func (s *section) showWork(w http.ResponseWriter, r *http.Request, v httpauth.Identity, of sandboxes.ProjectItem, name, below string, body ...ui.Node) {
	to := workPath(of, name)
	tabs := ui.Tabs("Sections of sandbox "+name, to+below, ui.PageLink{Text: "Changes", Href: to}, ui.PageLink{Text: "Comments", Href: to + "/comments"},
		ui.PageLink{Text: "Merge and push", Href: to + "/merge"}, ui.PageLink{Text: "Manage", Href: to + "/manage"})
	prevented := s.Calls.PolicyNotice(r.Context(), v, "Changes to sandboxes", sandboxes.SandboxMerge.Name, sandboxes.SandboxAgent.Name, sandboxes.SandboxReset.Name, sandboxes.SandboxDelete.Name)
	s.Show(w, r, v, ui.Page{Title: "Sandbox " + ui.Printable(name), Crumbs: crumbs(ui.PageLink{Text: ui.Printable(of.Name), Href: at(of.Name, "")}), Live: []string{"ai-tool-result"},
		Body: append([]ui.Node{tabs, prevented}, body...)})
}

// compared calls next with the comparison of the sandbox of the address with its base, or answers with an error.
func (s *section) compared(w http.ResponseWriter, r *http.Request, v httpauth.Identity, more ui.Args, next func(of sandboxes.ProjectItem, d sandboxes.SandboxComparison)) {
	s.about(w, r, v, func(of sandboxes.ProjectItem) {
		args := ui.Args{"git_url": of.URL, "name": r.PathValue("box")}
		maps.Copy(args, more)
		var d sandboxes.SandboxComparison
		if err := s.Calls.Read(r.Context(), v, sandboxes.SandboxDiff.Name, args, &d); err != nil {
			s.Fail(w, v, err)
			return
		}
		next(of, d)
	})
}

// work shows the changes of a sandbox compared with its base.
func (s *section) work(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	q := r.URL.Query()
	s.compared(w, r, v, ui.Args{}.Set("base", q.Get("base")).Flag("since_review", q.Get("since_review")), func(of sandboxes.ProjectItem, d sandboxes.SandboxComparison) {
		s.showWork(w, r, v, of, d.Name, "", standing(d), uncommitted(d), looked(v, of, d, q.Get("since_review") == "true" && d.Seen != nil), fileTable(d), lines(d), commitTable(d))
	})
}

// discussion shows the comments on a sandbox.
func (s *section) discussion(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.about(w, r, v, func(of sandboxes.ProjectItem) {
		var said sandboxes.ReviewComments
		if err := s.Calls.Read(r.Context(), v, sandboxes.SandboxReview.Name, ui.Args{"git_url": of.URL, "name": r.PathValue("box")}, &said); err != nil {
			s.Fail(w, v, err)
			return
		}
		s.showWork(w, r, v, of, said.Name, "/comments", comments(v, of, said))
	})
}

// integration shows the forms that merge, update, push, apply and archive.
func (s *section) integration(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.compared(w, r, v, ui.Args{"stat": true}, func(of sandboxes.ProjectItem, d sandboxes.SandboxComparison) {
		s.showWork(w, r, v, of, d.Name, "/merge", standing(d), uncommitted(d), integrating(v, of, d))
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
	return ui.Group{ui.DataTable("Comments", []string{"Number", "File", "Comment", "Written", "Status"}, rows, "No comments."),
		ui.Part("Add comment", ui.P(ui.Class("quiet"), ui.Text("The agent in the sandbox reads comments with the tool sandbox_review. Start it again to continue.")),
			ui.PostForm(v, at(of.Name, "/comment"), box, ui.TextareaField("comment-text", "text", "Comment", ""),
				ui.Field("comment-path", "path", "File (optional)", ""), ui.NumberField("comment-line", "line", "Line (optional)", ""),
				ui.SubmitButton("Comment", ui.Aria("label", "Comment on sandbox "+ui.Printable(said.Name)))))}
}

func (s *section) comment(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.about(w, r, v, func(of sandboxes.ProjectItem) {
		name, done := r.PostFormValue("box"), r.PostFormValue("done")
		title := "Comment on sandbox " + ui.Printable(name)
		if done != "" {
			title = "Resolve a comment on sandbox " + ui.Printable(name)
		}
		s.Calls.Do(w, r, v, ui.Task{Title: title, Tool: sandboxes.SandboxComment.Name, Back: workPath(of, name) + "/comments",
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

// integrating returns the forms that update, merge, push, apply and archive.
func integrating(v httpauth.Identity, of sandboxes.ProjectItem, d sandboxes.SandboxComparison) ui.Node {
	called := ui.Printable(d.Name)
	box := ui.Hidden("box", d.Name)
	act := func(below, label string, more ...ui.Node) ui.Node {
		return ui.ActionForm(v, at(of.Name, below), label, "sandbox "+called, append([]ui.Node{box}, more...)...)
	}
	return ui.Group{
		ui.Part("Update", ui.P(ui.Text("Brings new commits of "+ui.Printable(d.Base)+" into the sandbox.")), ui.Div(ui.Class("buttons"), act("/update", "Update"), act("/update", "Rebase", ui.Hidden("method", "rebase")))),
		ui.Part("Merge", ui.P(ui.Text("Shows the commits and files first, and asks for approval.")), ui.PostForm(v, at(of.Name, "/merge"), box,
			ui.SelectField("merge-method", "method", "Method", "", ui.Choice{Value: "", Text: "Fast-forward or merge commit"}, ui.Choice{Value: "squash", Text: "Squash into one commit"}, ui.Choice{Value: "rebase", Text: "Rebase"}),
			ui.Field("merge-into", "into", "Target branch (default: "+ui.Printable(d.Base)+")", ""), ui.Field("merge-message", "message", "Commit message (optional)", ""),
			ui.CheckboxField("merge-committed", "committed_only", "Leave uncommitted changes in the sandbox", false), ui.SubmitButton("Merge", ui.Aria("label", "Merge sandbox "+called)))),
		ui.Part("Push", ui.P(ui.Text("Shows the remote, branch and commits first, and asks for approval.")), ui.PostForm(v, at(of.Name, "/push"), box,
			ui.CheckboxField("push-force", "force", "Replace commits of the remote branch", false), ui.SubmitButton("Push", ui.Aria("label", "Push sandbox "+called)))),
		ui.Part("Apply", ui.P(ui.Text("Applies the changes to another working tree, without a commit.")), ui.PostForm(v, at(of.Name, "/apply"), box,
			ui.Field("apply-directory", "directory", "Directory (absolute path)", "", ui.Required()), ui.SubmitButton("Apply", ui.Aria("label", "Apply sandbox "+called)))),
		ui.DangerPanel("Archive", ui.P(ui.Text("Deletes a sandbox whose work is merged. Its commits are backed up.")), ui.PostForm(v, at(of.Name, "/archive"), box, ui.Danger("Archive", ui.Aria("label", "Archive sandbox "+called)))),
	}
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
		s.Calls.Do(w, r, v, ui.Task{Title: "Merge sandbox " + ui.Printable(name), Tool: sandboxes.SandboxMerge.Name, Back: workPath(of, name) + "/merge",
			Args: ui.Args{"git_url": of.URL, "name": name}.Set("method", r.PostFormValue("method")).Set("into", r.PostFormValue("into")).Set("message", r.PostFormValue("message")).
				Flag("committed_only", r.PostFormValue("committed_only"))})
	})
}

func (s *section) update(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.about(w, r, v, func(of sandboxes.ProjectItem) {
		name := r.PostFormValue("box")
		s.Calls.Do(w, r, v, ui.Task{Title: "Update sandbox " + ui.Printable(name), Tool: sandboxes.SandboxUpdate.Name, Back: workPath(of, name) + "/merge",
			Args: ui.Args{"git_url": of.URL, "name": name}.Set("method", r.PostFormValue("method"))})
	})
}

func (s *section) push(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.about(w, r, v, func(of sandboxes.ProjectItem) {
		name := r.PostFormValue("box")
		s.Calls.Do(w, r, v, ui.Task{Title: "Push sandbox " + ui.Printable(name), Tool: sandboxes.SandboxPush.Name, Back: workPath(of, name) + "/merge",
			Args: ui.Args{"git_url": of.URL, "name": name}.Flag("force", r.PostFormValue("force"))})
	})
}

func (s *section) archive(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.about(w, r, v, func(of sandboxes.ProjectItem) {
		name := r.PostFormValue("box")
		s.Calls.Do(w, r, v, ui.Task{Title: "Archive sandbox " + ui.Printable(name), Tool: sandboxes.SandboxArchive.Name, Back: at(of.Name, ""), Args: ui.Args{"git_url": of.URL, "name": name}})
	})
}

func (s *section) apply(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.about(w, r, v, func(of sandboxes.ProjectItem) {
		name := r.PostFormValue("box")
		s.Calls.Do(w, r, v, ui.Task{Title: "Apply sandbox " + ui.Printable(name), Tool: sandboxes.SandboxApply.Name, Back: workPath(of, name) + "/merge",
			Args: ui.Args{"git_url": of.URL, "name": name}.Set("directory", r.PostFormValue("directory"))})
	})
}
