package sqlitestore

import (
	"context"
	"database/sql"

	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/webhook"
	"github.com/countersign-dev/countersign/domain/tool"
)

const (
	selectAction  = `SELECT id, ifnull(project_id, ''), updated_at, body FROM actions `
	selectActions = selectAction + `WHERE ?1 = '' OR project_id = ?1 OR project_id IS NULL ORDER BY updated_at DESC, seq DESC`
	existsAction  = `SELECT 1 FROM actions WHERE id = ?`

	selectRules = `SELECT body FROM rules ORDER BY seq DESC`
	upsertRule  = `INSERT INTO rules (action_id, kind, body) VALUES (?, ?, ?)
		ON CONFLICT (ifnull(action_id, ''), kind) DO UPDATE SET body = excluded.body`
	deleteRule = `DELETE FROM rules WHERE ifnull(action_id, '') = ? AND kind = ?`
)

// Actions is a projectport.Actions; Open makes it.
type Actions struct {
	table[string, webhook.Action]
}

func actions(store *Store) Actions {
	kept := body{store.Secrets(), SealedActions(), "action"}
	return Actions{table[string, webhook.Action]{
		store: store, kind: "action", absent: project.ErrActionNotFound,
		find:   selectAction + `WHERE id = ?`,
		insert: `INSERT INTO actions (project_id, updated_at, body, id) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
		update: `UPDATE actions SET project_id = ?, updated_at = ?, body = ? WHERE id = ?`,
		remove: `DELETE FROM actions WHERE id = ?`,
		columns: func(a webhook.Action) ([]any, error) {
			of := a.ProjectID
			a.ProjectID = "" // it stands in its column alone
			body, err := kept.encode(a.ID, a)
			return []any{orNull(of), nanos(a.UpdatedAt), body, a.ID}, err
		},
		scan: func(row scanner) (webhook.Action, error) {
			a, at, err := reveal[webhook.Action](kept, row)
			if at.why != "" {
				a = webhook.Action{ID: at.id, Name: unreadable, Description: at.why, UpdatedAt: at.updated}
			}
			a.ProjectID = at.project
			return a, err
		},
		keep: func(was webhook.Action, next *webhook.Action) { next.ID, next.Revision = was.ID, was.Revision+1 },
		refuse: func(ctx context.Context, tx *sql.Tx, next webhook.Action) error {
			return refuseForeign(ctx, tx, next.ProjectID)
		},
	}}
}

// List returns every action, or those of a project and of none, the last updated first, and of those updated at once the last created. One
// that cannot be read any more is in it by its ID, and says so; Find is project.ErrUnreadable then.
func (s Actions) List(ctx context.Context, of project.ID) ([]webhook.Action, error) {
	return s.all(ctx, selectActions, string(of))
}

// rules is a projectport.Rules; Open makes it.
type rules struct{ store *Store }

// List returns every rule, sorted by webhook.SortActionRules.
func (s rules) List(ctx context.Context) ([]webhook.ActionRule, error) {
	var found []webhook.ActionRule
	err := s.store.Read(ctx, func(db *sql.DB) (err error) {
		found, err = gather(ctx, db, scanRule, selectRules)
		return err
	})
	webhook.SortActionRules(found)
	return found, err
}

// Put stores a rule in place of the one for the same action, type, or all. An action that does not exist is project.ErrActionNotFound.
func (s rules) Put(ctx context.Context, r webhook.ActionRule) error {
	body, err := tool.Encode(r)
	if err != nil {
		return err
	}
	return s.store.Change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		there, err := exists(ctx, tx, existsAction, r.ActionID)
		if err != nil {
			return err
		}
		if r.ActionID != "" && !there {
			return project.ErrActionNotFound.WithMessage("%q: %s", r.ActionID, project.ErrActionNotFound.Message)
		}
		_, err = tx.ExecContext(ctx, upsertRule, orNull(r.ActionID), subject(r.ActionID, r.Type), []byte(body))
		return err
	})
}

// Delete forgets the rule for exactly that action, type, or all, and reports whether there was one.
func (s rules) Delete(ctx context.Context, actionID string, kind project.Kind) (bool, error) {
	gone := false
	_, err := alter(ctx, s.store, func(ctx context.Context, tx *sql.Tx) (err error) {
		gone, err = affected(tx.ExecContext(ctx, deleteRule, actionID, subject(actionID, kind)))
		return err
	})
	return gone && err == nil, err
}

// subject returns the type that a rule is for; a rule for an action is for that action whatever its type.
func subject(actionID string, kind project.Kind) string {
	if actionID != "" {
		return ""
	}
	return string(kind)
}

func scanRule(row scanner) (webhook.ActionRule, error) {
	var body []byte
	if err := row.Scan(&body); err != nil {
		return webhook.ActionRule{}, err
	}
	return decoded[webhook.ActionRule]("rule", body)
}
