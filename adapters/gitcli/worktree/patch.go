package worktree

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// Patch implements sandboxport.Repositories. Binary files are in it whole.
func (c *Client) Patch(ctx context.Context, repo, dir string, o sandboxport.Compare, limit int) ([]byte, error) {
	d, err := c.looked(ctx, repo, dir, o)
	if err != nil || d.Since == "" {
		return nil, err
	}
	env, drop, err := d.index(ctx)
	if err != nil {
		return nil, err
	}
	defer drop()
	args := append(append([]string{"diff", "--binary", "--full-index", "--patch", "--src-prefix=a/", "--dst-prefix=b/", "--unified=3", "--submodule=short"}, diffFlags()...), append([]string{d.Since, "--"}, o.Paths...)...)
	out, err := d.t.Git(ctx, gitcli.Command{Args: args, Env: env, Limit: int64(limit), Timeout: longTime})
	if errors.Is(err, gitcli.ErrLarge) {
		return nil, sandbox.ErrArguments.WithMessage("the patch is longer than %d MiB; name paths, or merge the branch instead", limit>>20)
	}
	return out, err
}

// Apply implements sandboxport.Repositories.
func (c *Client) Apply(ctx context.Context, dir string, patch []byte, check bool) error {
	top, err := c.Top(ctx, dir)
	if err != nil || len(patch) == 0 {
		return err
	}
	args := []string{"apply", "--whitespace=nowarn", "-p1"}
	if check {
		args = append(args, "--check")
	}
	_, err = gitcli.Start(ctx, gitcli.Command{Dir: top, Args: append(args, "-"), Stdin: patch, Timeout: longTime})
	if gitcli.ExitOf(err) != 1 {
		return err
	}
	if _, back := gitcli.Start(ctx, gitcli.Command{Dir: top, Args: []string{"apply", "--whitespace=nowarn", "-p1", "--check", "--reverse", "-"}, Stdin: patch, Timeout: longTime}); check && back == nil {
		return sandbox.ErrApplied.WithMessage("%s already has these changes", top)
	}
	var wrong []string
	for line := range strings.Lines(gitcli.Words(err)) {
		if said, ok := strings.CutPrefix(strings.TrimSpace(line), "error: "); ok && len(wrong) < sandbox.MaxChanges {
			wrong = append(wrong, said)
		}
	}
	return sandbox.ErrConflicts.WithMessage("the patch does not apply to %s, and nothing was changed: %s", top, strings.Join(wrong, "; ")).WithDetails(map[string][]string{"problems": wrong}).WithCause(err)
}

// Top implements sandboxport.Repositories.
func (c *Client) Top(ctx context.Context, dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", gitcli.Disk(err, dir)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", sandbox.ErrArguments.WithMessage("%s is not a directory; name a git worktree", dir)
	}
	out, err := gitcli.Start(ctx, gitcli.Command{Dir: dir, Args: []string{"rev-parse", "--show-toplevel"}})
	if err != nil {
		return "", sandbox.ErrArguments.WithMessage("%s is not in a git worktree: %s", dir, gitcli.Last(gitcli.Words(err))).WithCause(err)
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}
