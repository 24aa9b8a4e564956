package projectpages

import (
	"context"
	"net/http"
	"time"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/app/projects"
	"github.com/countersign-dev/countersign/domain/tool"
)

// The paths of the pages.
const (
	WorkflowListPath = WorkflowsPath
	TemplatesPath    = ProjectsPath + "/templates"
)

// workflowSection is the pages of workflows.
type workflowSection struct{ ui.SectionBase }

// NewWorkflowSection returns the pages, as part of the section of projects.
func NewWorkflowSection(of ui.SectionBase) *workflowSection { return &workflowSection{of} }

// Mount adds the pages to a mux, through what lets users in.
func (s *workflowSection) Mount(mux *http.ServeMux, person func(httpauth.Handler) http.Handler) {
	s.SectionBase.Mount(mux, person, ui.Handlers{
		"GET " + WorkflowListPath:                        s.list,
		"POST " + WorkflowListPath:                       s.create,
		"GET " + WorkflowListPath + "/{id}":              s.show,
		"POST " + WorkflowListPath + "/{id}/run":         s.run,
		"POST " + WorkflowListPath + "/{id}/steps":       s.addStep,
		"POST " + WorkflowListPath + "/{id}/triggers":    s.addTrigger,
		"POST " + WorkflowListPath + "/{id}/remove-step": s.removeStep,
		"POST " + WorkflowListPath + "/{id}/change-step": s.changeStep,
		"POST " + WorkflowListPath + "/{id}/change":      s.change,
		"POST " + WorkflowListPath + "/{id}/inputs":      s.setInputs,
		"POST " + WorkflowListPath + "/{id}/webhook":     s.setWebhook,
		"POST " + WorkflowListPath + "/{id}/incoming":    s.setIncoming,
		"POST " + WorkflowListPath + "/{id}/remove":      s.remove,
		"GET " + TemplatesPath:                           s.templates,
		"POST " + TemplatesPath:                          s.createTemplate,
		"POST " + TemplatesPath + "/{id}/remove":         s.removeTemplate,
	})
}

// workflowCrumbs returns the breadcrumbs of a page below the list of workflows.
func workflowCrumbs(of string) []ui.PageLink {
	all := []ui.PageLink{{Text: "Projects", Href: ProjectsPath}}
	if of != "" {
		all = append(all, ui.PageLink{Text: "Workflows", Href: WorkflowListPath})
	}
	return all
}

// workflowItem is a workflow in a list.
type workflowItem struct {
	ID          string     `json:"id"`
	Name        string     `json:"name"`
	Description *string    `json:"description"`
	Project     *string    `json:"projectId"`
	Steps       int        `json:"stepCount"`
	Ran         *time.Time `json:"lastExecutedAt"`
}

func (s *workflowSection) listed(ctx context.Context, v httpauth.Identity, project string) (all []workflowItem, err error) {
	var answer struct {
		Workflows []workflowItem `json:"workflows"`
	}
	err = s.Calls.Read(ctx, v, "list_workflows", ui.Args{}.Set("project_id", project), &answer)
	return answer.Workflows, err
}

func workflowTable(all []workflowItem, names map[string]string) ui.Node {
	var rows []ui.Node
	for _, w := range all {
		of := "global"
		if w.Project != nil {
			of = *w.Project
			if name := names[of]; name != "" {
				of = name
			}
		}
		rows = append(rows, ui.Row(ui.LinkTo(workflowPath(w.ID), ui.Printable(w.Name)), ui.OptionalText(of), ui.Text(ui.Count(w.Steps, "step", "steps")),
			ui.When(ui.Deref(w.Ran)), ui.OptionalText(ui.Deref(w.Description))))
	}
	return ui.DataTable("workflows", []string{"Name", "Project", "Steps", "Last execution", "Description"}, rows, "No workflows yet.")
}

// WorkflowsPart returns the tab of a project's workflows.
func WorkflowsPart(of ui.SectionBase, r *http.Request, v httpauth.Identity, project string) ui.Node {
	s := NewWorkflowSection(of)
	all, err := s.listed(r.Context(), v, project)
	if err != nil {
		return ui.Part("Workflows", ui.ErrorNotice(err))
	}
	return ui.Part("Workflows", workflowTable(all, map[string]string{project: "this project"}), s.creating(v, ui.Hidden("project", project)))
}

func (s *workflowSection) projects(ctx context.Context, v httpauth.Identity) (all []projects.ProjectItem, names map[string]string) {
	var answer projects.ProjectList
	if s.Calls.Read(ctx, v, projects.ListProjects.Name, nil, &answer) != nil { // then there are none to choose from
		return nil, nil
	}
	names = map[string]string{}
	for _, p := range answer.Projects {
		names[string(p.ID)] = p.Name
	}
	return answer.Projects, names
}

func (s *workflowSection) list(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	all, err := s.listed(r.Context(), v, "")
	if err != nil {
		s.Fail(w, v, err)
		return
	}
	registered, names := s.projects(r.Context(), v)
	choices := []ui.Choice{{Value: "", Text: "none (global)"}}
	for _, p := range registered {
		choices = append(choices, ui.Choice{Value: string(p.ID), Text: ui.Printable(p.Name)})
	}
	s.Show(w, r, v, ui.Page{Title: "Workflows", Crumbs: workflowCrumbs(""), Live: []string{"ai-tool-result"}, Body: []ui.Node{workflowTable(all, names),
		s.creating(v, ui.SelectField("project", "project", "Project", "", choices...))}})
}

// creating returns the form that creates a workflow. of is the field of its project.
func (s *workflowSection) creating(v httpauth.Identity, of ui.Node) ui.Node {
	return ui.Disclosure("Create workflow …", false, ui.PostForm(v, WorkflowListPath, ui.Field("workflow-name", "name", "Workflow name", "", ui.Required()),
		ui.Field("workflow-description", "description", "Description (optional)", ""), of, ui.SubmitButton("Create workflow")))
}

func (s *workflowSection) create(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	name := r.PostFormValue("name")
	args := ui.Args{"name": name}.Set("description", r.PostFormValue("description")).Set("project_id", r.PostFormValue("project"))
	s.Calls.Do(w, r, v, ui.Task{Title: "Create workflow " + ui.Printable(name), Tool: "create_workflow", Args: args, Back: WorkflowListPath, Show: created})
}

// created is ui.Task.Show for create_workflow: a link to the new workflow, which has no steps.
func created(o tool.Outcome) ui.Node {
	var made struct {
		ID      string `json:"workflowId"`
		Name    string `json:"name"`
		Warning string `json:"warning"`
	}
	if o.Err != nil || decodeWorkflow(o.Value, &made) != nil {
		return nil
	}
	var warned ui.Node
	if made.Warning != "" {
		warned = ui.Notice(ui.Warn, ui.P(ui.OptionalText(made.Warning)))
	}
	return ui.Group{ui.Notice(ui.Good, ui.P(ui.Text("Workflow created. It has no steps yet. "), ui.LinkTo(workflowPath(made.ID), "Add steps to "+ui.Printable(made.Name)))), warned}
}
