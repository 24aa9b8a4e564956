package agentpages

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/app/deployments"
	"github.com/countersign-dev/countersign/app/deployments/planner"
)

// fileKey names a deployed file, as Change.Key does.
func fileKey(target, path string) string { return target + " " + path }

// stateTone returns the tone of a state's badge.
func stateTone(state string) string {
	return cmp.Or(map[string]string{"up_to_date": ui.Good, "edited_here": ui.Warn, "conflict": ui.Bad, "missing": ui.Bad}[state], ui.Plain)
}

// driftBadge returns the badge of a file's state; for an unmanaged file, of its kind.
func driftBadge(d planner.DriftItem) ui.Node {
	state := string(d.State)
	if d.OwnedBy != "" {
		return ui.Badge(ui.Plain, ui.Printable(present.Held(state, d.OwnedBy)))
	}
	if d.Kind == planner.DriftExtra && state == "changed_upstream" {
		return ui.Badge(stateTone(state), present.NotWanted)
	}
	if words := present.StateWords(state); words != "" {
		return ui.Badge(stateTone(state), words)
	}
	return ui.Badge(ui.Plain, d.Kind)
}

// stateBadges returns the numbers of files by state; otherwise if there are none.
func stateBadges(c present.StateCounts, otherwise ui.Node) ui.Node {
	var out ui.Group
	for _, n := range c.Each() {
		out = append(out, ui.Badge(stateTone(n.State), strconv.Itoa(n.Files)+" "+n.Words), ui.Text(" "))
	}
	if len(out) == 0 {
		return otherwise
	}
	return out
}

// status is the data of the tool status.
type status struct {
	Drift   []planner.DriftItem   `json:"drift"`
	Omitted int                   `json:"drift_omitted"`
	Next    []string              `json:"next_actions"`
	Profile string                `json:"profile"`
	Summary planner.DriftSummary  `json:"summary"`
	Total   *planner.DriftSummary `json:"summary_total"` // where only some kinds were asked for

	States present.StateCounts `json:"summary_by_state"` // of all files
	ByRoot []struct {
		Root    string               `json:"root"`
		Target  string               `json:"target"`
		States  present.StateCounts  `json:"states"`
		Summary planner.DriftSummary `json:"summary"`
	} `json:"summary_by_root"`
	Targets []string `json:"targets"`
}

// Snapshot is a past operation that you can roll back to.
type Snapshot struct{ deployments.SnapshotData }

// What describes the operation.
func (s Snapshot) What() string {
	if s.RolledBackTo != "" {
		return s.Kind + " to " + ui.Printable(s.RolledBackTo)
	}
	return ui.Printable(s.Kind)
}

// whole is a snapshot with its files.
type whole struct {
	Snapshot
	Project     string           `json:"project_root"`
	Omitted     int              `json:"files_omitted"`
	Files       []managedFile    `json:"managed_files"`
	FileChanges []present.Change `json:"file_changes"`
}

// managedFile is a file that deployments manage, with its modules.
type managedFile struct {
	Target  string   `json:"target"`
	Path    string   `json:"path"`
	Modules []string `json:"module_ids"`
}

// Candidate is an edit of a deployed file that can be proposed to the config repository.
type Candidate struct {
	Module  string     `json:"module_id"`
	Target  string     `json:"target"`
	Path    string     `json:"path"`
	State   string     `json:"state"`
	Keys    [][]string `json:"keys"`
	Unified string     `json:"unified"`
}

// What returns the file and its keys.
func (c Candidate) What() ui.Node {
	out := ui.Group{ui.InlineCode(ui.Printable(c.Path))}
	for _, key := range c.Keys {
		out = append(out, ui.Br(), ui.InlineCode(ui.Printable(strings.Join(key, "."))))
	}
	return out
}

// stateBadge returns the badge of a state; empty for an unknown state.
func stateBadge(state string) ui.Node {
	if words := present.StateWords(state); words != "" {
		return ui.Badge(stateTone(state), words)
	}
	return ui.Text("")
}

// Proposal is the data of a dry run of the tool evolve_propose.
type Proposal struct {
	Candidates []Candidate              `json:"candidates"`
	Omitted    int                      `json:"candidates_omitted"`
	Skipped    []deployments.EvolveSkip `json:"skipped"`
	Left       int                      `json:"skipped_omitted"`
}

// Mark returns a hash of the proposal, as Plan.Mark does.
func (p Proposal) Mark() string { return mark([]any{p.Candidates, p.Omitted}) }

// Restoration is the data of a dry run of the tool evolve_restore.
type Restoration struct {
	Restored []struct {
		Modules []string `json:"module_ids"`
		Target  string   `json:"target"`
		Path    string   `json:"path"`
	} `json:"restored"`
	Omitted int `json:"restored_omitted"`
}

// Mark returns a hash of the restoration, as Plan.Mark does.
func (r Restoration) Mark() string { return mark([]any{r.Restored, r.Omitted}) }
