package ecopages

import (
	"net/http"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/app/ecosystems"
	"github.com/countersign-dev/countersign/app/ecosystems/push"
)

// Trash shows the trash and the archives, and the forms that archive and discard the workspace.
func (s stages) Trash(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	a, ok := s.base.Open(w, r, v)
	if !ok {
		return
	}
	var d ecosystems.Description
	var all push.TrashList
	if !a.Need(ecosystems.Describe.Name, nil, &d) || !a.Need(push.Trash.Name, nil, &all) {
		return
	}
	var entries, archives []ui.Node
	for _, t := range all.Trash {
		entries = append(entries, ui.Row(mono(t.ID), said(t.Why), ui.When(t.At), ui.When(t.Until), unsavedCommits(t),
			ui.ActionForm(a.V, PagePath(a.Name, "restore"), "Restore", t.ID, ui.Hidden("trash_id", t.ID))))
	}
	for _, each := range all.Archives {
		archives = append(archives, ui.Row(mono(each.ID), mono(each.File), list(each.Bundles)))
	}
	a.Add(ui.Part("Trash", ui.P(ui.Text("You can restore an archived or discarded workspace for 7 days.")), a.Gate.hint("ecosystem_restore"),
		ui.DataTable("Trash", []string{"Entry", "Reason", "Removed", "Restore until", "Branches", "Actions"}, entries, "The trash is empty.")),
		ui.Part("Archives", ui.DataTable("Archives", []string{"Archive", "File", "Bundles"}, archives, "No archives.")))
	if d.Installed {
		a.Add(ui.DangerPanel("Archive or discard", archive(a), discard(a)))
	}
	a.Write("trash", liveRuns, liveCalls)
}

// unsavedCommits returns the branches of an entry with their numbers of unpushed commits.
func unsavedCommits(t push.TrashItem) ui.Node {
	if len(t.Branches) == 0 {
		return ui.Text("none")
	}
	var rows ui.Group
	for _, h := range t.Branches {
		words := map[bool]string{true: ", " + ui.Count(h.Unpushed, "unpushed commit", "unpushed commits")}[h.Unpushed > 0]
		rows = append(rows, ui.Li(said(h.Repo+" "), mono(h.Branch), ui.Text(" at "), mono(ShortID(h.Head)), said(words)))
	}
	return ui.Ul(rows)
}

// archive returns the form that archives the workspace.
func archive(a *EcosystemPage) ui.Node {
	return ui.Group{ui.H3(ui.Text("Archive")), ui.P(ui.Text("Pushes all commits, records the workspace and removes it. Nothing is removed until all commits are saved elsewhere.")),
		a.ActionForm("archive", "Archive", a.Name, ui.Field("archive-message", "message", "Reason (optional)", ""), ui.CheckboxField("archive-workspace", "delete_workspace", "Also delete the workspace branch", false),
			ui.CheckboxField("archive-features", "cleanup_features", "Also delete merged ticket branches on the remotes", false),
			ui.CheckboxField("archive-offline", "offline", "Save commits in bundles on this machine instead of pushing", false))}
}

// discard returns the form that discards the workspace.
func discard(a *EcosystemPage) ui.Node {
	return ui.Group{ui.H3(ui.Text("Discard")), ui.P(ui.Text("Removes the workspace, its tickets and their branches without pushing. The plan lists what would be lost. To approve, you type "),
		mono(a.Name), ui.Text(". The workspace stays in the trash for 7 days.")), a.ActionForm("discard", "Discard", a.Name)}
}
