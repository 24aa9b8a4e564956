package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/countersign-dev/countersign/adapters/docfile"
)

// Column is a column whose values are sealed. Rows go by their column id.
type Column struct{ table, name string }

// SealedArguments returns what confirmations were asked for.
func SealedArguments() Column { return Column{"grants", "args"} }

// SealedWorkflows returns the bodies of workflows.
func SealedWorkflows() Column { return Column{"workflows", "body"} }

// SealedActions returns the bodies of actions.
func SealedActions() Column { return Column{"actions", "body"} }

func sealedColumns() []Column { return []Column{SealedArguments(), SealedWorkflows(), SealedActions()} }

// Seal returns what to store for plain in the row with that id: nothing for nothing. It belongs inside the transaction that stores it.
func (c Column) Seal(box *docfile.SecretBox, id string, plain []byte) ([]byte, error) {
	if len(plain) == 0 {
		return nil, nil
	}
	return box.Seal(c.at(id), plain)
}

// Open returns what was stored in the row with that id, and shares nothing with it. Versions before the fourth schema stored it in clear, as
// JSON.
func (c Column) Open(box *docfile.SecretBox, id string, stored []byte) ([]byte, error) {
	if !docfile.IsSealed(stored) {
		return slices.Clone(stored), nil
	}
	return box.Open(c.at(id), stored)
}

func (c Column) at(id string) docfile.SecretLocation {
	return docfile.SecretLocation{Table: c.table, Row: id, Column: c.name}
}

// ResealAll seals everything anew, and for the first time what is still in clear. What cannot be opened stays as it is: a key that is put
// back may open it yet. It is how many of these there are.
func ResealAll(ctx context.Context, tx *sql.Tx, box *docfile.SecretBox) (lost int, err error) {
	for _, c := range sealedColumns() {
		n, err := c.reseal(ctx, tx, box)
		if err != nil {
			return 0, err
		}
		lost += n
	}
	return lost, nil
}

func (c Column) reseal(ctx context.Context, tx *sql.Tx, box *docfile.SecretBox) (lost int, err error) {
	ids, err := c.ids(ctx, tx)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	find, err := tx.PrepareContext(ctx, fmt.Sprintf("SELECT %s FROM %s WHERE id = ?", c.name, c.table))
	if err != nil {
		return 0, err
	}
	defer find.Close() //nolint:errcheck // it is only memory
	update, err := tx.PrepareContext(ctx, fmt.Sprintf("UPDATE %s SET %s = ? WHERE id = ?", c.table, c.name))
	if err != nil {
		return 0, err
	}
	defer update.Close() //nolint:errcheck // it is only memory
	for _, id := range ids {
		var stored []byte
		if err := find.QueryRowContext(ctx, id).Scan(&stored); err != nil {
			return 0, err
		}
		plain, err := c.Open(box, id, stored)
		if errors.Is(err, docfile.ErrSecretLost) {
			lost++
			continue
		}
		if err != nil {
			return 0, err
		}
		if stored, err = c.Seal(box, id, plain); err != nil {
			return 0, err
		}
		if _, err := update.ExecContext(ctx, stored, id); err != nil {
			return 0, err
		}
	}
	return lost, nil
}

// ids returns the rows that have something in the column.
func (c Column) ids(ctx context.Context, tx *sql.Tx) ([]string, error) {
	rows, err := tx.QueryContext(ctx, fmt.Sprintf("SELECT id FROM %s WHERE length(%s) > 0", c.table, c.name))
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells what went wrong
	var ids []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}
