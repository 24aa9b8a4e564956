package tasks

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

func sprintf(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// makeForms are the shapes of a makefile's lines. They are compiled where one is read: most processes never read any.
type makeForms struct {
	assign, directive, conditional, define, recipePrefix, shellSet, shellCall, evaluated, special, ownName, suffixRule, exported, include, shellName *regexp.Regexp
}

func newMakeForms() *makeForms {
	return &makeForms{
		assign:       regexp.MustCompile(`^(?:export\s+|override\s+|private\s+)*([A-Za-z_][A-Za-z0-9_.-]*)\s*(:::=|::=|:=|\?=|\+=|!=|=)\s*(.*)$`),
		directive:    regexp.MustCompile(`^(ifeq|ifneq|ifdef|ifndef|else|endif|export|unexport|vpath|undefine|override|private)\b`),
		conditional:  regexp.MustCompile(`^(ifeq|ifneq|ifdef|ifndef|else|endif)\b\s*[^:=\s]?`),
		define:       regexp.MustCompile(`^(?:export\s+|override\s+|private\s+)*define\s+([^\s=:+?!]+)\s*(?:=|:=|::=|:::=|\+=|\?=|!=)?\s*$`),
		recipePrefix: regexp.MustCompile(`^\.RECIPEPREFIX\s*[:?]*=\s*(.?)`),
		shellSet:     regexp.MustCompile(`^(?:export\s+|override\s+|private\s+)*(?:SHELL|\.SHELLFLAGS|MAKEFLAGS|GNUMAKEFLAGS)\s*[:?+!]*=`),
		shellCall:    regexp.MustCompile(`\$[({]shell\s`),
		evaluated:    regexp.MustCompile(`\$[({](eval|call|foreach|guile|file|load)\s`),
		special:      regexp.MustCompile(`^\.(ONESHELL|EXPORT_ALL_VARIABLES|SECONDEXPANSION|POSIX|DEFAULT|SILENT|IGNORE|NOTPARALLEL|DELETE_ON_ERROR)\b`),
		ownName:      regexp.MustCompile(`^\.[A-Z][A-Z_]*$`),
		suffixRule:   regexp.MustCompile(`^\.[^./%]+\.[^./%]+$`),
		exported:     regexp.MustCompile(`^(export|unexport|vpath)\b`),
		include:      regexp.MustCompile(`^(?:-include|sinclude|include)\s+(.*)$`),
		shellName:    regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`),
	}
}

// The limits for values of a makefile's variables: depth of nesting, and bytes in total.
const (
	maxExpand   = 8
	maxExpanded = 1 << 20
	maxShared   = 8 << 20 // bytes of recipes and needs of all targets, where many share one
)

// computed replaces in shell text what a runner computes.
const computed = "${COMPUTED}"

// makefile is a makefile while it is read.
type makefile struct {
	*makeForms
	file   string
	prefix string // of a recipe's line
	vars   map[string]string
	added  map[string][]string // values that += adds to a variable, and that do not stand in vars yet
	unsure map[string]bool     // variables that are given more than one value: which one counts shows only when it runs
	rules  []*makeRule
	known  map[string]*makeRule // by target
	phony  map[string]bool
	spent  int  // bytes that variables came to
	shared int  // bytes of recipes and needs
	full   bool // there were more of these than maxShared
}

// makeRule is the recipe of a target.
type makeRule struct {
	target, about string
	needs, recipe []string
}

// readMakefile lists the targets of a makefile that are not files, as far as their names show: those that .PHONY names, and those without a slash and
// a dot. The others are included where one of those needs them.
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
	m := &makefile{makeForms: newMakeForms(), file: file, prefix: "\t", vars: map[string]string{}, added: map[string][]string{}, unsure: map[string]bool{}, phony: map[string]bool{}, known: map[string]*makeRule{}}
	m.read(l, file, lines(text))
	if m.full {
		l.open(Make, "make may run more than is shown: %s has too many shared recipes or dependencies to read", file)
	}
	always := slices.ContainsFunc(m.rules, func(r *makeRule) bool { return r.target == file })
	for _, r := range m.rules {
		t := Task{Name: r.target, Runner: Make, File: file, Description: r.about, Needs: r.needs, Argv: []string{"make", r.target}, Command: strings.Join(r.recipe, "\n"),
			inner: r.target == file || !m.phony[r.target] && strings.ContainsAny(r.target, "/.")}
		if always && r.target != file { // make reads it, and remakes it, before anything else
			t.first = file
		}
		var shell []string
		for _, line := range r.recipe {
			if strings.ContainsAny(line, "#'") { // make evaluates even what the shell would ignore
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
		if strings.HasSuffix(line, `\`) && i+1 < len(all) {
			whole := []byte(line)
			for bytes.HasSuffix(whole, []byte{'\\'}) && i+1 < len(all) {
				i++
				if bytes.HasPrefix(whole, []byte(m.prefix)) {
					whole = append(append(whole, '\n'), strings.TrimPrefix(all[i], m.prefix)...)
				} else {
					whole = append(append(bytes.TrimRight(whole[:len(whole)-1], " \t"), ' '), strings.TrimSpace(all[i])...)
				}
			}
			line = string(whole)
		}
		bare := strings.TrimSpace(line)
		switch {
		case define:
			define = bare != "endef"
		case strings.HasPrefix(line, m.prefix) && len(open) > 0:
			if strings.Contains(line, "$(eval ") || strings.Contains(line, "${eval ") {
				l.open(Make, "make may run something else than is shown: a recipe of %s uses $(eval …)", file)
			}
			text := ran(strings.TrimSpace(strings.TrimPrefix(line, m.prefix)))
			for i, r := range open {
				if text == "" || i > 0 && !m.share(1+len(text)) {
					break
				}
				r.recipe = append(r.recipe, text)
			}
		case m.define.MatchString(bare):
			define, open = true, nil
			l.open(Make, "a variable of several lines is not followed: %s in %s", m.define.FindStringSubmatch(bare)[1], file)
			m.unsure[m.define.FindStringSubmatch(bare)[1]] = true
		case bare == "":
			about = ""
		case bare[0] == '#':
			about = strings.TrimSpace(strings.TrimLeft(bare, "#"))
		case m.conditional.MatchString(bare): // a recipe goes on behind it
			m.reads(bare)
		default:
			open = m.statement(l, file, bare, about)
			about = ""
		}
	}
}

// statement parses a line outside recipes, and returns the rules that it opens.
func (m *makefile) statement(l *List, file, line, about string) []*makeRule {
	if load := m.include.FindStringSubmatch(line); load != nil {
		l.note("%s includes %s, whose targets are not listed", file, load[1])
		l.open(Make, "make may run more than is shown: %s includes %s", file, load[1])
		return nil
	}
	if m.shellSet.MatchString(line) || m.exported.MatchString(line) {
		l.sets(Make, "%s", line)
	}
	if found := m.evaluated.FindStringSubmatch(line); found != nil && (found[1] == "eval" || found[1] == "guile" || found[1] == "load") {
		l.open(Make, "make may have other rules than are shown: %s uses $(%s …), which generates rules", file, found[1])
	}
	if p := m.recipePrefix.FindStringSubmatch(line); p != nil {
		if m.prefix = p[1]; p[1] == "" {
			m.prefix = "\t"
		}
		return nil
	}
	m.reads(line)
	if a := m.assign.FindStringSubmatch(line); a != nil {
		value, _, _ := strings.Cut(a[3], " #")
		value = strings.TrimSpace(value)
		if old, set := m.vars[a[1]]; set && a[2] != "+=" && (old != value || len(m.added[a[1]]) > 0) {
			m.unsure[a[1]] = true
		}
		switch a[2] {
		case "+=":
			if _, set := m.vars[a[1]]; !set {
				m.vars[a[1]] = ""
			}
			if value != "" {
				m.added[a[1]] = append(m.added[a[1]], value)
			}
		case "!=":
			m.set(a[1], "$(shell "+value+")")
		case "?=":
			if _, set := m.vars[a[1]]; !set {
				m.set(a[1], value)
			}
		default:
			m.set(a[1], value)
		}
		return nil
	}
	if m.directive.MatchString(line) {
		return nil
	}
	at := colon(line)
	if at < 0 {
		return nil
	}
	nobody := &makeRule{}
	targets, rest := strings.Fields(m.shell(line[:at], nobody, 0)), strings.TrimLeft(line[at:], ":")
	if a := m.assign.FindStringSubmatch(strings.TrimSpace(rest)); a != nil { // a variable of that target
		m.unsure[a[1]] = true
		l.sets(Make, "%s", line)
		if a[2] == "!=" || m.shellSet.MatchString(strings.TrimSpace(rest)) {
			m.reads(strings.TrimSpace(rest))
		}
		return nil
	}
	rest, inline, _ := strings.Cut(rest, ";")
	if said, text, ok := strings.Cut(rest, "##"); ok {
		rest, about = said, strings.TrimSpace(text)
	}
	rest, _, _ = strings.Cut(rest, "#")
	unknown := false
	needs := slices.DeleteFunc(strings.Fields(m.shell(rest, nobody, 0)), func(n string) bool {
		unknown = unknown || n != "|" && strings.Contains(n, "$")
		return n == "|" || strings.Contains(n, "$")
	})
	if unknown {
		l.open(Make, "make may make more than is shown: what %s needs is computed", strings.Join(targets, " "))
	}
	inline = ran(strings.TrimSpace(inline))
	var open []*makeRule
	if found := m.special.FindString(line); found != "" {
		l.sets(Make, "%s", line)
		if found == ".ONESHELL" {
			l.sets(Make, ".ONESHELL: all lines of a recipe run in one shell")
		}
		if found == ".SECONDEXPANSION" {
			l.open(Make, "make may have more dependencies than are shown: %s uses .SECONDEXPANSION", file)
		}
	}
	size := len(rest) + len(inline)
	for _, target := range targets {
		if len(open) > 0 && !m.share(size) {
			needs, inline = nil, ""
		}
		if target == ".PHONY" {
			for _, name := range strings.Fields(rest) {
				m.phony[name] = true
			}
			continue
		}
		if strings.Contains(target, "$") {
			l.open(Make, "make has targets with computed names (%s in %s), which are not shown", target, file)
			continue
		}
		if target == ".DEFAULT" { // runs for what has no rule
			open = append(open, m.rule("%", about, needs, inline))
			continue
		}
		if m.ownName.MatchString(target) {
			continue
		}
		if m.suffixRule.MatchString(target) {
			l.open(Make, "make may run more than is shown: %s in %s may be a rule for all files with this extension", target, file)
		}
		open = append(open, m.rule(target, about, needs, inline))
	}
	return open
}

// reads records a statement by which make runs something, or changes how everything runs, for any target: as the recipe of the file itself.
func (m *makefile) reads(line string) {
	a := m.assign.FindStringSubmatch(line)
	switch {
	case m.shellSet.MatchString(line):
		_, line, _ = strings.Cut(line, "=")
	case a == nil && !m.shellCall.MatchString(line), a != nil && (a[2] == "=" || a[2] == "?=" || a[2] != "!=" && !m.shellCall.MatchString(line)):
		return
	case a != nil && a[2] == "!=":
		line = ": $(shell " + a[3] + ")"
	case a != nil:
		line = ": " + a[3]
	default:
		line = ": " + line[m.shellCall.FindStringIndex(line)[0]:]
	}
	r := m.rule(m.file, "", nil, "")
	r.recipe = append(r.recipe, strings.TrimSpace(line))
}

// rule returns the rule of a target, which several lines may extend.
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
	if inline != "" {
		r.recipe = append(r.recipe, inline)
	}
	return r
}

// share reports whether so many bytes of a recipe, or of what a target needs, are kept for one more target.
func (m *makefile) share(bytes int) bool {
	m.full = m.full || m.shared+bytes > maxShared
	m.shared += bytes
	return !m.full
}

// ran returns a recipe's line as far as anything of it is run.
func ran(line string) string {
	text := strings.TrimLeft(line, "@-+ \t")
	tail := len(text) - strings.LastIndexByte(text, '$')   // what is shorter has none
	for strings.HasPrefix(text, "#") && len(text) < tail { // make works out what stands in it all the same; for the shell a comment ends with its line, also where make joins the next one to it
		_, text, _ = strings.Cut(text, "\n")
		text = strings.TrimLeft(text, " \t")
	}
	return text
}

// set gives a variable a value.
func (m *makefile) set(name, value string) {
	m.vars[name] = value
	delete(m.added, name)
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

// shell returns a recipe's line as the shell gets it, as far as the makefile's own variables are known.
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
			out.WriteString(m.names(r.target))
		case '<':
			out.WriteString(m.names(r.needs[:min(1, len(r.needs))]...))
		case '^', '+', '?':
			out.WriteString(m.names(r.needs...))
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

// names returns what a variable of a rule comes to.
func (m *makefile) names(names ...string) string {
	if m.spent >= maxExpanded {
		return computed
	}
	text := strings.Join(names, " ")
	m.spent += len(text)
	return text
}

// runs returns shell text that runs what make itself runs for a line, for what it prints.
func (m *makefile) runs(line string, r *makeRule) (out []string) {
	for _, at := range m.shellCall.FindAllStringIndex(line, -1) {
		if m.spent >= maxExpanded {
			return append(out, ": "+computed)
		}
		text := line[at[0]:min(closing(line, at[0]+1)+1, len(line))]
		m.spent += len(text)
		out = append(out, ": "+m.shell(text, r, 0))
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

// value returns the value of one of make's expressions.
func (m *makefile) value(name string, r *makeRule, depth int) string {
	if command, ok := strings.CutPrefix(name, "shell "); ok && depth < 2*maxExpand {
		return "$(" + m.shell(command, r, depth+1) + ")"
	}
	if m.unsure[name] {
		return computed
	}
	if v, set := m.vars[name]; set && depth < maxExpand && m.spent < maxExpanded {
		if added := m.added[name]; len(added) > 0 {
			v = strings.TrimSpace(v + " " + strings.Join(added, " "))
			m.set(name, v)
		}
		m.spent += 1 + len(v)
		return m.shell(v, r, depth+1)
	}
	switch {
	case name == "MAKE":
		return "make"
	case m.shellName.MatchString(name):
		return "${" + name + "}"
	}
	return computed
}
