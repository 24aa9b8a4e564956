package agentpages

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/app/deployments"
	"github.com/countersign-dev/countersign/app/deployments/authoring"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// noOverlay is the error code of the tools for a missing overlay.
const noOverlay fault.Code = "deployment_overlay_missing"

// segment escapes a text for use as one part of a path.
func segment(s string) string { return url.PathEscape(s) }

func (s *Section) modules(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	p := placeOf(r.URL.Query())
	look := s.reading(r, v, p)
	body := []ui.Node{p.tabs("/modules"), p.form("/modules")}
	if !look.serves("agents_score") {
		body = append(body, unserved("Modules"))
	} else {
		body = append(body, look.known(), look.adding(), look.rules())
	}
	s.Show(w, r, v, ui.Page{Title: "Modules", Crumbs: p.crumbs(), Body: body})
}

// known returns every module with its locked version, its deployed files and its events.
func (r reading) known() ui.Node {
	scores, err := read[struct {
		Modules []deployments.ModuleScore `json:"modules"`
	}](r, "agents_score", nil)
	if err != nil {
		return trouble(err)
	}
	pins, unpinned := r.pins()
	deployed := r.deployed()
	rows := make([]ui.Node, len(scores.Data.Modules))
	for i, m := range scores.Data.Modules {
		var kind, locked ui.Node
		if pin, ok := pins[m.ID]; ok {
			kind = ui.Text(ui.Printable(string(pin.Type)))
			locked = ui.Group{ui.InlineCode(ui.Printable(pin.Version)), ui.Text(" " + ui.Count(pin.Files, "file", "files") + ", " + strconv.FormatInt(pin.Bytes, 10) + " bytes")}
		}
		events := ui.Text("none")
		if m.Total > 0 && m.LastSeen != nil {
			events = ui.Group{ui.Text(ui.Count(m.Total, "event", "events") + ", " + ui.Count(m.Failures, "failure", "failures") + ", last "), ui.When(*m.LastSeen)}
		}
		rows[i] = ui.Row(ui.LinkTo(r.at.at("/module", "id", m.ID), ui.Printable(m.ID)), kind, locked, ui.Text(ui.Count(len(deployed[m.ID]), "file", "files")), events)
	}
	return ui.Group{warned(scores.Warnings), unpinned,
		ui.DataTable("Modules of the config repository", []string{"Module", "Type", "Locked version", "Deployed", "Events"}, rows, "No modules, or no config repository.")}
}

// pins returns the locked modules by ID, or the reason why there are none.
func (r reading) pins() (map[string]authoring.AuditModule, ui.Node) {
	out := map[string]authoring.AuditModule{}
	if !r.serves("agents_policy_audit") {
		return out, nil
	}
	audit, err := read[struct {
		Modules []authoring.AuditModule `json:"modules"`
	}](r, "agents_policy_audit", nil)
	if err != nil {
		return out, ui.P(ui.Class("quiet"), ui.Text("No lockfile: "+ui.Printable(fault.From(err).Message)))
	}
	for _, p := range audit.Data.Modules {
		out[p.ID] = p
	}
	return out, warned(audit.Warnings)
}

// managed returns the managed files of the newest snapshot.
func (r reading) managed() []managedFile {
	list, err := read[snapshotList](r, "agents_snapshots_list", nil)
	if err != nil || len(list.Data.Snapshots) == 0 {
		return nil
	}
	newest := list.Data.Snapshots[len(list.Data.Snapshots)-1]
	whole, err := read[whole](r, "agents_snapshots_show", ui.Args{"id": newest.ID})
	if err != nil {
		return nil
	}
	return whole.Data.Files
}

// deployed returns the managed files of the newest snapshot by module.
func (r reading) deployed() map[string][]string {
	out := map[string][]string{}
	for _, f := range r.managed() {
		for _, m := range f.Modules {
			out[m] = append(out[m], f.Path)
		}
	}
	return out
}

// rules returns the policy violations of the repository. The tool reports violations as an error with the report in its details.
func (r reading) rules() ui.Node {
	type lint struct {
		Issues []struct {
			Rule    string `json:"rule"`
			Path    string `json:"path"`
			Message string `json:"message"`
		} `json:"issues"`
		Root string `json:"root"`
	}
	found, err := read[lint](r, "agents_policy_lint", nil)
	if err != nil {
		details, encoded := tool.Encode(fault.From(err).Details)
		if encoded != nil || json.Unmarshal(details, &found.Data) != nil || len(found.Data.Issues) == 0 {
			return ui.Part("Repository policy", trouble(err))
		}
	}
	rows := make([]ui.Node, len(found.Data.Issues))
	for i, issue := range found.Data.Issues {
		rows[i] = ui.Row(ui.Badge(ui.Bad, issue.Rule), ui.InlineCode(ui.Printable(issue.Path)), ui.Text(ui.Printable(issue.Message)))
	}
	return ui.Part("Repository policy", ui.Facts(ui.Fact{Name: "Config repository", Value: ui.OptionalCode(found.Data.Root)}), warned(found.Warnings),
		ui.DataTable("Policy violations", []string{"Rule", "File", "Problem"}, rows, "No policy violations."))
}

// module shows one module: its files and its overlays.
func (s *Section) module(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	p, id := placeOf(r.URL.Query()), r.URL.Query().Get("id")
	look := s.reading(r, v, p)
	crumbs := p.crumbs(ui.PageLink{Text: "Modules", Href: p.at("/modules")})
	if !look.serves("agents_overlay_path") {
		s.Show(w, r, v, ui.Page{Title: "Module", Crumbs: crumbs, Body: []ui.Node{unserved("Modules")}})
		return
	}
	var files ui.Group
	for _, f := range look.deployed()[id] {
		files = append(files, ui.Li(ui.InlineCode(ui.Printable(f))))
	}
	var deployed ui.Node = ui.Empty("Not deployed.")
	if len(files) > 0 {
		deployed = ui.Ul(files)
	}
	body := []ui.Node{p.tabs("/modules"), ui.Part("Deployed files", deployed)}
	var overlays ui.Group
	for _, scope := range []string{"global", "machine", "project"} {
		overlays = append(overlays, look.overlay(id, scope))
	}
	body = append(body, ui.Part("Overlays", ui.P(ui.Text("An overlay changes a module for all machines, one machine or one project. Edit its files yourself, or propose edits of deployed files.")), ui.Div(ui.Class("grid"), overlays)))
	if remove := look.actionForm("remove", id, true, ui.Hidden("module_id", id)); remove != nil {
		body = append(body, ui.DangerPanel("Remove module", ui.P(ui.Text("Removes the module from the config file. The next deployment deletes its files.")), remove))
	}
	s.Show(w, r, v, ui.Page{Title: "Module " + ui.Printable(id), Crumbs: crumbs, Body: body})
}

// overlay returns the directory of a module's overlay, and whether it is up to date.
func (r reading) overlay(id, scope string) ui.Node {
	about := ui.Args{"module_id": id, "scope": scope}
	where, err := read[struct {
		Dir string `json:"overlay_dir"`
	}](r, "agents_overlay_path", about)
	if err != nil {
		return ui.Card(scopeName(scope), trouble(err))
	}
	state := ui.Node(ui.Badge(ui.Plain, "not checked"))
	var problem, change ui.Node
	fields := ui.Group{ui.Hidden("module_id", id), ui.Hidden("scope", scope)}
	if r.serves("agents_overlay_rebase") {
		rebased, err := read[struct {
			Report struct {
				Updated []string `json:"updated"`
				Deleted []string `json:"deleted"`
			} `json:"report"`
		}](r, "agents_overlay_rebase", ui.Args{"module_id": id, "scope": scope, "dry_run": true})
		n := len(rebased.Data.Report.Updated) + len(rebased.Data.Report.Deleted)
		switch {
		case err != nil && fault.From(err).Code == noOverlay:
			state, change = ui.Badge(ui.Plain, "no overlay"), r.actionForm("edit", id+", "+scope, false, fields)
		case err != nil:
			state, problem, change = ui.Badge(ui.Bad, "needs attention"), trouble(err), r.actionForm("rebase", id+", "+scope, false, fields)
		case n > 0:
			state = ui.Badge(ui.Warn, "a rebase would change "+ui.Count(n, "file", "files"))
			change = r.actionForm("rebase", id+", "+scope, false, fields)
		default:
			state = ui.Badge(ui.Good, "up to date")
		}
	}
	return ui.Card(scopeName(scope), ui.Facts(ui.Fact{Name: "Directory", Value: ui.OptionalCode(where.Data.Dir)}, ui.Fact{Name: "Status", Value: state}), problem, change)
}

// scopeName returns the name of an overlay scope.
func scopeName(scope string) string {
	return map[string]string{"global": "Global", "machine": "This machine", "project": "This project"}[scope]
}
