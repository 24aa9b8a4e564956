package ecogit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/adapters/gitcli/worktree"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// origin returns the URL of a repository to pass to git.
type origin struct{ url, shown, protocols string }

// address checks what a manifest says. Credentials in a URL would be stored and shown, so that they are refused (amof contract §20.9).
func address(r ecosystem.Repo) (origin, error) {
	is, err := git.ParseURL(r.URL)
	if err != nil {
		return origin{}, ecosystem.ErrManifest.WithMessage("repository %s: %v", r.Name, err).WithCause(err)
	}
	if git.CarriesCredentials(r.URL) {
		return origin{}, ecosystem.ErrManifest.WithMessage("repository %s: its url contains credentials, which would be stored in the clone; remove them, and use an SSH key or a git credential helper", r.Name)
	}
	if _, err := git.ParseBranch(r.Branch); err != nil {
		return origin{}, ecosystem.ErrManifest.WithMessage("repository %s: %v", r.Name, err).WithCause(err)
	}
	o := origin{url: strings.TrimSpace(r.URL), protocols: worktree.Transports}
	if host, _, _ := strings.Cut(o.url, "/"); host != "" && !strings.Contains(host, ":") {
		o.url = is.String() // host.tld/owner/repo, which git would take for a path
	}
	if is.IsLocal() {
		o.protocols = "file"
	}
	o.shown = gitcli.Mask(o.url)
	return o, nil
}

// Address implements ecosystemport.Clones.
func (c Clones) Address(r ecosystem.Repo) (string, error) {
	o, err := address(r)
	return o.shown, err
}

// partial returns where a clone is made. Whoever has the ecosystem's lock owns it.
func partial(dir string) string {
	return filepath.Join(filepath.Dir(dir), "."+filepath.Base(dir)+".cloning")
}

// Sweep implements ecosystemport.Clones.
func (c Clones) Sweep(_ context.Context, dir string) error {
	worktree.Discard(partial(dir))
	if there(partial(dir)) {
		return ecosystem.ErrStorage.WithMessage("%s cannot be removed; delete it by hand", partial(dir))
	}
	return nil
}

// Clone implements ecosystemport.Clones.
func (c Clones) Clone(ctx context.Context, r ecosystem.Repo, dir string, tell ecosystemport.ProgressFunc) (string, error) {
	o, err := address(r)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(dir), dirMode); err != nil {
		return "", disk(err, filepath.Dir(dir))
	}
	defer worktree.Discard(partial(dir))
	if err := c.persistently(ctx, tell, func() error { return c.attempt(ctx, r, o, partial(dir), tell) }); err != nil {
		return "", err
	}
	at, err := c.open(partial(dir))
	if err != nil {
		return "", err
	}
	said, err := at.Main().Word(ctx, "rev-parse", "HEAD", "--symbolic-full-name", "HEAD")
	if err != nil {
		return "", ours(err)
	}
	commit, ref, _ := strings.Cut(said, "\n")
	if ref != git.HeadsPrefix+r.Branch {
		return "", ecosystemport.ErrBranch.WithMessage("repository %s: %q is a tag of %s, not a branch; name a branch in the manifest", r.Name, r.Branch, o.shown)
	}
	_ = os.Remove(dir) // only removed if it is empty
	if there(dir) {
		return "", ecosystem.ErrConflict.WithMessage("repository %s: %s already exists; move it away", r.Name, dir)
	}
	if err := os.Rename(partial(dir), dir); err != nil {
		return "", disk(err, dir)
	}
	return commit, nil
}

// attempt is one clone into dir.
func (c Clones) attempt(ctx context.Context, r ecosystem.Repo, o origin, dir string, tell ecosystemport.ProgressFunc) error {
	worktree.Discard(dir)
	if err := os.Mkdir(dir, dirMode); err != nil {
		return disk(err, dir)
	}
	args := []string{"clone", "--progress", "--origin=origin", "--template=", "--no-recurse-submodules", "--upload-pack=git-upload-pack", "--branch=" + r.Branch}
	if r.ReadOnly {
		args = append(args, "--config=remote.origin.pushurl=DISABLED")
	}
	_, err := c.runRemote(ctx, nil, "git clone of "+o.shown, gitcli.Command{Dir: dir, Protocols: o.protocols, Watch: &sandbox.CloneProgress{Tell: throttled(tell)},
		Env: []string{"GIT_CEILING_DIRECTORIES=" + filepath.Dir(dir)}, Args: append(args, "--", o.url, ".")})
	return unknown(r, o, err)
}

// unknown names the branch that an origin does not have.
func unknown(r ecosystem.Repo, o origin, err error) error {
	var exit *gitcli.ExitError
	if errors.As(err, &exit) && (strings.Contains(exit.Words, "Remote branch "+r.Branch+" not found") || strings.Contains(exit.Words, "couldn't find remote ref "+git.HeadsPrefix+r.Branch)) {
		return ecosystemport.ErrBranch.WithMessage("repository %s: %s has no branch %q; push it, or name another branch in the manifest", r.Name, o.shown, r.Branch).WithCause(err)
	}
	return err
}

const often = 25 // percent between lines of progress

func throttled(tell ecosystemport.ProgressFunc) func(int, string) {
	next := often
	return func(percent int, what string) {
		if percent >= next && percent < 100 {
			next = percent + often
			tell("info", fmt.Sprintf("%d%%, %s", percent, what))
		}
	}
}
