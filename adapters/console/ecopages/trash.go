package ecopages

import (
	"net/http"
	"time"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
)

// head is a branch that was taken away, and what of it is nowhere else.
type head struct {
	Repo     string `json:"repo"`
	Branch   string `json:"branch"`
	Head     string `json:"head"`
	Unpushed int    `json:"unpushed_commits"`
}

// stowed is a workspace in the trash.
type stowed struct {
	ID        string    `json:"trash_id"`
	Ecosystem string    `json:"ecosystem"`
	Why       string    `json:"why"`
	At        time.Time `json:"at"`
	Until     time.Time `json:"restorable_until"`
	Branches  []head    `json:"branches"`
}

// Trash shows what was taken away and can be brought back, and takes the workspace away.
func (s stages) Trash(w http.ResponseWriter, r *http.Request, v httpauth.Visitor) {
	a, ok := s.desk.Open(w, r, v)
	if !ok {
		return
	}
	var d struct{ Installed bool }
	var all struct {
		Trash    []stowed `json:"trash"`
		Archives []struct {
			ID      string   `json:"id"`
			File    string   `json:"archive_file"`
			Bundles []string `json:"bundles"`
		} `json:"archives"`
	}
	if !a.Need("amof_describe_ecosystem", nil, &d) || !a.Need("ecosystem_trash", nil, &all) {
		return
	}
	if d.Installed {
		a.Add(ui.Part("Put the workspace away", archive(a), discard(a)))
	}
	var entries, archives []ui.Node
	for _, t := range all.Trash {
		entries = append(entries, ui.Row(mono(t.ID), said(t.Why), ui.When(t.At), ui.When(t.Until), losses(t.Branches),
			ui.ActionForm(a.V, PagePath(a.Name, "restore"), "Restore", t.ID, ui.Hidden("trash_id", t.ID))))
	}
	for _, each := range all.Archives {
		archives = append(archives, ui.Row(mono(each.ID), mono(each.File), list(each.Bundles)))
	}
	a.Add(ui.Part("Trash", ui.P(ui.Text("A workspace that was archived or discarded can be brought back for seven days. "+a.Gate.Hint("ecosystem_restore"))),
		ui.DataTable("Trash", []string{"Entry", "Why", "Taken away", "Can be restored until", "Branches", "What can be done"}, entries, "The trash is empty.")),
		ui.Part("Archives", ui.DataTable("Archives", []string{"Archive", "Its file", "Bundles"}, archives, "Nothing was archived.")))
	a.Write("trash", liveRuns, liveCalls)
}

// losses are branches, and how many of their commits are nowhere else.
func losses(heads []head) ui.Node {
	if len(heads) == 0 {
		return ui.Text("none")
	}
	return ui.Ul(ui.Map(heads, func(h head) ui.Node {
		words := map[bool]string{true: ", " + ui.Count(h.Unpushed, "commit", "commits") + " pushed nowhere"}[h.Unpushed > 0]
		return ui.Li(said(h.Repo+" "), mono(h.Branch), ui.Text(" at "), mono(ShortID(h.Head)), said(words))
	}))
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
