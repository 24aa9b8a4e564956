package tasks

import (
	"regexp"
	"strings"
)

var (
	templated = regexp.MustCompile(`\{\{.*?\}\}`)
	plainRef  = regexp.MustCompile(`^\{\{-?\s*\.?([A-Za-z_][A-Za-z0-9_]*)\s*-?\}\}$`)
)

// filled returns text with what stands in double braces replaced: by the value of a name that is known, else by a shell variable of that name.
func filled(text string, known map[string]string) string {
	return templated.ReplaceAllStringFunc(text, func(t string) string {
		ref := plainRef.FindStringSubmatch(t)
		if ref == nil {
			return computed
		}
		if v, ok := known[ref[1]]; ok {
			return v
		}
		return "${" + ref[1] + "}"
	})
}

// readTaskfile lists the tasks of a Taskfile.
func readTaskfile(l *List, d Documents) {
	file := first(d, "Taskfile.yml", "taskfile.yml", "Taskfile.yaml", "taskfile.yaml", "Taskfile.dist.yml", "taskfile.dist.yml", "Taskfile.dist.yaml", "taskfile.dist.yaml")
	if file == "" {
		return
	}
	doc, err := d.Tree(file)
	if err != nil {
		l.unread(file, err)
		return
	}
	if names, _ := branches(branch(doc, "includes")); len(names) > 0 {
		l.note("%s includes %s, whose tasks are not listed", file, strings.Join(names, ", "))
	}
	vars := map[string]string{}
	taskVars(branch(doc, "vars"), vars)
	names, entries := branches(branch(doc, "tasks"))
	for _, name := range names {
		l.add(taskOf(file, name, entries[name], vars))
	}
}

// taskVars takes those variables whose values are text, or the output of a command.
func taskVars(v any, into map[string]string) {
	names, entries := branches(v)
	for _, name := range names {
		switch value := entries[name].(type) {
		case string:
			into[name] = filled(value, into)
		case map[string]any:
			if sh := leaf(value["sh"]); sh != "" {
				into[name] = "$(" + filled(sh, into) + ")"
			}
		}
	}
}

func taskOf(file, name string, v any, global map[string]string) Task {
	t := Task{Name: name, Runner: Taskfile, File: file, Argv: []string{"task", name}, After: true}
	vars := make(map[string]string, len(global))
	for k, g := range global {
		vars[k] = g
	}
	var commands, shell []string
	say := func(text string) {
		if text = strings.TrimSpace(text); text != "" {
			commands, shell = append(commands, text), append(shell, filled(text, vars))
		}
	}
	many := func(v any) {
		if text, ok := v.(string); ok {
			say(text)
		}
		list, _ := v.([]any)
		for _, item := range list {
			if text, ok := item.(string); ok {
				say(text)
				continue
			}
			say(leaf(branch(item, "cmd")))
			say(leaf(branch(item, "sh")))
			say(leaf(branch(item, "defer")))
			for _, other := range []string{leaf(branch(item, "task")), leaf(branch(item, "defer", "task"))} {
				if other != "" {
					t.Needs = append(t.Needs, strings.TrimPrefix(other, ":"))
				}
			}
		}
	}
	m, is := v.(map[string]any)
	if !is {
		many(v)
	} else {
		t.Description = leaf(m["desc"])
		t.inner = m["internal"] == true
		if m["prompt"] != nil { // whoever approves the plan has been asked
			t.Argv = []string{"task", "--yes", name}
		}
		taskVars(m["vars"], vars)
		deps, _ := m["deps"].([]any)
		for _, dep := range deps {
			if other := leaf(dep) + leaf(branch(dep, "task")); other != "" {
				t.Needs = append(t.Needs, other)
			}
		}
		for _, field := range []string{"preconditions", "status", "cmd", "cmds"} {
			many(m[field])
		}
	}
	t.Command, t.Shell = strings.Join(commands, "\n"), strings.Join(shell, "\n")
	return t
}
