package ecosystemport

import (
	"context"

	"github.com/countersign-dev/countersign/domain/ecosystem"
)

// TicketTree is a worktree of a ticket in one repository. Paths are absolute.
type TicketTree struct {
	Repo   string // name
	Clone  string
	Dir    string
	Branch string
	Base   string // branch that a new ticket's branch stands on: origin's, else the clone's own
}

// Beginning is how a ticket's worktree would come to be.
type Beginning string

// The beginnings.
const (
	Standing Beginning = "exists" // the worktree is there already
	Reused   Beginning = "reuse"  // the branch is in the clone
	Tracked  Beginning = "track"  // the branch is at origin
	Made     Beginning = "create" // the branch is new
)

// Stake is what a ticket has in a repository that would go when it ends there. Commits are in full, and empty where there is none.
type Stake struct {
	Head     string `json:"head"`     // of its branch in the clone
	Origin   string `json:"origin"`   // of its branch at origin, when that was asked about
	Changes  int    `json:"changes"`  // paths in the worktree that are not committed
	Unmerged bool   `json:"unmerged"` // there are commits that no remote branch would have any more
	Foreign  bool   `json:"foreign"`  // origin's branch has commits that the clone has not
}

// Refusal is ecosystem.ErrUnsaved for what may not go. What only origin has may not with force either, because nothing here could keep it.
func (s Stake) Refusal(t TicketTree, force bool) error {
	switch {
	case s.Foreign:
		return ecosystem.ErrUnsaved.Sayf("branch %s at origin of %s has commits that are not here; fetch them in %s, then call again", t.Branch, t.Repo, t.Clone)
	case force:
		return nil
	case s.Changes > 0:
		return ecosystem.ErrUnsaved.Sayf("the ticket's worktree of %s has changes that are not committed (%d); commit and push them, or say force", t.Repo, s.Changes)
	case s.Unmerged:
		return ecosystem.ErrUnsaved.Sayf("branch %s of %s has commits that no other remote branch would have; push or merge them, or say force", t.Branch, t.Repo)
	}
	return nil
}

// Ending says how a ticket's worktree and branch go.
type Ending struct {
	Force  bool // work that is nowhere else goes too; it is kept under refs of the clone first
	Origin bool // the branch at origin goes as well
}

// Ended is what came of an Ending.
type Ended struct {
	Kept   []string // refs that keep what was nowhere else
	Origin bool     // there was a branch at origin, and it is gone
	Stays  bool     // the branch stays: it is checked out somewhere else
}

// TicketWork makes and takes away worktrees of tickets. It fails with ecosystem.ErrGit, saying git's own masked words, and with
// ecosystem.ErrConflict when the branch is checked out elsewhere, the clone is missing, or something else is where the worktree would be.
type TicketWork interface {
	// Plan says how the worktree would come to be. It changes nothing and asks no network.
	Plan(ctx context.Context, t TicketTree) (Beginning, error)
	// Add makes the worktree, all or nothing.
	Add(ctx context.Context, t TicketTree) (Beginning, error)
	// Stake says what would go. It changes nothing; with origin it asks that, for 10 seconds at most.
	Stake(ctx context.Context, t TicketTree, origin bool) (Stake, error)
	// Remove takes the worktree and its branch away. Work that would be nowhere else afterwards is ecosystem.ErrUnsaved without Force, and
	// commits that only origin has are with it too. What is gone already is no error, so that a removal that was interrupted can be repeated.
	Remove(ctx context.Context, t TicketTree, e Ending) (Ended, error)
}
