package command

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/present"
)

// PlanContextText returns a plan's context as lines of "name value", indented, with control characters replaced. It reports false for a plan without
// such a context.
func PlanContextText(plan json.RawMessage) (string, bool) {
	var own struct {
		Context json.RawMessage `json:"context"`
	}
	if json.Unmarshal(plan, &own) != nil || len(own.Context) == 0 {
		return "", false
	}
	v, err := present.Parse(own.Context)
	if err != nil {
		return "", false
	}
	fields, ok := v.([]present.Field)
	if !ok {
		return "", false
	}
	return strings.Join(block(fields), "\n"), true
}

// shownSum is the number of shown characters of a hash; the plan contains all of them.
const shownSum = 16

// longList is the length in bytes from which a list has one line for each text.
const longList = 100

// margin precedes every line of a block.
const margin = "  "

// unseen returns the members that only bind a plan to stored data.
func unseen() []string {
	return []string{"revision", "revisions", "total", "node_id", "workflow_id", "action_id", "number", "depth", "patch_sha256", "index_sha256"}
}

// labels returns the names of members for users that differ from their words.
func labels() map[string]string {
	return map[string]string{"argv": "process", "cwd": "working directory", "timeout_ms": "time limit", "timeoutMs": "time limit", "env_passed": "environment variables",
		"dev_like": "runs until stopped", "pre": "pre command", "post": "post command", "toolchain_strategy": "toolchain", "order": "position", "package_manager": "package manager",
		"payloadBytes": "payload bytes", "payloadCut": "payload truncated", "actions_forgotten": "actions forgotten", "processId": "process", "pid": "pid", "reads": "code files", "not_bound": "not covered"}
}

// apart returns the lists whose texts are sentences or commands, which commas do not separate: each has its own line.
func apart() []string {
	return []string{"changes", "commits", "changed_files", "not_merged", "unpushed_commits", "setup", "not_bound", "secrets", "settings_that_open", "settings_that_differ", "keys_that_count_again", "keys_that_do_not_count",
		"configures", "repositories", "checked", "writes"}
}

// row is a label with its value behind it (line) or below it (below).
type row struct {
	label, line string
	below       []string
}

// block returns an object as lines: labels in one column, values in another, then multi-line values, then warnings.
func block(fields []present.Field) []string {
	var rows []row
	var marked []string
	for _, f := range fields {
		if nothing(f.Value) || slices.Contains(unseen(), f.Name) || f.Name == "argv" && said(fields) || posix(fields, f) {
			continue
		}
		switch f.Name {
		case "findings":
			marked = append(marked, findings(f.Value)...)
		case "dangers", "warning", "warnings", "notes":
			marked = append(marked, marks(f.Value)...)
		default:
			if r := rowOf(f); r.line != "" || len(r.below) > 0 {
				rows = append(rows, r)
			}
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(min(len(a.below), 1), min(len(b.below), 1)) })
	width := 0
	for _, r := range rows {
		if r.line != "" {
			width = max(width, len(r.label))
		}
	}
	var out []string
	for _, r := range rows {
		out = append(out, strings.TrimRight(fmt.Sprintf("%s%-*s  %s", margin, width, r.label, r.line), " "))
		for _, line := range r.below {
			out = append(out, margin+line)
		}
	}
	return append(out, marked...)
}

// posix reports whether a slash-separated path only repeats the path next to it, as it does on systems with slashes.
func posix(fields []present.Field, f present.Field) bool {
	name, ok := strings.CutSuffix(f.Name, "_posix")
	path, text := f.Value.(string)
	return ok && text && path == present.Text(fields, name)
}

// said reports whether the command in the same object already contains the argument vector.
func said(fields []present.Field) bool {
	command := present.Text(fields, "command")
	return command != "" && command == present.CommandLine(texts(present.Member(fields, "argv")))
}

func rowOf(f present.Field) row {
	r := row{label: label(f.Name)}
	switch v := f.Value.(type) {
	case string:
		r.line, r.below = lines(v)
	case json.Number:
		r.line = number(f.Name, v)
	case bool:
		r.line = "yes"
	case []any:
		r.line, r.below = list(f.Name, v)
	case []present.Field:
		if name, path := present.Text(v, "name"), present.Text(v, "path"); name != "" && path != "" && len(v) <= 3 {
			r.line = Plain(name) + " (" + Plain(path) + ")"
			return r
		}
		r.below = block(v)
	}
	return r
}

// label returns a member's name as words. A name that begins with a capital is that of a header or variable and stays unchanged.
func label(name string) string {
	if known, ok := labels()[name]; ok {
		return known
	}
	if name != "" && name[0] >= 'A' && name[0] <= 'Z' {
		return Plain(name)
	}
	var out strings.Builder
	for _, r := range strings.TrimSuffix(Plain(name), "_ms") { // shown as a duration
		switch {
		case r == '_':
			r = ' '
		case r >= 'A' && r <= 'Z':
			out.WriteByte(' ')
			r += 'a' - 'A'
		}
		out.WriteRune(r)
	}
	return strings.TrimSpace(out.String())
}

// lines returns a text behind its label, or below it if it has several lines: each with a bar before it, so that none can be mistaken for a label.
func lines(s string) (line string, below []string) {
	s = strings.TrimRight(Block(s), "\n")
	if !strings.Contains(s, "\n") {
		return s, nil
	}
	for l := range strings.SplitSeq(s, "\n") {
		below = append(below, margin+"| "+l)
	}
	return "", below
}

func number(name string, n json.Number) string {
	if strings.HasSuffix(name, "_ms") || strings.HasSuffix(name, "MS") || strings.HasSuffix(name, "Ms") {
		ms, err := n.Int64()
		if err != nil || ms == 0 {
			return ""
		}
		return (time.Duration(ms) * time.Millisecond).String()
	}
	if at, err := n.Int64(); name == "order" && err == nil { // tools count from 0, lists for users from 1
		return strconv.FormatInt(at+1, 10)
	}
	return n.String()
}

// list returns an array: texts in one line or on separate ones, header lines one below the other, and steps numbered.
func list(name string, items []any) (line string, below []string) {
	if plain := texts(items); len(plain) == len(items) {
		if name == "argv" || name == "args" || name == "command" {
			return Block(present.CommandLine(plain)), nil
		}
		for i := range plain {
			plain[i] = Plain(plain[i])
			below = append(below, margin+"| "+plain[i])
		}
		line = strings.Join(plain, ", ")
		if slices.Contains(apart(), name) || len(plain) > 1 && len(line) > longList {
			return "", below
		}
		return line, nil
	}
	for i, item := range items {
		fields, ok := item.([]present.Field)
		if !ok {
			below = append(below, margin+Plain(fmt.Sprint(item)))
			continue
		}
		if sum := present.Text(fields, "sha256"); sum != "" && present.Text(fields, "path") != "" { // a file that is read as code
			below = append(below, margin+Plain(present.Text(fields, "path"))+"  sha256 "+Plain(sum[:min(len(sum), shownSum)]))
			continue
		}
		if value, ok := present.Member(fields, "value").(string); ok && len(fields) == 2 {
			below = append(below, margin+Plain(present.Text(fields, "name")+": "+value))
			continue
		}
		below = append(below, step(i+1, fields)...)
	}
	return "", below
}

// step returns one of several numbered objects: its name, else its directory, repository or script, and its command, in the first line, the rest
// below.
func step(n int, fields []present.Field) []string {
	depth := 0
	if d, ok := present.Member(fields, "depth").(json.Number); ok {
		depth, _ = strconv.Atoi(d.String())
	}
	indent := margin + strings.Repeat(margin, min(max(depth, 0), 8))
	title := "name"
	for _, other := range []string{"directory", "repo", "script"} {
		if present.Text(fields, title) == "" {
			title = other
		}
	}
	head := fmt.Sprintf("%s%d. %s", indent, n, Plain(present.Text(fields, title)))
	var rest []present.Field
	for _, f := range fields {
		if f.Name == "argv" && said(fields) {
			continue
		}
		switch f.Name {
		case title, "name", "workflow":
		case "command":
			command, more := lines(present.Text(fields, "command"))
			if head += ": " + command; len(more) > 0 {
				rest = append(rest, f)
			}
		case "starts_workflow":
			head += ": starts workflow " + Plain(present.Text(fields, "starts_workflow"))
		default:
			rest = append(rest, f)
		}
	}
	out := []string{strings.TrimRight(head, ": ")}
	for _, line := range block(rest) {
		out = append(out, indent+margin+line)
	}
	return out
}

// findings returns the findings in commands and files, marked.
func findings(v any) []string {
	items, _ := v.([]any)
	var out []string
	for _, item := range items {
		f, ok := item.([]present.Field)
		if !ok {
			continue
		}
		what, of := present.FindingOf(f)
		line := margin + "! " + Plain(what)
		if of != "" {
			line += ": " + Plain(of)
		}
		out = append(out, line)
	}
	return out
}

// marks returns warnings, marked.
func marks(v any) []string {
	all := texts(v)
	if s, ok := v.(string); ok {
		all = []string{s}
	}
	out := make([]string, 0, len(all))
	for _, s := range all {
		out = append(out, margin+"! "+Plain(s))
	}
	return out
}

// texts returns the texts of an array.
func texts(v any) []string {
	items, _ := v.([]any)
	var out []string
	for _, item := range items {
		if s, ok := item.(string); ok {
			out = append(out, s)
		}
	}
	return out
}
