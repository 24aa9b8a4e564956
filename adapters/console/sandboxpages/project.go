package sandboxpages

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/app/sandboxes"
	"github.com/countersign-dev/countersign/domain/tool"
)

func decode(doc json.RawMessage, into any) error { return json.Unmarshal(doc, into) }

func (s *section) status(r *http.Request, v httpauth.Identity, url string) (p sandboxes.ProjectView, err error) {
	if err = s.Calls.Read(r.Context(), v, sandboxes.ProjectStatus.Name, ui.Args{"git_url": url}, &p); err == nil && p.ProjectDetails == nil {
		err = errUnknown
	}
	return p, err
}

func crumbs(of ...ui.PageLink) []ui.PageLink {
	return append([]ui.PageLink{{Text: "Sandboxes", Href: root}}, of...)
}

// projectTabs returns links to the pages about a project; here is the path of the current one.
func projectTabs(of sandboxes.ProjectItem, here string) ui.Node {
	return ui.Tabs("Sections of "+of.Name, here, ui.PageLink{Text: "Sandboxes", Href: at(of.Name, "")}, ui.PageLink{Text: "Cleanup", Href: at(of.Name, "/cleanup")},
		ui.PageLink{Text: "Backups", Href: at(of.Name, "/backups")}, ui.PageLink{Text: "Server", Href: at(of.Name, "/server")})
}

// tab answers with one of the pages about a project, below the status of its server; below is the path of the page, and body makes its content.
func (s *section) tab(w http.ResponseWriter, r *http.Request, v httpauth.Identity, below string, body func(of sandboxes.ProjectItem, p sandboxes.ProjectView) []ui.Node) {
	s.about(w, r, v, func(of sandboxes.ProjectItem) {
		p, err := s.status(r, v, of.URL)
		if err != nil {
			s.Fail(w, v, err)
			return
		}
		var open ui.Node
		if p.Exposed {
			open = exposed()
		}
		prevented := s.Calls.PolicyNotice(r.Context(), v, "Changes to sandboxes", sandboxes.SandboxCreate.Name, sandboxes.ProjectStart.Name, sandboxes.ProjectDestroy.Name)
		top := []ui.Node{prevented, open, ui.Div(ui.Class("buttons"), ui.Text("Server"), serverBadge(p), ui.OptionalCode(ui.Deref(p.Server.URL)), servers(v, of)), projectTabs(of, at(of.Name, below))}
		s.Show(w, r, v, ui.Page{Title: ui.Printable(of.Name), Crumbs: crumbs(), Live: []string{"ai-tool-result"}, Body: append(top, body(of, p)...)})
	})
}

// show shows the sandboxes of a project.
func (s *section) show(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.tab(w, r, v, "", func(of sandboxes.ProjectItem, _ sandboxes.ProjectView) []ui.Node {
		all, err := s.sandboxList(r, v, of.URL)
		if err != nil {
			return []ui.Node{ui.ErrorNotice(err)}
		}
		return []ui.Node{s.cards(r, v, of, all), creating(v, of, len(all) == 0)}
	})
}

// cleanup shows which sandboxes can be deleted.
func (s *section) cleanup(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.tab(w, r, v, "/cleanup", func(of sandboxes.ProjectItem, _ sandboxes.ProjectView) []ui.Node {
		all, err := s.sandboxList(r, v, of.URL)
		if err != nil {
			return []ui.Node{ui.ErrorNotice(err)}
		}
		return []ui.Node{removable(v, of, all)}
	})
}

// backups shows the backups of deleted and reset sandboxes.
func (s *section) backups(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.tab(w, r, v, "/backups", func(of sandboxes.ProjectItem, _ sandboxes.ProjectView) []ui.Node { return []ui.Node{s.kept(r, v, of)} })
}

// serverTab shows the server of a project with its log, and the buttons that delete the project.
func (s *section) serverTab(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.tab(w, r, v, "/server", func(of sandboxes.ProjectItem, p sandboxes.ProjectView) []ui.Node {
		return []ui.Node{facts(p, of), ui.Div(ui.Class("buttons"), ui.ActionForm(v, at(of.Name, "/key"), "Show deploy key", "of "+ui.Printable(of.Name))), tail(p, of), destroying(v, of)}
	})
}

// facts returns the status of the project and its server.
func facts(p sandboxes.ProjectView, of sandboxes.ProjectItem) ui.Node {
	return ui.Facts(ui.Fact{Name: "Git URL", Value: ui.OptionalCode(of.URL)}, ui.Fact{Name: "Directory", Value: ui.OptionalCode(p.BaseDir)},
		ui.Fact{Name: "Status", Value: ui.OptionalText(p.Server.Status)}, ui.Fact{Name: "Health", Value: serverBadge(p)},
		ui.Fact{Name: "Address", Value: ui.OptionalCode(ui.Deref(p.Server.URL))}, ui.Fact{Name: "Port", Value: number(p.Server.Port)},
		ui.Fact{Name: "Process", Value: number(p.Server.PID)}, ui.Fact{Name: "Version", Value: ui.OptionalText(p.Server.Version)},
		ui.Fact{Name: "Last error", Value: ui.OptionalText(p.Server.Error)}, ui.Fact{Name: "Last healthy", Value: moment(p.LastHealth)},
		ui.Fact{Name: "Created", Value: ui.When(p.CreatedAt)})
}

// serverBadge returns the health of a server.
func serverBadge(p sandboxes.ProjectView) ui.Node {
	switch {
	case !p.Server.Running:
		return ui.Badge(ui.Plain, "not running")
	case p.Healthy:
		return ui.Badge(ui.Good, "healthy")
	}
	return ui.Badge(ui.Bad, "no response")
}

// about calls next with the project of the address, or answers with an error if there is none.
func (s *section) about(w http.ResponseWriter, r *http.Request, v httpauth.Identity, next func(of sandboxes.ProjectItem)) {
	of, err := s.find(r, v)
	if err != nil {
		s.Fail(w, v, err)
		return
	}
	next(of)
}

func (s *section) server(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.about(w, r, v, func(of sandboxes.ProjectItem) {
		task := ui.Task{Title: "Start the server of " + ui.Printable(of.Name), Tool: sandboxes.ProjectStart.Name, Args: ui.Args{"git_url": of.URL}, Back: at(of.Name, "/server"), Show: started}
		switch r.PostFormValue("do") {
		case "stop":
			task.Title, task.Tool, task.Show = "Stop the server of "+ui.Printable(of.Name), sandboxes.ProjectStop.Name, nil
		case "restart":
			task.Title, task.Tool = "Restart the server of "+ui.Printable(of.Name), sandboxes.ProjectRestart.Name
		}
		if box := r.PostFormValue("sandbox"); box != "" {
			task.Title = strings.Replace(task.Title, "the server of ", "the server of sandbox "+ui.Printable(box)+" in ", 1)
			task.Args, task.Back = ui.Args{"git_url": of.URL, "sandbox": box}, workPath(of, box)+"/manage"
		}
		s.Calls.Do(w, r, v, task)
	})
}

// destroying returns the buttons that delete the project from this machine.
func destroying(v httpauth.Identity, of sandboxes.ProjectItem) ui.Node {
	to, called := at(of.Name, "/destroy"), ui.Printable(of.Name)
	return ui.DangerPanel("Destroy project", ui.P(ui.Text("Stops the server, and deletes the clone and all sandboxes from this machine. The remote does not change. If there is unsaved work, nothing is deleted and the work is listed.")),
		ui.PostForm(v, to, ui.Danger("Destroy", ui.Aria("label", "Destroy "+called))),
		ui.Disclosure("Destroy with unsaved work …", false, ui.PostForm(v, to, ui.Hidden("force", "true"),
			ui.P(ui.Text("Shows what would be lost. To approve, you type the project name.")), ui.Danger("Destroy with force", ui.Aria("label", "Destroy with force: "+called)))))
}

func (s *section) destroy(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.about(w, r, v, func(of sandboxes.ProjectItem) {
		s.Calls.Do(w, r, v, ui.Task{Title: "Destroy " + ui.Printable(of.Name), Tool: sandboxes.ProjectDestroy.Name,
			Args: ui.Args{"git_url": of.URL}.Flag("force", r.PostFormValue("force")), Back: root})
	})
}

func (s *section) key(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.about(w, r, v, func(of sandboxes.ProjectItem) {
		s.Calls.Do(w, r, v, ui.Task{Title: "Deploy key of " + ui.Printable(of.Name), Tool: sandboxes.DeployKey.Name, Args: ui.Args{"git_url": of.URL}, Back: at(of.Name, "/server"), Show: keyed})
	})
}

// keyed is the Task.Show of a deploy key.
func keyed(o tool.Outcome) ui.Node {
	var k sandboxes.KeyAnswer

	if o.Err != nil || decode(o.Value, &k) != nil || k.Public == "" {
		return nil
	}
	return ui.Group{ui.CodeBlock("public key", ui.Printable(k.Public)), ui.P(ui.OptionalText(k.Instructions)),
		ui.Facts(ui.Fact{Name: "Register at", Value: ui.OptionalCode(ui.Deref(k.RegisterURL))}, ui.Fact{Name: "File", Value: ui.OptionalCode(k.Path)})}
}
