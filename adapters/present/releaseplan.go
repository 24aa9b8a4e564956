package present

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// ReleasePlan puts the preview of an ecosystem's release into the form in which people decide on it: how much it is first, then each repository once with what is
// written there, what all have in common said once, and what was committed at the end. warnings are those that stand beside the preview, which it does not repeat.
// ok is false for any other preview.
func ReleasePlan(preview []Field, warnings any) (plan []Field, ok bool) {
	totals, ok1 := Member(preview, "totals").([]Field)
	checks, ok2 := Member(preview, "validation").([]Field)
	repos, ok3 := Member(preview, "repos").([]any)
	files, ok4 := Member(preview, "files").([]any)
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return nil, false
	}
	rows, common, left := releaseRows(repos, files, Text(preview, "branch"))
	plan = []Field{{"totals", totalWords(totals)}}
	for _, name := range []string{"versions", "current", "next", "tag", "branch", "will_push", "message"} {
		if v := Member(preview, name); v != nil && v != "" {
			plan = append(plan, Field{name, v})
		}
	}
	plan = append(plan, common...)
	plan = append(plan, Field{"repositories", rows})
	for _, f := range preview {
		switch f.Name {
		case "totals", "versions", "current", "next", "tag", "branch", "will_push", "message", "repos", "files", "validation", "commits", "commits_total":
		case "root":
			root, _ := f.Value.([]Field)
			plan = append(plan, Field{"root", append(slices.Clone(root), Field{"writes", left})})
		default:
			plan = append(plan, f)
		}
	}
	if Member(preview, "root") == nil && len(left) > 0 {
		plan = append(plan, Field{"writes", left})
	}
	plan = append(plan, leftChecks(checks, warnings)...)
	if commits, _ := Member(preview, "commits").([]any); len(commits) > 0 {
		if total := Member(preview, "commits_total"); total != json.Number(fmt.Sprint(len(commits))) {
			plan = append(plan, Field{"commits_total", total})
		}
		plan = append(plan, Field{"commits", commits})
	}
	return plan, true
}

// totalWords returns counts as a text: "50 repositories, 52 commits made, 101 files written, 50 tags".
func totalWords(totals []Field) string {
	var words []string
	for _, name := range []string{"repositories", "commits_made", "files_written", "tags"} {
		if n := Member(totals, name); n != nil {
			words = append(words, fmt.Sprint(n)+" "+strings.ReplaceAll(name, "_", " "))
		}
	}
	return strings.Join(words, ", ")
}

// releaseRows returns an entry for each repository with the files that are written in it, what is the same in all of them, and the files of no repository.
func releaseRows(repos, files []any, branch string) (rows []any, common []Field, left []any) {
	var all [][]Field
	for _, r := range repos {
		if fields, ok := r.([]Field); ok {
			all = append(all, fields)
		}
	}
	same := func(name string) bool {
		return len(all) > 1 && !slices.ContainsFunc(all, func(r []Field) bool {
			return fmt.Sprint(Member(r, name)) != fmt.Sprint(Member(all[0], name))
		})
	}
	for _, one := range [][2]string{{"commit_message", "each_commit_says"}, {"pushes", "each_pushes"}} {
		if !same(one[0]) {
			continue
		}
		if v := Member(all[0], one[0]); v != nil {
			common = append(common, Field{one[1], v})
		}
	}
	rows = []any{}
	taken := make([]bool, len(files))
	for _, r := range all {
		row := []Field{{"name", Text(r, "name")}}
		for _, f := range r {
			switch {
			case slices.Contains([]string{"name", "dir", "commit", "files_total"}, f.Name):
			case f.Name == "branch" && f.Value == branch:
			case (f.Name == "commit_message" || f.Name == "pushes") && same(f.Name):
			default:
				row = append(row, f)
			}
		}
		var written []any
		for i, file := range files {
			fields, _ := file.([]Field)
			dir := Text(r, "dir")
			if below, ok := strings.CutPrefix(Text(fields, "path"), dir+"/"); ok && dir != "" && !taken[i] {
				taken[i], written = true, append(written, fileWords(below, fields))
			}
		}
		if len(written) > 0 {
			row = append(row, Field{"writes", written})
		}
		rows = append(rows, row)
	}
	for i, file := range files {
		if fields, ok := file.([]Field); ok && !taken[i] {
			left = append(left, fileWords(Text(fields, "path"), fields))
		}
	}
	return rows, common, left
}

func fileWords(path string, file []Field) string {
	if change := Text(file, "change"); change != "" {
		return path + " (" + change + ")"
	}
	return path
}

// leftChecks returns what checks say, without the warnings that stand elsewhere.
func leftChecks(checks []Field, warnings any) (out []Field) {
	elsewhere, _ := warnings.([]any)
	for _, f := range checks {
		items, _ := f.Value.([]any)
		switch f.Name {
		case "passed":
			out = append(out, Field{"checked", items})
		case "warnings", "errors":
			if rest := slices.DeleteFunc(slices.Clone(items), func(v any) bool { return slices.Contains(elsewhere, v) }); len(rest) > 0 {
				out = append(out, Field{"warnings", rest})
			}
		}
	}
	return out
}

// ReleaseLines returns the entries of a plan of ReleasePlan as texts of a line each, for places that have no tables.
func ReleaseLines(plan []Field) []Field {
	out := slices.Clone(plan)
	for i, f := range out {
		items, _ := f.Value.([]any)
		if len(items) == 0 || f.Name != "repositories" && f.Name != "commits" {
			continue
		}
		key, width := "name", 0
		if f.Name == "commits" {
			key = "repo"
		}
		for _, item := range items {
			fields, _ := item.([]Field)
			width = max(width, len([]rune(Text(fields, key))))
		}
		lines := make([]any, 0, len(items))
		for _, item := range items {
			fields, _ := item.([]Field)
			lines = append(lines, fmt.Sprintf("%-*s  %s", width, Text(fields, key), rowWords(fields, key)))
		}
		out[i].Value = lines
	}
	return out
}

// rowWords returns an entry without its name.
func rowWords(fields []Field, key string) string {
	var words []string
	for _, f := range fields {
		list, _ := f.Value.([]any)
		var texts []string
		for _, v := range list {
			texts = append(texts, fmt.Sprint(v))
		}
		switch v := f.Value.(type) {
		case nil, []Field:
			continue
		case json.Number:
			what := strings.ReplaceAll(f.Name, "_", " ")
			if v == "1" {
				what = strings.TrimSuffix(what, "s")
			}
			words = append(words, v.String()+" "+what)
			continue
		case string:
			texts = []string{v}
		case bool:
			continue
		}
		text := strings.Join(texts, ", ")
		switch {
		case f.Name == key || text == "":
		case f.Name == "head" || f.Name == "commit" || f.Name == "subject":
			words = append(words, text)
		default:
			words = append(words, strings.ReplaceAll(f.Name, "_", " ")+" "+text)
		}
	}
	sep := "; "
	if key == "repo" {
		sep = " "
	}
	return strings.Join(words, sep)
}
