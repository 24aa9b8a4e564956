package gitcli

import (
	"context"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/ports/projectport"
)

// parallel is how many repositories are looked at at a time (packageflow contract §2.5).
const parallel = 8

// Head implements projectport.Repositories.
func (c *client) Head(ctx context.Context, dir string) (project.Head, error) {
	at, err := open(ctx, dir)
	if err != nil {
		return project.Head{}, err
	}
	return c.head(ctx, at)
}

func (c *client) head(ctx context.Context, at place) (project.Head, error) {
	if at.plain {
		if text, err := small(filepath.Join(at.gitDir, headFile)); err == nil {
			if head, ok := project.ParseHead(text); ok {
				return head, nil
			}
		}
	}
	out, err := c.git(ctx, Command{Dir: at.dir, Args: []string{"symbolic-ref", "--quiet", "HEAD"}})
	if err == nil {
		if head, ok := project.ParseHead(append([]byte("ref: "), out...)); ok {
			return head, nil
		}
	} else if ExitOf(err) != 1 {
		return project.Head{}, err
	}
	out, err = c.git(ctx, Command{Dir: at.dir, Args: []string{"rev-parse", "--verify", "HEAD^{commit}"}})
	if err != nil {
		return project.Head{}, err
	}
	head, ok := project.ParseHead(out)
	if !ok {
		return project.Head{}, project.ErrExecutionFailed.WithMessage("git rev-parse in %s printed no commit; use git 2.39 or newer", at.dir)
	}
	return head, nil
}

// Heads implements projectport.Repositories: eight at a time, two seconds each.
func (c *client) Heads(ctx context.Context, dirs []string) []projectport.HeadResult {
	results := make([]projectport.HeadResult, len(dirs))
	var group errgroup.Group
	group.SetLimit(parallel)
	for i, dir := range dirs {
		group.Go(func() error {
			results[i] = c.bounded(ctx, dir)
			return nil
		})
	}
	_ = group.Wait()
	return results
}

// bounded is Head with a short timeout. A read from a file system that does not respond cannot be interrupted; its result is dropped.
func (c *client) bounded(ctx context.Context, dir string) projectport.HeadResult {
	ctx, cancel := context.WithTimeout(ctx, c.options.HeadTimeout)
	defer cancel()
	done := make(chan projectport.HeadResult, 1)
	go func() {
		head, err := c.Head(ctx, dir)
		done <- projectport.HeadResult{Head: head, Err: err}
	}()
	select {
	case result := <-done:
		return result
	case <-ctx.Done():
		return projectport.HeadResult{Err: fault.From(ctx.Err())}
	}
}
