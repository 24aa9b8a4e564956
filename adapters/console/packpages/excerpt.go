package packpages

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// ChunkKind is the kind of a Chunk.
type ChunkKind uint8

// The kinds.
const (
	BareSection  ChunkKind = iota // a section with neither anchors nor diagrams
	AnchorChunk                   // a ref
	DiagramChunk                  // a diagram
)

// Chunk is a part of a pack that the tool output counts: an anchor, a diagram, or a section without either.
type Chunk struct {
	Kind    ChunkKind
	Section int // its index in the pack
	Index   int // of the anchor or diagram in its section
}

// ungrouped is the group of anchors without one, as the tool sorts them.
const ungrouped = "ungrouped"

// Chunks lists a pack's chunks in the order of the tool: sections as stored, anchors by their groups' bytes, diagrams last.
func Chunks(p Pack) []Chunk {
	var out []Chunk
	for i, sec := range p.Sections {
		if len(sec.Refs)+len(sec.Diagrams) == 0 {
			out = append(out, Chunk{Kind: BareSection, Section: i})
		}
		first := len(out)
		for j := range sec.Refs {
			out = append(out, Chunk{AnchorChunk, i, j})
		}
		slices.SortStableFunc(out[first:], func(a, b Chunk) int {
			return cmp.Compare(cmp.Or(sec.Refs[a.Index].Group, ungrouped), cmp.Or(sec.Refs[b.Index].Group, ungrouped))
		})
		for j := range sec.Diagrams {
			out = append(out, Chunk{DiagramChunk, i, j})
		}
	}
	return out
}

// Excerpt is the current code of an anchor.
type Excerpt struct {
	Language string
	Text     string
	First    int // the number of its first line
	Standing AnchorStatus
	Note     string // what happened to it
	Missing  string // why there is no text
}

// ReadExcerpts finds the code of anchors in the document that the tool output makes of them: they stand next to each other in one section, and there is nothing else
// in the document. Anchors that it does not contain are omitted.
func ReadExcerpts(p Pack, run []Chunk, doc string) map[Chunk]Excerpt {
	out := map[Chunk]Excerpt{}
	// The free text of the section stands before the anchors, and nothing after an anchor's heading can look like it: the last one of its words is the real
	// one, whatever the text before says.
	for i := len(run) - 1; i >= 0; i-- {
		sec := p.Sections[run[i].Section]
		begin := strings.LastIndex(doc, "\n#### "+sec.Refs[run[i].Index].Key+" ["+sec.Key+"]\n")
		if begin < 0 {
			continue
		}
		out[run[i]] = readExcerpt(doc[begin+1:])
		doc = doc[:begin]
	}
	return out
}

// readExcerpt reads one anchor of the document: its heading, a note, and numbered lines in a fence.
func readExcerpt(doc string) Excerpt {
	e := Excerpt{Standing: Exact}
	var text strings.Builder
	fence := ""
	for l := range strings.Lines(doc) {
		words := strings.TrimSuffix(l, "\n")
		switch {
		case fence != "" && words == fence:
			e.Text = text.String()
			return e
		case fence != "":
			number, code, ok := strings.Cut(l, ": ")
			if n, err := strconv.Atoi(strings.TrimSpace(number)); !ok || err != nil {
				code = l
			} else if e.First == 0 {
				e.First = n
			}
			text.WriteString(code)
		case strings.HasPrefix(words, "> "):
			e.Note = strings.TrimPrefix(words, "> ")
			how, _, _ := strings.Cut(e.Note, " ref: ")
			e.Standing = AnchorStatus(how)
		case strings.HasPrefix(words, "```"):
			e.Language = strings.TrimLeft(words, "`")
			fence = strings.TrimSuffix(words, e.Language)
		case strings.HasPrefix(words, "## "), strings.HasPrefix(words, "### "): // the next one begins
			e.Missing = cmp.Or(e.Note, "no text available")
			return e
		}
	}
	e.Missing = cmp.Or(e.Note, "no text available")
	return e
}
