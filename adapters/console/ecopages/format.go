package ecopages

import (
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/console/ui"
)

// FirstNonEmpty returns the first word that is not empty.
func FirstNonEmpty(words ...string) string {
	for _, w := range words {
		if w != "" {
			return w
		}
	}
	return ""
}

// ShortID returns the first 8 characters of an identifier.
func ShortID(id string) string { return id[:min(len(id), 8)] }

// said returns text from other sources.
func said(s string) ui.Node { return ui.Text(ui.Printable(s)) }

// mono is said in code font.
func mono(s string) ui.Node { return ui.InlineCode(ui.Printable(s)) }

// YesText returns "yes" if so is true, and nil otherwise, so that Facts leaves it out.
func YesText(so bool) ui.Node {
	if !so {
		return nil
	}
	return ui.Text("yes")
}

// when returns a time; nil if there is none.
func when(t *time.Time) ui.Node {
	if t == nil {
		return nil
	}
	return ui.When(*t)
}

// number returns a number as text; empty if it is missing.
func number(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}

// list returns a list of lines; nil if there are none.
func list(lines []string) ui.Node {
	if len(lines) == 0 {
		return nil
	}
	return ui.Ul(ui.Map(lines, func(l string) ui.Node { return ui.Li(said(l)) }))
}

// RepoStatusBadges returns badges for the status of a repository: OK, or words joined by +.
func RepoStatusBadges(status string) ui.Node {
	var out ui.Group
	for _, word := range strings.Split(status, "+") {
		tone := map[string]string{"OK": ui.Good, "MISSING": ui.Bad, "UNREADABLE": ui.Bad}[word]
		out = append(out, ui.Badge(FirstNonEmpty(tone, ui.Warn), strings.ToLower(strings.ReplaceAll(word, "_", " "))), ui.Text(" "))
	}
	return out
}

// RunStatusBadge returns the badge of the status of a run or an environment.
func RunStatusBadge(status string) ui.Node {
	tone := map[string]string{"success": ui.Good, "deployed": ui.Good, "failed": ui.Bad, "running": ui.Warn, "deploying": ui.Warn, "destroying": ui.Warn}[status]
	return ui.Badge(FirstNonEmpty(tone, ui.Plain), status)
}

// WithNote returns an element and a quiet line below it; no line if words is empty.
func WithNote(n ui.Node, words string) ui.Node {
	if words == "" {
		return n
	}
	return ui.Group{n, ui.P(ui.Class("quiet"), said(words))}
}
