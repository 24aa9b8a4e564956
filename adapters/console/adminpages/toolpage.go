package adminpages

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// ErrArguments reports a text that is no JSON object.
var ErrArguments = fault.New(fault.Invalid, "try_arguments_invalid", "the arguments have to be a JSON object, such as {\"name\": \"x\"}")

// The buttons of the form that tries a tool.
const (
	doPlan = "plan"
	doCall = "call"
)

func (s *toolSection) one(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.show(w, r, v, "{}", nil)
}

// show is the page of a tool; given is what stands in the form to try it, and problem what is wrong with that.
func (s *toolSection) show(w http.ResponseWriter, r *http.Request, v httpauth.Identity, given string, problem error) {
	name := tool.Name(r.PathValue("name"))
	spec, served := s.core.Spec(name)
	if !served || !s.runner.Serves(v, name) {
		s.fail(w, v, ErrUnknownTool.WithMessage("this server serves no tool %q", ui.Printable(string(name))))
		return
	}
	settings, err := s.core.Settings(r.Context())
	if err != nil {
		s.fail(w, v, err)
		return
	}
	var mode policy.Mode
	if mode.UnmarshalText([]byte(r.URL.Query().Get("mode"))) != nil {
		mode = policy.ModeUnset
	}
	p := ui.Page{Title: string(spec.Name), Section: toolPath, Crumbs: []ui.PageLink{{Text: "Tools", Href: toolPath}}, Notice: s.runner.Notice(r)}
	status := http.StatusOK
	if problem != nil {
		status = http.StatusBadRequest
		p.Body = append(p.Body, ui.Problem(fault.From(problem)))
	}
	p.Body = append(p.Body, ui.P(ui.TextNode(spec.Description)), about(spec),
		ui.Part("Setting", switches(v, spec, settings.Tools[string(spec.Name)], "tool"), warned(spec, settings.Level, settings.Tools[string(spec.Name)])),
		ui.Part("What would happen", ui.Search(toolPathOf(name), ui.SelectField("mode", "mode", "In mode", mode.String(), ui.Choice{Value: "", Text: "as things are"},
			ui.Choice{Value: "ask", Text: "ask"}, ui.Choice{Value: "plan", Text: "plan"}, ui.Choice{Value: "execute", Text: "execute"}), ui.SubmitButton("Simulate")),
			ui.P(ui.ID("outlook"), ui.TextNode("A call that does all this tool may do "), s.outlook(r.Context(), v, spec, mode))),
		ui.Part("Arguments", arguments(spec.Input), ui.Disclosure("The schema", false, ui.CodeBlock("schema of the arguments", indented(spec.Input))), answers(spec.OutputSchema())),
		ui.Part("Try it", try(v, spec, given)))
	p.Write(w, status, v)
}

func about(s tool.Spec) ui.Node {
	word := func(text string) ui.Node {
		if text == "" {
			return nil
		}
		return ui.TextNode(text)
	}
	strength := map[policy.Strength]string{policy.Simple: "yes or no", policy.Preview: "yes or no to its plan", policy.Typed: "by typing a name"}[s.Confirm]
	var preview ui.Node
	if s.Preview != "" {
		preview = ui.LinkTo(toolPathOf(s.Preview), string(s.Preview))
	}
	return ui.Facts(ui.Fact{Name: "Title", Value: word(s.Title)}, ui.Fact{Name: "Toolset", Value: word(s.Toolset)}, ui.Fact{Name: "Category", Value: word(s.Category)},
		ui.Fact{Name: "Class", Value: class(s)}, ui.Fact{Name: "May", Value: word(strings.ReplaceAll(s.Effects.String(), ",", ", "))}, ui.Fact{Name: "Needs leave to", Value: word(s.Permission())},
		ui.Fact{Name: "Risk", Value: ui.Risk(s.Risk.String())}, ui.Fact{Name: "Is confirmed", Value: word(strength)}, ui.Fact{Name: "Its plan comes from", Value: preview})
}

// warned says that a tool may change things although nothing else may.
func warned(s tool.Spec, level policy.Level, set policy.Setting) ui.Node {
	if level != policy.ReadOnly || set != policy.Allowed || s.Class < policy.ClassWrite {
		return nil
	}
	return ui.Notice(ui.Warn, ui.P(ui.TextNode("It is allowed although the permission level is read only.")))
}

func answers(schema json.RawMessage) ui.Node {
	if len(schema) == 0 {
		return nil
	}
	return ui.Disclosure("What it answers, as a schema", false, ui.CodeBlock("schema of the answer", indented(schema)))
}

func indented(doc json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, doc, "", "  ") != nil {
		return string(doc)
	}
	return b.String()
}

// try returns the form that calls the tool. What changes something shows what it would do first.
func try(v httpauth.Identity, spec tool.Spec, given string) ui.Node {
	var plan ui.Node
	call := ui.SubmitButton("Call it", ui.Name("do"), ui.Value(doCall))
	if spec.Class >= policy.ClassWrite {
		plan = ui.SubmitButton("Show what it would do", ui.Name("do"), ui.Value(doPlan))
		call = ui.Danger("Call it, as an agent would", ui.Name("do"), ui.Value(doCall))
	}
	return ui.PostForm(v, toolPathOf(spec.Name)+"/try", ui.TextareaField("args", "args", "Arguments, as JSON", given), ui.Div(ui.Class("buttons"), plan, call))
}

func (s *toolSection) try(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	name, given := tool.Name(r.PathValue("name")), r.PostFormValue("args")
	spec, served := s.core.Spec(name)
	if !served || !s.runner.Serves(v, name) {
		s.fail(w, v, ErrUnknownTool.WithMessage("this server serves no tool %q", ui.Printable(string(name))))
		return
	}
	args := json.RawMessage(strings.TrimSpace(given))
	var object map[string]json.RawMessage
	if err := json.Unmarshal(args, &object); err != nil || object == nil {
		s.show(w, r, v, given, ErrArguments)
		return
	}
	task := ui.Task{Title: "Call " + string(name), Tool: name, Args: args, Back: toolPathOf(name), Show: func(tool.Outcome) ui.Node { return nil }}
	if r.PostFormValue("do") != doCall {
		task.Title, task.Mode = "What "+string(name)+" would do", policy.Plan
		if _, said := object["mode"]; said && decidesMode(spec.Input) { // it would outrank the call's
			object["mode"] = json.RawMessage(`"plan"`)
			task.Args = object
		}
	}
	s.runner.Do(w, r, v, task)
}

// decidesMode reports a tool whose argument mode is the mode of the call (amof contract).
func decidesMode(schema json.RawMessage) bool {
	var doc struct {
		Properties struct {
			Mode struct {
				Enum []string `json:"enum"`
			} `json:"mode"`
		} `json:"properties"`
	}
	if json.Unmarshal(schema, &doc) != nil {
		return false
	}
	for _, word := range doc.Properties.Mode.Enum {
		if word == policy.Plan.String() {
			return true
		}
	}
	return false
}
