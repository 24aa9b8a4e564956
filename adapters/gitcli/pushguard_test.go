package gitcli_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/gitcli"
)

// TestHooksOfAReceiverOnThisMachine run only where they were approved, however the configuration leads there.
func TestHooksOfAReceiverOnThisMachine(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	git := func(c gitcli.Command, args ...string) ([]byte, error) {
		c.Dir, c.Args = filepath.Join(dir, "work"), args
		return c.Output(t.Context())
	}
	there := filepath.Join(dir, "there")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "work"), 0o700))
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"init", "-q", "--bare", there}, {"remote", "add", "origin", "https://far.invalid/x"}} {
		_, err := git(gitcli.Command{}, args...)
		require.NoError(t, err)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".gitconfig"), []byte("[url \""+dir+"/\"]\n\tpushInsteadOf = https://far.invalid/\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(there, "hooks", "post-receive"), []byte("#!/bin/sh\n: >ran\n"), 0o700))
	_, err := git(gitcli.Command{Env: []string{"GIT_AUTHOR_NAME=x", "GIT_AUTHOR_EMAIL=x@y", "GIT_COMMITTER_NAME=x", "GIT_COMMITTER_EMAIL=x@y"}}, "commit", "-q", "--allow-empty", "-m", "x")
	require.NoError(t, err)
	_, err = git(gitcli.Command{}, "config", "remote.origin.pushurl", there)
	require.NoError(t, err)
	push := func(c gitcli.Command, remote, branch string) error {
		t.Helper()
		_, err := git(c, "push", "--quiet", "--receive-pack=git-receive-pack", "--", remote, "main:"+branch)
		return err
	}
	for i, remote := range []string{"origin", "https://far.invalid/there", "file://" + there, "../there"} {
		require.NoError(t, push(gitcli.Command{Protocols: gitcli.Network}, remote, "b"+string(rune('0'+i))), remote)
		assert.NoFileExists(t, filepath.Join(there, "ran"), remote)
	}
	require.NoError(t, push(gitcli.Command{Protocols: "file", ReceiverHooks: true}, there, "hooks"))
	assert.FileExists(t, filepath.Join(there, "ran"))

	_, err = git(gitcli.Command{}, "config", "--add", "remote.origin.pushurl", "https://far.invalid/y")
	require.NoError(t, err)
	require.ErrorIs(t, push(gitcli.Command{Protocols: gitcli.Network}, "origin", "several"), gitcli.ErrRemote)

	led := gitcli.Command{Dir: filepath.Join(dir, "work")}
	urls, err := led.PushURLs(t.Context(), "https://far.invalid/there")
	require.NoError(t, err)
	assert.Equal(t, []string{there}, urls)
	led.Settings = gitcli.Exactly("https://far.invalid/there")
	urls, err = led.PushURLs(t.Context(), "https://far.invalid/there")
	require.NoError(t, err)
	assert.Equal(t, []string{"https://far.invalid/there"}, urls, "it is not rewritten once more")
}
