package worktree

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// Backups implements sandboxport.Repositories. Refs of other forms in their place are left out; a clone that is gone has none.
func (c *Client) Backups(ctx context.Context, repo string) ([]sandboxport.Backup, error) {
	if gitcli.RepoGone(repo) {
		return nil, nil
	}
	at, err := c.open(repo)
	if err != nil {
		return nil, err
	}
	refs, err := Refs(ctx, at.Main(), sandbox.BackupsRoot)
	if err != nil {
		return nil, err
	}
	var found []sandboxport.Backup
	for ref, commit := range refs {
		if set, kind, ok := sandbox.ParseBackup(ref); ok {
			found = append(found, sandboxport.Backup{Ref: ref, Sandbox: set.Sandbox, Commit: commit, Stash: kind.IsStash(), At: set.At})
		}
	}
	slices.SortFunc(found, func(a, b sandboxport.Backup) int { return cmp.Or(b.At.Compare(a.At), strings.Compare(a.Ref, b.Ref)) })
	return found, nil
}

// Restore implements sandboxport.Repositories: a new branch at the commit that was kept, or that the kept changes were on, with the changes that
// were kept with it put back. It is all or nothing. It fails with sandbox.ErrArguments for a ref that is no backup's, with sandbox.ErrNotFound
// when it is gone, and else as Add.
func (c *Client) Restore(ctx context.Context, repo, dir, ref, branch string) error {
	set, kind, ok := sandbox.ParseBackup(ref)
	if !ok {
		return sandbox.ErrArguments.WithMessage("%.200q is not a backup; choose one from the list, like %smy-sandbox/1767323045", ref, sandbox.BackupsRoot)
	}
	at, release, err := c.alone(ctx, repo)
	if err != nil {
		return err
	}
	defer release()
	t := at.Main()
	commit, err := Resolve(ctx, t, ref)
	if err != nil {
		return err
	}
	if commit == "" {
		return sandbox.ErrNotFound.WithMessage("backup %s not found; choose one from the list", ref)
	}
	base, changes := commit, ""
	if kind.IsStash() {
		if base, err = WorkBase(ctx, t, commit); err != nil {
			return err
		}
		changes = commit
	} else if with, err := Resolve(ctx, t, set.Ref(kind.Changes())); err != nil {
		return err
	} else if with != "" {
		if on, err := WorkBase(ctx, t, with); err == nil && on == base {
			changes = with
		}
	}
	a, err := c.add(ctx, at, dir, sandboxport.BranchPlan{Branch: branch, From: base, Create: true})
	if err != nil {
		return err
	}
	if changes != "" {
		made, ok, err := at.Tree(a.dir)
		if err == nil && !ok {
			err = sandbox.ErrGit.WithMessage("the worktree %s disappeared while the backup was restored", a.dir)
		}
		if err == nil {
			err = RestoreWork(ctx, made, changes)
		}
		if err != nil {
			a.undo(ctx)
			return err
		}
	}
	a.submodules(ctx)
	return nil
}
