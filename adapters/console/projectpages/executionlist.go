package projectpages

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/app/projects"
)

// states returns the statuses of executions to choose from.
func states() []ui.Choice {
	choices := []ui.Choice{{Value: "", Text: "any"}}
	for _, word := range []string{"running", "completed", "failed", "cancelled", "timed_out", "pending_confirm", "denied"} {
		choices = append(choices, ui.Choice{Value: word, Text: statusText(word)})
	}
	return choices
}

func (s *actionSection) history(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	q := r.URL.Query()
	var answer struct {
		Executions []projects.Execution `json:"executions"`
		Total      int                  `json:"total"`
		More       bool                 `json:"hasMore"`
	}
	args := ui.Args{}.Set("actionType", q.Get("type")).Set("status", q.Get("state")).Number("limit", q.Get("limit"))
	if err := s.Calls.Read(r.Context(), v, "list_action_executions", args, &answer); err != nil {
		s.Fail(w, v, err)
		return
	}
	limits := []ui.Choice{{Value: "", Text: "20"}, {Value: "50", Text: "50"}, {Value: "200", Text: "200"}}
	var more ui.Node
	if answer.More {
		more = ui.P(ui.Class("quiet"), ui.Text(fmt.Sprintf("Showing %d of %d executions.", len(answer.Executions), answer.Total)))
	}
	s.Show(w, r, v, ui.Page{Title: "Executions", Crumbs: crumbs(), Live: []string{"ai-tool-state", "ai-tool-result"}, Body: []ui.Node{
		ui.Search(ExecutionsPath, ui.SelectField("type", "type", "Type", q.Get("type"), kinds("all")...), ui.SelectField("state", "state", "Status", q.Get("state"), states()...),
			ui.SelectField("limit", "limit", "Limit", q.Get("limit"), limits...), ui.SubmitButton("Filter")),
		ExecutionTable("executions, newest first", answer.Executions, "No matching executions."), more}})
}

func (s *actionSection) execution(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	id := r.PathValue("id")
	var doc json.RawMessage
	if err := s.Calls.Read(r.Context(), v, "get_execution_status", ui.Args{"executionId": id}, &doc); err != nil {
		s.Fail(w, v, err)
		return
	}
	p := ui.Page{Title: "Execution", Crumbs: crumbs(ui.PageLink{Text: "Executions", Href: ExecutionsPath})}
	var e projects.Execution
	if decode(doc, &e) != nil || e.Kind == "" { // a call, or a process
		p.Title, p.Live, p.Body = "Call "+ui.Printable(id), []string{"ai-tool-state", "ai-tool-result"}, []ui.Node{ui.JSONValue(doc)}
		s.Show(w, r, v, p)
		return
	}
	p.Title = ui.Printable(string(e.Kind) + " " + e.Name)
	p.Body = []ui.Node{ui.Facts(ui.Fact{Name: "Status", Value: StatusBadge(string(e.Status))}, ui.Fact{Name: "Started", Value: ui.When(e.StartedAt)},
		ui.Fact{Name: "Duration", Value: ui.OptionalText(ui.Took(e.DurationMS))}, ui.Fact{Name: "Started by", Value: ui.OptionalText(startedBy(e))},
		ui.Fact{Name: "Reason", Value: ui.OptionalText(e.Error)}, ui.Fact{Name: "Source", Value: subject(e)}), given(e.Parameters), stepTable(e)}
	if isGoing(e) {
		p.Live = []string{"tick"}
		p.Body = append(p.Body, printing(r.Context(), s.Calls, v, e))
	}
	p.Body = append(p.Body, StoredResult(e.Result), keptOutput(e))
	s.Show(w, r, v, p)
}

// subject returns the link to the workflow or action that ran.
func subject(e projects.Execution) ui.Node {
	switch {
	case e.WorkflowID != "":
		return ui.LinkTo(workflowPath(e.WorkflowID), "View workflow")
	case e.ActionID != "":
		return ui.LinkTo(ActionPath(e.ActionID), "View action")
	}
	return nil
}

func given(parameters json.RawMessage) ui.Node {
	if len(parameters) == 0 {
		return nil
	}
	return ui.Disclosure("Parameters", false, ui.JSONValue(parameters))
}
