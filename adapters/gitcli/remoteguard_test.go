package gitcli_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/gitcli"
)

// TestOnlyApprovedRemotesAreReached: a guarded context holds every git that reaches out to the remote that git itself would find, whatever it is called,
// and tells all that were refused.
func TestOnlyApprovedRemotesAreReached(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	git := func(protocols string, args ...string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := gitcli.Command{Dir: dir, Args: args, Protocols: protocols}.Output(ctx)
			return err
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"remote", "add", "origin", "https://one.invalid/x.git"}, {"config", "url.https://two.invalid/.insteadOf", "https://near/"}} {
		require.NoError(t, git("", args...)(t.Context()))
	}
	var asked []string
	ctx, refused := gitcli.Outreach{}.Guard(t.Context(), func(_ context.Context, url string) (bool, error) {
		asked = append(asked, url)
		return url == filepath.Join(dir, "there"), nil
	})
	require.ErrorIs(t, git(gitcli.Network, "ls-remote", "--", "origin")(ctx), gitcli.ErrRemote)
	require.ErrorIs(t, git(gitcli.Network, "fetch", "--", "https://near/y.git", "main")(ctx), gitcli.ErrRemote)
	require.ErrorIs(t, git(gitcli.Network, "ls-remote", "--end-of-options", "origin")(ctx), gitcli.ErrRemote)
	require.ErrorIs(t, git(gitcli.Network, "pull", "origin")(ctx), gitcli.ErrRemote, "what it reaches cannot be told")
	assert.Equal(t, []string{"https://one.invalid/x.git", "https://two.invalid/y.git"}, refused())
	require.NoError(t, git("", "status")(ctx), "what reaches nobody is not asked about")

	for _, args := range [][]string{{"config", "url.https://four.invalid/.pushInsteadOf", "https://one.invalid/"}, {"remote", "add", "several", filepath.Join(dir, "there")},
		{"config", "--add", "remote.several.pushurl", "https://five.invalid/x.git"}, {"config", "--add", "remote.several.pushurl", filepath.Join(dir, "there")}} {
		require.NoError(t, git("", args...)(t.Context()))
	}
	for remote, want := range map[string]string{"origin": "https://four.invalid/x.git", "https://one.invalid/y.git": "https://four.invalid/y.git", "several": "https://five.invalid/x.git", "https://near/z.git": "https://two.invalid/z.git"} {
		ctx, refused := gitcli.Outreach{}.Guard(t.Context(), func(_ context.Context, url string) (bool, error) { return url == filepath.Join(dir, "there"), nil })
		require.ErrorIs(t, git(gitcli.Network, "push", "--", remote, "main")(ctx), gitcli.ErrRemote, remote)
		assert.Equal(t, []string{want}, refused(), "a push goes to where pushurl and pushInsteadOf say")
	}

	require.NoError(t, os.Mkdir(filepath.Join(dir, "there"), 0o700))
	require.NoError(t, git("", "init", "-q", "there")(ctx))
	require.NoError(t, git(gitcli.Network, "ls-remote", "--", filepath.Join(dir, "there"))(ctx))
	assert.Equal(t, filepath.Join(dir, "there"), asked[len(asked)-1])
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, gitcli.Reach(canceled, "https://three.invalid/z"), gitcli.ErrRemote, "also where another fetch of the same call has failed")
	require.NoError(t, gitcli.Reach(t.Context(), "https://three.invalid/z"), "nothing is held to anything that is not guarded")
}
