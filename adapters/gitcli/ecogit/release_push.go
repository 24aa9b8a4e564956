package ecogit

import (
	"context"
	"strings"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// releaseOrigin is the remote that releases are pushed to.
const releaseOrigin = "origin"

// Obstacles implements ecosystemport.ReleaseGit.
func (c *ReleaseClient) Obstacles(ctx context.Context, dir, branch, tag string) (found ecosystemport.PushObstacles, err error) {
	t, err := openRelease(dir)
	if err != nil {
		return found, err
	}
	there, err := atPushURLs(ctx, t, heads+branch, tags+tag)
	if err != nil {
		return found, err
	}
	for _, refs := range there {
		found.Tag = found.Tag || refs[tags+tag] != ""
		within, err := contains(ctx, t, heads+branch, refs[heads+branch])
		if err != nil {
			return found, err
		}
		found.Moved = found.Moved || !within
	}
	return found, nil
}

// atPushURLs returns the commits of those refs at every URL that a push to origin goes to.
func atPushURLs(ctx context.Context, t *gitcli.Tree, refs ...string) (there []map[string]string, err error) {
	urls, err := gitcli.Command{Dir: t.Dir, Machine: true, Settings: absoluteOrigin(ctx, t.Dir)}.PushURLs(ctx, releaseOrigin)
	if err != nil {
		return nil, namedRelease(err)
	}
	for _, url := range urls {
		out, err := own(ctx, t, gitcli.Command{Args: append([]string{"ls-remote", "--upload-pack=git-upload-pack", "--end-of-options", url}, refs...), Timeout: releaseAskTime, Protocols: gitcli.Network,
			Env: []string{gitcli.SSH("")}, Settings: gitcli.Exactly(url)})
		if err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			return nil, ecosystem.ErrGit.WithMessage("origin of %s does not answer, so the push cannot be planned: %s; try again later, or without a push", t.Dir, fault.From(err).Message).WithCause(err)
		}
		found := map[string]string{}
		for line := range strings.Lines(string(out)) {
			commit, ref, _ := strings.Cut(strings.TrimSpace(line), "\t")
			found[ref] = commit
		}
		there = append(there, found)
	}
	return there, nil
}

// contains reports whether a branch has a commit of a remote, which need not be here. An empty one counts.
func contains(ctx context.Context, t *gitcli.Tree, branch, commit string) (bool, error) {
	if commit == "" || branch == "" {
		return commit == "", nil
	}
	if !present1(ctx, t.Dir, commit) {
		return false, nil
	}
	_, err := t.Git(ctx, gitcli.Command{Args: []string{"merge-base", "--is-ancestor", commit, branch}})
	if gitcli.ExitOf(err) == 1 {
		return false, nil
	}
	return err == nil, namedRelease(err)
}

// Origin implements ecosystemport.ReleaseGit.
func (c *ReleaseClient) Origin(ctx context.Context, dir, branch string, most int) (ecosystemport.ReleaseOrigin, error) {
	var found ecosystemport.ReleaseOrigin
	t, err := openRelease(dir)
	if err != nil {
		return found, err
	}
	url, err := quiet(ctx, dir, "remote", "get-url", "--push", "--all", "--", releaseOrigin)
	if err != nil || url == "" {
		return found, err
	}
	found.URL = gitcli.Mask(strings.ReplaceAll(url, "\n", ", ")) // git pushes to all of them
	if most == 0 {
		return found, nil
	}
	out, err := own(ctx, t, gitcli.Command{Args: []string{"ls-remote", "--upload-pack=git-upload-pack", "--heads", "--end-of-options", releaseOrigin}, Timeout: releaseAskTime, Protocols: gitcli.Network,
		Env: []string{gitcli.SSH("")}, Settings: absoluteOrigin(ctx, dir)})
	if err != nil {
		if ctx.Err() != nil {
			return found, err
		}
		return found, ecosystem.ErrGit.WithMessage("origin of %s does not answer, so the push cannot be planned: %s; try again later, or without a push", t.Dir, fault.From(err).Message).WithCause(err)
	}
	span := []string{"--ignore-missing", heads + branch}
	for line := range strings.Lines(string(out)) {
		if commit, ref, _ := strings.Cut(strings.TrimSpace(line), "\t"); strings.HasPrefix(ref, heads) {
			span = append(span, "^"+commit)
		}
	}
	var h ecosystemport.History
	err = history(ctx, t, span, most, &h)
	found.Ahead, found.Total = h.Commits, h.Total
	return found, namedRelease(err)
}

// Push implements ecosystemport.ReleaseGit. It pushes only the tags that were named.
func (c *ReleaseClient) Push(ctx context.Context, dir, branch string, names []string) error {
	t, err := openRelease(dir)
	if err != nil {
		return err
	}
	refs := []string{heads + branch + ":" + heads + branch}
	for _, name := range names {
		refs = append(refs, tags+name+":"+tags+name)
	}
	_, err = own(ctx, t, gitcli.Command{Args: append([]string{"push", "--quiet", "--atomic", "--no-verify", "--no-signed", "--no-follow-tags", "--recurse-submodules=no", "--receive-pack=git-receive-pack",
		"--end-of-options", releaseOrigin}, refs...), Timeout: pushTime, Protocols: gitcli.Network, Env: []string{gitcli.SSH("")},
		Settings: absoluteOrigin(ctx, dir)})
	return err
}
