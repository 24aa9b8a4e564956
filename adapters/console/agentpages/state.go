package agentpages

import (
	"cmp"
	"strconv"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/app/deployments"
	"github.com/countersign-dev/countersign/app/deployments/planner"
)

// drift is a deployed file that is not as it should be.
type drift struct {
	Kind     string   `json:"kind"`
	Target   string   `json:"target"`
	Root     string   `json:"root"`
	Path     string   `json:"path"`
	Modules  []string `json:"modules"`
	Expected *string  `json:"expected"`
	Actual   *string  `json:"actual"`
}

// Key names the file, as Change.Key does.
func (d drift) Key() string { return d.Target + " " + d.Path }

// Badge is how the file is not as it should be.
func (d drift) Badge() ui.Node {
	tone := map[string]string{"missing": ui.Bad, "modified": ui.Warn}[d.Kind]
	return ui.Badge(cmp.Or(tone, ui.Plain), d.Kind)
}

// counts counts drift by its kind.
type counts struct{ planner.DriftSummary }

// Total is all drift.
func (c counts) Total() int { return c.Missing + c.Modified + c.Extra }

// Badges are the counts that are not zero; "as it should be" for none.
func (c counts) Badges() ui.Node {
	var out ui.Group
	for _, n := range []struct {
		count      int
		word, tone string
	}{{c.Missing, "missing", ui.Bad}, {c.Modified, "modified", ui.Warn}, {c.Extra, "extra", ui.Plain}} {
		if n.count > 0 {
			out = append(out, ui.Badge(n.tone, strconv.Itoa(n.count)+" "+n.word), ui.Text(" "))
		}
	}
	if len(out) == 0 {
		return ui.Badge(ui.Good, "as it should be")
	}
	return out
}

// status is the data of the tool status.
type status struct {
	Drift   []drift  `json:"drift"`
	Omitted int      `json:"drift_omitted"`
	Next    []string `json:"next_actions"`
	Profile string   `json:"profile"`
	Summary counts   `json:"summary"`
	Total   *counts  `json:"summary_total"` // where only some kinds were asked for
	ByRoot  []struct {
		Root    string `json:"root"`
		Target  string `json:"target"`
		Summary counts `json:"summary"`
	} `json:"summary_by_root"`
	Targets []string `json:"targets"`
}

// doctor is the data of the tool doctor.
type doctor struct {
	Machine string   `json:"machine_id"`
	Next    []string `json:"next_actions"`
	Roots   []struct {
		Target     string   `json:"target"`
		Root       string   `json:"root"`
		Exists     bool     `json:"exists"`
		Issues     []string `json:"issues"`
		Suggestion *string  `json:"suggestion"`
	} `json:"roots"`
}

// Snapshot is what was done once, and can be gone back to.
type Snapshot struct{ deployments.SnapshotData }

// What is what was done, in words.
func (s Snapshot) What() string {
	if s.RolledBackTo != "" {
		return s.Kind + " to " + ui.Printable(s.RolledBackTo)
	}
	return ui.Printable(s.Kind)
}

// whole is a snapshot with its files.
type whole struct {
	Snapshot
	Project string `json:"project_root"`
	Omitted int    `json:"files_omitted"`
	Files   []struct {
		Target  string   `json:"target"`
		Path    string   `json:"path"`
		Modules []string `json:"module_ids"`
	} `json:"managed_files"`
	FileChanges []present.Change `json:"file_changes"`
}

// Candidate is an edit of a deployed file that can go back into the config repository.
type Candidate struct {
	Module string `json:"module_id"`
	Target string `json:"target"`
	Path   string `json:"path"`
}

// skipped is drift that cannot be proposed, and why.
type skipped struct {
	Module  string   `json:"module_id"`
	Modules []string `json:"module_ids"`
	Target  string   `json:"target"`
	Path    string   `json:"path"`
	Reason  string   `json:"reason"`
	Message string   `json:"reason_message"`
}

// Proposal is the data of the tool evolve_propose before anything is done.
type Proposal struct {
	Candidates []Candidate `json:"candidates"`
	Omitted    int         `json:"candidates_omitted"`
	Skipped    []skipped   `json:"skipped"`
	Left       int         `json:"skipped_omitted"`
}

// Mark names what would be proposed, as Plan.Mark does.
func (p Proposal) Mark() string { return mark([]any{p.Candidates, p.Omitted}) }

// Restoration is the data of the tool evolve_restore before anything is done.
type Restoration struct {
	Restored []struct {
		Modules []string `json:"module_ids"`
		Target  string   `json:"target"`
		Path    string   `json:"path"`
	} `json:"restored"`
	Omitted int `json:"restored_omitted"`
}

// Mark names what would be recreated, as Plan.Mark does.
func (r Restoration) Mark() string { return mark([]any{r.Restored, r.Omitted}) }
