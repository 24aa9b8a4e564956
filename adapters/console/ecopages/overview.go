package ecopages

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/app/ecosystems"
	"github.com/countersign-dev/countersign/app/ecosystems/releases"
	"github.com/countersign-dev/countersign/app/ecosystems/workspace"
)

// problem is an error or warning of an ecosystem manifest.
type problem struct{ Path, Message, Fix string }

// repoNames returns the names of all repositories, or only of the writable repositories.
func repoNames(d ecosystems.Description, writable bool) []string {
	names := make([]string, 0, len(d.Repos))
	for _, r := range d.Repos {
		if !writable || !r.ReadOnly {
			names = append(names, r.Name)
		}
	}
	return names
}

// checked is the result of the manifest check.
type checked struct{ Errors, Warnings []problem }

// overview shows the repositories, tickets, release and environment of an ecosystem, and the actions on its repositories.
func (s *section) overview(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	a, ok := s.base.Open(w, r, v)
	if !ok {
		return
	}
	d, found, ok := a.described()
	if !ok {
		return
	}
	if d.Description != "" {
		a.Add(ui.P(ui.Class("quiet"), said(d.Description)))
	}
	if len(found.Errors)+len(found.Warnings) > 0 {
		a.Add(findings(found))
	}
	var st ecosystems.StatusAnswer
	if err := a.Read(ecosystems.Status.Name, nil, &st); err == nil {
		if st.Workspace != nil {
			a.Add(summary(a, st))
		}
		a.Add(repositories(d, st))
		together(a, d, st)
	} else if len(found.Errors) == 0 {
		s.base.Fail(w, v, err)
		return
	}
	a.Write("", liveRuns, liveCalls)
}

// described returns the manifest and its check. If it reports false, it has answered with an error.
func (a *EcosystemPage) described() (d ecosystems.Description, found checked, ok bool) {
	if !a.Need("amof_validate_manifest", nil, &found) {
		return d, found, false
	}
	if err := a.Read(ecosystems.Describe.Name, nil, &d); err != nil && len(found.Errors) == 0 {
		a.Fail(a.W, a.V, err)
		return d, found, false
	}
	return d, found, true
}

// manifest shows the ecosystem manifest, and the forms that add a journal entry and select the ecosystem.
func (s *section) manifest(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	a, ok := s.base.Open(w, r, v)
	if !ok {
		return
	}
	d, found, ok := a.described()
	if !ok {
		return
	}
	a.Add(findings(found), manifestFacts(d), ui.Div(ui.Class("grid"),
		ui.Card("Journal", a.ActionForm("journal", "Add entry", "to the journal of "+a.Name, ui.Field("journal-title", "title", "Title", ""), ui.TextareaField("journal-body", "body", "Entry", ""))),
		ui.Card("Selected ecosystem", ui.P(ui.Text("Calls in this workspace that name no ecosystem use the selected one, in all sessions.")),
			ui.ActionForm(a.V, PagePath(a.Name, "use"), "Select", a.Name))))
	a.Write("manifest", liveCalls)
}

// summary returns the tickets, the current version and the environment, with links to their tabs.
func summary(a *EcosystemPage, st ecosystems.StatusAnswer) ui.Node {
	var tickets workspace.TicketList
	var list ui.Node = ui.Empty("No tickets.")
	if err := a.Read(workspace.ListTickets.Name, nil, &tickets); err != nil {
		list = ui.ErrorNotice(err)
	} else if len(tickets.Tickets) > 0 {
		list = ui.Ul(ui.Class("rows"), ui.Map(tickets.Tickets, func(t workspace.TicketItem) ui.Node {
			var active ui.Node
			if t.Active {
				active = ui.Group{ui.Text(" "), ui.Badge(ui.Good, "active")}
			}
			return ui.Li(said(t.ID), active, ui.Span(ui.Class("quiet"), said(" "+ui.Count(len(t.Repos), "repository", "repositories"))))
		}))
	}
	var now releases.StatusResult
	var release ui.Node
	if err := a.Read(releases.Status.Name, nil, &now); err != nil {
		release = ui.ErrorNotice(err)
	} else {
		release = ui.Facts(ui.Fact{Name: "Version", Value: said(now.Version)}, ui.Fact{Name: "Stage", Value: ui.OptionalText(now.Stage)}, ui.Fact{Name: "Commits since", Value: said(strconv.Itoa(now.Commits))})
	}
	return ui.Div(ui.Class("grid"),
		ui.Panel("Tickets", list, ui.P(ui.LinkTo(a.place("tickets"), "All tickets"))),
		ui.Panel("Release", release, ui.P(ui.LinkTo(a.place("releases"), "Releases"))),
		ui.Panel("Environment", ui.P(RunStatusBadge(FirstNonEmpty(st.Spin.State, "none"))), ui.P(ui.LinkTo(a.place("environment"), "Environment details"))))
}

// findings returns the errors and warnings of the manifest.
func findings(c checked) ui.Node {
	var rows []ui.Node
	add := func(found []problem, tone, word string) {
		for _, p := range found {
			rows = append(rows, ui.Row(ui.Badge(tone, word), mono(FirstNonEmpty(p.Path, "ecosystem.yaml")), said(p.Message), said(p.Fix)))
		}
	}
	add(c.Errors, ui.Bad, "error")
	add(c.Warnings, ui.Warn, "warning")
	return ui.Part("Manifest check", ui.DataTable("Findings", []string{"Level", "Path", "Problem", "Fix"}, rows, "The manifest is valid."))
}

// manifestFacts returns the content of the manifest.
func manifestFacts(d ecosystems.Description) ui.Node {
	return ui.Part("Manifest", ui.Facts(
		ui.Fact{Name: "Description", Value: ui.OptionalText(d.Description)}, ui.Fact{Name: "Directory", Value: ui.OptionalCode(d.Path)}, ui.Fact{Name: "Provisioner", Value: ui.OptionalText(ui.Deref(d.Provisioner))},
		ui.Fact{Name: "Workspace", Value: ui.OptionalCode(d.Workspace.Dir)}, ui.Fact{Name: "Branch prefix", Value: ui.OptionalText(d.Workspace.Repo)},
		ui.Fact{Name: "Protected paths", Value: list(d.Guardrails.NoTouch)}, ui.Fact{Name: "Retired", Value: YesText(d.Retired)},
		ui.Fact{Name: "Journal", Value: said(ui.Count(d.Journal, "entry", "entries"))}, ui.Fact{Name: "Knowledge base", Value: said(ui.Count(d.KB, "file", "files"))},
		ui.Fact{Name: "SHA-256", Value: ui.OptionalCode(d.SHA256)}))
}

// repositories returns the repositories with their status, or as the manifest lists them before the install.
func repositories(d ecosystems.Description, st ecosystems.StatusAnswer) ui.Node {
	if st.Workspace == nil {
		var rows []ui.Node
		for _, r := range d.Repos {
			rows = append(rows, ui.Row(said(r.Name), mono(r.Branch), access(r.ReadOnly), mono(r.URL), said(map[bool]string{true: "enabled", false: "disabled"}[r.Enabled])))
		}
		return ui.Part("Repositories", ui.Notice(ui.Plain, ui.P(ui.Text("Not installed: the repositories are not cloned yet."))),
			ui.DataTable("Repositories", []string{"Repository", "Branch", "Access", "URL", "Status"}, rows, "No repositories."))
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
	return ui.Part("Repositories", ui.Facts(ui.Fact{Name: "Workspace", Value: ui.OptionalCode(w.Dir)}, ui.Fact{Name: "Workspace branch", Value: ui.OptionalCode(w.Branch)},
		ui.Fact{Name: "Status", Value: WithNote(RepoStatusBadges(w.Status), w.Problem)}, ui.Fact{Name: "Active ticket", Value: ui.OptionalText(FirstNonEmpty(ui.Deref(w.ActiveTicket), "none"))},
		ui.Fact{Name: "Note", Value: ui.OptionalText(st.Hint)}),
		ui.DataTable("Repositories", []string{"Repository", "Branch", "Commit", "Access", "Status", "Changes", "Ahead and behind"}, rows, "No repositories."))
}

func access(readonly bool) ui.Node {
	return said(map[bool]string{true: "read-only", false: "read and write"}[readonly])
}

// together adds the actions on all repositories.
func together(a *EcosystemPage, d ecosystems.Description, st ecosystems.StatusAnswer) {
	var cards ui.Group
	if st.Workspace == nil {
		cards = append(cards, ui.Card("Install", ui.P(ui.Text("Clones all repositories into a workspace, all or nothing.")),
			a.ActionForm("install", "Install", a.Name, ui.CheckboxField("install-push", "push", "Push the workspace branch afterwards", false))))
	} else {
		cards = append(cards,
			ui.Card("Sync", ui.P(ui.Text("Clones missing repositories and fast-forwards the others.")), a.ActionForm("sync", "Sync", a.Name, RepoCheckboxes("sync", "Sync", repoNames(d, false)))),
			ui.Card("Push", ui.P(ui.Text("Pushes the branches to their remotes, without uncommitted changes unless you commit them first.")),
				a.ActionForm("push", "Push", a.Name, ui.CheckboxField("push-all", "commit_all", "Commit all changes first", false),
					ui.Field("push-message", "message", "Commit message (optional)", ""), RepoCheckboxes("push", "Push", repoNames(d, true)))),
			ui.Card("Run command", a.ActionForm("exec", "Run", "a command in "+a.Name, commandFields(d), RepoCheckboxes("exec", "Run in", repoNames(d, false)))))
	}
	a.Add(ui.Part("Actions", ui.Div(ui.Class("grid"), cards)))
}

// commandFields returns the fields that choose a command.
func commandFields(d ecosystems.Description) ui.Node {
	var saved ui.Node
	if len(d.Commands) > 0 {
		choices := []ui.Choice{{Text: "None"}}
		for _, c := range d.Commands {
			choices = append(choices, ui.Choice{Value: c.Name, Text: ui.Printable(c.Name)})
		}
		saved = ui.SelectField("exec-saved", "saved", "Saved command", "", choices...)
	}
	return ui.Group{saved, ui.TextareaField("exec-command", "command", "Program and arguments, one per line", ""),
		ui.CheckboxField("exec-dirty", "dirty", "Only repositories with uncommitted changes", false), ui.Field("exec-changed", "changed", "Only repositories changed since (optional)", "")}
}
