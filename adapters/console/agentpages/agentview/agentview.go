// Package agentview is what the tools of deployments say, as Go values and for people: plans with what they would overwrite, diffs, drift, and snapshots.
//
// It refuses to leave out that there is more than is shown, and to call a file anybody's own that a deployment wrote.
package agentview

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/page"
	"github.com/countersign-dev/countersign/adapters/present/answers"
	"github.com/countersign-dev/countersign/domain/canon"
)

// told is the note, or else the reason of the change.
func told(c answers.Change) markup.Node {
	switch n := c.Note(); {
	case c.Adopts():
		return page.Badge(page.Bad, n)
	case n != "":
		return page.Text(n)
	}
	return page.Text(page.Printable(c.Reason))
}

// badge is what would happen to the file.
func badge(c answers.Change) markup.Node {
	tone := map[string]string{"create": page.Good, "update": page.Warn, "delete": page.Bad}[c.Op]
	return page.Badge(cmp.Or(tone, page.Plain), c.Op)
}

// Plan is what a deployment, or a way back, would change.
type Plan struct{ answers.Plan }

// Of is a plan of those changes alone.
func Of(changes []answers.Change) Plan { return Plan{answers.Plan{Changes: changes}} }

// Mark names a plan by all that is shown of it: whoever decides about it says so with its mark.
func (p Plan) Mark() string {
	return mark(struct {
		Changes []answers.Change `json:"changes"`
		Omitted int              `json:"omitted"`
		Summary answers.Summary  `json:"summary"`
	}{p.Changes, p.Omitted, p.Summary})
}

// mark names what was shown; nothing, when that cannot be told, which fits nothing.
func mark(shown any) string {
	sum, err := canon.Sum("console.shown.v1", shown)
	if err != nil {
		return ""
	}
	return sum.Hex()
}

// File is one file of a preview with its diff. Unified is nil where there is no text to show.
type File struct {
	Op      string  `json:"op"`
	Unified *string `json:"unified"`
}

// Preview is the data of the tool preview. Its diffs stand in the order of their changes.
type Preview struct {
	Plan Plan `json:"plan"`
	Diff struct {
		Changes []answers.Change `json:"changes"`
		Files   []File           `json:"files"`
	} `json:"diff"`
}

// Diffs are the diffs by Change.Key, as far as they are those of these very changes.
func (p Preview) Diffs(changes []answers.Change) map[string]File {
	same := make(map[string]string, len(changes))
	for _, c := range changes {
		same[c.Key()] = mark(c)
	}
	out := map[string]File{}
	for i, c := range p.Diff.Changes {
		if i < len(p.Diff.Files) && same[c.Key()] == mark(c) {
			out[c.Key()] = p.Diff.Files[i]
		}
	}
	return out
}

// Module is where a file, or a part of it, comes from. What is not known of a module that is gone is nil.
type Module struct {
	ID    string  `json:"module_id"`
	Type  *string `json:"module_type"`
	Layer *string `json:"layer"`
	Path  *string `json:"module_path"`
}

// Explained is the data of the tool explain of a plan.
type Explained struct {
	Changes []struct {
		answers.Change
		Modules []Module `json:"modules"`
	} `json:"changes"`
}

// Origins are the modules of each change, by Change.Key.
func (e Explained) Origins() map[string][]Module {
	out := map[string][]Module{}
	for _, c := range e.Changes {
		out[c.Key()] = c.Modules
	}
	return out
}

// Origin is modules for people.
func Origin(modules []Module) markup.Node {
	var out markup.Group
	for i, m := range modules {
		if i > 0 {
			out = append(out, markup.Br())
		}
		out = append(out, page.Code(page.Printable(m.ID)))
		if m.Layer != nil {
			out = append(out, markup.Span(markup.Class("quiet"), page.Text(" from "+page.Printable(*m.Layer))))
		}
	}
	return out
}

// Table is the changes of a plan, one a line; origins may be nil.
func (p Plan) Table(caption string, origins map[string][]Module) markup.Node {
	heads := []string{"Change", "Agent", "File"}
	notes := slices.ContainsFunc(p.Changes, func(c answers.Change) bool { return c.Reason != "" || c.Note() != "" })
	if notes {
		heads = append(heads, "What to know")
	}
	if origins != nil {
		heads = append(heads, "Comes from")
	}
	rows := make([]markup.Node, len(p.Changes))
	for i, c := range p.Changes {
		cells := []markup.Node{badge(c), page.Text(page.Printable(c.Target)), page.Code(page.Printable(c.Path))}
		if notes {
			cells = append(cells, told(c))
		}
		if origins != nil {
			cells = append(cells, Origin(origins[c.Key()]))
		}
		rows[i] = page.Row(cells...)
	}
	var more markup.Node
	if p.Omitted > 0 {
		more = page.Notice(page.Bad, markup.P(page.Text(strconv.Itoa(p.Omitted)+" more changes are too many to be listed here; countersign agents plan lists all of them.")))
	}
	return markup.Group{page.Table(caption, heads, rows, "Everything is as it should be."), more}
}

// MaxLines is how many bytes of diffs a page holds. Every line of a diff is an element of the page, so that pages are several times as long.
const MaxLines = 192 << 10

// Lines are the changes of a plan with every line of them. They are open when there are few. Where the page is full, alone leads to a page of that file.
func (p Plan) Lines(diffs map[string]File, alone func(answers.Change) markup.Node) markup.Node {
	const few = 8
	var out markup.Group
	left := MaxLines
	for _, c := range p.Changes {
		title := c.Op + " " + page.Printable(c.Path) + " (" + page.Printable(c.Target) + ")"
		if n := c.Note(); n != "" {
			title += ": " + n
		}
		size := diffs[c.Key()].Size()
		if size > left && left < MaxLines {
			out = append(out, markup.P(page.Text(title+": "), alone(c)))
			continue
		}
		left -= size
		out = append(out, page.Fold(title, len(p.Changes) <= few, Diff(c, diffs)))
	}
	return out
}

// Size is how many bytes the file's diff has.
func (f File) Size() int {
	if f.Unified == nil {
		return 0
	}
	return len(*f.Unified)
}

// Diff is the diff of one change, or why there is none.
func Diff(c answers.Change, diffs map[string]File) markup.Node {
	f, known := diffs[c.Key()]
	switch {
	case c.Op == "delete":
		return markup.P(markup.Class("quiet"), page.Text("The file is deleted."))
	case !known || f.Unified == nil:
		return markup.P(markup.Class("quiet"), page.Text("There is no text to show: it is too long, no text, or has changed meanwhile. The warnings on this page say more."))
	case *f.Unified == "":
		return markup.P(markup.Class("quiet"), page.Text("Its text stays as it is: "+page.Printable(c.Reason)+"."))
	}
	return page.Diff("diff of "+page.Printable(c.Path), page.Printable(*f.Unified))
}
