package projectport

import (
	"context"

	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/project"
)

// Repositories answers questions about the git repository that a directory is in; the directory may be below its top. Nothing a
// repository configures is run, nothing is written and no network is used. A directory that is in none, does not exist, or is not given as an
// absolute path is project.ErrNotRepository. A git that fails, is missing or prints what is not expected is project.ErrExecutionFailed, saying
// its own words; one that takes too long is project.ErrExecutionTimeout.
type Repositories interface {
	// Head is what the repository stands on. No process is started where its files say so, which is nearly always.
	Head(ctx context.Context, dir string) (project.Head, error)
	// Status is how the whole working tree differs from the last commit. Of submodules it tells whether they stand on another commit, not
	// what was changed within them. A repository without a working tree is project.ErrNotRepository.
	Status(ctx context.Context, dir string) (project.GitStatus, error)
	// Staged is what the next commit would change, files with conflicts left out; its text is cut to at most limit bytes (repo.Cut), 0 being
	// repo.DefaultText. Nothing staged is an empty Diff. A repository without a working tree is project.ErrNotRepository.
	Staged(ctx context.Context, dir string, limit int) (project.Diff, error)
	// Worktrees is every working tree of the repository, the main one first.
	Worktrees(ctx context.Context, dir string) ([]git.Worktree, error)
	// Remote is the URL of the remote called origin as it was configured, without credentials; empty when there is none.
	Remote(ctx context.Context, dir string) (string, error)

	// Heads is an answer for each directory, in their order. A few are looked at at a time, and each for a short time only: one that cannot be
	// read holds up no other.
	Heads(ctx context.Context, dirs []string) []HeadResult

	// Belongs reports whether dir lies in a working tree of the project's repository: its repository is inside the project's directory, and
	// that project's own list names it. Either side alone can be forged, and is not enough. Links are resolved on both sides. What does not
	// exist or is no repository belongs to nothing; an error is a git that could not be asked.
	Belongs(ctx context.Context, dir, root string) (bool, error)
}

// HeadResult is one answer of Heads: where Err is not nil, Head says nothing.
type HeadResult struct {
	Head project.Head
	Err  error
}
