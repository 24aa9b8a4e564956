package flowpages

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/page"
	"github.com/countersign-dev/countersign/adapters/console/projectpages/execview"
	"github.com/countersign-dev/countersign/adapters/console/sectionpage"
	"github.com/countersign-dev/countersign/adapters/console/work"
	"github.com/countersign-dev/countersign/adapters/httpguard"
	"github.com/countersign-dev/countersign/adapters/present/answers"
)

func decode(doc json.RawMessage, into any) error { return json.Unmarshal(doc, into) }

// flow is a whole workflow; what its webhooks keep secret is masked.
type flow struct {
	ID          string         `json:"id"`
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Project     string         `json:"projectId"`
	Nodes       []answers.Step `json:"nodes"`
	Webhook     *outgoing      `json:"webhook"`
	Incoming    *incoming      `json:"incomingWebhook"`
	History     int            `json:"maxHistory"`
	Updated     time.Time      `json:"updatedAt"`
	Revision    int64          `json:"revision"`
}

// does is what a step does: its command, or the workflow that it starts.
func does(s answers.Step) markup.Node {
	if starts := s.Starts(); starts != "" {
		return markup.Group{page.Text("starts "), page.To(Path(s.Config.Target), s.Config.Target), page.Text(" (" + starts + ")")}
	}
	return sectionpage.Code(s.Config.Command)
}

func (s *Section) find(r *http.Request, v httpguard.Visitor) (f flow, err error) {
	err = s.Desk.Read(r.Context(), v, "get_workflow", sectionpage.Args{"workflow_id": r.PathValue("id")}, &f)
	return f, err
}

func (s *Section) show(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	f, err := s.find(r, v)
	if err != nil {
		s.Fail(w, v, err)
		return
	}
	past := s.history(r.Context(), v, f.ID)
	p := page.Page{Title: page.Printable(f.Name), Crumbs: crumbs(f.ID), Live: []string{"ai-tool-state", "ai-tool-result"}}
	p.Body = []markup.Node{page.Facts(page.Fact{Name: "Description", Value: sectionpage.Text(f.Description)}, page.Fact{Name: "Project", Value: of(f.Project)},
		page.Fact{Name: "Changed", Value: page.When(f.Updated)})}
	if now, ok := past.going(); ok {
		p.Live = []string{"tick"}
		p.Body = append(p.Body, s.going(r.Context(), v, now.ID), s.steps(v, f), past.table())
		s.Show(w, r, v, p)
		return
	}
	p.Body = append(p.Body, s.running(r, v, f), s.steps(v, f), s.adding(r, v, f), past.table(), s.hooks(v, f), s.changing(v, f))
	s.Show(w, r, v, p)
}

func of(project string) markup.Node {
	if project == "" {
		return page.Text("none: it is global")
	}
	return page.To(execview.ProjectPath(project), "its project")
}

// steps is what the workflow does, in order.
func (s *Section) steps(v httpguard.Visitor, f flow) markup.Node {
	removes := s.Desk.Serves(v, "workflow_step_remove")
	var rows []markup.Node
	for i, n := range f.Nodes {
		var remove markup.Node
		if removes {
			remove = page.Deed(v, Path(f.ID)+"/remove-step", "Remove", "step "+page.Printable(n.Name), page.Hidden("node", n.ID))
		}
		limit := "5 min"
		if n.Config.Timeout > 0 {
			limit = sectionpage.Took(n.Config.Timeout)
		}
		rows = append(rows, page.Row(page.Text(strconv.Itoa(i+1)), sectionpage.Text(n.Name), does(n), sectionpage.Code(n.Config.Cwd), page.Text(limit), remove))
	}
	return page.Part("Steps", page.Table("steps in order", []string{"Step", "Name", "What it does", "Directory", "At most", "Change"}, rows, "It has no steps yet."))
}

// running is the form that runs the workflow.
func (s *Section) running(r *http.Request, v httpguard.Visitor, f flow) markup.Node {
	if len(f.Nodes) == 0 {
		return nil
	}
	all, _ := s.projects(r.Context(), v)
	here := "the workflow's project"
	if f.Project == "" {
		here = "nowhere: each step says where"
	}
	choices := []page.Choice{{Value: "", Text: here}}
	for _, p := range all {
		if p.ID != f.Project {
			choices = append(choices, page.Choice{Value: p.Path, Text: page.Printable(p.Name)})
		}
	}
	return page.Part("Run", page.Form(v, Path(f.ID)+"/run", page.Hidden("name", f.Name),
		page.Select("project_path", "project_path", "Steps that name no directory run in", "", choices...), page.Button("Run workflow")))
}

func (s *Section) run(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	id := r.PathValue("id")
	s.Desk.Do(w, r, v, work.Task{Title: "Run workflow " + page.Printable(r.PostFormValue("name")), Tool: "run_workflow",
		Args: sectionpage.Args{"workflow_id": id}.Set("project_path", r.PostFormValue("project_path")), Back: Path(id), Watch: s.watch(v, id), Show: ran})
}

// adding is the forms that add steps. A template may begin them.
func (s *Section) adding(r *http.Request, v httpguard.Visitor, f flow) markup.Node {
	chosen, choices := s.chosen(r, v)
	places := []page.Choice{{Value: "", Text: "at the end"}}
	for i, n := range f.Nodes {
		places = append(places, page.Choice{Value: strconv.Itoa(i), Text: fmt.Sprintf("before step %d, %s", i+1, page.Printable(n.Name))})
	}
	body := markup.Group{
		page.Search(Path(f.ID), page.Select("template", "template", "Begin with a template", chosen.ID, choices...), page.Button("Fill in")),
		page.Form(v, Path(f.ID)+"/steps", page.Field("step-name", "name", "Name of the step", chosen.Name, markup.Required()),
			page.Field("step-command", "command", "Command ({pm} stands for the project's package manager)", chosen.Command, markup.Required()),
			page.Field("step-cwd", "cwd", "Directory inside the project (empty: the project's)", ""), page.Select("step-order", "order", "Place", "", places...),
			sectionpage.Numeric("step-timeout", "timeout", "End it after so many seconds (empty: 300)", ""), page.Button("Add step"))}
	if s.Desk.Serves(v, "workflow_trigger_add") {
		if all, err := s.listed(r.Context(), v, ""); err == nil {
			body = append(body, s.triggering(v, f, all, places))
		}
	}
	return page.Part("Add a step", body)
}

// triggering is the form that makes another workflow a step of this one.
func (s *Section) triggering(v httpguard.Visitor, f flow, all []item, places []page.Choice) markup.Node {
	var others []page.Choice
	for _, w := range all {
		if w.ID != f.ID {
			others = append(others, page.Choice{Value: w.ID, Text: page.Printable(w.Name)})
		}
	}
	if len(others) == 0 {
		return nil
	}
	return page.Fold("Add another workflow as a step", false, page.Form(v, Path(f.ID)+"/triggers", page.Field("trigger-name", "name", "Name of the step", "", markup.Required()),
		page.Select("trigger-target", "target", "Workflow", "", others...), page.Select("trigger-order", "order", "Place", "", places...),
		page.Check("trigger-nowait", "nowait", "Nobody waits for it: it runs after the other steps", false),
		page.Check("trigger-continue", "continue", "Go on when it fails", false), page.Button("Add workflow as a step")))
}

func (s *Section) addStep(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	id, name := r.PathValue("id"), r.PostFormValue("name")
	args := sectionpage.Args{"workflow_id": id, "name": name, "command": r.PostFormValue("command")}.Set("cwd", r.PostFormValue("cwd")).
		Number("order", r.PostFormValue("order")).Number("timeout", sectionpage.Milliseconds(r.PostFormValue("timeout")))
	s.Desk.Do(w, r, v, work.Task{Title: "Add step " + page.Printable(name), Tool: "add_workflow_step", Args: args, Back: Path(id)})
}

func (s *Section) addTrigger(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	id, name := r.PathValue("id"), r.PostFormValue("name")
	args := sectionpage.Args{"workflow_id": id, "name": name, "target_workflow_id": r.PostFormValue("target")}.Number("order", r.PostFormValue("order")).
		Flag("no_wait", r.PostFormValue("nowait")).Flag("continue_on_failure", r.PostFormValue("continue"))
	s.Desk.Do(w, r, v, work.Task{Title: "Add step " + page.Printable(name), Tool: "workflow_trigger_add", Args: args, Back: Path(id)})
}

func (s *Section) removeStep(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	id := r.PathValue("id")
	s.Desk.Do(w, r, v, work.Task{Title: "Remove a step", Tool: "workflow_step_remove", Args: sectionpage.Args{"workflow_id": id, "node_id": r.PostFormValue("node")}, Back: Path(id)})
}

// changing is the form that renames the workflow, and the button that forgets it.
func (s *Section) changing(v httpguard.Visitor, f flow) markup.Node {
	if !s.Desk.Serves(v, "workflow_change") {
		return nil
	}
	kept := ""
	if f.History > 0 {
		kept = strconv.Itoa(f.History)
	}
	return markup.Group{page.Part("Change", page.Form(v, Path(f.ID)+"/change", page.Field("name", "name", "Name of the workflow", f.Name),
		page.Field("description", "description", "Description", f.Description), sectionpage.Numeric("history", "history", "How many runs are kept (empty: 50)", kept),
		page.Button("Save"))),
		page.Part("Remove", page.Form(v, Path(f.ID)+"/remove", page.Hidden("name", f.Name), page.Danger("Remove workflow", markup.Aria("label", "Remove workflow "+page.Printable(f.Name))),
			markup.P(markup.Class("quiet"), page.Text("Its history stays."))))}
}

func (s *Section) change(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	id := r.PathValue("id")
	args := sectionpage.Args{"workflow_id": id}.Set("name", r.PostFormValue("name")).Set("description", r.PostFormValue("description")).Number("max_history", r.PostFormValue("history"))
	s.Desk.Do(w, r, v, work.Task{Title: "Change the workflow", Tool: "workflow_change", Args: args, Back: Path(id)})
}

func (s *Section) remove(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	s.Desk.Do(w, r, v, work.Task{Title: "Remove workflow " + page.Printable(r.PostFormValue("name")), Tool: "workflow_remove",
		Args: sectionpage.Args{"workflow_id": r.PathValue("id")}, Back: Root})
}
