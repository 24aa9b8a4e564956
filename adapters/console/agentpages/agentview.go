package agentpages

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/app/deployments"
	"github.com/countersign-dev/countersign/domain/canon"
)

// told is the note, or else the reason of the change.
func told(c present.Change) ui.Node {
	switch n := c.Note(); {
	case c.Adopts():
		return ui.Badge(ui.Bad, n)
	case n != "":
		return ui.Text(n)
	}
	return ui.Text(ui.Printable(c.Reason))
}

// badge is what would happen to the file.
func badge(c present.Change) ui.Node {
	tone := map[string]string{"create": ui.Good, "update": ui.Warn, "delete": ui.Bad}[c.Op]
	return ui.Badge(cmp.Or(tone, ui.Plain), c.Op)
}

// Plan is what a deployment, or a way back, would change.
type Plan struct{ present.Plan }

// NewPlan is a plan of those changes alone.
func NewPlan(changes []present.Change) Plan { return Plan{present.Plan{Changes: changes}} }

// Unedited returns the plan without unmanaged and modified files.
func (p Plan) Unedited() Plan {
	own := map[string]bool{}
	for _, c := range p.Adoptions() {
		own[c.Path] = true
	}
	rest := NewPlan([]present.Change{})
	for _, c := range p.Changes {
		if own[c.Path] {
			continue
		}
		rest.Changes = append(rest.Changes, c)
		switch c.Op {
		case "create":
			rest.Summary.Create++
		case "update":
			rest.Summary.Update++
		case "delete":
			rest.Summary.Delete++
		}
	}
	return rest
}

// Mark returns a hash of everything shown of a plan: a decision about it contains the mark.
func (p Plan) Mark() string {
	return mark(struct {
		Changes []present.Change `json:"changes"`
		Omitted int              `json:"omitted"`
		Summary present.Summary  `json:"summary"`
	}{p.Changes, p.Omitted, p.Summary})
}

// mark returns the mark of what was shown; empty, which matches nothing, if it cannot be computed.
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
		Changes []present.Change `json:"changes"`
		Files   []File           `json:"files"`
	} `json:"diff"`
}

// Diffs are the diffs by Change.Key, as far as they are those of these very changes.
func (p Preview) Diffs(changes []present.Change) map[string]File {
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

// origins returns the modules of each change, by Change.Key.
func origins(e deployments.ExplainData) map[string][]deployments.ExplainedModule {
	out := map[string][]deployments.ExplainedModule{}
	for _, c := range e.Changes {
		out[fileKey(c.Target, c.Path)] = c.Modules
	}
	return out
}

// origin is modules for people.
func origin(modules []deployments.ExplainedModule) ui.Node {
	var out ui.Group
	for i, m := range modules {
		if i > 0 {
			out = append(out, ui.Br())
		}
		out = append(out, ui.InlineCode(ui.Printable(m.ModuleID)))
		if m.Layer != nil {
			out = append(out, ui.Span(ui.Class("quiet"), ui.Text(" from "+ui.Printable(*m.Layer))))
		}
	}
	return out
}

// Table is the changes of a plan, one a line; origins may be nil.
func (p Plan) Table(caption string, origins map[string][]deployments.ExplainedModule) ui.Node {
	heads := []string{"Change", "Agent", "File"}
	notes := slices.ContainsFunc(p.Changes, func(c present.Change) bool { return c.Reason != "" || c.Note() != "" })
	if notes {
		heads = append(heads, "What to know")
	}
	if origins != nil {
		heads = append(heads, "Comes from")
	}
	rows := make([]ui.Node, len(p.Changes))
	for i, c := range p.Changes {
		cells := []ui.Node{badge(c), ui.Text(ui.Printable(c.Target)), ui.InlineCode(ui.Printable(c.Path))}
		if notes {
			cells = append(cells, told(c))
		}
		if origins != nil {
			cells = append(cells, origin(origins[c.Key()]))
		}
		rows[i] = ui.Row(cells...)
	}
	var more ui.Node
	if p.Omitted > 0 {
		more = ui.Notice(ui.Bad, ui.P(ui.Text(strconv.Itoa(p.Omitted)+" more changes are too many to be listed here; countersign agents plan lists all of them.")))
	}
	return ui.Group{ui.DataTable(caption, heads, rows, "Everything is as it should be."), more}
}

// MaxLines is how many bytes of diffs a page holds. Every line of a diff is an element of the page, so that pages are several times as long.
const MaxLines = 192 << 10

// Lines are the changes of a plan with every line of them. They are open when there are few. Where the page is full, alone leads to a page of that file.
func (p Plan) Lines(diffs map[string]File, alone func(present.Change) ui.Node) ui.Node {
	const few = 8
	var out ui.Group
	left := MaxLines
	for _, c := range p.Changes {
		title := c.Op + " " + ui.Printable(c.Path) + " (" + ui.Printable(c.Target) + ")"
		if n := c.Note(); n != "" {
			title += ": " + n
		}
		size := diffs[c.Key()].Size()
		if size > left && left < MaxLines {
			out = append(out, ui.P(ui.Text(title+": "), alone(c)))
			continue
		}
		left -= size
		out = append(out, ui.Disclosure(title, len(p.Changes) <= few, diff(c, diffs)))
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

// diff is the diff of one change, or why there is none.
func diff(c present.Change, diffs map[string]File) ui.Node {
	f, known := diffs[c.Key()]
	switch {
	case c.Op == "delete":
		return ui.P(ui.Class("quiet"), ui.Text("The file is deleted."))
	case !known || f.Unified == nil:
		return ui.P(ui.Class("quiet"), ui.Text("There is no text to show: it is too long, no text, or has changed meanwhile. The warnings on this page say more."))
	case *f.Unified == "":
		return ui.P(ui.Class("quiet"), ui.Text("Its text stays as it is: "+ui.Printable(c.Reason)+"."))
	}
	return ui.Diff("diff of "+ui.Printable(c.Path), ui.Printable(*f.Unified))
}
