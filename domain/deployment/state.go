package deployment

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"slices"
)

// Root is a directory below which a target's files go. Unmanaged files in it are extras if ScanExtras says so (agentpack contract §2.6).
type Root struct {
	Target     string `json:"target"`
	Path       string `json:"path"` // absolute, native
	ScanExtras bool   `json:"scan_extras"`
}

// Owner is the operation that owns a file: each operation changes only its own entries.
type Owner string

// The owners. Entries of deploy omit the field, as the format always did.
const (
	OwnerDeploy    Owner = ""
	OwnerBootstrap Owner = "bootstrap"
)

// Repo returns the owner of an operation's entries when a config repository runs it: that repository, or none for operator assets.
func (o Owner) Repo(repo string) string {
	if o == OwnerBootstrap {
		return ""
	}
	return repo
}

// Format is the form of a file that is managed in part.
type Format string

// The formats.
const (
	FormatMarkdown Format = "markdown" // one managed block
	FormatJSON     Format = "json"
	FormatJSONC    Format = "jsonc"
	FormatTOML     Format = "toml"
	FormatIgnore   Format = "gitignore" // lines of a managed section, each a key with the value true
)

// Part is the managed part of a file that is otherwise the user's: a block of Markdown, or single keys.
type Part struct {
	Format Format `json:"format"`
	Block  string `json:"block,omitempty"`
	Label  string `json:"label,omitempty"` // of the block, if another config repository has one in the file (BlockLabel)
	Keys   []Key  `json:"keys,omitempty"`
}

// Key is one key of a document, or one value of the list at a key, whose other values are the user's. Module is the module that it came from.
type Key struct {
	Path   []string        `json:"path"`
	Value  json.RawMessage `json:"value,omitempty"`
	Item   bool            `json:"item,omitempty"`
	Module string          `json:"module_id,omitempty"`
}

// Same reports whether two keys are equal: the same key, or the same value of one list.
func (k Key) Same(other Key) bool {
	return k.Item == other.Item && slices.Equal(k.Path, other.Path) && (!k.Item || bytes.Equal(k.Value, other.Value))
}

// Desired is the desired state of one file.
type Desired struct {
	Target  string
	Root    string // the root it belongs to: the deepest of its target
	Path    string // absolute, native
	Mode    fs.FileMode
	Content Content  // of the whole file; for a part, after merging it into the present file
	Modules []string // identifiers, sorted, without repetitions
	Part    *Part    // nil: the whole file is managed
	Merge   merge    // of a part only
	Taken   bool     // Content already has all edits of the file on disk, after a merge with what was deployed
}

// merge is the result of putting a part into the present file, or removing it.
type merge struct {
	Ours    Sum        // of the desired part; zero when it is removed
	Now     Sum        // of the present part; zero when there is none
	Remove  bool       // the part was the only content of a file that a deployment made: the file is deleted
	Theirs  bool       // the part has keys that were never deployed, and the user has them with other values
	Made    [][]string // containers that were made for the keys
	Claimed bool       // only a file of the home says that what is restored was there
}

// FileKind is the kind of what is at a path.
type FileKind uint8

// The kinds.
const (
	Absent FileKind = iota
	Regular
	Link // a symbolic link; Sum is that of its target's content
	Directory
	Special
)

// Seen is what was observed at one path.
type Seen struct {
	Kind FileKind
	Sum  Sum
	Size int64
	Mode fs.FileMode // permission bits, all of them
	Link string      // target of a link, as written
}

// Is reports whether s holds that content and is executable exactly when mode is.
func (s Seen) Is(sum Sum, mode fs.FileMode) bool {
	return (s.Kind == Regular || s.Kind == Link) && s.Sum == sum && (s.Kind == Link || ModeOf(s.Mode) == ModeOf(mode))
}

// Owned is one file (or part of one) that an ownership record lists as written here. Its owner is a config repository, in the place of the root (the
// user's, or one project's), and an operation.
type Owned struct {
	Target  string
	Root    string
	Path    string // absolute, native
	Sum     Sum
	Mode    fs.FileMode
	Modules []string
	Owner   Owner
	Repo    string     // the config repository (deployport.Registry); empty for what belongs to none, such as operator assets
	Part    *Part      // as it was written; nil: the whole file
	PartSum Sum        // of Part
	Made    [][]string // containers made for the part's keys
	Created bool       // the file did not exist before the part was added
	Over    Sum        // of a block: the sum of the whole file that another config repository had deployed, and that surrounds the block since it was taken over; else zero
	Claim   Claim      // how far it is trusted
}

// Claim is how far an ownership entry is trusted: files that no recorded operation wrote may belong to anybody.
type Claim uint8

// The claims, the trusted one first.
const (
	Proven   Claim = iota // a recorded operation wrote it
	Beside                // it is beside the files, in a manifest of an earlier version or of the original: it deletes and proposes nothing
	Unproven              // it is in the home, but no recorded operation wrote it in this form: it is ignored and dropped
)

// Sure returns the entry if a recorded operation wrote it, or else nil.
func (f *Owned) Sure() *Owned {
	if f == nil || f.Claim != Proven {
		return nil
	}
	return f
}

// Known returns the entry if it is trusted enough for overwriting a file, or else nil.
func (f *Owned) Known() *Owned {
	if f == nil || f.Claim == Unproven {
		return nil
	}
	return f
}

// Original is what was at a path before a deployment first wrote to it. It is kept forever.
type Original struct {
	Path string
	Seen
	Snapshot string // the first snapshot that wrote there
	Settled  string // the rollback that returned the path to the user; the original is kept but no longer counts
	Unproven bool   // no recorded operation wrote it
}

// OwnershipManifest is what is recorded for a root: what this config repository owns there, and what belongs to none.
type OwnershipManifest struct {
	Root    Root
	Present bool // something is recorded: in the home, or in a manifest of this target beside the files
	Legacy  bool // in a manifest under the legacy name
	Owned   []Owned
	Beside  []string // manifests of earlier versions, and of the original, that were read beside the files: the next deployment takes them over
}

// Observed is the state of the machine: the manifests of some roots and what is at the paths that matter.
type Observed struct {
	Ledgers  []OwnershipManifest
	Others   []Owned         // what other config repositories own in the roots
	Files    map[string]Seen // by absolute native path; a path that is absent may be left out
	Warnings []string

	// Unread is the error, by path, of everything that could not be examined or read, if such errors were to be collected; otherwise nil. Paths that
	// could not be examined at all are not in Files.
	Unread map[string]error

	// Looked is the requested paths and Seen the state of each, if the observer kept them. They repeat Files in a form that needs no search.
	Looked []string
	Seen   []Seen

	Ways *ResolvedDirs // the resolved directories of these paths and of the roots
}

// at returns what is at the path; i is its probable index among the requested ones.
func (o Observed) at(i int, path string) Seen {
	if i < len(o.Looked) && o.Looked[i] == path {
		return o.Seen[i]
	}
	return o.Files[path]
}

// Owned returns every entry of every manifest.
func (o Observed) Owned() []Owned {
	out := make([]Owned, 0, o.count())
	for _, l := range o.Ledgers {
		out = append(out, l.Owned...)
	}
	return out
}
