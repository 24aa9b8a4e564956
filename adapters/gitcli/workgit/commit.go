package workgit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/project"
)

// PlanCommit implements projectport.WorkTrees.
func (Client) PlanCommit(ctx context.Context, dir string, amend bool) (project.StagedWork, error) {
	t, err := open(ctx, dir)
	if err != nil {
		return project.StagedWork{}, err
	}
	p := project.StagedWork{Top: t.top, LFSHere: t.lfs()}
	if doing := t.doing(); doing != "" && doing != "merge" && doing != "bisect" {
		return p, project.ErrArgument.WithMessage("a %s is in progress in %s; finish it with git %s --continue, or abort it with --abort", doing, t.top, doing)
	}
	if out, err := t.git(ctx, "ls-files", "--unmerged", "-z"); err != nil {
		return p, err
	} else if len(out) > 0 {
		return p, project.ErrArgument.WithMessage("%s has files with conflicts; resolve and stage them first", t.top)
	}
	if p.Branch, err = t.branch(ctx); err != nil {
		return p, err
	}
	if p.Head, err = t.commit(ctx, "HEAD"); err != nil {
		return p, err
	}
	p.Other = t.other()
	if p.Digest, err = t.digest(ctx); err != nil {
		return p, err
	}
	if p.Files, err = t.diff(ctx, diffOptions{staged: true}); err != nil {
		return p, err
	}
	if amend {
		if err := t.amend(ctx, &p); err != nil {
			return p, err
		}
	}
	if len(p.Files) == 0 && p.Other == "" && !amend {
		return p, project.ErrArgument.WithMessage("nothing is staged in %s; stage files first (git_stage, or countersign git stage)", t.top)
	}
	if p.Author, err = t.author(ctx); err != nil {
		return p, err
	}
	sign, err := t.config(ctx, "commit.gpgSign")
	if err != nil {
		return p, err
	}
	p.Signed = sign != "" && !strings.EqualFold(sign, "false") && sign != "0" && !strings.EqualFold(sign, "no") && !strings.EqualFold(sign, "off")
	p.Hooks, err = t.hooks(ctx, commitHooks(amend)...)
	return p, err
}

// amend plans a commit that replaces the last one.
func (t tree) amend(ctx context.Context, p *project.StagedWork) error {
	switch {
	case p.Head == "":
		return project.ErrArgument.WithMessage("%s has no commit to amend; commit without amend", t.top)
	case p.Other != "":
		return project.ErrArgument.WithMessage("a merge is in progress in %s; commit it first, or abort it with git merge --abort", t.top)
	}
	out, err := t.git(ctx, "log", "-1", "--no-color", "--no-show-signature", "--encoding=UTF-8", "--format=%P%x00%an%x00%s%x00%B", p.Head, "--")
	if err != nil {
		return err
	}
	fields := strings.SplitN(string(out), "\x00", 4)
	if len(fields) != 4 {
		return project.ErrExecutionFailed.WithMessage("git printed %.80q where a commit was expected; use git 2.39 or newer", out)
	}
	if strings.Contains(fields[0], " ") {
		return project.ErrArgument.WithMessage("the last commit of %s is a merge, which this tool does not amend; use git commit --amend by hand", t.top)
	}
	base := fields[0]
	if base == "" {
		if base, err = t.word(ctx, "hash-object", "-t", "tree", "--stdin"); err != nil { // of nothing: the tree without files
			return err
		}
	}
	p.Amends = &project.AmendedCommit{GitCommit: project.GitCommit{Commit: p.Head, Author: strings.ToValidUTF8(fields[1], "\uFFFD"), Subject: strings.ToValidUTF8(fields[2], "\uFFFD")},
		Message: strings.TrimSpace(strings.ToValidUTF8(fields[3], "\uFFFD")), Nothing: len(p.Files) == 0}
	if p.Files, err = t.diff(ctx, diffOptions{staged: true, args: []string{base}}); err != nil {
		return err
	}
	if len(p.Files) == 0 {
		return project.ErrArgument.WithMessage("the last commit of %s would become empty; undo it by hand with git reset --soft HEAD~1", t.top)
	}
	refs, err := t.git(ctx, "for-each-ref", "--contains="+p.Head, "--format=%(refname:lstrip=2)", "refs/remotes")
	for ref := range strings.Lines(string(refs)) {
		p.Amends.Remotes = append(p.Amends.Remotes, strings.TrimSuffix(ref, "\n"))
	}
	return err
}

// other returns what a merge in progress brings along.
func (t tree) other() string {
	said, _ := os.ReadFile(filepath.Join(t.admin, "MERGE_HEAD")) // mostly there is none
	return strings.TrimSpace(string(said))
}

// digest is of the whole index.
func (t tree) digest(ctx context.Context, env ...string) (string, error) {
	out, err := run(ctx, gitcli.Command{Dir: t.top, Env: env, Limit: 1 << 30, Args: []string{"ls-files", "--stage", "-z"}})
	sum := sha256.Sum256(out)
	return hex.EncodeToString(sum[:]), err
}

// Commit implements projectport.WorkTrees. Without hooks the commit is made of a copy of the index that was compared, so that it holds exactly what was shown; hooks may
// stage more themselves, and so are given the index.
func (c Client) Commit(ctx context.Context, p project.StagedWork, message string, hooks bool) (string, error) {
	t, err := open(ctx, p.Top)
	if err != nil {
		return "", err
	}
	command := gitcli.Command{Dir: t.top, Hooks: hooks, Timeout: longTime, Stdin: []byte(message + "\n"), Args: []string{"commit", "--quiet", "--no-status", "--cleanup=whitespace", "--file=-"}}
	if p.Amends != nil {
		command.Args = append(command.Args, "--amend")
	}
	if !hooks {
		index, done, err := t.scratchIndex()
		if err != nil {
			return "", err
		}
		defer done()
		command.Env, command.Args = []string{"GIT_INDEX_FILE=" + index}, append(command.Args, "--no-verify")
	}
	now, err := t.digest(ctx, command.Env...)
	if err != nil {
		return "", err
	}
	head, err := t.commit(ctx, "HEAD")
	if err != nil {
		return "", err
	}
	branch, err := t.branch(ctx)
	if err != nil {
		return "", err
	}
	if now != p.Digest || head != p.Head || branch != p.Branch || t.other() != p.Other {
		return "", project.ErrConflict.WithMessage("the staged changes in %s, or their base commit, changed in the meantime; call again to get the new plan", t.top)
	}
	if hooks {
		found, err := t.hooks(ctx, commitHooks(p.Amends != nil)...)
		if err == nil {
			err = same(found, p.Hooks)
		}
		if err != nil {
			return "", err
		}
	}
	if _, err := run(ctx, command); err != nil {
		return "", err
	}
	return t.commit(ctx, "HEAD")
}
