package tasks

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

func sprintf(format string, args ...any) string { return fmt.Sprintf(format, args...) }

var (
	makeAssign    = regexp.MustCompile(`^(?:export\s+|override\s+|private\s+)*([A-Za-z_][A-Za-z0-9_.-]*)\s*(:::=|::=|:=|\?=|\+=|!=|=)\s*(.*)$`)
	makeWord      = regexp.MustCompile(`^(ifeq|ifneq|ifdef|ifndef|else|endif|export|unexport|vpath|undefine|override|private)\b`)
	makeCondition = regexp.MustCompile(`^(ifeq|ifneq|ifdef|ifndef|else|endif)\b\s*[^:=\s]?`)
	makeDefine    = regexp.MustCompile(`^(?:export\s+|override\s+|private\s+)*define\s+([^\s=:+?!]+)\s*(?:=|:=|::=|:::=|\+=|\?=|!=)?\s*$`)
	makePrefix    = regexp.MustCompile(`^\.RECIPEPREFIX\s*[:?]*=\s*(.?)`)
	makeShell     = regexp.MustCompile(`^(?:export\s+|override\s+|private\s+)*(?:SHELL|\.SHELLFLAGS|MAKEFLAGS|GNUMAKEFLAGS)\s*[:?+!]*=`)
	makeRuns      = regexp.MustCompile(`\$[({]shell\s`)
	makeEval      = regexp.MustCompile(`\$[({](eval|call|foreach|guile|file|load)\s`)
	makeSpecial   = regexp.MustCompile(`^\.(ONESHELL|EXPORT_ALL_VARIABLES|SECONDEXPANSION|POSIX|DEFAULT|SILENT|IGNORE|NOTPARALLEL|DELETE_ON_ERROR)\b`)
	makeOwn       = regexp.MustCompile(`^\.[A-Z][A-Z_]*$`)
	makeSuffix    = regexp.MustCompile(`^\.[^./%]+\.[^./%]+$`)
	makeExport    = regexp.MustCompile(`^(export|unexport|vpath)\b`)
	makeLoad      = regexp.MustCompile(`^(?:-include|sinclude|include)\s+(.*)$`)
	shellName     = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// The bounds of what variables of a makefile come to: how deep they name one another, and bytes in all.
const (
	maxExpand   = 8
	maxExpanded = 1 << 20
)

// computed stands in shell text for what a runner computes.
const computed = "${COMPUTED}"

// makefile is one that is being read.
type makefile struct {
	file   string
	prefix string // of a recipe's line
	vars   map[string]string
	unsure map[string]bool // variables that are given more than one value: which one counts shows only when it runs
	rules  []*makeRule
	known  map[string]*makeRule // by target
	phony  map[string]bool
	spent  int // bytes that variables came to
}

// makeRule is the recipe of a target.
type makeRule struct {
	target, about string
	needs, recipe []string
}

// readMakefile lists the targets of a makefile that are no files, as far as their names tell: those that .PHONY names, and those without a slash and a dot. The others
// count where one of those needs them.
func readMakefile(l *List, d Documents) {
	file := first(d, "GNUmakefile", "makefile", "Makefile")
	if file == "" {
		return
	}
	text, err := d.Text(file)
	if err != nil {
		l.unread(file, err)
		return
	}
	m := &makefile{file: file, prefix: "\t", vars: map[string]string{}, unsure: map[string]bool{}, phony: map[string]bool{}, known: map[string]*makeRule{}}
	m.read(l, file, lines(text))
	always := slices.ContainsFunc(m.rules, func(r *makeRule) bool { return r.target == file })
	for _, r := range m.rules {
		t := Task{Name: r.target, Runner: Make, File: file, Description: r.about, Needs: r.needs, Argv: []string{"make", r.target}, Command: strings.Join(r.recipe, "\n"),
			inner: r.target == file || !m.phony[r.target] && strings.ContainsAny(r.target, "/.")}
		if always && r.target != file { // make reads it, and remakes it, before anything else
			t.first = file
		}
		var shell []string
		for _, line := range r.recipe {
			if strings.ContainsAny(line, "#'") { // where the shell would not look, make does
				shell = append(shell, m.runs(line, r)...)
			}
			shell = append(shell, m.shell(line, r, 0))
		}
		t.Shell = strings.Join(shell, "\n")
		if strings.Contains(r.target, "%") {
			l.hide(t)
			continue
		}
		l.add(t)
	}
}

func (m *makefile) read(l *List, file string, all []string) {
	var open []*makeRule // those that recipes belong to
	about, define := "", false
	for i := 0; i < len(all); i++ {
		line := all[i]
		for strings.HasSuffix(line, `\`) && i+1 < len(all) {
			i++
			if strings.HasPrefix(line, m.prefix) {
				line += "\n" + strings.TrimPrefix(all[i], m.prefix)
			} else {
				line = strings.TrimRight(strings.TrimSuffix(line, `\`), " \t") + " " + strings.TrimSpace(all[i])
			}
		}
		bare := strings.TrimSpace(line)
		switch {
		case define:
			define = bare != "endef"
		case strings.HasPrefix(line, m.prefix) && len(open) > 0:
			if strings.Contains(line, "$(eval ") || strings.Contains(line, "${eval ") {
				l.open(Make, "make may run otherwise than is shown: a recipe of %s uses $(eval …)", file)
			}
			for _, r := range open {
				r.run(strings.TrimSpace(strings.TrimPrefix(line, m.prefix)))
			}
		case makeDefine.MatchString(bare):
			define, open = true, nil
			l.open(Make, "a variable of several lines is not followed: %s in %s", makeDefine.FindStringSubmatch(bare)[1], file)
			m.unsure[makeDefine.FindStringSubmatch(bare)[1]] = true
		case bare == "":
			about = ""
		case bare[0] == '#':
			about = strings.TrimSpace(strings.TrimLeft(bare, "#"))
		case makeCondition.MatchString(bare): // a recipe goes on behind it
			m.reads(bare)
		default:
			open = m.statement(l, file, bare, about)
			about = ""
		}
	}
}

// statement reads a line that is no recipe's, and returns the rules that it opens.
func (m *makefile) statement(l *List, file, line, about string) []*makeRule {
	if load := makeLoad.FindStringSubmatch(line); load != nil {
		l.note("%s includes %s, whose targets are not listed", file, load[1])
		l.open(Make, "make may run more than is shown: %s includes %s", file, load[1])
		return nil
	}
	if makeShell.MatchString(line) || makeExport.MatchString(line) {
		l.sets(Make, "%s", line)
	}
	if found := makeEval.FindStringSubmatch(line); found != nil && (found[1] == "eval" || found[1] == "guile" || found[1] == "load") {
		l.open(Make, "make may have other rules than are shown: %s uses $(%s …), which makes them when it is read", file, found[1])
	}
	if p := makePrefix.FindStringSubmatch(line); p != nil {
		if m.prefix = p[1]; p[1] == "" {
			m.prefix = "\t"
		}
		return nil
	}
	m.reads(line)
	if a := makeAssign.FindStringSubmatch(line); a != nil {
		value, _, _ := strings.Cut(a[3], " #")
		value = strings.TrimSpace(value)
		if old, set := m.vars[a[1]]; set && a[2] != "+=" && old != value {
			m.unsure[a[1]] = true
		}
		switch a[2] {
		case "+=":
			m.vars[a[1]] = strings.TrimSpace(m.vars[a[1]] + " " + value)
		case "!=":
			m.vars[a[1]] = "$(shell " + value + ")"
		case "?=":
			if _, set := m.vars[a[1]]; !set {
				m.vars[a[1]] = value
			}
		default:
			m.vars[a[1]] = value
		}
		return nil
	}
	if makeWord.MatchString(line) {
		return nil
	}
	at := colon(line)
	if at < 0 {
		return nil
	}
	nobody := &makeRule{}
	targets, rest := strings.Fields(m.shell(line[:at], nobody, 0)), strings.TrimLeft(line[at:], ":")
	if a := makeAssign.FindStringSubmatch(strings.TrimSpace(rest)); a != nil { // a variable of that target
		m.unsure[a[1]] = true
		l.sets(Make, "%s", line)
		if a[2] == "!=" || makeShell.MatchString(strings.TrimSpace(rest)) {
			m.reads(strings.TrimSpace(rest))
		}
		return nil
	}
	rest, inline, _ := strings.Cut(rest, ";")
	if said, text, ok := strings.Cut(rest, "##"); ok {
		rest, about = said, strings.TrimSpace(text)
	}
	rest, _, _ = strings.Cut(rest, "#")
	needs := slices.DeleteFunc(strings.Fields(m.shell(rest, nobody, 0)), func(n string) bool {
		if n != "|" && strings.Contains(n, "$") {
			l.open(Make, "make may make more than is shown: what %s needs is computed", strings.Join(targets, " "))
		}
		return n == "|" || strings.Contains(n, "$")
	})
	var open []*makeRule
	if found := makeSpecial.FindString(line); found != "" {
		l.sets(Make, "%s", line)
		if found == ".ONESHELL" {
			l.sets(Make, ".ONESHELL: all lines of a recipe run in one shell")
		}
		if found == ".SECONDEXPANSION" {
			l.open(Make, "make may need more than is shown: with .SECONDEXPANSION, %s computes what targets need when they are made", file)
		}
	}
	for _, target := range targets {
		if target == ".PHONY" {
			for _, name := range strings.Fields(rest) {
				m.phony[name] = true
			}
			continue
		}
		if strings.Contains(target, "$") {
			l.open(Make, "make has targets whose names it computes (%s in %s), which are not shown", target, file)
			continue
		}
		if target == ".DEFAULT" { // runs for what has no rule
			open = append(open, m.rule("%", about, needs, strings.TrimSpace(inline)))
			continue
		}
		if makeOwn.MatchString(target) {
			continue
		}
		if makeSuffix.MatchString(target) {
			l.open(Make, "make may run more than is shown: %s in %s may be a rule for all files with such an ending", target, file)
		}
		open = append(open, m.rule(target, about, needs, strings.TrimSpace(inline)))
	}
	return open
}

// reads takes note of a statement by which make runs something, or runs everything otherwise, whatever it is called for: as the recipe of the file itself.
func (m *makefile) reads(line string) {
	a := makeAssign.FindStringSubmatch(line)
	switch {
	case makeShell.MatchString(line):
		_, line, _ = strings.Cut(line, "=")
	case a == nil && !makeRuns.MatchString(line), a != nil && (a[2] == "=" || a[2] == "?=" || a[2] != "!=" && !makeRuns.MatchString(line)):
		return
	case a != nil && a[2] == "!=":
		line = ": $(shell " + a[3] + ")"
	case a != nil:
		line = ": " + a[3]
	default:
		line = ": " + line[makeRuns.FindStringIndex(line)[0]:]
	}
	r := m.rule(m.file, "", nil, "")
	r.recipe = append(r.recipe, strings.TrimSpace(line))
}

// rule returns the rule of a target, which several lines may add to.
func (m *makefile) rule(target, about string, needs []string, inline string) *makeRule {
	r := m.known[target]
	if r == nil {
		r = &makeRule{target: target}
		m.known[target], m.rules = r, append(m.rules, r)
	}
	if r.about == "" {
		r.about = about
	}
	r.needs = append(r.needs, needs...)
	r.run(inline)
	return r
}

// run adds a line to the recipe.
func (r *makeRule) run(line string) {
	text := strings.TrimLeft(line, "@-+ \t")
	for strings.HasPrefix(text, "#") && !strings.Contains(text, "$") { // make works out what stands in it all the same; for the shell a comment ends with its line, also where make joins the next one to it
		_, text, _ = strings.Cut(text, "\n")
		text = strings.TrimLeft(text, " \t")
	}
	if text != "" {
		r.recipe = append(r.recipe, text)
	}
}

// colon returns where the colon of a rule stands, outside of what make computes; -1 without one.
func colon(line string) int {
	depth := 0
	for i := range len(line) {
		switch line[i] {
		case '(', '{':
			depth++
		case ')', '}':
			depth--
		case ':':
			if depth <= 0 {
				return i
			}
		case '#':
			return -1
		}
	}
	return -1
}

// shell returns a recipe's line as the shell is given it, as far as the makefile's own variables tell.
func (m *makefile) shell(text string, r *makeRule, depth int) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '$' || i+1 == len(text) {
			out.WriteByte(text[i])
			continue
		}
		i++
		switch c := text[i]; c {
		case '$':
			out.WriteByte('$')
		case '@':
			out.WriteString(r.target)
		case '<':
			out.WriteString(strings.Join(r.needs[:min(1, len(r.needs))], ""))
		case '^', '+', '?':
			out.WriteString(strings.Join(r.needs, " "))
		case '(', '{':
			end := closing(text, i)
			out.WriteString(m.value(text[i+1:min(end, len(text))], r, depth))
			i = end
		default:
			out.WriteString(m.value(string(c), r, depth))
		}
	}
	return out.String()
}

// runs returns shell text that runs what make itself runs for a line, for what it prints.
func (m *makefile) runs(line string, r *makeRule) (out []string) {
	for _, at := range makeRuns.FindAllStringIndex(line, -1) {
		out = append(out, ": "+m.shell(line[at[0]:min(closing(line, at[0]+1)+1, len(line))], r, 0))
	}
	return out
}

// closing returns where the bracket at i is closed, or the end.
func closing(text string, i int) int {
	left, right, depth := text[i], byte(')'), 0
	if left == '{' {
		right = '}'
	}
	for ; i < len(text); i++ {
		switch text[i] {
		case left:
			depth++
		case right:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(text)
}

// value returns what one of make's expressions comes to.
func (m *makefile) value(name string, r *makeRule, depth int) string {
	if command, ok := strings.CutPrefix(name, "shell "); ok {
		return "$(" + m.shell(command, r, depth+1) + ")"
	}
	if m.unsure[name] {
		return computed
	}
	if v, set := m.vars[name]; set && depth < maxExpand && m.spent < maxExpanded {
		m.spent += 1 + len(v)
		return m.shell(v, r, depth+1)
	}
	switch {
	case name == "MAKE":
		return "make"
	case shellName.MatchString(name):
		return "${" + name + "}"
	}
	return computed
}
