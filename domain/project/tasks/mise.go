package tasks

import "strings"

// readMise lists the tasks in mise's configuration. Local files take precedence over shared ones.
func readMise(l *List, d Documents) {
	for _, file := range []string{"mise.local.toml", ".mise.local.toml", "mise/config.local.toml", ".config/mise.local.toml", ".config/mise/config.local.toml",
		"mise.toml", ".mise.toml", "mise/config.toml", ".config/mise.toml", ".config/mise/config.toml"} {
		if !d.Has(file) {
			continue
		}
		doc, err := d.Tree(file)
		if err != nil {
			l.unread(file, err)
			continue
		}
		for _, field := range []string{"env", "vars", "hooks", "settings", "task_config"} {
			for _, line := range variables(branch(doc, field)) {
				l.sets(Mise, "%s %s", field, line)
			}
		}
		if branch(doc, "hooks") != nil || branch(doc, "env", "_", "source") != nil {
			l.open(Mise, "mise may run more than is shown: %s names hooks or files that are loaded", file)
		}
		names, entries := branches(branch(doc, "tasks"))
		for _, name := range names {
			l.add(miseTask(file, name, entries[name]))
		}
	}
	if dir := first(d, "mise-tasks", ".mise-tasks", "mise/tasks", ".mise/tasks", ".config/mise/tasks"); dir != "" {
		l.note("mise's tasks that are files in %s are not listed", dir)
	}
}

func miseTask(file, name string, v any) Task {
	t := Task{Name: name, Runner: Mise, File: file, Argv: []string{"mise", "run", name}, After: true}
	run := v
	if m, is := v.(map[string]any); is {
		run = m["run"]
		t.Description, t.inner = leaf(m["description"]), m["hide"] == true
		for _, field := range []string{"dir", "shell", "tools", "sources", "outputs"} {
			if m[field] != nil {
				t.Sets = said(t.Sets, field+": "+written(m[field]))
			}
		}
		for _, line := range variables(m["env"]) {
			t.Sets = said(t.Sets, "env "+line)
		}
		for _, field := range []string{"depends", "depends_post"} {
			for _, need := range leaves(m[field]) {
				need, _, _ = strings.Cut(need, " ")
				t.Needs = append(t.Needs, need)
			}
			for _, item := range items(m[field]) { // with arguments, or an environment of its own
				need := leaf(branch(item, "task"))
				if call := items(item); len(call) > 0 {
					need = leaf(call[0])
				}
				if need != "" {
					t.Needs, t.Sets = append(t.Needs, need), said(t.Sets, field+": "+written(item))
				}
			}
		}
		if script := leaf(m["file"]); script != "" {
			run = script
		}
	}
	commands := leaves(run)
	list, _ := run.([]any)
	for _, item := range list {
		if other := leaf(branch(item, "task")); other != "" {
			t.Needs = append(t.Needs, other)
		}
		t.Needs = append(t.Needs, leaves(branch(item, "tasks"))...)
	}
	t.Command = strings.Join(commands, "\n")
	if strings.Contains(t.Command, "{{") || strings.Contains(t.Command, "{%") {
		t.Open = said(t.Open, "mise expands text in double braces, and may run commands for it")
	}
	if t.Shell = filled(t.Command, values{}); strings.HasPrefix(t.Command, "#!") && !strings.Contains(strings.SplitN(t.Command, "\n", 2)[0], "sh") {
		t.Shell = ""
	}
	return t
}
