package project_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/domain/project"
)

func workflowAt(minute int) time.Time { return time.Date(2025, 5, 6, 7, minute, 0, 0, time.UTC) }

func made(t testing.TB) project.Workflow {
	t.Helper()
	w, err := project.NewWorkflow("wf-1", "release", "", "p", workflowAt(0))
	require.NoError(t, err)
	return w
}

func step(id string) project.Node {
	return project.Node{ID: id, Type: project.NodeScript, Name: id, Config: project.NodeConfig{Command: "true"}}
}

func TestWorkflowNew(t *testing.T) {
	w, err := project.NewWorkflow("wf-1", " Release ", " all of it\n", "p", workflowAt(1))
	require.NoError(t, err)
	assert.Equal(t, project.Workflow{ID: "wf-1", Name: "Release", Description: "all of it", ProjectID: "p", Nodes: []project.Node{}, CreatedAt: workflowAt(1), UpdatedAt: workflowAt(1), Revision: 1}, w)
	for _, name := range []string{"", " \t", strings.Repeat("x", project.MaxName+1), "a\x00b", "\xff"} {
		_, err := project.NewWorkflow("wf-1", name, "", "", workflowAt(1))
		require.ErrorIs(t, err, project.ErrArgument, name)
	}
	_, err = project.NewWorkflow("wf-1", "x", strings.Repeat("x", project.MaxDescription+1), "", workflowAt(1))
	require.ErrorIs(t, err, project.ErrArgument)
}

func TestRename(t *testing.T) {
	w := made(t)
	require.NoError(t, w.Rename(" Ship ", "", workflowAt(1)))
	require.NoError(t, w.Rename("", " to people ", workflowAt(2)))
	assert.Equal(t, [2]string{"Ship", "to people"}, [2]string{w.Name, w.Description})
	assert.Equal(t, workflowAt(2), w.UpdatedAt)
	assert.EqualValues(t, 3, w.Revision)
	before := w
	require.ErrorIs(t, w.Rename("ok", "a\x00b", workflowAt(3)), project.ErrArgument)
	assert.Equal(t, before, w, "all or nothing")
}

// TestOrdersStayDense inserts at and removes from every place, as a plain slice of names would.
func TestOrdersStayDense(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		w, want, made := made(t), []string{}, 0
		for range rapid.IntRange(0, 40).Draw(r, "changes") {
			before, revision := w.Nodes, w.Revision
			snapshot := fmt.Sprint(before)
			switch {
			case len(want) > 0 && rapid.IntRange(0, 3).Draw(r, "remove") == 0:
				i := rapid.IntRange(0, len(want)-1).Draw(r, "which")
				require.NoError(r, w.Remove(want[i], workflowAt(1)))
				want = append(append([]string{}, want[:i]...), want[i+1:]...)
			default:
				n := step(fmt.Sprint("node-", made))
				n.Order = rapid.Int().Draw(r, "order") // nobody's business
				made++
				var where *int
				place := len(want)
				if rapid.Bool().Draw(r, "somewhere") {
					place = rapid.IntRange(0, len(want)).Draw(r, "place")
					where = &place
				}
				require.NoError(r, w.Insert(n, where, workflowAt(1)))
				want = append(append(append([]string{}, want[:place]...), n.ID), want[place:]...)
			}
			got := []string{}
			for i, n := range w.Nodes {
				got = append(got, n.ID)
				require.Equal(r, i, n.Order)
			}
			require.Equal(r, want, got)
			require.Equal(r, revision+1, w.Revision)
			require.Equal(r, snapshot, fmt.Sprint(before), "whoever read it before sees no change")
		}
	})
}

func TestInsertRefuses(t *testing.T) {
	place := func(i int) *int { return &i }
	script := func(c project.NodeConfig) project.Node {
		return project.Node{ID: "n", Type: project.NodeScript, Name: "n", Config: c}
	}
	trigger := func(c project.NodeConfig) project.Node {
		return project.Node{ID: "n", Type: project.NodeTrigger, Name: "n", Config: c}
	}
	for name, c := range map[string]struct {
		node project.Node
		at   *int
	}{
		"before the first":     {step("n"), place(-1)},
		"behind the end":       {step("n"), place(2)},
		"far behind":           {step("n"), place(math.MaxInt)},
		"no name":              {project.Node{ID: "n", Type: project.NodeScript, Name: " ", Config: project.NodeConfig{Command: "x"}}, nil},
		"a long name":          {project.Node{ID: "n", Type: project.NodeScript, Name: strings.Repeat("x", 257), Config: project.NodeConfig{Command: "x"}}, nil},
		"no type":              {project.Node{ID: "n", Name: "n", Config: project.NodeConfig{Command: "x"}}, nil},
		"another type":         {project.Node{ID: "n", Type: "parallel", Name: "n", Config: project.NodeConfig{Command: "x"}}, nil},
		"no command":           {script(project.NodeConfig{Command: " \n"}), nil},
		"a long command":       {script(project.NodeConfig{Command: strings.Repeat("x", project.MaxCommand+1)}), nil},
		"NUL":                  {script(project.NodeConfig{Command: "a\x00b"}), nil},
		"an escape":            {script(project.NodeConfig{Command: "rm -rf /\x1b[2K\recho ok"}), nil},
		"no UTF-8":             {script(project.NodeConfig{Command: "\xff"}), nil},
		"a cwd of two lines":   {script(project.NodeConfig{Command: "x", Cwd: "a\x00"}), nil},
		"a negative timeout":   {script(project.NodeConfig{Command: "x", TimeoutMS: -1}), nil},
		"more than an hour":    {script(project.NodeConfig{Command: "x", TimeoutMS: 3_600_001}), nil},
		"a script with target": {script(project.NodeConfig{Command: "x", TargetID: "wf-2"}), nil},
		"no target":            {trigger(project.NodeConfig{}), nil},
		"a target and command": {trigger(project.NodeConfig{TargetID: "wf-2", Command: "x"}), nil},
		"an unknown reaction":  {trigger(project.NodeConfig{TargetID: "wf-2", OnChildFailure: "ignore"}), nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := made(t)
			require.NoError(t, w.Insert(step("first"), nil, workflowAt(1)))
			before := w
			require.ErrorIs(t, w.Insert(c.node, c.at, workflowAt(2)), project.ErrArgument)
			assert.Equal(t, before, w)
		})
	}
}

func TestInsertTakes(t *testing.T) {
	w := made(t)
	for _, c := range []project.NodeConfig{{Command: "a\nb\t c", Cwd: "sub", TimeoutMS: 3_600_000}, {Command: strings.Repeat("x", project.MaxCommand)}} {
		require.NoError(t, w.Insert(project.Node{ID: "n", Type: project.NodeScript, Name: " n ", Config: c}, nil, workflowAt(1)))
	}
	for _, reaction := range []string{"", "fail", "continue"} {
		require.NoError(t, w.Insert(project.Node{ID: "n", Type: project.NodeTrigger, Name: "n", Config: project.NodeConfig{TargetID: "wf-2", OnChildFailure: reaction}}, nil, workflowAt(1)))
	}
	assert.Equal(t, "n", w.Nodes[0].Name)
	for len(w.Nodes) < project.MaxNodes {
		require.NoError(t, w.Insert(step("n"), nil, workflowAt(1)))
	}
	require.ErrorIs(t, w.Insert(step("n"), nil, workflowAt(1)), project.ErrArgument)
	assert.Len(t, w.Nodes, project.MaxNodes)
}

func TestRemoveOfNothing(t *testing.T) {
	w := made(t)
	require.NoError(t, w.Insert(step("a"), nil, workflowAt(1)))
	before := w
	err := w.Remove("b", workflowAt(2))
	require.ErrorIs(t, err, project.ErrNode)
	assert.ErrorContains(t, err, "release")
	assert.Equal(t, before, w)
}

func TestTimeouts(t *testing.T) {
	for ms, want := range map[int64]time.Duration{0: 5 * time.Minute, -5: 5 * time.Minute, 1: time.Millisecond, 3_600_000: time.Hour, 3_600_001: time.Hour, math.MaxInt64: time.Hour} {
		assert.Equal(t, want, project.NodeConfig{TimeoutMS: ms}.Timeout(), ms)
	}
	yes, no := true, false
	assert.True(t, project.NodeConfig{}.Waits())
	assert.True(t, project.NodeConfig{Wait: &yes}.Waits())
	assert.False(t, project.NodeConfig{Wait: &no}.Waits())
	for n, want := range map[int]int{0: 50, -1: 50, 7: 7, 500: 500, 501: 500} {
		assert.Equal(t, want, project.Workflow{History: n}.Kept())
	}
}
