// Package projectpages is the console's pages of registered projects: what they hold, how git says they stand, and everything that can be run in them.
//
// It refuses to run anything itself, and to know how: what is shown is what the tools answer, and what is done passes the door.
package projectpages

import (
	"context"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/page"
	"github.com/countersign-dev/countersign/adapters/console/projectpages/actionpages"
	"github.com/countersign-dev/countersign/adapters/console/projectpages/execview"
	"github.com/countersign-dev/countersign/adapters/console/projectpages/flowpages"
	"github.com/countersign-dev/countersign/adapters/console/projectpages/procpages"
	"github.com/countersign-dev/countersign/adapters/console/sectionpage"
	"github.com/countersign-dev/countersign/adapters/console/work"
	"github.com/countersign-dev/countersign/adapters/httpguard"
	"github.com/countersign-dev/countersign/adapters/present/answers"
	"github.com/countersign-dev/countersign/domain/fault"
)

// root is the path of the section.
const root = execview.Projects

// How long the list waits for git to say how the projects stand, how many it asks about, and how many at once.
const (
	patience = 1500 * time.Millisecond
	looked   = 60
	atOnce   = 4
)

// Section is the pages of projects.
type Section struct{ sectionpage.Section }

// New is the section, over a desk.
func New(desk *work.Desk) *Section {
	return &Section{sectionpage.Section{Desk: desk, Path: root, Title: "Projects", Toolset: "projects", Probe: "list_projects"}}
}

// Mount adds the pages to a mux, through what lets people in.
func (s *Section) Mount(mux *http.ServeMux, person func(httpguard.Handler) http.Handler) {
	s.Section.Mount(mux, person, sectionpage.Handlers{
		"GET " + root:                       s.list,
		"POST " + root + "/register":        s.register,
		"GET " + root + "/{id}":             s.show,
		"POST " + root + "/{id}/run":        s.run,
		"POST " + root + "/{id}/settings":   s.change,
		"POST " + root + "/{id}/unregister": s.unregister,
	})
	flowpages.New(s.Section).Mount(mux, person)
	procpages.New(s.Section).Mount(mux, person)
	actionpages.New(s.Section).Mount(mux, person)
}

// at is the page of a project.
func at(id string) string { return execview.ProjectPath(id) }

// item is a project in a list.
type item struct {
	ID          string  `json:"id"`
	Name        string  `json:"name"`
	Path        string  `json:"path"`
	Description *string `json:"description"`
	Type        *string `json:"projectType"`
	Manager     *string `json:"packageManager"`
	Branch      *string `json:"currentBranch"`
	Workflows   int     `json:"workflowCount"`
}

func (s *Section) list(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	query := r.URL.Query().Get("q")
	var all struct {
		Projects []item `json:"projects"`
	}
	if err := s.Desk.Read(r.Context(), v, "list_projects", sectionpage.Args{}.Set("query", query), &all); err != nil {
		s.Fail(w, v, err)
		return
	}
	states := s.states(r.Context(), v, all.Projects)
	var rows []markup.Node
	for i, p := range all.Projects {
		rows = append(rows, page.Row(page.To(at(p.ID), page.Printable(p.Name)), words(p.Type), words(p.Manager), words(p.Branch), states[i],
			page.Text(sectionpage.Count(p.Workflows, "workflow", "workflows")), sectionpage.Code(p.Path)))
	}
	empty := "No project is registered. Register a directory below, and agents can look at it and ask to run its scripts."
	if query != "" {
		empty = "No registered project has that in its name, path or description."
	}
	s.Show(w, r, v, page.Page{Title: "Projects", Body: []markup.Node{ways(),
		page.Search(root, page.Field("q", "q", "Find projects", query), page.Button("Find")),
		page.Table("registered projects", []string{"Name", "Type", "Package manager", "Branch", "State", "Workflows", "Directory"}, rows, empty),
		s.registering(v)}})
}

// ways are the other pages of the section.
func ways() markup.Node {
	links := []page.Link{{Text: "Background processes", Href: execview.Processes}, {Text: "Workflows", Href: flowpages.Root}, {Text: "Step templates", Href: flowpages.Templates},
		{Text: "Actions and webhooks", Href: actionpages.Root}, {Text: "History", Href: execview.Executions}}
	return markup.Nav(markup.Class("crumbs"), markup.Aria("label", "More about projects"), markup.Ul(markup.Map(links, func(l page.Link) markup.Node { return markup.Li(page.To(l.Href, l.Text)) })))
}

// words is what is known of something, or that nothing is.
func words(p *string) markup.Node {
	if p == nil || *p == "" {
		return page.Text("–")
	}
	return sectionpage.Text(*p)
}

// states is how the work tree of each project stands, as far as git says it soon.
func (s *Section) states(ctx context.Context, v httpguard.Visitor, all []item) []markup.Node {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	out := make([]markup.Node, len(all))
	var g errgroup.Group
	g.SetLimit(atOnce)
	for i := range all {
		out[i] = page.Text("not looked at")
		if i < looked {
			g.Go(func() error {
				out[i] = s.state(ctx, v, all[i].Path)
				return nil
			})
		}
	}
	_ = g.Wait() // none of them fails
	return out
}

func (s *Section) state(ctx context.Context, v httpguard.Visitor, path string) markup.Node {
	var answer struct {
		Status answers.Changes `json:"status"`
	}
	if err := s.Desk.Read(ctx, v, "get_git_status", sectionpage.Args{"project_path": path}, &answer); err != nil {
		return unknown(err)
	}
	return badge(answer.Status)
}

// codeNoRepository is the code of a directory without git.
const codeNoRepository fault.Code = "not_a_git_repo"

// unknown says in two words why the state of a directory is not known.
func unknown(err error) markup.Node {
	switch f := fault.From(err); {
	case f.Code == codeNoRepository:
		return page.Text("no git repository")
	case f.Kind == fault.Timeout, f.Kind == fault.Canceled:
		return page.Text("not looked at")
	case f.Kind == fault.Denied, f.Kind == fault.NotFound:
		return page.Badge(page.Bad, "directory not there")
	}
	return page.Badge(page.Bad, "git failed")
}

// The tools of what only people do. They are served with everything, or with their own toolset.
const (
	toolAdd    = "project_add"
	toolChange = "project_change"
	toolRemove = "project_remove"
	toolShow   = "project_settings"
)

// registering is the form that makes a directory a project.
func (s *Section) registering(v httpguard.Visitor) markup.Node {
	if !s.Desk.Serves(v, toolAdd) {
		return page.Part("Register a directory", page.Empty("This is done on the command line here: countersign project add DIRECTORY. The console does it when the server is started with --toolsets all."))
	}
	return page.Part("Register a directory", page.Form(v, root+"/register",
		page.Field("path", "path", "Directory (an absolute path on this machine)", "", markup.Required()),
		page.Field("name", "name", "Name (empty: the directory's)", ""), page.Field("description", "description", "Description (may be empty)", ""),
		page.Button("Register")))
}

func (s *Section) register(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	path := r.PostFormValue("path")
	args := sectionpage.Args{"path": path}.Set("name", r.PostFormValue("name")).Set("description", r.PostFormValue("description"))
	s.Desk.Do(w, r, v, work.Task{Title: "Register " + path, Tool: toolAdd, Args: args, Back: root})
}
