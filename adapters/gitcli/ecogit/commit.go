package ecogit

import (
	"context"
	"errors"
	"strings"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// Index implements ecosystemport.PushGit: what is staged, as a tree.
func (c *PushClient) Index(ctx context.Context, dir string) (string, error) {
	tree, err := word(ctx, dir, "write-tree")
	return tree, named(dir, err)
}

// Stage implements ecosystemport.PushGit. The repository's own filters run, as without them what they encrypt would be committed as it is. What is staged already is left out: git finds no deleted file a second time.
func (c *PushClient) Stage(ctx context.Context, dir string, changes []ecosystemport.Change) ([]string, error) {
	var paths strings.Builder
	for _, change := range changes {
		if !change.Staged {
			paths.WriteString(change.Path + "\x00")
		}
	}
	if paths.Len() > 0 {
		if _, err := gitPush(ctx, dir, gitcli.Command{Stdin: []byte(paths.String()), Env: []string{"GIT_LITERAL_PATHSPECS=1"}, Filters: true, Timeout: netTime,
			Args: []string{"add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul"}}); err != nil {
			return nil, named(dir, err)
		}
	}
	out, err := word(ctx, dir, "diff", "--cached", "--name-only", "-z", "--no-renames", "--diff-filter=d", "--no-ext-diff", "--")
	return names(out), named(dir, err)
}

// Unstage implements ecosystemport.PushGit.
func (c *PushClient) Unstage(ctx context.Context, dir, index string) error {
	_, err := word(ctx, dir, "read-tree", index)
	return named(dir, err)
}

// Author implements ecosystemport.PushGit.
func (c *PushClient) Author(ctx context.Context, dir string) error {
	_, err := gitPush(ctx, dir, gitcli.Command{Env: gitcli.Identity(), Args: []string{"var", "GIT_COMMITTER_IDENT"}, Settings: []gitcli.Setting{{Name: "user.useConfigOnly", Value: "true"}}})
	var refused *gitcli.ExitError
	if errors.As(err, &refused) {
		return ecosystem.ErrIdentity
	}
	return named(dir, err)
}

// Commit implements ecosystemport.PushGit. Where a filter has shown that nothing is different, it returns the commit that there is.
func (c *PushClient) Commit(ctx context.Context, dir, message string) (string, []string, error) {
	if _, err := gitPush(ctx, dir, gitcli.Command{Hooks: true, Filters: true, Env: gitcli.Identity(), Timeout: netTime, Args: []string{"commit", "--quiet", "--message=" + message}}); err != nil {
		if _, differs := word(ctx, dir, "diff", "--cached", "--quiet", "--"); differs == nil {
			head, err := word(ctx, dir, "rev-parse", "--verify", "HEAD")
			return head, nil, named(dir, err)
		}
		return "", nil, named(dir, err)
	}
	commit, err := word(ctx, dir, "rev-parse", "--verify", "HEAD")
	if err != nil {
		return "", nil, named(dir, err)
	}
	out, err := word(ctx, dir, "diff-tree", "--root", "--no-commit-id", "--name-only", "-r", "-z", "--no-renames", "--diff-filter=d", commit, "--")
	return commit, names(out), named(dir, err)
}

// Recorded implements ecosystemport.PushGit.
func (c *PushClient) Recorded(ctx context.Context, dir, path string) (bool, error) {
	there, err := quiet(ctx, dir, "rev-parse", "--verify", "--quiet", "HEAD:"+path)
	return there != "", err
}

// Record implements ecosystemport.PushGit. The file is not the user's work, so no hook runs for it.
func (c *PushClient) Record(ctx context.Context, dir, path, message string) error {
	if there, err := c.Recorded(ctx, dir, path); err != nil || there {
		return err
	}
	literal := []string{"GIT_LITERAL_PATHSPECS=1"}
	if _, err := gitPush(ctx, dir, gitcli.Command{Env: literal, Args: []string{"add", "--force", "--", path}}); err != nil {
		return named(dir, err)
	}
	_, err := gitPush(ctx, dir, gitcli.Command{Env: append(gitcli.Identity(), literal...), Args: []string{"commit", "--quiet", "--only", "--message=" + message, "--", path}})
	if err != nil {
		_, _ = word(context.WithoutCancel(ctx), dir, "rm", "--cached", "--quiet", "--", path)
	}
	return named(dir, err)
}

// names are paths that git printed with zeros between.
func names(out string) []string {
	return strings.FieldsFunc(out, func(r rune) bool { return r == 0 })
}
