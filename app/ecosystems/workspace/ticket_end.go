package workspace

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// SwitchInput names a ticket to work on.
type SwitchInput struct {
	ID string `json:"ticket_id" jsonschema:"minLength=1,maxLength=64,description=a ticket's id or main for none"`
	runs.Target
}

// known rejects an id that no ticket has.
func known(f runs.Ecosystem, id string) error {
	if _, ok := f.State.Tickets[id]; ok || id == mainTicket {
		return nil
	}
	has := "and no other"
	if len(f.State.Tickets) > 0 {
		has = "but: " + strings.Join(oldestFirst(f.State), ", ")
	}
	return ecosystem.ErrTicket.WithMessage("ecosystem %s has no ticket %q, %s", f.Layout.Name, id, has)
}

// find returns the recorded ticket of that id, with how its worktrees are.
func (s ticketService) find(ctx context.Context, sc tool.Scope, name, id string) (plan, []ecosystem.GitStatus, error) {
	f, err := s.FindInstalled(ctx, sc, name)
	if err == nil {
		err = known(f, id)
	}
	if err != nil {
		return plan{}, nil, err
	}
	p := plan{found: f, id: id, trees: treesOf(f.Manifest(), f.State, id)}
	repoStatuses := s.repoStatuses(ctx, p.trees)
	p.items = itemsOf(p.trees, repoStatuses)
	return p, repoStatuses, nil
}

func (s ticketService) planSwitch(ctx context.Context, sc tool.Scope, in SwitchInput) (plan, error) {
	p, repoStatuses, err := s.find(ctx, sc, in.Ecosystem, in.ID)
	if err != nil {
		return plan{}, err
	}
	missing := 0
	for i, st := range repoStatuses {
		p.items[i].Action = "keep"
		if st.Missing {
			missing++
			p.items[i].Action = "make again"
		}
	}
	p.Plan = runs.Plan{Tool: SwitchTicket.Name, Summary: fmt.Sprintf("switch of %s to %s", p.found.Layout.Name, in.ID), Preview: map[string]any{"ticket_id": in.ID, "from": p.found.State.ActiveTicket, "repos": p.items},
		Facts:       map[string]any{"active": p.found.State.Active()},
		Explanation: runs.Explanation{What: "work on this ticket from then on; what the other one has stays as it is", Affects: names(p.trees)}, Current: current(p.found), Risk: runs.Risk{Level: "low"}}
	if cmp.Or(p.found.State.Active(), mainTicket) == in.ID && missing == 0 {
		summary := in.ID + " is the active ticket already; nothing was changed"
		if in.ID == mainTicket {
			summary = "No ticket is active; nothing was changed"
		}
		done := s.changed(sc, p, p.found.State, kept(p.trees), summary)
		done.Noop = true
		p.Noop = done
	}
	p.Plan, err = p.Sealed(p.found)
	return p, err
}

// kept are worktrees to which nothing is done.
func kept(trees []ecosystemport.TicketTree) []TicketRepo {
	items := make([]TicketRepo, 0, len(trees))
	for _, t := range trees {
		item := itemOf(t)
		item.Result = "kept"
		items = append(items, item)
	}
	return items
}

func (s ticketService) change(ctx context.Context, sc tool.Scope, p plan) (TicketResult, error) {
	if nothing, ok := p.Noop.(TicketResult); ok {
		return nothing, nil
	}
	ctx, unlock, err := s.alone(ctx, &p)
	if err != nil {
		return TicketResult{}, err
	}
	defer unlock()
	if err := known(p.found, p.id); err != nil {
		return TicketResult{}, err
	}
	items, failed := []TicketRepo{}, 0
	for _, t := range treesOf(p.found.Manifest(), p.found.State, p.id) {
		item, err := s.add(ctx, t)
		if err != nil {
			failed++
		}
		items = append(items, item)
	}
	state, err := s.States.Update(ctx, p.found.Layout, func(state *ecosystem.State) error {
		if state.ActiveTicket = &p.id; p.id == mainTicket {
			state.ActiveTicket = nil
		}
		return nil
	})
	if err != nil {
		return TicketResult{}, err
	}
	summary := "Switched to " + p.id
	if failed > 0 {
		summary += fmt.Sprintf(", but %d of %s could not be made", failed, counted(len(items), "worktree"))
	}
	return s.changed(sc, p, state, items, summary), nil
}

// EndInput names a ticket to end.
type EndInput struct {
	ID      string `json:"ticket_id,omitempty" jsonschema:"maxLength=64,description=default the only one"`
	Cleanup string `json:"cleanup,omitempty" jsonschema:"enum=none,enum=local,enum=all,description=what else goes: local worktrees and branches or those at origin too"`
	Force   bool   `json:"force,omitempty" jsonschema:"description=work that is nowhere else may go; it is kept under refs"`
	runs.Target
}

// Claims says that only a clean-up destroys anything (amof contract §12, row 17).
func (in EndInput) Claims() (policy.Class, policy.Effects) {
	s := runs.SafeWriteSpec("", "", "")
	if in.cleans() {
		return policy.ClassDangerous, s.Effects | policy.Delete
	}
	return s.Class, s.Effects
}

const everywhere = "all"

func (in EndInput) cleans() bool { return in.Cleanup == "local" || in.Cleanup == everywhere }

func (s ticketService) planEnd(ctx context.Context, sc tool.Scope, in EndInput) (plan, error) {
	if in.ID == mainTicket {
		return plan{}, ecosystem.ErrTicketID.WithMessage("main is no ticket, and cannot be ended; amof_ticket_switch main leaves the active one")
	}
	if in.ID == "" {
		f, err := s.FindInstalled(ctx, sc, in.Ecosystem)
		if err != nil {
			return plan{}, err
		}
		ids := oldestFirst(f.State)
		if len(ids) != 1 {
			return plan{}, ecosystem.ErrTicket.WithMessage("ecosystem %s has %s; name the one to end", f.Layout.Name, strings.TrimSuffix(counted(len(ids), "ticket")+": "+strings.Join(ids, ", "), ": "))
		}
		in.ID = ids[0]
	}
	p, repoStatuses, err := s.find(ctx, sc, in.Ecosystem, in.ID)
	if err != nil {
		return plan{}, err
	}
	p.cleanup, p.ending = in.cleans(), ecosystemport.RemoveOptions{Force: in.Force, Origin: in.Cleanup == everywhere}
	facts := map[string]any{}
	for i, st := range repoStatuses {
		fact := map[string]any{"head": st.Head, "porcelain": st.Porcelain}
		if p.items[i].Action = "keep"; p.cleanup {
			planUnsaved, err := s.planUnsaved(ctx, &p, i, !sc.Explaining)
			if err != nil {
				return plan{}, err
			}
			fact["stake"] = planUnsaved
		}
		facts[p.items[i].Name] = fact
	}
	p.items = append(p.items, removedRepos(p.found.State, in.ID)...)
	p.Plan = runs.Plan{Tool: EndTicket.Name, Summary: fmt.Sprintf("end of ticket %s in %s", in.ID, p.found.Layout.Name),
		Preview: map[string]any{"ticket_id": in.ID, "cleanup": cmp.Or(in.Cleanup, "none"), "force": in.Force, "repos": p.items}, Facts: facts,
		Explanation: runs.Explanation{What: "record the ticket no more" + gone(in), Affects: names(p.trees), Alternatives: []string{"amof_ticket_switch main leaves the ticket as it is"}},
		Current:     current(p.found), Risk: runs.Risk{Level: "low"}}
	if p.cleanup {
		p.Risk = runs.Risk{Level: "moderate", Irreversible: p.ending.Origin, Reasons: []string{"deletes worktrees and branches"}}
		p.Explanation.Irreversible = p.ending.Origin
		p.Explanation.Alternatives = append(p.Explanation.Alternatives, "amof_push_ecosystem saves what is not pushed")
	}
	switch {
	case p.refusal != nil:
		p.Warnings = []string{fault.From(p.refusal).Message}
	case p.cleanup:
		p.Options.Assessment.Strength = policy.Simple // do not ask about a call that will be rejected
	}
	p.Plan, err = p.Sealed(p.found)
	return p, err
}

// planUnsaved says what would go in a repository, into the plan's item of it; with ask by what origin has now, if its branch goes too.
func (s ticketService) planUnsaved(ctx context.Context, p *plan, i int, ask bool) (ecosystemport.UnsavedWork, error) {
	item, t := &p.items[i], p.trees[i]
	planUnsaved, err := s.Work.Stake(ctx, t, p.ending.Origin && ask)
	if err != nil {
		return planUnsaved, fault.From(err).WithDetails(map[string]any{"repo": item.Name, "ecosystem": p.found.Layout.Name})
	}
	item.Action = "remove worktree and branch"
	if planUnsaved.Origin != "" {
		item.Action += ", at origin too"
	}
	if refused := planUnsaved.Refusal(t, p.ending.Force); refused != nil {
		item.Action, item.Problem = "refuse", fault.From(refused).Message
		p.refusal = cmp.Or(p.refusal, refused)
	} else if planUnsaved.Changes > 0 || planUnsaved.Unmerged {
		item.Problem = "holds work that is nowhere else, which is kept under refs of the clone"
	}
	return planUnsaved, nil
}

func gone(in EndInput) string {
	switch in.Cleanup {
	case "local":
		return "; delete its worktrees and local branches"
	case everywhere:
		return "; delete its worktrees, its local branches and those at origin"
	}
	return "; its worktrees and branches stay"
}

func (s ticketService) end(ctx context.Context, sc tool.Scope, p plan) (TicketResult, error) {
	ctx, unlock, err := s.alone(ctx, &p)
	if err != nil {
		return TicketResult{}, err
	}
	defer unlock()
	if err := known(p.found, p.id); err != nil {
		return TicketResult{}, err
	}
	items := kept(treesOf(p.found.Manifest(), p.found.State, p.id))
	if p.cleanup {
		if items, err = s.clean(ctx, p); err != nil {
			return TicketResult{}, err
		}
	}
	for _, item := range removedRepos(p.found.State, p.id) {
		item.Result = "skipped"
		items = append(items, item)
	}
	state, err := s.States.Update(ctx, p.found.Layout, func(state *ecosystem.State) error {
		active := state.Active() == p.id
		if delete(state.Tickets, p.id); !active {
			return nil
		}
		state.ActiveTicket = nil
		if left := oldestFirst(*state); len(left) > 0 {
			state.ActiveTicket = &left[0]
		}
		return nil
	})
	if err != nil {
		return TicketResult{}, err
	}
	return s.changed(sc, p, state, items, "Ended ticket "+p.id), nil
}

// clean takes the ticket's worktrees and branches away. One that cannot go does not hold up the others, but the ticket stays on record then, so that
// the call can be repeated.
func (s ticketService) clean(ctx context.Context, p plan) ([]TicketRepo, error) {
	items := []TicketRepo{}
	var failed []string
	var first error
	for _, t := range treesOf(p.found.Manifest(), p.found.State, p.id) {
		item := itemOf(t)
		done, err := s.Work.Remove(ctx, t, p.ending)
		item.Kept = done.Kept
		switch {
		case err != nil:
			item.Result, item.Problem = "failed", fault.From(err).Message
			failed, first = append(failed, t.Repo), cmp.Or(first, err)
		case done.Stays:
			item.Result = "removed, but for its branch, which is checked out elsewhere"
		case done.Origin:
			item.Result = "removed, at origin too"
		default:
			item.Result = "removed"
		}
		items = append(items, item)
	}
	if first == nil {
		return items, nil
	}
	f := fault.From(first)
	return nil, f.WithMessage("ticket %s was not ended, because of %s; call again when that is put right (%s)", p.id, strings.Join(failed, ", "), f.Message).
		WithDetails(map[string]any{"repos": items, "ecosystem": p.found.Layout.Name})
}
