package actionpages

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/page"
	"github.com/countersign-dev/countersign/adapters/console/projectpages/execview"
	"github.com/countersign-dev/countersign/adapters/console/sectionpage"
	"github.com/countersign-dev/countersign/adapters/console/work"
	"github.com/countersign-dev/countersign/adapters/httpguard"
	"github.com/countersign-dev/countersign/adapters/present/answers"
	"github.com/countersign-dev/countersign/domain/fault"
)

func (s *Section) find(r *http.Request, v httpguard.Visitor) (a action, err error) {
	err = s.Desk.Read(r.Context(), v, "get_action", sectionpage.Args{"actionId": r.PathValue("id")}, &a)
	return a, err
}

func (s *Section) show(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	a, err := s.find(r, v)
	if err != nil {
		s.Fail(w, v, err)
		return
	}
	facts := []page.Fact{{Name: "Type", Value: page.Text(a.Type)}, {Name: "State", Value: a.state()}, {Name: "Description", Value: sectionpage.Text(a.Description)},
		{Name: "Project", Value: project(a.Project)}, {Name: "Changed", Value: page.When(a.Updated)}}
	s.Show(w, r, v, page.Page{Title: page.Printable(a.Name), Crumbs: crumbs(page.Link{Text: "Actions and webhooks", Href: Root}), Live: []string{"ai-tool-result"},
		Body: []markup.Node{page.Facts(append(facts, a.facts()...)...), a.payload(), s.running(v, a), s.past(r.Context(), v, a.ID), s.deciding(r.Context(), v, a)}})
}

func project(id string) markup.Node {
	if id == "" {
		return page.Text("none")
	}
	return page.To(execview.ProjectPath(id), "its project")
}

// facts is what its type keeps of the action. Values that are secret came masked.
func (a action) facts() []page.Fact {
	c := a.Config
	switch a.Type {
	case answers.TypeScript:
		return []page.Fact{{Name: "Program", Value: sectionpage.Code(a.Does())}, {Name: "Directory", Value: sectionpage.Code(c.Cwd)},
			{Name: "Variables", Value: sectionpage.Text(strings.Join(slices.Sorted(maps.Keys(c.Env)), ", "))}, {Name: "At most", Value: sectionpage.Text(sectionpage.Took(c.Timeout))}}
	case answers.TypeWebhook:
		facts := []page.Fact{{Name: "Request", Value: sectionpage.Code(a.Does())}}
		for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
			facts = append(facts, page.Fact{Name: "Header " + page.Printable(name), Value: sectionpage.Code(c.Headers[name])})
		}
		return append(facts, page.Fact{Name: "Tried again", Value: page.Text(sectionpage.Count(c.Retries, "time", "times"))})
	}
	return []page.Fact{{Name: "Workflow", Value: page.To(execview.WorkflowPath(c.Workflow), c.Workflow)}}
}

func (a action) payload() markup.Node {
	if a.Config.Payload == "" {
		return nil
	}
	return page.Part("Payload", page.Pre("template of the payload", page.Printable(a.Config.Payload)))
}

// running is the form that carries the action out.
func (s *Section) running(v httpguard.Visitor, a action) markup.Node {
	if !a.Enabled {
		return page.Part("Run", page.Empty("It is switched off."))
	}
	to, fields := Path(a.ID)+"/run", markup.Group{page.Hidden("type", a.Type), page.Hidden("name", a.Name)}
	switch a.Type {
	case answers.TypeScript:
		return page.Part("Run", page.Form(v, to, fields, page.Area("args", "args", "Further arguments, one a line", ""), page.Button("Run the program")))
	case answers.TypeWebhook:
		for _, name := range a.variables() {
			fields = append(fields, page.Field("var-"+name, "var."+name, "Value of {{"+name+"}}", ""))
		}
		var instead markup.Node
		if a.carries() {
			instead = page.Area("payload", "payload", "Payload in place of the stored one, a JSON object (may be empty)", "")
		}
		return page.Part("Send", page.Form(v, to, fields, instead, page.Button("Send the request")))
	}
	return page.Part("Run", page.Form(v, to, fields, page.Hidden("workflow", a.Config.Workflow), page.Button("Run the workflow")))
}

// carries reports a request that has a payload.
func (a action) carries() bool {
	return a.Config.Verb() != http.MethodGet && a.Config.Verb() != http.MethodDelete
}

// variables are the names that the webhook's address, headers and payload have values for, in their order.
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

// named reports what can be the name of a variable (packageflow contract §1.6).
func named(s string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
	return s != "" && strings.Contains(letters, s[:1]) && strings.Trim(s, letters+"0123456789-.") == ""
}

var errPayload = fault.New(fault.Invalid, "action_payload_invalid", "the payload is no JSON object; go back and correct it, or leave it empty to send the stored one")

func (s *Section) run(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	id, name := r.PathValue("id"), page.Printable(r.PostFormValue("name"))
	task := work.Task{Title: "Run action " + name, Tool: "run_script", Args: sectionpage.Args{"actionId": id}, Back: Path(id), Watch: execview.Watch(s.Desk, v), Show: execview.Action}
	switch r.PostFormValue("type") {
	case answers.TypeScript:
		if lines := sectionpage.Lines(r.PostFormValue("args")); len(lines) > 0 {
			task.Args = sectionpage.Args{"actionId": id, "args": lines}
		}
	case answers.TypeWebhook:
		args, err := sending(id, r)
		if err != nil {
			s.Fail(w, v, err)
			return
		}
		task.Title, task.Tool, task.Args, task.Watch = "Send webhook "+name, "trigger_webhook", args, nil
	case answers.TypeWorkflow:
		task.Tool, task.Args, task.Watch, task.Show = "run_workflow", sectionpage.Args{"workflow_id": r.PostFormValue("workflow")}, nil, nil
	}
	s.Desk.Do(w, r, v, task)
}

// sending is the arguments of trigger_webhook from its form.
func sending(id string, r *http.Request) (sectionpage.Args, error) {
	args, variables := sectionpage.Args{"webhook_id": id}, map[string]string{}
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

// past is the action's history.
func (s *Section) past(ctx context.Context, v httpguard.Visitor, id string) markup.Node {
	var answer struct {
		Executions []execview.Execution `json:"executions"`
	}
	if err := s.Desk.Read(ctx, v, "list_action_executions", sectionpage.Args{"actionId": id}, &answer); err != nil {
		return page.Part("History", sectionpage.Tell(err))
	}
	return page.Part("History", execview.Table("what came of this action", answer.Executions, "It was never carried out."))
}

// deciding is which rule holds for the action, and what a person may do about it.
func (s *Section) deciding(ctx context.Context, v httpguard.Visitor, a action) markup.Node {
	var now struct {
		Level string `json:"permissionLevel"`
		From  string `json:"resolvedFrom"`
	}
	if err := s.Desk.Read(ctx, v, "get_action_permissions", sectionpage.Args{"actionId": a.ID}, &now); err != nil {
		return page.Part("Rule", sectionpage.Tell(err))
	}
	from := map[string]string{"action": "its own rule", "type": "the rule for all of its type", "global": "the rule for all actions"}[now.From]
	if from == "" {
		from = "there is no rule"
	}
	held := markup.P(page.Text(fmt.Sprintf("It holds: %s (%s).", level(now.Level), from)))
	if !s.Desk.Serves(v, "action_rule_set") {
		return page.Part("Rule", held)
	}
	to, turn, word := Path(a.ID), "Switch off", "false"
	if !a.Enabled {
		turn, word = "Switch on", "true"
	}
	called, name := page.Printable(a.Name), page.Hidden("name", a.Name)
	return page.Part("Rule", held, page.Form(v, to+"/rule", page.Select("level", "level", "Rule of this action", "require_confirm", levels()...), page.Button("Set rule")),
		markup.Div(markup.Class("buttons"), page.Deed(v, to+"/switch", turn, called, name, page.Hidden("enabled", word)),
			page.Form(v, to+"/remove", name, page.Danger("Remove action", markup.Aria("label", "Remove action "+called)))))
}

func (s *Section) turn(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	id, on := r.PathValue("id"), r.PostFormValue("enabled") == "true"
	title := "Switch off "
	if on {
		title = "Switch on "
	}
	s.Desk.Do(w, r, v, work.Task{Title: title + page.Printable(r.PostFormValue("name")), Tool: "action_switch", Args: sectionpage.Args{"actionId": id, "enabled": on}, Back: Path(id)})
}

func (s *Section) remove(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	s.Desk.Do(w, r, v, work.Task{Title: "Remove action " + page.Printable(r.PostFormValue("name")), Tool: "action_remove",
		Args: sectionpage.Args{"actionId": r.PathValue("id")}, Back: Root})
}
