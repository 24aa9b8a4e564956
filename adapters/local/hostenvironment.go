package local

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/countersign-dev/countersign/app/deployments/mcpclients"
	"github.com/countersign-dev/countersign/domain/deployment"
)

// NewSurroundings returns the surroundings of this process, with Countersign's home and an environment.
func NewSurroundings(home string, env func(string) string) mcpclients.HostEnvironment {
	if abs, err := filepath.Abs(home); err == nil { // without a working directory, writing to a relative home fails later
		home = abs
	}
	return mcpclients.HostEnvironment{Home: home, Chosen: env(mcpclients.HomeVariable) != "", System: runtime.GOOS, Sep: filepath.Separator, Env: env,
		Program: ExecutablePath, Real: ResolvePath, Installed: installed(env)}
}

// ExecutablePath returns the absolute path of this executable, by its name on PATH if that leads to it: package managers move the target of such a
// name. lasting is false for one that a build has put into a temporary directory.
func ExecutablePath() (path string, lasting bool, err error) {
	path, err = os.Executable()
	if err != nil {
		return "", false, deployment.ErrPath.WithMessage("the path of this program is unknown: %v; use --print and set the path by hand", err)
	}
	if named, err := exec.LookPath(mcpclients.ProgramName); err == nil && filepath.IsAbs(named) && hostSame(named, path) {
		path = named
	}
	return path, !temporary(path), nil
}

func hostSame(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// temporary reports what go run and go test make: it is gone when they end.
func temporary(path string) bool {
	return strings.Contains(path, string(filepath.Separator)+"go-build") && strings.Contains(path, string(filepath.Separator)+"exe"+string(filepath.Separator)) ||
		strings.HasSuffix(path, ".test")
}

// ResolvePath returns a path with every symbolic link resolved, whether or not the file exists. It fails with deployment.ErrPath on a dangling link,
// and on a cycle of links.
func ResolvePath(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		return real, nil
	}
	info, absent := os.Lstat(path)
	switch {
	case absent == nil && info.Mode()&fs.ModeSymlink != 0 && errors.Is(err, fs.ErrNotExist):
		return "", deployment.ErrPath.WithMessage("%s is a dangling symbolic link; create its target, or remove the link", path).
			WithDetails(deployment.Details{}.AddPath("path", path))
	case absent == nil && info.Mode()&fs.ModeSymlink != 0:
		return "", deployment.ErrPath.WithMessage("%s is a symbolic link that cannot be followed: %v", path, err).WithDetails(deployment.Details{}.AddPath("path", path))
	case !errors.Is(absent, fs.ErrNotExist) || filepath.Dir(path) == path:
		return path, nil // the caller reports what cannot be read
	}
	above, err := ResolvePath(filepath.Dir(path))
	return filepath.Join(above, filepath.Base(path)), err
}

// installed looks for programs where that environment's PATH says.
func installed(env func(string) string) func(program string) bool {
	return func(program string) bool {
		for _, dir := range filepath.SplitList(env("PATH")) {
			for _, suffix := range suffixes() {
				info, err := os.Stat(filepath.Join(dir, program+suffix))
				if err == nil && filepath.IsAbs(dir) && info.Mode().IsRegular() && (suffix != "" || info.Mode()&0o111 != 0) {
					return true
				}
			}
		}
		return false
	}
}

// suffixes returns those of programs on this system.
func suffixes() []string {
	if runtime.GOOS == "windows" {
		return []string{".exe", ".cmd", ".bat"}
	}
	return []string{""}
}
