package flowpages

import (
	"net/http"
	"net/url"

	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/page"
	"github.com/countersign-dev/countersign/adapters/console/sectionpage"
	"github.com/countersign-dev/countersign/adapters/console/work"
	"github.com/countersign-dev/countersign/adapters/httpguard"
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

func (s *Section) read(r *http.Request, v httpguard.Visitor, args sectionpage.Args) (all []template, err error) {
	var answer struct {
		Templates []template `json:"templates"`
	}
	err = s.Desk.Read(r.Context(), v, "list_step_templates", args, &answer)
	return answer.Templates, err
}

// chosen is the template that the address names, and the choice there is.
func (s *Section) chosen(r *http.Request, v httpguard.Visitor) (chosen template, choices []page.Choice) {
	choices = []page.Choice{{Value: "", Text: "none"}}
	all, err := s.read(r, v, sectionpage.Args{})
	if err != nil { // then there is no choice
		return chosen, choices
	}
	for _, t := range all {
		choices = append(choices, page.Choice{Value: t.ID, Text: page.Printable(t.Category + ": " + t.Name)})
		if t.ID == r.URL.Query().Get("template") {
			chosen = t
		}
	}
	return chosen, choices
}

// categories are those that templates have.
func categories() []page.Choice {
	choices := []page.Choice{{Value: "", Text: "all"}}
	for _, c := range []string{"package-manager", "git", "docker", "shell", "testing", "code-quality", "kubernetes", "database", "cloud", "ai", "security", "nodejs", "custom"} {
		choices = append(choices, page.Choice{Value: c, Text: c})
	}
	return choices
}

func (s *Section) templates(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	q := r.URL.Query()
	all, err := s.read(r, v, sectionpage.Args{}.Set("query", q.Get("q")).Set("category", q.Get("category")))
	if err != nil {
		s.Fail(w, v, err)
		return
	}
	removes := s.Desk.Serves(v, "step_template_remove")
	var rows []markup.Node
	for _, t := range all {
		var remove markup.Node
		if t.Own && removes {
			remove = page.Deed(v, Templates+"/"+url.PathEscape(t.ID)+"/remove", "Remove", "template "+page.Printable(t.Name))
		}
		rows = append(rows, page.Row(sectionpage.Text(t.Name), sectionpage.Text(t.Category), markup.Group{sectionpage.Code(t.Command), page.Text(" "), page.Risk(t.Risk)}, sectionpage.Text(t.Description), remove))
	}
	s.Show(w, r, v, page.Page{Title: "Step templates", Crumbs: crumbs(""), Body: []markup.Node{
		page.Search(Templates, page.Field("q", "q", "Find", q.Get("q")), page.Select("category", "category", "Category", q.Get("category"), categories()...), page.Button("Find")),
		page.Table("step templates", []string{"Name", "Category", "Command", "Description", "Change"}, rows, "There is no such template."),
		page.Part("Store a template of your own", page.Form(v, Templates, page.Field("template-name", "name", "Name of the template", "", markup.Required()),
			page.Field("template-command", "command", "Command (may hold {pm} and <placeholders>)", "", markup.Required()),
			page.Select("template-category", "category", "Category of the template", "custom", categories()[1:]...), page.Field("template-description", "description", "Description (may be empty)", ""),
			page.Button("Store")))}})
}

func (s *Section) createTemplate(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	name := r.PostFormValue("name")
	args := sectionpage.Args{"name": name, "command": r.PostFormValue("command")}.Set("category", r.PostFormValue("category")).Set("description", r.PostFormValue("description"))
	s.Desk.Do(w, r, v, work.Task{Title: "Store template " + page.Printable(name), Tool: "create_step_template", Args: args, Back: Templates})
}

func (s *Section) removeTemplate(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	s.Desk.Do(w, r, v, work.Task{Title: "Remove a template", Tool: "step_template_remove", Args: sectionpage.Args{"templateId": r.PathValue("id")}, Back: Templates})
}
