package project_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/project"
)

// workflowSet is workflows by ID. A node "x" is a script and ">id" starts that workflow.
type workflowSet map[string]*project.Workflow

func stock(workflows map[string]string) workflowSet {
	s := workflowSet{}
	for id, nodes := range workflows {
		w := &project.Workflow{ID: id, Name: strings.ToUpper(id)}
		for i, name := range strings.Fields(nodes) {
			n := step(name)
			if target, ok := strings.CutPrefix(name, ">"); ok {
				n = project.Node{ID: name, Type: project.NodeTrigger, Name: name, Config: project.NodeConfig{TargetID: target}}
			}
			n.Order = i
			w.Nodes = append(w.Nodes, n)
		}
		s[id] = w
	}
	return s
}

func (s workflowSet) load(id string) (*project.Workflow, error) {
	if w := s[id]; w != nil {
		return w, nil
	}
	return nil, project.ErrWorkflowNotFound.WithMessage("there is no workflow %s", id)
}

func TestExpandGoesAllTheWay(t *testing.T) {
	s := stock(map[string]string{"a": "1 >b 2 >c", "b": "3 >c 4", "c": "5 6"})
	steps, err := project.ExpandWorkflow(s["a"], s.load)
	require.NoError(t, err)
	require.Len(t, steps, 4)
	assert.Equal(t, "b", steps[1].Child.ID)
	assert.Nil(t, steps[0].Child)
	var got []string
	for _, st := range project.FlattenSteps(steps) {
		got = append(got, fmt.Sprintf("%s%d:%s", st.Workflow.ID, st.Depth, st.Node.Name))
	}
	assert.Equal(t, []string{"a0:1", "a0:>b", "b1:3", "b1:>c", "c2:5", "c2:6", "b1:4", "a0:2", "a0:>c", "c1:5", "c1:6"}, got, "one workflow may be started twice, one after the other")
	assert.Empty(t, project.FlattenSteps(nil))
}

func TestExpandRefusesCycles(t *testing.T) {
	for name, c := range map[string]struct {
		workflows map[string]string
		path      []string
	}{
		"itself":          {map[string]string{"a": "1 >a"}, []string{"a", "a"}},
		"through another": {map[string]string{"a": ">b", "b": "1 >a"}, []string{"a", "b", "a"}},
		"further down":    {map[string]string{"a": "1 >b", "b": ">c", "c": ">d", "d": "2 >c"}, []string{"c", "d", "c"}},
		"at the limit":    {map[string]string{"a": ">b", "b": ">c", "c": ">d", "d": ">e", "e": ">a"}, []string{"a", "b", "c", "d", "e", "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := stock(c.workflows)
			_, err := project.ExpandWorkflow(s["a"], s.load)
			require.ErrorIs(t, err, project.ErrCycle)
			names := strings.Split(strings.ToUpper(strings.Join(c.path, " ")), " ")
			assert.Equal(t, project.Cycle{HasCycle: true, Path: c.path, Names: names}, fault.From(err).Details)
			assert.ErrorContains(t, err, strings.Join(names, " → "))
		})
	}
}

func TestExpandGoesFiveDeep(t *testing.T) {
	s := stock(map[string]string{"a": ">b", "b": ">c", "c": ">d", "d": ">e", "e": "1", "f": ">a"})
	steps, err := project.ExpandWorkflow(s["a"], s.load)
	require.NoError(t, err)
	flat := project.FlattenSteps(steps)
	assert.Equal(t, 4, flat[len(flat)-1].Depth)
	_, err = project.ExpandWorkflow(s["f"], s.load)
	require.ErrorIs(t, err, project.ErrDepth)
	assert.ErrorContains(t, err, `"E"`)
}

func TestExpandRefusesWhatCannotRun(t *testing.T) {
	s := stock(map[string]string{"none": "", "outer": "1 >none", "lost": "1 >gone"})
	_, err := project.ExpandWorkflow(s["none"], s.load)
	require.ErrorIs(t, err, project.ErrEmpty)
	_, err = project.ExpandWorkflow(s["outer"], s.load)
	require.ErrorIs(t, err, project.ErrEmpty)
	assert.ErrorContains(t, err, "NONE", "the empty one is named")
	_, err = project.ExpandWorkflow(s["lost"], s.load)
	require.ErrorIs(t, err, project.ErrWorkflowNotFound)
}

// TestTriggersAreCheckedBeforeThereAreSteps: a workflow without steps hides nothing that is behind it.
func TestTriggersAreCheckedBeforeThereAreSteps(t *testing.T) {
	s := stock(map[string]string{"none": "", "outer": "1 >none", "self": ">none >self", "lost": ">none >gone"})
	require.NoError(t, project.CheckTriggers(s["none"], s.load))
	require.NoError(t, project.CheckTriggers(s["outer"], s.load))
	require.ErrorIs(t, project.CheckTriggers(s["self"], s.load), project.ErrCycle)
	require.ErrorIs(t, project.CheckTriggers(s["lost"], s.load), project.ErrWorkflowNotFound)
}

// TestExpandIsBounded: two hundred triggers on each of five levels would be 320 thousand million steps.
func TestExpandIsBounded(t *testing.T) {
	wide := func(target string) string { return strings.Repeat(" >"+target, project.MaxNodes) }
	s := stock(map[string]string{"a": wide("b"), "b": wide("c"), "c": wide("d"), "d": wide("e"), "e": "1", "fits": strings.Repeat(" >few", project.MaxNodes), "few": "1 2 3 4 5 6 7 8 9"})
	loads := 0
	_, err := project.ExpandWorkflow(s["a"], func(id string) (*project.Workflow, error) { loads++; return s.load(id) })
	require.ErrorIs(t, err, project.ErrArgument)
	assert.ErrorContains(t, err, `"A"`)
	assert.LessOrEqual(t, loads, project.MaxSteps)
	steps, err := project.ExpandWorkflow(s["fits"], s.load)
	require.NoError(t, err)
	assert.Len(t, project.FlattenSteps(steps), project.MaxSteps)
}

func TestDir(t *testing.T) {
	for name, c := range map[string]struct{ cwd, project, override, want string }{
		"an absolute cwd":          {"/abs", "/proj", "/over", "/abs"},
		"and of no project":        {"/abs", "", "", "/abs"},
		"a relative cwd":           {"sub/x", "/proj", "/over", "/proj/sub/x"},
		"upwards, as it stands":    {"../x", "/proj", "", "/proj/../x"}, // project.CheckPath refuses that
		"the override":             {"", "/proj", "/over", "/over"},
		"the override of a global": {"", "", "/over", "/over"},
		"the project":              {"", "/proj", "", "/proj"},
		"nothing":                  {"", "", "", ""},
		"relative to the override": {"sub", "", "/over", "/over/sub"},
		"relative to nothing":      {"sub", "", "", ""},
	} {
		n := step("build")
		n.Config.Cwd = c.cwd
		dir, err := project.ExpandedStep{Node: n, Workflow: &project.Workflow{Name: "W"}}.Dir(c.project, c.override)
		if c.want == "" {
			require.ErrorIs(t, err, project.ErrArgument, name)
			assert.ErrorContains(t, err, `"build"`)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, c.want, dir, name)
	}
}
