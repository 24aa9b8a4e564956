package ecogit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// The limits of amof contract §20.9.
const (
	readTime = 30 * time.Second
	longTime = 300 * time.Second
	pause    = time.Second
	retries  = 3
	patience = 15 * time.Second // how long another git's locks are waited for
	dirMode  = 0o755            // before the umask; a workspace is the user's own to share
)

// Options are what a Client is made of. What is 0 is as the contract has it.
type Options struct {
	Read  time.Duration // of one git on this machine; 30 seconds
	Long  time.Duration // of a clone, a fetch, a push or a worktree; 300 seconds
	Pause time.Duration // before what the network did is tried again, doubled each time; 1 second
}

// Client is ecosystemport.WorkspaceInstaller and ecosystemport.Clones (under Clones). Several goroutines and processes may use it.
type Client struct{ options Options }

// New makes a client. It starts nothing.
func New(o Options) *Client {
	if o.Read <= 0 {
		o.Read = readTime
	}
	if o.Long <= 0 {
		o.Long = longTime
	}
	if o.Pause <= 0 {
		o.Pause = pause
	}
	return &Client{o}
}

// Clones are the repositories' side of a client.
type Clones struct{ *Client }

// Clones is ecosystemport.Clones.
func (c *Client) Clones() Clones { return Clones{c} }

func (c *Client) open(dir string) (*gitcli.Repo, error) {
	at, err := gitcli.OpenRepo(dir, c.options.Read)
	return at, ours(err)
}

// runRemote runs a git command that contacts an origin. Unlike the others it may use the user's credential helpers.
func (c *Client) runRemote(ctx context.Context, t *gitcli.Tree, what string, cmd gitcli.Command) ([]byte, error) {
	cmd.Machine, cmd.Timeout = true, c.options.Long
	cmd.Env = append([]string{gitcli.SSH(""), "GIT_PROXY_COMMAND=", "GIT_LFS_SKIP_SMUDGE=1"}, cmd.Env...)
	cmd.Settings = append([]gitcli.Setting{{Name: "core.alternateRefsCommand", Value: "true"}, {Name: "core.quotePath", Value: "false"}, {Name: "gc.auto", Value: "0"},
		{Name: "maintenance.auto", Value: "false"}, {Name: "submodule.recurse", Value: "false"}, {Name: "fetch.recurseSubmodules", Value: "false"},
		{Name: "advice.detachedHead", Value: "false"}, {Name: "core.longpaths", Value: "true"}}, cmd.Settings...)
	if t != nil {
		cmd.Dir = t.Dir
		cmd.Env = append(cmd.Env, "GIT_DIR="+t.Admin, "GIT_COMMON_DIR="+t.Common, "GIT_WORK_TREE="+t.Dir)
	}
	out, err := cmd.Output(ctx)
	return out, c.named(ctx, what, err)
}

// named gives git's failures the names of the capability.
func (c *Client) named(ctx context.Context, what string, err error) error {
	var missing *gitcli.MissingError
	var exit *gitcli.ExitError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fault.From(ctx.Err())
	case errors.As(err, &missing):
		return ecosystem.ErrGit.WithMessage("git cannot be started; install git 2.39 or newer and make sure it is on the PATH").WithCause(err)
	case errors.Is(err, context.DeadlineExceeded):
		return ecosystem.ErrGit.WithMessage("%s took longer than %s and was stopped; check whether its host answers", what, c.options.Long).WithCause(err)
	case errors.As(err, &exit):
		return ecosystem.ErrGit.WithMessage("%s failed: %s", what, gitcli.Last(exit.Words)).WithCause(err)
	}
	return ecosystem.ErrGit.WithMessage("%s failed: %v", what, err).WithCause(err)
}

// ours gives the failures of package pin, which sandboxes share, the name that they have here.
func ours(err error) error {
	var told *fault.Error
	if errors.As(err, &told) && strings.HasPrefix(string(told.Code), "sandbox_") {
		return ecosystem.ErrGit.WithMessage("%s", told.Message).WithCause(err)
	}
	return err
}

func disk(err error, path string) error {
	say := "make sure that it is writable and has free space"
	if errors.Is(err, fs.ErrPermission) {
		say = "make sure that this user has access to it"
	}
	return ecosystem.ErrStorage.WithMessage("%s cannot be used: %v; %s", path, err, say).WithCause(err)
}

// troubles returns what git, curl and ssh say when the network, and not the repository, is why they failed.
func troubles() []string {
	return []string{"could not resolve host", "could not resolve proxy", "temporary failure in name resolution", "name or service not known", "connection refused",
		"connection reset", "connection timed out", "connection closed by", "operation timed out", "network is unreachable", "no route to host", "broken pipe",
		"failed to connect", "couldn't connect", "unable to connect", "the remote end hung up unexpectedly", "early eof", "unexpected disconnect", "kex_exchange_identification",
		"gnutls", "ssl_read", "ssl_connect", "recv failure", "send failure", "returned error: 429", "returned error: 500", "returned error: 502",
		"returned error: 503", "returned error: 504", "rpc failed", "empty reply from server", "transfer closed"}
}

// passing reports a failure that another attempt may not meet.
func passing(err error) bool {
	words := strings.ToLower(gitcli.Words(err))
	for _, sign := range troubles() {
		if strings.Contains(words, sign) {
			return true
		}
	}
	return false
}

// persistently repeats what the network made fail, at doubling intervals.
func (c *Client) persistently(ctx context.Context, tell ecosystemport.ProgressFunc, do func() error) error {
	wait := c.options.Pause
	for try := 1; ; try++ {
		err := do()
		if err == nil || try > retries || ctx.Err() != nil || !passing(err) {
			return err
		}
		tell("warning", fmt.Sprintf("attempt %d of %d: %s; trying again in %s", try, retries+1, fault.From(err).Message, wait))
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return fault.From(ctx.Err())
		case <-timer.C:
		}
		wait *= 2
	}
}

// Publish implements ecosystemport.WorkspaceInstaller.
func (c *Client) Publish(ctx context.Context, root, branch string, tell ecosystemport.ProgressFunc) error {
	at, err := c.open(root)
	if err != nil {
		return err
	}
	ref := "refs/heads/" + branch
	return c.persistently(ctx, tell, func() error {
		_, err := c.runRemote(ctx, at.Main(), "git push of "+branch, gitcli.Command{Protocols: gitcli.Network,
			Args: []string{"push", "--porcelain", "--no-recurse-submodules", "--no-follow-tags", "--receive-pack=git-receive-pack", "--", "origin", ref + ":" + ref}})
		return err
	})
}
