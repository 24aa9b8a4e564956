package projectfile

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/project"
)

const (
	manifestFile = "package.json"
	maxFirstLine = 256 // bytes read of .nvmrc and .node-version
)

// The ways a file in a project cannot be read; they become part of a message.
var (
	errIrregular = errors.New("it is not a regular file")
	errLeadsOut  = errors.New("it is a link to nothing inside the project")
	errTooLarge  = errors.New("it is too large")
)

// Facts implements projectport.Directories. It looks for the names that matter and reads three files, so a directory with a million
// entries costs as much as one with ten.
func (d *directories) Facts(ctx context.Context, dir string) (project.Facts, error) {
	if err := ctx.Err(); err != nil {
		return project.Facts{}, err
	}
	facts, top, err := factsAt(dir)
	if err != nil || top || facts.Manifest == nil || facts.DecidedBy != "" {
		return facts, err
	}
	return facts.Within(workspaceAbove(dir)), nil
}

// workspaceAbove returns the facts of the nearest workspace that the directory may be a member of, up to the top of the git repository that it is in; without such
// a top, nothing above it counts.
func workspaceAbove(dir string) (found project.Facts) {
	for at := filepath.Dir(dir); at != filepath.Dir(at); at = filepath.Dir(at) {
		outer, top, err := factsAt(at)
		if err != nil && !errors.Is(err, project.ErrPath) {
			return project.Facts{} // nobody can tell which manager the whole is run with
		}
		if found.DecidedBy == "" && outer.Monorepo {
			found = outer
		}
		if top {
			return found
		}
	}
	return project.Facts{}
}

// factsAt returns what one directory tells by itself, and whether a git repository begins there.
func factsAt(dir string) (facts project.Facts, top bool, err error) {
	in, err := open(dir)
	if err != nil {
		return project.Facts{}, false, err
	}
	defer in.Close()
	c := project.DirContents{Has: in.has, NVMRC: in.firstLine(".nvmrc"), NodeVersion: in.firstLine(".node-version")}
	if m, err := in.manifest(manifestFile); err == nil {
		c.Manifest = &m
	} else if !errors.Is(err, fs.ErrNotExist) {
		c.Broken = err
	}
	facts, err = project.DetectFacts(c)
	return facts, in.has(".git"), err
}

// folder is a directory that is open: nothing outside of it can be reached through it, whatever becomes of its entries meanwhile.
type folder struct {
	*os.Root
	dir string // without links
}

// open fails with project.ErrPath when there is no directory any more, or a link or a file in its place.
func open(dir string) (folder, error) {
	info, err := os.Lstat(dir) // and not by opening it: a pipe in its place would keep us waiting
	if err != nil || !info.IsDir() {
		return folder{}, outside(dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return folder{}, outside(dir)
	}
	root, err := os.OpenRoot(real)
	if errors.Is(err, fs.ErrNotExist) {
		return folder{}, outside(dir)
	}
	return folder{Root: root, dir: real}, err
}

func (f folder) has(name string) bool {
	_, err := f.Lstat(name)
	return err == nil
}

// manifest reads a package.json. It fails with fs.ErrNotExist or project.ErrManifest.
func (f folder) manifest(name string) (project.Manifest, error) {
	data, err := f.read(name, project.MaxManifest)
	switch {
	case errors.Is(err, errTooLarge):
		return project.Manifest{}, project.ErrManifest.WithMessage("package.json exceeds the limit of %d bytes", project.MaxManifest)
	case errors.Is(err, fs.ErrNotExist):
		return project.Manifest{}, fs.ErrNotExist
	case err != nil:
		return project.Manifest{}, project.ErrManifest.WithMessage("package.json cannot be read: %v", reason(err))
	}
	return project.ParseManifest(data)
}

// reason is err without the path, which a message names already.
func reason(err error) error {
	var file *fs.PathError
	if errors.As(err, &file) {
		return file.Err
	}
	return err
}

// firstLine returns the first line of a small text file, "" when there is none that could be shown.
func (f folder) firstLine(name string) string {
	data, err := f.head(name, maxFirstLine)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(strings.TrimPrefix(string(data), "\ufeff"), "\n")
	line = strings.TrimSpace(line)
	if !utf8.ValidString(line) || strings.ContainsFunc(line, unicode.IsControl) {
		return ""
	}
	return line
}

// read returns all of a regular file of at most limit bytes.
func (f folder) read(name string, limit int64) ([]byte, error) {
	data, err := f.take(name, limit+1, limit)
	if err == nil && int64(len(data)) > limit {
		return nil, errTooLarge // it grew while it was read
	}
	return data, err
}

// head returns the first limit bytes of a regular file.
func (f folder) head(name string, limit int64) ([]byte, error) { return f.take(name, limit, -1) }

// take reads at most limit bytes of a regular file whose size is at most refuse, if that is not negative.
func (f folder) take(name string, limit, refuse int64) ([]byte, error) {
	name, err := f.follow(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat(name) // before opening: opening a device can do something
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errIrregular
	case refuse >= 0 && info.Size() > refuse:
		return nil, errTooLarge
	}
	file, err := f.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe put in its place meanwhile does not block
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err = file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fault.ErrUnavailable.WithMessage("%s was replaced while it was read", name).WithCause(err)
	}
	return io.ReadAll(io.LimitReader(file, limit))
}

// follow returns the name of the file that a name leads to. os.Root follows relative links by itself, but refuses absolute ones even when
// they lead back inside. Whether there is anything outside where a link leads is not told.
func (f folder) follow(name string) (string, error) {
	info, err := f.Lstat(name)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return name, err
	}
	target, err := filepath.EvalSymlinks(filepath.Join(f.dir, name))
	if err != nil || !inside(f.dir, target) {
		return "", errLeadsOut
	}
	return filepath.Rel(f.dir, target)
}
