package tasks

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/spelling"
)

// Runner is a program that runs tasks by name.
type Runner string

// The runners. Nothing else is ever started as one.
const (
	Script   Runner = "script" // package.json, by the project's package manager
	Make     Runner = "make"
	Taskfile Runner = "task"
	Just     Runner = "just"
	Mise     Runner = "mise"
	Cargo    Runner = "cargo"
	Go       Runner = "go"
	UV       Runner = "uv"
	Poetry   Runner = "poetry"
	Hatch    Runner = "hatch"
	Composer Runner = "composer"
	Gradle   Runner = "gradle"
	Maven    Runner = "mvn"
)

// runners returns every runner, those whose files name their tasks first.
func runners() []Runner {
	return []Runner{Script, Make, Taskfile, Just, Mise, UV, Poetry, Hatch, Composer, Cargo, Go, Gradle, Maven}
}

// The bounds of what is read of one directory.
const (
	maxTasks = 500
	maxInner = 5000 // tasks that are not listed, but that others may need
	maxNotes = 20
	maxNeeds = 100 // tasks that one needs, including indirect ones
)

// Task is something that a directory can run by name.
type Task struct {
	Name        string   `json:"name"`
	Runner      Runner   `json:"runner"`
	File        string   `json:"file"`                  // where it is defined
	Command     string   `json:"command"`               // what it runs, as written in the file
	Description string   `json:"description,omitempty"` // the file's own
	Needs       []string `json:"needs,omitempty"`       // tasks of the same runner that it starts
	Usual       bool     `json:"usual,omitempty"`       // built into the runner, not named in a file

	Shell string   `json:"-"` // Command with the runner's own variables as shell text; empty if it is not shell text
	Argv  []string `json:"-"` // what starts it, the program by name; empty for a script of package.json
	After bool     `json:"-"` // its own arguments follow "--"
	Sets  []string `json:"-"` // what its file says that affects how it runs: variables, environment, directory, shell, each as written
	Loads []string `json:"-"` // files beside File that its runner reads for it
	Open  []string `json:"-"` // what cannot be told without running the runner, in sentences
	inner bool     // it is there for other tasks alone
	first string   // task that its runner begins with, whatever it is called for; empty for none

	before string // shell text that its runner runs before Shell, whatever it is called for
}

// whole returns the task with all of its shell text. Many tasks of a file have the same text before their own, so that it is put together for those alone that are asked for.
func (t Task) whole() Task {
	t.Shell, t.before = joined(t.before, t.Shell), ""
	return t
}

// ID returns the task's name prefixed by its runner's.
func (t Task) ID() string { return string(t.Runner) + ":" + t.Name }

// Packaged reports whether the task is a script of a package.json, which run_script runs too.
func (t Task) Packaged() bool { return t.Runner == Script }

// List is what a directory can run.
type List struct {
	Tasks  []Task   // by runner, then by name
	Notes  []string // what is missing from it, and why
	hidden []Task
	around map[Runner]*surroundings
}

// surroundings is what a runner's file says that affects each of its tasks.
type surroundings struct{ sets, open, loads []string }

func (l *List) about(r Runner) *surroundings {
	if l.around == nil {
		l.around = map[Runner]*surroundings{}
	}
	if l.around[r] == nil {
		l.around[r] = &surroundings{}
	}
	return l.around[r]
}

// maxSaid is the maximum number of notes about the tasks of a file.
const maxSaid = 200

func said(list []string, text string) []string {
	if text = strings.TrimSpace(text); text == "" || slices.Contains(list, text) {
		return list
	}
	if len(list) == maxSaid {
		return append(list, "and more, which is not shown here")
	}
	return append(list[:min(len(list), maxSaid)], text)
}

// sets records something that a file says about all its tasks.
func (l *List) sets(r Runner, format string, args ...any) {
	a := l.about(r)
	a.sets = said(a.sets, sprintf(format, args...))
}

// open records something about all tasks of a file that cannot be determined without running them.
func (l *List) open(r Runner, format string, args ...any) {
	a := l.about(r)
	a.open = said(a.open, sprintf(format, args...))
}

// loads records a file that a runner reads in addition.
func (l *List) loads(r Runner, file string) {
	a := l.about(r)
	a.loads = said(a.loads, file)
}

// Read returns what a directory can run, according to its files and the known facts. A file that cannot be read is noted.
func Read(d Documents, f project.Facts) List {
	l := &List{}
	if f.Manifest != nil {
		for _, name := range f.Manifest.ScriptNames() {
			l.add(Task{Name: name, Runner: Script, File: "package.json", Command: f.Manifest.Scripts[name], Shell: f.Manifest.Scripts[name]})
		}
	}
	for _, read := range []func(*List, Documents){readMakefile, readTaskfile, readJustfile, readMise, readPyproject, readComposer, readCargo, readGo, readGradle, readMaven} {
		read(l, d)
	}
	for _, all := range [][]Task{l.Tasks, l.hidden} {
		for i, t := range all {
			if a := l.around[t.Runner]; a != nil && !t.Usual {
				all[i].Sets, all[i].Open = slices.Concat(a.sets, t.Sets), slices.Concat(a.open, t.Open)
				all[i].Loads = a.loads
			}
		}
	}
	l.unknown()
	order := runners()
	slices.SortStableFunc(l.Tasks, func(a, b Task) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Runner), slices.Index(order, b.Runner)), strings.Compare(a.Name, b.Name))
	})
	return *l
}

// unknown records the tasks that others start and that no file read here has under that name: through an alias, a pattern, or a file that is not
// followed. What make needs without a rule is a file, and what looks like a dependency in just may be an argument of one.
func (l *List) unknown() {
	have := map[string]bool{}
	for _, all := range [][]Task{l.Tasks, l.hidden} {
		for _, t := range all {
			have[t.ID()] = true
		}
	}
	for _, all := range [][]Task{l.Tasks, l.hidden} {
		for i, t := range all {
			if t.Runner != Taskfile && t.Runner != Mise && t.Runner != Composer {
				continue
			}
			for _, need := range t.Needs {
				if !have[string(t.Runner)+":"+need] {
					all[i].Open = said(slices.Clip(all[i].Open), sprintf("%s may run more than is shown: the task %s, which %s starts, was not found", t.Runner, need, t.Name))
				}
			}
		}
	}
}

// add lists a task that can be called by name: one whose name could pass for an option, or cannot be shown, is only there for others.
func (l *List) add(t Task) {
	if t.Name == "" {
		return
	}
	if t.inner || t.Runner != Script && !callable(t.Name) { // another may need it all the same
		l.hide(t)
		return
	}
	if slices.ContainsFunc(l.Tasks, func(o Task) bool { return o.Runner == t.Runner && o.Name == t.Name }) {
		if t.Runner == Taskfile {
			l.open(Taskfile, "task may run another %s than is shown: several files have one", t.Name)
		}
		return
	}
	if len(l.Tasks) >= maxTasks {
		l.note("only the first %d tasks are listed", maxTasks)
		l.hide(t)
		return
	}
	l.Tasks = append(l.Tasks, t)
}

// hide adds a task that is only for other tasks.
func (l *List) hide(t Task) {
	if len(l.hidden) >= maxInner {
		l.more(t.Runner)
		return
	}
	l.hidden = append(l.hidden, t)
}

// more takes down that a file has tasks which are not read.
func (l *List) more(r Runner) {
	l.open(r, "%s may run more than is shown: there are more tasks than are read", r)
}

// callable reports a name that any runner takes for a task's.
func callable(name string) bool {
	return len(name) <= project.MaxName && name[0] != '-' && !strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r == 0x7f || strings.ContainsRune("=*?\"'`$\\|&;<>(){}[]#!%", r)
	})
}

func (l *List) note(format string, args ...any) {
	if text := sprintf(format, args...); !slices.Contains(l.Notes, text) && len(l.Notes) < maxNotes {
		l.Notes = append(l.Notes, text)
	}
}

// unread notes a file that exists and cannot be read.
func (l *List) unread(name string, err error) {
	l.note("%s cannot be read, so its tasks are not listed: %s", name, err)
}

// Find returns the task with that name: "build", or "make:build" if several runners have one. Tasks named in files take precedence over those built
// into a runner. It fails with project.ErrScriptNotFound, naming the existing ones, or with project.ErrArgument if several have that name.
func (l List) Find(word string) (Task, error) {
	var named, usual []Task
	for _, t := range l.Tasks {
		switch {
		case t.ID() != word && t.Name != word:
		case t.Usual:
			usual = append(usual, t)
		default:
			named = append(named, t)
		}
	}
	if len(named) == 0 {
		named = usual
	}
	switch len(named) {
	case 1:
		return named[0].whole(), nil
	case 0:
		if t, ok := l.any(word); ok {
			return t, nil
		}
		return Task{}, l.missing(word)
	}
	var ids []string
	for _, t := range named {
		ids = append(ids, t.ID())
	}
	return Task{}, project.ErrArgument.WithMessage("%.100q matches more than one task; use one of: %s", word, strings.Join(ids, ", "))
}

// free matches names of a runner's tasks that no file names.
var free = map[Runner]string{
	Gradle: `^:?[A-Za-z][A-Za-z0-9_]*([:-][A-Za-z0-9_]+)*$`,
	Maven:  `^[a-z][a-z0-9-]*(:[a-z0-9-]+)?$`,
}

// any returns a task of Gradle or Maven with any name that fits their rules: their files would have to be run to list them.
func (l List) any(word string) (Task, bool) {
	runner, name, _ := strings.Cut(word, ":")
	like, ok := free[Runner(runner)]
	if !ok || !regexp.MustCompile(like).MatchString(name) {
		return Task{}, false
	}
	for _, t := range l.Tasks {
		if t.Runner == Runner(runner) {
			return usual(t.Runner, t.File, name, t.Argv[0], name), true
		}
	}
	return Task{}, false
}

// shown limits a list of tasks in a message.
const shown = 50

func (l List) missing(word string) error {
	var names []string
	for _, t := range l.Tasks {
		if !slices.Contains(names, t.Name) {
			names = append(names, t.Name)
		}
	}
	if len(names) == 0 {
		return project.ErrScriptNotFound.WithMessage("task %.100q not found: the project has no readable task files", word)
	}
	meant, list := "", strings.Join(names[:min(len(names), shown)], ", ")
	if near := spelling.Nearest(word, names); near != "" {
		meant = "; did you mean " + near + "?"
		rest := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == near })
		list = strings.Join(append([]string{near}, rest...)[:min(len(names), shown)], ", ")
	}
	if len(names) > shown {
		list += sprintf(" and %d more", len(names)-shown)
	}
	return project.ErrScriptNotFound.WithMessage("task %.100q not found%s; tasks: %s", word, meant, list)
}

// Needed returns the tasks that one starts, directly or indirectly, as far as they can be read: each once, in the order in which they are named. If
// the limit is exceeded, the last one says so.
func (l List) Needed(of Task) (out []Task) {
	rules := l.rules(of.Runner)
	seen, stood, again := map[string]bool{of.Name: true}, map[string]bool{}, 0 // again counts the bytes of texts that stood before another task
	var follow func(t Task)
	follow = func(t Task) {
		for _, name := range slices.Concat([]string{t.first}, t.Needs) {
			if len(out) > maxNeeds {
				return
			}
			if name == "" || seen[name] {
				continue
			}
			seen[name] = true
			if other, ok := rules.find(name); ok {
				switch text := other.before; {
				case !stood[text]:
					stood[text] = true
				case again+len(text) > maxExpanded: // it is shown with another task
					other.before = ""
				default:
					again += len(text)
				}
				out = append(out, other.whole())
				follow(other)
			}
		}
	}
	follow(of)
	if len(out) > maxNeeds {
		out = out[:maxNeeds]
		last := &out[maxNeeds-1]
		last.Open = append(slices.Clip(last.Open), sprintf("%s starts more than the %d tasks that are shown", of.Name, maxNeeds))
	}
	return out
}

// rules are the tasks of one runner as others name them.
type rules struct {
	exact    map[string]*Task // the first of each name
	patterns []pattern
}

type pattern struct {
	before, after string
	of            *Task
}

func (l List) rules(r Runner) rules {
	out := rules{exact: map[string]*Task{}}
	for _, all := range [][]Task{l.Tasks, l.hidden} {
		for i := range all {
			t := &all[i]
			if t.Runner != r {
				continue
			}
			if out.exact[t.Name] == nil {
				out.exact[t.Name] = t
			}
			if before, after, is := strings.Cut(t.Name, "%"); is {
				out.patterns = append(out.patterns, pattern{before, after, t})
			}
		}
	}
	return out
}

// find returns the task of exactly that name, or of make's first pattern that it fits.
func (r rules) find(name string) (Task, bool) {
	if t := r.exact[name]; t != nil {
		return *t, true
	}
	for _, p := range r.patterns {
		if len(name) <= len(p.before)+len(p.after) || !strings.HasPrefix(name, p.before) || !strings.HasSuffix(name, p.after) {
			continue
		}
		t, stem := *p.of, name[len(p.before):len(name)-len(p.after)]
		t.Name += " (for " + name + ")"
		t.Needs = slices.Clone(t.Needs)
		for i, need := range t.Needs {
			t.Needs[i] = strings.Replace(need, "%", stem, 1)
		}
		return t, true
	}
	return Task{}, false
}

// usual returns a task that is built into its runner.
func usual(r Runner, file, name string, argv ...string) Task {
	return Task{Name: name, Runner: r, File: file, Usual: true, Command: strings.Join(argv, " "), Shell: strings.Join(argv, " "), Argv: argv}
}

// lines splits a file into its lines, with any line endings.
func lines(text []byte) []string {
	return strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n")
}
