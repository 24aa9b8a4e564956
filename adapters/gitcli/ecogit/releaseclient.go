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
	"github.com/countersign-dev/countersign/domain/sandbox"
)

const (
	releaseLocalTime = 30 * time.Second // amof contract §20.9
	releaseAskTime   = 10 * time.Second
	pushTime         = 300 * time.Second
	releasePatience  = 30 * time.Second // for what a killed process's git is still doing
	parallel         = 8                // repositories looked at at a time
	heads            = "refs/heads/"
	tags             = "refs/tags/"
)

// ReleaseClient is every port of releases. Several goroutines may use it at once.
type ReleaseClient struct{}

// NewReleaseClient makes a client. It starts nothing.
func NewReleaseClient() *ReleaseClient { return &ReleaseClient{} }

// gone reports whether a checkout no longer exists.
func gone(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, ".git"))
	return errors.Is(err, os.ErrNotExist)
}

// openRelease returns the checkout in dir: a clone's own working tree, or another one of a clone.
func openRelease(dir string) (*gitcli.Tree, error) {
	file := filepath.Join(dir, ".git")
	info, err := os.Lstat(file)
	if err != nil {
		return nil, ecosystem.ErrGit.WithMessage("%s is not a git repository; amof_sync_repos clones missing repositories", dir).WithCause(err)
	}
	if info.IsDir() {
		r, err := gitcli.OpenRepo(dir, releaseLocalTime)
		if err != nil {
			return nil, namedRelease(err)
		}
		return r.Main(), nil
	}
	said, err := os.ReadFile(file)
	admin, ok := strings.CutPrefix(strings.TrimSpace(string(said)), "gitdir: ")
	if err != nil || !ok {
		return nil, ecosystem.ErrGit.WithMessage("%s does not say where the repository is", file).WithCause(err)
	}
	if !filepath.IsAbs(admin) {
		admin = filepath.Join(dir, admin)
	}
	common := filepath.Dir(filepath.Dir(filepath.Clean(admin))) // <main>/.git/worktrees/<name>
	if filepath.Base(common) != ".git" {
		return nil, ecosystem.ErrGit.WithMessage("%s is not a worktree of a plain clone", dir)
	}
	r, err := gitcli.OpenRepo(filepath.Dir(common), releaseLocalTime)
	if err != nil {
		return nil, namedRelease(err)
	}
	t, ok, err := r.Tree(dir)
	if err == nil && !ok {
		err = ecosystem.ErrGit.WithMessage("%s is not a registered worktree of its repository", dir)
	}
	return t, namedRelease(err)
}

// alone does something while nothing else of ours, and no git that a killed process left running, works on the clone.
func alone(ctx context.Context, dir string, do func(*gitcli.Tree) error) error {
	t, err := openRelease(dir)
	if err != nil {
		return err
	}
	release, err := t.Alone(ctx, releasePatience)
	if err != nil {
		return namedRelease(err)
	}
	defer release()
	return namedRelease(do(t))
}

// namedRelease gives the failures of git the names of this capability.
func namedRelease(err error) error {
	var f *fault.Error
	if err == nil || !errors.As(err, &f) {
		return err
	}
	switch {
	case errors.Is(err, sandbox.ErrBusy):
		return ecosystem.ErrBusy.WithMessage("%s", f.Message).WithCause(err)
	case errors.Is(err, sandbox.ErrGit), errors.Is(err, sandbox.ErrTimeout):
		return ecosystem.ErrGit.WithMessage("%s", f.Message).WithCause(err)
	}
	return err
}

// own runs git with the user's own configuration, in a checkout that is named outright.
func own(ctx context.Context, t *gitcli.Tree, cmd gitcli.Command) ([]byte, error) {
	cmd.Dir, cmd.Machine = t.Dir, true
	cmd.Env = append([]string{"GIT_DIR=" + t.Admin, "GIT_COMMON_DIR=" + t.Common, "GIT_WORK_TREE=" + t.Dir}, cmd.Env...)
	out, err := cmd.Output(ctx)
	if err == nil || ctx.Err() != nil {
		return out, err
	}
	said := gitcli.Last(gitcli.Words(err))
	if gitcli.Words(err) == "" {
		said = err.Error()
	}
	return nil, ecosystem.ErrGit.WithMessage("git %s in %s failed: %s", cmd.Args[0], t.Dir, said).WithCause(err)
}

// Author implements ecosystemport.ReleaseGit.
func (c *ReleaseClient) Author(ctx context.Context, dir string) (string, error) {
	t, err := openRelease(dir)
	if err != nil {
		return "", err
	}
	return author(ctx, t)
}

func author(ctx context.Context, t *gitcli.Tree) (string, error) {
	out, err := own(ctx, t, gitcli.Command{Env: gitcli.Identity(), Args: []string{"var", "GIT_AUTHOR_IDENT"}, Settings: []gitcli.Setting{{Name: "user.useConfigOnly", Value: "true"}}})
	if words := gitcli.Words(err); strings.Contains(words, "auto-detection is disabled") || strings.Contains(words, "tell me who you are") || strings.Contains(words, "empty ident") {
		return "", ecosystem.ErrIdentity.WithCause(err)
	}
	if err != nil {
		return "", err
	}
	who, _, ok := strings.Cut(string(out), "> ")
	if !ok {
		return "", ecosystem.ErrIdentity
	}
	return who + ">", nil
}
