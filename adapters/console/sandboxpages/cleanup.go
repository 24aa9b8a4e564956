package sandboxpages

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/app/sandboxes"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// removable returns which sandboxes can be deleted, and why the others are kept.
func removable(v httpauth.Identity, of sandboxes.ProjectItem, all []sandboxes.SandboxItem) ui.Node {
	var rows []ui.Node
	going := 0
	for _, b := range all {
		verdict := ui.Badge(ui.Plain, "kept")
		if b.Removable {
			going++
			verdict = ui.Badge(ui.Warn, "can be deleted")
		}
		rows = append(rows, ui.Row(ui.OptionalText(b.Name), verdict, ui.OptionalText(b.Cleanup)))
	}
	var press ui.Node
	if going > 0 {
		label := "Delete " + ui.Count(going, "sandbox", "sandboxes")
		press = ui.PostForm(v, at(of.Name, "/clean"), ui.Danger(label, ui.Aria("label", label+": project "+ui.Printable(of.Name))),
			ui.P(ui.Class("quiet"), ui.Text("Sandboxes with unsaved work are never deleted; this is checked again before each delete.")))
	}
	return ui.Group{ui.DataTable("Cleanup", []string{"Sandbox", "Result", "Reason"}, rows, "No sandboxes."), press}
}

// atOnce is the maximum number of sandboxes that one press deletes.
const atOnce = 20

func (s *section) clean(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.about(w, r, v, func(of sandboxes.ProjectItem) {
		all, err := s.sandboxList(r, v, of.URL)
		if err != nil {
			s.Fail(w, v, err)
			return
		}
		jobs := url.Values{}
		for _, b := range all {
			if b.Removable && len(jobs["job"]) < atOnce && r.Context().Err() == nil {
				jobs.Add("job", s.Calls.Begin(r.Context(), v, deletion(of, b.Name, "")).ID)
			}
		}
		http.Redirect(w, r, at(of.Name, "/cleaned?"+jobs.Encode()), http.StatusSeeOther)
	})
}

// cleaned shows the result of a cleanup, sandbox by sandbox.
func (s *section) cleaned(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.about(w, r, v, func(of sandboxes.ProjectItem) {
		p := ui.Page{Title: "Cleanup of " + ui.Printable(of.Name), Crumbs: crumbs(ui.PageLink{Text: ui.Printable(of.Name), Href: at(of.Name, "/cleanup")})}
		var rows []ui.Node
		for _, id := range r.URL.Query()["job"] {
			j, ok := s.Calls.Find(id)
			if !ok {
				continue
			}
			var state ui.Node
			switch now := j.Now(); {
			case now.State == ui.JobRunning:
				p.Live, state = []string{"tick"}, ui.Text("running")
			case now.State == ui.JobAsking:
				state = ui.LinkTo("/work/"+id, "waiting for approval")
			case now.Outcome.Err != nil:
				state = ui.Group{ui.Badge(ui.Bad, "kept"), ui.Text(" "), ui.OptionalText(fault.From(now.Outcome.Err).Message)}
			default:
				state = ui.Badge(ui.Good, "done")
			}
			rows = append(rows, ui.Row(ui.LinkTo("/work/"+id, j.Task.Title), state))
		}
		p.Body = []ui.Node{ui.DataTable("Deletions", []string{"Deletion", "Status"}, rows, "No sandboxes to delete."), ui.P(ui.LinkTo(at(of.Name, "/cleanup"), "Back to "+ui.Printable(of.Name)))}
		s.Show(w, r, v, p)
	})
}

// The maximum number of bytes of a server log on the page of the project and on the log page.
const (
	fewBytes = 4 << 10
	allBytes = ui.MaxPrinted
)

// errLog is returned for a log that cannot be read.
var errLog = fault.New(fault.Unavailable, "server_log_unreadable", "cannot read the server log")

// end returns the last bytes of a file, and the number of bytes before them. Secrets were redacted when the log was written. A missing file
// is empty; a file that is not regular is not opened, because reading it might never end.
func end(path string, most int64) (text string, before int64, err error) {
	info, err := os.Stat(path)
	if path == "" || errors.Is(err, fs.ErrNotExist) {
		return "", 0, nil
	}
	if err != nil || !info.Mode().IsRegular() {
		return "", 0, errLog.WithMessage("cannot read the log %s", path).WithCause(err)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", 0, errLog.WithMessage("cannot read the log %s", path).WithCause(err)
	}
	defer func() { _ = f.Close() }() // it was only read
	before = max(info.Size()-most, 0)
	part, err := io.ReadAll(io.NewSectionReader(f, before, most))
	if err != nil {
		return "", 0, errLog.WithMessage("cannot read the log %s: it changed while it was read", path).WithCause(err)
	}
	return string(part), before, nil
}

// tail returns the end of the server log and a link to the full log.
func tail(p sandboxes.ProjectView, of sandboxes.ProjectItem) ui.Node {
	text, before, err := end(p.Log, fewBytes)
	switch {
	case err != nil:
		return ui.Part("Server log", ui.ErrorNotice(err))
	case text == "":
		return ui.Part("Server log", ui.Empty("No output."))
	}
	return ui.Part("Server log", ui.P(ui.LinkTo(at(of.Name, "/log"), "Full log")), ui.LeftOut(int(before)), ui.CodeBlock("End of the server log", ui.Output(text)))
}

func (s *section) log(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.about(w, r, v, func(of sandboxes.ProjectItem) {
		p, err := s.status(r, v, of.URL)
		if err != nil {
			s.Fail(w, v, err)
			return
		}
		text, before, err := end(p.Log, allBytes)
		if err != nil {
			s.Fail(w, v, err)
			return
		}
		body := ui.Empty("No output.")
		if text != "" {
			body = ui.CodeBlock("Server log", ui.Output(text))
		}
		var live []string
		if p.Server.Running {
			live = []string{"tick"}
		}
		s.Show(w, r, v, ui.Page{Title: "Server log of " + ui.Printable(of.Name), Crumbs: crumbs(ui.PageLink{Text: ui.Printable(of.Name), Href: at(of.Name, "/server")}), Live: live,
			Body: []ui.Node{ui.Facts(ui.Fact{Name: "File", Value: ui.OptionalCode(p.Log)}), ui.LeftOut(int(before)), body}})
	})
}

func (s *section) upkeep(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.Show(w, r, v, ui.Page{Title: "Maintenance", Crumbs: crumbs(), Body: []ui.Node{sectionTabs(root + "/-/upkeep"), s.duplicates(r.Context(), v),
		ui.Part("Orphans", ui.P(ui.Text("Removes the records of servers that stopped, stops servers without a record, and finishes interrupted operations.")),
			ui.ActionForm(v, root+"/-/orphans", "Clean up orphans", "")), s.models(r.Context(), v)}})
}

// duplicates returns the repositories that are recorded more than once, and the servers that Countersign did not start.
func (s *section) duplicates(ctx context.Context, v httpauth.Identity) ui.Node {
	var found sandboxes.DuplicateList

	if err := s.Calls.Read(ctx, v, sandboxes.Duplicates.Name, nil, &found); err != nil {
		return ui.Part("Duplicates", ui.ErrorNotice(err))
	}
	body := ui.Group{ui.P(ui.OptionalText(found.Message))}
	for i, d := range found.Duplicates {
		var rows []ui.Node
		for _, p := range d.Instances {
			rows = append(rows, ui.Row(ui.LinkTo(at(p.Name, ""), ui.Printable(p.Name)), ui.OptionalCode(p.URL), running(p.Running), ui.OptionalCode(p.BaseDir)))
		}
		body = append(body, ui.DataTable(fmt.Sprintf("repository %d", i+1), []string{"Project", "Git URL", "Server", "Directory"}, rows, ""), ui.P(ui.OptionalText(d.Recommendation)))
	}
	var rows []ui.Node
	for _, f := range found.Foreign {
		rows = append(rows, ui.Row(ui.Text(fmt.Sprint(f.PID)), ui.OptionalCode(f.Directory)))
	}
	if len(rows) > 0 {
		body = append(body, ui.P(ui.Text("Agent servers that Countersign did not start, and does not change:")), ui.DataTable("Other agent servers", []string{"Process", "Directory"}, rows, ""))
	}
	return ui.Part("Duplicates", body)
}

func (s *section) orphans(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.Calls.Do(w, r, v, ui.Task{Title: "Clean up orphans", Tool: sandboxes.Orphans.Name, Back: root + "/-/upkeep", Show: orphaned})
}

// orphaned is the Task.Show of a cleanup of orphans.
func orphaned(o tool.Outcome) ui.Node {
	var found sandboxes.OrphanList

	if o.Err != nil || decode(o.Value, &found) != nil {
		return nil
	}
	var rows []ui.Node
	for _, one := range found.Orphans {
		rows = append(rows, ui.Row(ui.OptionalText(one.Project), ui.Text(fmt.Sprint(one.PID)), ui.OptionalText(one.Reason)))
	}
	tone := ui.Good
	if found.Status != "success" {
		tone = ui.Warn
	}
	return ui.Group{ui.Notice(tone, ui.P(ui.OptionalText(found.Message))), ui.DataTable("Orphans", []string{"Project", "Process", "Reason"}, rows, "No orphans.")}
}

// models returns the default model of the agent servers and the form that changes it.
func (s *section) models(ctx context.Context, v httpauth.Identity) ui.Node {
	var m sandboxes.ModelAnswer

	if err := s.Calls.Read(ctx, v, sandboxes.Model.Name, nil, &m); err != nil {
		return ui.Part("Model", ui.ErrorNotice(err))
	}
	current := ui.Deref(m.Current)
	shown := ui.OptionalCode(current)
	if shown == nil {
		shown = ui.Text("not set")
	}
	var warned ui.Node
	if m.Warning != "" {
		warned = ui.Notice(ui.Warn, ui.P(ui.OptionalText(m.Warning)))
	}
	var options ui.Group
	for _, name := range m.Available {
		options = append(options, ui.Option(ui.Value(name)))
	}
	return ui.Part("Model", ui.Facts(ui.Fact{Name: "Default model", Value: shown}, ui.Fact{Name: "Configured in", Value: ui.OptionalCode(m.Path)}), warned,
		ui.PostForm(v, root+"/-/model", ui.Field("model", "model", "Model for new servers (provider/model)", current, ui.Required(), ui.List("models")),
			ui.DataList(ui.ID("models"), options), ui.SubmitButton("Set model")))
}

func (s *section) setModel(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.Calls.Do(w, r, v, ui.Task{Title: "Set the default model", Tool: sandboxes.SetModel.Name, Args: ui.Args{"model": r.PostFormValue("model")}, Back: root + "/-/upkeep"})
}
