package worktree

import (
	"cmp"
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// stashBranch is the branch of a Loss that is the clone's own stashes.
const stashBranch = "refs/stash"

// Losses implements sandboxport.Repositories. It is about the clone and the worktrees in dirs, by those names; without dirs, about all that there
// are, and then what a set-up made counts too: backups would go with the clone. The clone answers for its stashes, and for local branches that are checked out in none of them. Of a directory that is no worktree,
// everything is told; what has nothing to lose is left out. When the clone is gone, no directory is a worktree.
func (c *Client) Losses(ctx context.Context, repo string, dirs []string) ([]sandboxport.Loss, error) {
	if gitcli.RepoGone(repo) {
		return unknownDirs(nil, dirs)
	}
	at, err := c.open(repo)
	if err != nil {
		return nil, err
	}
	trees, unknown, err := asked(at, dirs)
	if err != nil {
		return nil, err
	}
	found, inner := make([]UnsavedWork, len(trees)), make([][]string, len(trees))
	var group errgroup.Group
	group.SetLimit(parallel)
	for i, t := range trees {
		group.Go(func() (err error) {
			found[i], inner[i], err = all(ctx, t.Tree)
			if len(dirs) == 0 {
				found[i].Changes = append(found[i].Changes, found[i].Setup...)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	heads, err := tips(ctx, at) // local branches, with their commits
	if err != nil {
		return nil, err
	}
	var commits []string
	for _, h := range found {
		delete(heads, h.Branch)
		delete(heads, h.Taken)
		commits = append(commits, h.Head)
	}
	commits = slices.AppendSeq(commits, maps.Values(heads))
	graph, err := UnpushedCommits(ctx, at.Main(), commits, oneLine()...)
	if err != nil {
		return nil, err
	}
	var losses []sandboxport.Loss
	for i, t := range trees {
		losses = tell(losses, loss(t.name, found[i], graph, inner[i]))
	}
	for _, name := range slices.Sorted(maps.Keys(heads)) {
		losses = tell(losses, loss(repo, UnsavedWork{Branch: name, Head: heads[name]}, graph, nil))
	}
	own, err := stashes(ctx, at)
	if err != nil {
		return nil, err
	}
	own.Directory = repo
	return unknownDirs(tell(losses, own), unknown)
}

// unknownDirs adds the files of directories that git does not know.
func unknownDirs(losses []sandboxport.Loss, dirs []string) ([]sandboxport.Loss, error) {
	for _, dir := range dirs {
		changes, err := Stray(dir)
		if err != nil {
			return nil, err
		}
		losses = tell(losses, loss(dir, UnsavedWork{Changes: changes}, sandbox.Graph{}, nil))
	}
	return losses, nil
}

// called is a tree with the name that the caller has for its directory.
type called struct {
	*gitcli.Tree
	name string
}

// asked returns the clone and the trees of the directories, each once, and the directories that are none.
func asked(at *gitcli.Repo, dirs []string) (trees []called, unknown []string, err error) {
	trees = []called{{at.Main(), at.Dir}}
	if len(dirs) == 0 {
		linked, err := at.Linked()
		for _, dir := range slices.Sorted(maps.Keys(linked)) {
			trees = append(trees, called{linked[dir], at.Spelled(dir)})
		}
		return trees, nil, err
	}
	seen := map[string]bool{at.Common: true}
	for _, dir := range dirs {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return nil, nil, gitcli.Disk(err, dir)
		}
		t, ok, err := at.Tree(abs)
		if err != nil {
			return nil, nil, err
		}
		if !ok {
			unknown = append(unknown, dir)
		} else if !seen[t.Admin] {
			seen[t.Admin] = true
			trees = append(trees, called{t, dir})
		}
	}
	return trees, unknown, nil
}

// all returns what a tree holds with every file named, and the commits in its submodules, and in other repositories in it, that none of their remotes has.
func all(ctx context.Context, t *gitcli.Tree) (h UnsavedWork, inner []string, err error) {
	if h, err = FindUnsavedWork(ctx, t); err != nil || !t.Exists() {
		return h, nil, err
	}
	if len(h.Changes) > 0 {
		s, setup, err := statusOfWork(ctx, t, "all")
		if err != nil {
			return h, nil, err
		}
		h.Changes = append(s.Changes, nestedChanges(h.nested)...)
		if len(h.Setup) == 0 { // then it was too large
			h.Changes, h.Large = append(h.Changes, setup...), len(setup)
		}
	}
	for _, n := range h.nested {
		inner = append(inner, n.lines...)
	}
	paths, err := t.Submodules(ctx)
	if err != nil {
		return h, nil, err
	}
	for _, path := range paths {
		sub, err := t.Submodule(ctx, path)
		if err != nil {
			return h, nil, err
		}
		head, err := headOf(ctx, sub)
		if err != nil {
			return h, nil, err
		}
		graph, err := UnpushedCommits(ctx, sub, []string{head}, oneLine()...)
		if err != nil {
			return h, nil, err
		}
		lines, _ := graph.Lines(head, sandbox.MaxChanges)
		for _, line := range lines {
			inner = append(inner, filepath.ToSlash(path)+": "+line)
		}
	}
	return h, inner, nil
}

// oneLine is commits as tree.ParseGraph reads them, with a line for users.
func oneLine() []string {
	return []string{"--no-commit-header", "--encoding=UTF-8", "--format=%H %P%x00%h %s"}
}

// tips returns the clone's local branches and their commits.
func tips(ctx context.Context, at *gitcli.Repo) (map[string]string, error) {
	refs, err := Refs(ctx, at.Main(), git.HeadsPrefix)
	if err != nil {
		return nil, err
	}
	heads := map[string]string{}
	for ref, commit := range refs {
		heads[strings.TrimPrefix(ref, git.HeadsPrefix)] = commit
	}
	return heads, nil
}

// loss returns unsaved work in the form of the answer, with both lists truncated.
func loss(dir string, h UnsavedWork, g sandbox.Graph, inner []string) sandboxport.Loss {
	l := sandboxport.Loss{Directory: dir, Branch: cmp.Or(h.Branch, h.Taken), Changes: []string{}, Commits: []string{}}
	l.Commits, l.More = g.Lines(h.Head, sandbox.MaxChanges)
	for _, commit := range h.Stashes {
		inner = append(inner, "stash of what is in progress: "+commit)
	}
	for _, line := range inner {
		if len(l.Commits) < sandbox.MaxChanges {
			l.Commits = append(l.Commits, line)
		} else {
			l.More++
		}
	}
	for _, change := range h.Changes[:min(len(h.Changes), sandbox.MaxChanges)] {
		l.Changes = append(l.Changes, change.String())
	}
	l.More += len(h.Changes) - len(l.Changes)
	l.SetUp = h.Large
	return l
}

// tell adds a loss that is one.
func tell(losses []sandboxport.Loss, l sandboxport.Loss) []sandboxport.Loss {
	if len(l.Changes) == 0 && len(l.Commits) == 0 {
		return losses
	}
	if l.Commits == nil {
		l.Commits = []string{}
	}
	return append(losses, l)
}

// stashes returns the clone's own.
func stashes(ctx context.Context, at *gitcli.Repo) (sandboxport.Loss, error) {
	t := at.Main()
	l := sandboxport.Loss{Branch: stashBranch, Changes: []string{}}
	if commit, err := Resolve(ctx, t, stashBranch); err != nil || commit == "" {
		return l, err
	}
	out, err := t.Git(ctx, gitcli.Command{Settings: []gitcli.Setting{{Name: "log.showSignature", Value: "false"}},
		Args: []string{"log", "--walk-reflogs", "--no-show-signature", "--no-patch", "--no-color", "--encoding=UTF-8", "--format=%gd %gs", stashBranch, "--"}})
	if err != nil {
		return l, err
	}
	for line := range strings.Lines(strings.ToValidUTF8(string(out), "\uFFFD")) {
		if line = strings.TrimSpace(line); len(l.Commits) < sandbox.MaxChanges {
			l.Commits = append(l.Commits, line)
		} else {
			l.More++
		}
	}
	return l, nil
}
