package memstore

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/shellcmd"
	"github.com/countersign-dev/countersign/domain/project/webhook"
)

// projects is a projectport.Projects; New makes it.
type projects struct {
	collection[project.ID, project.Project]
}

func newProjects(d *catalogueLock, workflows *workflows, actions *actions) *projects {
	s := &projects{collection[project.ID, project.Project]{
		lock: d, kind: "project", absent: project.ErrNotFound,
		id:     func(p *project.Project) *project.ID { return &p.ID },
		settle: func(was project.Project, next *project.Project) { next.Revision = was.Revision + 1 },
		gone:   func(id string) { workflows.orphan(id); actions.deleteOf(id) },
	}}
	s.refuse = s.registered
	return s
}

// List returns every project sorted by name, ignoring case, then by path.
func (s *projects) List(ctx context.Context) ([]project.Project, error) {
	found, err := s.newest(ctx, nil)
	slices.SortFunc(found, func(a, b project.Project) int {
		return cmp.Or(cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)), cmp.Compare(a.Path, b.Path))
	})
	return found, err
}

// registered rejects a path that is another project's.
func (s *projects) registered(next project.Project) error {
	for _, e := range s.kept {
		other, err := s.value(e)
		if err != nil {
			return err
		}
		if other.Path == next.Path && other.ID != next.ID {
			return project.ErrConflict.WithMessage("%s is already registered as the project %q (%s)", next.Path, other.Name, other.ID)
		}
	}
	return nil
}

// foreign rejects a project that does not exist.
func (s *projects) foreign(of project.ID) error {
	if of != "" && s.place(of) < 0 {
		return s.none(of)
	}
	return nil
}

// workflows is a projectport.Workflows; New makes it.
type workflows struct {
	collection[string, project.Workflow]
	projects *projects
}

func newWorkflows(d *catalogueLock) *workflows {
	s := &workflows{collection: collection[string, project.Workflow]{
		lock: d, kind: "workflow", absent: project.ErrWorkflowNotFound,
		id:    func(w *project.Workflow) *string { return &w.ID },
		aside: func(w *project.Workflow) *string { return (*string)(&w.ProjectID) },
	}}
	s.refuse = func(w project.Workflow) error { return s.projects.foreign(w.ProjectID) }
	return s
}

// List returns every workflow, or those of a project, the last updated first, and of those updated at once the last created.
func (s *workflows) List(ctx context.Context, of project.ID) ([]project.Workflow, error) {
	found, err := s.newest(ctx, func(w project.Workflow) bool { return of == "" || w.ProjectID == of })
	slices.SortStableFunc(found, func(a, b project.Workflow) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
	return found, err
}

// orphan makes the workflows of a project those of none.
func (s *workflows) orphan(of string) {
	for i := range s.kept {
		if s.kept[i].aside == of {
			s.kept[i].aside = ""
		}
	}
}

// actions is a projectport.Actions; New makes it.
type actions struct {
	collection[string, webhook.Action]
	projects *projects
}

func newActions(d *catalogueLock, rules *rules) *actions {
	s := &actions{collection: collection[string, webhook.Action]{
		lock: d, kind: "action", absent: project.ErrActionNotFound,
		id:     func(a *webhook.Action) *string { return &a.ID },
		aside:  func(a *webhook.Action) *string { return &a.ProjectID },
		settle: func(was webhook.Action, next *webhook.Action) { next.Revision = was.Revision + 1 },
		gone:   rules.deleteOf,
	}}
	s.refuse = func(a webhook.Action) error { return s.projects.foreign(project.ID(a.ProjectID)) }
	return s
}

// List returns every action, or those of a project and of none, the last updated first, and of those updated at once the last created.
func (s *actions) List(ctx context.Context, of project.ID) ([]webhook.Action, error) {
	found, err := s.newest(ctx, func(a webhook.Action) bool { return of == "" || a.ProjectID == string(of) || a.ProjectID == "" })
	slices.SortStableFunc(found, func(a, b webhook.Action) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
	return found, err
}

// deleteOf forgets the actions of a project, and their rules.
func (s *actions) deleteOf(of string) {
	s.kept = slices.DeleteFunc(s.kept, func(e entry) bool {
		if e.aside != of {
			return false
		}
		s.gone(e.id)
		return true
	})
}

// templates is a projectport.Templates; New makes it.
type templates struct {
	collection[string, shellcmd.Template]
}

func newTemplates(d *catalogueLock) *templates {
	return &templates{collection[string, shellcmd.Template]{
		lock: d, kind: "step template", absent: project.ErrTemplateNotFound,
		id: func(t *shellcmd.Template) *string { return &t.ID },
	}}
}

// List returns every custom template sorted by name, ignoring case; among equals the oldest first.
func (s *templates) List(ctx context.Context) ([]shellcmd.Template, error) {
	found, err := s.newest(ctx, nil)
	slices.Reverse(found)
	slices.SortStableFunc(found, func(a, b shellcmd.Template) int {
		return cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
	})
	return found, err
}
