package target

import (
	"bytes"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// DriftedFile is a deployed file as it was changed, with the input of its rendering.
type DriftedFile struct {
	Input                     // as for Render; Modules holds at least those that File names
	File   deployment.Desired // as returned by Render
	Actual []byte             // the whole file's present bytes, even if only a block is managed
}

// ModuleEdit is a module's file with the bytes that would produce the deployed file as it is now.
type ModuleEdit struct {
	Module string
	Path   string // within the module, with slashes
	Data   []byte
}

// Reason is why a changed file cannot be traced back to its modules. The text is stable, for machines.
type Reason string

// The reasons. The first is of the agentpack contract §5.10.
const (
	ReasonMultiModule   Reason = "multi_module_output" // several modules made it, and their parts cannot be told apart
	ReasonHeaderChanged Reason = "header_changed"      // the change is in what is generated from options, not in the module's text
	ReasonManagedKeys   Reason = "managed_keys"        // keys of a document; they are changed in the module
	ReasonUnsupported   Reason = "form_unsupported"    // the change cannot be expressed in the form of the module's file
	ReasonUnrelated     Reason = "module_unknown"      // the modules that made it are missing, or produce something else now
)

// Inverse is the result of tracing a file back: edits; or a reason, with the same as text for people; or nothing if nothing changed.
type Inverse struct {
	Edits   []ModuleEdit
	Reason  Reason
	Message string
}

func no(reason Reason, message string) Inverse { return Inverse{Reason: reason, Message: message} }

// Invert traces a changed file back to its modules, so that rendering them with the edits produces the file as it is (agentpack contract §5.10, and
// §10.1 for what the original got wrong). It fails as Render does for the configuration, and as Read does.
func Invert(in DriftedFile) (Inverse, error) {
	if in.File.Part != nil && in.File.Part.Format != deployment.FormatMarkdown {
		return no(ReasonManagedKeys, "change single keys of a document in the module that sets them"), nil
	}
	_, lines, err := linesOf(in.Input, in.File.Target)
	if err != nil {
		return Inverse{}, err
	}
	r := &renderer{Paths: Paths{Sep: in.Sep}, in: in.Input, read: map[spot][]byte{}, warned: map[string]bool{}}
	var found []origin
	for _, id := range in.File.Modules {
		o, ok := r.origin(lines, id, in.File.Path)
		if !ok {
			return no(ReasonUnrelated, "module "+id+" does not produce this file now"), nil
		}
		if o.data, err = r.bytes(o.module, o.file); err != nil {
			return Inverse{}, err
		}
		if o.head, o.own, err = r.header(&o.line, o.module); err != nil {
			return Inverse{}, err
		}
		found = append(found, o)
	}
	if in.File.Part != nil {
		block, there, err := deployment.FindBlockOf(in.File.Part.Label, string(in.Actual))
		if err != nil || !there {
			return no(ReasonUnsupported, "the managed block was removed, or its markers were changed"), nil
		}
		in.Actual = []byte(block)
	}
	if len(found) > 0 && found[0].line.Imports() != "" {
		if _, err := r.jobs(); err != nil {
			return Inverse{}, err
		}
		switch name := r.imports[in.File.Path]; {
		case name == "":
		case string(in.Actual) == importing(name):
			return Inverse{}, nil
		default:
			return no(ReasonUnsupported, "it only imports "+name+", where every host reads the modules; move the added text to that file or to a module"), nil
		}
	}
	switch {
	case len(found) == 0:
		return no(ReasonUnrelated, "no module produces this file"), nil
	case len(found) == 1:
		return in.single(r, found[0])
	case slices.ContainsFunc(found, func(o origin) bool { return o.line.Shape != ShapeAggregate }):
		return no(ReasonMultiModule, "several modules have this file, so the edit matches no single module"), nil
	}
	return in.sections(found), nil
}

// origin is the file of a module that a deployed file comes from, and the line that placed it.
type origin struct {
	line   line
	module Module
	file   deployment.File
	data   []byte
	head   string // before it, in the form of the line
	own    bool   // head is the module's own file
}

func (o origin) edit(data []byte) Inverse {
	if bytes.Equal(data, o.data) {
		return Inverse{}
	}
	return Inverse{Edits: []ModuleEdit{{o.module.ID, o.file.Path, data}}}
}

// origin finds what a module places at a path.
func (r *renderer) origin(lines []line, id, path string) (origin, bool) {
	i := slices.IndexFunc(r.in.Modules, func(m Module) bool { return m.ID == id })
	if i < 0 {
		return origin{}, false
	}
	for _, l := range lines {
		of := forScope(r.in.Modules[i:i+1], l.scope, r.in.Place)
		if len(of) == 0 {
			continue
		}
		m := of[0]
		if l.Of != m.Type || l.Shape == ShapeKeys || !l.takes(m) || !deployment.IsBelow(l.Dir, path, r.Sep) {
			continue
		}
		if f, ok := r.fileAt(l, m, path); ok {
			return origin{line: l, module: m, file: f}, true
		}
	}
	return origin{}, false
}

// fileAt returns the file of a module that the line places at a path.
func (r *renderer) fileAt(l line, m Module, path string) (deployment.File, bool) {
	if l.Shape == ShapeDirectory { // trees may be large: find the one file
		base, err := l.directory(m, r.Paths)
		before := r.Join(l.Dir, base) + string(r.Sep)
		below, ok := strings.CutPrefix(path, before)
		if err != nil || !ok {
			return deployment.File{}, false
		}
		if r.Sep != '/' {
			below = strings.ReplaceAll(below, string(r.Sep), "/")
		}
		return m.Tree.Find(below)
	}
	s, err := l.source(m)
	if err != nil || r.Join(l.Dir, s.rel) != path {
		return deployment.File{}, false
	}
	return s.file, true
}

// single traces back a file that one module made.
func (in DriftedFile) single(r *renderer, o origin) (Inverse, error) {
	if o.module.AsIs {
		return o.edit(in.Actual), nil
	}
	switch o.line.Shape {
	case ShapeAgentMD, ShapeAgentTOML:
		text, ok := r.agentBack(o, in.Actual)
		if !ok {
			return no(ReasonHeaderChanged, "more than the agent's text was changed; change the module's frontmatter instead"), nil
		}
		return o.edit(text), nil
	case ShapePromptSkill:
		text, ok := PromptFromSkill(o.line.prompts[o.module.ID], o.data, in.Actual)
		if !ok {
			return no(ReasonHeaderChanged, "the frontmatter was changed, which is generated: the description is that of the prompt"), nil
		}
		return o.edit(text), nil
	case ShapeCursorMDC, ShapeCopilotMD, ShapeClaudeRule:
		text, ok := UnwrapHeader(o.head, o.data, in.Actual)
		if o.own {
			text, ok = bytes.CutPrefix(in.Actual, []byte(o.head))
		}
		if !ok && o.own {
			return no(ReasonHeaderChanged, "the frontmatter was changed; change it in the module's file in the directory "+o.line.Agent), nil
		}
		if !ok {
			return no(ReasonHeaderChanged, "the frontmatter was changed, which is generated: set description, globs or always_apply in the options of target "+o.line.Agent), nil
		}
		return o.edit(text), nil
	case ShapeGeminiTOML:
		again, err := o.line.encode(o.module, o.data)
		if err != nil {
			return Inverse{}, err
		}
		if bytes.Equal(again, in.Actual) {
			return Inverse{}, nil
		}
		text, err := CommandFromTOML(o.data, in.Actual)
		if err != nil {
			return no(ReasonUnsupported, err.Error()), nil
		}
		return o.edit(text), nil
	case ShapeAggregate:
		if in.File.Part != nil {
			return o.edit(TrimAddedNewline(o.data, in.Actual)), nil // a block always ends with a newline
		}
	}
	return o.edit(in.Actual), nil
}

// sections traces back a file that several modules share, section by section.
func (in DriftedFile) sections(found []origin) Inverse {
	var joined []deployment.Section
	for _, o := range found {
		joined = append(joined, deployment.Section{ID: o.module.ID, Text: string(o.data)})
	}
	text := deployment.JoinSections(joined)
	if strings.TrimSuffix(text, "\n") == strings.TrimSuffix(string(in.Actual), "\n") {
		return Inverse{}
	}
	was, err := parts(text, found)
	if err != "" {
		return no(ReasonMultiModule, "the sections of the modules cannot be told apart: "+err)
	}
	is, err := parts(string(in.Actual), found)
	if err != "" {
		return no(ReasonMultiModule, "the marks between the modules were changed: "+err)
	}
	var out Inverse
	for _, o := range found {
		if now := is[o.module.ID]; now != was[o.module.ID] {
			out.Edits = append(out.Edits, ModuleEdit{o.module.ID, o.file.Path, TrimAddedNewline(o.data, []byte(now))})
		}
	}
	if len(out.Edits) == 0 {
		return no(ReasonMultiModule, "only text outside the sections of the modules was changed")
	}
	return out
}

// parts returns the sections of a text by module, or what is wrong with them.
func parts(text string, found []origin) (map[string]string, string) {
	sections, err := deployment.ParseSections(text)
	if err != nil {
		return nil, err.Error()
	}
	byID := map[string]string{}
	for _, s := range sections {
		byID[s.ID] = s.Text
	}
	for _, o := range found {
		if _, ok := byID[o.module.ID]; !ok {
			return nil, "there is no section of " + o.module.ID
		}
	}
	return byID, ""
}
