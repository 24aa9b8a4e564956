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

// told returns the note of the change, or its reason if it has no note.
func told(c present.Change) ui.Node {
	switch n := c.Note(); {
	case c.Adopts():
		return ui.Badge(ui.Bad, n)
	case n != "":
		return ui.Text(n)
	}
	return ui.Text(ui.Printable(c.Reason))
}

// badge returns the badge of the operation on the file.
func badge(c present.Change) ui.Node {
	tone := map[string]string{"create": ui.Good, "update": ui.Warn, "delete": ui.Bad}[c.Op]
	return ui.Badge(cmp.Or(tone, ui.Plain), c.Op)
}

// Plan is the plan of a deployment or rollback.
type Plan struct{ present.Plan }

// NewPlan returns a plan with only those changes.
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

// Preview is the data of the tool preview. Its diffs are in the order of their changes.
type Preview struct {
	Plan Plan `json:"plan"`
	Diff struct {
		Changes []present.Change `json:"changes"`
		Files   []File           `json:"files"`
	} `json:"diff"`
}

// Diffs returns the diffs by Change.Key, without those of other changes.
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

// origin returns the modules as text.
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

// Table returns the changes of a plan, one per row; origins may be nil.
func (p Plan) Table(caption string, origins map[string][]deployments.ExplainedModule) ui.Node {
	heads := []string{"Change", "Agent", "File"}
	notes := slices.ContainsFunc(p.Changes, func(c present.Change) bool { return c.Reason != "" || c.Note() != "" })
	if notes {
		heads = append(heads, "Notes")
	}
	if origins != nil {
		heads = append(heads, "Origin")
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
		more = ui.Notice(ui.Bad, ui.P(ui.Text(strconv.Itoa(p.Omitted)+" more changes are not listed; to list all of them, run countersign agents plan.")))
	}
	return ui.Group{ui.DataTable(caption, heads, rows, "No changes."), more}
}

// MaxLines is the maximum number of diff bytes on a page. Each diff line is an element, so the page is several times longer.
const MaxLines = 192 << 10

// Lines returns the changes of a plan with their diffs, open if there are few. If the page is full, alone returns a link to a page of one file.
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

// Size returns the number of bytes of the file's diff.
func (f File) Size() int {
	if f.Unified == nil {
		return 0
	}
	return len(*f.Unified)
}

// diff returns the diff of one change, or the reason why there is none.
func diff(c present.Change, diffs map[string]File) ui.Node {
	f, known := diffs[c.Key()]
	switch {
	case c.Op == "delete":
		return ui.P(ui.Class("quiet"), ui.Text("The file is deleted."))
	case !known || f.Unified == nil:
		return ui.P(ui.Class("quiet"), ui.Text("No diff: the file is too long, not text, or changed since. See the warnings on this page."))
	case *f.Unified == "":
		return ui.P(ui.Class("quiet"), ui.Text("Text unchanged: "+ui.Printable(c.Reason)+"."))
	}
	return ui.Diff("diff of "+ui.Printable(c.Path), ui.Printable(*f.Unified))
}
