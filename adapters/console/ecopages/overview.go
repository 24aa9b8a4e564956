package ecopages

import (
	"net/http"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ecopages/ecodesk"
	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/page"
	"github.com/countersign-dev/countersign/adapters/console/sectionpage"
	"github.com/countersign-dev/countersign/adapters/httpguard"
)

// problem is something wrong with a manifest.
type problem struct{ Path, Message, Fix string }

// description is what a manifest says.
type description struct {
	Path        string  `json:"path"`
	Description string  `json:"description"`
	Provisioner *string `json:"provisioner"`
	Repos       []struct {
		Name     string `json:"name"`
		URL      string `json:"url"`
		Branch   string `json:"branch"`
		ReadOnly bool   `json:"readonly"`
		Enabled  bool   `json:"enabled"`
	} `json:"repos"`
	Workspace struct {
		Dir    string `json:"workspace_dir"`
		Branch string `json:"branch_prefix"`
		Repo   string `json:"repo_branch_prefix"`
	} `json:"workspace"`
	Guardrails struct {
		NoTouch []string `json:"no_touch_paths"`
	} `json:"guardrails"`
	KB        int    `json:"kb_count"`
	Journal   int    `json:"journal_count"`
	SHA256    string `json:"manifest_sha256"`
	Retired   bool   `json:"retired"`
	Installed bool   `json:"installed"`
}

// names are those of its repositories; with writable, only of those that may be written to.
func (d description) names(writable bool) []string {
	names := make([]string, 0, len(d.Repos))
	for _, r := range d.Repos {
		if !writable || !r.ReadOnly {
			names = append(names, r.Name)
		}
	}
	return names
}

// state is how an ecosystem stands.
type state struct {
	Workspace *struct {
		Branch  string  `json:"workspace_branch"`
		Dir     string  `json:"workspace_dir"`
		Active  *string `json:"active_ticket"`
		Tickets int     `json:"ticket_count"`
		Status  string  `json:"status"`
		Dirty   int     `json:"dirty_files"`
		Problem string  `json:"problem"`
	} `json:"workspace"`
	Repos []struct {
		Name       string  `json:"name"`
		Branch     *string `json:"branch"`
		Commit     string  `json:"commit"`
		Mode       string  `json:"mode"`
		Status     string  `json:"status"`
		Ahead      *int    `json:"ahead"`
		Behind     *int    `json:"behind"`
		Directory  string  `json:"directory"`
		Wanted     string  `json:"expected_branch"`
		DirtyFiles int     `json:"dirty_files"`
		Conflicts  int     `json:"conflicts"`
		Operation  string  `json:"operation"`
		Problem    string  `json:"problem"`
	} `json:"repos"`
	Spin struct {
		State string `json:"state"`
	} `json:"spin"`
	Hint string `json:"hint"`
}

// overview shows what an ecosystem is made of and how it stands, and does what concerns all its repositories.
func (s *Section) overview(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	a, ok := s.desk.Open(w, r, v)
	if !ok {
		return
	}
	var d description
	var found struct{ Errors, Warnings []problem }
	var st state
	if !a.Need("amof_validate_manifest", nil, &found) {
		return
	}
	if err := a.Read("amof_describe_ecosystem", nil, &d); err != nil && len(found.Errors) == 0 {
		s.desk.Fail(w, v, err)
		return
	}
	a.Add(findings(found.Errors, found.Warnings), manifest(d))
	if err := a.Read("amof_get_ecosystem_status", nil, &st); err == nil {
		a.Add(repositories(a, d, st))
		together(a, d, st)
	} else if len(found.Errors) == 0 {
		s.desk.Fail(w, v, err)
		return
	}
	a.Write("", ecodesk.LiveRuns, ecodesk.LiveCalls)
}

func findings(errors, warnings []problem) markup.Node {
	var rows []markup.Node
	add := func(found []problem, tone, word string) {
		for _, p := range found {
			rows = append(rows, page.Row(page.Badge(tone, word), ecodesk.Mono(ecodesk.First(p.Path, "ecosystem.yaml")), ecodesk.Said(p.Message), ecodesk.Said(p.Fix)))
		}
	}
	add(errors, page.Bad, "error")
	add(warnings, page.Warn, "warning")
	return page.Part("What the check of the manifest finds", page.Table("Findings", []string{"Level", "Where", "What", "Way out"}, rows, "Nothing: the manifest is valid."))
}

func manifest(d description) markup.Node {
	return page.Part("Manifest", page.Facts(
		page.Fact{Name: "About", Value: sectionpage.Text(d.Description)}, page.Fact{Name: "Directory", Value: sectionpage.Code(d.Path)}, page.Fact{Name: "Provisioner", Value: sectionpage.Text(sectionpage.Deref(d.Provisioner))},
		page.Fact{Name: "Workspace", Value: sectionpage.Code(d.Workspace.Dir)}, page.Fact{Name: "Branches begin with", Value: sectionpage.Text(d.Workspace.Repo)},
		page.Fact{Name: "Never touched", Value: ecodesk.List(d.Guardrails.NoTouch)}, page.Fact{Name: "Retired", Value: ecodesk.Yes(d.Retired)},
		page.Fact{Name: "Journal", Value: ecodesk.Said(sectionpage.Count(d.Journal, "entry", "entries"))}, page.Fact{Name: "Knowledge base", Value: ecodesk.Said(sectionpage.Count(d.KB, "file", "files"))},
		page.Fact{Name: "SHA-256", Value: sectionpage.Code(d.SHA256)}))
}

// repositories are those that are there, or would be.
func repositories(a *ecodesk.About, d description, st state) markup.Node {
	if st.Workspace == nil {
		var rows []markup.Node
		for _, r := range d.Repos {
			rows = append(rows, page.Row(ecodesk.Said(r.Name), ecodesk.Mono(r.Branch), access(r.ReadOnly), ecodesk.Mono(r.URL), ecodesk.Said(map[bool]string{true: "enabled", false: "disabled"}[r.Enabled])))
		}
		return page.Part("Repositories", page.Notice(page.Plain, markup.P(page.Text("It is not installed: its repositories are not cloned yet."))),
			page.Table("Repositories", []string{"Repository", "Branch", "Access", "URL", "Is"}, rows, "The manifest names none."))
	}
	w := st.Workspace
	var rows []markup.Node
	for _, r := range st.Repos {
		branch := ecodesk.Under(ecodesk.Mono(ecodesk.First(sectionpage.Deref(r.Branch), "(detached)")), map[bool]string{true: "expected " + r.Wanted}[r.Wanted != "" && sectionpage.Deref(r.Branch) != r.Wanted])
		changes := sectionpage.Count(r.DirtyFiles, "file", "files")
		if r.Conflicts > 0 {
			changes += ", " + sectionpage.Count(r.Conflicts, "conflict", "conflicts")
		}
		apart := "no upstream"
		if r.Ahead != nil || r.Behind != nil {
			apart = ecodesk.Number(r.Ahead) + " ahead, " + ecodesk.Number(r.Behind) + " behind"
		}
		rows = append(rows, page.Row(ecodesk.Under(ecodesk.Said(r.Name), strings.TrimPrefix(r.Directory, w.Dir+"/")), branch, ecodesk.Mono(r.Commit), access(r.Mode == "RO"), ecodesk.Under(ecodesk.Standing(r.Status), r.Problem), ecodesk.Said(changes), ecodesk.Said(apart)))
	}
	return page.Part("Repositories", page.Facts(page.Fact{Name: "Workspace", Value: sectionpage.Code(w.Dir)}, page.Fact{Name: "Branch of the workspace", Value: sectionpage.Code(w.Branch)},
		page.Fact{Name: "It stands", Value: ecodesk.Under(ecodesk.Standing(w.Status), w.Problem)}, page.Fact{Name: "Active ticket", Value: sectionpage.Text(ecodesk.First(sectionpage.Deref(w.Active), "none"))},
		page.Fact{Name: "Open tickets", Value: page.To(ecodesk.At(a.Name, "tickets"), sectionpage.Count(w.Tickets, "ticket", "tickets"))},
		page.Fact{Name: "Environment", Value: page.To(ecodesk.At(a.Name, "environment"), ecodesk.First(st.Spin.State, "none"))}, page.Fact{Name: "Note", Value: sectionpage.Text(st.Hint)}),
		page.Table("Repositories", []string{"Repository", "Branch", "Commit", "Access", "Stands", "Changes", "Against its upstream"}, rows, "There are none."))
}

func access(readonly bool) markup.Node {
	return ecodesk.Said(map[bool]string{true: "read-only", false: "read and write"}[readonly])
}

// together is what is done with all repositories at once.
func together(a *ecodesk.About, d description, st state) {
	var cards markup.Group
	if st.Workspace == nil {
		cards = append(cards, page.Card("Install", markup.P(page.Text("Clones every repository into a workspace of its own, all or nothing.")),
			a.Act("install", "Install", a.Name, page.Check("install-push", "push", "Push the workspace's branch afterwards", false))))
	} else {
		cards = append(cards,
			page.Card("Sync", markup.P(page.Text("Clones what is missing and brings the rest up to date, by fast-forward alone.")), a.Act("sync", "Sync", a.Name, ecodesk.Which("sync", "Sync", d.names(false)))),
			page.Card("Push", markup.P(page.Text("Pushes the branches to their remotes. What is not committed stays, unless it is committed first.")),
				a.Act("push", "Push", a.Name, page.Check("push-all", "commit_all", "Commit everything that is not committed first", false),
					page.Field("push-message", "message", "Message of those commits", ""), ecodesk.Which("push", "Push", d.names(true)))))
	}
	cards = append(cards,
		page.Card("Journal", a.Act("journal", "Write", "into the journal of "+a.Name, page.Field("journal-title", "title", "Title", ""), page.Area("journal-body", "body", "Entry", ""))),
		page.Card("Selected ecosystem", markup.P(page.Text("Calls in this workspace that name no ecosystem are about the selected one, for all sessions.")),
			page.Deed(a.V, ecodesk.At(a.Name, "use"), "Select", a.Name)))
	a.Add(page.Part("What can be done", cards))
}
