package worktree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/sandbox"
)

// IncludeFile is the file at the top of a repository that lists them, written as a .gitignore is.
const IncludeFile = ".worktreeinclude"

// How much is copied at most.
const (
	MaxIncludedFiles = 1000
	MaxIncludedBytes = 100 << 20
)

const (
	manyFiles      = 1 << 30 // bytes of a list of files
	includeDirMode = 0o755
)

// CopyIncluded copies the files of the tree t that its listing matches and that git ignores into dir, and names them with slashes, sorted. Only regular
// files are copied, with their permissions; what leads out through a link, and what is in dir already, is passed over. It copies all or
// nothing. It fails with sandbox.ErrArguments for a listing that is no regular file, and when there is more than may be copied.
func CopyIncluded(ctx context.Context, t *gitcli.Tree, dir string) ([]string, error) {
	info, err := os.Lstat(filepath.Join(t.Dir, IncludeFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, disk(err)
	case !info.Mode().IsRegular():
		return nil, sandbox.ErrArguments.WithMessage("%s in %s is not a regular file; replace it with one that lists the files to copy", IncludeFile, t.Dir)
	}
	names, err := listed(ctx, t)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	from, err := os.OpenRoot(t.Dir)
	if err != nil {
		return nil, disk(err)
	}
	defer func() { _ = from.Close() }()
	to, err := os.OpenRoot(dir)
	if err != nil {
		return nil, disk(err)
	}
	defer func() { _ = to.Close() }()
	c := copier{from: from, to: to}
	if names, err = c.wanted(names); err != nil {
		return nil, err
	}
	for _, name := range names {
		if err := errors.Join(ctx.Err(), c.copy(name)); err != nil {
			c.undo()
			return nil, disk(err)
		}
	}
	return c.copied, nil
}

const here = "./" // before a name that git would else take for a pattern

// listed returns what git finds: files that are not tracked and match the listing, as far as they are ignored.
func listed(ctx context.Context, t *gitcli.Tree) ([]string, error) {
	out, err := t.Git(ctx, gitcli.Command{Args: []string{"ls-files", "--others", "--ignored", "-z", "--exclude-from=" + filepath.Join(t.Dir, IncludeFile)}, Limit: manyFiles})
	if err != nil || len(out) == 0 {
		return nil, err
	}
	var asked strings.Builder
	for _, name := range git.SplitRecords(out) {
		asked.WriteString(here + name + "\x00")
	}
	out, err = t.Git(ctx, gitcli.Command{Args: []string{"check-ignore", "-z", "--stdin"}, Stdin: []byte(asked.String()), Limit: manyFiles})
	if err != nil && gitcli.ExitOf(err) != 1 { // none is
		return nil, err
	}
	names := git.SplitRecords(out)
	for i, name := range names {
		names[i] = strings.TrimPrefix(name, here)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// copier copies below one root into another.
type copier struct {
	from, to *os.Root
	left     int64 // bytes that may still be copied
	copied   []string
	dirs     []string // made on the way
}

// wanted returns those that are to be copied, when they are not too many or too large.
func (c *copier) wanted(names []string) (kept []string, err error) {
	c.left = MaxIncludedBytes
	for _, name := range names {
		file := filepath.FromSlash(name)
		info, err := c.from.Lstat(file)
		if err != nil || !info.Mode().IsRegular() {
			continue // a link, or one on the way leads out
		}
		if _, err := c.to.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		kept = append(kept, name)
		if c.left -= info.Size(); len(kept) > MaxIncludedFiles || c.left < 0 {
			return nil, sandbox.ErrArguments.WithMessage("%s matches more than %d ignored files or %d MiB; nothing was copied, list fewer files", IncludeFile, MaxIncludedFiles, MaxIncludedBytes>>20)
		}
	}
	c.left = MaxIncludedBytes
	return kept, nil
}

func (c *copier) copy(name string) error {
	file := filepath.FromSlash(name)
	in, err := c.from.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	info, err := in.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return err // it was exchanged meanwhile
	}
	blocked, err := c.parents(path.Dir(name))
	if err != nil || blocked {
		return err
	}
	out, err := c.to.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	c.copied = append(c.copied, name)
	n, err := io.Copy(out, io.LimitReader(in, c.left+1))
	if c.left -= n; c.left < 0 && err == nil {
		err = fmt.Errorf("%s grew beyond the limit for copied files", name)
	}
	return errors.Join(err, out.Chmod(info.Mode().Perm()), out.Close())
}

// parents makes the directories that are missing. blocked is that something in dir is in the way, which is left as it is.
func (c *copier) parents(name string) (blocked bool, err error) {
	if name == "." {
		return false, nil
	}
	made := ""
	for part := range strings.SplitSeq(name, "/") {
		made = path.Join(made, part)
		err := c.to.Mkdir(filepath.FromSlash(made), includeDirMode)
		if err == nil {
			c.dirs = append(c.dirs, made)
			continue
		}
		info, is := c.to.Stat(filepath.FromSlash(made))
		if is != nil || !info.IsDir() {
			return errors.Is(err, fs.ErrExist), err
		}
	}
	return false, nil
}

// undo takes what was copied away again.
func (c *copier) undo() {
	for _, name := range c.copied {
		_ = c.to.Remove(filepath.FromSlash(name))
	}
	for _, name := range slices.Backward(c.dirs) {
		_ = c.to.Remove(filepath.FromSlash(name)) // only removed if it is empty
	}
}

func disk(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return sandbox.ErrTimeout.WithMessage("copying ignored files was stopped and undone").WithCause(err)
	}
	return sandbox.ErrGit.WithMessage("ignored files could not be copied: %v; none were copied", err).WithCause(err)
}
