package deployment

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"slices"
)

// Root is a directory that a target's files go below. Files of other makers in it are extras when ScanExtras says so
// (agentpack contract §2.6).
type Root struct {
	Target     string `json:"target"`
	Path       string `json:"path"` // absolute, native
	ScanExtras bool   `json:"scan_extras"`
}

// Owner is which operation owns a file: each touches its own entries only.
type Owner string

// The owners. Deploy's entries leave the field out, as the format always did.
const (
	OwnerDeploy    Owner = ""
	OwnerBootstrap Owner = "bootstrap"
)

// Repo is whose an operation's entries are when a config repository carries it out: that one's, but operator assets belong to none.
func (o Owner) Repo(repo string) string {
	if o == OwnerBootstrap {
		return ""
	}
	return repo
}

// Format is how a file is written that only a part of is ours.
type Format string

// The formats.
const (
	FormatMarkdown Format = "markdown" // one managed block
	FormatJSON     Format = "json"
	FormatJSONC    Format = "jsonc"
	FormatTOML     Format = "toml"
	FormatIgnore   Format = "gitignore" // lines of a managed section, each a key with the value true
)

// Part is what is ours in a file that is otherwise the user's: a block of Markdown, or single keys.
type Part struct {
	Format Format `json:"format"`
	Block  string `json:"block,omitempty"`
	Label  string `json:"label,omitempty"` // of the block, where another config repository has one in the file (BlockLabel)
	Keys   []Key  `json:"keys,omitempty"`
}

// Key is one key of a document, or one value of the list at a key, whose other values are the user's. Module is the one it came from.
type Key struct {
	Path   []string        `json:"path"`
	Value  json.RawMessage `json:"value,omitempty"`
	Item   bool            `json:"item,omitempty"`
	Module string          `json:"module_id,omitempty"`
}

// Same reports two keys that are one: the same one, or the same value of one list.
func (k Key) Same(other Key) bool {
	return k.Item == other.Item && slices.Equal(k.Path, other.Path) && (!k.Item || bytes.Equal(k.Value, other.Value))
}

// Desired is one file as it should be.
type Desired struct {
	Target  string
	Root    string // the root it belongs to: the deepest of its target
	Path    string // absolute, native
	Mode    fs.FileMode
	Content Content  // of the whole file; of a part, once it was merged into what is there
	Modules []string // identifiers, sorted, without repetitions
	Part    *Part    // nil: the whole file is ours
	Merge   merge    // of a part only
	Taken   bool     // all edits of the file on disk are in Content already: merged with what was deployed, nothing is left of them
}

// merge is what came of putting a part into the file that is there (or taking it out again).
type merge struct {
	Ours    Sum        // of the part as it should be; zero when it is taken out
	Now     Sum        // of the part as it is; zero when nothing of it is there
	Remove  bool       // the part was all there was, in a file that a deployment made: the file goes
	Theirs  bool       // the part has keys that were never deployed, and the user has them with other values
	Made    [][]string // containers that had to be made for the keys
	Claimed bool       // what comes back in it is what only a file of the home says stood there
}

// FileKind is what stands at a path.
type FileKind uint8

// The kinds of what stands at a path.
const (
	Absent FileKind = iota
	Regular
	Link // a symbolic link; Sum is of what it leads to
	Directory
	Special
)

// Seen is what was seen at one path.
type Seen struct {
	Kind FileKind
	Sum  Sum
	Size int64
	Mode fs.FileMode // permission bits, all of them
	Link string      // where a link leads, as written
}

// Is reports whether s holds that content and is executable exactly when mode is.
func (s Seen) Is(sum Sum, mode fs.FileMode) bool {
	return (s.Kind == Regular || s.Kind == Link) && s.Sum == sum && (s.Kind == Link || ModeOf(s.Mode) == ModeOf(mode))
}

// Owned is one file (or part of one) that an ownership record says was written here. Its owner is a config repository, where the root is (the
// user's, or one project's), and an operation.
type Owned struct {
	Target  string
	Root    string
	Path    string // absolute, native
	Sum     Sum
	Mode    fs.FileMode
	Modules []string
	Owner   Owner
	Repo    string     // the config repository (deployport.Registry); empty for what belongs to none, as operator assets do
	Part    *Part      // as it was written; nil: the whole file
	PartSum Sum        // of Part
	Made    [][]string // containers made for the part's keys
	Created bool       // the file was not there before the part was put in
	Over    Sum        // of a block: what another config repository had deployed as the whole file, which is around it since it was taken over; else zero
	Claim   Claim      // how much it counts
}

// Claim is how much an ownership entry counts: what no operation on record wrote may be anybody's.
type Claim uint8

// The claims, the sure one first.
const (
	Proven   Claim = iota // an operation that is on record wrote it
	Beside                // it stands beside the files, in a manifest of an earlier version or of the original: it deletes and proposes nothing
	Unproven              // it stands in the home, and no operation on record wrote it as it is: it counts for nothing, and is forgotten
)

// Sure is the entry where an operation on record wrote it, or else nil.
func (f *Owned) Sure() *Owned {
	if f == nil || f.Claim != Proven {
		return nil
	}
	return f
}

// Known is the entry where it counts for what is written over a file, or else nil.
func (f *Owned) Known() *Owned {
	if f == nil || f.Claim == Unproven {
		return nil
	}
	return f
}

// Original is what stood at a path before a deployment first wrote to it. It is kept for ever.
type Original struct {
	Path string
	Seen
	Snapshot string // the first snapshot that wrote there
	Settled  string // the rollback that gave the path back; then it is kept, and counts no more
	Unproven bool   // no operation that is on record wrote it down
}

// OwnershipManifest is what is recorded of a root: what the config repository that looks owns there, and what belongs to none.
type OwnershipManifest struct {
	Root    Root
	Present bool // something is recorded: in the home, or in a manifest of this target beside the files
	Legacy  bool // in a manifest under the legacy name
	Owned   []Owned
	Beside  []string // manifests of earlier versions, and of the original, that were read beside the files: the next deployment takes them over
}

// Observed is the machine as it was looked at: the manifests of some roots and what stands at the paths that matter.
type Observed struct {
	Ledgers  []OwnershipManifest
	Others   []Owned         // what other config repositories own in the roots
	Files    map[string]Seen // by absolute native path; a path that is absent may be left out
	Warnings []string

	// Unread is why, by path, of what could not be looked at or read, where that was to stop nobody; otherwise nil. What could not even be
	// looked at is not in Files.
	Unread map[string]error

	// Looked is the paths that were asked for and Seen what stands at each, where whoever looked has kept them. That is nothing that Files
	// does not say, but is found without a search.
	Looked []string
	Seen   []Seen

	Ways *ResolvedDirs // where the directories of these paths, and the roots, really were
}

// at is what stands at the path, which probably was the one at that place of those that were asked for.
func (o Observed) at(i int, path string) Seen {
	if i < len(o.Looked) && o.Looked[i] == path {
		return o.Seen[i]
	}
	return o.Files[path]
}

// Owned is every entry of every ledger.
func (o Observed) Owned() []Owned {
	out := make([]Owned, 0, o.count())
	for _, l := range o.Ledgers {
		out = append(out, l.Owned...)
	}
	return out
}
