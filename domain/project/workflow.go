package project

import (
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/fault"
)

// The bounds of a workflow (packageflow contract §1.3, §2.4, §2.6 rows 21 and 24).
const (
	maxDepth           = 5    // levels of nested workflows, including the first
	MaxNodes           = 200  // ours
	MaxSteps           = 2000 // of an execution, including those of the workflows it starts; ours
	defaultStepTimeout = 300_000 * time.Millisecond
	maxStepTimeout     = 3_600_000 * time.Millisecond
	MaxRunTime         = time.Hour
	maxRetry           = 10 // tries after the first; ours, like the three below
	defaultRetryDelay  = time.Second
	maxRetryDelay      = 10 * time.Minute
	maxPatterns        = 50 // of input files, per step
	defaultHistory     = 50 // executions that are kept
	maxHistory         = 500
)

// The errors of workflows.
var (
	ErrCycle = fault.New(fault.Invalid, "workflow_cycle", "the workflow starts itself, directly or through others")
	ErrDepth = fault.New(fault.Invalid, "workflow_depth_exceeded", "workflows are nested more than 5 levels deep")
	ErrEmpty = fault.New(fault.Invalid, "workflow_empty", "the workflow has no steps")
	ErrNode  = fault.New(fault.NotFound, "workflow_node_not_found", "step not found in the workflow")
)

// Workflow is a sequence of steps. Orders are dense: the n-th node has order n.
type Workflow struct {
	ID             string    `json:"id"` // "wf-<uuid4>"
	Name           string    `json:"name"`
	Description    string    `json:"description,omitempty"`
	ProjectID      ID        `json:"projectId,omitempty"` // empty: global
	Nodes          []Node    `json:"nodes"`
	Inputs         []Input   `json:"inputs,omitempty"`  // values that the caller may set
	Webhook        *Outgoing `json:"webhook,omitempty"` // webhook.Outgoing, as it is stored
	Incoming       *Incoming `json:"incomingWebhook,omitempty"`
	History        int       `json:"maxHistory,omitempty"` // executions kept; 0 means defaultHistory
	CreatedAt      time.Time `json:"createdAt"`
	UpdatedAt      time.Time `json:"updatedAt"`
	LastExecutedAt time.Time `json:"lastExecutedAt,omitzero"`

	// Fresh holds the state of the input files of steps when these last succeeded, by the steps' ids (NodeConfig.Files).
	Fresh map[string]string `json:"stepFingerprints,omitempty"`

	Revision int64 `json:"revision"` // of the definition: an execution alone does not change it
}

// nodeType is the type of a step.
type nodeType string

// The types of steps.
const (
	NodeScript  nodeType = "script"
	NodeTrigger nodeType = "trigger-workflow"
)

// Node is one step.
type Node struct {
	ID       string          `json:"id"` // "node-<uuid4>"
	Type     nodeType        `json:"type"`
	Name     string          `json:"name"`
	Config   NodeConfig      `json:"config"`
	Order    int             `json:"order"`
	Position *CanvasPosition `json:"position,omitempty"` // on a canvas; stored unchanged
}

// CanvasPosition is a place on a canvas. It affects neither executions nor plans.
type CanvasPosition struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// NodeConfig is what a step does: the first three fields are those of a script, the next three of a trigger. The others say when and how often it
// runs; of these a trigger has only Needs.
type NodeConfig struct {
	Command        string `json:"command,omitempty"`
	Cwd            string `json:"cwd,omitempty"`
	TimeoutMS      int64  `json:"timeout,omitempty"`
	TargetID       string `json:"targetWorkflowId,omitempty"`
	Wait           *bool  `json:"waitForCompletion,omitempty"` // default true
	OnChildFailure string `json:"onChildFailure,omitempty"`    // "fail" (default) or "continue"

	Needs        []string `json:"needs,omitzero"`         // ids of earlier steps that it waits for; empty: none; nil: all earlier ones
	Retry        int      `json:"retry,omitempty"`        // number of retries after a failure
	RetryDelayMS int64    `json:"retryDelayMs,omitempty"` // delay before each of these (default one second)
	Files        []string `json:"files,omitempty"`        // patterns of its input files: it is skipped while they are as they were when it last succeeded
}

// Timeout returns the maximum duration of the step.
func (c NodeConfig) Timeout() time.Duration {
	if c.TimeoutMS <= 0 {
		return defaultStepTimeout
	}
	return time.Duration(min(c.TimeoutMS, maxStepTimeout.Milliseconds())) * time.Millisecond
}

// RetryDelay returns the delay before a retry.
func (c NodeConfig) RetryDelay() time.Duration {
	if c.RetryDelayMS <= 0 {
		return defaultRetryDelay
	}
	return time.Duration(min(c.RetryDelayMS, maxRetryDelay.Milliseconds())) * time.Millisecond
}

// Waits reports whether the step waits for the workflow it starts.
func (c NodeConfig) Waits() bool { return c.Wait == nil || *c.Wait }

// Outgoing is a request made when an execution ends (packageflow contract §1.9). Header values are secret in lists of workflows.
type Outgoing struct {
	Enabled         bool              `json:"enabled"`
	URL             string            `json:"url"`
	Trigger         string            `json:"trigger"` // "onSuccess", "onFailure" or "always"
	Headers         map[string]string `json:"headers,omitempty"`
	PayloadTemplate string            `json:"payloadTemplate,omitempty"`
}

// Incoming lets an external request start the workflow. Of the token only a digest is stored; Secret verifies signatures.
type Incoming struct {
	Enabled          bool      `json:"enabled"`
	TokenDigest      string    `json:"tokenDigest"` // hex of SHA-256
	TokenCreatedAt   time.Time `json:"tokenCreatedAt"`
	Secret           string    `json:"secret,omitempty"` // for signatures; masked in every answer
	RequireSignature bool      `json:"requireSignature"`
	Untimed          bool      `json:"untimed,omitempty"` // signatures cover only the body
	ApprovedRevision int64     `json:"approvedRevision"`  // of the workflow for which the user enabled incoming requests
}

// NewWorkflow returns a workflow without steps. It fails with project.ErrArgument.
func NewWorkflow(id, name, description string, of ID, now time.Time) (Workflow, error) {
	w := Workflow{ID: id, Name: strings.TrimSpace(name), Description: strings.TrimSpace(description), ProjectID: of, Nodes: []Node{}, CreatedAt: now, UpdatedAt: now, Revision: 1}
	return w, w.checkTexts()
}

func (w Workflow) checkTexts() error {
	if w.Name == "" {
		return ErrArgument.WithMessage("a workflow needs a name")
	}
	if err := CheckText("name", w.Name, MaxName); err != nil {
		return err
	}
	return CheckText("description", w.Description, MaxDescription)
}

// Rename changes name and description; empty ones stay.
func (w *Workflow) Rename(name, description string, now time.Time) error {
	next := *w
	if name = strings.TrimSpace(name); name != "" {
		next.Name = name
	}
	if description = strings.TrimSpace(description); description != "" {
		next.Description = description
	}
	if err := next.checkTexts(); err != nil {
		return err
	}
	*w = next
	w.Touch(now)
	return nil
}

// Insert adds a node at a position from 0 to the number of nodes, shifting later ones; nil is the end. It fails with project.ErrArgument and leaves
// the workflow unchanged then.
func (w *Workflow) Insert(n Node, at *int, now time.Time) error {
	n.Name = strings.TrimSpace(n.Name)
	if err := n.validate(); err != nil {
		return err
	}
	place := len(w.Nodes)
	if at != nil {
		place = *at
	}
	switch {
	case place < 0 || place > len(w.Nodes):
		return ErrArgument.WithMessage("order %d is outside the range 0 to %d: the workflow has %d steps", place, len(w.Nodes), len(w.Nodes))
	case len(w.Nodes) >= MaxNodes:
		return ErrArgument.WithMessage("the workflow has %d steps, the maximum", MaxNodes)
	}
	nodes := slices.Insert(slices.Clone(w.Nodes), place, n)
	if err := checkNeeds(nodes); err != nil {
		return err
	}
	w.Nodes = nodes
	w.number()
	w.Touch(now)
	return nil
}

// Replace replaces the node with the same ID, and moves it if at is not nil. It fails with ErrNode and project.ErrArgument, and leaves the workflow
// unchanged then.
func (w *Workflow) Replace(n Node, at *int, now time.Time) error {
	i, err := w.index(n.ID)
	if err != nil {
		return err
	}
	n.Name = strings.TrimSpace(n.Name)
	if err := n.validate(); err != nil {
		return err
	}
	place := i
	if at != nil {
		place = *at
	}
	if place < 0 || place >= len(w.Nodes) {
		return ErrArgument.WithMessage("order %d is outside the range 0 to %d: the workflow has %d steps", place, len(w.Nodes)-1, len(w.Nodes))
	}
	nodes := slices.Insert(slices.Delete(slices.Clone(w.Nodes), i, i+1), place, n)
	if err := checkNeeds(nodes); err != nil {
		return err
	}
	w.Nodes = nodes
	w.number()
	w.forget(n.ID)
	w.Touch(now)
	return nil
}

// checkNeeds fails with project.ErrArgument if a step needs one that is not before it, so that there are no cycles.
func checkNeeds(nodes []Node) error {
	before := map[string]bool{}
	for _, n := range nodes {
		for _, id := range n.Config.Needs {
			if !before[id] {
				needed := id
				if i := slices.IndexFunc(nodes, func(m Node) bool { return m.ID == id }); i >= 0 {
					needed = nodes[i].Name
				}
				return ErrArgument.WithMessage("step %q needs %q, which does not come before it", n.Name, needed)
			}
		}
		before[n.ID] = true
	}
	return nil
}

func (w Workflow) index(nodeID string) (int, error) {
	i := slices.IndexFunc(w.Nodes, func(n Node) bool { return n.ID == nodeID })
	if i < 0 {
		return i, ErrNode.WithMessage("workflow %q has no step %s; call get_workflow to list its steps", w.Name, nodeID)
	}
	return i, nil
}

// WaitsFor describes what a step waits for; empty if it waits for all steps before it.
func (w Workflow) WaitsFor(c NodeConfig) string {
	if c.Needs == nil {
		return ""
	}
	var names []string
	for _, id := range c.Needs {
		if i, err := w.index(id); err == nil {
			id = w.Nodes[i].Name
		}
		names = append(names, id)
	}
	if len(names) == 0 {
		return "no other step: starts immediately"
	}
	return strings.Join(names, ", ")
}

// StepIDs returns the ids of the steps that words identify: by id, or by a name that only one step has; nil for nil. It fails with ErrNode and
// project.ErrArgument.
func (w Workflow) StepIDs(words []string) ([]string, error) {
	if words == nil {
		return nil, nil
	}
	out := []string{}
	for _, word := range words {
		var fits []string
		for _, n := range w.Nodes {
			if n.ID == word {
				fits = []string{n.ID}
				break
			}
			if n.Name == word {
				fits = append(fits, n.ID)
			}
		}
		switch {
		case len(fits) == 0:
			return nil, ErrNode.WithMessage("workflow %q has no step %q; call get_workflow to list its steps", w.Name, word)
		case len(fits) > 1:
			return nil, ErrArgument.WithMessage("workflow %q has more than one step %q; use an ID: %s", w.Name, word, strings.Join(fits, ", "))
		}
		if !slices.Contains(out, fits[0]) {
			out = append(out, fits[0])
		}
	}
	return out, nil
}

// Succeeded records the state of a step's input files when it succeeded. It does not call Touch, because the definition does not change.
func (w *Workflow) Succeeded(nodeID, fingerprint string) {
	if _, err := w.index(nodeID); err != nil { // it was removed meanwhile
		return
	}
	if w.Fresh = maps.Clone(w.Fresh); w.Fresh == nil {
		w.Fresh = map[string]string{}
	}
	w.Fresh[nodeID] = fingerprint
}

// forget makes a step run whatever the state of its input files.
func (w *Workflow) forget(nodeID string) {
	if _, there := w.Fresh[nodeID]; there {
		w.Fresh = maps.Clone(w.Fresh)
		delete(w.Fresh, nodeID)
	}
}

// Remove removes a node. It fails with ErrNode, and with project.ErrArgument for one that another needs.
func (w *Workflow) Remove(nodeID string, now time.Time) error {
	i, err := w.index(nodeID)
	if err != nil {
		return err
	}
	for _, n := range w.Nodes {
		if slices.Contains(n.Config.Needs, nodeID) {
			return ErrArgument.WithMessage("step %q needs %q; change its needs first", n.Name, w.Nodes[i].Name)
		}
	}
	w.Nodes = slices.Delete(slices.Clone(w.Nodes), i, i+1)
	w.number()
	w.forget(nodeID)
	w.Touch(now)
	return nil
}

func (w *Workflow) number() {
	for i := range w.Nodes {
		w.Nodes[i].Order = i
	}
}

// Touch records a change of the definition: earlier approvals no longer apply.
func (w *Workflow) Touch(now time.Time) { w.UpdatedAt, w.Revision = now, w.Revision+1 }

// Kept returns how many executions of the workflow are kept.
func (w Workflow) Kept() int {
	if w.History <= 0 {
		return defaultHistory
	}
	return min(w.History, maxHistory)
}

func (n Node) validate() error {
	if n.Name == "" {
		return ErrArgument.WithMessage("a step needs a name")
	}
	if err := CheckText("name", n.Name, MaxName); err != nil {
		return err
	}
	switch n.Type {
	case NodeScript:
		return n.Config.script()
	case NodeTrigger:
		return n.Config.trigger()
	}
	return ErrArgument.WithMessage("unknown step type %q; use script or trigger-workflow", n.Type)
}

func (c NodeConfig) script() error {
	switch {
	case strings.TrimSpace(c.Command) == "":
		return ErrArgument.WithMessage("the step has no command")
	case len(c.Command) > MaxCommand:
		return ErrArgument.WithMessage("the command has %d bytes; at most %d are allowed", len(c.Command), MaxCommand)
	case c.TimeoutMS < 0 || c.TimeoutMS > maxStepTimeout.Milliseconds():
		return ErrArgument.WithMessage("timeout %d is outside the range 0 to %d ms", c.TimeoutMS, maxStepTimeout.Milliseconds())
	case c.TargetID != "":
		return ErrArgument.WithMessage("a script step cannot start a workflow")
	case c.Retry < 0 || c.Retry > maxRetry:
		return ErrArgument.WithMessage("retry %d is outside the range 0 to %d", c.Retry, maxRetry)
	case c.RetryDelayMS < 0 || c.RetryDelayMS > maxRetryDelay.Milliseconds():
		return ErrArgument.WithMessage("retryDelayMs %d is outside the range 0 to %d", c.RetryDelayMS, maxRetryDelay.Milliseconds())
	}
	if err := checkPatterns(c.Files); err != nil {
		return err
	}
	if err := CheckText("command", c.Command, MaxCommand); err != nil { // what is shown must be what is run
		return err
	}
	return CheckText("cwd", c.Cwd, MaxPath)
}

func (c NodeConfig) trigger() error {
	switch {
	case c.TargetID == "":
		return ErrArgument.WithMessage("the step has no workflow to start")
	case c.Command != "":
		return ErrArgument.WithMessage("a step that starts a workflow cannot have a command")
	case c.Retry != 0 || c.RetryDelayMS != 0 || len(c.Files) > 0:
		return ErrArgument.WithMessage("a step that starts a workflow cannot have retry or input files; set them on the steps of that workflow")
	case c.OnChildFailure != "" && c.OnChildFailure != "fail" && c.OnChildFailure != "continue":
		return ErrArgument.WithMessage("onChildFailure must be fail or continue, not %q", c.OnChildFailure)
	}
	return nil
}

// checkPatterns fails with project.ErrArgument for patterns that match no files below the step's directory.
func checkPatterns(patterns []string) error {
	if len(patterns) > maxPatterns {
		return ErrArgument.WithMessage("%d file patterns; at most %d are allowed", len(patterns), maxPatterns)
	}
	for _, p := range patterns {
		if err := CheckText("a file pattern", p, MaxPath); err != nil {
			return err
		}
		if _, err := path.Match(p, ""); err != nil || strings.TrimSpace(p) == "" || strings.HasPrefix(p, "/") || slices.Contains(strings.Split(p, "/"), "..") {
			return ErrArgument.WithMessage("invalid file pattern %q; use one below the step's directory, such as src/**/*.ts", p)
		}
	}
	return nil
}
