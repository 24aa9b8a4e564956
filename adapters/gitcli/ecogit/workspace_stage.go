package ecogit

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/adapters/gitcli/worktree"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

const (
	markFile = "countersign-install" // in the administration of a workspace's worktree: which run made it
	locked   = "locked"
	begun    = "Begin the workspace root" // message of the first commit of a root that had none
)

// making is a build with its root, alone in it.
type making struct {
	ecosystemport.Build
	at   *gitcli.Repo
	long time.Duration
}

// alone does something while no other process changes worktrees of the root, nor a git that one has left behind.
func (c *Client) alone(ctx context.Context, b ecosystemport.Build, do func(making) error) error {
	at, err := c.open(b.Root)
	if err != nil {
		return err
	}
	release, err := at.Alone(ctx, c.options.Long)
	if err != nil {
		return ours(err)
	}
	defer release()
	return ours(do(making{b, at, c.options.Long}))
}

// Stage implements ecosystemport.WorkspaceInstaller.
func (c *Client) Stage(ctx context.Context, b ecosystemport.Build) error {
	return c.alone(ctx, b, func(m making) error {
		if err := exclude(m.at, b.Excludes); err != nil {
			return err
		}
		if b.Start == "" {
			if err := m.begin(ctx); err != nil {
				return err
			}
		}
		if err := os.MkdirAll(b.Stage(), dirMode); err != nil {
			return disk(err, b.Stage())
		}
		if b.Create {
			if err := m.branch(ctx); err != nil {
				return err
			}
		}
		return m.worktree(ctx)
	})
}

// begin creates an empty first commit with the identity of the root's user. Staged files stay staged.
func (m making) begin(ctx context.Context) error {
	t := m.at.Main()
	if head, err := worktree.Resolve(ctx, t, "HEAD"); err != nil || head != "" {
		if err == nil {
			err = ecosystem.ErrChanged.WithMessage("the workspace root now has commits; call again")
		}
		return err
	}
	empty, err := t.Git(ctx, gitcli.Command{Args: []string{"hash-object", "-t", "tree", "-w", "--", os.DevNull}})
	if err != nil {
		return err
	}
	out, err := t.Git(ctx, gitcli.Command{Args: []string{"commit-tree", "-m", begun, strings.TrimSpace(string(empty))}, Env: identity(ctx, t)})
	if err != nil {
		return err
	}
	_, err = t.Word(ctx, "update-ref", "-m", "commit (initial): "+begun, "HEAD", strings.TrimSpace(string(out)), strings.Repeat("0", len(strings.TrimSpace(string(out)))))
	return err
}

// identity returns who the user says to be, as far as both parts are said.
func identity(ctx context.Context, t *gitcli.Tree) []string {
	if said := gitcli.Identity(); len(said) == 4 {
		return said
	}
	name, err := t.Word(ctx, "config", "--get", "user.name")
	email, failed := t.Word(ctx, "config", "--get", "user.email")
	if err != nil || failed != nil || name == "" || email == "" {
		return nil
	}
	return []string{"GIT_AUTHOR_NAME=" + name, "GIT_AUTHOR_EMAIL=" + email, "GIT_COMMITTER_NAME=" + name, "GIT_COMMITTER_EMAIL=" + email}
}

// branch creates the workspace's branch.
func (m making) branch(ctx context.Context) error {
	t := m.at.Main()
	start := m.Start
	if start == "" {
		head, err := worktree.Resolve(ctx, t, "HEAD")
		if err != nil {
			return err
		}
		start = head
	}
	_, err := t.Word(ctx, "update-ref", "-m", "branch: Created by install "+m.ID, git.HeadsPrefix+m.Branch, start, strings.Repeat("0", len(start)))
	if words := gitcli.Words(err); strings.Contains(words, "reference already exists") || strings.Contains(words, "exists; cannot create") || strings.Contains(words, "cannot lock ref") {
		return ecosystem.ErrConflict.WithMessage("branch %s cannot be created in %s, because it or a conflicting branch exists; delete or rename that one", m.Branch, m.Root).WithCause(err)
	}
	return err
}

// worktree creates the worktree beside its final path. It is locked until it is moved, so that git does not prune it.
func (m making) worktree(ctx context.Context) error {
	_, err := m.at.Main().Git(ctx, gitcli.Command{Timeout: m.long, Settings: []gitcli.Setting{{Name: "worktree.useRelativePaths", Value: "false"}},
		Args: []string{"worktree", "add", "--quiet", "--no-guess-remote", "--lock", "--reason=being installed", "--", m.Tree(), m.Branch}})
	if words := gitcli.Words(err); strings.Contains(words, "already registered worktree") || strings.Contains(words, "already checked out at") || strings.Contains(words, "already used by worktree") {
		return ecosystem.ErrConflict.WithMessage("branch %s is checked out in another worktree (%s); remove that one with git worktree remove, or git worktree prune when its directory is gone", m.Branch, gitcli.Last(words)).WithCause(err)
	}
	if err != nil {
		return err
	}
	t, ok, err := m.at.Tree(m.Tree())
	if err == nil && !ok {
		err = ecosystem.ErrGit.WithMessage("git worktree add made no worktree at %s", m.Tree())
	}
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(t.Admin, markFile), []byte(m.ID+"\n"), 0o600); err != nil {
		return disk(err, t.Admin)
	}
	return nil
}

// Place implements ecosystemport.WorkspaceInstaller.
func (c *Client) Place(ctx context.Context, b ecosystemport.Build) error {
	return c.alone(ctx, b, func(m making) error { return m.place() })
}

func (m making) place() error {
	if _, err := os.Lstat(m.Tree()); err == nil {
		if _, err := os.Lstat(m.Dir); err == nil {
			return ecosystem.ErrConflict.WithMessage("%s appeared while the workspace was created; move it away and install again", m.Dir)
		}
		if err := os.Rename(m.Tree(), m.Dir); err != nil {
			if errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST) || errors.Is(err, syscall.ENOTDIR) {
				return ecosystem.ErrConflict.WithMessage("%s appeared while the workspace was created; move it away and install again", m.Dir).WithCause(err)
			}
			return disk(err, m.Dir)
		}
	}
	admin, ours := m.placed()
	if !ours {
		return ecosystem.ErrConflict.WithMessage("%s is not the workspace that was created for it", m.Dir)
	}
	if err := os.WriteFile(filepath.Join(admin, "gitdir"), []byte(filepath.Join(m.Dir, ".git")+"\n"), 0o644); err != nil {
		return disk(err, admin)
	}
	if err := os.Remove(filepath.Join(admin, locked)); err != nil && !os.IsNotExist(err) {
		return disk(err, admin)
	}
	worktree.Discard(m.Stage())
	return nil
}

// placed returns the git directory of the worktree at the workspace's path, if this build created it.
func (m making) placed() (admin string, ours bool) {
	text, err := os.ReadFile(filepath.Join(m.Dir, ".git"))
	if err != nil {
		return "", false
	}
	admin = filepath.Clean(strings.TrimSpace(strings.TrimPrefix(string(text), "gitdir:")))
	if !sameDir(filepath.Dir(admin), filepath.Join(m.at.Common, "worktrees")) {
		return "", false
	}
	return admin, m.marked(admin)
}

func (m making) marked(admin string) bool {
	mark, err := os.ReadFile(filepath.Join(admin, markFile))
	return err == nil && strings.TrimSpace(string(mark)) == m.ID
}

func sameDir(a, b string) bool {
	x, err := os.Stat(a)
	y, failed := os.Stat(b)
	return err == nil && failed == nil && os.SameFile(x, y)
}

// Undo implements ecosystemport.WorkspaceInstaller.
func (c *Client) Undo(ctx context.Context, b ecosystemport.Build) error {
	return c.alone(ctx, b, func(m making) error { return m.undo(ctx) })
}

// Settle implements ecosystemport.WorkspaceInstaller.
func (c *Client) Settle(ctx context.Context, b ecosystemport.Build) (placed bool, err error) {
	err = c.alone(ctx, b, func(m making) error {
		if _, placed = m.placed(); placed {
			return m.place()
		}
		return m.undo(ctx)
	})
	return placed, err
}

// undo reverts everything in reverse order. Orphaned git processes of a killed process get some time to exit on their own.
func (m making) undo(ctx context.Context) error {
	if _, ours := m.placed(); ours {
		worktree.Discard(m.Dir)
	}
	over := time.Now().Add(patience)
	for worktree.Discard(m.Stage()); there(m.Stage()); worktree.Discard(m.Stage()) {
		if time.Now().After(over) || ctx.Err() != nil {
			return ecosystem.ErrStorage.WithMessage("%s cannot be removed; delete it by hand", m.Stage())
		}
		time.Sleep(patience / 100) // they are not our children, so their end is not reported
	}
	linked, err := m.at.Linked()
	if err != nil {
		return err
	}
	for dir, t := range linked {
		if m.marked(t.Admin) || dir == m.Tree() {
			worktree.Discard(t.Admin)
		}
	}
	_ = os.Remove(filepath.Join(m.at.Common, "worktrees")) // only removed if it is empty
	if err := m.deleteNewBranch(ctx); err != nil {
		return err
	}
	for dir := filepath.Dir(m.Dir); m.Missing != "" && len(dir) >= len(m.Missing); dir = filepath.Dir(dir) {
		if os.Remove(dir) != nil {
			break // others have come to use it
		}
	}
	if others, err := os.ReadDir(filepath.Dir(m.Dir)); err == nil && len(others) > 0 {
		return nil // whose clones the same lines may exclude
	}
	return include(m.at, m.Excludes)
}

// deleteNewBranch deletes the new branch unless it has further commits.
func (m making) deleteNewBranch(ctx context.Context) error {
	t := m.at.Main()
	if at, ours, err := m.own(ctx, git.HeadsPrefix+m.Branch); err != nil {
		return err
	} else if ours && m.Create && at != "" {
		if _, err := t.Word(ctx, "branch", "--quiet", "-D", "--", m.Branch); err != nil {
			return err
		}
	}
	if m.Start != "" {
		return nil
	}
	at, ours, err := m.own(ctx, "HEAD")
	if err == nil && ours {
		_, err = t.Word(ctx, "update-ref", "-d", "HEAD", at)
	}
	return err
}

// own returns the commit of a ref, and whether that is the one the build stands on: where it made one, an empty one without a past.
func (m making) own(ctx context.Context, ref string) (commit string, ours bool, err error) {
	t := m.at.Main()
	if commit, err = worktree.Resolve(ctx, t, ref); err != nil || commit == "" || m.Start != "" {
		return commit, commit != "" && commit == m.Start, err
	}
	said, err := t.Word(ctx, "log", "-1", "--no-show-signature", "--format=%P|%s", commit, "--")
	return commit, said == "|"+begun, err
}
