package present

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// The bounds of a text (amof contract §15, §22). maxLine and maxCrumb are our own.
const (
	maxSummary = 80
	maxLines   = 20
	maxLine    = 160
	maxCrumb   = 120
)

// prose is an answer for users.
type prose struct {
	Summary string   `json:"summary"`
	Details []string `json:"details"`
	last    []string // details that are never left out or cut
}

// laid returns the text within its bounds: the summary, the details, what to do next.
func (t prose) laid(c amofEnvelope, actions []action) string {
	lines := []string{"[" + clip(line(c.Breadcrumb), maxCrumb) + "] " + clip(line(t.Summary), maxSummary)}
	var next []string
	if len(actions) > 0 {
		labels := "Next:"
		for _, a := range actions {
			labels += " [" + line(a.Label) + "]"
		}
		next = []string{"", labels}
	}
	body := make([]string, 0, len(t.Details)+len(t.last))
	for _, detail := range t.Details {
		body = append(body, clip(line(detail), maxLine))
	}
	room := maxLines - len(lines) - 1 - len(t.last) - len(next)
	if over := len(body) - room; over > 0 {
		body = append(body[:room-1], fmt.Sprintf("… %d more lines in the structured answer", over+1))
	}
	for _, detail := range t.last {
		body = append(body, line(detail))
	}
	if len(body) > 0 {
		lines = append(append(lines, ""), body...)
	}
	return strings.Join(append(lines, next...), "\n")
}

// line returns a text without line ends and other control characters, so that none can pass for more than it is.
func line(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) {
			return ' '
		}
		return r
	}, s)
}

// clip keeps a text at a length, in characters.
func clip(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// wrapped returns a text over several lines of at most that many characters, with nothing left out but the blanks where it is broken.
func wrapped(s string, most int) []string {
	var lines []string
	rest := []rune(line(s))
	for len(rest) > most {
		end := most
		for i := most; i > most/2; i-- {
			if rest[i] == ' ' {
				end = i
				break
			}
		}
		lines = append(lines, string(rest[:end]))
		if rest = rest[end:]; rest[0] == ' ' {
			rest = rest[1:]
		}
	}
	return append(lines, string(rest))
}

// amofLaidOut returns an object as lines: one a member, lists as their items.
func amofLaidOut(doc json.RawMessage) []string {
	var fields map[string]any
	if json.Unmarshal(doc, &fields) != nil {
		return nil
	}
	var lines []string
	for _, name := range names(fields) {
		items, list := fields[name].([]any)
		if !list {
			items = []any{fields[name]}
		}
		for _, item := range items {
			if !nothing(item) {
				lines = append(lines, name+": "+flat(item))
			}
		}
	}
	return lines
}

// nothing reports a value that says nothing to users.
func nothing(v any) bool {
	items, list := v.([]any)
	fields, object := v.(map[string]any)
	return v == nil || v == "" || list && len(items) == 0 || object && len(fields) == 0
}

// names returns an object's members, what says most first.
func names(fields map[string]any) []string {
	all := make([]string, 0, len(fields))
	for name := range fields {
		all = append(all, name)
	}
	slices.Sort(all)
	for _, first := range []string{"what", "name"} {
		if i := slices.Index(all, first); i > 0 {
			all = slices.Insert(slices.Delete(all, i, i+1), 0, first)
		}
	}
	return all
}

// flat returns a value on one line.
func flat(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		words := make([]string, 0, len(v))
		for _, item := range v {
			words = append(words, flat(item))
		}
		return strings.Join(words, " ")
	case map[string]any:
		words := make([]string, 0, len(v))
		for _, name := range names(v) {
			switch {
			case nothing(v[name]):
			case name == "name":
				words = append(words, flat(v[name]))
			default:
				words = append(words, name+" "+flat(v[name]))
			}
		}
		return strings.Join(words, ", ")
	}
	return string(Object(v))
}

// marked returns a failure's items one by one, by repository or by place, as far as a list is one (amof contract §15).
func marked(list any) []string {
	items, _ := list.([]any)
	var lines []string
	for _, item := range items {
		fields, _ := item.(map[string]any)
		name, problem, result := cmp.Or(word(fields["name"]), word(fields["path"])), cmp.Or(word(fields["problem"]), word(fields["message"])), word(fields["result"])
		switch {
		case name == "":
		case problem != "" || result == "failed":
			lines = append(lines, "✗ "+name+": "+cmp.Or(problem, result))
		case result != "":
			lines = append(lines, "✓ "+name+": "+result)
		default:
			lines = append(lines, "– "+name)
		}
	}
	return lines
}

// changes returns the differences between what was confirmed and what there is.
func changes(list any) []string {
	items, _ := list.([]any)
	var lines []string
	for _, item := range items {
		if fields, ok := item.(map[string]any); ok {
			lines = append(lines, "changed "+flat(fields["path"])+": "+flat(fields["before"])+" → "+flat(fields["after"]))
		}
	}
	return lines
}

func word(v any) string {
	s, _ := v.(string)
	return s
}
