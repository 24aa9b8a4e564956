package ecogit

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/adapters/gitcli/worktree"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// Stake says what would go.
func (c TicketClient) Stake(ctx context.Context, t ecosystemport.TicketTree, origin bool) (ecosystemport.UnsavedWork, error) {
	if gitcli.RepoGone(t.Clone) {
		return ecosystemport.UnsavedWork{}, orphaned(t)
	}
	at, err := openTicket(t)
	if err != nil {
		return ecosystemport.UnsavedWork{}, err
	}
	if _, err := git.ParseBranch(t.Branch); err != nil {
		return ecosystemport.UnsavedWork{}, ecosystem.ErrArguments.WithMessage("the ticket's branch in %s cannot be deleted: %v", t.Repo, err).WithCause(err)
	}
	e := examination{Repo: at, tree: t, origin: origin}
	err = e.look(ctx)
	return e.stake, namedTicket(err)
}

// orphaned rejects files whose clone is gone, because nothing could keep them; nil where there are none.
func orphaned(t ecosystemport.TicketTree) error {
	if left, err := worktree.Stray(t.Dir); err == nil && len(left) == 0 {
		return nil
	}
	return ecosystem.ErrConflict.WithMessage("the clone of %s is missing, so the work in %s cannot be saved; move it away, or end the ticket without cleanup", t.Repo, t.Dir)
}

// examination finds out what a ticket has in a repository.
type examination struct {
	*gitcli.Repo
	tree   ecosystemport.TicketTree
	origin bool
	stake  ecosystemport.UnsavedWork
}

func (e *examination) look(ctx context.Context) (err error) {
	s := &e.stake
	if s.Head, err = worktree.Resolve(ctx, e.Main(), git.HeadsPrefix+e.tree.Branch); err != nil {
		return err
	}
	detached, err := e.files(ctx)
	if err != nil {
		return err
	}
	if e.origin {
		if err := e.ask(ctx); err != nil {
			return err
		}
	}
	commits := []string{s.Head, detached}
	if !s.Foreign {
		commits = append(commits, s.Origin)
	}
	s.Unmerged, err = lost(ctx, e.Repo, e.but(), commits...)
	return err
}

// files counts the uncommitted files, and returns the commit of a detached worktree.
func (e *examination) files(ctx context.Context) (detached string, err error) {
	linked, ok, err := e.Tree(e.tree.Dir)
	if err != nil {
		return "", err
	}
	if !ok {
		left, err := worktree.Stray(e.tree.Dir)
		e.stake.Changes = len(left)
		return "", err
	}
	h, err := worktree.FindUnsavedWork(ctx, linked)
	e.stake.Changes = len(h.Changes) + len(h.Stashes)
	if h.Branch == "" {
		detached = h.Head
	}
	return detached, err
}

// but returns the remote branch that will be deleted.
func (e *examination) but() string {
	if e.stake.Origin == "" {
		return ""
	}
	return "origin/" + e.tree.Branch
}

// ask looks at origin, where there is one.
func (e *examination) ask(ctx context.Context) error {
	if url, err := worktree.OriginURL(ctx, e.Main()); err != nil || url == "" {
		return err
	}
	ref := git.HeadsPrefix + e.tree.Branch
	out, err := runTicketRemote(ctx, e.Repo, ticketAskTime, "ls-remote", "--", "origin", ref)
	if err != nil {
		return ecosystem.ErrGit.WithMessage("origin of %s cannot be queried for branch %s (%s); cleanup local keeps the branch there", e.tree.Repo, e.tree.Branch, last(err)).WithCause(err)
	}
	for line := range strings.Lines(string(out)) {
		if commit, name, _ := strings.Cut(strings.TrimSpace(line), "\t"); name == ref {
			e.stake.Origin = commit
		}
	}
	if e.stake.Origin != "" {
		have, err := worktree.Resolve(ctx, e.Main(), e.stake.Origin)
		e.stake.Foreign = have == "" || err != nil // git knows no object of that name
	}
	return nil
}

func last(err error) string { return gitcli.Last(gitcli.Words(err)) }

// lost reports commits that no remote branch has but that one.
func lost(ctx context.Context, at *gitcli.Repo, but string, commits ...string) (bool, error) {
	args := []string{"rev-list", "--max-count=1", "--ignore-missing"}
	none := len(args)
	for _, commit := range commits {
		if commit != "" {
			args = append(args, commit)
		}
	}
	if len(args) == none {
		return false, nil
	}
	args = append(args, "--not")
	if but != "" {
		args = append(args, "--exclude="+but)
	}
	out, err := at.Main().Word(ctx, append(args, "--remotes", "--")...)
	return out != "", err
}

// Remove takes the worktree and its branch away: at origin first, so that a removal that could not be completed can be repeated.
func (c TicketClient) Remove(ctx context.Context, t ecosystemport.TicketTree, e ecosystemport.RemoveOptions) (done ecosystemport.Ended, err error) {
	if gitcli.RepoGone(t.Clone) {
		if err := orphaned(t); err != nil {
			return done, err
		}
		cleared(t)
		return done, nil
	}
	s, err := c.Stake(ctx, t, e.Origin)
	if err == nil {
		err = s.Refusal(t, e.Force)
	}
	if err != nil {
		return done, err
	}
	at, err := openTicket(t)
	if err != nil {
		return done, err
	}
	name := keptAs(t)
	if s.Origin != "" {
		if done.Kept, err = c.withdraw(ctx, at, t, s); err != nil {
			return done, err
		}
		done.Origin = true
	}
	refs, err := c.trees.Remove(ctx, t.Clone, t.Dir, sandboxport.Removal{Name: name, Branch: t.Branch, DeleteBranch: true, Force: e.Force, At: c.clock.Now()})
	for _, ref := range refs {
		if len(done.Kept) == 0 || done.Kept[0] != ref {
			done.Kept = append(done.Kept, ref)
		}
	}
	if err != nil {
		return done, namedTicket(err)
	}
	if head, err := worktree.Resolve(ctx, at.Main(), git.HeadsPrefix+t.Branch); err == nil {
		done.Stays = head != ""
	}
	cleared(t)
	return done, nil
}

// cleared takes the ticket's own directory away with its last worktree.
func cleared(t ecosystemport.TicketTree) {
	removeIfEmpty(t.Dir)
	removeIfEmpty(filepath.Dir(t.Dir))
}

// withdraw deletes the branch at origin if it still is where it was looked at, after its commits were kept that are nowhere else.
func (c TicketClient) withdraw(ctx context.Context, at *gitcli.Repo, t ecosystemport.TicketTree, s ecosystemport.UnsavedWork) ([]string, error) {
	var refs []string
	if alone, err := lost(ctx, at, "origin/"+t.Branch, s.Origin); err != nil {
		return nil, namedTicket(err)
	} else if alone {
		k, err := worktree.BeginBackupSet(ctx, at, keptAs(t), c.clock.Now())
		if err != nil {
			return nil, namedTicket(err)
		}
		if err := k.Keep(ctx, sandbox.BackupBranch, s.Origin); err != nil {
			return nil, namedTicket(err)
		}
		refs = k.Refs
	}
	ref := git.HeadsPrefix + t.Branch
	_, err := runTicketRemote(ctx, at, ticketLongTime, "push", "--quiet", "--no-verify", "--force-with-lease="+ref+":"+s.Origin, "--", "origin", ":"+ref)
	if err != nil {
		return refs, ecosystem.ErrGit.WithMessage("branch %s was not deleted at origin of %s: %s", t.Branch, t.Repo, last(err)).WithCause(err)
	}
	return refs, nil
}

// keptAs is under which name a ticket's work is kept: letters, digits and dashes.
func keptAs(t ecosystemport.TicketTree) string {
	name := "ticket-" + strings.ReplaceAll(filepath.Base(filepath.Dir(t.Dir)), ".", "-")
	return name[:min(len(name), sandbox.MaxName)]
}

// runTicketRemote runs a git that asks origin.
func runTicketRemote(ctx context.Context, at *gitcli.Repo, most time.Duration, args ...string) ([]byte, error) {
	return at.Main().Git(ctx, gitcli.Command{Args: args, Protocols: gitcli.Network, Machine: true, Timeout: most, Env: []string{gitcli.SSH("")}})
}
