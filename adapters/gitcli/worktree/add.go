package worktree

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// Plan implements sandboxport.Repositories. The details of sandbox.ErrBranch are tree.Missing.
func (c *Client) Plan(ctx context.Context, repo, name, branch string) (sandboxport.BranchPlan, error) {
	at, err := c.open(repo)
	if err != nil {
		return sandboxport.BranchPlan{}, err
	}
	var refs sandbox.BranchRefs
	err = gitcli.Patiently(ctx, c.options.Patience, func() (err error) { // others may be making worktrees: git stumbles over half of one
		refs, err = branches(ctx, at)
		return err
	})
	if err != nil {
		return sandboxport.BranchPlan{}, err
	}
	p, err := sandbox.PlanBranch(refs, name, branch)
	return sandboxport.BranchPlan(p), err
}

// branches returns those of the clone and of origin, and where the former are in use. A directory that is gone uses none.
func branches(ctx context.Context, at *gitcli.Repo) (refs sandbox.BranchRefs, err error) {
	refs, _, err = branchTips(ctx, at)
	if err != nil {
		return refs, err
	}
	return refs, standsOn(ctx, at, &refs)
}

// standsOn adds the commit or branch that the clone has checked out.
func standsOn(ctx context.Context, at *gitcli.Repo, refs *sandbox.BranchRefs) (err error) {
	t := at.Main()
	if refs.Commit, err = Resolve(ctx, t, "HEAD"); err != nil {
		return err
	}
	refs.Current, err = Branch(ctx, t)
	return err
}

// branchTips returns the branches except the one that the clone has checked out, and the commits of their refs.
func branchTips(ctx context.Context, at *gitcli.Repo) (refs sandbox.BranchRefs, tips map[string]string, err error) {
	t := at.Main()
	list, err := t.Refs(ctx, git.RefsInWorktrees, git.HeadsPrefix, git.RemotesPrefix)
	if err != nil {
		return refs, nil, err
	}
	refs, tips = sandbox.NewBranchRefs(list), make(map[string]string, len(list))
	for _, ref := range list {
		tips[ref.Name] = ref.Object
	}
	linked, err := at.Linked()
	if err != nil {
		return refs, nil, err
	}
	for name, place := range refs.Local {
		if l, ok := linked[filepath.Clean(place)]; ok && place != "" && !l.Exists() && !l.Has("locked") {
			refs.Local[name] = ""
		}
	}
	for _, l := range append([]*gitcli.Tree{t}, slices.Collect(maps.Values(linked))...) {
		name := RebasedBranch(l.Admin)
		if _, ok := refs.Local[name]; ok && l.Exists() {
			refs.Local[name] = l.Dir
		}
	}
	return refs, tips, nil
}

// Add implements sandboxport.Repositories. Locks that other gits hold are waited for. It fails with sandbox.ErrExists when dir or the branch that is
// to be made is there already, or the branch is checked out meanwhile, and with sandbox.ErrBranch when the branch to stand on is gone.
func (c *Client) Add(ctx context.Context, repo, dir string, p sandboxport.BranchPlan) (string, error) {
	at, release, err := c.alone(ctx, repo)
	if err != nil {
		return "", err
	}
	defer release()
	a, err := c.add(ctx, at, dir, p)
	if err != nil {
		return "", err
	}
	a.submodules(ctx)
	return a.head, nil
}

// add is Add without submodules.
func (c *Client) add(ctx context.Context, at *gitcli.Repo, dir string, p sandboxport.BranchPlan) (*addition, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, gitcli.Disk(err, dir)
	}
	if _, err := git.ParseBranch(p.Branch); err != nil {
		return nil, sandbox.ErrArguments.WithMessage("branch %.80q cannot be used: %v", p.Branch, err).WithCause(err)
	}
	head, err := standing(ctx, at, p.From, p.Track)
	if err != nil {
		return nil, err
	}
	if err := claim(dir); err != nil {
		return nil, err
	}
	a := &addition{Client: c, at: at, dir: dir, plan: p, head: head}
	if err := a.make(ctx); err != nil {
		a.undo(ctx)
		return nil, err
	}
	return a, nil
}

// standing returns the base commit of a plan: of a local branch, of one of origin's, which takes precedence if it will be tracked, or a commit.
func standing(ctx context.Context, at *gitcli.Repo, from string, track bool) (string, error) {
	tries := []string{git.HeadsPrefix + from, "refs/remotes/" + from}
	if track {
		tries[0], tries[1] = tries[1], tries[0]
	}
	if _, err := git.ParseCommit(from); err == nil {
		tries = append(tries, from)
	}
	if _, err := git.ParseBranch(from); err != nil {
		tries = nil
	}
	for _, ref := range tries {
		if commit, err := Resolve(ctx, at.Main(), ref); err != nil || commit != "" {
			return commit, err
		}
	}
	return "", sandbox.ErrBranch.WithMessage("%.80q, the base of the new worktree, no longer exists; plan it again", from).WithDetails(sandbox.MissingBranch{Branch: from})
}

// claim makes the directory, so that whatever is in it later is ours.
func claim(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), dirMode); err != nil {
		return gitcli.Disk(err, filepath.Dir(dir))
	}
	err := os.Mkdir(dir, dirMode)
	if errors.Is(err, fs.ErrExist) {
		return sandbox.ErrExists.WithMessage("%s already exists; choose another name, or move it away", dir)
	}
	if err != nil {
		return gitcli.Disk(err, dir)
	}
	return nil
}

// addition is a worktree in the making.
type addition struct {
	*Client
	at   *gitcli.Repo
	dir  string
	plan sandboxport.BranchPlan
	head string
	made bool // the branch, by us
}

func (a *addition) make(ctx context.Context) error {
	if a.plan.Create {
		if err := a.branch(ctx); err != nil {
			return err
		}
	}
	return gitcli.Patiently(ctx, a.options.Patience, func() error {
		_, err := a.at.Main().Git(ctx, gitcli.Command{Timeout: a.options.Worktree, Args: []string{"worktree", "add", "--no-guess-remote", "--", a.dir, a.plan.Branch}})
		if words := gitcli.Words(err); strings.Contains(words, "already registered worktree") || strings.Contains(words, "already checked out at") || strings.Contains(words, "already used by worktree") {
			return a.freed(ctx, err)
		}
		return err
	})
}

// freed takes away what git remembers of directories that are gone, and makes err one to repeat after when that was in the way.
func (a *addition) freed(ctx context.Context, err error) error {
	before, failed := a.at.Linked()
	if failed == nil {
		failed = prune(ctx, a.at)
	}
	after, again := a.at.Linked()
	if failed == nil && again == nil && len(after) < len(before) {
		return sandbox.ErrBusy.WithCause(err)
	}
	return sandbox.ErrExists.WithMessage("branch %s, or %s, is now used by another worktree; plan it again (%s)", a.plan.Branch, a.dir, gitcli.Last(gitcli.Words(err))).WithCause(err)
}

// branch makes the plan's branch, and has it follow what the plan says.
func (a *addition) branch(ctx context.Context) error {
	t := a.at.Main()
	ref := git.HeadsPrefix + a.plan.Branch
	err := gitcli.Patiently(ctx, a.options.Patience, func() error {
		_, err := t.Word(ctx, "update-ref", "-m", "branch: Created from "+a.plan.From, ref, a.head, strings.Repeat("0", len(a.head)))
		return err
	})
	if words := gitcli.Words(err); strings.Contains(words, "reference already exists") || strings.Contains(words, "cannot create '") || strings.Contains(words, "' exists; cannot create") {
		return sandbox.ErrExists.WithMessage("branch %s cannot be created, because it or a conflicting branch already exists; plan it again", a.plan.Branch).WithCause(err)
	}
	if err != nil {
		return err
	}
	a.made = true
	if !a.plan.Track {
		return nil
	}
	return gitcli.Patiently(ctx, a.options.Patience, func() error {
		_, err := t.Word(ctx, "branch", "--quiet", "--set-upstream-to=refs/remotes/"+a.plan.From, "--", a.plan.Branch)
		return err
	})
}

// undo leaves nothing of it.
func (a *addition) undo(ctx context.Context) {
	ctx, cancel := a.aside(ctx)
	defer cancel()
	if t, ok, err := a.at.Tree(a.dir); err == nil && ok && t.Admin != a.at.Common {
		Discard(t.Admin)
	}
	Discard(a.dir)
	if a.made {
		_ = a.dropBranch(ctx, a.at, a.plan.Branch, a.head)
	}
}

// dropBranch deletes a branch that still is at that commit, with what the configuration says of it. One that is gone is not an error.
func (c *Client) dropBranch(ctx context.Context, at *gitcli.Repo, branch, commit string) error {
	return gitcli.Patiently(ctx, c.options.Patience, func() error {
		if is, err := Resolve(ctx, at.Main(), git.HeadsPrefix+branch); err != nil || is != commit {
			return err
		}
		_, err := at.Main().Word(ctx, "branch", "--quiet", "-D", "--", branch)
		if strings.Contains(gitcli.Words(err), "not found") {
			return nil
		}
		return err
	})
}

// prune takes away what git remembers of worktrees whose directories are gone.
func prune(ctx context.Context, at *gitcli.Repo) error {
	_, err := at.Main().Word(ctx, "worktree", "prune", "--expire=now")
	return err
}

// submodules gets those that the new tree has, as far as they can be had.
func (a *addition) submodules(ctx context.Context) {
	if t, ok, err := a.at.Tree(a.dir); err == nil && ok {
		a.subs(ctx, t)
	}
}

// subs brings a tree's submodules to the commits that it has of them, where they can be had. Only over the network, unless origin is on this
// machine: a repository could otherwise name any directory here.
func (c *Client) subs(ctx context.Context, t *gitcli.Tree) {
	if info, err := os.Lstat(filepath.Join(t.Dir, gitcli.Modules)); err != nil || !info.Mode().IsRegular() {
		return
	}
	protocols := Transports
	if url, err := OriginURL(ctx, t); err == nil {
		if is, err := git.ParseURL(url); err == nil && is.IsLocal() {
			protocols += ":file"
		}
	}
	_, _ = t.Git(ctx, gitcli.Command{Timeout: c.options.Worktree, Protocols: protocols, Args: []string{"submodule", "--quiet", "update", "--init", "--force", "--checkout"}})
}
