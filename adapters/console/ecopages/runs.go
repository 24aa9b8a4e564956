package ecopages

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/console/ecopages/ecodesk"
	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/page"
	"github.com/countersign-dev/countersign/adapters/console/sectionpage"
	"github.com/countersign-dev/countersign/adapters/httpguard"
)

// How many lines of a log a page shows, unless it is asked for others, and at most.
const (
	logLines     = 200
	liveLines    = 20 // of one that goes on: as many as are in sight at once
	mostLogLines = 1000
)

// runItem is a run in a list.
type runItem struct {
	ID        string     `json:"run_id"`
	Ecosystem string     `json:"ecosystem"`
	Action    string     `json:"action"`
	Status    string     `json:"status"`
	Created   time.Time  `json:"created_at"`
	Started   *time.Time `json:"started_at"`
	Finished  *time.Time `json:"finished_at"`
	ExitCode  *int       `json:"exit_code"`
	Position  *int       `json:"position"`
}

// open reports a run that has not ended.
func (r runItem) open() bool {
	return r.Status == "queued" || r.Status == "paused" || r.Status == "running"
}

// runTable shows runs. With cancel, those that are open can be ended.
func runTable(runs []runItem, cancel func(runItem) markup.Node, empty string) markup.Node {
	heads := []string{"Run", "Ecosystem", "What", "Is", "Asked for", "Started", "Ended", "Exit code"}
	if cancel != nil {
		heads = append(heads, "What can be done")
	}
	var rows []markup.Node
	for _, r := range runs {
		is := ecodesk.Under(ecodesk.Progress(r.Status), map[bool]string{true: "place " + ecodesk.Number(r.Position) + " in its queue"}[r.Status == "queued" && r.Position != nil])
		cells := []markup.Node{page.To(ecodesk.At(r.Ecosystem, "runs", r.ID), ecodesk.Brief(r.ID)), page.To(ecodesk.At(r.Ecosystem), r.Ecosystem), ecodesk.Said(strings.ReplaceAll(r.Action, "_", " ")), is,
			page.When(r.Created), ecodesk.When(r.Started), ecodesk.When(r.Finished), ecodesk.Said(ecodesk.Number(r.ExitCode))}
		if cancel != nil {
			cells = append(cells, cancel(r))
		}
		rows = append(rows, page.Row(cells...))
	}
	return page.Table("Runs", heads, rows, empty)
}

// cancel ends a run that is open.
func cancel(a *ecodesk.About, r runItem) markup.Node {
	if !r.open() {
		return nil
	}
	return page.Deed(a.V, ecodesk.At(a.Name, "cancel"), "Cancel", "run "+ecodesk.Brief(r.ID), page.Hidden("run_id", r.ID))
}

// runs shows the runs of an ecosystem.
func (s *Section) runs(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	a, ok := s.desk.Open(w, r, v)
	if !ok {
		return
	}
	q := r.URL.Query()
	args := map[string]any{"limit": 50}
	for _, name := range []string{"status", "action"} {
		if value := q.Get(name); value != "" {
			args[name] = value
		}
	}
	var all struct{ Runs []runItem }
	if !a.Need("amof_list_runs", args, &all) {
		return
	}
	choices := []page.Choice{{Text: "any"}}
	for _, word := range []string{"queued", "paused", "running", "success", "failed", "cancelled"} {
		choices = append(choices, page.Choice{Value: word, Text: word})
	}
	a.Add(page.Search(ecodesk.At(a.Name, "runs"), page.Select("run-status", "status", "Those that are", q.Get("status"), choices...),
		page.Field("run-action", "action", "That did (install, sync, push, …)", q.Get("action")), page.Button("Show")),
		runTable(all.Runs, func(r runItem) markup.Node { return cancel(a, r) }, "There is no such run."))
	a.Write("runs", ecodesk.LiveRuns, ecodesk.LiveCalls)
}

// progressOf is how far a run is.
type progressOf struct {
	runItem
	Terminal bool            `json:"terminal"`
	Last     *string         `json:"last_message"`
	Error    string          `json:"error"`
	Code     string          `json:"code"`
	Result   json.RawMessage `json:"result"`
}

// log is what a run said.
type log struct {
	Events []struct {
		At      time.Time `json:"timestamp"`
		Level   string    `json:"level"`
		Type    string    `json:"type"`
		Message string    `json:"message"`
	} `json:"events"`
	Total     int64 `json:"total"`
	Truncated bool  `json:"truncated"`
	Next      int64 `json:"next"`
}

// text is the log as lines, each with its moment, and its level where that is out of the ordinary.
func (l log) text() string {
	var b strings.Builder
	for _, e := range l.Events {
		b.WriteString(e.At.UTC().Format("15:04:05 "))
		if e.Level != "" && e.Level != "info" {
			b.WriteString(e.Level + ": ")
		}
		b.WriteString(e.Message + "\n")
	}
	return b.String()
}

// run shows one run and what it says, as it says it.
func (s *Section) run(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	a, ok := s.desk.Open(w, r, v)
	if !ok {
		return
	}
	id, q := r.PathValue("run"), r.URL.Query()
	var now progressOf
	if err := s.desk.Desk.Read(r.Context(), v, "amof_get_run_status", map[string]any{"run_id": id}, &now); err != nil {
		s.desk.Fail(w, v, err)
		return
	}
	if now.Ecosystem != a.Name {
		http.Redirect(w, r, ecodesk.At(now.Ecosystem, "runs", now.ID), http.StatusSeeOther)
		return
	}
	args := map[string]any{"run_id": now.ID, "tail": logLines}
	if !now.Terminal {
		args["tail"] = liveLines
	}
	if n, err := strconv.Atoi(q.Get("tail")); err == nil {
		args["tail"] = min(max(n, 1), mostLogLines)
	}
	for _, name := range []string{"level", "since"} {
		if value := q.Get(name); value != "" {
			args[name] = value
		}
	}
	var heard log
	if err := s.desk.Desk.Read(r.Context(), v, "amof_get_run_logs", args, &heard); err != nil {
		s.desk.Fail(w, v, err)
		return
	}
	a.Add(page.Part("Run "+ecodesk.Brief(now.ID), page.Facts(
		page.Fact{Name: "What", Value: ecodesk.Said(strings.ReplaceAll(now.Action, "_", " "))}, page.Fact{Name: "Is", Value: ecodesk.Progress(now.Status)},
		page.Fact{Name: "Said last", Value: lastOf(now)}, page.Fact{Name: "Place in the queue", Value: sectionpage.Text(ecodesk.Number(now.Position))}, page.Fact{Name: "Asked for", Value: page.When(now.Created)},
		page.Fact{Name: "Started", Value: ecodesk.When(now.Started)}, page.Fact{Name: "Ended", Value: ecodesk.When(now.Finished)}, page.Fact{Name: "Exit code", Value: sectionpage.Text(ecodesk.Number(now.ExitCode))},
		page.Fact{Name: "Id", Value: ecodesk.Mono(now.ID)}), ended(now), cancel(a, now.runItem)))
	a.Add(logPart(ecodesk.At(a.Name, "runs", now.ID), now, heard, q))
	if len(now.Result) > 0 && string(now.Result) != "null" {
		a.Add(page.Part("What came of it", page.Value(now.Result)))
	}
	a.Write("runs", liveOf(now)...)
}

// lastOf is what a run that goes on said last.
func lastOf(now progressOf) markup.Node {
	if now.Terminal {
		return nil
	}
	return sectionpage.Text(sectionpage.Deref(now.Last))
}

// ended says why a run did not end well.
func ended(now progressOf) markup.Node {
	if now.Error == "" {
		return nil
	}
	return page.Notice(page.Bad, markup.P(ecodesk.Said(now.Error)), markup.P(markup.Class("quiet"), ecodesk.Said(ecodesk.First(now.Code, now.Status))))
}

// liveOf are the events after which the page of a run looks anew; none after its end.
func liveOf(now progressOf) []string {
	if now.Terminal {
		return nil
	}
	return []string{ecodesk.LiveRuns, "tick"}
}

// logPart is the log, and ways to other parts of it.
func logPart(path string, now progressOf, heard log, q url.Values) markup.Node {
	var ways markup.Group
	way := func(words string, set url.Values) {
		if level := q.Get("level"); level != "" && set.Get("level") == "" {
			set.Set("level", level)
		}
		ways = append(ways, markup.Li(page.To(path+"?"+set.Encode(), words)))
	}
	if heard.Truncated {
		way("Show more of the earlier lines", url.Values{"tail": {strconv.Itoa(mostLogLines)}})
	}
	way("Only what is later than this", url.Values{"since": {strconv.FormatInt(heard.Next, 10)}, "tail": {strconv.Itoa(mostLogLines)}})
	if q.Get("level") == "" {
		way("Only warnings", url.Values{"level": {"warning"}})
		way("Only errors", url.Values{"level": {"error"}})
	}
	if len(q) > 0 {
		ways = append(ways, markup.Li(page.To(path, "From the beginning of this page")))
	}
	body := page.Pre("log of run "+ecodesk.Brief(now.ID), heard.text())
	if len(heard.Events) == 0 {
		body = page.Empty("There is nothing in this part of the log.")
	}
	return page.Part("Log", body, markup.P(markup.Class("quiet"), ecodesk.Said(sectionpage.Count(int(heard.Total), "line", "lines")+" in all.")), markup.Ul(ways))
}
