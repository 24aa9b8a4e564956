package worktree

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// Reset implements sandboxport.Repositories (opencode contract §12.3). The worktree keeps its branch; what a rebase took it off, it comes back to. Every
// step can be done again, so that a call after one that was killed completes it. It fails with sandbox.ErrNotFound when the worktree is gone.
func (c *Client) Reset(ctx context.Context, repo, dir string, r sandboxport.Reset) (sandboxport.ResetDone, error) {
	var done sandboxport.ResetDone
	if err := sandbox.CheckName(r.Name); err != nil {
		return done, err
	}
	at, release, err := c.alone(ctx, repo)
	if err != nil {
		return done, err
	}
	defer release()
	if dir, err = filepath.Abs(dir); err != nil {
		return done, gitcli.Disk(err, dir)
	}
	t, ok, err := at.Tree(dir)
	switch {
	case err != nil:
		return done, err
	case ok && t.Admin == at.Common:
		return done, sandbox.ErrArguments.WithMessage("%s is the clone itself, not a sandbox", dir)
	case !ok || !t.Exists():
		return done, sandbox.ErrNotFound.WithMessage("%s is no longer a worktree; delete the sandbox and create it again", dir)
	}
	to, commit, err := standard(ctx, at)
	if err != nil {
		return done, err
	}
	h, backups, err := c.backUp(ctx, at, t, r, commit)
	if err != nil {
		return done, err
	}
	if err := c.calm(ctx, t, &h); err != nil {
		return done, err
	}
	marked, err := flagged(ctx, t)
	if err != nil {
		return done, err
	}
	err = gitcli.Patiently(ctx, c.options.Patience, func() error {
		if err := unflag(ctx, t, marked); err != nil { // or the reset would pass over them
			return err
		}
		_, err := t.Git(ctx, gitcli.Command{Timeout: c.options.Worktree, Args: []string{"reset", "--quiet", "--hard", commit, "--"}})
		return err
	})
	if err != nil {
		return done, err
	}
	if err := c.clean(ctx, t, r.CleanIgnored); err != nil {
		return done, err
	}
	return sandboxport.ResetDone{Branch: h.Branch, Head: commit, To: to, Backups: backups}, nil
}

// standard returns the default branch: the target of origin/HEAD, main, master, or the branch that the clone has checked out; origin's if it exists.
func standard(ctx context.Context, at *gitcli.Repo) (name, commit string, err error) {
	t := at.Main()
	candidates := []string{"main", "master"}
	head, err := t.Word(ctx, "symbolic-ref", "--quiet", git.RemotesPrefix+"HEAD")
	if err != nil && gitcli.ExitOf(err) == 0 {
		return "", "", err
	}
	if name, ok := strings.CutPrefix(head, git.RemotesPrefix); ok {
		candidates = append([]string{name}, candidates...)
	}
	if own, err := Branch(ctx, t); err != nil {
		return "", "", err
	} else if own != "" {
		candidates = append(candidates, own)
	}
	for _, candidate := range candidates {
		for _, place := range []struct{ shown, ref string }{{"origin/" + candidate, git.RemotesPrefix + candidate}, {candidate, git.HeadsPrefix + candidate}} {
			if commit, err := Resolve(ctx, t, place.ref); err != nil || commit != "" {
				return place.shown, commit, err
			}
		}
	}
	return "", "", sandbox.ErrBranch.WithMessage("the clone in %s has no default branch: origin has none, and neither main nor master exists; fetch, or set it with git remote set-head origin", at.Dir)
}

// backUp keeps what a reset to that commit would lose.
func (c *Client) backUp(ctx context.Context, at *gitcli.Repo, t *gitcli.Tree, r sandboxport.Reset, to string) (UnsavedWork, []string, error) {
	h, err := FindUnsavedWork(ctx, t)
	if err != nil {
		return h, nil, err
	}
	if !r.CleanIgnored { // then ignored repositories stay
		h.nested = slices.DeleteFunc(h.nested, func(n nestedRepo) bool { return n.ignored })
	}
	k, err := BeginBackupSet(ctx, at, r.Name, r.At)
	if err != nil {
		return h, nil, err
	}
	lose, err := OnlyInRepo(ctx, t, h.Head, to)
	if err != nil {
		return h, nil, err
	}
	if lose {
		if err := k.Keep(ctx, sandbox.BackupCommits, h.Head); err != nil {
			return h, nil, err
		}
	}
	if h.Taken != "" { // the branch will be moved too
		tip, err := Resolve(ctx, t, git.HeadsPrefix+h.Taken)
		if err != nil {
			return h, nil, err
		}
		if lose, err := OnlyInRepo(ctx, t, tip, to); err != nil {
			return h, nil, err
		} else if lose {
			if err := k.Keep(ctx, sandbox.BackupBranch, tip); err != nil {
				return h, nil, err
			}
		}
	}
	err = k.Uncommitted(ctx, t, h, to)
	return h, k.Refs, err
}

// calm ends whatever is in progress, after the tree was put back on its branch: files and index are the reset's business.
func (c *Client) calm(ctx context.Context, t *gitcli.Tree, h *UnsavedWork) error {
	if h.Taken != "" {
		if _, err := t.Word(ctx, "symbolic-ref", "-m", "countersign: back from a rebase", "HEAD", git.HeadsPrefix+h.Taken); err != nil {
			return err
		}
		h.Branch, h.Taken = h.Taken, ""
	}
	for _, going := range []struct {
		sign string
		end  []string
	}{
		{"rebase-apply/applying", []string{"am", "--quit"}}, {"rebase-apply", []string{"rebase", "--quit"}}, {"rebase-merge", []string{"rebase", "--quit"}},
		{"MERGE_HEAD", []string{"merge", "--quit"}}, {"CHERRY_PICK_HEAD", []string{"cherry-pick", "--quit"}},
		{"REVERT_HEAD", []string{"revert", "--quit"}}, {"sequencer", []string{"cherry-pick", "--quit"}},
	} {
		if !t.Has(filepath.FromSlash(going.sign)) {
			continue
		}
		if _, err := t.Git(ctx, gitcli.Command{Args: going.end}); ctx.Err() != nil {
			return err
		}
		_ = os.RemoveAll(filepath.Join(t.Admin, filepath.FromSlash(going.sign))) // where its files are too broken for git
	}
	return c.unbisect(ctx, t)
}

// unbisect forgets a bisection without checking anything out.
func (c *Client) unbisect(ctx context.Context, t *gitcli.Tree) error {
	if !t.Has("BISECT_START") && !t.Has("BISECT_LOG") {
		return nil
	}
	out, err := t.Git(ctx, gitcli.Command{Args: []string{"for-each-ref", "--format=delete %(refname)", "refs/bisect"}})
	if err != nil {
		return err
	}
	if len(out) > 0 {
		if _, err := t.Git(ctx, gitcli.Command{Args: []string{"update-ref", "--stdin"}, Stdin: out}); err != nil {
			return err
		}
	}
	for _, name := range []string{"BISECT_EXPECTED_REV", "BISECT_ANCESTORS_OK", "BISECT_LOG", "BISECT_NAMES", "BISECT_RUN", "BISECT_TERMS", "BISECT_FIRST_PARENT", "BISECT_HEAD", "BISECT_START"} {
		_ = os.Remove(filepath.Join(t.Admin, name))
	}
	return nil
}

// clean takes files away that are not tracked, in submodules too, and brings those to their commits.
func (c *Client) clean(ctx context.Context, t *gitcli.Tree, ignored bool) error {
	args := []string{"clean", "--quiet", "-ffd"}
	if ignored {
		args = append(args, "-x")
	}
	if _, err := t.Git(ctx, gitcli.Command{Timeout: c.options.Worktree, Args: args}); err != nil {
		return err
	}
	again := t.Fresh() // the reset may have brought other submodules
	paths, err := again.Submodules(ctx)
	if err != nil {
		return err
	}
	for _, path := range paths {
		for _, inner := range [][]string{{"reset", "--quiet", "--hard"}, args} {
			if _, err := again.Inner(ctx, path, gitcli.Command{Timeout: c.options.Worktree, Args: inner}); err != nil {
				return err
			}
		}
	}
	c.subs(ctx, again)
	return nil
}
