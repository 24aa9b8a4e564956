package observe

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// The issues of roots (agentpack contract §5.7).
const (
	missing       = "missing"
	notADirectory = "not_a_directory"
	notWritable   = "not_writable"
)

// Check implements deployport.Machine. It asks the system whether the directory may be written to and writes nothing. Whether a
// manifest of an earlier version, where there is one, is ignored is asked of git, which knows rules in more places than a work tree's .gitignore; where git cannot be run they
// count as not ignored.
func (k *Observer) Check(ctx context.Context, root deployment.Root) (deployport.RootHealth, error) {
	if err := ctx.Err(); err != nil {
		return deployport.RootHealth{}, fault.From(err)
	}
	var h deployport.RootHealth
	info, err := os.Stat(root.Path)
	switch {
	case err == nil && !info.IsDir():
		h.Exists, h.Issues = true, []string{notADirectory}
	case err == nil && !writable(root.Path):
		h.Exists, h.Issues = true, []string{notWritable}
	case err == nil:
		h.Exists = true
	case errors.Is(err, fs.ErrNotExist):
		h.Issues = []string{missing}
		if _, err := os.Lstat(root.Path); err == nil { // a link to nothing: no directory can be made there
			h.Exists, h.Issues = true, []string{notADirectory}
		}
	case IsAbsent(err): // what should be a directory above it is a file
		h.Issues = []string{notADirectory}
	case errors.Is(err, fs.ErrPermission): // it cannot even be seen
		h.Issues = []string{notWritable}
	default:
		return h, refused("inspected", root.Path, err)
	}
	at := resolve(root.Path)
	h.Worktree = worktree(at)
	if h.Worktree == "" {
		return h, nil
	}
	if _, err := os.Lstat(filepath.Join(at, ManifestName(root.Target))); IsAbsent(err) { // ownership is in the home
		h.Ignored = true
		return h, nil
	}
	h.Ignored, err = IsGitIgnored(ctx, h.Worktree, filepath.Join(at, ManifestName(root.Target)))
	return h, err
}

// resolve is the path with links followed, as far down as it exists: git goes by where a file really is.
func resolve(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	return filepath.Join(resolve(parent), filepath.Base(path))
}

// worktree is the nearest directory from path upwards that has a .git, which is a directory or, in linked work trees and submodules, a
// file; empty when none has.
func worktree(path string) string {
	for {
		info, err := os.Lstat(filepath.Join(path, ".git"))
		if err == nil && (info.IsDir() || info.Mode().IsRegular()) {
			return path
		}
		parent := filepath.Dir(path)
		if parent == path {
			return ""
		}
		path = parent
	}
}
