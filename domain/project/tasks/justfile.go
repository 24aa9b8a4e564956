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
	justLoad   = regexp.MustCompile(`^(?:import|mod)\??\s+(.*)$`)
	justRuns   = regexp.MustCompile("`[^`]+`")
	justCalls  = regexp.MustCompile(`\bshell\s*\(\s*['"]([^'"]*)['"]`)
	justSet    = regexp.MustCompile(`^(set\s+\S+|export\s+[A-Za-z_]|unexport\s)`)
	justNeed   = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_-]*`)
)

// readJustfile lists the recipes of a justfile that are not private.
func readJustfile(l *List, d Documents) {
	file := first(d, "justfile", "Justfile", ".justfile")
	if file == "" {
		return
	}
	text, err := d.Text(file)
	if err != nil {
		l.unread(file, err)
		return
	}
	vars := map[string]string{}
	var at *Task
	var body []string
	about, private, asks := "", false, false
	var before, attributes []string // commands that just runs before any recipe; what stands in brackets above one
	finish := func() {
		if at == nil {
			return
		}
		at.Command = strings.Join(body, "\n")
		at.Shell = justShell(body, vars)
		if inner := justCommands(strings.Join(templated.FindAllString(at.Command, -1), "\n") + strings.Join(at.Sets, "\n")); len(inner) > 0 {
			at.Shell = joined(append(outputs(inner, vars), at.Shell)...)
		}
		l.Tasks = slices.DeleteFunc(l.Tasks, func(o Task) bool { return o.Runner == Just && o.Name == at.Name }) // of several, the last one counts
		l.add(*at)
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
			before = append(before, justCommands(a[2])...)
			vars[a[1]] = justValue(a[2])
		} else if load := justLoad.FindStringSubmatch(bare); load != nil {
			l.note("%s loads %s, whose recipes are not listed", file, load[1])
			l.open(Just, "just may run more than is shown: %s loads %s", file, load[1])
		} else if r := justRecipe.FindStringSubmatch(bare); r != nil && r[1] != "set" && r[1] != "alias" {
			at = &Task{Name: r[1], Runner: Just, File: file, Description: about, inner: private || r[1][0] == '_', Argv: []string{"just", r[1]}}
			if asks { // whoever approves the plan has been asked
				at.Argv = []string{"just", "--yes", r[1]}
			}
			at.Needs = append(at.Needs, justNeed.FindAllString(r[3], -1)...)
			at.Sets = attributes
			if given := strings.TrimSpace(r[2]); given != "" {
				at.Sets = append(slices.Clone(at.Sets), "parameters: "+given)
			}
			if strings.Contains(r[3], "(") {
				at.Sets = append(slices.Clone(at.Sets), "first: "+strings.TrimSpace(r[3]))
			}
		}
		about, private, asks, attributes = "", false, false, nil
	}
	finish()
	if len(before) > 0 { // just works out every variable, whichever recipe it is called for
		for _, all := range [][]Task{l.Tasks, l.hidden} {
			for i := range all {
				if all[i].Runner == Just {
					all[i].Shell = joined(append(outputs(before, vars), all[i].Shell)...)
				}
			}
		}
	}
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
