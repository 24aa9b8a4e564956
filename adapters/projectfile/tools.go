package projectfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/shellcmd"
)

const (
	maxVersion   = 64 // bytes of a version worth showing
	packageDepth = 4  // directories above a program in which the package.json of its package is looked for
)

// tools returns the package managers that a process in the project would be started with: found where its PATH leads, never where the
// project itself decides what they are.
func (d *directories) tools(in folder, v map[string]string, toolchains []string) shellcmd.Toolchain {
	t := shellcmd.Toolchain{Managers: map[project.Manager]string{}, Versions: map[project.Manager]string{}}
	path := searchPath(in.dir, append(filepath.SplitList(v["PATH"]), toolchains...))
	for _, m := range []project.Manager{project.NPM, project.PNPM, project.Yarn, project.Bun} {
		if found := program(in.dir, path, string(m)); found != "" {
			t.Managers[m] = found
			if version := installed(found, m); version != "" {
				t.Versions[m] = version
			}
		}
	}
	t.Corepack = program(in.dir, path, "corepack")
	t.Volta = program(in.dir, []string{under(v["VOLTA_HOME"], "bin"), under(d.home, ".volta/bin")}, "volta")
	return t
}

// searchPath returns what of a PATH the project does not command: absolute directories outside of it, and none of the node_modules/.bin that
// are on it when Countersign was itself started by a package manager.
func searchPath(project string, dirs []string) []string {
	commanded := func(dir string) bool { return inside(project, dir) || strings.HasSuffix(dir, "/node_modules/.bin") }
	var path []string
	for _, dir := range dirs {
		if !filepath.IsAbs(dir) {
			continue
		}
		dir = filepath.Clean(dir)
		if real, err := filepath.EvalSymlinks(dir); err == nil && !commanded(dir) && !commanded(real) && !slices.Contains(path, dir) {
			path = append(path, dir)
		}
	}
	return path
}

// inside reports whether path is dir or lies below it, by spelling; neither has links.
func inside(dir, path string) bool {
	below, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(below)
}

// program returns the first executable file of that name, "" when there is none. Its links stay: a version manager's shim is told by its name
// what to be.
func program(project string, dirs []string, name string) string {
	for _, dir := range dirs {
		path := under(dir, name)
		if path == "" {
			continue
		}
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			continue
		}
		if real, err := filepath.EvalSymlinks(path); err == nil && !inside(project, real) {
			return path
		}
	}
	return ""
}

// installed returns the version of the package that a manager's program belongs to, where that can be read: of shims and programs that stand
// alone it is "".
func installed(program string, m project.Manager) string {
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		return ""
	}
	dir := filepath.Dir(real)
	for range packageDepth {
		found, err := manifestIn(dir)
		if err == nil {
			if found.Name != string(m) || len(found.Version) > maxVersion || strings.ContainsFunc(found.Version, unicode.IsControl) {
				return ""
			}
			return found.Version
		}
		dir = filepath.Dir(dir)
	}
	return ""
}

func manifestIn(dir string) (project.Manifest, error) {
	if info, err := os.Lstat(filepath.Join(dir, manifestFile)); err != nil || !info.Mode().IsRegular() {
		return project.Manifest{}, fs.ErrNotExist
	}
	in, err := open(dir)
	if err != nil {
		return project.Manifest{}, err
	}
	defer in.Close()
	return in.manifest(manifestFile)
}
