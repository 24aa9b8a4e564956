package packpages

import (
	"net/url"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ui"
)

// The actions of the tool input that are treated in a way of their own.
const (
	create = "create"
	remove = "delete_pack"
)

// formAction is something that users do with a pack: an action of the tool input, and the form that asks for it.
type formAction struct {
	path   string // of its page, below the pack's
	title  string
	action string
	button string
	about  string // what it does, where the title does not say it all
	danger bool
	fields []field
}

type shape uint8

const (
	packText  shape = iota
	area            // text of several lines
	number          // a whole number
	tick            // a box
	labels          // words separated by commas
	fixed           // it is what the form is about, and shown where it has a label
	ofSection       // one of the pack's sections
	key             // the name of a part; of one there is, it stays
)

// field is a field of a form, and the argument it becomes.
type field struct {
	name, label string
	kind        shape
	usual       string // what it says when nobody said anything
	empties     bool   // left empty it empties what is stored
}

const keyRule = " (2 to 64 small letters, digits, - and _)"

func creation() formAction {
	return formAction{path: "new", title: "Make a pack", action: create, button: "Make the pack", about: "A pack holds anchors to exact lines of source code, notes and diagrams, " +
		"and is gone when its time is over.", fields: []field{
		{name: "name", label: "Name (3 to 120 bytes; it stays; may be empty)"}, {name: "title", label: "Title (may be empty)"},
		{name: "brief", label: "Brief: what it is about, in Markdown (may be empty)", kind: area}, {name: "tags", label: "Tags, separated by commas", kind: labels},
		{name: "ttl_minutes", label: "Minutes it lives", kind: number, usual: "1440"}}}
}

// formActions returns what can be done with a pack there is.
func formActions() []formAction {
	return slices.Concat(packActions(), partActions())
}

func packActions() []formAction {
	return []formAction{
		{path: "meta", title: "Title, brief and tags", action: "set_meta", button: "Save", about: "What is left empty is emptied. The name of a pack stays as it is.", fields: []field{
			{name: "title", label: "Title", empties: true}, {name: "brief", label: "Brief, in Markdown", kind: area, empties: true},
			{name: "tags", label: "Tags, separated by commas", kind: labels, empties: true}}},
		{path: "ttl", title: "Time to live", action: "touch_ttl", button: "Save", about: "Fill in one of the two. At the end of its time a pack is deleted.", fields: []field{
			{name: "ttl_minutes", label: "Minutes from now", kind: number}, {name: "extend_minutes", label: "Minutes more than it has", kind: number}}},
		{path: "finalize", title: "Finalize", action: "set_status", button: "Finalize", about: "A final pack is not changed any more, until somebody opens it again. " +
			"Every anchor has to be there now.", fields: []field{{name: "status", kind: fixed, usual: "finalized"},
			{name: "snapshot", label: "Keep the code of every anchor as it is now", kind: tick}}},
		{path: "reopen", title: "Open for changes", action: "set_status", button: "Open it", about: "The pack becomes a draft again. Code that was kept when it was finalized is dropped.",
			fields: []field{{name: "status", kind: fixed, usual: "draft"}}},
		{path: "reanchor", title: "Have anchors follow the code", action: "reanchor", button: "Follow the code", about: "Anchors whose text moved stand at its new lines from now on. " +
			"One that is named here is taken as its lines are now, also when they have changed.", fields: []field{
			{name: "section_key", label: "Section", kind: fixed}, {name: "ref_key", label: "Anchor", kind: fixed}}},
		{path: "delete", title: "Delete", action: remove, button: "Delete the pack", danger: true,
			about: "Its file moves to the trash of the store (the directory trash beside packs), from where you can move it back by hand."},
	}
}

func partActions() []formAction {
	section := field{name: "section_key", label: "Section", kind: ofSection}
	this := field{name: "section_key", label: "Section", kind: fixed}
	return []formAction{
		{path: "section", title: "Section or note", action: "upsert_section", button: "Save", about: "A section with a text and nothing else is a note.", fields: []field{
			{name: "section_key", label: "Key" + keyRule, kind: key}, {name: "section_title", label: "Title"},
			{name: "section_description", label: "Text, in Markdown", kind: area, empties: true}, {name: "section_order", label: "Position, from 0 (empty: as it is, or last)", kind: number}}},
		{path: "remove-section", title: "Remove a section", action: "delete_section", button: "Remove the section", danger: true, about: "With everything in it.", fields: []field{this}},
		{path: "anchor", title: "Anchor", action: "upsert_ref", button: "Save", about: "The lines are read now, so that it is noticed when they change. An anchor of the same key is replaced.", fields: []field{
			section, {name: "ref_key", label: "Key" + keyRule, kind: key}, {name: "path", label: "File, relative to the source root"},
			{name: "line_start", label: "First line", kind: number}, {name: "line_end", label: "Last line", kind: number}, {name: "ref_title", label: "Title (may be empty)"},
			{name: "ref_why", label: "Why it is here (may be empty)", kind: area}, {name: "group", label: "Group (may be empty)"},
			{name: "root", label: "Source root (empty: the usual one)"}, {name: "commit", label: "Commit you looked at (may be empty)"}}},
		{path: "remove-anchor", title: "Remove an anchor", action: "delete_ref", button: "Remove the anchor", danger: true, fields: []field{
			this, {name: "ref_key", label: "Anchor", kind: fixed}}},
		{path: "diagram", title: "Diagram", action: "upsert_diagram", button: "Save", about: "A diagram of the same key is replaced.", fields: []field{
			section, {name: "diagram_key", label: "Key" + keyRule, kind: key}, {name: "title", label: "Title"}, {name: "mermaid", label: "Mermaid", kind: area},
			{name: "diagram_why", label: "Why it is here (may be empty)", kind: area}}},
		{path: "remove-diagram", title: "Remove a diagram", action: "delete_diagram", button: "Remove the diagram", danger: true, fields: []field{
			this, {name: "diagram_key", label: "Diagram", kind: fixed}}},
	}
}

// arguments returns those of the tool input, as the form says.
func (d formAction) arguments(id string, form url.Values) ui.Args {
	args := ui.Args{"action": d.action}
	if d.action != create {
		args.Set("id", id).Number(revisionField, form.Get(revisionField))
	}
	var emptied []string
	for _, f := range d.fields {
		value := strings.TrimSpace(strings.ReplaceAll(form.Get(f.name), "\r\n", "\n"))
		switch {
		case f.kind == labels:
			if tags := words(value); len(tags) > 0 || f.empties {
				args[f.name] = tags
			}
		case f.kind == tick:
			args.Flag(f.name, value)
		case f.kind == number:
			args.Number(f.name, value)
		case value == "" && f.empties:
			emptied = append(emptied, f.name)
		default:
			args.Set(f.name, value)
		}
	}
	if len(emptied) > 0 {
		args["clear"] = emptied
	}
	return args
}

// words returns the words of a text that separates them with commas.
func words(text string) []string {
	out := []string{}
	for w := range strings.SplitSeq(text, ",") {
		if w = strings.TrimSpace(w); w != "" {
			out = append(out, w)
		}
	}
	return out
}
