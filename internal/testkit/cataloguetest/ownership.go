package cataloguetest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/webhook"
	"github.com/countersign-dev/countersign/ports/projectport"
)

func projectsByName(t *testing.T, c projectport.Catalogue) {
	put(t, c.Projects.Create,
		plainProject("4", "beta"), plainProject("2", "Alpha"), plainProject("1", "alpha"), plainProject("5", "Übung"), plainProject("6", "ÜBUNG"),
		plainProject("3", "ALPHA"), plainProject("0", "Zeta"), plainProject("7", "übung 2"), plainProject("8", ""))
	order := func() []string {
		all, err := c.Projects.List(t.Context())
		require.NoError(t, err)
		return names(all, func(p project.Project) string { return string(p.ID) })
	}
	assert.Equal(t, []string{"8", "1", "2", "3", "4", "0", "5", "6", "7"}, order())
	_, err := c.Projects.Update(t.Context(), "0", func(p *project.Project) error { p.Name, p.Path = "aLPHA", "/a"; return nil })
	require.NoError(t, err)
	assert.Equal(t, []string{"8", "0", "1", "2", "3", "4", "5", "6", "7"}, order())
}

func onePathOneProject(t *testing.T, c projectport.Catalogue) {
	put(t, c.Projects.Create, plainProject("one", "The first"), plainProject("two", "The second"))
	conflict := func(err error, named ...string) {
		t.Helper()
		require.ErrorIs(t, err, project.ErrConflict)
		for _, what := range named {
			assert.Contains(t, err.Error(), what)
		}
	}
	again := plainProject("three", "The third")
	again.Path = "/src/one"
	conflict(c.Projects.Create(t.Context(), again), "/src/one", "The first", "one")
	_, err := c.Projects.Update(t.Context(), "two", func(p *project.Project) error { p.Path = "/src/one"; return nil })
	conflict(err, "/src/one", "The first", "one")
	for _, other := range []string{"/src/One", "/src/one/", "/src/on", "/src/one "} { // files are told apart by their bytes
		again.ID, again.Path = project.ID("at "+other), other
		put(t, c.Projects.Create, again)
	}
	all, err := c.Projects.List(t.Context())
	require.NoError(t, err)
	assert.Len(t, all, 6)
	have, err := c.Projects.Find(t.Context(), "two")
	require.NoError(t, err)
	assert.Equal(t, plainProject("two", "The second"), have)

	require.NoError(t, c.Projects.Delete(t.Context(), "one"))
	again.ID, again.Path = "three", "/src/one"
	put(t, c.Projects.Create, again)
	_, err = c.Projects.Update(t.Context(), "two", func(p *project.Project) error { p.Path = "/src/moved"; return nil })
	require.NoError(t, err)
	put(t, c.Projects.Create, plainProjectAt("four", "/src/two"))
}

func plainProjectAt(id, path string) project.Project {
	p := plainProject(id, id)
	p.Path = path
	return p
}

func flow(id string, of project.ID, updated int) project.Workflow {
	return project.Workflow{ID: id, Name: id, ProjectID: of, Nodes: []project.Node{}, CreatedAt: start(), UpdatedAt: later(updated), Revision: 1}
}

func flows(t testing.TB, c projectport.Catalogue, of project.ID) []string {
	t.Helper()
	all, err := c.Workflows.List(t.Context(), of)
	require.NoError(t, err)
	return names(all, func(w project.Workflow) string { return w.ID + "@" + string(w.ProjectID) })
}

func workflowsLastUpdatedFirst(t *testing.T, c projectport.Catalogue) {
	never := flow("never", "", 0)
	never.UpdatedAt = never.LastExecutedAt // the zero time
	put(t, c.Workflows.Create, flow("b", "", 2), never, flow("c", "", 3), flow("a", "", 1), flow("c2", "", 3))
	assert.Equal(t, []string{"c2@", "c@", "b@", "a@", "never@"}, flows(t, c, ""), "the last created first among equals")
	_, err := c.Workflows.Update(t.Context(), "a", func(w *project.Workflow) error { w.UpdatedAt = later(3).Add(1); return nil })
	require.NoError(t, err)
	assert.Equal(t, []string{"a@", "c2@", "c@", "b@", "never@"}, flows(t, c, ""))
}

func workflowsOfProjects(t *testing.T, c projectport.Catalogue) {
	put(t, c.Projects.Create, plainProject("one", "One"), plainProject("two", "Two"))
	put(t, c.Workflows.Create, flow("a", "one", 1), flow("b", "", 2), flow("c", "two", 3), flow("d", "one", 4))
	assert.Equal(t, []string{"d@one", "c@two", "b@", "a@one"}, flows(t, c, ""))
	assert.Equal(t, []string{"d@one", "a@one"}, flows(t, c, "one"))
	assert.Empty(t, flows(t, c, "On"))

	err := c.Workflows.Create(t.Context(), flow("e", "three", 5))
	require.ErrorIs(t, err, project.ErrNotFound)
	assert.Contains(t, err.Error(), "three")
	_, err = c.Workflows.Update(t.Context(), "a", func(w *project.Workflow) error { w.ProjectID = "three"; return nil })
	require.ErrorIs(t, err, project.ErrNotFound)
	assert.Equal(t, []string{"d@one", "c@two", "b@", "a@one"}, flows(t, c, ""), "neither is stored")

	for id, to := range map[string]project.ID{"a": "two", "d": "", "b": "one"} {
		stored, err := c.Workflows.Update(t.Context(), id, func(w *project.Workflow) error { w.ProjectID = to; return nil })
		require.NoError(t, err)
		assert.Equal(t, to, stored.ProjectID)
	}
	assert.Equal(t, []string{"d@", "c@two", "b@one", "a@two"}, flows(t, c, ""))
}

func act(id, of string, updated int) webhook.Action {
	return webhook.Action{
		ID: id, Type: project.KindScript, Name: id, ProjectID: of, Script: &webhook.ScriptConfig{Command: "true"}, CreatedAt: start(), UpdatedAt: later(updated), Revision: 1,
	}
}

func acts(t testing.TB, c projectport.Catalogue, of project.ID) []string {
	t.Helper()
	all, err := c.Actions.List(t.Context(), of)
	require.NoError(t, err)
	return names(all, func(a webhook.Action) string { return a.ID + "@" + a.ProjectID })
}

func actionsLastUpdatedFirst(t *testing.T, c projectport.Catalogue) {
	put(t, c.Actions.Create, act("b", "", 2), act("c", "", 3), act("a", "", 1), act("c2", "", 3))
	assert.Equal(t, []string{"c2@", "c@", "b@", "a@"}, acts(t, c, ""), "the last created first among equals")
	_, err := c.Actions.Update(t.Context(), "a", func(a *webhook.Action) error { a.UpdatedAt = later(3).Add(1); return nil })
	require.NoError(t, err)
	assert.Equal(t, []string{"a@", "c2@", "c@", "b@"}, acts(t, c, ""))
}

func actionsOfProjects(t *testing.T, c projectport.Catalogue) {
	put(t, c.Projects.Create, plainProject("one", "One"), plainProject("two", "Two"))
	put(t, c.Actions.Create, act("a", "one", 1), act("b", "", 2), act("c", "two", 3), act("d", "one", 4))
	assert.Equal(t, []string{"d@one", "c@two", "b@", "a@one"}, acts(t, c, ""))
	assert.Equal(t, []string{"d@one", "b@", "a@one"}, acts(t, c, "one"), "those of no project are everybody's")
	assert.Equal(t, []string{"b@"}, acts(t, c, "three"))

	require.ErrorIs(t, c.Actions.Create(t.Context(), act("e", "three", 5)), project.ErrNotFound)
	_, err := c.Actions.Update(t.Context(), "a", func(a *webhook.Action) error { a.ProjectID = "three"; return nil })
	require.ErrorIs(t, err, project.ErrNotFound)
	_, err = c.Actions.Update(t.Context(), "d", func(a *webhook.Action) error { a.ProjectID, a.Revision = "", 99; return nil })
	require.NoError(t, err)
	assert.Equal(t, []string{"d@", "c@two", "b@", "a@one"}, acts(t, c, ""))
	have, err := c.Actions.Find(t.Context(), "d")
	require.NoError(t, err)
	assert.Equal(t, int64(2), have.Revision, "the next revision is the store's to say")
}

// stocked is a catalogue of two projects with everything that can belong to one: n-a and n-b for each n.
func stocked(t testing.TB, c projectport.Catalogue) {
	t.Helper()
	for n, of := range []string{"one", "two"} {
		put(t, c.Projects.Create, plainProject(of, of))
		put(t, c.Workflows.Create, flow(of+"-a", project.ID(of), n), flow(of+"-b", project.ID(of), n+10))
		put(t, c.Actions.Create, act(of+"-a", of, n), act(of+"-b", of, n+10))
		put(t, c.Rules.Put, webhook.ActionRule{ActionID: of + "-a", Level: webhook.Deny, CreatedAt: later(n)})
		e := fullExecution("of " + of)
		e.ActionID, e.WorkflowID, e.ProjectID, e.StartedAt = of+"-a", of+"-a", of, later(n)
		put(t, c.Executions.Create, e)
	}
	put(t, c.Rules.Put, webhook.ActionRule{Level: webhook.Deny, CreatedAt: start()})
}

func projectGoes(t *testing.T, c projectport.Catalogue) {
	stocked(t, c)
	require.NoError(t, c.Projects.Delete(t.Context(), "one"))
	require.ErrorIs(t, c.Projects.Delete(t.Context(), "one"), project.ErrNotFound)
	assert.Equal(t, []string{"two-b@two", "one-b@", "two-a@two", "one-a@"}, flows(t, c, ""), "its workflows are of no project now")
	assert.Empty(t, flows(t, c, "one"))
	have, err := c.Workflows.Find(t.Context(), "one-a")
	require.NoError(t, err)
	assert.Equal(t, flow("one-a", "", 0), have, "and otherwise as they were")
	assert.Equal(t, []string{"two-b@two", "two-a@two"}, acts(t, c, ""), "its actions went with it")
	assert.Equal(t, []string{"two-a//deny", "//deny"}, rules(t, c), "and their rules")
	assert.Equal(t, []string{"of two", "of one"}, history(t, c, project.ExecutionFilter{}), "what was done was done")

	put(t, c.Projects.Create, plainProject("one", "again"))
	assert.Empty(t, flows(t, c, "one"), "nothing comes back with the name")
	put(t, c.Actions.Create, act("one-a", "", 0))
	assert.Equal(t, []string{"two-a//deny", "//deny"}, rules(t, c))
}

// projectChangesAlone: what belongs to a project does not go when the project is written anew.
func projectChangesAlone(t *testing.T, c projectport.Catalogue) {
	stocked(t, c)
	for n := range 3 {
		_, err := c.Projects.Update(t.Context(), "one", func(p *project.Project) error { p.Name = fmt.Sprint(n); return nil })
		require.NoError(t, err)
		_, err = c.Actions.Update(t.Context(), "one-a", func(a *webhook.Action) error { a.Enabled = !a.Enabled; return nil })
		require.NoError(t, err)
	}
	put(t, c.Rules.Put, webhook.ActionRule{ActionID: "two-a", Level: webhook.AutoApprove, CreatedAt: later(1)})
	assert.Equal(t, []string{"two-b@two", "one-b@one", "two-a@two", "one-a@one"}, flows(t, c, ""))
	assert.Equal(t, []string{"two-b@two", "one-b@one", "two-a@two", "one-a@one"}, acts(t, c, ""))
	assert.Equal(t, []string{"two-a//auto_approve", "one-a//deny", "//deny"}, rules(t, c))
}

func actionGoes(t *testing.T, c projectport.Catalogue) {
	stocked(t, c)
	require.NoError(t, c.Actions.Delete(t.Context(), "one-a"))
	assert.Equal(t, []string{"two-b@two", "one-b@one", "two-a@two"}, acts(t, c, ""))
	assert.Equal(t, []string{"two-a//deny", "//deny"}, rules(t, c))
	assert.Equal(t, []string{"of one"}, history(t, c, project.ExecutionFilter{ActionID: "one-a"}), "its executions stay, and say whose they were")
	_, err := c.Executions.Update(t.Context(), "of one", func(e *project.Execution) error { e.Name = "later"; return nil })
	require.NoError(t, err)
}

func workflowGoes(t *testing.T, c projectport.Catalogue) {
	stocked(t, c)
	require.NoError(t, c.Workflows.Delete(t.Context(), "one-a"))
	assert.Equal(t, []string{"two-b@two", "one-b@one", "two-a@two"}, flows(t, c, ""))
	assert.Equal(t, []string{"of one"}, history(t, c, project.ExecutionFilter{WorkflowID: "one-a"}), "its executions stay, and say whose they were")
	have, err := c.Executions.Find(t.Context(), "of one")
	require.NoError(t, err)
	assert.NotEmpty(t, have.Output)
}

// readsInsideAChange: a change may look at the catalogue as it is before it.
func readsInsideAChange(t *testing.T, c projectport.Catalogue) {
	stocked(t, c)
	_, err := c.Workflows.Update(t.Context(), "one-a", func(w *project.Workflow) error {
		have, err := c.Workflows.Find(t.Context(), "one-a")
		assert.Equal(t, *w, have)
		assert.Len(t, acts(t, c, ""), 4)
		w.Name = "changed"
		return err
	})
	require.NoError(t, err)
}
