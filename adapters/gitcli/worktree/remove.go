package worktree

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// removal is a worktree on its way out.
type removal struct {
	*Client
	sandboxport.Removal
	at   *gitcli.Repo
	dir  string
	tree *gitcli.Tree // nil when git knows of none
	keep *BackupSet
	tip  string // of the branch that goes; empty when none does
}

// Remove implements sandboxport.Repositories. Without Force it fails with sandbox.ErrDirty for a worktree that is locked, and for one with work that
// would be nowhere else; with it, that work is kept first. What its set-up made is always kept. A branch that is checked out elsewhere stays.
func (c *Client) Remove(ctx context.Context, repo, dir string, r sandboxport.Removal) ([]string, error) {
	if err := sandbox.CheckName(r.Name); err != nil {
		return nil, err
	}
	if _, err := git.ParseBranch(r.Branch); err != nil && r.DeleteBranch {
		return nil, sandbox.ErrArguments.WithMessage("branch %.80q cannot be deleted: %v", r.Branch, err).WithCause(err)
	}
	at, release, err := c.alone(ctx, repo)
	if err != nil {
		return nil, err
	}
	defer release()
	m := &removal{Client: c, Removal: r, at: at}
	if m.dir, err = filepath.Abs(dir); err != nil {
		return nil, gitcli.Disk(err, dir)
	}
	if m.tree, _, err = at.Tree(m.dir); err != nil {
		return nil, err
	}
	if m.tree != nil && m.tree.Admin == at.Common || inside(m.dir, at.Dir) {
		return nil, sandbox.ErrArguments.WithMessage("%s contains the clone itself, not a sandbox", m.dir)
	}
	if m.keep, err = BeginBackupSet(ctx, at, r.Name, r.At); err != nil {
		return nil, err
	}
	if err := m.save(ctx); err != nil {
		return nil, err
	}
	err = m.take(ctx)
	if err == nil { // a leftover only holds unneeded files
		_, _ = at.Main().Git(ctx, gitcli.Command{Args: []string{"update-ref", "-d", reviewedRef(m.dir)}})
	}
	return m.keep.Refs, err
}

// inside reports whether path is dir or below it.
func inside(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// save keeps what would be lost, or refuses.
func (m *removal) save(ctx context.Context) error {
	if m.DeleteBranch {
		tip, err := Resolve(ctx, m.at.Main(), git.HeadsPrefix+m.Branch)
		if err != nil {
			return err
		}
		m.tip = tip
	}
	if err := m.another(); err != nil {
		return err
	}
	t := m.tree
	if t == nil {
		stray, err := m.stray(ctx)
		if t = stray; t != nil {
			defer Discard(t.Admin)
		}
		if err != nil {
			return err
		}
	} else if t.Has("locked") && !m.Force {
		return sandbox.ErrDirty.WithMessage("the worktree %s is locked; unlock it with git worktree unlock, or force", m.dir)
	}
	var h UnsavedWork
	if t != nil {
		var err error
		if h, err = FindUnsavedWork(ctx, t); err != nil {
			return err
		}
	}
	return m.saveAll(ctx, t, h)
}

// saveAll keeps commits, then files.
func (m *removal) saveAll(ctx context.Context, t *gitcli.Tree, h UnsavedWork) error {
	head := h.Head
	if h.Branch != "" { // then its commits stay with the branch, or go with the one that is deleted
		head = ""
	}
	loseHead, err := OnlyInRepo(ctx, m.at.Main(), head)
	if err != nil {
		return err
	}
	loseTip, err := OnlyInRepo(ctx, m.at.Main(), m.tip)
	if err != nil {
		return err
	}
	if (h.Dirty() || loseHead || loseTip) && !m.Force {
		return sandbox.ErrDirty.WithMessage("the worktree %s has %d changed files, or commits that no remote has; commit and push them, or force%s", m.dir, len(h.Changes), sandbox.LargeSetup(h.Large))
	}
	if loseHead {
		if err := m.keep.Keep(ctx, sandbox.BackupCommits, head); err != nil {
			return err
		}
	}
	if loseTip {
		kind := sandbox.BackupCommits
		if loseHead {
			kind = sandbox.BackupBranch
		}
		if err := m.keep.Keep(ctx, kind, m.tip); err != nil {
			return err
		}
	}
	if t == nil {
		return nil
	}
	return m.keep.Uncommitted(ctx, t, h, "")
}

// another rejects a directory that contains another repository, whose history could not be backed up.
func (m *removal) another() error {
	path := filepath.Join(m.dir, ".git")
	info, err := os.Lstat(path)
	if err != nil {
		return nil
	}
	if info.Mode().IsRegular() {
		said, err := os.ReadFile(path)
		place, ok := strings.CutPrefix(strings.TrimSpace(string(said)), "gitdir: ")
		if m.tree != nil || err == nil && ok && inside(m.at.Common, place) {
			return nil
		}
	}
	return sandbox.ErrDirty.WithMessage("%s contains a repository that is not a worktree of this clone; move it away, or delete it yourself", m.dir)
}

// stray returns a directory full of files of which git knows nothing (any more), as a worktree that stands where the sandbox's branch stands, or
// else the clone. It is nil when there is nothing in it. Its administration is the caller's to discard.
func (m *removal) stray(ctx context.Context) (*gitcli.Tree, error) {
	if info, err := os.Lstat(m.dir); err != nil || !info.IsDir() {
		return nil, nil
	}
	entries, err := os.ReadDir(m.dir)
	if err != nil {
		return nil, gitcli.Disk(err, m.dir)
	}
	if len(entries) == 0 {
		return nil, nil
	}
	var base string
	for _, ref := range []string{git.HeadsPrefix + m.Branch, "HEAD"} {
		if base == "" {
			if base, err = Resolve(ctx, m.at.Main(), ref); err != nil {
				return nil, err
			}
		}
	}
	t, err := m.at.Provisional(m.dir, base)
	if err != nil || base == "" {
		return t, err
	}
	_, err = t.Git(ctx, gitcli.Command{Args: []string{"read-tree", base}})
	return t, err
}

// take takes the worktree, the branch and git's notes away.
func (m *removal) take(ctx context.Context) error {
	t := m.at.Main()
	if m.tree != nil {
		_, err := t.Git(ctx, gitcli.Command{Timeout: m.options.Worktree, Args: []string{"worktree", "remove", "--force", "--force", "--", m.tree.Dir}})
		if ctx.Err() != nil {
			return fault.From(ctx.Err())
		}
		if err != nil { // it does not like what it found there; we know that it is ours
			Discard(m.tree.Dir)
			Discard(m.tree.Admin)
		}
	}
	Discard(m.dir)
	if _, err := os.Lstat(m.dir); err == nil {
		return sandbox.ErrGit.WithMessage("%s could not be removed completely; check who owns the remaining files, then delete the sandbox again", m.dir)
	}
	if err := prune(ctx, m.at); err != nil {
		return err
	}
	if m.tip == "" {
		return nil
	}
	refs, err := branches(ctx, m.at)
	if err != nil || refs.Local[m.Branch] != "" {
		return err
	}
	return m.dropBranch(ctx, m.at, m.Branch, m.tip)
}
