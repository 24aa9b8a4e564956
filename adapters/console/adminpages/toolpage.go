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

// ErrArguments is returned for arguments that are not a JSON object.
var ErrArguments = fault.New(fault.Invalid, "try_arguments_invalid", "the arguments must be a JSON object, such as {\"name\": \"x\"}")

// The values of the buttons of the form that calls a tool.
const (
	doPlan = "plan"
	doCall = "call"
)

func (s *toolSection) one(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.show(w, r, v, "{}", nil)
}

// show answers with the page of a tool. given is the content of the form that calls it, and problem the error in it; nil for none.
func (s *toolSection) show(w http.ResponseWriter, r *http.Request, v httpauth.Identity, given string, problem error) {
	name := tool.Name(r.PathValue("name"))
	spec, served := s.core.Spec(name)
	if !served || !s.runner.Serves(v, name) {
		s.fail(w, v, ErrUnknownTool.WithMessage("tool %q not found or not enabled; the Tools page lists all tools", ui.Printable(string(name))))
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
		ui.Part("Current verdict", ui.Search(toolPathOf(name), ui.SelectField("mode", "mode", "Mode", mode.String(), ui.Choice{Value: "", Text: "current"},
			ui.Choice{Value: "ask", Text: "ask"}, ui.Choice{Value: "plan", Text: "plan"}, ui.Choice{Value: "execute", Text: "execute"}), ui.SubmitButton("Evaluate")),
			ui.P(ui.ID("outlook"), ui.TextNode("A call with every effect of this tool: "), s.outlook(r.Context(), v, spec, mode))),
		ui.Part("Arguments", arguments(spec.Input), ui.Disclosure("Input schema", false, ui.CodeBlock("input schema", indented(spec.Input))), answers(spec.OutputSchema())),
		ui.Part("Call tool", try(v, spec, given)))
	p.Write(w, status, v)
}

func about(s tool.Spec) ui.Node {
	word := func(text string) ui.Node {
		if text == "" {
			return nil
		}
		return ui.TextNode(text)
	}
	strength := map[policy.Strength]string{policy.Simple: "yes or no", policy.Preview: "yes or no, with plan", policy.Typed: "type a name"}[s.Confirm]
	var preview ui.Node
	if s.Preview != "" {
		preview = ui.LinkTo(toolPathOf(s.Preview), string(s.Preview))
	}
	return ui.Facts(ui.Fact{Name: "Title", Value: word(s.Title)}, ui.Fact{Name: "Toolset", Value: word(s.Toolset)}, ui.Fact{Name: "Category", Value: word(s.Category)},
		ui.Fact{Name: "Class", Value: class(s)}, ui.Fact{Name: "Effects", Value: word(strings.ReplaceAll(s.Effects.String(), ",", ", "))}, ui.Fact{Name: "Required permission", Value: word(s.Permission())},
		ui.Fact{Name: "Risk", Value: ui.Risk(s.Risk.String())}, ui.Fact{Name: "Approval", Value: word(strength)}, ui.Fact{Name: "Preview tool", Value: preview})
}

// warned returns a message if the tool is allowed although the permission level is read_only; nil otherwise.
func warned(s tool.Spec, level policy.Level, set policy.Setting) ui.Node {
	if level != policy.ReadOnly || set != policy.Allowed || s.Class < policy.ClassWrite {
		return nil
	}
	return ui.Notice(ui.Warn, ui.P(ui.TextNode("Allowed despite permission level read_only.")))
}

func answers(schema json.RawMessage) ui.Node {
	if len(schema) == 0 {
		return nil
	}
	return ui.Disclosure("Output schema", false, ui.CodeBlock("output schema", indented(schema)))
}

func indented(doc json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, doc, "", "  ") != nil {
		return string(doc)
	}
	return b.String()
}

// try returns the form that calls the tool. A tool that changes something also has a preview button.
func try(v httpauth.Identity, spec tool.Spec, given string) ui.Node {
	var plan ui.Node
	call := ui.SubmitButton("Call tool", ui.Name("do"), ui.Value(doCall))
	if spec.Class >= policy.ClassWrite {
		plan = ui.SubmitButton("Preview", ui.Name("do"), ui.Value(doPlan))
		call = ui.Danger("Call tool", ui.Name("do"), ui.Value(doCall))
	}
	return ui.PostForm(v, toolPathOf(spec.Name)+"/try", ui.TextareaField("args", "args", "Arguments, as JSON", given), ui.Div(ui.Class("buttons"), plan, call))
}

func (s *toolSection) try(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	name, given := tool.Name(r.PathValue("name")), r.PostFormValue("args")
	spec, served := s.core.Spec(name)
	if !served || !s.runner.Serves(v, name) {
		s.fail(w, v, ErrUnknownTool.WithMessage("tool %q not found or not enabled; the Tools page lists all tools", ui.Printable(string(name))))
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
		task.Title, task.Mode = "Preview "+string(name), policy.Plan
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
