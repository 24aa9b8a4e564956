package projectpages

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/app/projects"
	"github.com/countersign-dev/countersign/domain/fault"
)

// services returns the services of the directory, with buttons that start and stop them; nil if no file defines any.
func (a *about) services() ui.Node {
	if !a.Calls.Serves(a.v, projects.ListServices.Name) {
		return nil
	}
	var all projects.ServiceList
	if err := a.read(projects.ListServices.Name, ui.Args{"projectPath": a.dir}, &all); err != nil {
		if strings.HasPrefix(fault.From(err).Message, "no services file found") { // no error: there are none
			return nil
		}
		return ui.Part("Services", ui.ErrorNotice(err))
	}
	to := at(a.of.ID) + "/services"
	button := func(do, label, called, name string) ui.Node {
		return ui.ActionForm(a.v, to, label, called, ui.Hidden("worktree", a.dir), ui.Hidden("do", do), ui.Hidden("name", name))
	}
	var rows []ui.Node
	running := 0
	for _, s := range all.Services {
		called := "service " + ui.Printable(s.Name)
		buttons := ui.Group{button("up", "Start", called, s.Name)}
		if isRunning(s.Status) {
			running++
			buttons = ui.Group{button("restart", "Restart", called, s.Name), button("down", "Stop", called, s.Name)}
		}
		log := ui.Text("–")
		if s.ProcessID != "" {
			log = ui.LinkTo(processPath(string(s.ProcessID)), "Log of "+ui.Printable(s.Name))
		}
		rows = append(rows, ui.Row(ui.OptionalText(s.Name), ui.OptionalCode(s.Command), StatusBadge(s.Status), ui.OptionalText(strings.Join(s.DependsOn, ", ")), log, buttons))
	}
	var whole ui.Group
	if running < len(all.Services) {
		whole = append(whole, button("up", "Start all", "services of "+ui.Printable(a.of.Name), ""))
	}
	if running > 0 {
		whole = append(whole, button("down", "Stop all", "services of "+ui.Printable(a.of.Name), ""))
	}
	return ui.Part("Services", ui.P(ui.Class("quiet"), ui.Text("Defined in "+ui.Printable(all.File)+". Each service starts when the services it depends on are ready.")),
		ui.DataTable("services", []string{"Service", "Command", "Status", "Depends on", "Log", "Actions"}, rows, "No services."), ui.Div(ui.Class("buttons"), whole))
}

// serve starts or stops services.
func (s *Section) serve(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	of, err := s.find(r, v)
	if err != nil {
		s.Fail(w, v, err)
		return
	}
	dir, name := cmp.Or(r.PostFormValue("worktree"), of.Path), r.PostFormValue("name")
	args, what := ui.Args{"projectPath": dir}, "all services"
	if name != "" {
		args["names"], what = []string{name}, "service "+ui.Printable(name)
	}
	what += " of " + ui.Printable(of.Name)
	task := ui.Task{Title: "Start " + what, Tool: projects.ServicesUp.Name, Args: args, Back: in(of, dir)}
	switch r.PostFormValue("do") {
	case "down":
		task.Title, task.Tool = "Stop "+what, projects.ServicesDown.Name
	case "restart":
		task.Title, args["restart"] = "Restart "+what, true
	}
	s.Calls.Do(w, r, v, task)
}
