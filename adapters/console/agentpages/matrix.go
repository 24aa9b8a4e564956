package agentpages

import (
	"maps"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/app/deployments"
	"github.com/countersign-dev/countersign/app/deployments/planner"
)

// noModule is the row of files that belong to no module.
const noModule = ""

// cells are the numbers of files by state, by module and agent.
type cells map[string]map[string]*present.StateCounts

// cell returns the counts of one module and agent.
func (c cells) cell(module, target string) *present.StateCounts {
	if c[module] == nil {
		c[module] = map[string]*present.StateCounts{}
	}
	if c[module][target] == nil {
		c[module][target] = &present.StateCounts{}
	}
	return c[module][target]
}

// count adds one file to the counts of its modules.
func (c cells) count(modules []string, target string, state string, unwanted bool) {
	if len(modules) == 0 {
		modules = []string{noModule}
	}
	for _, m := range modules {
		n := c.cell(m, target)
		switch state {
		case "up_to_date":
			n.UpToDate++
		case "changed_upstream":
			n.ChangedUpstream++
			if unwanted {
				n.NotWanted++
			}
		case "edited_here":
			n.EditedHere++
		case "conflict":
			n.Conflict++
		case "missing":
			n.Missing++
		case "not_deployed":
			n.NotDeployed++
		default:
			n.Unmanaged++
		}
	}
}

// matrix returns a table of modules and agents with the states of their files. Without the tools that list the deployed files, it has only files with
// drift.
func (r reading) matrix(st status, drift []deployments.ExplainedDrift) ui.Node {
	all := cells{}
	differs := map[string]bool{}
	for _, d := range drift {
		differs[fileKey(d.Target, d.Path)] = true
		all.count(d.Modules, d.Target, string(d.State), d.Kind == planner.DriftExtra)
	}
	for _, f := range r.managed() {
		if !differs[fileKey(f.Target, f.Path)] && slices.Contains(st.Targets, f.Target) {
			all.count(f.Modules, f.Target, "up_to_date", false)
		}
	}
	var rows []ui.Node
	for _, module := range slices.Sorted(maps.Keys(all)) {
		row := []ui.Node{ui.LinkTo(r.at.at("/module", "id", module), ui.Printable(module))}
		if module == noModule {
			row[0] = ui.Span(ui.Class("quiet"), ui.Text("No module"))
		}
		for _, target := range st.Targets {
			cell := ui.Node(ui.Text("–"))
			if n := all[module][target]; n != nil {
				cell = stateBadges(*n, cell)
			}
			row = append(row, cell)
		}
		rows = append(rows, ui.Row(row...))
	}
	heads := []string{"Module"}
	for _, target := range st.Targets {
		heads = append(heads, agentName(target))
	}
	return ui.Part("Modules and agents", ui.DataTable("Modules and agents", heads, rows, "No files are deployed or planned."))
}

// agentName returns the name of an agent as its maker writes it.
func agentName(target string) string {
	for _, c := range agentChoices() {
		if c.Value == target {
			return c.Text
		}
	}
	return ui.Printable(strings.ReplaceAll(target, "_", " "))
}
