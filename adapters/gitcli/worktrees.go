package gitcli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/project"
)

// Worktrees implements projectport.Repositories.
func (c *client) Worktrees(ctx context.Context, dir string) ([]git.Worktree, error) {
	at, err := open(ctx, dir)
	if err != nil {
		return nil, err
	}
	return c.worktrees(ctx, at)
}

func (c *client) worktrees(ctx context.Context, at place) ([]git.Worktree, error) {
	out, err := c.git(ctx, Command{Dir: at.dir, Args: []string{"worktree", "list", "--porcelain", "-z"}})
	if err != nil {
		return nil, err
	}
	list, err := git.ParseWorktrees(out)
	if err != nil {
		return nil, project.ErrExecutionFailed.WithMessage("%v", err).WithCause(err)
	}
	for i := range list {
		list[i].Branch = string([]rune(list[i].Branch)) // it is shown, and goes into JSON
	}
	// Of a repository whose directory is apart from its files, a submodule for one, git names the wrong one of the two.
	if len(list) > 0 && at.plain && at.top != "" && at.gitDir == at.common && same(list[0].Path, at.gitDir) {
		list[0].Path = at.top
	}
	return list, nil
}

// Belongs implements projectport.Repositories. Directories are compared as such, not by their names, so that neither links nor letter case
// count.
func (c *client) Belongs(ctx context.Context, dir, root string) (bool, error) {
	at, err := open(ctx, dir)
	if err != nil {
		return notInRepo(err)
	}
	owner, err := open(ctx, root)
	if err != nil {
		return notInRepo(err)
	}
	out, err := c.git(ctx, Command{Dir: at.dir, Args: []string{"rev-parse", "--path-format=absolute", "--git-common-dir"}})
	if err != nil {
		return notInRepo(err)
	}
	common, err := filepath.EvalSymlinks(strings.TrimSuffix(string(out), "\n"))
	if err != nil || !inside(owner.dir, common) {
		return false, nil
	}
	list, err := c.worktrees(ctx, owner)
	if err != nil {
		return notInRepo(err)
	}
	top := at.top
	if top == "" {
		top = at.dir
	}
	for _, w := range list {
		if same(w.Path, top) {
			return true, nil
		}
	}
	return false, nil
}

// notInRepo returns the answer where git refuses: what it takes for no repository, or will not read, belongs to nothing.
func notInRepo(err error) (bool, error) {
	if errors.Is(err, project.ErrNotRepository) || ExitOf(err) != 0 {
		return false, nil
	}
	return false, err
}

// inside reports whether path is root or below it. Both are real paths.
func inside(root, path string) bool {
	for {
		if same(root, path) {
			return true
		}
		parent := filepath.Dir(path)
		if parent == path {
			return false
		}
		path = parent
	}
}

// same reports whether both are there, and are one.
func same(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}
