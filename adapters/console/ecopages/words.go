package ecopages

import (
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/console/ui"
)

// First is the first of some words that is not empty.
func First(words ...string) string {
	for _, w := range words {
		if w != "" {
			return w
		}
	}
	return ""
}

// Brief is the beginning of an identifier, by which people know it.
func Brief(id string) string { return id[:min(len(id), 8)] }

// Said is text that somebody else wrote.
func Said(s string) ui.Node { return ui.PageText(ui.Printable(s)) }

// Mono is Said as it stands in files and on command lines.
func Mono(s string) ui.Node { return ui.PageCode(ui.Printable(s)) }

// Yes says that something is so; nil when not, so that Facts leaves it out.
func Yes(so bool) ui.Node {
	if !so {
		return nil
	}
	return ui.PageText("yes")
}

// When is a moment that may not have come; nil then.
func When(t *time.Time) ui.Node {
	if t == nil {
		return nil
	}
	return ui.When(*t)
}

// Number is a number that may be missing; empty then.
func Number(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}

// List are lines one below the other; nil for none.
func List(lines []string) ui.Node {
	if len(lines) == 0 {
		return nil
	}
	return ui.Ul(ui.Map(lines, func(l string) ui.Node { return ui.Li(Said(l)) }))
}

// Standing are badges for how a repository stands: OK, or words joined by +.
func Standing(status string) ui.Node {
	var out ui.Group
	for _, word := range strings.Split(status, "+") {
		tone := map[string]string{"OK": ui.Good, "MISSING": ui.Bad, "UNREADABLE": ui.Bad}[word]
		out = append(out, ui.Badge(First(tone, ui.Warn), strings.ToLower(strings.ReplaceAll(word, "_", " "))), ui.PageText(" "))
	}
	return out
}

// Progress is the badge of how far a run or an environment is.
func Progress(status string) ui.Node {
	tone := map[string]string{"success": ui.Good, "deployed": ui.Good, "failed": ui.Bad, "running": ui.Warn, "deploying": ui.Warn, "destroying": ui.Warn}[status]
	return ui.Badge(First(tone, ui.Plain), status)
}

// Under are an element and a quiet line below it; no line where there are no words.
func Under(n ui.Node, words string) ui.Node {
	if words == "" {
		return n
	}
	return ui.Group{n, ui.P(ui.Class("quiet"), Said(words))}
}
