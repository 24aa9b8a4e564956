package sqlitestore

import (
	"context"
	"database/sql"

	"github.com/countersign-dev/countersign/ports/projectport"
)

// NewCatalogue keeps a catalogue in that store's database. It opens nothing, and where there is no database nothing but Create and Put makes one.
func NewCatalogue(store *Store) projectport.Catalogue {
	return projectport.Catalogue{
		Projects: projects(store), Workflows: workflows(store), Actions: actions(store),
		Rules: rules{store}, Templates: templates(store), Executions: executions(store),
	}
}

// alter returns the store's Change for what has nothing to do where there is no database: it reports whether there is one, and makes none.
func alter(ctx context.Context, store *Store, f func(context.Context, *sql.Tx) error) (there bool, err error) {
	if err := store.Read(ctx, func(*sql.DB) error { there = true; return nil }); err != nil || !there {
		return false, err
	}
	return true, store.Change(ctx, f)
}

// exists reports whether the query finds a row.
func exists(ctx context.Context, tx *sql.Tx, query string, args ...any) (bool, error) {
	var there bool
	err := tx.QueryRowContext(ctx, "SELECT EXISTS ("+query+")", args...).Scan(&there)
	return there, err
}

// affected reports whether a statement did anything to any row.
func affected(done sql.Result, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	n, err := done.RowsAffected()
	return n > 0, err
}

// orNull is text as a foreign key: nothing refers to nothing.
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}
