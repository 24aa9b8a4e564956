package ecogit

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/git"
)

// The limits of amof contract §20.9.
const (
	localTime = 30 * time.Second
	askTime   = 10 * time.Second
	netTime   = 300 * time.Second
	attempts  = 3
)

// PushClient is ecosystemport.PushGit. Several goroutines and processes may use it at once. Where no other error is
// named, it fails with ecosystem.ErrGit, saying git's own masked words.
type PushClient struct{ pause time.Duration }

// NewPushClient makes a client that waits so long, and then twice as long, before it pushes again when the network failed; zero is a second. It starts
// nothing.
func NewPushClient(pause time.Duration) *PushClient {
	if pause <= 0 {
		pause = time.Second
	}
	return &PushClient{pause}
}

// repository reports whether a directory is the top of a repository's working tree.
func repository(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, ".git"))
	return err == nil
}

// gitPush runs a command in a working tree, and never in one that is around it or that the repository's configuration names.
func gitPush(ctx context.Context, dir string, cmd gitcli.Command) ([]byte, error) {
	cmd.Dir, cmd.Machine = dir, true
	if cmd.Timeout == 0 {
		cmd.Timeout = localTime
	}
	cmd.Env = append(cmd.Env, "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	if repository(dir) {
		cmd.Env = append(cmd.Env, "GIT_WORK_TREE="+dir)
	}
	cmd.Settings = append(cmd.Settings, gitcli.Setting{Name: "core.quotePath", Value: "false"})
	if cmd.Protocols == gitcli.Network {
		cmd.Settings = append(cmd.Settings, absoluteOrigin(ctx, dir)...)
	}
	out, err := cmd.Output(ctx)
	if err != nil && ctx.Err() != nil {
		return nil, fault.From(ctx.Err())
	}
	return out, err
}

// word returns what a command prints, without the end of its line.
func word(ctx context.Context, dir string, args ...string) (string, error) {
	out, err := gitPush(ctx, dir, gitcli.Command{Args: args})
	return strings.TrimSuffix(string(out), "\n"), err
}

// quiet is word for questions that git answers by failing: an empty text is no.
func quiet(ctx context.Context, dir string, args ...string) (string, error) {
	text, err := word(ctx, dir, args...)
	if exited(err) {
		return "", nil
	}
	return text, named(dir, err)
}

func lines(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
}

// exited reports a git that ran, and failed.
func exited(err error) bool {
	var exit *gitcli.ExitError
	return errors.As(err, &exit)
}

// named gives git's failures the capability's name.
func named(dir string, err error) error {
	var known *fault.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	return ecosystem.ErrGit.WithMessage("git failed in %s: %s", dir, words(err)).WithCause(err)
}

// misread is git.ErrOutput with the capability's name.
func misread(dir string, err error) error {
	return ecosystem.ErrGit.WithMessage("git failed in %s: %v", dir, err).WithCause(err)
}

// refs returns the refs that a pattern matches; all of them without one.
func refs(ctx context.Context, dir string, patterns ...string) ([]git.Ref, error) {
	out, err := gitPush(ctx, dir, gitcli.Command{Args: append([]string{"for-each-ref", "--format=" + git.RefsFormat}, patterns...)})
	if err != nil {
		return nil, named(dir, err)
	}
	list, err := git.ParseRefs(out)
	if err != nil {
		return nil, misread(dir, err)
	}
	return list, nil
}

// words returns the end of git's error output in one line: the cause is in the last lines that are not hints.
func words(err error) string {
	var exit *gitcli.ExitError
	if !errors.As(err, &exit) {
		return err.Error()
	}
	var said []string
	for _, line := range lines(exit.Words) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "hint:") {
			said = append(said, line)
		}
	}
	if len(said) == 0 {
		return err.Error()
	}
	return strings.Join(said[max(0, len(said)-4):], "; ")
}
