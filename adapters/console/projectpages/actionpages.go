package projectpages

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/app/projects"
)

// ActionsPath is the path of the list of actions.
const ActionsPath = "/projects/actions"

// actionSection is the pages of actions.
type actionSection struct{ ui.SectionBase }

// NewActionSection returns the pages, as part of the section of projects.
func NewActionSection(of ui.SectionBase) *actionSection { return &actionSection{of} }

// Mount adds the pages to a mux, through what lets users in.
func (s *actionSection) Mount(mux *http.ServeMux, person func(httpauth.Handler) http.Handler) {
	s.SectionBase.Mount(mux, person, ui.Handlers{
		"GET " + ActionsPath:                   s.list,
		"POST " + ActionsPath:                  s.save,
		"POST " + ActionsPath + "/rule":        s.setRule,
		"GET " + ActionsPath + "/{id}":         s.show,
		"POST " + ActionsPath + "/{id}/run":    s.run,
		"POST " + ActionsPath + "/{id}/switch": s.turn,
		"POST " + ActionsPath + "/{id}/rule":   s.setRule,
		"POST " + ActionsPath + "/{id}/remove": s.remove,
		"GET " + ExecutionsPath:                s.history,
		"GET " + ExecutionsPath + "/{id}":      s.execution,
	})
}

// ActionPath returns the page of an action.
func ActionPath(id string) string { return ActionsPath + "/" + url.PathEscape(id) }

// action is a stored action.
type action struct{ present.Action }

func (a action) state() ui.Node {
	if a.Enabled {
		return ui.Badge(ui.Good, "Enabled")
	}
	return ui.Badge(ui.Plain, "Disabled")
}

func (s *actionSection) listed(ctx context.Context, v httpauth.Identity, args ui.Args) ([]action, error) {
	var answer struct {
		Actions []action `json:"actions"`
	}
	err := s.Calls.Read(ctx, v, "list_actions", args, &answer)
	return answer.Actions, err
}

func table(all []action) ui.Node {
	var rows []ui.Node
	for _, a := range all {
		rows = append(rows, ui.Row(ui.LinkTo(ActionPath(a.ID), ui.Printable(a.Name)), ui.Text(a.Type), ui.OptionalCode(a.Does()), a.state(), ui.OptionalText(a.Description)))
	}
	return ui.DataTable("actions", []string{"Name", "Type", "Command or request", "Status", "Description"}, rows,
		"No actions. An action is a stored program, webhook or workflow.")
}

// ActionsPart returns the tab of a project's actions, which includes those of no project.
func ActionsPart(of ui.SectionBase, r *http.Request, v httpauth.Identity, project known) ui.Node {
	all, err := NewActionSection(of).listed(r.Context(), v, ui.Args{"projectId": project.ID})
	if err != nil {
		return ui.Part("Actions and webhooks", ui.ErrorNotice(err))
	}
	s := NewActionSection(of)
	return ui.Group{ui.Part("Actions and webhooks", table(all)), s.saving(r, v, ui.TabPath(projectPath(project.ID), tabActions), func(string) ui.Node { return ui.Hidden("project", project.ID) })}
}

func crumbs(of ...ui.PageLink) []ui.PageLink {
	return append([]ui.PageLink{{Text: "Projects", Href: ProjectsPath}}, of...)
}

func (s *actionSection) list(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	all, err := s.listed(r.Context(), v, ui.Args{}.Set("actionType", r.URL.Query().Get("type")))
	if err != nil {
		s.Fail(w, v, err)
		return
	}
	s.Show(w, r, v, ui.Page{Title: "Actions and webhooks", Crumbs: crumbs(), Live: []string{"ai-tool-result"}, Body: []ui.Node{
		ui.Search(ActionsPath, ui.SelectField("type", "type", "Type", r.URL.Query().Get("type"), kinds("all")...), ui.SubmitButton("Filter")), table(all),
		s.saving(r, v, ActionsPath, func(prefix string) ui.Node {
			return ui.SelectField(prefix+"-project", "project", "Project", "", s.projectChoices(r.Context(), v)...)
		}), s.rules(r.Context(), v)}})
}

// projectChoices returns the registered projects to choose from, after none.
func (s *actionSection) projectChoices(ctx context.Context, v httpauth.Identity) []ui.Choice {
	choices := []ui.Choice{{Value: "", Text: "none"}}
	all, _ := NewWorkflowSection(s.SectionBase).projects(ctx, v)
	for _, p := range all {
		choices = append(choices, ui.Choice{Value: string(p.ID), Text: ui.Printable(p.Name)})
	}
	return choices
}

// kinds returns the types of actions to choose from, after the word for none.
func kinds(none string) []ui.Choice {
	return []ui.Choice{{Value: "", Text: none}, {Value: present.TypeScript, Text: "programs"}, {Value: present.TypeWebhook, Text: "webhooks"}, {Value: present.TypeWorkflow, Text: "workflows"}}
}

// levels returns the levels of a rule to choose from.
func levels() []ui.Choice {
	return []ui.Choice{{Value: "require_confirm", Text: "always ask"}, {Value: "auto_approve", Text: "run without asking"}, {Value: "deny", Text: "never run"}, {Value: "", Text: "no rule"}}
}

// level returns the text of a rule's level.
func level(word string) string {
	for _, l := range levels() {
		if l.Value == word {
			return l.Text
		}
	}
	return word
}

// rules returns the rules for actions, and the form that sets the rule for a type.
func (s *actionSection) rules(ctx context.Context, v httpauth.Identity) ui.Node {
	var answer projects.Permissions
	if err := s.Calls.Read(ctx, v, projects.GetPermissions.Name, nil, &answer); err != nil {
		return ui.Part("Rules", ui.ErrorNotice(err))
	}
	var rows []ui.Node
	for _, one := range answer.Rules {
		of := ui.Text("all actions")
		switch {
		case one.ActionID != "":
			of = ui.LinkTo(ActionPath(one.ActionID), one.ActionID)
		case one.Type != "":
			of = ui.Text("all actions of type " + string(one.Type))
		}
		rows = append(rows, ui.Row(of, ui.Text(level(string(one.Level))), ui.When(one.CreatedAt)))
	}
	table := ui.DataTable("rules", []string{"Actions", "Rule", "Since"}, rows, "No rules. Every action asks.")
	if !s.Calls.Serves(v, "action_rule_set") {
		return ui.Part("Rules", table)
	}
	return ui.Part("Rules", table, ui.Disclosure("Set rule for a type …", false, ui.PostForm(v, ActionsPath+"/rule", ui.SelectField("rule-type", "type", "Actions of type", "", kinds("all")...),
		ui.SelectField("rule-level", "level", "Rule", "require_confirm", levels()...), ui.SubmitButton("Set rule"))))
}

func (s *actionSection) setRule(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	args, back := ui.Args{}.Set("actionType", r.PostFormValue("type")).Set("permissionLevel", r.PostFormValue("level")), ActionsPath
	if id := r.PathValue("id"); id != "" {
		args["actionId"], back = id, ui.TabPath(ActionPath(id), tabSettings)
	}
	s.Calls.Do(w, r, v, ui.Task{Title: "Set rule", Tool: "action_rule_set", Args: args, Back: back})
}

// decode reads a JSON document.
func decode(doc json.RawMessage, into any) error { return json.Unmarshal(doc, into) }
