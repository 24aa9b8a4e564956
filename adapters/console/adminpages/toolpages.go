package adminpages

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// toolPath is the path of this section.
const toolPath = "/tools"

// ToolCore is the part of the core that the tools section uses: an *app.App.
type ToolCore interface {
	Toolsets() []tool.Toolset
	Spec(n tool.Name) (tool.Spec, bool)
	Evaluate(ctx context.Context, c tool.Call) policy.Result
	Settings(ctx context.Context) (app.Settings, error)
	SettingsCall(ctx context.Context, change func(*app.Settings) error) (tool.Call, error)
}

// ErrUnknownTool is returned for a tool that is unknown or not enabled.
var ErrUnknownTool = fault.New(fault.NotFound, "tool_not_listed", "tool not found or not enabled; the Tools page lists all tools")

// toolSection is the section tools.
type toolSection struct {
	runner *ui.CallRunner
	core   ToolCore
}

// NewToolSection returns the tools section of that core.
func NewToolSection(runner *ui.CallRunner, core ToolCore) *toolSection {
	return &toolSection{runner, core}
}

// Mount adds the pages to a mux, behind the authentication of users.
func (s *toolSection) Mount(mux *http.ServeMux, person func(httpauth.Handler) http.Handler) {
	mux.Handle("GET "+toolPath, person(s.list))
	mux.Handle("GET "+toolPath+"/{name}", person(s.one))
	mux.Handle("POST "+toolPath+"/{name}/setting", person(s.set))
	mux.Handle("POST "+toolPath+"/{name}/try", person(s.try))
}

// set is a toolset as the list of tools shows it.
type set struct {
	name       string
	specs      []tool.Spec
	hidden     int
	servedWith string
}

// sets returns the toolsets with the tools that the visitor has and that match the search.
func (s *toolSection) sets(v httpauth.Identity, q, only string) []set {
	var out []set
	for _, t := range s.core.Toolsets() {
		if only != "" && t.Name != only {
			continue
		}
		one := set{name: t.Name, servedWith: t.ServedWith}
		for _, name := range slices.Concat(t.Served, t.Hidden) {
			spec, served := s.core.Spec(tool.Name(name))
			switch {
			case !served || !tool.Covered(v.Within, spec):
				one.hidden++
			case fits(spec, q):
				one.specs = append(one.specs, spec)
			}
		}
		slices.SortStableFunc(one.specs, func(a, b tool.Spec) int {
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

func (s *toolSection) list(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	settings, err := s.core.Settings(r.Context())
	if err != nil {
		s.fail(w, v, err)
		return
	}
	q, only := strings.TrimSpace(r.URL.Query().Get("q")), r.URL.Query().Get("toolset")
	choices := []ui.Choice{{Value: "", Text: "all"}}
	for _, t := range s.core.Toolsets() {
		choices = append(choices, ui.Choice{Value: t.Name, Text: t.Name})
	}
	p := ui.Page{Title: "Tools", Section: toolPath, Notice: s.runner.Notice(r)}
	p.Body = append(p.Body,
		ui.P(ui.TextNode("Enabled tools, and the policy verdict for a call from a new agent session.")),
		ui.Search(toolPath, ui.Field("q", "q", "Name or description", q), ui.SelectField("toolset", "toolset", "Toolset", only, choices...), ui.SubmitButton("Search")))
	found := s.sets(v, q, only)
	for _, t := range found {
		p.Body = append(p.Body, s.part(r.Context(), v, t, settings))
	}
	if len(found) == 0 {
		p.Body = append(p.Body, ui.Empty("No matching tools."))
	}
	p.Write(w, http.StatusOK, v)
}

func (s *toolSection) part(ctx context.Context, v httpauth.Identity, t set, settings app.Settings) ui.Node {
	rows := make([]ui.Node, 0, len(t.specs))
	for _, spec := range t.specs {
		rows = append(rows, ui.Row(
			ui.Group{ui.LinkTo(toolPathOf(spec.Name), string(spec.Name)), ui.Br(), ui.TextNode(spec.Title)}, ui.TextNode(spec.Category), class(spec), ui.TextNode(spec.Permission()),
			ui.Risk(spec.Risk.String()), s.outlook(ctx, v, spec, policy.ModeUnset), switches(v, spec, settings.Tools[string(spec.Name)], "list")))
	}
	var more ui.Node
	switch {
	case t.servedWith != "":
		more = ui.P(ui.Class("quiet"), ui.TextNode("Not enabled. To enable it: "), ui.InlineCode(t.servedWith))
	case t.hidden > 0:
		more = ui.P(ui.Class("quiet"), ui.TextNode(ui.Count(t.hidden, "more tool is", "more tools are")+" not enabled."))
	}
	return ui.Part(t.name, ui.DataTable("Tools of "+t.name, []string{"Tool", "Category", "Class", "Required permission", "Risk", "Current verdict", "Setting"}, rows, "No tools enabled in this toolset."), more)
}

// class returns how dangerous a tool may be.
func class(s tool.Spec) ui.Node {
	tone := ui.Plain
	switch s.Class {
	case policy.ClassWrite:
		tone = ui.Warn
	case policy.ClassDangerous:
		tone = ui.Bad
	}
	badges := ui.Group{ui.Badge(tone, s.Class.String())}
	if s.UserOnly {
		badges = append(badges, ui.TextNode(" "), ui.Badge(ui.Plain, "users only"))
	}
	return badges
}

// outlook returns the current policy verdict for a call of the tool, and its rule.
func (s *toolSection) outlook(ctx context.Context, v httpauth.Identity, spec tool.Spec, mode policy.Mode) ui.Node {
	d := s.core.Evaluate(ctx, tool.Call{Tool: spec.Name, Principal: v.Principal, Restrictions: v.Within, Mode: mode, FromUser: spec.UserOnly})
	words, tone := "Denied", ui.Bad
	switch d.Verdict {
	case policy.Allow:
		words, tone = "Allowed", ui.Good
	case policy.DryRun:
		words, tone = "Dry run only", ui.Plain
	case policy.Explain:
		words, tone = "Denied, with plan", ui.Bad
	case policy.Confirm:
		words, tone = map[policy.Strength]string{policy.Simple: "Asks", policy.Preview: "Asks, with plan", policy.Typed: "Asks you to type a name"}[d.Strength], ui.Warn
	}
	return ui.Group{ui.Badge(tone, words), ui.TextNode(" "), ui.Span(ui.Class("quiet"), ui.TextNode("rule "+cmp.Or(d.Rule, "not enabled")))}
}

func toolPathOf(n tool.Name) string { return toolPath + "/" + url.PathEscape(string(n)) }

func (s *toolSection) fail(w http.ResponseWriter, v httpauth.Identity, err error) {
	ui.Fail(w, v, toolPath, present.HTTPStatus(fault.From(err).Kind), err)
}
