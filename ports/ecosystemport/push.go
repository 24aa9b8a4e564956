package ecosystemport

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/domain/ecosystem"
)

// Worktree identifies a worktree whose branch is pushed: a repository's clone, a ticket's worktree, or the workspace itself.
type Worktree struct {
	Dir     string
	Outside []string // paths in it, relative, that are not its own: the workspace's clones and tickets
	Tags    bool     // its repository's tags are looked at too
}

// WorktreeStatus is the current state of a worktree.
type WorktreeStatus struct {
	Missing    bool     // there is no repository at that place
	Branch     string   // empty: on none
	Head       string   // full; empty before the first commit
	Doing      string   // what is in the middle: rebase, merge, …; empty is nothing
	Changes    []Change // what is not committed
	Porcelain  string   // hash over the changes
	Stashes    int
	Remote     string // origin's address to push to, credentials masked; empty: there is none
	RemoteHead string // of the branch, by what origin says, or else by what it last said; empty is none
	Asked      bool   // origin answered
	Ahead      int    // commits that a push would bring
	Behind     int    // commits of origin's branch that are not in this one; -1: unknown, but there are

	Tags       map[string]string // the repository's tags and their objects, where they are wanted
	RemoteTags map[string]string // those that origin has, where it answered
	Hooks      []string          // that a commit or a push would run
	HooksHash  string            // over them and the filters
	Filters    []string          // that the repository's own configuration names and that a commit would run, as git writes settings
}

// Change is an uncommitted file. A path that ends in a slash is another repository.
type Change struct {
	Path   string
	Gone   bool // it is deleted
	Staged bool // nothing but the commit is missing
}

// Pushed is the result of a push: pushed, up_to_date, rejected or failed.
type Pushed struct{ Status, Reason string }

// PushGit runs git for push, archive and discard. The methods about a workspace's worktree and its bundles can be repeated after an interruption.
type PushGit interface {
	// What could be pushed, and pushing it.

	// Look returns the state of a worktree. With ask it contacts origin for at most 10 seconds; an origin that does not answer is not an error.
	Look(ctx context.Context, b Worktree, ask bool) (WorktreeStatus, error)
	// Push pushes a branch to the branch of that name at origin and sets it as upstream, and those tags with it: all of it or nothing. It never uses
	// force, runs the hooks, and retries after network failures. A push that git rejects is reported in the result; the error is that of ctx only.
	Push(ctx context.Context, dir, branch string, tags []string) (Pushed, error)
	// PushWithoutHooks is Push of a branch alone that runs no hooks, for plans that name none.
	PushWithoutHooks(ctx context.Context, dir, branch string) (Pushed, error)
	// Heads returns the local branches of a repository with that prefix (empty: all), and how many commits of each are on no known remote branch. With ask it
	// contacts origin for at most 10 seconds and counts by what that has; without, or where origin does not answer, by what was last fetched of it. A
	// directory that is not a repository has none.
	Heads(ctx context.Context, dir, prefix string, ask bool) (LocalHeads, error)
	// DeleteMergedBranch deletes a branch at origin if it is still at that commit and the branch into contains all of it there. Otherwise kept is the reason.
	DeleteMergedBranch(ctx context.Context, dir string, h Head, into string) (kept string, err error)

	// Committing what was not committed. Hooks run, and the filters that the repository's own configuration names.

	// Author fails with ecosystem.ErrIdentity if git has no author.
	Author(ctx context.Context, dir string) error
	// Index returns a name of the index's content, for Unstage.
	Index(ctx context.Context, dir string) (string, error)
	// Stage stages exactly those paths and returns all staged paths that are not deletions.
	Stage(ctx context.Context, dir string, changes []Change) ([]string, error)
	// Unstage restores the index that Index named.
	Unstage(ctx context.Context, dir, index string) error
	// Commit commits the index and returns the commit and its paths that are not deletions.
	Commit(ctx context.Context, dir, message string) (commit string, paths []string, err error)

	// Committing single files to the root.

	// Record commits that one file, whatever else is staged. A committed file is left as it is.
	Record(ctx context.Context, dir, path, message string) error
	// Recorded reports whether the file is committed.
	Recorded(ctx context.Context, dir, path string) (bool, error)

	// What is nowhere else, and saving it in bundles.

	// Trees returns the worktrees of a repository, the main one first; none if there is no repository.
	Trees(ctx context.Context, dir string) ([]string, error)
	// Alone returns what a repository has that origin lacks. It asks origin, and fetches if that is needed to decide. Without an origin everything counts. It
	// fails with ecosystem.ErrGit if origin does not answer.
	Alone(ctx context.Context, dir string) (UnpushedWork, error)
	// Bundle writes a git bundle with every branch, tag and stash of a repository, unless the options leave some out. It returns false without writing if there
	// is nothing to save.
	Bundle(ctx context.Context, dir, file string, o BundleOptions) (bool, error)
	// Strays returns the relative paths in directories of the workspace that are not among the known ones.
	Strays(ctx context.Context, workspace string, known []string) ([]string, error)
	// Drop removes a bundle, or a directory of them, and what an interrupted Bundle left in those repositories.
	Drop(ctx context.Context, path string, repos []string) error

	// What the root's repository knows of a workspace's worktree.

	// Describe sets what the root's repository records of the worktree in its original location: OnRef, Tree, Head, Absent.
	Describe(ctx context.Context, s TrashEntry) (TrashEntry, error)
	// Where reports whether the workspace is in its original location, and whether it is in its trash entry. Both are true while a copy is being removed.
	Where(l ecosystem.Layout, s TrashEntry) (home, away bool)
	// Detach registers the worktree at its trash entry, keeps its commits, detaches it from its branch, and deletes that branch if s.Cut.
	Detach(ctx context.Context, l ecosystem.Layout, s TrashEntry) error
	// Reattach reverts Detach after the workspace was restored. It fails with ecosystem.ErrConflict if the branch has moved or is checked out elsewhere.
	Reattach(ctx context.Context, l ecosystem.Layout, s TrashEntry) error
	// Forget removes the registration of the worktree of a purged entry.
	Forget(ctx context.Context, l ecosystem.Layout, s TrashEntry) error
}

// LocalHeads is the local branches of a repository, and what it was judged by whether origin has their commits.
type LocalHeads struct {
	Heads  []Head
	Remote bool      // there is an origin
	Asked  bool      // it answered
	Seen   time.Time // when something was last fetched from or pushed to it, as far as the repository shows; zero: unknown
	Moved  []string  // branches with commits at origin that were never fetched: what was last fetched of them counts as being there
	Tags   []string  // that origin lacks, or has for something else; only if it answered
	Backup int       // backups that Countersign made here (sandbox.BackupsRoot) with commits that no remote is known to have
}

// Head is a local branch.
type Head struct {
	Branch   string
	Commit   string
	Unpushed int
}

// UnpushedWork is the work of a repository that no remote has.
type UnpushedWork struct {
	Refs    []string // of commits that are on no remote, at most 50
	More    int      // of them
	Stashes int      // which never are
	Tags    []string // names that origin does not have, or has for something else
	Backups []string // of Refs would be those of sandbox.BackupsRoot, which are named here instead
}

// BundleOptions says what a bundle leaves out; the zero value is nothing.
type BundleOptions struct {
	Rest bool     // what is on a known remote branch, but for the tags
	Ask  bool     // what is known of origin is what it says now, if it answers, as with Heads
	Tags []string // that no remote has
}

// TrashEntry is the record of a workspace in the trash.
type TrashEntry struct {
	ID        string          `json:"id"` // <name>-<UTC time>
	Ecosystem string          `json:"ecosystem"`
	Root      string          `json:"workspace_root"`
	Why       string          `json:"why"` // discard or archive
	At        time.Time       `json:"at"`
	Until     time.Time       `json:"until"` // when it may be purged
	Workspace string          `json:"workspace_dir"`
	Absent    bool            `json:"absent,omitempty"` // there was no directory
	Branch    string          `json:"workspace_branch"` // of the root
	Head      string          `json:"head"`             // of that branch; empty: there was none
	OnRef     string          `json:"on_ref,omitempty"` // what the worktree's HEAD named
	Tree      string          `json:"tree,omitempty"`   // the worktree's HEAD, a commit
	Cut       bool            `json:"branch_deleted"`   // the branch goes too
	Whole     bool            `json:"complete"`         // everything is done
	Restore   string          `json:"restore"`          // how to bring it back
	Heads     []TrashHead     `json:"branches"`         // that went with it
	State     ecosystem.State `json:"state"`
}

// TrashHead is a branch of a workspace in the trash.
type TrashHead struct {
	Repo     string `json:"repo"`
	Branch   string `json:"branch"`
	Head     string `json:"head"`
	Unpushed int    `json:"unpushed_commits"`
}

// Archived is an archived ecosystem.
type Archived struct {
	ID      string   `json:"id"`
	File    string   `json:"archive_file,omitempty"`
	Bundles []string `json:"bundles,omitempty"`
}

// Trash is the trash in the data directory of a layout. Its methods can be repeated after an interruption.
type Trash interface {
	// Keep stores the record of an entry. It creates the entry if the record has no ID: one from At that no entry, directory of bundles or archive file uses.
	Keep(ctx context.Context, l ecosystem.Layout, s TrashEntry) (TrashEntry, error)
	// Take moves the workspace into the entry atomically. It fails with ecosystem.ErrStorage.
	Take(ctx context.Context, l ecosystem.Layout, s TrashEntry) error
	// Bring moves the workspace back. It fails with ecosystem.ErrConflict if something is there.
	Bring(ctx context.Context, l ecosystem.Layout, s TrashEntry) error
	// List returns the entries and archives of the ecosystem, newest first. Entries without a readable record are left out.
	List(ctx context.Context, l ecosystem.Layout) ([]TrashEntry, []Archived, error)
	// Forget deletes an entry with its content.
	Forget(ctx context.Context, l ecosystem.Layout, s TrashEntry) error
}
