package worktree

import (
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// Transports are those that reach another machine.
const Transports = "https:http:ssh:git"

// Remotes is what of sandboxport.Repositories reaches the network, for those who need no more.
type Remotes struct{ limits limits }

// NewRemotes makes one. It starts nothing.
func NewRemotes(l limits) *Remotes { return &Remotes{l} }

// limits are how long things take at most.
type limits struct {
	Timeout  time.Duration // of one git on this machine
	Reach    time.Duration // of asking a remote, or fetching from it
	Clone    time.Duration // of a clone, waiting for another one of the same directory included
	Patience time.Duration // how long another git's locks are waited for
}

func (c *Remotes) open(repo string) (*gitcli.Repo, error) {
	return gitcli.OpenRepo(repo, c.limits.Timeout)
}

// remote is a repository's URL with the environment that git needs for it.
type remote struct {
	identity  git.URL
	url       string
	protocols string
	ssh       string
}

// address checks what an access says. Credentials in a URL would be stored and shown, so that they are refused.
func address(a sandboxport.Access) (remote, error) {
	identity, err := git.ParseURL(a.URL)
	if err != nil {
		return remote{}, sandbox.ErrURL.WithMessage("the repository cannot be reached: %v", err).WithCause(err)
	}
	if git.CarriesCredentials(a.URL) {
		return remote{}, sandbox.ErrURL.WithMessage("the git URL contains credentials, which would be stored; remove them and use an SSH key")
	}
	r := remote{identity: identity, url: identity.String(), protocols: Transports, ssh: gitcli.SSH(a.Key)}
	given := strings.TrimSpace(a.URL)
	if scheme, _, ok := strings.Cut(given, "://"); ok && strings.HasPrefix(strings.ToLower(scheme), "http") {
		r.url = given
	}
	if identity.IsLocal() {
		r.protocols = "file"
	}
	return r, nil
}

// Reach implements sandboxport.Repositories.
func (c *Remotes) Reach(ctx context.Context, a sandboxport.Access) error {
	r, err := address(a)
	if err != nil {
		return err
	}
	_, err = gitcli.Start(ctx, gitcli.Command{Args: []string{"ls-remote", "--upload-pack=git-upload-pack", "--", r.url, "HEAD"}, Timeout: c.limits.Reach, Protocols: r.protocols,
		Env: []string{"GIT_DIR=" + os.DevNull, r.ssh}}) // no repository's configuration has a say
	if err == nil || ctx.Err() != nil {
		return err
	}
	return failed(sandbox.ErrGit, "cannot be read", r, err)
}

// failed says of a remote what git said.
func failed(named *fault.Error, what string, r remote, err error) error {
	reason := gitcli.Last(gitcli.Words(err))
	if gitcli.ExitOf(err) == 0 {
		reason = err.Error()
		if told := (*fault.Error)(nil); errors.As(err, &told) {
			reason = told.Message
		}
	}
	return named.WithMessage("%s %s: %s", r.identity, what, reason).WithCause(err)
}

// Root implements sandboxport.Repositories. Of several root commits it returns the first by ID; without commits it returns "".
func (c *Remotes) Root(ctx context.Context, dir string) (sandboxport.Clone, error) {
	r, err := c.open(dir)
	if err != nil {
		return sandboxport.Clone{}, err
	}
	t := r.Main()
	var found sandboxport.Clone
	if found.Branch, err = Branch(ctx, t); err != nil {
		return sandboxport.Clone{}, err
	}
	if found.Origin, err = OriginURL(ctx, t); err != nil {
		return sandboxport.Clone{}, err
	}
	head, err := Resolve(ctx, t, "HEAD")
	if err != nil || head == "" {
		return found, err
	}
	out, err := t.Git(ctx, gitcli.Command{Args: []string{"rev-list", "--max-parents=0", head, "--"}})
	if err != nil {
		return sandboxport.Clone{}, err
	}
	if roots := strings.Fields(string(out)); len(roots) > 0 {
		found.RootCommit = slices.Min(roots)
	}
	return found, nil
}

// Fetch implements sandboxport.Repositories. What the clone's configuration says of its origin is not asked; tags come along as git does it.
func (c *Remotes) Fetch(ctx context.Context, repo string, a sandboxport.Access) error {
	r, err := address(a)
	if err != nil {
		return err
	}
	at, err := c.open(repo)
	if err != nil {
		return err
	}
	err = c.fetch(ctx, at, r, "+"+git.HeadsPrefix+"*:"+git.RemotesPrefix+"*")
	if err == nil || ctx.Err() != nil || errors.Is(err, sandbox.ErrBusy) {
		return err
	}
	return failed(sandbox.ErrGit, "cannot be fetched from", r, err)
}

func (c *Remotes) fetch(ctx context.Context, at *gitcli.Repo, r remote, what string) error {
	return gitcli.Patiently(ctx, c.limits.Patience, func() error {
		_, err := at.Main().Git(ctx, gitcli.Command{Timeout: c.limits.Reach, Protocols: r.protocols, Env: []string{r.ssh},
			Args: []string{"fetch", "--quiet", "--prune", "--no-prune-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--no-auto-maintenance",
				"--upload-pack=git-upload-pack", "--", r.url, what}})
		return err
	})
}

// requestPrefix is the ref prefix of fetched pull requests, which count as the remote's refs.
const requestPrefix = "refs/remotes/pull/"

// FetchRequest implements sandboxport.Repositories.
func (c *Remotes) FetchRequest(ctx context.Context, repo string, a sandboxport.Access, number int) (string, error) {
	r, err := address(a)
	if err != nil {
		return "", err
	}
	at, err := c.open(repo)
	if err != nil {
		return "", err
	}
	ref := requestPrefix + strconv.Itoa(number)
	for _, theirs := range []string{"refs/pull/", "refs/merge-requests/"} {
		err = c.fetch(ctx, at, r, "+"+theirs+strconv.Itoa(number)+"/head:"+ref)
		switch {
		case err == nil:
			return Resolve(ctx, at.Main(), ref)
		case ctx.Err() != nil || errors.Is(err, sandbox.ErrBusy):
			return "", err
		case !strings.Contains(gitcli.Words(err), "couldn't find remote ref"):
			return "", failed(sandbox.ErrGit, "cannot be fetched from", r, err)
		}
	}
	return "", sandbox.ErrBranch.WithMessage("%s has no pull request %d: neither refs/pull/%d/head nor refs/merge-requests/%d/head exists", r.identity, number, number, number).
		WithDetails(sandbox.MissingBranch{Branch: "pr:" + strconv.Itoa(number), Near: []string{}})
}
