package projectpages

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/app/projects"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// The paths of the pages.
const (
	ProjectsPath   = "/projects"
	WorkflowsPath  = ProjectsPath + "/workflows"
	ProcessesPath  = ProjectsPath + "/processes"
	ExecutionsPath = ProjectsPath + "/executions"
)

// projectPath returns the page of a project.
func projectPath(id string) string { return ProjectsPath + "/" + url.PathEscape(id) }

// workflowPath returns the page of a workflow.
func workflowPath(id string) string { return WorkflowsPath + "/" + url.PathEscape(id) }

// processPath returns the page of a process.
func processPath(id string) string { return ProcessesPath + "/" + url.PathEscape(id) }

// executionPath returns the page of an execution.
func executionPath(id string) string { return ExecutionsPath + "/" + url.PathEscape(id) }

// lastLines is the number of lines of output on a page that reloads every second.
const lastLines = 25

// isRunning reports whether the status is that of a process that has not ended.
func isRunning(status string) bool {
	return status == "running" || status == "starting" || status == "stopping"
}

// outputText returns the lines as one text.
func outputText(p projects.OutputAnswer) string { return strings.Join(p.Lines, "\n") }

// linesBefore returns the number of earlier lines that are not included.
func linesBefore(p projects.OutputAnswer) int64 { return p.Total - int64(len(p.Lines)) }

// ReadOutput returns the last lines of output of a process.
func ReadOutput(ctx context.Context, runner *ui.CallRunner, v httpauth.Identity, id string, lines int) (projects.OutputAnswer, error) {
	var p projects.OutputAnswer
	err := runner.Read(ctx, v, "get_background_process_output", ui.Args{"processId": id, "tailLines": lines}, &p)
	return p, err
}

// LatestOutput returns the last lines of output of a process, with a link to the live output; nil if they cannot be read.
func LatestOutput(ctx context.Context, runner *ui.CallRunner, v httpauth.Identity, id string) ui.Node {
	return latestOutput(ctx, runner, v, "Output", id)
}

func latestOutput(ctx context.Context, runner *ui.CallRunner, v httpauth.Identity, title, id string) ui.Node {
	if id == "" {
		return nil
	}
	p, err := ReadOutput(ctx, runner, v, id, lastLines)
	if err != nil {
		return nil
	}
	return ui.Part(title, ui.P(ui.LinkTo(processPath(id), "Live output")), ui.Printed("the last lines of output", outputText(p)))
}

// WatchOutput returns ui.Task.Watch for a task that runs one program: its latest output.
func WatchOutput(runner *ui.CallRunner, v httpauth.Identity) func(context.Context, []tool.Progress) ui.Node {
	return func(ctx context.Context, said []tool.Progress) ui.Node {
		return LatestOutput(ctx, runner, v, processIn(said))
	}
}

// processIn returns the process ID in the reports of a call: "script build runs as ID (pid 7)".
func processIn(said []tool.Progress) string {
	for i := len(said) - 1; i >= 0; i-- {
		if _, rest, ok := strings.Cut(said[i].Message, " runs as "); ok {
			id, _, _ := strings.Cut(rest, " ")
			return id
		}
	}
	return ""
}

// ended is the result of a program: of a script or an action.
type ended struct {
	ID       string  `json:"process_id"`
	Exit     int     `json:"exit_code"`
	Signal   string  `json:"signal"`
	Stdout   *string `json:"stdout"`
	Stderr   string  `json:"stderr"`
	Cut      bool    `json:"truncated"`
	Total    int64   `json:"total_bytes"`
	Duration int64   `json:"duration_ms"`
}

func (e ended) show() ui.Node {
	ending := fmt.Sprintf("exit code %d", e.Exit)
	if e.Signal != "" {
		ending = "stopped by signal " + e.Signal
	}
	var cut ui.Node
	if e.Cut {
		cut = ui.P(ui.Class("quiet"), ui.Text(fmt.Sprintf("Output truncated: the middle is left out of %d KB.", (e.Total+1023)>>10)))
	}
	return ui.Group{ui.Facts(ui.Fact{Name: "Result", Value: ui.Text(ending)}, ui.Fact{Name: "Duration", Value: ui.OptionalText(ui.Took(e.Duration))}), cut,
		stream("Standard output", ui.Deref(e.Stdout)), stream("Standard error", e.Stderr)}
}

func stream(title, text string) ui.Node {
	if strings.TrimSpace(text) == "" {
		return ui.Part(title, ui.Empty("No output."))
	}
	return ui.Part(title, ui.Printed(strings.ToLower(title), text))
}

// ScriptResult is ui.Task.Show for run_npm_script and run_script: the result and output, or the background process.
func ScriptResult(o tool.Outcome) ui.Node {
	doc := documentOf(o)
	var begun struct {
		Background bool     `json:"background"`
		ID         string   `json:"process_id"`
		Initial    []string `json:"initial_output"`
		Message    string   `json:"message"`
	}
	if json.Unmarshal(doc, &begun) == nil && begun.Background && begun.ID != "" {
		return ui.Group{wrong(o), ui.Notice(ui.Plain, ui.P(ui.Text(begun.Message)), ui.P(ui.LinkTo(processPath(begun.ID), "View output"))),
			initial(begun.Initial)}
	}
	var e ended
	if json.Unmarshal(doc, &e) != nil || e.Stdout == nil {
		return nil
	}
	return ui.Group{wrong(o), right(o), e.show()}
}

// TaskResult is ui.Task.Show for run_task: the result and output in each directory, or the background process.
func TaskResult(o tool.Outcome) ui.Node {
	var found struct {
		Steps []struct {
			ended
			Member string `json:"member"`
			Dir    string `json:"directory"`
			Task   string `json:"task"`
			Status string `json:"status"`
		} `json:"steps"`
	}
	if json.Unmarshal(documentOf(o), &found) != nil || len(found.Steps) == 0 {
		return ScriptResult(o)
	}
	out := ui.Group{wrong(o), right(o)}
	for _, s := range found.Steps {
		title := cmp.Or(s.Member, s.Task) + ": " + s.Status
		if s.Stdout == nil || s.Status == "skipped" {
			out = append(out, ui.Part(ui.Printable(title)))
			continue
		}
		out = append(out, ui.Part(ui.Printable(title), s.show()))
	}
	return out
}

func initial(lines []string) ui.Node {
	if len(lines) == 0 {
		return nil
	}
	return ui.Part("First lines", ui.Printed("first lines of output", strings.Join(lines, "\n")))
}

// documentOf returns the value of an outcome, or the details of its failure.
func documentOf(o tool.Outcome) json.RawMessage {
	if o.Err == nil {
		return o.Value
	}
	doc, err := tool.Encode(fault.From(o.Err).Details)
	if err != nil {
		return nil
	}
	return doc
}

func wrong(o tool.Outcome) ui.Node {
	if o.Err == nil {
		return nil
	}
	return ui.ErrorNotice(o.Err)
}

func right(o tool.Outcome) ui.Node {
	if o.Err != nil {
		return nil
	}
	return ui.Notice(ui.Good, ui.P(ui.Text("Done.")))
}

// ActionResult is ui.Task.Show for stored actions: the output or response, and a link to the execution.
func ActionResult(o tool.Outcome) ui.Node {
	var done struct {
		Execution string          `json:"executionId"`
		Result    json.RawMessage `json:"result"`
	}
	if json.Unmarshal(documentOf(o), &done) != nil || done.Execution == "" {
		return nil
	}
	return ui.Group{wrong(o), right(o), ui.P(ui.LinkTo(executionPath(done.Execution), "View execution")), StoredResult(done.Result)}
}

// StoredResult returns the stored result of an action: the output of a program, or a response.
func StoredResult(doc json.RawMessage) ui.Node {
	var p struct {
		Exit     int     `json:"exitCode"`
		Signal   string  `json:"signal"`
		Stdout   *string `json:"stdout"`
		Stderr   string  `json:"stderr"`
		Cut      bool    `json:"truncated"`
		Total    int64   `json:"totalBytes"`
		Duration int64   `json:"durationMs"`
	}
	if len(doc) == 0 || string(doc) == "null" {
		return nil
	}
	if json.Unmarshal(doc, &p) != nil || p.Stdout == nil {
		return answered(doc)
	}
	return ended{Exit: p.Exit, Signal: p.Signal, Stdout: p.Stdout, Stderr: p.Stderr, Cut: p.Cut, Total: p.Total, Duration: p.Duration}.show()
}

// answered returns the response of a webhook.
func answered(doc json.RawMessage) ui.Node {
	var a struct {
		Status   int               `json:"statusCode"`
		Headers  map[string]string `json:"responseHeaders"`
		Body     string            `json:"responseBody"`
		Cut      bool              `json:"truncated"`
		Total    int64             `json:"totalBytes"`
		Duration int64             `json:"durationMs"`
		Again    int               `json:"retryAttempts"`
	}
	if json.Unmarshal(doc, &a) != nil || a.Status == 0 {
		return ui.Part("Result", ui.JSONValue(doc))
	}
	facts := []ui.Fact{{Name: "Status", Value: ui.Text(fmt.Sprintf("%d %s", a.Status, http.StatusText(a.Status)))}, {Name: "Duration", Value: ui.OptionalText(ui.Took(a.Duration))}}
	if a.Again > 0 {
		facts = append(facts, ui.Fact{Name: "Retries", Value: ui.Text(strconv.Itoa(a.Again))})
	}
	for _, name := range slices.Sorted(maps.Keys(a.Headers)) {
		facts = append(facts, ui.Fact{Name: ui.Printable(name), Value: ui.OptionalCode(a.Headers[name])})
	}
	var cut ui.Node
	if a.Cut {
		cut = ui.P(ui.Class("quiet"), ui.Text(fmt.Sprintf("Response truncated: %d KB were read.", (a.Total+1023)>>10)))
	}
	return ui.Part("Response", ui.Facts(facts...), cut, ui.Printed("answer", a.Body))
}

// StatusBadge returns the badge of the status of an execution, a process or a service.
func StatusBadge(word string) ui.Node {
	return ui.Badge(statusTone(word), statusText(word))
}

// statusTone returns the tone of a status.
func statusTone(word string) string {
	switch word {
	case "completed", "exited":
		return ui.Good
	case "running", "queued", "pending_confirm", "starting", "stopping":
		return ui.Warn
	case "failed", "timed_out", "denied":
		return ui.Bad
	}
	return ui.Plain
}

// statusText returns a status as pages show it: "Timed out" for "timed_out".
func statusText(word string) string {
	switch word {
	case "":
		return ""
	case "pending_confirm":
		return "Waiting for approval"
	}
	text := strings.ReplaceAll(word, "_", " ")
	return strings.ToUpper(text[:1]) + text[1:]
}
