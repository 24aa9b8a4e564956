package tasks

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

var (
	justCalls = regexp.MustCompile(`\bshell\s*\(\s*['"]([^'"]*)['"]`)
	justNeed  = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_-]*(?:::[A-Za-z_][A-Za-z0-9_-]*)*`)
)

// justForms are the shapes of a justfile's statements. They are compiled where one is read: most processes never read any.
type justForms struct {
	recipe, assign, include, name, setting, given, shellCall *regexp.Regexp
}

func newJustForms() *justForms {
	return &justForms{
		recipe:    regexp.MustCompile(`(?s)^@?([A-Za-z_][A-Za-z0-9_-]*)(\s.*)?$`),
		assign:    regexp.MustCompile(`(?s)^(?:export\s+)?([A-Za-z_][A-Za-z0-9_-]*)\s*:=\s*(.*)$`),
		include:   regexp.MustCompile(`(?s)^(import|mod)\??\s+(.*)$`),
		name:      regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`),
		setting:   regexp.MustCompile(`^(set\s+\S+|export\s+[A-Za-z_]|unexport\s)`),
		given:     regexp.MustCompile(`(?:^|\s)[$+*]*([A-Za-z_][A-Za-z0-9_-]*)`),
		shellCall: regexp.MustCompile(`\bshell\s*\(`),
	}
}

// justIn returns the justfile of a directory; empty without one. That of a module may also be called mod.just.
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
		all := justLoads{justForms: newJustForms()}
		justfile(l, d, file, "", 0, &all)
		before := strings.Join(all.before, "\n")
		for _, list := range [][]Task{l.Tasks, l.hidden} {
			for i := range list {
				if list[i].Runner == Just {
					list[i].before = before
				}
			}
		}
	}
}

// justLoads is what all justfiles of a directory come to.
type justLoads struct {
	*justForms
	files  int      // that are loaded
	spent  int      // bytes that variables came to
	before []string // what the variables of all of them run: just works out every variable, whichever recipe it is called for
}

// justfile lists the recipes of one file and its imports, then those of its modules, under the names by which just knows them.
func justfile(l *List, d Documents, file, prefix string, depth int, all *justLoads) {
	r := justReader{l: l, d: d, prefix: prefix, all: all, vars: map[string]string{}, from: map[string]justPlace{}, at: map[string]int{}}
	r.read(file, nil, depth)
	for _, t := range r.recipes {
		if t != nil {
			l.add(*t)
		}
	}
	all.before = append(all.before, outputs(r.before, r.values(nil))...)
	for _, m := range r.modules {
		justfile(l, d, m.file, prefix+m.name+"::", depth+m.depth, all)
	}
}

// justReader reads a justfile with its imports.
type justReader struct {
	l       *List
	d       Documents
	prefix  string // of its recipes' names
	all     *justLoads
	vars    map[string]string    // of all that are read
	before  []string             // commands that just runs before any recipe
	from    map[string]justPlace // location of the recipe, or the variable, in force for a name
	modules []justModule
	recipes []*Task        // those that count, and nil where one does no longer
	at      map[string]int // where the recipe of a name stands
	inner   int            // recipes that are there for others alone
}

// values returns what the variables come to, but for some that are hidden.
func (r *justReader) values(hidden map[string]bool) values {
	return values{global: r.vars, hidden: hidden, spent: &r.all.spent}
}

// take keeps a recipe in the place of one that was read before, as far as recipes are read.
func (r *justReader) take(t *Task) {
	if i, have := r.at[t.Name]; have {
		if r.recipes[i].inner {
			r.inner--
		}
		r.recipes[i] = nil
		delete(r.at, t.Name)
	}
	if t.inner && r.inner >= maxInner || len(r.at)-r.inner >= maxTasks+maxInner {
		r.l.more(Just)
		return
	}
	if t.inner {
		r.inner++
	}
	r.at[t.Name] = len(r.recipes)
	r.recipes = append(r.recipes, t)
}

// justPlace is a file, and its import depth.
type justPlace struct {
	file  string
	depth int
}

// counts reports whether a definition replaces the one that was read before: an importing file goes before an imported one, an earlier import before
// a later one, and in one file the last one counts.
func (r *justReader) counts(name, file string, depth int) bool {
	have, known := r.from[name]
	if known && have.depth <= depth && (have.depth < depth || have.file != file) {
		return false
	}
	r.from[name] = justPlace{file, depth}
	return true
}

type justModule struct {
	name, file string
	depth      int
}

// load follows an import or a module if it is in the directory, and reports whether it is.
func (r *justReader) load(file string, within []string, depth int, kind, what string) bool {
	name, rest := "", what
	if kind == "mod" {
		name, rest, _ = strings.Cut(what, " ")
		if !r.all.name.MatchString(name) {
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
	if !local || at == "" || !r.d.Has(at) || slices.Contains(within, at) || at == file || depth+1 >= maxLoadDepth || r.all.files >= maxLoads {
		return false
	}
	r.all.files++
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
	l := r.l
	text, err := r.d.Text(file)
	if err != nil {
		l.unread(file, err)
		l.open(Just, "just may run more than is shown: %s cannot be read", file)
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
		hidden := map[string]bool{}
		for _, set := range at.Sets { // a parameter hides the variable of its name
			if given, is := strings.CutPrefix(set, "parameters: "); is {
				for _, found := range r.all.given.FindAllStringSubmatch(given, -1) {
					hidden[found[1]] = true
				}
			}
		}
		at.Shell = justShell(body, r.values(hidden))
		if inner := justInner(append(templated.FindAllString(at.Command, -1), at.Sets...)); len(inner) > 0 {
			at.Shell = joined(append(outputs(inner, r.values(nil)), at.Shell)...)
		}
		if r.counts("recipe "+at.Name, file, depth) {
			r.take(at)
		}
		at, body = nil, nil
	}
	for all := strings.ReplaceAll(string(text), "\r\n", "\n"); all != ""; {
		line, next, _ := strings.Cut(all, "\n")
		bare := strings.TrimSpace(line)
		switch {
		case at != nil && (line != strings.TrimLeft(line, " \t") || bare == ""):
			all = next
			if len(body) == 0 || !strings.HasPrefix(body[0], "#!") && !strings.HasSuffix(body[len(body)-1], `\`) {
				bare = strings.TrimLeft(bare, "@-")
			}
			if bare != "" { // a comment as well: just expands double braces there, and joins lines that end with a backslash
				body = append(body, bare)
			}
			continue
		case bare == "":
			all, about = next, ""
			continue
		}
		finish()
		all = strings.TrimLeftFunc(all, unicode.IsSpace)
		statement, end := justScan(all, true)
		bare, all = strings.TrimSpace(all[:end]), strings.TrimPrefix(all[end:], "\n")
		if statement.open {
			l.open(Just, "just may run more than is shown: %s has text that is not followed: %s", file, cut(bare))
		}
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
		if r.all.setting.MatchString(bare) {
			l.sets(Just, "%s", bare)
			if strings.HasPrefix(bare, "set dotenv") {
				l.open(Just, "%s loads an environment file (%s), which may change variables", file, bare)
			}
		}
		if a := r.all.assign.FindStringSubmatch(bare); a != nil {
			l.sets(Just, "%s", bare)
			r.before = append(r.before, justCommands(a[2])...)
			if len(r.all.shellCall.FindAllString(a[2], -1)) != len(justCalls.FindAllString(a[2], -1)) {
				l.open(Just, "just may run more than is shown: what shell(…) runs in %s is computed", file)
			}
			if r.counts("variable "+a[1], file, depth) {
				r.vars[a[1]] = justValue(a[2])
			}
		} else if load := r.all.include.FindStringSubmatch(bare); load != nil {
			if !r.load(file, within, depth, load[1], load[2]) {
				l.note("%s loads %s, whose recipes are not listed", file, load[2])
				l.open(Just, "just may run more than is shown: %s loads %s", file, load[2])
			}
		} else if m := r.all.recipe.FindStringSubmatch(statement.before(bare)); m != nil && m[1] != "set" && m[1] != "alias" {
			rest := bare[statement.colon+1:]
			name := r.prefix + m[1]
			at = &Task{Name: name, Runner: Just, File: file, Description: about, inner: private || m[1][0] == '_', Argv: []string{"just", name}}
			if asks { // the user who approves the plan has been asked
				at.Argv = []string{"just", "--yes", name}
			}
			for _, need := range justNeed.FindAllString(rest, -1) {
				at.Needs = append(at.Needs, r.prefix+need)
			}
			at.Sets = attributes
			if given := strings.TrimSpace(m[2]); given != "" {
				at.Sets = append(slices.Clone(at.Sets), "parameters: "+given)
			}
			if strings.Contains(rest, "(") {
				at.Sets = append(slices.Clone(at.Sets), "first: "+strings.TrimSpace(rest))
			}
		}
		about, private, asks, attributes = "", false, false, nil
	}
	finish()
}

// justText is the content of an expression or a statement of just.
type justText struct {
	runs  []string // between backticks
	colon int      // where the name and the parameters of a recipe end; -1 without one
	open  bool     // a text or a bracket is not closed, or a text may have another in it
}

// before returns what precedes the colon; empty without one.
func (t justText) before(text string) string {
	if t.colon < 0 {
		return ""
	}
	return text[:t.colon]
}

// justScan reads an expression to its end, or a statement to the end of its line: texts between quotes and backticks, and brackets, go on to where they are closed.
func justScan(text string, statement bool) (t justText, end int) {
	t.colon = -1
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\n':
			if statement && depth <= 0 {
				return t, i
			}
		case '#':
			if statement {
				if n := strings.IndexByte(text[i:], '\n'); n >= 0 {
					i += n - 1
				} else {
					i = len(text)
				}
			}
		case '\\':
			i++ // the line goes on
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case ':':
			if t.colon < 0 && depth <= 0 && !strings.HasPrefix(text[i:], ":=") {
				t.colon = i
			}
		case '\'', '"', '`':
			mark := string(c)
			if three := strings.Repeat(mark, 3); strings.HasPrefix(text[i:], three) {
				mark = three
			}
			if c != '`' && i > 0 && text[i-1] == 'f' && (i == 1 || !justNeed.MatchString(text[i-2:i-1])) {
				t.open = true
			}
			from := i + len(mark)
			to := from
			for to < len(text) && !strings.HasPrefix(text[to:], mark) {
				if c == '"' && text[to] == '\\' {
					to++
				}
				to++
			}
			if to >= len(text) {
				t.open = true
				return t, len(text)
			}
			if c == '`' {
				t.runs = append(t.runs, text[from:to])
			}
			i = to + len(mark) - 1
		}
	}
	t.open = t.open || depth > 0
	return t, len(text)
}

// cut returns the beginning of a text, for a message.
func cut(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return sprintf("%.80q", line)
}

// justCommands returns the commands that an expression of just runs: what stands between backticks, or in shell(…).
func justCommands(text string) []string {
	t, _ := justScan(text, false)
	for _, found := range justCalls.FindAllStringSubmatch(text, -1) {
		t.runs = append(t.runs, found[1])
	}
	return t.runs
}

// justInner returns the commands that several expressions run.
func justInner(all []string) (out []string) {
	for _, text := range all {
		out = append(out, justCommands(text)...)
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
func justShell(body []string, vars values) string {
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
