// Package sandboxpages is the console's pages of projects keyed by git URL: their agent servers, and the worktrees beside their clones with what each of
// them holds.
//
// It refuses to start servers and to touch worktrees itself, and to know how either is done: what is done passes the door.
package sandboxpages

import (
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/page"
	"github.com/countersign-dev/countersign/adapters/console/sectionpage"
	"github.com/countersign-dev/countersign/adapters/console/work"
	"github.com/countersign-dev/countersign/adapters/httpguard"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// root is the path of the section. Below it, "-" can be no project's name.
const root = "/sandboxes"

// Section is the pages of sandboxes.
type Section struct{ sectionpage.Section }

// New is the section, over a desk.
func New(desk *work.Desk) *Section {
	return &Section{sectionpage.Section{Desk: desk, Path: root, Title: "Sandboxes", Toolset: "sandboxes", Probe: toolList}}
}

// The tools that these pages call more than once.
const (
	toolList   = "opencode_project_list"
	toolDelete = "opencode_sandbox_delete"
)

// Mount adds the pages to a mux, through what lets people in.
func (s *Section) Mount(mux *http.ServeMux, person func(httpguard.Handler) http.Handler) {
	s.Section.Mount(mux, person, sectionpage.Handlers{
		"GET " + root:                      s.list,
		"POST " + root + "/-/start":        s.begin,
		"GET " + root + "/-/upkeep":        s.upkeep,
		"POST " + root + "/-/orphans":      s.orphans,
		"POST " + root + "/-/gateway":      s.gateway,
		"POST " + root + "/-/model":        s.setModel,
		"GET " + root + "/{name}":          s.show,
		"GET " + root + "/{name}/log":      s.log,
		"POST " + root + "/{name}/server":  s.server,
		"POST " + root + "/{name}/destroy": s.destroy,
		"POST " + root + "/{name}/key":     s.key,
		"POST " + root + "/{name}/create":  s.create,
		"POST " + root + "/{name}/reset":   s.reset,
		"POST " + root + "/{name}/delete":  s.remove,
		"POST " + root + "/{name}/restore": s.restore,
		"POST " + root + "/{name}/clean":   s.clean,
		"GET " + root + "/{name}/cleaned":  s.cleaned,
	})
}

// at is a page of a project, or below it.
func at(name, below string) string { return root + "/" + url.PathEscape(name) + below }

// item is a project in a list.
type item struct {
	URL     string `json:"git_url"`
	Name    string `json:"name"`
	Running bool   `json:"opencode_running"`
	Port    *int   `json:"opencode_port"`
	Base    string `json:"base_dir"`
	Trees   int    `json:"worktrees"`
}

// front is the gateway in front of all servers.
type front struct {
	PID     *int   `json:"pid"`
	Port    *int   `json:"port"`
	Status  string `json:"status"`
	Running bool   `json:"running"`
	Active  int    `json:"active_projects"`
}

type listing struct {
	Projects []item `json:"projects"`
	Gateway  *front `json:"global_mcp_tool"`
}

var errUnknown = fault.New(fault.NotFound, "page_sandbox_missing", "no project of this name is recorded; the list of sandboxes shows those that are")

// find is the project of the address.
func (s *Section) find(r *http.Request, v httpguard.Visitor) (item, error) {
	var all listing
	if err := s.Desk.Read(r.Context(), v, toolList, nil, &all); err != nil {
		return item{}, err
	}
	for _, p := range all.Projects {
		if p.Name == r.PathValue("name") {
			return p, nil
		}
	}
	return item{}, errUnknown
}

// running is the badge of a server.
func running(so bool) markup.Node {
	if so {
		return page.Badge(page.Good, "running")
	}
	return page.Badge(page.Plain, "stopped")
}

// number is a number that may not be known.
func number(p *int) markup.Node {
	if p == nil {
		return nil
	}
	return page.Text(fmt.Sprint(*p))
}

func (s *Section) list(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	var all listing
	if err := s.Desk.Read(r.Context(), v, toolList, nil, &all); err != nil {
		s.Fail(w, v, err)
		return
	}
	var rows []markup.Node
	for _, p := range all.Projects {
		rows = append(rows, page.Row(page.To(at(p.Name, ""), page.Printable(p.Name)), sectionpage.Code(p.URL), running(p.Running), number(p.Port),
			page.Text(sectionpage.Count(p.Trees, "worktree", "worktrees")), servers(v, p)))
	}
	s.Show(w, r, v, page.Page{Title: "Sandboxes", Live: []string{"ai-tool-result"}, Body: []markup.Node{
		markup.P(page.To(root+"/-/upkeep", "Duplicates, orphans and models")),
		page.Table("projects by git URL", []string{"Project", "Git URL", "Server", "Port", "Worktrees", "Change"}, rows, "No project is recorded. Start one below: it is cloned, and served by an agent server of its own."),
		fronted(v, all.Gateway), starting(v)}})
}

// servers is the buttons that start and stop a project's server.
func servers(v httpguard.Visitor, p item) markup.Node {
	do := func(word, label string) markup.Node {
		return page.Deed(v, at(p.Name, "/server"), label, "the server of "+page.Printable(p.Name), page.Hidden("do", word))
	}
	if p.Running {
		return markup.Group{do("restart", "Restart"), do("stop", "Stop")}
	}
	return do("start", "Start")
}

// fronted is the gateway, and the buttons that restart and stop it.
func fronted(v httpguard.Visitor, g *front) markup.Node {
	if g == nil {
		return nil
	}
	do := func(word, label string) markup.Node {
		return page.Deed(v, root+"/-/gateway", label, "the gateway", page.Hidden("do", word))
	}
	buttons := markup.Group{do("restart", "Restart")}
	if g.Running {
		buttons = append(buttons, do("stop", "Stop"))
	}
	return page.Part("Gateway", page.Facts(page.Fact{Name: "State", Value: running(g.Running)}, page.Fact{Name: "Port", Value: number(g.Port)}, page.Fact{Name: "Process", Value: number(g.PID)},
		page.Fact{Name: "Active projects", Value: page.Text(fmt.Sprint(g.Active))}), markup.Div(markup.Class("buttons"), buttons))
}

// starting is the form that starts a project.
func starting(v httpguard.Visitor) markup.Node {
	return page.Part("Start a project", page.Form(v, root+"/-/start", page.Field("git_url", "git_url", "Git URL (ssh or https)", "", markup.Required()),
		page.Field("user_ssh_key", "user_ssh_key", "Path of an SSH key of yours (empty: a deploy key is made where one is needed)", ""), page.Button("Start project")))
}

func (s *Section) begin(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	url := r.PostFormValue("git_url")
	s.Desk.Do(w, r, v, work.Task{Title: "Start " + page.Printable(url), Tool: "opencode_project_start",
		Args: sectionpage.Args{"git_url": url}.Set("user_ssh_key", r.PostFormValue("user_ssh_key")), Back: root, Show: started})
}

func (s *Section) gateway(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	task := work.Task{Title: "Restart the gateway", Tool: "opencode_mcp_restart", Back: root}
	if r.PostFormValue("do") == "stop" {
		task.Title, task.Tool = "Stop the gateway", "opencode_stop_mcp_tool"
	}
	s.Desk.Do(w, r, v, task)
}

// started is work.Task.Show for a project's start: it runs, or this is what is still missing.
func started(o tool.Outcome) markup.Node {
	var p struct {
		Status   string   `json:"status"`
		Project  string   `json:"project"`
		URL      string   `json:"opencode_url"`
		Message  string   `json:"message"`
		Warnings []string `json:"warnings"`
		Public   string   `json:"public_key"`
		Register string   `json:"register_url"`
		Detail   string   `json:"error_detail"`
		Gateway  string   `json:"mcp_tool_error"`
		Exposed  bool     `json:"exposed"`
	}
	if o.Err != nil || decode(o.Value, &p) != nil || p.Project == "" {
		return nil
	}
	tone := page.Good
	if p.Status != "success" {
		tone = page.Warn
	}
	body := markup.Group{page.Notice(tone, markup.P(sectionpage.Text(p.Message)), markup.P(page.To(at(p.Project, ""), "See "+page.Printable(p.Project)))),
		page.Facts(page.Fact{Name: "Server", Value: sectionpage.Code(p.URL)}, page.Fact{Name: "Gateway", Value: sectionpage.Text(p.Gateway)},
			page.Fact{Name: "Register the key at", Value: sectionpage.Code(p.Register)}, page.Fact{Name: "The host said", Value: sectionpage.Text(p.Detail)})}
	if p.Public != "" {
		body = append(body, page.Pre("public key", page.Printable(p.Public)))
	}
	if p.Exposed {
		body = append(body, exposed())
	}
	for _, text := range p.Warnings {
		body = append(body, page.Notice(page.Warn, markup.P(sectionpage.Text(text))))
	}
	return body
}

func exposed() markup.Node {
	return page.Notice(page.Warn, markup.P(page.Text("The server listens on more than this machine: others can reach it.")))
}

// moment is a moment that may not have been.
func moment(t *time.Time) markup.Node {
	if t == nil {
		return nil
	}
	return page.When(*t)
}
