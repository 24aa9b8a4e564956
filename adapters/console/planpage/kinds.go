package planpage

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/page"
	"github.com/countersign-dev/countersign/adapters/present/orderly"
)

// notice is what must not be overlooked. It is no page.Notice: pages with many plans would read all of them out.
func notice(tone string, body ...markup.Node) markup.Node {
	return markup.Div(markup.Class("notice "+tone), markup.Group(body))
}

// warnings are what speaks against a plan; nothing for none.
func warnings(v any) markup.Node {
	all := texts(v)
	if s, ok := v.(string); ok && s != "" {
		all = []string{s}
	}
	if len(all) == 0 {
		if nothing(v) {
			return nil
		}
		return notice(page.Warn, plain(v, 0))
	}
	return notice(page.Warn, lines(all))
}

// findings are what the linter said of a command; nothing for none.
func findings(v any) markup.Node {
	items, _ := v.([]any)
	all, _ := objects(items)
	if len(all) == 0 {
		return nil
	}
	return notice(page.Warn, markup.Ul(markup.Map(all, func(f []orderly.Field) markup.Node {
		line := markup.Group{markup.Text(page.Printable(orderly.Text(f, "message")))}
		if fragment := orderly.Text(f, "fragment"); fragment != "" {
			line = append(line, markup.Text(": "), page.Code(page.Printable(fragment)))
		}
		if strings.EqualFold(orderly.Text(f, "verdict"), "high") || strings.EqualFold(orderly.Text(f, "severity"), "high") {
			line = append(markup.Group{page.Risk("high"), markup.Text(" ")}, line...)
		}
		return markup.Li(line)
	})))
}

// loss is what would be gone, marked.
func loss(f orderly.Field, depth int) markup.Node {
	items, _ := f.Value.([]any)
	var body markup.Group
	for _, item := range items {
		switch item := item.(type) {
		case string:
			body = append(body, markup.Li(page.Code(page.Printable(item))))
		case []orderly.Field:
			where := orderly.Text(item, "directory")
			rest := without(item, "directory")
			var inner markup.Group
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
			body = append(body, markup.Li(page.Code(page.Printable(where)), markup.Dl(inner)))
		default:
			body = append(body, markup.Li(plain(item, depth)))
		}
	}
	return notice(page.Bad, markup.P(markup.Strong(markup.Text(strings.ToUpper(label(f.Name)[:1])+label(f.Name)[1:]))), markup.Ul(markup.Class("lost"), body))
}

func codes(all []string) markup.Node {
	return markup.Ul(markup.Map(all, func(s string) markup.Node { return markup.Li(page.Code(page.Printable(s))) }))
}

// named reports a script that is only the name of one.
func named(f orderly.Field) bool {
	s, ok := f.Value.(string)
	return ok && f.Name == "script" && !strings.ContainsAny(s, " \n\t;&|<>")
}

// command is a value that is to be run as one would type it; empty when it is no such value.
func command(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		if all := texts(v); len(all) == len(v) {
			return orderly.CommandLine(all)
		}
	}
	return ""
}

// run is what would be run, as command lines.
func run(f orderly.Field) markup.Node {
	lines := command(f.Value)
	if f.Name == "setup" || f.Name == "hooks" { // several of them
		if all := texts(f.Value); len(all) > 0 {
			lines = strings.Join(all, "\n")
		}
	}
	return markup.Figure(markup.Class("command"), markup.FigCaption(markup.Text(label(f.Name))), page.Pre(label(f.Name), page.Printable(lines)))
}

// said reports an argument vector that the command in the same object says already: it is the same, or a shell that is given it.
func said(fields []orderly.Field) bool {
	line, argv := orderly.Text(fields, "command"), texts(orderly.Member(fields, "argv"))
	return line != "" && (line == orderly.CommandLine(argv) || len(argv) == 3 && argv[0] == "/bin/sh" && argv[1] == "-c" && argv[2] == line)
}

// changes are files with what happens to each. The word says everything; the tone only helps the eye.
func changes(name string, all [][]orderly.Field) markup.Node {
	rows := make([]markup.Node, 0, len(all))
	for _, c := range all {
		op, tone := orderly.Text(c, "op"), page.Plain
		switch op {
		case "create":
			tone = page.Good
		case "update":
			tone = page.Warn
		case "delete":
			tone = page.Bad
		}
		var own markup.Node
		switch orderly.Text(c, "update_kind") + orderly.Text(c, "delete_kind") {
		case "adopt_update":
			own = page.Badge(page.Bad, "overwrites somebody's own work")
		case "drifted_update":
			own = page.Badge(page.Bad, "overwrites edits")
		case "drifted_delete":
			own = page.Badge(page.Bad, "deletes edits")
		}
		rows = append(rows, page.Row(page.Badge(tone, op), markup.Text(page.Printable(orderly.Text(c, "target"))), markup.Group{page.Code(page.Printable(orderly.Text(c, "path"))),
			markup.If(orderly.Text(c, "unified") != "", page.Fold("Lines", true, page.Diff("lines of "+orderly.Text(c, "path"), page.Printable(orderly.Text(c, "unified")))))},
			markup.Group{markup.Text(page.Printable(orderly.Text(c, "reason")) + " "), own}))
	}
	return page.Table(name, []string{"What", "Target", "File", "Why"}, rows, "")
}

// files are files with the lines that would change in each.
func files(all [][]orderly.Field) markup.Node {
	var out markup.Group
	for _, f := range all {
		path := orderly.Text(f, "path")
		if root := orderly.Text(f, "root"); strings.HasPrefix(root, "/") || len(root) > 1 && root[1] == ':' {
			path = strings.TrimRight(root, `/\`) + "/" + path
		}
		var body markup.Node
		switch d, op := orderly.Text(f, "unified"), orderly.Text(f, "op"); {
		case d != "":
			body = page.Diff("lines of "+path, page.Printable(d))
		case op == "delete":
			body = markup.P(markup.Text("It is deleted."))
		default:
			body = markup.P(markup.Class("quiet"), markup.Text("Its lines are not shown."))
		}
		out = append(out, page.Fold(strings.TrimSpace(orderly.Text(f, "op")+" "+page.Printable(path)), true, body))
	}
	return out
}

// steps are what would be done one after the other, those of a step's own workflow deeper.
func steps(all [][]orderly.Field, depth int) markup.Node {
	var out markup.Group
	for i, s := range all {
		name := page.Printable(firstText(s, "name", "directory", "repo"))
		head := markup.Group{markup.Strong(markup.Text(fmt.Sprintf("%d. %s", i+1, name)))}
		if other := orderly.Text(s, "starts_workflow"); other != "" {
			head = append(head, markup.Text(" starts workflow "+page.Printable(other)))
		}
		rest := without(s, "name", "starts_workflow", "workflow")
		out = append(out, markup.Li(markup.If(level(s) > 0, markup.Class(fmt.Sprintf("deep-%d", level(s)))), markup.P(head), block(rest, depth+1)))
	}
	return markup.Ol(markup.Class("steps"), out)
}

// level is how deep a step is nested, at most 4.
func level(s []orderly.Field) int {
	n, _ := orderly.Member(s, "depth").(json.Number)
	i, err := n.Int64()
	if err != nil {
		return 0
	}
	return int(min(max(i, 0), 4))
}

func firstText(fields []orderly.Field, names ...string) string {
	for _, name := range names {
		if s := orderly.Text(fields, name); s != "" {
			return s
		}
	}
	return ""
}

// request is what would be sent where.
func request(fields []orderly.Field, depth int) markup.Node {
	var headers []markup.Node
	items, _ := orderly.Member(fields, "headers").([]any)
	all, _ := objects(items)
	for _, h := range all {
		n, _ := word("value", orderly.Text(h, "value"))
		headers = append(headers, page.Row(page.Code(page.Printable(orderly.Text(h, "name"))), n))
	}
	line := orderly.Text(fields, "method") + " " + orderly.Text(fields, "url")
	out := markup.Group{page.Pre("request", page.Printable(line))}
	if len(headers) > 0 {
		out = append(out, page.Table("headers", []string{"Header", "Value"}, headers, ""))
	}
	return append(out, block(without(fields, "method", "url", "headers", "host"), depth+1))
}

// widest is how many columns a table has; objects with more are shown one below the other.
const widest = 9

// table is objects of a kind: a column for each member that says something of any of them.
func table(name string, all [][]orderly.Field, depth int) markup.Node {
	var columns []string
	for _, o := range all {
		for _, f := range o {
			if !nothing(f.Value) && !unseen(f.Name) && !slices.Contains(columns, f.Name) {
				columns = append(columns, f.Name)
			}
		}
	}
	if len(columns) > widest || depth > deepest {
		return markup.Ol(markup.Class("steps"), markup.Map(all, func(o []orderly.Field) markup.Node { return markup.Li(block(o, depth+1)) }))
	}
	heads := make([]string, len(columns))
	for i, c := range columns {
		heads[i] = label(c)
	}
	rows := make([]markup.Node, 0, len(all))
	for _, o := range all {
		cells := make([]markup.Node, len(columns))
		for i, c := range columns {
			cells[i] = cell(orderly.Field{Name: c, Value: orderly.Member(o, c)}, depth)
		}
		rows = append(rows, page.Row(cells...))
	}
	return page.Table(name, heads, rows, "nothing")
}

// cell is a value in a table.
func cell(f orderly.Field, depth int) markup.Node {
	switch {
	case nothing(f.Value):
		return nil
	case loses(f.Name) && lists(f.Value):
		return markup.Div(markup.Class("lost"), codes(texts(f.Value)))
	case warns(f.Name):
		return warnings(f.Value)
	case f.Name == "findings":
		return findings(f.Value)
	case runs(f.Name) && command(f.Value) != "":
		return page.Code(page.Printable(command(f.Value)))
	}
	n, _ := shown(f, depth+1)
	return n
}
