// Package approvalpages is where people decide: every call that waits for one, whichever client made it, with what it would do.
//
// It refuses to decide by itself, to take an answer that does not name the plan that was shown, and to offer an approval of what it does not show.
package approvalpages

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/page"
	"github.com/countersign-dev/countersign/adapters/console/planpage"
	"github.com/countersign-dev/countersign/adapters/console/runview"
	"github.com/countersign-dev/countersign/adapters/console/work"
	"github.com/countersign-dev/countersign/adapters/httpguard"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/domain/toolrun"
)

// path is of this section.
const path = "/approvals"

// How much of plans the list shows, in bytes of JSON: what is longer, alone or with those before it, is read on its own page.
const (
	shownEach = 8 << 10
	shownAll  = 24 << 10
)

// Door is what is asked: an *app.App.
type Door interface {
	Confirmations(ctx context.Context, session string) ([]confirm.View, error)
	Answer(ctx context.Context, answer confirm.Answer) (confirm.View, error)
	Reveal(ctx context.Context, id string) (confirm.View, error)
	RunRecord(ctx context.Context, id string) (toolrun.Record, error)
	AuditSearch(ctx context.Context, f audit.Filter) ([]audit.Record, error)
	Earlier(ctx context.Context, id string) (int, error)
}

// Section is the section approvals.
type Section struct {
	desk *work.Desk
	door Door
}

// New is the section over that door; what the console itself does is answered at the desk.
func New(desk *work.Desk, door Door) *Section { return &Section{desk, door} }

// Mount adds the pages to a mux, through what lets people in.
func (s *Section) Mount(mux *http.ServeMux, person func(httpguard.Handler) http.Handler) {
	mux.Handle("GET "+path, person(s.list))
	mux.Handle("GET "+path+"/count", person(s.count))
	mux.Handle("GET "+path+"/{id}", person(s.one))
	mux.Handle("POST "+path+"/{id}", person(s.answer))
	mux.Handle("POST "+path+"/{id}/"+work.Revealing, person(s.reveal))
}

// count answers with how many wait to be decided, for the navigation.
func (s *Section) count(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	views, err := s.door.Confirmations(r.Context(), "")
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
	_, _ = w.Write([]byte(strconv.Itoa(n))) // whoever asked may be gone
}

func (s *Section) list(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	views, err := s.door.Confirmations(r.Context(), "")
	if err != nil {
		s.fail(w, v, err)
		return
	}
	body := markup.Node(page.Empty("Nothing waits for you. When an agent wants to do something that needs a person, it appears here by itself."))
	if len(views) > 0 {
		var cards markup.Group
		room := shownAll
		for _, c := range views {
			size := len(c.Plan) + len(c.Exhibit)
			whole := size <= min(room, shownEach)
			if whole {
				room -= size
			}
			cards = append(cards, s.card(r.Context(), v, c, whole))
		}
		body = markup.Div(markup.ID("waiting"), markup.Data("list", ""), cards)
	}
	page.Page{Title: "Approvals", Section: path, Live: work.Decided(), Notice: s.came(r), Body: []markup.Node{body, telling()}}.Write(w, http.StatusOK, v)
}

// telling is how this browser tells its person that something waits. Without scripts it tells nobody, and nothing of this is seen.
func telling() markup.Node {
	pressed := func(means, label string) markup.Node {
		return markup.Button(markup.Type("button"), markup.Data("tell", means), markup.Aria("pressed", "false"), markup.Text(label))
	}
	return markup.Section(markup.ID("telling"), markup.Class("telling"), markup.Attr("hidden"), markup.H2(markup.Text("When something waits, this browser may")),
		markup.Div(markup.Class("buttons"), pressed("notices", "Notify me"), markup.Text(" "), pressed("sound", "Play a sound")),
		markup.P(markup.Class("quiet"), markup.Role("status")))
}

// card is one confirmation in the list.
func (s *Section) card(ctx context.Context, v httpguard.Visitor, c confirm.View, whole bool) markup.Node {
	body := markup.Group{
		markup.H2(markup.Class("prompt"), page.To(pathOf(c.ID), page.Printable(c.Prompt)), markup.Text(" "), page.Risk(c.Risk)),
		planpage.Asked(c, s.client(ctx, c)),
	}
	if whole {
		body = append(body, planpage.Brief(c.Plan), planpage.Exhibit(c.Exhibit))
	}
	return markup.Article(markup.ID(c.ID), markup.Class("card"), append(body, s.decide(v, c, whole)))
}

// client is who asks, as the record of the call has it.
func (s *Section) client(ctx context.Context, c confirm.View) string {
	rec, err := s.door.RunRecord(ctx, c.ID)
	if err != nil || rec.Client == "" {
		return "a client that does not say who it is"
	}
	return rec.Client
}

// decide is how the confirmation can be answered, by this visitor and from this page; whole says that the page shows the whole plan.
func (s *Section) decide(v httpguard.Visitor, c confirm.View, whole bool) markup.Node {
	if job, own := s.desk.Asking(c.ID); own {
		return markup.P(markup.Text("You asked for this yourself, here in the console. "), page.To("/work/"+url.PathEscape(job.ID), "Go on with it"))
	}
	deny := markup.Div(markup.Class("decide"), work.Deny(v, pathOf(c.ID), c))
	switch {
	case c.Answerer != "":
		return markup.P(page.Badge(page.Good, "approved"), markup.Text(" by "+runview.By(c.Answerer)+". It is carried out when the agent looks again; if it does not, the approval lapses "), page.When(c.ExpiresAt), markup.Text("."))
	case !s.desk.Decides(v, tool.Name(c.Tool)):
		return markup.Group{markup.P(markup.Class("quiet"), markup.Text("This browser's log-in does not reach as far as this call, so it can deny it, but not approve it.")), deny}
	case !whole:
		return markup.Group{markup.P(markup.Text("Its plan is long. "), page.To(pathOf(c.ID), "Read it on a page of its own"), markup.Text(", and approve it there.")), deny}
	}
	return work.Decide(v, pathOf(c.ID), c, c.Session != v.Session)
}

// until is how the same can be allowed until a time, by this visitor, where the whole plan is shown; nil where it cannot.
func (s *Section) until(ctx context.Context, v httpguard.Visitor, c confirm.View) markup.Node {
	if _, own := s.desk.Asking(c.ID); own || c.Answerer != "" || c.Session == v.Session || !c.Datable() || !s.desk.Decides(v, tool.Name(c.Tool)) {
		return nil
	}
	before, err := s.door.Earlier(ctx, c.ID)
	if err != nil {
		before = 0 // there is one suggestion less
	}
	return work.Until(v, pathOf(c.ID), c, c.Suggestion(before))
}

func (s *Section) one(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	c, waits, err := s.waiting(r.Context(), r.PathValue("id"))
	switch {
	case err != nil:
		s.fail(w, v, err)
	case waits:
		s.question(w, v, s.sheet(r.Context(), v, c), http.StatusOK)
	default:
		rec, err := s.door.RunRecord(r.Context(), r.PathValue("id"))
		if err != nil {
			s.fail(w, v, err)
			return
		}
		s.over(w, v, rec, s.answerer(r.Context(), r.PathValue("id"), rec))
	}
}

// waiting is the confirmation of that id, if it waits.
func (s *Section) waiting(ctx context.Context, id string) (confirm.View, bool, error) {
	views, err := s.door.Confirmations(ctx, "")
	for _, c := range views {
		if c.ID == id {
			return c, true, err
		}
	}
	return confirm.View{}, false, err
}

// sheet is everything a person needs to decide about one confirmation.
type sheet struct {
	confirm.View
	client string
	diffs  markup.Node
	until  markup.Node // how the same can be allowed until a time
}

func (s *Section) sheet(ctx context.Context, v httpguard.Visitor, c confirm.View) sheet {
	return sheet{c, s.client(ctx, c), planpage.Exhibit(c.Exhibit), s.until(ctx, v, c)}
}

func (s *Section) question(w http.ResponseWriter, v httpguard.Visitor, c sheet, status int, above ...markup.Node) {
	p := page.Page{Title: "Approval", Section: path, Crumbs: crumbs(), Live: work.Decided()}
	if len(above) > 0 || c.Revealed {
		p.Live = nil // what was wrong, or was revealed, stays in sight
	}
	p.Body = append(above, markup.Div(markup.ID(c.ID), planpage.Question(c.View, c.client), c.diffs, s.decide(v, c.View, true), c.until))
	p.Write(w, status, v)
}

func crumbs() []page.Link { return []page.Link{{Text: "Approvals", Href: path}} }

func pathOf(id string) string { return path + "/" + url.PathEscape(id) }

func (s *Section) fail(w http.ResponseWriter, v httpguard.Visitor, err error) {
	page.Fail(w, v, path, present.HTTPStatus(fault.From(err).Kind), err)
}

// record is a link to what is on record of a call.
func record(rec toolrun.Record) markup.Node {
	return page.To("/activity/"+url.PathEscape(cmp.Or(rec.CallID, rec.ConfirmationID)), "What is on record of it")
}
