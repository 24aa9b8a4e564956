package homepages

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/control"
	"github.com/countersign-dev/countersign/app/deployments/mcpclients"
	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/app/projects"
	"github.com/countersign-dev/countersign/domain/tool"
)

// host is an agent host that can be connected.
type host = mcpclients.HostStatus

// connected is the state of a host whose entry starts this program.
const connected = "connected"

// hosts returns the agent hosts; none if they cannot be listed here.
func (s *Section) hosts(ctx context.Context, v httpauth.Identity) []host {
	if !s.runner.Serves(v, mcpclients.ListHosts.Name) {
		return nil
	}
	var report planner.Report[mcpclients.HostList]
	if s.runner.Read(ctx, v, mcpclients.ListHosts.Name, nil, &report) != nil {
		return nil
	}
	return report.Data.Hosts
}

// step is one step of the set-up.
type step struct {
	title string
	done  string    // the result; empty while the step is not done
	ways  []ui.Node // the instructions
}

// setup returns the steps until all are done. After the first two, the others are collapsed: they are optional.
func (s *Section) setup(ctx context.Context, v httpauth.Identity, hosts []host, runs []tool.Record) ui.Node {
	steps := []step{connecting(hosts, runs), s.trying(ctx, v)}
	if s.runner.Serves(v, projects.ListProjects.Name) {
		steps = append(steps, s.registering(ctx, v))
	}
	if s.runner.Serves(v, "deploy") {
		steps = append(steps, s.taking(ctx))
	}
	done := 0
	var items ui.Group
	for _, st := range steps {
		mark, tone := "To do", ui.Plain
		if st.done != "" {
			done, mark, tone = done+1, "Done", ui.Good
		}
		items = append(items, ui.Li(ui.Div(ui.Strong(ui.Text(st.title)), ui.Text(" "), ui.Badge(tone, mark)), steady(st)))
	}
	if done == len(steps) {
		return nil
	}
	body := ui.Ol(ui.Class("setup"), items)
	if steps[0].done != "" && steps[1].done != "" {
		return ui.Section(ui.ID("setup"), ui.Class("panel"), ui.Disclosure("Setup: "+ui.Count(len(steps)-done, "optional step", "optional steps"), false, body))
	}
	return ui.Section(ui.ID("setup"), ui.Class("panel"), ui.H2(ui.Text("Setup: "+ui.Count(len(steps)-done, "step", "steps")+" left")), body)
}

// steady returns the result of a step, or its instructions.
func steady(st step) ui.Node {
	if st.done != "" {
		return ui.P(ui.Class("quiet"), ui.Text(st.done))
	}
	return ui.Group(st.ways)
}

// command returns a command to run in a terminal.
func command(line string) ui.Node { return ui.CodeBlock("command for a terminal", line) }

func connecting(hosts []host, runs []tool.Record) step {
	st := step{title: "Connect your agent"}
	var names []string
	for _, h := range hosts {
		if h.State == connected {
			names = append(names, ui.Printable(h.Title))
		}
	}
	for _, r := range runs {
		if name, _, _ := strings.Cut(r.Client, "/"); len(names) == 0 && name != "" && !ownClient(name) {
			names = append(names, ui.Printable(r.Client))
		}
	}
	if len(names) > 0 {
		st.done = strings.Join(names, ", ") + " connected."
		return st
	}
	lines := []string{}
	for _, h := range hosts {
		if h.Installed && len(h.Connect) > 0 {
			lines = append(lines, present.CommandLine(h.Connect))
		}
	}
	said := "Found on this machine. Each command shows its plan and asks before it changes anything:"
	if len(lines) == 0 {
		said, lines = "To list the agents that you can connect, run:", []string{"countersign connect"}
	}
	st.ways = []ui.Node{ui.P(ui.Text(said)), command(strings.Join(lines, "\n"))}
	return st
}

// trying returns the step that sends a test approval. It is done once one was decided.
func (s *Section) trying(ctx context.Context, v httpauth.Identity) step {
	st := step{title: "Send a test approval"}
	tried, err := s.core.Calls(ctx, app.RunFilter{Tool: string(control.TryApproval.Name), Limit: few})
	if err == nil && slices.ContainsFunc(tried, func(r tool.Record) bool { return r.Status == tool.StatusCompleted || r.Reason == tool.ReasonUserDenied }) {
		st.done = "Test approval decided."
		return st
	}
	st.ways = []ui.Node{ui.P(ui.Text("Decide on an approval request that changes nothing.")),
		ui.PostForm(v, "/home/try", ui.Div(ui.Class("buttons"), ui.Primary("Send a test approval", ui.Type("submit"))))}
	return st
}

func (s *Section) registering(ctx context.Context, v httpauth.Identity) step {
	st := step{title: "Register a project"}
	var all projects.ProjectList
	if s.runner.Read(ctx, v, projects.ListProjects.Name, nil, &all) == nil && len(all.Projects) > 0 {
		st.done = ui.Count(len(all.Projects), "project", "projects") + " registered."
		return st
	}
	st.ways = []ui.Node{ui.P(ui.Text("Agents can read a registered directory and propose to run its scripts. "), ui.LinkTo("/projects", "Register a project"), ui.Text(" here, or in a terminal:")),
		command("countersign project add .")}
	return st
}

// taking returns the step that imports agent configuration. It is done once modules were created or deployed.
func (s *Section) taking(ctx context.Context) step {
	st := step{title: "Import agent configuration"}
	for _, name := range []string{"deploy_apply", "agents_import_apply", "agents_init"} {
		done, err := s.core.Calls(ctx, app.RunFilter{Tool: name, Status: tool.StatusCompleted, Limit: 1})
		if err == nil && len(done) > 0 {
			st.done = "Config repository found."
			return st
		}
	}
	st.ways = []ui.Node{ui.P(ui.Text("Keep the prompts, skills and instructions of all agents in one config repository. This command lists what you have and changes nothing. Then continue under "),
		ui.LinkTo("/deployments", "Deployments"), ui.Text(".")), command("countersign agents import")}
	return st
}

// try sends a test approval, which is decided like the requests of agents.
func (s *Section) try(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.runner.Do(w, r, v, ui.Task{Title: "Send a test approval", Tool: control.TryApproval.Name, Back: path, Done: "Test approval approved. Nothing was changed.", Queued: true})
}
