package packpages

import (
	"net/url"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ui"
)

// The actions of the tool input that are handled separately.
const (
	create = "create"
	remove = "delete_pack"
)

// formAction is an action of the tool input with its form.
type formAction struct {
	path   string // of its page, below the pack's
	title  string
	action string
	button string
	about  string // description; may be empty
	danger bool
	fields []field
}

type shape uint8

const (
	packText  shape = iota
	area            // text of several lines
	number          // a whole number
	tick            // a checkbox
	labels          // words separated by commas
	fixed           // cannot be changed; shown if it has a label
	ofSection       // one of the pack's sections
	key             // the key of a part; cannot be changed for an existing one
)

// field is a field of a form, and the argument it becomes.
type field struct {
	name, label string
	kind        shape
	usual       string // default value
	empties     bool   // an empty field clears the stored value
}

const keyRule = " (2 to 64 lowercase letters, digits, - and _)"

func creation() formAction {
	return formAction{path: "new", title: "Create pack", action: create, button: "Create pack", about: "A pack contains anchors to exact lines of source code, notes and diagrams. " +
		"It is deleted when it expires.", fields: []field{
		{name: "name", label: "Name (optional, 3 to 120 bytes, cannot be changed later)"}, {name: "title", label: "Title (optional)"},
		{name: "brief", label: "Brief in Markdown (optional)", kind: area}, {name: "tags", label: "Tags, separated by commas", kind: labels},
		{name: "ttl_minutes", label: "Expires after (minutes)", kind: number, usual: "1440"}}}
}

// formActions returns the actions on an existing pack.
func formActions() []formAction {
	return slices.Concat(packActions(), partActions())
}

func packActions() []formAction {
	return []formAction{
		{path: "meta", title: "Edit details", action: "set_meta", button: "Save details", about: "Empty fields are cleared. A pack's name cannot change.", fields: []field{
			{name: "title", label: "Title", empties: true}, {name: "brief", label: "Brief in Markdown", kind: area, empties: true},
			{name: "tags", label: "Tags, separated by commas", kind: labels, empties: true}}},
		{path: "ttl", title: "Change expiry", action: "touch_ttl", button: "Change expiry", about: "Fill in one of the two fields. A pack is deleted when it expires.", fields: []field{
			{name: "ttl_minutes", label: "Expires after (minutes from now)", kind: number}, {name: "extend_minutes", label: "Extend by (minutes)", kind: number}}},
		{path: "finalize", title: "Finalize pack", action: "set_status", button: "Finalize pack", about: "A finalized pack cannot be changed until you reopen it. " +
			"All anchors must exist in the source.", fields: []field{{name: "status", kind: fixed, usual: "finalized"},
			{name: "snapshot", label: "Store the current code of all anchors", kind: tick}}},
		{path: "reopen", title: "Reopen pack", action: "set_status", button: "Reopen pack", about: "The pack becomes a draft again. Code that was stored when it was finalized is deleted.",
			fields: []field{{name: "status", kind: fixed, usual: "draft"}}},
		{path: "reanchor", title: "Update anchors", action: "reanchor", button: "Update anchors", about: "Anchors whose text moved get the new line numbers. " +
			"An anchor named here is set to its current lines, even if they changed.", fields: []field{
			{name: "section_key", label: "Section", kind: fixed}, {name: "ref_key", label: "Anchor", kind: fixed}}},
		{path: "delete", title: "Delete pack", action: remove, button: "Delete pack", danger: true,
			about: "Moves the file of the pack to the trash directory beside the packs. To restore it, move it back."},
	}
}

func partActions() []formAction {
	section := field{name: "section_key", label: "Section", kind: ofSection}
	this := field{name: "section_key", label: "Section", kind: fixed}
	return []formAction{
		{path: "section", title: "Save section", action: "upsert_section", button: "Save section", about: "A section that contains only a text is a note.", fields: []field{
			{name: "section_key", label: "Key" + keyRule, kind: key}, {name: "section_title", label: "Title"},
			{name: "section_description", label: "Text in Markdown", kind: area, empties: true}, {name: "section_order", label: "Position, from 0 (default: unchanged, or last)", kind: number}}},
		{path: "remove-section", title: "Remove section", action: "delete_section", button: "Remove section", danger: true, about: "Removes the section and everything in it.", fields: []field{this}},
		{path: "anchor", title: "Save anchor", action: "upsert_ref", button: "Save anchor", about: "The lines are read now, so that later changes are detected. An anchor with the same key is replaced.", fields: []field{
			section, {name: "ref_key", label: "Key" + keyRule, kind: key}, {name: "path", label: "File (relative to the source root)"},
			{name: "line_start", label: "First line", kind: number}, {name: "line_end", label: "Last line", kind: number}, {name: "ref_title", label: "Title (optional)"},
			{name: "ref_why", label: "Reason (optional)", kind: area}, {name: "group", label: "Group (optional)"},
			{name: "root", label: "Source root (default: the configured one)"}, {name: "commit", label: "Commit that you read (optional)"}}},
		{path: "remove-anchor", title: "Remove anchor", action: "delete_ref", button: "Remove anchor", danger: true, fields: []field{
			this, {name: "ref_key", label: "Anchor", kind: fixed}}},
		{path: "diagram", title: "Save diagram", action: "upsert_diagram", button: "Save diagram", about: "A diagram with the same key is replaced.", fields: []field{
			section, {name: "diagram_key", label: "Key" + keyRule, kind: key}, {name: "title", label: "Title"}, {name: "mermaid", label: "Mermaid", kind: area},
			{name: "diagram_why", label: "Reason (optional)", kind: area}}},
		{path: "remove-diagram", title: "Remove diagram", action: "delete_diagram", button: "Remove diagram", danger: true, fields: []field{
			this, {name: "diagram_key", label: "Diagram", kind: fixed}}},
	}
}

// arguments returns the arguments of the tool input for the values of the form.
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

// words returns the comma-separated words of a text.
func words(text string) []string {
	out := []string{}
	for w := range strings.SplitSeq(text, ",") {
		if w = strings.TrimSpace(w); w != "" {
			out = append(out, w)
		}
	}
	return out
}
