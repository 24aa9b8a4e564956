package projectpages

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/app/projects"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

func (s *actionSection) find(r *http.Request, v httpauth.Identity) (a action, err error) {
	err = s.Calls.Read(r.Context(), v, "get_action", ui.Args{"actionId": r.PathValue("id")}, &a)
	return a, err
}

func (s *actionSection) show(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	a, err := s.find(r, v)
	if err != nil {
		s.Fail(w, v, err)
		return
	}
	facts := []ui.Fact{{Name: "Type", Value: ui.Text(a.Type)}, {Name: "Status", Value: a.state()}, {Name: "Description", Value: ui.OptionalText(a.Description)},
		{Name: "Project", Value: project(a.Project)}, {Name: "Changed", Value: ui.When(a.Updated)}}
	s.Show(w, r, v, ui.Page{Title: ui.Printable(a.Name), Crumbs: crumbs(ui.PageLink{Text: "Actions and webhooks", Href: ActionsPath}), Live: []string{"ai-tool-result"},
		Body: []ui.Node{ui.Tabbed(r, "Parts of this action", ActionPath(a.ID),
			ui.Tab{Text: "Overview", Body: func() ui.Node {
				return ui.Group{ui.Panel("Details", ui.Facts(append(facts, a.facts()...)...)), a.payload(), s.running(r.Context(), v, a)}
			}},
			ui.Tab{Key: tabExecutions, Text: "Executions", Body: func() ui.Node { return s.past(r.Context(), v, a.ID) }},
			ui.Tab{Key: tabSettings, Text: "Settings", Body: func() ui.Node { return ui.Group{s.deciding(r.Context(), v, a), s.removing(v, a)} }})}})
}

func project(id string) ui.Node {
	if id == "" {
		return ui.Text("none")
	}
	return ui.LinkTo(projectPath(id), "View project")
}

// facts returns the configuration of the action. Its secrets are redacted.
func (a action) facts() []ui.Fact {
	c := a.Config
	switch a.Type {
	case present.TypeScript:
		return []ui.Fact{{Name: "Program", Value: ui.OptionalCode(a.Does())}, {Name: "Directory", Value: ui.OptionalCode(c.Cwd)},
			{Name: "Variables", Value: ui.OptionalText(strings.Join(slices.Sorted(maps.Keys(c.Env)), ", "))}, {Name: "Timeout", Value: ui.OptionalText(ui.Took(c.Timeout))}}
	case present.TypeWebhook:
		facts := []ui.Fact{{Name: "Request", Value: ui.OptionalCode(a.Does())}}
		for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
			facts = append(facts, ui.Fact{Name: "Header " + ui.Printable(name), Value: ui.OptionalCode(c.Headers[name])})
		}
		return append(facts, ui.Fact{Name: "Retries", Value: ui.Text(strconv.Itoa(c.Retries))})
	}
	return []ui.Fact{{Name: "Workflow", Value: ui.LinkTo(workflowPath(c.Workflow), c.Workflow)}}
}

func (a action) payload() ui.Node {
	if a.Config.Payload == "" {
		return nil
	}
	return ui.Part("Payload", ui.CodeBlock("payload template", ui.Printable(a.Config.Payload)))
}

// running returns the form that runs the action.
func (s *actionSection) running(ctx context.Context, v httpauth.Identity, a action) ui.Node {
	if !a.Enabled {
		return ui.Panel("Run", ui.Empty("This action is disabled."), ui.P(ui.LinkTo(ui.TabPath(ActionPath(a.ID), tabSettings), "Enable it in the settings")))
	}
	notice := s.Calls.PolicyNotice(ctx, v, "Run this action", map[string]tool.Name{present.TypeScript: "run_script", present.TypeWebhook: "trigger_webhook", present.TypeWorkflow: "run_workflow"}[a.Type])
	to, fields := ActionPath(a.ID)+"/run", ui.Group{ui.Hidden("type", a.Type), ui.Hidden("name", a.Name)}
	switch a.Type {
	case present.TypeScript:
		return ui.Panel("Run", notice, ui.PostForm(v, to, fields, ui.TextareaField("args", "args", "Additional arguments, one per line", ""), ui.SubmitButton("Run program")))
	case present.TypeWebhook:
		for _, name := range a.variables() {
			fields = append(fields, ui.Field("var-"+name, "var."+name, "Value of {{"+name+"}}", ""))
		}
		var instead ui.Node
		if a.carries() {
			instead = ui.TextareaField("payload", "payload", "Payload to send instead, a JSON object (optional)", "")
		}
		return ui.Panel("Send", notice, ui.PostForm(v, to, fields, instead, ui.SubmitButton("Send request")))
	}
	return ui.Panel("Run", notice, ui.PostForm(v, to, fields, ui.Hidden("workflow", a.Config.Workflow), ui.SubmitButton("Run workflow")))
}

// carries reports whether the request has a payload.
func (a action) carries() bool {
	return a.Config.Verb() != http.MethodGet && a.Config.Verb() != http.MethodDelete
}

// variables returns the names of the variables in the webhook's URL, headers and payload, in this order.
func (a action) variables() (names []string) {
	texts := []string{a.Config.URL}
	for _, name := range slices.Sorted(maps.Keys(a.Config.Headers)) {
		texts = append(texts, a.Config.Headers[name])
	}
	for _, text := range append(texts, a.Config.Payload) {
		for {
			_, rest, ok := strings.Cut(text, "{{")
			if !ok {
				break
			}
			name, after, closed := strings.Cut(rest, "}}")
			if !closed || !named(name) {
				text = rest
				continue
			}
			if text = after; !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// named reports whether s is a valid variable name (packageflow contract §1.6).
func named(s string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
	return s != "" && strings.Contains(letters, s[:1]) && strings.Trim(s, letters+"0123456789-.") == ""
}

var errPayload = fault.New(fault.Invalid, "action_payload_invalid", "the payload is not a JSON object; correct it, or leave it empty to send the stored payload")

func (s *actionSection) run(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	id, name := r.PathValue("id"), ui.Printable(r.PostFormValue("name"))
	task := ui.Task{Title: "Run action " + name, Tool: "run_script", Args: ui.Args{"actionId": id}, Back: ActionPath(id), Watch: WatchOutput(s.Calls, v), Show: ActionResult}
	switch r.PostFormValue("type") {
	case present.TypeScript:
		if lines := ui.Lines(r.PostFormValue("args")); len(lines) > 0 {
			task.Args = ui.Args{"actionId": id, "args": lines}
		}
	case present.TypeWebhook:
		args, err := sending(id, r)
		if err != nil {
			s.Fail(w, v, err)
			return
		}
		task.Title, task.Tool, task.Args, task.Watch = "Send webhook "+name, "trigger_webhook", args, nil
	case present.TypeWorkflow:
		task.Tool, task.Args, task.Watch, task.Show = "run_workflow", ui.Args{"workflow_id": r.PostFormValue("workflow")}, nil, nil
	}
	s.Calls.Do(w, r, v, task)
}

// sending returns the arguments of trigger_webhook from its form.
func sending(id string, r *http.Request) (ui.Args, error) {
	args, variables := ui.Args{"webhook_id": id}, map[string]string{}
	for field, values := range r.PostForm {
		if name, ok := strings.CutPrefix(field, "var."); ok && len(values) > 0 && values[0] != "" {
			variables[name] = values[0]
		}
	}
	if len(variables) > 0 {
		args["variables"] = variables
	}
	if text := strings.TrimSpace(r.PostFormValue("payload")); text != "" {
		var object map[string]json.RawMessage
		if decode(json.RawMessage(text), &object) != nil || object == nil {
			return nil, errPayload
		}
		args["payload"] = json.RawMessage(text)
	}
	return args, nil
}

// past returns the executions of the action.
func (s *actionSection) past(ctx context.Context, v httpauth.Identity, id string) ui.Node {
	var answer struct {
		Executions []projects.Execution `json:"executions"`
	}
	if err := s.Calls.Read(ctx, v, "list_action_executions", ui.Args{"actionId": id}, &answer); err != nil {
		return ui.Part("Executions", ui.ErrorNotice(err))
	}
	return ui.Part("Executions", ExecutionTable("executions of this action", answer.Executions, "No executions yet."))
}

// deciding returns the current rule for the action, and the forms that change it or disable the action.
func (s *actionSection) deciding(ctx context.Context, v httpauth.Identity, a action) ui.Node {
	var now struct {
		Level string `json:"permissionLevel"`
		From  string `json:"resolvedFrom"`
	}
	if err := s.Calls.Read(ctx, v, "get_action_permissions", ui.Args{"actionId": a.ID}, &now); err != nil {
		return ui.Part("Rule", ui.ErrorNotice(err))
	}
	from := map[string]string{"action": "rule for this action", "type": "rule for its type", "global": "rule for all actions"}[now.From]
	if from == "" {
		from = "no rule"
	}
	held := ui.P(ui.Text(fmt.Sprintf("Current rule: %s (%s).", level(now.Level), from)))
	if !s.Calls.Serves(v, "action_rule_set") {
		return ui.Part("Rule", held)
	}
	to, turn, word := ActionPath(a.ID), "Disable", "false"
	if !a.Enabled {
		turn, word = "Enable", "true"
	}
	called, name := ui.Printable(a.Name), ui.Hidden("name", a.Name)
	return ui.Panel("Rule", held, ui.PostForm(v, to+"/rule", ui.SelectField("level", "level", "Rule for this action", "require_confirm", levels()...), ui.SubmitButton("Set rule")),
		ui.Div(ui.Class("buttons"), ui.ActionForm(v, to+"/switch", turn, called, name, ui.Hidden("enabled", word))))
}

// removing returns the form that removes the action; nil if that is not enabled.
func (s *actionSection) removing(v httpauth.Identity, a action) ui.Node {
	if !s.Calls.Serves(v, "action_remove") {
		return nil
	}
	return ui.DangerPanel("Remove action", ui.P(ui.Text("Removes the action and its rules. Its executions are kept.")),
		ui.PostForm(v, ActionPath(a.ID)+"/remove", ui.Hidden("name", a.Name), ui.Danger("Remove action", ui.Aria("label", "Remove action "+ui.Printable(a.Name)))))
}

func (s *actionSection) turn(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	id, on := r.PathValue("id"), r.PostFormValue("enabled") == "true"
	title := "Disable "
	if on {
		title = "Enable "
	}
	s.Calls.Do(w, r, v, ui.Task{Title: title + ui.Printable(r.PostFormValue("name")), Tool: "action_switch", Args: ui.Args{"actionId": id, "enabled": on}, Back: ui.TabPath(ActionPath(id), tabSettings)})
}

func (s *actionSection) remove(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.Calls.Do(w, r, v, ui.Task{Title: "Remove action " + ui.Printable(r.PostFormValue("name")), Tool: "action_remove",
		Args: ui.Args{"actionId": r.PathValue("id")}, Back: ActionsPath})
}
