package push

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/app/ecosystems/releases"
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
		return ecosystem.ErrArguments.WithMessage("commit_all needs a message for the commits it makes; call again with message")
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
	if err := s.publisher.Tidy(ctx, f); err != nil {
		return runs.Plan{}, err
	}
	o := Options{Message: in.Message, CommitAll: in.CommitAll, Repos: in.Repos, Explaining: sc.Explaining}
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
	if preview.Root, err = s.rootPlan(ctx, f, found, o.asks()); err != nil {
		return runs.Plan{}, err
	}
	if preview.Forge, err = s.publisher.OwedForge(ctx, f.Layout); err != nil {
		return runs.Plan{}, err
	}
	n := len(preview.ReposAffected)
	p := runs.Plan{Tool: Push.Name, Action: pushing, Summary: fmt.Sprintf("push of %s (%s)", f.Layout.Name, preview.pushed()), Preview: preview, Facts: pushFactsOf(found, preview.Root, preview.Forge),
		Warnings: PushWarnings(found, o), Current: map[string]any{"repos": preview.Repos, "active_ticket": f.State.ActiveTicket},
		Risk:        runs.Risk{Level: "moderate", Irreversible: true, Reasons: []string{"writes to remote"}},
		Explanation: runs.Explanation{What: "Pushes what is committed to the remotes, never with force. Nothing is committed for it.", Irreversible: true, Affects: preview.ReposAffected, Alternatives: []string{"amof_get_ecosystem_status shows what is not pushed"}}}
	if o.CommitAll {
		p.Explanation.What = "Commits what is not committed, and pushes all of it to the remotes, never with force."
		p.Risk.Reasons = append(p.Risk.Reasons, "commits what is not committed")
	}
	if r := preview.Root; r != nil {
		preview.ReposAffected = append(preview.ReposAffected, "workspace root")
		p.Preview, p.Explanation.Affects = preview, preview.ReposAffected
		p.Explanation.What += " Releases that were made here get out with their tags, and the workspace root with their records."
	}
	if len(preview.Forge) > 0 {
		p.Explanation.What += " gh makes " + CountNoun(len(preview.Forge), "release", "releases") + " on GitHub, with your login."
	}
	if n == 0 && preview.Root == nil && len(preview.Forge) == 0 {
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
	if err != nil {
		return nil, err
	}
	root, err := s.rootPlan(ctx, f, found, o.asks())
	if err != nil {
		return nil, err
	}
	owed, err := s.publisher.OwedForge(ctx, f.Layout)
	return pushFactsOf(found, root, owed), err
}

// pushFact is what a push was confirmed from.
type pushFact struct {
	Fleet []PreviewFact `json:"fleet"`
	Root  []string      `json:"root,omitempty"` // branch, remote, and the files that are written
	Forge []string      `json:"github,omitempty"`
}

func pushFactsOf(trees []*WorkingTree, root *releases.RootPlan, owed []releases.ForgeRelease) pushFact {
	f := pushFact{Fleet: PreviewFacts(trees)}
	for _, r := range owed {
		f.Forge = append(f.Forge, r.Repo+" "+r.Tag)
	}
	if root != nil {
		f.Root = append([]string{root.Branch, root.Remote}, root.Files...)
	}
	return f
}

// rootPlan returns what becomes of the workspace root once that is pushed: the records of the releases that are out everywhere then. It is nil where there
// is nothing to do.
func (s service) rootPlan(ctx context.Context, f runs.Ecosystem, trees []*WorkingTree, ask bool) (*releases.RootPlan, error) {
	pending, err := s.publisher.Pending(ctx, f)
	if err != nil || pending.Empty() {
		return nil, err
	}
	out := map[string][]string{}
	for _, v := range trees {
		if v.Skip == "" {
			out[v.Name] = append(out[v.Name], v.Tags...)
		}
		out[v.Name] = append(out[v.Name], v.Known...)
	}
	return s.publisher.RecordsPlan(ctx, f, pending.Without(out), ask)
}

// deliver puts on record what got out of releases, and pushes the workspace root with their records.
func (s service) deliver(ctx context.Context, j runs.Job, trees []*WorkingTree, done *PushResult) error {
	pending, err := s.publisher.Pending(ctx, j.Found)
	if err != nil || pending.Empty() {
		return err
	}
	for _, v := range trees {
		if v.Name == "" {
			continue
		}
		if err := s.publisher.Delivered(ctx, j.Found.Layout, v.Name, v.Known); err != nil {
			return err
		}
	}
	if done.Root, err = s.publisher.DeliverRecords(ctx, j.Found, j.Log); err != nil || done.Root == nil || done.Root.Status != "failed" {
		return err
	}
	done.Status = "failed"
	return ecosystem.ErrFailed.WithMessage("the workspace root, which has the records of %s, could not be pushed: %s; push again once that is mended", strings.Join(done.Root.Tags, ", "), done.Root.Reason)
}

// deliverForge makes the releases on GitHub that are still missing: the facts that the push was approved from name them.
func (s service) deliverForge(ctx context.Context, j runs.Job) ([]releases.PublishedRelease, error) {
	owed, err := s.publisher.OwedForge(ctx, j.Found.Layout)
	if err != nil {
		return nil, err
	}
	return s.publisher.DeliverForge(ctx, j.Found.Layout, owed, j.Log)
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
	if err := s.publisher.Recover(ctx, j); err != nil {
		return nil, err
	}
	found, err := s.pusher.Status(ctx, j.Found, o)
	if err != nil {
		return nil, err
	}
	done, err := s.pusher.Push(ctx, j, found, o)
	if err == nil {
		err = s.deliver(ctx, j, found, &done)
	}
	if err == nil {
		done.Forge, err = s.deliverForge(ctx, j)
		if err != nil {
			done.Status = "failed"
		}
	}
	return done, err
}
