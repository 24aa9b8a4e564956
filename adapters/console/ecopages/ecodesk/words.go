package ecodesk

import (
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/page"
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
func Said(s string) markup.Node { return page.Text(page.Printable(s)) }

// Mono is Said as it stands in files and on command lines.
func Mono(s string) markup.Node { return page.Code(page.Printable(s)) }

// Yes says that something is so; nil when not, so that Facts leaves it out.
func Yes(so bool) markup.Node {
	if !so {
		return nil
	}
	return page.Text("yes")
}

// When is a moment that may not have come; nil then.
func When(t *time.Time) markup.Node {
	if t == nil {
		return nil
	}
	return page.When(*t)
}

// Number is a number that may be missing; empty then.
func Number(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}

// List are lines one below the other; nil for none.
func List(lines []string) markup.Node {
	if len(lines) == 0 {
		return nil
	}
	return markup.Ul(markup.Map(lines, func(l string) markup.Node { return markup.Li(Said(l)) }))
}

// Standing are badges for how a repository stands: OK, or words joined by +.
func Standing(status string) markup.Node {
	var out markup.Group
	for _, word := range strings.Split(status, "+") {
		tone := map[string]string{"OK": page.Good, "MISSING": page.Bad, "UNREADABLE": page.Bad}[word]
		out = append(out, page.Badge(First(tone, page.Warn), strings.ToLower(strings.ReplaceAll(word, "_", " "))), page.Text(" "))
	}
	return out
}

// Progress is the badge of how far a run or an environment is.
func Progress(status string) markup.Node {
	tone := map[string]string{"success": page.Good, "deployed": page.Good, "failed": page.Bad, "running": page.Warn, "deploying": page.Warn, "destroying": page.Warn}[status]
	return page.Badge(First(tone, page.Plain), status)
}

// Under are an element and a quiet line below it; no line where there are no words.
func Under(n markup.Node, words string) markup.Node {
	if words == "" {
		return n
	}
	return markup.Group{n, markup.P(markup.Class("quiet"), Said(words))}
}
