package run_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/gitcli/run"
)

// TestOnlyApprovedRemotesAreReached: a guarded context holds every git that reaches out to the remote that git itself would find, whatever it is called,
// and tells all that were refused.
func TestOnlyApprovedRemotesAreReached(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	git := func(protocols string, args ...string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := run.Command{Dir: dir, Args: args, Protocols: protocols}.Output(ctx)
			return err
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"remote", "add", "origin", "https://one.invalid/x.git"}, {"config", "url.https://two.invalid/.insteadOf", "https://near/"}} {
		require.NoError(t, git("", args...)(t.Context()))
	}
	var asked []string
	ctx, refused := run.Outreach{}.Guard(t.Context(), func(_ context.Context, url string) (bool, error) {
		asked = append(asked, url)
		return url == filepath.Join(dir, "there"), nil
	})
	require.ErrorIs(t, git(run.Network, "ls-remote", "--", "origin")(ctx), run.ErrRemote)
	require.ErrorIs(t, git(run.Network, "fetch", "--", "https://near/y.git", "main")(ctx), run.ErrRemote)
	require.ErrorIs(t, git(run.Network, "ls-remote", "--end-of-options", "origin")(ctx), run.ErrRemote)
	require.ErrorIs(t, git(run.Network, "pull", "origin")(ctx), run.ErrRemote, "what it reaches cannot be told")
	assert.Equal(t, []string{"https://one.invalid/x.git", "https://two.invalid/y.git"}, refused())
	require.NoError(t, git("", "status")(ctx), "what reaches nobody is not asked about")

	require.NoError(t, os.Mkdir(filepath.Join(dir, "there"), 0o700))
	require.NoError(t, git("", "init", "-q", "there")(ctx))
	require.NoError(t, git(run.Network, "ls-remote", "--", filepath.Join(dir, "there"))(ctx))
	assert.Equal(t, filepath.Join(dir, "there"), asked[len(asked)-1])
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, run.Reach(canceled, "https://three.invalid/z"), run.ErrRemote, "also where another fetch of the same call has failed")
	require.NoError(t, run.Reach(t.Context(), "https://three.invalid/z"), "nothing is held to anything that is not guarded")
}
