package sqlitestore_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/sqlitestore"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/webhook"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/porttest"
	"github.com/countersign-dev/countersign/ports/projectport"
)

// inClear reports whether the text is in the database or in its log.
func inClear(t testing.TB, path, text string) bool {
	t.Helper()
	found := false
	for _, suffix := range []string{"", "-wal"} {
		content, err := os.ReadFile(path + suffix)
		if !errors.Is(err, fs.ErrNotExist) {
			require.NoError(t, err)
		}
		found = found || strings.Contains(string(content), text)
	}
	return found
}

// secretive returns an action and a workflow with every kind of secret there is; each is named by its place.
func secretive() (webhook.Action, webhook.Action, project.Workflow) {
	program := webhook.Action{ID: "a-program", Type: project.KindScript, Name: "program", ProjectID: "one", UpdatedAt: start(),
		Script: &webhook.ScriptConfig{Command: "true", Env: map[string]string{"TOKEN": "hunter2-env"}}}
	request := webhook.Action{ID: "a-request", Type: project.KindWebhook, Name: "request", UpdatedAt: start(),
		Webhook: &webhook.Config{URL: "https://example.com", Headers: map[string]string{"Authorization": "Bearer hunter2-header"}}}
	w := project.Workflow{ID: "wf-secret", Name: "secret", ProjectID: "one", Nodes: []project.Node{}, UpdatedAt: start(), Revision: 1,
		Webhook:  &project.Outgoing{URL: "https://example.com", Headers: map[string]string{"X": "hunter2-outgoing"}},
		Incoming: &project.Incoming{Secret: "hunter2-incoming"}}
	return program, request, w
}

func storeSecrets(t testing.TB, c projectport.Catalogue) {
	t.Helper()
	program, request, w := secretive()
	require.NoError(t, c.Projects.Create(t.Context(), project.Project{ID: "one", Name: "one", Path: "/src/one"}))
	require.NoError(t, c.Actions.Create(t.Context(), program))
	require.NoError(t, c.Actions.Create(t.Context(), request))
	require.NoError(t, c.Workflows.Create(t.Context(), w))
}

func assertSecrets(t testing.TB, c projectport.Catalogue) {
	t.Helper()
	program, request, w := secretive()
	actions, err := c.Actions.List(t.Context(), "")
	require.NoError(t, err)
	assert.ElementsMatch(t, []webhook.Action{program, request}, actions)
	flows, err := c.Workflows.List(t.Context(), "one")
	require.NoError(t, err)
	assert.Equal(t, []project.Workflow{w}, flows)
}

func TestSecretsAreNowhereInClear(t *testing.T) {
	path := filepath.Join(t.TempDir(), "countersign.db")
	store := projectStoreAt(t, path)
	c := sqlitestore.NewCatalogue(store)
	storeSecrets(t, c)
	require.True(t, inClear(t, path, "wf-secret"), "this looks in the right place")
	assert.False(t, inClear(t, path, "hunter2"))
	_, err := c.Actions.Update(t.Context(), "a-program", func(a *webhook.Action) error { a.Script.Env["MORE"] = "hunter2-more"; return nil })
	require.NoError(t, err)
	_, err = c.Workflows.Update(t.Context(), "wf-secret", func(w *project.Workflow) error { w.Incoming = nil; return nil })
	require.NoError(t, err)
	assert.False(t, inClear(t, path, "hunter2"))
	require.NoError(t, c.Actions.Delete(t.Context(), "a-request"))
	require.NoError(t, c.Projects.Delete(t.Context(), "one"))
	assert.False(t, inClear(t, path, "hunter2"))
	require.NoError(t, store.Close())
	assert.False(t, inClear(t, path, "hunter2"))
	assert.False(t, inClear(t, path, "a-request"), "what is deleted is overwritten")
}

// TestClearRowsOfOlderVersions are readable, and sealed as soon as the database is opened; no copy of them stays.
func TestClearRowsOfOlderVersions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "countersign.db")
	old(t, path)
	require.True(t, inClear(t, path, "hunter2"))
	store := projectStoreAt(t, path)
	assertSecrets(t, sqlitestore.NewCatalogue(store))
	require.NoError(t, store.Close())
	assert.False(t, inClear(t, path, "hunter2"))
	again := projectStoreAt(t, path)
	assertSecrets(t, sqlitestore.NewCatalogue(again))
	g, _ := porttest.Grant(1)
	waiting, err := sqlitestore.NewLedger(again).Pending(t.Context(), ports.PendingFilter{}, g.IssuedAt)
	require.NoError(t, err)
	require.Len(t, waiting, 1)
	assert.JSONEq(t, `{"header":"hunter2-waiting"}`, string(waiting[0].Args))
}

// TestOldClearRowsReadWithoutBeingSealed: whoever put them there.
func TestOldClearRowsReadWithoutBeingSealed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "countersign.db")
	c := sqlitestore.NewCatalogue(projectStoreAt(t, path))
	storeSecrets(t, c)
	clearly(t, path)
	assertSecrets(t, c)
}

// clearly puts the bodies in clear, as the versions before the fourth schema wrote them.
func clearly(t testing.TB, path string) {
	t.Helper()
	program, request, w := secretive()
	program.ProjectID, w.ProjectID = "", ""
	db := projectRaw(t, path)
	for id, v := range map[string]any{"a-program": program, "a-request": request, "wf-secret": w} {
		body, err := tool.Encode(v)
		require.NoError(t, err)
		for _, table := range []string{"actions", "workflows"} {
			_, err = db.Exec("UPDATE "+table+" SET body = ? WHERE id = ?", []byte(body), id)
			require.NoError(t, err)
		}
	}
	require.NoError(t, db.Close())
}

// old is a database of the third schema, with secrets in rows, and in the room that rows have left.
func old(t testing.TB, path string) {
	t.Helper()
	db := projectRaw(t, path)
	exec := func(query string, args ...any) {
		t.Helper()
		_, err := db.Exec(query, args...)
		require.NoError(t, err, query)
	}
	exec("PRAGMA journal_mode = WAL")
	for _, name := range scripts(t)[:3] {
		script, err := os.ReadFile(name)
		require.NoError(t, err)
		exec(string(script))
	}
	exec("PRAGMA user_version = 3")
	exec("INSERT INTO projects (id, path, body) VALUES ('one', '/src/one', ?)", []byte(`{"id":"one","name":"one","path":"/src/one"}`))
	exec("INSERT INTO actions (id, project_id, updated_at, body) VALUES ('a-program', 'one', ?1, x'7b7d'), ('a-request', NULL, ?1, x'7b7d')", start().UnixNano())
	exec("INSERT INTO workflows (id, project_id, updated_at, body) VALUES ('wf-secret', 'one', ?1, x'7b7d')", start().UnixNano())
	for n, args := range []string{`{"header":"hunter2-spent"}`, `{"header":"hunter2-waiting"}`} {
		g, _ := porttest.Grant(n)
		exec(`INSERT INTO grants (digest, id, session, principal, tool, subject, args, mode, strength, target, prompt, plan, human_only,
			issued_at, expires_at, state, misses, answerer) VALUES (?,?,'s','p','t',?,?,0,0,'','',NULL,0,?,?,?,0,'')`,
			g.Digest[:], g.ID, g.Binding.Subject[:], []byte(args), g.IssuedAt.UnixNano(), g.ExpiresAt.UnixNano(), 2*(1-n))
	}
	gone := []byte(`{"x":"` + strings.Repeat("hunter2-gone ", 2000) + `"}`)
	exec("INSERT INTO actions (id, updated_at, body) VALUES ('a-gone', 0, ?)", gone)
	exec("DELETE FROM actions WHERE id = 'a-gone'")
	require.NoError(t, db.Close())
	clearly(t, path)
}

// TestLostKeyTakesNothingElseWithIt: what cannot be read is named, can be removed, and stands in nobody's way.
func TestLostKeyTakesNothingElseWithIt(t *testing.T) {
	dir := t.TempDir()
	path, key := filepath.Join(dir, "countersign.db"), filepath.Join(dir, "keys", "secret.key")
	first := projectStoreAt(t, path)
	storeSecrets(t, sqlitestore.NewCatalogue(first))
	require.NoError(t, first.Close())
	require.NoError(t, os.Remove(key))

	c := sqlitestore.NewCatalogue(projectStoreAt(t, path))
	require.NoError(t, c.Actions.Create(t.Context(), webhook.Action{ID: "a-new", Name: "new", UpdatedAt: start()}))
	require.NoError(t, c.Workflows.Create(t.Context(), project.Workflow{ID: "wf-new", Name: "new", UpdatedAt: start()}))
	have, err := c.Actions.Find(t.Context(), "a-new")
	require.NoError(t, err)
	assert.Equal(t, "new", have.Name)

	lost, err := c.Actions.Find(t.Context(), "a-program")
	require.ErrorIs(t, err, project.ErrUnreadable)
	assert.Zero(t, lost)
	assert.Contains(t, fault.From(err).Message, key)
	_, err = c.Actions.Update(t.Context(), "a-program", func(*webhook.Action) error { t.Error("there is nothing to change"); return nil })
	require.ErrorIs(t, err, project.ErrUnreadable)
	_, err = c.Workflows.Find(t.Context(), "wf-secret")
	require.ErrorIs(t, err, project.ErrUnreadable)

	actions, err := c.Actions.List(t.Context(), "one")
	require.NoError(t, err)
	names := map[string]string{}
	for _, a := range actions {
		names[a.ID] = a.Name
		if a.ID == "a-program" {
			assert.Equal(t, "one", a.ProjectID)
			assert.Equal(t, start(), a.UpdatedAt)
			assert.Contains(t, a.Description, key)
		}
	}
	assert.Equal(t, map[string]string{"a-new": "new", "a-program": "(cannot be read)", "a-request": "(cannot be read)"}, names)
	flows, err := c.Workflows.List(t.Context(), "one")
	require.NoError(t, err)
	require.Len(t, flows, 1)
	assert.Equal(t, "(cannot be read)", flows[0].Name)

	require.NoError(t, c.Actions.Delete(t.Context(), "a-program"))
	require.NoError(t, c.Workflows.Delete(t.Context(), "wf-secret"))
	_, err = c.Actions.Find(t.Context(), "a-program")
	require.ErrorIs(t, err, project.ErrActionNotFound)
}

// TestSwappedBodies: what was sealed for one row says nothing in another.
func TestSwappedBodies(t *testing.T) {
	path := filepath.Join(t.TempDir(), "countersign.db")
	c := sqlitestore.NewCatalogue(projectStoreAt(t, path))
	storeSecrets(t, c)
	_, err := projectRaw(t, path).Exec("UPDATE actions SET body = (SELECT body FROM actions WHERE id = 'a-request') WHERE id = 'a-program'")
	require.NoError(t, err)
	_, err = c.Actions.Find(t.Context(), "a-program")
	require.ErrorIs(t, err, project.ErrUnreadable)
	_, err = c.Actions.Find(t.Context(), "a-request")
	require.NoError(t, err)
}

// TestRotate seals everything with another key, which others find, and tells how much is lost.
func TestRotate(t *testing.T) {
	dir := t.TempDir()
	path, key := filepath.Join(dir, "countersign.db"), filepath.Join(dir, "keys", "secret.key")
	store, other := projectStoreAt(t, path), projectStoreAt(t, path)
	lost, err := store.Rotate(t.Context())
	require.NoError(t, err)
	assert.Zero(t, lost)
	assert.NoFileExists(t, path, "there was nothing to seal")
	storeSecrets(t, sqlitestore.NewCatalogue(store))
	g, _ := porttest.Grant(1)
	require.NoError(t, sqlitestore.NewLedger(store).Issue(t.Context(), g))
	assertSecrets(t, sqlitestore.NewCatalogue(other))
	before, err := os.ReadFile(key)
	require.NoError(t, err)
	bodies := rows(t, projectRaw(t, path))

	_, err = store.Rotate(t.Context())
	require.NoError(t, err)
	after, err := os.ReadFile(key)
	require.NoError(t, err)
	assert.NotEqual(t, before, after)
	assert.Len(t, after, 32)
	assert.ElementsMatch(t, []string{"actions 1", "actions 2", "workflows 1"}, changed(bodies, rows(t, projectRaw(t, path))))
	for _, s := range []*sqlitestore.Store{store, other, projectStoreAt(t, path)} {
		assertSecrets(t, sqlitestore.NewCatalogue(s))
		waiting, err := sqlitestore.NewLedger(s).Pending(t.Context(), ports.PendingFilter{}, g.IssuedAt)
		require.NoError(t, err)
		require.Len(t, waiting, 1)
		assert.Equal(t, g.Args, waiting[0].Args)
	}
	require.NoError(t, sqlitestore.NewCatalogue(other).Actions.Create(t.Context(), webhook.Action{ID: "a-other", Name: "other"}))
	_, err = sqlitestore.NewCatalogue(store).Actions.Find(t.Context(), "a-other")
	require.NoError(t, err, "everybody seals with the new key")

	_, err = projectRaw(t, path).Exec("UPDATE actions SET body = x'01' WHERE id = 'a-other'")
	require.NoError(t, err)
	lost, err = store.Rotate(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 1, lost)
	assertSecretsBut(t, sqlitestore.NewCatalogue(store), "a-other")
}

func assertSecretsBut(t testing.TB, c projectport.Catalogue, id string) {
	t.Helper()
	require.NoError(t, c.Actions.Delete(t.Context(), id))
	assertSecrets(t, c)
}

func BenchmarkList200(b *testing.B) {
	c := openProject(b)
	for n := range 200 {
		w := project.Workflow{ID: fmt.Sprint("wf-", n), Name: fmt.Sprint(n), UpdatedAt: start()}
		for i := range 8 {
			w.Nodes = append(w.Nodes, project.Node{ID: fmt.Sprint("node-", i), Type: project.NodeScript, Name: "step", Order: i, Config: project.NodeConfig{Command: strings.Repeat("echo hello; ", 8)}})
		}
		require.NoError(b, c.Workflows.Create(b.Context(), w))
	}
	for b.Loop() {
		found, err := c.Workflows.List(b.Context(), "")
		require.NoError(b, err)
		require.Len(b, found, 200)
	}
}

func BenchmarkCreateAction(b *testing.B) {
	c, n := openProject(b), 0
	for b.Loop() {
		require.NoError(b, c.Actions.Create(b.Context(), webhook.Action{ID: fmt.Sprint(n), Name: "name", UpdatedAt: start()}))
		n++
	}
}
