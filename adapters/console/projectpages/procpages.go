package projectpages

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/app/projects"
	"github.com/countersign-dev/countersign/app/projects/runner"
)

// The number of lines on the page of a process, by default and at most.
const (
	shown = 300
	most  = 2000
)

// processSection is the pages of background processes.
type processSection struct{ ui.SectionBase }

// NewProcessSection returns the pages, as part of the section of projects.
func NewProcessSection(of ui.SectionBase) *processSection { return &processSection{of} }

// Mount adds the pages to a mux, through what lets users in.
func (s *processSection) Mount(mux *http.ServeMux, person func(httpauth.Handler) http.Handler) {
	s.SectionBase.Mount(mux, person, ui.Handlers{
		"GET " + ProcessesPath:                 s.list,
		"GET " + ProcessesPath + "/{id}":       s.show,
		"POST " + ProcessesPath + "/{id}/stop": s.stop,
	})
}

// endOf returns the reason why a process ended, or its exit code.
func endOf(p runner.Process) string {
	switch {
	case p.Reason != "":
		return p.Reason
	case p.ExitCode != nil:
		return fmt.Sprintf("exit code %d", *p.ExitCode)
	}
	return ""
}

func (s *processSection) all(ctx context.Context, v httpauth.Identity) ([]runner.Process, error) {
	var answer struct {
		Processes []runner.Process `json:"processes"`
	}
	err := s.Calls.Read(ctx, v, "list_background_processes", nil, &answer)
	return answer.Processes, err
}

func (s *processSection) list(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	all, err := s.all(r.Context(), v)
	if err != nil {
		s.Fail(w, v, err)
		return
	}
	var rows []ui.Node
	for _, p := range all {
		rows = append(rows, ui.Row(ui.LinkTo(processPath(string(p.ID)), ui.Printable(p.ScriptName)), ui.OptionalCode(p.ProjectPath), StatusBadge(p.Status), ui.When(p.StartedAt),
			ui.OptionalText(endOf(p)), ui.OptionalText(p.Client), s.stopping(v, p)))
	}
	s.Show(w, r, v, ui.Page{Title: "Background processes", Crumbs: processCrumbs(), Live: []string{"background-process-status", "ai-tool-result"}, Body: []ui.Node{
		ui.P(ui.Text("Background processes of all clients, and those that ended recently.")),
		ui.DataTable("background processes", []string{"Script", "Project", "Status", "Started", "Result", "Started by", "Actions"}, rows,
			"No background processes. To start one, open a project and run a script in the background.")}})
}

func processCrumbs() []ui.PageLink { return []ui.PageLink{{Text: "Projects", Href: ProjectsPath}} }

// stopping returns the buttons that stop a running process.
func (s *processSection) stopping(v httpauth.Identity, p runner.Process) ui.Node {
	if !isRunning(p.Status) {
		return nil
	}
	to, called := processPath(string(p.ID))+"/stop", ui.Printable(p.ScriptName)+" (pid "+fmt.Sprint(p.PID)+")"
	return ui.Group{ui.ActionForm(v, to, "Stop", called, ui.Hidden("script", p.ScriptName)),
		ui.PostForm(v, to, ui.Hidden("script", p.ScriptName), ui.Hidden("force", "true"), ui.Danger("Kill", ui.Aria("label", "Kill "+called)))}
}

func (s *processSection) stop(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	id, title := r.PathValue("id"), "Stop "+ui.Printable(r.PostFormValue("script"))
	if r.PostFormValue("force") == "true" {
		title = "Kill " + ui.Printable(r.PostFormValue("script"))
	}
	s.Calls.Do(w, r, v, ui.Task{Title: title, Tool: "stop_background_process", Args: ui.Args{"processId": id}.Flag("force", r.PostFormValue("force")), Back: processPath(id)})
}

func (s *processSection) show(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	id, lines := r.PathValue("id"), shown
	if r.URL.Query().Get("all") != "" {
		lines = most
	}
	out, err := ReadOutput(r.Context(), s.Calls, v, id, lines)
	if err != nil {
		s.Fail(w, v, err)
		return
	}
	p := s.about(r.Context(), v, id, out)
	body := []ui.Node{ui.Facts(ui.Fact{Name: "Status", Value: StatusBadge(out.Status)}, ui.Fact{Name: "Result", Value: ui.OptionalText(endOf(p))},
		ui.Fact{Name: "Project", Value: ui.OptionalCode(p.ProjectPath)}, ui.Fact{Name: "Command", Value: ui.OptionalCode(p.Command)},
		ui.Fact{Name: "Started", Value: ui.When(out.StartedAt)}, ui.Fact{Name: "Started by", Value: ui.OptionalText(p.Client)},
		ui.Fact{Name: "Process", Value: ui.Text(fmt.Sprintf("pid %d", out.PID))}), ui.Div(ui.Class("buttons"), s.stopping(v, p))}
	if left := linesBefore(out); left > 0 {
		more := ui.Text(".")
		if lines < most {
			more = ui.Group{ui.Text("; "), ui.LinkTo(processPath(id)+"?all=yes", fmt.Sprintf("show up to %d lines", most))}
		}
		body = append(body, ui.P(ui.Class("quiet"), ui.Text(fmt.Sprintf("%d earlier lines are not shown", left)), more))
	}
	title := ui.Printable(out.ScriptName)
	if title == "" {
		title = "Process"
	}
	s.Show(w, r, v, ui.Page{Title: title, Crumbs: append(processCrumbs(), ui.PageLink{Text: "Background processes", Href: ProcessesPath}),
		Live: []string{"background-process-status"}, Body: append(body, ui.Part("Output", output(out)))})
}

// output returns the output of the process, which follows the process while it runs.
func output(out projects.OutputAnswer) ui.Node {
	if !isRunning(out.Status) {
		if len(out.Lines) == 0 {
			return ui.Empty("No output.")
		}
		return ui.Printed("output", outputText(out))
	}
	text, left := ui.Tail(outputText(out), ui.MaxPrinted)
	if text = ui.Output(text); text != "" {
		text += "\n"
	}
	return ui.Group{ui.LeftOut(left), ui.Stream("output", OutputEventsURL(string(out.ProcessID), out.NextSeq), processTold, "lines", text)}
}

// processTold is the kind of the events with output of processes.
const processTold = "background-process-output"

// OutputEventsURL returns the URL of the events with the output of a process after a line.
func OutputEventsURL(id string, after int64) string {
	return "/api/v1/events?" + url.Values{"events": {processTold}, "process": {id}, "since": {fmt.Sprint(after)}}.Encode()
}

// about returns the listed process; one in the foreground is not listed, and has only the data of its output.
func (s *processSection) about(ctx context.Context, v httpauth.Identity, id string, out projects.OutputAnswer) runner.Process {
	all, err := s.all(ctx, v)
	if err == nil {
		for _, p := range all {
			if string(p.ID) == id {
				return p
			}
		}
	}
	return runner.Process{ID: out.ProcessID, PID: out.PID, Status: out.Status + " in the foreground", ExitCode: out.ExitCode}
}
