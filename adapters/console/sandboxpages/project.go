package sandboxpages

import (
	"encoding/json"
	"net/http"

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

func (s *section) show(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	of, err := s.find(r, v)
	if err != nil {
		s.Fail(w, v, err)
		return
	}
	p, err := s.status(r, v, of.URL)
	if err != nil {
		s.Fail(w, v, err)
		return
	}
	sandboxList, err := s.sandboxList(r, v, of.URL)
	body := []ui.Node{facts(p, of), ui.Div(ui.Class("buttons"), servers(v, of), ui.ActionForm(v, at(of.Name, "/key"), "Show deploy key", "of "+ui.Printable(of.Name)))}
	if err != nil {
		body = append(body, ui.Part("Sandboxes", ui.ErrorNotice(err)))
	} else {
		body = append(body, table(v, of, sandboxList), creating(v, of), cleanup(v, of, sandboxList))
	}
	s.Show(w, r, v, ui.Page{Title: ui.Printable(of.Name), Crumbs: crumbs(), Live: []string{"ai-tool-result"},
		Body: append(body, s.kept(r, v, of), tail(p, of), destroying(v, of))})
}

// facts returns the status of the project and its server.
func facts(p sandboxes.ProjectView, of sandboxes.ProjectItem) ui.Node {
	health := ui.Text("not running")
	if p.Server.Running {
		health = ui.Badge(ui.Bad, "no response")
		if p.Healthy {
			health = ui.Badge(ui.Good, "healthy")
		}
	}
	var open ui.Node
	if p.Exposed {
		open = exposed()
	}
	return ui.Group{open, ui.Facts(ui.Fact{Name: "Git URL", Value: ui.OptionalCode(of.URL)}, ui.Fact{Name: "Directory", Value: ui.OptionalCode(p.BaseDir)},
		ui.Fact{Name: "Server", Value: ui.Badge(map[bool]string{true: ui.Good, false: ui.Plain}[p.Server.Running], p.Server.Status)}, ui.Fact{Name: "Health", Value: health},
		ui.Fact{Name: "Address", Value: ui.OptionalCode(ui.Deref(p.Server.URL))}, ui.Fact{Name: "Port", Value: number(p.Server.Port)},
		ui.Fact{Name: "Process", Value: number(p.Server.PID)}, ui.Fact{Name: "Version", Value: ui.OptionalText(p.Server.Version)},
		ui.Fact{Name: "Last error", Value: ui.OptionalText(p.Server.Error)}, ui.Fact{Name: "Last healthy", Value: moment(p.LastHealth)},
		ui.Fact{Name: "Created", Value: ui.When(p.CreatedAt)})}
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
		task := ui.Task{Title: "Start the server of " + ui.Printable(of.Name), Tool: sandboxes.ProjectStart.Name, Args: ui.Args{"git_url": of.URL}, Back: at(of.Name, ""), Show: started}
		switch r.PostFormValue("do") {
		case "stop":
			task.Title, task.Tool, task.Show = "Stop the server of "+ui.Printable(of.Name), sandboxes.ProjectStop.Name, nil
		case "restart":
			task.Title, task.Tool = "Restart the server of "+ui.Printable(of.Name), sandboxes.ProjectRestart.Name
		}
		s.Calls.Do(w, r, v, task)
	})
}

// destroying returns the buttons that delete the project from this machine.
func destroying(v httpauth.Identity, of sandboxes.ProjectItem) ui.Node {
	to, called := at(of.Name, "/destroy"), ui.Printable(of.Name)
	return ui.Part("Destroy", ui.P(ui.Text("Stops the server, and deletes the clone and all sandboxes from this machine. The remote does not change. If there is unsaved work, nothing is deleted and the work is listed.")),
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
		s.Calls.Do(w, r, v, ui.Task{Title: "Deploy key of " + ui.Printable(of.Name), Tool: sandboxes.DeployKey.Name, Args: ui.Args{"git_url": of.URL}, Back: at(of.Name, ""), Show: keyed})
	})
}

// keyed is the Task.Show of a deploy key.
func keyed(o tool.Outcome) ui.Node {
	var k sandboxes.KeyAnswer

	if o.Err != nil || decode(o.Value, &k) != nil || k.Public == "" {
		return nil
	}
	return ui.Group{ui.CodeBlock("public key", ui.Printable(k.Public)), ui.P(ui.OptionalText(k.Instructions)),
		ui.Facts(ui.Fact{Name: "Register it at", Value: ui.OptionalCode(ui.Deref(k.RegisterURL))}, ui.Fact{Name: "File", Value: ui.OptionalCode(k.Path)})}
}
