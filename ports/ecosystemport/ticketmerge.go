package ecosystemport

import (
	"context"
	"encoding/json"
)

// TicketDistance is how a ticket's branch stands to the branch that it goes into.
type TicketDistance struct {
	URL       string          // of origin, masked; empty: there is none
	Push      string          // where git pushes to, if that is elsewhere
	Head      string          // of the ticket's branch; empty: there is none
	Tree      string          // why its worktree cannot be worked on: changes, or what git is in the middle of; empty: it can
	TreeOpen  bool            // that is changes alone
	Open      string          // what of its worktree is not committed, files that git does not know included; empty: nothing
	Clone     string          // why the clone cannot take it: not on its base, changes, or in the middle of something; empty: it can
	Base      string          // commit of the base in the clone
	Origin    string          // commit of the base at origin, as that says now, or else as it was last seen; empty: it has none
	Asked     bool            // origin answered
	Known     bool            // that commit is here
	Pushed    bool            // origin has the ticket's branch as it is here
	Lacks     bool            // where the base would be pushed to, it has commits that the base here lacks
	LacksToo  bool            // and that the ticket's branch lacks too
	Sent      bool            // there is nothing to push of the base here
	Ahead     []ReleaseCommit // commits that the base lacks, the newest first; 20 at most
	Total     int             // of them
	Files     []string        // that they change; 100 at most
	FileCount int             // of them
	Behind    int             // commits that the ticket's branch lacks of what it would stand on; -1: unknown
	Conflicts []string        // paths that both have changed; nil: none, or unknown
}

// Onto returns the commit that the branch would be rebased on: the base at origin, else that of the clone.
func (d TicketDistance) Onto() string {
	if d.Origin != "" {
		return d.Origin
	}
	return d.Base
}

// TicketMerges brings tickets' branches up to date and together with their bases. It runs no hooks and signs nothing, and keeps
// rewritten commits under backup refs. It fails with ecosystem.ErrGit, with
// ecosystem.ErrIdentity where git has no author, and with ecosystem.ErrConflict where both have changed the same.
type TicketMerges interface {
	// Compare returns how a ticket's branch stands, against the base at origin, or with local against that of the clone. With ask it contacts origin for at
	// most 10 seconds. It changes nothing.
	Compare(ctx context.Context, t TicketTree, local, ask bool) (TicketDistance, error)
	// Rebase puts the commits of the ticket's branch, which has to be at head, onto a commit, which is fetched where it is not here. That is done aside: the
	// worktree moves in one step at the end, and not at all where something conflicts. It returns the new head.
	Rebase(ctx context.Context, t TicketTree, head, onto string, begun func(MergeStep) error) (string, error)
	// Merge brings the ticket's branch, at head, into the base, at base, of the clone, which has it checked out: by fast-forward where that is possible, as one
	// commit with squash, and else as a merge. It returns the base's new commit.
	Merge(ctx context.Context, t TicketTree, head, base, message string, squash bool, begun func(MergeStep) error) (string, error)
	// FinishMerge finishes a step whose process is gone. A branch that has moved since stays as it is.
	FinishMerge(ctx context.Context, step MergeStep) error
}

// MergeStep is a Rebase or Merge of which nothing is to be seen yet: what its begun is told before the branch moves.
type MergeStep struct {
	Clone string          `json:"clone"`
	Doc   json.RawMessage `json:"doc"`
}
