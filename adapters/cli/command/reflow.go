package command

import (
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
)

// maxReading is the longest comfortable line of running text.
const maxReading = 100

// Reflowed returns running text wrapped to the width of the screen; elsewhere unchanged.
func (t *Terminal) Reflowed(s string) string {
	if !t.Drawn() {
		return s
	}
	width, _ := t.size()
	return Reflow(s, width)
}

// Reflow rewraps running text to at most width and maxReading. Empty lines separate paragraphs, and indented lines stay unchanged.
func Reflow(s string, width int) string {
	width = min(max(width, 20), maxReading)
	var out []string
	open := false // the last line of out goes on
	for line := range strings.SplitSeq(s, "\n") {
		switch {
		case line == "" || strings.HasPrefix(line, " "):
			out, open = append(out, line), false
		case open:
			out[len(out)-1] += " " + line
		default:
			out, open = append(out, line), true
		}
	}
	for i, line := range out {
		if line == "" || strings.HasPrefix(line, " ") {
			continue
		}
		broken := strings.Split(text.WrapSoft(line, width), "\n")
		for j := range broken {
			broken[j] = strings.TrimRight(broken[j], " ")
		}
		out[i] = strings.Join(broken, "\n")
	}
	return strings.Join(out, "\n")
}
