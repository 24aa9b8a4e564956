package worktree

import (
	"context"
)

// Include implements sandboxport.Repositories; see included.Copy.
func (c *Client) Include(ctx context.Context, repo, dir string) ([]string, error) {
	at, err := c.open(repo)
	if err != nil {
		return nil, err
	}
	return CopyIncluded(ctx, at.Main(), dir)
}

// Script implements sandboxport.Repositories; ref is the ref of a plan. It fails with sandbox.ErrBranch if that no longer exists.
func (c *Client) Script(ctx context.Context, repo, ref string) (string, error) {
	at, err := c.open(repo)
	if err != nil {
		return "", err
	}
	commit, err := standing(ctx, at, ref, false)
	if err != nil {
		return "", err
	}
	return ReadScript(ctx, at.Main(), commit)
}

// Commit implements sandboxport.Repositories.
func (c *Client) Commit(ctx context.Context, repo, ref string) (string, error) {
	at, err := c.open(repo)
	if err != nil {
		return "", err
	}
	return standing(ctx, at, ref, false)
}
