package present

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// DeploymentPlan puts the data of a deployment tool's plan into the form in which people decide on it: how many of what first, one entry for each file with all
// of its targets, the entries that overwrite, delete or hand power on before the others, and nothing that is for programs alone. Lists of changes, of what is
// imported and of what is proposed become one list, changes, of objects with op and path.
func DeploymentPlan(data []Field) []Field {
	var out, rest []Field
	var all []planEntry
	for _, f := range data {
		items, _ := f.Value.([]any)
		inner, _ := f.Value.([]Field)
		switch {
		case forPrograms(f):
		case f.Name == "summary" && counts(inner) != "":
			out = append(out, Field{"counts", counts(inner)})
		case f.Name == "conflicts":
			rest = append(rest, Field{"warnings", listed(eachText(items, conflictWords))})
		case f.Name == "options" && len(items) > 0:
			rest = append(rest, Field{"configures", listed(eachText(items, optionWords))})
		case f.Name == "project" && Text(inner, "project_root") != "":
			rest = append(rest, Field{"project", Text(inner, "project_root")})
		case entryOf(f.Name) != nil:
			for _, item := range items {
				if fields, ok := item.([]Field); ok {
					all = append(all, entryOf(f.Name)(fields))
				}
			}
		case Member(inner, "changes") != nil: // a plan within the plan
			rest = append(rest, Field{f.Name, DeploymentPlan(inner)})
		default:
			rest = append(rest, f)
		}
	}
	changes := entries(all)
	if listed, _ := Member(data, "changes").([]any); len(listed) > 0 && len(out) > 0 && Member(data, "changes_omitted") == nil {
		out[0].Value = counts(tally(changes)) // a file of several targets is one
	}
	if len(changes) > 0 {
		out = append(out, Field{"changes", changes})
	}
	return append(out, rest...)
}

// forPrograms reports a member that does not help the user decide: how the answer was computed, commands to run afterwards, and additional paths.
func forPrograms(f Field) bool {
	switch f.Name {
	case "reason":
		return f.Value == "dry_run" || f.Value == "no_changes"
	case "profile":
		return f.Value == "default"
	case "applied", "next_actions", "next_actions_detailed", "home_root", "home_root_posix", "repo_posix", "summary_total":
		return true
	}
	return false
}

// planEntry is a line of a plan. The dangerous have the low ranks.
type planEntry struct {
	rank   int
	fields []Field
}

// The ranks of entries.
const (
	rankLoss = iota
	rankPower
	rankChange
	rankLeft
	rankNew
)

// entryOf is how the members of a list of that name become entries, or nil.
func entryOf(list string) func([]Field) planEntry {
	switch list {
	case "changes":
		return changeEntry
	case "plan":
		return importEntry
	case "candidates":
		return func(item []Field) planEntry {
			return planEntry{rankChange, append([]Field{{"op", "propose"}}, without(item, "path_posix")...)}
		}
	case "skipped", "left_out":
		return leftEntry
	}
	return nil
}

func changeEntry(item []Field) planEntry {
	rank := rankNew
	switch kind := Text(item, "update_kind") + Text(item, "delete_kind"); {
	case Text(item, "op") == "delete", strings.HasPrefix(kind, "adopt_"), strings.HasPrefix(kind, "drifted_"):
		rank = rankLoss
	case Text(item, "op") == "update":
		rank = rankChange
	}
	return planEntry{rank, item}
}

func importEntry(item []Field) planEntry {
	e := planEntry{rankNew, []Field{{"op", "import"}, {"module_id", Text(item, "module_id")}, {"path", source(item)}}}
	var notes []string
	switch op := Text(item, "op"); {
	case op != "create":
		e.fields[0].Value, e.rank = "leave", rankLeft
		notes = append(notes, strings.ReplaceAll(Text(item, "skip_reason"), "_", " "))
	case Member(item, "as_is") == true:
		notes = append(notes, "as it is")
	case Member(item, "disabled") == true:
		notes = append(notes, "switched off: "+strings.ReplaceAll(Text(item, "aside_reason"), "_", " "))
	}
	switch Text(item, "module_type") {
	case "mcp", "hooks", "permissions", "settings", "plugin":
		e.rank = min(e.rank, rankPower)
	}
	if of, _ := Member(item, "references").([]any); len(of) > 0 {
		notes = append(notes, strings.TrimSuffix(fmt.Sprintf("refers to %d secrets", len(of)), map[bool]string{true: "s"}[len(of) == 1]))
	}
	if also, _ := Member(item, "also_at").([]any); len(also) > 0 {
		notes = append(notes, fmt.Sprintf("also at %s", strings.Join(eachText(also, nil), ", ")))
	}
	if Member(item, "dest_exists") == true {
		e.rank = rankLoss
		notes = append(notes, "already exists: "+Text(item, "dest_path"))
	}
	e.fields = append(e.fields, Field{"reason", strings.Join(notes, "; ")})
	return e
}

func leftEntry(item []Field) planEntry {
	why := cmp.Or(Text(item, "reason_message"), strings.ReplaceAll(Text(item, "reason"), "_", " "))
	return planEntry{rankLeft, []Field{{"op", "leave"}, {"module_id", Text(item, "module_id")}, {"path", source(item)}, {"target", Text(item, "target")}, {"reason", why}}}
}

// source is where something stands: a file, or a key of one.
func source(item []Field) string {
	return strings.TrimSpace(cmp.Or(Text(item, "source_path"), Text(item, "path")) + " " + Text(item, "key"))
}

// entries are sorted, and those that differ in their target alone are one.
func entries(all []planEntry) []any {
	slices.SortStableFunc(all, func(a, b planEntry) int { return cmp.Compare(a.rank, b.rank) })
	var out []any
	at := map[string]int{}
	for _, e := range all {
		var key strings.Builder
		for _, name := range []string{"op", "module_id", "path", "reason", "state", "update_kind", "delete_kind", "link", "before_link", "unified"} {
			key.WriteString(Text(e.fields, name) + "\x00")
		}
		i, again := at[key.String()]
		if !again {
			at[key.String()] = len(out)
			out = append(out, e.fields)
			continue
		}
		first, _ := out[i].([]Field)
		merged := slices.Clone(first)
		for n := range merged {
			if merged[n].Name == "target" {
				merged[n].Value = Text(first, "target") + ", " + Text(e.fields, "target")
			}
		}
		out[i] = merged
	}
	return out
}

// counts says a summary in words; empty for what is none.
func counts(summary []Field) string {
	words := map[string]string{"create": "to create", "update": "to update", "delete": "to delete", "candidates": "found", "disabled": "switched off", "skipped_existing_module": "already present",
		"skipped_invalid": "unusable", "references": "references to secrets", "drifted_proposeable": "to propose", "drifted_skipped": "left out", "skipped_conflict": "in conflict",
		"skipped_missing": "missing", "skipped_multi_module": "of several modules", "skipped_read_error": "unreadable"}
	var out []string
	for _, f := range summary {
		n, ok := f.Value.(json.Number)
		if !ok {
			return ""
		}
		if n != "0" {
			out = append(out, n.String()+" "+cmp.Or(words[f.Name], strings.ReplaceAll(f.Name, "_", " ")))
		}
	}
	return cmp.Or(strings.Join(out, ", "), "nothing to change")
}

// tally counts what happens to files.
func tally(changes []any) (summary []Field) {
	for _, op := range []string{"create", "update", "delete"} {
		n := 0
		for _, c := range changes {
			if fields, _ := c.([]Field); Text(fields, "op") == op {
				n++
			}
		}
		summary = append(summary, Field{op, json.Number(strconv.Itoa(n))})
	}
	return summary
}

func conflictWords(c []Field) string {
	paths, _ := Member(c, "sample_paths").([]any)
	return strings.TrimPrefix(Text(c, "module_id")+": ", ": ") + strings.ReplaceAll(Text(c, "kind"), "_", " ") + ": " + strings.Join(eachText(paths, nil), ", ") + ". " + Text(c, "hint")
}

func optionWords(o []Field) string {
	var set []string
	if Member(o, "new") == true {
		set = append(set, "new")
	}
	options, _ := Member(o, "options").([]Field)
	for _, f := range options {
		set = append(set, fmt.Sprintf("%s: %v", f.Name, f.Value))
	}
	return strings.TrimSuffix(Text(o, "target")+": "+strings.Join(set, ", "), ": ")
}

// eachText are the texts of an array, and its objects in words.
func eachText(items []any, words func([]Field) string) []string {
	out := []string{}
	for _, item := range items {
		switch v := item.(type) {
		case string:
			out = append(out, v)
		case []Field:
			if words != nil {
				out = append(out, words(v))
			}
		}
	}
	return out
}

func listed(texts []string) []any {
	out := make([]any, len(texts))
	for i, s := range texts {
		out[i] = s
	}
	return out
}

func without(fields []Field, name string) []Field {
	return slices.DeleteFunc(slices.Clone(fields), func(f Field) bool { return f.Name == name })
}
