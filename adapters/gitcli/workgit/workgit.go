// Package workgit implements projectport.WorkTrees: staging, commits, branches, stashes, pushes and pulls in repositories of the user's own, with the user's git
// configuration, and with nothing run that a repository names.
//
// Its API may change at any time.
package workgit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/project"
)

const (
	gitTime   = time.Minute
	longTime  = 10 * time.Minute // a commit with hooks, a push, a fetch
	maxPatch  = 32 << 20         // bytes of a diff
	maxText   = 4 << 20          // bytes of the diff of a file that attributes call binary
	maxHidden = 500              // files among which such are looked for
	maxFresh  = 1000             // untracked files that are looked into
	maxLines  = 200              // commits that are listed
)

// Client is projectport.WorkTrees. Several goroutines may use it at once.
type Client struct{}

// tree is one working tree.
type tree struct {
	top    string
	admin  string // its own git directory
	common string
}

// open finds the working tree around a directory.
func open(ctx context.Context, dir string) (tree, error) {
	out, err := run(ctx, gitcli.Command{Dir: dir, Args: []string{"rev-parse", "--path-format=absolute", "--show-toplevel", "--absolute-git-dir", "--git-common-dir"}})
	if err != nil {
		return tree{}, err
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != 3 {
		return tree{}, project.ErrNotRepository.WithMessage("%s is in a bare git repository", dir)
	}
	return tree{lines[0], lines[1], lines[2]}, nil
}

// run starts git with the user's configuration.
func run(ctx context.Context, c gitcli.Command) ([]byte, error) {
	c.Machine = true
	if c.Timeout <= 0 {
		c.Timeout = gitTime
	}
	c.Settings = append([]gitcli.Setting{{Name: "core.quotePath", Value: "false"}, {Name: "advice.detachedHead", Value: "false"}, {Name: "core.bigFileThreshold", Value: "4m"},
		{Name: "diff.suppressBlankEmpty", Value: "false"}, {Name: "apply.ignoreWhitespace", Value: "no"}, {Name: "merge.autoStash", Value: "false"}, {Name: "rebase.autoStash", Value: "false"}}, c.Settings...)
	c.Env = append([]string{"GIT_LFS_SKIP_SMUDGE=1", "GIT_LITERAL_PATHSPECS=1", gitcli.SSH("")}, c.Env...)
	out, err := c.Output(ctx)
	if err == nil {
		return out, nil
	}
	var missing *gitcli.MissingError
	var told *fault.Error
	words := gitcli.Words(err)
	switch {
	case ctx.Err() != nil:
		return nil, fault.From(ctx.Err())
	case errors.As(err, &told):
		return nil, err
	case errors.As(err, &missing):
		return nil, project.ErrExecutionFailed.WithMessage("git cannot be started; install git 2.39 or newer and make sure it is on the PATH").WithCause(err)
	case errors.Is(err, context.DeadlineExceeded):
		return nil, project.ErrExecutionTimeout.WithMessage("git %s in %s took longer than %s and was stopped", c.Args[0], c.Dir, c.Timeout).WithCause(err)
	case errors.Is(err, gitcli.ErrLarge):
		return nil, project.ErrExecutionFailed.WithMessage("the output of git %s in %s is too large; name fewer files, or check whether some are missing from .gitignore", c.Args[0], c.Dir).WithCause(err)
	case strings.Contains(words, "not a git repository"):
		return nil, project.ErrNotRepository.WithMessage("%s is not in a git repository", c.Dir).WithCause(err)
	case strings.Contains(words, ".lock': File exists"):
		return nil, project.ErrConflict.WithMessage("another git process is running in %s; try again when it has finished (%s)", c.Dir, gitcli.Last(words)).WithCause(err)
	}
	return nil, project.ErrExecutionFailed.WithMessage("git %s in %s failed: %s", c.Args[0], c.Dir, gitcli.Last(words)).WithCause(err)
}

func (t tree) git(ctx context.Context, args ...string) ([]byte, error) {
	return run(ctx, gitcli.Command{Dir: t.top, Args: args})
}

func (t tree) word(ctx context.Context, args ...string) (string, error) {
	out, err := t.git(ctx, args...)
	return strings.TrimSuffix(string(out), "\n"), err
}

// commit returns the commit that a word names; empty where it names none.
func (t tree) commit(ctx context.Context, ref string) (string, error) {
	if ref == "" || strings.ContainsRune(ref, 0) {
		return "", nil
	}
	at, err := t.word(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", ref+"^{commit}")
	if gitcli.ExitOf(err) != 0 {
		return "", nil
	}
	return at, err
}

// branch returns the branch that is checked out; empty when none is.
func (t tree) branch(ctx context.Context) (string, error) {
	ref, err := t.word(ctx, "symbolic-ref", "--quiet", "HEAD")
	if gitcli.ExitOf(err) == 1 {
		return "", nil
	}
	return strings.TrimPrefix(ref, git.HeadsPrefix), err
}

// config returns a setting; empty where it is not made.
func (t tree) config(ctx context.Context, name string) (string, error) {
	value, err := t.word(ctx, "config", "--get", name)
	if gitcli.ExitOf(err) == 1 {
		return "", nil
	}
	return value, err
}

// unfiltered fails if the repository's own configuration sets filters: they are programs, and without them different contents would be stored.
func (t tree) unfiltered(ctx context.Context) error {
	named, err := t.filters(ctx)
	if err != nil || len(named) == 0 {
		return err
	}
	return project.ErrArgument.WithMessage("the repository's own configuration sets filter programs (%s); Countersign does not run them, and without them different contents would be stored; use git by hand, or set them in your own configuration (git config --global)", strings.Join(named, ", "))
}

func (t tree) filters(ctx context.Context) ([]string, error) {
	said, err := gitcli.Command{Dir: t.top, Machine: true}.Named(ctx)
	var names []string
	for _, s := range said {
		names = append(names, gitcli.Mask(s.Name))
	}
	return names, err
}

// doing returns what git was stopped in the middle of.
func (t tree) doing() string { return gitcli.Operation(t.admin) }

// Top implements projectport.WorkTrees.
func (Client) Top(ctx context.Context, dir string) (string, error) {
	t, err := open(ctx, dir)
	return t.top, err
}

func (t tree) status(ctx context.Context) (git.Status, error) {
	out, err := t.git(ctx, "status", "--porcelain=v2", "-z", "--branch", "--ahead-behind", "--untracked-files=all", "--ignored=no", "--no-renames", "--ignore-submodules=dirty")
	if err != nil {
		return git.Status{}, err
	}
	s, err := git.ParseStatus(out)
	if err != nil {
		return s, project.ErrExecutionFailed.WithMessage("%v", err).WithCause(err)
	}
	return s, nil
}

// Look implements projectport.WorkTrees.
func (Client) Look(ctx context.Context, dir string) (project.WorkTree, error) {
	t, err := open(ctx, dir)
	if err != nil {
		return project.WorkTree{}, err
	}
	s, err := t.status(ctx)
	if err != nil {
		return project.WorkTree{}, err
	}
	w := project.WorkTree{Top: t.top, Branch: s.Branch, Head: s.Head, Upstream: s.Upstream, Ahead: s.Ahead, Behind: s.Behind, Doing: t.doing()}
	var fresh []string
	for _, c := range s.Changes {
		switch {
		case c.Kind == git.Unmerged:
			w.Conflicted = append(w.Conflicted, c.Path)
		case c.Kind == git.Untracked && (len(fresh) == maxFresh || strings.HasSuffix(c.Path, "/")): // too many, or a nested repository
			w.MoreUntracked++
		case c.Kind == git.Untracked:
			fresh = append(fresh, c.Path)
		}
	}
	if w.Filters, err = t.filters(ctx); err != nil {
		return w, err
	}
	if w.Staged, err = t.diff(ctx, diffOptions{staged: true}); err != nil {
		return w, err
	}
	if w.Unstaged, err = t.diff(ctx, diffOptions{fresh: fresh}); err != nil {
		return w, err
	}
	if w.Branches, err = t.branches(ctx); err != nil {
		return w, err
	}
	w.Stashes, err = t.stashes(ctx)
	return w, err
}

// diffOptions is what is compared.
type diffOptions struct {
	staged bool
	binary bool     // with the contents of binary files
	paths  []string // only these
	fresh  []string // untracked files that are taken for new ones
	args   []string // commits, or options
}

// diff compares. Whatever the configuration says, it is a plain git diff without renames.
func (t tree) diff(ctx context.Context, o diffOptions) ([]project.FilePatch, error) {
	args := []string{"diff", "--patch", "--no-color", "--no-renames", "--no-ext-diff", "--no-textconv", "--submodule=short", "--ignore-submodules=dirty", "--src-prefix=a/", "--dst-prefix=b/", "-O/dev/null",
		"--no-relative", "--unified=3", "--inter-hunk-context=0", "--full-index", "--diff-algorithm=myers", "--no-indent-heuristic", "--diff-filter=u"}
	if o.staged {
		args = append(args, "--cached")
	}
	if o.binary {
		args = append(args, "--binary")
	}
	args = append(append(append(args, o.args...), "--"), o.paths...)
	c := gitcli.Command{Dir: t.top, Args: args, Limit: maxPatch}
	if len(o.fresh) > 0 {
		index, done, err := t.scratchIndex()
		if err != nil {
			return nil, err
		}
		defer done()
		c.Env = []string{"GIT_INDEX_FILE=" + index}
		if _, err := run(ctx, gitcli.Command{Dir: t.top, Env: c.Env, Args: []string{"add", "--intent-to-add", "--pathspec-from-file=-", "--pathspec-file-nul"}, Stdin: []byte(strings.Join(o.fresh, "\x00") + "\x00")}); err != nil {
			return nil, err
		}
	}
	out, err := run(ctx, c)
	if err != nil {
		return nil, err
	}
	files, err := project.ParsePatch(string(out))
	for i := range files {
		if files[i].Binary && err == nil && i < maxHidden {
			files[i], err = t.text(ctx, c, files[i])
		}
		files[i].New = slices.Contains(o.fresh, files[i].Path)
	}
	return files, err
}

// text returns the lines of a file that the comparison took for binary, where it has no NUL: attributes of the repository hide nothing that can be read.
func (t tree) text(ctx context.Context, c gitcli.Command, f project.FilePatch) (project.FilePatch, error) {
	end := slices.Index(c.Args, "--")
	c.Args = append(slices.DeleteFunc(slices.Clone(c.Args[:end]), func(arg string) bool { return arg == "--binary" }), "--text", "--", f.Path)
	c.Limit = maxText
	out, err := run(ctx, c)
	if errors.Is(err, gitcli.ErrLarge) || bytes.IndexByte(out, 0) >= 0 {
		return f, nil
	}
	if err != nil {
		return f, err
	}
	files, err := project.ParsePatch(string(out))
	if err != nil || len(files) != 1 || files[0].Path != f.Path {
		return f, err
	}
	return files[0], nil
}

// scratchIndex returns a copy of the index, to be changed in its place.
func (t tree) scratchIndex() (path string, done func(), err error) {
	dir, err := os.MkdirTemp("", "countersign-index-*")
	if err != nil {
		return "", nil, project.ErrExecutionFailed.WithMessage("%s cannot be written: %v", os.TempDir(), err).WithCause(err)
	}
	done = func() { _ = os.RemoveAll(dir) }
	path = filepath.Join(dir, "index")
	text, err := os.ReadFile(filepath.Join(t.admin, "index"))
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		done()
		return "", nil, project.ErrExecutionFailed.WithMessage("the index of %s cannot be read: %v", t.top, err).WithCause(err)
	}
	return path, done, nil
}

// Patch implements projectport.WorkTrees.
func (Client) Patch(ctx context.Context, dir string, staged bool, paths []string) ([]project.FilePatch, error) {
	t, err := open(ctx, dir)
	if err != nil {
		return nil, err
	}
	o := diffOptions{staged: staged, binary: true, paths: paths}
	if !staged {
		if err := t.unfiltered(ctx); err != nil {
			return nil, err
		}
		out, err := t.git(ctx, append([]string{"ls-files", "--others", "--exclude-standard", "-z", "--"}, paths...)...)
		if err != nil {
			return nil, err
		}
		o.fresh = git.SplitRecords(out)
	}
	return t.diff(ctx, o)
}

// Stage implements projectport.WorkTrees.
func (Client) Stage(ctx context.Context, dir, patch string, back bool) error {
	t, err := open(ctx, dir)
	if err != nil {
		return err
	}
	args := []string{"apply", "--cached", "--whitespace=nowarn"}
	if back {
		args = append(args, "--reverse")
	}
	_, err = run(ctx, gitcli.Command{Dir: t.top, Args: append(args, "-"), Stdin: []byte(patch)})
	if words := gitcli.Words(err); strings.Contains(words, "does not apply") || strings.Contains(words, "already exists in index") {
		return project.ErrConflict.WithMessage("the staged changes changed in the meantime: %s; call again to get the new plan", gitcli.Last(words)).WithCause(err)
	}
	if err == nil {
		_, _ = t.git(ctx, "update-index", "-q", "--refresh") // so that git need not look into the files again; it fails where some differ
	}
	return err
}

// commitHooks are what git starts around a commit, or one that takes the place of another.
func commitHooks(amend bool) []string {
	names := []string{"pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "reference-transaction", "post-index-change"}
	if amend {
		names = append(names, "post-rewrite")
	}
	return names
}

// hooks returns those of the names that the repository has.
func (t tree) hooks(ctx context.Context, names ...string) ([]project.GitHook, error) {
	out, err := run(ctx, gitcli.Command{Dir: t.top, Hooks: true, Args: []string{"rev-parse", "--path-format=absolute", "--git-path", "hooks"}}) // it runs none
	if err != nil {
		return nil, err
	}
	dir := strings.TrimSuffix(string(out), "\n")
	var found []project.GitHook
	for _, name := range names {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, project.ErrExecutionFailed.WithMessage("the hook %s cannot be read: %v", path, err).WithCause(err)
		}
		sum := sha256.Sum256(text)
		found = append(found, project.GitHook{Name: name, Path: path, SHA256: hex.EncodeToString(sum[:])})
	}
	return found, nil
}

// same reports whether hooks are as they were shown.
func same(a, b []project.GitHook) error {
	if !slices.Equal(a, b) {
		return project.ErrConflict.WithMessage("the repository's hooks changed in the meantime; call again to see them")
	}
	return nil
}

// author returns who makes commits, as the user's configuration says.
func (t tree) author(ctx context.Context) (string, error) {
	said, err := t.word(ctx, "var", "GIT_AUTHOR_IDENT")
	if err != nil {
		return "", project.ErrArgument.WithMessage("git has no author name and email: %s; set them with git config --global user.name and user.email", firstLine(gitcli.Words(err))).WithCause(err)
	}
	name, _, _ := strings.Cut(said, ">")
	return name + ">", nil
}

func firstLine(words string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(gitcli.Last(words)), ";")
	return line
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// lfs reports a repository with files that git-lfs keeps.
func (t tree) lfs() bool { return there(filepath.Join(t.common, "lfs")) }
