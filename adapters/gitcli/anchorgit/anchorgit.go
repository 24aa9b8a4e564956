// Package anchorgit stores signed heads of the audit log in a git repository that the user names: one commit per head, on a branch of its own.
//
// It never forces a push: if the remote branch is not what it was, it reports that and pushes nothing. A user who can force a push can still rewrite the
// branch; protect it on the server.
//
// Its API may change at any time.
package anchorgit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/fault"
)

// ErrRemote reports a repository that cannot be used as an anchor.
var ErrRemote = fault.New(fault.Unavailable, "audit_remote_unusable", "the Git repository cannot be used as an anchor")

// Remote is the place.
type Remote struct {
	url, branch string
	dir         string // a repository of its own, which may be lost
}

// Open returns the place of a URL, with # and the name of a branch behind it where that is known; record names the branch otherwise. Cache is where its own
// repositories lie. It reaches for nothing.
func Open(where, record, cache string) (*Remote, error) {
	url, branch, _ := strings.Cut(where, "#")
	switch {
	case url == "" || strings.HasPrefix(url, "-") || strings.ContainsAny(url, "\x00\n"):
		return nil, ErrRemote.WithMessage("%q is not the URL of a git repository", url)
	case gitcli.Mask(url) != url:
		return nil, ErrRemote.WithMessage("the URL of an anchor is recorded, so it must not contain a password or token; use git's credential helper")
	}
	if !strings.Contains(url, ":") { // a directory, and git works in another one
		abs, err := filepath.Abs(url)
		if err != nil {
			return nil, ErrRemote.WithCause(err)
		}
		url = abs
	}
	if branch == "" {
		sum := sha256.Sum256([]byte(record))
		branch = "countersign-record/" + hex.EncodeToString(sum[:6])
	}
	sum := sha256.Sum256([]byte(url + "#" + branch))
	return &Remote{url: url, branch: branch, dir: filepath.Join(cache, hex.EncodeToString(sum[:8])+".git")}, nil
}

// Where returns the URL with the branch.
func (r *Remote) Where() string { return r.url + "#" + r.branch }

const tip = "refs/countersign/tip" // of the branch there, as it was fetched last

const identity = "Countersign"

// Put commits the head on top of the branch and pushes it. The mark is the commit.
func (r *Remote) Put(ctx context.Context, h audit.Head, mark string) (string, error) {
	parent, err := r.fetch(ctx, mark)
	if err != nil {
		return mark, err
	}
	// There is no index, and so the tree is empty.
	tree, err := r.git(ctx, gitcli.Command{Args: []string{"write-tree"}})
	if err != nil {
		return mark, err
	}
	args := []string{"commit-tree", "-F", "-", tree}
	if parent != "" {
		args = append(args, "-p", parent)
	}
	when := h.At.UTC().Format(time.RFC3339)
	commit, err := r.git(ctx, gitcli.Command{Args: args, Stdin: append(h.Line(), '\n'), Env: []string{
		"GIT_AUTHOR_NAME=" + identity, "GIT_AUTHOR_EMAIL=audit@countersign.invalid", "GIT_COMMITTER_NAME=" + identity, "GIT_COMMITTER_EMAIL=audit@countersign.invalid",
		"GIT_AUTHOR_DATE=" + when, "GIT_COMMITTER_DATE=" + when}, Settings: []gitcli.Setting{{Name: "commit.gpgSign", Value: "false"}}})
	if err != nil {
		return mark, err
	}
	_, err = r.git(ctx, gitcli.Command{Args: []string{"push", "--quiet", "--no-verify", "--", r.url, commit + ":refs/heads/" + r.branch}, Machine: true, Protocols: gitcli.Network, Timeout: time.Minute})
	if err != nil {
		return mark, err
	}
	return commit, nil
}

// Heads returns the heads on the branch, the oldest first.
func (r *Remote) Heads(ctx context.Context, mark string) ([]audit.Head, int, error) {
	at, err := r.fetch(ctx, mark)
	if err != nil || at == "" {
		return nil, 0, err
	}
	text, err := r.git(ctx, gitcli.Command{Args: []string{"log", "--reverse", "--format=%B", at}})
	if err != nil {
		return nil, 0, err
	}
	var heads []audit.Head
	odd := 0
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		h, err := audit.ReadHead([]byte(line))
		if err != nil {
			odd++
			continue
		}
		heads = append(heads, h)
	}
	return heads, odd, nil
}

// fetch returns the commit that the branch is at there, empty for no branch. A branch that does not hold the commit of the mark any more was rewritten.
func (r *Remote) fetch(ctx context.Context, mark string) (string, error) {
	if _, err := os.Stat(filepath.Join(r.dir, "HEAD")); err != nil {
		if err := os.MkdirAll(r.dir, 0o700); err != nil {
			return "", ErrRemote.WithCause(err)
		}
		if _, err := r.git(ctx, gitcli.Command{Args: []string{"init", "--quiet", "--bare", "--template="}}); err != nil {
			return "", err
		}
	}
	network := gitcli.Command{Machine: true, Protocols: gitcli.Network, Timeout: time.Minute}
	list := network
	list.Args = []string{"ls-remote", "--", r.url, "refs/heads/" + r.branch}
	there, err := r.git(ctx, list)
	if err != nil {
		return "", err
	}
	at, _, _ := strings.Cut(there, "\t")
	if at == "" {
		if mark != "" {
			return "", audit.ErrContradicted.WithMessage("the branch %s of %s is gone; it was at %s", r.branch, r.url, mark)
		}
		return "", nil
	}
	get := network
	get.Args = []string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--", r.url, "+refs/heads/" + r.branch + ":" + tip}
	if _, err := r.git(ctx, get); err != nil {
		return "", err
	}
	if at, err = r.git(ctx, gitcli.Command{Args: []string{"rev-parse", "--verify", "--quiet", tip + "^{commit}"}}); err != nil {
		return "", err
	}
	if mark != "" {
		_, err := r.git(ctx, gitcli.Command{Args: []string{"merge-base", "--is-ancestor", mark, at}})
		var said *gitcli.ExitError
		if errors.As(err, &said) { // also for a commit that is nowhere any more
			return "", audit.ErrContradicted.WithMessage("the branch %s of %s was rewritten: it no longer contains the commit %s", r.branch, r.url, mark)
		}
		if err != nil {
			return "", err
		}
	}
	return at, nil
}

// git runs it in the own repository, and gives what it printed without the blanks around it.
func (r *Remote) git(ctx context.Context, c gitcli.Command) (string, error) {
	c.Dir = r.dir
	out, err := c.Output(ctx)
	var said *gitcli.ExitError
	if errors.As(err, &said) {
		return "", ErrRemote.WithMessage("git %s failed for %s: %s", c.Args[0], r.url, strings.TrimSpace(said.Words)).WithCause(err)
	}
	if err != nil {
		return "", ErrRemote.WithMessage("git could not be queried about %s", r.url).WithCause(err)
	}
	return strings.TrimSpace(string(out)), nil
}
