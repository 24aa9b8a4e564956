package worktree

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// PlanMerge implements sandboxport.Repositories. Git stores its objects in a temporary directory, which is removed before PlanMerge returns.
func (c *Client) PlanMerge(ctx context.Context, repo string, m sandboxport.Merge) (sandboxport.MergePlan, error) {
	at, err := c.open(repo)
	if err != nil {
		return sandboxport.MergePlan{}, err
	}
	p, err := c.sides(ctx, at, m)
	if err != nil {
		return sandboxport.MergePlan{}, err
	}
	if p.Method == sandboxport.MergeNothing {
		return p.MergePlan, nil
	}
	env, drop, err := quarantine(at)
	if err != nil {
		return p.MergePlan, err
	}
	defer drop()
	var changes []git.FileDiff
	err = p.meanwhile(ctx, func(ctx context.Context) (err error) {
		if p.Commits, err = commitLines(ctx, at.Main(), p.From, p.With, 0); err != nil {
			return err
		}
		if err = p.join(ctx, env); err != nil || p.Method == sandboxport.MergeNothing {
			return err
		}
		plain, dropPlain, err := bare(at)
		if err != nil {
			return err
		}
		defer dropPlain()
		changes, err = treeDiff(ctx, plain, env, p.From, p.Tree)
		return err
	})
	if err != nil || p.Method == sandboxport.MergeNothing {
		return p.MergePlan, err
	}
	if p.Files = changedFiles(changes); m.Look {
		return p.MergePlan, nil
	}
	return p.MergePlan, p.free(changes)
}

// meanwhile does the work while git looks whether the working tree that it is for is clean. What is dirty comes before what else is wrong.
func (p *joining) meanwhile(ctx context.Context, work func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var dirty error
	var looking errgroup.Group
	looking.Go(func() error {
		if p.place != nil && !p.looked {
			dirty = p.clean(ctx)
		}
		if dirty != nil {
			stop()
		}
		return nil
	})
	err := work(ctx)
	_ = looking.Wait()
	return cmp.Or(dirty, err)
}

// joining is a merge in the making.
type joining struct {
	sandboxport.MergePlan
	at     *gitcli.Repo
	box    *gitcli.Tree // the sandbox's
	place  *gitcli.Tree // in which the branch is checked out that is moved; nil for nowhere
	looked bool         // that is known to be clean
	result string       // the commit on which the branch will stand
}

// sides finds out what is to be merged with what, and refuses what is not ready for it.
func (c *Client) sides(ctx context.Context, at *gitcli.Repo, m sandboxport.Merge) (*joining, error) {
	p := &joining{at: at, MergePlan: sandboxport.MergePlan{Name: m.Name, Dir: m.Dir, Update: m.Update, Method: cmp.Or(m.Method, sandboxport.MergeCommit), Message: m.Message, At: m.At}}
	var err error
	if p.box, err = sandboxTree(at, m.Dir); err != nil {
		return nil, err
	}
	var status git.Status
	var looking errgroup.Group
	looking.Go(func() (err error) {
		if m.Update { // what the set-up changed is in the way all the same
			status, err = unfiltered(ctx, p.box, "all")
			return err
		}
		var setup []git.Change
		if status, setup, err = statusOfWork(ctx, p.box, "all"); err != nil || !m.Look {
			return err
		}
		if tooLarge(p.box.Dir, setup) {
			status.Changes = append(status.Changes, setup...)
		}
		nested, err := nestedIn(ctx, p.box, status.Changes) // they would go with the sandbox
		status.Changes = append(status.Changes, nestedChanges(nested)...)
		return err
	})
	refs, tips, err := branchTips(ctx, at)
	if err == nil {
		err = standsOn(ctx, at, &refs)
	}
	if err := cmp.Or(looking.Wait(), err); err != nil {
		return nil, err
	}
	if status.Head == "" {
		return nil, sandbox.ErrArguments.WithMessage("sandbox %s has no commit yet, so there is nothing to merge", m.Name)
	}
	if doing := p.box.Operation(); doing != "" {
		return nil, sandbox.ErrUncommitted.WithMessage("sandbox %s has a %s in progress; finish it there, or abort it with git %s --abort", m.Name, doing, doing)
	}
	base, err := refs.Base(status.Branch, m.BaseRef, m.Base)
	if err != nil {
		return nil, err
	}
	remote := tips[git.RemotesPrefix+base.Name]
	p.looked = m.Look
	if m.Update {
		err = p.update(ctx, status, base, tips[base.Ref], remote, m.Base == "")
	} else {
		err = p.merge(ctx, refs, status, base, tips[base.Ref], remote, m.CommittedOnly)
	}
	if err != nil {
		return nil, err
	}
	own, other, err := apart(ctx, at.Main(), p.From, p.With)
	switch {
	case err != nil:
		return nil, err
	case other == 0:
		p.Method = sandboxport.MergeNothing
	case own == 0 && (p.Update || p.Method != sandboxport.MergeSquash):
		p.Method = sandboxport.MergeForward
	}
	return p, nil
}

// update has the sandbox's branch take what its base has; that is the base's own remote where nobody wished for another and it has all that the base has.
func (p *joining) update(ctx context.Context, status git.Status, base sandbox.BaseBranch, commit, remote string, choose bool) error {
	if status.Branch == "" {
		return sandbox.ErrArguments.WithMessage("sandbox %s is not on a branch; check one out there with git switch", p.Name)
	}
	if changed := tracked(status.Changes); len(changed) > 0 {
		lines, more := changeLines(changed)
		return sandbox.ErrUncommitted.WithMessage("sandbox %s has %d changed files that are not committed; commit them there first", p.Name, len(changed)).WithDetails(uncommitted{lines, more})
	}
	p.Branch, p.From, p.place, p.Place, p.looked = status.Branch, status.Head, p.box, p.Dir, true
	p.Other, p.OtherRef, p.With = base.Name, base.Ref, commit
	if !choose || !base.Local || remote == "" || remote == commit {
		return nil
	}
	newer, err := p.ancestor(ctx, commit, remote)
	if newer {
		p.Other, p.OtherRef, p.With = "origin/"+base.Name, git.RemotesPrefix+base.Name, remote
	}
	return err
}

// merge has the base take what the sandbox has.
func (p *joining) merge(ctx context.Context, refs sandbox.BranchRefs, status git.Status, base sandbox.BaseBranch, commit, remote string, committedOnly bool) error {
	if !base.Local {
		return sandbox.ErrArguments.WithMessage("%s is a remote branch, which a local merge cannot move; name a local branch of the clone, or push the sandbox's branch", base.Name)
	}
	lines, more := changeLines(status.Changes)
	if len(lines) > 0 && !committedOnly {
		return sandbox.ErrUncommitted.WithMessage("sandbox %s has changes that are not committed (%d), and only commits are merged; commit them there, or merge what is committed alone (committed_only)", p.Name, len(status.Changes)).
			WithDetails(uncommitted{lines, more})
	}
	p.Left, p.MoreLeft = lines, more
	p.Branch, p.From, p.Place = base.Name, commit, refs.Local[base.Name]
	p.Other, p.With = cmp.Or(status.Branch, status.Head[:12]), status.Head
	var err error
	if p.Place != "" {
		if err = p.stand(p.Place); err != nil {
			return err
		}
		p.Place = p.at.Spelled(p.place.Dir)
	}
	if remote != "" && remote != commit {
		p.Behind, _, err = apart(ctx, p.at.Main(), remote, commit)
	}
	return err
}

type uncommitted struct {
	Changes []string `json:"changes"`
	More    int      `json:"more,omitempty"`
}

// tracked returns the changes of files that git knows.
func tracked(changes []git.Change) []git.Change {
	return slices.DeleteFunc(slices.Clone(changes), func(change git.Change) bool { return change.Kind == git.Untracked || change.Kind == git.Ignored })
}

// stand records the worktree that has the branch checked out.
func (p *joining) stand(dir string) error {
	t, ok, err := p.at.Tree(dir)
	if err != nil {
		return err
	}
	if !ok || !t.Exists() {
		return sandbox.ErrGit.WithMessage("%s is checked out in %s, which is no longer a worktree; remove its record with git worktree prune", p.Branch, dir)
	}
	p.place = t
	return nil
}

// clean fails with sandbox.ErrBaseDirty where the working tree has changes, or git is in the middle of something there.
func (p *joining) clean(ctx context.Context) error {
	dir := p.place.Dir
	if doing := p.place.Operation(); doing != "" {
		return sandbox.ErrBaseDirty.WithMessage("%s, where %s is checked out, has a %s in progress; finish it there, or abort it with git %s --abort", dir, p.Branch, doing, doing)
	}
	status, err := p.place.Fresh().Status(ctx, "no")
	if err != nil {
		return err
	}
	if changed := tracked(status.Changes); len(changed) > 0 {
		lines, more := changeLines(changed)
		return sandbox.ErrBaseDirty.WithMessage("%s, where %s is checked out, has %d changed files that are not committed; commit or stash them, then call again", dir, p.Branch, len(changed)).
			WithDetails(uncommitted{lines, more})
	}
	return nil
}

// free fails with sandbox.ErrBaseDirty if untracked files are in the way of new ones.
func (p *joining) free(changes []git.FileDiff) error {
	if p.place == nil {
		return nil
	}
	var there []git.Change
	for _, change := range changes {
		if strings.Contains("ARC", string(change.Status)) {
			if _, err := os.Lstat(filepath.Join(p.place.Dir, filepath.FromSlash(change.Path))); err == nil {
				there = append(there, untracked(change.Path))
			}
		}
	}
	if len(there) == 0 {
		return nil
	}
	lines, more := changeLines(there)
	kind := sandbox.ErrBaseDirty
	if p.Update {
		kind = sandbox.ErrUncommitted
	}
	files := "1 untracked file is"
	if n := len(there); n != 1 {
		files = fmt.Sprintf("%d untracked files are", n)
	}
	return kind.WithMessage("%s in %s in the way of files from the merge; move them away, then call again", files, p.place.Dir).WithDetails(uncommitted{lines, more})
}

func (p *joining) ancestor(ctx context.Context, old, commit string) (bool, error) {
	if old == "" || commit == "" {
		return old == "", nil
	}
	_, err := p.at.Main().Git(ctx, gitcli.Command{Args: []string{"merge-base", "--is-ancestor", old, commit}})
	if gitcli.ExitOf(err) == 1 {
		return false, nil
	}
	return err == nil, err
}

// quarantine returns an environment in which git reads the clone's objects and stores its own elsewhere, until drop is called.
func quarantine(at *gitcli.Repo) (env []string, drop func(), err error) {
	dir, err := os.MkdirTemp("", "countersign-merge-*")
	if err != nil {
		return nil, nil, gitcli.Disk(err, os.TempDir())
	}
	return []string{"GIT_OBJECT_DIRECTORY=" + dir, "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + quoted(filepath.Join(at.Common, "objects"))}, func() { _ = os.RemoveAll(dir) }, nil
}

// quoted is a path as git reads it in a list of paths.
func quoted(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(path) + `"`
}

// treeDiff returns how the files of a tree differ from those of a commit.
func treeDiff(ctx context.Context, t *gitcli.Tree, env []string, from, tree string) ([]git.FileDiff, error) {
	out, err := t.Git(ctx, gitcli.Command{Args: append(append([]string{"diff-tree", "-r", "--raw", "--numstat", "-z"}, diffFlags()...), from, tree, "--"), Env: env, Limit: manyCommits, Timeout: longTime})
	if err != nil {
		return nil, err
	}
	changes, err := git.ParseDiff(out)
	if err != nil {
		return nil, sandbox.ErrGit.WithMessage("%v", err).WithCause(err)
	}
	return changes, nil
}

// MergedLines implements sandboxport.Repositories.
func (c *Client) MergedLines(ctx context.Context, repo string, p sandboxport.MergePlan, limit int) (files []sandboxport.FileLines, left int, err error) {
	at, err := c.open(repo)
	if err != nil {
		return nil, 0, err
	}
	env, drop, err := quarantine(at)
	if err != nil {
		return nil, 0, err
	}
	defer drop()
	again := &joining{MergePlan: p, at: at}
	if err := again.join(ctx, env); err != nil {
		return nil, 0, err
	}
	plain, dropPlain, err := bare(at)
	if err != nil {
		return nil, 0, err
	}
	defer dropPlain()
	text := &shortest{room: limit}
	args := append(append([]string{"diff-tree", "-r"}, linesFlags()...), diffFlags()...)
	if _, err := plain.Git(ctx, gitcli.Command{Args: append(args, p.From, again.Tree, "--"), Env: env, Sink: text, Limit: 1 << 40, Timeout: longTime}); err != nil {
		return nil, 0, err
	}
	files = byFile(text.String())
	return files, len(p.Files) - len(files), nil
}

// bare returns a repository without files, settings or attributes: by a quarantine's environment, git sees in it what is stored in the clone, and nothing
// else of it has text be taken for binary. It is gone once drop is called.
func bare(at *gitcli.Repo) (t *gitcli.Tree, drop func(), err error) {
	dir, err := os.MkdirTemp("", "countersign-bare-*")
	if err != nil {
		return nil, nil, gitcli.Disk(err, os.TempDir())
	}
	drop = func() { _ = os.RemoveAll(dir) }
	format := "[core]\n\trepositoryformatversion = 0\n"
	if set, err := os.ReadFile(filepath.Join(at.Common, "config")); err == nil && sha256Objects.Match(set) {
		format = "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n"
	}
	for _, name := range []string{"refs", "objects", "tree"} {
		err = errors.Join(err, os.Mkdir(filepath.Join(dir, name), 0o700))
	}
	for name, text := range map[string]string{"HEAD": "ref: refs/heads/none\n", "config": format} {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	if err != nil {
		drop()
		return nil, nil, gitcli.Disk(err, dir)
	}
	files := filepath.Join(dir, "tree")
	return &gitcli.Tree{Repo: &gitcli.Repo{Dir: files, Common: dir}, Dir: files, Admin: dir}, drop, nil
}

var sha256Objects = regexp.MustCompile(`(?i)objectformat\s*=\s*"?sha256`)

// shortest keeps of a diff that is written to it the shortest files that have room together, in their order.
type shortest struct {
	room  int
	size  int
	line  []byte   // the beginning of one that is not whole yet
	over  bool     // the file is too large
	file  []byte   // that is being read
	files []string // that are kept
}

// Write takes more of the diff.
func (s *shortest) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		line, rest, whole := bytes.Cut(p, []byte("\n"))
		p = rest
		if len(s.line)+len(line) <= s.room {
			s.line = append(s.line, line...)
		} else {
			s.line = append(s.line, line[:max(s.room-len(s.line), 0)]...)
			s.over = true
		}
		if !whole {
			break
		}
		if bytes.HasPrefix(s.line, []byte(fileHead)) {
			s.end()
		}
		if s.over = s.over || len(s.file)+len(s.line) >= s.room; !s.over {
			s.file = append(append(s.file, s.line...), '\n')
		}
		s.line = s.line[:0]
	}
	return n, nil
}

// end takes note of a file that is whole.
func (s *shortest) end() {
	if len(s.file) > 0 && !s.over {
		s.files = append(s.files, string(s.file))
		s.size += len(s.file)
	}
	s.file, s.over = s.file[:0], false
	for s.size > s.room {
		most := 0
		for i, file := range s.files {
			if len(file) >= len(s.files[most]) {
				most = i
			}
		}
		s.size -= len(s.files[most])
		s.files = slices.Delete(s.files, most, most+1)
	}
}

// String returns what was kept.
func (s *shortest) String() string {
	s.end()
	return readable(strings.Join(s.files, ""))
}

// fileHead begins what a diff has about a file.
const fileHead = "diff --git "

// byFile parts a diff in those of its files.
func byFile(text string) (files []sandboxport.FileLines) {
	for text != "" {
		end := strings.Index(text[1:], "\n"+fileHead)
		one := text
		if end < 0 {
			text = ""
		} else {
			one, text = text[:end+2], text[end+2:]
		}
		above, _, _ := strings.Cut(one, "\n@@ ") // changed lines can look like what is above them
		path, _, _ := strings.Cut(strings.TrimPrefix(above, fileHead), "\n")
		for _, sign := range []string{"\n+++ b/", "\n+++ \"b/", "\n--- a/", "\n--- \"a/", "\nrename to "} {
			if _, after, ok := strings.Cut(above, sign); ok {
				path, _, _ = strings.Cut(after, "\n")
				if path = strings.TrimSuffix(path, "\t"); strings.HasSuffix(sign, "\"b/") || strings.HasSuffix(sign, "\"a/") {
					path = unquoted(`"` + path)
				}
				break
			}
		}
		files = append(files, sandboxport.FileLines{Path: path, Unified: one})
	}
	return files
}

// unquoted returns a path that git has put in quotes.
func unquoted(path string) string {
	if plain, err := strconv.Unquote(path); err == nil {
		return readable(plain)
	}
	return path
}

// join computes the branch's new commit and its files. env says where git stores them.
func (p *joining) join(ctx context.Context, env []string) error {
	j := joiner{t: p.at.Main(), env: env, seconds: p.At.Unix()}
	if p.place != nil {
		j.t = p.place
	}
	if p.Method == sandboxport.MergeForward {
		tree, err := j.t.Word(ctx, "rev-parse", "--verify", p.With+"^{tree}")
		p.result, p.Commit, p.Tree, p.Message = p.With, p.With, tree, ""
		return err
	}
	if err := j.identify(ctx); err != nil {
		return err
	}
	p.By = j.shown()
	if p.Method == sandboxport.MergeRebase {
		return p.rebase(ctx, &j)
	}
	tree, err := j.merged(ctx, p.From, p.With)
	if err != nil {
		return p.inConflict(err)
	}
	p.Tree = tree
	parents := []string{p.From, p.With}
	if p.Method == sandboxport.MergeSquash {
		parents = parents[:1]
		old, err := j.t.Word(ctx, "rev-parse", "--verify", p.From+"^{tree}")
		if err != nil {
			return err
		}
		if tree == old {
			p.Method = sandboxport.MergeNothing
			return nil
		}
	}
	if p.Message, err = p.message(ctx, j.t); err != nil {
		return err
	}
	if env != nil { // the commit itself is made when it is wanted
		return nil
	}
	p.result, err = j.commit(ctx, tree, p.Message, parents...)
	return err
}

// message returns what the commit says that is made.
func (p *joining) message(ctx context.Context, t *gitcli.Tree) (string, error) {
	switch {
	case p.Message != "":
		return strings.TrimRight(p.Message, "\n") + "\n", nil
	case p.Update:
		return fmt.Sprintf("Merge %s into %s\n", p.Other, p.Branch), nil
	case p.Method != sandboxport.MergeSquash:
		return fmt.Sprintf("Merge sandbox %s into %s\n", p.Name, p.Branch), nil
	case len(p.Commits) == 1:
		out, err := t.Git(ctx, gitcli.Command{Args: []string{"rev-list", "--no-commit-header", "--encoding=UTF-8", "--max-count=1", "--format=%B", p.Commits[0].Commit, "--"}})
		return strings.TrimRight(readable(string(out)), "\n") + "\n", err
	}
	var text strings.Builder
	fmt.Fprintf(&text, "Sandbox %s\n\n", p.Name)
	for _, commit := range slices.Backward(p.Commits) {
		text.WriteString("* " + commit.Subject + "\n")
	}
	return text.String(), nil
}

// rebase recreates the commits that only the sandbox has on top of the base.
func (p *joining) rebase(ctx context.Context, j *joiner) error {
	onto, work := p.From, p.With
	if p.Update {
		onto, work = work, onto
	}
	said, err := j.t.Word(ctx, "rev-list", "--reverse", "--topo-order", "--no-merges", "--right-only", "--cherry-pick", onto+"..."+work, "--")
	if err != nil {
		return err
	}
	tip := onto
	p.Rewritten = 0
	for _, commit := range strings.Fields(said) {
		next, err := j.replay(ctx, commit, tip)
		if err != nil {
			return p.inConflict(err)
		}
		if p.Update && next != commit {
			p.Rewritten++
		}
		tip = next
	}
	p.Tree, err = j.git(ctx, nil, "rev-parse", "--verify", tip+"^{tree}")
	p.result, p.Message = tip, ""
	if tip == p.From {
		p.Method = sandboxport.MergeNothing
	}
	return err
}

// inConflict says of conflicts what to do about them.
func (p *joining) inConflict(err error) error {
	var found *conflictError
	if !errors.As(err, &found) {
		return err
	}
	at := ""
	if found.commit != "" {
		at = fmt.Sprintf(" at commit %.12s", found.commit)
	}
	way := fmt.Sprintf("update the sandbox first (git merge %s in %s), resolve them there and commit", p.Branch, p.Dir)
	if p.Update {
		way = fmt.Sprintf("run git merge %s in %s, resolve them there and commit", p.Other, p.Dir)
		if p.Method == sandboxport.MergeRebase {
			way = fmt.Sprintf("run git rebase %s in %s and resolve them there", p.Other, p.Dir)
		}
	}
	files := "1 file"
	if n := len(found.files); n != 1 {
		files = fmt.Sprintf("%d files", n)
	}
	shown := found.files[:min(len(found.files), sandbox.MaxChanges)]
	return sandbox.ErrConflicts.WithMessage("%s and %s conflict in %s%s, and nothing was changed: %s; %s, then call again", p.Branch, p.Other, files, at, strings.Join(shown, ", "), way).
		WithDetails(conflicts{found.list, len(found.files)})
}

type conflicts struct {
	Conflicts []conflict `json:"conflicts"`
	Files     int        `json:"files"`
}

type conflict struct {
	Kind  string   `json:"kind"`
	Paths []string `json:"paths"`
}

// Merge implements sandboxport.Repositories. The files are put in place first, then the branch is moved: whatever interrupts it, FinishMerge finishes it.
func (c *Client) Merge(ctx context.Context, repo string, p sandboxport.MergePlan, begun func(commit string) error) (sandboxport.MergeDone, error) {
	at, release, err := c.alone(ctx, repo)
	if err != nil {
		return sandboxport.MergeDone{}, err
	}
	defer release()
	m := &joining{MergePlan: p, at: at}
	if err := m.still(ctx); err != nil {
		return sandboxport.MergeDone{}, err
	}
	if err := m.meanwhile(ctx, func(ctx context.Context) error { return m.join(ctx, nil) }); err != nil {
		return sandboxport.MergeDone{}, err
	}
	if m.Tree != p.Tree || m.Method != p.Method {
		return sandboxport.MergeDone{}, sandbox.ErrMoved.WithMessage("the result of merging %s and %s changed since the plan was made; call again to get the new plan", p.Branch, p.Other)
	}
	var done sandboxport.MergeDone
	if done.Commit = m.result; p.Rewritten > 0 {
		k, err := BeginBackupSet(ctx, at, p.Name, p.At)
		if err == nil {
			err = k.Keep(ctx, sandbox.BackupCommits, p.From)
		}
		if err != nil {
			return done, err
		}
		done.Backups = k.Refs
	}
	if err := begun(m.result); err != nil {
		return done, err
	}
	aside, cancel := context.WithTimeout(context.WithoutCancel(ctx), longTime) // from here on, it is quicker to finish than to stop
	defer cancel()
	return done, c.put(aside, m)
}

// still fails with sandbox.ErrMoved unless everything is as it was when it was planned.
func (p *joining) still(ctx context.Context) error {
	var err error
	if p.box, err = sandboxTree(p.at, p.Dir); err != nil {
		return err
	}
	refs, tips, err := branchTips(ctx, p.at)
	if err != nil {
		return err
	}
	from, with := tips[git.HeadsPrefix+p.Branch], tips[p.OtherRef]
	if p.OtherRef == "" {
		if with, err = Resolve(ctx, p.box, "HEAD"); err != nil {
			return err
		}
	}
	for _, side := range []struct{ name, was, is string }{{p.Branch, p.From, from}, {p.Other, p.With, with}} {
		if side.was != side.is {
			return sandbox.ErrMoved.WithMessage("%s moved from %.12s to %.12s since the plan was made; call again to get the new plan", side.name, side.was, cmp.Or(side.is, "nothing"))
		}
	}
	place := refs.Local[p.Branch]
	switch {
	case place == "" && p.Place == "":
		return nil
	case place == "" || p.Place == "" || p.at.Spelled(place) != p.at.Spelled(p.Place) && place != p.Place:
		return sandbox.ErrMoved.WithMessage("%s was checked out in %s when the plan was made, and is in %s now; call again", p.Branch, cmp.Or(p.Place, "no directory"), cmp.Or(place, "none"))
	}
	return p.stand(place)
}

// put puts the files in place, then moves the branch.
func (c *Client) put(ctx context.Context, m *joining) error {
	if m.place == nil {
		return c.moveBranch(ctx, m, m.at.Main())
	}
	files := func() error {
		_, err := m.place.Git(ctx, gitcli.Command{Args: []string{"read-tree", "-m", "-u", m.From, m.result}, Timeout: longTime})
		return err
	}
	err := gitcli.Patiently(ctx, c.options.Patience, files)
	if err != nil && !errors.Is(err, sandbox.ErrBusy) { // git takes a file that was touched for one that was changed, until it looks into it
		if _, err := m.place.Git(ctx, gitcli.Command{Args: []string{"update-index", "-q", "--refresh"}, Timeout: longTime}); err != nil && gitcli.ExitOf(err) != 1 {
			return err
		}
		err = gitcli.Patiently(ctx, c.options.Patience, files)
	}
	if err != nil {
		return err
	}
	if err := c.moveBranch(ctx, m, m.place); err != nil {
		_, back := m.place.Git(ctx, gitcli.Command{Args: []string{"read-tree", "-m", "-u", m.result, m.From}, Timeout: longTime})
		return errors.Join(err, back)
	}
	return nil
}

func (c *Client) moveBranch(ctx context.Context, m *joining, t *gitcli.Tree) error {
	what := "merge sandbox " + m.Name
	if m.Update {
		what = "update from " + m.Other
	}
	err := gitcli.Patiently(ctx, c.options.Patience, func() error {
		_, err := t.Word(ctx, "update-ref", "-m", "countersign: "+what, git.HeadsPrefix+m.Branch, m.result, m.From)
		return err
	})
	if strings.Contains(gitcli.Words(err), "but expected") {
		return sandbox.ErrMoved.WithMessage("%s moved while its files were written; they were restored", m.Branch).WithCause(err)
	}
	return err
}

// FinishMerge implements sandboxport.Repositories.
func (c *Client) FinishMerge(ctx context.Context, repo string, p sandboxport.MergePlan, commit string) error {
	at, release, err := c.alone(ctx, repo)
	if err != nil {
		return err
	}
	defer release()
	now, err := Resolve(ctx, at.Main(), git.HeadsPrefix+p.Branch)
	if err != nil || now != p.From { // it already moved, or has further commits
		return err
	}
	if ok, err := planned(ctx, at, p, commit); err != nil || !ok {
		return err
	}
	m := &joining{MergePlan: p, at: at, result: commit}
	if p.Place == "" {
		return c.moveBranch(ctx, m, at.Main())
	}
	place, ok, err := at.Tree(p.Place)
	if err != nil || !ok || !place.Exists() {
		return err
	}
	if on, err := Branch(ctx, place); err != nil || on != p.Branch {
		return err
	}
	m.place = place
	if err := c.force(ctx, m); err != nil {
		return err
	}
	return c.moveBranch(ctx, m, place)
}

// planned reports whether the commit has the files and parents of the plan.
func planned(ctx context.Context, at *gitcli.Repo, p sandboxport.MergePlan, commit string) (bool, error) {
	if _, err := git.ParseCommit(commit); err != nil {
		return false, nil //nolint:nilerr // the record is a file that any program can write
	}
	said, err := at.Main().Git(ctx, gitcli.Command{Args: []string{"rev-list", "--no-commit-header", "--max-count=1", "--format=%T %P", commit, "--"}})
	if err != nil {
		return false, nil //nolint:nilerr // there is no such commit
	}
	fields := strings.Fields(string(said))
	if len(fields) == 0 || fields[0] != p.Tree {
		return false, nil
	}
	switch p.Method {
	case sandboxport.MergeForward:
		return commit == p.With, nil
	case sandboxport.MergeCommit:
		return slices.Equal(fields[1:], []string{p.From, p.With}), nil
	case sandboxport.MergeSquash:
		return slices.Equal(fields[1:], []string{p.From}), nil
	}
	onto := p.From
	if p.Update {
		onto = p.With
	}
	return (&joining{at: at}).ancestor(ctx, onto, commit)
}

// unlock takes away the lock of a git that was cut off with the machine: one made soon after the merge had begun, and a while ago. Any other is somebody's at work.
func unlock(lock string, begun time.Time) {
	info, err := os.Lstat(lock)
	if err == nil && !info.ModTime().Before(begun) && info.ModTime().Before(begun.Add(longTime)) && time.Since(info.ModTime()) > patience {
		_ = os.Remove(lock)
	}
}

// force writes the files of the merge after backing up files in their way under backup refs. Other files are not changed.
func (c *Client) force(ctx context.Context, m *joining) error {
	changes, err := treeDiff(ctx, m.at.Main(), nil, m.From, m.result)
	if err != nil || len(changes) == 0 {
		return err
	}
	var paths strings.Builder
	for _, change := range changes {
		paths.WriteString(change.Path + "\x00")
		if change.From != "" && change.Status == 'R' {
			paths.WriteString(change.From + "\x00")
		}
	}
	unlock(filepath.Join(m.place.Admin, "index.lock"), m.At)
	k, err := BeginBackupSet(ctx, m.at, m.Name, m.At)
	if err != nil {
		return err
	}
	h, err := FindUnsavedWork(ctx, m.place)
	if err != nil {
		return err
	}
	if err := k.Uncommitted(ctx, m.place, h, m.From); err != nil {
		return err
	}
	return gitcli.Patiently(ctx, c.options.Patience, func() error {
		// First the index and the files as they were, so that git knows each of them; then as they will be.
		for _, commit := range []string{m.From, m.result} {
			_, err := m.place.Git(ctx, gitcli.Command{Args: []string{"checkout", "--no-overlay", "--quiet", "--pathspec-from-file=-", "--pathspec-file-nul", commit}, Stdin: []byte(paths.String()),
				Env: []string{"GIT_LITERAL_PATHSPECS=1"}, Timeout: longTime})
			if err != nil && !strings.Contains(gitcli.Words(err), "did not match any file") {
				return fault.From(err)
			}
		}
		return nil
	})
}
