package sqlitestore_test

import (
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/sqlitestore"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/shellcmd"
	"github.com/countersign-dev/countersign/domain/project/webhook"
	"github.com/countersign-dev/countersign/internal/testkit/cataloguetest"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/porttest"
	"github.com/countersign-dev/countersign/ports/projectport"
)

func projectStoreAt(t testing.TB, path string) *sqlitestore.Store {
	s := sqlitestore.Open(path)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

func openProject(t testing.TB) projectport.Catalogue {
	return sqlitestore.NewCatalogue(projectStoreAt(t, filepath.Join(t.TempDir(), "home", "countersign.db")))
}

func TestCatalogue(t *testing.T) { cataloguetest.Catalogue(t, openProject) }

func BenchmarkCatalogue(b *testing.B) { cataloguetest.Benchmark(b, openProject) }

// projectRaw returns the database as another program sees it.
func projectRaw(t testing.TB, path string) *sql.DB {
	t.Helper()
	file := url.URL{Scheme: "file", OmitHost: true, Path: path}
	db, err := sql.Open("sqlite", file.String()+"?_pragma=busy_timeout(5000)")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	return db
}

// rows returns every row of every table of the catalogue, by table and seq, as SQL text.
func rows(t testing.TB, db *sql.DB) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, table := range []string{"projects", "workflows", "actions", "rules", "templates", "executions"} {
		found, err := db.Query("SELECT * FROM " + table)
		require.NoError(t, err)
		columns, err := found.Columns()
		require.NoError(t, err)
		for found.Next() {
			values := make([]any, len(columns))
			for i := range values {
				values[i] = new(sql.RawBytes)
			}
			require.NoError(t, found.Scan(values...))
			text := ""
			for _, v := range values {
				text += fmt.Sprintf("%q|", *v.(*sql.RawBytes))
			}
			all[table+" "+string(*values[0].(*sql.RawBytes))] = text
		}
		require.NoError(t, found.Close())
	}
	return all
}

// changed returns the keys of what differs.
func changed(before, after map[string]string) []string {
	keys := []string{}
	for key, row := range before {
		if after[key] != row {
			keys = append(keys, key)
		}
	}
	for key := range after {
		if _, there := before[key]; !there {
			keys = append(keys, key)
		}
	}
	return keys
}

func start() time.Time { return time.Date(2026, time.May, 4, 3, 2, 1, 0, time.UTC) }

// stock stores two of each kind.
func stock(t testing.TB, c projectport.Catalogue) {
	t.Helper()
	for _, id := range []string{"one", "two"} {
		of := project.ID(id)
		require.NoError(t, c.Projects.Create(t.Context(), project.Project{ID: of, Name: id, Path: "/src/" + id, CreatedAt: start(), Revision: 1}))
		w, err := project.NewWorkflow("wf-"+id, id, "", of, start())
		require.NoError(t, err)
		require.NoError(t, c.Workflows.Create(t.Context(), w))
		require.NoError(t, c.Actions.Create(t.Context(), webhook.Action{ID: "a-" + id, ProjectID: id, Name: id, CreatedAt: start(), UpdatedAt: start()}))
		require.NoError(t, c.Rules.Put(t.Context(), webhook.ActionRule{ActionID: "a-" + id, Level: webhook.Deny, CreatedAt: start()}))
		require.NoError(t, c.Templates.Create(t.Context(), shellcmd.Template{ID: "custom-" + id, Name: id}))
		require.NoError(t, c.Executions.Create(t.Context(), project.Execution{
			ID: "exec-" + id, ActionID: "a-" + id, WorkflowID: "wf-" + id, Owner: "owner", Status: project.Running, StartedAt: start(),
		}))
	}
}

func TestWritingOneRowLeavesTheOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "countersign.db")
	c, db := sqlitestore.NewCatalogue(projectStoreAt(t, path)), projectRaw(t, path)
	stock(t, c)
	ctx := t.Context()
	for _, row := range []struct {
		what string
		do   func() error
		want []string
	}{
		{"a project", func() error {
			_, err := c.Projects.Update(ctx, "one", func(p *project.Project) error { p.Name = "other"; return nil })
			return err
		}, []string{"projects 1"}},
		{"a workflow", func() error {
			_, err := c.Workflows.Update(ctx, "wf-two", func(w *project.Workflow) error { return w.Rename("other", "", start()) })
			return err
		}, []string{"workflows 2"}},
		{"an action", func() error {
			_, err := c.Actions.Update(ctx, "a-one", func(a *webhook.Action) error { a.Enabled = true; return nil })
			return err
		}, []string{"actions 1"}},
		{"a rule", func() error {
			return c.Rules.Put(ctx, webhook.ActionRule{ActionID: "a-two", Level: webhook.AutoApprove, CreatedAt: start()})
		}, []string{"rules 2"}},
		{"an execution", func() error {
			_, err := c.Executions.Update(ctx, "exec-one", func(e *project.Execution) error {
				e.Add(project.OutputLine{Content: "a line"})
				return nil
			})
			return err
		}, []string{"executions 1"}},
		{"a new one", func() error { return c.Templates.Create(ctx, shellcmd.Template{ID: "custom-three"}) }, []string{"templates 3"}},
		{"a workflow that goes", func() error { return c.Workflows.Delete(ctx, "wf-one") }, []string{"workflows 1"}},
		{"an action that goes", func() error { return c.Actions.Delete(ctx, "a-one") }, []string{"actions 1", "rules 1"}},
		{"a project that goes", func() error { return c.Projects.Delete(ctx, "two") }, []string{"projects 2", "workflows 2", "actions 2", "rules 2"}},
		{"nothing", func() error { return c.Executions.Prune(ctx, "wf-one", 0, start()) }, nil},
	} {
		before := rows(t, db)
		require.NoError(t, row.do(), row.what)
		assert.ElementsMatch(t, row.want, changed(before, rows(t, db)), row.what)
	}
	var violations int
	require.NoError(t, db.QueryRow("SELECT count(*) FROM pragma_foreign_key_check").Scan(&violations))
	assert.Zero(t, violations)
}

func TestOwnersAndProjectsStandInTheirColumnsAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "countersign.db")
	store := projectStoreAt(t, path)
	stock(t, sqlitestore.NewCatalogue(store))
	for query, want := range map[string]string{
		"SELECT owner FROM executions WHERE id = 'exec-one'":                          "owner",
		"SELECT instr(head || detail, 'owner') FROM executions WHERE id = 'exec-one'": "0",
		"SELECT project_id FROM workflows WHERE id = 'wf-one'":                        "one",
		"SELECT project_id FROM actions WHERE id = 'a-one'":                           "one",
	} {
		var have string
		require.NoError(t, projectRaw(t, path).QueryRow(query).Scan(&have), query)
		assert.Equal(t, want, have, query)
	}
	for query, column := range map[string]sqlitestore.Column{
		"SELECT id, body FROM workflows WHERE id = 'wf-one'": sqlitestore.SealedWorkflows(), "SELECT id, body FROM actions WHERE id = 'a-one'": sqlitestore.SealedActions(),
	} {
		var id string
		var stored []byte
		require.NoError(t, projectRaw(t, path).QueryRow(query).Scan(&id, &stored))
		body, err := column.Open(store.Secrets(), id, stored)
		require.NoError(t, err)
		assert.Contains(t, string(body), `"name"`)
		assert.NotContains(t, string(body), "projectId")
	}
}

// TestTheSchemaHoldsWhoeverWrites: what the catalogue promises is not only this program's good will.
func TestTheSchemaHoldsWhoeverWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "countersign.db")
	stock(t, sqlitestore.NewCatalogue(projectStoreAt(t, path)))
	db := projectRaw(t, path)
	db.SetMaxOpenConns(1) // foreign keys are checked on the connection that says so
	_, err := db.Exec("PRAGMA foreign_keys = 1")
	require.NoError(t, err)
	for _, row := range []struct{ query, refused string }{
		{"INSERT INTO projects (id, path, body) VALUES ('three', '/src/one', x'')", "UNIQUE"},
		{"INSERT INTO projects (id, path, body) VALUES ('one', '/src/three', x'')", "UNIQUE"},
		{"INSERT INTO rules (action_id, kind, body) VALUES ('a-one', '', x'')", "UNIQUE"},
		{"INSERT INTO rules (action_id, kind, body) VALUES (NULL, 'script', x''), (NULL, 'script', x'')", "UNIQUE"},
		{"INSERT INTO rules (action_id, kind, body) VALUES (NULL, '', x''), (NULL, '', x'')", "UNIQUE"},
		{"INSERT INTO rules (action_id, kind, body) VALUES ('a-one', 'script', x'')", "CHECK"},
		{"INSERT INTO rules (action_id, kind, body) VALUES ('nobody', '', x'')", "FOREIGN KEY"},
		{"INSERT INTO workflows (id, project_id, updated_at, body) VALUES ('wf', 'nobody', 0, x'')", "FOREIGN KEY"},
		{"INSERT INTO actions (id, project_id, updated_at, body) VALUES ('a', 'nobody', 0, x'')", "FOREIGN KEY"},
	} {
		_, err := db.Exec(row.query)
		require.ErrorContains(t, err, row.refused, row.query)
	}
}

func TestNothingIsMadeUntilSomethingIsStored(t *testing.T) {
	dir := t.TempDir()
	c := sqlitestore.NewCatalogue(projectStoreAt(t, filepath.Join(dir, "home", "countersign.db")))
	_, err := c.Projects.List(t.Context())
	require.NoError(t, err)
	_, err = c.Workflows.Find(t.Context(), "wf")
	require.ErrorIs(t, err, project.ErrWorkflowNotFound)
	_, err = c.Actions.Update(t.Context(), "a", func(*webhook.Action) error { return nil })
	require.ErrorIs(t, err, project.ErrActionNotFound)
	require.ErrorIs(t, c.Projects.Delete(t.Context(), "p"), project.ErrNotFound)
	there, err := c.Rules.Delete(t.Context(), "", "")
	require.NoError(t, err)
	assert.False(t, there)
	require.NoError(t, c.Executions.Prune(t.Context(), "wf", 0, start()))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, entries)
}

// scripts returns the migrations, oldest first.
func scripts(t testing.TB) []string {
	t.Helper()
	names, err := filepath.Glob("migrations/*.sql")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(names), 3)
	return names
}

// TestOlderDatabases: a database that knows nothing of projects gets their tables, and keeps what is in it.
func TestOlderDatabases(t *testing.T) {
	all := scripts(t)
	for version := 1; version < 4; version++ { // the fourth seals
		t.Run(filepath.Base(all[version-1]), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "countersign.db")
			projectOlder(t, path, all[:version])
			store := projectStoreAt(t, path)
			c := sqlitestore.NewCatalogue(store)
			found, err := c.Projects.List(t.Context())
			require.NoError(t, err, "reading is enough")
			assert.Empty(t, found)
			stock(t, c)
			holdsWhatItHeld(t, store)
			require.NoError(t, store.Close())
			again := projectStoreAt(t, path)
			holdsWhatItHeld(t, again)
			found, err = sqlitestore.NewCatalogue(again).Projects.List(t.Context())
			require.NoError(t, err)
			assert.Len(t, found, 2)
			var now int
			require.NoError(t, projectRaw(t, path).QueryRow("PRAGMA user_version").Scan(&now))
			assert.Equal(t, len(all), now)
		})
	}
}

// projectOlder makes a database of only those migrations, with what the store keeps in it.
func projectOlder(t testing.TB, path string, scripts []string) {
	t.Helper()
	full := filepath.Join(t.TempDir(), "full.db")
	s := sqlitestore.Open(full)
	g, _ := porttest.Grant(1)
	require.NoError(t, sqlitestore.NewLedger(s).Issue(t.Context(), g))
	require.NoError(t, s.Append(t.Context(), porttest.Event("call_1"), porttest.Event("call_2")))
	_, err := s.Save(t.Context(), porttest.Settings())
	require.NoError(t, err)
	require.NoError(t, s.Sessions().Update(t.Context(), "key", func(have *ports.Session) error { have.Grant(porttest.Always("deploy")[0]); return nil }))
	require.NoError(t, s.Close())

	db := projectRaw(t, path)
	db.SetMaxOpenConns(1) // what is attached is attached to one connection
	exec := func(query string, args ...any) {
		t.Helper()
		_, err := db.Exec(query, args...)
		require.NoError(t, err, query)
	}
	for _, name := range scripts {
		script, err := os.ReadFile(name)
		require.NoError(t, err)
		exec(string(script))
	}
	exec(fmt.Sprintf("PRAGMA user_version = %d", len(scripts)))
	exec("ATTACH ? AS full", full)
	for _, table := range []string{"grants", "audit", "audit_head", "settings", "sessions"} {
		var columns string
		require.NoError(t, db.QueryRow("SELECT group_concat(name, ', ') FROM pragma_table_info(?)", table).Scan(&columns))
		exec("INSERT INTO main." + table + " (" + columns + ") SELECT " + columns + " FROM full." + table)
	}
	exec("DETACH full")
	exec("UPDATE grants SET args = ?", []byte(g.Args)) // which was not sealed then
}

func holdsWhatItHeld(t testing.TB, s *sqlitestore.Store) {
	t.Helper()
	g, _ := porttest.Grant(1)
	pending, err := sqlitestore.NewLedger(s).Pending(t.Context(), ports.PendingFilter{}, g.IssuedAt)
	require.NoError(t, err)
	require.Len(t, pending, 1)
	g.Scope, g.Risk = pending[0].Scope, pending[0].Risk // the first schema had neither
	g.Exhibit, g.Place = nil, ""                        // nor any of them these
	assert.Equal(t, g, pending[0])
	assert.Equal(t, int64(2), porttest.Verify(t, s))
	settings, err := s.Load(t.Context())
	require.NoError(t, err)
	want := porttest.Settings()
	want.Revision = 1
	assert.Equal(t, want, settings)
	session, err := s.Sessions().Load(t.Context(), "key")
	require.NoError(t, err)
	assert.Equal(t, porttest.Always("deploy"), session.Granted)
}

func TestNewerDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "countersign.db")
	_, err := projectRaw(t, path).Exec("CREATE TABLE t (x); PRAGMA user_version = 999")
	require.NoError(t, err)
	c := sqlitestore.NewCatalogue(projectStoreAt(t, path))
	_, err = c.Projects.List(t.Context())
	require.ErrorIs(t, err, sqlitestore.ErrNewer)
	_, err = c.Projects.Find(t.Context(), "one")
	require.ErrorIs(t, err, sqlitestore.ErrNewer)
	require.ErrorIs(t, c.Projects.Create(t.Context(), project.Project{ID: "one"}), sqlitestore.ErrNewer)
	_, err = c.Projects.Update(t.Context(), "one", func(*project.Project) error { return nil })
	require.ErrorIs(t, err, sqlitestore.ErrNewer)
	require.ErrorIs(t, c.Executions.Prune(t.Context(), "", 0, start()), sqlitestore.ErrNewer)
}

// What is not JSON any more is said, and is no reason to panic.
func TestDamagedRow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "countersign.db")
	c := sqlitestore.NewCatalogue(projectStoreAt(t, path))
	stock(t, c)
	_, err := projectRaw(t, path).Exec("UPDATE projects SET body = 'no JSON' WHERE id = 'one'; UPDATE executions SET detail = x'00' WHERE id = 'exec-one'")
	require.Error(t, err, "a column is of its type")
	_, err = projectRaw(t, path).Exec("UPDATE projects SET body = x'7b' WHERE id = 'one'; UPDATE executions SET detail = x'00' WHERE id = 'exec-one'")
	require.NoError(t, err)
	_, err = c.Projects.Find(t.Context(), "one")
	require.ErrorContains(t, err, "project")
	_, err = c.Projects.List(t.Context())
	require.Error(t, err)
	_, err = c.Projects.Find(t.Context(), "two")
	require.NoError(t, err)
	_, err = c.Executions.Find(t.Context(), "exec-one")
	require.Error(t, err)
	_, total, err := c.Executions.List(t.Context(), project.ExecutionFilter{})
	require.NoError(t, err, "lists do not read the detail")
	assert.Equal(t, 2, total)
}
