package projectmem

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/automation"
	"github.com/countersign-dev/countersign/domain/project/template"
	"github.com/countersign-dev/countersign/domain/project/workflow"
	"github.com/countersign-dev/countersign/domain/sorting"
)

// Projects is a projectport.Projects; New makes it.
type Projects struct {
	shelf[project.ID, project.Project]
}

func newProjects(d *desk, workflows *Workflows, actions *Actions) *Projects {
	s := &Projects{shelf[project.ID, project.Project]{
		desk: d, kind: "project", absent: project.ErrNotFound,
		id:     func(p *project.Project) *project.ID { return &p.ID },
		settle: func(was project.Project, next *project.Project) { next.Revision = was.Revision + 1 },
		gone:   func(id string) { workflows.orphan(id); actions.deleteOf(id) },
	}}
	s.refuse = s.registered
	return s
}

// List is every project by name, whatever the case, then by path.
func (s *Projects) List(ctx context.Context) ([]project.Project, error) {
	found, err := s.newest(ctx, nil)
	sorting.By(found, func(a, b project.Project) int {
		return cmp.Or(cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)), cmp.Compare(a.Path, b.Path))
	})
	return found, err
}

// registered refuses a path that is another project's.
func (s *Projects) registered(next project.Project) error {
	for _, e := range s.kept {
		other, err := s.value(e)
		if err != nil {
			return err
		}
		if other.Path == next.Path && other.ID != next.ID {
			return project.ErrConflict.Sayf("%s is registered already, as the project %q (%s)", next.Path, other.Name, other.ID)
		}
	}
	return nil
}

// foreign refuses a project that does not exist.
func (s *Projects) foreign(of project.ID) error {
	if of != "" && s.place(of) < 0 {
		return s.none(of)
	}
	return nil
}

// Workflows is a projectport.Workflows; New makes it.
type Workflows struct {
	shelf[string, workflow.Workflow]
	projects *Projects
}

func newWorkflows(d *desk) *Workflows {
	s := &Workflows{shelf: shelf[string, workflow.Workflow]{
		desk: d, kind: "workflow", absent: project.ErrWorkflowNotFound,
		id:    func(w *workflow.Workflow) *string { return &w.ID },
		aside: func(w *workflow.Workflow) *string { return (*string)(&w.ProjectID) },
	}}
	s.refuse = func(w workflow.Workflow) error { return s.projects.foreign(w.ProjectID) }
	return s
}

// List is every workflow, or those of a project, the last updated first, and of those updated at once the last created.
func (s *Workflows) List(ctx context.Context, of project.ID) ([]workflow.Workflow, error) {
	found, err := s.newest(ctx, func(w workflow.Workflow) bool { return of == "" || w.ProjectID == of })
	sorting.Stable(found, func(a, b workflow.Workflow) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
	return found, err
}

// orphan makes the workflows of a project those of none.
func (s *Workflows) orphan(of string) {
	for i := range s.kept {
		if s.kept[i].aside == of {
			s.kept[i].aside = ""
		}
	}
}

// Actions is a projectport.Actions; New makes it.
type Actions struct {
	shelf[string, automation.Action]
	projects *Projects
}

func newActions(d *desk, rules *Rules) *Actions {
	s := &Actions{shelf: shelf[string, automation.Action]{
		desk: d, kind: "action", absent: project.ErrActionNotFound,
		id:     func(a *automation.Action) *string { return &a.ID },
		aside:  func(a *automation.Action) *string { return &a.ProjectID },
		settle: func(was automation.Action, next *automation.Action) { next.Revision = was.Revision + 1 },
		gone:   rules.deleteOf,
	}}
	s.refuse = func(a automation.Action) error { return s.projects.foreign(project.ID(a.ProjectID)) }
	return s
}

// List is every action, or those of a project and of none, the last updated first, and of those updated at once the last created.
func (s *Actions) List(ctx context.Context, of project.ID) ([]automation.Action, error) {
	found, err := s.newest(ctx, func(a automation.Action) bool { return of == "" || a.ProjectID == string(of) || a.ProjectID == "" })
	sorting.Stable(found, func(a, b automation.Action) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
	return found, err
}

// deleteOf forgets the actions of a project, and their rules.
func (s *Actions) deleteOf(of string) {
	s.kept = slices.DeleteFunc(s.kept, func(e entry) bool {
		if e.aside != of {
			return false
		}
		s.gone(e.id)
		return true
	})
}

// Templates is a projectport.Templates; New makes it.
type Templates struct {
	shelf[string, template.Template]
}

func newTemplates(d *desk) *Templates {
	return &Templates{shelf[string, template.Template]{
		desk: d, kind: "step template", absent: project.ErrTemplateNotFound,
		id: func(t *template.Template) *string { return &t.ID },
	}}
}

// List is every custom template by name, whatever the case; the first created first among equals.
func (s *Templates) List(ctx context.Context) ([]template.Template, error) {
	found, err := s.newest(ctx, nil)
	slices.Reverse(found)
	sorting.Stable(found, func(a, b template.Template) int {
		return cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
	})
	return found, err
}
