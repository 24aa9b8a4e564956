package worktree

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/sandbox"
)

const (
	indexFile       = "index"
	backupManyFiles = 1 << 30 // bytes of a list of files
)

// CommitWork commits what is in the working tree and the index of t, on top of base, and returns the commit's ID. An empty base is one without
// files. Ignored files are left out; of a repository that was put into the tree without being tracked, its files are kept. It fails with
// sandbox.ErrGit for a file that cannot be read.
func CommitWork(ctx context.Context, t *gitcli.Tree, base, about string, at time.Time) (string, error) {
	scratch, err := os.MkdirTemp("", "countersign-keep-*")
	if err != nil {
		return "", sandbox.ErrGit.WithMessage("%s cannot be used: %v; make sure that it is writable and has free space", os.TempDir(), err).WithCause(err)
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	m := maker{t: t, scratch: scratch, timeout: longTime, date: strconv.FormatInt(at.Unix(), 10) + " +0000"}
	return m.make(ctx, base, about)
}

const longTime = 10 * time.Minute // of a git that stores every file there is

type maker struct {
	t       *gitcli.Tree
	scratch string
	timeout time.Duration
	date    string
}

func (m maker) make(ctx context.Context, base, about string) (string, error) {
	var err error
	if base == "" {
		if base, err = m.empty(ctx, about); err != nil {
			return "", err
		}
	}
	paths, err := flagged(ctx, m.t)
	if err != nil {
		return "", err
	}
	if err := m.copyIndex(ctx, paths); err != nil {
		return "", err
	}
	index, err := m.git(ctx, indexFile, nil, "write-tree")
	if err != nil { // conflicts are in it; what they are about is in the working tree
		if index, err = m.git(ctx, indexFile, nil, "rev-parse", "--verify", base+"^{tree}"); err != nil {
			return "", err
		}
	}
	if _, err := m.git(ctx, indexFile, nil, "add", "--update"); err != nil {
		return "", err
	}
	work, err := m.git(ctx, indexFile, nil, "write-tree")
	if err != nil {
		return "", err
	}
	loose, err := m.loose(ctx)
	if err != nil {
		return "", err
	}
	staged, err := m.commit(ctx, "index on "+about, index, base)
	if err != nil {
		return "", err
	}
	parents := []string{base, staged}
	if loose != "" {
		untracked, err := m.commit(ctx, "untracked files on "+about, loose)
		if err != nil {
			return "", err
		}
		parents = append(parents, untracked)
	}
	return m.commit(ctx, "On "+about, work, parents...)
}

// empty returns a commit without files, as a base if there is none.
func (m maker) empty(ctx context.Context, about string) (string, error) {
	none, err := m.git(ctx, "none", nil, "write-tree")
	if err != nil {
		return "", err
	}
	return m.commit(ctx, "nothing was committed on "+about, none)
}

// env has git read the copy of the index.
func (m maker) env() string { return "GIT_INDEX_FILE=" + filepath.Join(m.scratch, indexFile) }

// copyIndex takes the tree's index along with what it remembers of its files, without the marks on those that are flagged.
func (m maker) copyIndex(ctx context.Context, flagged []string) error {
	said, err := os.ReadFile(filepath.Join(m.t.Admin, indexFile))
	if os.IsNotExist(err) {
		return nil
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(m.scratch, indexFile), said, 0o600)
	}
	if err != nil {
		return sandbox.ErrGit.WithMessage("the index of %s cannot be copied: %v", m.t.Dir, err).WithCause(err)
	}
	return unflag(ctx, m.t, flagged, m.env())
}

// loose returns the tree of the files that are not tracked; empty when there are none.
func (m maker) loose(ctx context.Context) (string, error) {
	out, err := m.t.Git(ctx, gitcli.Command{Args: []string{"ls-files", "--others", "--exclude-standard", "-z"}, Timeout: m.timeout, Limit: backupManyFiles,
		Env: []string{m.env()}})
	if err != nil {
		return "", err
	}
	var files strings.Builder
	for _, path := range git.SplitRecords(out) {
		for _, file := range within(m.t.Dir, path) {
			files.WriteString(file + "\x00")
		}
	}
	if files.Len() == 0 {
		return "", nil
	}
	if _, err := m.git(ctx, "loose", []byte(files.String()), "update-index", "--add", "-z", "--stdin"); err != nil {
		return "", err
	}
	return m.git(ctx, "loose", nil, "write-tree")
}

// within returns the path, or, of another repository, the files in it.
func within(top, path string) (files []string) {
	if !strings.HasSuffix(path, "/") {
		return []string{path}
	}
	_ = filepath.WalkDir(filepath.Join(top, filepath.FromSlash(path)), func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil
		case entry.Name() == ".git" && entry.IsDir():
			return filepath.SkipDir
		case entry.Name() != ".git" && (entry.Type().IsRegular() || entry.Type()&fs.ModeSymlink != 0):
			if name, err := filepath.Rel(top, file); err == nil {
				files = append(files, filepath.ToSlash(name))
			}
		}
		return nil
	})
	return files
}

func (m maker) commit(ctx context.Context, message, files string, parents ...string) (string, error) {
	args := []string{"commit-tree", "-m", message}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	return m.git(ctx, indexFile, nil, append(args, files)...)
}

// git runs one command over an index of ours.
func (m maker) git(ctx context.Context, index string, stdin []byte, args ...string) (string, error) {
	out, err := m.t.Git(ctx, gitcli.Command{Args: args, Stdin: stdin, Timeout: m.timeout, Settings: plain(), Env: []string{
		"GIT_INDEX_FILE=" + filepath.Join(m.scratch, index), "GIT_AUTHOR_DATE=" + m.date, "GIT_COMMITTER_DATE=" + m.date}})
	return strings.TrimSuffix(string(out), "\n"), err
}

// plain has every file kept, and byte by byte where git can.
func plain() []gitcli.Setting {
	return []gitcli.Setting{{Name: "core.safecrlf", Value: "false"}, {Name: "add.ignoreErrors", Value: "false"}, {Name: "i18n.commitEncoding", Value: "UTF-8"}}
}

// WorkBase returns the base commit of a backup.
func WorkBase(ctx context.Context, t *gitcli.Tree, commit string) (string, error) {
	return t.Word(ctx, "rev-parse", "--verify", commit+"^1^{commit}")
}

// RestoreWork puts what was kept into a working tree that is clean at Base: files as they were, and the index too. Nothing that is not tracked is
// overwritten.
func RestoreWork(ctx context.Context, t *gitcli.Tree, commit string) error {
	do := func(env []string, args ...string) error {
		_, err := t.Git(ctx, gitcli.Command{Args: args, Env: env, Timeout: longTime})
		return err
	}
	if err := do(nil, "read-tree", "--reset", "-u", commit+"^{tree}"); err != nil {
		return err
	}
	if err := do(nil, "read-tree", "--reset", commit+"^2^{tree}"); err != nil {
		return err
	}
	_ = do(nil, "update-index", "-q", "--refresh") // reports files that differ
	loose, err := t.Word(ctx, "rev-parse", "--verify", "--quiet", commit+"^3^{tree}")
	if gitcli.ExitOf(err) == 1 {
		return nil
	}
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "countersign-keep-*")
	if err != nil {
		return sandbox.ErrGit.WithMessage("%s cannot be used: %v; make sure that it is writable and has free space", os.TempDir(), err).WithCause(err)
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	env := []string{"GIT_INDEX_FILE=" + filepath.Join(scratch, indexFile)}
	if err := do(env, "read-tree", loose); err != nil {
		return err
	}
	return do(env, "checkout-index", "--all", "--quiet")
}
