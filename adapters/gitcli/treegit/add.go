package treegit

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/gitcli/run"
	"github.com/countersign-dev/countersign/adapters/gitcli/treegit/afar"
	"github.com/countersign-dev/countersign/adapters/gitcli/treegit/pin"
	"github.com/countersign-dev/countersign/adapters/gitcli/treegit/survey"
	"github.com/countersign-dev/countersign/domain/gitref"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/domain/sandbox/tree"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// Plan implements sandboxport.Trees. The details of sandbox.ErrBranch are tree.Missing.
func (c *Client) Plan(ctx context.Context, repo, name, branch string) (sandboxport.BranchPlan, error) {
	at, err := c.open(repo)
	if err != nil {
		return sandboxport.BranchPlan{}, err
	}
	var refs tree.Refs
	err = pin.Patiently(ctx, c.options.Patience, func() (err error) { // others may be making worktrees: git stumbles over half of one
		refs, err = branches(ctx, at)
		return err
	})
	if err != nil {
		return sandboxport.BranchPlan{}, err
	}
	p, err := tree.Decide(refs, name, branch)
	return sandboxport.BranchPlan(p), err
}

// branches are those of the clone and of origin, and where the former are in use. A directory that is gone uses none.
func branches(ctx context.Context, at *pin.Repo) (refs tree.Refs, err error) {
	t := at.Main()
	out, err := t.Git(ctx, run.Command{Args: []string{"for-each-ref", "--format=" + tree.RefsFormat, tree.Heads, tree.Remotes}})
	if err != nil {
		return refs, err
	}
	if refs, err = tree.ParseRefs(out); err != nil {
		return refs, err
	}
	linked, err := at.Linked()
	if err != nil {
		return refs, err
	}
	for name, place := range refs.Local {
		if l, ok := linked[filepath.Clean(place)]; ok && place != "" && !l.Exists() && !l.Has("locked") {
			refs.Local[name] = ""
		}
	}
	for _, l := range append([]*pin.Tree{t}, slices.Collect(maps.Values(linked))...) {
		name := survey.Rebased(l.Admin)
		if _, ok := refs.Local[name]; ok && l.Exists() {
			refs.Local[name] = l.Dir
		}
	}
	if refs.Commit, err = survey.Resolve(ctx, t, "HEAD"); err != nil {
		return refs, err
	}
	refs.Current, err = survey.Branch(ctx, t)
	return refs, err
}

// Add implements sandboxport.Trees. Locks that other gits hold are waited for. It fails with sandbox.ErrExists when dir or the branch that is
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
func (c *Client) add(ctx context.Context, at *pin.Repo, dir string, p sandboxport.BranchPlan) (*addition, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, pin.Disk(err, dir)
	}
	if _, err := gitref.ParseBranch(p.Branch); err != nil {
		return nil, sandbox.ErrArguments.Sayf("branch %.80q cannot be used: %v", p.Branch, err).Because(err)
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

// standing is the commit that a plan stands on: a local branch, one of origin's, which comes first when it will be followed, or a commit.
func standing(ctx context.Context, at *pin.Repo, from string, track bool) (string, error) {
	tries := []string{tree.Heads + from, "refs/remotes/" + from}
	if track {
		tries[0], tries[1] = tries[1], tries[0]
	}
	if _, err := gitref.ParseCommit(from); err == nil {
		tries = append(tries, from)
	}
	if _, err := gitref.ParseBranch(from); err != nil {
		tries = nil
	}
	for _, ref := range tries {
		if commit, err := survey.Resolve(ctx, at.Main(), ref); err != nil || commit != "" {
			return commit, err
		}
	}
	return "", sandbox.ErrBranch.Sayf("%.80q, which the new worktree was to stand on, is not there any more; plan it again", from).With(tree.Missing{Branch: from})
}

// claim makes the directory, so that whatever is in it later is ours.
func claim(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), dirMode); err != nil {
		return pin.Disk(err, filepath.Dir(dir))
	}
	err := os.Mkdir(dir, dirMode)
	if errors.Is(err, fs.ErrExist) {
		return sandbox.ErrExists.Sayf("%s is there already; choose another name, or move it away", dir)
	}
	if err != nil {
		return pin.Disk(err, dir)
	}
	return nil
}

// addition is a worktree in the making.
type addition struct {
	*Client
	at   *pin.Repo
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
	return pin.Patiently(ctx, a.options.Patience, func() error {
		_, err := a.at.Main().Git(ctx, run.Command{Timeout: a.options.Worktree, Args: []string{"worktree", "add", "--no-guess-remote", "--", a.dir, a.plan.Branch}})
		if words := pin.Words(err); strings.Contains(words, "already registered worktree") || strings.Contains(words, "already checked out at") || strings.Contains(words, "already used by worktree") {
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
		return sandbox.ErrBusy.Because(err)
	}
	return sandbox.ErrExists.Sayf("branch %s, or %s, has come to be used by another worktree; plan it again (%s)", a.plan.Branch, a.dir, pin.Last(pin.Words(err))).Because(err)
}

// branch makes the plan's branch, and has it follow what the plan says.
func (a *addition) branch(ctx context.Context) error {
	t := a.at.Main()
	ref := tree.Heads + a.plan.Branch
	err := pin.Patiently(ctx, a.options.Patience, func() error {
		_, err := t.Word(ctx, "update-ref", "-m", "branch: Created from "+a.plan.From, ref, a.head, strings.Repeat("0", len(a.head)))
		return err
	})
	if words := pin.Words(err); strings.Contains(words, "reference already exists") || strings.Contains(words, "cannot create '") || strings.Contains(words, "' exists; cannot create") {
		return sandbox.ErrExists.Sayf("branch %s cannot be made, because it or one in its place is there already; plan it again", a.plan.Branch).Because(err)
	}
	if err != nil {
		return err
	}
	a.made = true
	if !a.plan.Track {
		return nil
	}
	return pin.Patiently(ctx, a.options.Patience, func() error {
		_, err := t.Word(ctx, "branch", "--quiet", "--set-upstream-to=refs/remotes/"+a.plan.From, "--", a.plan.Branch)
		return err
	})
}

// undo leaves nothing of it.
func (a *addition) undo(ctx context.Context) {
	ctx, cancel := a.aside(ctx)
	defer cancel()
	if t, ok, err := a.at.Tree(a.dir); err == nil && ok && t.Admin != a.at.Common {
		afar.Discard(t.Admin)
	}
	afar.Discard(a.dir)
	if a.made {
		_ = a.dropBranch(ctx, a.at, a.plan.Branch, a.head)
	}
}

// dropBranch deletes a branch that still is at that commit, with what the configuration says of it. One that is gone is no error.
func (c *Client) dropBranch(ctx context.Context, at *pin.Repo, branch, commit string) error {
	return pin.Patiently(ctx, c.options.Patience, func() error {
		if is, err := survey.Resolve(ctx, at.Main(), tree.Heads+branch); err != nil || is != commit {
			return err
		}
		_, err := at.Main().Word(ctx, "branch", "--quiet", "-D", "--", branch)
		if strings.Contains(pin.Words(err), "not found") {
			return nil
		}
		return err
	})
}

// prune takes away what git remembers of worktrees whose directories are gone.
func prune(ctx context.Context, at *pin.Repo) error {
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
func (c *Client) subs(ctx context.Context, t *pin.Tree) {
	if info, err := os.Lstat(filepath.Join(t.Dir, pin.Modules)); err != nil || !info.Mode().IsRegular() {
		return
	}
	protocols := afar.Transports
	if url, err := survey.Origin(ctx, t); err == nil {
		if is, err := gitref.Parse(url); err == nil && is.IsLocal() {
			protocols += ":file"
		}
	}
	_, _ = t.Git(ctx, run.Command{Timeout: c.options.Worktree, Protocols: protocols, Args: []string{"submodule", "--quiet", "update", "--init", "--force", "--checkout"}})
}
