package shellcmd

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// Marks replace what is not known in resolved texts. They are Unicode noncharacters, which commands do not contain.
const (
	MarkGlob    = "\uFDD0" // an unquoted * ? [
	MarkUnknown = "\uFDD1" // text that is only known when it runs, and is not empty
	markGap     = "\uFDD2" // white space that splits a word
	markHome    = "\uFDD3" // the directory of homes that are not known
	UnknownHome = "/" + markHome + "/~"
)

// DisplayText returns a resolved text as the user reads it.
func DisplayText(text string) string {
	return strings.NewReplacer(UnknownHome, "~", "/"+markHome+"/", "~", MarkGlob, "*", MarkUnknown, "…", markGap, " ").Replace(text)
}

// The limits for a word's values. Beyond them the rest is unknown.
const (
	maxValues   = 16
	maxText     = 2048
	maxSettings = 8
)

// setting is the possible value of a variable, or of the directory, after a command.
type setting struct {
	at     int
	values []string
}

// Trace is a script as it would run: the values of its words, where its commands run, what they start.
type Trace struct {
	Script  ShellScript
	home    string
	dir     string
	outer   *Trace // the script that this one is an argument in
	outerAt int
	vars    map[string][]setting
	moves   []setting
	calling bool // the parameters of a function are being worked out
}

// TraceScript traces a script that runs in a directory ("" is unknown) for the user with that home.
func TraceScript(script ShellScript, home, dir string) *Trace {
	c := &Trace{Script: script, home: home, dir: dir}
	c.settle()
	return c
}

// Within traces a script that command at of this one runs: it sees the same variables and directories.
func (c *Trace) Within(at int, script ShellScript) *Trace {
	inner := &Trace{Script: script, home: c.home, dir: c.dir, outer: c, outerAt: at}
	inner.settle()
	return inner
}

// settle evaluates variables and directories in the order of the commands, so that each needs only earlier ones.
func (c *Trace) settle() {
	c.vars = map[string][]setting{}
	for at, command := range c.Script.Commands {
		name := ""
		if len(command.Words) > 0 {
			name, _ = command.Words[0].Literal()
		}
		switch name {
		case "", "export", "local", "declare", "typeset", "readonly":
			c.assign(at, append(command.Assigns, assigned(command.Words)...))
		case "read", "mapfile", "readarray", "getopts", "unset":
			for _, w := range command.Words[1:] {
				if text, known := w.Literal(); known && name == "unset" {
					c.vars[text] = append(c.vars[text], setting{at, []string{""}})
				} else if known {
					c.vars[text] = append(c.vars[text], setting{at, []string{MarkUnknown, ""}})
				}
			}
		case "cd", "chdir", "pushd":
			c.moves = append(c.moves, setting{at, c.target(at, command.Words[1:])})
		}
	}
}

func (c *Trace) assign(at int, assigns []Assign) {
	for i, a := range assigns {
		values := c.Values(at, a.Value.Parts, true)
		set := c.vars[a.Name]
		if i > 0 && len(set) > 0 && set[len(set)-1].at == at { // the turns of a loop
			last := &set[len(set)-1]
			last.values = limit(slices.Concat(last.values, values))
			continue
		}
		c.vars[a.Name] = append(set, setting{at, values})
	}
}

// assigned returns the assignments among the arguments of export and the like, where a shell reads them as words.
func assigned(words []Word) []Assign {
	var out []Assign
	for _, w := range words {
		if len(w.Parts) == 0 || w.Parts[0].Kind != PartLiteral {
			continue
		}
		if name, value, found := strings.Cut(w.Parts[0].Text, "="); found {
			parts := append([]Part{{Text: value, Quoted: w.Parts[0].Quoted}}, w.Parts[1:]...)
			out = append(out, Assign{Name: name, Value: Word{Source: w.Source, Parts: parts}})
		}
	}
	return out
}

// target returns the directory that cd with these words changes to: "" is unknown.
func (c *Trace) target(at int, words []Word) []string {
	for _, w := range words {
		var to []string
		for _, text := range c.Values(at, w.Parts, false) {
			switch {
			case text == "-":
				return []string{""}
			case strings.HasPrefix(text, "-"):
				continue
			}
			to = append(to, c.Absolute(at, text)...)
		}
		if len(to) > 0 {
			return limit(to)
		}
		if text, known := w.Literal(); !known || !strings.HasPrefix(text, "-") {
			return []string{""}
		}
	}
	return []string{c.home}
}

// latest returns the settings in force before a command: those that its shell sees, back to one that was certainly made.
func (c *Trace) latest(at int, settings []setting) (values []string, certain bool) {
	seen := 0
	for _, s := range slices.Backward(settings) {
		if s.at >= at || !within(c.Script.Shells, c.Script.Commands[s.at].Shell, c.Script.Commands[at].Shell) {
			continue
		}
		values = append(values, s.values...)
		if within(c.Script.Blocks, c.Script.Commands[s.at].Block, c.Script.Commands[at].Block) {
			return limit(values), true
		}
		if seen++; seen == maxSettings {
			break
		}
	}
	return values, false
}

// dirs returns the directories a command may run in; "" is unknown.
func (c *Trace) dirs(at int) []string {
	dirs, certain := c.latest(at, c.moves)
	switch {
	case certain:
		return dirs
	case c.outer != nil:
		return limit(append(dirs, c.outer.dirs(c.outerAt)...))
	}
	return limit(append(dirs, c.dir))
}

// lookup returns the possible values of a variable when a command runs; "" among them means that it may be empty.
func (c *Trace) lookup(at int, name string) []string {
	values, certain := c.latest(at, c.vars[name])
	if certain {
		return values
	}
	if c.outer != nil {
		return limit(append(values, c.outer.lookup(c.outerAt, name)...))
	}
	if given := c.given(at, name); len(given) > 0 {
		return limit(append(values, given...))
	}
	switch name {
	case "HOME":
		values = append(values, c.home)
	case "PWD", "INIT_CWD":
		for _, dir := range c.dirs(at) {
			values = append(values, orUnknown(dir))
		}
	case "IFS":
		values = append(values, " ")
	case "?", "$", "#", "-", "PPID", "UID", "EUID", "RANDOM", "SECONDS", "LINENO", "0":
		values = append(values, MarkUnknown)
	default:
		values = append(values, MarkUnknown, "")
	}
	return limit(values)
}

// given returns what the calls of a command's function pass as a parameter, with "" if it may be missing.
func (c *Trace) given(at int, name string) []string {
	function := c.Script.Commands[at].Function
	if function == "" || c.calling || !strings.Contains("@*123456789", name) {
		return nil
	}
	c.calling = true // a function may call itself with its own parameters
	defer func() { c.calling = false }()
	var out []string
	for i, call := range c.Script.Commands {
		if len(call.Words) == 0 || len(out) >= maxValues {
			continue
		}
		if called, _ := call.Words[0].Literal(); called != function {
			continue
		}
		for n, w := range call.Words[1:] {
			if name == "@" || name == "*" || name == strconv.Itoa(n+1) {
				out = append(out, c.Values(i, w.Parts, true)...)
			}
		}
	}
	return append(out, MarkUnknown, "")
}

func orUnknown(text string) string {
	if text == "" {
		return MarkUnknown
	}
	return text
}

// Values returns the possible texts of a word's parts. Without empties, variables that may be empty are assumed not to be.
func (c *Trace) Values(at int, parts []Part, empties bool) []string {
	out := []string{""}
	for _, p := range parts {
		next := c.part(at, p, empties)
		if !p.Quoted && (p.Kind == PartVariable || p.Kind == PartSubstitution) {
			next = unquoted(next)
		}
		all := make([]string, 0, len(out)*len(next))
		for _, left := range out {
			for _, right := range next {
				if len(left)+len(right) > maxText {
					left, right = "", MarkUnknown
				}
				all = append(all, left+right)
			}
		}
		out = limit(all)
	}
	return out
}

func (c *Trace) part(at int, p Part, empties bool) []string {
	switch p.Kind {
	case PartLiteral:
		return []string{p.Text}
	case PartPattern:
		return []string{MarkGlob}
	case PartTilde:
		switch p.Text {
		case "":
			return []string{c.home}
		case "+":
			return c.lookup(at, "PWD")
		case "-":
			return []string{MarkUnknown}
		}
		return []string{"/" + markHome + "/" + p.Text}
	case PartVariable:
		return pick(c.expand(at, p), empties)
	case PartSubstitution:
		return pick(c.output(p.Inside), empties)
	}
	return []string{MarkUnknown}
}

// pick removes the empty text, unless it is wanted or the only one.
func pick(values []string, empties bool) []string {
	if empties || len(values) == 1 {
		return values
	}
	return slices.DeleteFunc(slices.Clone(values), func(v string) bool { return v == "" })
}

func (c *Trace) expand(at int, p Part) []string {
	base := c.lookup(at, p.Text)
	filled := slices.DeleteFunc(slices.Clone(base), func(v string) bool { return v == "" })
	switch p.Operator {
	case "":
		return base
	case "-", ":-", "=", ":=":
		return limit(append(filled, c.Values(at, p.Other, true)...))
	case ":?":
		if len(filled) == 0 {
			return []string{MarkUnknown} // it stops there
		}
		return filled
	case "+", ":+":
		return limit(append(c.Values(at, p.Other, true), ""))
	}
	return limit(append(slices.Clone(base), MarkUnknown, "")) // cut and replaced: most of it may stay, or nothing
}

// output returns what the commands of a substitution may print.
func (c *Trace) output(inside Span) []string {
	if inside.To-inside.From == 1 {
		command := c.Script.Commands[inside.From]
		var words []string
		for _, w := range command.Words {
			words = append(words, c.Values(inside.From, w.Parts, false)[0])
		}
		switch {
		case len(words) == 0:
		case words[0] == "pwd":
			return c.lookup(inside.From, "PWD")
		case words[0] == "mktemp":
			return []string{"/tmp/" + MarkUnknown, ""}
		case words[0] == "echo", words[0] == "printf" && len(words) == 2:
			return []string{strings.TrimRight(strings.Join(operandsOf(words[1:]), " "), "\n")}
		}
	}
	return []string{MarkUnknown, ""}
}

func operandsOf(words []string) []string {
	for len(words) > 0 && strings.HasPrefix(words[0], "-") && !strings.ContainsAny(words[0], "/ ") {
		words = words[1:]
	}
	return words
}

// unquoted returns what the shell makes of an unquoted value: it is split at white space, and patterns match files.
func unquoted(values []string) []string {
	marks := strings.NewReplacer(" ", markGap, "\t", markGap, "\n", markGap, "*", MarkGlob, "?", MarkGlob, "[", MarkGlob)
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = marks.Replace(v)
	}
	return out
}

func limit(values []string) []string {
	var out []string
	for _, v := range values {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
		if len(out) == maxValues {
			return append(out, MarkUnknown)
		}
	}
	return out
}

// Absolute returns the targets of a path from each directory that the command may run in; none if that is unknown.
func (c *Trace) Absolute(at int, text string) []string {
	switch {
	case text == "" || strings.HasPrefix(text, MarkUnknown):
		return nil
	case text[0] == '/':
		return []string{path.Clean(text)}
	}
	var out []string
	for _, dir := range c.dirs(at) {
		if dir != "" {
			out = append(out, path.Join(dir, text))
		}
	}
	return out
}
