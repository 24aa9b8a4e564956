package worktree

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/sandbox"
)

// reviewedRef returns the ref that keeps the files that a person has looked at last in the worktree in dir. A worktree's own refs (refs/worktree) would not keep them from
// git gc in the clone.
func reviewedRef(dir string) string { return "refs/countersign-reviewed/" + filepath.Base(dir) }

// Snapshot implements sandboxport.Repositories.
func (c *Client) Snapshot(ctx context.Context, repo, dir string, keep bool) (string, error) {
	at, err := c.open(repo)
	if err != nil {
		return "", err
	}
	t, err := sandboxTree(at, dir)
	if err != nil {
		return "", err
	}
	status, setup, err := statusOfWork(ctx, t, "all")
	if err != nil {
		return "", err
	}
	marked, err := flagged(ctx, t)
	if err != nil {
		return "", err
	}
	scratch, err := os.MkdirTemp("", "countersign-snapshot-*")
	if err != nil {
		return "", gitcli.Disk(err, os.TempDir())
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	m := maker{t: t, scratch: scratch, timeout: longTime}
	if err := m.copyIndex(ctx, marked); err != nil {
		return "", err
	}
	env := []string{"GIT_LITERAL_PATHSPECS=1", m.env()}
	if !keep {
		objects, drop, err := quarantine(t.Repo)
		if err != nil {
			return "", err
		}
		defer drop()
		env = append(env, objects...)
	}
	git := func(stdin string, args ...string) (string, error) {
		out, err := t.Git(ctx, gitcli.Command{Args: args, Stdin: []byte(stdin), Env: env, Settings: plain(), Timeout: longTime})
		return strings.TrimSpace(string(out)), err
	}
	left, loose := pathsOf(setup, false), pathsOf(status.Changes, true)
	if left != "" {
		if _, err := git(left, "update-index", "--assume-unchanged", "-z", "--stdin"); err != nil {
			return "", err
		}
	}
	if _, err := git("", "add", "--update", "--", t.Dir); err != nil {
		return "", err
	}
	if loose != "" {
		if _, err := git(loose, "add", "--pathspec-from-file=-", "--pathspec-file-nul"); err != nil {
			return "", err
		}
	}
	tree, err := git("", "write-tree")
	if err == nil && keep {
		_, err = git("", "update-ref", reviewedRef(t.Dir), tree)
	}
	return tree, err
}

// pathsOf returns the paths of changes to files that are not tracked, or of the others, each with a NUL behind it. Repositories in the tree are left out.
func pathsOf(changes []git.Change, untracked bool) string {
	var out strings.Builder
	for _, change := range changes {
		if (change.Kind == git.Untracked) == untracked && !strings.HasSuffix(change.Path, "/") {
			out.WriteString(change.Path + "\x00")
		}
	}
	return out.String()
}

// from has the files compared with those of a snapshot.
func (d *comparison) from(ctx context.Context, tree string) error {
	found, err := d.t.Word(ctx, "rev-parse", "--verify", "--end-of-options", tree+"^{tree}")
	if err != nil || found != tree {
		return sandbox.ErrReviewGone.WithMessage("the files of the last review are no longer stored; compare with the base, and mark the work as seen again").WithCause(err)
	}
	d.Since = tree
	return nil
}
