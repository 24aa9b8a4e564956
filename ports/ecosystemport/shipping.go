package ecosystemport

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/domain/ecosystem"
)

// Berth is a working tree whose branch is shipped: a repository's clone, a ticket's worktree of it, or the workspace itself.
type Berth struct {
	Dir     string
	Outside []string // paths in it, relative, that are not its own: the workspace's clones and tickets
}

// Cargo is what a working tree holds, as it is now.
type Cargo struct {
	Missing    bool     // there is no repository at that place
	Branch     string   // empty: on none
	Head       string   // full; empty before the first commit
	Doing      string   // what is in the middle: rebase, merge, …; empty is nothing
	Changes    []Change // what is not committed
	Porcelain  string   // hash over the changes
	Stashes    int
	Remote     string   // origin's address to push to, credentials masked; empty: there is none
	RemoteHead string   // of the branch, by what origin says, or else by what it last said; empty is none
	Asked      bool     // origin answered
	Ahead      int      // commits that a push would bring
	Behind     int      // commits of origin's branch that are not in this one; -1: unknown, but there are
	Hooks      []string // that a commit or a push would run
	HooksHash  string   // over them and the filters
	Filters    []string // that the repository's own configuration names and that a commit would run, as git writes settings
}

// Change is a file that is not committed as it is. A path that ends in a slash is another repository.
type Change struct {
	Path   string
	Gone   bool // it is deleted
	Staged bool // nothing but the commit is missing
}

// Pushed is what came of a push: pushed, up_to_date, rejected or failed.
type Pushed struct{ Status, Reason string }

// PushGit is git as pushing, archiving and discarding need it. Each method that is about a workspace's worktree or its bundles may be repeated
// after it was interrupted.
type PushGit interface {
	// What could be pushed, and pushing it.

	// Look surveys a working tree. It asks origin when ask is set, for at most ten seconds; that origin does not answer is no error.
	Look(ctx context.Context, b Berth, ask bool) (Cargo, error)
	// Push pushes a branch to the branch of that name at origin, which it follows from then on: never with force, its hooks run, and again when
	// the network failed. What git refuses is told by the result; an error is that of ctx alone.
	Push(ctx context.Context, dir, branch string) (Pushed, error)
	// Heads are the local branches of a repository and how many commits of each are on no remote branch that is known of. The prefix chooses
	// among them; empty is all. A directory that is no repository has none.
	Heads(ctx context.Context, dir, prefix string) ([]Head, error)
	// Lop deletes a branch at origin, if it is at that commit still and all of it is in the other branch there. It reports why it did not.
	Lop(ctx context.Context, dir string, h Head, into string) (kept string, err error)

	// Committing what was not committed. Hooks run, and the filters that the repository's own configuration names.

	// Author fails with ecosystem.ErrIdentity where git does not know who commits.
	Author(ctx context.Context, dir string) error
	// Index names what is staged, for Unstage.
	Index(ctx context.Context, dir string) (string, error)
	// Stage stages exactly those paths, and returns all that is staged and not deleted.
	Stage(ctx context.Context, dir string, changes []Change) ([]string, error)
	// Unstage has staged again what Index named.
	Unstage(ctx context.Context, dir, index string) error
	// Commit commits what is staged, and returns the commit and what it has that is not deleted.
	Commit(ctx context.Context, dir, message string) (commit string, paths []string, err error)

	// Committing single files to the root.

	// Record commits that one file in a repository, whatever else is staged; one that is committed already is left so.
	Record(ctx context.Context, dir, path, message string) error
	// Recorded reports whether the file is committed.
	Recorded(ctx context.Context, dir, path string) (bool, error)

	// What is nowhere else, and saving it in bundles.

	// Trees are the working trees of a repository, its own first; none where there is no repository.
	Trees(ctx context.Context, dir string) ([]string, error)
	// Alone compares everything a repository has with what origin says it has now, and fetches where that is needed to tell. A repository
	// without origin has everything alone. It fails with ecosystem.ErrGit when origin does not answer.
	Alone(ctx context.Context, dir string) (Alone, error)
	// Bundle writes a bundle that git bundle verify takes and that holds every branch, tag and stash of a repository; with rest, only what is on
	// no remote branch that is known of. It reports false, having written nothing, where there is nothing.
	Bundle(ctx context.Context, dir, file string, rest bool) (bool, error)
	// Strays are what lies in directories of the workspace where only the known paths should be, all relative.
	Strays(ctx context.Context, workspace string, known []string) ([]string, error)
	// Drop takes a bundle, or a directory of them, away, and whatever the making of one left behind in those repositories.
	Drop(ctx context.Context, path string, repos []string) error

	// What the root's repository knows of a workspace's worktree.

	// Describe fills in what the root knows of the worktree where it is at home: OnRef, Tree, Head, Absent.
	Describe(ctx context.Context, s Stowed) (Stowed, error)
	// Where reports whether the workspace is at home, and whether it is in its entry. It is in both while a copy is being cleared away.
	Where(l ecosystem.Layout, s Stowed) (home, away bool)
	// Loosen has the root know the worktree in its entry, keeps its commits, frees its branch, and deletes that when it is cut.
	Loosen(ctx context.Context, l ecosystem.Layout, s Stowed) error
	// Fasten undoes Loosen once the workspace was brought back. It fails with ecosystem.ErrConflict when the branch is elsewhere now.
	Fasten(ctx context.Context, l ecosystem.Layout, s Stowed) error
	// Untie has the root forget the worktree of an entry that is purged.
	Untie(ctx context.Context, l ecosystem.Layout, s Stowed) error
}

// Head is a local branch.
type Head struct {
	Branch   string
	Commit   string
	Unpushed int
}

// Alone is what of a repository is on no remote.
type Alone struct {
	Refs    []string // of commits that are on no remote, at most 50
	More    int      // of them
	Stashes int      // which never are
}

// Stowed is a workspace that was taken away: the entry of the trash.
type Stowed struct {
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
	Heads     []StowedHead    `json:"branches"`         // that went with it
	State     ecosystem.State `json:"state"`
}

// StowedHead is a branch that went with a workspace.
type StowedHead struct {
	Repo     string `json:"repo"`
	Branch   string `json:"branch"`
	Head     string `json:"head"`
	Unpushed int    `json:"unpushed_commits"`
}

// Archived is an ecosystem that was archived.
type Archived struct {
	ID      string   `json:"id"`
	File    string   `json:"archive_file,omitempty"`
	Bundles []string `json:"bundles,omitempty"`
}

// Attic keeps what was taken away, in the data directory of a layout. Each method may be repeated after it was interrupted.
type Attic interface {
	// Keep puts the record of an entry there, making the entry where it has no ID yet: one after At that no entry, directory of bundles or
	// archive file has.
	Keep(ctx context.Context, l ecosystem.Layout, s Stowed) (Stowed, error)
	// Take moves the workspace into the entry: altogether, or not at all. It fails with ecosystem.ErrStorage.
	Take(ctx context.Context, l ecosystem.Layout, s Stowed) error
	// Bring moves it back where it was. It fails with ecosystem.ErrConflict when something is there.
	Bring(ctx context.Context, l ecosystem.Layout, s Stowed) error
	// List is the entries and the archives of the ecosystem, newest first; one without a record that can be read is left out.
	List(ctx context.Context, l ecosystem.Layout) ([]Stowed, []Archived, error)
	// Forget removes an entry with everything in it.
	Forget(ctx context.Context, l ecosystem.Layout, s Stowed) error
}
