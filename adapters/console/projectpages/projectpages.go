package projectpages

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/app/projects"
	"github.com/countersign-dev/countersign/domain/fault"
)

// root is the path of the section.
const root = ProjectsPath

// The limits of reading the git statuses for the list: the time, the number of projects, and how many at once.
const (
	patience = 1500 * time.Millisecond
	looked   = 60
	atOnce   = 4
)

// Section is the pages of projects.
type Section struct{ ui.SectionBase }

// New returns the section.
func New(runner *ui.CallRunner) *Section {
	return &Section{ui.SectionBase{Calls: runner, Path: root, Title: "Projects", Toolset: "projects", Probe: projects.ListProjects.Name}}
}

// Mount adds the pages to a mux, through what lets users in.
func (s *Section) Mount(mux *http.ServeMux, person func(httpauth.Handler) http.Handler) {
	s.SectionBase.Mount(mux, person, ui.Handlers{
		"GET " + root:                       s.list,
		"POST " + root + "/register":        s.register,
		"GET " + root + "/{id}":             s.show,
		"POST " + root + "/{id}/run":        s.run,
		"POST " + root + "/{id}/services":   s.serve,
		"GET " + root + "/git/{id}":         s.git,
		"POST " + root + "/git/{id}/{do}":   s.gitDo,
		"POST " + root + "/{id}/settings":   s.change,
		"POST " + root + "/{id}/unregister": s.unregister,
	})
	NewWorkflowSection(s.SectionBase).Mount(mux, person)
	NewProcessSection(s.SectionBase).Mount(mux, person)
	NewActionSection(s.SectionBase).Mount(mux, person)
}

// at returns the page of a project.
func at(id string) string { return projectPath(id) }

func (s *Section) list(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	query := r.URL.Query().Get("q")
	var all projects.ProjectList
	if err := s.Calls.Read(r.Context(), v, projects.ListProjects.Name, ui.Args{}.Set("query", query), &all); err != nil {
		s.Fail(w, v, err)
		return
	}
	states := s.states(r.Context(), v, all.Projects)
	var rows []ui.Node
	for i, p := range all.Projects {
		rows = append(rows, ui.Row(ui.LinkTo(at(string(p.ID)), ui.Printable(p.Name)), words(p.ProjectType), words(p.PackageManager), words(p.CurrentBranch), states[i],
			ui.Text(strconv.Itoa(p.WorkflowCount)), ui.OptionalCode(p.Path)))
	}
	empty := "No projects registered. Register a directory below so that agents can read it and propose to run its scripts."
	if query != "" {
		empty = "No matching projects."
	}
	s.Show(w, r, v, ui.Page{Title: "Projects", Body: []ui.Node{ways(),
		ui.Search(root, ui.Field("q", "q", "Find projects", query), ui.SubmitButton("Find")),
		ui.DataTable("registered projects", []string{"Name", "Type", "Package manager", "Branch", "Status", "Workflows", "Directory"}, rows, empty),
		s.registering(v)}})
}

// ways returns links to the other pages of the section.
func ways() ui.Node {
	links := []ui.PageLink{{Text: "Background processes", Href: ProcessesPath}, {Text: "Workflows", Href: WorkflowListPath}, {Text: "Step templates", Href: TemplatesPath},
		{Text: "Actions and webhooks", Href: ActionsPath}, {Text: "Executions", Href: ExecutionsPath}}
	return ui.Nav(ui.Class("crumbs"), ui.Aria("label", "Related pages"), ui.Ul(ui.Map(links, func(l ui.PageLink) ui.Node { return ui.Li(ui.LinkTo(l.Href, l.Text)) })))
}

// words returns the text, or a dash if it is unknown.
func words[T ~string](p *T) ui.Node {
	if p == nil || *p == "" {
		return ui.Text("–")
	}
	return ui.OptionalText(string(*p))
}

// states returns the git status of each project, as far as git answers in time.
func (s *Section) states(ctx context.Context, v httpauth.Identity, all []projects.ProjectItem) []ui.Node {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	out := make([]ui.Node, len(all))
	var g errgroup.Group
	g.SetLimit(atOnce)
	for i := range all {
		out[i] = ui.Text("not checked")
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

func (s *Section) state(ctx context.Context, v httpauth.Identity, path string) ui.Node {
	var answer struct {
		Status present.Changes `json:"status"`
	}
	if err := s.Calls.Read(ctx, v, "get_git_status", ui.Args{"project_path": path}, &answer); err != nil {
		return unknown(err)
	}
	return badge(answer.Status)
}

// codeNoRepository is the code of a directory without git.
const codeNoRepository fault.Code = "not_a_git_repo"

// unknown returns why the git status of a directory is unknown.
func unknown(err error) ui.Node {
	switch f := fault.From(err); {
	case f.Code == codeNoRepository:
		return ui.Text("not a git repository")
	case f.Kind == fault.Timeout, f.Kind == fault.Canceled:
		return ui.Text("not checked")
	case f.Kind == fault.Denied, f.Kind == fault.NotFound:
		return ui.Badge(ui.Bad, "directory not found")
	}
	return ui.Badge(ui.Bad, "git failed")
}

// The tools for users. They are enabled with all toolsets, or with their own.
const (
	toolAdd    = "project_add"
	toolChange = "project_change"
	toolRemove = "project_remove"
	toolShow   = "project_settings"
)

// registering returns the form that registers a directory as a project.
func (s *Section) registering(v httpauth.Identity) ui.Node {
	if !s.Calls.Serves(v, toolAdd) {
		return ui.Part("Register project", ui.Empty("To register a directory, run: countersign project add DIRECTORY. To do this in the console, start the server with --toolsets all."))
	}
	return ui.Panel("Register project", ui.PostForm(v, root+"/register",
		ui.Field("path", "path", "Directory (absolute path)", "", ui.Required()),
		ui.Field("name", "name", "Name (default: directory name)", ""), ui.Field("description", "description", "Description (optional)", ""),
		ui.SubmitButton("Register project")))
}

func (s *Section) register(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	path := r.PostFormValue("path")
	args := ui.Args{"path": path}.Set("name", r.PostFormValue("name")).Set("description", r.PostFormValue("description"))
	s.Calls.Do(w, r, v, ui.Task{Title: "Register project " + path, Tool: toolAdd, Args: args, Back: root})
}
