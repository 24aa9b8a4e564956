package pack

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// ungrouped is where refs without a group are shown.
const ungrouped = "ungrouped"

type kind uint8

const (
	bare     kind = iota // a section with neither refs nor diagrams
	aRef                 // index counts in the order of State.Refs
	aDiagram             // index counts in its section
)

// chunk is the unit of paging: a ref, a diagram, or a section that has neither.
type chunk struct {
	kind    kind
	section int
	index   int
	ref     int // of a ref: its index in its section
	group   string
}

// chunks lists a pack's chunks in the order they are written: sections as stored, groups by their bytes, refs as stored, diagrams last.
func chunks(s State) []chunk {
	var out []chunk
	next := 0
	for i, sec := range s.Sections {
		if len(sec.Refs)+len(sec.Diagrams) == 0 {
			out = append(out, chunk{kind: bare, section: i})
		}
		first := len(out)
		for j, r := range sec.Refs {
			group := ungrouped
			if r.Group != "" {
				group = string(r.Group)
			}
			out = append(out, chunk{kind: aRef, section: i, index: next, ref: j, group: group})
			next++
		}
		slices.SortStableFunc(out[first:], func(a, b chunk) int { return cmp.Compare(a.group, b.group) })
		for j := range sec.Diagrams {
			out = append(out, chunk{kind: aDiagram, section: i, index: j})
		}
	}
	return out
}

// piece is a chunk as text: head holds the headings that come before it, body the rest.
type piece struct {
	chunk
	head, body string
	masked     int
}

// pieces writes every chunk that matches. A heading belongs to the first chunk under it, so that pages put together are the whole.
func (s Shown) pieces(o Options) []piece {
	var out []piece
	last := chunk{section: -1}
	page := page{from: 0, to: 1 << 30}
	all := chunks(s.State)
	if o.Match == nil {
		page = o.slice(len(all))
	}
	for i, c := range all {
		p := piece{chunk: c}
		if i >= page.from && i < page.to {
			p.body = s.body(c, o.View)
		}
		if o.Match != nil && !o.Match.MatchString(s.matchable(c, p.body)) {
			continue
		}
		if c.kind == aRef && o.View != ViewCompact {
			e, _ := standing(s.State.Sections[c.section].Refs[c.ref], s.Evidence[c.index])
			p.masked = e.Masked
		}
		p.head = s.head(last, c, o.View)
		last = c
		out = append(out, p)
	}
	return out
}

// matchable returns the text that a pattern is matched with: for a section without parts only its heading.
func (s Shown) matchable(c chunk, body string) string {
	if c.kind == bare {
		return s.sectionHead(c.section, ViewFull)
	}
	return body
}

// head returns the headings that c needs after last.
func (s Shown) head(last, c chunk, v View) string {
	var b strings.Builder
	same := last.section == c.section
	if !same {
		b.WriteString(s.sectionHead(c.section, v))
	}
	switch {
	case v == ViewCompact:
		if !same && c.kind != bare {
			b.WriteString("\n")
		}
	case c.kind == aRef && (!same || last.kind != aRef || last.group != c.group):
		b.WriteString("\n### group: " + OneLine(c.group) + "\n")
	case c.kind == aDiagram && (!same || last.kind != aDiagram):
		b.WriteString("\n### Diagrams\n")
	}
	return b.String()
}

// compactDescription is how many runes of a description the compact view keeps.
const compactDescription = 240

func (s Shown) sectionHead(i int, v View) string {
	sec := s.State.Sections[i]
	out := "\n## " + OneLine(sec.Title) + " [" + string(sec.Key) + "]\n"
	switch {
	case sec.Description == "":
		return out
	case v == ViewCompact:
		return out + "\n" + shorten(OneLine(string(sec.Description)), compactDescription) + "\n"
	}
	return out + "\n" + block(string(sec.Description)) + "\n"
}

func (s Shown) body(c chunk, v View) string {
	sec := s.State.Sections[c.section]
	switch {
	case c.kind == aRef && v == ViewCompact:
		return compactRef(sec.Refs[c.ref], s.Evidence[c.index])
	case c.kind == aRef:
		return fullRef(sec, sec.Refs[c.ref], s.Evidence[c.index])
	case c.kind == aDiagram && v == ViewCompact:
		d := sec.Diagrams[c.index]
		return "- diagram " + string(d.Key) + " — " + OneLine(d.Title) + because(d.Why) + "\n"
	case c.kind == aDiagram:
		return fullDiagram(sec.Diagrams[c.index])
	}
	return ""
}

func fullDiagram(d Diagram) string {
	var b strings.Builder
	b.WriteString("\n#### " + OneLine(d.Title) + "\n")
	if d.Why != "" {
		b.WriteString("_" + OneLine(string(d.Why)) + "_\n\n")
	}
	f := fence(d.Mermaid)
	b.WriteString(f + "mermaid\n" + d.Mermaid + "\n" + f + "\n")
	return b.String()
}

func fullRef(sec Section, r Ref, e Evidence) string {
	e, note := standing(r, e)
	var b strings.Builder
	b.Grow(128 + 2*len(r.Key) + len(sec.Key) + len(r.Title) + len(r.Path) + len(r.Why) + len(r.Commit) + len(note) + excerptSize(e))
	b.WriteString("\n#### " + string(r.Key) + " [" + string(sec.Key) + "]\n")
	if r.Title != "" {
		b.WriteString("**" + OneLine(string(r.Title)) + "**\n\n")
	}
	b.WriteString("- path: " + OneLine(string(r.Path)) + "\n- lines: " + e.Lines.String() + "\n")
	if r.Why != "" {
		b.WriteString("- why: " + OneLine(string(r.Why)) + "\n")
	}
	if r.Root != "" {
		b.WriteString("- root: " + string(r.Root) + "\n")
	}
	if r.Commit != "" {
		b.WriteString("- commit: " + string(r.Commit) + "\n")
	}
	if note != "" {
		b.WriteString("\n> " + OneLine(note) + "\n")
	}
	if e.Text != nil {
		b.WriteString("\n")
		renderExcerpt(&b, Language(string(r.Path)), e)
	}
	return b.String()
}

// standing returns what to show of a ref and its note, empty for an unchanged one. Text kept when the pack was finalized replaces text that is gone
// or changed.
func standing(r Ref, e Evidence) (Evidence, string) {
	kept := ""
	shown := e
	if n := r.Snapshot; n != nil && e.Standing < RefMoved {
		shown.Lines, shown.Text, shown.Masked = n.Lines, n.TextLines(), n.Masked
		kept = "; shown as it was when the pack was finalized"
	}
	switch e.Standing {
	case RefExact:
		return shown, ""
	case RefMoved:
		return shown, fmt.Sprintf("moved ref: anchored at lines %s, found unchanged at %s", r.Lines, e.Lines)
	case RefChanged:
		if kept == "" {
			kept = "; shown as they are now"
		}
		return shown, fmt.Sprintf("changed ref: lines %s no longer hold the anchored text%s", r.Lines, kept)
	case RefStale:
		return shown, "stale ref: " + e.Reason + kept
	}
	return shown, "unreadable ref: " + e.Reason + kept
}

func compactRef(r Ref, e Evidence) string {
	out := "- " + string(r.Key)
	if r.Title != "" {
		out += " — " + OneLine(string(r.Title))
	}
	out += " (" + place(r, e.Lines) + ")" + because(r.Why)
	if e.Standing != RefExact {
		out += " [" + e.Standing.String() + "]"
	}
	return out + "\n"
}

// place returns root:path:start-end, without root for the default one.
func place(r Ref, l LineRange) string {
	out := OneLine(string(r.Path)) + ":" + l.String()
	if r.Root != "" {
		out = string(r.Root) + ":" + out
	}
	return out
}

func because(why Optional) string {
	if why == "" {
		return ""
	}
	return ": " + OneLine(string(why))
}
