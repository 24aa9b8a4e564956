package worktree

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// Compare implements sandboxport.Repositories. Files that are not tracked are seen through a copy of the index: the tree's own stays as it is.
func (c *Client) Compare(ctx context.Context, repo, dir string, o sandboxport.Compare) (sandboxport.Comparison, error) {
	d, err := c.looked(ctx, repo, dir, o)
	if err != nil {
		return sandboxport.Comparison{}, err
	}
	if o.From != "" {
		err = d.from(ctx, o.From)
	}
	if err == nil {
		err = d.files(ctx)
	}
	return d.Comparison, err
}

// looked is a comparison without its files.
func (c *Client) looked(ctx context.Context, repo, dir string, o sandboxport.Compare) (*comparison, error) {
	at, err := c.open(repo)
	if err != nil {
		return nil, err
	}
	t, err := sandboxTree(at, dir)
	if err != nil {
		return nil, err
	}
	refs, tips, err := branchTips(ctx, at)
	if err == nil {
		err = standsOn(ctx, at, &refs)
	}
	if err != nil {
		return nil, err
	}
	status, setup, err := statusOfWork(ctx, t, "all")
	if err != nil {
		return nil, err
	}
	d := &comparison{t: t, status: status, setup: setup, options: o, Comparison: sandboxport.Comparison{Setup: len(setup), Branch: status.Branch, Head: status.Head, Doing: t.Operation(), Uncommitted: []string{},
		Commits: []sandboxport.CommitLine{}, Files: []sandboxport.ChangedFile{}}}
	base, err := refs.Base(d.Branch, o.BaseRef, o.Base)
	if err != nil {
		return nil, err
	}
	d.Base, d.BaseCommit = base.Name, tips[base.Ref]
	d.Uncommitted, d.MoreChanges = changeLines(status.Changes)
	return d, d.commits(ctx)
}

// CountLines implements sandboxport.Repositories. Links that lead out of the tree are not followed.
func (c *Client) CountLines(_ context.Context, dir, path string) (int, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0, gitcli.Disk(err, dir)
	}
	defer func() { _ = root.Close() }()
	name := filepath.FromSlash(path)
	info, err := root.Stat(name)
	switch {
	case err != nil:
		return 0, sandbox.ErrArguments.WithMessage("file %s not found in %s; give a path relative to the sandbox's root", path, dir).WithCause(err)
	case !info.Mode().IsRegular():
		return 0, sandbox.ErrArguments.WithMessage("%s in %s is not a file; give a path relative to the sandbox's root", path, dir)
	}
	file, err := root.Open(name)
	if err != nil {
		return 0, gitcli.Disk(err, dir)
	}
	defer func() { _ = file.Close() }()
	lines, last, part := 0, byte('\n'), make([]byte, 64<<10)
	for {
		n, err := file.Read(part)
		if n > 0 {
			lines, last = lines+bytes.Count(part[:n], []byte{'\n'}), part[n-1]
		}
		switch {
		case errors.Is(err, io.EOF) && last != '\n':
			return lines + 1, nil
		case errors.Is(err, io.EOF):
			return lines, nil
		case err != nil:
			return 0, gitcli.Disk(err, dir)
		}
	}
}

// sandboxTree returns the worktree in dir. It fails with sandbox.ErrNotFound when there is none, and for the clone itself.
func sandboxTree(at *gitcli.Repo, dir string) (*gitcli.Tree, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, gitcli.Disk(err, dir)
	}
	t, ok, err := at.Tree(dir)
	switch {
	case err != nil:
		return nil, err
	case ok && t.Admin == at.Common:
		return nil, sandbox.ErrArguments.WithMessage("%s is the clone itself, not a sandbox", dir)
	case !ok || !t.Exists():
		return nil, sandbox.ErrNotFound.WithMessage("%s is no longer a worktree; delete the sandbox and create it again", dir)
	}
	return t, nil
}

// changeLines returns changes as lines, at most sandbox.MaxChanges, and how many more there are.
func changeLines(changes []git.Change) (lines []string, more int) {
	lines = []string{}
	for _, change := range changes[:min(len(changes), sandbox.MaxChanges)] {
		lines = append(lines, change.String())
	}
	return lines, len(changes) - len(lines)
}

// comparison is one in the making.
type comparison struct {
	t       *gitcli.Tree
	status  git.Status
	setup   []git.Change // what the set-up made, which is left out
	options sandboxport.Compare
	sandboxport.Comparison
}

// commits finds out what each side has that the other does not.
func (d *comparison) commits(ctx context.Context) (err error) {
	if d.Head == "" || d.BaseCommit == "" {
		d.Since = d.BaseCommit
		return nil
	}
	if d.Since, err = mergeBase(ctx, d.t, d.BaseCommit, d.Head); err != nil {
		return err
	}
	if d.Behind, d.Ahead, err = apart(ctx, d.t, d.BaseCommit, d.Head); err != nil || d.Ahead == 0 {
		return err
	}
	d.Commits, err = commitLines(ctx, d.t, d.BaseCommit, d.Head, max(d.options.Commits, 1))
	d.MoreCommits = d.Ahead - len(d.Commits)
	if d.Since == "" { // they have nothing in common
		d.Since = d.BaseCommit
	}
	return err
}

// mergeBase returns the last commit that both have; empty when there is none.
func mergeBase(ctx context.Context, t *gitcli.Tree, one, other string) (string, error) {
	commit, err := t.Word(ctx, "merge-base", one, other)
	if gitcli.ExitOf(err) == 1 {
		return "", nil
	}
	return commit, err
}

// apart returns how many commits only the one has, and how many only the other.
func apart(ctx context.Context, t *gitcli.Tree, one, other string) (left, right int, err error) {
	said, err := t.Word(ctx, "rev-list", "--left-right", "--count", one+"..."+other, "--")
	if err != nil {
		return 0, 0, err
	}
	if fields := strings.Fields(said); len(fields) == 2 {
		left, err = strconv.Atoi(fields[0])
		if err == nil {
			right, err = strconv.Atoi(fields[1])
		}
	}
	if err != nil {
		return 0, 0, sandbox.ErrGit.WithMessage("git printed an unknown count format %.80q", said).WithCause(err)
	}
	return left, right, nil
}

const lineFormat = "--format=%H%x00%an%x00%at%x00%s%x00"

// commitLines returns the commits that head has and base does not, newest first; 0 is no limit.
func commitLines(ctx context.Context, t *gitcli.Tree, base, head string, limit int) ([]sandboxport.CommitLine, error) {
	args := []string{"rev-list", "--no-commit-header", "--encoding=UTF-8", "--topo-order", lineFormat}
	if limit > 0 {
		args = append(args, "--max-count="+strconv.Itoa(limit))
	}
	out, err := t.Git(ctx, gitcli.Command{Args: append(args, head, "^"+base, "--"), Limit: manyCommits})
	if err != nil {
		return nil, err
	}
	return parseLines(out)
}

// parseLines reads commits in lineFormat.
func parseLines(out []byte) ([]sandboxport.CommitLine, error) {
	commits := []sandboxport.CommitLine{}
	fields := strings.Split(string(out), "\x00")
	for ; len(fields) > 4; fields = fields[4:] {
		seconds, err := strconv.ParseInt(fields[2], 10, 64)
		if err != nil {
			return nil, sandbox.ErrGit.WithMessage("git printed an unknown time format %.80q for a commit", fields[2]).WithCause(err)
		}
		commits = append(commits, sandboxport.CommitLine{Commit: strings.TrimSpace(fields[0]), Author: readable(fields[1]), At: time.Unix(seconds, 0).UTC(), Subject: readable(fields[3])})
	}
	return commits, nil
}

func readable(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// diffFlags have every difference found and shown in the same form, whatever is configured.
func diffFlags() []string {
	return []string{"--find-renames", "--no-color", "--no-relative", "--ignore-submodules=dirty", "-O/dev/null", "--end-of-options"}
}

// linesFlags are those of changed lines as text.
func linesFlags() []string {
	return []string{"--patch", "--src-prefix=a/", "--dst-prefix=b/", "--unified=3", "--inter-hunk-context=0", "--submodule=short"}
}

// files finds out which files differ, and their lines.
func (d *comparison) files(ctx context.Context) error {
	if d.Since == "" {
		return nil
	}
	env, drop, err := d.index(ctx)
	if err != nil {
		return err
	}
	defer drop()
	args := append(append([]string{"diff", "--raw", "--numstat", "-z"}, diffFlags()...), append([]string{d.Since, "--"}, d.options.Paths...)...)
	out, err := d.t.Git(ctx, gitcli.Command{Args: args, Env: env, Limit: manyCommits})
	if err != nil {
		return err
	}
	all, err := git.ParseDiff(out)
	if err != nil {
		return sandbox.ErrGit.WithMessage("%v", err).WithCause(err)
	}
	for _, f := range all {
		d.Added, d.Deleted = d.Added+f.Added, d.Deleted+f.Deleted
	}
	d.FileCount = len(all)
	d.Files = changedFiles(all[:min(len(all), max(d.options.Files, 1))])
	d.MoreFiles = len(all) - len(d.Files)
	if d.options.Lines <= 0 || len(all) == 0 {
		return nil
	}
	text := &firstBytes{max: d.options.Lines}
	lines := func(flags, paths []string) error {
		args := slices.Concat([]string{"diff"}, linesFlags(), flags, diffFlags(), []string{d.Since, "--"}, paths)
		_, err := d.t.Git(ctx, gitcli.Command{Args: args, Env: env, Sink: text, Limit: 1 << 40})
		return err
	}
	if hidden := d.hidden(all); len(hidden) > 0 {
		err = lines([]string{"--text"}, hidden)
	}
	if err == nil {
		err = lines(nil, d.options.Paths)
	}
	if err != nil && !errors.Is(err, errFull) {
		return err
	}
	d.Lines, d.Cut = text.String(), text.full
	return nil
}

// hidden returns the files of text that git takes for binary because the sandbox's own attributes say so.
func (d *comparison) hidden(all []git.FileDiff) (paths []string) {
	for _, f := range all {
		path := filepath.Join(d.t.Dir, filepath.FromSlash(f.Path))
		info, err := os.Lstat(path)
		if !f.Binary || err != nil || !info.Mode().IsRegular() || len(paths) == sandbox.MaxChanges {
			continue
		}
		if file, err := os.Open(path); err == nil {
			begin, err := io.ReadAll(io.LimitReader(file, 8000)) // as far as git looks
			_ = file.Close()
			if err == nil && !bytes.ContainsRune(begin, 0) {
				paths = append(paths, f.Path)
			}
		}
	}
	return paths
}

// index returns the environment in which git sees files that are not tracked as new ones, and those that the set-up changed as they were.
func (d *comparison) index(ctx context.Context) (env []string, drop func(), err error) {
	env = []string{"GIT_LITERAL_PATHSPECS=1"}
	var loose strings.Builder
	for _, change := range d.status.Changes {
		if change.Kind == git.Untracked && !strings.HasSuffix(change.Path, "/") { // one that ends so is another repository
			loose.WriteString(change.Path + "\x00")
		}
	}
	marked, err := flagged(ctx, d.t)
	if err != nil {
		return nil, nil, err
	}
	var left strings.Builder
	for _, change := range d.setup {
		if change.Kind != git.Untracked {
			left.WriteString(change.Path + "\x00")
		}
	}
	if loose.Len() == 0 && left.Len() == 0 && len(marked) == 0 {
		return env, func() {}, nil
	}
	scratch, err := os.MkdirTemp("", "countersign-compare-*")
	if err != nil {
		return nil, nil, gitcli.Disk(err, os.TempDir())
	}
	drop = func() { _ = os.RemoveAll(scratch) }
	m := maker{t: d.t, scratch: scratch, timeout: longTime}
	if err := m.copyIndex(ctx, marked); err != nil {
		drop()
		return nil, nil, err
	}
	objects, dropObjects, err := quarantine(d.t.Repo) // git stores that a file is empty until it is added
	if err != nil {
		drop()
		return nil, nil, err
	}
	dropIndex := drop
	drop = func() { dropIndex(); dropObjects() }
	env = append(append(env, "GIT_INDEX_FILE="+filepath.Join(scratch, indexFile)), objects...)
	if _, err := d.t.Git(ctx, gitcli.Command{Args: []string{"add", "--intent-to-add", "--pathspec-from-file=-", "--pathspec-file-nul"}, Stdin: []byte(loose.String()), Env: env, Settings: plain()}); err != nil {
		drop()
		return nil, nil, err
	}
	if left.Len() > 0 {
		if _, err := d.t.Git(ctx, gitcli.Command{Args: []string{"update-index", "--assume-unchanged", "-z", "--stdin"}, Stdin: []byte(left.String()), Env: env}); err != nil {
			drop()
			return nil, nil, err
		}
	}
	return env, drop, nil
}

// changedFiles returns differences in the form of the answer.
func changedFiles(all []git.FileDiff) []sandboxport.ChangedFile {
	files := make([]sandboxport.ChangedFile, 0, len(all))
	for _, f := range all {
		c := sandboxport.ChangedFile{Path: readable(f.Path), From: readable(f.From), Added: f.Added, Deleted: f.Deleted, Binary: f.Binary,
			Change: map[byte]string{'A': "added", 'D': "deleted", 'R': "renamed", 'C': "copied", 'T': "type", 'U': "conflict"}[f.Status]}
		if c.Change == "" {
			c.Change = "changed"
		}
		if f.Status != 'D' && f.NewMode != f.OldMode && f.NewMode != "100644" || f.Status == 'M' && f.NewMode != f.OldMode {
			c.Mode = f.NewMode
		}
		files = append(files, c)
	}
	return files
}

// errFull stops a git that has printed what is wanted.
var errFull = errors.New("enough was read")

// firstBytes keeps the beginning of what is written, in whole lines.
type firstBytes struct {
	kept bytes.Buffer
	max  int
	full bool
}

func (f *firstBytes) Write(p []byte) (int, error) {
	if room := f.max - f.kept.Len(); len(p) > room {
		f.kept.Write(p[:room])
		f.full = true
		return 0, errFull
	}
	return f.kept.Write(p)
}

// String returns what was kept.
func (f *firstBytes) String() string {
	text := f.kept.String()
	if f.full {
		text = text[:strings.LastIndexByte(text, '\n')+1]
	}
	return readable(text)
}
