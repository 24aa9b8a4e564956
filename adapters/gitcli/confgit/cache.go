package confgit

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/relpath"
)

const gitDir = ".git"

// Git gives the tree of one resolved source out of <home>/cache/git/<sum of the URL>/<commit> (agentpack contract §1.1), where a checkout
// appears atomically. Checkouts of the older layouts are moved there, or used where they are. One that is missing is fetched,
// unless offline (ErrOffline). It fails with ErrConfig for a URL that git must not see and a subdirectory that is not there, ErrLock for a
// commit that is none, and ErrPath for a subdirectory outside the checkout. What the checkout holds is for the caller to compare with the
// lockfile: it is a cache, and anybody may have edited it.
func (c *Client) Git(ctx context.Context, at deployment.Locations, source deployment.ResolvedGit, offline bool) (deployment.Tree, error) {
	commit, ok := commitOf(source.Commit)
	if !ok {
		return nil, deployment.ErrLock.WithMessage("invalid commit %q of %s: a commit has 40 hex digits; lock again", source.Commit, shown(source.URL))
	}
	if err := checkURL(source.URL, false); err != nil {
		return nil, err
	}
	source.Commit = commit
	sub, err := subdir(source.Subdir)
	if err != nil {
		return nil, err
	}
	root, err := c.checkout(ctx, at.Home, source, offline)
	if err != nil {
		return nil, err
	}
	if sub, err = inside(root, sub, source); err != nil {
		return nil, err
	}
	return c.options.Tree(ctx, root, sub)
}

// checkout returns the directory of a source's checkout.
func (c *Client) checkout(ctx context.Context, home string, source deployment.ResolvedGit, offline bool) (string, error) {
	store := storeOf(home, source)
	canonical := filepath.Join(store, source.Commit)
	if isDir(canonical) {
		return canonical, nil
	}
	if old := FindLegacyCheckout(filepath.Dir(store), source); old != "" {
		return MoveLegacyCheckout(old, canonical), nil
	}
	if offline {
		return "", deployment.ErrOffline.WithMessage("commit %s of %s is not in the cache and cannot be fetched with --offline; repeat without --offline, or run fetch first", source.Commit, shown(source.URL)).
			WithDetails(deployment.Details{"url": shown(source.URL), "commit": source.Commit})
	}
	if err := gitcli.Reach(ctx, source.URL); err != nil {
		return "", err
	}
	return canonical, c.fetch(ctx, store, source)
}

// Discard removes the checkout of a source from the cache, so that Git fetches it again. It fails with ErrLock for an invalid commit.
func (c *Client) Discard(ctx context.Context, at deployment.Locations, source deployment.ResolvedGit) error {
	commit, ok := commitOf(source.Commit)
	if !ok {
		return deployment.ErrLock.WithMessage("invalid commit %q of %s: a commit has 40 hex digits; lock again", source.Commit, shown(source.URL))
	}
	store := storeOf(at.Home, source)
	if !isDir(filepath.Join(store, commit)) {
		return nil
	}
	lock, err := await(ctx, docfile.NewDir(store), lockName(commit))
	if err != nil {
		return err
	}
	defer func() { _ = lock.Retire() }()
	return discard(store, commit)
}

// discard is Discard under the lock. The checkout goes atomically.
func discard(store, commit string) error {
	done, partial := filepath.Join(store, commit), filepath.Join(store, partialName(commit))
	err := os.RemoveAll(partial)
	if err == nil {
		err = os.Rename(done, partial)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return disk(err, done)
	}
	_ = os.RemoveAll(partial) // what stays of it is swept later
	return nil
}

// storeOf returns where the checkouts of a source's repository are.
func storeOf(home string, source deployment.ResolvedGit) string {
	return filepath.Join(home, "cache", "git", deployment.SumOf([]byte(source.URL)).String())
}

func isDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// subdir returns the slash path of a module in its repository, "" for all of it.
func subdir(s string) (string, error) {
	if strings.TrimSpace(s) == "" {
		return "", nil
	}
	p, err := relpath.Parse(s)
	if err != nil {
		return "", deployment.ErrPath.WithMessage("the subdir of a git source: %v", err).WithCause(err)
	}
	sub := p.Clean().String()
	if !filepath.IsLocal(filepath.FromSlash(sub)) || inGit(sub) {
		return "", deployment.ErrPath.WithMessage("the subdir %q of a git source is outside its files", s)
	}
	if sub == "." {
		return "", nil
	}
	return sub, nil
}

func inGit(sub string) bool {
	return slices.ContainsFunc(strings.Split(sub, "/"), func(part string) bool { return strings.EqualFold(part, gitDir) })
}

// inside is sub with its links followed, which must lead nowhere but into the checkout's own files.
func inside(root, sub string, source deployment.ResolvedGit) (string, error) {
	if sub == "" {
		return "", nil
	}
	details := deployment.Details{"url": shown(source.URL), "commit": source.Commit, "subdir": sub}
	top, err := filepath.EvalSymlinks(root)
	if err != nil {
		return "", disk(err, root)
	}
	real, err := filepath.EvalSymlinks(filepath.Join(top, filepath.FromSlash(sub)))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", deployment.ErrConfig.WithMessage("%s has no %q at commit %s; correct the module's subdir", shown(source.URL), sub, source.Commit).WithDetails(details)
	case err != nil:
		return "", disk(err, filepath.Join(root, sub))
	}
	rel, err := filepath.Rel(top, real)
	if err != nil || !filepath.IsLocal(rel) || inGit(filepath.ToSlash(rel)) {
		return "", deployment.ErrPath.WithMessage("the subdir %q of %s is a link out of the checkout", sub, shown(source.URL)).WithDetails(details)
	}
	if rel = path.Clean(filepath.ToSlash(rel)); rel == "." {
		rel = ""
	}
	return rel, nil
}
