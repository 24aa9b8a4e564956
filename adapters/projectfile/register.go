package projectfile

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/project"
)

// Register implements projectport.Directories. What it says of a path is for the user at the machine, and so plain.
func (d *directories) Register(ctx context.Context, path string) (dir string, err error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if err := project.CheckPath(path); err != nil {
		return "", project.ErrRegistration.WithMessage("%s", fault.From(err).Message)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", project.ErrRegistration.WithMessage("%q cannot be registered, because it does not exist or cannot be opened; name a directory", path).WithCause(err)
	case !info.IsDir():
		return "", project.ErrRegistration.WithMessage("%q is not a directory; name the project's directory", path)
	}
	dir, ok := directory(path)
	if !ok {
		return "", project.ErrRegistration.WithMessage("%q leads to a directory whose name is not a valid path; rename it", path)
	}
	return dir, d.admit(dir)
}

// admit rejects directories that are no project, because whoever may work in them may do anything (packageflow-security contract §4.1,
// registration). dir has no links.
func (d *directories) admit(dir string) error {
	if d.home == "" {
		return project.ErrRegistration.WithMessage("the home directory is unknown, so %q cannot be distinguished from it; set HOME", dir)
	}
	if dir == "/" {
		return project.ErrRegistration.WithMessage("/ is the whole machine; name the directory of one project")
	}
	if holds(dir, settled(d.home)) {
		return project.ErrRegistration.WithMessage("%q is the home directory or one of its parents; name the directory of one project in it", dir)
	}
	if system(dir) {
		return project.ErrRegistration.WithMessage("%q belongs to the operating system; name the directory of one project", dir)
	}
	for _, own := range d.own {
		if own = settled(own); holds(dir, own) || holds(own, dir) {
			return project.ErrRegistration.WithMessage("%q contains Countersign's own files, or is one of its directories; name another directory", dir)
		}
	}
	return nil
}

// system reports a directory that is the machine's and nobody's project.
func system(dir string) bool {
	if slices.ContainsFunc(userTrees(), func(tree string) bool { return dir != tree && holds(tree, dir) }) {
		return false
	}
	return slices.ContainsFunc(places(), func(place string) bool { return dir == place || same(dir, place) }) ||
		slices.ContainsFunc(systemTrees(), func(tree string) bool { return holds(tree, dir) })
}

// systemTrees are no projects, and nothing below them is one.
func systemTrees() []string {
	trees := []string{"/etc", "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/libexec", "/boot", "/dev", "/proc", "/sys", "/lost+found"}
	if runtime.GOOS == "darwin" {
		trees = append(trees, "/System", "/Library", "/Applications", "/cores", "/private/etc")
	}
	return trees
}

// userTrees lie in a system tree, and users keep projects in them all the same.
func userTrees() []string { return []string{"/usr/src", "/usr/local/src", "/usr/home"} }

// places hold other users' directories: they are no projects themselves, and what lies in them may be.
func places() []string {
	dirs := []string{"/var", "/var/lib", "/var/log", "/var/cache", "/var/spool", "/var/tmp", "/tmp", "/home", "/root", "/opt", "/srv", "/mnt",
		"/media", "/run", "/run/user", "/snap", "/nix", "/nix/store"}
	if runtime.GOOS == "darwin" {
		dirs = append(dirs, "/private", "/private/var", "/private/var/folders", "/private/tmp", "/Users", "/Users/Shared", "/Volumes", "/Network")
	}
	return dirs
}

// holds reports whether inner is outer or lies below it, by spelling or by identity. Neither has links; inner need not exist.
func holds(outer, inner string) bool {
	if outer == inner || outer == "/" || strings.HasPrefix(inner, outer+"/") {
		return true
	}
	for up := inner; up != "/" && up != "."; up = filepath.Dir(up) {
		if same(outer, up) {
			return true
		}
	}
	return false
}

// settled returns a path with the links of what exists of it resolved.
func settled(path string) string {
	base, rest := split(filepath.Clean(path))
	if real, err := filepath.EvalSymlinks(base); err == nil {
		return filepath.Join(real, rest)
	}
	return filepath.Clean(path)
}
