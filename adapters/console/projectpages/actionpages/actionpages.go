// Package actionpages is the console's pages of stored actions, of the rules that say whether each may run, and of the history of all that was run.
//
// It refuses to make requests and to start programs: what is triggered passes the door, which shows what it would do first.
package actionpages

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/page"
	"github.com/countersign-dev/countersign/adapters/console/projectpages/execview"
	"github.com/countersign-dev/countersign/adapters/console/sectionpage"
	"github.com/countersign-dev/countersign/adapters/console/work"
	"github.com/countersign-dev/countersign/adapters/httpguard"
	"github.com/countersign-dev/countersign/adapters/present/answers"
)

// Root is the path of the list of actions.
const Root = "/projects/actions"

// Section is the pages of actions.
type Section struct{ sectionpage.Section }

// New is the pages, as part of the section of projects.
func New(of sectionpage.Section) *Section { return &Section{of} }

// Mount adds the pages to a mux, through what lets people in.
func (s *Section) Mount(mux *http.ServeMux, person func(httpguard.Handler) http.Handler) {
	s.Section.Mount(mux, person, sectionpage.Handlers{
		"GET " + Root:                          s.list,
		"POST " + Root + "/rule":               s.setRule,
		"GET " + Root + "/{id}":                s.show,
		"POST " + Root + "/{id}/run":           s.run,
		"POST " + Root + "/{id}/switch":        s.turn,
		"POST " + Root + "/{id}/rule":          s.setRule,
		"POST " + Root + "/{id}/remove":        s.remove,
		"GET " + execview.Executions:           s.history,
		"GET " + execview.Executions + "/{id}": s.execution,
	})
}

// Path is the page of an action.
func Path(id string) string { return Root + "/" + url.PathEscape(id) }

// action is a stored action.
type action struct{ answers.Action }

func (a action) state() markup.Node {
	if a.Enabled {
		return page.Badge(page.Good, "on")
	}
	return page.Badge(page.Plain, "off")
}

func (s *Section) listed(ctx context.Context, v httpguard.Visitor, args sectionpage.Args) ([]action, error) {
	var answer struct {
		Actions []action `json:"actions"`
	}
	err := s.Desk.Read(ctx, v, "list_actions", args, &answer)
	return answer.Actions, err
}

func table(all []action) markup.Node {
	var rows []markup.Node
	for _, a := range all {
		rows = append(rows, page.Row(page.To(Path(a.ID), page.Printable(a.Name)), page.Text(a.Type), sectionpage.Code(a.Does()), a.state(), sectionpage.Text(a.Description)))
	}
	return page.Table("actions", []string{"Name", "Type", "What it does", "State", "Description"}, rows,
		"No action is stored. On the command line, countersign action save stores a program, a webhook or a workflow.")
}

// Of is the part of a project's page about its actions, and those of no project.
func Of(of sectionpage.Section, r *http.Request, v httpguard.Visitor, project string) markup.Node {
	all, err := New(of).listed(r.Context(), v, sectionpage.Args{"projectId": project})
	if err != nil {
		return page.Part("Actions and webhooks", sectionpage.Tell(err))
	}
	return page.Part("Actions and webhooks", table(all))
}

func crumbs(of ...page.Link) []page.Link {
	return append([]page.Link{{Text: "Projects", Href: execview.Projects}}, of...)
}

func (s *Section) list(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	all, err := s.listed(r.Context(), v, sectionpage.Args{}.Set("actionType", r.URL.Query().Get("type")))
	if err != nil {
		s.Fail(w, v, err)
		return
	}
	s.Show(w, r, v, page.Page{Title: "Actions and webhooks", Crumbs: crumbs(), Live: []string{"ai-tool-result"}, Body: []markup.Node{
		page.Search(Root, page.Select("type", "type", "Type", r.URL.Query().Get("type"), kinds("all")...), page.Button("Show")), table(all), s.rules(r.Context(), v)}})
}

// kinds is the types of actions to choose from, after the word for none.
func kinds(none string) []page.Choice {
	return []page.Choice{{Value: "", Text: none}, {Value: answers.TypeScript, Text: "programs"}, {Value: answers.TypeWebhook, Text: "webhooks"}, {Value: answers.TypeWorkflow, Text: "workflows"}}
}

// rule is what a person decided for an action, for a type, or for all.
type rule struct {
	Action string    `json:"actionId"`
	Type   string    `json:"actionType"`
	Level  string    `json:"permissionLevel"`
	At     time.Time `json:"createdAt"`
}

// levels are what a rule may say.
func levels() []page.Choice {
	return []page.Choice{{Value: "require_confirm", Text: "always ask"}, {Value: "auto_approve", Text: "run unasked"}, {Value: "deny", Text: "never run"}, {Value: "", Text: "no rule"}}
}

// level is a rule's word for people.
func level(word string) string {
	for _, l := range levels() {
		if l.Value == word {
			return l.Text
		}
	}
	return word
}

// rules is what was decided, and the form that decides for all of a type.
func (s *Section) rules(ctx context.Context, v httpguard.Visitor) markup.Node {
	var answer struct {
		Rules []rule `json:"permissions"`
	}
	if err := s.Desk.Read(ctx, v, "get_action_permissions", nil, &answer); err != nil {
		return page.Part("Rules", sectionpage.Tell(err))
	}
	var rows []markup.Node
	for _, one := range answer.Rules {
		of := page.Text("all actions")
		switch {
		case one.Action != "":
			of = page.To(Path(one.Action), one.Action)
		case one.Type != "":
			of = page.Text("every " + one.Type)
		}
		rows = append(rows, page.Row(of, page.Text(level(one.Level)), page.When(one.At)))
	}
	table := page.Table("rules", []string{"For", "Rule", "Since"}, rows, "There is no rule: every action asks.")
	if !s.Desk.Serves(v, "action_rule_set") {
		return page.Part("Rules", table)
	}
	return page.Part("Rules", table, page.Form(v, Root+"/rule", page.Select("rule-type", "type", "For all", "", kinds("actions")...),
		page.Select("rule-level", "level", "Rule", "require_confirm", levels()...), page.Button("Set rule")))
}

func (s *Section) setRule(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	args, back := sectionpage.Args{}.Set("actionType", r.PostFormValue("type")).Set("permissionLevel", r.PostFormValue("level")), Root
	if id := r.PathValue("id"); id != "" {
		args["actionId"], back = id, Path(id)
	}
	s.Desk.Do(w, r, v, work.Task{Title: "Set the rule", Tool: "action_rule_set", Args: args, Back: back})
}

// decode reads a JSON document.
func decode(doc json.RawMessage, into any) error { return json.Unmarshal(doc, into) }
