package cataloguetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/ports/projectport"
)

// ran returns an execution that began at an hour and, if it is final, ended half an hour later.
func ran(id string, status project.Status, at int) project.Execution {
	e := project.Execution{ID: id, Kind: project.KindWorkflow, WorkflowID: "wf", Status: status, StartedAt: later(at), Owner: "me"}
	if status.Final() {
		e.CompletedAt = later(at).Add(30 * time.Minute)
	}
	return e
}

// history returns the IDs of the executions that a filter chooses, of which there must be no more.
func history(t testing.TB, c projectport.Catalogue, f project.ExecutionFilter) []string {
	t.Helper()
	page, total, err := c.Executions.List(t.Context(), f)
	require.NoError(t, err)
	assert.Equal(t, total, len(page))
	return names(page, func(e project.Execution) string { return e.ID })
}

func executionsFiltered(t *testing.T, c projectport.Catalogue) {
	assert.Empty(t, history(t, c, project.ExecutionFilter{}))
	for n, e := range []project.Execution{
		{ID: "a", Kind: project.KindScript, ActionID: "act-1", Status: project.Running},
		{ID: "b", Kind: project.KindWorkflow, ActionID: "act-1", WorkflowID: "wf-1", Status: project.Completed},
		{ID: "c", Kind: project.KindWorkflow, WorkflowID: "wf-1", Status: project.Failed},
		{ID: "d", Kind: project.KindWebhook, ActionID: "act-2", Status: project.Completed},
	} {
		e.StartedAt = later(n)
		put(t, c.Executions.Create, e)
	}
	for _, row := range []struct {
		filter project.ExecutionFilter
		want   []string
	}{
		{project.ExecutionFilter{}, []string{"d", "c", "b", "a"}},
		{project.ExecutionFilter{ActionID: "act-1"}, []string{"b", "a"}},
		{project.ExecutionFilter{WorkflowID: "wf-1"}, []string{"c", "b"}},
		{project.ExecutionFilter{Kind: project.KindWebhook}, []string{"d"}},
		{project.ExecutionFilter{Status: project.Completed}, []string{"d", "b"}},
		{project.ExecutionFilter{Status: project.Queued}, []string{}},
		{project.ExecutionFilter{ActionID: "act-1", WorkflowID: "wf-1"}, []string{"b"}},
		{project.ExecutionFilter{ActionID: "act-1", Kind: project.KindScript, Status: project.Running}, []string{"a"}},
		{project.ExecutionFilter{ActionID: "act-1", Kind: project.KindScript, Status: project.Failed}, []string{}},
		{project.ExecutionFilter{ActionID: "ACT-1"}, []string{}},
		{project.ExecutionFilter{WorkflowID: "wf-%"}, []string{}},
	} {
		assert.Equal(t, row.want, history(t, c, row.filter), "%+v", row.filter)
	}
	_, err := c.Executions.Update(t.Context(), "a", func(e *project.Execution) error {
		e.ActionID = "act-3"
		return e.End(project.Cancelled, "cancelled", "", later(9))
	})
	require.NoError(t, err)
	assert.Empty(t, history(t, c, project.ExecutionFilter{Status: project.Running}), "what is searched by changes with it")
	assert.Equal(t, []string{"a"}, history(t, c, project.ExecutionFilter{Status: project.Cancelled, ActionID: "act-3"}))
}

func executionsByPage(t *testing.T, c projectport.Catalogue) {
	for n := range project.MaxListSize + 10 {
		e := ran(fmt.Sprintf("e-%03d", n), project.Completed, n)
		e.Output = []project.OutputLine{{Stream: "stdout", Content: "something"}}
		e.Steps = []project.ExecutionStep{{Name: "a step"}}
		if n%2 == 0 {
			e.Kind = project.KindScript
		}
		put(t, c.Executions.Create, e)
	}
	for limit, want := range map[int]int{
		0: project.DefaultListSize, -5: project.DefaultListSize, 1: 1, 7: 7, project.MaxListSize: project.MaxListSize, project.MaxListSize + 1: project.MaxListSize,
		1 << 40: project.MaxListSize,
	} {
		page, total, err := c.Executions.List(t.Context(), project.ExecutionFilter{Limit: limit})
		require.NoError(t, err)
		assert.Len(t, page, want, "limit %d", limit)
		assert.Equal(t, project.MaxListSize+10, total)
		assert.Equal(t, "e-209", page[0].ID)
		assert.Equal(t, fmt.Sprintf("e-%03d", 210-want), page[want-1].ID)
		for _, e := range page {
			assert.Empty(t, e.Output)
			assert.Empty(t, e.Steps)
			assert.Equal(t, "me", e.Owner)
		}
	}
	_, total, err := c.Executions.List(t.Context(), project.ExecutionFilter{Kind: project.KindScript, Limit: 3})
	require.NoError(t, err)
	assert.Equal(t, 105, total, "how many match, not how many there are")
}

func executionsInOrder(t *testing.T, c projectport.Catalogue) {
	put(t, c.Executions.Create, ran("b", project.Running, 2), ran("c", project.Running, 3), ran("a", project.Running, 1), ran("b2", project.Running, 2),
		project.Execution{ID: "never", Kind: project.KindScript, Status: project.Queued})
	assert.Equal(t, []string{"c", "b2", "b", "a", "never"}, history(t, c, project.ExecutionFilter{}), "the last created first among equals")
	_, err := c.Executions.Update(t.Context(), "never", func(e *project.Execution) error { e.StartedAt = later(2).Add(1); return nil })
	require.NoError(t, err)
	assert.Equal(t, []string{"c", "never", "b2", "b", "a"}, history(t, c, project.ExecutionFilter{}))
}

func pruneByWorkflow(t *testing.T, c projectport.Catalogue) {
	require.NoError(t, c.Executions.Prune(t.Context(), "wf", 2, start()), "there may be nothing to forget")
	other := ran("other", project.Completed, 0)
	other.WorkflowID = "wf-2"
	alone := ran("alone", project.Completed, 0)
	alone.WorkflowID = ""
	put(t, c.Executions.Create, ran("0", project.Running, 0), ran("1", project.Completed, 1), ran("2", project.Queued, 2), ran("3", project.Failed, 3),
		ran("4", project.TimedOut, 4), ran("5", project.Cancelled, 5), other, alone)
	prune := func(id string, keep int, want ...string) {
		t.Helper()
		require.NoError(t, c.Executions.Prune(t.Context(), id, keep, time.Time{}))
		assert.Equal(t, want, history(t, c, project.ExecutionFilter{}))
	}
	prune("wf", 9, "5", "4", "3", "2", "1", "alone", "other", "0")
	prune("", 0, "5", "4", "3", "2", "1", "alone", "other", "0")
	prune("wf-3", 0, "5", "4", "3", "2", "1", "alone", "other", "0")
	prune("wf", 3, "5", "4", "3", "2", "alone", "other", "0")
	prune("wf", 1, "5", "2", "alone", "other", "0")
	prune("wf", 0, "2", "alone", "other", "0")
	prune("wf-2", -1, "2", "alone", "0")
}

func pruneByAge(t *testing.T, c projectport.Catalogue) {
	put(t, c.Executions.Create, ran("0", project.Running, 0), ran("1", project.Completed, 1), ran("2", project.Queued, 2), ran("3", project.Failed, 3),
		ran("4", project.Completed, 4), ran("5", project.Completed, 5))
	prune := func(before time.Time, want ...string) {
		t.Helper()
		require.NoError(t, c.Executions.Prune(t.Context(), "", 0, before))
		assert.Equal(t, want, history(t, c, project.ExecutionFilter{}))
	}
	prune(start(), "5", "4", "3", "2", "1", "0")
	prune(later(3).Add(30*time.Minute), "5", "4", "3", "2", "0")
	prune(later(3).Add(30*time.Minute+1), "5", "4", "2", "0")
	require.NoError(t, c.Executions.Prune(t.Context(), "wf", 1, later(5).Add(10*time.Minute)))
	assert.Equal(t, []string{"5", "2", "0"}, history(t, c, project.ExecutionFilter{}))
	prune(later(1000), "2", "0")
	_, err := c.Executions.Find(t.Context(), "5")
	require.Error(t, err)
}

func pruneByNumber(t *testing.T, c projectport.Catalogue) {
	put(t, c.Executions.Create, ran("running", project.Running, 0), ran("oldest", project.Completed, 1), ran("older", project.Completed, 2))
	for n := range project.MaxRows - 1 {
		e := ran(fmt.Sprint(n), project.Completed, 3+n)
		e.WorkflowID = ""
		put(t, c.Executions.Create, e)
	}
	require.NoError(t, c.Executions.Prune(t.Context(), "", 0, time.Time{}))
	assert.Equal(t, []string{"older", "running"}, history(t, c, project.ExecutionFilter{WorkflowID: "wf"}))
	_, total, err := c.Executions.List(t.Context(), project.ExecutionFilter{})
	require.NoError(t, err)
	assert.Equal(t, project.MaxRows+1, total, "what still runs stays although it is not among the newest")
}

func pruneEndedContext(t *testing.T, c projectport.Catalogue) {
	put(t, c.Executions.Create, ran("1", project.Completed, 1))
	require.ErrorIs(t, c.Executions.Prune(ended(t), "wf", 0, later(9)), context.Canceled)
	_, _, err := c.Executions.List(ended(t), project.ExecutionFilter{})
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, []string{"1"}, history(t, c, project.ExecutionFilter{}))
}
