package ecopages

import (
	"net/http"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
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

// names returns those of its repositories; with writable, only of those that may be written to.
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
func (s *section) overview(w http.ResponseWriter, r *http.Request, v httpauth.Visitor) {
	a, ok := s.base.Open(w, r, v)
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
		s.base.Fail(w, v, err)
		return
	}
	a.Add(findings(found.Errors, found.Warnings), manifest(d))
	if err := a.Read("amof_get_ecosystem_status", nil, &st); err == nil {
		a.Add(repositories(a, d, st))
		together(a, d, st)
	} else if len(found.Errors) == 0 {
		s.base.Fail(w, v, err)
		return
	}
	a.Write("", liveRuns, liveCalls)
}

func findings(errors, warnings []problem) ui.Node {
	var rows []ui.Node
	add := func(found []problem, tone, word string) {
		for _, p := range found {
			rows = append(rows, ui.Row(ui.Badge(tone, word), mono(FirstNonEmpty(p.Path, "ecosystem.yaml")), said(p.Message), said(p.Fix)))
		}
	}
	add(errors, ui.Bad, "error")
	add(warnings, ui.Warn, "warning")
	return ui.Part("Manifest check", ui.DataTable("Findings", []string{"Level", "Where", "What", "Fix"}, rows, "The manifest is valid."))
}

func manifest(d description) ui.Node {
	return ui.Part("Manifest", ui.Facts(
		ui.Fact{Name: "About", Value: ui.OptionalText(d.Description)}, ui.Fact{Name: "Directory", Value: ui.OptionalCode(d.Path)}, ui.Fact{Name: "Provisioner", Value: ui.OptionalText(ui.Deref(d.Provisioner))},
		ui.Fact{Name: "Workspace", Value: ui.OptionalCode(d.Workspace.Dir)}, ui.Fact{Name: "Branches begin with", Value: ui.OptionalText(d.Workspace.Repo)},
		ui.Fact{Name: "Never touched", Value: list(d.Guardrails.NoTouch)}, ui.Fact{Name: "Retired", Value: YesText(d.Retired)},
		ui.Fact{Name: "Journal", Value: said(ui.Count(d.Journal, "entry", "entries"))}, ui.Fact{Name: "Knowledge base", Value: said(ui.Count(d.KB, "file", "files"))},
		ui.Fact{Name: "SHA-256", Value: ui.OptionalCode(d.SHA256)}))
}

// repositories returns those that are there, or would be.
func repositories(a *EcosystemPage, d description, st state) ui.Node {
	if st.Workspace == nil {
		var rows []ui.Node
		for _, r := range d.Repos {
			rows = append(rows, ui.Row(said(r.Name), mono(r.Branch), access(r.ReadOnly), mono(r.URL), said(map[bool]string{true: "enabled", false: "disabled"}[r.Enabled])))
		}
		return ui.Part("Repositories", ui.Notice(ui.Plain, ui.P(ui.Text("It is not installed: its repositories are not cloned yet."))),
			ui.DataTable("Repositories", []string{"Repository", "Branch", "Access", "URL", "Is"}, rows, "The manifest names none."))
	}
	w := st.Workspace
	var rows []ui.Node
	for _, r := range st.Repos {
		branch := WithNote(mono(FirstNonEmpty(ui.Deref(r.Branch), "(detached)")), map[bool]string{true: "expected " + r.Wanted}[r.Wanted != "" && ui.Deref(r.Branch) != r.Wanted])
		changes := ui.Count(r.DirtyFiles, "file", "files")
		if r.Conflicts > 0 {
			changes += ", " + ui.Count(r.Conflicts, "conflict", "conflicts")
		}
		apart := "no upstream"
		if r.Ahead != nil || r.Behind != nil {
			apart = number(r.Ahead) + " ahead, " + number(r.Behind) + " behind"
		}
		rows = append(rows, ui.Row(WithNote(said(r.Name), strings.TrimPrefix(r.Directory, w.Dir+"/")), branch, mono(r.Commit), access(r.Mode == "RO"), WithNote(RepoStatusBadges(r.Status), r.Problem), said(changes), said(apart)))
	}
	return ui.Part("Repositories", ui.Facts(ui.Fact{Name: "Workspace", Value: ui.OptionalCode(w.Dir)}, ui.Fact{Name: "Branch of the workspace", Value: ui.OptionalCode(w.Branch)},
		ui.Fact{Name: "Status", Value: WithNote(RepoStatusBadges(w.Status), w.Problem)}, ui.Fact{Name: "Active ticket", Value: ui.OptionalText(FirstNonEmpty(ui.Deref(w.Active), "none"))},
		ui.Fact{Name: "Open tickets", Value: ui.LinkTo(PagePath(a.Name, "tickets"), ui.Count(w.Tickets, "ticket", "tickets"))},
		ui.Fact{Name: "Environment", Value: ui.LinkTo(PagePath(a.Name, "environment"), FirstNonEmpty(st.Spin.State, "none"))}, ui.Fact{Name: "Note", Value: ui.OptionalText(st.Hint)}),
		ui.DataTable("Repositories", []string{"Repository", "Branch", "Commit", "Access", "Status", "Changes", "Ahead and behind"}, rows, "There are none."))
}

func access(readonly bool) ui.Node {
	return said(map[bool]string{true: "read-only", false: "read and write"}[readonly])
}

// together is what is done with all repositories at once.
func together(a *EcosystemPage, d description, st state) {
	var cards ui.Group
	if st.Workspace == nil {
		cards = append(cards, ui.Card("Install", ui.P(ui.Text("Clones every repository into a workspace of its own, all or nothing.")),
			a.ActionForm("install", "Install", a.Name, ui.CheckboxField("install-push", "push", "Push the workspace's branch afterwards", false))))
	} else {
		cards = append(cards,
			ui.Card("Sync", ui.P(ui.Text("Clones what is missing and brings the rest up to date, by fast-forward alone.")), a.ActionForm("sync", "Sync", a.Name, RepoCheckboxes("sync", "Sync", d.names(false)))),
			ui.Card("Push", ui.P(ui.Text("Pushes the branches to their remotes. What is not committed stays, unless it is committed first.")),
				a.ActionForm("push", "Push", a.Name, ui.CheckboxField("push-all", "commit_all", "Commit everything that is not committed first", false),
					ui.Field("push-message", "message", "Message of those commits", ""), RepoCheckboxes("push", "Push", d.names(true)))))
	}
	cards = append(cards,
		ui.Card("Journal", a.ActionForm("journal", "Write", "into the journal of "+a.Name, ui.Field("journal-title", "title", "Title", ""), ui.TextareaField("journal-body", "body", "Entry", ""))),
		ui.Card("Selected ecosystem", ui.P(ui.Text("Calls in this workspace that name no ecosystem are about the selected one, for all sessions.")),
			ui.ActionForm(a.V, PagePath(a.Name, "use"), "Select", a.Name)))
	a.Add(ui.Part("Actions", cards))
}
