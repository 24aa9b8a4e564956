package homepages

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/projects"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// path is the path of the page.
const path = "/"

// The maximum number of entries in each part of the page, and the number of calls that are searched for the last one of each agent.
const (
	few    = 5
	recent = 200
)

// Core is the core: an *app.App.
type Core interface {
	Confirmations(ctx context.Context, session string) ([]confirm.View, error)
	Calls(ctx context.Context, f app.RunFilter) ([]tool.Record, error)
	PolicyInForce(ctx context.Context) (policy.Resolved, error)
	CheckNewAudit(ctx context.Context) (audit.Report, error)
}

// Machine provides the checks of the machine.
type Machine struct {
	Damage func(ctx context.Context) ([]string, error) // the damage in the database; none if it is sound
	Free   func() (uint64, error)                      // the free bytes on the file system of COUNTERSIGN_HOME
}

// Section provides the home page and the search.
type Section struct {
	runner *ui.CallRunner
	core   Core
	health checks
}

// New returns the section of that core.
func New(runner *ui.CallRunner, core Core, m Machine) *Section {
	return &Section{runner: runner, core: core, health: checks{core: core, machine: m, now: time.Now}}
}

// Mount adds the page to a mux, behind the authentication of users.
func (s *Section) Mount(mux *http.ServeMux, person func(httpauth.Handler) http.Handler) {
	mux.Handle("GET /{$}", person(s.home))
	mux.Handle("POST /home/try", person(s.try))
	mux.Handle("GET /find", person(s.find))
	mux.Handle("GET /find.json", person(s.findable))
}

func (s *Section) home(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	ctx := r.Context()
	waits, err := s.core.Confirmations(ctx, "")
	if err != nil {
		ui.Fail(w, v, path, http.StatusInternalServerError, err)
		return
	}
	runs, err := s.core.Calls(ctx, app.RunFilter{Limit: recent})
	if err != nil {
		ui.Fail(w, v, path, http.StatusInternalServerError, err)
		return
	}
	waits = slices.DeleteFunc(waits, func(c confirm.View) bool { return c.Answerer != "" })
	hosts := s.hosts(ctx, v)
	ui.Page{Title: "Home", Section: path, Notice: s.runner.Notice(r), Live: ui.Decided(), Body: []ui.Node{
		s.setup(ctx, v, hosts, runs),
		ui.Div(ui.Class("grid"), waiting(waits), s.running(ctx, v, runs), failed(runs)),
		agents(runs, hosts), healthPanel(append(s.health.results(ctx), hostChecks(hosts)...)),
	}}.Write(w, http.StatusOK, v)
}

// rows returns a panel with a list of items; without items it shows the text empty.
func rows(id, title, empty string, items []ui.Node, more ui.Node) ui.Node {
	body := ui.Node(ui.Empty(empty))
	if len(items) > 0 {
		body = ui.Ul(ui.Class("rows"), ui.Map(items, func(n ui.Node) ui.Node { return ui.Li(n) }))
	}
	return ui.Panel(title, ui.Div(ui.ID(id), body), more)
}

// waiting returns the pending approvals, the highest risk first.
func waiting(all []confirm.View) ui.Node {
	all = ui.Queue(all)
	var items []ui.Node
	for _, c := range all[:min(few, len(all))] {
		items = append(items, ui.Group{ui.LinkTo("/approvals/"+url.PathEscape(c.ID), ui.Printable(c.Prompt)), ui.Text(" "), ui.Risk(c.Risk)})
	}
	var more ui.Node
	if len(all) > 0 {
		more = ui.P(ui.LinkTo("/approvals", "Review "+ui.Count(len(all), "approval", "approvals")))
	}
	return rows("waits", "Pending approvals", "No pending approvals.", items, more)
}

// running returns the running calls and background processes.
func (s *Section) running(ctx context.Context, v httpauth.Identity, runs []tool.Record) ui.Node {
	var items []ui.Node
	for _, r := range runs {
		if r.Status == tool.StatusExecuting && len(items) < few {
			items = append(items, ui.Group{call(r), ui.Text(" "), ui.CallStatus(r)})
		}
	}
	if name := projects.ListProcesses.Name; s.runner.Serves(v, name) {
		var answer projects.ProcessList
		if s.runner.Read(ctx, v, name, nil, &answer) == nil {
			for _, p := range answer.Processes {
				if p.Status == "running" && len(items) < 2*few {
					items = append(items, ui.Group{ui.LinkTo("/projects/processes/"+url.PathEscape(string(p.ID)), ui.Printable(p.ScriptName)), ui.Text(" "), ui.Span(ui.Class("quiet"), ui.Text("background process"))})
				}
			}
		}
	}
	return rows("runs", "Running", "No running calls.", items, nil)
}

// failed returns the last calls that failed.
func failed(runs []tool.Record) ui.Node {
	var items []ui.Node
	for _, r := range runs {
		if r.Status == tool.StatusFailed && len(items) < few {
			items = append(items, ui.Group{call(r), ui.Text(" "), ui.Span(ui.Class("quiet"), ui.Text(ui.FailureReason(r)+", "), ui.When(r.At))})
		}
	}
	var more ui.Node
	if len(items) > 0 {
		more = ui.P(ui.LinkTo("/activity?status=failed", "View all failed calls"))
	}
	return rows("failed", "Failed calls", "No failed calls.", items, more)
}

// call returns a link to the record of a call.
func call(r tool.Record) ui.Node {
	return ui.LinkTo("/activity/"+url.PathEscape(cmp.Or(r.CallID, r.ConfirmationID)), ui.Printable(cmp.Or(r.What, r.Tool)))
}

// agents returns each client with its last call, and the connected hosts without calls.
func agents(runs []tool.Record, hosts []host) ui.Node {
	var body []ui.Node
	seen := map[string]bool{}
	for _, r := range runs {
		name, _, _ := strings.Cut(r.Client, "/")
		if name == "" || seen[name] || ownClient(name) {
			continue
		}
		seen[name] = true
		body = append(body, ui.Row(ui.Text(ui.Printable(r.Client)), call(r), ui.CallStatus(r), ui.When(r.At)))
	}
	for _, h := range hosts {
		if h.State == connected && !seen[h.Host] {
			body = append(body, ui.Row(ui.Text(ui.Printable(h.Title)), ui.Span(ui.Class("quiet"), ui.Text("no calls yet")), ui.Badge(ui.Good, "Connected"), nil))
		}
	}
	return ui.Part("Agents", ui.DataTable("Agents", []string{"Agent", "Last call", "Status", "Time"}, body, "No calls from agents yet."))
}

// ownClient reports whether a client is Countersign's own: this console, or its commands.
func ownClient(name string) bool { return name == "console" || strings.HasPrefix(name, "countersign") }
