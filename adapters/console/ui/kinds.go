package ui

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/present"
)

// notice returns a prominent message. It is not a Notice: on pages with many plans screen readers would announce all of them.
func notice(tone string, body ...Node) Node {
	return Div(Class("notice "+tone), Group(body))
}

// warnings returns the warnings of a plan; nothing if there are none.
func warnings(v any) Node {
	all := texts(v)
	if s, ok := v.(string); ok && s != "" {
		all = []string{s}
	}
	if len(all) == 0 {
		if nothing(v) {
			return nil
		}
		return notice(Warn, plain(v, 0))
	}
	return notice(Warn, lines(all))
}

// findings returns the linter's findings for a command; nothing if there are none.
func findings(v any) Node {
	items, _ := v.([]any)
	all, _ := objects(items)
	if len(all) == 0 {
		return nil
	}
	return notice(Warn, Ul(Map(all, func(f []present.Field) Node {
		what, of := present.FindingOf(f)
		line := Group{TextNode(Printable(strings.TrimPrefix(what, "high ")))}
		if of != "" {
			line = append(line, TextNode(": "), InlineCode(Printable(of)))
		}
		if strings.EqualFold(present.Text(f, "verdict"), "high") || strings.EqualFold(present.Text(f, "severity"), "high") {
			line = append(Group{Risk("high"), TextNode(" ")}, line...)
		}
		return Li(line)
	})))
}

// loss returns what would be lost, highlighted.
func loss(f present.Field, depth int) Node {
	items, _ := f.Value.([]any)
	var body Group
	for _, item := range items {
		switch item := item.(type) {
		case string:
			body = append(body, Li(InlineCode(Printable(item))))
		case []present.Field:
			where := present.Text(item, "directory")
			rest := without(item, "directory")
			var inner Group
			for _, f := range rest {
				if nothing(f.Value) {
					continue
				}
				if lost := texts(f.Value); len(lost) > 0 {
					inner = append(inner, row(label(f.Name), codes(lost), false))
				} else {
					n, across := shown(f, depth+1)
					inner = append(inner, row(label(f.Name), n, across))
				}
			}
			body = append(body, Li(InlineCode(Printable(where)), dl(inner)))
		default:
			body = append(body, Li(plain(item, depth)))
		}
	}
	return notice(Bad, P(Strong(TextNode(strings.ToUpper(label(f.Name)[:1])+label(f.Name)[1:]))), Ul(Class("lost"), body))
}

func codes(all []string) Node {
	return Ul(Map(all, func(s string) Node { return Li(InlineCode(Printable(s))) }))
}

// namedPlan reports whether a script is only the name of one.
func namedPlan(f present.Field) bool {
	s, ok := f.Value.(string)
	return ok && f.Name == "script" && !strings.ContainsAny(s, " \n\t;&|<>")
}

// command returns a command as one would type it; empty if the value is not one.
func command(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		if all := texts(v); len(all) == len(v) {
			return present.CommandLine(all)
		}
	}
	return ""
}

// run returns what would run, as command lines.
func run(f present.Field) Node {
	lines := command(f.Value)
	if f.Name == "setup" || f.Name == "hooks" { // several of them
		if all := texts(f.Value); len(all) > 0 {
			lines = strings.Join(all, "\n")
		}
	}
	return figure(Class("command"), figCaption(TextNode(label(f.Name))), CodeBlock(label(f.Name), Printable(lines)))
}

// said reports whether the command in the same object already contains the argument vector: it is the same, or a shell that runs it.
func said(fields []present.Field) bool {
	line, argv := present.Text(fields, "command"), texts(present.Member(fields, "argv"))
	return line != "" && (line == present.CommandLine(argv) || len(argv) == 3 && argv[0] == "/bin/sh" && argv[1] == "-c" && argv[2] == line)
}

// changes returns files with the change to each. The word alone is sufficient; the tone is only visual.
func changes(name string, all [][]present.Field) Node {
	rows := make([]Node, 0, len(all))
	for _, c := range all {
		op, tone := present.Text(c, "op"), Plain
		switch op {
		case "create":
			tone = Good
		case "update":
			tone = Warn
		case "delete":
			tone = Bad
		}
		var own Node
		if costs := present.Costs(c); costs != "" {
			own = Badge(Bad, costs)
		}
		of := present.Text(c, "module_id")
		if target := present.Text(c, "target"); of == "" || target != "" {
			of = strings.TrimPrefix(of+" for "+target, " for ")
		}
		rows = append(rows, Row(Badge(tone, op), TextNode(Printable(of)), Group{InlineCode(Printable(present.Text(c, "path"))),
			If(present.Text(c, "unified") != "", Disclosure("Lines", true, Diff("lines of "+present.Text(c, "path"), Printable(present.Text(c, "unified")))))},
			Group{TextNode(Printable(present.Why(c)) + " "), own}))
	}
	head := []string{"Change", "Target", "File", "Reason"}
	if len(rows) <= manyChanges {
		return DataTable(name, head, rows, "")
	}
	return Group{DataTable(name, head, rows[:pageChanges], ""), Disclosure(fmt.Sprintf("%d more", len(rows)-pageChanges), false, DataTable("more "+name, head, rows[pageChanges:], ""))}
}

// How many changes are shown expanded: with more than manyChanges on a page, the dangerous ones first.
const (
	manyChanges = 60
	pageChanges = 40
)

// files returns files with the changed lines of each.
func files(all [][]present.Field) Node {
	var out Group
	said := map[string]bool{}
	for _, f := range all {
		path := present.Text(f, "path")
		once := present.Text(f, "op") + present.Text(f, "root") + path + present.Text(f, "unified")
		if said[once] { // a file of several targets
			continue
		}
		said[once] = true
		if root := present.Text(f, "root"); strings.HasPrefix(root, "/") || len(root) > 1 && root[1] == ':' {
			path = strings.TrimRight(root, `/\`) + "/" + path
		}
		var body Node
		switch d, op := present.Text(f, "unified"), present.Text(f, "op"); {
		case d != "":
			body = Diff("lines of "+path, Printable(d))
		case op == "delete":
			body = P(TextNode("Deleted."))
		default:
			body = P(Class("quiet"), TextNode("Lines not shown."))
		}
		out = append(out, Disclosure(strings.TrimSpace(present.Text(f, "op")+" "+Printable(path)), true, body))
	}
	return out
}

// steps returns the steps in order, those of a step's own workflow indented.
func steps(all [][]present.Field, depth int) Node {
	var out Group
	for i, s := range all {
		name := Printable(firstText(s, "name", "directory", "repo"))
		head := Group{Strong(TextNode(fmt.Sprintf("%d. %s", i+1, name)))}
		if other := present.Text(s, "starts_workflow"); other != "" {
			head = append(head, TextNode(" starts workflow "+Printable(other)))
		}
		rest := without(s, "name", "starts_workflow", "workflow")
		out = append(out, Li(If(level(s) > 0, Class(fmt.Sprintf("deep-%d", level(s)))), P(head), block(rest, depth+1)))
	}
	return Ol(Class("steps"), out)
}

// level returns how deep a step is nested, at most 4.
func level(s []present.Field) int {
	n, _ := present.Member(s, "depth").(json.Number)
	i, err := n.Int64()
	if err != nil {
		return 0
	}
	return int(min(max(i, 0), 4))
}

func firstText(fields []present.Field, names ...string) string {
	for _, name := range names {
		if s := present.Text(fields, name); s != "" {
			return s
		}
	}
	return ""
}

// request returns an HTTP request that would be sent.
func request(fields []present.Field, depth int) Node {
	var headers []Node
	items, _ := present.Member(fields, "headers").([]any)
	all, _ := objects(items)
	for _, h := range all {
		n, _ := word("value", present.Text(h, "value"))
		headers = append(headers, Row(InlineCode(Printable(present.Text(h, "name"))), n))
	}
	line := present.Text(fields, "method") + " " + present.Text(fields, "url")
	out := Group{CodeBlock("request", Printable(line))}
	if len(headers) > 0 {
		out = append(out, DataTable("headers", []string{"Header", "Value"}, headers, ""))
	}
	return append(out, block(without(fields, "method", "url", "headers", "host"), depth+1))
}

// widest is the maximum number of columns of a table; wider objects are shown one below the other.
const widest = 9

// table returns objects as a table, with a column for each member that has a value in any of them.
func table(name string, all [][]present.Field, depth int) Node {
	var columns []string
	for _, o := range all {
		for _, f := range o {
			if !nothing(f.Value) && !unseen(f.Name) && !slices.Contains(columns, f.Name) {
				columns = append(columns, f.Name)
			}
		}
	}
	if len(columns) > widest || depth > planDeepest {
		return Ol(Class("steps"), Map(all, func(o []present.Field) Node { return Li(block(o, depth+1)) }))
	}
	heads := make([]string, len(columns))
	for i, c := range columns {
		heads[i] = label(c)
	}
	rows := make([]Node, 0, len(all))
	for _, o := range all {
		cells := make([]Node, len(columns))
		for i, c := range columns {
			cells[i] = cell(present.Field{Name: c, Value: present.Member(o, c)}, depth)
		}
		rows = append(rows, Row(cells...))
	}
	return DataTable(name, heads, rows, "None")
}

// shownSum is the number of shown characters of a file's hash: as many as in a terminal, for comparison.
const shownSum = 16

// codeFiles returns the files that a command reads as code, each with its hash, to which the plan is bound.
func codeFiles(name string, all [][]present.Field) Node {
	rows := Map(all, func(o []present.Field) Node {
		return Row(cell(present.Field{Name: "path", Value: present.Member(o, "path")}, 0), cell(present.Field{Name: "size_bytes", Value: present.Member(o, "size")}, 0),
			beginning(present.Text(o, "sha256"), shownSum))
	})
	return DataTable(name, []string{"path", "size", "sha256"}, rows, "None")
}

// cell returns a value in a table.
func cell(f present.Field, depth int) Node {
	switch {
	case nothing(f.Value):
		return nil
	case loses(f.Name) && lists(f.Value):
		return Div(Class("lost"), codes(texts(f.Value)))
	case warns(f.Name):
		return warnings(f.Value)
	case f.Name == "findings":
		return findings(f.Value)
	case runs(f.Name) && command(f.Value) != "":
		return InlineCode(Printable(command(f.Value)))
	}
	n, _ := shown(f, depth+1)
	return n
}
