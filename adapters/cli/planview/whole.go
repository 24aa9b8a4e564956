package planview

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/cli/terminal"
)

// Whole is any plan as lines for people: its context where it has one, what a deployment or an ecosystem shows otherwise, and every other document laid
// out as it is. Unified diffs stand in it line by line.
func Whole(plan json.RawMessage) string {
	v, err := parse(plan)
	fields, ok := v.([]field)
	if err != nil || !ok {
		return terminal.Block(string(plan))
	}
	for _, part := range []string{"context", "data"} {
		if inner, ok := member(fields, part).([]field); ok {
			more := member(fields, "warnings")
			return strings.Join(block(readable(append(slices.Clone(inner), field{"warnings", more}))), "\n")
		}
	}
	var shown []field
	for _, f := range fields {
		switch f.name {
		case "tool", "action", "summary", "facts", "current_state", "execute_hint", "preview_hash": // said elsewhere, or for programs
		case "preview", "explanation":
			inner, ok := f.value.([]field)
			if !ok {
				inner = []field{f}
			}
			shown = append(shown, inner...)
		case "risk":
			risk, _ := f.value.([]field)
			shown = append(shown, field{"because", member(risk, "reasons")})
		default:
			shown = append(shown, f)
		}
	}
	return strings.Join(block(readable(shown)), "\n")
}

// readable puts files that change, and their diffs, into words.
func readable(fields []field) []field {
	out := make([]field, 0, len(fields))
	for _, f := range fields {
		switch v := f.value.(type) {
		case []any:
			if changes, diffs, ok := files(v); ok {
				if out = append(out, field{"changes", changes}); diffs != "" {
					out = append(out, field{"diff", diffs})
				}
				continue
			}
		case []field:
			f.value = readable(v)
		}
		out = append(out, f)
	}
	return out
}

// files are changes of files, one line each, and their unified diffs; false for any other list.
func files(items []any) (changes []any, diffs string, ok bool) {
	for _, item := range items {
		f, is := item.([]field)
		op, path := text(f, "op"), text(f, "path")
		if !is || op == "" || path == "" {
			return nil, "", false
		}
		line := op + " " + path
		if root := text(f, "root"); root != "" && !strings.HasPrefix(path, "/") {
			line = op + " " + root + "/" + path
		}
		if target := text(f, "target"); target != "" {
			line += " for " + target
		}
		if reason := text(f, "reason"); reason != "" {
			line += " (" + reason + ")"
		}
		changes = append(changes, line)
		diffs += text(f, "unified")
	}
	return changes, diffs, len(items) > 0
}

// Tint is what a line of a plan means.
type Tint = terminal.Tint

// Tinted gives every line of a laid-out plan, with what it means: lines of unified diffs, and what speaks against the plan. Zero is nothing of the kind.
func Tinted(laid string, line func(text string, tint Tint)) {
	var diff tinter
	for l := range strings.SplitSeq(laid, "\n") {
		line(l, diff.of(l))
	}
}

// tinter knows whether the lines are those of a diff.
type tinter struct{ bar string }

func (t *tinter) of(line string) Tint {
	indent, body, barred := strings.Cut(line, "| ")
	if !barred || strings.TrimSpace(indent) != "" {
		t.bar = ""
		if strings.HasPrefix(strings.TrimSpace(line), "! ") {
			return terminal.Changed
		}
		return 0
	}
	switch {
	case strings.HasPrefix(body, "--- "), strings.HasPrefix(body, "+++ "):
		t.bar = indent
		return terminal.Heading
	case t.bar != indent || indent == "":
		return 0
	case strings.HasPrefix(body, "+"):
		return terminal.Added
	case strings.HasPrefix(body, "-"):
		return terminal.Removed
	case strings.HasPrefix(body, "@@"):
		return terminal.Heading
	}
	return 0
}
