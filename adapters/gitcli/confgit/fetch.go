package confgit

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/fault"
)

const lockPoll = 20 * time.Millisecond

// The names, beside a checkout, of its lock and of what is not finished yet. Whoever holds the lock owns the unfinished directory, so
// that one found then was left by a process that died.
func lockName(commit string) string    { return "." + commit + ".lock" }
func partialName(commit string) string { return "." + commit + ".partial" }

// fetch makes the checkout of a source in store. Of several that do at once, one works and the others wait for what it makes.
func (c *Client) fetch(ctx context.Context, store string, source deployment.ResolvedGit) error {
	bounded, cancel := context.WithTimeout(ctx, c.options.Transfer)
	defer cancel()
	lock, err := await(bounded, docfile.NewDir(store), lockName(source.Commit))
	if err == nil {
		err = c.make(bounded, store, source)
		_ = lock.Retire()
	}
	if err != nil {
		_ = os.Remove(store) // only removed if it is empty
	}
	if bounded.Err() != nil && ctx.Err() == nil && err != nil {
		return deployment.ErrGit.WithMessage("fetching commit %s of %s took longer than %s and was stopped; check whether the remote answers, then repeat", source.Commit, shown(source.URL), c.options.Transfer).
			WithDetails(deployment.Details{"url": shown(source.URL), "commit": source.Commit}).WithCause(err)
	}
	return err
}

// await takes a lock that may be held for as long as a transfer takes.
func await(ctx context.Context, dir *docfile.Dir, name string) (*docfile.Lock, error) {
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for {
		lock, err := dir.TryLock(name)
		switch {
		case err != nil:
			return nil, disk(err, dir.File(name))
		case lock != nil:
			return lock, nil
		}
		select {
		case <-ctx.Done():
			return nil, fault.From(ctx.Err())
		case <-tick.C:
		}
	}
}

// make is fetch under the lock.
func (c *Client) make(ctx context.Context, store string, source deployment.ResolvedGit) error {
	done, partial := filepath.Join(store, source.Commit), filepath.Join(store, partialName(source.Commit))
	if isDir(done) {
		return nil
	}
	sweep(store)
	defer func() { _ = os.RemoveAll(partial) }()
	err := c.clone(ctx, partial, source, true)
	if err != nil && ctx.Err() == nil {
		err = c.clone(ctx, partial, source, false) // servers may refuse to give single commits away, or to give them without their past
	}
	if err != nil {
		return err
	}
	if err := os.Rename(partial, done); err != nil && !isDir(done) {
		return disk(err, done)
	}
	return nil
}

// sweep removes what dead processes left of other commits of the same repository.
func sweep(store string) {
	names, _ := os.ReadDir(store)
	for _, name := range names {
		commit, partial := strings.CutSuffix(strings.TrimPrefix(name.Name(), "."), ".partial")
		if !partial {
			continue
		}
		lock, err := docfile.NewDir(store).TryLock(lockName(commit))
		if lock == nil || err != nil {
			continue // alive, or our own
		}
		_ = os.RemoveAll(filepath.Join(store, name.Name()))
		_ = lock.Retire()
	}
}

// clone makes a checkout of one commit in dir: of that commit alone, or with everything the remote shows.
func (c *Client) clone(ctx context.Context, dir string, source deployment.ResolvedGit, shallow bool) error {
	if err := os.RemoveAll(dir); err != nil {
		return disk(err, dir)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return disk(err, dir)
	}
	fetch := []string{"fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head"}
	if shallow {
		fetch = append(fetch, "--depth=1", "--", source.URL, source.Commit)
	} else {
		fetch = append(fetch, "--", source.URL, "+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*")
	}
	steps := [][]string{
		{"init", "--quiet", "--template=", "--initial-branch=main"},
		{"config", "remote.origin.url", shown(source.URL)}, // for users; the URL that is fetched may hold a password
		fetch,
		{"checkout", "--quiet", "--detach", source.Commit, "--"},
	}
	for _, args := range steps {
		step := gitcli.Command{Dir: dir, Env: ceiling(dir), Args: args, Settings: plain(), Timeout: c.options.Transfer}
		if args[0] == "fetch" {
			step.Protocols = gitcli.Network
		}
		_, err := c.git(ctx, step)
		if strings.Contains(words(err), "reference is not a tree") {
			return deployment.ErrGit.WithMessage("no branch or tag of %s contains commit %s; lock again, or ask for the commit to be pushed", shown(source.URL), source.Commit).
				WithDetails(deployment.Details{"url": shown(source.URL), "commit": source.Commit}).WithCause(err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// plain is configuration that makes a checkout the same on every machine, and starts nothing that outlives it. Filters that the user has
// installed (git-lfs) still apply: no repository can name a program that way.
func plain() []gitcli.Setting {
	return []gitcli.Setting{
		{Name: "core.autocrlf", Value: "false"}, {Name: "core.eol", Value: "lf"}, {Name: "core.longpaths", Value: "true"},
		{Name: "init.defaultObjectFormat", Value: "sha1"}, {Name: "init.defaultRefFormat", Value: "files"},
		{Name: "gc.auto", Value: "0"}, {Name: "maintenance.auto", Value: "false"},
		{Name: "submodule.recurse", Value: "false"}, {Name: "advice.detachedHead", Value: "false"},
	}
}
