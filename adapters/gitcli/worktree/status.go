package worktree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/sandbox"
)

const manyCommits = 1 << 30 // bytes of a list of commits

// Resolve returns the commit of a revision, or "" if there is none.
func Resolve(ctx context.Context, t *gitcli.Tree, revision string) (string, error) {
	commit, err := t.Word(ctx, "rev-parse", "--verify", "--quiet", revision+"^{commit}")
	if gitcli.ExitOf(err) == 1 {
		return "", nil
	}
	return commit, err
}

// Branch returns the branch of HEAD, also before its first commit, or "" if HEAD is detached.
func Branch(ctx context.Context, t *gitcli.Tree) (string, error) {
	ref, err := t.Word(ctx, "symbolic-ref", "--quiet", "HEAD")
	if gitcli.ExitOf(err) == 1 {
		return "", nil
	}
	name, ok := strings.CutPrefix(ref, git.HeadsPrefix)
	if !ok {
		name = ""
	}
	return name, err
}

// OriginURL returns the URL of origin without credentials, or "" if there is none.
func OriginURL(ctx context.Context, t *gitcli.Tree) (string, error) {
	out, err := t.Git(ctx, gitcli.Command{Args: []string{"config", "-z", "--get-all", "remote.origin.url"}})
	if gitcli.ExitOf(err) == 1 {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	first, _, _ := strings.Cut(string(out), "\x00")
	return gitcli.Mask(first), nil
}

// RebasedBranch returns the branch that a rebase or bisection in progress started from, or "" if there is none.
func RebasedBranch(admin string) string {
	for _, name := range []string{"rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START"} {
		said, err := os.ReadFile(filepath.Join(admin, filepath.FromSlash(name)))
		if err != nil {
			continue
		}
		text := strings.TrimSpace(string(said))
		if branch, ok := strings.CutPrefix(text, git.HeadsPrefix); ok {
			return branch
		}
		if name == "BISECT_START" && strings.Trim(text, "0123456789abcdef") != "" {
			return text
		}
	}
	return ""
}

// UnpushedCommits returns the commits that are reachable from heads and that no remote branch has. Heads that are not there count for nothing.
func UnpushedCommits(ctx context.Context, t *gitcli.Tree, heads []string, form ...string) (sandbox.Graph, error) {
	heads = slices.DeleteFunc(slices.Clone(heads), func(head string) bool { return head == "" })
	if len(heads) == 0 {
		return sandbox.Graph{}, nil
	}
	args := append([]string{"rev-list", "--ignore-missing", "--topo-order"}, form...)
	out, err := t.Git(ctx, gitcli.Command{Args: append(args, "--stdin", "--not", "--remotes"), Dir: t.Repo.Dir, Stdin: []byte(strings.Join(heads, "\n") + "\n"), Limit: manyCommits})
	if err != nil {
		return sandbox.Graph{}, err
	}
	return sandbox.ParseGraph(out)
}

// UnsavedWork is what a worktree holds.
type UnsavedWork struct {
	Head    string // commit; empty before the first one
	Branch  string // empty when detached, also by a rebase
	Taken   string // the branch that a rebase took the tree off
	Changes []git.Change
	Stashes []string // commits of a rebase's or merge's own

	// Setup is what the record of the worktree's set-up accounts for. It need not be asked about, but is backed up before it is removed: somebody may have
	// written it while the set-up ran, and programs in the worktree can write to the record. What is too large for that is among the Changes.
	Setup []git.Change
	Large int // of the Changes: files of the set-up that are too large together to be backed up unasked

	nested []nestedRepo
}

// Dirty reports whether there is something that was not committed.
func (h UnsavedWork) Dirty() bool { return len(h.Changes) > 0 || len(h.Stashes) > 0 }

// FindUnsavedWork looks at a worktree, whose directory may be gone. Files that are marked so that git does not look into them count when they have
// changed, and so do repositories in it, ignored ones too, that have work of their own; of a clone's main tree, those are left out.
func FindUnsavedWork(ctx context.Context, t *gitcli.Tree) (UnsavedWork, error) {
	h, err := workIn(ctx, t)
	if err != nil || t.Admin == t.Common || !t.Exists() {
		return h, err
	}
	if h.nested, err = nestedIn(ctx, t, h.Changes); err != nil {
		return h, err
	}
	h.Changes = append(h.Changes, nestedChanges(h.nested)...)
	return h, nil
}

// workIn is FindUnsavedWork without the repositories in the tree.
func workIn(ctx context.Context, t *gitcli.Tree) (h UnsavedWork, err error) {
	if h.Head, err = headOf(ctx, t); err != nil {
		return h, err
	}
	out, err := t.Git(ctx, gitcli.Command{Dir: t.Repo.Dir, Args: []string{"symbolic-ref", "--quiet", "HEAD"}})
	if err != nil && gitcli.ExitOf(err) != 1 {
		return h, err
	}
	if name, ok := strings.CutPrefix(strings.TrimSuffix(string(out), "\n"), git.HeadsPrefix); ok {
		h.Branch = name
	} else {
		h.Taken = RebasedBranch(t.Admin)
	}
	for _, name := range []string{"rebase-merge/autostash", "rebase-apply/autostash", "MERGE_AUTOSTASH"} {
		said, _ := os.ReadFile(filepath.Join(t.Admin, filepath.FromSlash(name)))
		if commit, err := git.ParseCommit(strings.TrimSpace(string(said))); err == nil {
			h.Stashes = append(h.Stashes, commit.String())
		}
	}
	if !t.Exists() {
		return h, nil
	}
	s, setup, err := statusOfWork(ctx, t, "normal")
	h.Changes, h.Setup = s.Changes, setup
	if tooLarge(t.Dir, setup) {
		h.Changes, h.Setup, h.Large = append(h.Changes, setup...), nil, len(setup)
	}
	return h, err
}

// headOf returns the commit of a worktree's HEAD, also if its directory no longer exists; empty before the first commit.
func headOf(ctx context.Context, t *gitcli.Tree) (string, error) {
	out, err := t.Git(ctx, gitcli.Command{Dir: t.Repo.Dir, Args: []string{"rev-parse", "--verify", "--quiet", "HEAD^{commit}"}})
	if gitcli.ExitOf(err) == 1 {
		return "", nil
	}
	return strings.TrimSuffix(string(out), "\n"), err
}

// OnlyInRepo reports whether a commit, or one before it, is on no remote branch and not in one of the others.
func OnlyInRepo(ctx context.Context, t *gitcli.Tree, commit string, others ...string) (bool, error) {
	if commit == "" {
		return false, nil
	}
	args := append([]string{"rev-list", "--max-count=1", commit, "--not", "--remotes"}, others...)
	out, err := t.Git(ctx, gitcli.Command{Dir: t.Repo.Dir, Args: append(args, "--")})
	return len(out) > 0, err
}

// Refs returns the refs with that prefix and their objects.
func Refs(ctx context.Context, t *gitcli.Tree, prefix string) (map[string]string, error) {
	list, err := t.Refs(ctx, git.RefsFormat, prefix)
	refs := make(map[string]string, len(list))
	for _, ref := range list {
		refs[ref.Name] = ref.Object
	}
	return refs, err
}

// Stray returns what lies in a directory of which git knows nothing, as if nothing there were tracked. A file that tells where git's notes on it were is
// left out, and a directory that is not there has nothing.
func Stray(dir string) (changes []git.Change, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	if err != nil {
		return nil, gitcli.Disk(err, dir)
	}
	for _, entry := range entries {
		switch {
		case entry.IsDir():
			changes = append(changes, untracked(entry.Name()+"/"))
		case entry.Name() != ".git":
			changes = append(changes, untracked(entry.Name()))
		}
	}
	return changes, nil
}

func untracked(path string) git.Change {
	return git.Change{Kind: git.Untracked, Index: '?', Tree: '?', Path: path}
}
