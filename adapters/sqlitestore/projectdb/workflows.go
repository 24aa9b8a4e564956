package projectdb

import (
	"context"
	"database/sql"

	"github.com/countersign-dev/countersign/adapters/sqlitestore"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/workflow"
	"github.com/countersign-dev/countersign/domain/tool"
)

const (
	selectWorkflow  = `SELECT ifnull(project_id, ''), body FROM workflows `
	selectWorkflows = selectWorkflow + `WHERE ?1 = '' OR project_id = ?1 ORDER BY updated_at DESC, seq DESC`
)

// Workflows is a projectport.Workflows; Open makes it.
type Workflows struct {
	table[string, workflow.Workflow]
}

func workflows(store *sqlitestore.Store) Workflows {
	return Workflows{table[string, workflow.Workflow]{
		store: store, kind: "workflow", absent: project.ErrWorkflowNotFound,
		find:   selectWorkflow + `WHERE id = ?`,
		insert: `INSERT INTO workflows (project_id, updated_at, body, id) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
		update: `UPDATE workflows SET project_id = ?, updated_at = ?, body = ? WHERE id = ?`,
		remove: `DELETE FROM workflows WHERE id = ?`,
		columns: func(w workflow.Workflow) ([]any, error) {
			of := w.ProjectID
			w.ProjectID = "" // it stands in its column alone
			body, err := tool.Encode(w)
			return []any{orNull(string(of)), nanos(w.UpdatedAt), []byte(body), w.ID}, err
		},
		scan: scanWorkflow,
		keep: func(was workflow.Workflow, next *workflow.Workflow) { next.ID = was.ID },
		refuse: func(ctx context.Context, tx *sql.Tx, next workflow.Workflow) error {
			return refuseForeign(ctx, tx, string(next.ProjectID))
		},
	}}
}

// List is every workflow, or those of a project, the last updated first, and of those updated at once the last created.
func (s Workflows) List(ctx context.Context, of project.ID) ([]workflow.Workflow, error) {
	return s.all(ctx, selectWorkflows, string(of))
}

func scanWorkflow(row scanner) (workflow.Workflow, error) {
	var of string
	var body []byte
	if err := row.Scan(&of, &body); err != nil {
		return workflow.Workflow{}, err
	}
	w, err := decoded[workflow.Workflow]("workflow", body)
	w.ProjectID = project.ID(of)
	return w, err
}
