package gitcli

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/project"
)

const (
	gitTime  = 30 * time.Second // packageflow-security contract §4.1
	headTime = 2 * time.Second  // packageflow contract §2.5
	diffSize = 1 << 30          // bytes of a diff that are read to be counted; few of them are kept
)

// Options are what a Client is made of.
type Options struct {
	Timeout     time.Duration // of one git; 0 is 30 seconds
	HeadTimeout time.Duration // of one repository in Heads; 0 is 2 seconds
}

// client is projectport.Repositories. Several goroutines may use it at once.
type client struct{ options Options }

// New makes a client. It starts nothing.
func New(o Options) *client {
	if o.Timeout <= 0 {
		o.Timeout = gitTime
	}
	if o.HeadTimeout <= 0 {
		o.HeadTimeout = headTime
	}
	return &client{o}
}

// Status implements projectport.Repositories.
func (c *client) Status(ctx context.Context, dir string) (project.GitStatus, error) {
	at, err := open(ctx, dir)
	if err != nil {
		return project.GitStatus{}, err
	}
	out, err := c.inTree(ctx, at, Command{Args: []string{"status", "--porcelain=v2", "-z", "--branch", "--ahead-behind",
		"--untracked-files=normal", "--ignored=no", "--find-renames", "--ignore-submodules=dirty"}})
	if err != nil {
		return project.GitStatus{}, err
	}
	said, err := git.ParseStatus(out)
	if err != nil {
		return project.GitStatus{}, project.ErrExecutionFailed.WithMessage("%v", err).WithCause(err)
	}
	s := project.NewGitStatus(said)
	if s.Detached { // which is also how git prints a branch whose name is "(detached)"
		if head, err := c.head(ctx, at); err == nil {
			s.Branch, s.Detached = head.Branch, head.Detached
		}
	}
	return s, nil
}

// Staged implements projectport.Repositories. Whatever the repository configures, the text is a plain git diff.
func (c *client) Staged(ctx context.Context, dir string, limit int) (project.Diff, error) {
	at, err := open(ctx, dir)
	if err != nil {
		return project.Diff{}, err
	}
	reader := project.NewDiffReader(limit)
	_, err = c.inTree(ctx, at, Command{Sink: reader, Limit: diffSize, Settings: []Setting{{Name: "diff.suppressBlankEmpty", Value: "false"}},
		Args: []string{"diff", "--staged", "--numstat", "--patch", "-z", "--no-ext-diff", "--no-textconv", "--no-color", "--find-renames",
			"--diff-filter=u", "--submodule=short", "--ignore-submodules=dirty", "--src-prefix=a/", "--dst-prefix=b/", "-O/dev/null",
			"--no-relative", "--unified=3", "--inter-hunk-context=0"}})
	if err != nil {
		return project.Diff{}, err
	}
	return reader.Diff()
}

// Changed implements projectport.Repositories.
func (c *client) Changed(ctx context.Context, dir, ref string) ([]string, error) {
	at, err := open(ctx, dir)
	if err != nil {
		return nil, err
	}
	unknown := project.ErrArgument.WithMessage("%.100q is not a commit in %s; give a branch, a tag or a commit", ref, at.dir)
	if ref == "" || strings.ContainsRune(ref, 0) {
		return nil, unknown
	}
	out, err := c.inTree(ctx, at, Command{Args: []string{"rev-parse", "--verify", "--quiet", "--end-of-options", ref + "^{commit}"}})
	if ExitOf(err) != 0 {
		return nil, unknown
	}
	if err != nil {
		return nil, err
	}
	var files []string
	for _, args := range [][]string{
		{"diff", "--name-only", "-z", "--relative", "--no-ext-diff", "--no-textconv", "--no-renames", "--ignore-submodules=dirty", strings.TrimSpace(string(out)), "--"},
		{"ls-files", "--others", "--exclude-standard", "-z"},
	} {
		out, err := c.inTree(ctx, at, Command{Args: args})
		if err != nil {
			return nil, err
		}
		for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
			if name != "" {
				files = append(files, name)
			}
		}
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// Remote implements projectport.Repositories.
func (c *client) Remote(ctx context.Context, dir string) (string, error) {
	at, err := open(ctx, dir)
	if err != nil {
		return "", err
	}
	if !at.plain { // git config answers from the user's own files where there is no repository
		if _, err := c.git(ctx, Command{Dir: at.dir, Args: []string{"rev-parse", "--git-dir"}}); err != nil {
			return "", err
		}
	}
	out, err := c.git(ctx, Command{Dir: at.dir, Args: []string{"config", "-z", "--get-all", "remote.origin.url"}})
	if ExitOf(err) == 1 { // there is none
		return "", nil
	}
	if err != nil {
		return "", err
	}
	url, _, _ := strings.Cut(string(out), "\x00") // the first one is fetched from
	return Mask(project.PublicURL(url)), nil
}

// git runs one command, and gives its failures the names of the capability.
func (c *client) git(ctx context.Context, cmd Command) ([]byte, error) {
	cmd.Timeout = c.options.Timeout
	cmd.Settings = append(cmd.Settings, Setting{Name: "core.quotePath", Value: "false"})
	out, err := cmd.Output(ctx)
	if err == nil {
		return out, nil
	}
	var missing *MissingError
	var exit *ExitError
	var named *fault.Error
	switch {
	case ctx.Err() != nil:
		return nil, fault.From(ctx.Err())
	case errors.As(err, &named): // the sink's
		return nil, err
	case errors.As(err, &missing):
		return nil, project.ErrExecutionFailed.WithMessage("git cannot be started; install git 2.39 or newer and make sure it is on the PATH").WithCause(err)
	case errors.Is(err, context.DeadlineExceeded):
		return nil, project.ErrExecutionTimeout.WithMessage("git %s in %s took longer than %s and was stopped", cmd.Args[0], cmd.Dir, cmd.Timeout).WithCause(err)
	case errors.Is(err, ErrLarge):
		return nil, project.ErrExecutionFailed.WithMessage("the output of git %s in %s is too large; check whether files are missing from .gitignore", cmd.Args[0], cmd.Dir).WithCause(err)
	case !errors.As(err, &exit):
		return nil, project.ErrExecutionFailed.WithMessage("git %s in %s failed", cmd.Args[0], cmd.Dir).WithCause(err)
	}
	said := last(exit.Words)
	if strings.HasPrefix(exit.Words, "fatal: not a git repository") || strings.HasPrefix(exit.Words, "fatal: invalid gitfile format") {
		return nil, project.ErrNotRepository.WithMessage("%s is not in a usable git repository: %s", cmd.Dir, said).WithCause(err)
	}
	return nil, project.ErrExecutionFailed.WithMessage("git %s in %s failed: %s", cmd.Args[0], cmd.Dir, said).WithCause(err)
}

// last is git's words in one line.
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
