package sandboxpages

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/page"
	"github.com/countersign-dev/countersign/adapters/console/sectionpage"
	"github.com/countersign-dev/countersign/adapters/console/work"
	"github.com/countersign-dev/countersign/adapters/httpguard"
	"github.com/countersign-dev/countersign/domain/tool"
)

func decode(doc json.RawMessage, into any) error { return json.Unmarshal(doc, into) }

// view is a project as its status shows it.
type view struct {
	Status string `json:"status"`
	Server struct {
		PID     *int    `json:"pid"`
		Port    *int    `json:"port"`
		URL     *string `json:"url"`
		Status  string  `json:"status"`
		Running bool    `json:"running"`
		Version string  `json:"version"`
		Error   string  `json:"last_error"`
	} `json:"opencode"`
	Base       string     `json:"base_dir"`
	CreatedAt  time.Time  `json:"created_at"`
	LastHealth *time.Time `json:"last_health_check"`
	Healthy    bool       `json:"healthy"`
	Exposed    bool       `json:"exposed"`
	Log        string     `json:"log"`
}

func (s *Section) status(r *http.Request, v httpguard.Visitor, url string) (p view, err error) {
	if err = s.Desk.Read(r.Context(), v, "opencode_project_status", sectionpage.Args{"git_url": url}, &p); err == nil && p.Status == "not_found" {
		err = errUnknown
	}
	return p, err
}

func crumbs(of ...page.Link) []page.Link {
	return append([]page.Link{{Text: "Sandboxes", Href: root}}, of...)
}

func (s *Section) show(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
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
	boxes, err := s.boxes(r, v, of.URL)
	body := []markup.Node{p.facts(of), markup.Div(markup.Class("buttons"), servers(v, of), page.Deed(v, at(of.Name, "/key"), "Show the deploy key", "of "+page.Printable(of.Name)))}
	if err != nil {
		body = append(body, page.Part("Worktrees", sectionpage.Tell(err)))
	} else {
		body = append(body, table(v, of, boxes), creating(v, of), cleanup(v, of, boxes))
	}
	s.Show(w, r, v, page.Page{Title: page.Printable(of.Name), Crumbs: crumbs(), Live: []string{"ai-tool-result"},
		Body: append(body, s.kept(r, v, of), p.tail(of), destroying(v, of))})
}

// facts is how the project and its server stand.
func (p view) facts(of item) markup.Node {
	health := page.Text("it does not run")
	if p.Server.Running {
		health = page.Badge(page.Bad, "does not answer")
		if p.Healthy {
			health = page.Badge(page.Good, "healthy")
		}
	}
	var open markup.Node
	if p.Exposed {
		open = exposed()
	}
	return markup.Group{open, page.Facts(page.Fact{Name: "Git URL", Value: sectionpage.Code(of.URL)}, page.Fact{Name: "Directory", Value: sectionpage.Code(p.Base)},
		page.Fact{Name: "Server", Value: page.Badge(map[bool]string{true: page.Good, false: page.Plain}[p.Server.Running], p.Server.Status)}, page.Fact{Name: "Health", Value: health},
		page.Fact{Name: "Address", Value: sectionpage.Code(sectionpage.Deref(p.Server.URL))}, page.Fact{Name: "Port", Value: number(p.Server.Port)},
		page.Fact{Name: "Process", Value: number(p.Server.PID)}, page.Fact{Name: "Version", Value: sectionpage.Text(p.Server.Version)},
		page.Fact{Name: "Last error", Value: sectionpage.Text(p.Server.Error)}, page.Fact{Name: "Last seen well", Value: moment(p.LastHealth)},
		page.Fact{Name: "Recorded since", Value: page.When(p.CreatedAt)})}
}

// about answers for a project that is not there, or goes on with it.
func (s *Section) about(w http.ResponseWriter, r *http.Request, v httpguard.Visitor, next func(of item)) {
	of, err := s.find(r, v)
	if err != nil {
		s.Fail(w, v, err)
		return
	}
	next(of)
}

func (s *Section) server(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	s.about(w, r, v, func(of item) {
		task := work.Task{Title: "Start the server of " + page.Printable(of.Name), Tool: "opencode_project_start", Args: sectionpage.Args{"git_url": of.URL}, Back: at(of.Name, ""), Show: started}
		switch r.PostFormValue("do") {
		case "stop":
			task.Title, task.Tool, task.Show = "Stop the server of "+page.Printable(of.Name), "opencode_project_stop", nil
		case "restart":
			task.Title, task.Tool = "Restart the server of "+page.Printable(of.Name), "opencode_project_restart"
		}
		s.Desk.Do(w, r, v, task)
	})
}

// destroying is the buttons that take the whole project away from this machine.
func destroying(v httpguard.Visitor, of item) markup.Node {
	to, called := at(of.Name, "/destroy"), page.Printable(of.Name)
	return page.Part("Destroy", markup.P(page.Text("The server is stopped; the clone and all worktrees are deleted from this machine. The remote is untouched. While there is work that is nowhere else, this is refused with the list of it.")),
		page.Form(v, to, page.Danger("Destroy", markup.Aria("label", "Destroy "+called))),
		page.Fold("Work that is nowhere else may be lost …", false, page.Form(v, to, page.Hidden("force", "true"),
			markup.P(page.Text("What would be lost is shown, and the project's name has to be typed.")), page.Danger("Destroy with force", markup.Aria("label", "Destroy with force: "+called)))))
}

func (s *Section) destroy(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	s.about(w, r, v, func(of item) {
		s.Desk.Do(w, r, v, work.Task{Title: "Destroy " + page.Printable(of.Name), Tool: "opencode_project_destroy",
			Args: sectionpage.Args{"git_url": of.URL}.Flag("force", r.PostFormValue("force")), Back: root})
	})
}

func (s *Section) key(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	s.about(w, r, v, func(of item) {
		s.Desk.Do(w, r, v, work.Task{Title: "Deploy key of " + page.Printable(of.Name), Tool: "opencode_get_deploy_key", Args: sectionpage.Args{"git_url": of.URL}, Back: at(of.Name, ""), Show: keyed})
	})
}

// keyed is work.Task.Show for a deploy key.
func keyed(o tool.Outcome) markup.Node {
	var k struct {
		Public   string  `json:"public_key"`
		Path     string  `json:"public_key_path"`
		Register *string `json:"register_url"`
		Says     string  `json:"instructions"`
	}
	if o.Err != nil || decode(o.Value, &k) != nil || k.Public == "" {
		return nil
	}
	return markup.Group{page.Pre("public key", page.Printable(k.Public)), markup.P(sectionpage.Text(k.Says)),
		page.Facts(page.Fact{Name: "Register it at", Value: sectionpage.Code(sectionpage.Deref(k.Register))}, page.Fact{Name: "File", Value: sectionpage.Code(k.Path)})}
}
