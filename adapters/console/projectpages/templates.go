package projectpages

import (
	"net/http"
	"net/url"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
)

// template is a template for steps.
type template struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Command     string `json:"command"`
	Category    string `json:"category"`
	Description string `json:"description"`
	Own         bool   `json:"isCustom"`
	Risk        string `json:"risk"`
}

func (s *workflowSection) read(r *http.Request, v httpauth.Identity, args ui.Args) (all []template, err error) {
	var answer struct {
		Templates []template `json:"templates"`
	}
	err = s.Calls.Read(r.Context(), v, "list_step_templates", args, &answer)
	return answer.Templates, err
}

// chosen returns the template that the query names, and the templates to choose from.
func (s *workflowSection) chosen(r *http.Request, v httpauth.Identity) (chosen template, choices []ui.Choice) {
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

// categories returns the categories of templates to choose from.
func categories() []ui.Choice {
	choices := []ui.Choice{{Value: "", Text: "all"}}
	for _, c := range []string{"package-manager", "git", "docker", "shell", "testing", "code-quality", "kubernetes", "database", "cloud", "ai", "security", "nodejs", "custom"} {
		choices = append(choices, ui.Choice{Value: c, Text: c})
	}
	return choices
}

func (s *workflowSection) templates(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	q := r.URL.Query()
	all, err := s.read(r, v, ui.Args{}.Set("query", q.Get("q")).Set("category", q.Get("category")))
	if err != nil {
		s.Fail(w, v, err)
		return
	}
	removes := s.Calls.Serves(v, "step_template_remove")
	var rows []ui.Node
	for _, t := range all {
		var remove ui.Node
		if t.Own && removes {
			remove = ui.ActionForm(v, TemplatesPath+"/"+url.PathEscape(t.ID)+"/remove", "Remove", "template "+ui.Printable(t.Name))
		}
		rows = append(rows, ui.Row(ui.OptionalText(t.Name), ui.OptionalText(t.Category), ui.Group{ui.OptionalCode(t.Command), ui.Text(" "), ui.Risk(t.Risk)}, ui.OptionalText(t.Description), remove))
	}
	s.Show(w, r, v, ui.Page{Title: "Step templates", Crumbs: workflowCrumbs(""), Body: []ui.Node{
		ui.Search(TemplatesPath, ui.Field("q", "q", "Find templates", q.Get("q")), ui.SelectField("category", "category", "Category", q.Get("category"), categories()...), ui.SubmitButton("Find")),
		ui.DataTable("step templates", []string{"Name", "Category", "Command", "Description", "Actions"}, rows, "No matching templates."),
		ui.Part("Create template", ui.PostForm(v, TemplatesPath, ui.Field("template-name", "name", "Template name", "", ui.Required()),
			ui.Field("template-command", "command", "Command (can contain {pm} and <placeholders>)", "", ui.Required()),
			ui.SelectField("template-category", "category", "Template category", "custom", categories()[1:]...), ui.Field("template-description", "description", "Description (optional)", ""),
			ui.SubmitButton("Create template")))}})
}

func (s *workflowSection) createTemplate(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	name := r.PostFormValue("name")
	args := ui.Args{"name": name, "command": r.PostFormValue("command")}.Set("category", r.PostFormValue("category")).Set("description", r.PostFormValue("description"))
	s.Calls.Do(w, r, v, ui.Task{Title: "Create template " + ui.Printable(name), Tool: "create_step_template", Args: args, Back: TemplatesPath})
}

func (s *workflowSection) removeTemplate(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.Calls.Do(w, r, v, ui.Task{Title: "Remove template", Tool: "step_template_remove", Args: ui.Args{"templateId": r.PathValue("id")}, Back: TemplatesPath})
}
