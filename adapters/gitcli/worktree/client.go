package worktree

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/sandbox"
)

const (
	parallel = 8 // working trees that are looked at at a time
	patience = 15 * time.Second
	dirMode  = 0o700
)

// Options are what a Client is made of. What is 0 is as the contract has it.
type Options struct {
	Timeout  time.Duration // of one git on this machine; 30 seconds
	Reach    time.Duration // of asking a remote, or fetching from it; 30 seconds
	Clone    time.Duration // of a clone, waiting for another one of the same directory included; 5 minutes
	Worktree time.Duration // of making a worktree, and of its submodules; 1 minute
	Patience time.Duration // how long another git's locks are waited for; 15 seconds
}

// Client is sandboxport.Repositories. Several goroutines and processes may use it at once. Where no other
// error is named, it fails with sandbox.ErrGit, saying git's own masked words, with sandbox.ErrTimeout, and with sandbox.ErrBusy, whose details are
// pin.Held, for a lock that another git did not give up.
type Client struct {
	*Remotes
	options Options
}

// New makes a client. It starts nothing.
func New(o Options) *Client {
	for limit, standard := range map[*time.Duration]time.Duration{&o.Timeout: sandbox.ReachTimeout, &o.Reach: sandbox.ReachTimeout, &o.Clone: sandbox.CloneTimeout,
		&o.Worktree: sandbox.WorktreeTimeout, &o.Patience: patience} {
		if *limit <= 0 {
			*limit = standard
		}
	}
	return &Client{NewRemotes(limits{Timeout: o.Timeout, Reach: o.Reach, Clone: o.Clone, Patience: o.Patience}), o}
}

func (c *Client) open(repo string) (*gitcli.Repo, error) {
	return gitcli.OpenRepo(repo, c.options.Timeout)
}

// alone is open for what changes worktrees: while it lasts, nobody else changes any, neither another process nor a git that one has left behind.
func (c *Client) alone(ctx context.Context, repo string) (at *gitcli.Repo, release func(), err error) {
	if at, err = c.open(repo); err == nil {
		release, err = at.Alone(ctx, c.options.Worktree)
	}
	return at, release, err
}

// aside returns a context for clearing up after one that may have ended.
func (c *Client) aside(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), c.options.Worktree)
}
