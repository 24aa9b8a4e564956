package ecosystemfile

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/domain/ecosystem"
)

// Names of files and directories that others look for, too.
const (
	ecosystems   = "ecosystems" // below the workspace root, and below the state directory
	manifestFile = "ecosystem.yaml"
	stateFile    = "state.json"
	ownerFile    = "workspace_root" // in an ecosystem's state directory: whose it is

	maxOwner  = 8 << 10
	hashChars = 8
)

// pathOptions are what the places follow from. Only Home and Env count where they say something; empty ones are not errors until they are needed.
type pathOptions struct {
	Env  func(name string) string // variables of this process; nil for none
	Home string                   // the user's home directory
	Dir  string                   // the working directory; empty asks the system
}

// PathFinder finds. It implements ecosystemport.Places, and keeps nothing between calls.
type PathFinder struct{ o pathOptions }

// NewPathFinder finds by those options.
func NewPathFinder(o pathOptions) *PathFinder {
	if o.Env == nil {
		o.Env = func(string) string { return "" }
	}
	return &PathFinder{o}
}

// ConfigDir, DataDir and StateDir are the user's directories for settings, for what is kept, and for what is recorded. They fail with ecosystem.ErrRoot
// when nobody said where the user's things are.
func (f *PathFinder) ConfigDir() (string, error) {
	return f.own("AMOF_CONFIG_HOME", "config", "XDG_CONFIG_HOME", ".config")
}

// DataDir is documented at ConfigDir.
func (f *PathFinder) DataDir() (string, error) {
	return f.own("AMOF_DATA_HOME", "share", "XDG_DATA_HOME", ".local/share")
}

// StateDir is documented at ConfigDir.
func (f *PathFinder) StateDir() (string, error) {
	return f.own("AMOF_STATE_HOME", "state", "XDG_STATE_HOME", ".local/state")
}

// RunsDir returns where the records of runs are.
func (f *PathFinder) RunsDir() (string, error) {
	if dir := f.env("AMOF_RUNS_DIR"); dir != "" {
		return f.absolute(dir)
	}
	data, err := f.DataDir()
	return filepath.Join(data, "runs"), err
}

// own returns one of the user's directories: by its own variable, below AMOF_HOME, or as the XDG specification has it. That one wants relative paths
// ignored.
func (f *PathFinder) own(variable, sub, xdg, standard string) (string, error) {
	if dir := f.env(variable); dir != "" {
		return f.absolute(dir)
	}
	if dir := f.env("AMOF_HOME"); dir != "" {
		home, err := f.absolute(dir)
		return filepath.Join(home, sub), err
	}
	if dir := f.env(xdg); filepath.IsAbs(dir) {
		return filepath.Join(filepath.Clean(dir), "amof"), nil
	}
	dir, err := f.absolute(standard)
	return filepath.Join(dir, "amof"), err
}

func (f *PathFinder) env(name string) string { return strings.TrimSpace(f.o.Env(name)) }

// absolute returns a path with ~ expanded; a relative one counts from the home directory, which is the same for every process.
func (f *PathFinder) absolute(path string) (string, error) {
	if path == "~" {
		path = "."
	}
	path = strings.TrimPrefix(path, "~/")
	if !filepath.IsAbs(path) {
		if !filepath.IsAbs(f.o.Home) {
			return "", ecosystem.ErrRoot.WithMessage("the home directory is unknown; set HOME, or AMOF_HOME to an absolute path")
		}
		path = filepath.Join(f.o.Home, path)
	}
	return filepath.Clean(path), nil
}

// Root implements ecosystemport.Places. AMOF_CWD counts like AMOF_WORKSPACE_ROOT, which wins. A worktree of a workspace root, as every installed
// workspace is one, leads to that root.
func (f *PathFinder) Root(ctx context.Context) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	working, err := f.working()
	if err != nil {
		return "", err
	}
	for _, name := range []string{"AMOF_WORKSPACE_ROOT", "AMOF_CWD"} {
		dir := f.env(name)
		if dir == "" {
			continue
		}
		if !filepath.IsAbs(dir) && !strings.HasPrefix(dir, "~") {
			dir = filepath.Join(working, dir)
		}
		return f.resolved(dir, name)
	}
	settings, err := f.Settings(ctx)
	switch {
	case err != nil:
		return "", err
	case settings.WorkspaceRoot != "":
		return f.resolved(settings.WorkspaceRoot, settingsFile)
	}
	if working, err = f.resolved(working, "the working directory"); err != nil {
		return "", err
	}
	for dir := working; ; dir = filepath.Dir(dir) {
		if isDir(filepath.Join(dir, ecosystems)) && isRepository(dir) {
			return mainOf(dir), nil
		}
		if dir == filepath.Dir(dir) {
			return working, nil
		}
	}
}

func (f *PathFinder) working() (string, error) {
	if f.o.Dir != "" {
		return f.o.Dir, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", ecosystem.ErrRoot.WithMessage("the working directory no longer exists; change to another one, or set AMOF_WORKSPACE_ROOT").WithCause(err)
	}
	return dir, nil
}

// resolved returns a directory with its links resolved.
func (f *PathFinder) resolved(dir, source string) (string, error) {
	path, err := f.absolute(dir)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", ecosystem.ErrRoot.WithMessage("the workspace root %s (%s) does not exist; create it, or name another", path, source)
	case err != nil:
		return "", ecosystem.ErrRoot.WithMessage("the workspace root %s (%s) cannot be opened", path, source).WithCause(err)
	case !isDir(real):
		return "", ecosystem.ErrRoot.WithMessage("the workspace root %s (%s) is not a directory; name another", path, source)
	}
	return real, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func isRepository(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, ".git"))
	return err == nil
}

// mainOf returns the repository that dir is a worktree of, where that is a workspace root; else dir.
func mainOf(dir string) string {
	file, err := os.Open(filepath.Join(dir, ".git"))
	if err != nil {
		return dir
	}
	defer file.Close()
	line := make([]byte, maxOwner)
	n, err := file.Read(line)
	gitDir, ok := bytes.CutPrefix(bytes.TrimSpace(line[:n]), []byte("gitdir: "))
	if err != nil || !ok {
		return dir
	}
	path := string(gitDir)
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	trees := filepath.Dir(path) // <root>/.git/worktrees
	root := filepath.Dir(filepath.Dir(trees))
	if filepath.Base(trees) != "worktrees" || filepath.Base(filepath.Dir(trees)) != ".git" || !isDir(filepath.Join(root, ecosystems)) {
		return dir
	}
	if real, err := filepath.EvalSymlinks(root); err == nil {
		return real
	}
	return root
}

// Layout implements ecosystemport.Places. The state of an ecosystem is in a directory of its name, unless that one is of another workspace's
// ecosystem: then it is in one with the workspace's hash behind the name.
func (f *PathFinder) Layout(ctx context.Context, root, name string) (ecosystem.Layout, error) {
	if err := cmp.Or(ctx.Err(), ecosystem.CheckName(name)); err != nil {
		return ecosystem.Layout{}, err
	}
	state, err := f.StateDir()
	if err != nil {
		return ecosystem.Layout{}, err
	}
	data, err := f.DataDir()
	if err != nil {
		return ecosystem.Layout{}, err
	}
	dir := filepath.Join(root, ecosystems, name)
	l := ecosystem.Layout{
		Name: name, Root: root, Dir: dir, Manifest: filepath.Join(dir, manifestFile), Workspace: filepath.Join(root, "worktrees", name),
		State: filepath.Join(state, ecosystems, name), Data: data,
	}
	switch owner, err := owner(l.State); {
	case err != nil:
		return ecosystem.Layout{}, err
	case owner != "" && owner != root:
		sum := sha256.Sum256([]byte(root))
		l.State += "@" + hex.EncodeToString(sum[:])[:hashChars]
	}
	return l, nil
}

// owner returns the workspace root that an ecosystem's state directory belongs to, empty when it belongs to none yet.
func owner(dir string) (string, error) {
	text, _, err := docfile.NewDir(dir).Read(ownerFile, maxOwner)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSuffix(string(text), "\n"), err
}
