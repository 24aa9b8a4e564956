// Package procpages is the console's pages of background processes: those that any server of this machine has started for a project, what they print as
// they print it, and how they are stopped.
//
// It refuses to signal anything itself.
package procpages

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/page"
	"github.com/countersign-dev/countersign/adapters/console/projectpages/execview"
	"github.com/countersign-dev/countersign/adapters/console/sectionpage"
	"github.com/countersign-dev/countersign/adapters/console/work"
	"github.com/countersign-dev/countersign/adapters/httpguard"
)

// How many lines a process's page begins with, and the most that are read at once.
const (
	shown = 300
	most  = 2000
)

// Section is the pages of background processes.
type Section struct{ sectionpage.Section }

// New is the pages, as part of the section of projects.
func New(of sectionpage.Section) *Section { return &Section{of} }

// Mount adds the pages to a mux, through what lets people in.
func (s *Section) Mount(mux *http.ServeMux, person func(httpguard.Handler) http.Handler) {
	s.Section.Mount(mux, person, sectionpage.Handlers{
		"GET " + execview.Processes:                 s.list,
		"GET " + execview.Processes + "/{id}":       s.show,
		"POST " + execview.Processes + "/{id}/stop": s.stop,
	})
}

// process is a background process as it is listed.
type process struct {
	ID        string     `json:"id"`
	PID       int        `json:"pid"`
	Owner     int        `json:"ownerPid"`
	Script    string     `json:"scriptName"`
	Project   string     `json:"projectPath"`
	Status    string     `json:"status"`
	StartedAt time.Time  `json:"startedAt"`
	EndedAt   *time.Time `json:"completedAt"`
	ExitCode  *int       `json:"exitCode"`
	Command   string     `json:"command"`
	Client    string     `json:"client"`
	Reason    string     `json:"reason"`
}

func (p process) running() bool { return execview.Printed{Status: p.Status}.Running() }

// end is how it ended, in a few words.
func (p process) end() string {
	switch {
	case p.Reason != "":
		return p.Reason
	case p.ExitCode != nil:
		return fmt.Sprintf("exit code %d", *p.ExitCode)
	}
	return ""
}

func (s *Section) all(ctx context.Context, v httpguard.Visitor) ([]process, error) {
	var answer struct {
		Processes []process `json:"processes"`
	}
	err := s.Desk.Read(ctx, v, "list_background_processes", nil, &answer)
	return answer.Processes, err
}

func (s *Section) list(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	all, err := s.all(r.Context(), v)
	if err != nil {
		s.Fail(w, v, err)
		return
	}
	var rows []markup.Node
	for _, p := range all {
		rows = append(rows, page.Row(page.To(execview.ProcessPath(p.ID), page.Printable(p.Script)), sectionpage.Code(p.Project), execview.Status(p.Status), page.When(p.StartedAt),
			sectionpage.Text(p.end()), sectionpage.Text(p.Client), s.stopping(v, p)))
	}
	s.Show(w, r, v, page.Page{Title: "Background processes", Crumbs: crumbs(), Live: []string{"background-process-status", "ai-tool-result"}, Body: []markup.Node{
		markup.P(page.Text("What runs in the background for any client on this machine, and what ended lately.")),
		page.Table("background processes", []string{"Script", "Project", "State", "Started", "End", "Started by", "Stop"}, rows,
			"Nothing runs in the background. Scripts of a project can be run there: its page has a button for each.")}})
}

func crumbs() []page.Link { return []page.Link{{Text: "Projects", Href: execview.Projects}} }

// stopping is the buttons that end a process which runs.
func (s *Section) stopping(v httpguard.Visitor, p process) markup.Node {
	if !p.running() {
		return nil
	}
	to, called := execview.ProcessPath(p.ID)+"/stop", page.Printable(p.Script)+" (pid "+fmt.Sprint(p.PID)+")"
	return markup.Group{page.Deed(v, to, "Stop", called, page.Hidden("script", p.Script)),
		page.Form(v, to, page.Hidden("script", p.Script), page.Hidden("force", "true"), page.Danger("Kill", markup.Aria("label", "Kill "+called)))}
}

func (s *Section) stop(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	id, title := r.PathValue("id"), "Stop "+page.Printable(r.PostFormValue("script"))
	if r.PostFormValue("force") == "true" {
		title = "Kill " + page.Printable(r.PostFormValue("script"))
	}
	s.Desk.Do(w, r, v, work.Task{Title: title, Tool: "stop_background_process", Args: sectionpage.Args{"processId": id}.Flag("force", r.PostFormValue("force")), Back: execview.ProcessPath(id)})
}

func (s *Section) show(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	id, lines := r.PathValue("id"), shown
	if r.URL.Query().Get("all") != "" {
		lines = most
	}
	out, err := execview.Read(r.Context(), s.Desk, v, id, lines)
	if err != nil {
		s.Fail(w, v, err)
		return
	}
	p := s.about(r.Context(), v, id, out)
	body := []markup.Node{page.Facts(page.Fact{Name: "State", Value: execview.Status(out.Status)}, page.Fact{Name: "End", Value: sectionpage.Text(p.end())},
		page.Fact{Name: "Project", Value: sectionpage.Code(p.Project)}, page.Fact{Name: "Command", Value: sectionpage.Code(p.Command)},
		page.Fact{Name: "Started", Value: page.When(out.StartedAt)}, page.Fact{Name: "Started by", Value: sectionpage.Text(p.Client)},
		page.Fact{Name: "Process", Value: page.Text(fmt.Sprintf("pid %d", out.PID))}), markup.Div(markup.Class("buttons"), s.stopping(v, p))}
	if left := out.Left(); left > 0 {
		more := page.Text(".")
		if lines < most {
			more = markup.Group{page.Text("; "), page.To(execview.ProcessPath(id)+"?all=yes", fmt.Sprintf("show up to %d lines", most))}
		}
		body = append(body, markup.P(markup.Class("quiet"), page.Text(fmt.Sprintf("%d lines before these are not shown", left)), more))
	}
	title := page.Printable(out.Script)
	if title == "" {
		title = "Process"
	}
	s.Show(w, r, v, page.Page{Title: title, Crumbs: append(crumbs(), page.Link{Text: "Background processes", Href: execview.Processes}),
		Live: []string{"background-process-status"}, Body: append(body, page.Part("Output", output(out)))})
}

// output is what the process has printed, and where it runs what it prints from now on.
func output(out execview.Printed) markup.Node {
	if !out.Running() {
		if len(out.Lines) == 0 {
			return page.Empty("It printed nothing.")
		}
		return page.Printed("output", out.Text())
	}
	text, left := page.End(out.Text(), page.MaxPrinted)
	if text = page.Output(text); text != "" {
		text += "\n"
	}
	return markup.Group{page.LeftOut(left), page.Stream("output", Events(out.ID, out.Next), told, "lines", text)}
}

// told is the kind of the events that tell what a process prints.
const told = "background-process-output"

// Events is where the output of a process is told that comes after a line.
func Events(id string, after int64) string {
	return "/api/v1/events?" + url.Values{"events": {told}, "process": {id}, "since": {fmt.Sprint(after)}}.Encode()
}

// about is what is listed of the process; of one that somebody waits for, that is not listed, as much as its output says.
func (s *Section) about(ctx context.Context, v httpguard.Visitor, id string, out execview.Printed) process {
	all, err := s.all(ctx, v)
	if err == nil {
		for _, p := range all {
			if p.ID == id {
				return p
			}
		}
	}
	return process{ID: id, PID: out.PID, Status: out.Status + " in the foreground", ExitCode: out.ExitCode}
}
