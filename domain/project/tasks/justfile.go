package tasks

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

var (
	justRecipe = regexp.MustCompile(`^@?([A-Za-z_][A-Za-z0-9_-]*)(\s[^:]*)?:(.*)$`)
	justAssign = regexp.MustCompile(`^(?:export\s+)?([A-Za-z_][A-Za-z0-9_-]*)\s*:=\s*(.*)$`)
	justLoad   = regexp.MustCompile(`^(import|mod)\??\s+(.*)$`)
	justName   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)
	justRuns   = regexp.MustCompile("`[^`]+`")
	justCalls  = regexp.MustCompile(`\bshell\s*\(\s*['"]([^'"]*)['"]`)
	justSet    = regexp.MustCompile(`^(set\s+\S+|export\s+[A-Za-z_]|unexport\s)`)
	justNeed   = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_-]*`)
)

// justIn returns the justfile of a directory; empty without one. One of a module may be called mod.just as well.
func justIn(d Documents, dir string, module bool) string {
	names := []string{path.Join(dir, "justfile"), path.Join(dir, "Justfile"), path.Join(dir, ".justfile")}
	if module {
		names = append([]string{path.Join(dir, "mod.just")}, names...)
	}
	return first(d, names...)
}

// readJustfile lists the recipes of a justfile that are not private, and of those in the directory that it loads.
func readJustfile(l *List, d Documents) {
	if file := justIn(d, ".", false); file != "" {
		justfile(l, d, file, "", new(int), 0)
	}
}

// justfile lists the recipes of one file and its imports, then those of its modules, under the names by which just knows them.
func justfile(l *List, d Documents, file, prefix string, files *int, depth int) {
	r := justReader{l: l, d: d, prefix: prefix, files: files, vars: map[string]string{}, depth: map[string]int{}}
	r.read(file, nil, depth)
	if len(r.before) > 0 { // just works out every variable, whichever recipe it is called for
		for _, all := range [][]Task{l.Tasks, l.hidden} {
			for i := range all {
				if all[i].Runner == Just && strings.HasPrefix(all[i].Name, prefix) {
					all[i].Shell = joined(append(outputs(r.before, r.vars), all[i].Shell)...)
				}
			}
		}
	}
	for _, m := range r.modules {
		justfile(l, d, m.file, prefix+m.name+"::", files, depth+m.depth)
	}
}

// justReader reads a justfile with what it imports.
type justReader struct {
	l       *List
	d       Documents
	prefix  string            // of its recipes' names
	files   *int              // that are loaded
	vars    map[string]string // of all of them
	before  []string          // commands that just runs before any recipe
	depth   map[string]int    // of the file that a recipe stands in: what imports goes before what is imported
	modules []justModule
}

type justModule struct {
	name, file string
	depth      int
}

// load follows an import or a module as far as it lies in the directory, and reports whether it does.
func (r *justReader) load(file string, within []string, depth int, kind, what string) bool {
	name, rest := "", what
	if kind == "mod" {
		name, rest, _ = strings.Cut(what, " ")
		if !justName.MatchString(name) {
			return false
		}
	}
	at, local := "", true
	if rest = strings.TrimSpace(rest); rest == "" && kind == "mod" {
		at = first(r.d, path.Join(path.Dir(file), name+".just"))
		if at == "" {
			at = justIn(r.d, path.Join(path.Dir(file), name), true)
		}
	} else if at, local = beside(file, justValue(rest)); local && kind == "mod" && path.Ext(at) != ".just" {
		if inner := justIn(r.d, at, true); inner != "" {
			at = inner
		}
	}
	if !local || at == "" || !r.d.Has(at) || slices.Contains(within, at) || at == file || depth+1 >= maxLoadDepth || *r.files >= maxLoads {
		return false
	}
	*r.files++
	r.l.loads(Just, at)
	if kind == "mod" {
		r.modules = append(r.modules, justModule{name, at, depth + 1})
		return true
	}
	r.read(at, append(slices.Clone(within), file), depth+1)
	return true
}

// read lists the recipes of one file.
func (r *justReader) read(file string, within []string, depth int) {
	l, vars := r.l, r.vars
	text, err := r.d.Text(file)
	if err != nil {
		l.unread(file, err)
		return
	}
	var at *Task
	var body []string
	about, private, asks := "", false, false
	var attributes []string // what stands in brackets above a recipe
	finish := func() {
		if at == nil {
			return
		}
		at.Command = strings.Join(body, "\n")
		at.Shell = justShell(body, vars)
		if inner := justCommands(strings.Join(templated.FindAllString(at.Command, -1), "\n") + strings.Join(at.Sets, "\n")); len(inner) > 0 {
			at.Shell = joined(append(outputs(inner, vars), at.Shell)...)
		}
		if have, known := r.depth[at.Name]; !known || have >= depth {
			r.depth[at.Name] = depth
			same := func(o Task) bool { return o.Runner == Just && o.Name == at.Name }
			l.Tasks, l.hidden = slices.DeleteFunc(l.Tasks, same), slices.DeleteFunc(l.hidden, same) // of several, the last one counts
			l.add(*at)
		}
		at, body = nil, nil
	}
	for _, line := range lines(text) {
		bare := strings.TrimSpace(line)
		switch {
		case at != nil && (line != strings.TrimLeft(line, " \t") || bare == ""):
			if bare = strings.TrimLeft(bare, "@-"); bare != "" && (len(body) == 0 && strings.HasPrefix(bare, "#!") || bare[0] != '#') {
				body = append(body, bare)
			}
			continue
		case bare == "":
			about = ""
			continue
		}
		finish()
		switch {
		case bare[0] == '#':
			about = strings.TrimSpace(strings.TrimLeft(bare, "#"))
			continue
		case bare[0] == '[':
			private = private || strings.Contains(bare, "private")
			attributes = append(attributes, bare)
			asks = asks || strings.Contains(bare, "confirm")
			continue
		}
		if justSet.MatchString(bare) {
			l.sets(Just, "%s", bare)
			if strings.HasPrefix(bare, "set dotenv") {
				l.open(Just, "%s loads an environment file (%s), which may change what variables come to", file, bare)
			}
		}
		if a := justAssign.FindStringSubmatch(bare); a != nil && !strings.HasPrefix(bare, "set ") {
			r.before = append(r.before, justCommands(a[2])...)
			vars[a[1]] = justValue(a[2])
		} else if load := justLoad.FindStringSubmatch(bare); load != nil {
			if !r.load(file, within, depth, load[1], load[2]) {
				l.note("%s loads %s, whose recipes are not listed", file, load[2])
				l.open(Just, "just may run more than is shown: %s loads %s", file, load[2])
			}
		} else if m := justRecipe.FindStringSubmatch(bare); m != nil && m[1] != "set" && m[1] != "alias" {
			name := r.prefix + m[1]
			at = &Task{Name: name, Runner: Just, File: file, Description: about, inner: private || m[1][0] == '_', Argv: []string{"just", name}}
			if asks { // whoever approves the plan has been asked
				at.Argv = []string{"just", "--yes", name}
			}
			for _, need := range justNeed.FindAllString(m[3], -1) {
				at.Needs = append(at.Needs, r.prefix+need)
			}
			at.Sets = attributes
			if given := strings.TrimSpace(m[2]); given != "" {
				at.Sets = append(slices.Clone(at.Sets), "parameters: "+given)
			}
			if strings.Contains(m[3], "(") {
				at.Sets = append(slices.Clone(at.Sets), "first: "+strings.TrimSpace(m[3]))
			}
		}
		about, private, asks, attributes = "", false, false, nil
	}
	finish()
}

// justCommands returns the commands that an expression of just runs: what stands between backticks, or in shell(…).
func justCommands(text string) (out []string) {
	for _, found := range justRuns.FindAllString(text, -1) {
		out = append(out, strings.Trim(found, "`"))
	}
	for _, found := range justCalls.FindAllStringSubmatch(text, -1) {
		out = append(out, found[1])
	}
	return out
}

// justValue returns a value that is plain text, or the output of a command.
func justValue(text string) string {
	text = strings.TrimSpace(text)
	if n := len(text); n > 1 && text[0] == text[n-1] {
		switch text[0] {
		case '"', '\'':
			return text[1 : n-1]
		case '`':
			return "$(" + text[1:n-1] + ")"
		}
	}
	return computed
}

// justShell returns a recipe's lines as shell text; a recipe in another language has none.
func justShell(body []string, vars map[string]string) string {
	if len(body) > 0 {
		if interpreter, is := strings.CutPrefix(body[0], "#!"); is {
			if !slices.ContainsFunc(strings.Fields(interpreter), func(w string) bool {
				return slices.Contains([]string{"sh", "bash", "dash", "zsh", "ksh"}, path.Base(w))
			}) {
				return ""
			}
			body = body[1:]
		}
	}
	return filled(strings.Join(body, "\n"), vars)
}
