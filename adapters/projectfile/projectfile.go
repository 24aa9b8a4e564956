package projectfile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/countersign-dev/countersign/domain/project"
)

// Options says whose machine it is.
type Options struct {
	Home string          // the home directory; empty is what the operating system says
	Own  []string        // Countersign's own directories: no project, and nothing that a command may write to
	Env  func() []string // "NAME=value"; nil is this process's environment
}

// directories are the directories of this machine. Its methods may run concurrently.
type directories struct {
	home string
	own  []string
	env  func() []string
}

// New looks at nothing yet.
func New(o Options) *directories {
	d := &directories{home: o.Home, env: o.Env}
	if d.home == "" {
		d.home, _ = os.UserHomeDir() // without one nothing can be registered, which is said then
	}
	if d.env == nil {
		d.env = os.Environ
	}
	for _, dir := range o.Own {
		if filepath.IsAbs(dir) {
			d.own = append(d.own, filepath.Clean(dir))
		}
	}
	return d
}

// Resolve implements projectport.Directories.
func (d *directories) Resolve(ctx context.Context, path string, roots []string) (dir, root string, err error) {
	return d.locate(ctx, path, roots, false)
}

// Planned implements projectport.Directories.
func (d *directories) Planned(ctx context.Context, path string, roots []string) (dir, root string, err error) {
	return d.locate(ctx, path, roots, true)
}

func (d *directories) locate(ctx context.Context, path string, roots []string, planned bool) (dir, root string, err error) {
	if err := ctx.Err(); err != nil {
		return "", "", err
	}
	if err := project.CheckPath(path); err != nil {
		return "", "", err
	}
	base, rest := filepath.Clean(path), ""
	if planned {
		base, rest = split(base)
	}
	if real, ok := directory(base); ok {
		if dir, root, ok := d.within(real, roots); ok {
			return filepath.Join(dir, rest), root, nil
		}
	}
	return "", "", outside(path)
}

// outside is one text for what is missing, what is no directory and what lies elsewhere: nobody learns here what there is outside.
func outside(path string) error {
	return project.ErrPath.WithMessage("%q is not a directory inside a registered project; call list_projects to list the registered projects", path)
}

// maxFileName is how many bytes a name may have on every usual file system.
const maxFileName = 255

// split parts a clean path into its deepest part that exists and the names after it. A name too long to be one never exists, and is left
// in the first part, where looking for it fails.
func split(path string) (base, rest string) {
	for path != "/" && len(filepath.Base(path)) <= maxFileName {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			break // a link that leads nowhere exists: what would be made through it is nobody's plan
		}
		path, rest = filepath.Dir(path), filepath.Join(filepath.Base(path), rest)
	}
	return path, rest
}

// directory returns where the path leads, if that is a directory with a name that could be given as a path again.
func directory(path string) (real string, ok bool) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || project.CheckPath(real) != nil {
		return "", false
	}
	info, err := os.Stat(real)
	return real, err == nil && info.IsDir()
}

// within finds the innermost root around a resolved directory, and the directory's path in it. Directories are compared by identity, not by
// spelling: this is right on volumes that fold case and for directories mounted twice, and /a/proj is not around /a/proj-evil.
func (d *directories) within(real string, roots []string) (dir, root string, ok bool) {
	infos := make([]fs.FileInfo, len(roots))
	for i, r := range roots {
		if project.CheckPath(r) != nil {
			continue
		}
		if info, err := os.Lstat(filepath.Clean(r)); err == nil && info.IsDir() { // a link in a root's place is not that root
			infos[i] = info
		}
	}
	for up := real; ; up = filepath.Dir(up) {
		here, err := os.Stat(up)
		if err != nil {
			return "", "", false
		}
		for i, info := range infos {
			if info != nil && os.SameFile(info, here) {
				dir, ok = d.enter(roots[i], up, real)
				return dir, roots[i], ok
			}
		}
		if up == filepath.Dir(up) {
			return "", "", false
		}
	}
}

// enter returns the path, below where the root really is, of the directory real, which lies below the very same directory called alias.
func (d *directories) enter(root, alias, real string) (dir string, ok bool) {
	at, err := filepath.EvalSymlinks(root)
	if err != nil {
		return "", false
	}
	if at != filepath.Clean(root) && d.admit(at) != nil { // a link above it leads to where nothing would have been registered
		return "", false
	}
	below, err := filepath.Rel(alias, real)
	if err != nil || !filepath.IsLocal(below) {
		return "", false
	}
	dir = filepath.Join(at, below)
	if dir == real {
		return dir, true
	}
	return dir, same(dir, real)
}

// same reports whether both exist and are one directory.
func same(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}
