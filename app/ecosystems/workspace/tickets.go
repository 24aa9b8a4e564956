package workspace

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// TicketDeps is what the tools work with. Every field is required.
type TicketDeps struct {
	runs.Deps
	Work     ecosystemport.TicketWork
	Surveyor ecosystemport.Surveyor
	Merges   ecosystemport.TicketMerges
	Pushes   ecosystemport.PushGit
	Forge    ecosystemport.Forge
}

// The typed handles.
var (
	ListTickets   = tool.Ref[runs.EcosystemInput, TicketList]{Name: "amof_ticket_list"}
	StartTicket   = tool.Ref[StartInput, TicketResult]{Name: "amof_ticket_start"}
	SwitchTicket  = tool.Ref[SwitchInput, TicketResult]{Name: "amof_ticket_switch"}
	EndTicket     = tool.Ref[EndInput, TicketResult]{Name: "amof_ticket_end"}
	SyncTicket    = tool.Ref[FinishInput, FinishResult]{Name: "ecosystem_ticket_sync"}
	MergeTicket   = tool.Ref[MergeInput, FinishResult]{Name: "ecosystem_ticket_merge"}
	RequestTicket = tool.Ref[ProposeInput, RequestsResult]{Name: "ecosystem_ticket_propose"}
	ProposeTicket = tool.Ref[ProposalInput, Proposals]{Name: "ecosystem_ticket_pr"}
)

// mainTicket is the name of no ticket: switching to it leaves the active one.
const mainTicket = "main"

type ticketService struct{ TicketDeps }

// TicketEntries returns the tools about tickets.
func TicketEntries(d TicketDeps) []tool.Entry {
	s := ticketService{d}
	end := runs.SafeWriteSpec("End ticket", "End a ticket: it is no longer recorded. Its worktrees and branches stay, unless cleanup says local or all; work that is nowhere else stays without force.", endSchema)
	end.Class, end.Effects, end.ReaskOnChange = policy.ClassDangerous, end.Effects|policy.Delete, true // what cleans up is confirmed
	change := runs.SafeWriteSpec("Switch ticket", "Make another ticket the active one, making missing worktrees again; main makes none active.", switchSchema)
	change.When = "unless it is the active one"
	sync := runs.DangerousSpec(policy.Simple, "Sync ticket", "Rebase a ticket's branches on their bases as those are at origin now. A branch that conflicts stays as it is.", syncTicketSchema)
	merge := runs.DangerousSpec(policy.Preview, "Merge ticket", "Merge a ticket's branches into their bases, repositories that others depend on first. Nothing is begun where one conflicts.", mergeSchema)
	propose := runs.DangerousSpec(policy.Preview, "Open ticket requests", "Open a pull or merge request in each repository of a ticket with gh or glab, linked to each other.", proposeSchema)
	for _, spec := range []*tool.Spec{&sync, &merge, &propose} {
		spec.When = "unless there is nothing to do"
	}
	return []tool.Entry{
		bind.Command(SyncTicket, sync, s.planSync, s.syncTicket),
		bind.Command(MergeTicket, merge, s.planMerge, s.mergeTicket),
		bind.Command(RequestTicket, propose, s.planRequests, s.openRequests),
		bind.Query(ProposeTicket, runs.ReadSpec("Ticket requests", "List a ticket's pull or merge requests with their states, as gh or glab say, else the pages that open them.", proposalSchema), s.proposals),
		bind.Query(ListTickets, runs.ReadSpec("List tickets", "List an ecosystem's tickets with their branches and worktrees.", listSchema), s.list),
		bind.Command(StartTicket, runs.SafeWriteSpec("Start ticket", "Start a ticket: a feature branch in a worktree of every writable repository. It becomes the active one.", startSchema), s.planStart, s.start),
		bind.Command(SwitchTicket, change, s.planSwitch, s.change),
		bind.Command(EndTicket, end, s.planEnd, s.end),
	}
}

// TicketRepo is a ticket in one repository.
type TicketRepo struct {
	Name     string   `json:"name"`
	Branch   string   `json:"branch"`
	Worktree string   `json:"worktree"`
	Status   string   `json:"status,omitempty"` // ok, dirty or missing worktree
	Action   string   `json:"action,omitempty"` // in a preview: what would be done
	Result   string   `json:"result,omitempty"` // in an answer: what was
	Problem  string   `json:"problem,omitempty"`
	Kept     []string `json:"kept_refs,omitempty"`
}

// TicketItem is a ticket in a list.
type TicketItem struct {
	ID        string       `json:"ticket_id"`
	Active    bool         `json:"active"`
	Phase     string       `json:"phase"`
	CreatedAt time.Time    `json:"created_at"`
	Repos     []TicketRepo `json:"repos"`
}

// TicketList is an ecosystem's tickets, oldest first.
type TicketList struct {
	Active  *string      `json:"active_ticket"`
	Tickets []TicketItem `json:"tickets"`
	Count   int          `json:"count"`
	runs.Envelope
}

func (s ticketService) list(ctx context.Context, sc tool.Scope, in runs.EcosystemInput) (TicketList, error) {
	f, err := s.FindInstalled(ctx, sc, in.Ecosystem)
	if err != nil {
		return TicketList{}, err
	}
	ids := oldestFirst(f.State)
	out := TicketList{Active: f.State.ActiveTicket, Tickets: make([]TicketItem, 0, len(ids)), Count: len(ids)}
	var all []ecosystemport.TicketTree
	for _, id := range ids {
		all = append(all, treesOf(f.Manifest(), f.State, id)...)
	}
	repoStatuses := s.repoStatuses(ctx, all)
	text := runs.AnswerText{Summary: fmt.Sprintf("Listed %s of %s", counted(len(ids), "ticket"), f.Layout.Name)}
	for _, id := range ids {
		t := f.State.Tickets[id]
		n := len(treesOf(f.Manifest(), f.State, id))
		item := TicketItem{ID: id, Active: id == f.State.Active(), Phase: t.Phase, CreatedAt: t.CreatedAt, Repos: append(itemsOf(all[:n], repoStatuses[:n]), removedRepos(f.State, id)...)}
		all, repoStatuses = all[n:], repoStatuses[n:]
		out.Tickets = append(out.Tickets, item)
		text.Details = append(text.Details, ticketLine(item))
	}
	action := runs.SuggestAction("ticket_start", f.Layout.Name, nil)
	if f.State.Active() != "" {
		action = runs.SuggestAction("status", f.Layout.Name, nil)
	}
	out.Envelope = s.Show(sc, runs.Subject{Ecosystem: f.Layout.Name}, text, action)
	return out, nil
}

// ticketLine returns a ticket for users.
func ticketLine(item TicketItem) string {
	out := item.ID
	if item.Active {
		out += " (active)"
	}
	out += ": " + counted(len(item.Repos), "repository")
	for _, r := range item.Repos {
		if r.Status != "ok" {
			out += ", " + r.Name + " " + cmp.Or(r.Status, r.Problem)
		}
	}
	return out
}

func counted(n int, one string) string {
	many := one + "s"
	if stem, ok := strings.CutSuffix(one, "y"); ok {
		many = stem + "ies"
	}
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// itemsOf returns how worktrees are.
func itemsOf(trees []ecosystemport.TicketTree, repoStatuses []ecosystem.GitStatus) []TicketRepo {
	items := make([]TicketRepo, 0, len(trees))
	for i, st := range repoStatuses {
		item := itemOf(trees[i])
		item.Status, item.Problem = statusOf(st), st.Problem
		items = append(items, item)
	}
	return items
}

func itemOf(t ecosystemport.TicketTree) TicketRepo {
	return TicketRepo{Name: t.Repo, Branch: t.Branch, Worktree: t.Dir}
}

func statusOf(st ecosystem.GitStatus) string {
	switch {
	case st.Missing:
		return "missing worktree"
	case st.Dirty > 0 || !st.Readable(): // what cannot be looked at must not look clean
		return "dirty"
	}
	return "ok"
}

// oldestFirst returns the ids of a state's tickets.
func oldestFirst(s ecosystem.State) []string {
	ids := make([]string, 0, len(s.Tickets))
	for id := range s.Tickets {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b string) int {
		return cmp.Or(s.Tickets[a].CreatedAt.Compare(s.Tickets[b].CreatedAt), cmp.Compare(a, b))
	})
	return ids
}

func (s ticketService) repoStatuses(ctx context.Context, trees []ecosystemport.TicketTree) []ecosystem.GitStatus {
	checkouts := make([]ecosystem.Checkout, 0, len(trees))
	for _, t := range trees {
		checkouts = append(checkouts, ecosystem.Checkout{Name: t.Repo, Dir: t.Dir})
	}
	return s.Surveyor.Survey(ctx, checkouts)
}

// treesOf returns the worktrees of a recorded ticket, in the order in which the repositories are recorded. An id that none could be started with, which
// only somebody who wrote the record by hand can have put there, has none.
func treesOf(m ecosystem.Manifest, state ecosystem.State, id string) []ecosystemport.TicketTree {
	if ecosystem.CheckTicket(id) != nil {
		return nil
	}
	t := state.Tickets[id]
	var out []ecosystemport.TicketTree
	for _, r := range state.Repos {
		if branch, ok := t.Repos[r.Name]; ok {
			out = append(out, ecosystemport.TicketTree{Repo: r.Name, Clone: path.Join(state.WorkspaceDir, r.Path), Dir: path.Join(baseOf(state, id), r.Name), Branch: branch, Base: branchOf(m, r)})
		}
	}
	return out
}

// removedRepos returns the repositories of a recorded ticket that the workspace has no more. Nothing is done about them.
func removedRepos(state ecosystem.State, id string) []TicketRepo {
	t := state.Tickets[id]
	var out []TicketRepo
	for name, branch := range t.Repos {
		if state.Repo(name) == nil {
			out = append(out, TicketRepo{Name: name, Branch: branch, Worktree: path.Join(baseOf(state, id), path.Base(name)), Problem: "not in the workspace any more"})
		}
	}
	slices.SortFunc(out, func(a, b TicketRepo) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// baseOf returns the directory of a ticket's worktrees: as it is recorded, else that of amof contract §20.3.
func baseOf(state ecosystem.State, id string) string {
	if recorded := state.Tickets[id].WorktreeBase; path.IsAbs(recorded) {
		return recorded
	}
	return path.Join(state.WorkspaceDir, "tickets", id)
}

// branchOf returns the base branch of a ticket: the manifest's, else the installed one.
func branchOf(m ecosystem.Manifest, r ecosystem.RepoState) string {
	for _, known := range m.Repos {
		if known.Name == r.Name {
			return known.Branch
		}
	}
	return r.Branch
}

// WorktreeEnsurer is an ecosystemport.TicketTrees.
type WorktreeEnsurer struct{ Work ecosystemport.TicketWork }

// Ensure makes again those of the ticket's worktrees that are missing. One that cannot be made does not hold up the others; the first says why.
func (e WorktreeEnsurer) Ensure(ctx context.Context, t ecosystemport.Ticketed) error {
	var failed error
	for _, tree := range treesOf(t.Manifest, t.State, t.Ticket) {
		if _, err := e.Work.Add(ctx, tree); err != nil {
			failed = cmp.Or(failed, err)
		}
	}
	return failed
}
