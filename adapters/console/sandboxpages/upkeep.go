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

	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/page"
	"github.com/countersign-dev/countersign/adapters/console/sectionpage"
	"github.com/countersign-dev/countersign/adapters/console/work"
	"github.com/countersign-dev/countersign/adapters/httpguard"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// cleanup is which sandboxes can go, and why the others stay.
func cleanup(v httpguard.Visitor, of item, all []box) markup.Node {
	if len(all) == 0 {
		return nil
	}
	var rows []markup.Node
	going := 0
	for _, b := range all {
		verdict := page.Badge(page.Plain, "stays")
		if b.Removable {
			going++
			verdict = page.Badge(page.Warn, "can go")
		}
		rows = append(rows, page.Row(sectionpage.Text(b.Name), verdict, sectionpage.Text(b.Cleanup)))
	}
	var press markup.Node
	if going > 0 {
		label := "Delete the " + sectionpage.Count(going, "worktree", "worktrees") + " that can go"
		press = page.Form(v, at(of.Name, "/clean"), page.Danger(label, markup.Aria("label", label+": project "+page.Printable(of.Name))),
			markup.P(markup.Class("quiet"), page.Text("Never one that holds work which is nowhere else, also not when it came there meanwhile.")))
	}
	return page.Part("Clean-up", page.Table("what a clean-up takes and what it leaves", []string{"Worktree", "Verdict", "Why"}, rows, ""), press)
}

// atOnce is how many sandboxes one press deletes.
const atOnce = 20

func (s *Section) clean(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	s.about(w, r, v, func(of item) {
		all, err := s.boxes(r, v, of.URL)
		if err != nil {
			s.Fail(w, v, err)
			return
		}
		jobs := url.Values{}
		for _, b := range all {
			if b.Removable && len(jobs["job"]) < atOnce && r.Context().Err() == nil {
				jobs.Add("job", s.Desk.Begin(r.Context(), v, deletion(of, b.Name, "")).ID)
			}
		}
		http.Redirect(w, r, at(of.Name, "/cleaned?"+jobs.Encode()), http.StatusSeeOther)
	})
}

// cleaned is what came of a clean-up, sandbox by sandbox.
func (s *Section) cleaned(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	s.about(w, r, v, func(of item) {
		p := page.Page{Title: "Clean-up of " + page.Printable(of.Name), Crumbs: crumbs(page.Link{Text: page.Printable(of.Name), Href: at(of.Name, "")})}
		var rows []markup.Node
		for _, id := range r.URL.Query()["job"] {
			j, ok := s.Desk.Find(id)
			if !ok {
				continue
			}
			var state markup.Node
			switch now := j.Now(); {
			case now.State == work.Running:
				p.Live, state = []string{"tick"}, page.Text("is being done")
			case now.State == work.Asking:
				state = page.To("/work/"+id, "waits to be confirmed")
			case now.Outcome.Err != nil:
				state = markup.Group{page.Badge(page.Bad, "stays"), page.Text(" "), sectionpage.Text(fault.From(now.Outcome.Err).Message)}
			default:
				state = page.Badge(page.Good, "done")
			}
			rows = append(rows, page.Row(page.To("/work/"+id, j.Task.Title), state))
		}
		p.Body = []markup.Node{page.Table("deletions", []string{"What", "State"}, rows, "Nothing could go."), markup.P(page.To(at(of.Name, ""), "Back to "+page.Printable(of.Name)))}
		s.Show(w, r, v, p)
	})
}

// Bytes of a server's log: those at the end of its project's page, and those on a page of their own.
const (
	fewBytes = 4 << 10
	allBytes = page.MaxPrinted
)

// errLog reports a log that cannot be read.
var errLog = fault.New(fault.Unavailable, "server_log_unreadable", "the server's log cannot be read")

// end is the last bytes of a file, and how many there are before them. Secrets were masked when it was written. A file that is not there is empty;
// what is no plain file is not opened: reading it could last for ever.
func end(path string, most int64) (text string, before int64, err error) {
	info, err := os.Stat(path)
	if path == "" || errors.Is(err, fs.ErrNotExist) {
		return "", 0, nil
	}
	if err != nil || !info.Mode().IsRegular() {
		return "", 0, errLog.Sayf("the log %s cannot be read", path).Because(err)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", 0, errLog.Sayf("the log %s cannot be read", path).Because(err)
	}
	defer func() { _ = f.Close() }() // it was only read
	before = max(info.Size()-most, 0)
	part, err := io.ReadAll(io.NewSectionReader(f, before, most))
	if err != nil {
		return "", 0, errLog.Sayf("the log %s cannot be read any more", path).Because(err)
	}
	return string(part), before, nil
}

// tail is the end of the server's log, and the way to more of it.
func (p view) tail(of item) markup.Node {
	text, before, err := end(p.Log, fewBytes)
	switch {
	case err != nil:
		return page.Part("Server log", sectionpage.Tell(err))
	case text == "":
		return page.Part("Server log", page.Empty("The server has printed nothing."))
	}
	return page.Part("Server log", markup.P(page.To(at(of.Name, "/log"), "More of it")), page.LeftOut(int(before)), page.Pre("the end of the server's log", page.Output(text)))
}

func (s *Section) log(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	s.about(w, r, v, func(of item) {
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
		body := page.Empty("The server has printed nothing.")
		if text != "" {
			body = page.Pre("the server's log", page.Output(text))
		}
		var live []string
		if p.Server.Running {
			live = []string{"tick"}
		}
		s.Show(w, r, v, page.Page{Title: "Server log of " + page.Printable(of.Name), Crumbs: crumbs(page.Link{Text: page.Printable(of.Name), Href: at(of.Name, "")}), Live: live,
			Body: []markup.Node{page.Facts(page.Fact{Name: "File", Value: sectionpage.Code(p.Log)}), page.LeftOut(int(before)), body}})
	})
}

func (s *Section) upkeep(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	s.Show(w, r, v, page.Page{Title: "Upkeep", Crumbs: crumbs(), Body: []markup.Node{s.duplicates(r.Context(), v),
		page.Part("Orphans", markup.P(page.Text("Servers that are gone and still recorded, servers that nobody recorded, and work that was cut off: the record is brought in line with what runs.")),
			page.Deed(v, root+"/-/orphans", "Clean up orphans", "")), s.models(r.Context(), v)}})
}

// duplicates is repositories that are there more than once, and servers that nobody manages.
func (s *Section) duplicates(ctx context.Context, v httpguard.Visitor) markup.Node {
	var found struct {
		Duplicates []struct {
			Instances []instance `json:"instances"`
			Says      string     `json:"recommendation"`
		} `json:"duplicates"`
		Foreign []struct {
			PID int    `json:"pid"`
			Dir string `json:"directory"`
		} `json:"foreign_servers"`
		Message string `json:"message"`
	}
	if err := s.Desk.Read(ctx, v, "opencode_detect_duplicates", nil, &found); err != nil {
		return page.Part("Duplicates", sectionpage.Tell(err))
	}
	body := markup.Group{markup.P(sectionpage.Text(found.Message))}
	for i, d := range found.Duplicates {
		var rows []markup.Node
		for _, p := range d.Instances {
			rows = append(rows, page.Row(page.To(at(p.Name, ""), page.Printable(p.Name)), sectionpage.Code(p.URL), running(p.Running), sectionpage.Code(p.Base)))
		}
		body = append(body, page.Table(fmt.Sprintf("repository %d", i+1), []string{"Project", "Git URL", "Server", "Directory"}, rows, ""), markup.P(sectionpage.Text(d.Says)))
	}
	var rows []markup.Node
	for _, f := range found.Foreign {
		rows = append(rows, page.Row(page.Text(fmt.Sprint(f.PID)), sectionpage.Code(f.Dir)))
	}
	if len(rows) > 0 {
		body = append(body, markup.P(page.Text("These agent servers were not started here, and are left alone:")), page.Table("agent servers of others", []string{"Process", "Directory"}, rows, ""))
	}
	return page.Part("Duplicates", body)
}

// instance is one of several projects that are the same repository.
type instance struct {
	URL     string `json:"git_url"`
	Name    string `json:"project_name"`
	Base    string `json:"base_dir"`
	Running bool   `json:"opencode_running"`
}

func (s *Section) orphans(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	s.Desk.Do(w, r, v, work.Task{Title: "Clean up orphans", Tool: "opencode_cleanup_orphaned", Back: root + "/-/upkeep", Show: orphaned})
}

// orphaned is work.Task.Show for orphans that were cleaned up.
func orphaned(o tool.Outcome) markup.Node {
	var found struct {
		Status  string `json:"status"`
		Message string `json:"message"`
		Orphans []struct {
			Project string `json:"project"`
			PID     int    `json:"pid"`
			Why     string `json:"reason"`
		} `json:"orphaned_processes"`
	}
	if o.Err != nil || decode(o.Value, &found) != nil {
		return nil
	}
	var rows []markup.Node
	for _, one := range found.Orphans {
		rows = append(rows, page.Row(sectionpage.Text(one.Project), page.Text(fmt.Sprint(one.PID)), sectionpage.Text(one.Why)))
	}
	tone := page.Good
	if found.Status != "success" {
		tone = page.Warn
	}
	return markup.Group{page.Notice(tone, markup.P(sectionpage.Text(found.Message))), page.Table("orphans", []string{"Project", "Process", "Why"}, rows, "There were none.")}
}

// models is the default model of the agent servers, and the choice.
func (s *Section) models(ctx context.Context, v httpguard.Visitor) markup.Node {
	var m struct {
		Current   *string  `json:"current_model"`
		Available []string `json:"available_models"`
		Path      string   `json:"config_path"`
		Warning   string   `json:"warning"`
	}
	if err := s.Desk.Read(ctx, v, "opencode_llm_config", nil, &m); err != nil {
		return page.Part("Model", sectionpage.Tell(err))
	}
	current := sectionpage.Deref(m.Current)
	shown := sectionpage.Code(current)
	if shown == nil {
		shown = page.Text("none is set")
	}
	var warned markup.Node
	if m.Warning != "" {
		warned = page.Notice(page.Warn, markup.P(sectionpage.Text(m.Warning)))
	}
	var options markup.Group
	for _, name := range m.Available {
		options = append(options, markup.Option(markup.Value(name)))
	}
	return page.Part("Model", page.Facts(page.Fact{Name: "Default model", Value: shown}, page.Fact{Name: "Configured in", Value: sectionpage.Code(m.Path)}), warned,
		page.Form(v, root+"/-/model", page.Field("model", "model", "Model of servers that start from now on (provider/model)", current, markup.Required(), markup.List("models")),
			markup.DataList(markup.ID("models"), options), page.Button("Set model")))
}

func (s *Section) setModel(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	s.Desk.Do(w, r, v, work.Task{Title: "Set the default model", Tool: "opencode_llm_set_model", Args: sectionpage.Args{"model": r.PostFormValue("model")}, Back: root + "/-/upkeep"})
}
