package ecosystemport

import (
	"context"
	"path"

	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/fault"
)

// ErrBranch reports a repository whose origin has no branch of the name that the manifest gives.
var ErrBranch = fault.New(fault.NotFound, "eco_branch_not_found", "the repository's origin has no such branch")

// Site is where a workspace is to be. Paths are absolute, those of repositories relative to the workspace.
type Site struct {
	Root   string
	Dir    string
	Branch string
	Paths  []string
}

// Ground is what lies there now.
type Ground struct {
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

// Build is a workspace in the making. It is kept as JSON while that lasts.
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

// Stage is the directory, beside the workspace's place, that holds nothing but the unfinished workspace.
func (b Build) Stage() string { return path.Join(path.Dir(b.Dir), ".installing-"+b.ID) }

// Tree is where the workspace is made before it goes to its place. Its last element is the workspace's, which git names worktrees by.
func (b Build) Tree() string { return path.Join(b.Stage(), path.Base(b.Dir)) }

// Grounds prepares the place of a workspace. Where no other error is named, it fails with ecosystem.ErrGit.
type Grounds interface {
	// Look says what lies there. It changes nothing, and fails with ecosystem.ErrRoot for a root that is no repository of its own.
	Look(ctx context.Context, s Site) (Ground, error)
	// Stage makes the worktree at b.Tree, with its branch, and the lines that exclude the clones; in a root without commits, an empty first one.
	Stage(ctx context.Context, b Build) error
	// Place moves the workspace to its place, all at once. It fails with ecosystem.ErrConflict when something is there.
	Place(ctx context.Context, b Build) error
	// Undo removes what Stage and Place made, whatever they came to, and nothing else.
	Undo(ctx context.Context, b Build) error
	// Settle puts in order what a process left that is gone: it finishes Place where that had begun, and reports so, and is Undo otherwise.
	Settle(ctx context.Context, b Build) (placed bool, err error)

	// Publish pushes the branch to origin, never with force.
	Publish(ctx context.Context, root, branch string, tell Tell) error
}

// Tell takes lines about what is going on. The levels are those of events.
type Tell func(level, line string)

// Checkout is a repository as it lies in the workspace.
type Checkout struct {
	Absent  bool   // nothing is there
	Foreign string // why what is there is no clone that may be worked on
	Branch  string // that is checked out; empty when detached
	Head    string // full commit; empty before the first one
	Doing   string // what git is in the middle of: rebase, merge, …
	Changes int    // files that were not committed
	First   string // the first of them
	Level   bool   // known to stand where its origin was last seen
}

// Moved is what came of bringing a checkout forward.
type Moved struct {
	From, To      string // full commits; equal when nothing was new
	Ahead, Behind int    // commits that only the checkout has, and that only its origin has, before it was brought forward
}

// Diverged reports histories of which neither continues the other; nothing was moved.
func (m Moved) Diverged() bool { return m.Ahead > 0 && m.Behind > 0 }

// Clones makes the repositories of a workspace and brings them forward. Nothing that they hold or configure is run, and submodules are left alone.
// What the network did is tried again up to three times, each time told. It fails with ecosystem.ErrGit and ErrBranch.
type Clones interface {
	// Address checks the repository's URL and branch; it fails with ecosystem.ErrManifest, not repeating any secret. It is the URL without secrets.
	Address(r ecosystem.Repo) (string, error)
	// Look says how a repository lies there, without asking its origin.
	Look(ctx context.Context, r ecosystem.Repo, dir string) (Checkout, error)
	// Clone makes dir, whole or not at all, and is the commit it stands on. Nothing, or an empty directory, may be there.
	Clone(ctx context.Context, r ecosystem.Repo, dir string, tell Tell) (string, error)
	// Forward fetches and moves the branch on, never back and never aside. seen is what Look said: on its branch and without changes.
	Forward(ctx context.Context, r ecosystem.Repo, dir string, seen Checkout, tell Tell) (Moved, error)
	// Sweep removes what a killed Clone of dir left beside it.
	Sweep(ctx context.Context, dir string) error
}

// Ticketed is a ticket of an installed workspace.
type Ticketed struct {
	Layout   ecosystem.Layout
	Manifest ecosystem.Manifest
	State    ecosystem.State
	Ticket   string
}

// TicketTrees makes the worktrees of tickets.
type TicketTrees interface {
	// Ensure makes again those of the ticket's worktrees that are missing, and leaves the others as they are. The caller has the ecosystem's lock.
	Ensure(ctx context.Context, t Ticketed) error
}
