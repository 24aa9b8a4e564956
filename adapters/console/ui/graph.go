package ui

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"
)

// GraphNode is a box of a Graph.
type GraphNode struct {
	Text   string // its name
	Note   string // the line below it, such as its status
	Tone   string // Plain, Good, Warn or Bad
	Href   string // path of the page about it; may be empty
	After  []int  // the indexes of the nodes that it depends on, all lower than its own
	Detail string // what screen readers and the tooltip add to the name and the note
}

// The measures of a Graph in pixels.
const (
	boxWidth   = 172
	boxHeight  = 50
	boxMargin  = 6 // around the graph
	alongRow   = 44
	alongStack = 14
	boxText    = 19 // runes of a name that fit into a box
)

// Graph returns boxes with lines from each one to the boxes that depend on it, from left to right, or from top to bottom on narrow screens. label
// describes the graph.
func Graph(label string, nodes []GraphNode) Node {
	if len(nodes) == 0 {
		return nil
	}
	return Group{Div(Class("graph across"), TabIndex("0"), Role("group"), named(label), drawn(nodes, false)),
		Div(Class("graph down"), TabIndex("0"), Role("group"), named(label), drawn(nodes, true))}
}

// place is the position of a box: its level, which is higher than those of the boxes it depends on, and its index among the boxes of that level.
type place struct{ level, index int }

// places returns the positions of the boxes, the number of levels, and the largest number of boxes at one level.
func places(nodes []GraphNode) (at []place, levels, widest int) {
	at = make([]place, len(nodes))
	var count []int
	for i, n := range nodes {
		level := 0
		for _, a := range n.After {
			level = max(level, at[a].level+1)
		}
		for len(count) <= level {
			count = append(count, 0)
		}
		at[i] = place{level, count[level]}
		count[level]++
		widest = max(widest, count[level])
	}
	return at, len(count), widest
}

// direct returns, of each node, the nodes that it depends on without those that another one of them depends on.
func direct(nodes []GraphNode) [][]int {
	reach := make([]map[int]bool, len(nodes)) // of each node, what it depends on directly or indirectly
	out := make([][]int, len(nodes))
	for i, n := range nodes {
		reach[i] = map[int]bool{}
		for _, a := range n.After {
			reach[i][a] = true
			maps.Copy(reach[i], reach[a])
		}
		out[i] = slices.DeleteFunc(slices.Clone(n.After), func(a int) bool {
			return slices.ContainsFunc(n.After, func(b int) bool { return reach[b][a] })
		})
	}
	return out
}

func drawn(nodes []GraphNode, down bool) Node {
	at, levels, widest := places(nodes)
	x := func(p place) int { return boxMargin + p.level*(boxWidth+alongRow) }
	y := func(p place) int { return boxMargin + p.index*(boxHeight+alongStack) }
	width, height := levels*(boxWidth+alongRow)-alongRow, widest*(boxHeight+alongStack)-alongStack
	if down {
		x = func(p place) int { return boxMargin + p.index*(boxWidth+alongStack) }
		y = func(p place) int { return boxMargin + p.level*(boxHeight+alongStack*2) }
		width, height = widest*(boxWidth+alongStack)-alongStack, levels*(boxHeight+alongStack*2)-alongStack*2
	}
	width, height = width+2*boxMargin, height+2*boxMargin
	edges := direct(nodes)
	var lines, boxes Group
	for i, n := range nodes {
		for _, a := range edges[i] {
			x1, y1, x2, y2 := x(at[a])+boxWidth, y(at[a])+boxHeight/2, x(at[i]), y(at[i])+boxHeight/2
			curve := fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x1, y1, (x1+x2)/2, y1, (x1+x2)/2, y2, x2, y2)
			if down {
				x1, y1, x2, y2 = x(at[a])+boxWidth/2, y(at[a])+boxHeight, x(at[i])+boxWidth/2, y(at[i])
				curve = fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x1, y1, x1, (y1+y2)/2, x2, (y1+y2)/2, x2, y2)
			}
			lines = append(lines, el("path", Class("edge"), Attr("d", curve)))
		}
		boxes = append(boxes, box(n, x(at[i]), y(at[i])))
	}
	return el("svg", Attr("width", strconv.Itoa(width)), Attr("height", strconv.Itoa(height)), Attr("viewBox", fmt.Sprintf("0 0 %d %d", width, height)), lines, boxes)
}

// box returns the box of a node whose upper left corner is at x, y.
func box(n GraphNode, x, y int) Node {
	full := n.Text
	for _, more := range []string{n.Note, n.Detail} {
		if more != "" {
			full += ", " + more
		}
	}
	line := func(class, text string, at int) Node {
		return el("text", Class(class), Attr("x", strconv.Itoa(x+14)), Attr("y", strconv.Itoa(y+at)), TextNode(text))
	}
	content := Group{el("title", TextNode(Printable(full))),
		el("rect", Attr("x", strconv.Itoa(x)), Attr("y", strconv.Itoa(y)), Attr("width", strconv.Itoa(boxWidth)), Attr("height", strconv.Itoa(boxHeight)), Attr("rx", "8")),
		line("name", shortened(Printable(n.Text), boxText), 21), line("note", shortened(Printable(n.Note), boxText+4), 38)}
	if n.Href != "" {
		return A(Class("box "+n.Tone), Href(n.Href), content)
	}
	return el("g", Class("box "+n.Tone), Role("img"), named(full), content)
}

// shortened returns a text of at most that many runes.
func shortened(s string, runes int) string {
	if utf8.RuneCountInString(s) <= runes {
		return s
	}
	return string([]rune(s)[:runes-1]) + "…"
}
