package workspace

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// plan is what a tool about one ticket is about to do.
type plan struct {
	runs.Plan
	found   runs.Ecosystem
	id      string
	items   []TicketRepo // one for each repository that is considered
	trees   []ecosystemport.TicketTree
	cleanup bool
	ending  ecosystemport.RemoveOptions
	refusal error // why it may not be carried out as it was called
}

// Check refuses to clean up what would be lost.
func (p plan) Check() error { return p.refusal }

// tree returns the worktree of that repository, where there is to be one.
func (p plan) tree(repo string) (ecosystemport.TicketTree, bool) {
	for _, t := range p.trees {
		if t.Repo == repo {
			return t, true
		}
	}
	return ecosystemport.TicketTree{}, false
}

// TicketResult is what came of a ticket.
type TicketResult struct {
	Status string       `json:"status"` // success
	Noop   bool         `json:"noop,omitempty"`
	ID     string       `json:"ticket_id"`
	Repos  []TicketRepo `json:"repos"`
	Active *string      `json:"active_ticket"`
	runs.Envelope
}

// StartInput names a ticket to start.
type StartInput struct {
	ID    string   `json:"ticket_id" jsonschema:"minLength=1,maxLength=64"`
	Repos []string `json:"repos,omitempty" jsonschema:"description=only these repositories"`
	runs.Target
}

func (s ticketService) planStart(ctx context.Context, sc tool.Scope, in StartInput) (plan, error) {
	if err := ecosystem.CheckTicket(in.ID); err != nil {
		return plan{}, err
	}
	f, err := s.FindInstalled(ctx, sc, in.Ecosystem)
	if err == nil {
		err = unknown(f, in.ID)
	}
	if err != nil {
		return plan{}, err
	}
	p := plan{found: f, id: in.ID}
	if err := s.beginnings(ctx, &p, in.Repos); err != nil {
		return plan{}, err
	}
	branch := f.Manifest().TicketBranch(in.ID)
	p.Plan = runs.Plan{Tool: StartTicket.Name, Summary: fmt.Sprintf("start of ticket %s in %s (%s)", in.ID, f.Layout.Name, counted(len(p.trees), "repository")),
		Preview: map[string]any{"ticket_id": in.ID, "branch": branch, "repos": p.items}, Facts: map[string]any{"manifest": f.Loaded.SHA256, "active": f.State.Active()},
		Explanation: runs.Explanation{What: "make a worktree on branch " + branch + " in every writable repository and work on that ticket from then on", Affects: names(p.trees)},
		Current:     current(f), Risk: runs.Risk{Level: "low"}}
	p.Plan, err = p.Sealed(f)
	return p, err
}

// unknown rejects an id that a ticket has already.
func unknown(f runs.Ecosystem, id string) error {
	if _, known := f.State.Tickets[id]; known {
		return ecosystem.ErrTicketExists.WithMessage("ecosystem %s has a ticket %s already; amof_ticket_switch switches to it", f.Layout.Name, id)
	}
	return nil
}

func names(trees []ecosystemport.TicketTree) []string {
	out := make([]string, 0, len(trees))
	for _, t := range trees {
		out = append(out, t.Repo)
	}
	return out
}

func current(f runs.Ecosystem) map[string]any {
	return map[string]any{"active_ticket": f.State.ActiveTicket, "tickets": oldestFirst(f.State)}
}

const skip = "skip"

// beginnings chooses the repositories of a new ticket, into p, and says how each worktree would come to be.
func (s ticketService) beginnings(ctx context.Context, p *plan, wanted []string) error {
	m := p.found.Manifest()
	chosen, err := m.Choose(wanted)
	if err != nil {
		return err
	}
	p.items = []TicketRepo{}
	var why []string
	for _, r := range chosen {
		if r.ReadOnly && len(wanted) > 0 {
			return ecosystem.ErrReadOnly.WithMessage("repository %s is read-only in ecosystem %s, so no ticket works on it", r.Name, m.Name)
		}
		item, t := s.beginning(ctx, p, r)
		if item.Action == skip {
			why = append(why, item.Name+": "+item.Problem)
		} else {
			p.trees = append(p.trees, t)
		}
		p.items = append(p.items, item)
	}
	if len(p.trees) == 0 {
		return ecosystem.ErrNoWork.WithMessage("no repository of %s can have a worktree for ticket %s; %s", m.Name, p.id, strings.Join(append(why, "the manifest names none")[:1], "")).
			WithDetails(map[string]any{"repos": p.items, "ecosystem": p.found.Layout.Name})
	}
	return nil
}

// beginning says how the worktree of one repository would come to be.
func (s ticketService) beginning(ctx context.Context, p *plan, r ecosystem.Repo) (item TicketRepo, t ecosystemport.TicketTree) {
	item = TicketRepo{Name: r.Name, Branch: p.found.Manifest().TicketBranch(p.id), Action: skip}
	recorded := p.found.State.Repo(r.Name)
	switch {
	case r.ReadOnly:
		item.Problem = "read-only"
		return item, t
	case recorded == nil:
		item.Problem = "not in the workspace yet; amof_sync_ecosystem clones it"
		return item, t
	}
	dir := p.found.State.WorkspaceDir
	t = ecosystemport.TicketTree{Repo: r.Name, Clone: path.Join(dir, recorded.Path), Dir: path.Join(baseOf(p.found.State, p.id), r.Name), Branch: item.Branch, Base: r.Branch}
	item.Worktree = t.Dir
	how, err := s.Work.Plan(ctx, t)
	if err != nil {
		item.Problem = fault.From(err).Message
		return item, t
	}
	item.Action = string(how)
	return item, t
}

// alone has this call be the only one that works on the ecosystem, and looks at what is recorded again: somebody else may have been there since the
// plan was made.
func (s ticketService) alone(ctx context.Context, p *plan) (held context.Context, unlock func(), err error) {
	if held, unlock, err = s.States.Lock(ctx, p.found.Layout, lockWait); err != nil {
		return ctx, nil, err
	}
	if p.found.State, err = s.States.Load(ctx, p.found.Layout); err == nil && !p.found.State.Installed() {
		err = ecosystem.ErrNotInstalled.WithMessage("ecosystem %s is not installed any more; amof_install_ecosystem installs it", p.found.Layout.Name)
	}
	if err != nil {
		unlock()
		return ctx, nil, err
	}
	return held, unlock, nil
}

func (s ticketService) start(ctx context.Context, sc tool.Scope, p plan) (TicketResult, error) {
	ctx, unlock, err := s.alone(ctx, &p)
	if err != nil {
		return TicketResult{}, err
	}
	defer unlock()
	if err := unknown(p.found, p.id); err != nil {
		return TicketResult{}, err
	}
	made := map[string]string{}
	var failed error
	items := make([]TicketRepo, 0, len(p.items))
	for _, item := range p.items {
		if t, ok := p.tree(item.Name); ok {
			done, err := s.add(ctx, t)
			if item = done; err == nil {
				made[t.Repo] = t.Branch
			} else if failed == nil {
				failed = err
			}
		} else {
			item.Action, item.Result = "", "skipped"
		}
		items = append(items, item)
	}
	if len(made) == 0 {
		return TicketResult{}, ecosystem.ErrNoWork.WithMessage("no worktree could be made for ticket %s: %s", p.id, fault.From(failed).Message).
			WithDetails(map[string]any{"repos": items, "ecosystem": p.found.Layout.Name})
	}
	now := s.Clock.Now().UTC()
	state, err := s.States.Update(ctx, p.found.Layout, func(state *ecosystem.State) error {
		if state.Tickets == nil {
			state.Tickets = map[string]ecosystem.Ticket{}
		}
		state.Tickets[p.id] = ecosystem.Ticket{CreatedAt: now, Repos: made, WorktreeBase: baseOf(*state, p.id), Ecosystem: p.found.Layout.Name, Phase: "started"}
		state.ActiveTicket = &p.id
		return nil
	})
	if err != nil {
		return TicketResult{}, err
	}
	return s.changed(sc, p, state, items, fmt.Sprintf("Started ticket %s in %d of %s", p.id, len(made), counted(len(items), "repository"))), nil
}

// add makes a worktree.
func (s ticketService) add(ctx context.Context, t ecosystemport.TicketTree) (TicketRepo, error) {
	item := itemOf(t)
	how, err := s.Work.Add(ctx, t)
	if item.Result = string(how); err != nil {
		item.Result, item.Problem = "failed", fault.From(err).Message
	}
	return item, err
}

// changed returns an answer.
func (s ticketService) changed(sc tool.Scope, p plan, state ecosystem.State, items []TicketRepo, summary string) TicketResult {
	text := runs.AnswerText{Summary: summary}
	for _, i := range items {
		text.Details = append(text.Details, said(i))
	}
	actions := []runs.Action{runs.SuggestAction("status", p.found.Layout.Name, nil), runs.SuggestAction("ticket_list", p.found.Layout.Name, nil)}
	if state.Active() == "" {
		actions = append(actions, runs.SuggestAction("ticket_start", p.found.Layout.Name, nil))
	}
	return TicketResult{Status: "success", ID: p.id, Repos: items, Active: state.ActiveTicket, Envelope: s.Show(sc, runs.Subject{Ecosystem: p.found.Layout.Name}, text, actions...)}
}

// resultText returns a result in words.
func resultText(result string) string {
	switch ecosystemport.WorktreeOrigin(result) {
	case ecosystemport.Made:
		return "worktree on a new branch"
	case ecosystemport.Reused:
		return "worktree on the branch that was here"
	case ecosystemport.Tracked:
		return "worktree on the branch from origin"
	case ecosystemport.Standing:
		return "its worktree was there"
	}
	return result
}

// said returns a repository's result for users.
func said(i TicketRepo) string {
	mark := "✓"
	switch {
	case i.Result == "skipped":
		mark = "–"
	case i.Problem != "":
		mark = "✗"
	}
	out := mark + " " + i.Name + ": " + resultText(i.Result)
	if i.Problem != "" {
		out += " (" + i.Problem + ")"
	}
	if len(i.Kept) > 0 {
		out += "; kept under " + strings.Join(i.Kept, ", ")
	}
	return out
}

// lockWait is how long a call waits for another process to be done with the ecosystem.
const lockWait = 10 * time.Second
