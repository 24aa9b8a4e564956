package packpages

import (
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ui"
)

// Standing is how an anchor relates to the source as it is now, in the words of the tool output.
type Standing string

// Exact is the standing of an anchor that nothing else is said of.
const Exact Standing = "exact"

// Standings are all there are, the best first.
func Standings() []Standing { return []Standing{Exact, "moved", "changed", "stale", "unreadable"} }

// Word is the standing for people, and its tone.
func (s Standing) Word() (word, tone string) {
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

// Badge is the standing as a badge.
func (s Standing) Badge() ui.Node {
	word, tone := s.Word()
	return ui.Badge(tone, word)
}

// Drifted is an anchor that is not as it was.
type Drifted struct {
	Standing Standing
	Note     string // what happened to it
	Earlier  string // where its earlier text comes from, or why there is none
	Diff     string // earlier against now; empty when that is not known
}

// Against is a pack against its source as it is now.
type Against struct {
	Counts map[Standing]int
	Masked int                // secrets that are not shown
	refs   map[string]Drifted // by section::ref; those that are left out are exact
}

// Of is how the anchor stands.
func (a Against) Of(section, ref string) Drifted {
	if d, ok := a.refs[section+"::"+ref]; ok {
		return d
	}
	return Drifted{Standing: Exact}
}

// Badges are the counts that are not zero.
func (a Against) Badges() ui.Node {
	var out ui.Group
	for _, s := range Standings() {
		if n := a.Counts[s]; n > 0 {
			word, tone := s.Word()
			out = append(out, ui.Badge(tone, strconv.Itoa(n)+" "+word), ui.PageText(" "))
		}
	}
	if len(out) == 0 {
		return ui.PageText("none")
	}
	return out
}

// ReadDiff reads the document of output diff. Everything of a pack stands in it on one line or in a fence that no line of the text can close, so that no
// text is taken for something else.
func ReadDiff(doc string) Against {
	a := Against{Counts: map[Standing]int{}, refs: map[string]Drifted{}}
	head, body, _ := strings.Cut(doc, "\n[CONTENT]\n")
	for l := range strings.Lines(head) {
		name, value, _ := strings.Cut(strings.TrimPrefix(strings.TrimSuffix(l, "\n"), "- "), ": ")
		n, err := strconv.Atoi(value)
		switch {
		case err != nil || !strings.HasPrefix(l, "- "):
		case name == "masked_secrets":
			a.Masked = n
		case name != "revision":
			a.Counts[Standing(name)] = n
		}
	}
	var name, fence string
	var now Drifted
	var diff strings.Builder
	keep := func() {
		if name != "" {
			now.Diff = diff.String()
			a.refs[name] = now
		}
		now, name = Drifted{}, ""
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
			name, now.Standing = who, Standing(strings.TrimSuffix(how, "]"))
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

// Node is what happened to an anchor, for people: what it was and what it is.
func (d Drifted) Node(name string) ui.Node {
	if d.Standing == Exact {
		return nil
	}
	_, tone := d.Standing.Word()
	var earlier ui.Node
	if d.Earlier != "" {
		earlier = ui.P(ui.Class("quiet"), ui.PageText("Earlier text: "+ui.Printable(d.Earlier)))
	}
	var diff ui.Node
	if d.Diff != "" {
		diff = ui.Fold("What it was, and what it is now", true, ui.Diff(name+": what it was and is", hunk(d.Diff)+ui.Printable(d.Diff)))
	}
	return ui.Group{ui.Notice(tone, ui.P(ui.SectionText(d.Note)), earlier), diff}
}

// hunk is the head of a diff that is one hunk, so that no line of it is taken for anything but what its sign says.
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
