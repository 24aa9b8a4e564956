package ecogit

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// trashRefs keep, in the root, what a workspace that is in the trash stood on.
func trashRefs(s ecosystemport.TrashEntry) string { return "refs/countersign/trash/" + s.ID + "/" }

// linked reports whether a directory is a worktree of another repository.
func linked(dir string) bool {
	info, err := os.Lstat(filepath.Join(dir, ".git"))
	return err == nil && info.Mode().IsRegular()
}

// Describe implements ecosystemport.PushGit.
func (c *PushClient) Describe(ctx context.Context, s ecosystemport.TrashEntry) (_ ecosystemport.TrashEntry, err error) {
	if _, err := os.Lstat(s.Workspace); err != nil {
		s.Absent = true
	}
	if s.Head, err = quiet(ctx, s.Root, "rev-parse", "--verify", "--quiet", "refs/heads/"+s.Branch); err != nil || !linked(s.Workspace) {
		return s, err
	}
	if s.OnRef, err = quiet(ctx, s.Workspace, "symbolic-ref", "--quiet", "HEAD"); err != nil {
		return s, err
	}
	s.Tree, err = quiet(ctx, s.Workspace, "rev-parse", "--verify", "--quiet", "HEAD")
	return s, err
}

// Where implements ecosystemport.PushGit.
func (c *PushClient) Where(l ecosystem.Layout, s ecosystemport.TrashEntry) (home, away bool) {
	_, here := os.Lstat(s.Workspace)
	_, there := os.Lstat(TrashPath(l, s))
	return here == nil, there == nil
}

// Detach implements ecosystemport.PushGit. The worktree stays known, in its new place, so that git keeps what is staged in it.
func (c *PushClient) Detach(ctx context.Context, l ecosystem.Layout, s ecosystemport.TrashEntry) error {
	orders := ""
	for name, commit := range map[string]string{"branch": s.Head, "tree": s.Tree} {
		if commit != "" {
			orders += "update " + trashRefs(s) + name + " " + commit + "\n"
		}
	}
	if err := order(ctx, s.Root, orders); err != nil {
		return err
	}
	if place := TrashPath(l, s); linked(place) {
		if _, err := word(ctx, s.Root, "worktree", "repair", "--", place); err != nil {
			return named(s.Root, err)
		}
		_, _ = word(ctx, s.Root, "worktree", "lock", "--reason=in the trash of Countersign", "--", place) // or it is locked already
		if s.Tree != "" {
			if _, err := word(ctx, place, "update-ref", "--no-deref", "HEAD", s.Tree); err != nil {
				return named(place, err)
			}
		}
	} else if s.Absent {
		_, _ = word(ctx, s.Root, "worktree", "remove", "--force", "--force", "--", s.Workspace) // where it is known at all
	}
	if !s.Cut || s.Head == "" {
		return nil
	}
	// A branch that moved in the meantime is kept.
	now, err := quiet(ctx, s.Root, "rev-parse", "--verify", "--quiet", "refs/heads/"+s.Branch)
	if err == nil && now == s.Head {
		_, err = word(ctx, s.Root, "update-ref", "-d", "refs/heads/"+s.Branch, s.Head)
	}
	return named(s.Root, err)
}

// Reattach implements ecosystemport.PushGit.
func (c *PushClient) Reattach(ctx context.Context, l ecosystem.Layout, s ecosystemport.TrashEntry) error {
	if !linked(s.Workspace) {
		if err := c.restoreBranch(ctx, l, s); err != nil {
			return err
		}
		return c.forgetKept(ctx, s)
	}
	if _, err := word(ctx, s.Root, "worktree", "repair", "--", s.Workspace); err != nil {
		return named(s.Root, err)
	}
	on, err := quiet(ctx, s.Workspace, "symbolic-ref", "--quiet", "HEAD")
	if err != nil {
		return err
	}
	if on == "" || on != s.OnRef { // else it is fast already, and may have gone on
		if err := c.restoreBranch(ctx, l, s); err != nil {
			return err
		}
		if s.OnRef != "" {
			if _, err := word(ctx, s.Workspace, "symbolic-ref", "HEAD", s.OnRef); err != nil {
				return named(s.Workspace, err)
			}
		}
	}
	_, _ = word(ctx, s.Root, "worktree", "unlock", "--", s.Workspace) // or it is not locked
	return c.forgetKept(ctx, s)
}

// restoreBranch has the branch be where it was.
func (c *PushClient) restoreBranch(ctx context.Context, l ecosystem.Layout, s ecosystemport.TrashEntry) error {
	ref := "refs/heads/" + s.Branch
	now, err := quiet(ctx, s.Root, "rev-parse", "--verify", "--quiet", ref)
	if err == nil {
		err = c.free(ctx, l, s, now)
	}
	if err != nil || now != "" || s.Head == "" {
		return err
	}
	_, err = word(ctx, s.Root, "update-ref", ref, s.Head, strings.Repeat("0", len(s.Head)))
	return named(s.Root, err)
}

// free fails if the worktree's branch cannot be checked out again: it was moved, or is checked out in another worktree.
func (c *PushClient) free(ctx context.Context, l ecosystem.Layout, s ecosystemport.TrashEntry, now string) error {
	if now != "" && s.Head != "" && now != s.Head {
		return ecosystem.ErrConflict.WithMessage("branch %s is at %s now but was at %s when %s was moved to the trash; rename it (git branch -m) and restore again", s.Branch, now[:7], s.Head[:7], s.Workspace)
	}
	trees, err := worktrees(ctx, s.Root)
	for _, t := range trees {
		if t.Branch != "" && git.HeadsPrefix+t.Branch == s.OnRef && t.Path != s.Workspace && t.Path != TrashPath(l, s) {
			return ecosystem.ErrConflict.WithMessage("branch %s is checked out in %s; switch to another branch there and restore again", strings.TrimPrefix(s.OnRef, "refs/heads/"), t.Path)
		}
	}
	return err
}

func (c *PushClient) forgetKept(ctx context.Context, s ecosystemport.TrashEntry) error {
	text, err := word(ctx, s.Root, "for-each-ref", "--format=delete %(refname)", trashRefs(s))
	if err != nil || text == "" {
		return named(s.Root, err)
	}
	return order(ctx, s.Root, text+"\n")
}

// Forget implements ecosystemport.PushGit. A root that is gone needs nothing.
func (c *PushClient) Forget(ctx context.Context, l ecosystem.Layout, s ecosystemport.TrashEntry) error {
	if !repository(s.Root) {
		return nil
	}
	_, _ = word(ctx, s.Root, "worktree", "remove", "--force", "--force", "--", TrashPath(l, s)) // or it is not known
	return c.forgetKept(ctx, s)
}
