package projectport

import (
	"context"

	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/project"
)

// Repositories reads the git repository that a directory belongs to; the directory may be below its top. It runs nothing that the repository configures,
// writes nothing and uses no network. A directory that is in no repository, does not exist or is not absolute is project.ErrNotRepository. A git that
// fails, is missing or prints something unexpected is project.ErrExecutionFailed with git's message; one that takes too long is
// project.ErrExecutionTimeout.
type Repositories interface {
	// Head returns what is checked out. It reads the repository's files and starts git only if they do not suffice.
	Head(ctx context.Context, dir string) (project.Head, error)
	// Status compares the whole worktree with the last commit. For submodules it reports another commit, not changes within them. A repository without a
	// worktree is project.ErrNotRepository.
	Status(ctx context.Context, dir string) (project.GitStatus, error)
	// Staged returns the diff between the last commit and the index, without files that have conflicts. Its text is cut to limit bytes; 0 means
	// project.DefaultDiffBytes. Nothing staged is an empty Diff. A repository without a worktree is project.ErrNotRepository.
	Staged(ctx context.Context, dir string, limit int) (project.Diff, error)
	// Changed returns the files below dir that differ from the commit that ref names, as they lie there: whether committed since or not, deleted ones and those that git does
	// not know yet, but none that it ignores. They are paths below dir with slashes, sorted. A ref that names no commit is project.ErrArgument.
	Changed(ctx context.Context, dir, ref string) ([]string, error)
	// Worktrees returns every worktree of the repository, the main one first.
	Worktrees(ctx context.Context, dir string) ([]git.Worktree, error)
	// Remote returns the configured URL of the remote origin without credentials; empty if there is none.
	Remote(ctx context.Context, dir string) (string, error)

	// Heads returns a result for each directory, in their order. Directories are read concurrently with a short timeout each, so that one that cannot be read
	// does not delay the others.
	Heads(ctx context.Context, dirs []string) []HeadResult

	// Belongs reports whether dir is in a worktree of the project's repository: its repository is inside the project's directory, and the project's own list
	// names it. Either alone could be forged. Links are resolved on both sides. A directory that does not exist or is no repository belongs to nothing; an
	// error means that git could not be asked.
	Belongs(ctx context.Context, dir, root string) (bool, error)
}

// HeadResult is one answer of Heads: where Err is not nil, Head says nothing.
type HeadResult struct {
	Head project.Head
	Err  error
}
