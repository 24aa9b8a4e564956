package tasks

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

var (
	templated = regexp.MustCompile(`\{\{.*?\}\}`)
	plainRef  = regexp.MustCompile(`^\{\{-?\s*\.?([A-Za-z_][A-Za-z0-9_]*)\s*-?\}\}$`)
)

// values are what variables come to.
type values struct {
	own    map[string]string
	global map[string]string // for names that own has not
	hidden map[string]bool   // names whose global values do not count
	spent  *int              // bytes that they were filled in with; what goes beyond maxExpanded is computed
}

func (v values) of(name string) (string, bool) {
	value, ok := v.own[name]
	if !ok && !v.hidden[name] {
		value, ok = v.global[name]
	}
	if ok && v.spent != nil {
		if *v.spent >= maxExpanded {
			return computed, true
		}
		*v.spent += 1 + len(value)
	}
	return value, ok
}

// filled returns text with what stands in double braces replaced: by the value of a name that is known, else by a shell variable of that name.
func filled(text string, known values) string {
	return templated.ReplaceAllStringFunc(text, func(t string) string {
		ref := plainRef.FindStringSubmatch(t)
		if ref == nil {
			return computed
		}
		if v, ok := known.of(ref[1]); ok {
			return v
		}
		return "${" + ref[1] + "}"
	})
}

// taskfileIn returns the Taskfile of a directory; empty without one.
func taskfileIn(d Documents, dir string) string {
	var names []string
	for _, name := range []string{"Taskfile.yml", "taskfile.yml", "Taskfile.yaml", "taskfile.yaml", "Taskfile.dist.yml", "taskfile.dist.yml", "Taskfile.dist.yaml", "taskfile.dist.yaml"} {
		names = append(names, path.Join(dir, name))
	}
	return first(d, names...)
}

// readTaskfile lists the tasks of a Taskfile, and of those in the directory that it includes.
func readTaskfile(l *List, d Documents) {
	if file := taskfileIn(d, "."); file != "" {
		(&taskfiles{l: l, d: d}).read(taskfile{file: file})
	}
}

// taskfiles reads a Taskfile with its includes.
type taskfiles struct {
	l     *List
	d     Documents
	files int // that are included
	spent int // bytes that variables came to
}

// taskfile is one of them, and how it is included.
type taskfile struct {
	file    string
	within  []string // files that include it, the outermost first
	prefix  string   // of its tasks' names
	inner   bool     // its tasks are only for other tasks
	left    []string // tasks that are left out
	sets    []string // what the include statement says that affects how they run
	vars    map[string]string
	dynamic []string // commands whose output variables are
}

// includes follows the includes of a Taskfile, as far as they are in the directory.
func (r *taskfiles) includes(of taskfile, doc any, vars map[string]string, dynamic []string) {
	names, entries := branches(branch(doc, "includes"))
	var open []string
	for _, name := range names {
		e := entries[name]
		at, local := beside(of.file, leaf(e)+leaf(branch(e, "taskfile")))
		if local && !strings.HasSuffix(at, ".yml") && !strings.HasSuffix(at, ".yaml") {
			at = taskfileIn(r.d, at)
		}
		if !local || at == "" || !r.d.Has(at) || slices.Contains(of.within, at) || at == of.file || len(of.within)+1 >= maxLoadDepth || r.files >= maxLoads {
			open = append(open, name)
			continue
		}
		r.files++
		r.l.loads(Taskfile, at)
		next := taskfile{file: at, within: append(slices.Clone(of.within), of.file), prefix: of.prefix + name + ":", inner: of.inner || branch(e, "internal") == true, left: leaves(branch(e, "excludes")),
			sets: slices.Clone(of.sets), vars: vars, dynamic: dynamic}
		if branch(e, "flatten") == true {
			next.prefix = of.prefix
		}
		if dir := leaf(branch(e, "dir")); dir != "" {
			next.sets = append(next.sets, "included to run in "+dir)
		}
		for _, line := range variables(branch(e, "vars")) {
			next.sets = append(next.sets, "included with "+line)
		}
		next.dynamic = append(slices.Clone(dynamic), commandsOf(branch(e, "vars"))...)
		r.read(next)
	}
	if len(open) > 0 {
		r.l.note("%s includes %s, whose tasks are not listed", of.file, strings.Join(open, ", "))
		r.l.open(Taskfile, "task may run more than is shown: %s includes %s", of.file, strings.Join(open, ", "))
	}
}

// read lists the tasks of one file, then those of the files that it includes.
func (r *taskfiles) read(of taskfile) {
	l, file := r.l, of.file
	doc, err := r.d.Tree(file)
	if err != nil {
		l.unread(file, err)
		l.open(Taskfile, "task may run more than is shown: %s cannot be read", file)
		return
	}
	for _, field := range []string{"dotenv", "set", "shopt", "run", "method", "silent", "interval"} {
		if v := branch(doc, field); v != nil {
			l.sets(Taskfile, "%s: %s", field, written(v))
		}
	}
	for _, field := range []string{"vars", "env"} {
		for _, line := range variables(branch(doc, field)) {
			l.sets(Taskfile, "%s %s", field, line)
		}
	}
	if branch(doc, "dotenv") != nil {
		l.open(Taskfile, "the dotenv files may change variables, and are not read")
	}
	dynamic := append(slices.Clone(of.dynamic), commandsOf(branch(doc, "vars"), branch(doc, "env"))...)
	vars := maps.Clone(of.vars)
	if vars == nil {
		vars = map[string]string{}
	}
	known := values{own: vars, spent: &r.spent}
	taskVars(branch(doc, "vars"), known)
	before := joined(outputs(dynamic, known)...)
	names, entries := branches(branch(doc, "tasks"))
	for _, name := range names {
		if slices.Contains(of.left, name) {
			continue
		}
		t := taskOf(file, of.prefix, name, entries[name], known)
		t.inner = t.inner || of.inner
		t.Sets = slices.Concat(of.sets, t.Sets)
		t.Shell = joined(append(outputs(commandsOf(branch(entries[name], "vars"), branch(entries[name], "env")), known), t.Shell)...)
		t.before = before
		l.add(t)
	}
	r.includes(of, doc, vars, dynamic)
}

// taskVars takes those variables whose values are text, or the output of a command.
func taskVars(v any, into values) {
	names, entries := branches(v)
	for _, name := range names {
		switch value := entries[name].(type) {
		case string:
			into.own[name] = filled(value, into)
		case map[string]any:
			if sh := leaf(value["sh"]); sh != "" {
				into.own[name] = "$(" + filled(sh, into) + ")"
			}
		}
	}
}

// written returns a value of a file in one line.
func written(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		parts := make([]string, 0, len(v))
		for _, item := range v {
			parts = append(parts, written(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		names, entries := branches(v)
		parts := make([]string, 0, len(names))
		for _, name := range names {
			parts = append(parts, name+": "+written(entries[name]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return sprintf("%v", v)
}

// variables returns a map of variables, each in one line.
func variables(v any) (out []string) {
	names, entries := branches(v)
	for _, name := range names {
		if sh := leaf(branch(entries[name], "sh")); sh != "" {
			out = append(out, name+": the output of "+sh)
			continue
		}
		out = append(out, name+": "+written(entries[name]))
	}
	return out
}

// commandsOf returns the commands whose output becomes variables.
func commandsOf(all ...any) (out []string) {
	for _, v := range all {
		names, entries := branches(v)
		for _, name := range names {
			if sh := leaf(branch(entries[name], "sh")); sh != "" {
				out = append(out, sh)
			}
		}
	}
	return out
}

// outputs returns shell text that runs the commands for what they print, as the runner does before anything else.
func outputs(commands []string, known values) (out []string) {
	for _, c := range commands {
		out = append(out, ": $("+filled(c, known)+")")
	}
	return out
}

// joined returns the texts that are not empty, one per line.
func joined(texts ...string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(texts), func(t string) bool { return t == "" }), "\n")
}

// toldApart are the fields of a task that are described otherwise, or that affect nothing that runs. All other fields are shown, including those of
// later versions of the runner.
var toldApart = []string{"desc", "summary", "label", "silent", "interactive", "internal", "prompt", "vars", "env", "deps", "if", "preconditions", "status", "cmd", "cmds"}

// taskOf reads one task. Others that it names are those of its own file, unless a colon stands before them.
func taskOf(file, prefix, own string, v any, global values) Task {
	name := prefix + own
	if own == "default" && prefix != "" {
		name = strings.TrimSuffix(prefix, ":")
	}
	t := Task{Name: name, Runner: Taskfile, File: file, Argv: []string{"task", name}, After: true}
	vars := values{own: map[string]string{}, global: global.own, spent: global.spent}
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
			for _, text := range []any{branch(item, "if"), branch(item, "cmd"), branch(item, "sh"), branch(item, "defer"), branch(item, "defer", "cmd")} {
				say(leaf(text))
			}
			for _, other := range []string{leaf(branch(item, "task")), leaf(branch(item, "defer", "task"))} {
				if other != "" {
					t.Needs = append(t.Needs, other)
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
		if m["prompt"] != nil { // the user who approves the plan has been asked
			t.Argv = []string{"task", "--yes", name}
		}
		fields, _ := branches(v)
		for _, field := range fields {
			if m[field] != nil && !slices.Contains(toldApart, field) {
				t.Sets = said(t.Sets, field+": "+written(m[field]))
			}
		}
		for _, field := range []string{"vars", "env"} {
			for _, line := range variables(m[field]) {
				t.Sets = said(t.Sets, field+" "+line)
			}
		}
		for _, item := range slices.Concat(items(m["cmds"]), items(m["deps"])) {
			if loop := branch(item, "for"); loop != nil {
				t.Sets = said(t.Sets, "for each of "+written(loop)+": "+leaf(branch(item, "cmd"))+leaf(branch(item, "task")))
			}
			for _, call := range []any{item, branch(item, "defer")} {
				if given := branch(call, "vars"); given != nil {
					t.Sets = said(t.Sets, leaf(branch(call, "task"))+" with "+written(given))
					shell = append(shell, outputs(commandsOf(given), vars)...)
				}
			}
		}
		taskVars(m["vars"], vars)
		deps, _ := m["deps"].([]any)
		for _, dep := range deps {
			if other := leaf(dep) + leaf(branch(dep, "task")); other != "" {
				t.Needs = append(t.Needs, other)
			}
		}
		for _, field := range []string{"if", "preconditions", "status", "cmd", "cmds"} {
			many(m[field])
		}
	}
	t.Command, t.Shell = strings.Join(commands, "\n"), strings.Join(shell, "\n")
	for i, need := range t.Needs {
		if root, is := strings.CutPrefix(need, ":"); is {
			t.Needs[i] = root
		} else {
			t.Needs[i] = prefix + need
		}
		if strings.Contains(need, "{{") {
			t.Open = said(t.Open, "task may run another task than is shown: the name "+need+" is computed")
		}
	}
	return t
}

// items returns the entries of a list.
func items(v any) []any {
	list, _ := v.([]any)
	return list
}
