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

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/relpath"
)

const gitDir = ".git"

// Git gives the tree of one resolved source out of <home>/cache/git/<sum of the URL>/<commit> (agentpack contract §1.1), where a checkout
// appears whole or not at all. Checkouts of the older layouts are moved there, or used where they are. One that is missing is fetched,
// unless offline (ErrOffline). It fails with ErrConfig for a URL that git must not see and a subdirectory that is not there, ErrLock for a
// commit that is none, and ErrPath for a subdirectory outside the checkout. What the checkout holds is for the caller to compare with the
// lockfile: it is a cache, and anybody may have edited it.
func (c *Client) Git(ctx context.Context, at deployment.Place, source deployment.ResolvedGit, offline bool) (deployment.Tree, error) {
	commit, ok := commitOf(source.Commit)
	if !ok {
		return nil, deployment.ErrLock.Sayf("%q is no commit of %s: it has 40 hex digits; lock again", source.Commit, shown(source.URL))
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

// checkout is the directory of a source's checkout.
func (c *Client) checkout(ctx context.Context, home string, source deployment.ResolvedGit, offline bool) (string, error) {
	cache := filepath.Join(home, "cache", "git")
	store := filepath.Join(cache, deployment.SumOf([]byte(source.URL)).String())
	canonical := filepath.Join(store, source.Commit)
	if isDir(canonical) {
		return canonical, nil
	}
	if old := legacy(cache, source); old != "" {
		return migrate(old, canonical), nil
	}
	if offline {
		return "", deployment.ErrOffline.Sayf("commit %s of %s is not in the cache, and --offline forbids fetching it; repeat without --offline, or run fetch first", source.Commit, shown(source.URL)).
			With(deployment.Details{"url": shown(source.URL), "commit": source.Commit})
	}
	return canonical, c.fetch(ctx, store, source)
}

// legacy is a checkout in one of the older layouts, which named the directory above it after the module and not after the URL: any whose
// repository says that it came from this URL and stands on this commit. No git is asked.
func legacy(cache string, source deployment.ResolvedGit) string {
	names, err := os.ReadDir(cache)
	if err != nil {
		return ""
	}
	for _, name := range names {
		var sum deployment.Sum
		if !name.IsDir() || sum.UnmarshalText([]byte(name.Name())) == nil {
			continue
		}
		dir := filepath.Join(cache, name.Name(), source.Commit)
		if !isDir(filepath.Join(dir, gitDir)) {
			continue
		}
		head, _ := os.ReadFile(filepath.Join(dir, gitDir, "HEAD"))
		config, _ := os.ReadFile(filepath.Join(dir, gitDir, "config"))
		if strings.EqualFold(strings.TrimSpace(string(head)), source.Commit) && origin(string(config)) == source.URL {
			return dir
		}
	}
	return ""
}

// origin is the URL of the remote called origin in a repository's configuration as git clone writes it.
func origin(config string) string {
	in := false
	for line := range strings.Lines(config) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			in = line == `[remote "origin"]`
		}
		if key, value, ok := strings.Cut(line, "="); ok && in && strings.TrimSpace(key) == "url" {
			return strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	return ""
}

// migrate moves an old checkout to where it belongs now, and says where it is.
func migrate(old, canonical string) string {
	if os.MkdirAll(filepath.Dir(canonical), 0o700) == nil && os.Rename(old, canonical) == nil {
		_ = os.Remove(filepath.Dir(old)) // goes only when nothing else is in it
		return canonical
	}
	if isDir(canonical) { // somebody was faster
		return canonical
	}
	_ = os.Remove(filepath.Dir(canonical))
	return old
}

func isDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// subdir is the slash path of a module in its repository, "" for all of it.
func subdir(s string) (string, error) {
	if strings.TrimSpace(s) == "" {
		return "", nil
	}
	p, err := relpath.Parse(s)
	if err != nil {
		return "", deployment.ErrPath.Sayf("the subdir of a git source: %v", err).Because(err)
	}
	sub := p.Clean().String()
	if !filepath.IsLocal(filepath.FromSlash(sub)) || inGit(sub) {
		return "", deployment.ErrPath.Sayf("the subdir %q of a git source is outside its files", s)
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
		return "", deployment.ErrConfig.Sayf("%s has no %q at commit %s; correct the module's subdir", shown(source.URL), sub, source.Commit).With(details)
	case err != nil:
		return "", disk(err, filepath.Join(root, sub))
	}
	rel, err := filepath.Rel(top, real)
	if err != nil || !filepath.IsLocal(rel) || inGit(filepath.ToSlash(rel)) {
		return "", deployment.ErrPath.Sayf("the subdir %q of %s is a link that leads out of the checkout", sub, shown(source.URL)).With(details)
	}
	if rel = path.Clean(filepath.ToSlash(rel)); rel == "." {
		rel = ""
	}
	return rel, nil
}
