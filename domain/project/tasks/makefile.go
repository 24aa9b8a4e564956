package tasks

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

func sprintf(format string, args ...any) string { return fmt.Sprintf(format, args...) }

var (
	makeAssign = regexp.MustCompile(`^(?:export\s+|override\s+|private\s+)*([A-Za-z_][A-Za-z0-9_.-]*)\s*(:::=|::=|:=|\?=|\+=|!=|=)\s*(.*)$`)
	makeWord   = regexp.MustCompile(`^(ifeq|ifneq|ifdef|ifndef|else|endif|export|unexport|vpath|undefine|override|private)\b`)
	makeLoad   = regexp.MustCompile(`^(?:-include|sinclude|include)\s+(.*)$`)
	shellName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
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
	vars  map[string]string
	rules []*makeRule
	phony map[string]bool
	spent int // bytes that variables came to
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
	m := &makefile{vars: map[string]string{}, phony: map[string]bool{}}
	m.read(l, file, lines(text))
	for _, r := range m.rules {
		t := Task{Name: r.target, Runner: Make, File: file, Description: r.about, Needs: r.needs, Argv: []string{"make", r.target}, Command: strings.Join(r.recipe, "\n"),
			inner: !m.phony[r.target] && strings.ContainsAny(r.target, "/.")}
		var shell []string
		for _, line := range r.recipe {
			shell = append(shell, m.shell(line, r, 0))
		}
		t.Shell = strings.Join(shell, "\n")
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
			if line[0] == '\t' {
				line += "\n" + strings.TrimPrefix(all[i], "\t")
			} else {
				line = strings.TrimRight(strings.TrimSuffix(line, `\`), " \t") + " " + strings.TrimSpace(all[i])
			}
		}
		bare := strings.TrimSpace(line)
		switch {
		case define:
			define = bare != "endef"
		case strings.HasPrefix(bare, "define "):
			define, open = true, nil
		case strings.HasPrefix(line, "\t") && len(open) > 0:
			for _, r := range open {
				r.run(bare)
			}
		case bare == "":
			about = ""
		case bare[0] == '#':
			about = strings.TrimSpace(strings.TrimLeft(bare, "#"))
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
		return nil
	}
	if a := makeAssign.FindStringSubmatch(line); a != nil {
		value, _, _ := strings.Cut(a[3], " #")
		switch value = strings.TrimSpace(value); a[2] {
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
	if said, text, ok := strings.Cut(rest, "##"); ok {
		rest, about = said, strings.TrimSpace(text)
	}
	if makeAssign.MatchString(strings.TrimSpace(rest)) { // a variable of that target
		return nil
	}
	rest, inline, _ := strings.Cut(rest, ";")
	rest, _, _ = strings.Cut(rest, "#")
	needs := slices.DeleteFunc(strings.Fields(m.shell(rest, nobody, 0)), func(n string) bool { return n == "|" || strings.Contains(n, "$") })
	var open []*makeRule
	for _, target := range targets {
		if target == ".PHONY" {
			for _, name := range strings.Fields(rest) {
				m.phony[name] = true
			}
			continue
		}
		if target[0] == '.' || strings.ContainsAny(target, "%$") {
			continue
		}
		open = append(open, m.rule(target, about, needs, strings.TrimSpace(inline)))
	}
	return open
}

// rule returns the rule of a target, which several lines may add to.
func (m *makefile) rule(target, about string, needs []string, inline string) *makeRule {
	i := slices.IndexFunc(m.rules, func(r *makeRule) bool { return r.target == target })
	if i < 0 {
		i = len(m.rules)
		m.rules = append(m.rules, &makeRule{target: target})
	}
	r := m.rules[i]
	if r.about == "" {
		r.about = about
	}
	r.needs = append(r.needs, needs...)
	r.run(inline)
	return r
}

// run adds a line to the recipe.
func (r *makeRule) run(line string) {
	if text := strings.TrimLeft(line, "@-+ \t"); text != "" && text[0] != '#' {
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
