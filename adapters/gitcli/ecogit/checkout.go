package ecogit

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/adapters/gitcli/worktree"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// Look implements ecosystemport.Clones.
func (c Clones) Look(ctx context.Context, r ecosystem.Repo, dir string) (ecosystemport.Checkout, error) {
	out := ecosystemport.Checkout{}
	if out.Absent, out.Foreign = lies(dir); out.Absent || out.Foreign != "" {
		return out, nil
	}
	at, err := c.open(dir)
	if err != nil {
		return out, err
	}
	t := at.Main()
	out.Doing = t.Operation()
	s, err := t.Status(ctx, "normal")
	if err != nil {
		return out, ours(err)
	}
	out.Head, out.Branch = s.Head, s.Branch
	out.Level = s.Tracked && s.Ahead == 0 && s.Behind == 0 && s.Upstream == "origin/"+r.Branch
	for _, change := range s.Changes {
		if ecosystem.IsOwnFile(change.Path) {
			continue
		}
		out.Changes++
		out.First = cmp.Or(out.First, change.Path)
	}
	return out, nil
}

// lies reports whether nothing is at dir, or why what is there is not a clone. An empty directory counts as nothing.
func lies(dir string) (absent bool, foreign string) {
	info, err := os.Lstat(dir)
	switch {
	case os.IsNotExist(err):
		return true, ""
	case err != nil:
		return false, err.Error()
	case !info.IsDir():
		return false, "it is not a directory"
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) == 0 {
		return true, ""
	}
	if real, err := filepath.EvalSymlinks(dir); err != nil || real != filepath.Clean(dir) {
		return false, "it is a link to another directory"
	}
	if info, err := os.Lstat(filepath.Join(dir, ".git")); err != nil || !info.IsDir() {
		return false, "it is not a clone: its .git is not a directory"
	}
	return false, ""
}

// Forward implements ecosystemport.Clones. What the clone's configuration says of its origin is not asked.
func (c Clones) Forward(ctx context.Context, r ecosystem.Repo, dir string, seen ecosystemport.Checkout, tell ecosystemport.ProgressFunc) (ecosystemport.Moved, error) {
	moved := ecosystemport.Moved{From: seen.Head, To: seen.Head}
	o, err := address(r)
	if err != nil {
		return moved, err
	}
	at, err := c.open(dir)
	if err != nil {
		return moved, err
	}
	t, follows := at.Main(), "refs/remotes/origin/"+r.Branch
	var news bytes.Buffer
	err = c.persistently(ctx, tell, func() error {
		_, err := c.runRemote(ctx, t, "git fetch from "+o.shown, gitcli.Command{Protocols: o.protocols, Watch: &news, Args: []string{"fetch", "--no-recurse-submodules", "--no-write-fetch-head", "--no-auto-maintenance",
			"--upload-pack=git-upload-pack", "--", o.url, "+" + git.HeadsPrefix + r.Branch + ":" + follows, "+" + git.HeadsPrefix + "*:refs/remotes/origin/*"}})
		return unknown(r, o, err)
	})
	if err != nil || news.Len() == 0 && seen.Level { // git tells of every ref that it moves
		return moved, err
	}
	if on, err := worktree.Branch(ctx, t); err != nil || on != r.Branch {
		if err == nil {
			err = ecosystem.ErrChanged.WithMessage("%s is no longer on its branch %s; sync again", dir, r.Branch)
		}
		return moved, ours(err)
	}
	said, err := t.Word(ctx, "rev-list", "--left-right", "--count", "HEAD..."+follows, "--")
	if err != nil {
		return moved, ours(err)
	}
	if _, err := fmt.Sscan(said, &moved.Ahead, &moved.Behind); err != nil {
		return moved, ecosystem.ErrGit.WithMessage("git counted the commits of %s as %q", dir, said)
	}
	if moved.Behind == 0 || moved.Ahead > 0 {
		return moved, nil
	}
	err = gitcli.Patiently(ctx, patience, func() error {
		_, err := t.Git(ctx, gitcli.Command{Timeout: c.options.Long, Args: []string{"merge", "--ff-only", "--quiet", "--no-autostash", follows}})
		return err
	})
	if err != nil {
		return moved, ours(err)
	}
	moved.To, err = t.Word(ctx, "rev-parse", "--verify", "HEAD")
	return moved, ours(err)
}
