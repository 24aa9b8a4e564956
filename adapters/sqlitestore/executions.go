package sqlitestore

import (
	"context"
	"database/sql"
	"time"

	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/tool"
)

const (
	selectExecution = `SELECT owner, head, detail FROM executions WHERE id = ?`
	insertExecution = `INSERT INTO executions (action_id, workflow_id, kind, status, owner, started_at, ended_at, head, detail, id)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`
	updateExecution = `UPDATE executions SET action_id = ?, workflow_id = ?, kind = ?, status = ?, owner = ?, started_at = ?, ended_at = ?,
		head = ?, detail = ? WHERE id = ?`
	chosen = `(?1 = '' OR action_id = ?1) AND (?2 = '' OR workflow_id = ?2) AND (?3 = '' OR kind = ?3) AND (?4 = '' OR status = ?4)`
	// One statement sees one moment, so that the page and the number agree.
	selectExecutions = `SELECT owner, head, (SELECT count(*) FROM executions WHERE ` + chosen + `) FROM executions WHERE ` + chosen +
		` ORDER BY started_at DESC, seq DESC LIMIT ?5`
	pruneExecutions = `DELETE FROM executions WHERE status IN ('completed', 'failed', 'cancelled', 'timed_out') AND (ended_at < ?1
		OR seq NOT IN (SELECT seq FROM executions ORDER BY started_at DESC, seq DESC LIMIT ?2)
		OR ?3 <> '' AND workflow_id = ?3
			AND seq NOT IN (SELECT seq FROM executions WHERE workflow_id = ?3 ORDER BY started_at DESC, seq DESC LIMIT ?4))`
)

// Executions is a projectport.Executions; Open makes it.
type Executions struct {
	kept table[string, project.Execution]
}

// detail is what lists of executions leave out.
type detail struct {
	Steps  []project.ExecutionStep `json:"steps,omitempty"`
	Output []project.OutputLine    `json:"output,omitempty"`
}

func executions(store *Store) Executions {
	return Executions{table[string, project.Execution]{
		store: store, kind: "execution", absent: project.ErrExecutionNotFound,
		find: selectExecution, insert: insertExecution, update: updateExecution,
		columns: executionColumns,
		scan:    scanExecution,
		keep:    func(was project.Execution, next *project.Execution) { next.ID = was.ID },
	}}
}

// Find returns the execution with that ID, or project.ErrExecutionNotFound.
func (s Executions) Find(ctx context.Context, id string) (project.Execution, error) {
	return s.kept.Find(ctx, id)
}

// Create stores a new one. An ID that is taken is project.ErrConflict.
func (s Executions) Create(ctx context.Context, e project.Execution) error {
	return s.kept.Create(ctx, e)
}

// Update runs change on the execution inside one immediate transaction and stores what it leaves, unless it fails; the ID stays.
func (s Executions) Update(ctx context.Context, id string, change func(*project.Execution) error) (project.Execution, error) {
	return s.kept.Update(ctx, id, change)
}

// List is executions without output and steps, the last started first, and how many match in all. Of those started at once the last
// created comes first.
func (s Executions) List(ctx context.Context, f project.ExecutionFilter) (page []project.Execution, total int, err error) {
	scan := func(row scanner) (project.Execution, error) {
		var owner string
		var head []byte
		if err := row.Scan(&owner, &head, &total); err != nil {
			return project.Execution{}, err
		}
		e, err := decoded[project.Execution]("execution", head)
		e.Owner = owner
		return e, err
	}
	err = s.kept.store.Read(ctx, func(db *sql.DB) (err error) {
		page, err = gather(ctx, db, scan, selectExecutions, f.ActionID, f.WorkflowID, string(f.Kind), string(f.Status), f.Most())
		return err
	})
	return page, total, err
}

// Prune forgets final executions: of the workflow beyond its newest keep (when workflowID is not empty), of all beyond the newest
// execution.MaxRows, and those that ended before the given time. Those that go on count among the newest, and stay.
func (s Executions) Prune(ctx context.Context, workflowID string, keep int, before time.Time) error {
	_, err := alter(ctx, s.kept.store, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, pruneExecutions, nanos(before), project.MaxRows, workflowID, max(keep, 0))
		return err
	})
	return err
}

func executionColumns(e project.Execution) ([]any, error) {
	rest, err := tool.Encode(detail{Steps: e.Steps, Output: e.Output})
	if err != nil {
		return nil, err
	}
	e.Steps, e.Output = nil, nil
	head, err := tool.Encode(e)
	if err != nil {
		return nil, err
	}
	var ended any // what has not ended did not end before anything
	if !e.CompletedAt.IsZero() {
		ended = nanos(e.CompletedAt)
	}
	return []any{
		e.ActionID, e.WorkflowID, string(e.Kind), string(e.Status), e.Owner, nanos(e.StartedAt), ended, []byte(head), []byte(rest), e.ID,
	}, nil
}

func scanExecution(row scanner) (project.Execution, error) {
	var owner string
	var head, rest []byte
	if err := row.Scan(&owner, &head, &rest); err != nil {
		return project.Execution{}, err
	}
	e, err := decoded[project.Execution]("execution", head)
	if err != nil {
		return e, err
	}
	d, err := decoded[detail]("execution", rest)
	e.Owner, e.Steps, e.Output = owner, d.Steps, d.Output
	return e, err
}
