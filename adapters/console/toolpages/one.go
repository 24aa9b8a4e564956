package toolpages

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/page"
	"github.com/countersign-dev/countersign/adapters/console/work"
	"github.com/countersign-dev/countersign/adapters/httpguard"
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

func (s *Section) one(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	s.show(w, r, v, "{}", nil)
}

// show is the page of a tool; given is what stands in the form to try it, and problem what is wrong with that.
func (s *Section) show(w http.ResponseWriter, r *http.Request, v httpguard.Visitor, given string, problem error) {
	name := tool.Name(r.PathValue("name"))
	spec, served := s.door.Spec(name)
	if !served || !s.desk.Serves(v, name) {
		s.fail(w, v, ErrUnknown.Sayf("this server serves no tool %q", page.Printable(string(name))))
		return
	}
	settings, err := s.door.Settings(r.Context())
	if err != nil {
		s.fail(w, v, err)
		return
	}
	var mode policy.Mode
	if mode.UnmarshalText([]byte(r.URL.Query().Get("mode"))) != nil {
		mode = policy.ModeUnset
	}
	p := page.Page{Title: string(spec.Name), Section: path, Crumbs: []page.Link{{Text: "Tools", Href: path}}, Notice: s.desk.Notice(r)}
	status := http.StatusOK
	if problem != nil {
		status = http.StatusBadRequest
		p.Body = append(p.Body, page.Problem(fault.From(problem)))
	}
	p.Body = append(p.Body, markup.P(markup.Text(spec.Description)), about(spec),
		page.Part("Setting", switches(v, spec, settings.Tools[string(spec.Name)], "tool"), warned(spec, settings.Level, settings.Tools[string(spec.Name)])),
		page.Part("What would happen", page.Search(pathOf(name), page.Select("mode", "mode", "In mode", mode.String(), page.Choice{Value: "", Text: "as things are"},
			page.Choice{Value: "ask", Text: "ask"}, page.Choice{Value: "plan", Text: "plan"}, page.Choice{Value: "execute", Text: "execute"}), page.Button("Simulate")),
			markup.P(markup.ID("outlook"), markup.Text("A call that does all this tool may do "), s.outlook(r.Context(), v, spec, mode))),
		page.Part("Arguments", arguments(spec.Input), page.Fold("The schema", false, page.Pre("schema of the arguments", indented(spec.Input))), answers(spec.Output)),
		page.Part("Try it", try(v, spec, given)))
	p.Write(w, status, v)
}

func about(s tool.Spec) markup.Node {
	word := func(text string) markup.Node {
		if text == "" {
			return nil
		}
		return markup.Text(text)
	}
	strength := map[policy.Strength]string{policy.Simple: "yes or no", policy.Preview: "yes or no to its plan", policy.Typed: "by typing a name"}[s.Confirm]
	var preview markup.Node
	if s.Preview != "" {
		preview = page.To(pathOf(s.Preview), string(s.Preview))
	}
	return page.Facts(page.Fact{Name: "Title", Value: word(s.Title)}, page.Fact{Name: "Toolset", Value: word(s.Toolset)}, page.Fact{Name: "Category", Value: word(s.Category)},
		page.Fact{Name: "Class", Value: class(s)}, page.Fact{Name: "May", Value: word(strings.ReplaceAll(s.Effects.String(), ",", ", "))}, page.Fact{Name: "Needs leave to", Value: word(s.Permission())},
		page.Fact{Name: "Risk", Value: page.Risk(s.Risk.String())}, page.Fact{Name: "Is confirmed", Value: word(strength)}, page.Fact{Name: "Its plan comes from", Value: preview})
}

// warned says that a tool may change things although nothing else may.
func warned(s tool.Spec, level policy.Level, set policy.Setting) markup.Node {
	if level != policy.ReadOnly || set != policy.Allowed || s.Class < policy.ClassWrite {
		return nil
	}
	return page.Notice(page.Warn, markup.P(markup.Text("It is allowed although the permission level is read only.")))
}

func answers(schema json.RawMessage) markup.Node {
	if len(schema) == 0 {
		return nil
	}
	return page.Fold("What it answers, as a schema", false, page.Pre("schema of the answer", indented(schema)))
}

func indented(doc json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, doc, "", "  ") != nil {
		return string(doc)
	}
	return b.String()
}

// try is the form that calls the tool. What changes something shows what it would do first.
func try(v httpguard.Visitor, spec tool.Spec, given string) markup.Node {
	var plan markup.Node
	call := page.Button("Call it", markup.Name("do"), markup.Value(doCall))
	if spec.Class >= policy.ClassWrite {
		plan = page.Button("Show what it would do", markup.Name("do"), markup.Value(doPlan))
		call = page.Danger("Call it, as an agent would", markup.Name("do"), markup.Value(doCall))
	}
	return page.Form(v, pathOf(spec.Name)+"/try", page.Area("args", "args", "Arguments, as JSON", given), markup.Div(markup.Class("buttons"), plan, call))
}

func (s *Section) try(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	name, given := tool.Name(r.PathValue("name")), r.PostFormValue("args")
	spec, served := s.door.Spec(name)
	if !served || !s.desk.Serves(v, name) {
		s.fail(w, v, ErrUnknown.Sayf("this server serves no tool %q", page.Printable(string(name))))
		return
	}
	args := json.RawMessage(strings.TrimSpace(given))
	var object map[string]json.RawMessage
	if err := json.Unmarshal(args, &object); err != nil || object == nil {
		s.show(w, r, v, given, ErrArguments)
		return
	}
	task := work.Task{Title: "Call " + string(name), Tool: name, Args: args, Back: pathOf(name), Show: func(tool.Outcome) markup.Node { return nil }}
	if r.PostFormValue("do") != doCall {
		task.Title, task.Mode = "What "+string(name)+" would do", policy.Plan
		if _, said := object["mode"]; said && decidesMode(spec.Input) { // it would outrank the call's
			object["mode"] = json.RawMessage(`"plan"`)
			task.Args = object
		}
	}
	s.desk.Do(w, r, v, task)
}

// decidesMode reports a tool whose argument mode is the mode of the call (seed 004).
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
