package projectfile

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/shellcmd"
	"github.com/countersign-dev/countersign/ports/projectport"
)

// Parser implements projectport.ShellParser. The zero Parser is ready, and safe for concurrent use.
type Parser struct{}

var _ projectport.ShellParser = Parser{}

// Parse takes text apart as bash reads it, and as a POSIX shell does where that is something else: /bin/sh is one here and the other
// there. Beyond text that neither can read, what stands before the error still counts, because a shell runs it before it gets there.
func (Parser) Parse(text string) shellcmd.ShellScript {
	if len(text) > project.MaxCommand {
		return shellcmd.ShellScript{Unparsable: fmt.Sprintf("it has %d bytes; the limit for a command is %d", len(text), project.MaxCommand)}
	}
	if strings.ContainsRune(text, 0) {
		return shellcmd.ShellScript{Unparsable: "it contains a NUL character"}
	}
	bash, bashErr := parse(text, syntax.LangBash)
	posix, posixErr := parse(text, syntax.LangPOSIX)
	switch {
	case bashErr == nil && (posixErr != nil || reflect.DeepEqual(bash, posix)):
		return bash
	case bashErr == nil:
		return join(bash, posix)
	case posixErr == nil:
		return posix
	}
	script := join(join(bash, posix), splitLeniently(text))
	script.Unparsable = explain(bashErr)
	return script
}

// explain returns an error of the parser without the name of a file that there is not.
func explain(err error) string {
	return strings.ReplaceAll(err.Error(), "\n", " ")
}

func parse(text string, lang syntax.LangVariant) (shellcmd.ShellScript, error) {
	stmts, err := statements(text, lang)
	w := &walker{text: text, script: shellcmd.ShellScript{Shells: []int{-1}, Blocks: []int{-1}}}
	w.stmts(stmts, spot{})
	w.script.Plain = err == nil && w.extra == 0 && plain(stmts)
	if err == nil && w.full {
		err = fmt.Errorf("it has more than %d commands", maxCommands)
	}
	return w.script, err
}

// statements returns those before the first error. The text comes from anywhere and the grammar is large: should the library panic over it,
// that is a text that cannot be read, and no reason to stop a server.
func statements(text string, lang syntax.LangVariant) (stmts []*syntax.Stmt, err error) {
	defer func() {
		if defect := recover(); defect != nil {
			stmts, err = nil, fmt.Errorf("it cannot be parsed: %v", defect)
		}
	}()
	for stmt, failed := range syntax.NewParser(syntax.Variant(lang)).StmtsSeq(strings.NewReader(text)) {
		switch { // no break: after an error the parser says it once more
		case failed != nil && err == nil:
			err = failed
		case err == nil:
			stmts = append(stmts, stmt)
		}
	}
	return stmts, err
}

func plain(stmts []*syntax.Stmt) bool {
	if len(stmts) != 1 || stmts[0].Negated || stmts[0].Background || stmts[0].Coprocess || len(stmts[0].Redirs) > 0 {
		return false
	}
	call, ok := stmts[0].Cmd.(*syntax.CallExpr)
	return ok && len(call.Assigns) == 0
}

// join is two readings of one text as one script.
func join(a, b shellcmd.ShellScript) shellcmd.ShellScript {
	commands, shells, blocks := len(a.Commands), len(a.Shells), len(a.Blocks)
	for _, c := range b.Commands {
		c.Shell += shells
		c.Block += blocks
		c.Words = moveWords(c.Words, commands)
		c.Assigns = slices.Clone(c.Assigns)
		for i := range c.Assigns {
			c.Assigns[i].Value.Parts = moveParts(c.Assigns[i].Value.Parts, commands)
		}
		c.Redirects = slices.Clone(c.Redirects)
		for i := range c.Redirects {
			c.Redirects[i].Target.Parts = moveParts(c.Redirects[i].Target.Parts, commands)
		}
		a.Commands = append(a.Commands, c)
	}
	for _, p := range b.Pipes {
		a.Pipes = append(a.Pipes, shellcmd.Pipe{From: move(p.From, commands), To: move(p.To, commands)})
	}
	a.Shells = append(a.Shells, moveTree(b.Shells, shells)...)
	a.Blocks = append(a.Blocks, moveTree(b.Blocks, blocks)...)
	a.Plain = false
	return a
}

func move(s shellcmd.Span, by int) shellcmd.Span {
	return shellcmd.Span{From: s.From + by, To: s.To + by}
}

func moveTree(tree []int, by int) []int {
	out := slices.Clone(tree)
	for i := range out {
		if out[i] >= 0 {
			out[i] += by
		}
	}
	return out
}

func moveWords(words []shellcmd.Word, by int) []shellcmd.Word {
	out := slices.Clone(words)
	for i := range out {
		out[i].Parts = moveParts(out[i].Parts, by)
	}
	return out
}

func moveParts(parts []shellcmd.Part, by int) []shellcmd.Part {
	out := slices.Clone(parts)
	for i := range out {
		out[i].Inside = move(out[i].Inside, by)
		out[i].Other = moveParts(out[i].Other, by)
	}
	return out
}

// splitLeniently makes commands out of text that no shell grammar fits: a new one at every separator, every quote ignored.
func splitLeniently(text string) shellcmd.ShellScript {
	script := shellcmd.ShellScript{Shells: []int{-1}, Blocks: []int{-1}}
	text = strings.NewReplacer("\\\n", " ", "'", "", `"`, "", "\\", "").Replace(text)
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune("\n;&|(){}`", r) }) {
		var words []shellcmd.Word
		for field := range strings.FieldsSeq(part) {
			word := shellcmd.Word{Source: field, Parts: []shellcmd.Part{{Kind: shellcmd.PartLiteral, Text: field, Source: field}}}
			if field == "~" || strings.HasPrefix(field, "~/") {
				word.Parts = []shellcmd.Part{{Kind: shellcmd.PartTilde, Source: "~"}, {Kind: shellcmd.PartLiteral, Text: field[1:], Source: field[1:]}}
			}
			words = append(words, word)
			if !slices.Contains([]string{"if", "then", "else", "elif", "do", "while", "until", "!", "$"}, field) {
				continue
			}
			words = nil // a command begins behind it
		}
		if len(words) > 0 {
			script.Commands = append(script.Commands, shellcmd.Command{Words: words, Source: strings.TrimSpace(part)})
		}
	}
	return script
}
