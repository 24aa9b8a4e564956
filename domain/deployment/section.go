package deployment

import (
	"strings"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/domain/fault"
)

// ErrFormat is returned for text whose marks do not pair up or are ambiguous; its message names the lines.
var ErrFormat = fault.New(fault.Invalid, "section_invalid", "the section marks in the text do not match; restore them, or remove them")

// Section is the part of one module in an aggregated file.
type Section struct {
	ID   string // of the module
	Text string // with its original line endings
}

// The lines around a section, and what separates two sections (agentpack contract §2.8).
const (
	startPrefix = "<!-- agentpack:module="
	startSuffix = "-->"
	endMark     = "<!-- /agentpack -->"
	separator   = "\n\n---\n\n"
)

// JoinSections returns one text made of sections, in the given order: a single one is its text, unchanged; two or more have marks around them, and
// the text ends with a mark, without a line feed (agentpack contract §2.8). ParseSections restores two or more, each text with a final line feed,
// unless one of the texts HasSectionMarks.
func JoinSections(sections []Section) string {
	if len(sections) == 1 {
		return sections[0].Text
	}
	var b strings.Builder
	for i, s := range sections {
		if i > 0 {
			b.WriteString(separator)
		}
		b.WriteString(startPrefix + s.ID + " " + startSuffix + "\n" + s.Text)
		if !strings.HasSuffix(s.Text, "\n") {
			b.WriteByte('\n')
		}
		b.WriteString(endMark)
	}
	return b.String()
}

// HasSectionMarks reports whether ParseSections would read some line of text as a mark, so that a section with this text could not be restored.
func HasSectionMarks(text string) bool {
	for line := range strings.Lines(text) {
		if _, starts := startOf(line); starts || ends(line) {
			return true
		}
	}
	return false
}

// ParseSections returns the sections in text, in order; what is outside is ignored, and a text without marks has none (agentpack contract §2.8). It
// fails with ErrFormat for text that is not UTF-8, a section inside another one, a second section with the same id and a section without an end.
func ParseSections(text string) ([]Section, error) {
	if !utf8.ValidString(text) {
		return nil, ErrFormat.WithMessage("the text is not valid UTF-8, so its sections cannot be read")
	}
	var sections []Section
	lines := map[string]int{} // of the start marks, by id
	open, begin, offset, number, near := false, 0, 0, 0, 0
	for line := range strings.Lines(text) {
		number++
		at := offset
		offset += len(line)
		id, starts := startOf(line)
		switch {
		case starts && open && near > 0:
			return nil, besideEnd(near, sections[len(sections)-1].ID)
		case starts && open:
			last := sections[len(sections)-1].ID
			return nil, ErrFormat.WithMessage("line %d begins section %q inside section %q, which began at line %d and has no end (%s)", number, id, last, lines[last], endMark)
		case starts && lines[id] > 0:
			return nil, ErrFormat.WithMessage("line %d begins section %q, which already begins at line %d; keep one of them", number, id, lines[id])
		case starts:
			sections = append(sections, Section{ID: id})
			open, begin, lines[id], near = true, offset, number, 0
		case open && ends(line):
			sections[len(sections)-1].Text = text[begin:at]
			open = false
		case open && near == 0 && strings.HasPrefix(strings.TrimSpace(line), endMark):
			near = number
		}
	}
	if open && near > 0 {
		return nil, besideEnd(near, sections[len(sections)-1].ID)
	}
	if open {
		last := sections[len(sections)-1].ID
		return nil, ErrFormat.WithMessage("section %q, which begins at line %d, has no end; add the line %s after it", last, lines[last], endMark)
	}
	return sections, nil
}

// besideEnd returns what is wrong with the end of a section to which text was appended, because the last section of a file ends without a line feed.
func besideEnd(line int, id string) error {
	return ErrFormat.WithMessage("line %d has other text after %s, which ends section %q; put the mark on a separate line", line, endMark, id)
}

// SectionPlaces describes between which marks of an aggregated file the texts of these modules are.
func SectionPlaces(ids []string) string {
	marks := make([]string, len(ids))
	for i, id := range ids {
		marks[i] = startPrefix + id + " " + startSuffix
	}
	return "behind " + strings.Join(marks, " or ") + " and before the next " + endMark
}

// startOf returns the id in a line that begins a section.
func startOf(line string) (id string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), startPrefix)
	if !ok {
		return "", false
	}
	rest, ok = strings.CutSuffix(rest, startSuffix)
	id = strings.TrimSpace(rest)
	return id, ok && id != ""
}

func ends(line string) bool { return strings.TrimSpace(line) == endMark }
