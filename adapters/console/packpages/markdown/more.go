package markdown

import (
	"github.com/countersign-dev/countersign/adapters/console/markup"
	"strconv"

	"github.com/yuin/goldmark/extension/ast"
)

// more is an element beyond CommonMark; nil for one that is none of them.
func (w *walker) more(n any) markup.Node {
	switch n := n.(type) {
	case *ast.Table:
		return w.table(n)
	case *ast.Strikethrough:
		return markup.Del(w.children(n))
	case *ast.TaskCheckBox:
		if n.IsChecked {
			return box("☑ ", "done: ")
		}
		return box("☐ ", "to do: ")
	}
	return nil
}

// box is the box of a task, which those who hear it are told in a word.
func box(sign, word string) markup.Node {
	return markup.Group{markup.Span(markup.Aria("hidden", "true"), markup.Text(sign)), markup.Span(markup.Class("visually-hidden"), markup.Text(word))}
}

func (w *walker) table(n *ast.Table) markup.Node {
	w.blocks++
	var head, body markup.Group
	for r := n.FirstChild(); r != nil; r = r.NextSibling() {
		_, heads := r.(*ast.TableHeader)
		var cells markup.Group
		for c := r.FirstChild(); c != nil; c = c.NextSibling() {
			if heads {
				cells = append(cells, markup.Th(markup.Scope("col"), w.children(c)))
			} else {
				cells = append(cells, markup.Td(w.children(c)))
			}
		}
		if heads {
			head = append(head, markup.Tr(cells))
		} else {
			body = append(body, markup.Tr(cells))
		}
	}
	return markup.Div(markup.Class("wide"), markup.TabIndex("0"), markup.Role("group"), markup.Aria("label", w.label+": table "+strconv.Itoa(w.blocks)),
		markup.Table(markup.THead(head), markup.TBody(body)))
}
