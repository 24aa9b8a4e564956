package worktree

import (
	"context"
	"strings"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// PlanPush implements sandboxport.Repositories.
func (c *Client) PlanPush(ctx context.Context, repo string, a sandboxport.Access, dir, branch string) (sandboxport.PushPlan, error) {
	var p sandboxport.PushPlan
	r, err := address(a)
	if err != nil {
		return p, err
	}
	at, err := c.open(repo)
	if err != nil {
		return p, err
	}
	refs, tips, err := branchTips(ctx, at)
	if err != nil {
		return p, err
	}
	if p.Branch = branch; branch == "" {
		t, err := sandboxTree(at, dir)
		if err != nil {
			return p, err
		}
		if p.Branch, err = Branch(ctx, t); err != nil {
			return p, err
		}
		if p.Branch == "" {
			return p, sandbox.ErrArguments.WithMessage("the sandbox is not on a branch; check one out there with git switch")
		}
	}
	if _, err := git.ParseBranch(p.Branch); err != nil {
		return p, sandbox.ErrArguments.WithMessage("branch %.80q cannot be pushed: %v", p.Branch, err).WithCause(err)
	}
	if _, ok := refs.Local[p.Branch]; !ok {
		return p, sandbox.ErrBranch.WithMessage("the clone has no branch %.80q", p.Branch).WithDetails(sandbox.MissingBranch{Branch: p.Branch, Near: []string{}})
	}
	heads, err := c.remoteHeads(ctx, at, r)
	if err != nil {
		return p, err
	}
	p.Commit, p.Old = tips[git.HeadsPrefix+p.Branch], heads[git.HeadsPrefix+p.Branch]
	if p.Old == p.Commit {
		return p, nil
	}
	if p.Old != "" {
		if known, err := Resolve(ctx, at.Main(), p.Old); err != nil || known == "" {
			return p, sandbox.ErrMoved.WithMessage("%s has new commits on %s; call again to see them", r.identity, p.Branch).WithCause(err)
		}
	}
	span := p.Commit + "\n"
	for _, commit := range heads {
		span += "^" + commit + "\n"
	}
	out, err := at.Main().Git(ctx, gitcli.Command{Args: []string{"rev-list", "--ignore-missing", "--no-commit-header", "--encoding=UTF-8", "--topo-order", lineFormat, "--stdin"}, Stdin: []byte(span), Limit: manyCommits})
	if err != nil {
		return p, err
	}
	if p.Commits, err = parseLines(out); err != nil || p.Old == "" {
		return p, err
	}
	_, p.Replaced, err = apart(ctx, at.Main(), p.Commit, p.Old)
	return p, err
}

// remoteHeads returns the branches that the remote itself says it has, and their commits: programs in a sandbox can write to what is noted of it in the clone.
func (c *Client) remoteHeads(ctx context.Context, at *gitcli.Repo, r remote) (map[string]string, error) {
	out, err := at.Main().Git(ctx, gitcli.Command{Machine: true, Protocols: r.protocols, Timeout: c.options.Reach, Env: []string{r.ssh}, Limit: manyCommits,
		Args: []string{"ls-remote", "--upload-pack=git-upload-pack", "--heads", "--", r.url}})
	if err != nil {
		return nil, failed(sandbox.ErrGit, "cannot be read", r, err)
	}
	heads := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if commit, ref, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); ok {
			heads[ref] = commit
		}
	}
	return heads, nil
}

// Push implements sandboxport.Repositories. Unlike other commands of sandboxes it uses the user's credential helpers: it is for what a person approved.
func (c *Client) Push(ctx context.Context, repo string, a sandboxport.Access, p sandboxport.PushPlan) error {
	r, err := address(a)
	if err != nil {
		return err
	}
	at, err := c.open(repo)
	if err != nil {
		return err
	}
	t := at.Main()
	ref := git.HeadsPrefix + p.Branch
	args := []string{"push", "--porcelain", "--no-progress", "--no-verify", "--no-signed", "--no-follow-tags", "--recurse-submodules=no", "--force-with-lease=" + ref + ":" + p.Old}
	_, err = gitcli.Command{Dir: t.Dir, Machine: true, Protocols: r.protocols, Timeout: longTime, Settings: []gitcli.Setting{{Name: "core.quotePath", Value: "false"}},
		Env: []string{"GIT_DIR=" + t.Admin, "GIT_COMMON_DIR=" + t.Common, "GIT_WORK_TREE=" + t.Dir, "GIT_LFS_SKIP_SMUDGE=1", r.ssh}, Args: append(args, "--", r.url, p.Commit+":"+ref)}.Output(ctx)
	if err != nil {
		said := string(gitcli.Printed(err))
		if strings.Contains(said, "(branch is currently checked out)") {
			return sandbox.ErrCheckedOut.WithMessage("%s is a repository with %s checked out, and git does not push to a checked-out branch; apply the work there with countersign sandbox apply, or with git pull %s %s in it, or switch it to another branch",
				r.identity, p.Branch, t.Dir, p.Branch).WithCause(err)
		}
		if strings.Contains(said, "[rejected]") || strings.Contains(said, "(stale info)") {
			return sandbox.ErrMoved.WithMessage("%s has new commits on %s; call again to see them", r.identity, p.Branch).WithCause(err)
		}
		return failed(sandbox.ErrGit, "cannot be pushed to", r, err)
	}
	_, err = t.Word(ctx, "update-ref", "-m", "countersign: push", git.RemotesPrefix+p.Branch, p.Commit)
	return err
}
