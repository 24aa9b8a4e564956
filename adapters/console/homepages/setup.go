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
	done  string    // what is there; empty: it is still to be done
	ways  []ui.Node // how it is done
}

// setup returns the steps until all are done. Once the first two are, the others are a key away: not everybody needs them.
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
		mark, tone := "to do", ui.Plain
		if st.done != "" {
			done, mark, tone = done+1, "done", ui.Good
		}
		items = append(items, ui.Li(ui.Div(ui.Strong(ui.Text(st.title)), ui.Text(" "), ui.Badge(tone, mark)), steady(st)))
	}
	if done == len(steps) {
		return nil
	}
	body := ui.Ol(ui.Class("setup"), items)
	if steps[0].done != "" && steps[1].done != "" {
		return ui.Section(ui.ID("setup"), ui.Class("panel"), ui.Disclosure("Set up: "+ui.Count(len(steps)-done, "more step, if you need it", "more steps, if you need them"), false, body))
	}
	return ui.Section(ui.ID("setup"), ui.Class("panel"), ui.H2(ui.Text("Set up: "+ui.Count(len(steps)-done, "step", "steps")+" to go")), body)
}

// steady returns what is there, or how it comes to be.
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
		st.done = strings.Join(names, ", ") + " can ask."
		return st
	}
	lines := []string{}
	for _, h := range hosts {
		if h.Installed && len(h.Connect) > 0 {
			lines = append(lines, present.CommandLine(h.Connect))
		}
	}
	said := "Found on this machine. Each command shows what it changes, and asks:"
	if len(lines) == 0 {
		said, lines = "This lists the agents that can be connected, and how:", []string{"countersign connect"}
	}
	st.ways = []ui.Node{ui.P(ui.Text(said)), command(strings.Join(lines, "\n"))}
	return st
}

// trying is done once a test approval was decided, whichever way.
func (s *Section) trying(ctx context.Context, v httpauth.Identity) step {
	st := step{title: "Send a test approval"}
	tried, err := s.core.Calls(ctx, app.RunFilter{Tool: string(control.TryApproval.Name), Limit: few})
	if err == nil && slices.ContainsFunc(tried, func(r tool.Record) bool { return r.Status == tool.StatusCompleted || r.Reason == tool.ReasonUserDenied }) {
		st.done = "You have decided about one."
		return st
	}
	st.ways = []ui.Node{ui.P(ui.Text("See how an agent's request comes to you, and how you decide. It changes nothing.")),
		ui.PostForm(v, "/home/try", ui.Div(ui.Class("buttons"), ui.Primary("Send a test approval", ui.Type("submit"))))}
	return st
}

func (s *Section) registering(ctx context.Context, v httpauth.Identity) step {
	st := step{title: "Register a project"}
	var all projects.ProjectList
	if s.runner.Read(ctx, v, projects.ListProjects.Name, nil, &all) == nil && len(all.Projects) > 0 {
		st.done = ui.Count(len(all.Projects), "project is", "projects are") + " registered."
		return st
	}
	st.ways = []ui.Node{ui.P(ui.Text("Agents can look at a registered directory, and ask to run its scripts. "), ui.LinkTo("/projects", "Register one here"), ui.Text(", or in a terminal:")),
		command("countersign project add .")}
	return st
}

// taking is done once modules of an agent's configuration were made, or deployed.
func (s *Section) taking(ctx context.Context) step {
	st := step{title: "Take your agents' configuration over"}
	for _, name := range []string{"deploy_apply", "agents_import_apply", "agents_init"} {
		done, err := s.core.Calls(ctx, app.RunFilter{Tool: name, Status: tool.StatusCompleted, Limit: 1})
		if err == nil && len(done) > 0 {
			st.done = "A config repository is there."
			return st
		}
	}
	st.ways = []ui.Node{ui.P(ui.Text("One config repository for the prompts, skills and instructions of every agent. This shows what you have, and changes nothing; "),
		ui.LinkTo("/deployments", "the page of deployments"), ui.Text(" goes on from there.")), command("countersign agents import")}
	return st
}

// try sends a test approval, which is then decided like those of agents.
func (s *Section) try(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.runner.Do(w, r, v, ui.Task{Title: "Send a test approval", Tool: control.TryApproval.Name, Back: path, Done: "Your test approval was approved, and nothing was changed.", Queued: true})
}
