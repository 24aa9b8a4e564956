package projectpages

import (
	"encoding/json"
	"net/http"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/app/projects"
)

// states returns those that an execution may be in.
func states() []ui.Choice {
	return []ui.Choice{{Value: "", Text: "any"}, {Value: "running", Text: "running"}, {Value: "completed", Text: "completed"}, {Value: "failed", Text: "failed"}, {Value: "cancelled", Text: "cancelled"},
		{Value: "timed_out", Text: "timed out"}, {Value: "pending_confirm", Text: "waits to be confirmed"}, {Value: "denied", Text: "denied"}}
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
	limits := []ui.Choice{{Value: "", Text: "the last 20"}, {Value: "50", Text: "the last 50"}, {Value: "200", Text: "the last 200"}}
	var more ui.Node
	if answer.More {
		more = ui.P(ui.Class("quiet"), ui.Text(ui.Count(answer.Total, "execution", "executions")+" in all; not all are shown."))
	}
	s.Show(w, r, v, ui.Page{Title: "History", Crumbs: crumbs(), Live: []string{"ai-tool-state", "ai-tool-result"}, Body: []ui.Node{
		ui.Search(ExecutionsPath, ui.SelectField("type", "type", "What", q.Get("type"), kinds("everything")...), ui.SelectField("state", "state", "State", q.Get("state"), states()...),
			ui.SelectField("limit", "limit", "How many", q.Get("limit"), limits...), ui.SubmitButton("Show")),
		ExecutionTable("what was run, the last first", answer.Executions, "Nothing of that kind was run."), more}})
}

func (s *actionSection) execution(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	id := r.PathValue("id")
	var doc json.RawMessage
	if err := s.Calls.Read(r.Context(), v, "get_execution_status", ui.Args{"executionId": id}, &doc); err != nil {
		s.Fail(w, v, err)
		return
	}
	p := ui.Page{Title: "Execution", Crumbs: crumbs(ui.PageLink{Text: "History", Href: ExecutionsPath})}
	var e projects.Execution
	if decode(doc, &e) != nil || e.Kind == "" { // a call, or a process
		p.Title, p.Live, p.Body = "Call "+ui.Printable(id), []string{"ai-tool-state", "ai-tool-result"}, []ui.Node{ui.JSONValue(doc)}
		s.Show(w, r, v, p)
		return
	}
	p.Title = ui.Printable(string(e.Kind) + " " + e.Name)
	p.Body = []ui.Node{ui.Facts(ui.Fact{Name: "State", Value: StatusBadge(string(e.Status))}, ui.Fact{Name: "Started", Value: ui.When(e.StartedAt)},
		ui.Fact{Name: "Took", Value: ui.OptionalText(ui.Took(e.DurationMS))}, ui.Fact{Name: "Asked for by", Value: ui.OptionalText(startedBy(e))},
		ui.Fact{Name: "Why it ended so", Value: ui.OptionalText(e.Error)}, ui.Fact{Name: "Of", Value: subject(e)}), given(e.Parameters), stepTable(e)}
	if isGoing(e) {
		p.Live = []string{"tick"}
		p.Body = append(p.Body, printing(r.Context(), s.Calls, v, e))
	}
	p.Body = append(p.Body, StoredResult(e.Result), keptOutput(e))
	s.Show(w, r, v, p)
}

// subject returns the way to what was carried out.
func subject(e projects.Execution) ui.Node {
	switch {
	case e.WorkflowID != "":
		return ui.LinkTo(workflowPath(e.WorkflowID), "its workflow")
	case e.ActionID != "":
		return ui.LinkTo(ActionPath(e.ActionID), "its action")
	}
	return nil
}

func given(parameters json.RawMessage) ui.Node {
	if len(parameters) == 0 {
		return nil
	}
	return ui.Disclosure("What it was given", false, ui.JSONValue(parameters))
}
