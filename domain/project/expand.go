package project

import (
	"slices"
	"strings"
)

// ExpandedStep is one node of an expanded workflow, with the workflow that a trigger starts.
type ExpandedStep struct {
	Node     Node
	Workflow *Workflow      // the workflow that the node belongs to
	Depth    int            // 0 for the nodes of the workflow that is executed
	Child    *Workflow      // of a trigger
	Steps    []ExpandedStep // of Child, in order
}

// Cycle is the details of ErrCycle.
type Cycle struct {
	HasCycle bool     `json:"hasCycle"`
	Path     []string `json:"cyclePath"`
	Names    []string `json:"cycleNames"`
}

// ExpandWorkflow returns every step of a workflow and of the workflows it starts, to the maximum depth. load finds a workflow by its ID. It fails
// with ErrEmpty, with ErrCycle, whose details are Cycle, with ErrDepth, with project.ErrArgument beyond MaxSteps, or with load's error.
func ExpandWorkflow(w *Workflow, load func(id string) (*Workflow, error)) ([]ExpandedStep, error) {
	left := MaxSteps
	return expand(w, load, []*Workflow{w}, &left, false)
}

// CheckTriggers is ExpandWorkflow for a workflow that is still being edited: it, and those that it starts, may have no steps yet.
func CheckTriggers(w *Workflow, load func(id string) (*Workflow, error)) error {
	left := MaxSteps
	_, err := expand(w, load, []*Workflow{w}, &left, true)
	return err
}

func expand(w *Workflow, load func(id string) (*Workflow, error), chain []*Workflow, left *int, empty bool) ([]ExpandedStep, error) {
	if len(w.Nodes) == 0 && !empty {
		return nil, ErrEmpty.WithMessage("workflow %q has no steps; call add_workflow_step to add one", w.Name)
	}
	if *left -= len(w.Nodes); *left < 0 { // five levels of two hundred triggers each would never end
		return nil, ErrArgument.WithMessage("workflow %q would run more than %d steps, including those of the workflows it starts; split it", chain[0].Name, MaxSteps)
	}
	if err := checkNeeds(w.Nodes); err != nil {
		return nil, err
	}
	var steps []ExpandedStep
	for _, n := range w.Nodes {
		s := ExpandedStep{Node: n, Workflow: w, Depth: len(chain) - 1}
		if n.Type == NodeTrigger {
			child, err := load(n.Config.TargetID)
			if err != nil {
				return nil, err
			}
			if err := admit(chain, child); err != nil {
				return nil, err
			}
			if s.Steps, err = expand(child, load, append(slices.Clone(chain), child), left, empty); err != nil {
				return nil, err
			}
			s.Child = child
		}
		steps = append(steps, s)
	}
	return steps, nil
}

// admit rejects a workflow that is already started, and one that is too deep.
func admit(chain []*Workflow, child *Workflow) error {
	if i := slices.IndexFunc(chain, func(w *Workflow) bool { return w.ID == child.ID }); i >= 0 {
		c := Cycle{HasCycle: true}
		for _, w := range append(slices.Clone(chain[i:]), child) {
			c.Path, c.Names = append(c.Path, w.ID), append(c.Names, w.Name)
		}
		return ErrCycle.WithMessage("the workflow starts itself: %s; remove one of these steps", strings.Join(c.Names, " → ")).WithDetails(c)
	}
	if len(chain) >= maxDepth {
		return ErrDepth.WithMessage("%q would be nested workflow number %d; at most %d levels are allowed", child.Name, len(chain)+1, maxDepth)
	}
	return nil
}

// FlattenSteps returns the steps in the order in which they run, each before those of the workflow it starts.
func FlattenSteps(steps []ExpandedStep) []ExpandedStep {
	var out []ExpandedStep
	for _, s := range steps {
		out = append(append(out, s), FlattenSteps(s.Steps)...)
	}
	return out
}

// Dir returns the directory of the step's command: its own cwd, joined to the project's directory if it is relative, or to the override for a global
// workflow; else the override; else the project's directory. It fails with project.ErrArgument if a global workflow has none.
func (s ExpandedStep) Dir(projectDir, override string) (string, error) {
	switch cwd := s.Node.Config.Cwd; {
	case strings.HasPrefix(cwd, "/"):
		return cwd, nil
	case cwd != "" && projectDir == "" && override != "":
		return override + "/" + cwd, nil
	case cwd != "" && projectDir == "":
		return "", ErrArgument.WithMessage("step %q runs in the relative directory %q, but workflow %q has no project; give the step an absolute cwd, or run it with project_path", s.Node.Name, cwd, s.Workflow.Name)
	case cwd != "":
		return projectDir + "/" + cwd, nil
	case override != "":
		return override, nil
	case projectDir != "":
		return projectDir, nil
	}
	return "", ErrArgument.WithMessage("step %q has no directory to run in, because workflow %q has no project; give the step a cwd, or run it with project_path", s.Node.Name, s.Workflow.Name)
}
