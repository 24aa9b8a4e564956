package ecogit

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/adapters/gitcli/worktree"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// The limits of amof contract §11 and §20.9.
const (
	ticketAskTime  = 10 * time.Second
	ticketReadTime = 30 * time.Second
	ticketLongTime = 300 * time.Second
)

// ticketDirMode is that of directories above worktrees.
const ticketDirMode = 0o755

// TicketClient is an ecosystemport.TicketWork; New makes it. Several goroutines and processes may use it at once.
type TicketClient struct {
	trees *worktree.Client
	clock ports.Clock
}

// NewTicketClient makes a client. It starts nothing. The clock names what is kept.
func NewTicketClient(clock ports.Clock) TicketClient {
	return TicketClient{trees: worktree.New(worktree.Options{}), clock: clock}
}

// openTicket returns the clone.
func openTicket(t ecosystemport.TicketTree) (*gitcli.Repo, error) {
	if gitcli.RepoGone(t.Clone) {
		return nil, ecosystem.ErrConflict.WithMessage("the clone of %s is missing (%s); amof_sync_ecosystem clones it", t.Repo, t.Clone)
	}
	at, err := gitcli.OpenRepo(t.Clone, ticketReadTime)
	if err != nil {
		err = ecosystem.ErrGit.WithMessage("%s must be the clone of %s but is not a clone; move it away and call amof_sync_ecosystem", t.Clone, t.Repo).WithCause(err)
	}
	return at, err
}

// Plan says how the worktree would come to be.
func (c TicketClient) Plan(ctx context.Context, t ecosystemport.TicketTree) (ecosystemport.WorktreeOrigin, error) {
	_, how, err := c.plan(ctx, t)
	return how, err
}

func (c TicketClient) plan(ctx context.Context, t ecosystemport.TicketTree) (p sandboxport.BranchPlan, how ecosystemport.WorktreeOrigin, err error) {
	at, err := openTicket(t)
	if err != nil {
		return p, "", err
	}
	if how, err = stands(ctx, at, t); how != "" || err != nil {
		return p, how, err
	}
	p, err = c.trees.Plan(ctx, t.Clone, "ticket", t.Branch)
	switch {
	case errors.Is(err, sandbox.ErrBranch):
		p, err = fresh(ctx, at, t)
		return p, ecosystemport.Made, err
	case err != nil:
		return p, "", namedTicket(err)
	case p.Branch != t.Branch:
		return p, "", elsewhere(ctx, at, t)
	case p.Track:
		return p, ecosystemport.Tracked, nil
	}
	return p, ecosystemport.Reused, nil
}

// elsewhere says where the ticket's branch is checked out.
func elsewhere(ctx context.Context, at *gitcli.Repo, t ecosystemport.TicketTree) error {
	place, err := at.Main().Word(ctx, "for-each-ref", "--format=%(worktreepath)", git.HeadsPrefix+t.Branch)
	if err != nil || place == "" {
		place = "another worktree of " + t.Clone
	}
	return ecosystem.ErrConflict.WithMessage("branch %s of %s is checked out in %s; switch that to another branch first", t.Branch, t.Repo, place)
}

// fresh returns a new branch for the ticket: on origin's base, else on the clone's own. Git keeps a branch as a file, so one whose name is a directory of
// the other's is in its way.
func fresh(ctx context.Context, at *gitcli.Repo, t ecosystemport.TicketTree) (p sandboxport.BranchPlan, err error) {
	heads, err := worktree.Refs(ctx, at.Main(), git.HeadsPrefix)
	if err != nil {
		return p, namedTicket(err)
	}
	for ref := range heads {
		name := strings.TrimPrefix(ref, git.HeadsPrefix)
		if strings.HasPrefix(name, t.Branch+"/") || strings.HasPrefix(t.Branch, name+"/") {
			return p, ecosystem.ErrConflict.WithMessage("branch %s of %s conflicts with its branch %s; rename that one first", t.Branch, t.Repo, name)
		}
	}
	for _, ref := range []string{git.RemotesPrefix + t.Base, git.HeadsPrefix + t.Base} {
		commit, err := worktree.Resolve(ctx, at.Main(), ref)
		if err != nil {
			return p, namedTicket(err)
		}
		if commit != "" {
			return sandboxport.BranchPlan{Branch: t.Branch, From: commit, Create: true}, nil
		}
	}
	return p, ecosystem.ErrConflict.WithMessage("branch %s, the base of a ticket in %s, is neither at origin nor in the clone; push a first commit, or correct the manifest", t.Base, t.Repo)
}

// stands is Standing when the ticket's worktree is there already, Reused when only an empty directory is left of it, and empty when nothing is in its
// place. Anything else there is ecosystem.ErrConflict.
func stands(ctx context.Context, at *gitcli.Repo, t ecosystemport.TicketTree) (ecosystemport.WorktreeOrigin, error) {
	info, err := os.Lstat(t.Dir)
	if os.IsNotExist(err) {
		return "", nil
	}
	inTheWay := ecosystem.ErrConflict.WithMessage("%s is not a worktree of %s; move it away", t.Dir, t.Repo)
	if err != nil || !info.IsDir() {
		return "", inTheWay.WithCause(err)
	}
	entries, err := os.ReadDir(t.Dir)
	if err != nil {
		return "", inTheWay.WithCause(err)
	}
	linked, ok, err := at.Tree(t.Dir)
	switch {
	case err != nil:
		return "", namedTicket(err)
	case len(entries) == 0 && ok:
		return ecosystemport.Reused, nil
	case len(entries) == 0:
		return "", nil
	case !ok || !isPointer(filepath.Join(t.Dir, ".git")):
		return "", inTheWay
	}
	branch, err := worktree.Branch(ctx, linked)
	if err == nil && branch != t.Branch && worktree.RebasedBranch(linked.Admin) != t.Branch {
		err = ecosystem.ErrConflict.WithMessage("the worktree %s is on %q and not on %s; switch it back, or end the ticket", t.Dir, branch, t.Branch)
	}
	return ecosystemport.Standing, namedTicket(err)
}

// removeIfEmpty takes a directory away if it is empty.
func removeIfEmpty(dir string) {
	if info, err := os.Lstat(dir); err == nil && info.IsDir() {
		_ = os.Remove(dir)
	}
}

// isPointer reports the file by which a worktree says where its repository is.
func isPointer(file string) bool {
	info, err := os.Lstat(file)
	return err == nil && info.Mode().IsRegular()
}

// Add makes the worktree, all or nothing.
func (c TicketClient) Add(ctx context.Context, t ecosystemport.TicketTree) (ecosystemport.WorktreeOrigin, error) {
	removeIfEmpty(t.Dir)
	p, how, err := c.plan(ctx, t)
	if err != nil || how == ecosystemport.Standing {
		return how, err
	}
	above := filepath.Dir(t.Dir)
	if err := os.MkdirAll(above, ticketDirMode); err != nil {
		return "", ecosystem.ErrStorage.WithMessage("%s cannot be made", above).WithCause(err)
	}
	if _, err = c.trees.Add(ctx, t.Clone, t.Dir, p); err == nil {
		return how, nil
	}
	removeIfEmpty(above)
	return "", namedTicket(err)
}

// namedTicket gives failures that sandboxes share the names that they have here.
func namedTicket(err error) error {
	told := fault.From(err)
	if told == nil || !strings.HasPrefix(string(told.Code), "sandbox_") {
		return err
	}
	is := ecosystem.ErrGit
	switch {
	case errors.Is(err, sandbox.ErrExists):
		is = ecosystem.ErrConflict
	case errors.Is(err, sandbox.ErrDirty):
		is = ecosystem.ErrUnsaved
	case errors.Is(err, sandbox.ErrArguments):
		is = ecosystem.ErrArguments
	case errors.Is(err, sandbox.ErrBusy):
		is = ecosystem.ErrBusy
	}
	return is.WithMessage("%s", told.Message).WithCause(err)
}
