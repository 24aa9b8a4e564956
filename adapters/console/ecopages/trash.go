package ecopages

import (
	"net/http"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/app/ecosystems"
	"github.com/countersign-dev/countersign/app/ecosystems/push"
)

// Trash shows what was taken away and can be brought back, and takes the workspace away.
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
	if d.Installed {
		a.Add(ui.Part("Put the workspace away", archive(a), discard(a)))
	}
	var entries, archives []ui.Node
	for _, t := range all.Trash {
		entries = append(entries, ui.Row(mono(t.ID), said(t.Why), ui.When(t.At), ui.When(t.Until), unsavedCommits(t),
			ui.ActionForm(a.V, PagePath(a.Name, "restore"), "Restore", t.ID, ui.Hidden("trash_id", t.ID))))
	}
	for _, each := range all.Archives {
		archives = append(archives, ui.Row(mono(each.ID), mono(each.File), list(each.Bundles)))
	}
	a.Add(ui.Part("Trash", ui.P(ui.Text("A workspace that was archived or discarded can be brought back for seven days. "+a.Gate.Hint("ecosystem_restore"))),
		ui.DataTable("Trash", []string{"Entry", "Why", "Taken away", "Can be restored until", "Branches", "Actions"}, entries, "The trash is empty.")),
		ui.Part("Archives", ui.DataTable("Archives", []string{"Archive", "Its file", "Bundles"}, archives, "Nothing was archived.")))
	a.Write("trash", liveRuns, liveCalls)
}

// unsavedCommits returns the branches of an entry, and how many of their commits are nowhere else.
func unsavedCommits(t push.TrashItem) ui.Node {
	if len(t.Branches) == 0 {
		return ui.Text("none")
	}
	var rows ui.Group
	for _, h := range t.Branches {
		words := map[bool]string{true: ", " + ui.Count(h.Unpushed, "commit", "commits") + " pushed nowhere"}[h.Unpushed > 0]
		rows = append(rows, ui.Li(said(h.Repo+" "), mono(h.Branch), ui.Text(" at "), mono(ShortID(h.Head)), said(words)))
	}
	return ui.Ul(rows)
}

func archive(a *EcosystemPage) ui.Node {
	return ui.Card("Archive", ui.P(ui.Text("Pushes everything, puts it on record, and removes the workspace. Nothing is removed before every commit is known to be elsewhere.")),
		a.ActionForm("archive", "Archive", a.Name, ui.Field("archive-message", "message", "Why, for the record", ""), ui.CheckboxField("archive-workspace", "delete_workspace", "Delete the workspace's branch, too", false),
			ui.CheckboxField("archive-features", "cleanup_features", "Delete the tickets' branches at the remotes, too, where they are merged", false),
			ui.CheckboxField("archive-offline", "offline", "Push nothing; save everything in bundles on this machine", false)))
}

// discard lists what would be lost before it is asked for.
func discard(a *EcosystemPage) ui.Node {
	return ui.Card("Discard", ui.P(ui.Text("Removes the workspace, its tickets and their branches without pushing anything. What would be lost is listed before you confirm, by typing "),
		mono(a.Name), ui.Text(". It stays in the trash for seven days.")), a.ActionForm("discard", "Discard", a.Name))
}
