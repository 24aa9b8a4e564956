package ecogit

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/adapters/gitcli/worktree"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/sandbox"
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
	out.Doing = doing(t)
	said, err := t.Git(ctx, gitcli.Command{Args: []string{"status", "--porcelain=v2", "-z", "--branch", "--ahead-behind", "--untracked-files=normal", "--ignored=no", "--no-renames", "--ignore-submodules=none"}})
	if err != nil {
		return out, ours(err)
	}
	read(&out, said, r.Branch)
	return out, nil
}

// lies says whether nothing is at dir, or something that is no clone. A directory that is empty is nothing.
func lies(dir string) (absent bool, foreign string) {
	info, err := os.Lstat(dir)
	switch {
	case os.IsNotExist(err):
		return true, ""
	case err != nil:
		return false, err.Error()
	case !info.IsDir():
		return false, "what is there is no directory"
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) == 0 {
		return true, ""
	}
	if real, err := filepath.EvalSymlinks(dir); err != nil || real != filepath.Clean(dir) {
		return false, "a link leads from there to another place"
	}
	if info, err := os.Lstat(filepath.Join(dir, ".git")); err != nil || !info.IsDir() {
		return false, "what is there is no clone: its .git is no directory"
	}
	return false, ""
}

// doing is what git was stopped in the middle of.
func doing(t *gitcli.Tree) string {
	for _, sign := range [][2]string{{"rebase-merge", "rebase"}, {"rebase-apply", "rebase"}, {"MERGE_HEAD", "merge"}, {"CHERRY_PICK_HEAD", "cherry-pick"}, {"REVERT_HEAD", "revert"}, {"BISECT_LOG", "bisect"}} {
		if t.Has(sign[0]) {
			return sign[1]
		}
	}
	return ""
}

// read takes what `git status --porcelain=v2 -z --branch --no-renames` printed. Countersign's own directory .amof is no change.
func read(out *ecosystemport.Checkout, said []byte, branch string) {
	upstream := ""
	for record := range strings.SplitSeq(string(said), "\x00") {
		field, value, _ := strings.Cut(strings.TrimPrefix(record, "# "), " ")
		switch {
		case record == "":
		case record[0] != '#':
			path := record[pathAt(record):]
			if !strings.HasPrefix(path, ".amof/") {
				out.Changes++
				if out.First == "" {
					out.First = path
				}
			}
		case field == "branch.oid" && value != "(initial)":
			out.Head = value
		case field == "branch.head" && value != "(detached)":
			out.Branch = value
		case field == "branch.upstream":
			upstream = value
		case field == "branch.ab":
			out.Level = value == "+0 -0" && upstream == "origin/"+branch
		}
	}
}

// pathAt is just past the blank before a record's path.
func pathAt(record string) int {
	fields := map[byte]int{'1': 8, '2': 9, 'u': 10, '?': 1}[record[0]]
	at := 0
	for ; fields > 0; fields-- {
		next := strings.IndexByte(record[at:], ' ')
		if next < 0 {
			break
		}
		at += next + 1
	}
	return at
}

// Forward implements ecosystemport.Clones. What the clone's configuration says of its origin is not asked.
func (c Clones) Forward(ctx context.Context, r ecosystem.Repo, dir string, seen ecosystemport.Checkout, tell ecosystemport.Tell) (ecosystemport.Moved, error) {
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
		_, err := c.afar(ctx, t, "git fetch from "+o.shown, gitcli.Command{Protocols: o.protocols, Watch: &news, Args: []string{"fetch", "--no-recurse-submodules", "--no-write-fetch-head", "--no-auto-maintenance",
			"--upload-pack=git-upload-pack", "--", o.url, "+" + sandbox.HeadsPrefix + r.Branch + ":" + follows, "+" + sandbox.HeadsPrefix + "*:refs/remotes/origin/*"}})
		return unknown(r, o, err)
	})
	if err != nil || news.Len() == 0 && seen.Level { // git tells of every ref that it moves
		return moved, err
	}
	if on, err := worktree.Branch(ctx, t); err != nil || on != r.Branch {
		if err == nil {
			err = ecosystem.ErrChanged.Sayf("%s has come off its branch %s meanwhile; sync again", dir, r.Branch)
		}
		return moved, ours(err)
	}
	said, err := t.Word(ctx, "rev-list", "--left-right", "--count", "HEAD..."+follows, "--")
	if err != nil {
		return moved, ours(err)
	}
	if _, err := fmt.Sscan(said, &moved.Ahead, &moved.Behind); err != nil {
		return moved, ecosystem.ErrGit.Sayf("git counted the commits of %s as %q", dir, said)
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
