package packpages

import (
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ui"
)

// AnchorStatus is the status of an anchor compared with the current source, in the words of the tool output.
type AnchorStatus string

// Exact is the status of anchors that the tool does not list.
const Exact AnchorStatus = "exact"

// AnchorStatuses returns all statuses, from exact to unreadable.
func AnchorStatuses() []AnchorStatus {
	return []AnchorStatus{Exact, "moved", "changed", "stale", "unreadable"}
}

// Word returns the status for users, and its tone.
func (s AnchorStatus) Word() (word, tone string) {
	switch s {
	case Exact:
		return "fresh", ui.Good
	case "moved":
		return "moved", ui.Warn
	case "stale":
		return "missing", ui.Bad
	}
	return string(s), ui.Bad
}

// Badge returns the badge of the status.
func (s AnchorStatus) Badge() ui.Node {
	word, tone := s.Word()
	return ui.Badge(tone, word)
}

// ChangedAnchor is an anchor that differs from the source.
type ChangedAnchor struct {
	Standing AnchorStatus
	Note     string // what happened to it
	Earlier  string // where its earlier text comes from, or why there is none
	Diff     string // earlier against now; empty when that is not known
}

// SourceDiff is the differences between a pack and the current source.
type SourceDiff struct {
	Counts map[AnchorStatus]int
	Masked int                      // secrets that are not shown
	refs   map[string]ChangedAnchor // by section::ref; those that are left out are exact
}

// Of returns the status of an anchor.
func (a SourceDiff) Of(section, ref string) ChangedAnchor {
	if d, ok := a.refs[section+"::"+ref]; ok {
		return d
	}
	return ChangedAnchor{Standing: Exact}
}

// Badges returns the counts that are not zero.
func (a SourceDiff) Badges() ui.Node {
	var out ui.Group
	for _, s := range AnchorStatuses() {
		if n := a.Counts[s]; n > 0 {
			word, tone := s.Word()
			out = append(out, ui.Badge(tone, strconv.Itoa(n)+" "+word), ui.Text(" "))
		}
	}
	if len(out) == 0 {
		return ui.Text("none")
	}
	return out
}

// ReadDiff reads the document of output diff. Everything of a pack stands in it on one line or in a fence that no line of the text can close, so that no
// text is taken for something else.
func ReadDiff(doc string) SourceDiff {
	a := SourceDiff{Counts: map[AnchorStatus]int{}, refs: map[string]ChangedAnchor{}}
	head, body, _ := strings.Cut(doc, "\n[CONTENT]\n")
	for l := range strings.Lines(head) {
		name, value, _ := strings.Cut(strings.TrimPrefix(strings.TrimSuffix(l, "\n"), "- "), ": ")
		n, err := strconv.Atoi(value)
		switch {
		case err != nil || !strings.HasPrefix(l, "- "):
		case name == "masked_secrets":
			a.Masked = n
		case name != "revision":
			a.Counts[AnchorStatus(name)] = n
		}
	}
	var name, fence string
	var now ChangedAnchor
	var diff strings.Builder
	keep := func() {
		if name != "" {
			now.Diff = diff.String()
			a.refs[name] = now
		}
		now, name = ChangedAnchor{}, ""
		diff.Reset()
	}
	for l := range strings.Lines(body) {
		text := strings.TrimSuffix(l, "\n")
		switch {
		case fence != "" && text == fence:
			fence = ""
		case fence != "":
			diff.WriteString(l)
		case strings.HasPrefix(text, "## "):
			keep()
			who, how, _ := strings.Cut(strings.TrimPrefix(text, "## "), " [")
			name, now.Standing = who, AnchorStatus(strings.TrimSuffix(how, "]"))
		case strings.HasPrefix(text, "> earlier text: "):
			now.Earlier = strings.TrimPrefix(text, "> earlier text: ")
		case strings.HasPrefix(text, "> "):
			now.Note = strings.TrimPrefix(text, "> ")
		case strings.HasPrefix(text, "```"):
			fence = strings.TrimSuffix(text, "diff")
		}
	}
	keep()
	return a
}

// Node returns the change of an anchor for users; nil if it is exact.
func (d ChangedAnchor) Node(name string) ui.Node {
	if d.Standing == Exact {
		return nil
	}
	_, tone := d.Standing.Word()
	var earlier ui.Node
	if d.Earlier != "" {
		earlier = ui.P(ui.Class("quiet"), ui.Text("Earlier text: "+ui.Printable(d.Earlier)))
	}
	var diff ui.Node
	if d.Diff != "" {
		diff = ui.Disclosure("Stored and current lines", true, ui.Diff(name+": stored and current lines", hunk(d.Diff)+ui.Printable(d.Diff)))
	}
	return ui.Group{ui.Notice(tone, ui.P(ui.OptionalText(d.Note)), earlier), diff}
}

// hunk returns the header of a diff with one hunk, so that each line is classified by its sign only.
func hunk(diff string) string {
	was, is := 0, 0
	for l := range strings.Lines(diff) {
		switch l[0] {
		case '-':
			was++
		case '+':
			is++
		default:
			was, is = was+1, is+1
		}
	}
	return "@@ -1," + strconv.Itoa(was) + " +1," + strconv.Itoa(is) + " @@\n"
}
