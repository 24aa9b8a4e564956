package ecosystemport

import (
	"context"
	"path"

	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/fault"
)

// ErrBranch is returned for a repository whose origin lacks the branch that the manifest names.
var ErrBranch = fault.New(fault.NotFound, "eco_branch_not_found", "the repository's origin has no such branch")

// InstallTarget is the planned location of a workspace. Paths are absolute, those of repositories relative to the workspace.
type InstallTarget struct {
	Root   string
	Dir    string
	Branch string
	Paths  []string
}

// TargetState is what exists at that location.
type TargetState struct {
	Head      string   // commit the root stands on; empty before its first one
	Branch    string   // commit of the workspace's branch; empty when there is none
	UsedAt    string   // directory of the worktree that has the branch checked out
	Occupied  bool     // something is where the workspace would be
	Links     string   // the directory on the way to the workspace that is a link, or no directory; empty for none
	Worktrees []string // those of the root that are at the workspace's place, or below it
	Remote    string   // masked URL of the root's origin; empty when it has none
	Taken     []string // the paths of repositories at which the root's own commits hold something
	There     []string // the paths of repositories at which something lies already
	Missing   string   // topmost directory on the way to the workspace that is not there yet, the workspace included
	Excludes  []string // lines that .git/info/exclude has to have, and has not
}

// Build is a workspace under construction. It is stored as JSON until it is complete.
type Build struct {
	ID       string   `json:"id"` // of the run
	Root     string   `json:"root"`
	Dir      string   `json:"dir"`
	Branch   string   `json:"branch"`
	Start    string   `json:"start"`  // commit to stand on; empty when the root's first commit is made along with it
	Create   bool     `json:"create"` // the branch is made
	Missing  string   `json:"missing"`
	Excludes []string `json:"excludes"`
}

// Stage returns the directory, beside the workspace, that holds only the unfinished workspace.
func (b Build) Stage() string { return path.Join(path.Dir(b.Dir), ".installing-"+b.ID) }

// Tree returns where the workspace is built before it is moved. Its last element is the workspace's, by which git names worktrees.
func (b Build) Tree() string { return path.Join(b.Stage(), path.Base(b.Dir)) }

// WorkspaceInstaller creates the worktree of a workspace. It fails with ecosystem.ErrGit unless another error is named.
type WorkspaceInstaller interface {
	// Look returns what exists at the location. It changes nothing. It fails with ecosystem.ErrRoot for a root that is not a repository of its own.
	Look(ctx context.Context, s InstallTarget) (TargetState, error)
	// Stage creates the worktree at b.Tree with its branch and the lines that exclude the clones; in a root without commits, also an empty first commit.
	Stage(ctx context.Context, b Build) error
	// Place moves the workspace to its location in one step. It fails with ecosystem.ErrConflict if something is there.
	Place(ctx context.Context, b Build) error
	// Undo removes what Stage and Place made, complete or not, and nothing else.
	Undo(ctx context.Context, b Build) error
	// Settle recovers an installation whose process ended: it completes Place if that had begun, and reports so; otherwise it is Undo.
	Settle(ctx context.Context, b Build) (placed bool, err error)

	// Publish pushes the branch to origin, never with force.
	Publish(ctx context.Context, root, branch string, tell ProgressFunc) error
}

// ProgressFunc receives progress lines, with the levels of run events.
type ProgressFunc func(level, line string)

// Checkout is a repository in the workspace.
type Checkout struct {
	Absent  bool   // nothing is there
	Foreign string // why the existing directory is not a clone that may be used
	Branch  string // that is checked out; empty when detached
	Head    string // full commit; empty before the first one
	Doing   string // what git is in the middle of: rebase, merge, …
	Changes int    // files that were not committed
	First   string // the first of them
	Level   bool   // known to stand where its origin was last seen
}

// Moved is the result of updating a checkout.
type Moved struct {
	From, To      string // full commits; equal when nothing was new
	Ahead, Behind int    // commits that only the checkout has, and that only its origin has, before it was brought forward
}

// Diverged reports that neither history continues the other; nothing was changed.
func (m Moved) Diverged() bool { return m.Ahead > 0 && m.Behind > 0 }

// Clones clones and updates the repositories of a workspace. It runs nothing that they contain or configure and ignores submodules. Network failures are
// retried up to three times, each reported through the ProgressFunc. It fails with ecosystem.ErrGit and ErrBranch.
type Clones interface {
	// Address checks the repository's URL and branch and returns the URL without secrets. It fails with ecosystem.ErrManifest, whose message holds no secret.
	Address(r ecosystem.Repo) (string, error)
	// Look returns the state of a repository without contacting its origin.
	Look(ctx context.Context, r ecosystem.Repo, dir string) (Checkout, error)
	// Clone creates dir atomically and returns the commit that is checked out. dir must be absent or an empty directory.
	Clone(ctx context.Context, r ecosystem.Repo, dir string, tell ProgressFunc) (string, error)
	// Unbundle fetches what a bundle that an archive wrote has more than the origin: tags whose names are free, and the branch where it only goes on from
	// what is checked out. It returns the tags that are new, and whether the branch was moved.
	Unbundle(ctx context.Context, r ecosystem.Repo, dir, bundle string) (tags []string, moved bool, err error)
	// Forward fetches and fast-forwards the branch. seen is the result of Look: on its branch and without changes.
	Forward(ctx context.Context, r ecosystem.Repo, dir string, seen Checkout, tell ProgressFunc) (Moved, error)
	// Sweep removes what an interrupted Clone of dir left beside it.
	Sweep(ctx context.Context, dir string) error
}

// Ticketed is a ticket of an installed workspace.
type Ticketed struct {
	Layout   ecosystem.Layout
	Manifest ecosystem.Manifest
	State    ecosystem.State
	Ticket   string
}

// TicketTrees restores the worktrees of tickets.
type TicketTrees interface {
	// Ensure creates the missing worktrees of the ticket and leaves the others unchanged. The caller holds the ecosystem's lock.
	Ensure(ctx context.Context, t Ticketed) error
}
