package worktree

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/sandbox"
)

// flagged returns the tracked files into which git does not look, because they are marked assume-unchanged or skip-worktree. Those that a sparse
// checkout left out are not among them.
func flagged(ctx context.Context, t *gitcli.Tree) (paths []string, err error) {
	out, err := t.Git(ctx, gitcli.Command{Args: []string{"ls-files", "-v", "-z"}, Limit: backupManyFiles})
	if err != nil {
		return nil, err
	}
	for _, record := range git.SplitRecords(out) {
		if len(record) < 3 || record[0] >= 'A' && record[0] <= 'Z' && record[0] != 'S' {
			continue
		}
		path := record[2:]
		if record[0] == 'S' || record[0] == 's' {
			if _, err := os.Lstat(filepath.Join(t.Dir, filepath.FromSlash(path))); err != nil {
				continue
			}
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// unflag has git look into the files again: by the index that env names, or the tree's own.
func unflag(ctx context.Context, t *gitcli.Tree, paths []string, env ...string) error {
	if len(paths) == 0 {
		return nil
	}
	for _, flag := range []string{"--no-assume-unchanged", "--no-skip-worktree"} {
		if _, err := t.Git(ctx, gitcli.Command{Args: []string{"update-index", flag, "-z", "--stdin"}, Stdin: []byte(strings.Join(paths, "\x00") + "\x00"), Env: env, Timeout: longTime}); err != nil {
			return err
		}
	}
	return nil
}

// Status is the tree's Status that marks on files (assume-unchanged, skip-worktree) hide nothing from, without what its set-up made and nobody has changed
// since.
func Status(ctx context.Context, t *gitcli.Tree, untracked string) (git.Status, error) {
	s, _, err := statusOfWork(ctx, t, untracked)
	return s, err
}

// statusOfWork is Status, with the changes that are the set-up's.
func statusOfWork(ctx context.Context, t *gitcli.Tree, untracked string) (s git.Status, setup []git.Change, err error) {
	made, err := setupOutputs(t)
	if err != nil {
		return s, nil, err
	}
	if len(made) > 0 {
		untracked = "all" // a directory in a word could hold both
	}
	if s, err = unfiltered(ctx, t, untracked); err == nil && len(made) > 0 {
		s.Changes, setup = partSetup(t, s.Changes, made)
	}
	return s, setup, err
}

// unfiltered is Status, what the set-up made included.
func unfiltered(ctx context.Context, t *gitcli.Tree, untracked string) (git.Status, error) {
	paths, err := flagged(ctx, t)
	if err != nil {
		return git.Status{}, err
	}
	if len(paths) == 0 {
		return t.Status(ctx, untracked)
	}
	scratch, err := os.MkdirTemp("", "countersign-status-*")
	if err != nil {
		return git.Status{}, gitcli.Disk(err, os.TempDir())
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	m := maker{t: t, scratch: scratch, timeout: longTime}
	if err := m.copyIndex(ctx, paths); err != nil {
		return git.Status{}, err
	}
	return t.Status(ctx, untracked, m.env())
}

// nestedRepo is a repository in a worktree that is not a submodule and has unsaved work.
type nestedRepo struct {
	path    string // in the worktree, with slashes
	ignored bool   // the worktree's status does not tell of it
	tree    *gitcli.Tree
	work    UnsavedWork
	tips    []string // commits that none of its remotes has
	lines   []string // of the commits up to those
}

// nestedIn returns the repositories with work in a worktree that are none of its submodules; changes is what its status tells. The commits of one
// that lives elsewhere (a linked worktree of another clone) stay there with their branches. What git cannot read is left out, and so is one that has
// nothing but what its remotes have.
func nestedIn(ctx context.Context, t *gitcli.Tree, changes []git.Change) (found []nestedRepo, err error) {
	known, err := t.Submodules(ctx)
	if err != nil {
		return nil, err
	}
	var paths []string
	_ = filepath.WalkDir(t.Dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return fs.SkipAll
		case err != nil || entry.Name() != ".git":
			return nil
		}
		if rel, err := filepath.Rel(t.Dir, filepath.Dir(path)); err == nil && rel != "." && !slices.Contains(known, rel) {
			paths = append(paths, rel)
		}
		if entry.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	if ctx.Err() != nil {
		return nil, fault.From(ctx.Err())
	}
	for _, path := range paths {
		one := nestedRepo{path: filepath.ToSlash(path)}
		one.ignored = !slices.ContainsFunc(changes, func(c git.Change) bool {
			return c.Kind == git.Untracked && strings.HasPrefix(one.path+"/", strings.TrimSuffix(c.Path, "/")+"/")
		})
		err := one.look(ctx, t, path)
		var broken *gitcli.ExitError
		if errors.As(err, &broken) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if one.work.Dirty() || len(one.tips) > 0 {
			found = append(found, one)
		}
	}
	return found, nil
}

// look finds out what is in it.
func (n *nestedRepo) look(ctx context.Context, t *gitcli.Tree, path string) (err error) {
	if n.tree, err = t.Submodule(ctx, path); err != nil {
		return err
	}
	if n.work, err = workIn(ctx, n.tree); err != nil {
		return err
	}
	var heads []string
	own, err := filepath.EvalSymlinks(t.Dir)
	if here := inside(cmp.Or(own, t.Dir), n.tree.Common); here || n.work.Branch == "" {
		heads = append(heads, n.work.Head)
		if here {
			refs, err := n.tree.Refs(ctx, git.RefsFormat, git.HeadsPrefix, stashBranch)
			if err != nil {
				return err
			}
			for _, ref := range refs {
				if !slices.Contains(heads, ref.Object) {
					heads = append(heads, ref.Object)
				}
			}
		}
	}
	if err != nil {
		return gitcli.Disk(err, t.Dir)
	}
	graph, err := UnpushedCommits(ctx, n.tree, heads, oneLine()...)
	if err != nil {
		return err
	}
	for _, head := range heads {
		if head == "" || graph.Count(head) == 0 {
			continue
		}
		n.tips = append(n.tips, head)
		lines, _ := graph.Lines(head, sandbox.MaxChanges)
		for _, line := range lines {
			if line = n.path + ": " + line; !slices.Contains(n.lines, line) {
				n.lines = append(n.lines, line)
			}
		}
	}
	return nil
}

// nestedChanges are the lines of a status for the repositories of which git's own does not tell.
func nestedChanges(nested []nestedRepo) (changes []git.Change) {
	for _, n := range nested {
		if n.ignored {
			changes = append(changes, git.Change{Kind: git.Ignored, Index: '!', Tree: '!', Path: n.path + "/"})
		}
	}
	return changes
}
