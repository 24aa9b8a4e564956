package ecosystemport

import (
	"context"

	"github.com/countersign-dev/countersign/domain/ecosystem"
)

// TicketTree is the worktree of a ticket in one repository. Paths are absolute.
type TicketTree struct {
	Repo   string // name
	Clone  string
	Dir    string
	Branch string
	Base   string // branch that a new ticket's branch stands on: origin's, else the clone's own
}

// WorktreeOrigin is how a ticket's worktree would be created.
type WorktreeOrigin string

// The beginnings.
const (
	Standing WorktreeOrigin = "exists" // the worktree is there already
	Reused   WorktreeOrigin = "reuse"  // the branch is in the clone
	Tracked  WorktreeOrigin = "track"  // the branch is at origin
	Made     WorktreeOrigin = "create" // the branch is new
)

// UnsavedWork is what a repository would lose if the ticket ended there. Commits are full IDs, empty if there is none.
type UnsavedWork struct {
	Head     string `json:"head"`     // of its branch in the clone
	Origin   string `json:"origin"`   // of its branch at origin, when that was asked about
	Changes  int    `json:"changes"`  // paths in the worktree that are not committed
	Unmerged bool   `json:"unmerged"` // there are commits that no remote branch would have any more
	Foreign  bool   `json:"foreign"`  // origin's branch has commits that the clone has not
}

// Refusal returns ecosystem.ErrUnsaved for unsaved work. Commits that only origin has cannot be removed even with force, because no backup of them can be
// made here.
func (s UnsavedWork) Refusal(t TicketTree, force bool) error {
	switch {
	case s.Foreign:
		return ecosystem.ErrUnsaved.WithMessage("branch %s at origin of %s has commits that are not here; fetch them in %s, then call again", t.Branch, t.Repo, t.Clone)
	case force:
		return nil
	case s.Changes > 0:
		return ecosystem.ErrUnsaved.WithMessage("the ticket's worktree of %s has changes that are not committed (%d); commit and push them, or say force", t.Repo, s.Changes)
	case s.Unmerged:
		return ecosystem.ErrUnsaved.WithMessage("branch %s of %s has commits that no other remote branch would have; push or merge them, or say force", t.Branch, t.Repo)
	}
	return nil
}

// RemoveOptions says how to remove a ticket's worktree and branch.
type RemoveOptions struct {
	Force  bool // work that is nowhere else goes too; it is kept under refs of the clone first
	Origin bool // the branch at origin goes as well
}

// Ended is the result of removing a ticket's worktree.
type Ended struct {
	Kept   []string // refs that keep what was nowhere else
	Origin bool     // there was a branch at origin, and it is gone
	Stays  bool     // the branch stays: it is checked out somewhere else
}

// TicketWork creates and removes worktrees of tickets. It fails with ecosystem.ErrGit and git's redacted message, and with ecosystem.ErrConflict if the branch
// is checked out elsewhere, the clone is missing, or something else is at the worktree's path.
type TicketWork interface {
	// Plan returns how the worktree would be created. It changes nothing and uses no network.
	Plan(ctx context.Context, t TicketTree) (WorktreeOrigin, error)
	// Add creates the worktree atomically.
	Add(ctx context.Context, t TicketTree) (WorktreeOrigin, error)
	// Stake returns what would be lost. It changes nothing. With origin it contacts that for at most 10 seconds.
	Stake(ctx context.Context, t TicketTree, origin bool) (UnsavedWork, error)
	// Remove removes the worktree and its branch. Unsaved work is ecosystem.ErrUnsaved without Force; commits that only origin has are so even with it. Missing
	// parts are not errors, so that an interrupted removal can be repeated.
	Remove(ctx context.Context, t TicketTree, e RemoveOptions) (Ended, error)
}
