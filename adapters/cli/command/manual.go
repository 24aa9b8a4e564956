package command

import (
	"context"
	"io"
	"regexp"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
)

// manualColumns is the maximum width of a manual page, in columns: longer lines are hard to read.
const manualColumns = 100

// Manual writes a page of the manual: into a pipe or file as Markdown; on a terminal as wrapped plain text, through the pager if it is longer than
// the screen.
func (t *Terminal) Manual(ctx context.Context, markdown string) error {
	if !t.Drawn() {
		_, err := io.WriteString(t.Out, markdown)
		return err
	}
	width, _ := t.size()
	return t.Page(ctx, ManualText(markdown, min(width, manualColumns), t.colour(t.Out)))
}

// ManualText returns a page of the manual as text of at most width columns (except code, which is never wrapped), with or without terminal colours.
// It supports the Markdown of the manual: headings, paragraphs, lists of one level, fenced code, tables, and inline code, bold text and links.
func ManualText(markdown string, width int, colour bool) string {
	m := manual{width: width, colour: colour}
	lines := strings.Split(strings.TrimSpace(markdown), "\n")
	for i := 0; i < len(lines); {
		i += m.block(lines[i:])
	}
	return m.out.String()
}

type manual struct {
	out    strings.Builder
	width  int
	colour bool
}

// block writes the block at the start of lines, and returns its number of lines.
func (m *manual) block(lines []string) int {
	first := lines[0]
	switch {
	case strings.TrimSpace(first) == "":
		m.out.WriteString("\n")
		return 1
	case strings.HasPrefix(first, "```"):
		return m.code(lines)
	case strings.HasPrefix(first, "|"):
		n := while(lines, func(l string) bool { return strings.HasPrefix(l, "|") })
		m.table(lines[:n])
		return n
	case strings.HasPrefix(first, "#"):
		m.painted("", strings.TrimLeft(first, "# "), text.Bold, text.FgCyan)
		return 1
	}
	n := 1 + while(lines[1:], func(l string) bool {
		return l != "" && !strings.HasPrefix(l, "- ") && !strings.HasPrefix(l, "```") && !strings.HasPrefix(l, "|") && !strings.HasPrefix(l, "#")
	})
	words := make([]string, n)
	for i, l := range lines[:n] {
		words[i] = strings.TrimSpace(l)
	}
	if item, ok := strings.CutPrefix(strings.Join(words, " "), "- "); ok {
		m.wrapped("- ", "  ", item)
	} else {
		m.wrapped("", "", strings.Join(words, " "))
	}
	return n
}

func while(lines []string, holds func(string) bool) int {
	n := 0
	for n < len(lines) && holds(lines[n]) {
		n++
	}
	return n
}

func (m *manual) line(s string) { m.out.WriteString(strings.TrimRight(s, " ") + "\n") }

// painted writes a line in one colour.
func (m *manual) painted(indent, s string, c ...text.Color) {
	if m.colour && s != "" {
		s = text.Colors(c).Sprint(s)
	}
	m.line(indent + s)
}

func (m *manual) code(lines []string) int {
	fence := lines[0][:len(lines[0])-len(strings.TrimLeft(lines[0], "`"))]
	n := 1 + while(lines[1:], func(l string) bool { return l != fence })
	for _, l := range lines[1:n] {
		m.painted("    ", l, text.FgGreen)
	}
	return n + 1
}

// wrapped writes one paragraph, with one prefix for its first line and another of the same width for the rest.
func (m *manual) wrapped(first, others, s string) {
	for i, l := range wrap(m.inline(s), m.width-len(first)) {
		if i > 0 {
			first = others
		}
		m.line(first + l)
	}
}

// wrap returns a text as lines of at most width columns; a longer word gets a line of its own.
func wrap(s string, width int) (lines []string) {
	line, columns := "", 0
	for _, word := range strings.Fields(s) {
		wide := text.StringWidthWithoutEscSequences(word)
		if columns > 0 && columns+1+wide > width {
			lines, line, columns = append(lines, line), "", 0
		}
		if columns > 0 {
			line, columns = line+" ", columns+1
		}
		line, columns = line+word, columns+wide
	}
	return append(lines, line)
}

// table writes a table in columns if it fits, and otherwise every row as its first cell with the others below it.
func (m *manual) table(lines []string) {
	var rows [][]string
	var widths []int
	for i, l := range lines {
		if i == 1 { // the rule below the heads
			continue
		}
		row := rowCells(l)
		for c, cell := range row {
			row[c] = m.inline(cell)
			if c == len(widths) {
				widths = append(widths, 0)
			}
			widths[c] = max(widths[c], text.StringWidthWithoutEscSequences(row[c]))
		}
		rows = append(rows, row)
	}
	total := 0
	for _, w := range widths {
		total += w + 2
	}
	for i, row := range rows {
		if total-2 <= m.width {
			m.line(columns(row, widths))
			continue
		}
		if i == 0 { // heads without columns below them
			continue
		}
		m.line(row[0])
		for c, cell := range row[1:] {
			if cell == "" {
				continue
			}
			if head := rows[0][c+1]; head != "" && len(row) > 2 {
				cell = head + ": " + cell
			}
			for _, l := range wrap(cell, m.width-4) {
				m.line("    " + l)
			}
		}
	}
}

func columns(row []string, widths []int) string {
	var out strings.Builder
	for c, cell := range row {
		out.WriteString(text.Pad(cell, widths[c]+2, ' '))
	}
	return out.String()
}

// rowCells returns the cells of a row. A bar within code is written \|.
func rowCells(row string) []string {
	row = strings.ReplaceAll(strings.Trim(strings.TrimSpace(row), "|"), `\|`, "\x00")
	out := strings.Split(row, "|")
	for i, cell := range out {
		out[i] = strings.ReplaceAll(strings.TrimSpace(cell), "\x00", "|")
	}
	return out
}

// inlines is code, bold or emphasised text, or a link.
var inlines = regexp.MustCompile("``(.+?)``|`([^`]+)`|\\*\\*(.+?)\\*\\*|\\*([^*]+)\\*|\\[([^]]+)\\]\\(([^)]+)\\)")

func (m *manual) inline(s string) string {
	return inlines.ReplaceAllStringFunc(s, func(found string) string {
		part := inlines.FindStringSubmatch(found)
		switch code := strings.TrimSpace(part[1] + part[2]); {
		case code != "" && m.colour:
			return m.paint(code, text.FgGreen)
		case code != "":
			return found
		case part[3] != "":
			return m.paint(m.inline(part[3]), text.Bold)
		case part[4] != "":
			return m.paint(m.inline(part[4]), text.Italic)
		}
		return m.link(part[5], part[6])
	})
}

// link returns a link's text with its target: another topic, or an address.
func (m *manual) link(words, to string) string {
	file, _, _ := strings.Cut(to, "#")
	switch topic, isTopic := strings.CutSuffix(file, ".md"); {
	case isTopic && !strings.Contains(topic, "/"):
		return m.inline(words) + " (countersign help " + topic + ")"
	case file == "": // in the same page
		return m.inline(words)
	case strings.HasPrefix(to, "../"):
		return m.inline(words) + " (" + strings.TrimPrefix(to, "../") + " in the repository)"
	}
	return m.inline(words) + " (" + to + ")"
}

// paint colours every word separately, so that a line may end after any of them.
func (m *manual) paint(s string, c ...text.Color) string {
	if !m.colour {
		return s
	}
	words := strings.Split(s, " ")
	for i, word := range words {
		if word != "" {
			words[i] = text.Colors(c).Sprint(word)
		}
	}
	return strings.Join(words, " ")
}
