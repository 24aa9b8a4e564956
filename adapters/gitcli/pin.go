package gitcli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/sandbox"
)

// The names that git gives.
const (
	gitDir    = ".git"
	adminDir  = "worktrees"
	backFile  = "gitdir" // of a linked tree's administration: where the tree's .git is
	Modules   = ".gitmodules"
	localTime = 30 * time.Second
)

// Repo is a clone with its main working tree. Several goroutines may use it at once.
type Repo struct {
	Dir     string // the main working tree
	Common  string // its .git
	timeout time.Duration
	busy    *os.File // the lock that its gits hold along with us (Alone)
}

// OpenRepo returns the clone in dir, whose .git has to be a directory. timeout is of one git that says no other; 0 is 30 seconds. It fails with
// sandbox.ErrGit.
func OpenRepo(dir string, timeout time.Duration) (*Repo, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, Disk(err, dir)
	}
	common := filepath.Join(dir, gitDir)
	if info, err := os.Lstat(common); err != nil || !info.IsDir() {
		return nil, sandbox.ErrGit.WithMessage("%s is not a clone: it has no directory %s; start the project again to clone it", dir, gitDir).WithCause(err)
	}
	if timeout <= 0 {
		timeout = localTime
	}
	return &Repo{Dir: dir, Common: common, timeout: timeout}, nil
}

// RepoGone reports whether a clone no longer exists.
func RepoGone(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, gitDir))
	return os.IsNotExist(err)
}

// Main returns the clone's own working tree.
func (r *Repo) Main() *Tree { return &Tree{Repo: r, Dir: r.Dir, Admin: r.Common} }

// Linked returns the clone's other working trees by their cleaned directories, which need not exist. Half-made ones are left out.
func (r *Repo) Linked() (map[string]*Tree, error) {
	below := filepath.Join(r.Common, adminDir)
	entries, err := os.ReadDir(below)
	if err != nil && !os.IsNotExist(err) {
		return nil, Disk(err, below)
	}
	trees := make(map[string]*Tree, len(entries))
	for _, entry := range entries {
		admin := filepath.Join(below, entry.Name())
		back, err := os.ReadFile(filepath.Join(admin, backFile))
		if err != nil {
			continue
		}
		path := strings.TrimRight(string(back), " \t\r\n")
		if !filepath.IsAbs(path) {
			path = filepath.Join(admin, path)
		}
		if filepath.Base(path) == gitDir {
			dir := filepath.Dir(path)
			trees[dir] = &Tree{Repo: r, Dir: dir, Admin: admin}
		}
	}
	return trees, nil
}

// Tree returns the working tree at dir, main or linked; ok is false if dir is not a working tree. Links in its path are allowed.
func (r *Repo) Tree(dir string) (t *Tree, ok bool, err error) {
	dir = filepath.Clean(dir)
	if dir == r.Dir || real(dir) == real(r.Dir) {
		return r.Main(), true, nil
	}
	linked, err := r.Linked()
	if err != nil {
		return nil, false, err
	}
	if t, ok = linked[dir]; ok {
		return t, true, nil
	}
	for path, t := range linked {
		if real(path) == real(dir) {
			return t, true, nil
		}
	}
	return nil, false, nil
}

// Spelled returns a path that git gave with its links resolved, as it is when one begins at the directory that the clone's was given in.
func (r *Repo) Spelled(path string) string {
	base := filepath.Dir(r.Dir)
	if rel, err := filepath.Rel(real(base), path); err == nil && filepath.IsLocal(rel) {
		return filepath.Join(base, rel)
	}
	return path
}

// real returns where a path leads; of one that does not exist, where its parent leads.
func real(path string) string {
	if found, err := filepath.EvalSymlinks(path); err == nil {
		return found
	}
	if found, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(found, filepath.Base(path))
	}
	return path
}

// Provisional returns a directory of which git knows nothing, as if it were a detached worktree at that commit; an empty one is a branch without
// commits. Its administration is a new directory outside of the clone, which the caller removes.
func (r *Repo) Provisional(dir, commit string) (*Tree, error) {
	admin, err := os.MkdirTemp("", "countersign-tree-*")
	if err != nil {
		return nil, Disk(err, os.TempDir())
	}
	if commit == "" {
		commit = "ref: refs/heads/none"
	}
	if err := os.WriteFile(filepath.Join(admin, "HEAD"), []byte(commit+"\n"), 0o600); err != nil {
		return nil, Disk(err, admin)
	}
	return &Tree{Repo: r, Dir: dir, Admin: admin}, nil
}

// Submodule returns one that Submodules named, or another repository in the tree, as a tree of its own clone.
func (t *Tree) Submodule(ctx context.Context, path string) (*Tree, error) {
	var dirs [2]string // of the tree, and of its repository: another one where it is a linked worktree of that
	for i, which := range []string{"--absolute-git-dir", "--git-common-dir"} {
		out, err := t.Inner(ctx, path, Command{Args: []string{"rev-parse", "--path-format=absolute", which}})
		if err != nil {
			return nil, err
		}
		dirs[i] = strings.TrimSuffix(string(out), "\n")
	}
	r := &Repo{Dir: filepath.Join(t.Dir, path), Common: dirs[1], timeout: t.timeout, busy: t.busy}
	return &Tree{Repo: r, Dir: r.Dir, Admin: dirs[0]}, nil
}

// Tree is one working tree of a clone. It belongs to one goroutine.
type Tree struct {
	*Repo
	Dir   string
	Admin string // where git keeps what is the tree's own

	looked bool
	links  []string // of submodules that are there
}

// Fresh returns the same tree, about which nothing is remembered: for after its files have changed.
func (t *Tree) Fresh() *Tree { return &Tree{Repo: t.Repo, Dir: t.Dir, Admin: t.Admin} }

// Exists reports whether the tree's directory is there.
func (t *Tree) Exists() bool {
	info, err := os.Lstat(t.Dir)
	return err == nil && info.IsDir()
}

// Has reports whether the tree's administration has a file or directory of that name.
func (t *Tree) Has(name string) bool {
	_, err := os.Lstat(filepath.Join(t.Admin, name))
	return err == nil
}

// Git runs a command.
func (t *Tree) Git(ctx context.Context, cmd Command) ([]byte, error) {
	if cmd.Dir == "" {
		cmd.Dir = t.Dir
	}
	if cmd.Timeout <= 0 {
		cmd.Timeout = t.timeout
	}
	cmd.Inherit = t.busy
	cmd.Env = append([]string{"GIT_DIR=" + t.Admin, "GIT_COMMON_DIR=" + t.Common, "GIT_WORK_TREE=" + t.Dir}, cmd.Env...)
	return Start(ctx, cmd)
}

// Word returns what Git prints, without the line's end.
func (t *Tree) Word(ctx context.Context, args ...string) (string, error) {
	out, err := t.Git(ctx, Command{Args: args})
	return strings.TrimSuffix(string(out), "\n"), err
}

// Status returns how the working tree differs from its last commit, renames taken apart. untracked is git's: with "normal" a directory may stand for
// all that is in it, with "all" every file is named. env is added to git's environment.
func (t *Tree) Status(ctx context.Context, untracked string, env ...string) (git.Status, error) {
	out, err := t.Git(ctx, Command{Env: env, Args: []string{"status", "--porcelain=v2", "-z", "--branch", "--ahead-behind", "--untracked-files=" + untracked, "--ignored=no", "--no-renames",
		"--ignore-submodules=none"}})
	if err != nil {
		return git.Status{}, err
	}
	s, err := git.ParseStatus(out)
	return s, unread(err)
}

// Worktrees returns the repository's working trees, the main one first.
func (t *Tree) Worktrees(ctx context.Context) ([]git.Worktree, error) {
	out, err := t.Git(ctx, Command{Args: []string{"worktree", "list", "--porcelain", "-z"}})
	if err != nil {
		return nil, err
	}
	list, err := git.ParseWorktrees(out)
	return list, unread(err)
}

// Refs returns the refs that a pattern matches: one of that name, or below it. The format is git.RefsFormat or git.RefsInWorktrees.
func (t *Tree) Refs(ctx context.Context, format string, patterns ...string) ([]git.Ref, error) {
	out, err := t.Git(ctx, Command{Args: append([]string{"for-each-ref", "--format=" + format}, patterns...)})
	if err != nil {
		return nil, err
	}
	refs, err := git.ParseRefs(out)
	return refs, unread(err)
}

// unread gives git.ErrOutput the name of the capability.
func unread(err error) error {
	if err == nil {
		return nil
	}
	return sandbox.ErrGit.WithMessage("%v", err).WithCause(err)
}

// Operation returns what git was stopped in the middle of in this tree.
func (t *Tree) Operation() string { return Operation(t.Admin) }

// Operation returns what git was stopped in the middle of in the tree with that administration (.git, or the directory that it names): rebase, am, merge,
// cherry-pick, revert or bisect; empty for nothing.
func Operation(admin string) string {
	for _, sign := range [][2]string{{"rebase-merge", "rebase"}, {"rebase-apply/applying", "am"}, {"rebase-apply", "rebase"}, {"MERGE_HEAD", "merge"},
		{"CHERRY_PICK_HEAD", "cherry-pick"}, {"REVERT_HEAD", "revert"}, {"BISECT_LOG", "bisect"}, {"BISECT_START", "bisect"}} {
		if there(filepath.Join(admin, sign[0])) {
			return sign[1]
		}
	}
	return ""
}

// Submodules returns the paths of the repositories in the tree that are there, submodules of theirs included.
func (t *Tree) Submodules(ctx context.Context) ([]string, error) {
	err := t.find(ctx)
	return t.links, err
}
