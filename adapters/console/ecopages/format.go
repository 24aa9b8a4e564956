package ecopages

import (
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/console/ui"
)

// FirstNonEmpty returns the first of some words that is not empty.
func FirstNonEmpty(words ...string) string {
	for _, w := range words {
		if w != "" {
			return w
		}
	}
	return ""
}

// ShortID returns the beginning of an identifier, by which users know it.
func ShortID(id string) string { return id[:min(len(id), 8)] }

// said is text that others wrote.
func said(s string) ui.Node { return ui.Text(ui.Printable(s)) }

// mono is Said as it stands in files and on command lines.
func mono(s string) ui.Node { return ui.InlineCode(ui.Printable(s)) }

// YesText says that something is so; nil when not, so that Facts leaves it out.
func YesText(so bool) ui.Node {
	if !so {
		return nil
	}
	return ui.Text("yes")
}

// when returns a moment that may not have come; nil then.
func when(t *time.Time) ui.Node {
	if t == nil {
		return nil
	}
	return ui.When(*t)
}

// number returns a number that may be missing; empty then.
func number(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}

// list are lines one below the other; nil for none.
func list(lines []string) ui.Node {
	if len(lines) == 0 {
		return nil
	}
	return ui.Ul(ui.Map(lines, func(l string) ui.Node { return ui.Li(said(l)) }))
}

// RepoStatusBadges are badges for how a repository stands: OK, or words joined by +.
func RepoStatusBadges(status string) ui.Node {
	var out ui.Group
	for _, word := range strings.Split(status, "+") {
		tone := map[string]string{"OK": ui.Good, "MISSING": ui.Bad, "UNREADABLE": ui.Bad}[word]
		out = append(out, ui.Badge(FirstNonEmpty(tone, ui.Warn), strings.ToLower(strings.ReplaceAll(word, "_", " "))), ui.Text(" "))
	}
	return out
}

// RunStatusBadge returns the badge of how far a run or an environment is.
func RunStatusBadge(status string) ui.Node {
	tone := map[string]string{"success": ui.Good, "deployed": ui.Good, "failed": ui.Bad, "running": ui.Warn, "deploying": ui.Warn, "destroying": ui.Warn}[status]
	return ui.Badge(FirstNonEmpty(tone, ui.Plain), status)
}

// WithNote returns an element and a quiet line below it; no line where there are no words.
func WithNote(n ui.Node, words string) ui.Node {
	if words == "" {
		return n
	}
	return ui.Group{n, ui.P(ui.Class("quiet"), said(words))}
}
