package actionpages

import (
	"encoding/json"
	"net/http"

	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/page"
	"github.com/countersign-dev/countersign/adapters/console/projectpages/execview"
	"github.com/countersign-dev/countersign/adapters/console/sectionpage"
	"github.com/countersign-dev/countersign/adapters/httpguard"
)

// states are those that an execution may be in.
func states() []page.Choice {
	return []page.Choice{{Value: "", Text: "any"}, {Value: "running", Text: "running"}, {Value: "completed", Text: "completed"}, {Value: "failed", Text: "failed"}, {Value: "cancelled", Text: "cancelled"},
		{Value: "timed_out", Text: "timed out"}, {Value: "pending_confirm", Text: "waits to be confirmed"}, {Value: "denied", Text: "denied"}}
}

func (s *Section) history(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	q := r.URL.Query()
	var answer struct {
		Executions []execview.Execution `json:"executions"`
		Total      int                  `json:"total"`
		More       bool                 `json:"hasMore"`
	}
	args := sectionpage.Args{}.Set("actionType", q.Get("type")).Set("status", q.Get("state")).Number("limit", q.Get("limit"))
	if err := s.Desk.Read(r.Context(), v, "list_action_executions", args, &answer); err != nil {
		s.Fail(w, v, err)
		return
	}
	limits := []page.Choice{{Value: "", Text: "the last 20"}, {Value: "50", Text: "the last 50"}, {Value: "200", Text: "the last 200"}}
	var more markup.Node
	if answer.More {
		more = markup.P(markup.Class("quiet"), page.Text(sectionpage.Count(answer.Total, "execution", "executions")+" in all; not all are shown."))
	}
	s.Show(w, r, v, page.Page{Title: "History", Crumbs: crumbs(), Live: []string{"ai-tool-state", "ai-tool-result"}, Body: []markup.Node{
		page.Search(execview.Executions, page.Select("type", "type", "What", q.Get("type"), kinds("everything")...), page.Select("state", "state", "State", q.Get("state"), states()...),
			page.Select("limit", "limit", "How many", q.Get("limit"), limits...), page.Button("Show")),
		execview.Table("what was run, the last first", answer.Executions, "Nothing of that kind was run."), more}})
}

func (s *Section) execution(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	id := r.PathValue("id")
	var doc json.RawMessage
	if err := s.Desk.Read(r.Context(), v, "get_execution_status", sectionpage.Args{"executionId": id}, &doc); err != nil {
		s.Fail(w, v, err)
		return
	}
	p := page.Page{Title: "Execution", Crumbs: crumbs(page.Link{Text: "History", Href: execview.Executions})}
	var e execview.Execution
	if decode(doc, &e) != nil || e.Kind == "" { // a call, or a process
		p.Title, p.Live, p.Body = "Call "+page.Printable(id), []string{"ai-tool-state", "ai-tool-result"}, []markup.Node{page.Value(doc)}
		s.Show(w, r, v, p)
		return
	}
	p.Title = page.Printable(e.Kind + " " + e.Name)
	p.Body = []markup.Node{page.Facts(page.Fact{Name: "State", Value: execview.Status(e.Status)}, page.Fact{Name: "Started", Value: page.When(e.StartedAt)},
		page.Fact{Name: "Took", Value: sectionpage.Text(sectionpage.Took(e.Duration))}, page.Fact{Name: "Asked for by", Value: sectionpage.Text(e.By())},
		page.Fact{Name: "Why it ended so", Value: sectionpage.Text(e.Error)}, page.Fact{Name: "Of", Value: subject(e)}), given(e.Parameters), e.StepTable()}
	if e.Going() {
		p.Live = []string{"tick"}
		p.Body = append(p.Body, execview.Latest(r.Context(), s.Desk, v, e.At()))
	}
	p.Body = append(p.Body, execview.Result(e.Result), e.Kept())
	s.Show(w, r, v, p)
}

// subject is the way to what was carried out.
func subject(e execview.Execution) markup.Node {
	switch {
	case e.WorkflowID != "":
		return page.To(execview.WorkflowPath(e.WorkflowID), "its workflow")
	case e.ActionID != "":
		return page.To(Path(e.ActionID), "its action")
	}
	return nil
}

func given(parameters json.RawMessage) markup.Node {
	if len(parameters) == 0 {
		return nil
	}
	return page.Fold("What it was given", false, page.Value(parameters))
}
