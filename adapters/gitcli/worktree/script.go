package worktree

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/sandbox"
)

// scriptFile is the file at the top of a repository with the commands that set a worktree up.
const scriptFile = ".worktreesetup"

// maxScript is how many bytes of commands are read: the user has to approve all of them.
const maxScript = 64 << 10

// ReadScript returns the text of the commands as they stand in a commit, whatever lies in any working tree; empty when there are none. It fails with
// sandbox.ErrArguments for a file that is a link, no text, or too long to be read by the user.
func ReadScript(ctx context.Context, t *gitcli.Tree, commit string) (string, error) {
	listed, err := t.Git(ctx, gitcli.Command{Args: []string{"ls-tree", "-z", commit, "--", scriptFile}})
	if err != nil || len(listed) == 0 {
		return "", err
	}
	var entry git.Entry
	for entry, err = range git.Entries(listed) {
		if err != nil {
			return "", sandbox.ErrGit.WithMessage("%v", err).WithCause(err)
		}
	}
	if !strings.HasPrefix(entry.Mode, "100") {
		return "", sandbox.ErrArguments.WithMessage("%s in commit %.12s is not a regular file; replace it with one that has one command per line", scriptFile, commit)
	}
	out, err := t.Git(ctx, gitcli.Command{Args: []string{"cat-file", "blob", entry.Object}})
	if err != nil {
		return "", err
	}
	if len(out) > maxScript || !utf8.Valid(out) {
		return "", sandbox.ErrArguments.WithMessage("%s in commit %.12s is longer than %d KiB or not UTF-8 text; let it start a script in the repository instead", scriptFile, commit, maxScript>>10)
	}
	return string(out), nil
}
