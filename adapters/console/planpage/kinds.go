package planpage

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/page"
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
	return notice(page.Warn, markup.Ul(markup.Map(all, func(f []field) markup.Node {
		line := markup.Group{markup.Text(page.Printable(text(f, "message")))}
		if fragment := text(f, "fragment"); fragment != "" {
			line = append(line, markup.Text(": "), page.Code(page.Printable(fragment)))
		}
		if strings.EqualFold(text(f, "verdict"), "high") || strings.EqualFold(text(f, "severity"), "high") {
			line = append(markup.Group{page.Risk("high"), markup.Text(" ")}, line...)
		}
		return markup.Li(line)
	})))
}

// loss is what would be gone, marked.
func loss(f field, depth int) markup.Node {
	items, _ := f.value.([]any)
	var body markup.Group
	for _, item := range items {
		switch item := item.(type) {
		case string:
			body = append(body, markup.Li(page.Code(page.Printable(item))))
		case []field:
			where := text(item, "directory")
			rest := without(item, "directory")
			var inner markup.Group
			for _, f := range rest {
				if nothing(f.value) {
					continue
				}
				if lost := texts(f.value); len(lost) > 0 {
					inner = append(inner, row(label(f.name), codes(lost), false))
				} else {
					n, across := shown(f, depth+1)
					inner = append(inner, row(label(f.name), n, across))
				}
			}
			body = append(body, markup.Li(page.Code(page.Printable(where)), markup.Dl(inner)))
		default:
			body = append(body, markup.Li(plain(item, depth)))
		}
	}
	return notice(page.Bad, markup.P(markup.Strong(markup.Text(strings.ToUpper(label(f.name)[:1])+label(f.name)[1:]))), markup.Ul(markup.Class("lost"), body))
}

func codes(all []string) markup.Node {
	return markup.Ul(markup.Map(all, func(s string) markup.Node { return markup.Li(page.Code(page.Printable(s))) }))
}

// named reports a script that is only the name of one.
func named(f field) bool {
	s, ok := f.value.(string)
	return ok && f.name == "script" && !strings.ContainsAny(s, " \n\t;&|<>")
}

// command is a value that is to be run as one would type it; empty when it is no such value.
func command(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		if all := texts(v); len(all) == len(v) {
			return commandLine(all)
		}
	}
	return ""
}

// run is what would be run, as command lines.
func run(f field) markup.Node {
	lines := command(f.value)
	if f.name == "setup" || f.name == "hooks" { // several of them
		if all := texts(f.value); len(all) > 0 {
			lines = strings.Join(all, "\n")
		}
	}
	return markup.Figure(markup.Class("command"), markup.FigCaption(markup.Text(label(f.name))), page.Pre(label(f.name), page.Printable(lines)))
}

// said reports an argument vector that the command in the same object says already: it is the same, or a shell that is given it.
func said(fields []field) bool {
	line, argv := text(fields, "command"), texts(member(fields, "argv"))
	return line != "" && (line == commandLine(argv) || len(argv) == 3 && argv[0] == "/bin/sh" && argv[1] == "-c" && argv[2] == line)
}

// changes are files with what happens to each. The word says everything; the tone only helps the eye.
func changes(name string, all [][]field) markup.Node {
	rows := make([]markup.Node, 0, len(all))
	for _, c := range all {
		op, tone := text(c, "op"), page.Plain
		switch op {
		case "create":
			tone = page.Good
		case "update":
			tone = page.Warn
		case "delete":
			tone = page.Bad
		}
		var own markup.Node
		switch text(c, "update_kind") + text(c, "delete_kind") {
		case "adopt_update":
			own = page.Badge(page.Bad, "overwrites somebody's own work")
		case "drifted_update":
			own = page.Badge(page.Bad, "overwrites edits")
		case "drifted_delete":
			own = page.Badge(page.Bad, "deletes edits")
		}
		rows = append(rows, page.Row(page.Badge(tone, op), markup.Text(page.Printable(text(c, "target"))), markup.Group{page.Code(page.Printable(text(c, "path"))),
			markup.If(text(c, "unified") != "", page.Fold("Lines", true, page.Diff("lines of "+text(c, "path"), page.Printable(text(c, "unified")))))},
			markup.Group{markup.Text(page.Printable(text(c, "reason")) + " "), own}))
	}
	return page.Table(name, []string{"What", "Target", "File", "Why"}, rows, "")
}

// files are files with the lines that would change in each.
func files(all [][]field) markup.Node {
	var out markup.Group
	for _, f := range all {
		path := text(f, "path")
		if root := text(f, "root"); strings.HasPrefix(root, "/") || len(root) > 1 && root[1] == ':' {
			path = strings.TrimRight(root, `/\`) + "/" + path
		}
		var body markup.Node
		switch d, op := text(f, "unified"), text(f, "op"); {
		case d != "":
			body = page.Diff("lines of "+path, page.Printable(d))
		case op == "delete":
			body = markup.P(markup.Text("It is deleted."))
		default:
			body = markup.P(markup.Class("quiet"), markup.Text("Its lines are not shown."))
		}
		out = append(out, page.Fold(strings.TrimSpace(text(f, "op")+" "+page.Printable(path)), true, body))
	}
	return out
}

// steps are what would be done one after the other, those of a step's own workflow deeper.
func steps(all [][]field, depth int) markup.Node {
	var out markup.Group
	for i, s := range all {
		name := page.Printable(firstText(s, "name", "directory", "repo"))
		head := markup.Group{markup.Strong(markup.Text(fmt.Sprintf("%d. %s", i+1, name)))}
		if other := text(s, "starts_workflow"); other != "" {
			head = append(head, markup.Text(" starts workflow "+page.Printable(other)))
		}
		rest := without(s, "name", "starts_workflow", "workflow")
		out = append(out, markup.Li(markup.If(level(s) > 0, markup.Class(fmt.Sprintf("deep-%d", level(s)))), markup.P(head), block(rest, depth+1)))
	}
	return markup.Ol(markup.Class("steps"), out)
}

// level is how deep a step is nested, at most 4.
func level(s []field) int {
	n, _ := member(s, "depth").(json.Number)
	i, err := n.Int64()
	if err != nil {
		return 0
	}
	return int(min(max(i, 0), 4))
}

func firstText(fields []field, names ...string) string {
	for _, name := range names {
		if s := text(fields, name); s != "" {
			return s
		}
	}
	return ""
}

// request is what would be sent where.
func request(fields []field, depth int) markup.Node {
	var headers []markup.Node
	items, _ := member(fields, "headers").([]any)
	all, _ := objects(items)
	for _, h := range all {
		n, _ := word("value", text(h, "value"))
		headers = append(headers, page.Row(page.Code(page.Printable(text(h, "name"))), n))
	}
	line := text(fields, "method") + " " + text(fields, "url")
	out := markup.Group{page.Pre("request", page.Printable(line))}
	if len(headers) > 0 {
		out = append(out, page.Table("headers", []string{"Header", "Value"}, headers, ""))
	}
	return append(out, block(without(fields, "method", "url", "headers", "host"), depth+1))
}

// widest is how many columns a table has; objects with more are shown one below the other.
const widest = 9

// table is objects of a kind: a column for each member that says something of any of them.
func table(name string, all [][]field, depth int) markup.Node {
	var columns []string
	for _, o := range all {
		for _, f := range o {
			if !nothing(f.value) && !unseen(f.name) && !slices.Contains(columns, f.name) {
				columns = append(columns, f.name)
			}
		}
	}
	if len(columns) > widest || depth > deepest {
		return markup.Ol(markup.Class("steps"), markup.Map(all, func(o []field) markup.Node { return markup.Li(block(o, depth+1)) }))
	}
	heads := make([]string, len(columns))
	for i, c := range columns {
		heads[i] = label(c)
	}
	rows := make([]markup.Node, 0, len(all))
	for _, o := range all {
		cells := make([]markup.Node, len(columns))
		for i, c := range columns {
			cells[i] = cell(field{c, member(o, c)}, depth)
		}
		rows = append(rows, page.Row(cells...))
	}
	return page.Table(name, heads, rows, "nothing")
}

// cell is a value in a table.
func cell(f field, depth int) markup.Node {
	switch {
	case nothing(f.value):
		return nil
	case loses(f.name) && lists(f.value):
		return markup.Div(markup.Class("lost"), codes(texts(f.value)))
	case warns(f.name):
		return warnings(f.value)
	case f.name == "findings":
		return findings(f.value)
	case runs(f.name) && command(f.value) != "":
		return page.Code(page.Printable(command(f.value)))
	}
	n, _ := shown(f, depth+1)
	return n
}
