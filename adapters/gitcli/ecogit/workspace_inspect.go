package ecogit

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/adapters/gitcli/worktree"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// Look implements ecosystemport.WorkspaceInstaller.
func (c *Client) Look(ctx context.Context, s ecosystemport.InstallTarget) (g ecosystemport.TargetState, err error) {
	at, err := gitcli.OpenRepo(s.Root, c.options.Read)
	if err != nil {
		return g, ecosystem.ErrRoot.WithMessage("the workspace root %s is not a git repository: it has no directory .git; run git init there, or name another root with AMOF_WORKSPACE_ROOT", s.Root).WithCause(err)
	}
	t := at.Main()
	if g.Head, err = worktree.Resolve(ctx, t, "HEAD"); err != nil {
		return g, ours(err)
	}
	if g.Branch, g.UsedAt, err = branch(ctx, t, s.Branch); err != nil {
		return g, ours(err)
	}
	if g.Remote, err = worktree.OriginURL(ctx, t); err != nil {
		return g, ours(err)
	}
	linked, err := at.Linked()
	if err != nil {
		return g, ours(err)
	}
	g.Worktrees = []string{}
	for dir := range linked {
		if dir == s.Dir || strings.HasPrefix(dir, s.Dir+string(filepath.Separator)) {
			g.Worktrees = append(g.Worktrees, dir)
		}
	}
	slices.Sort(g.Worktrees)
	if g.Taken, err = taken(ctx, t, g.Branch, s.Paths); err != nil {
		return g, ours(err)
	}
	g.Occupied, g.Missing, g.Links = way(s.Root, s.Dir)
	for _, path := range s.Paths {
		if _, err := os.Lstat(filepath.Join(s.Dir, filepath.FromSlash(path))); err == nil {
			g.There = append(g.There, path)
		}
	}
	g.Excludes, err = lacking(at, exclusions(s))
	return g, err
}

// branch returns the commit of a branch, and the worktree that has it checked out.
func branch(ctx context.Context, t *gitcli.Tree, name string) (commit, usedAt string, err error) {
	refs, err := t.Refs(ctx, git.RefsInWorktrees, git.HeadsPrefix+name)
	for _, ref := range refs { // a branch in a directory of that name matches too
		if ref.Name == git.HeadsPrefix+name {
			commit, usedAt = ref.Object, ref.Worktree
		}
	}
	return commit, usedAt, err
}

// taken returns the paths at which the commit that the workspace will stand on holds something, or a file on the way there.
func taken(ctx context.Context, t *gitcli.Tree, commit string, paths []string) ([]string, error) {
	if commit == "" {
		commit = "HEAD"
	}
	if id, err := worktree.Resolve(ctx, t, commit); err != nil || id == "" || len(paths) == 0 {
		return nil, err
	}
	args := []string{"ls-tree", "-z", commit, "--"}
	for _, path := range paths {
		for i, c := range path {
			if c == '/' {
				args = append(args, path[:i])
			}
		}
		args = append(args, path)
	}
	out, err := t.Git(ctx, gitcli.Command{Args: args})
	if err != nil {
		return nil, err
	}
	modes := map[string]string{}
	for entry, err := range git.Entries(out) {
		if err != nil {
			return nil, ecosystem.ErrGit.WithMessage("%v", err).WithCause(err)
		}
		modes[entry.Path] = entry.Mode
	}
	var found []string
	for _, path := range paths {
		if blocked(modes, path) {
			found = append(found, path)
		}
	}
	return found, nil
}

func blocked(modes map[string]string, path string) bool {
	if modes[path] != "" {
		return true
	}
	for i, c := range path {
		if mode := modes[path[:i]]; c == '/' && mode != "" && mode != git.DirectoryMode {
			return true
		}
	}
	return false
}

// way goes from the root to the workspace: whether something is there, the first directory that is not, and the first that leads elsewhere.
func way(root, dir string) (occupied bool, missing, links string) {
	rel, err := filepath.Rel(root, dir)
	if err != nil || !filepath.IsLocal(rel) {
		return false, "", dir
	}
	at := root
	for part := range strings.SplitSeq(rel, string(filepath.Separator)) {
		at = filepath.Join(at, part)
		info, err := os.Lstat(at)
		switch {
		case err != nil:
			return false, at, ""
		case at == dir:
			return true, "", ""
		case !info.IsDir():
			return false, "", at
		}
	}
	return true, "", ""
}
