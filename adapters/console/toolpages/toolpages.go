// Package toolpages is the catalogue of tools for people: what each does and needs, what policy says of it now, and a switch; and a page for each, where
// it can be tried.
//
// It refuses to let a tool do more for a person than it does for an agent: whatever is tried passes the door.
package toolpages

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/page"
	"github.com/countersign-dev/countersign/adapters/console/work"
	"github.com/countersign-dev/countersign/adapters/httpguard"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/sorting"
	"github.com/countersign-dev/countersign/domain/tool"
)

// path is of this section.
const path = "/tools"

// Door is what is asked: an *app.App.
type Door interface {
	Toolsets() []tool.Toolset
	Spec(n tool.Name) (tool.Spec, bool)
	Outlook(ctx context.Context, c tool.Call) policy.Decision
	Settings(ctx context.Context) (app.Settings, error)
	SettingsCall(ctx context.Context, change func(*app.Settings) error) (tool.Call, error)
}

// ErrUnknown reports a tool that this server does not serve.
var ErrUnknown = fault.New(fault.NotFound, "tool_not_listed", "this server serves no such tool")

// Section is the section tools.
type Section struct {
	desk *work.Desk
	door Door
}

// New is the section over that door.
func New(desk *work.Desk, door Door) *Section { return &Section{desk, door} }

// Mount adds the pages to a mux, through what lets people in.
func (s *Section) Mount(mux *http.ServeMux, person func(httpguard.Handler) http.Handler) {
	mux.Handle("GET "+path, person(s.list))
	mux.Handle("GET "+path+"/{name}", person(s.one))
	mux.Handle("POST "+path+"/{name}/setting", person(s.set))
	mux.Handle("POST "+path+"/{name}/try", person(s.try))
}

// set of tools, as the catalogue shows it.
type set struct {
	name       string
	specs      []tool.Spec
	hidden     int
	servedWith string
}

// sets are the toolsets with what the visitor is served of them that fits the search.
func (s *Section) sets(v httpguard.Visitor, q, only string) []set {
	var out []set
	for _, t := range s.door.Toolsets() {
		if only != "" && t.Name != only {
			continue
		}
		one := set{name: t.Name, servedWith: t.ServedWith}
		for _, name := range slices.Concat(t.Served, t.Hidden) {
			spec, served := s.door.Spec(tool.Name(name))
			switch {
			case !served || !tool.Covered(v.Within, spec):
				one.hidden++
			case fits(spec, q):
				one.specs = append(one.specs, spec)
			}
		}
		sorting.Stable(one.specs, func(a, b tool.Spec) int {
			return cmp.Or(strings.Compare(a.Category, b.Category), strings.Compare(string(a.Name), string(b.Name)))
		})
		if len(one.specs) > 0 || q == "" {
			out = append(out, one)
		}
	}
	return out
}

func fits(s tool.Spec, q string) bool {
	for word := range strings.FieldsSeq(strings.ToLower(q)) {
		if !strings.Contains(strings.ToLower(strings.Join([]string{string(s.Name), s.Title, s.Description, s.Category, s.Toolset}, " ")), word) {
			return false
		}
	}
	return true
}

func (s *Section) list(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	settings, err := s.door.Settings(r.Context())
	if err != nil {
		s.fail(w, v, err)
		return
	}
	q, only := strings.TrimSpace(r.URL.Query().Get("q")), r.URL.Query().Get("toolset")
	choices := []page.Choice{{Value: "", Text: "all"}}
	for _, t := range s.door.Toolsets() {
		choices = append(choices, page.Choice{Value: t.Name, Text: t.Name})
	}
	p := page.Page{Title: "Tools", Section: path, Notice: s.desk.Notice(r)}
	p.Body = append(p.Body,
		markup.P(markup.Text("What agents and people can call here, and what would happen if an agent did now, in a session of which nothing is known.")),
		page.Search(path, page.Field("q", "q", "Name or description", q), page.Select("toolset", "toolset", "Toolset", only, choices...), page.Button("Search")))
	found := s.sets(v, q, only)
	for _, t := range found {
		p.Body = append(p.Body, s.part(r.Context(), v, t, settings))
	}
	if len(found) == 0 {
		p.Body = append(p.Body, page.Empty("No tool fits."))
	}
	p.Write(w, http.StatusOK, v)
}

func (s *Section) part(ctx context.Context, v httpguard.Visitor, t set, settings app.Settings) markup.Node {
	rows := make([]markup.Node, 0, len(t.specs))
	for _, spec := range t.specs {
		rows = append(rows, page.Row(
			markup.Group{page.To(pathOf(spec.Name), string(spec.Name)), markup.Br(), markup.Text(spec.Title)}, markup.Text(spec.Category), class(spec), markup.Text(spec.Permission()),
			page.Risk(spec.Risk.String()), s.outlook(ctx, v, spec, policy.ModeUnset), switches(v, spec, settings.Tools[string(spec.Name)], "list")))
	}
	var more markup.Node
	switch {
	case t.servedWith != "":
		more = markup.P(markup.Class("quiet"), markup.Text("It is not served here. To have it: "), page.Code(t.servedWith))
	case t.hidden > 0:
		more = markup.P(markup.Class("quiet"), markup.Textf("%d more of it are not served here.", t.hidden))
	}
	return page.Part(t.name, page.Table("Tools of "+t.name, []string{"Tool", "Category", "Class", "Needs leave to", "Risk", "If an agent called it now", "Setting"}, rows, "None of it is served here."), more)
}

// class is how dangerous a tool may be.
func class(s tool.Spec) markup.Node {
	tone := page.Plain
	switch s.Class {
	case policy.ClassWrite:
		tone = page.Warn
	case policy.ClassDangerous:
		tone = page.Bad
	}
	badges := markup.Group{page.Badge(tone, s.Class.String())}
	if s.People {
		badges = append(badges, markup.Text(" "), page.Badge(page.Plain, "people only"))
	}
	return badges
}

// outlook is what policy says of a call of the tool now, and why.
func (s *Section) outlook(ctx context.Context, v httpguard.Visitor, spec tool.Spec, mode policy.Mode) markup.Node {
	d := s.door.Outlook(ctx, tool.Call{Tool: spec.Name, Principal: v.Principal, Within: v.Within, Mode: mode, Person: spec.People})
	words, tone := "is refused", page.Bad
	switch d.Verdict {
	case policy.Allow:
		words, tone = "runs", page.Good
	case policy.DryRun:
		words, tone = "only shows what it would do", page.Plain
	case policy.Explain:
		words, tone = "is refused, and says what it would do", page.Bad
	case policy.Confirm:
		words, tone = map[policy.Strength]string{policy.Simple: "asks first", policy.Preview: "asks first, with its plan", policy.Typed: "asks for a name to be typed"}[d.Strength], page.Warn
	}
	return markup.Group{page.Badge(tone, words), markup.Text(" "), markup.Span(markup.Class("quiet"), markup.Text("rule "+cmp.Or(d.Rule, "not served")))}
}

func pathOf(n tool.Name) string { return path + "/" + url.PathEscape(string(n)) }

func (s *Section) fail(w http.ResponseWriter, v httpguard.Visitor, err error) {
	page.Fail(w, v, path, present.HTTPStatus(fault.From(err).Kind), err)
}
