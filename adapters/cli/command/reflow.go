package command

import (
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
)

// maxReading is the longest line of running text that is read with ease.
const maxReading = 100

// Reflowed is running text for the screen, as wide as that allows; elsewhere it stays as it is.
func (t *Terminal) Reflowed(s string) string {
	if !t.Drawn() {
		return s
	}
	width, _ := t.size()
	return Reflow(s, width)
}

// Reflow breaks running text anew, at most width and maxReading wide. Empty lines part paragraphs, and lines that are indented stay as they are.
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
