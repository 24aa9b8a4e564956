package homepages

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/app/ecosystems"
	"github.com/countersign-dev/countersign/app/projects"
	"github.com/countersign-dev/countersign/app/sandboxes"
	"github.com/countersign-dev/countersign/domain/tool"
)

// packTool lists packs, and packsFound is how many of them are found.
const (
	packTool   = "input"
	packsFound = 200
)

// place is a page that can be found.
type place struct {
	Text string `json:"text"`
	Kind string `json:"kind"`
	Href string `json:"href"`
}

// places returns every page that this visitor can open: what cannot be listed here is left out.
func (s *Section) places(ctx context.Context, v httpauth.Identity) []place {
	var out []place
	if waits, err := s.core.Confirmations(ctx, ""); err == nil {
		for _, c := range ui.Queue(waits) {
			out = append(out, place{c.Prompt, "approval", "/approvals/" + url.PathEscape(c.ID)})
		}
	}
	for _, l := range ui.Sections() {
		out = append(out, place{l.Text, "page", l.Href})
	}
	for _, l := range []ui.PageLink{{Text: "Audit log", Href: "/audit"}, {Text: "Keys and passkeys", Href: ui.KeysPath}, {Text: "Background processes", Href: "/projects/processes"},
		{Text: "Workflows", Href: "/projects/workflows"}, {Text: "New pack", Href: "/packs/new"}, {Text: "Design elements", Href: ui.SpecimensPath}} {
		out = append(out, place{l.Text, "page", l.Href})
	}
	var registered projects.ProjectList
	if s.read(ctx, v, projects.ListProjects.Name, nil, &registered) {
		for _, p := range registered.Projects {
			out = append(out, place{p.Name, "project", "/projects/" + url.PathEscape(string(p.ID))})
		}
	}
	var cloned sandboxes.ProjectListing
	if s.read(ctx, v, sandboxes.ProjectList.Name, nil, &cloned) {
		for _, p := range cloned.Projects {
			out = append(out, place{p.Name, "sandboxes", "/sandboxes/" + url.PathEscape(p.Name)})
		}
	}
	var together ecosystems.EcosystemList
	if s.read(ctx, v, ecosystems.List.Name, nil, &together) {
		for _, e := range together.Ecosystems {
			out = append(out, place{e.Name, "ecosystem", "/ecosystems/" + url.PathEscape(e.Name)})
		}
	}
	var packs struct {
		Payload struct {
			Packs []struct{ ID, Name, Title string }
		}
	}
	if s.read(ctx, v, packTool, ui.Args{"action": "list", "limit": packsFound}, &packs) {
		for _, p := range packs.Payload.Packs {
			out = append(out, place{strings.TrimSpace(p.Title + " " + p.Name), "pack", "/packs/" + url.PathEscape(p.ID)})
		}
	}
	for i := range out {
		out[i].Text = ui.Printable(out[i].Text)
	}
	return out
}

// read reports whether a tool that only reads could be called.
func (s *Section) read(ctx context.Context, v httpauth.Identity, name tool.Name, args, into any) bool {
	return s.runner.Serves(v, name) && s.runner.Read(ctx, v, name, args, into) == nil
}

// findable answers with all places, for the script that finds them.
func (s *Section) findable(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	doc, err := tool.Encode(s.places(r.Context(), v))
	if err != nil {
		ui.Fail(w, v, "", http.StatusInternalServerError, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(doc) // the client may be gone
}

// find is the page with the same list, for browsers without scripts.
func (s *Section) find(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	query := r.URL.Query().Get("q")
	words := strings.Fields(strings.ToLower(query))
	var rows []ui.Node
	for _, p := range s.places(r.Context(), v) {
		text := strings.ToLower(p.Text + " " + p.Kind)
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }) {
			rows = append(rows, ui.Row(ui.LinkTo(p.Href, p.Text), ui.Text(p.Kind)))
		}
	}
	ui.Page{Title: "Search", Body: []ui.Node{ui.Search("/find", ui.Field("q", "q", "Name", query), ui.SubmitButton("Search")),
		ui.DataTable("Pages", []string{"Page", "Kind"}, rows, "No results.")}}.Write(w, http.StatusOK, v)
}
