package projectpages

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/present"
)

func decodeWorkflow(doc json.RawMessage, into any) error { return json.Unmarshal(doc, into) }

// flow is a whole workflow; what its webhooks keep secret is masked.
type flow struct {
	ID          string         `json:"id"`
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Project     string         `json:"projectId"`
	Nodes       []present.Step `json:"nodes"`
	Webhook     *outgoing      `json:"webhook"`
	Incoming    *incoming      `json:"incomingWebhook"`
	History     int            `json:"maxHistory"`
	Updated     time.Time      `json:"updatedAt"`
	Revision    int64          `json:"revision"`
}

// does returns what a step does: its command, or the workflow that it starts.
func does(s present.Step) ui.Node {
	if starts := s.Starts(); starts != "" {
		return ui.Group{ui.Text("starts "), ui.LinkTo(workflowPath(s.Config.Target), s.Config.Target), ui.Text(" (" + starts + ")")}
	}
	return ui.OptionalCode(s.Config.Command)
}

func (s *workflowSection) find(r *http.Request, v httpauth.Visitor) (f flow, err error) {
	err = s.Calls.Read(r.Context(), v, "get_workflow", ui.Args{"workflow_id": r.PathValue("id")}, &f)
	return f, err
}

func (s *workflowSection) show(w http.ResponseWriter, r *http.Request, v httpauth.Visitor) {
	f, err := s.find(r, v)
	if err != nil {
		s.Fail(w, v, err)
		return
	}
	past := s.history(r.Context(), v, f.ID)
	p := ui.Page{Title: ui.Printable(f.Name), Crumbs: workflowCrumbs(f.ID), Live: []string{"ai-tool-state", "ai-tool-result"}}
	p.Body = []ui.Node{ui.Facts(ui.Fact{Name: "Description", Value: ui.OptionalText(f.Description)}, ui.Fact{Name: "Project", Value: of(f.Project)},
		ui.Fact{Name: "Changed", Value: ui.When(f.Updated)})}
	if now, ok := past.going(); ok {
		p.Live = []string{"tick"}
		p.Body = append(p.Body, s.going(r.Context(), v, now.ID), s.steps(v, f), past.table())
		s.Show(w, r, v, p)
		return
	}
	p.Body = append(p.Body, s.running(r, v, f), s.steps(v, f), s.adding(r, v, f), past.table(), s.hooks(v, f), s.changing(v, f))
	s.Show(w, r, v, p)
}

func of(project string) ui.Node {
	if project == "" {
		return ui.Text("none: it is global")
	}
	return ui.LinkTo(projectPath(project), "its project")
}

// steps returns what the workflow does, in order.
func (s *workflowSection) steps(v httpauth.Visitor, f flow) ui.Node {
	removes := s.Calls.Serves(v, "workflow_step_remove")
	var rows []ui.Node
	for i, n := range f.Nodes {
		var remove ui.Node
		if removes {
			remove = ui.ActionForm(v, workflowPath(f.ID)+"/remove-step", "Remove", "step "+ui.Printable(n.Name), ui.Hidden("node", n.ID))
		}
		limit := "5 min"
		if n.Config.Timeout > 0 {
			limit = ui.Took(n.Config.Timeout)
		}
		rows = append(rows, ui.Row(ui.Text(strconv.Itoa(i+1)), ui.OptionalText(n.Name), does(n), ui.OptionalCode(n.Config.Cwd), ui.Text(limit), remove))
	}
	return ui.Part("Steps", ui.DataTable("steps in order", []string{"Step", "Name", "What it does", "Directory", "At most", "Change"}, rows, "It has no steps yet."))
}

// running returns the form that runs the workflow.
func (s *workflowSection) running(r *http.Request, v httpauth.Visitor, f flow) ui.Node {
	if len(f.Nodes) == 0 {
		return nil
	}
	all, _ := s.projects(r.Context(), v)
	here := "the workflow's project"
	if f.Project == "" {
		here = "nowhere: each step says where"
	}
	choices := []ui.Choice{{Value: "", Text: here}}
	for _, p := range all {
		if string(p.ID) != f.Project {
			choices = append(choices, ui.Choice{Value: p.Path, Text: ui.Printable(p.Name)})
		}
	}
	return ui.Part("Run", ui.PostForm(v, workflowPath(f.ID)+"/run", ui.Hidden("name", f.Name),
		ui.SelectField("project_path", "project_path", "Steps that name no directory run in", "", choices...), ui.SubmitButton("Run workflow")))
}

func (s *workflowSection) run(w http.ResponseWriter, r *http.Request, v httpauth.Visitor) {
	id := r.PathValue("id")
	s.Calls.Do(w, r, v, ui.Task{Title: "Run workflow " + ui.Printable(r.PostFormValue("name")), Tool: "run_workflow",
		Args: ui.Args{"workflow_id": id}.Set("project_path", r.PostFormValue("project_path")), Back: workflowPath(id), Watch: s.watch(v, id), Show: ran})
}

// adding returns the forms that add steps. A template may begin them.
func (s *workflowSection) adding(r *http.Request, v httpauth.Visitor, f flow) ui.Node {
	chosen, choices := s.chosen(r, v)
	places := []ui.Choice{{Value: "", Text: "at the end"}}
	for i, n := range f.Nodes {
		places = append(places, ui.Choice{Value: strconv.Itoa(i), Text: fmt.Sprintf("before step %d, %s", i+1, ui.Printable(n.Name))})
	}
	body := ui.Group{
		ui.Search(workflowPath(f.ID), ui.SelectField("template", "template", "Begin with a template", chosen.ID, choices...), ui.SubmitButton("Fill in")),
		ui.PostForm(v, workflowPath(f.ID)+"/steps", ui.Field("step-name", "name", "Name of the step", chosen.Name, ui.Required()),
			ui.Field("step-command", "command", "Command ({pm} stands for the project's package manager)", chosen.Command, ui.Required()),
			ui.Field("step-cwd", "cwd", "Directory inside the project (empty: the project's)", ""), ui.SelectField("step-order", "order", "Place", "", places...),
			ui.NumberField("step-timeout", "timeout", "End it after so many seconds (empty: 300)", ""), ui.SubmitButton("Add step"))}
	if s.Calls.Serves(v, "workflow_trigger_add") {
		if all, err := s.listed(r.Context(), v, ""); err == nil {
			body = append(body, s.triggering(v, f, all, places))
		}
	}
	return ui.Part("Add a step", body)
}

// triggering returns the form that makes another workflow a step of this one.
func (s *workflowSection) triggering(v httpauth.Visitor, f flow, all []workflowItem, places []ui.Choice) ui.Node {
	var others []ui.Choice
	for _, w := range all {
		if w.ID != f.ID {
			others = append(others, ui.Choice{Value: w.ID, Text: ui.Printable(w.Name)})
		}
	}
	if len(others) == 0 {
		return nil
	}
	return ui.Disclosure("Add another workflow as a step", false, ui.PostForm(v, workflowPath(f.ID)+"/triggers", ui.Field("trigger-name", "name", "Name of the step", "", ui.Required()),
		ui.SelectField("trigger-target", "target", "Workflow", "", others...), ui.SelectField("trigger-order", "order", "Place", "", places...),
		ui.CheckboxField("trigger-nowait", "nowait", "Nobody waits for it: it runs after the other steps", false),
		ui.CheckboxField("trigger-continue", "continue", "Go on when it fails", false), ui.SubmitButton("Add workflow as a step")))
}

func (s *workflowSection) addStep(w http.ResponseWriter, r *http.Request, v httpauth.Visitor) {
	id, name := r.PathValue("id"), r.PostFormValue("name")
	args := ui.Args{"workflow_id": id, "name": name, "command": r.PostFormValue("command")}.Set("cwd", r.PostFormValue("cwd")).
		Number("order", r.PostFormValue("order")).Number("timeout", ui.Milliseconds(r.PostFormValue("timeout")))
	s.Calls.Do(w, r, v, ui.Task{Title: "Add step " + ui.Printable(name), Tool: "add_workflow_step", Args: args, Back: workflowPath(id)})
}

func (s *workflowSection) addTrigger(w http.ResponseWriter, r *http.Request, v httpauth.Visitor) {
	id, name := r.PathValue("id"), r.PostFormValue("name")
	args := ui.Args{"workflow_id": id, "name": name, "target_workflow_id": r.PostFormValue("target")}.Number("order", r.PostFormValue("order")).
		Flag("no_wait", r.PostFormValue("nowait")).Flag("continue_on_failure", r.PostFormValue("continue"))
	s.Calls.Do(w, r, v, ui.Task{Title: "Add step " + ui.Printable(name), Tool: "workflow_trigger_add", Args: args, Back: workflowPath(id)})
}

func (s *workflowSection) removeStep(w http.ResponseWriter, r *http.Request, v httpauth.Visitor) {
	id := r.PathValue("id")
	s.Calls.Do(w, r, v, ui.Task{Title: "Remove a step", Tool: "workflow_step_remove", Args: ui.Args{"workflow_id": id, "node_id": r.PostFormValue("node")}, Back: workflowPath(id)})
}

// changing returns the form that renames the workflow, and the button that forgets it.
func (s *workflowSection) changing(v httpauth.Visitor, f flow) ui.Node {
	if !s.Calls.Serves(v, "workflow_change") {
		return nil
	}
	kept := ""
	if f.History > 0 {
		kept = strconv.Itoa(f.History)
	}
	return ui.Group{ui.Part("Change", ui.PostForm(v, workflowPath(f.ID)+"/change", ui.Field("name", "name", "Name of the workflow", f.Name),
		ui.Field("description", "description", "Description", f.Description), ui.NumberField("history", "history", "How many runs are kept (empty: 50)", kept),
		ui.SubmitButton("Save"))),
		ui.Part("Remove", ui.PostForm(v, workflowPath(f.ID)+"/remove", ui.Hidden("name", f.Name), ui.Danger("Remove workflow", ui.Aria("label", "Remove workflow "+ui.Printable(f.Name))),
			ui.P(ui.Class("quiet"), ui.Text("Its history stays."))))}
}

func (s *workflowSection) change(w http.ResponseWriter, r *http.Request, v httpauth.Visitor) {
	id := r.PathValue("id")
	args := ui.Args{"workflow_id": id}.Set("name", r.PostFormValue("name")).Set("description", r.PostFormValue("description")).Number("max_history", r.PostFormValue("history"))
	s.Calls.Do(w, r, v, ui.Task{Title: "Change the workflow", Tool: "workflow_change", Args: args, Back: workflowPath(id)})
}

func (s *workflowSection) remove(w http.ResponseWriter, r *http.Request, v httpauth.Visitor) {
	s.Calls.Do(w, r, v, ui.Task{Title: "Remove workflow " + ui.Printable(r.PostFormValue("name")), Tool: "workflow_remove",
		Args: ui.Args{"workflow_id": r.PathValue("id")}, Back: WorkflowListPath})
}
