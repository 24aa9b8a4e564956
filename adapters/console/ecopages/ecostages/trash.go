package ecostages

import (
	"net/http"
	"time"

	"github.com/countersign-dev/countersign/adapters/console/ecopages/ecodesk"
	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/page"
	"github.com/countersign-dev/countersign/adapters/console/sectionpage"
	"github.com/countersign-dev/countersign/adapters/httpguard"
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
func (s Stages) Trash(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
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
		a.Add(page.Part("Put the workspace away", archive(a), discard(a)))
	}
	var entries, archives []markup.Node
	for _, t := range all.Trash {
		entries = append(entries, page.Row(ecodesk.Mono(t.ID), ecodesk.Said(t.Why), page.When(t.At), page.When(t.Until), losses(t.Branches),
			page.Deed(a.V, ecodesk.At(a.Name, "restore"), "Restore", t.ID, page.Hidden("trash_id", t.ID))))
	}
	for _, each := range all.Archives {
		archives = append(archives, page.Row(ecodesk.Mono(each.ID), ecodesk.Mono(each.File), ecodesk.List(each.Bundles)))
	}
	a.Add(page.Part("Trash", markup.P(page.Text("A workspace that was archived or discarded can be brought back for seven days. "+a.Gate.Hint("ecosystem_restore"))),
		page.Table("Trash", []string{"Entry", "Why", "Taken away", "Can be restored until", "Branches", "What can be done"}, entries, "The trash is empty.")),
		page.Part("Archives", page.Table("Archives", []string{"Archive", "Its file", "Bundles"}, archives, "Nothing was archived.")))
	a.Write("trash", ecodesk.LiveRuns, ecodesk.LiveCalls)
}

// losses are branches, and how many of their commits are nowhere else.
func losses(heads []head) markup.Node {
	if len(heads) == 0 {
		return page.Text("none")
	}
	return markup.Ul(markup.Map(heads, func(h head) markup.Node {
		words := map[bool]string{true: ", " + sectionpage.Count(h.Unpushed, "commit", "commits") + " pushed nowhere"}[h.Unpushed > 0]
		return markup.Li(ecodesk.Said(h.Repo+" "), ecodesk.Mono(h.Branch), page.Text(" at "), ecodesk.Mono(ecodesk.Brief(h.Head)), ecodesk.Said(words))
	}))
}

func archive(a *ecodesk.About) markup.Node {
	return page.Card("Archive", markup.P(page.Text("Pushes everything, puts it on record, and removes the workspace. Nothing is removed before every commit is known to be elsewhere.")),
		a.Act("archive", "Archive", a.Name, page.Field("archive-message", "message", "Why, for the record", ""), page.Check("archive-workspace", "delete_workspace", "Delete the workspace's branch, too", false),
			page.Check("archive-features", "cleanup_features", "Delete the tickets' branches at the remotes, too, where they are merged", false),
			page.Check("archive-offline", "offline", "Push nothing; save everything in bundles on this machine", false)))
}

// discard lists what would be lost before it is asked for.
func discard(a *ecodesk.About) markup.Node {
	return page.Card("Discard", markup.P(page.Text("Removes the workspace, its tickets and their branches without pushing anything. What would be lost is listed before you confirm, by typing "),
		ecodesk.Mono(a.Name), page.Text(". It stays in the trash for seven days.")), a.Act("discard", "Discard", a.Name))
}
