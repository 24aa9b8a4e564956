package admincmd

import (
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/domain/visible"
)

// line is one line of the screen and what it means; zero is nothing in particular.
type line struct {
	text string
	tint command.Tint
}

// tabStop is how far a tab goes.
const tabStop = 4

// clean is text as a screen may show it: what others wrote never moves the cursor, and hides nothing.
func clean(s string) string {
	return strings.ReplaceAll(visible.Text(s), "\t", strings.Repeat(" ", tabStop))
}

// oneLine is clean text in one line.
func oneLine(s string) string { return visible.OneLine(s) }

// cells is how many cells a text takes.
func cells(s string) int {
	n := 0
	for _, r := range s {
		n += text.RuneWidth(r)
	}
	return n
}

// cut is as much of a text as fits into width cells, with a mark where something is missing.
func cut(s string, width int) string {
	if cells(s) <= width {
		return s
	}
	if width < 1 {
		return ""
	}
	head, _ := split(s, width-1)
	return head + "…"
}

// apart is as much of texts[i] as fits into width cells. Where another one would look the same, its middle is left out instead of its end, so that what
// follows shows where they differ.
func apart(texts []string, i, width int) string {
	s := texts[i]
	short := cut(s, width)
	same := 0 // bytes that the text has in common with the one that is most like it
	for j, other := range texts {
		if j == i || other == s || cut(other, width) != short {
			continue
		}
		same = max(same, common(s, other))
	}
	if same == 0 {
		return short
	}
	head, rest := split(s, width/3)
	rest = rest[max(same-len(head), 0):]
	return head + "…" + cut(rest, width-cells(head)-1)
}

// common is how many bytes two texts begin with in common, up to the beginning of the word in which they differ.
func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return strings.LastIndexByte(a[:n], ' ') + 1
}

// split is as much of a text as fits into width cells, and the rest. A character and the marks upon it stay together.
func split(s string, width int) (head, rest string) {
	used := 0
	for i, r := range s {
		if used += text.RuneWidth(r); used > width {
			return s[:i], s[i:]
		}
	}
	return s, ""
}

// padded is a text that takes exactly width cells.
func padded(s string, width int) string {
	s = cut(s, width)
	return s + strings.Repeat(" ", max(width-cells(s), 0))
}

// wrap is a line in as many as it takes. The later ones are set in as deep as the first, and one step more; those of a quoted text keep its bar, so that
// none passes for what stands outside it.
func wrap(l line, width int) []line {
	width = max(width, 8)
	if cells(l.text) <= width {
		return []line{l}
	}
	lead := l.text[:len(l.text)-len(strings.TrimLeft(l.text, " "))]
	if strings.HasPrefix(l.text[len(lead):], "| ") {
		lead += "| "
	}
	if lead += "  "; cells(lead) > width/2 {
		lead = "  "
	}
	var out []line
	rest := l.text
	for room := width; ; room = width - cells(lead) {
		head, tail := split(rest, room)
		if tail != "" {
			if at := strings.LastIndexByte(head, ' '); at > room/2 && strings.TrimSpace(head[:at]) != "" { // between words, where one ends nearby
				head, tail = head[:at], strings.TrimLeft(rest[at:], " ")
			}
		}
		if head == "" { // not one character fits
			break
		}
		if len(out) > 0 {
			head = lead + head
		}
		out = append(out, line{head, l.tint})
		if rest = tail; rest == "" {
			break
		}
	}
	return out
}
