package agentpages

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/countersign-dev/countersign/adapters/console/agentpages/agentview"
	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/page"
	"github.com/countersign-dev/countersign/adapters/console/sectionpage"
	"github.com/countersign-dev/countersign/adapters/httpguard"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// noOverlay is the code with which the tools say that there is no overlay.
const noOverlay fault.Code = "deployment_overlay_missing"

// segment is a text as one part of a path.
func segment(s string) string { return url.PathEscape(s) }

// score is what is known of how a module does.
type score struct {
	ID       string     `json:"module_id"`
	Total    int        `json:"total"`
	Failures int        `json:"failures"`
	LastSeen *time.Time `json:"last_seen_at"`
}

// pin is what the lockfile says of a module.
type pin struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Version string `json:"resolved_version"`
	Sum     string `json:"sha256"`
	Files   int    `json:"files"`
	Bytes   int64  `json:"bytes"`
}

func (s *Section) modules(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	p := placeOf(r.URL.Query())
	look := s.reading(r, v, p)
	body := []markup.Node{p.form("/modules")}
	if !look.serves("agents_score") {
		body = append(body, unserved("Modules"))
	} else {
		body = append(body, look.known(), look.rules())
	}
	s.Show(w, r, v, page.Page{Title: "Modules", Crumbs: p.crumbs(), Body: body})
}

// known is every module, with what it is locked to, what of it is deployed, and how it does.
func (r reading) known() markup.Node {
	scores, err := read[struct {
		Modules []score `json:"modules"`
	}](r, "agents_score", nil)
	if err != nil {
		return trouble(err)
	}
	pins, unpinned := r.pins()
	deployed := r.deployed()
	rows := make([]markup.Node, len(scores.Data.Modules))
	for i, m := range scores.Data.Modules {
		var kind, locked markup.Node
		if pin, ok := pins[m.ID]; ok {
			kind = page.Text(page.Printable(pin.Type))
			locked = markup.Group{page.Code(page.Printable(pin.Version)), page.Text(" " + sectionpage.Count(pin.Files, "file", "files") + ", " + strconv.FormatInt(pin.Bytes, 10) + " bytes")}
		}
		events := page.Text("none")
		if m.Total > 0 && m.LastSeen != nil {
			events = markup.Group{page.Text(sectionpage.Count(m.Total, "event", "events") + ", " + sectionpage.Count(m.Failures, "failure", "failures") + ", last "), page.When(*m.LastSeen)}
		}
		rows[i] = page.Row(page.To(r.at.at("/module", "id", m.ID), page.Printable(m.ID)), kind, locked, page.Text(sectionpage.Count(len(deployed[m.ID]), "file", "files")), events)
	}
	return markup.Group{warned(scores.Warnings), unpinned,
		page.Table("Modules of the config repository", []string{"Module", "Type", "Locked to", "Deployed now", "Recorded"}, rows, "The config repository has no modules, or there is none.")}
}

// pins are what the lockfile says, or why it says nothing.
func (r reading) pins() (map[string]pin, markup.Node) {
	out := map[string]pin{}
	if !r.serves("agents_policy_audit") {
		return out, nil
	}
	audit, err := read[struct {
		Modules []pin `json:"modules"`
	}](r, "agents_policy_audit", nil)
	if err != nil {
		return out, markup.P(markup.Class("quiet"), page.Text("Nothing is locked: "+page.Printable(fault.From(err).Message)))
	}
	for _, p := range audit.Data.Modules {
		out[p.ID] = p
	}
	return out, warned(audit.Warnings)
}

// deployed is the files that deployments own now, by module, as the newest snapshot has them.
func (r reading) deployed() map[string][]string {
	out := map[string][]string{}
	list, err := read[snapshotList](r, "agents_snapshots_list", nil)
	if err != nil || len(list.Data.Snapshots) == 0 {
		return out
	}
	newest := list.Data.Snapshots[len(list.Data.Snapshots)-1]
	whole, err := read[agentview.Whole](r, "agents_snapshots_show", arguments{"id": newest.ID})
	if err != nil {
		return out
	}
	for _, f := range whole.Data.Files {
		for _, m := range f.Modules {
			out[m] = append(out[m], f.Path)
		}
	}
	return out
}

// rules is what breaks the repository's own policy. A repository that breaks it is told of by an error with the report in its details.
func (r reading) rules() markup.Node {
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
			return page.Part("Policy of the repository", trouble(err))
		}
	}
	rows := make([]markup.Node, len(found.Data.Issues))
	for i, issue := range found.Data.Issues {
		rows[i] = page.Row(page.Badge(page.Bad, issue.Rule), page.Code(page.Printable(issue.Path)), page.Text(page.Printable(issue.Message)))
	}
	return page.Part("Policy of the repository", page.Facts(page.Fact{Name: "Config repository", Value: sectionpage.Code(found.Data.Root)}), warned(found.Warnings),
		page.Table("What breaks the policy", []string{"Rule", "File", "What is wrong"}, rows, "Nothing breaks it."))
}

// module is one module: its files, and its overlays with what keeps them from being up to date.
func (s *Section) module(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	p, id := placeOf(r.URL.Query()), r.URL.Query().Get("id")
	look := s.reading(r, v, p)
	crumbs := p.crumbs(page.Link{Text: "Modules", Href: p.at("/modules")})
	if !look.serves("agents_overlay_path") {
		s.Show(w, r, v, page.Page{Title: "Module", Crumbs: crumbs, Body: []markup.Node{unserved("Modules")}})
		return
	}
	var files markup.Group
	for _, f := range look.deployed()[id] {
		files = append(files, markup.Li(page.Code(page.Printable(f))))
	}
	var deployed markup.Node = page.Empty("Nothing of it is deployed.")
	if len(files) > 0 {
		deployed = markup.Ul(files)
	}
	body := []markup.Node{page.Part("Deployed now", deployed)}
	var overlays markup.Group
	for _, scope := range []string{"global", "machine", "project"} {
		overlays = append(overlays, look.overlay(id, scope))
	}
	body = append(body, page.Part("Overlays", markup.P(page.Text("An overlay changes a module for everybody, one machine or one project. Files in it are edited by hand, or by proposals.")), overlays))
	s.Show(w, r, v, page.Page{Title: "Module " + page.Printable(id), Crumbs: crumbs, Body: body})
}

// overlay is where a module's overlay is, and whether it is up to date.
func (r reading) overlay(id, scope string) markup.Node {
	about := arguments{"module_id": id, "scope": scope}
	where, err := read[struct {
		Dir string `json:"overlay_dir"`
	}](r, "agents_overlay_path", about)
	if err != nil {
		return page.Card(scope, trouble(err))
	}
	state := markup.Node(page.Badge(page.Plain, "not asked about"))
	var problem markup.Node
	if r.serves("agents_overlay_rebase") {
		rebased, err := read[struct {
			Report struct {
				Updated []string `json:"updated"`
				Deleted []string `json:"deleted"`
			} `json:"report"`
		}](r, "agents_overlay_rebase", arguments{"module_id": id, "scope": scope, "dry_run": true})
		n := len(rebased.Data.Report.Updated) + len(rebased.Data.Report.Deleted)
		switch {
		case err != nil && fault.From(err).Code == noOverlay:
			state = page.Badge(page.Plain, "there is none")
		case err != nil:
			state, problem = page.Badge(page.Bad, "has to be looked at"), trouble(err)
		case n > 0:
			state = page.Badge(page.Warn, "a rebase would change "+sectionpage.Count(n, "file", "files"))
		default:
			state = page.Badge(page.Good, "up to date")
		}
	}
	return page.Card(scope, page.Facts(page.Fact{Name: "Directory", Value: sectionpage.Code(where.Data.Dir)}, page.Fact{Name: "State", Value: state}), problem)
}
