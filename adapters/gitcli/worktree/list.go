package worktree

import (
	"context"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// Survey implements sandboxport.Repositories: one git for the list, one for all commits that no remote has, and one a tree for its status. A tree whose
// status fails says so in Err; the branch of one in the middle of a rebase is the one that is rebased.
func (c *Client) Survey(ctx context.Context, repo string) ([]sandboxport.Tree, error) {
	at, err := c.open(repo)
	if err != nil {
		return nil, err
	}
	list, err := worktrees(ctx, at)
	if err != nil {
		return nil, err
	}
	linked, err := at.Linked()
	if err != nil {
		return nil, err
	}
	found := make([]sandboxport.Tree, len(list))
	heads := make([]string, len(list))
	var unpushed sandbox.Graph
	var group errgroup.Group
	group.SetLimit(parallel)
	for i, w := range list {
		heads[i] = w.Head
		group.Go(func() error {
			found[i] = surveyed(ctx, w, linked[filepath.Clean(w.Path)])
			return nil
		})
	}
	group.Go(func() (err error) {
		unpushed, err = UnpushedCommits(ctx, at.Main(), heads, "--parents")
		return err
	})
	err = group.Wait()
	if ctx.Err() != nil {
		return nil, fault.From(ctx.Err())
	}
	if err != nil {
		return nil, err
	}
	for i, w := range list {
		found[i].Unpushed = unpushed.Count(w.Head)
		found[i].Directory = at.Spelled(w.Path)
	}
	return found, nil
}

// worktrees returns the clone's linked ones. A git that is just making one can keep another from listing it.
func worktrees(ctx context.Context, at *gitcli.Repo) (list []git.Worktree, err error) {
	err = gitcli.Patiently(ctx, patience, func() (err error) {
		list, err = at.Main().Worktrees(ctx)
		return err
	})
	if len(list) > 0 {
		list = list[1:] // the main one comes first
	}
	return list, err
}

// surveyed returns what one tree holds; t is nil when its administration could not be read.
func surveyed(ctx context.Context, w git.Worktree, t *gitcli.Tree) sandboxport.Tree {
	found := sandboxport.Tree{Directory: w.Path, Branch: w.Branch, Head: w.Head, Locked: w.Locked, Prunable: w.Prunable}
	if info, err := os.Lstat(w.Path); err != nil || !info.IsDir() {
		found.Missing = true
		return found
	}
	if t == nil {
		found.Err = "git's metadata for this worktree cannot be read"
		return found
	}
	if found.Branch == "" {
		found.Branch = RebasedBranch(t.Admin)
	}
	s, err := Status(ctx, t, "normal")
	if err != nil {
		found.Err = fault.From(err).Message
		return found
	}
	found.Changes, found.Dirty, found.Ahead, found.Behind = len(s.Changes), len(s.Changes) > 0, s.Ahead, s.Behind
	return found
}
