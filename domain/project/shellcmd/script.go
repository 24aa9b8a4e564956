package shellcmd

import (
	"slices"
	"strings"
)

// ShellScript is a parsed shell text: every simple command in it, at any depth, in order, with the commands of a substitution before the command that
// uses it.
type ShellScript struct {
	Commands   []Command
	Pipes      []Pipe
	Shells     []int  // the tree of shells: Shells[s] is the shell that s was forked from, -1 for the first
	Blocks     []int  // the tree of blocks: a command of a block runs only after what precedes it in that block and the enclosing ones
	Plain      bool   // only one simple command, which every shell reads in the same way
	Unparsable string // why the text is not a valid shell script; Commands is then what could be parsed
}

// Span is the commands From <= i < To of a script.
type Span struct{ From, To int }

// Has reports whether command i is in the span.
func (s Span) Has(i int) bool { return s.From <= i && i < s.To }

// Pipe is one | of a script: any command on its right may read what any command on its left writes.
type Pipe struct{ From, To Span }

// Command is one simple command. It has no words if it is a mere assignment, or the redirects of a compound command.
type Command struct {
	Words     []Word
	Assigns   []Assign
	Redirects []Redirect
	Shell     int    // in Script.Shells
	Block     int    // in Script.Blocks
	Function  string // the innermost function whose body it is in
	Forked    bool   // within that function it runs in a pipe or in the background
	Source    string // as it is written
}

// Assign is NAME=value, or one iteration of a loop over NAME.
type Assign struct {
	Name  string
	Value Word
}

// Redirect is one redirection.
type Redirect struct {
	Operator string // ">", ">>", "<", "<<<" and so on
	Target   Word   // of a here-document: its text
}

// Writes reports whether the redirect opens its target for writing.
func (r Redirect) Writes() bool {
	switch r.Operator {
	case ">", ">>", ">|", "<>", "&>", "&>>", "&>|":
		return true
	case ">&": // with a number or a dash it is another descriptor, else a file
		text, known := r.Target.Literal()
		return !known || strings.Trim(text, "0123456789-") != ""
	}
	return false
}

// Feeds reports whether the target is text that the command reads from its standard input.
func (r Redirect) Feeds() bool { return strings.HasPrefix(r.Operator, "<<") }

// Word is one word, as it is written and in parts.
type Word struct {
	Source string
	Parts  []Part
}

// Literal returns the word as the program gets it, and whether that is known before it runs.
func (w Word) Literal() (string, bool) {
	var b strings.Builder
	for _, p := range w.Parts {
		if p.Kind != PartLiteral {
			return "", false
		}
		b.WriteString(p.Text)
	}
	return b.String(), true
}

// PartKind is the kind of a word's part.
type PartKind uint8

// The kinds of parts.
const (
	PartLiteral      PartKind = iota // Text, without quotes and escapes
	PartPattern                      // Text is unquoted * ? or [
	PartTilde                        // Text is the user's name, empty for the own home
	PartVariable                     // Text is its name
	PartSubstitution                 // the output of Inside, or the name of a pipe to or from it
	PartComputed                     // arithmetic, and everything else that is only known when it runs
)

// Part is a part of a word.
type Part struct {
	Kind     PartKind
	Text     string
	Quoted   bool
	Source   string // as it is written
	Operator string // of ${NAME-word}: "-", ":-", "=", ":=", "?", ":?", "+", ":+"; any other is itself
	Other    []Part // the word after Operator
	Inside   Span   // the commands of a PartSubstitution
}

// Argv returns the script as a program and its arguments, if it needs no shell: one simple command of literal words that is not built into the shell.
// Everything else is for /bin/sh -c.
func (s ShellScript) Argv() ([]string, bool) {
	if s.Unparsable != "" || !s.Plain || len(s.Commands) != 1 {
		return nil, false
	}
	c := s.Commands[0]
	if len(c.Words) == 0 || len(c.Assigns) > 0 || len(c.Redirects) > 0 {
		return nil, false
	}
	argv := make([]string, len(c.Words))
	for i, w := range c.Words {
		text, known := w.Literal()
		if !known {
			return nil, false
		}
		argv[i] = text
	}
	return argv, argv[0] != "" && !slices.Contains(builtins(), argv[0])
}

// builtins returns the commands that are built into the shell, or that it runs differently from the program with that name.
func builtins() []string {
	return []string{
		".", ":", "[", "alias", "bg", "break", "builtin", "cd", "command", "continue", "declare", "dirs", "echo", "enable", "eval", "exec", "exit",
		"export", "false", "fc", "fg", "getopts", "hash", "help", "history", "jobs", "kill", "let", "local", "logout", "mapfile", "popd", "printf",
		"pushd", "pwd", "read", "readarray", "readonly", "return", "set", "shift", "shopt", "source", "suspend", "test", "time", "times", "trap",
		"true", "type", "typeset", "ulimit", "umask", "unalias", "unset", "wait",
	}
}

// within reports whether node a of a tree is b or an ancestor of b.
func within(tree []int, a, b int) bool {
	for b >= 0 && b < len(tree) && b > a {
		b = tree[b] // a parent's number is always smaller
	}
	return a == b
}
