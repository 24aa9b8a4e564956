package planview

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/cli/terminal"
	"github.com/countersign-dev/countersign/adapters/present/orderly"
)

// Whole is any plan as lines for people: its context where it has one, what a deployment or an ecosystem shows otherwise, and every other document laid
// out as it is. Unified diffs stand in it line by line.
func Whole(plan json.RawMessage) string {
	v, err := orderly.Parse(plan)
	fields, ok := v.([]orderly.Field)
	if err != nil || !ok {
		return terminal.Block(string(plan))
	}
	for _, part := range []string{"context", "data"} {
		if inner, ok := orderly.Member(fields, part).([]orderly.Field); ok {
			more := orderly.Member(fields, "warnings")
			return strings.Join(block(readable(append(slices.Clone(inner), orderly.Field{Name: "warnings", Value: more}))), "\n")
		}
	}
	var shown []orderly.Field
	for _, f := range fields {
		switch f.Name {
		case "tool", "action", "summary", "facts", "current_state", "execute_hint", "preview_hash": // said elsewhere, or for programs
		case "preview", "explanation":
			inner, ok := f.Value.([]orderly.Field)
			if !ok {
				inner = []orderly.Field{f}
			}
			shown = append(shown, inner...)
		case "risk":
			risk, _ := f.Value.([]orderly.Field)
			shown = append(shown, orderly.Field{Name: "because", Value: orderly.Member(risk, "reasons")})
		default:
			shown = append(shown, f)
		}
	}
	return strings.Join(block(readable(shown)), "\n")
}

// readable puts files that change, and their diffs, into words.
func readable(fields []orderly.Field) []orderly.Field {
	out := make([]orderly.Field, 0, len(fields))
	for _, f := range fields {
		switch v := f.Value.(type) {
		case []any:
			if changes, diffs, ok := files(v); ok {
				if out = append(out, orderly.Field{Name: "changes", Value: changes}); diffs != "" {
					out = append(out, orderly.Field{Name: "diff", Value: diffs})
				}
				continue
			}
		case []orderly.Field:
			f.Value = readable(v)
		}
		out = append(out, f)
	}
	return out
}

// files are changes of files, one line each, and their unified diffs; false for any other list.
func files(items []any) (changes []any, diffs string, ok bool) {
	for _, item := range items {
		f, is := item.([]orderly.Field)
		op, path := orderly.Text(f, "op"), orderly.Text(f, "path")
		if !is || op == "" || path == "" {
			return nil, "", false
		}
		line := op + " " + path
		if root := orderly.Text(f, "root"); root != "" && !strings.HasPrefix(path, "/") {
			line = op + " " + root + "/" + path
		}
		if target := orderly.Text(f, "target"); target != "" {
			line += " for " + target
		}
		if reason := orderly.Text(f, "reason"); reason != "" {
			line += " (" + reason + ")"
		}
		changes = append(changes, line)
		diffs += orderly.Text(f, "unified")
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
