package projectpages

import (
	"net/http"
	"net/url"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
)

// template is one that steps can begin with.
type template struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Command     string `json:"command"`
	Category    string `json:"category"`
	Description string `json:"description"`
	Own         bool   `json:"isCustom"`
	Risk        string `json:"risk"`
}

func (s *WorkflowSection) read(r *http.Request, v httpauth.Visitor, args ui.Args) (all []template, err error) {
	var answer struct {
		Templates []template `json:"templates"`
	}
	err = s.Desk.Read(r.Context(), v, "list_step_templates", args, &answer)
	return answer.Templates, err
}

// chosen is the template that the address names, and the choice there is.
func (s *WorkflowSection) chosen(r *http.Request, v httpauth.Visitor) (chosen template, choices []ui.Choice) {
	choices = []ui.Choice{{Value: "", Text: "none"}}
	all, err := s.read(r, v, ui.Args{})
	if err != nil { // then there is no choice
		return chosen, choices
	}
	for _, t := range all {
		choices = append(choices, ui.Choice{Value: t.ID, Text: ui.Printable(t.Category + ": " + t.Name)})
		if t.ID == r.URL.Query().Get("template") {
			chosen = t
		}
	}
	return chosen, choices
}

// categories are those that templates have.
func categories() []ui.Choice {
	choices := []ui.Choice{{Value: "", Text: "all"}}
	for _, c := range []string{"package-manager", "git", "docker", "shell", "testing", "code-quality", "kubernetes", "database", "cloud", "ai", "security", "nodejs", "custom"} {
		choices = append(choices, ui.Choice{Value: c, Text: c})
	}
	return choices
}

func (s *WorkflowSection) templates(w http.ResponseWriter, r *http.Request, v httpauth.Visitor) {
	q := r.URL.Query()
	all, err := s.read(r, v, ui.Args{}.Set("query", q.Get("q")).Set("category", q.Get("category")))
	if err != nil {
		s.Fail(w, v, err)
		return
	}
	removes := s.Desk.Serves(v, "step_template_remove")
	var rows []ui.Node
	for _, t := range all {
		var remove ui.Node
		if t.Own && removes {
			remove = ui.Deed(v, Templates+"/"+url.PathEscape(t.ID)+"/remove", "Remove", "template "+ui.Printable(t.Name))
		}
		rows = append(rows, ui.Row(ui.SectionText(t.Name), ui.SectionText(t.Category), ui.Group{ui.SectionCode(t.Command), ui.PageText(" "), ui.Risk(t.Risk)}, ui.SectionText(t.Description), remove))
	}
	s.Show(w, r, v, ui.Page{Title: "Step templates", Crumbs: workflowCrumbs(""), Body: []ui.Node{
		ui.Search(Templates, ui.Field("q", "q", "Find", q.Get("q")), ui.PageSelect("category", "category", "Category", q.Get("category"), categories()...), ui.PageButton("Find")),
		ui.PageTable("step templates", []string{"Name", "Category", "Command", "Description", "Change"}, rows, "There is no such template."),
		ui.Part("Store a template of your own", ui.PageForm(v, Templates, ui.Field("template-name", "name", "Name of the template", "", ui.Required()),
			ui.Field("template-command", "command", "Command (may hold {pm} and <placeholders>)", "", ui.Required()),
			ui.PageSelect("template-category", "category", "Category of the template", "custom", categories()[1:]...), ui.Field("template-description", "description", "Description (may be empty)", ""),
			ui.PageButton("Store")))}})
}

func (s *WorkflowSection) createTemplate(w http.ResponseWriter, r *http.Request, v httpauth.Visitor) {
	name := r.PostFormValue("name")
	args := ui.Args{"name": name, "command": r.PostFormValue("command")}.Set("category", r.PostFormValue("category")).Set("description", r.PostFormValue("description"))
	s.Desk.Do(w, r, v, ui.Task{Title: "Store template " + ui.Printable(name), Tool: "create_step_template", Args: args, Back: Templates})
}

func (s *WorkflowSection) removeTemplate(w http.ResponseWriter, r *http.Request, v httpauth.Visitor) {
	s.Desk.Do(w, r, v, ui.Task{Title: "Remove a template", Tool: "step_template_remove", Args: ui.Args{"templateId": r.PathValue("id")}, Back: Templates})
}
