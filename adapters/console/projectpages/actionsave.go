package projectpages

import (
	"net/http"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/fault"
)

// toolSaveAction is the tool that adds an action.
const toolSaveAction = "action_save"

// saving returns the forms that add an action of each type; nil if that is not enabled. back is the page to return to; of returns the field of the project,
// whose ID starts with the given prefix.
func (s *actionSection) saving(r *http.Request, v httpauth.Identity, back string, of func(prefix string) ui.Node) ui.Node {
	if !s.Calls.Serves(v, toolSaveAction) {
		return nil
	}
	form := func(id, kind, button string, fields ...ui.Node) ui.Node {
		return ui.Disclosure(button+" …", false, ui.PostForm(v, ActionsPath, ui.Hidden("type", kind), ui.Hidden("back", back), ui.Field(id+"-name", "name", "Name", "", ui.Required()),
			ui.Group(fields), of(id), ui.Field(id+"-description", "description", "Description (optional)", ""), ui.SubmitButton(button)))
	}
	out := ui.Group{s.Calls.PolicyNotice(r.Context(), v, "Add actions", toolSaveAction),
		form("program", present.TypeScript, "Add program", ui.Field("program-command", "command", "Program", "", ui.Required()),
			ui.TextareaField("program-args", "args", "Arguments, one per line", ""), ui.Field("program-cwd", "cwd", "Directory in the project (default: project root)", ""),
			ui.TextareaField("program-env", "env", "Environment variables (NAME=VALUE), one per line, stored as secrets (optional)", ""), ui.NumberField("program-timeout", "timeout", "Timeout in seconds (default 60)", "")),
		form("hook", present.TypeWebhook, "Add webhook", ui.Field("hook-url", "url", "URL (https://…), can contain {{variables}}", "", ui.Required()),
			ui.SelectField("hook-method", "method", "Method", "", ui.Choice{Value: "", Text: "POST"}, ui.Choice{Value: "GET", Text: "GET"}, ui.Choice{Value: "HEAD", Text: "HEAD"}, ui.Choice{Value: "PUT", Text: "PUT"},
				ui.Choice{Value: "PATCH", Text: "PATCH"}, ui.Choice{Value: "DELETE", Text: "DELETE"}),
			ui.TextareaField("hook-headers", "headers", "Headers (NAME: VALUE), one per line, stored as secrets (optional)", ""),
			ui.TextareaField("hook-payload", "payload", "Payload template with {{variables}} (optional)", ""), ui.NumberField("hook-retries", "retries", "Retries, 0 to 3 (default 0)", ""),
			ui.NumberField("hook-timeout", "timeout", "Timeout in seconds (default 30)", ""))}
	var choices []ui.Choice
	if all, err := NewWorkflowSection(s.SectionBase).listed(r.Context(), v, ""); err == nil {
		for _, w := range all {
			choices = append(choices, ui.Choice{Value: w.ID, Text: ui.Printable(w.Name)})
		}
	}
	if len(choices) > 0 {
		out = append(out, form("flow", present.TypeWorkflow, "Add workflow action", ui.SelectField("flow-workflow", "workflow", "Workflow", "", choices...)))
	}
	return ui.Panel("Add action", out)
}

func (s *actionSection) save(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	name, kind := r.PostFormValue("name"), r.PostFormValue("type")
	config := ui.Args{}
	switch kind {
	case present.TypeScript:
		config = config.Set("command", r.PostFormValue("command")).Set("cwd", r.PostFormValue("cwd"))
		if args := ui.Lines(r.PostFormValue("args")); len(args) > 0 {
			config["args"] = args
		}
		env, err := pairs(r.PostFormValue("env"), "=")
		if err != nil {
			s.Fail(w, v, err)
			return
		}
		if len(env) > 0 {
			config["env"] = env
		}
	case present.TypeWebhook:
		config = config.Set("url", r.PostFormValue("url")).Set("method", r.PostFormValue("method")).Set("payloadTemplate", r.PostFormValue("payload")).Number("retryCount", r.PostFormValue("retries"))
		headers, err := pairs(r.PostFormValue("headers"), ":")
		if err != nil {
			s.Fail(w, v, err)
			return
		}
		if len(headers) > 0 {
			config["headers"] = headers
		}
	case present.TypeWorkflow:
		config = config.Set("workflowId", r.PostFormValue("workflow"))
	}
	config = config.Number("timeoutMs", ui.Milliseconds(r.PostFormValue("timeout")))
	back := ActionsPath
	if to := r.PostFormValue("back"); strings.HasPrefix(to, ProjectsPath+"/") {
		back = to
	}
	s.Calls.Do(w, r, v, ui.Task{Title: "Add action " + ui.Printable(name), Tool: toolSaveAction, Back: back,
		Args: ui.Args{"type": kind, "name": name, kind: config}.Set("project", r.PostFormValue("project")).Set("description", r.PostFormValue("description"))})
}

// errPair is returned for a line of a field that is not a name with a value.
var errPair = fault.New(fault.Invalid, "page_pair_invalid", "a line is not a name with a value")

// pairs returns the names and values of the lines of a field. It fails with errPair, which does not repeat the value.
func pairs(text, between string) (map[string]string, error) {
	out := map[string]string{}
	for i, line := range ui.Lines(text) {
		name, value, found := strings.Cut(line, between)
		if name = strings.TrimSpace(name); !found || name == "" {
			return nil, errPair.WithMessage("line %d is not NAME%sVALUE; go back and correct it", i+1, between)
		}
		out[name] = strings.TrimSpace(value)
	}
	return out, nil
}
