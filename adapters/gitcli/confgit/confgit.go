package confgit

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/fault"
)

const (
	localTime    = 30 * time.Second
	transferTime = 10 * time.Minute
)

// Tree reads the files of an absolute directory root, or of the slash path sub below it ("" is all of it), without leaving root.
type Tree func(ctx context.Context, root, sub string) (deployment.Tree, error)

// Options are what a Client is made of.
type Options struct {
	Tree     Tree
	Timeout  time.Duration // of one git that transfers nothing; 0 is 30 seconds
	Transfer time.Duration // of everything a checkout, a pull or a push needs; 0 is 10 minutes
}

// Client is deployport.Merger, deployport.History, deployport.Ancestry, deployport.Remote, and the git half of deployport.Sources. Several goroutines and
// processes may use it at once. Every method fails with deployment.ErrGitMissing when it needs git and git cannot be started, and with
// deployment.ErrGit, saying git's own words, when git fails in a way that no other error names.
type Client struct{ options Options }

// New makes a client. It starts nothing.
func New(o Options) *Client {
	if o.Timeout <= 0 {
		o.Timeout = localTime
	}
	if o.Transfer <= 0 {
		o.Transfer = transferTime
	}
	return &Client{o}
}

// git runs one command with the machine's configuration, and gives its failures the names of the capability.
func (c *Client) git(ctx context.Context, cmd gitcli.Command) ([]byte, error) {
	cmd.Machine = true
	if cmd.Timeout <= 0 {
		cmd.Timeout = c.options.Timeout
	}
	out, err := cmd.Output(ctx)
	if err == nil {
		return out, nil
	}
	var missing *gitcli.MissingError
	var exit *gitcli.ExitError
	said := gitcli.Mask(strings.Join(cmd.Args, " "))
	details := deployment.Details{"args": maskAll(cmd.Args)}.AddPath("cwd", cmd.Dir)
	switch {
	case ctx.Err() != nil:
		return nil, fault.From(ctx.Err())
	case errors.As(err, &missing):
		return nil, deployment.ErrGitMissing.WithDetails(details.Add("hint", "install git 2.39 or newer and make sure it is on the PATH")).WithCause(err)
	case errors.Is(err, context.DeadlineExceeded):
		return nil, deployment.ErrGit.WithMessage("git %s took longer than %s and was stopped; check whether the remote answers, then repeat", said, cmd.Timeout).WithDetails(details).WithCause(err)
	case errors.As(err, &exit) && strings.HasPrefix(exit.Words, "fatal: not a git repository"):
		return nil, deployment.ErrGitRepo.WithMessage("%s is not in a git repository; create one with git init, or with init and its git option", cmd.Dir).WithDetails(details).WithCause(err)
	case errors.As(err, &exit):
		details.Add("exit_code", exit.Code).Add("stderr", exit.Words)
		return nil, deployment.ErrGit.WithMessage("git %s failed: %s", said, last(exit.Words)).WithDetails(details).WithCause(err)
	}
	return nil, deployment.ErrGit.WithMessage("git %s failed: %v", said, err).WithDetails(details).WithCause(err)
}

// words returns what a git that failed had said on standard error, and on standard output before that.
func words(err error) string {
	var exit *gitcli.ExitError
	if errors.As(err, &exit) {
		return string(exit.Output) + "\n" + exit.Words
	}
	return ""
}

func maskAll(args []string) []string {
	out := make([]string, len(args))
	for i, arg := range args {
		out[i] = gitcli.Mask(arg)
	}
	return out
}

// last is git's words in one line, without the advice that is about its own command line.
func last(words string) string {
	var kept []string
	for line := range strings.Lines(words) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "hint:") {
			kept = append(kept, line)
		}
	}
	if len(kept) == 0 {
		return "it gave no reason"
	}
	return strings.Join(kept, "; ")
}

// outside calls f with an empty directory that is in no repository, so that no repository's configuration has a say. settle is the
// environment that keeps git from finding one further up.
func outside(f func(dir string, settle []string) error) error {
	dir, err := os.MkdirTemp("", "countersign-git-*")
	if err != nil {
		return disk(err, os.TempDir())
	}
	defer func() { _ = os.RemoveAll(dir) }()
	return f(dir, ceiling(dir))
}

// ceiling keeps git from looking for a repository above dir.
func ceiling(dir string) []string { return []string{"GIT_CEILING_DIRECTORIES=" + filepath.Dir(dir)} }

// disk names what the file system did.
func disk(err error, path string) error {
	named := deployment.ErrDisk
	if errors.Is(err, fs.ErrPermission) {
		named = deployment.ErrPermission
	}
	return named.WithMessage("%s cannot be used: %v; make sure that it is writable and has free space", path, err).WithDetails(deployment.Details{}.AddPath("path", path)).WithCause(err)
}
