// Package sandboxpages provides the console's pages for sandbox projects: their agent servers, and their sandboxes with
// their changes. Everything shown and done is a tool call through the core.
//
// Its API may change at any time.
package sandboxpages

import (
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/app/sandboxes"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// root is the path of the section. Below it, "-" is not a project name.
const root = "/sandboxes"

// section is the sandboxes section of the console.
type section struct{ ui.SectionBase }

// New returns the section.
func New(runner *ui.CallRunner) *section {
	return &section{ui.SectionBase{Calls: runner, Path: root, Title: "Sandboxes", Toolset: "sandboxes", Probe: sandboxes.ProjectList.Name}}
}

// Mount adds the pages to a mux, behind the authentication of users.
func (s *section) Mount(mux *http.ServeMux, person func(httpauth.Handler) http.Handler) {
	s.SectionBase.Mount(mux, person, ui.Handlers{
		"GET " + root:                                 s.list,
		"POST " + root + "/-/start":                   s.begin,
		"GET " + root + "/-/upkeep":                   s.upkeep,
		"POST " + root + "/-/orphans":                 s.orphans,
		"POST " + root + "/-/gateway":                 s.gateway,
		"POST " + root + "/-/model":                   s.setModel,
		"GET " + root + "/{name}":                     s.show,
		"GET " + root + "/{name}/cleanup":             s.cleanup,
		"GET " + root + "/{name}/backups":             s.backups,
		"GET " + root + "/{name}/server":              s.serverTab,
		"GET " + root + "/{name}/log":                 s.log,
		"POST " + root + "/{name}/server":             s.server,
		"POST " + root + "/{name}/destroy":            s.destroy,
		"POST " + root + "/{name}/key":                s.key,
		"POST " + root + "/{name}/create":             s.create,
		"POST " + root + "/{name}/agent":              s.agent,
		"POST " + root + "/{name}/isolate":            s.isolate,
		"POST " + root + "/{name}/reset":              s.reset,
		"POST " + root + "/{name}/delete":             s.remove,
		"POST " + root + "/{name}/restore":            s.restore,
		"GET " + root + "/{name}/work/{box}":          s.work,
		"GET " + root + "/{name}/work/{box}/comments": s.discussion,
		"GET " + root + "/{name}/work/{box}/merge":    s.integration,
		"GET " + root + "/{name}/work/{box}/manage":   s.manage,
		"POST " + root + "/{name}/apply":              s.apply,
		"POST " + root + "/{name}/seen":               s.seen,
		"POST " + root + "/{name}/comment":            s.comment,
		"POST " + root + "/{name}/merge":              s.merge,
		"POST " + root + "/{name}/update":             s.update,
		"POST " + root + "/{name}/push":               s.push,
		"POST " + root + "/{name}/archive":            s.archive,
		"POST " + root + "/{name}/clean":              s.clean,
		"GET " + root + "/{name}/cleaned":             s.cleaned,
	})
}

// at returns the path of the page of a project, or of a page below it.
func at(name, below string) string { return root + "/" + url.PathEscape(name) + below }

var errUnknown = fault.New(fault.NotFound, "page_sandbox_missing", "sandbox project not found; the sandboxes page lists the recorded projects")

// find returns the project of the address.
func (s *section) find(r *http.Request, v httpauth.Identity) (sandboxes.ProjectItem, error) {
	var all sandboxes.ProjectListing
	if err := s.Calls.Read(r.Context(), v, sandboxes.ProjectList.Name, nil, &all); err != nil {
		return sandboxes.ProjectItem{}, err
	}
	for _, p := range all.Projects {
		if p.Name == r.PathValue("name") {
			return p, nil
		}
	}
	return sandboxes.ProjectItem{}, errUnknown
}

// running returns the badge of a server.
func running(so bool) ui.Node {
	if so {
		return ui.Badge(ui.Good, "running")
	}
	return ui.Badge(ui.Plain, "stopped")
}

// number returns a number; nil if it is not known.
func number(p *int) ui.Node {
	if p == nil {
		return nil
	}
	return ui.Text(fmt.Sprint(*p))
}

func (s *section) list(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	var all sandboxes.ProjectListing
	if err := s.Calls.Read(r.Context(), v, sandboxes.ProjectList.Name, nil, &all); err != nil {
		s.Fail(w, v, err)
		return
	}
	var rows []ui.Node
	for _, p := range all.Projects {
		rows = append(rows, ui.Row(ui.LinkTo(at(p.Name, ""), ui.Printable(p.Name)), ui.OptionalCode(p.URL), running(p.Running), number(p.Port),
			ui.Text(ui.Count(p.Worktrees, "sandbox", "sandboxes")), servers(v, p)))
	}
	s.Show(w, r, v, ui.Page{Title: "Sandboxes", Live: []string{"ai-tool-result"}, Body: []ui.Node{
		sectionTabs(root), s.Calls.PolicyNotice(r.Context(), v, "Start projects", sandboxes.ProjectStart.Name),
		ui.DataTable("Sandbox projects", []string{"Project", "Git URL", "Server", "Port", "Sandboxes", "Actions"}, rows, "No sandbox projects. Start one below: Countersign clones it and runs an agent server for it."),
		starting(v), gatewayPart(v, all.Gateway)}})
}

// sectionTabs returns links to the pages about all projects.
func sectionTabs(here string) ui.Node {
	return ui.Tabs("Sections of sandboxes", here, ui.PageLink{Text: "Projects", Href: root}, ui.PageLink{Text: "Maintenance", Href: root + "/-/upkeep"})
}

// servers returns the buttons that start and stop a project's server.
func servers(v httpauth.Identity, p sandboxes.ProjectItem) ui.Node {
	do := func(word, label string) ui.Node {
		return ui.ActionForm(v, at(p.Name, "/server"), label, "the server of "+ui.Printable(p.Name), ui.Hidden("do", word))
	}
	if p.Running {
		return ui.Group{do("restart", "Restart"), do("stop", "Stop")}
	}
	return do("start", "Start")
}

// gatewayPart returns the gateway, and the buttons that restart and stop it.
func gatewayPart(v httpauth.Identity, g *sandboxes.GatewayBrief) ui.Node {
	if g == nil {
		return nil
	}
	do := func(word, label string) ui.Node {
		return ui.ActionForm(v, root+"/-/gateway", label, "the gateway", ui.Hidden("do", word))
	}
	buttons := ui.Group{do("restart", "Restart")}
	if g.Running {
		buttons = append(buttons, do("stop", "Stop"))
	}
	return ui.Part("Gateway", ui.Facts(ui.Fact{Name: "Status", Value: running(g.Running)}, ui.Fact{Name: "Port", Value: number(g.Port)}, ui.Fact{Name: "Process", Value: number(g.PID)},
		ui.Fact{Name: "Active projects", Value: ui.Text(fmt.Sprint(g.Active))}), ui.Div(ui.Class("buttons"), buttons))
}

// starting returns the form that starts a project.
func starting(v httpauth.Identity) ui.Node {
	return ui.Part("Start project", ui.PostForm(v, root+"/-/start", ui.Field("git_url", "git_url", "Git URL (ssh or https)", "", ui.Required()),
		ui.Field("user_ssh_key", "user_ssh_key", "SSH key path (optional; default: a new deploy key)", ""),
		ui.CheckboxField("clone_only", "clone_only", "Clone only, without an agent server", false), ui.SubmitButton("Start project")))
}

func (s *section) begin(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	url := r.PostFormValue("git_url")
	task := ui.Task{Title: "Start " + ui.Printable(url), Tool: sandboxes.ProjectStart.Name, Back: root, Show: started,
		Args: ui.Args{"git_url": url}.Set("user_ssh_key", r.PostFormValue("user_ssh_key"))}
	if r.PostFormValue("clone_only") == "true" {
		task.Title, task.Tool = "Clone "+ui.Printable(url), sandboxes.ProjectClone.Name
	}
	s.Calls.Do(w, r, v, task)
}

func (s *section) gateway(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	task := ui.Task{Title: "Restart the gateway", Tool: sandboxes.GatewayRestart.Name, Back: root}
	if r.PostFormValue("do") == "stop" {
		task.Title, task.Tool = "Stop the gateway", sandboxes.GatewayStop.Name
	}
	s.Calls.Do(w, r, v, task)
}

// started is the Task.Show of the start of a project.
func started(o tool.Outcome) ui.Node {
	var p sandboxes.ProjectStarted
	if o.Err != nil || decode(o.Value, &p) != nil || p.Project == "" {
		return nil
	}
	tone := ui.Good
	if p.Status != "success" {
		tone = ui.Warn
	}
	body := ui.Group{ui.Notice(tone, ui.P(ui.OptionalText(p.Message)), ui.P(ui.LinkTo(at(p.Project, ""), "Open "+ui.Printable(p.Project)))),
		ui.Facts(ui.Fact{Name: "Server", Value: ui.OptionalCode(p.ServerURL)}, ui.Fact{Name: "Gateway", Value: ui.OptionalText(p.GatewayError)},
			ui.Fact{Name: "Register key at", Value: ui.OptionalCode(p.RegisterURL)}, ui.Fact{Name: "Git host message", Value: ui.OptionalText(p.ErrorDetail)})}
	if p.PublicKey != "" {
		body = append(body, ui.CodeBlock("public key", ui.Printable(p.PublicKey)))
	}
	if p.Exposed {
		body = append(body, exposed())
	}
	for _, text := range p.Warnings {
		body = append(body, ui.Notice(ui.Warn, ui.P(ui.OptionalText(text))))
	}
	return body
}

func exposed() ui.Node {
	return ui.Notice(ui.Warn, ui.P(ui.Text("The server listens on a network address: other machines can reach it.")))
}

// moment returns a time; nil if there is none.
func moment(t *time.Time) ui.Node {
	if t == nil {
		return nil
	}
	return ui.When(*t)
}
