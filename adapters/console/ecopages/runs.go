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

// The number of log lines on a page: the default, and the maximum.
const (
	logLines     = 200
	liveLines    = 20 // for an active run: as many as fit on a screen
	mostLogLines = 1000
)

// isOpen reports whether the run has not finished.
func isOpen(r runs.RunItem) bool {
	return r.Status == "queued" || r.Status == "paused" || r.Status == "running"
}

// runTable returns a table of runs. If cancel is not nil, it adds its actions.
func runTable(all []runs.RunItem, cancel func(runs.RunItem) ui.Node, empty string) ui.Node {
	heads := []string{"Run", "Ecosystem", "Action", "Status", "Requested", "Started", "Finished", "Exit code"}
	if cancel != nil {
		heads = append(heads, "Actions")
	}
	var rows []ui.Node
	for _, r := range all {
		is := WithNote(RunStatusBadge(string(r.Status)), map[bool]string{true: "position " + number(r.Position) + " in the queue"}[r.Status == "queued" && r.Position != nil])
		cells := []ui.Node{ui.LinkTo(PagePath(r.Ecosystem, "runs", r.ID), ShortID(r.ID)), ui.LinkTo(PagePath(r.Ecosystem), r.Ecosystem), said(strings.ReplaceAll(r.Action, "_", " ")), is,
			ui.When(r.CreatedAt), when(r.StartedAt), when(r.FinishedAt), said(number(r.ExitCode))}
		if cancel != nil {
			cells = append(cells, cancel(r))
		}
		rows = append(rows, ui.Row(cells...))
	}
	return ui.DataTable("Runs", heads, rows, empty)
}

// cancel returns the button that cancels an active run; nil if the run has finished.
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
	choices := []ui.Choice{{Text: "Any"}}
	for _, word := range []string{"queued", "paused", "running", "success", "failed", "cancelled"} {
		choices = append(choices, ui.Choice{Value: word, Text: word})
	}
	a.Add(ui.Search(PagePath(a.Name, "runs"), ui.SelectField("run-status", "status", "Status", q.Get("status"), choices...),
		ui.Field("run-action", "action", "Action (install, sync, push, …)", q.Get("action")), ui.SubmitButton("Show")),
		runTable(all.Runs, func(r runs.RunItem) ui.Node { return cancel(a, r) }, "No matching runs."))
	a.Write("runs", liveRuns, liveCalls)
}

// logText returns the log as lines with their times, and with their levels except info.
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

// run shows one run with its log, live while it is active.
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
		ui.Fact{Name: "Action", Value: said(strings.ReplaceAll(now.Action, "_", " "))}, ui.Fact{Name: "Status", Value: RunStatusBadge(string(now.Status))},
		ui.Fact{Name: "Last message", Value: lastOf(now)}, ui.Fact{Name: "Queue position", Value: ui.OptionalText(number(now.Position))}, ui.Fact{Name: "Requested", Value: ui.When(now.CreatedAt)},
		ui.Fact{Name: "Started", Value: when(now.StartedAt)}, ui.Fact{Name: "Finished", Value: when(now.FinishedAt)}, ui.Fact{Name: "Exit code", Value: ui.OptionalText(number(now.ExitCode))},
		ui.Fact{Name: "ID", Value: mono(now.ID)}), ended(now), cancel(a, runs.RunItem{ID: now.ID, Status: now.Status})))
	a.Add(logPart(PagePath(a.Name, "runs", now.ID), now, heard, q))
	if len(now.Result) > 0 && string(now.Result) != "null" {
		a.Add(ui.Part("Result", ui.JSONValue(now.Result)))
	}
	a.Write("runs", liveOf(now)...)
}

// lastOf returns the last message of an active run.
func lastOf(now runs.StatusAnswer) ui.Node {
	if now.Terminal {
		return nil
	}
	return ui.OptionalText(ui.Deref(now.Last))
}

// ended returns the error of a failed run; nil if there is none.
func ended(now runs.StatusAnswer) ui.Node {
	if now.Error == "" {
		return nil
	}
	return ui.Notice(ui.Bad, ui.P(said(now.Error)), ui.P(ui.Class("quiet"), said(FirstNonEmpty(now.Code, string(now.Status)))))
}

// liveOf returns the events after which the page of a run reloads; none after the run has finished.
func liveOf(now runs.StatusAnswer) []string {
	if now.Terminal {
		return nil
	}
	return []string{liveRuns, "tick"}
}

// logPart returns the log and links to other parts of it.
func logPart(path string, now runs.StatusAnswer, heard runs.LogsAnswer, q url.Values) ui.Node {
	var ways ui.Group
	way := func(words string, set url.Values) {
		if level := q.Get("level"); level != "" && set.Get("level") == "" {
			set.Set("level", level)
		}
		ways = append(ways, ui.Li(ui.LinkTo(path+"?"+set.Encode(), words)))
	}
	if heard.Truncated {
		way("Show earlier lines", url.Values{"tail": {strconv.Itoa(mostLogLines)}})
	}
	way("Show only newer lines", url.Values{"since": {strconv.FormatInt(heard.Next, 10)}, "tail": {strconv.Itoa(mostLogLines)}})
	if q.Get("level") == "" {
		way("Show only warnings", url.Values{"level": {"warning"}})
		way("Show only errors", url.Values{"level": {"error"}})
	}
	if len(q) > 0 {
		ways = append(ways, ui.Li(ui.LinkTo(path, "Show all levels")))
	}
	body := ui.CodeBlock("log of run "+ShortID(now.ID), logText(heard))
	if len(heard.Events) == 0 {
		body = ui.Empty("No matching log lines.")
	}
	return ui.Part("Log", body, ui.P(ui.Class("quiet"), said(ui.Count(int(heard.Total), "line", "lines")+" in total.")), ui.Ul(ways))
}
