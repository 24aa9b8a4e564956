package projectpages

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/present"
)

func decodeWorkflow(doc json.RawMessage, into any) error { return json.Unmarshal(doc, into) }

// flow is a workflow. The secrets of its webhooks are redacted.
type flow struct {
	ID          string         `json:"id"`
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Project     string         `json:"projectId"`
	Nodes       []present.Step `json:"nodes"`

	Inputs   []present.WorkflowInput `json:"inputs"`
	Webhook  *outgoing               `json:"webhook"`
	Incoming *incoming               `json:"incomingWebhook"`
	History  int                     `json:"maxHistory"`
	Updated  time.Time               `json:"updatedAt"`
	Revision int64                   `json:"revision"`
}

// does returns the command of a step, or a link to the workflow that it starts.
func does(s present.Step) ui.Node {
	if starts := s.Starts(); starts != "" {
		return ui.Group{ui.Text("starts "), ui.LinkTo(workflowPath(s.Config.Target), s.Config.Target), ui.Text(" (" + starts + ")")}
	}
	return ui.OptionalCode(s.Config.Command)
}

func (s *workflowSection) find(r *http.Request, v httpauth.Identity) (f flow, err error) {
	return s.load(r.Context(), v, r.PathValue("id"))
}

// load returns the workflow with that ID.
func (s *workflowSection) load(ctx context.Context, v httpauth.Identity, id string) (f flow, err error) {
	err = s.Calls.Read(ctx, v, "get_workflow", ui.Args{"workflow_id": id}, &f)
	return f, err
}

func (s *workflowSection) show(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	f, err := s.find(r, v)
	if err != nil {
		s.Fail(w, v, err)
		return
	}
	past := s.history(r.Context(), v, f.ID)
	now, going := past.going()
	p := ui.Page{Title: ui.Printable(f.Name), Crumbs: workflowCrumbs(f.ID), Live: []string{"ai-tool-state", "ai-tool-result"}}
	if tab := r.URL.Query().Get(ui.TabParam); going && (tab == "" || tab == tabExecutions) {
		p.Live = []string{"tick"}
	}
	p.Body = []ui.Node{ui.Tabbed(r, "Parts of this workflow", workflowPath(f.ID),
		ui.Tab{Text: "Overview", Body: func() ui.Node {
			if going {
				return ui.Group{s.going(r.Context(), v, f, now.ID), facts(f)}
			}
			return ui.Group{s.lastExecution(r.Context(), v, f, past), s.running(r, v, f), facts(f)}
		}},
		ui.Tab{Key: tabSteps, Text: "Steps", Body: func() ui.Node {
			return ui.Group{s.steps(r.Context(), v, f), s.changingStep(r, v, f), s.adding(r, v, f)}
		}},
		ui.Tab{Key: tabExecutions, Text: "Executions", Body: past.table},
		ui.Tab{Key: tabInputs, Text: "Inputs", Body: func() ui.Node { return s.settingInputs(v, f) }},
		ui.Tab{Key: tabWebhooks, Text: "Webhooks", Body: func() ui.Node { return s.hooks(v, f) }},
		ui.Tab{Key: tabSettings, Text: "Settings", Body: s.changing(v, f)})}
	s.Show(w, r, v, p)
}

// The tabs of workflows and projects.
const (
	tabSteps      = "steps"
	tabExecutions = "executions"
	tabInputs     = "inputs"
	tabWebhooks   = "webhooks"
	tabSettings   = "settings"
)

// workflowTab returns the path of a tab of a workflow's page.
func workflowTab(id, tab string) string { return ui.TabPath(workflowPath(id), tab) }

func facts(f flow) ui.Node {
	return ui.Panel("Details", ui.Facts(ui.Fact{Name: "Description", Value: ui.OptionalText(f.Description)}, ui.Fact{Name: "Project", Value: of(f.Project)},
		ui.Fact{Name: "Changed", Value: ui.When(f.Updated)}))
}

func of(project string) ui.Node {
	if project == "" {
		return ui.Text("none (global)")
	}
	return ui.LinkTo(projectPath(project), "View project")
}

// steps returns the table of the steps, with buttons that change them.
func (s *workflowSection) steps(ctx context.Context, v httpauth.Identity, f flow) ui.Node {
	removes, changes := s.Calls.Serves(v, "workflow_step_remove"), s.Calls.Serves(v, toolChangeStep)
	names := map[string]string{}
	for _, n := range f.Nodes {
		names[n.ID] = ui.Printable(n.Name)
	}
	var rows []ui.Node
	for i, n := range f.Nodes {
		var change ui.Group
		called := "step " + ui.Printable(n.Name)
		if changes {
			change = append(change, ui.A(ui.Class("button"), ui.Href(stepPath(f.ID, n.ID)), ui.Aria("label", "Change "+called), ui.Text("Change")))
			move := func(word string, to int) ui.Node {
				return ui.ActionForm(v, workflowPath(f.ID)+"/change-step", word, called, ui.Hidden("node", n.ID), ui.Hidden("order", strconv.Itoa(to)))
			}
			if i > 0 {
				change = append(change, move("Move up", i-1))
			}
			if i < len(f.Nodes)-1 {
				change = append(change, move("Move down", i+1))
			}
		}
		if removes {
			change = append(change, ui.ActionForm(v, workflowPath(f.ID)+"/remove-step", "Remove", called, ui.Hidden("node", n.ID)))
		}
		limit := "5 min"
		if n.Config.Timeout > 0 {
			limit = ui.Took(n.Config.Timeout)
		}
		rows = append(rows, ui.Row(ui.Text(strconv.Itoa(i+1)), ui.OptionalText(n.Name), does(n), ui.OptionalCode(n.Config.Cwd), ui.Text(limit), ui.OptionalText(n.When(names)), change))
	}
	return ui.Part("Steps", s.Calls.PolicyNotice(ctx, v, "Changing steps", "add_workflow_step"), ui.DataTable("steps in order", []string{"Step", "Name", "Command", "Directory", "Timeout", "Conditions", "Actions"}, rows, "No steps yet."))
}

// stepPath returns the path of the form that changes a step.
func stepPath(workflow, step string) string {
	return workflowTab(workflow, tabSteps) + "&step=" + url.QueryEscape(step) + "#change-step"
}

// toolChangeStep is the tool that changes and moves steps.
const toolChangeStep = "change_workflow_step"

// The values of the field for what a step waits for.
const (
	waitsForAll  = ""
	waitsForNone = "none"
	waitsForSome = "some"
)

// changingStep returns the form that changes the step that the query names.
func (s *workflowSection) changingStep(r *http.Request, v httpauth.Identity, f flow) ui.Node {
	at := slices.IndexFunc(f.Nodes, func(n present.Step) bool { return n.ID == r.URL.Query().Get("step") })
	if at < 0 || !s.Calls.Serves(v, toolChangeStep) {
		return nil
	}
	n := f.Nodes[at]
	limit := ""
	if n.Config.Timeout > 0 {
		limit = strconv.FormatInt(n.Config.Timeout/1000, 10)
	}
	form := ui.Group{ui.Hidden("node", n.ID), ui.Hidden("whole", "true"), ui.Field("change-name", "name", "Step name", n.Name, ui.Required())}
	if n.Starts() == "" {
		form = append(form, ui.Field("change-command", "command", "Command", n.Config.Command, ui.Required()),
			ui.Field("change-cwd", "cwd", "Directory in the project (default: project root)", n.Config.Cwd),
			ui.NumberField("change-timeout", "timeout", "Timeout in seconds (empty: no change)", limit))
	}
	form = append(form, s.when("change", f, at, n), ui.SubmitButton("Save step"))
	return ui.Group{ui.Div(ui.ID("change-step")), ui.Panel("Change step "+ui.Printable(n.Name), ui.PostForm(v, workflowPath(f.ID)+"/change-step", form))}
}

// when returns the fields for the conditions and retries of step n at that index.
func (s *workflowSection) when(form string, f flow, at int, n present.Step) ui.Node {
	waits := waitsForAll
	switch {
	case len(n.Config.Needs) > 0:
		waits = waitsForSome
	case n.Config.Needs != nil:
		waits = waitsForNone
	}
	out := ui.Group{ui.SelectField(form+"-waits", "waits", "Start", waits, ui.Choice{Value: waitsForAll, Text: "after all earlier steps"},
		ui.Choice{Value: waitsForNone, Text: "immediately"}, ui.Choice{Value: waitsForSome, Text: "after the steps selected below"})}
	for i, before := range f.Nodes[:at] {
		out = append(out, ui.CheckboxField(form+"-needs-"+strconv.Itoa(i), "needs-"+before.ID, "After step "+strconv.Itoa(i+1)+", "+ui.Printable(before.Name), slices.Contains(n.Config.Needs, before.ID)))
	}
	if n.Starts() != "" {
		return out
	}
	again := ""
	if n.Config.Retry > 0 {
		again = strconv.Itoa(n.Config.Retry)
	}
	delay := ""
	if n.Config.RetryDelay > 0 {
		delay = strconv.FormatInt(n.Config.RetryDelay, 10)
	}
	return append(out, ui.NumberField(form+"-retry", "retry", "Retries after a failure (default 0)", again),
		ui.NumberField(form+"-delay", "delay", "Delay before a retry in milliseconds (default 1000)", delay),
		ui.Field(form+"-files", "files", "Skip while these files are unchanged (patterns separated by spaces, optional)", strings.Join(n.Config.Files, " ")))
}

// chosenWhen adds the values of those fields to the arguments of a call; all of them, if whole is true.
func chosenWhen(r *http.Request, args ui.Args, whole bool) ui.Args {
	set := map[string]any{}
	switch r.PostFormValue("waits") {
	case waitsForNone:
		set["needs"] = []string{}
	case waitsForSome:
		needs := []string{}
		for name := range r.PostForm {
			if id, is := strings.CutPrefix(name, "needs-"); is {
				needs = append(needs, id)
			}
		}
		slices.Sort(needs)
		set["needs"] = needs
	default:
		if whole {
			set["needs_all"] = true
		}
	}
	if r.PostForm.Has("files") { // a step that starts a workflow has none
		for field, name := range map[string]string{"retry": "retry", "delay": "retry_delay_ms"} {
			if n, err := strconv.ParseInt(r.PostFormValue(field), 10, 64); err == nil {
				set[name] = n
			} else if whole {
				set[name] = 0
			}
		}
		if files := strings.Fields(r.PostFormValue("files")); len(files) > 0 || whole {
			set["files"] = append([]string{}, files...)
		}
	}
	if len(set) > 0 {
		args["settings"] = set
	}
	return args
}

func (s *workflowSection) changeStep(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	id := r.PathValue("id")
	args := ui.Args{"workflow_id": id, "node_id": r.PostFormValue("node")}.Number("order", r.PostFormValue("order"))
	title := "Move step"
	if r.PostFormValue("whole") != "" {
		title = "Change step " + ui.Printable(r.PostFormValue("name"))
		args = chosenWhen(r, args.Set("name", r.PostFormValue("name")).Set("command", r.PostFormValue("command")).Number("timeout", ui.Milliseconds(r.PostFormValue("timeout"))), true)
		if r.PostForm.Has("cwd") {
			args["cwd"] = r.PostFormValue("cwd")
		}
	}
	s.Calls.Do(w, r, v, ui.Task{Title: title, Tool: toolChangeStep, Args: args, Back: workflowTab(id, tabSteps)})
}

// inputs returns the fields for the inputs of an execution.
func inputs(f flow) ui.Node {
	var out ui.Group
	for _, in := range f.Inputs {
		id, name, preset := "input-"+in.Name, "input-"+in.Name, ui.Deref(in.Default)
		label := ui.Printable(in.Name) + " (" + in.Takes() + ")"
		if in.Description != "" {
			label = ui.Printable(in.Description) + ": " + label
		}
		var choices []ui.Choice
		switch in.Type {
		case "boolean":
			choices = []ui.Choice{{Value: "false", Text: "false"}, {Value: "true", Text: "true"}}
		case "choice":
			for _, c := range in.Choices {
				choices = append(choices, ui.Choice{Value: c, Text: ui.Printable(c)})
			}
		}
		if choices != nil {
			out = append(out, ui.SelectField(id, name, label, preset, choices...))
		} else {
			out = append(out, ui.Field(id, name, label, preset))
		}
	}
	return out
}

// settingInputs returns the inputs, and the form that adds or replaces one.
func (s *workflowSection) settingInputs(v httpauth.Identity, f flow) ui.Node {
	changes := s.Calls.Serves(v, "workflow_change")
	to := workflowPath(f.ID) + "/inputs"
	var rows []ui.Node
	for _, in := range f.Inputs {
		preset := "(required)"
		if in.Default != nil {
			preset = *in.Default
		}
		var remove ui.Node
		if changes {
			remove = ui.ActionForm(v, to, "Remove", "input "+ui.Printable(in.Name), ui.Hidden("name", in.Name), ui.Hidden("remove", "true"))
		}
		rows = append(rows, ui.Row(ui.OptionalText(in.Name), ui.Text(ui.Printable(in.Takes())), ui.OptionalText(preset), ui.OptionalText(in.Description), remove))
	}
	list := ui.Part("Inputs", ui.P(ui.Class("quiet"), ui.Text("Values that you can set for an execution. Steps read them from environment variables of the same name.")),
		ui.DataTable("inputs", []string{"Name", "Type", "Default", "Description", "Actions"}, rows, "No inputs."))
	if !changes {
		return list
	}
	return ui.Group{list, ui.Panel("Add or replace input", ui.PostForm(v, to, ui.Field("new-input-name", "name", "Name (of the environment variable)", "", ui.Required()),
		ui.SelectField("new-input-type", "type", "Type", "", ui.Choice{Value: "", Text: "text"}, ui.Choice{Value: "number", Text: "number"}, ui.Choice{Value: "boolean", Text: "true or false"}, ui.Choice{Value: "choice", Text: "choice (listed below)"}),
		ui.TextareaField("new-input-choices", "choices", "Choices, one per line", ""),
		ui.CheckboxField("new-input-optional", "optional", "Optional (the default below is used)", false), ui.Field("new-input-default", "default", "Default (optional)", ""),
		ui.Field("new-input-description", "description", "Description (optional)", ""), ui.SubmitButton("Save input")))}
}

func (s *workflowSection) setInputs(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	f, err := s.find(r, v)
	if err != nil {
		s.Fail(w, v, err)
		return
	}
	in := present.WorkflowInput{Name: strings.TrimSpace(r.PostFormValue("name")), Type: r.PostFormValue("type"), Choices: ui.Lines(r.PostFormValue("choices")),
		Description: strings.TrimSpace(r.PostFormValue("description"))}
	if preset := r.PostFormValue("default"); preset != "" || r.PostFormValue("optional") == "true" {
		in.Default = &preset
	}
	all, title := append([]present.WorkflowInput{}, f.Inputs...), "Save input "+ui.Printable(in.Name)
	place := slices.IndexFunc(all, func(have present.WorkflowInput) bool { return have.Name == in.Name })
	switch {
	case r.PostFormValue("remove") == "true":
		title = "Remove input " + ui.Printable(in.Name)
		all = slices.DeleteFunc(all, func(have present.WorkflowInput) bool { return have.Name == in.Name })
	case place >= 0:
		all[place] = in
	default:
		all = append(all, in)
	}
	s.Calls.Do(w, r, v, ui.Task{Title: title, Tool: "workflow_change", Args: ui.Args{"workflow_id": f.ID, "inputs": all}, Back: workflowTab(f.ID, tabInputs)})
}

// running returns the form that runs the workflow.
func (s *workflowSection) running(r *http.Request, v httpauth.Identity, f flow) ui.Node {
	if len(f.Nodes) == 0 {
		return nil
	}
	all, _ := s.projects(r.Context(), v)
	here := "the workflow's project"
	if f.Project == "" {
		here = "none (each step names a directory)"
	}
	choices := []ui.Choice{{Value: "", Text: here}}
	for _, p := range all {
		if string(p.ID) != f.Project {
			choices = append(choices, ui.Choice{Value: p.Path, Text: ui.Printable(p.Name)})
		}
	}
	return ui.Panel("Run", s.Calls.PolicyNotice(r.Context(), v, "Run this workflow", "run_workflow"), ui.PostForm(v, workflowPath(f.ID)+"/run", ui.Hidden("name", f.Name),
		ui.SelectField("project_path", "project_path", "Default directory of steps", "", choices...), inputs(f), forcing(f), ui.Div(ui.Class("buttons"), ui.Primary("Run workflow"))))
}

// forcing returns the checkbox that also runs steps whose files are unchanged; nil if no step names files.
func forcing(f flow) ui.Node {
	if !slices.ContainsFunc(f.Nodes, func(n present.Step) bool { return len(n.Config.Files) > 0 }) {
		return nil
	}
	return ui.CheckboxField("force", "force", "Also run steps whose input files are unchanged", false)
}

func (s *workflowSection) run(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	id, values := r.PathValue("id"), map[string]string{}
	args := ui.Args{"workflow_id": id}.Set("project_path", r.PostFormValue("project_path")).Flag("force", r.PostFormValue("force"))
	for name := range r.PostForm {
		if input, is := strings.CutPrefix(name, "input-"); is && r.PostFormValue(name) != "" {
			values[input] = r.PostFormValue(name)
		}
	}
	if len(values) > 0 {
		args["inputs"] = values
	}
	s.Calls.Do(w, r, v, ui.Task{Title: "Run workflow " + ui.Printable(r.PostFormValue("name")), Tool: "run_workflow",
		Args: args, Back: workflowPath(id), Watch: s.watch(v, id), Show: ran})
}

// adding returns the forms that add steps, filled from the chosen template.
func (s *workflowSection) adding(r *http.Request, v httpauth.Identity, f flow) ui.Node {
	chosen, choices := s.chosen(r, v)
	places := []ui.Choice{{Value: "", Text: "at the end"}}
	for i, n := range f.Nodes {
		places = append(places, ui.Choice{Value: strconv.Itoa(i), Text: fmt.Sprintf("before step %d, %s", i+1, ui.Printable(n.Name))})
	}
	body := ui.Group{
		ui.Search(workflowPath(f.ID), ui.Hidden(ui.TabParam, tabSteps), ui.SelectField("template", "template", "Template", chosen.ID, choices...), ui.SubmitButton("Use template")),
		ui.PostForm(v, workflowPath(f.ID)+"/steps", ui.Field("step-name", "name", "Step name", chosen.Name, ui.Required()),
			ui.Field("step-command", "command", "Command ({pm}: the project's package manager)", chosen.Command, ui.Required()),
			ui.Field("step-cwd", "cwd", "Directory in the project (default: project root)", ""), ui.SelectField("step-order", "order", "Position", "", places...),
			ui.NumberField("step-timeout", "timeout", "Timeout in seconds (default 300)", ""),
			ui.Disclosure("Conditions and retries", false, s.when("step", f, len(f.Nodes), present.Step{})), ui.SubmitButton("Add step"))}
	if s.Calls.Serves(v, "workflow_trigger_add") {
		if all, err := s.listed(r.Context(), v, ""); err == nil {
			body = append(body, s.triggering(v, f, all, places))
		}
	}
	return ui.Panel("Add step", body)
}

// triggering returns the form that adds another workflow as a step.
func (s *workflowSection) triggering(v httpauth.Identity, f flow, all []workflowItem, places []ui.Choice) ui.Node {
	var others []ui.Choice
	for _, w := range all {
		if w.ID != f.ID {
			others = append(others, ui.Choice{Value: w.ID, Text: ui.Printable(w.Name)})
		}
	}
	if len(others) == 0 {
		return nil
	}
	return ui.Disclosure("Add workflow as a step …", false, ui.PostForm(v, workflowPath(f.ID)+"/triggers", ui.Field("trigger-name", "name", "Step name", "", ui.Required()),
		ui.SelectField("trigger-target", "target", "Workflow", "", others...), ui.SelectField("trigger-order", "order", "Position", "", places...),
		ui.CheckboxField("trigger-nowait", "nowait", "Run last, ignore the result", false),
		ui.CheckboxField("trigger-continue", "continue", "Continue on failure", false), ui.SubmitButton("Add workflow as a step")))
}

func (s *workflowSection) addStep(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	id, name := r.PathValue("id"), r.PostFormValue("name")
	args := ui.Args{"workflow_id": id, "name": name, "command": r.PostFormValue("command")}.Set("cwd", r.PostFormValue("cwd")).
		Number("order", r.PostFormValue("order")).Number("timeout", ui.Milliseconds(r.PostFormValue("timeout")))
	args = chosenWhen(r, args, false)
	s.Calls.Do(w, r, v, ui.Task{Title: "Add step " + ui.Printable(name), Tool: "add_workflow_step", Args: args, Back: workflowTab(id, tabSteps)})
}

func (s *workflowSection) addTrigger(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	id, name := r.PathValue("id"), r.PostFormValue("name")
	args := ui.Args{"workflow_id": id, "name": name, "target_workflow_id": r.PostFormValue("target")}.Number("order", r.PostFormValue("order")).
		Flag("no_wait", r.PostFormValue("nowait")).Flag("continue_on_failure", r.PostFormValue("continue"))
	s.Calls.Do(w, r, v, ui.Task{Title: "Add step " + ui.Printable(name), Tool: "workflow_trigger_add", Args: args, Back: workflowTab(id, tabSteps)})
}

func (s *workflowSection) removeStep(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	id := r.PathValue("id")
	s.Calls.Do(w, r, v, ui.Task{Title: "Remove step", Tool: "workflow_step_remove", Args: ui.Args{"workflow_id": id, "node_id": r.PostFormValue("node")}, Back: workflowTab(id, tabSteps)})
}

// changing returns the tab that renames and deletes the workflow; nil if that is not enabled.
func (s *workflowSection) changing(v httpauth.Identity, f flow) func() ui.Node {
	if !s.Calls.Serves(v, "workflow_change") {
		return nil
	}
	kept := ""
	if f.History > 0 {
		kept = strconv.Itoa(f.History)
	}
	return func() ui.Node {
		return ui.Group{ui.Panel("General", ui.PostForm(v, workflowPath(f.ID)+"/change", ui.Field("name", "name", "Workflow name", f.Name),
			ui.Field("description", "description", "Description", f.Description), ui.NumberField("history", "history", "Executions to keep (default 50)", kept),
			ui.SubmitButton("Save workflow"))),
			ui.DangerPanel("Delete workflow", ui.P(ui.Text("Deletes the workflow with its steps and webhooks. Its executions are kept.")),
				ui.PostForm(v, workflowPath(f.ID)+"/remove", ui.Hidden("name", f.Name), ui.Danger("Delete workflow", ui.Aria("label", "Delete workflow "+ui.Printable(f.Name)))))}
	}
}

func (s *workflowSection) change(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	id := r.PathValue("id")
	args := ui.Args{"workflow_id": id}.Set("name", r.PostFormValue("name")).Set("description", r.PostFormValue("description")).Number("max_history", r.PostFormValue("history"))
	s.Calls.Do(w, r, v, ui.Task{Title: "Save workflow", Tool: "workflow_change", Args: args, Back: workflowTab(id, tabSettings)})
}

func (s *workflowSection) remove(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.Calls.Do(w, r, v, ui.Task{Title: "Delete workflow " + ui.Printable(r.PostFormValue("name")), Tool: "workflow_remove",
		Args: ui.Args{"workflow_id": r.PathValue("id")}, Back: WorkflowListPath})
}
