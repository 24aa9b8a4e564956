package confgit

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/relpath"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// Head implements deployport.History. The commit is empty while nothing is committed. Files that nobody tracks count as uncommitted,
// ignored ones and what was changed inside submodules do not. Programs that the repository's own configuration names are not run: where
// they filter what is committed, a file that was touched may count as changed.
func (c *Client) Head(ctx context.Context, dir string) (commit string, dirty bool, err error) {
	s, err := c.status(ctx, dir, nil)
	return s.commit, s.dirty, err
}

// standing is what git status says.
type standing struct {
	commit string // empty before the first
	branch string // empty when detached
	dirty  bool
}

// status returns the status of the worktree around dir.
func (c *Client) status(ctx context.Context, dir string, env []string) (standing, error) {
	out, err := c.git(ctx, gitcli.Command{Dir: dir, Env: env, Args: []string{"status", "--porcelain=v2", "-z", "--branch",
		"--no-ahead-behind", "--untracked-files=normal", "--ignore-submodules=dirty", "--no-renames"}})
	if err != nil {
		return standing{}, err
	}
	s, err := git.ParseStatus(out)
	if err != nil {
		return standing{}, deployment.ErrGit.WithMessage("%v", err).WithCause(err)
	}
	return standing{commit: s.Head, branch: s.Branch, dirty: len(s.Changes) > 0}, nil
}

// Show implements deployport.History. It fails with ErrGitRepo when dir is in no repository, ErrPath for a path that leaves dir, and ErrGit
// for a commit that the repository does not have.
func (c *Client) Show(ctx context.Context, dir, commit, path string) (data []byte, found bool, err error) {
	id, err := git.ParseCommit(commit)
	if err != nil {
		return nil, false, deployment.ErrGit.WithMessage("%q is not a commit; give all 40 hex digits", commit).WithCause(err)
	}
	name, err := fileName(path)
	if err != nil {
		return nil, false, err
	}
	env := []string{"GIT_NO_REPLACE_OBJECTS=1"}
	data, err = c.git(ctx, gitcli.Command{Dir: dir, Env: env, Args: []string{"cat-file", "blob", id.String() + ":./" + name}})
	if gitcli.ExitOf(err) == 0 || errors.Is(err, deployment.ErrGitRepo) {
		return data, err == nil, err
	}
	if _, missing := c.git(ctx, gitcli.Command{Dir: dir, Env: env, Args: []string{"cat-file", "-e", id.String() + "^{commit}"}}); gitcli.ExitOf(missing) != 0 {
		return nil, false, deployment.ErrGit.WithMessage("the repository around %s has no commit %s; fetch it, or create the overlay's baseline again", dir, id).
			WithDetails(deployment.Details{"commit": id.String()}.AddPath("repo", dir)).WithCause(missing)
	} else if missing != nil {
		return nil, false, missing
	}
	return nil, false, nil
}

// mostBranches is how many branches Unmerged returns.
const mostBranches = "20"

// Unmerged implements deployport.History. It fails with ErrGitRepo when dir is in no repository.
func (c *Client) Unmerged(ctx context.Context, dir string) ([]deployport.Branch, error) {
	s, err := c.status(ctx, dir, nil)
	if err != nil || s.commit == "" {
		return nil, err
	}
	out, err := c.git(ctx, gitcli.Command{Dir: dir, Args: []string{"for-each-ref", "--no-merged=" + s.commit, "--sort=-committerdate", "--count=" + mostBranches,
		"--format=%(objectname) %(refname:lstrip=2)", "refs/heads/"}})
	if err != nil {
		return nil, err
	}
	var found []deployport.Branch
	for line := range strings.Lines(string(out)) {
		if commit, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " "); ok {
			found = append(found, deployport.Branch{Name: name, Commit: commit})
		}
	}
	return found, nil
}

// Parent implements deployport.Ancestry. It fails with ErrGitRepo when dir is in no repository, and with ErrGit for text that is no commit.
func (c *Client) Parent(ctx context.Context, dir, commit string) (parent string, found bool, err error) {
	id, err := git.ParseCommit(commit)
	if err != nil {
		return "", false, deployment.ErrGit.WithMessage("%q is not a commit; give all 40 hex digits", commit).WithCause(err)
	}
	out, err := c.git(ctx, gitcli.Command{Dir: dir, Env: []string{"GIT_NO_REPLACE_OBJECTS=1"},
		Args: []string{"rev-parse", "--verify", "--quiet", "--end-of-options", id.String() + "^1^{commit}"}})
	if gitcli.ExitOf(err) == 1 { // the first commit, and one beyond which a shallow clone knows nothing
		return "", false, nil
	}
	return strings.TrimSpace(string(out)), err == nil, err
}

// fileName returns the shortest form of a slash path to a file below its root, outside .git. It fails with ErrPath.
func fileName(path string) (string, error) {
	p, err := relpath.Parse(path)
	if err != nil {
		return "", deployment.ErrPath.WithMessage("%v", err).WithCause(err)
	}
	name := p.Clean().String()
	if name == "." || name != path || inGit(name) || !filepath.IsLocal(filepath.FromSlash(name)) {
		return "", deployment.ErrPath.WithMessage("%q is not a path in a repository; write it with slashes and without . or ..", path)
	}
	return name, nil
}
