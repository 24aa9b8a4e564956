package gitcli

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/project"
)

// The names of what is read of a repository without git.
const (
	dotGit     = ".git"
	headFile   = "HEAD"
	commonFile = "commondir"
)

// place is a directory and the repository around it.
type place struct {
	dir    string // real path, no links in it
	plain  bool   // the files say where the repository is; else only git can tell
	top    string // of the working tree; empty when the repository has none here
	gitDir string
	common string // gitDir, unless this is a linked working tree
}

// open finds the repository around dir as git does: the nearest directory upwards that has a .git, or is a repository itself. It fails with
// project.ErrNotRepository where there is none.
func open(ctx context.Context, dir string) (place, error) {
	if ctx.Err() != nil {
		return place{}, fault.From(ctx.Err())
	}
	if !filepath.IsAbs(dir) {
		return place{}, project.ErrNotRepository.WithMessage("%q is not an absolute path", dir)
	}
	actual, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return place{}, project.ErrNotRepository.WithMessage("directory %s no longer exists; restore it, or remove it from the projects", dir).WithCause(err)
	}
	if err != nil {
		return place{}, project.ErrNotRepository.WithMessage("the directory %s cannot be read; check its permissions", dir).WithCause(err)
	}
	if info, err := os.Stat(actual); err != nil || !info.IsDir() {
		return place{}, project.ErrNotRepository.WithMessage("%s is not a directory", dir).WithCause(err)
	}
	for at := actual; ; at = filepath.Dir(at) {
		p, here := look(at)
		if p.dir = actual; here {
			return p, nil
		}
		if filepath.Dir(at) == at {
			return place{}, project.ErrNotRepository.WithMessage("%s is not in a git repository; create one with git init", dir)
		}
	}
}

// look reports whether at holds a repository, or anything that git would have to look at to tell.
func look(at string) (place, bool) {
	entry := filepath.Join(at, dotGit)
	info, err := os.Stat(entry)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if whole(at) { // a bare repository, or the inside of another
			return place{gitDir: at, common: at, plain: true}, true
		}
		return place{}, false
	case err != nil:
		return place{}, true
	case info.IsDir():
		return place{top: at, gitDir: entry, common: entry, plain: whole(entry)}, true
	}
	text, err := small(entry)
	target, ok := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), "gitdir: ")
	if err != nil || !ok || target == "" {
		return place{top: at}, true
	}
	gitDir := from(at, target)
	common := gitDir
	text, err = small(filepath.Join(gitDir, commonFile))
	if err == nil {
		common = from(gitDir, strings.TrimRight(string(text), "\r\n"))
	}
	// A linked worktree has its own HEAD; everything else is in its common directory.
	_, headless := os.Lstat(filepath.Join(gitDir, headFile))
	return place{top: at, gitDir: gitDir, common: common, plain: headless == nil && whole(common)}, true
}

// whole reports whether dir is what git takes for a repository.
func whole(dir string) bool {
	for _, name := range []string{headFile, "objects", "refs"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// from is path as seen from dir.
func from(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// projectMaxFile is how many bytes of a file are read without git.
const projectMaxFile = 64 << 10

var errOdd = errors.New("not a small regular file")

// small reads a small regular file. Nothing else is opened: a link may lead anywhere, and a pipe would be waited for.
func small(path string) ([]byte, error) {
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(errOdd, err)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // in case a pipe has taken its place since
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, projectMaxFile+1))
	if len(text) > projectMaxFile {
		return nil, errOdd
	}
	return text, err
}
