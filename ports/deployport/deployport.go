// Package deployport declares what deployments need: the place of a call, the config repository, module sources, overlay directories, the machine that is
// deployed to, and git. The comments of each method are its contract; the adapters' tests hold them to it.
//
// Its API may change at any time.
package deployport

import (
	"context"
	"encoding/json"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/overlay"
)

// Selection is the part of the place that the caller gave; empty fields are determined.
type Selection struct {
	Repo        string // path to the config repository; relative to the working directory
	Machine     string
	ProjectRoot string // counts as marked when given
}

// Locator resolves the place of a call. It starts no process.
type Locator interface {
	// Resolve returns the place with absolute paths. They need not exist.
	Resolve(ctx context.Context, a Selection) (deployment.Locations, error)
}

// Config is the content of a config repository.
type Config struct {
	Manifest deployment.Manifest
	Lock     *deployment.Lock // nil when there is none
	LockSum  deployment.Sum   // of the lockfile's bytes; zero when there is none
	Warnings []string         // unknown keys, each with its line
}

// ManifestEdit is one change of agentpack.yaml that leaves every other byte unchanged.
type ManifestEdit struct {
	Add      *deployment.Module // append a module
	Remove   string             // take the module of this identifier out
	Profile  string             // with Tags: make sure the profile exists and includes them
	Tags     []string
	Metadata map[string]any // of Add: passed through
	Target   string         // with Config: make sure the target exists, and set those of the options that are not set
	Config   deployment.TargetConfig
}

// Configs reads config repositories and computes edits of them. It writes nothing: edits are returned as writes.
type Configs interface {
	// Load reads and validates the config file and the lockfile. It fails with ErrConfigMissing, ErrConfig, ErrConfigVersion, ErrTarget, ErrLock (also if no
	// module needs the lockfile) and ErrLockVersion. With an error of the lockfile it still returns the rest of the Config.
	Load(ctx context.Context, repo string) (Config, error)
	// Edit returns the write that applies the edits to the config file. The result is validated as by Load.
	Edit(ctx context.Context, repo string, edits ...ManifestEdit) (deployment.Write, error)
	// EncodeLock returns the lockfile's bytes (agentpack contract §2.4).
	EncodeLock(l deployment.Lock) ([]byte, error)
	// Frontmatter returns the YAML mapping at the beginning of a document (agentpack contract §2.5) and the number of the line after it; found is false if there
	// is none. It fails with ErrConfig.
	Frontmatter(doc []byte) (fields map[string]any, found bool, err error)
}

// Sources returns the files of modules before overlays.
type Sources interface {
	// Local returns the tree of a directory or file below the config repository. It fails with ErrPath for a path that leaves the repository, for a link that
	// leaves the module, and for anything but files and directories; with ErrConfig if it does not exist.
	Local(ctx context.Context, at deployment.Locations, source string) (deployment.Tree, error)
	// Git returns the tree of a resolved source from the cache. A missing checkout is fetched, or fails with ErrOffline.
	Git(ctx context.Context, at deployment.Locations, source deployment.ResolvedGit, offline bool) (deployment.Tree, error)
	// Discard removes a source's checkout from the cache, so that Git fetches it again. A missing checkout is no error.
	Discard(ctx context.Context, at deployment.Locations, source deployment.ResolvedGit) error
	// Resolve asks the remote for the commit of a ref.
	Resolve(ctx context.Context, source deployment.GitSource) (commit string, err error)
	// Branch asks the remote for the branch that its HEAD is on. It fails with ErrGit if it is on none.
	Branch(ctx context.Context, url string) (string, error)
	// Content returns a file's bytes after checking their sum. It fails with ErrStale if the origin changed.
	Content(ctx context.Context, c deployment.Content) ([]byte, error)
}

// Overlays reads overlay directories (agentpack contract §3).
type Overlays interface {
	// Layer returns the content of a module's overlay directory in that scope; Exists is false if there is none.
	Layer(ctx context.Context, at deployment.Locations, id string, scope deployment.OverlayScope) (overlay.Layer, error)
	// Some reports whether there may be overlays in that scope at all.
	Some(ctx context.Context, at deployment.Locations, scope deployment.OverlayScope) (bool, error)
	// Candidates returns the absolute paths that exist among all possible names of the module's overlay in that scope.
	Candidates(ctx context.Context, at deployment.Locations, id string, scope deployment.OverlayScope) ([]string, error)
}

// Look lists what to inspect on the machine.
type Look struct {
	Place deployment.Locations
	Repo  string // the config repository that looks (Registry.Repository); empty for what belongs to none
	Roots []deployment.Root
	Paths []string // besides what the manifests list
	GoOn  bool     // a path that cannot be looked at is told in Unread, and a manifest that cannot be read is a warning; neither is an error
}

// Machine is the computer that is deployed to. Paths are absolute and native.
type Machine interface {
	// Observe reads who owns what in the roots, in the home and in manifests of earlier versions beside the files, and inspects every path in them and in
	// l. Damaged records and manifests are warnings.
	Observe(ctx context.Context, l Look) (deployment.Observed, error)
	// Read returns a file's bytes; a missing file is no error (nil, false).
	Read(ctx context.Context, path string) (data []byte, found bool, err error)
	// Extras lists files below the root except ownership manifests and the directories .git and .agentpack, sorted by path components.
	Extras(ctx context.Context, root deployment.Root) ([]string, error)
	// Apply applies a transaction atomically: under the home's lock, after checking every Before again (ErrStale), with an operation log, and with a snapshot
	// record first if its kind has one. done is called as files are written. It fails with ErrInterrupted while an earlier transaction is unfinished.
	Apply(ctx context.Context, t deployment.Transaction, done func(done, total int)) (snapshot string, err error)
	// Check reports whether a root exists, is a directory and is writable, without writing (issues as in agentpack contract §5.7).
	Check(ctx context.Context, root deployment.Root) (RootHealth, error)
}

// RootHealth is the result of Check for one root.
type RootHealth struct {
	Exists   bool
	Issues   []string // missing, not_a_directory, not_writable
	Worktree string   // the git work tree it lies in; empty when in none
	Ignored  bool     // manifests of earlier versions are ignored there, or there is none
}

// Snapshots keeps the records of operations in a home.
type Snapshots interface {
	// List returns every snapshot, oldest first. Unreadable records are warnings.
	List(ctx context.Context, home string) (all []deployment.Snapshot, warnings []string, err error)
	// Load returns one snapshot. It fails with ErrSnapshot (also for an invalid identifier) or ErrSnapshotDamaged.
	Load(ctx context.Context, home, id string) (deployment.Snapshot, error)
	// Originals returns what existed at the paths before deployments first wrote to them.
	Originals(ctx context.Context, home string) ([]deployment.Original, error)
	// Blob returns stored content by its sum. It fails with ErrSnapshotDamaged.
	Blob(ctx context.Context, home string, sum deployment.Sum) ([]byte, error)
	// Open returns the same snapshots for reading the contents of many of them in a row, and a function that ends that. What is stored meanwhile may not be
	// found.
	Open(ctx context.Context, home string) (Snapshots, func(), error)
	// Prune deletes snapshots and the content that only they need, and returns the number of freed bytes. The originals stay, and so does what is deployed
	// now.
	Prune(ctx context.Context, home string, ids []string) (freed int64, err error)
}

// Recovery finishes or undoes an interrupted operation.
type Recovery interface {
	// Pending returns the unfinished operation of a home, or nil.
	Pending(ctx context.Context, home string) (*deployment.InterruptedOperation, error)
	// Resume finishes the operation. A file that is neither as before nor as after is left unchanged and returned.
	Resume(ctx context.Context, home string) (left []string, err error)
	// Undo undoes the operation, with the same exception.
	Undo(ctx context.Context, home string) (left []string, err error)
}

// Documents edits single keys in documents that the user owns.
type Documents interface {
	// Root returns the whole document as a JSON object.
	Root(f deployment.Format, doc []byte) (json.RawMessage, error)
	// Values returns the canonical JSON of the keys that exist, by index into keys.
	Values(f deployment.Format, doc []byte, keys []deployment.Key) (map[int]json.RawMessage, error)
	// Made lists the containers that Set would create.
	Made(f deployment.Format, doc []byte, keys []deployment.Key) ([][]string, error)
	// Set sets the keys and leaves every other byte unchanged.
	Set(f deployment.Format, doc []byte, keys []deployment.Key) ([]byte, error)
	// Remove removes the keys, and those containers of made that become empty.
	Remove(f deployment.Format, doc []byte, keys []deployment.Key, made [][]string) ([]byte, error)
}

// Differ compares texts.
type Differ interface {
	// Unified returns a unified diff with three lines of context; empty if old and new are equal.
	Unified(oldName, newName string, old, new []byte) string
}

// Merged is the result of a three-way merge.
type Merged struct {
	Text      []byte // with conflict markers, diff3 style, where there are any
	Conflicts int
}

// Merger merges three versions of a text.
type Merger interface {
	// Merge merges the three versions. It fails with ErrGitMissing if git cannot be run.
	Merge(ctx context.Context, base, ours, theirs []byte) (Merged, error)
}

// History is the git history of the config repository.
type History interface {
	// Head returns the current commit and whether there are uncommitted changes. It fails with ErrGitRepo if dir is in no repository.
	Head(ctx context.Context, dir string) (commit string, dirty bool, err error)
	// Show returns a file of a commit; path is relative to dir, with slashes. found is false if it does not exist.
	Show(ctx context.Context, dir, commit, path string) (data []byte, found bool, err error)
	// Propose commits files (by slash path relative to dir) on a new branch without touching the worktree, and returns the commit. Existing files keep their
	// mode.
	Propose(ctx context.Context, dir, branch, message string, files deployment.Tree) (commit string, err error)
	// Unmerged returns the newest local branches whose commits are not in HEAD. Before the first commit there are none.
	Unmerged(ctx context.Context, dir string) ([]Branch, error)
}

// Branch is a local branch of the config repository.
type Branch struct{ Name, Commit string }

// Remote manages the config repository's remotes.
type Remote interface {
	// Init creates a repository unless there is one.
	Init(ctx context.Context, dir string) error
	// Clone makes dir, which is absent or empty, a clone of a repository with that branch or tag checked out at that commit, whole or not at all. Its remote is
	// origin. It fails with ErrConfig if there is something in dir, ErrConfigMissing if the repository has no agentpack.yaml, ErrStale if the ref is another
	// commit by now, and ErrGit.
	Clone(ctx context.Context, dir, url, ref, commit string) error
	// SetRemote adds or changes a remote.
	SetRemote(ctx context.Context, dir, name, url string) error
	// State returns the branch (empty if detached), whether there are uncommitted changes, and the remotes' names. It fails with ErrGitRepo if there is no .git.
	State(ctx context.Context, dir string) (RepoState, error)
	// Route returns what a sync of the branch would contact, transfer and run. It uses no network.
	Route(ctx context.Context, dir, remote, branch string) (Route, error)
	// Sync pulls (with rebase if asked) and pushes the branch, and returns the equivalent git commands.
	Sync(ctx context.Context, dir string, s SyncOptions) (commands []string, err error)
}

// RepoState is the git status of a worktree.
type RepoState struct {
	Branch  string
	Dirty   bool
	Remotes []string
}

// Route is what a sync of a branch with a remote involves. Secrets in URLs are redacted, except in Remotes.
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

// Program is a file that git may run, with its SHA-256.
type Program struct {
	Path string `json:"path"`
	Sum  string `json:"sha256"`
}

// SyncOptions says what to pull from and push to.
type SyncOptions struct {
	Remote, Branch string
	Rebase         bool
}

// Events is the event log of operations (agentpack contract §5.16).
type Events interface {
	// Append adds one line durably.
	Append(ctx context.Context, home string, line json.RawMessage) (path string, err error)
	// Lines calls visit with every line until it fails.
	Lines(ctx context.Context, home string, visit func(number int, line []byte, err error) error) error
}

// KnownRoot is a root that a deployment wrote to.
type KnownRoot struct {
	Target  string `json:"target"`
	Path    string `json:"path"`
	Repo    string `json:"repo"`         // its identity
	Project string `json:"project_root"` // empty for roots that belong to no project
}

// Registry records every root that a deployment wrote to, so that none is forgotten when the config file changes. Apply adds to it.
type Registry interface {
	// Roots returns every recorded root of a home in a fixed order.
	Roots(ctx context.Context, home string) ([]KnownRoot, error)
	// Repository returns the identity of a place's config repository as an owner: the path, links resolved, from which it first deployed. One that was moved is
	// known by its remote, where no config repository is left at the old path.
	Repository(ctx context.Context, at deployment.Locations) (string, error)
	// Manifests returns the writes of what is recorded for a place's config repository, and for none, as ownership manifests beside the files, which earlier
	// versions and the original read. A manifest that exists is left out.
	Manifests(ctx context.Context, at deployment.Locations) ([]deployment.Write, error)
}
