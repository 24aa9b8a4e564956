package ecopages

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/app/ecosystems/runs"
)

// How many lines of a log a page shows, unless it is asked for others, and at most.
const (
	logLines     = 200
	liveLines    = 20 // of one that goes on: as many as are in sight at once
	mostLogLines = 1000
)

// isOpen reports a run that has not ended.
func isOpen(r runs.RunItem) bool {
	return r.Status == "queued" || r.Status == "paused" || r.Status == "running"
}

// runTable shows runs. With cancel, those that are open can be ended.
func runTable(all []runs.RunItem, cancel func(runs.RunItem) ui.Node, empty string) ui.Node {
	heads := []string{"Run", "Ecosystem", "What", "Is", "Asked for", "Started", "Ended", "Exit code"}
	if cancel != nil {
		heads = append(heads, "Actions")
	}
	var rows []ui.Node
	for _, r := range all {
		is := WithNote(RunStatusBadge(string(r.Status)), map[bool]string{true: "place " + number(r.Position) + " in its queue"}[r.Status == "queued" && r.Position != nil])
		cells := []ui.Node{ui.LinkTo(PagePath(r.Ecosystem, "runs", r.ID), ShortID(r.ID)), ui.LinkTo(PagePath(r.Ecosystem), r.Ecosystem), said(strings.ReplaceAll(r.Action, "_", " ")), is,
			ui.When(r.CreatedAt), when(r.StartedAt), when(r.FinishedAt), said(number(r.ExitCode))}
		if cancel != nil {
			cells = append(cells, cancel(r))
		}
		rows = append(rows, ui.Row(cells...))
	}
	return ui.DataTable("Runs", heads, rows, empty)
}

// cancel ends a run that is open.
func cancel(a *EcosystemPage, r runs.RunItem) ui.Node {
	if !isOpen(r) {
		return nil
	}
	return ui.ActionForm(a.V, PagePath(a.Name, "cancel"), "Cancel", "run "+ShortID(r.ID), ui.Hidden("run_id", r.ID))
}

// runs shows the runs of an ecosystem.
func (s *section) runs(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	a, ok := s.base.Open(w, r, v)
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
	var all runs.RunList
	if !a.Need(runs.List.Name, args, &all) {
		return
	}
	choices := []ui.Choice{{Text: "any"}}
	for _, word := range []string{"queued", "paused", "running", "success", "failed", "cancelled"} {
		choices = append(choices, ui.Choice{Value: word, Text: word})
	}
	a.Add(ui.Search(PagePath(a.Name, "runs"), ui.SelectField("run-status", "status", "Those that are", q.Get("status"), choices...),
		ui.Field("run-action", "action", "That did (install, sync, push, …)", q.Get("action")), ui.SubmitButton("Show")),
		runTable(all.Runs, func(r runs.RunItem) ui.Node { return cancel(a, r) }, "There is no such run."))
	a.Write("runs", liveRuns, liveCalls)
}

// logText returns the log as lines, each with its moment, and its level where that is out of the ordinary.
func logText(l runs.LogsAnswer) string {
	var b strings.Builder
	for _, e := range l.Events {
		b.WriteString(e.Timestamp.UTC().Format("15:04:05 "))
		if e.Level != "" && e.Level != "info" {
			b.WriteString(e.Level + ": ")
		}
		b.WriteString(e.Message + "\n")
	}
	return b.String()
}

// run shows one run and what it says, as it says it.
func (s *section) run(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	a, ok := s.base.Open(w, r, v)
	if !ok {
		return
	}
	id, q := r.PathValue("run"), r.URL.Query()
	var now runs.StatusAnswer
	if err := s.base.Calls.Read(r.Context(), v, runs.Status.Name, map[string]any{"run_id": id}, &now); err != nil {
		s.base.Fail(w, v, err)
		return
	}
	if now.Ecosystem != a.Name {
		http.Redirect(w, r, PagePath(now.Ecosystem, "runs", now.ID), http.StatusSeeOther)
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
	var heard runs.LogsAnswer
	if err := s.base.Calls.Read(r.Context(), v, runs.Logs.Name, args, &heard); err != nil {
		s.base.Fail(w, v, err)
		return
	}
	a.Add(ui.Part("Run "+ShortID(now.ID), ui.Facts(
		ui.Fact{Name: "What", Value: said(strings.ReplaceAll(now.Action, "_", " "))}, ui.Fact{Name: "Is", Value: RunStatusBadge(string(now.Status))},
		ui.Fact{Name: "Said last", Value: lastOf(now)}, ui.Fact{Name: "Place in the queue", Value: ui.OptionalText(number(now.Position))}, ui.Fact{Name: "Asked for", Value: ui.When(now.CreatedAt)},
		ui.Fact{Name: "Started", Value: when(now.StartedAt)}, ui.Fact{Name: "Ended", Value: when(now.FinishedAt)}, ui.Fact{Name: "Exit code", Value: ui.OptionalText(number(now.ExitCode))},
		ui.Fact{Name: "Id", Value: mono(now.ID)}), ended(now), cancel(a, runs.RunItem{ID: now.ID, Status: now.Status})))
	a.Add(logPart(PagePath(a.Name, "runs", now.ID), now, heard, q))
	if len(now.Result) > 0 && string(now.Result) != "null" {
		a.Add(ui.Part("What came of it", ui.JSONValue(now.Result)))
	}
	a.Write("runs", liveOf(now)...)
}

// lastOf returns what a run that goes on said last.
func lastOf(now runs.StatusAnswer) ui.Node {
	if now.Terminal {
		return nil
	}
	return ui.OptionalText(ui.Deref(now.Last))
}

// ended says why a run did not end well.
func ended(now runs.StatusAnswer) ui.Node {
	if now.Error == "" {
		return nil
	}
	return ui.Notice(ui.Bad, ui.P(said(now.Error)), ui.P(ui.Class("quiet"), said(FirstNonEmpty(now.Code, string(now.Status)))))
}

// liveOf returns the events after which the page of a run looks anew; none after its end.
func liveOf(now runs.StatusAnswer) []string {
	if now.Terminal {
		return nil
	}
	return []string{liveRuns, "tick"}
}

// logPart returns the log, and ways to other parts of it.
func logPart(path string, now runs.StatusAnswer, heard runs.LogsAnswer, q url.Values) ui.Node {
	var ways ui.Group
	way := func(words string, set url.Values) {
		if level := q.Get("level"); level != "" && set.Get("level") == "" {
			set.Set("level", level)
		}
		ways = append(ways, ui.Li(ui.LinkTo(path+"?"+set.Encode(), words)))
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
		ways = append(ways, ui.Li(ui.LinkTo(path, "From the beginning of this page")))
	}
	body := ui.CodeBlock("log of run "+ShortID(now.ID), logText(heard))
	if len(heard.Events) == 0 {
		body = ui.Empty("There is nothing in this part of the log.")
	}
	return ui.Part("Log", body, ui.P(ui.Class("quiet"), said(ui.Count(int(heard.Total), "line", "lines")+" in all.")), ui.Ul(ways))
}
