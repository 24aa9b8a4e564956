package sqlitestore

import (
	"context"
	"database/sql"

	"github.com/countersign-dev/countersign/domain/project"
)

const (
	selectWorkflow  = `SELECT id, ifnull(project_id, ''), updated_at, body FROM workflows `
	selectWorkflows = selectWorkflow + `WHERE ?1 = '' OR project_id = ?1 ORDER BY updated_at DESC, seq DESC`
)

// Workflows is a projectport.Workflows; Open makes it.
type Workflows struct {
	table[string, project.Workflow]
}

func workflows(store *Store) Workflows {
	kept := body{store.Secrets(), SealedWorkflows(), "workflow"}
	return Workflows{table[string, project.Workflow]{
		store: store, kind: "workflow", absent: project.ErrWorkflowNotFound,
		find:   selectWorkflow + `WHERE id = ?`,
		insert: `INSERT INTO workflows (project_id, updated_at, body, id) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
		update: `UPDATE workflows SET project_id = ?, updated_at = ?, body = ? WHERE id = ?`,
		remove: `DELETE FROM workflows WHERE id = ?`,
		columns: func(w project.Workflow) ([]any, error) {
			of := w.ProjectID
			w.ProjectID = "" // it stands in its column alone
			body, err := kept.encode(w.ID, w)
			return []any{orNull(string(of)), nanos(w.UpdatedAt), body, w.ID}, err
		},
		scan: func(row scanner) (project.Workflow, error) {
			w, at, err := reveal[project.Workflow](kept, row)
			if at.why != "" {
				w = project.Workflow{ID: at.id, Name: unreadable, Description: at.why, Nodes: []project.Node{}, UpdatedAt: at.updated}
			}
			w.ProjectID = project.ID(at.project)
			return w, err
		},
		keep: func(was project.Workflow, next *project.Workflow) { next.ID = was.ID },
		refuse: func(ctx context.Context, tx *sql.Tx, next project.Workflow) error {
			return refuseForeign(ctx, tx, string(next.ProjectID))
		},
	}}
}

// List returns every workflow, or those of a project, the last updated first, and of those updated at once the last created. One that cannot
// be read any more is in it by its ID, and says so; Find is project.ErrUnreadable then.
func (s Workflows) List(ctx context.Context, of project.ID) ([]project.Workflow, error) {
	return s.all(ctx, selectWorkflows, string(of))
}
