package workgit

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/project"
)

func number(n int) string { return strconv.Itoa(n) }

// url returns the one URL of a remote, as git makes it of the configuration.
func (t tree) url(ctx context.Context, remote string, push bool) (string, error) {
	args := []string{"remote", "get-url", "--all"}
	if push {
		args = append(args, "--push")
	}
	out, err := t.word(ctx, append(args, "--", remote)...)
	if gitcli.ExitOf(err) != 0 {
		return "", project.ErrArgument.WithMessage("%s has no remote %.100q; create one with git remote add", t.top, remote).WithCause(err)
	}
	if err != nil {
		return "", err
	}
	if strings.Contains(out, "\n") {
		return "", project.ErrArgument.WithMessage("the remote %s has several URLs; use git push by hand", remote)
	}
	exactly := gitcli.Command{Dir: t.top, Machine: true, Settings: gitcli.Exactly(out)}
	var again []string
	if push {
		again, err = exactly.PushURLs(ctx, out)
	} else {
		exactly.Args = []string{"ls-remote", "--get-url", "--", out} // it uses no network
		var said []byte
		said, err = run(ctx, exactly)
		again = []string{strings.TrimSuffix(string(said), "\n")}
	}
	if err == nil && !slices.Equal(again, []string{out}) {
		err = project.ErrArgument.WithMessage("your git configuration rewrites %s, the URL of %s, twice (url.….insteadOf or pushInsteadOf), so the URL that git contacts differs from the one shown; use git by hand", gitcli.Mask(out), remote)
	}
	return out, err
}

// protocols returns what a URL may be reached by.
func protocols(url string) string {
	if u, err := git.ParseURL(url); err == nil && u.IsLocal() || filepath.IsAbs(url) {
		return "file"
	}
	return gitcli.Network
}

// log lists the commits of a range, newest first.
func (t tree) log(ctx context.Context, revisions ...string) (list []project.GitCommit, more int, err error) {
	out, err := t.git(ctx, append(append([]string{"log", "--no-color", "--no-show-signature", "--encoding=UTF-8", "--topo-order", "--format=%H%x00%an%x00%s", "-n", number(maxLines + 1)}, revisions...), "--")...)
	if err != nil {
		return nil, 0, err
	}
	for line := range strings.Lines(string(out)) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), "\x00", 3)
		if len(fields) == 3 {
			list = append(list, project.GitCommit{Commit: fields[0], Author: strings.ToValidUTF8(fields[1], "\uFFFD"), Subject: strings.ToValidUTF8(fields[2], "\uFFFD")})
		}
	}
	if len(list) <= maxLines {
		return list, 0, nil
	}
	all, err := t.count(ctx, revisions...)
	return list[:maxLines], all - maxLines, err
}

func (t tree) count(ctx context.Context, revisions ...string) (int, error) {
	out, err := t.word(ctx, append(append([]string{"rev-list", "--count"}, revisions...), "--")...)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(out)
	if err != nil {
		return 0, project.ErrExecutionFailed.WithMessage("git printed %.80q where a number was expected; use git 2.39 or newer", out)
	}
	return n, nil
}

// PlanPush implements projectport.WorkTrees.
func (Client) PlanPush(ctx context.Context, dir, remote, branch string) (project.PushPlan, error) {
	t, err := open(ctx, dir)
	if err != nil {
		return project.PushPlan{}, err
	}
	p := project.PushPlan{Top: t.top, Branch: branch, LFSHere: t.lfs()}
	if branch == "" {
		if p.Branch, err = t.branch(ctx); err != nil {
			return p, err
		}
		if p.Branch == "" {
			return p, project.ErrArgument.WithMessage("no branch is checked out in %s; name one, or create one with git_switch", t.top)
		}
	}
	if err := named(p.Branch); err != nil {
		return p, err
	}
	have, known, err := t.local(ctx, p.Branch)
	if err != nil {
		return p, err
	}
	if !known {
		return p, unknownBranch(p.Branch, t.top)
	}
	p.Commit = have.Commit
	follows, merge, err := t.follows(ctx, p.Branch)
	if err != nil {
		return p, err
	}
	p.Remote = remote
	for _, setting := range []string{"branch." + p.Branch + ".pushRemote", "remote.pushDefault"} {
		if p.Remote == "" {
			if p.Remote, err = t.config(ctx, setting); err != nil {
				return p, err
			}
		}
	}
	p.Remote = cmp.Or(p.Remote, follows, "origin")
	if strings.HasPrefix(p.Remote, "-") || p.Remote == "." {
		return p, project.ErrArgument.WithMessage("%.100q is not a remote to push to", p.Remote)
	}
	if p.URL, err = t.url(ctx, p.Remote, true); err != nil {
		return p, err
	}
	p.Target = p.Branch
	if follows == p.Remote && merge != "" {
		p.Target = merge
	}
	p.Upstream = follows == ""
	if p.Old, err = t.commit(ctx, "refs/remotes/"+p.Remote+"/"+p.Target); err != nil {
		return p, err
	}
	if p.Old == p.Commit {
		return p, nil
	}
	since := []string{"--not", "--remotes=" + p.Remote}
	if p.Old != "" { // the push requires the remote to be at that commit; the other refs are not checked
		since = []string{"^" + p.Old}
	}
	if p.Commits, p.More, err = t.log(ctx, append([]string{p.Commit}, since...)...); err != nil {
		return p, err
	}
	if p.Old != "" {
		if p.Replaced, _, err = t.log(ctx, p.Old, "^"+p.Commit); err != nil {
			return p, err
		}
		if p.Lost, err = t.count(ctx, p.Old, "^"+p.Commit); err != nil {
			return p, err
		}
	}
	p.Hooks, err = t.pushHooks(ctx, p.URL)
	return p, err
}

// pushHooks returns what git starts on this machine around a push: of the repository, and of one in a directory of this machine that is pushed to.
func (t tree) pushHooks(ctx context.Context, url string) ([]project.GitHook, error) {
	found, err := t.hooks(ctx, "pre-push")
	if err != nil || protocols(url) != "file" {
		return found, err
	}
	there, err := tree{top: strings.TrimPrefix(url, "file://")}.hooks(ctx, "pre-receive", "update", "proc-receive", "reference-transaction", "post-receive", "post-update", "push-to-checkout")
	return append(found, there...), err
}

// follows returns the remote that a branch's configuration names, and the branch there.
func (t tree) follows(ctx context.Context, branch string) (remote, merge string, err error) {
	if remote, err = t.config(ctx, "branch."+branch+".remote"); err != nil || remote == "" {
		return "", "", err
	}
	merge, err = t.config(ctx, "branch."+branch+".merge")
	return remote, strings.TrimPrefix(merge, git.HeadsPrefix), err
}

// Push implements projectport.WorkTrees.
func (c Client) Push(ctx context.Context, p project.PushPlan, hooks bool) error {
	t, err := open(ctx, p.Top)
	if err != nil {
		return err
	}
	if at, err := t.commit(ctx, git.HeadsPrefix+p.Branch); err != nil || at != p.Commit {
		if err == nil {
			err = project.ErrConflict.WithMessage("branch %s moved in the meantime; call again to get the new plan", p.Branch)
		}
		return err
	}
	ref := git.HeadsPrefix + p.Target
	args := []string{"push", "--porcelain", "--no-progress", "--no-signed", "--no-follow-tags", "--recurse-submodules=no"}
	if hooks {
		found, err := t.pushHooks(ctx, p.URL)
		if err == nil {
			err = same(found, p.Hooks)
		}
		if err != nil {
			return err
		}
	} else {
		args = append(args, "--no-verify")
	}
	args = append(args, "--force-with-lease="+ref+":"+p.Old) // the plan was made for a branch at that commit
	_, err = run(ctx, gitcli.Command{Dir: t.top, Hooks: hooks, ReceiverHooks: hooks, Protocols: protocols(p.URL), Settings: gitcli.Exactly(p.URL), Timeout: longTime, Args: append(args, "--", p.URL, p.Commit+":"+ref)})
	if err != nil {
		if said := string(gitcli.Printed(err)); strings.Contains(said, "[rejected]") || strings.Contains(said, "(stale info)") {
			return project.ErrConflict.WithMessage("%s has new commits on %s; pull them first (git_pull, or countersign git pull)", gitcli.Mask(project.PublicURL(p.URL)), p.Target).WithCause(err)
		}
		return err
	}
	if _, err := t.git(ctx, "update-ref", "-m", "countersign: push", "refs/remotes/"+p.Remote+"/"+p.Target, p.Commit); err != nil {
		return err
	}
	if p.Upstream {
		_, err = t.git(ctx, "branch", "--quiet", "--set-upstream-to="+p.Remote+"/"+p.Target, p.Branch)
	}
	return err
}

// PlanPull implements projectport.WorkTrees.
func (Client) PlanPull(ctx context.Context, dir string, merge bool) (project.PullPlan, error) {
	t, err := open(ctx, dir)
	if err != nil {
		return project.PullPlan{}, err
	}
	p := project.PullPlan{Top: t.top}
	if err := t.unfiltered(ctx); err != nil {
		return p, err
	}
	if doing := t.doing(); doing != "" && doing != "bisect" {
		return p, project.ErrArgument.WithMessage("a %s is in progress in %s; finish it first, or abort it with git %s --abort", doing, t.top, doing)
	}
	if p.Branch, err = t.branch(ctx); err != nil {
		return p, err
	}
	if p.Branch == "" {
		return p, project.ErrArgument.WithMessage("no branch is checked out in %s, so nothing can be pulled", t.top)
	}
	if p.Remote, p.Source, err = t.follows(ctx, p.Branch); err != nil {
		return p, err
	}
	if p.Remote == "" || p.Remote == "." || p.Source == "" {
		return p, project.ErrArgument.WithMessage("branch %s has no upstream branch; set one with git branch --set-upstream-to=origin/%s", p.Branch, p.Branch)
	}
	if p.URL, err = t.url(ctx, p.Remote, false); err != nil {
		return p, err
	}
	tracking := "refs/remotes/" + p.Remote + "/" + p.Source
	if _, err := run(ctx, gitcli.Command{Dir: t.top, Protocols: protocols(p.URL), Settings: gitcli.Exactly(p.URL), Timeout: longTime,
		Args: []string{"fetch", "--quiet", "--no-write-fetch-head", "--no-auto-maintenance", "--", p.URL, "+" + git.HeadsPrefix + p.Source + ":" + tracking}}); err != nil {
		return p, err
	}
	if p.Old, err = t.commit(ctx, "HEAD"); err != nil {
		return p, err
	}
	if p.Commit, err = t.commit(ctx, tracking); err != nil {
		return p, err
	}
	return p, t.bring(ctx, &p, merge)
}

// bring works out how the commit is brought in, and refuses what would touch changes that are not committed.
func (t tree) bring(ctx context.Context, p *project.PullPlan, merge bool) error {
	behind, err := t.count(ctx, p.Commit, "^"+p.Old)
	if err != nil {
		return err
	}
	ahead, err := t.count(ctx, p.Old, "^"+p.Commit)
	if err != nil {
		return err
	}
	if p.Nothing = behind == 0; p.Nothing {
		return nil
	}
	if p.Commits, p.More, err = t.log(ctx, p.Commit, "^"+p.Old); err != nil {
		return err
	}
	after := p.Commit
	if p.Merge = ahead > 0; p.Merge {
		if !merge {
			return project.ErrArgument.WithMessage("%s has %s that %s of %s does not have, and lacks %s: a merge commit would be needed (merge: true, or countersign git pull --merge), or rebase it by hand", p.Branch, counted(ahead, "commit"), p.Source, p.Remote, counted(behind, "commit"))
		}
		if p.Author, err = t.author(ctx); err != nil {
			return err
		}
		out, err := t.git(ctx, "merge-tree", "--write-tree", "--name-only", "--messages", "-z", p.Old, p.Commit)
		if gitcli.ExitOf(err) == 1 {
			m, unread := git.ParseMergeTree(gitcli.Printed(err))
			if unread != nil {
				return project.ErrExecutionFailed.WithMessage("%v", unread).WithCause(unread)
			}
			return project.ErrArgument.WithMessage("%s and %s have conflicting changes, and nothing was changed: %s; run git pull by hand and resolve them", p.Branch, p.Source, some(m.Files))
		}
		if err != nil {
			return err
		}
		m, err := git.ParseMergeTree(out)
		if err != nil {
			return project.ErrExecutionFailed.WithMessage("%v", err).WithCause(err)
		}
		after = m.Tree
	}
	if p.Files, err = t.diff(ctx, diffOptions{args: []string{p.Old, after}}); err != nil {
		return err
	}
	var names []string
	for _, f := range p.Files {
		names = append(names, f.Path)
	}
	s, err := t.status(ctx)
	if err != nil {
		return err
	}
	var dirty []string
	staged := false
	for _, c := range s.Changes {
		dirty = append(dirty, c.Path)
		staged = staged || c.Kind != git.Untracked && c.Index != git.Same
	}
	if both := inTheWay(dirty, names); len(both) > 0 {
		return project.ErrArgument.WithMessage("%s differ from the last commit and would be changed: %s; commit or stash them first", counted(len(both), "file"), some(both))
	}
	if staged && p.Merge {
		return project.ErrArgument.WithMessage("a merge cannot start while changes are staged in %s; commit or unstage them first", t.top)
	}
	return nil
}

// Pull implements projectport.WorkTrees.
func (c Client) Pull(ctx context.Context, p project.PullPlan) (string, error) {
	t, err := open(ctx, p.Top)
	if err != nil {
		return "", err
	}
	branch, err := t.branch(ctx)
	if err != nil {
		return "", err
	}
	head, err := t.commit(ctx, "HEAD")
	if err != nil {
		return "", err
	}
	if branch != p.Branch || head != p.Old {
		return "", project.ErrConflict.WithMessage("%s moved in the meantime; call again to get the new plan", p.Branch)
	}
	plain := gitcli.Setting{Name: "branch." + p.Branch + ".mergeOptions", Value: "--no-verify"} // the repository's own would make another merge than was shown
	args := []string{"merge", "--quiet", "--no-verify", "--no-overwrite-ignore"}
	if p.Merge {
		args = append(args, "--no-ff", "--no-edit", "-m", "Merge branch '"+p.Source+"' of "+gitcli.Mask(project.PublicURL(p.URL)))
	} else {
		args = append(args, "--ff-only")
	}
	if _, err := run(ctx, gitcli.Command{Dir: t.top, Args: append(args, p.Commit), Settings: []gitcli.Setting{plain}, Timeout: longTime}); err != nil {
		return "", err
	}
	return t.commit(ctx, "HEAD")
}
