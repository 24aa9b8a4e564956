package projectfile

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/countersign-dev/countersign/domain/project/shellcmd"
)

// maxCommands is how many commands a text may have: more than fit into one, unless braces multiply what stands behind them.
const maxCommands = 4200

// walker collects the commands of a syntax tree.
type walker struct {
	text   string
	script shellcmd.ShellScript
	extra  int  // words with braces and what they became
	full   bool // there were more than maxCommands
}

// spot is where in the tree a command stands.
type spot struct {
	shell, block int
	function     string
	forked       bool
}

func (w *walker) fork(at spot) spot {
	w.script.Shells = append(w.script.Shells, at.shell)
	at.shell, at.forked = len(w.script.Shells)-1, true
	return at
}

func (w *walker) nest(at spot, block int) spot {
	w.script.Blocks = append(w.script.Blocks, block)
	at.block = len(w.script.Blocks) - 1
	return at
}

func (w *walker) source(n syntax.Node) string {
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	if from < 0 || to > len(w.text) || from > to {
		return ""
	}
	return w.text[from:to]
}

// stmts returns the block that has been run when the last of them has succeeded.
func (w *walker) stmts(list []*syntax.Stmt, at spot) int {
	block := at.block
	for _, s := range list {
		if w.full {
			break
		}
		block = w.stmt(s, at)
	}
	return block
}

func (w *walker) stmt(s *syntax.Stmt, at spot) int {
	if s.Background || s.Coprocess || s.Disown {
		at = w.fork(at)
	}
	var redirects []shellcmd.Redirect
	for _, r := range s.Redirs {
		target := shellcmd.Word{}
		if r.Word != nil {
			target = w.word(r.Word, at)
		}
		if r.Hdoc != nil {
			target = w.word(r.Hdoc, at)
		}
		redirects = append(redirects, shellcmd.Redirect{Operator: r.Op.String(), Target: target})
	}
	call, simple := s.Cmd.(*syntax.CallExpr)
	if simple {
		w.call(call, redirects, w.source(s), at)
		return at.block
	}
	if len(redirects) > 0 || s.Cmd == nil {
		w.add(shellcmd.Command{Redirects: redirects, Source: w.source(s)}, at)
	}
	if s.Cmd == nil {
		return at.block
	}
	block := w.compound(s.Cmd, at)
	if s.Negated || s.Background {
		return at.block
	}
	return block
}

func (w *walker) add(c shellcmd.Command, at spot) {
	if len(w.script.Commands) >= maxCommands {
		w.full = true
		return
	}
	c.Shell, c.Block, c.Function, c.Forked = at.shell, at.block, at.function, at.forked
	w.script.Commands = append(w.script.Commands, c)
}

func (w *walker) call(call *syntax.CallExpr, redirects []shellcmd.Redirect, source string, at spot) {
	command := shellcmd.Command{Redirects: redirects, Source: source, Assigns: w.assigns(call.Assigns, at)}
	for _, arg := range call.Args {
		for _, word := range w.braces(arg) {
			command.Words = append(command.Words, w.word(word, at))
		}
	}
	w.add(command, at)
}

func (w *walker) assigns(list []*syntax.Assign, at spot) []shellcmd.Assign {
	var out []shellcmd.Assign
	for _, a := range list {
		if a.Index != nil {
			w.inside(a.Index, at)
		}
		if a.Name == nil {
			continue
		}
		if a.Array != nil {
			for _, e := range a.Array.Elems {
				if e.Value != nil {
					out = append(out, shellcmd.Assign{Name: a.Name.Value, Value: w.word(e.Value, at)})
				}
			}
			continue
		}
		value := shellcmd.Word{}
		if a.Value != nil {
			value = w.word(a.Value, at)
		}
		if a.Append {
			value.Parts = append([]shellcmd.Part{{Kind: shellcmd.PartVariable, Text: a.Name.Value, Quoted: true}}, value.Parts...)
		}
		if !a.Naked {
			out = append(out, shellcmd.Assign{Name: a.Name.Value, Value: value})
		}
	}
	return out
}

// compound returns the block that has been run when the command has succeeded.
func (w *walker) compound(cmd syntax.Command, at spot) int {
	switch c := cmd.(type) {
	case *syntax.Block:
		return w.stmts(c.Stmts, at)
	case *syntax.Subshell:
		inner := w.fork(at)
		inner.forked = at.forked
		return w.stmts(c.Stmts, inner)
	case *syntax.BinaryCmd:
		return w.binary(c, at)
	case *syntax.IfClause:
		w.branches(c, at)
	case *syntax.WhileClause:
		w.stmts(c.Do, w.nest(at, w.stmts(c.Cond, at)))
	case *syntax.ForClause:
		w.loop(c, at)
	case *syntax.CaseClause:
		w.word(c.Word, at)
		for _, item := range c.Items {
			for _, pattern := range item.Patterns {
				w.word(pattern, at)
			}
			w.stmts(item.Stmts, w.nest(at, at.block))
		}
	case *syntax.FuncDecl:
		body := w.nest(at, at.block)
		body.forked = false
		if c.Name != nil {
			body.function = c.Name.Value
		}
		w.stmt(c.Body, body)
	case *syntax.DeclClause:
		w.declare(c, at)
	case *syntax.TimeClause:
		if c.Stmt != nil {
			return w.stmt(c.Stmt, at)
		}
	case *syntax.CoprocClause:
		w.stmt(c.Stmt, w.fork(at))
	default: // tests and arithmetic: only what is substituted into them runs
		w.inside(c, at)
	}
	return at.block
}

func (w *walker) binary(c *syntax.BinaryCmd, at spot) int {
	switch c.Op {
	case syntax.AndStmt:
		return w.stmt(c.Y, w.nest(at, w.stmt(c.X, at)))
	case syntax.OrStmt:
		w.stmt(c.X, at)
		w.stmt(c.Y, w.nest(at, at.block))
		return at.block
	}
	from := len(w.script.Commands)
	w.stmt(c.X, w.fork(at))
	middle := len(w.script.Commands)
	w.stmt(c.Y, w.fork(at))
	w.script.Pipes = append(w.script.Pipes, shellcmd.Pipe{
		From: shellcmd.Span{From: from, To: middle}, To: shellcmd.Span{From: middle, To: len(w.script.Commands)},
	})
	return at.block
}

func (w *walker) branches(c *syntax.IfClause, at spot) {
	for ; c != nil; c = c.Else {
		block := w.stmts(c.Cond, at)
		w.stmts(c.Then, w.nest(at, block))
		at = w.nest(at, at.block) // what follows runs only when this did not
	}
}

// loop is an assignment of every word to the variable, then the body.
func (w *walker) loop(c *syntax.ForClause, at spot) {
	body := w.nest(at, at.block)
	switch head := c.Loop.(type) {
	case *syntax.WordIter:
		turns := shellcmd.Command{Source: w.source(head)}
		for _, item := range head.Items {
			for _, word := range w.braces(item) {
				value := w.word(word, at)
				turns.Assigns = append(turns.Assigns, shellcmd.Assign{Name: head.Name.Value, Value: value})
			}
		}
		if len(head.Items) == 0 { // over the arguments
			turns.Assigns = []shellcmd.Assign{{Name: head.Name.Value, Value: shellcmd.Word{Parts: []shellcmd.Part{{Kind: shellcmd.PartComputed}}}}}
		}
		w.add(turns, body)
	default:
		w.inside(head, at)
	}
	w.stmts(c.Do, body)
}

func (w *walker) declare(c *syntax.DeclClause, at spot) {
	command := shellcmd.Command{Source: w.source(c)}
	command.Words = []shellcmd.Word{{Source: c.Variant.Value, Parts: []shellcmd.Part{{Kind: shellcmd.PartLiteral, Text: c.Variant.Value}}}}
	for _, a := range c.Args {
		if a.Naked && a.Value != nil {
			command.Words = append(command.Words, w.word(a.Value, at))
		}
	}
	command.Assigns = w.assigns(c.Args, at)
	w.add(command, at)
}

// inside collects what is substituted somewhere in a node that is no command itself.
func (w *walker) inside(n syntax.Node, at spot) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			w.stmts(n.Stmts, w.substituted(at))
			return false
		case *syntax.ProcSubst:
			w.stmts(n.Stmts, w.substituted(at))
			return false
		}
		return true
	})
}

func (w *walker) substituted(at spot) spot {
	inner := w.fork(at)
	inner.forked = at.forked
	return inner
}

func (w *walker) word(word *syntax.Word, at spot) shellcmd.Word {
	return shellcmd.Word{Source: w.source(word), Parts: w.parts(word.Parts, at, false)}
}

func (w *walker) parts(list []syntax.WordPart, at spot, quoted bool) []shellcmd.Part {
	var out []shellcmd.Part
	for i, p := range list {
		switch p := p.(type) {
		case *syntax.Lit:
			out = append(out, literal(p.Value, quoted, i == 0)...)
		case *syntax.SglQuoted:
			text := p.Value
			if p.Dollar {
				text = ansi(text)
			}
			out = append(out, shellcmd.Part{Kind: shellcmd.PartLiteral, Text: text, Quoted: true, Source: w.source(p)})
		case *syntax.DblQuoted:
			if len(p.Parts) == 0 {
				out = append(out, shellcmd.Part{Kind: shellcmd.PartLiteral, Quoted: true, Source: `""`})
			}
			out = append(out, w.parts(p.Parts, at, true)...)
		case *syntax.ParamExp:
			out = append(out, w.param(p, at, quoted))
		case *syntax.CmdSubst:
			out = append(out, w.substitution(p, p.Stmts, at, quoted))
		case *syntax.ProcSubst:
			out = append(out, w.substitution(p, p.Stmts, at, quoted))
		case *syntax.ExtGlob:
			out = append(out, shellcmd.Part{Kind: shellcmd.PartPattern, Text: w.source(p), Source: w.source(p)})
		default:
			w.inside(p, at)
			out = append(out, shellcmd.Part{Kind: shellcmd.PartComputed, Quoted: quoted, Source: w.source(p)})
		}
	}
	return out
}

func (w *walker) substitution(n syntax.Node, stmts []*syntax.Stmt, at spot, quoted bool) shellcmd.Part {
	from := len(w.script.Commands)
	w.stmts(stmts, w.substituted(at))
	return shellcmd.Part{Kind: shellcmd.PartSubstitution, Quoted: quoted, Source: w.source(n), Inside: shellcmd.Span{From: from, To: len(w.script.Commands)}}
}

func (w *walker) param(p *syntax.ParamExp, at spot, quoted bool) shellcmd.Part {
	part := shellcmd.Part{Kind: shellcmd.PartVariable, Quoted: quoted, Source: w.source(p)}
	if p.Param != nil {
		part.Text = p.Param.Value
	}
	switch {
	case p.Exp != nil:
		part.Operator = p.Exp.Op.String()
		if p.Exp.Word != nil {
			part.Other = w.parts(p.Exp.Word.Parts, at, quoted)
		}
	case p.Length || p.Width || p.IsSet:
		return shellcmd.Part{Kind: shellcmd.PartComputed, Quoted: quoted, Source: part.Source}
	case p.Excl || p.Index != nil || p.Slice != nil || p.Repl != nil || p.Names != 0:
		part.Operator = "[]"
		for _, sub := range nested(p) {
			w.inside(sub, at)
		}
	}
	return part
}

func nested(p *syntax.ParamExp) []syntax.Node {
	var out []syntax.Node
	if p.Index != nil {
		out = append(out, p.Index)
	}
	if p.Slice != nil && p.Slice.Offset != nil {
		out = append(out, p.Slice.Offset)
	}
	if p.Slice != nil && p.Slice.Length != nil {
		out = append(out, p.Slice.Length)
	}
	if p.Repl != nil && p.Repl.Orig != nil {
		out = append(out, p.Repl.Orig)
	}
	if p.Repl != nil && p.Repl.With != nil {
		out = append(out, p.Repl.With)
	}
	return out
}

// literal is unquoted or double-quoted text without its escapes, its patterns and its tilde by themselves.
func literal(value string, quoted, first bool) []shellcmd.Part {
	var out []shellcmd.Part
	var text strings.Builder
	flush := func() {
		if text.Len() > 0 {
			out = append(out, shellcmd.Part{Kind: shellcmd.PartLiteral, Text: text.String(), Quoted: quoted})
			text.Reset()
		}
	}
	if first && !quoted && strings.HasPrefix(value, "~") && !strings.ContainsAny(value[:strings.IndexByte(value+"/", '/')], `\:`) {
		name, rest, found := strings.Cut(value[1:], "/")
		out = append(out, shellcmd.Part{Kind: shellcmd.PartTilde, Text: name, Source: "~" + name})
		if value = ""; found {
			value = "/" + rest
		}
	}
	for i := 0; i < len(value); i++ {
		switch b := value[i]; {
		case b == '\\' && i+1 < len(value) && (!quoted || strings.IndexByte("$`\"\\\n", value[i+1]) >= 0):
			if i++; value[i] != '\n' {
				text.WriteByte(value[i])
			}
		case !quoted && (b == '*' || b == '?' || b == '['):
			flush()
			out = append(out, shellcmd.Part{Kind: shellcmd.PartPattern, Text: string(b), Source: string(b)})
		default:
			text.WriteByte(b)
		}
	}
	flush()
	return out
}
