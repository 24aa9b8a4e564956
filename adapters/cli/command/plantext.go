package command

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/present"
)

// PlanText returns any plan as lines for users: its context if it has one, the specific form of deployments and ecosystems, and otherwise the
// document. It contains unified diffs line by line.
func PlanText(plan json.RawMessage) string { return planText(plan, nil) }

// planText is PlanText; words, unless nil, rewrites its advice for the command line.
func planText(plan json.RawMessage, words func(string) string) string {
	v, err := present.Parse(plan)
	fields, ok := v.([]present.Field)
	if err != nil || !ok {
		return Block(string(plan))
	}
	if words != nil {
		advise(fields, words)
	}
	for _, part := range []string{"context", "data"} {
		if inner, ok := present.Member(fields, part).([]present.Field); ok {
			more := present.Member(fields, "warnings")
			if part == "data" {
				inner = present.DeploymentPlan(inner)
			}
			return strings.Join(block(readable(append(slices.Clone(inner), present.Field{Name: "warnings", Value: more}))), "\n")
		}
	}
	var shown []present.Field
	for _, f := range fields {
		switch f.Name {
		case "tool", "action", "summary", "facts", "current_state", "execute_hint", "preview_hash": // shown elsewhere, or for programs
		case "preview", "explanation":
			inner, ok := f.Value.([]present.Field)
			if !ok {
				inner = []present.Field{f}
			}
			if release, is := present.ReleasePlan(inner, present.Member(fields, "warnings")); is {
				inner = present.ReleaseLines(release)
			}
			shown = append(shown, inner...)
		case "risk":
			risk, _ := f.Value.([]present.Field)
			shown = append(shown, present.Field{Name: "because", Value: present.Member(risk, "reasons")})
		default:
			shown = append(shown, f)
		}
	}
	return strings.Join(block(readable(shown)), "\n")
}

// advise rewrites the sentences that tools write for agents. What a plan binds stays as it is.
func advise(fields []present.Field, words func(string) string) {
	for i, f := range fields {
		said := slices.Contains([]string{"warnings", "warning", "notes", "alternatives", "hint", "reasons"}, f.Name)
		switch v := f.Value.(type) {
		case string:
			if said {
				fields[i].Value = words(v)
			}
		case []present.Field:
			advise(v, words)
		case []any:
			for at, item := range v {
				switch one := item.(type) {
				case string:
					if said {
						v[at] = words(one)
					}
				case []present.Field:
					advise(one, words)
				}
			}
		}
	}
}

// readable describes changed files and their diffs.
func readable(fields []present.Field) []present.Field {
	out := make([]present.Field, 0, len(fields))
	for _, f := range fields {
		switch v := f.Value.(type) {
		case []any:
			if changes, diffs, ok := files(v); ok {
				if out = append(out, present.Field{Name: "changes", Value: changes}); diffs != "" {
					out = append(out, present.Field{Name: "diff", Value: diffs})
				}
				continue
			}
		case []present.Field:
			f.Value = readable(v)
		}
		out = append(out, f)
	}
	return out
}

// files returns file changes, one line each, and their unified diffs; false for any other list.
func files(items []any) (changes []any, diffs string, ok bool) {
	for _, item := range items {
		f, is := item.([]present.Field)
		op, path := present.Text(f, "op"), present.Text(f, "path")
		if !is || op == "" || path == "" {
			return nil, "", false
		}
		line, unified := op+" "+path, present.Text(f, "unified")
		if module := present.Text(f, "module_id"); module != "" {
			line = op + " " + module + " from " + path
			if unified != "" {
				unified = path + "\n" + unified // files of several modules may have the same name
			}
		}
		if root := present.Text(f, "root"); root != "" && !strings.HasPrefix(path, "/") {
			line = op + " " + root + "/" + path
		}
		if target := present.Text(f, "target"); target != "" {
			line += " for " + target
		}
		why := present.Why(f)
		if costs := present.Costs(f); costs != "" {
			why = strings.TrimPrefix(why+": "+costs, ": ")
		}
		if why != "" {
			line += " (" + why + ")"
		}
		changes = append(changes, line)
		diffs += unified
	}
	return changes, diffs, len(items) > 0
}

// Tinted yields every line of a laid-out plan with its meaning: lines of unified diffs, and warnings. Zero is no meaning.
func Tinted(laid string, line func(text string, tint Tint)) {
	var diff tinter
	for l := range strings.SplitSeq(laid, "\n") {
		line(l, diff.of(l))
	}
}

// tinter tracks whether the lines belong to a diff.
type tinter struct{ bar string }

func (t *tinter) of(line string) Tint {
	indent, body, barred := strings.Cut(line, "| ")
	if !barred || strings.TrimSpace(indent) != "" {
		t.bar = ""
		if strings.HasPrefix(strings.TrimSpace(line), "! ") {
			return Changed
		}
		return 0
	}
	switch {
	case strings.HasPrefix(body, "--- "), strings.HasPrefix(body, "+++ "):
		t.bar = indent
		return Heading
	case t.bar != indent || indent == "":
		return 0
	case strings.HasPrefix(body, "+"):
		return Added
	case strings.HasPrefix(body, "-"):
		return Removed
	case strings.HasPrefix(body, "@@"):
		return Heading
	}
	return 0
}
