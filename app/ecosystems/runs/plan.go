package runs

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// Explanation describes what a call would do in a higher mode (amof contract §11).
type Explanation struct {
	What         string   `json:"what"`
	Irreversible bool     `json:"irreversible"`
	Affects      []string `json:"affects"`
	Alternatives []string `json:"alternatives"`
}

// Risk is the risk of a plan (amof contract §14): moderate, high or critical.
type Risk struct {
	Level        string   `json:"level"`
	Irreversible bool     `json:"irreversible"`
	Reasons      []string `json:"reasons"`
}

// Plan is what a tool will change. Its hash covers everything it shows and everything that its run is given. Preview, Facts and Payload marshal to JSON without
// fractions.
type Plan struct {
	tool.PlanBase
	Tool        tool.Name        `json:"tool"`
	Action      string           `json:"action"` // of the run that will carry it out; empty where none does
	Ecosystem   string           `json:"ecosystem"`
	Summary     string           `json:"summary"` // one line: "push of demo (2 repositories)"
	Preview     any              `json:"preview"`
	Facts       any              `json:"facts,omitempty"` // what the preview was made from: heads, hashes; checked again before anything is done
	Warnings    []string         `json:"warnings,omitempty"`
	Explanation Explanation      `json:"explanation"`
	Current     any              `json:"current_state,omitempty"`
	Risk        Risk             `json:"risk"`
	Hint        string           `json:"execute_hint,omitempty"`
	PreviewHash canon.Hash       `json:"preview_hash"` // over all the above, Payload and the workspace root
	Noop        any              `json:"-"`            // the answer, where there is nothing to do and so nothing to confirm
	Payload     json.RawMessage  `json:"-"`            // for the run that will carry it out
	Options     tool.PlanOptions `json:"-"`            // Sealed fills in risk, scope, prompt and name, and that there is nothing to do where Noop is set
	root        string
	facts       string
	shown       canon.Hash // over what is shown
}

// Sealed returns the plan with its hashes, for that ecosystem.
func (p Plan) Sealed(f Ecosystem) (Plan, error) { return p.SealedAs(f.Layout.Name, f.Layout.Root) }

// SealedAs is Sealed for a plan about the ecosystem of that name (empty: none) in that workspace root.
func (p Plan) SealedAs(name, root string) (Plan, error) {
	p.Ecosystem, p.root = name, root
	if p.Explanation.Affects == nil {
		p.Explanation.Affects = []string{}
	}
	if p.Explanation.Alternatives == nil {
		p.Explanation.Alternatives = []string{}
	}
	if p.Risk.Reasons == nil {
		p.Risk.Reasons = []string{}
	}
	facts, err := FactsHash(p.Facts)
	if err != nil {
		return p, err
	}
	p.facts = facts
	p.PreviewHash = canon.Hash{}
	if p.shown, err = canon.Sum("ecosystem.plan.v1", p); err != nil {
		return p, err
	}
	p.PreviewHash, err = p.run().Plan()
	o := p.Options
	o.Prompt, o.About, o.Nothing = p.prompt(), name, o.Nothing || p.Noop != nil
	o.Assessment.Scope, o.Assessment.Risk = name, p.Risk.assessed()
	p.PlanBase = tool.NewPlanBase(p.PreviewHash, o)
	return p, err
}

// assessed returns the risk for policy.
func (r Risk) assessed() (level policy.Risk) {
	switch r.Level {
	case "critical", "high":
		level = policy.RiskHigh
	case "moderate":
		level = policy.RiskMedium
	}
	return level
}

// run returns the run that carries the plan out, as far as it was decided about.
func (p Plan) run() ecosystem.Run {
	return ecosystem.Run{Ecosystem: p.Ecosystem, Action: p.Action, Root: p.root, Tool: string(p.Tool), Payload: p.Payload, Facts: p.facts, Preview: p.shown}
}

// FactsHash returns the hash of the facts that a preview is based on.
func FactsHash(facts any) (string, error) {
	h, err := canon.Sum("ecosystem.facts.v1", facts)
	return h.String(), err
}

// From reports whether the plan was made from facts with that hash.
func (p Plan) From(facts string) bool { return p.facts == facts }

// prompt returns what would be done, as a verb and its object: "push demo (2 repositories)" for the summary "push of demo (2 repositories)".
func (p Plan) prompt() string {
	what, of, _ := strings.Cut(p.Summary, " of ")
	switch what {
	case "creation":
		return "create " + of
	case "opening":
		return "open " + of
	case "destruction":
		return "destroy " + of
	case "journal entry":
		return "add a journal entry to " + of
	case "archive", "cancel", "deploy", "discard", "end", "install", "merge", "push", "release", "restart", "restore", "run", "start", "stop", "switch", "sync":
		return what + " " + of
	}
	return "run the " + p.Summary
}

// QueuedRun is the result of a tool that queues a run (amof contract §11).
type QueuedRun struct {
	Status    string `json:"status"` // queued
	RunID     string `json:"run_id"`
	Action    string `json:"action"`
	Ecosystem string `json:"ecosystem"`
	Position  int    `json:"position"`
	Envelope
}

// Enqueue stores the run that applies the plan and wakes a worker. After it returns, the run is carried out or reported, whatever happens to this process.
func (d Deps) Enqueue(ctx context.Context, sc tool.Scope, p Plan) (QueuedRun, error) {
	l, err := d.Places.Layout(ctx, p.root, p.Ecosystem)
	if err != nil {
		return QueuedRun{}, err
	}
	open, err := d.Runs.List(ctx, ecosystem.RunFilter{Root: p.root, Ecosystem: p.Ecosystem, Statuses: []ecosystem.RunStatus{ecosystem.RunQueued, ecosystem.RunPaused, ecosystem.RunRunning}})
	if err != nil {
		return QueuedRun{}, err
	}
	if len(open) >= ecosystem.MaxQueued {
		return QueuedRun{}, ecosystem.ErrQueueFull.WithMessage("%d runs wait for ecosystem %s already, which is as many as may; amof_cancel_run cancels one", len(open), p.Ecosystem)
	}
	r := p.run()
	r.ID, r.Command, r.Status = d.UUIDs.NewUUID(), []string{"countersign", "eco", p.Action, p.Ecosystem}, ecosystem.RunQueued
	r.CreatedAt, r.SessionID, r.Call = d.Clock.Now().UTC(), sc.Session, sc.CallID
	if err := d.Runs.Add(ctx, r); err != nil {
		return QueuedRun{}, err
	}
	queued := ecosystem.RunEvent{Level: "info", Type: "lifecycle_action_queued", Message: p.Action + " of " + p.Ecosystem + " queued"}
	if err := d.Runs.Append(ctx, r.ID, queued); err != nil {
		return QueuedRun{}, err
	}
	if err := d.Workers.Wake(ctx, l); err != nil {
		return QueuedRun{}, err
	}
	position := ecosystem.QueuePosition(r.ID, append(open, r))
	text := AnswerText{Summary: fmt.Sprintf("Queued %s as run %s (position %d)", p.Action, r.Short(), position)}
	shown := d.Show(sc, Subject{Ecosystem: p.Ecosystem, Run: r.ID}, text, SuggestRunStatus(r.ID), SuggestRunLogs(r.ID))
	return QueuedRun{Status: "queued", RunID: r.ID, Action: p.Action, Ecosystem: p.Ecosystem, Position: position, Envelope: shown}, nil
}

// SuggestRunStatus suggests looking at a run.
func SuggestRunStatus(id string) Action {
	return Action{ID: "run_status", Label: "Run status", Tool: "amof_get_run_status", Args: map[string]any{"run_id": id}, Scope: "run", ModeRequired: "ask", Safety: "read-only",
		Confirm: "none", Priority: 1, Description: "See how far the run is."}
}

// SuggestRunLogs suggests reading a run's log.
func SuggestRunLogs(id string) Action {
	return Action{ID: "run_logs", Label: "Run logs", Tool: "amof_get_run_logs", Args: map[string]any{"run_id": id}, Scope: "run", ModeRequired: "ask", Safety: "read-only",
		Confirm: "none", Priority: 2, Description: "Read what the run said."}
}

// Job is a run in progress: the current ecosystem, what was approved, and where to report progress. The caller holds the ecosystem's lock.
type Job struct {
	Found   Ecosystem
	Run     ecosystem.Run
	Log     func(level, message string)
	Percent func(done, total int)
}

// Performer carries out the runs of one action, holding the ecosystem's lock. Facts returns the current facts of the preview; if they are not the approved ones,
// nothing is done. Do applies the plan; its value is the run's result, kept also with an error. Recover finishes or undoes what an interrupted run of the action
// left; nil if there is nothing to recover. It is called before any other run of the ecosystem.
type Performer struct {
	Action  string
	Limit   int // seconds; zero is the setting's
	Facts   func(ctx context.Context, f Ecosystem, payload json.RawMessage) (any, error)
	Do      func(ctx context.Context, j Job) (any, error)
	Recover func(ctx context.Context, j Job) error
}

// Fresh fails with ecosystem.ErrChanged if the current facts are not the approved ones.
func (p Performer) Fresh(ctx context.Context, j Job) error {
	facts, err := p.Facts(ctx, j.Found, j.Run.Payload)
	if err != nil {
		return err
	}
	hash, err := FactsHash(facts)
	if err == nil && hash != j.Run.Facts {
		err = ecosystem.ErrChanged.WithMessage("what %s of %s was confirmed from has changed since; call it again to see and confirm what it would do now", j.Run.Action, j.Run.Ecosystem)
	}
	return err
}
