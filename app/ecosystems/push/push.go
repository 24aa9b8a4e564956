package push

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/tool"
)

// PushInput is what to push.
type PushInput struct {
	runs.Target
	Message   string   `json:"message,omitempty" jsonschema:"maxLength=10000,description=of the commits that commit_all makes"`
	CommitAll bool     `json:"commit_all,omitempty" jsonschema:"description=commit everything that is not committed first; needs message"`
	Repos     []string `json:"repos,omitempty" jsonschema:"maxItems=256,description=names of repositories; default all and the workspace's own branch"`
}

// Validate wants a message for commits.
func (in PushInput) Validate() error {
	if in.CommitAll && strings.TrimSpace(in.Message) == "" {
		return ecosystem.ErrArguments.Sayf("commit_all needs a message for the commits it makes; call again with message")
	}
	return nil
}

// PushAnswer is the run that a push was queued as, or that there is nothing to push.
type PushAnswer struct {
	Status    string   `json:"status"`           // queued, or success where there is nothing to push
	RunID     string   `json:"run_id,omitempty"` // with Action, Ecosystem and Position of a queued run alone
	Action    string   `json:"action,omitempty"`
	Ecosystem string   `json:"ecosystem,omitempty"`
	Position  int      `json:"position,omitempty"` // in the queue, counted from 1
	Noop      bool     `json:"noop,omitempty"`     // with Message and Preview where there is nothing to push
	Message   string   `json:"message,omitempty"`
	Preview   *Preview `json:"preview,omitempty"`
	runs.Envelope
}

// queuePush queues the run, unless there is nothing to push.
func (s service) queuePush(ctx context.Context, sc tool.Scope, p runs.Plan) (PushAnswer, error) {
	if nothing, ok := p.Noop.(PushAnswer); ok {
		return nothing, nil
	}
	q, err := s.Enqueue(ctx, sc, p)
	return PushAnswer{Status: q.Status, RunID: q.RunID, Action: q.Action, Ecosystem: q.Ecosystem, Position: q.Position, Envelope: q.Envelope}, err
}

func (s service) planPush(ctx context.Context, sc tool.Scope, in PushInput) (runs.Plan, error) {
	f, err := s.FindInstalled(ctx, sc, in.Ecosystem)
	if err != nil {
		return runs.Plan{}, err
	}
	o := Options{Message: in.Message, CommitAll: in.CommitAll, Repos: in.Repos}
	found, err := s.pusher.Status(ctx, f, o)
	if err != nil {
		return runs.Plan{}, err
	}
	for _, v := range found {
		if !v.NeedsCommit(o) {
			continue
		}
		if err := s.Git.Author(ctx, v.Worktree.Dir); err != nil {
			return runs.Plan{}, err
		}
		break // it is the same for all
	}
	preview := NewPreview(f, found, o)
	n := len(preview.ReposAffected)
	p := runs.Plan{Tool: Push.Name, Action: pushing, Summary: fmt.Sprintf("push of %s (%s)", f.Layout.Name, CountNoun(n, "repository", "repositories")), Preview: preview, Facts: PreviewFacts(found),
		Warnings: PushWarnings(found, o), Current: map[string]any{"repos": preview.Repos, "active_ticket": f.State.ActiveTicket},
		Risk:        runs.Risk{Level: "moderate", Irreversible: true, Reasons: []string{"writes to remote"}},
		Explanation: runs.Explanation{What: "Pushes what is committed to the remotes, never with force; with commit_all, commits everything else first.", Irreversible: true, Affects: preview.ReposAffected, Alternatives: []string{"amof_get_ecosystem_status shows what is not pushed"}}}
	if o.CommitAll {
		p.Risk.Reasons = append(p.Risk.Reasons, "commits what is not committed")
	}
	if n == 0 {
		text := runs.AnswerText{Summary: "Found nothing to push", Details: PreviewLines(preview)}
		p.Noop = PushAnswer{Status: "success", Noop: true, Message: "there is nothing to push", Preview: &preview,
			Envelope: s.Show(sc, runs.Subject{Ecosystem: f.Layout.Name}, text, runs.SuggestAction("status", f.Layout.Name, nil))}
	}
	if p.Payload, err = tool.Encode(o); err != nil {
		return p, err
	}
	return p.Sealed(f)
}

func (s service) pushFacts(ctx context.Context, f runs.Ecosystem, payload json.RawMessage) (any, error) {
	o, err := DecodeOptions(payload)
	if err != nil {
		return nil, err
	}
	found, err := s.pusher.Status(ctx, f, o)
	return PreviewFacts(found), err
}

// push carries out a confirmed push.
func (s service) push(ctx context.Context, j runs.Job) (any, error) {
	o, err := DecodeOptions(j.Run.Payload)
	if err == nil {
		err = s.recoverRun(ctx, j.Found, j.Log)
	}
	if err != nil {
		return nil, err
	}
	found, err := s.pusher.Status(ctx, j.Found, o)
	if err != nil {
		return nil, err
	}
	return s.pusher.Push(ctx, j, found, o)
}
