// Package flowpages is the console's pages of workflows and of templates for their steps: what they do, how a run of them goes on, and how they are
// made and changed.
//
// It refuses to carry steps out, and to know projects beyond their names.
package flowpages

import (
	"context"
	"net/http"
	"time"

	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/page"
	"github.com/countersign-dev/countersign/adapters/console/projectpages/execview"
	"github.com/countersign-dev/countersign/adapters/console/sectionpage"
	"github.com/countersign-dev/countersign/adapters/console/work"
	"github.com/countersign-dev/countersign/adapters/httpguard"
	"github.com/countersign-dev/countersign/domain/tool"
)

// The paths of the pages.
const (
	Root      = execview.Workflows
	Templates = execview.Projects + "/templates"
)

// Section is the pages of workflows.
type Section struct{ sectionpage.Section }

// New is the pages, as part of the section of projects.
func New(of sectionpage.Section) *Section { return &Section{of} }

// Mount adds the pages to a mux, through what lets people in.
func (s *Section) Mount(mux *http.ServeMux, person func(httpguard.Handler) http.Handler) {
	s.Section.Mount(mux, person, sectionpage.Handlers{
		"GET " + Root:                        s.list,
		"POST " + Root:                       s.create,
		"GET " + Root + "/{id}":              s.show,
		"POST " + Root + "/{id}/run":         s.run,
		"POST " + Root + "/{id}/steps":       s.addStep,
		"POST " + Root + "/{id}/triggers":    s.addTrigger,
		"POST " + Root + "/{id}/remove-step": s.removeStep,
		"POST " + Root + "/{id}/change":      s.change,
		"POST " + Root + "/{id}/webhook":     s.setWebhook,
		"POST " + Root + "/{id}/incoming":    s.setIncoming,
		"POST " + Root + "/{id}/remove":      s.remove,
		"GET " + Templates:                   s.templates,
		"POST " + Templates:                  s.createTemplate,
		"POST " + Templates + "/{id}/remove": s.removeTemplate,
	})
}

// Path is the page of a workflow.
func Path(id string) string { return execview.WorkflowPath(id) }

// crumbs is the way to a page below the list of workflows.
func crumbs(of string) []page.Link {
	all := []page.Link{{Text: "Projects", Href: execview.Projects}}
	if of != "" {
		all = append(all, page.Link{Text: "Workflows", Href: Root})
	}
	return all
}

// item is a workflow in a list.
type item struct {
	ID          string     `json:"id"`
	Name        string     `json:"name"`
	Description *string    `json:"description"`
	Project     *string    `json:"projectId"`
	Steps       int        `json:"stepCount"`
	Ran         *time.Time `json:"lastExecutedAt"`
}

func (s *Section) listed(ctx context.Context, v httpguard.Visitor, project string) (all []item, err error) {
	var answer struct {
		Workflows []item `json:"workflows"`
	}
	err = s.Desk.Read(ctx, v, "list_workflows", sectionpage.Args{}.Set("project_id", project), &answer)
	return answer.Workflows, err
}

func table(all []item, names map[string]string) markup.Node {
	var rows []markup.Node
	for _, w := range all {
		of := "global"
		if w.Project != nil {
			of = *w.Project
			if name := names[of]; name != "" {
				of = name
			}
		}
		rows = append(rows, page.Row(page.To(Path(w.ID), page.Printable(w.Name)), sectionpage.Text(of), page.Text(sectionpage.Count(w.Steps, "step", "steps")),
			page.When(sectionpage.Deref(w.Ran)), sectionpage.Text(sectionpage.Deref(w.Description))))
	}
	return page.Table("workflows", []string{"Name", "Project", "Steps", "Last run", "Description"}, rows, "There is no workflow yet.")
}

// Of is the part of a project's page about its workflows.
func Of(of sectionpage.Section, r *http.Request, v httpguard.Visitor, project string) markup.Node {
	s := New(of)
	all, err := s.listed(r.Context(), v, project)
	if err != nil {
		return page.Part("Workflows", sectionpage.Tell(err))
	}
	return page.Part("Workflows", table(all, map[string]string{project: "this project"}), s.creating(v, page.Hidden("project", project)))
}

// project is a registered project, to choose from.
type project struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Path string `json:"path"`
}

func (s *Section) projects(ctx context.Context, v httpguard.Visitor) (all []project, names map[string]string) {
	var answer struct {
		Projects []project `json:"projects"`
	}
	if s.Desk.Read(ctx, v, "list_projects", nil, &answer) != nil { // then there are none to choose from
		return nil, nil
	}
	names = map[string]string{}
	for _, p := range answer.Projects {
		names[p.ID] = p.Name
	}
	return answer.Projects, names
}

func (s *Section) list(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	all, err := s.listed(r.Context(), v, "")
	if err != nil {
		s.Fail(w, v, err)
		return
	}
	projects, names := s.projects(r.Context(), v)
	choices := []page.Choice{{Value: "", Text: "none: it is global"}}
	for _, p := range projects {
		choices = append(choices, page.Choice{Value: p.ID, Text: page.Printable(p.Name)})
	}
	s.Show(w, r, v, page.Page{Title: "Workflows", Crumbs: crumbs(""), Live: []string{"ai-tool-result"}, Body: []markup.Node{table(all, names),
		s.creating(v, page.Select("project", "project", "Project", "", choices...))}})
}

// creating is the form that makes a workflow. of says of which project.
func (s *Section) creating(v httpguard.Visitor, of markup.Node) markup.Node {
	return page.Fold("Create a workflow", false, page.Form(v, Root, page.Field("workflow-name", "name", "Name of the new workflow", "", markup.Required()),
		page.Field("workflow-description", "description", "What it is for (may be empty)", ""), of, page.Button("Create workflow")))
}

func (s *Section) create(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	name := r.PostFormValue("name")
	args := sectionpage.Args{"name": name}.Set("description", r.PostFormValue("description")).Set("project_id", r.PostFormValue("project"))
	s.Desk.Do(w, r, v, work.Task{Title: "Create workflow " + page.Printable(name), Tool: "create_workflow", Args: args, Back: Root, Show: created})
}

// created leads to the workflow that was made, which has no steps yet.
func created(o tool.Outcome) markup.Node {
	var made struct {
		ID      string `json:"workflowId"`
		Name    string `json:"name"`
		Warning string `json:"warning"`
	}
	if o.Err != nil || decode(o.Value, &made) != nil {
		return nil
	}
	var warned markup.Node
	if made.Warning != "" {
		warned = page.Notice(page.Warn, markup.P(sectionpage.Text(made.Warning)))
	}
	return markup.Group{page.Notice(page.Good, markup.P(page.Text("The workflow is there, and has no steps yet. "), page.To(Path(made.ID), "Add steps to "+page.Printable(made.Name)))), warned}
}
