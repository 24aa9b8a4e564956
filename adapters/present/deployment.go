package present

import (
	"cmp"
	"fmt"
	"strings"
)

// Change is what becomes of one deployed file.
type Change struct {
	Target     string `json:"target"`
	Op         string `json:"op"`
	Path       string `json:"path"`
	Reason     string `json:"reason"`
	UpdateKind string `json:"update_kind"`
	DeleteKind string `json:"delete_kind"`
	Mode       string `json:"mode"`
	BeforeLink string `json:"before_link"` // where the symbolic link leads that stands there
	Link       string `json:"link"`        // where the symbolic link leads that is put back

	DiffersFrom []string `json:"differs_from"` // of a file that no deployment wrote: the modules that say something else
	State       string   `json:"state"`        // of the file before the change
	Before      *string  `json:"before_sha256"`
	After       *string  `json:"after_sha256"`
}

// Key names the file of the change.
func (c Change) Key() string { return c.Target + " " + c.Path }

// Adopts reports a change that overwrites or deletes an unmanaged or modified file, and so needs adopt (agentpack contract §4.4).
func (c Change) Adopts() bool {
	return c.UpdateKind == "adopt_update" || c.UpdateKind == "drifted_update" || c.DeleteKind == "drifted_delete"
}

// StateWords is the state of a deployed file in words: what was deployed last, what is on disk and what the config repository says, compared. It is empty for
// a file that no deployment manages.
func StateWords(state string) string {
	switch state {
	case "up_to_date":
		return "up to date"
	case "changed_upstream":
		return "changed upstream"
	case "edited_here":
		return "edited here"
	case "conflict":
		return "both (conflict)"
	case "missing":
		return "missing"
	case "not_deployed":
		return "not deployed yet"
	}
	return ""
}

// Held describes the status of a file that another config repository deployed: it belongs to that one, or this one deployed it as well.
func Held(state, repo string) string {
	if state == "not_deployed" {
		return "owned by " + repo
	}
	return cmp.Or(StateWords(state), state) + ", also deployed by " + repo
}

// claimed reports a change that no operation on record is a reason for.
func (c Change) claimed() bool { return strings.HasPrefix(c.Reason, "no operation on record ") }

// Note returns what users must know about a change besides what it does: the state of the file, and whose work it affects; often empty.
func (c Change) Note() string {
	words, note := ChangeWords(c.Op, c.State), ""
	switch cmp.Or(c.UpdateKind, c.DeleteKind) {
	case "adopt_update":
		words, note = "", "overwrites a file that no deployment wrote"
		if strings.HasPrefix(c.Reason, "belongs to ") { // another config repository
			note = "overwrites a file that " + c.Reason
		} else if len(c.DiffersFrom) > 0 {
			note += " and that differs from " + strings.Join(c.DiffersFrom, ", ")
		}
	case "drifted_update":
		note = "overwrites edits made since it was deployed"
		if c.claimed() {
			note = "overwrites a file that is listed as deployed, but not in the audit log"
		}
	case "drifted_delete":
		note = "deletes a file with edits made since it was deployed"
		if c.claimed() {
			note = "deletes a file that is listed as deployed, but not in the audit log"
		}
	case "merge_update":
		words, note = "", "adds to the file and keeps the rest unchanged"
	}
	if words != "" && note != "" {
		words += ": "
	}
	return joined(words+note, linkWords(c.Op, c.BeforeLink, c.Link))
}

func joined(words, more string) string {
	if words != "" && more != "" {
		words += "; "
	}
	return words + more
}

// linkWords say what becomes of a symbolic link, which the path alone does not show; empty where there is none.
func linkWords(op, before, after string) string {
	switch {
	case after != "":
		return "becomes a link to " + after
	case before != "" && op == "delete":
		return "it is a link to " + before
	case before != "":
		return "a file replaces the link to " + before
	}
	return ""
}

// NotWanted describes a deployed file that the config repository no longer contains.
const NotWanted = "no longer wanted"

// ChangeWords describes the state of a file that will change. For a file that is deleted because it is no longer wanted, that is the upstream change.
func ChangeWords(op, state string) string {
	if op == "delete" && state == "changed_upstream" {
		return NotWanted
	}
	return StateWords(state)
}

// Why is why a change in a plan happens, for people: the state of the file, or else the reason that the plan gives.
func Why(change []Field) string {
	state := Text(change, "state")
	if state == "not_deployed" {
		state = "" // the reason says more
	}
	op, differs := Text(change, "op"), ""
	if modules, _ := Member(change, "differs_from").([]any); len(modules) > 0 {
		differs = "it differs from " + strings.Trim(fmt.Sprint(modules), "[]")
	}
	return joined(joined(cmp.Or(ChangeWords(op, state), Text(change, "reason")), linkWords(op, Text(change, "before_link"), Text(change, "link"))), differs)
}

// Costs describes what a change in a plan does to unmanaged or modified files; empty if nothing.
func Costs(change []Field) string {
	switch Text(change, "update_kind") + Text(change, "delete_kind") {
	case "adopt_update":
		return "overwrites an unmanaged file"
	case "drifted_update":
		return "overwrites edits"
	case "drifted_delete":
		return "deletes edits"
	}
	return ""
}

// StateCounts counts deployed files by their state. Of ChangedUpstream, NotWanted go.
type StateCounts struct {
	ChangedUpstream int `json:"changed_upstream"`
	Conflict        int `json:"conflict"`
	EditedHere      int `json:"edited_here"`
	Missing         int `json:"missing"`
	NotDeployed     int `json:"not_deployed"`
	NotWanted       int `json:"not_wanted"`
	Unmanaged       int `json:"unmanaged"` // extra files, which no deployment wrote
	UpToDate        int `json:"up_to_date"`
}

// StateCount is how many files have one state.
type StateCount struct {
	State string // one of StateWords; empty for those that are not wanted any more, or extra
	Words string
	Files int
}

// Each is the counts that are not zero, the harmless first.
func (c StateCounts) Each() (out []StateCount) {
	for _, n := range []StateCount{{"up_to_date", "", c.UpToDate}, {"changed_upstream", "", c.ChangedUpstream - c.NotWanted}, {"", NotWanted, c.NotWanted}, {"edited_here", "", c.EditedHere},
		{"conflict", "", c.Conflict}, {"missing", "", c.Missing}, {"not_deployed", "", c.NotDeployed}, {"", "extra", c.Unmanaged}} {
		if n.Files > 0 {
			n.Words = cmp.Or(n.Words, StateWords(n.State))
			out = append(out, n)
		}
	}
	return out
}

// Summary counts changes.
type Summary struct {
	Create int `json:"create"`
	Update int `json:"update"`
	Delete int `json:"delete"`
}

// Empty reports that there is nothing to change.
func (s Summary) Empty() bool { return s == Summary{} }

// Total is all of them together.
func (s Summary) Total() int { return s.Create + s.Update + s.Delete }

// Words is the counts in words.
func (s Summary) Words() string {
	if s.Empty() {
		return "nothing to change"
	}
	return fmt.Sprintf("%d to create, %d to update, %d to delete", s.Create, s.Update, s.Delete)
}

// Plan is what a deployment, or a way back, would change, or has changed.
type Plan struct {
	Applied    bool     `json:"applied"`
	Changes    []Change `json:"changes"`
	Omitted    int      `json:"changes_omitted"`
	Places     []Place  `json:"directories"` // where some are omitted: of all of them
	Profile    string   `json:"profile"`
	Reason     string   `json:"reason"`
	SnapshotID string   `json:"snapshot_id"`
	Summary    Summary  `json:"summary"`
	Targets    []string `json:"targets"`

	Findings []Finding `json:"findings"` // of a deployment
}

// Place is a directory of a target, and how many changes are below it.
type Place struct {
	Target  string  `json:"target"`
	Path    string  `json:"path"`
	Summary Summary `json:"summary"`
}

// Len is how many changes there are, listed or not.
func (p Plan) Len() int { return len(p.Changes) + p.Omitted }

// Finding is one thing to know of a module's file before agents read it.
type Finding struct {
	Severity string `json:"severity"`
	Rule     string `json:"rule"`
	ModuleID string `json:"module_id"`
	Path     string `json:"path"`
	Line     int    `json:"line"`
	Text     string `json:"text"`
}

// Files counts the files of the plan: one that several targets have is one. Of a list that was cut short it is the summary.
func (p Plan) Files() Summary {
	if len(p.Changes) != p.Summary.Create+p.Summary.Update+p.Summary.Delete {
		return p.Summary
	}
	var s Summary
	known := map[string]bool{}
	for _, c := range p.Changes {
		if known[c.Path] {
			continue
		}
		known[c.Path] = true
		switch c.Op {
		case "create":
			s.Create++
		case "update":
			s.Update++
		case "delete":
			s.Delete++
		}
	}
	return s
}

// Adoptions are the changes that need adopt.
func (p Plan) Adoptions() (out []Change) {
	for _, c := range p.Changes {
		if c.Adopts() {
			out = append(out, c)
		}
	}
	return out
}
