package packpages

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
)

const (
	// perPage is the number of packs per page.
	perPage = 20
	// looking is the time limit for reading the statuses of anchors in the list; packs after that are "not checked".
	looking = 1500 * time.Millisecond
)

// summary is a pack in a list.
type summary struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Title     string    `json:"title"`
	Status    string    `json:"status"`
	Revision  uint64    `json:"revision"`
	UpdatedAt time.Time `json:"updated_at"`
	ExpiresAt time.Time `json:"expires_at"`
	Left      string    `json:"ttl_remaining_human"`
	Freshness string    `json:"freshness_state"`
}

// listing is the payload of the tool's action list.
type listing struct {
	Total int       `json:"total"`
	Packs []summary `json:"packs"`
}

// wanted is the filter of the list.
type wanted struct {
	query, status, freshness string
	offset                   int
}

func wantedOf(r *http.Request) wanted {
	q := r.URL.Query()
	offset, err := strconv.Atoi(q.Get("offset"))
	if err != nil {
		offset = 0
	}
	return wanted{query: q.Get("query"), status: q.Get("status"), freshness: q.Get("freshness"), offset: max(offset, 0)}
}

// at returns the path of the list from that offset.
func (w wanted) at(offset int) string {
	q := url.Values{}
	for name, value := range map[string]string{"query": w.query, "status": w.status, "freshness": w.freshness} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if offset > 0 {
		q.Set("offset", strconv.Itoa(offset))
	}
	if len(q) == 0 {
		return root
	}
	return root + "?" + q.Encode()
}

func (s *section) list(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	want := wantedOf(r)
	var answer struct {
		Payload listing `json:"payload"`
	}
	args := ui.Args{"action": "list", "limit": perPage, "offset": want.offset}
	args.Set("query", want.query).Set("status", want.status).Set("freshness", want.freshness)
	if err := s.Calls.Read(r.Context(), v, input, args, &answer); err != nil {
		s.Fail(w, v, err)
		return
	}
	found := answer.Payload
	s.Show(w, r, v, ui.Page{Title: "Packs", Live: []string{"ai-tool-result"}, Body: []ui.Node{
		ui.Search(root,
			ui.Field("query", "query", "Search title, name or brief", want.query),
			ui.SelectField("status", "status", "Status", want.status, ui.Choice{Text: "any"}, ui.Choice{Value: "draft", Text: "draft"}, ui.Choice{Value: "finalized", Text: "finalized"}),
			ui.SelectField("freshness", "freshness", "Time left", want.freshness, ui.Choice{Text: "any"}, ui.Choice{Value: "fresh", Text: "not expiring soon"},
				ui.Choice{Value: "expiring_soon", Text: "expires soon"}),
			ui.SubmitButton("Filter")),
		ui.Div(ui.Class("buttons"), ui.ButtonLink(root+"/new", "Create pack"), ui.Span(ui.Class("quiet"), ui.Text(counted(found, want)))),
		ui.DataTable("Context packs", []string{"Pack", "Status", "Time left", "Anchors", "Changed", "Revision"}, s.rows(r.Context(), v, found.Packs),
			"No packs. Agents create packs with the tool input, and you can create one here."),
		pages(want, found),
	}})
}

// counted returns the numbers of packs, of drafts on this page, and of those that expire soon.
func counted(l listing, w wanted) string {
	soon, drafts := 0, 0
	for _, p := range l.Packs {
		if p.Freshness != "fresh" {
			soon++
		}
		if p.Status == "draft" {
			drafts++
		}
	}
	text := ui.Count(l.Total, "pack", "packs")
	if l.Total > len(l.Packs) && len(l.Packs) > 0 {
		text += ", showing " + strconv.Itoa(w.offset+1) + " to " + strconv.Itoa(w.offset+len(l.Packs))
	}
	return text + ": " + strconv.Itoa(drafts) + " in draft, " + strconv.Itoa(soon) + " expiring soon."
}

// rows returns the packs of a list with the statuses of their anchors, as far as the time allows.
func (s *section) rows(ctx context.Context, v httpauth.Identity, packs []summary) []ui.Node {
	ctx, cancel := context.WithTimeout(ctx, looking)
	defer cancel()
	rows := make([]ui.Node, len(packs))
	for i, p := range packs {
		anchors := ui.TextNode("not checked")
		if ctx.Err() == nil {
			if now, err := s.compare(ctx, v, p.ID); err == nil {
				anchors = now.Badges()
			}
		}
		left := ui.Group{ui.Text(p.Left)}
		if p.Freshness != "fresh" {
			left = append(left, ui.Text(" "), ui.Badge(ui.Warn, strings.ReplaceAll(p.Freshness, "_", " ")))
		}
		rows[i] = ui.Row(ui.Group{ui.LinkTo(at(p.ID), label(p.Title, p.Name)), ui.Br(), ui.InlineCode(p.ID)}, status(p.Status), left, anchors,
			ui.When(p.UpdatedAt), ui.Text(strconv.FormatUint(p.Revision, 10)))
	}
	return rows
}

func status(word string) ui.Node {
	if word == "finalized" {
		return ui.Badge(ui.Good, word)
	}
	return ui.Badge(ui.Plain, word)
}

// pages returns links to the previous and next packs.
func pages(w wanted, l listing) ui.Node {
	var links ui.Group
	if w.offset > 0 {
		links = append(links, ui.LinkTo(w.at(max(0, w.offset-perPage)), "Previous page"), ui.Text(" "))
	}
	if next := w.offset + len(l.Packs); next < l.Total && len(l.Packs) > 0 {
		links = append(links, ui.LinkTo(w.at(next), "Next page"))
	}
	if len(links) == 0 {
		return nil
	}
	return ui.Nav(ui.Aria("label", "Pages of the list"), links)
}
