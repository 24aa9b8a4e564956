package packpages

import (
	"github.com/countersign-dev/countersign/adapters/console/ui"
	"strconv"

	"github.com/yuin/goldmark/extension/ast"
)

// more returns an element beyond CommonMark; nil for one that is none of them.
func (w *walker) more(n any) ui.Node {
	switch n := n.(type) {
	case *ast.Table:
		return w.table(n)
	case *ast.Strikethrough:
		return ui.Del(w.children(n))
	case *ast.TaskCheckBox:
		if n.IsChecked {
			return box("☑ ", "done: ")
		}
		return box("☐ ", "to do: ")
	}
	return nil
}

// box returns the checkbox of a task, with a text for screen readers.
func box(sign, word string) ui.Node {
	return ui.Group{ui.Span(ui.Aria("hidden", "true"), ui.TextNode(sign)), ui.Span(ui.Class("visually-hidden"), ui.TextNode(word))}
}

func (w *walker) table(n *ast.Table) ui.Node {
	w.blocks++
	var head, body ui.Group
	for r := n.FirstChild(); r != nil; r = r.NextSibling() {
		_, heads := r.(*ast.TableHeader)
		var cells ui.Group
		for c := r.FirstChild(); c != nil; c = c.NextSibling() {
			if heads {
				cells = append(cells, ui.Th(ui.Scope("col"), w.children(c)))
			} else {
				cells = append(cells, ui.Td(w.children(c)))
			}
		}
		if heads {
			head = append(head, ui.Tr(cells))
		} else {
			body = append(body, ui.Tr(cells))
		}
	}
	return ui.Div(ui.Class("wide"), ui.TabIndex("0"), ui.Role("group"), ui.Aria("label", w.label+": table "+strconv.Itoa(w.blocks)),
		ui.Table(ui.THead(head), ui.TBody(body)))
}
