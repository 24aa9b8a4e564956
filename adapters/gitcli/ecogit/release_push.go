package ecogit

import (
	"context"
	"strings"

	"github.com/countersign-dev/countersign/adapters/gitcli"
)

// releaseOrigin is the remote that releases are pushed to.
const releaseOrigin = "origin"

// HasTag implements ecosystemport.ReleaseGit.
func (c *ReleaseClient) HasTag(ctx context.Context, dir, tag string) (bool, error) {
	t, err := openRelease(dir)
	if err != nil {
		return false, err
	}
	out, err := own(ctx, t, gitcli.Command{Args: []string{"ls-remote", "--upload-pack=git-upload-pack", "--end-of-options", releaseOrigin, tags + tag}, Timeout: releaseAskTime, Protocols: gitcli.Network,
		Env: []string{gitcli.SSH("")}})
	for line := range strings.Lines(string(out)) {
		if _, ref, _ := strings.Cut(strings.TrimSpace(line), "\t"); ref == tags+tag {
			return true, nil
		}
	}
	return false, err
}

// Push implements ecosystemport.ReleaseGit. Tags that nobody named stay here.
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
		"--end-of-options", releaseOrigin}, refs...), Timeout: pushTime, Protocols: gitcli.Network, Env: []string{gitcli.SSH("")}})
	return err
}
