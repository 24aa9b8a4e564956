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
type cells map[string]map[string]*planner.StateSummary

// of returns the counts of an agent's files that belong to these modules.
func (c cells) of(modules []string, target string) (counts []*planner.StateSummary) {
	if len(modules) == 0 {
		modules = []string{noModule}
	}
	for _, m := range modules {
		if c[m] == nil {
			c[m] = map[string]*planner.StateSummary{}
		}
		if c[m][target] == nil {
			c[m][target] = &planner.StateSummary{}
		}
		counts = append(counts, c[m][target])
	}
	return counts
}

// matrix returns a table of modules and agents with the states of their files. Without the tools that list the deployed files, it has only files with
// drift.
func (r reading) matrix(st status, drift []deployments.ExplainedDrift) ui.Node {
	all := cells{}
	differs := map[string]bool{}
	for _, d := range drift {
		differs[fileKey(d.Target, d.Path)] = true
		for _, n := range all.of(d.Modules, d.Target) {
			n.Count(d.State, d.Kind == planner.DriftExtra)
		}
	}
	for _, f := range r.managed() {
		if !differs[fileKey(f.Target, f.Path)] && slices.Contains(st.Targets, f.Target) {
			for _, n := range all.of(f.Modules, f.Target) {
				n.Count("up_to_date", false)
			}
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
				cell = stateBadges(present.StateCounts(*n), cell)
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
