package worktree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

const (
	lockPoll      = 20 * time.Millisecond
	remoteDirMode = 0o700
)

// The names, beside a clone, of its lock and of what is not finished yet. Whoever holds the lock owns every unfinished clone, so that one found
// then was left by a process that died.
func lockName(dir string) string    { return filepath.Base(dir) + ".clone.lock" }
func partialName(dir string) string { return filepath.Base(dir) + ".tmp-" }

// Clone implements sandboxport.Repositories. Of several that make the same directory, one works and the others wait for what it makes. An empty
// directory is none that holds anything. progress may be nil.
func (c *Remotes) Clone(ctx context.Context, a sandboxport.Access, dir string, progress func(percent int, what string)) error {
	r, err := address(a)
	if err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return sandbox.ErrClone.WithCause(err)
	}
	if there, err := c.present(ctx, dir, r.identity); there || err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, c.limits.Clone)
	defer cancel()
	err = c.alone(bounded, dir, func() error { return c.clone(bounded, r, dir, progress) })
	switch {
	case err == nil, errors.Is(err, sandbox.ErrBaseDir):
		return err
	case ctx.Err() != nil:
		return fault.From(ctx.Err())
	case bounded.Err() != nil:
		return sandbox.ErrClone.WithMessage("cloning %s took longer than %s and was stopped; check whether the remote answers, then start again", r.identity, c.limits.Clone).WithCause(err)
	}
	return failed(sandbox.ErrClone, "cannot be cloned", r, err)
}

// present reports whether dir is a clone of the repository; a directory that is anything else fails, an empty one is as if it were not there.
func (c *Remotes) present(ctx context.Context, dir string, want git.URL) (bool, error) {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && len(entries) == 0:
		return false, nil
	case err != nil:
		return false, sandbox.ErrBaseDir.WithMessage("%s blocks the clone: %v; move it away", dir, err).WithCause(err)
	}
	at, err := c.open(dir)
	if err != nil {
		return false, sandbox.ErrBaseDir.WithMessage("%s is not a clone of %s; move it away, or give the project another base directory", dir, want).WithCause(err)
	}
	url, err := OriginURL(ctx, at.Main())
	if ctx.Err() != nil {
		return false, err
	}
	is, bad := git.ParseURL(url)
	if err != nil || bad != nil || is != want {
		shown := is.String()
		if shown == "" {
			shown = "something else"
		}
		return false, sandbox.ErrBaseDir.WithMessage("%s is a clone of %s, not of %s; move it away, or give the project another base directory", dir, shown, want)
	}
	return true, nil
}

// alone does something while no other process clones into dir.
func (c *Remotes) alone(ctx context.Context, dir string, do func() error) error {
	if err := os.MkdirAll(filepath.Dir(dir), remoteDirMode); err != nil {
		return gitcli.Disk(err, filepath.Dir(dir))
	}
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for {
		lock, err := docfile.NewDir(filepath.Dir(dir)).TryLock(lockName(dir))
		if err != nil {
			return gitcli.Disk(err, filepath.Dir(dir))
		}
		if lock != nil {
			defer func() { _ = lock.Retire() }()
			return do()
		}
		select {
		case <-ctx.Done():
			return fault.From(ctx.Err())
		case <-tick.C:
		}
	}
}

// clone is Clone under the lock.
func (c *Remotes) clone(ctx context.Context, r remote, dir string, progress func(int, string)) error {
	if there, err := c.present(ctx, dir, r.identity); there || err != nil {
		return err
	}
	parent := filepath.Dir(dir)
	sweep(dir)
	partial, err := os.MkdirTemp(parent, partialName(dir)+"*")
	if err != nil {
		return gitcli.Disk(err, parent)
	}
	defer Discard(partial)
	watch := &sandbox.CloneProgress{Tell: progress}
	cmd := gitcli.Command{Dir: partial, Timeout: c.limits.Clone, Protocols: r.protocols, Watch: watch,
		Env:  []string{r.ssh, "GIT_CEILING_DIRECTORIES=" + parent},
		Args: []string{"clone", "--progress", "--origin=origin", "--template=", "--no-recurse-submodules", "--upload-pack=git-upload-pack", "--", r.url, "."}}
	var local *localObjects
	if r.identity.IsLocal() {
		beside, err := os.MkdirTemp(parent, partialName(dir)+"*")
		if err != nil {
			return gitcli.Disk(err, parent)
		}
		defer Discard(beside)
		if local = c.packLocal(ctx, r, beside, watch); local != nil {
			cmd = local.offer(cmd)
		}
	}
	if _, err = gitcli.Start(ctx, cmd); err != nil {
		return err
	}
	if local != nil {
		if err := local.give(partial); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	_ = os.Remove(dir) // only removed if it is empty
	if err := os.Rename(partial, dir); err != nil {
		return gitcli.Disk(err, dir)
	}
	return nil
}

// sweep removes what killed clones of dir left.
func sweep(dir string) {
	entries, _ := os.ReadDir(filepath.Dir(dir))
	for _, entry := range entries {
		if digits, ok := strings.CutPrefix(entry.Name(), partialName(dir)); ok && digits != "" && strings.Trim(digits, "0123456789") == "" {
			Discard(filepath.Join(filepath.Dir(dir), entry.Name()))
		}
	}
}

// Discard removes a directory and everything in it, also what may not be written, and while a git that is being stopped still writes there.
// Links are not followed. It does its best.
func Discard(dir string) {
	for range 3 {
		if os.RemoveAll(dir) == nil {
			return
		}
		_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if entry != nil && entry.IsDir() {
				_ = os.Chmod(path, remoteDirMode)
			}
			return nil
		})
	}
}
