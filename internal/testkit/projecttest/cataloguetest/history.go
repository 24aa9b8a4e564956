package cataloguetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/project/execution"
	"github.com/countersign-dev/countersign/ports/projectport"
)

// ran is an execution that began at an hour and, if it is final, ended half an hour later.
func ran(id string, status execution.Status, at int) execution.Execution {
	e := execution.Execution{ID: id, Kind: execution.Workflow, WorkflowID: "wf", Status: status, StartedAt: later(at), Owner: "me"}
	if status.Final() {
		e.CompletedAt = later(at).Add(30 * time.Minute)
	}
	return e
}

// history is the IDs of the executions that a filter chooses, of which there must be no more.
func history(t testing.TB, c projectport.Catalogue, f execution.Filter) []string {
	t.Helper()
	page, total, err := c.Executions.List(t.Context(), f)
	require.NoError(t, err)
	assert.Equal(t, total, len(page))
	return names(page, func(e execution.Execution) string { return e.ID })
}

func executionsFiltered(t *testing.T, c projectport.Catalogue) {
	assert.Empty(t, history(t, c, execution.Filter{}))
	for n, e := range []execution.Execution{
		{ID: "a", Kind: execution.Script, ActionID: "act-1", Status: execution.Running},
		{ID: "b", Kind: execution.Workflow, ActionID: "act-1", WorkflowID: "wf-1", Status: execution.Completed},
		{ID: "c", Kind: execution.Workflow, WorkflowID: "wf-1", Status: execution.Failed},
		{ID: "d", Kind: execution.Webhook, ActionID: "act-2", Status: execution.Completed},
	} {
		e.StartedAt = later(n)
		put(t, c.Executions.Create, e)
	}
	for _, row := range []struct {
		filter execution.Filter
		want   []string
	}{
		{execution.Filter{}, []string{"d", "c", "b", "a"}},
		{execution.Filter{ActionID: "act-1"}, []string{"b", "a"}},
		{execution.Filter{WorkflowID: "wf-1"}, []string{"c", "b"}},
		{execution.Filter{Kind: execution.Webhook}, []string{"d"}},
		{execution.Filter{Status: execution.Completed}, []string{"d", "b"}},
		{execution.Filter{Status: execution.Queued}, []string{}},
		{execution.Filter{ActionID: "act-1", WorkflowID: "wf-1"}, []string{"b"}},
		{execution.Filter{ActionID: "act-1", Kind: execution.Script, Status: execution.Running}, []string{"a"}},
		{execution.Filter{ActionID: "act-1", Kind: execution.Script, Status: execution.Failed}, []string{}},
		{execution.Filter{ActionID: "ACT-1"}, []string{}},
		{execution.Filter{WorkflowID: "wf-%"}, []string{}},
	} {
		assert.Equal(t, row.want, history(t, c, row.filter), "%+v", row.filter)
	}
	_, err := c.Executions.Update(t.Context(), "a", func(e *execution.Execution) error {
		e.ActionID = "act-3"
		return e.End(execution.Cancelled, "cancelled", "", later(9))
	})
	require.NoError(t, err)
	assert.Empty(t, history(t, c, execution.Filter{Status: execution.Running}), "what is searched by changes with it")
	assert.Equal(t, []string{"a"}, history(t, c, execution.Filter{Status: execution.Cancelled, ActionID: "act-3"}))
}

func executionsByPage(t *testing.T, c projectport.Catalogue) {
	for n := range execution.MaxListSize + 10 {
		e := ran(fmt.Sprintf("e-%03d", n), execution.Completed, n)
		e.Output = []execution.Line{{Stream: "stdout", Content: "something"}}
		e.Steps = []execution.Step{{Name: "a step"}}
		if n%2 == 0 {
			e.Kind = execution.Script
		}
		put(t, c.Executions.Create, e)
	}
	for limit, want := range map[int]int{
		0: execution.DefaultListSize, -5: execution.DefaultListSize, 1: 1, 7: 7, execution.MaxListSize: execution.MaxListSize, execution.MaxListSize + 1: execution.MaxListSize,
		1 << 40: execution.MaxListSize,
	} {
		page, total, err := c.Executions.List(t.Context(), execution.Filter{Limit: limit})
		require.NoError(t, err)
		assert.Len(t, page, want, "limit %d", limit)
		assert.Equal(t, execution.MaxListSize+10, total)
		assert.Equal(t, "e-209", page[0].ID)
		assert.Equal(t, fmt.Sprintf("e-%03d", 210-want), page[want-1].ID)
		for _, e := range page {
			assert.Empty(t, e.Output)
			assert.Empty(t, e.Steps)
			assert.Equal(t, "me", e.Owner)
		}
	}
	_, total, err := c.Executions.List(t.Context(), execution.Filter{Kind: execution.Script, Limit: 3})
	require.NoError(t, err)
	assert.Equal(t, 105, total, "how many match, not how many there are")
}

func executionsInOrder(t *testing.T, c projectport.Catalogue) {
	put(t, c.Executions.Create, ran("b", execution.Running, 2), ran("c", execution.Running, 3), ran("a", execution.Running, 1), ran("b2", execution.Running, 2),
		execution.Execution{ID: "never", Kind: execution.Script, Status: execution.Queued})
	assert.Equal(t, []string{"c", "b2", "b", "a", "never"}, history(t, c, execution.Filter{}), "the last created first among equals")
	_, err := c.Executions.Update(t.Context(), "never", func(e *execution.Execution) error { e.StartedAt = later(2).Add(1); return nil })
	require.NoError(t, err)
	assert.Equal(t, []string{"c", "never", "b2", "b", "a"}, history(t, c, execution.Filter{}))
}

func pruneByWorkflow(t *testing.T, c projectport.Catalogue) {
	require.NoError(t, c.Executions.Prune(t.Context(), "wf", 2, start()), "there may be nothing to forget")
	other := ran("other", execution.Completed, 0)
	other.WorkflowID = "wf-2"
	alone := ran("alone", execution.Completed, 0)
	alone.WorkflowID = ""
	put(t, c.Executions.Create, ran("0", execution.Running, 0), ran("1", execution.Completed, 1), ran("2", execution.Queued, 2), ran("3", execution.Failed, 3),
		ran("4", execution.TimedOut, 4), ran("5", execution.Cancelled, 5), other, alone)
	prune := func(id string, keep int, want ...string) {
		t.Helper()
		require.NoError(t, c.Executions.Prune(t.Context(), id, keep, time.Time{}))
		assert.Equal(t, want, history(t, c, execution.Filter{}))
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
	put(t, c.Executions.Create, ran("0", execution.Running, 0), ran("1", execution.Completed, 1), ran("2", execution.Queued, 2), ran("3", execution.Failed, 3),
		ran("4", execution.Completed, 4), ran("5", execution.Completed, 5))
	prune := func(before time.Time, want ...string) {
		t.Helper()
		require.NoError(t, c.Executions.Prune(t.Context(), "", 0, before))
		assert.Equal(t, want, history(t, c, execution.Filter{}))
	}
	prune(start(), "5", "4", "3", "2", "1", "0")
	prune(later(3).Add(30*time.Minute), "5", "4", "3", "2", "0")
	prune(later(3).Add(30*time.Minute+1), "5", "4", "2", "0")
	require.NoError(t, c.Executions.Prune(t.Context(), "wf", 1, later(5).Add(10*time.Minute)))
	assert.Equal(t, []string{"5", "2", "0"}, history(t, c, execution.Filter{}))
	prune(later(1000), "2", "0")
	_, err := c.Executions.Find(t.Context(), "5")
	require.Error(t, err)
}

func pruneByNumber(t *testing.T, c projectport.Catalogue) {
	put(t, c.Executions.Create, ran("running", execution.Running, 0), ran("oldest", execution.Completed, 1), ran("older", execution.Completed, 2))
	for n := range execution.MaxRows - 1 {
		e := ran(fmt.Sprint(n), execution.Completed, 3+n)
		e.WorkflowID = ""
		put(t, c.Executions.Create, e)
	}
	require.NoError(t, c.Executions.Prune(t.Context(), "", 0, time.Time{}))
	assert.Equal(t, []string{"older", "running"}, history(t, c, execution.Filter{WorkflowID: "wf"}))
	_, total, err := c.Executions.List(t.Context(), execution.Filter{})
	require.NoError(t, err)
	assert.Equal(t, execution.MaxRows+1, total, "what still runs stays although it is not among the newest")
}

func pruneEndedContext(t *testing.T, c projectport.Catalogue) {
	put(t, c.Executions.Create, ran("1", execution.Completed, 1))
	require.ErrorIs(t, c.Executions.Prune(ended(t), "wf", 0, later(9)), context.Canceled)
	_, _, err := c.Executions.List(ended(t), execution.Filter{})
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, []string{"1"}, history(t, c, execution.Filter{}))
}
