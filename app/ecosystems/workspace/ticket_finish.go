package workspace

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// FinishRepo is a ticket's branch on its way into its base, in one repository.
type FinishRepo struct {
	Name      string   `json:"name"`
	Branch    string   `json:"branch"`
	Base      string   `json:"base"`
	Worktree  string   `json:"worktree"`
	URL       string   `json:"url,omitempty"`
	PushURL   string   `json:"push_url,omitempty"` // where it differs
	Head      string   `json:"head"`
	Onto      string   `json:"onto"` // commit of the base
	Commits   []string `json:"commits"`
	Total     int      `json:"commits_total"`
	Files     []string `json:"files"`
	FileCount int      `json:"files_total"`
	Behind    *int     `json:"behind"`           // null: unknown before it is fetched
	Action    string   `json:"action,omitempty"` // in a plan: rebase, merge, fast_forward, squash, none or blocked
	Result    string   `json:"result,omitempty"` // in an answer: rebased, merged, pushed, up_to_date, skipped or failed
	Commit    string   `json:"commit,omitempty"` // the new commit of the branch or the base
	Conflicts []string `json:"conflicts,omitempty"`
	Problem   string   `json:"problem,omitempty"`
}

// FinishResult is what came of a ticket's branches.
type FinishResult struct {
	Status string       `json:"status"` // success or failed
	Noop   bool         `json:"noop,omitempty"`
	ID     string       `json:"ticket_id"`
	Repos  []FinishRepo `json:"repos"`
	runs.Envelope
}

// FinishInput names a ticket; default the active one.
type FinishInput struct {
	ID string `json:"ticket_id,omitempty" jsonschema:"maxLength=64,description=default the active one"`
	runs.Target
}

// MergeInput says how to merge a ticket.
type MergeInput struct {
	FinishInput
	Squash  bool   `json:"squash,omitempty" jsonschema:"description=one commit a repository"`
	Push    bool   `json:"push,omitempty" jsonschema:"description=push each base branch once it is merged"`
	Message string `json:"message,omitempty" jsonschema:"maxLength=2000"`
	Only    bool   `json:"committed_only,omitempty" jsonschema:"description=leave what is not committed where it is"`
}

// finishPlan is what is about to be done to a ticket's branches, in the order in which it is done.
type finishPlan struct {
	runs.Plan
	found   runs.Ecosystem
	id      string
	trees   []ecosystemport.TicketTree
	items   []FinishRepo
	merge   MergeInput
	refusal error
}

// ticketed returns the ticket that is named, or the active one, with its worktrees behind those of repositories that they depend on.
func (s ticketService) ticketed(ctx context.Context, sc tool.Scope, in FinishInput) (finishPlan, error) {
	f, err := s.FindInstalled(ctx, sc, in.Ecosystem)
	if err != nil {
		return finishPlan{}, err
	}
	p := finishPlan{found: f, id: cmp.Or(in.ID, f.State.Active())}
	if p.id == "" || p.id == mainTicket {
		return p, ecosystem.ErrTicket.WithMessage("no ticket of ecosystem %s is active; name one as ticket_id, or switch to one with amof_ticket_switch", f.Layout.Name)
	}
	if err := known(f, p.id); err != nil {
		return p, err
	}
	if err := s.settle(ctx, f.Layout); err != nil {
		return p, err
	}
	p.trees = inOrder(f, p.id)
	return p, nil
}

func inOrder(f runs.Ecosystem, id string) []ecosystemport.TicketTree {
	trees := treesOf(f.Manifest(), f.State, id)
	place := map[string]int{}
	for i, r := range ecosystem.InOrder(f.Manifest().Repos) {
		place[r.Name] = i
	}
	slices.SortStableFunc(trees, func(a, b ecosystemport.TicketTree) int { return cmp.Compare(place[a.Repo], place[b.Repo]) })
	return trees
}

// compared looks at every branch, with ask by what its origin has now; decide says what is to be done about it, and what is in the way.
func (s ticketService) compared(ctx context.Context, p *finishPlan, local, ask bool, decide func(d ecosystemport.TicketDistance, r *FinishRepo)) error {
	p.items = []FinishRepo{}
	for _, t := range p.trees {
		d, err := s.Merges.Compare(ctx, t, local, ask)
		if err != nil {
			return err
		}
		r := FinishRepo{Name: t.Repo, Branch: t.Branch, Base: t.Base, Worktree: t.Dir, URL: d.URL, PushURL: d.Push, Head: d.Head, Onto: d.Onto(), Commits: []string{}, Total: d.Total, Files: d.Files, FileCount: d.FileCount, Conflicts: d.Conflicts}
		if local {
			r.Onto = d.Base
		}
		if r.Files == nil {
			r.Files = []string{}
		}
		if d.Behind >= 0 {
			r.Behind = &d.Behind
		}
		for _, c := range d.Ahead {
			r.Commits = append(r.Commits, short(c.ID)+" "+c.Subject)
		}
		if d.Head == "" {
			r.Action, r.Problem = blocked, "there is no branch "+t.Branch
		} else {
			decide(d, &r)
		}
		p.items = append(p.items, r)
	}
	return nil
}

const (
	blocked   = "blocked"
	untouched = "none"
)

// seal completes the plan. If there is nothing to do, no approval is requested.
func (s ticketService) seal(sc tool.Scope, p finishPlan, plan runs.Plan) (finishPlan, error) {
	heads := [][]string{}
	idle, stopped := true, []string{}
	for _, r := range p.items {
		heads = append(heads, []string{r.Name, r.Head, r.Onto, r.Action})
		idle = idle && r.Action == untouched
		if r.Action == blocked {
			stopped = append(stopped, r.Name+": "+r.Problem)
		} else if r.Action != untouched {
			plan.Explanation.Affects = append(plan.Explanation.Affects, r.Name)
		}
		if r.URL != "" {
			plan.Options.Remotes = append(plan.Options.Remotes, r.URL)
		}
	}
	plan.Facts = map[string]any{"ticket": p.id, "repos": heads}
	plan.Current = current(p.found)
	if idle {
		p.Noop = s.finished(sc, p, p.items, "Found nothing to do for ticket "+p.id)
		plan.Noop = p.Noop
	}
	if len(stopped) > 0 {
		p.refusal = ecosystem.ErrConflict.WithMessage("ticket %s: %s; nothing was changed", p.id, strings.Join(stopped, "; ")).WithDetails(map[string]any{"repos": p.items, "ecosystem": p.found.Layout.Name})
		plan.Warnings = append(plan.Warnings, stopped...)
		plan.Options.Nothing = true // it cannot be applied, so there is nothing to approve
	}
	var err error
	p.Plan, err = plan.Sealed(p.found)
	return p, err
}

func (s ticketService) planSync(ctx context.Context, sc tool.Scope, in FinishInput) (finishPlan, error) {
	p, err := s.ticketed(ctx, sc, in)
	if err != nil {
		return p, err
	}
	err = s.compared(ctx, &p, false, !sc.Explaining, func(d ecosystemport.TicketDistance, r *FinishRepo) {
		switch r.Action = "rebase"; {
		case d.Onto() == "":
			r.Action, r.Problem = blocked, "its base "+r.Base+" is neither at origin nor here"
		case d.Behind == 0:
			r.Action, r.Problem = untouched, d.Open
		case d.Tree != "":
			r.Action, r.Problem = blocked, d.Tree
		}
	})
	if err != nil {
		return p, err
	}
	plan := runs.Plan{Tool: SyncTicket.Name, Summary: fmt.Sprintf("sync of ticket %s of %s", p.id, p.found.Layout.Name), Preview: map[string]any{"ticket_id": p.id, "repos": p.items},
		Explanation: runs.Explanation{What: "Puts the commits of ticket " + p.id + " onto their bases as those are at origin now. What was pushed of them has to be replaced there afterwards."},
		Risk:        runs.Risk{Level: "moderate", Reasons: []string{"rewrites the ticket's commits"}}}
	for _, r := range p.items {
		if len(r.Conflicts) > 0 {
			plan.Warnings = append(plan.Warnings, r.Name+": both sides have changed "+strings.Join(r.Conflicts, ", ")+"; if that is in the way, its branch stays as it is")
		}
	}
	return s.seal(sc, p, plan)
}

// MergeNote is the name of the journal of a merge or rebase in one repository.
const MergeNote = "ticket/merge"

// begun records a step before its branch moves, so that the next call can finish it.
func (s ticketService) begun(ctx context.Context, l ecosystem.Layout) func(ecosystemport.MergeStep) error {
	return func(step ecosystemport.MergeStep) error {
		doc, err := tool.Encode(step)
		if err == nil {
			err = s.States.Note(ctx, l, MergeNote, doc)
		}
		return err
	}
}

// settle finishes a step whose process is gone. Where one is at work, it waits for that.
func (s ticketService) settle(ctx context.Context, l ecosystem.Layout) error {
	if doc, err := s.States.Noted(ctx, l, MergeNote); err != nil || doc == nil {
		return err
	}
	ctx, unlock, err := s.States.Lock(ctx, l, lockWait)
	if err != nil {
		return err
	}
	defer unlock()
	doc, err := s.States.Noted(ctx, l, MergeNote)
	if err != nil || doc == nil {
		return err
	}
	var step ecosystemport.MergeStep
	if err := json.Unmarshal(doc, &step); err != nil {
		return ecosystem.ErrState.WithMessage("the journal %s/%s cannot be read; see how the ticket's branches are, then move it away", l.State, MergeNote).WithCause(err)
	}
	if err := s.Merges.FinishMerge(ctx, step); err != nil {
		return err
	}
	return s.States.Note(ctx, l, MergeNote, nil)
}

// held takes the ecosystem's lock and has everything be as it was planned.
func (s ticketService) held(ctx context.Context, p finishPlan, again func(context.Context) (finishPlan, error)) (context.Context, func(), error) {
	held, unlock, err := s.States.Lock(ctx, p.found.Layout, lockWait)
	if err != nil {
		return ctx, nil, err
	}
	now, err := again(held)
	if err == nil {
		var facts string
		if facts, err = runs.FactsHash(now.Facts); err == nil && !p.From(facts) {
			err = ecosystem.ErrChanged.WithMessage("what ticket %s was planned from has changed since; call again to see what would be done now", p.id)
		}
	}
	if err != nil {
		unlock()
		return ctx, nil, err
	}
	return held, unlock, nil
}

func (s ticketService) syncTicket(ctx context.Context, sc tool.Scope, p finishPlan) (FinishResult, error) {
	if nothing, ok := p.Noop.(FinishResult); ok || p.refusal != nil {
		return nothing, p.refusal
	}
	ctx, unlock, err := s.held(ctx, p, func(ctx context.Context) (finishPlan, error) {
		return s.planSync(ctx, sc, FinishInput{ID: p.id, Target: runs.Target{EcosystemInput: runs.EcosystemInput{Ecosystem: p.found.Layout.Name}}})
	})
	if err != nil {
		return FinishResult{}, err
	}
	defer unlock()
	items := slices.Clone(p.items)
	var failed []error
	for i, t := range p.trees {
		r := &items[i]
		if r.Action == untouched {
			r.Action, r.Result = "", "up_to_date"
			continue
		}
		r.Action = ""
		if r.Commit, err = s.Merges.Rebase(ctx, t, r.Head, r.Onto, s.begun(ctx, p.found.Layout)); err != nil {
			r.Result, r.Problem = "failed", fault.From(err).Message
			failed = append(failed, err)
			continue
		}
		r.Result = "rebased"
		if err := s.States.Note(ctx, p.found.Layout, MergeNote, nil); err != nil {
			return FinishResult{}, err
		}
	}
	return s.concluded(sc, p, items, failed, "Rebased ticket "+p.id)
}

func (s ticketService) planMerge(ctx context.Context, sc tool.Scope, in MergeInput) (finishPlan, error) {
	p, err := s.ticketed(ctx, sc, in.FinishInput)
	if err != nil {
		return p, err
	}
	p.merge = in
	err = s.compared(ctx, &p, true, !sc.Explaining, func(d ecosystemport.TicketDistance, r *FinishRepo) {
		d.Asked = d.Asked || sc.Explaining
		mergeable(d, r, in)
	})
	if err != nil {
		return p, err
	}
	how := "Merges ticket " + p.id + " into the base of each repository, in the order of their dependencies"
	risk := runs.Risk{Level: "moderate", Reasons: []string{"changes the base branches here"}}
	if in.Push {
		how += ", and pushes each base once it is merged; where a push fails, it stops"
		risk = runs.Risk{Level: "moderate", Irreversible: true, Reasons: []string{"changes the base branches here", "writes to remotes"}}
	}
	order := names(p.trees)
	plan := runs.Plan{Tool: MergeTicket.Name, Summary: fmt.Sprintf("merge of ticket %s of %s (%s)", p.id, p.found.Layout.Name, counted(len(p.trees), "repository")), Risk: risk,
		Preview:     map[string]any{"ticket_id": p.id, "order": order, "message": mergeMessage(in, p.id, ""), "push": in.Push, "repos": p.items},
		Explanation: runs.Explanation{What: how + ". Hooks of the repositories are not run, and nothing is signed.", Irreversible: in.Push}}
	return s.seal(sc, p, plan)
}

// mergeable decides how a branch gets into its base.
func mergeable(d ecosystemport.TicketDistance, r *FinishRepo, in MergeInput) {
	squash, push := in.Squash, in.Push
	stop := func(form string, args ...any) { r.Action, r.Problem = blocked, fmt.Sprintf(form, args...) }
	switch r.Action = "merge"; {
	case d.Base == "":
		stop("its base %s is not here", r.Base)
	case d.URL != "" && !d.Asked:
		stop("its origin does not answer, so that nobody knows whether %s is up to date", r.Base)
	case d.Open != "" && !in.Only:
		stop("%s, and only commits are merged; commit them there, or merge what is committed alone (committed_only)", d.Open)
	case d.Total == 0 && (!push || d.URL == "" || d.Sent || d.Push == "" && d.Origin == d.Base):
		r.Action = untouched
	case d.Tree != "" && !d.TreeOpen:
		stop("%s", d.Tree)
	case d.Clone != "":
		stop("%s", d.Clone)
	case push && (d.LacksToo || d.Lacks && (squash || d.Total == 0)):
		stop("the push of %s would be rejected: %s has commits that are not here; bring them in with git pull there, or with ecosystem_ticket_sync into %s", r.Base, cmp.Or(d.Push, d.URL), r.Branch)
	case len(d.Conflicts) > 0:
		stop("both sides have changed %s; ecosystem_ticket_sync rebases it", strings.Join(d.Conflicts, ", "))
	case d.Total == 0:
		r.Action = "push" // it was merged before, and not pushed
	case squash:
		r.Action = "squash"
	case d.Behind == 0:
		r.Action = "fast_forward"
	}
}

// mergeMessage returns the message of a merge.
func mergeMessage(in MergeInput, id, branch string) string {
	if in.Message != "" {
		return in.Message
	}
	if in.Squash {
		return id
	}
	return "Merge " + cmp.Or(branch, id)
}

func (s ticketService) mergeTicket(ctx context.Context, sc tool.Scope, p finishPlan) (FinishResult, error) {
	if nothing, ok := p.Noop.(FinishResult); ok || p.refusal != nil {
		return nothing, p.refusal
	}
	in := p.merge
	ctx, unlock, err := s.held(ctx, p, func(ctx context.Context) (finishPlan, error) {
		in.ID, in.Ecosystem = p.id, p.found.Layout.Name
		return s.planMerge(ctx, sc, in)
	})
	if err != nil {
		return FinishResult{}, err
	}
	defer unlock()
	items := slices.Clone(p.items)
	var failed []error
	for i, t := range p.trees {
		r := &items[i]
		action := r.Action
		if r.Action = ""; len(failed) > 0 {
			r.Result = "skipped"
			continue
		}
		if err := s.mergeOne(ctx, p.found.Layout, t, r, action, in); err != nil {
			r.Result, r.Problem = "failed", fault.From(err).Message
			failed = append(failed, err)
		}
	}
	return s.concluded(sc, p, items, failed, "Merged ticket "+p.id)
}

func (s ticketService) mergeOne(ctx context.Context, l ecosystem.Layout, t ecosystemport.TicketTree, r *FinishRepo, action string, in MergeInput) (err error) {
	switch action {
	case untouched:
		r.Result = "up_to_date"
		return nil
	case "push":
		r.Commit = r.Onto
	default:
		if r.Commit, err = s.Merges.Merge(ctx, t, r.Head, r.Onto, mergeMessage(in, in.ID, t.Branch), in.Squash, s.begun(ctx, l)); err != nil {
			return err
		}
	}
	if err := s.States.Note(ctx, l, MergeNote, nil); err != nil {
		return err
	}
	if r.Result = "merged"; !in.Push || r.URL == "" {
		return nil
	}
	pushed, err := s.Pushes.PushWithoutHooks(ctx, t.Clone, t.Base)
	if err == nil && pushed.Status != "pushed" && pushed.Status != "up_to_date" {
		err = ecosystem.ErrFailed.WithMessage("%s is merged here, and its push was %s: %s", t.Base, pushed.Status, pushed.Reason)
	}
	if err == nil {
		r.Result = "pushed"
	}
	return err
}

// concluded returns the answer, or the failure with what was done before it.
func (s ticketService) concluded(sc tool.Scope, p finishPlan, items []FinishRepo, failed []error, summary string) (FinishResult, error) {
	done := s.finished(sc, p, items, summary)
	if len(failed) == 0 {
		return done, nil
	}
	first := fault.From(failed[0])
	return done, first.WithMessage("%s; the others are as the answer says, and calling again goes on", first.Message).WithCause(errors.Join(failed...)).WithDetails(map[string]any{"repos": items, "ecosystem": p.found.Layout.Name})
}

func (s ticketService) finished(sc tool.Scope, p finishPlan, items []FinishRepo, summary string) FinishResult {
	text := runs.AnswerText{Summary: summary}
	out := FinishResult{Status: "success", ID: p.id, Repos: items}
	idle := true
	for _, r := range items {
		line := r.Name + ": " + cmp.Or(r.Result, r.Action)
		if r.Problem != "" {
			line += " (" + r.Problem + ")"
		}
		text.Details = append(text.Details, line)
		idle = idle && (r.Action == untouched || r.Result == "up_to_date")
	}
	out.Noop = idle
	out.Envelope = s.Show(sc, runs.Subject{Ecosystem: p.found.Layout.Name}, text, runs.SuggestAction("status", p.found.Layout.Name, nil))
	return out
}

// Proposal is how a ticket's branch becomes a pull or merge request in one repository.
type Proposal struct {
	Name    string   `json:"name"`
	Branch  string   `json:"branch"`
	Base    string   `json:"base"`
	Pushed  bool     `json:"pushed"` // the origin has the branch as it is here
	Commits int      `json:"commits"`
	Page    string   `json:"url,omitempty"`     // of the request, or on which it is opened
	State   string   `json:"state,omitempty"`   // of the request: open, merged or closed; empty if there is none, or if the forge could not be queried
	Command []string `json:"command,omitempty"` // that opens it without a browser, in its worktree
	Problem string   `json:"problem,omitempty"`
}

// Proposals is one for each repository that has commits of the ticket, those that others depend on first.
type Proposals struct {
	ID    string     `json:"ticket_id"`
	Repos []Proposal `json:"repos"`
	runs.Envelope
}

// ProposalInput names a ticket; default the active one.
type ProposalInput struct {
	ID string `json:"ticket_id,omitempty" jsonschema:"maxLength=64,description=default the active one"`
	runs.EcosystemInput
}

func (s ticketService) proposals(ctx context.Context, sc tool.Scope, in ProposalInput) (Proposals, error) {
	p, err := s.ticketed(ctx, sc, FinishInput{ID: in.ID, Target: runs.Target{EcosystemInput: in.EcosystemInput}})
	if err != nil {
		return Proposals{}, err
	}
	out := Proposals{ID: p.id, Repos: []Proposal{}}
	text := runs.AnswerText{}
	unpushed := false
	for _, t := range p.trees {
		d, err := s.Merges.Compare(ctx, t, false, true)
		if err != nil {
			return out, err
		}
		if d.Head == "" || d.Total == 0 && d.Known {
			continue
		}
		r := Proposal{Name: t.Repo, Branch: t.Branch, Base: t.Base, Pushed: d.Pushed, Commits: d.Total}
		u, err := git.ParseURL(d.URL)
		if r.Page = u.ProposalPage(t.Base, t.Branch); err != nil || r.Page == "" {
			r.Page, r.Problem = "", "its host is not known by name; open a request of "+t.Branch+" into "+t.Base+" there"
		}
		switch {
		case strings.Contains("."+u.Host(), ".github."):
			r.Command = []string{"gh", "pr", "create", "--fill", "--base", t.Base, "--head", t.Branch}
		case strings.Contains("."+u.Host(), ".gitlab."):
			r.Command = []string{"glab", "mr", "create", "--fill", "--target-branch", t.Base, "--source-branch", t.Branch}
		}
		if program, err := s.Forge.Program(cmp.Or(d.Push, d.URL)); err == nil && program != "" && d.Asked {
			found, err := s.Forge.Request(ctx, cmp.Or(d.Push, d.URL), t.Branch)
			if err != nil {
				r.Problem = fault.From(err).Message
			}
			if r.State = found.State; found.Page != "" {
				r.Page, r.Command = found.Page, nil
			}
		}
		unpushed = unpushed || !d.Pushed
		line := r.Name + ": " + cmp.Or(r.Page, r.Problem)
		if r.State != "" {
			line += ", " + r.State
		}
		if !r.Pushed {
			line += " (not pushed)"
		}
		text.Details = append(text.Details, line)
		out.Repos = append(out.Repos, r)
	}
	text.Summary = fmt.Sprintf("Listed %s of ticket %s", counted(len(out.Repos), "request"), p.id)
	if unpushed {
		text.Details = append([]string{"amof_push_ecosystem pushes the branches first"}, text.Details...)
	}
	out.Envelope = s.Show(sc, runs.Subject{Ecosystem: p.found.Layout.Name}, text, runs.SuggestAction("push", p.found.Layout.Name, nil))
	return out, nil
}
