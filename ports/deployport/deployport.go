// Package deployport declares what deployments need: the place of a call, the config repository, module sources, overlay directories, the machine that is
// deployed to, and git. The comments of each method are its contract; internal/testkit/deploytest runs it against the adapters.
package deployport

import (
	"context"
	"encoding/json"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/overlay"
)

// Asked is what a caller said about the place; empty fields are found out.
type Asked struct {
	Repo        string // path to the config repository; relative to the working directory
	Machine     string
	ProjectRoot string // counts as marked when given
}

// Places resolves where a call works. It starts no process.
type Places interface {
	// Resolve is the place, with every path absolute. Nothing has to exist yet.
	Resolve(ctx context.Context, a Asked) (deployment.Place, error)
}

// Config is a config repository as it was read.
type Config struct {
	Manifest deployment.Manifest
	Lock     *deployment.Lock // nil when there is none
	LockSum  deployment.Sum   // of the lockfile's bytes; zero when there is none
	Warnings []string         // unknown keys, each with its line
}

// ManifestEdit is one change of agentpack.yaml that leaves every other byte as it is.
type ManifestEdit struct {
	Add      *deployment.Module // append a module
	Remove   string             // take the module of this identifier out
	Profile  string             // with Tags: make sure the profile exists and includes them
	Tags     []string
	Metadata map[string]any // of Add: passed through
}

// Configs reads config repositories and works out edits of them. It writes nothing: edits come back as writes.
type Configs interface {
	// Load reads and validates manifest and lockfile. It fails with ErrConfigMissing, ErrConfig, ErrConfigVersion, ErrTarget, ErrLock
	// (also when no module needs the lock), ErrLockVersion; beside an error of the lockfile the rest of the Config is there.
	Load(ctx context.Context, repo string) (Config, error)
	// Edit is the write that makes the edits to the manifest; the result is validated as Load would.
	Edit(ctx context.Context, repo string, edits ...ManifestEdit) (deployment.Write, error)
	// EncodeLock is the lockfile's bytes (agentpack contract §2.4).
	EncodeLock(l deployment.Lock) ([]byte, error)
	// Frontmatter is the YAML mapping at the beginning of a document (agentpack contract §2.5), with the number of the line after it. It
	// fails with ErrConfig; found is false when the document does not begin with one.
	Frontmatter(doc []byte) (fields map[string]any, found bool, err error)
}

// Sources gives the files of modules as they come, before overlays.
type Sources interface {
	// Local is the tree of a directory (or one file) below the config repository. It follows no link out of the module and fails with
	// ErrPath for a path that leaves the repository, for such links, and for what is neither file nor directory; ErrConfig when it is absent.
	Local(ctx context.Context, at deployment.Place, source string) (deployment.Tree, error)
	// Git is the tree of one resolved source out of the cache. A checkout that is missing is fetched unless offline (ErrOffline).
	Git(ctx context.Context, at deployment.Place, source deployment.ResolvedGit, offline bool) (deployment.Tree, error)
	// Discard takes a source's checkout out of the cache, so that Git fetches it again. None there is no error.
	Discard(ctx context.Context, at deployment.Place, source deployment.ResolvedGit) error
	// Resolve asks the remote which commit a ref is.
	Resolve(ctx context.Context, source deployment.GitSource) (commit string, err error)
	// Content is a file's bytes, checked against its sum: ErrStale when the origin changed meanwhile.
	Content(ctx context.Context, c deployment.Content) ([]byte, error)
}

// Overlays reads overlay directories (agentpack contract §3).
type Overlays interface {
	// Layer is what stands in a module's overlay directory of that scope; Exists is false when there is none.
	Layer(ctx context.Context, at deployment.Place, id string, scope deployment.OverlayScope) (overlay.Layer, error)
	// Candidates are the absolute paths, of all names a module's overlay may have in that scope, at which something stands.
	Candidates(ctx context.Context, at deployment.Place, id string, scope deployment.OverlayScope) ([]string, error)
}

// Look is what to look at on the machine.
type Look struct {
	Place deployment.Place
	Roots []deployment.Root
	Paths []string // besides what the manifests list
	GoOn  bool     // a path that cannot be looked at is told in Unread, and a manifest that cannot be read is a warning; neither is an error
}

// Machine is the computer that is deployed to. Paths are absolute and native.
type Machine interface {
	// Observe reads the roots' manifests and looks at every path in them and in l. Damaged manifests are warnings.
	Observe(ctx context.Context, l Look) (deployment.Observed, error)
	// Read is a file's bytes; absent is no error (nil, false).
	Read(ctx context.Context, path string) (data []byte, found bool, err error)
	// Extras lists files below the root, but manifests, .git and .agentpack directories, in the order of their path components.
	Extras(ctx context.Context, root deployment.Root) ([]string, error)
	// Apply carries a transaction out, whole or not at all: under the home's lock, with every Before checked again (ErrStale), journalled,
	// with a snapshot record first where its kind has one. done is called as writes are made. It is refused with ErrInterrupted while an
	// earlier one is unfinished.
	Apply(ctx context.Context, t deployment.Transaction, done func(done, total int)) (snapshot string, err error)
	// Check probes a root: whether it exists, is a directory and could be written to, without writing (issues as agentpack contract §5.7).
	Check(ctx context.Context, root deployment.Root) (RootHealth, error)
}

// RootHealth is what doctor says of a root.
type RootHealth struct {
	Exists   bool
	Issues   []string // missing, not_a_directory, not_writable
	Worktree string   // the git work tree it lies in; empty when in none
	Ignored  bool     // its manifests are ignored there
}

// Snapshots keeps the records of operations below a home.
type Snapshots interface {
	// List is every snapshot, oldest first; records that cannot be read are warnings.
	List(ctx context.Context, home string) (all []deployment.Snapshot, warnings []string, err error)
	// Load is one of them, or fails with ErrSnapshot (also for text that is no identifier) or ErrSnapshotDamaged.
	Load(ctx context.Context, home, id string) (deployment.Snapshot, error)
	// Originals is what stood at the paths that deployments first wrote to, where there was something.
	Originals(ctx context.Context, home string) ([]deployment.Original, error)
	// Blob is kept content by its sum, or fails with ErrSnapshotDamaged.
	Blob(ctx context.Context, home string, sum deployment.Sum) ([]byte, error)
	// Prune forgets snapshots and the content that only they needed, and reports the bytes that came free. The originals stay.
	Prune(ctx context.Context, home string, ids []string) (freed int64, err error)
}

// Recovery finishes or takes back what was interrupted.
type Recovery interface {
	// Pending is the unfinished operation of a home, or nil.
	Pending(ctx context.Context, home string) (*deployment.InterruptedOperation, error)
	// Resume finishes it; a file that is neither as before nor as after is left alone and reported.
	Resume(ctx context.Context, home string) (left []string, err error)
	// Undo takes it back, likewise.
	Undo(ctx context.Context, home string) (left []string, err error)
}

// Documents owns single keys in documents that are the user's.
type Documents interface {
	// Values is the canonical JSON of the keys that are there, by index into keys.
	Values(f deployment.Format, doc []byte, keys []deployment.Key) (map[int]json.RawMessage, error)
	// Made lists the containers that Set would have to make.
	Made(f deployment.Format, doc []byte, keys []deployment.Key) ([][]string, error)
	// Set puts the keys in and leaves every other byte alone.
	Set(f deployment.Format, doc []byte, keys []deployment.Key) ([]byte, error)
	// Remove takes the keys out, and those containers in made that are empty then.
	Remove(f deployment.Format, doc []byte, keys []deployment.Key, made [][]string) ([]byte, error)
}

// Differ compares texts.
type Differ interface {
	// Unified is a unified diff with three lines of context; empty when old and new are equal.
	Unified(oldName, newName string, old, new []byte) string
}

// Merged is the result of a three-way merge.
type Merged struct {
	Text      []byte // with conflict markers, diff3 style, where there are any
	Conflicts int
}

// Merger merges three versions of a text.
type Merger interface {
	// Merge fails with ErrGitMissing where git cannot be run.
	Merge(ctx context.Context, base, ours, theirs []byte) (Merged, error)
}

// History is the git history of the config repository.
type History interface {
	// Head is the current commit and whether anything is uncommitted; ErrGitRepo when dir is in no repository.
	Head(ctx context.Context, dir string) (commit string, dirty bool, err error)
	// Show is a file of a commit; path is relative to dir, with slashes. found is false when it is not there.
	Show(ctx context.Context, dir, commit, path string) (data []byte, found bool, err error)
	// Propose commits files (by slash path relative to dir, content in memory) on a new branch without touching the work tree, and gives
	// the commit. A file that is there already keeps its mode.
	Propose(ctx context.Context, dir, branch, message string, files deployment.Tree) (commit string, err error)
}

// Remote is the config repository's connection to others.
type Remote interface {
	// Init makes a repository, unless there is one.
	Init(ctx context.Context, dir string) error
	// SetRemote adds or changes a remote.
	SetRemote(ctx context.Context, dir, name, url string) error
	// State is the branch (empty when detached), whether anything is uncommitted, and the remotes' names. ErrGitRepo when there is no .git.
	State(ctx context.Context, dir string) (RepoState, error)
	// Route is where a sync of the branch would go, and what it would take along and run. It reaches nobody.
	Route(ctx context.Context, dir, remote, branch string) (Route, error)
	// Sync pulls (rebasing when asked) and pushes the branch, and gives the commands as a person would type them.
	Sync(ctx context.Context, dir string, s SyncOptions) (commands []string, err error)
}

// RepoState is what git says of a work tree.
type RepoState struct {
	Branch  string
	Dirty   bool
	Remotes []string
}

// Route is what a sync of a branch with a remote comes to. Secrets in URLs are masked, but for Remotes.
type Route struct {
	Fetch    string    // the URL that is pulled from, as git uses it
	Push     []string  // those that are pushed to, likewise
	Remotes  []string  // all of them, unmasked
	GitDir   string    // git's own directory, where that is not .git in the repository
	Head     string    // commit; empty before the first
	Ahead    int       // how many commits the remote lacks, as far as the clone knows
	Commits  []string  // the newest of them, each with its first line
	Hooks    []Program // that git may run
	Filters  []string  // and merge drivers that the repository's own configuration names
	Settings []string  // of the repository's own configuration that steer a pull or a push
}

// Program is a file that git may run, and its SHA-256.
type Program struct {
	Path string `json:"path"`
	Sum  string `json:"sha256"`
}

// SyncOptions say what to pull from and push to.
type SyncOptions struct {
	Remote, Branch string
	Rebase         bool
}

// Events is the log of what operations reported about themselves (agentpack contract §5.16).
type Events interface {
	// Append adds one line, durably.
	Append(ctx context.Context, home string, line json.RawMessage) (path string, err error)
	// Lines gives every line to visit, until it fails.
	Lines(ctx context.Context, home string, visit func(number int, line []byte, err error) error) error
}

// KnownRoot is a root that a deployment wrote to.
type KnownRoot struct {
	Target  string `json:"target"`
	Path    string `json:"path"`
	Repo    string `json:"repo"`
	Project string `json:"project_root"` // empty for roots that belong to no project
}

// Registry remembers every root that a deployment ever wrote to, so that none is left behind when the configuration forgets it. Apply
// adds to it.
type Registry interface {
	// Roots is every known root of a home, in a fixed order.
	Roots(ctx context.Context, home string) ([]KnownRoot, error)
}
