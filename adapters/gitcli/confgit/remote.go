package confgit

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// Init implements deployport.Remote: a repository on branch main, in dir itself, also where dir lies inside another one. dir is made when it
// is missing.
func (c *Client) Init(ctx context.Context, dir string) error {
	if own(dir) {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return disk(err, dir)
	}
	_, err := c.git(ctx, gitcli.Command{Dir: dir, Env: ceiling(dir), Args: []string{"init", "--quiet", "--initial-branch=main"}})
	return err
}

// Clone implements deployport.Remote. Nothing that the repository names runs, and no submodule is fetched.
func (c *Client) Clone(ctx context.Context, dir, url, ref, commit string) error {
	if err := checkURL(url, false); err != nil {
		return err
	}
	if _, err := git.ParseBranch(ref); err != nil {
		return deployment.ErrConfig.WithMessage("invalid branch or tag name %q: %v", ref, err).WithCause(err)
	}
	if there, err := os.ReadDir(dir); len(there) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return deployment.ErrConfig.WithMessage("%s already exists; name another directory with --repo, or move it away", dir).WithDetails(deployment.Details{}.AddPath("repo", dir))
	}
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return disk(err, parent)
	}
	partial, err := os.MkdirTemp(parent, ".clone-*")
	if err != nil {
		return disk(err, parent)
	}
	defer func() { _ = os.RemoveAll(partial) }()
	work := filepath.Join(partial, "repo")
	_, err = c.git(ctx, gitcli.Command{Dir: partial, Env: ceiling(partial), Protocols: gitcli.Network, Timeout: c.options.Transfer,
		Args: []string{"clone", "--quiet", "--template=", "--no-recurse-submodules", "--origin=origin", "--branch=" + ref, "--", url, work}})
	if err != nil {
		return err
	}
	head, err := c.git(ctx, gitcli.Command{Dir: work, Env: pinned(work), Args: []string{"rev-parse", "--verify", "HEAD"}})
	switch {
	case err != nil:
		return err
	case strings.TrimSpace(string(head)) != commit:
		return deployment.ErrStale.WithMessage("%s of %s is now a different commit; nothing was written, check it and retry", ref, shown(url))
	}
	if info, err := os.Lstat(filepath.Join(work, deployment.ManifestFile)); err != nil || !info.Mode().IsRegular() {
		return deployment.ErrConfigMissing.WithMessage("%s has no %s at its root, so it is not a config repository; add its skills with countersign agents add", shown(url), deployment.ManifestFile).
			WithDetails(deployment.Details{"url": shown(url)})
	}
	_ = os.Remove(dir) // an empty one; whatever else is there keeps the next step from succeeding
	if err := os.Rename(work, dir); err != nil {
		return disk(err, dir)
	}
	return nil
}

// own reports whether dir is the top of a repository, or of one of its work trees.
func own(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, gitDir))
	return err == nil
}

// repository rejects a directory that is not itself a repository: git would use the one around it instead.
func repository(dir string) error {
	if own(dir) {
		return nil
	}
	return deployment.ErrGitRepo.WithMessage("%s is not a git repository; create one with git init, or with init and its git option", dir).
		WithDetails(deployment.Details{}.AddPath("repo", dir))
}

// SetRemote implements deployport.Remote. It fails with ErrGitRepo when dir has no .git, and with ErrConfig for a name or a URL that git must
// not see.
func (c *Client) SetRemote(ctx context.Context, dir, name, url string) error {
	if err := checkURL(url, true); err != nil {
		return err
	}
	if err := checkRemote(name); err != nil {
		return err
	}
	if err := repository(dir); err != nil {
		return err
	}
	remotes, err := c.remotes(ctx, dir)
	if err != nil {
		return err
	}
	verb := "add"
	if slices.Contains(remotes, name) {
		verb = "set-url"
	}
	_, err = c.git(ctx, gitcli.Command{Dir: dir, Env: pinned(dir), Args: []string{"remote", verb, "--", name, url}})
	return err
}

func checkRemote(name string) error {
	if _, err := git.ParseBranch(name); err != nil {
		return deployment.ErrConfig.WithMessage("invalid remote name %q; use letters, digits and dashes, like origin", name).WithCause(err)
	}
	return nil
}

func (c *Client) remotes(ctx context.Context, dir string) ([]string, error) {
	out, err := c.git(ctx, gitcli.Command{Dir: dir, Env: pinned(dir), Args: []string{"remote"}})
	return strings.Fields(string(out)), err
}

// State implements deployport.Remote, with the remotes sorted. What counts as uncommitted is as in Head.
func (c *Client) State(ctx context.Context, dir string) (deployport.RepoState, error) {
	if err := repository(dir); err != nil {
		return deployport.RepoState{}, err
	}
	s, err := c.status(ctx, dir, pinned(dir))
	if err != nil {
		return deployport.RepoState{}, err
	}
	remotes, err := c.remotes(ctx, dir)
	if err != nil {
		return deployport.RepoState{}, err
	}
	slices.Sort(remotes)
	return deployport.RepoState{Branch: s.branch, Dirty: s.dirty, Remotes: remotes}, nil
}

// Sync implements deployport.Remote (agentpack contract §5.15): git pull, then git push of the branch to that of the same name, as if typed in dir. Here
// alone the repository's own hooks, filters and merge drivers run, because users rely on theirs, and Route has shown them; they find no terminal to ask on.
// Hooks that are files of the work tree do not run in the pull, which may bring others; what the pull has changed of hooks, URLs and settings keeps it from
// pushing. A remote that does not have the branch yet is pushed to all the same. It fails with ErrGitRepo, with ErrConfig for names that are none, and with ErrGit; when it stops at
// conflicts they stay in the work tree, and the message says how to go on and how to go back. Where a commit is needed and git does not know
// who commits, everything stays as it was.
func (c *Client) Sync(ctx context.Context, dir string, s deployport.SyncOptions) ([]string, error) {
	if err := checkRemote(s.Remote); err != nil {
		return nil, err
	}
	if _, err := git.ParseBranch(s.Branch); err != nil {
		return nil, deployment.ErrConfig.WithMessage("%v", err).WithCause(err)
	}
	if err := repository(dir); err != nil {
		return nil, err
	}
	pull := []string{"pull", s.Remote, s.Branch}
	if s.Rebase {
		pull = []string{"pull", "--rebase", s.Remote, s.Branch}
	}
	push := []string{"push", s.Remote, s.Branch}
	before, carried, err := c.steering(ctx, dir, s.Remote, s.Branch)
	if err != nil {
		return nil, err
	}
	transfer := gitcli.Command{Dir: dir, Env: append(gitcli.Identity(), pinned(dir)...), Protocols: gitcli.Network, Hooks: !carried, Filters: true, Timeout: c.options.Transfer}
	transfer.Args = pull
	if _, err := c.git(ctx, transfer); err != nil && !strings.Contains(words(err), "couldn't find remote ref") {
		return nil, c.stopped(ctx, dir, s, err)
	}
	after, _, err := c.steering(ctx, dir, s.Remote, s.Branch)
	if err != nil {
		return nil, err
	}
	if !reflect.DeepEqual(before, after) {
		return nil, deployment.ErrGit.WithMessage("%s was pulled but not pushed: hooks, URLs or settings of %s changed during the pull; check them, then sync again", s.Branch, dir).
			WithDetails(deployment.Details{}.AddPath("repo", dir))
	}
	ref := "refs/heads/" + s.Branch
	transfer.Hooks, transfer.Args = true, []string{"push", "--no-follow-tags", "--", s.Remote, ref + ":" + ref} // else settings may lead it to another branch
	if _, err := c.git(ctx, transfer); err != nil {
		if said := words(err); strings.Contains(said, "(fetch first)") || strings.Contains(said, "(non-fast-forward)") {
			return nil, deployment.ErrGit.WithMessage("%s has new commits on %s since the pull; sync again", s.Remote, s.Branch).WithCause(err)
		}
		return nil, err
	}
	return []string{"git " + strings.Join(pull, " "), "git " + strings.Join(push, " ")}, nil
}

// stopped returns an error that says how to continue after a failed pull.
func (c *Client) stopped(ctx context.Context, dir string, s deployport.SyncOptions, err error) error {
	if gitcli.ExitOf(err) == 0 || errors.Is(err, deployment.ErrGitRepo) {
		return err
	}
	if strings.Contains(words(err), "divergent branches") {
		return deployment.ErrGit.WithMessage("%s and %s/%s have diverged; repeat with rebase, or choose what pull does with: git config pull.rebase true (or false)", s.Branch, s.Remote, s.Branch).WithCause(err)
	}
	if unknown(err) { // a rebase is left where it stopped, a merge has not begun
		_, _ = c.git(ctx, gitcli.Command{Dir: dir, Env: pinned(dir), Args: []string{"rebase", "--abort"}})
		return whoCommits(err)
	}
	out, listing := c.git(ctx, gitcli.Command{Dir: dir, Env: pinned(dir), Args: []string{"ls-files", "--unmerged", "-z"}})
	if listing != nil || len(out) == 0 {
		return err
	}
	var files []string
	for entry, unreadable := range git.Entries(out) {
		if unreadable == nil && !slices.Contains(files, entry.Path) {
			files = append(files, entry.Path)
		}
	}
	going := "merge"
	if _, none := c.git(ctx, gitcli.Command{Dir: dir, Env: pinned(dir), Args: []string{"rev-parse", "--verify", "--quiet", "MERGE_HEAD"}}); none != nil {
		going = "rebase"
	}
	return deployment.ErrGit.WithMessage("pulling %s of %s stopped at conflicts in %s; resolve them in %s, git add them, run git %s --continue and sync again, or undo with git %s --abort",
		s.Branch, s.Remote, strings.Join(files, ", "), dir, going, going).
		WithDetails(deployment.Details{"conflicts": files}.AddPath("repo", dir)).WithCause(err)
}
