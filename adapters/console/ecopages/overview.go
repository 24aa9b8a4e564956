package ecopages

import (
	"net/http"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/app/ecosystems"
)

// problem is something wrong with a manifest.
type problem struct{ Path, Message, Fix string }

// repoNames returns the names of the repositories, or only of the writable ones.
func repoNames(d ecosystems.Description, writable bool) []string {
	names := make([]string, 0, len(d.Repos))
	for _, r := range d.Repos {
		if !writable || !r.ReadOnly {
			names = append(names, r.Name)
		}
	}
	return names
}

// overview shows what an ecosystem is made of and how it stands, and does what concerns all its repositories.
func (s *section) overview(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	a, ok := s.base.Open(w, r, v)
	if !ok {
		return
	}
	var d ecosystems.Description
	var found struct{ Errors, Warnings []problem }
	var st ecosystems.StatusAnswer
	if !a.Need("amof_validate_manifest", nil, &found) {
		return
	}
	if err := a.Read(ecosystems.Describe.Name, nil, &d); err != nil && len(found.Errors) == 0 {
		s.base.Fail(w, v, err)
		return
	}
	a.Add(findings(found.Errors, found.Warnings), manifest(d))
	if err := a.Read(ecosystems.Status.Name, nil, &st); err == nil {
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

func manifest(d ecosystems.Description) ui.Node {
	return ui.Part("Manifest", ui.Facts(
		ui.Fact{Name: "About", Value: ui.OptionalText(d.Description)}, ui.Fact{Name: "Directory", Value: ui.OptionalCode(d.Path)}, ui.Fact{Name: "Provisioner", Value: ui.OptionalText(ui.Deref(d.Provisioner))},
		ui.Fact{Name: "Workspace", Value: ui.OptionalCode(d.Workspace.Dir)}, ui.Fact{Name: "Branches begin with", Value: ui.OptionalText(d.Workspace.Repo)},
		ui.Fact{Name: "Never touched", Value: list(d.Guardrails.NoTouch)}, ui.Fact{Name: "Retired", Value: YesText(d.Retired)},
		ui.Fact{Name: "Journal", Value: said(ui.Count(d.Journal, "entry", "entries"))}, ui.Fact{Name: "Knowledge base", Value: said(ui.Count(d.KB, "file", "files"))},
		ui.Fact{Name: "SHA-256", Value: ui.OptionalCode(d.SHA256)}))
}

// repositories returns those that are there, or would be.
func repositories(a *EcosystemPage, d ecosystems.Description, st ecosystems.StatusAnswer) ui.Node {
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
		ui.Fact{Name: "Status", Value: WithNote(RepoStatusBadges(w.Status), w.Problem)}, ui.Fact{Name: "Active ticket", Value: ui.OptionalText(FirstNonEmpty(ui.Deref(w.ActiveTicket), "none"))},
		ui.Fact{Name: "Open tickets", Value: ui.LinkTo(PagePath(a.Name, "tickets"), ui.Count(w.Tickets, "ticket", "tickets"))},
		ui.Fact{Name: "Environment", Value: ui.LinkTo(PagePath(a.Name, "environment"), FirstNonEmpty(st.Spin.State, "none"))}, ui.Fact{Name: "Note", Value: ui.OptionalText(st.Hint)}),
		ui.DataTable("Repositories", []string{"Repository", "Branch", "Commit", "Access", "Status", "Changes", "Ahead and behind"}, rows, "There are none."))
}

func access(readonly bool) ui.Node {
	return said(map[bool]string{true: "read-only", false: "read and write"}[readonly])
}

// together is what is done with all repositories at once.
func together(a *EcosystemPage, d ecosystems.Description, st ecosystems.StatusAnswer) {
	var cards ui.Group
	if st.Workspace == nil {
		cards = append(cards, ui.Card("Install", ui.P(ui.Text("Clones every repository into a workspace of its own, all or nothing.")),
			a.ActionForm("install", "Install", a.Name, ui.CheckboxField("install-push", "push", "Push the workspace's branch afterwards", false))))
	} else {
		cards = append(cards,
			ui.Card("Sync", ui.P(ui.Text("Clones what is missing and brings the rest up to date, by fast-forward alone.")), a.ActionForm("sync", "Sync", a.Name, RepoCheckboxes("sync", "Sync", repoNames(d, false)))),
			ui.Card("Push", ui.P(ui.Text("Pushes the branches to their remotes. What is not committed stays, unless it is committed first.")),
				a.ActionForm("push", "Push", a.Name, ui.CheckboxField("push-all", "commit_all", "Commit everything that is not committed first", false),
					ui.Field("push-message", "message", "Message of those commits", ""), RepoCheckboxes("push", "Push", repoNames(d, true)))))
	}
	cards = append(cards,
		ui.Card("Journal", a.ActionForm("journal", "Write", "into the journal of "+a.Name, ui.Field("journal-title", "title", "Title", ""), ui.TextareaField("journal-body", "body", "Entry", ""))),
		ui.Card("Selected ecosystem", ui.P(ui.Text("Calls in this workspace that name no ecosystem are about the selected one, for all sessions.")),
			ui.ActionForm(a.V, PagePath(a.Name, "use"), "Select", a.Name)))
	a.Add(ui.Part("Actions", cards))
}
