package observe

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// ResolvedDir is a directory, with links resolved: rel below root, which is where a root really is. It need not exist.
type ResolvedDir struct {
	Root, Rel string
	Missing   bool
}

// File is the path of a file in it.
func (s ResolvedDir) File(name string) string { return filepath.Join(s.Root, s.Rel, name) }

// PathResolver finds out where directories really are, and that none leads out of its root. A root may be a link itself.
type PathResolver struct {
	Gone  map[string]bool // paths that are removed before anything is made
	spots map[[2]string]ResolvedDir
	real  map[string]ResolvedDir // of roots
	Made  []string               // directories that will have to be made, parents first

	root, last string // of the last file, whose directory was found: files mostly stand together
	at         ResolvedDir
}

// NewPathResolver knows nothing yet. gone are files that make way for directories before anything is made.
func NewPathResolver(gone map[string]bool) *PathResolver {
	return &PathResolver{Gone: gone, spots: map[[2]string]ResolvedDir{}, real: map[string]ResolvedDir{}}
}

// Parent is the directory of a file that has to stay below root.
func (t *PathResolver) Parent(root, path string) (ResolvedDir, error) {
	if n := strings.LastIndexByte(path, filepath.Separator); n > 0 && path[:n] == t.last && root == t.root {
		if name := path[n+1:]; name != "" && name != "." && name != ".." && utf8.ValidString(name) && !strings.Contains(name, "/") {
			return t.at, nil
		}
	}
	at, err := t.parent(root, path)
	if err == nil {
		t.root, t.last, t.at = root, filepath.Dir(path), at
	}
	return at, err
}

func (t *PathResolver) parent(root, path string) (ResolvedDir, error) {
	switch {
	case !utf8.ValidString(path):
		return ResolvedDir{}, UnusablePath(path, "it is not valid UTF-8")
	case !filepath.IsAbs(path) || filepath.Clean(path) != path || !filepath.IsAbs(root):
		return ResolvedDir{}, UnusablePath(path, "it is not a clean absolute path")
	case path == filepath.Clean(root) || !deployment.IsBelow(filepath.Clean(root), path, filepath.Separator):
		return ResolvedDir{}, UnusablePath(path, "it is not below "+root)
	}
	return t.dir(filepath.Clean(root), filepath.Dir(path))
}

// UnusablePath is ErrPath, with the reason.
func UnusablePath(path, why string) error {
	return deployment.ErrPath.WithMessage("%q cannot be written: %s", path, why).
		WithDetails(deployment.FieldDetails("hint", "use a path below the root, in existing directories").AddPath("path", path))
}

func (t *PathResolver) dir(root, dir string) (ResolvedDir, error) {
	key := [2]string{root, dir}
	if at, ok := t.spots[key]; ok {
		return at, nil
	}
	at, err := t.lookUp(root, dir)
	if err == nil {
		t.spots[key] = at
	}
	return at, err
}

func (t *PathResolver) lookUp(root, dir string) (ResolvedDir, error) {
	if dir == root {
		return t.base(root)
	}
	above, err := t.dir(root, filepath.Dir(dir))
	if err != nil {
		return ResolvedDir{}, err
	}
	at := ResolvedDir{Root: above.Root, Rel: filepath.Join(above.Rel, filepath.Base(dir)), Missing: true}
	if above.Missing {
		t.Made = append(t.Made, dir)
		return at, nil
	}
	info, err := os.Lstat(at.File(""))
	switch {
	case IsAbsent(err) || err == nil && !info.IsDir() && t.Gone[dir]:
		t.Made = append(t.Made, dir)
		return at, nil
	case err != nil:
		return ResolvedDir{}, FileFault(err, dir)
	case info.IsDir():
		at.Missing = false
		return at, nil
	case info.Mode().Type() != fs.ModeSymlink:
		return ResolvedDir{}, UnusablePath(dir, "something else than a directory exists there")
	}
	return follow(at, dir)
}

// follow resolves a link among the directories, which must not lead out of the root.
func follow(at ResolvedDir, dir string) (ResolvedDir, error) {
	real, err := filepath.EvalSymlinks(at.File(""))
	if err != nil {
		return ResolvedDir{}, UnusablePath(dir, "it is a dangling symbolic link")
	}
	if !deployment.IsBelow(at.Root, real, filepath.Separator) {
		return ResolvedDir{}, UnusablePath(dir, "it is a symbolic link out of the root, to "+real)
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return ResolvedDir{}, UnusablePath(dir, "it is a symbolic link to something other than a directory")
	}
	rel, err := filepath.Rel(at.Root, real)
	return ResolvedDir{Root: at.Root, Rel: rel}, err
}

// base is where a root really is.
func (t *PathResolver) base(root string) (ResolvedDir, error) {
	if at, ok := t.real[root]; ok {
		return at, nil
	}
	at := ResolvedDir{Rel: "."}
	real, err := filepath.EvalSymlinks(root)
	switch {
	case err == nil:
		at.Root = real
		if info, err := os.Stat(real); err != nil || !info.IsDir() {
			return ResolvedDir{}, UnusablePath(root, "it is not a directory")
		}
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENAMETOOLONG):
		return ResolvedDir{}, FileFault(err, root)
	case !errors.Is(err, fs.ErrNotExist):
		return ResolvedDir{}, UnusablePath(root, "no directory can be created there: "+cause(err).Error())
	default:
		if _, err := os.Lstat(root); err == nil {
			return ResolvedDir{}, UnusablePath(root, "it is a dangling symbolic link")
		}
		above, err := t.base(filepath.Dir(root))
		if err != nil {
			return ResolvedDir{}, err
		}
		at.Root, at.Missing = filepath.Join(above.Root, filepath.Base(root)), true
		t.Made = append(t.Made, root)
	}
	t.real[root] = at
	return at, nil
}
