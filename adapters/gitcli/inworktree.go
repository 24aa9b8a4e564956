package gitcli

import (
	"context"
	"strings"

	"github.com/countersign-dev/countersign/domain/project"
)

// inTree runs a command that compares files of the working tree.
func (c *client) inTree(ctx context.Context, at place, cmd Command) ([]byte, error) {
	cmd.Dir = at.dir
	if !at.plain || at.top == "" {
		if err := c.treeful(ctx, at); err != nil {
			return nil, err
		}
	}
	return c.git(ctx, cmd)
}

// treeful rejects what has no working tree, which not every command of git does: without one it compares, or advises, something else.
func (c *client) treeful(ctx context.Context, at place) error {
	out, err := c.git(ctx, Command{Dir: at.dir, Args: []string{"rev-parse", "--is-inside-work-tree"}})
	if err == nil && strings.TrimSpace(string(out)) != "true" {
		err = project.ErrNotRepository.WithMessage("%s is in a bare git repository, so there is nothing to compare; give a directory in one of its worktrees", at.dir)
	}
	return err
}
