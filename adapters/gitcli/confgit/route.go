package confgit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/ports/deployport"
)

const maxShown = 20 // commits that are named; the others are counted

// pinned has git work in dir itself, whatever core.worktree says, and look for no repository above it.
func pinned(dir string) []string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return append(ceiling(dir), "GIT_WORK_TREE="+dir)
}

// Route implements deployport.Remote. It reaches nobody, and nothing that the repository names runs. Which commits the remote lacks is what the clone's
// remote-tracking branches say; replacements and grafts are left out of account, as they are not pushed.
func (c *Client) Route(ctx context.Context, dir, remote, branch string) (deployport.Route, error) {
	if err := checkRemote(remote); err != nil {
		return deployport.Route{}, err
	}
	if err := repository(dir); err != nil {
		return deployport.Route{}, err
	}
	r, _, err := c.steering(ctx, dir, remote, branch)
	if err != nil {
		return r, err
	}
	as := gitcli.Command{Dir: dir, Env: append(pinned(dir), "GIT_NO_REPLACE_OBJECTS=1", "GIT_GRAFT_FILE="+os.DevNull)}
	as.Args = []string{"rev-parse", "--verify", "--quiet", "HEAD"}
	out, err := c.git(ctx, as)
	if gitcli.ExitOf(err) == 1 {
		return r, nil // nothing is committed
	}
	if err != nil {
		return r, err
	}
	r.Head = strings.TrimSpace(string(out))
	lacking := []string{r.Head, "--not", "--remotes=" + remote, "--"}
	as.Args = append([]string{"rev-list", "--count"}, lacking...)
	if out, err = c.git(ctx, as); err != nil {
		return r, err
	}
	if r.Ahead, err = strconv.Atoi(strings.TrimSpace(string(out))); err != nil || r.Ahead == 0 {
		return r, err
	}
	as.Args = append([]string{"log", "--no-color", "--no-decorate", "--format=%H %s", "--max-count=" + strconv.Itoa(maxShown)}, lacking...)
	if out, err = c.git(ctx, as); err != nil {
		return r, err
	}
	r.Commits = strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	return r, nil
}

// steering returns all of a route that does not come with commits: URLs, settings and programs. carried reports hooks that are files of the work tree, which a
// pull may bring.
func (c *Client) steering(ctx context.Context, dir, remote, branch string) (r deployport.Route, carried bool, err error) {
	as := gitcli.Command{Dir: dir, Env: pinned(dir)}
	ask := func(args ...string) string {
		if err != nil {
			return ""
		}
		as.Args = args
		var out []byte
		out, err = c.git(ctx, as)
		return string(out)
	}
	fetch := strings.Split(strings.TrimSuffix(ask("remote", "get-url", "--", remote), "\n"), "\n")
	push := strings.Split(strings.TrimSuffix(ask("remote", "get-url", "--push", "--all", "--", remote), "\n"), "\n")
	settings := ask("config", "-z", "--show-scope", "--list")
	as.Hooks = true // else there are none
	said := ask("rev-parse", "--absolute-git-dir", "--git-path", "hooks")
	if err != nil {
		return r, false, err
	}
	r.Remotes = slices.Compact(slices.Concat(fetch, push))
	r.Fetch = masked(fetch[0])
	for _, url := range push {
		r.Push = append(r.Push, masked(url))
	}
	r.Settings = steers(settings, remote, branch)
	admin, hooks, _ := strings.Cut(strings.TrimSuffix(said, "\n"), "\n")
	if !same(admin, filepath.Join(dir, gitDir)) {
		r.GitDir = admin
	}
	if !filepath.IsAbs(hooks) {
		hooks = filepath.Join(dir, hooks)
	}
	if r.Hooks, carried, err = programs(hooks, dir, admin); err != nil {
		return r, false, err
	}
	filters, err := gitcli.Command{Dir: dir, Env: pinned(dir), Machine: true}.Named(ctx)
	if err != nil {
		return r, false, deployment.ErrGit.WithMessage("git could not list the filters of %s: %v", dir, err).WithDetails(deployment.Details{}.AddPath("repo", dir)).WithCause(err)
	}
	for _, f := range filters {
		r.Filters = append(r.Filters, f.Name+" = "+masked(f.Value))
	}
	return r, carried, nil
}

// masked is text without the secrets in its URLs, and with a sum in their place, so that other ones are something else.
func masked(text string) string {
	if shown := gitcli.Mask(text); shown != text {
		return shown + " (" + sumOf(text) + ")"
	}
	return text
}

func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256 " + hex.EncodeToString(sum[:6])
}

// steers returns the repository's own settings that say what a pull and a push do.
func steers(said, remote, branch string) []string {
	sections := []string{"remote." + remote + ".", "branch." + branch + ".", "pull.", "push.", "fetch.", "merge.", "rebase.", "url.", "http.", "protocol.", "core.hookspath", "core.worktree"}
	settings := []string{}
	for said != "" {
		var scope, pair string
		scope, said, _ = strings.Cut(said, "\x00")
		pair, said, _ = strings.Cut(said, "\x00")
		key, value, _ := strings.Cut(pair, "\n")
		if scope != "local" && scope != "worktree" || !slices.ContainsFunc(sections, func(s string) bool { return strings.HasPrefix(key, s) }) {
			continue
		}
		if strings.HasPrefix(key, "http.") && strings.HasSuffix(key, "header") { // may be a credential
			value = "*** (" + sumOf(value) + ")"
		}
		settings = append(settings, masked(key)+"="+masked(value))
	}
	return settings
}

// programs returns the hooks in a directory, with their sums. carried reports that one of them is a file of the work tree.
func programs(hooks, dir, admin string) (found []deployport.Program, carried bool, err error) {
	entries, err := os.ReadDir(hooks)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, disk(err, hooks)
	}
	for _, entry := range entries {
		path := filepath.Join(hooks, entry.Name())
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 || strings.HasSuffix(entry.Name(), ".sample") {
			continue
		}
		sum, err := fileSum(path)
		if err != nil {
			return nil, false, disk(err, path)
		}
		found = append(found, deployport.Program{Path: path, Sum: sum})
		carried = carried || within(path, dir) && !within(path, admin)
	}
	return found, carried, nil
}

func fileSum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// within reports whether a path leads below a directory, once links are followed.
func within(path, dir string) bool {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return false
	}
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// same reports whether two paths are one directory.
func same(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}
