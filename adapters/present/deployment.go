package present

import (
	"cmp"
	"fmt"
)

// Change is what becomes of one deployed file.
type Change struct {
	Target     string  `json:"target"`
	Op         string  `json:"op"`
	Path       string  `json:"path"`
	Reason     string  `json:"reason"`
	UpdateKind string  `json:"update_kind"`
	DeleteKind string  `json:"delete_kind"`
	Mode       string  `json:"mode"`
	Before     *string `json:"before_sha256"`
	After      *string `json:"after_sha256"`
}

// Key names the file of the change.
func (c Change) Key() string { return c.Target + " " + c.Path }

// Adopts reports a change that overwrites or deletes somebody's own work, and so needs adopt (agentpack contract §4.4).
func (c Change) Adopts() bool {
	return c.UpdateKind == "adopt_update" || c.UpdateKind == "drifted_update" || c.DeleteKind == "drifted_delete"
}

// Note is what people have to know of a change besides what it does; often nothing.
func (c Change) Note() string {
	switch cmp.Or(c.UpdateKind, c.DeleteKind) {
	case "adopt_update":
		return "overwrites a file that no deployment wrote"
	case "drifted_update":
		return "overwrites edits made since it was deployed"
	case "drifted_delete":
		return "deletes a file with edits made since it was deployed"
	case "merge_update":
		return "adds to the file, and leaves the rest of it alone"
	}
	return ""
}

// Summary counts changes.
type Summary struct {
	Create int `json:"create"`
	Update int `json:"update"`
	Delete int `json:"delete"`
}

// Empty reports that there is nothing to change.
func (s Summary) Empty() bool { return s == Summary{} }

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
	Profile    string   `json:"profile"`
	Reason     string   `json:"reason"`
	SnapshotID string   `json:"snapshot_id"`
	Summary    Summary  `json:"summary"`
	Targets    []string `json:"targets"`
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
