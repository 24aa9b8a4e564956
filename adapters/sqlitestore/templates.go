package sqlitestore

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/shellcmd"
	"github.com/countersign-dev/countersign/domain/tool"
)

const selectTemplates = `SELECT body FROM templates ORDER BY seq`

// Templates is a projectport.Templates; Open makes it.
type Templates struct {
	kept table[string, shellcmd.Template]
}

func templates(store *Store) Templates {
	return Templates{table[string, shellcmd.Template]{
		store: store, kind: "step template", absent: project.ErrTemplateNotFound,
		insert: `INSERT INTO templates (body, id) VALUES (?, ?) ON CONFLICT (id) DO NOTHING`,
		remove: `DELETE FROM templates WHERE id = ?`,
		columns: func(t shellcmd.Template) ([]any, error) {
			body, err := tool.Encode(t)
			return []any{[]byte(body), t.ID}, err
		},
		scan: scanTemplate,
	}}
}

// List returns every custom template by name, whatever the case; the first created first among equals.
func (s Templates) List(ctx context.Context) ([]shellcmd.Template, error) {
	found, err := s.kept.all(ctx, selectTemplates)
	slices.SortStableFunc(found, func(a, b shellcmd.Template) int {
		return cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
	})
	return found, err
}

// Create stores a new one. An ID that is taken is project.ErrConflict.
func (s Templates) Create(ctx context.Context, t shellcmd.Template) error {
	return s.kept.Create(ctx, t)
}

// Delete forgets one, or fails with project.ErrTemplateNotFound.
func (s Templates) Delete(ctx context.Context, id string) error { return s.kept.Delete(ctx, id) }

func scanTemplate(row scanner) (shellcmd.Template, error) {
	var body []byte
	if err := row.Scan(&body); err != nil {
		return shellcmd.Template{}, err
	}
	return decoded[shellcmd.Template]("step template", body)
}
