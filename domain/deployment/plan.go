package deployment

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/domain/canon"
)

// Op is what happens to a file.
type Op string

// The operations of a plan (agentpack contract §4.3).
const (
	OpCreate Op = "create"
	OpUpdate Op = "update"
	OpDelete Op = "delete"
)

// Gate says whether a change needs adopt, and why.
type Gate string

// The kinds of update. The first and the last need no adopt; a deletion of an edited file is DriftedDelete.
const (
	ManagedUpdate Gate = "managed_update"
	AdoptUpdate   Gate = "adopt_update"   // would overwrite what no deployment wrote
	DriftedUpdate Gate = "drifted_update" // would overwrite what was edited since it was deployed
	DriftedDelete Gate = "drifted_delete" // would delete what was edited since it was deployed
	MergeUpdate   Gate = "merge_update"   // adds a part to a file and leaves the rest of it alone
)

// Adopts reports whether the change overwrites or deletes the user's own work.
func (g Gate) Adopts() bool { return g == AdoptUpdate || g == DriftedUpdate || g == DriftedDelete }

// The reasons of changes. The first four are the contract's words.
const (
	reasonMissing   = "file missing"
	reasonDiffers   = "content differs"
	reasonUnmanaged = "would overwrite unmanaged existing file"
	reasonGone      = "no longer managed"
	reasonMode      = "mode differs"
	reasonDrifted   = "edited since it was deployed"
	reasonGoneDrift = "no longer managed, and edited since it was deployed"
	reasonPart      = "managed part missing"
	reasonLink      = "the path is a symbolic link"
	reasonClaimed   = "not deployed according to the audit log: only the ownership manifest lists it"
)

// Change is the change of one file.
type Change struct {
	Target  string
	Op      Op
	Path    string // absolute, native
	Gate    Gate   // of updates, and of deletions of edited files; otherwise empty
	Reason  string
	State   FileState // before the change; empty in a rollback to a snapshot
	Before  Seen
	After   Content     // of creations and updates
	Mode    fs.FileMode // of creations and updates
	Holder  string      // another config repository that deployed the file with other content; shown in Reason
	Link    string      // target of a symbolic link that is put back; otherwise empty
	Modules []string
}

// MarshalJSON returns the change in the contract's form (agentpack contract §4.3), keys sorted.
func (c Change) MarshalJSON() ([]byte, error) { return c.appendJSON(nil), nil }

// UnmarshalJSON reads what MarshalJSON writes; fields that are not written stay empty.
func (c *Change) UnmarshalJSON(text []byte) error {
	var shown struct {
		After      *Sum      `json:"after_sha256"`
		Before     *Sum      `json:"before_sha256"`
		BeforeLink string    `json:"before_link"`
		Differs    []string  `json:"differs_from"`
		DeleteKind Gate      `json:"delete_kind"`
		Link       string    `json:"link"`
		Mode       string    `json:"mode"`
		Op         Op        `json:"op"`
		Path       string    `json:"path"`
		Reason     string    `json:"reason"`
		State      FileState `json:"state"`
		Target     string    `json:"target"`
		UpdateKind Gate      `json:"update_kind"`
	}
	if err := json.Unmarshal(text, &shown); err != nil {
		return err
	}
	*c = Change{Target: shown.Target, Op: shown.Op, Path: shown.Path, Gate: cmp.Or(shown.UpdateKind, shown.DeleteKind), Reason: shown.Reason, State: shown.State, Link: shown.Link}
	if shown.After != nil {
		c.After.Sum = *shown.After
	}
	if shown.Before != nil {
		c.Before.Sum = *shown.Before
	}
	c.Modules = shown.Differs
	if shown.BeforeLink != "" {
		c.Before.Kind, c.Before.Link = Link, shown.BeforeLink
	}
	switch {
	case c.Op == OpDelete || c.Link != "":
	case shown.Mode != "":
		mode, err := strconv.ParseUint(shown.Mode, 8, 9)
		if err != nil {
			return err
		}
		c.Mode = fs.FileMode(mode)
	default:
		c.Mode = PlainMode
	}
	return nil
}

// appendJSON appends the change's canonical form: it is hashed for thousands of files at a time.
func (c Change) appendJSON(b []byte) []byte {
	b = append(b, `{"after_sha256":`...)
	b = appendSum(b, c.After.Sum)
	if c.Before.Kind == Link && c.Before.Link != "" { // which does not stay a link
		b = appendText(append(b, `,"before_link":`...), c.Before.Link)
	}
	b = append(b, `,"before_sha256":`...)
	b = appendSum(b, c.Before.Sum)
	if c.Gate == DriftedDelete {
		b = append(b, `,"delete_kind":"drifted_delete"`...)
	}
	if c.Gate == AdoptUpdate && c.Holder == "" && c.Before.Sum != c.After.Sum && len(c.Modules) > 0 { // what import would report as differing
		b = appendJSON(append(b, `,"differs_from":`...), c.Modules)
	}
	if c.Link != "" {
		b = appendText(append(b, `,"link":`...), c.Link)
	}
	if c.Op != OpDelete && c.Link == "" && c.Mode != PlainMode && c.Mode != 0 { // without a mode, it is PlainMode
		b = fmt.Appendf(b, `,"mode":"%04o"`, c.Mode.Perm())
	}
	b = append(append(b, `,"op":"`...), c.Op...)
	b = appendText(append(b, `","path":`...), c.Path)
	b = appendText(append(b, `,"path_posix":`...), PosixPath(c.Path))
	b = appendText(append(b, `,"reason":`...), c.Reason)
	if c.State != "" && (c.Op != OpCreate || c.State != StateNotDeployed) { // the contract's form of a new file
		b = append(append(append(b, `,"state":"`...), c.State...), '"')
	}
	b = appendText(append(b, `,"target":`...), c.Target)
	if c.Op == OpUpdate {
		b = append(append(append(b, `,"update_kind":"`...), c.Gate...), '"')
	}
	return append(b, '}')
}

func appendSum(b []byte, s Sum) []byte {
	if s.IsZero() {
		return append(b, "null"...)
	}
	b = append(b, '"')
	b = hex.AppendEncode(b, s[:])
	return append(b, '"')
}

func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			text, err := canon.Marshal(s)
			if err != nil {
				return fmt.Appendf(b, "%q", s) // a text always has a canonical form
			}
			return append(b, text...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

// Summary counts changes.
type Summary struct {
	Create int `json:"create"`
	Delete int `json:"delete"`
	Update int `json:"update"`
}

// Binding is everything a plan was made for, resolved: an approval counts for exactly this (agentpack contract §7.4).
type Binding struct {
	Home        string `json:"home"`
	Machine     string `json:"machine"`
	Profile     string `json:"profile"`
	ProjectRoot string `json:"project_root"`
	Repo        string `json:"repo"`
	Scope       Scope  `json:"scope,omitempty"` // user or project alone
	Target      string `json:"target"`          // the targets, joined by commas
	UserHome    string `json:"user_home"`
}

// Plan is everything a deployment would change, and what would be owned afterwards.
type Plan struct {
	Binding Binding
	Profile string
	Targets []string // sorted
	Changes []Change // sorted by target, then path
	Owned   []Owned  // all that Owner owns in Roots afterwards
	Owner   Owner
	Repo    string // the config repository
	Roots   []Root
	// TakesOver are the ownership manifests of earlier versions, and of the original, that are moved into the home's records and removed.
	TakesOver []string
	Taken     []Takeover    // what other config repositories own and this plan takes over
	Beside    []Root        // examined because they may have the same files
	Left      []Change      // changes not made because the files are the user's own work (LeaveEdited)
	Forgotten []string      // paths that are listed as deployed only by a record that no operation wrote: they stay, and nobody owns them any more
	Doubtful  []string      // paths of changes whose only reason is a file of the home, or beside the deployed ones, that no recorded operation wrote
	Stale     bool          // a manifest must be written although no file changes
	Ways      *ResolvedDirs // the resolved directories of the plan; with other directories it is another plan
}

// Summary counts the plan's changes.
func (p Plan) Summary() Summary {
	var s Summary
	for i := range p.Changes {
		s.Add(p.Changes[i].Op)
	}
	return s
}

// Add counts one more change.
func (s *Summary) Add(op Op) {
	switch op {
	case OpCreate:
		s.Create++
	case OpUpdate:
		s.Update++
	case OpDelete:
		s.Delete++
	}
}

// Files counts the plan's files. A file of several targets counts once, and as changed several times.
func (p Plan) Files() Summary {
	var s Summary
	known := make(map[string]bool, len(p.Changes))
	for i := range p.Changes {
		if c := &p.Changes[i]; !known[c.Path] {
			known[c.Path] = true
			s.Add(c.Op)
		}
	}
	return s
}

// PathsOf returns the files that changes are about, sorted, each once.
func PathsOf(changes []Change) []string {
	paths := make([]string, len(changes))
	for i, c := range changes {
		paths[i] = c.Path
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// Warnings describes, for the user who decides, what a plan does besides its changes: which manifests it takes over, and where another owner has
// files.
func (p Plan) Warnings() []string {
	out := p.HeldWarnings()
	if n := len(p.Doubtful); n > 0 {
		out = append(out, "the audit log does not confirm that these were deployed or what they replaced; only files that any program can write do; review each: "+some(p.Doubtful, n))
	}
	if n := len(p.Forgotten); n > 0 {
		out = append(out, "the audit log does not confirm that these were deployed, so they are kept and are now unmanaged: "+some(p.Forgotten, n))
	}
	if n := len(p.TakesOver); n > 0 {
		out = append(out, "these ownership manifests are moved to COUNTERSIGN_HOME; to write them again, run: countersign agents manifests --write: "+some(p.TakesOver, n))
	}
	return out
}

// some names the first of n paths.
func some(paths []string, n int) string {
	list := strings.Join(paths[:min(n, maxHeld)], ", ")
	if n > maxHeld {
		list += fmt.Sprintf(" and %d more", n-maxHeld)
	}
	return list
}

// Empty reports whether a plan changes nothing, not even a manifest.
func (p Plan) Empty() bool { return len(p.Changes) == 0 && !p.Stale }

// Adoptions returns the changes that need adopt.
func (p Plan) Adoptions() []Change {
	var out []Change
	for _, c := range p.Changes {
		if c.Gate.Adopts() {
			out = append(out, c)
		}
	}
	return out
}

// Edited returns the changes that would overwrite or delete edits since the last deployment.
func (p Plan) Edited() []Change {
	var out []Change
	for _, c := range p.Changes {
		if c.State.IsEdited() {
			out = append(out, c)
		}
	}
	return out
}

// Hash identifies the plan: the canonical sum over its binding and what a user sees of it. Whether it will be called with adopt is not part of it,
// because what adopt would overwrite is among the changes.
func (p Plan) Hash() canon.Hash {
	b := make([]byte, 0, 256+384*len(p.Changes))
	b = append(b, `{"binding":`...)
	b = appendJSON(b, p.Binding)
	b = append(b, `,"changes":[`...)
	for i, c := range p.Changes {
		if i > 0 {
			b = append(b, ',')
		}
		b = c.appendJSON(b)
	}
	b = append(b, `],"owner":`...)
	b = appendText(b, string(p.Owner))
	b = append(b, `,"profile":`...)
	b = appendText(b, p.Profile)
	b = append(b, `,"summary":`...)
	b = appendJSON(b, p.Summary())
	if len(p.Left) > 0 {
		b = appendJSON(append(b, `,"left":`...), p.leftAlone())
	}
	if len(p.TakesOver) > 0 {
		b = appendJSON(append(b, `,"takes_over":`...), p.TakesOver)
	}
	b = append(b, `,"targets":`...)
	b = appendJSON(b, append([]string{}, p.Targets...))
	if led := p.Ways.Pairs(); len(led) > 0 {
		b = appendJSON(append(b, `,"ways":`...), led)
	}
	return canon.SumBytes("deployment.plan.v1", append(b, '}'))
}

// appendJSON appends a value that always has a JSON form.
func appendJSON(b []byte, v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		return append(b, "null"...)
	}
	return append(b, text...)
}
