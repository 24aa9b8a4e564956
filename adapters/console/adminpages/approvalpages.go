package adminpages

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// approvalPath is the path of this section.
const approvalPath = "/approvals"

// ApprovalCore is the part of the core that the approvals section uses: an *app.App.
type ApprovalCore interface {
	Confirmations(ctx context.Context, session string) ([]confirm.View, error)
	Answer(ctx context.Context, answer confirm.Decision) (confirm.View, error)
	Reveal(ctx context.Context, id string) (confirm.View, error)
	CallRecord(ctx context.Context, id string) (tool.Record, error)
	AuditSearch(ctx context.Context, f audit.Filter) ([]audit.Record, error)
	Earlier(ctx context.Context, id string) (int, error)
}

// approvalSection is the section approvals.
type approvalSection struct {
	runner *ui.CallRunner
	core   ApprovalCore
}

// NewApprovalSection returns the approvals section of that core; requests of the console's own calls are decided by the call runner.
func NewApprovalSection(runner *ui.CallRunner, core ApprovalCore) *approvalSection {
	return &approvalSection{runner, core}
}

// Mount adds the pages to a mux, behind the authentication of users.
func (s *approvalSection) Mount(mux *http.ServeMux, person func(httpauth.Handler) http.Handler) {
	mux.Handle("GET "+approvalPath, person(s.list))
	mux.Handle("GET "+approvalPath+"/count", person(s.count))
	mux.Handle("GET "+approvalPath+"/{id}", person(s.one))
	mux.Handle("POST "+approvalPath+"/{id}", person(s.answer))
	mux.Handle("POST "+approvalPath+"/{id}/"+ui.Revealing, person(s.reveal))
}

// count answers with the number of pending requests, for the navigation.
func (s *approvalSection) count(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	views, err := s.core.Confirmations(r.Context(), "")
	if err != nil {
		s.fail(w, v, err)
		return
	}
	n := 0
	for _, c := range views {
		if c.Answerer == "" {
			n++
		}
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write([]byte(strconv.Itoa(n))) // the client may be gone
}

// list redirects to the first request of the queue. Without a pending request it shows an empty page, which reloads when one arrives.
func (s *approvalSection) list(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	views, err := s.core.Confirmations(r.Context(), "")
	if err != nil {
		s.fail(w, v, err)
		return
	}
	if len(views) > 0 {
		next := url.Values{queueParam: {"1"}}
		for _, param := range []string{answeredParam, elsewhereParam} {
			if id := r.URL.Query().Get(param); id != "" {
				next.Set(param, id)
			}
		}
		http.Redirect(w, r, approvalPathOf(ui.Queue(views)[0].ID)+"?"+next.Encode(), http.StatusSeeOther)
		return
	}
	ui.Page{Title: "Approvals", Section: approvalPath, Live: ui.Decided(), Notice: s.came(r), Body: []ui.Node{
		ui.Empty("No pending approvals. New requests appear here automatically."), telling()}}.Write(w, http.StatusOK, v)
}

// telling returns the control for notifications in this browser. Without scripts it is invisible and does nothing.
func telling() ui.Node {
	pressed := func(means, label string) ui.Node {
		return ui.Button(ui.Type("button"), ui.Data("tell", means), ui.Aria("pressed", "false"), ui.TextNode(label))
	}
	return ui.Section(ui.ID("telling"), ui.Class("telling"), ui.Attr("hidden"), ui.H2(ui.TextNode("Browser notifications")),
		ui.Div(ui.Class("buttons"), pressed("notices", "Notify me"), ui.TextNode(" "), pressed("sound", "Play a sound")),
		ui.P(ui.Class("quiet"), ui.Role("status")))
}

// queue returns the pending requests as links, identical ones once; here is the ID of the current request. It is nil for fewer than 2 requests.
func (s *approvalSection) queue(ctx context.Context, here string) ui.Node {
	views, err := s.core.Confirmations(ctx, "")
	if err != nil || len(views) < 2 {
		return nil
	}
	type same struct{ tool, plan string }
	first, times := map[same]string{}, map[string]int{}
	for _, c := range ui.Queue(views) {
		k := same{c.Tool, c.PlanHash.Hex()}
		if c.ID == here || first[k] == "" {
			first[k] = c.ID
		}
	}
	for _, c := range views {
		times[first[same{c.Tool, c.PlanHash.Hex()}]]++
	}
	var items []ui.Node
	for _, c := range ui.Queue(views) {
		if times[c.ID] == 0 {
			continue
		}
		var again, decided ui.Node
		if times[c.ID] > 1 {
			again = ui.Group{ui.Badge(ui.Plain, ui.Count(times[c.ID], "request", "requests")), ui.Text(" ")}
		}
		if c.Answerer != "" {
			decided = ui.Group{ui.Badge(ui.Good, "Approved"), ui.Text(" ")}
		}
		items = append(items, ui.Li(ui.A(ui.Href(approvalPathOf(c.ID)), ui.If(c.ID == here, ui.Aria("current", "true")), ui.Span(ui.Class("what"), ui.Text(ui.Printable(c.Prompt))),
			ui.Span(ui.Class("quiet"), ui.Risk(c.Risk), ui.Text(" "), again, decided, ui.Text(ui.Printable(s.client(ctx, c)))))))
	}
	return ui.Nav(ui.ID("queue"), ui.Class("queue"), ui.Aria("label", "Pending approvals"), ui.Ol(ui.Group(items)))
}

// client returns the client of the request, from the call record.
func (s *approvalSection) client(ctx context.Context, c confirm.View) string {
	rec, err := s.core.CallRecord(ctx, c.ID)
	if err != nil || rec.Client == "" {
		return "Unknown client"
	}
	return rec.Client
}

// decide returns the forms in which this visitor can decide the request; until is the form for a dated grant.
func (s *approvalSection) decide(v httpauth.Identity, c confirm.View, until ui.Node) ui.Node {
	if job, own := s.runner.Asking(c.ID); own {
		return ui.P(ui.TextNode("You started this call in the console. "), ui.LinkTo("/work/"+url.PathEscape(job.ID), "Continue"))
	}
	switch {
	case c.Answerer != "":
		return ui.P(ui.Badge(ui.Good, "Approved"), ui.TextNode(" by "+ui.DecidedBy(c.Answerer)+". Runs when the client continues or retries the call. The approval expires "), ui.When(c.ExpiresAt), ui.TextNode("."))
	case !s.runner.Decides(v, tool.Name(c.Tool)):
		return ui.Group{ui.P(ui.Class("quiet"), ui.TextNode("This browser session's scope excludes this tool. You can deny the request, but not approve it.")),
			ui.Div(ui.Class("decide"), ui.Deny(v, approvalPathOf(c.ID), c))}
	}
	return ui.Decide(v, approvalPathOf(c.ID), c, c.Session != v.Session, until)
}

// until returns the form for a dated grant, if this visitor can give one and the whole plan is shown; nil otherwise.
func (s *approvalSection) until(ctx context.Context, v httpauth.Identity, c confirm.View) ui.Node {
	if _, own := s.runner.Asking(c.ID); own || c.Answerer != "" || c.Session == v.Session || !c.Datable() || !s.runner.Decides(v, tool.Name(c.Tool)) {
		return nil
	}
	before, err := s.core.Earlier(ctx, c.ID)
	if err != nil {
		before = 0 // without a suggestion
	}
	return ui.Until(v, approvalPathOf(c.ID), c, c.Suggestion(before))
}

func (s *approvalSection) one(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	c, waits, err := s.waiting(r.Context(), r.PathValue("id"))
	switch {
	case err != nil:
		s.fail(w, v, err)
	case waits:
		s.question(w, v, s.approvalSheet(r.Context(), v, c), http.StatusOK, s.came(r))
	case r.URL.Query().Get(answeredParam) == r.PathValue("id"): // it was decided on this page, and its call continued
		http.Redirect(w, r, approvalPath+"?"+answeredParam+"="+url.QueryEscape(r.PathValue("id")), http.StatusSeeOther)
	case r.URL.Query().Has(queueParam): // it was decided elsewhere while the queue showed it
		http.Redirect(w, r, approvalPath+"?"+elsewhereParam+"="+url.QueryEscape(r.PathValue("id")), http.StatusSeeOther)
	default:
		rec, err := s.core.CallRecord(r.Context(), r.PathValue("id"))
		if err != nil {
			s.fail(w, v, err)
			return
		}
		s.over(w, v, rec, s.answerer(r.Context(), r.PathValue("id"), rec))
	}
}

// waiting returns the approval request with that ID if it is pending.
func (s *approvalSection) waiting(ctx context.Context, id string) (confirm.View, bool, error) {
	views, err := s.core.Confirmations(ctx, "")
	for _, c := range views {
		if c.ID == id {
			return c, true, err
		}
	}
	return confirm.View{}, false, err
}

// approvalSheet is everything the user needs to decide about one confirmation.
type approvalSheet struct {
	confirm.View
	client string
	queue  ui.Node // the other pending requests
	until  ui.Node // the form for a dated grant
}

func (s *approvalSection) approvalSheet(ctx context.Context, v httpauth.Identity, c confirm.View) approvalSheet {
	return approvalSheet{c, s.client(ctx, c), s.queue(ctx, c.ID), s.until(ctx, v, c)}
}

// question answers with the page of one request beside the queue. above is the result of the last decision, or an error.
func (s *approvalSection) question(w http.ResponseWriter, v httpauth.Identity, c approvalSheet, status int, above ui.Node) {
	p := ui.Page{Title: "Approvals", Section: approvalPath, Live: ui.Decided(), Notice: above}
	if status != http.StatusOK || c.Revealed {
		p.Live = nil // an error or revealed text stays visible
	}
	p.Body = []ui.Node{ui.Div(ui.ID("waiting"), ui.Class("review"), ui.Data("list", ""), c.queue,
		ui.Article(ui.ID(c.ID), ui.Class("decision"), ui.Question(c.View, c.client), s.decide(v, c.View, c.until))), keys(), telling()}
	p.Write(w, status, v)
}

// keys returns the description of the keyboard shortcuts. Without scripts it is hidden.
func keys() ui.Node {
	return ui.Section(ui.ID("keys"), ui.Class("telling"), ui.Attr("hidden"), ui.H2(ui.TextNode("Keyboard shortcuts")),
		ui.P(ui.Key("j"), ui.TextNode(" and "), ui.Key("k"), ui.TextNode(" next and previous approval · "), ui.Key("a"), ui.TextNode(" approve button · "), ui.Key("d"),
			ui.TextNode(" denial reason; Enter confirms · "), ui.Key("/"), ui.TextNode(" search · "), ui.Key("?"), ui.TextNode(" keyboard shortcuts")),
		ui.Div(ui.Class("buttons"), ui.Button(ui.Type("button"), ui.Data("keys", ""), ui.Aria("pressed", "true"), ui.TextNode("Use shortcuts"))))
}

func crumbs() []ui.PageLink { return []ui.PageLink{{Text: "Approvals", Href: approvalPath}} }

func approvalPathOf(id string) string { return approvalPath + "/" + url.PathEscape(id) }

func (s *approvalSection) fail(w http.ResponseWriter, v httpauth.Identity, err error) {
	ui.Fail(w, v, approvalPath, present.HTTPStatus(fault.From(err).Kind), err)
}

// record returns a link to the call record.
func record(rec tool.Record) ui.Node {
	return ui.LinkTo("/activity/"+url.PathEscape(cmp.Or(rec.CallID, rec.ConfirmationID)), "View call")
}
