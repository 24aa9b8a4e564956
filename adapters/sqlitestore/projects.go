package sqlitestore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/tool"
)

const (
	selectProjects   = `SELECT body FROM projects`
	selectRegistered = `SELECT body FROM projects WHERE path = ? AND id <> ?`
	existsProject    = `SELECT 1 FROM projects WHERE id = ?`
)

// Projects is a projectport.Projects; Open makes it.
type Projects struct {
	table[project.ID, project.Project]
}

func projects(store *Store) Projects {
	return Projects{table[project.ID, project.Project]{
		store: store, kind: "project", absent: project.ErrNotFound,
		find:   selectProjects + ` WHERE id = ?`,
		insert: `INSERT INTO projects (path, body, id) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING`,
		update: `UPDATE projects SET path = ?, body = ? WHERE id = ?`,
		remove: `DELETE FROM projects WHERE id = ?`,
		columns: func(p project.Project) ([]any, error) {
			body, err := tool.Encode(p)
			return []any{p.Path, []byte(body), string(p.ID)}, err
		},
		scan:   scanProject,
		keep:   func(was project.Project, next *project.Project) { next.ID, next.Revision = was.ID, was.Revision+1 },
		refuse: refuseProject,
	}}
}

// List returns every project by name, whatever the case, then by path. SQLite would know the case of ASCII letters only.
func (s Projects) List(ctx context.Context) ([]project.Project, error) {
	found, err := s.all(ctx, selectProjects)
	slices.SortFunc(found, func(a, b project.Project) int {
		return cmp.Or(cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)), cmp.Compare(a.Path, b.Path))
	})
	return found, err
}

func scanProject(row scanner) (project.Project, error) {
	var body []byte
	if err := row.Scan(&body); err != nil {
		return project.Project{}, err
	}
	return decoded[project.Project]("project", body)
}

// refuseProject rejects a path that is another project's.
func refuseProject(ctx context.Context, tx *sql.Tx, next project.Project) error {
	other, err := scanProject(tx.QueryRowContext(ctx, selectRegistered, next.Path, string(next.ID)))
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return project.ErrConflict.WithMessage("%s is already registered as the project %q (%s)", next.Path, other.Name, other.ID)
}

// refuseForeign rejects what says that it belongs to a project that does not exist.
func refuseForeign(ctx context.Context, tx *sql.Tx, of string) error {
	if of == "" {
		return nil
	}
	there, err := exists(ctx, tx, existsProject, of)
	if err == nil && !there {
		err = project.ErrNotFound.WithMessage("%q: %s", of, project.ErrNotFound.Message)
	}
	return err
}
