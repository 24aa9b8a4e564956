package agentpages

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// root is the path of the section.
const root = "/deployments"

// Section is the deployments section of the console.
type Section struct{ ui.SectionBase }

// New returns the section, which makes its calls with runner.
func New(runner *ui.CallRunner) *Section {
	return &Section{ui.SectionBase{Calls: runner, Path: root, Title: "Deployments", Toolset: "deployments", Probe: "status"}}
}

// Mount adds the pages to a mux, behind the authentication of users.
func (s *Section) Mount(mux *http.ServeMux, person func(httpauth.Handler) http.Handler) {
	s.SectionBase.Mount(mux, person, ui.Handlers{
		"GET " + root:                       s.overview,
		"GET " + root + "/plan":             s.plan,
		"POST " + root + "/deploy":          s.deploy,
		"POST " + root + "/deploy-unedited": s.deployUnedited,
		"GET " + root + "/snapshots":        s.snapshots,
		"GET " + root + "/snapshots/{id}":   s.snapshot,
		"GET " + root + "/rollback":         s.back,
		"POST " + root + "/rollback":        s.rollback,
		"GET " + root + "/evolve":           s.evolve,
		"POST " + root + "/propose":         s.propose,
		"POST " + root + "/restore":         s.restore,
		"GET " + root + "/modules":          s.modules,
		"GET " + root + "/module":           s.module,
		"POST " + root + "/recover":         s.settle,
		"POST " + root + "/mend":            s.mend,
		"GET " + root + "/maintenance":      s.maintenance,
		"POST " + root + "/do/{action}":     s.act,
	})
}

// place is the subject of a page: a config repository, a profile, agents and a machine. Empty fields use the server configuration.
type place struct{ repo, profile, target, machine string }

// everywhere is the value that selects all agents.
const everywhere = "all"

func placeOf(q url.Values) place {
	p := place{strings.TrimSpace(q.Get("repo")), strings.TrimSpace(q.Get("profile")), q.Get("target"), strings.TrimSpace(q.Get("machine"))}
	if p.target == everywhere {
		p.target = ""
	}
	return p
}

// fields returns the names and values of the place in a fixed order.
func (p place) fields() [][2]string {
	return [][2]string{{"repo", p.repo}, {"profile", p.profile}, {"target", p.target}, {"machine", p.machine}}
}

// at returns the path of a page about the place; pairs are more parameters.
func (p place) at(path string, pairs ...string) string {
	q := url.Values{}
	for _, f := range p.fields() {
		if f[1] != "" {
			q.Set(f[0], f[1])
		}
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	if len(q) == 0 {
		return root + path
	}
	return root + path + "?" + q.Encode()
}

// args returns the place as arguments, without those that the tool does not take.
func (p place) args(of tool.Name) ui.Args {
	args := ui.Args{}
	for _, f := range p.fields() {
		if takes(of, f[0]) {
			args.Set(f[0], f[1])
		}
	}
	return args
}

// takes reports whether a tool takes an argument of a place.
func takes(of tool.Name, field string) bool {
	switch of {
	case "rollback", "agents_snapshots_list", "agents_snapshots_show", "agents_policy_lint", "agents_policy_audit", "agents_score", "agents_pending", "agents_recover",
		"agents_init", "agents_update", "agents_sync", "agents_add", "agents_remove", "agents_snapshots_prune", "agents_manifests_write":
		return field == "repo"
	case "doctor":
		return field == "repo" || field == "target"
	case "agents_doctor_fix", "agents_bootstrap":
		return field != "profile"
	case "agents_overlay_path", "agents_overlay_rebase", "agents_overlay_edit":
		return field == "repo" || field == "machine"
	}
	return true
}

// hidden returns the place as hidden form fields.
func (p place) hidden() ui.Node {
	var out ui.Group
	for _, f := range p.fields() {
		if f[1] != "" {
			out = append(out, ui.Hidden(f[0], f[1]))
		}
	}
	return out
}

// form returns the form that selects another place for the same page. more are fields of the page that are always visible.
func (p place) form(path string, more ...ui.Node) ui.Node {
	target := p.target
	if target == "" {
		target = everywhere
	}
	fields := ui.Group{ui.Field("repo", "repo", "Config repository (optional)", p.repo), ui.Field("profile", "profile", "Profile (optional)", p.profile),
		ui.SelectField("target", "target", "Agent", target, append([]ui.Choice{{Value: everywhere, Text: "All agents"}}, agentChoices()...)...),
		ui.Field("machine", "machine", "Machine (optional)", p.machine)}
	const line = "Repository, profile, agent and machine"
	if len(more) > 0 {
		return ui.Search(root+path, ui.Group(more), ui.SubmitButton("Show"), ui.Disclosure(line, p != place{}, fields))
	}
	return ui.Disclosure(line, p != place{}, ui.Search(root+path, fields, ui.SubmitButton("Show")))
}

// agentChoices returns the agents that deployments write for.
func agentChoices() []ui.Choice {
	return []ui.Choice{{Value: "codex", Text: "Codex"}, {Value: "claude_code", Text: "Claude Code"}, {Value: "cursor", Text: "Cursor"}, {Value: "vscode", Text: "VS Code"}}
}

// tabs returns links to the pages about the place; here is the path of the current page below the section.
func (p place) tabs(here string) ui.Node {
	links := []ui.PageLink{{Text: "Overview", Href: p.at("")}, {Text: "Plan", Href: p.at("/plan")}, {Text: "Edits", Href: p.at("/evolve")}, {Text: "Snapshots", Href: p.at("/snapshots")},
		{Text: "Modules", Href: p.at("/modules")}, {Text: "Maintenance", Href: p.at("/maintenance")}}
	return ui.Tabs("Sections of deployments", p.at(here), links...)
}

// crumbs returns the breadcrumb of a page below the overview.
func (p place) crumbs(more ...ui.PageLink) []ui.PageLink {
	return append([]ui.PageLink{{Text: "Deployments", Href: p.at("")}}, more...)
}

// reading calls read-only tools about a place.
type reading struct {
	*Section
	ctx context.Context //nolint:containedctx // it lives as long as the request
	v   httpauth.Identity
	at  place
}

func (s *Section) reading(r *http.Request, v httpauth.Identity, p place) reading {
	return reading{s, r.Context(), v, p}
}

// read returns the report of a tool about the place. extra may be nil.
func read[T any](r reading, name tool.Name, extra ui.Args) (planner.Report[T], error) {
	args := r.at.args(name)
	for k, v := range extra {
		args[k] = v
	}
	var out planner.Report[T]
	err := r.Calls.ReadWide(r.ctx, r.v, name, args, &out)
	return out, err
}

// serves reports whether the tool is enabled; the tools of the toolset authoring often are not.
func (r reading) serves(name tool.Name) bool { return r.Calls.Serves(r.v, name) }

// unserved returns a notice that explains how to enable the missing tools.
func unserved(what string) ui.Node {
	return ui.Notice(ui.Plain, ui.P(ui.Text(what+" are not enabled. To enable them, start the server with "), ui.InlineCode("--toolsets deployments,authoring"), ui.Text(".")))
}

// warned returns the warnings without duplicates.
func warned(lists ...[]string) ui.Node {
	var out ui.Group
	seen := map[string]bool{}
	for _, list := range lists {
		for _, w := range list {
			if !seen[w] {
				seen[w] = true
				out = append(out, ui.Li(ui.Text(ui.Printable(present.Prose(w)))))
			}
		}
	}
	if len(out) == 0 {
		return nil
	}
	return ui.Notice(ui.Warn, ui.Ul(out))
}

// trouble returns the error of one part of a page with its details.
func trouble(err error) ui.Node {
	f := fault.From(err)
	out := ui.Group{ui.Problem(f)}
	if details, encoded := tool.Encode(f.Details); encoded == nil && f.Details != nil {
		out = append(out, ui.Disclosure("Error details", false, ui.JSONValue(details)))
	}
	return out
}
