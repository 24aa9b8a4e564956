package workspace

import (
	"cmp"
	"context"
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

// ProposeInput says which requests to open for a ticket.
type ProposeInput struct {
	FinishInput
	Title string `json:"title,omitempty" jsonschema:"maxLength=200,description=default the ticket and its newest commit"`
	Text  string `json:"text,omitempty" jsonschema:"maxLength=8000"`
}

// RequestRepo is a ticket's request in one repository.
type RequestRepo struct {
	Name    string `json:"name"`
	Branch  string `json:"branch"`
	Base    string `json:"base"`
	Head    string `json:"head"`
	Commits int    `json:"commits"`
	Program string `json:"program,omitempty"` // gh or glab
	Title   string `json:"title,omitempty"`
	Text    string `json:"text,omitempty"`
	Action  string `json:"action,omitempty"` // in a plan: open, keep, by_hand or blocked
	Result  string `json:"result,omitempty"` // in an answer: opened, kept, by_hand or failed
	State   string `json:"state,omitempty"`  // open, merged or closed
	Page    string `json:"url,omitempty"`    // of the request; where it is opened by hand, the page for that
	Problem string `json:"problem,omitempty"`
	remote  string
	known   ecosystemport.ForgeRequest
}

// RequestsResult is what came of them.
type RequestsResult struct {
	Status string        `json:"status"` // success or failed
	Noop   bool          `json:"noop,omitempty"`
	ID     string        `json:"ticket_id"`
	Repos  []RequestRepo `json:"repos"`
	runs.Envelope
}

// requestPlan is requests that are about to be opened, those that others depend on first.
type requestPlan struct {
	finishPlan
	in    ProposeInput
	repos []RequestRepo
}

// The marks around what Countersign writes into a request, so that it replaces that alone.
const (
	linksBegin = "<!-- countersign: begin -->"
	linksEnd   = "<!-- countersign: end -->"
)

func (s ticketService) planRequests(ctx context.Context, sc tool.Scope, in ProposeInput) (requestPlan, error) {
	base, err := s.ticketed(ctx, sc, in.FinishInput)
	p := requestPlan{finishPlan: base, in: in, repos: []RequestRepo{}}
	if err != nil {
		return p, err
	}
	var stopped []string
	facts := [][]string{}
	open := 0
	plan := runs.Plan{Tool: RequestTicket.Name, Risk: runs.Risk{Level: "moderate", Irreversible: true, Reasons: []string{"opens requests on other sites"}}, Current: current(p.found)}
	for _, t := range p.trees {
		d, err := s.Merges.Compare(ctx, t, false, true)
		if err != nil {
			return p, err
		}
		if d.Head == "" || d.Total == 0 && d.Known {
			continue
		}
		r := s.request(ctx, p, t, d)
		switch r.Action {
		case blocked:
			stopped = append(stopped, r.Name+": "+r.Problem)
		case "open":
			open++
			plan.Explanation.Affects = append(plan.Explanation.Affects, r.Name)
		}
		if d.URL != "" {
			plan.Options.Remotes = append(plan.Options.Remotes, d.URL)
		}
		facts = append(facts, []string{r.Name, r.Head, r.Action, r.known.Page, r.State})
		p.repos = append(p.repos, r)
	}
	plan.Summary = fmt.Sprintf("opening of %s for ticket %s of %s", counted(open, "request"), p.id, p.found.Layout.Name)
	plan.Facts = map[string]any{"ticket": p.id, "repos": facts}
	plan.Preview = map[string]any{"ticket_id": p.id, "repos": p.repos, "links": "each text ends with the links to the others, once they are open"}
	plan.Explanation.What = "Opens a pull or merge request in each repository with the site's own program (gh or glab, with your login), and has them name each other."
	plan.Explanation.Irreversible = true
	switch {
	case len(stopped) > 0:
		p.refusal = ecosystem.ErrConflict.WithMessage("ticket %s: %s; nothing was changed", p.id, strings.Join(stopped, "; ")).WithDetails(map[string]any{"repos": p.repos, "ecosystem": p.found.Layout.Name})
		plan.Warnings, plan.Options.Nothing = stopped, true // it cannot be applied, so there is nothing to approve
	case open == 0:
		plan.Noop = s.requested(sc, p, p.repos, "Found no request to open for ticket "+p.id)
	}
	p.Plan, err = plan.Sealed(p.found)
	return p, err
}

// request says what becomes of a ticket's request in one repository.
func (s ticketService) request(ctx context.Context, p requestPlan, t ecosystemport.TicketTree, d ecosystemport.TicketDistance) RequestRepo {
	remote := cmp.Or(d.Push, d.URL)
	r := RequestRepo{Name: t.Repo, Branch: t.Branch, Base: t.Base, Head: d.Head, Commits: d.Total, remote: remote}
	program, err := s.Forge.Program(remote)
	u, _ := git.ParseURL(remote)
	r.Page = u.ProposalPage(t.Base, t.Branch)
	switch {
	case err != nil, program == "":
		r.Action = "by_hand"
		if r.Problem = "its host is not known by name; open a request of " + t.Branch + " into " + t.Base + " there"; err != nil {
			r.Problem = fault.From(err).Message
		} else if r.Page != "" {
			r.Problem = "open it on that page"
		}
		return r
	case !d.Pushed:
		r.Action, r.Problem = blocked, "origin does not have "+t.Branch+" as it is here; amof_push_ecosystem pushes it"
		return r
	}
	r.Program = program
	if r.known, err = s.Forge.Request(ctx, remote, t.Branch); err != nil {
		r.Action, r.Problem = blocked, fault.From(err).Message
		return r
	}
	r.State = r.known.State
	if r.Action = "keep"; r.State == "open" || r.State == "merged" && d.Total == 0 {
		r.Page = r.known.Page
		return r
	}
	r.Action, r.State = "open", ""
	subject := t.Branch
	if len(d.Ahead) > 0 {
		subject = d.Ahead[0].Subject
	}
	r.Title = cmp.Or(p.in.Title, p.id+": "+subject)
	r.Text = strings.TrimSpace(p.in.Text)
	return r
}

// linked returns the text of a request with the links to the others in it; only what Countersign wrote before is replaced.
func linked(text, id string, self RequestRepo, all []RequestRepo) string {
	block := linksBegin + "\nTicket " + id + ", to be merged in this order:\n"
	for _, r := range all {
		line := "- " + r.Name + ": " + cmp.Or(r.Page, "(no page known)")
		if r.Name == self.Name {
			line = "- " + r.Name + " (this one)"
		}
		block += line + "\n"
	}
	block += linksEnd
	before, rest, found := strings.Cut(text, linksBegin)
	_, after, closed := strings.Cut(rest, linksEnd)
	if !found || !closed {
		return strings.TrimSpace(strings.TrimSpace(text) + "\n\n" + block)
	}
	return before + block + after
}

func (s ticketService) openRequests(ctx context.Context, sc tool.Scope, p requestPlan) (RequestsResult, error) {
	if nothing, ok := p.Noop.(RequestsResult); ok || p.refusal != nil {
		return nothing, p.refusal
	}
	ctx, unlock, err := s.held(ctx, p.finishPlan, func(ctx context.Context) (finishPlan, error) {
		in := p.in
		in.ID, in.Ecosystem = p.id, p.found.Layout.Name
		now, err := s.planRequests(ctx, sc, in)
		return now.finishPlan, err
	})
	if err != nil {
		return RequestsResult{}, err
	}
	defer unlock()
	items := slices.Clone(p.repos)
	var failed []error
	for i := range items {
		r := &items[i]
		action := r.Action
		r.Action = ""
		switch r.Result = map[string]string{"keep": "kept", "by_hand": "by_hand"}[action]; {
		case action != "open":
		case len(failed) > 0:
			r.Result = "skipped"
		default:
			r.known, err = s.Forge.Propose(ctx, ecosystemport.ForgeProposal{Remote: r.remote, Branch: r.Branch, Base: r.Base, Title: r.Title, Text: linked(r.Text, p.id, *r, items)})
			if r.Result, r.Page, r.State = "opened", r.known.Page, r.known.State; err != nil {
				r.Result, r.Page, r.Problem = "failed", "", fault.From(err).Message
				failed = append(failed, err)
			}
		}
	}
	if len(failed) == 0 {
		failed = s.link(ctx, p.id, items)
	}
	done := s.requested(sc, p, items, "Opened the requests of ticket "+p.id)
	if len(failed) > 0 {
		f := fault.From(failed[0])
		return done, f.WithMessage("%s; the others are as the answer says, and calling again goes on", f.Message).WithDetails(map[string]any{"repos": items, "ecosystem": p.found.Layout.Name})
	}
	return done, nil
}

// link has the open requests name each other, as far as their texts do not yet. Requests that somebody else opened keep their texts.
func (s ticketService) link(ctx context.Context, id string, items []RequestRepo) (failed []error) {
	for i := range items {
		r := &items[i]
		if r.State != "open" || r.Result == "kept" && !strings.Contains(r.known.Text, linksBegin) {
			continue
		}
		was := r.known.Text
		if r.Result == "opened" {
			was = r.Text
		}
		text := linked(was, id, *r, items)
		if text == r.known.Text {
			continue
		}
		if err := s.Forge.Edit(ctx, r.remote, r.known.Page, text); err != nil {
			r.Problem = fault.From(err).Message
			failed = append(failed, err)
		}
	}
	return failed
}

func (s ticketService) requested(sc tool.Scope, p requestPlan, items []RequestRepo, summary string) RequestsResult {
	out := RequestsResult{Status: "success", ID: p.id, Repos: items, Noop: true}
	text := runs.AnswerText{Summary: summary}
	for _, r := range items {
		line := r.Name + ": " + cmp.Or(r.Result, r.State, r.Action)
		for _, more := range []string{r.Page, r.Problem} {
			if more != "" {
				line += ", " + more
			}
		}
		text.Details = append(text.Details, line)
		out.Noop = out.Noop && r.Result != "opened"
		if r.Result == "failed" {
			out.Status = "failed"
		}
	}
	out.Envelope = s.Show(sc, runs.Subject{Ecosystem: p.found.Layout.Name}, text, runs.SuggestAction("status", p.found.Layout.Name, nil))
	return out
}
