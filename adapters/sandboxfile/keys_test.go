package sandboxfile_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// openKeys opens Keys for a user whose home directory that is; called again, another manager of the same keys.
type openKeys func(t testing.TB, home string) sandboxport.Keys

// keys holds a Keys to its contract, with the real ssh-keygen; without one it is skipped.
func keys(t *testing.T, open openKeys) {
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("ssh-keygen is not installed")
	}
	for name, test := range map[string]func(*testing.T, openKeys){
		"MakesOnePair":      makesOnePair,
		"MakesItOnce":       makesItOnce,
		"DerivesThePublic":  derivesThePublic,
		"PeeksOnly":         peeksOnly,
		"RefusesDamage":     refusesDamage,
		"ChecksGivenKeys":   checksGivenKeys,
		"RefusesGivenKeys":  refusesGivenKeys,
		"RefusesOddNames":   refusesOddNames,
		"ShowsNoOtherFiles": showsNoOtherFiles,
	} {
		t.Run(name, func(t *testing.T) { test(t, open) })
	}
}

// keyPair makes a real key pair of the user's own.
func keyPair(t testing.TB, path string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-f", path, "-N", "", "-C", "me@here").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

func fingerprint(t testing.TB, path string) string {
	t.Helper()
	out, err := exec.Command("ssh-keygen", "-l", "-f", path).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

func makesOnePair(t *testing.T, open openKeys) {
	dir := realDir(t)
	key, err := open(t, dir).Ensure(t.Context(), "user-repo")
	require.NoError(t, err)
	assert.True(t, key.Made)
	assert.Equal(t, filepath.Join(dir, ".memory", "opencode-keys", "user-repo-deploy"), key.Path)
	assert.Equal(t, key.Path+".pub", key.PublicPath)
	assert.True(t, strings.HasPrefix(key.Public, "ssh-ed25519 ") && strings.HasSuffix(key.Public, " opencode-mcp-user-repo"), key.Public)
	for path, mode := range map[string]os.FileMode{key.Path: 0o600, key.PublicPath: 0o644, filepath.Dir(key.Path): 0o700} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		assert.Equal(t, mode, info.Mode().Perm(), path)
	}
	assert.Contains(t, fingerprint(t, key.Path), "ED25519")

	again, err := open(t, dir).Ensure(t.Context(), "user-repo")
	require.NoError(t, err)
	assert.False(t, again.Made)
	again.Made = true
	assert.Equal(t, key, again)
	other, err := open(t, dir).Ensure(t.Context(), "user-other")
	require.NoError(t, err)
	assert.NotEqual(t, key.Public, other.Public)
	entries, err := os.ReadDir(filepath.Dir(key.Path))
	require.NoError(t, err)
	assert.Len(t, entries, 4, "and nothing else is left there")
}

func makesItOnce(t *testing.T, open openKeys) {
	dir := realDir(t)
	managers := []sandboxport.Keys{open(t, dir), open(t, dir)}
	var wait sync.WaitGroup
	var mu sync.Mutex
	made, public := 0, map[string]bool{}
	for i := range 8 {
		wait.Go(func() {
			key, err := managers[i%2].Ensure(t.Context(), "user-repo")
			assert.NoError(t, err)
			mu.Lock()
			defer mu.Unlock()
			public[key.Public] = true
			if key.Made {
				made++
			}
		})
	}
	wait.Wait()
	assert.Equal(t, 1, made)
	assert.Len(t, public, 1)
}

func derivesThePublic(t *testing.T, open openKeys) {
	dir := realDir(t)
	k := open(t, dir)
	key, err := k.Ensure(t.Context(), "user-repo")
	require.NoError(t, err)
	require.NoError(t, os.Remove(key.PublicPath))
	require.NoError(t, os.Chmod(key.Path, 0o644))
	private, err := os.ReadFile(key.Path)
	require.NoError(t, err)
	again, err := k.Ensure(t.Context(), "user-repo")
	require.NoError(t, err)
	assert.False(t, again.Made)
	assert.Equal(t, strings.Fields(key.Public)[:2], strings.Fields(again.Public)[:2], "the key that is registered stays the key")
	after, err := os.ReadFile(key.Path)
	require.NoError(t, err)
	assert.Equal(t, private, after)
	info, err := os.Stat(key.PublicPath)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o644), info.Mode().Perm())
	info, err = os.Stat(key.Path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "ssh refuses a key that others may read")
}

func peeksOnly(t *testing.T, open openKeys) {
	dir := realDir(t)
	k := open(t, dir)
	_, there, err := k.Peek(t.Context(), "user-repo")
	require.NoError(t, err)
	assert.False(t, there)
	assert.NoDirExists(t, filepath.Join(dir, ".memory"))
	key, err := k.Ensure(t.Context(), "user-repo")
	require.NoError(t, err)
	key.Made = false
	peeked, there, err := k.Peek(t.Context(), "user-repo")
	require.NoError(t, err)
	assert.True(t, there)
	assert.Equal(t, key, peeked)
	require.NoError(t, os.Remove(key.PublicPath))
	peeked, there, err = k.Peek(t.Context(), "user-repo")
	require.NoError(t, err)
	assert.True(t, there)
	assert.Equal(t, strings.Fields(key.Public)[:2], strings.Fields(peeked.Public)[:2])
	assert.NoFileExists(t, key.PublicPath)
}

func refusesDamage(t *testing.T, open openKeys) {
	dir := realDir(t)
	k := open(t, dir)
	path := filepath.Join(dir, ".memory", "opencode-keys", "user-repo-deploy")
	writeFile(t, path, "this is no key\n")
	_, err := k.Ensure(t.Context(), "user-repo")
	require.ErrorIs(t, err, sandbox.ErrKeyInvalid)
	_, _, err = k.Peek(t.Context(), "user-repo")
	require.ErrorIs(t, err, sandbox.ErrKeyInvalid)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "this is no key\n", string(text), "nothing is overwritten")
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Symlink(keyPair(t, filepath.Join(dir, ".ssh", "mine")), path))
	_, err = k.Ensure(t.Context(), "user-repo")
	require.ErrorIs(t, err, sandbox.ErrKeyInvalid)
}

func checksGivenKeys(t *testing.T, open openKeys) {
	dir := realDir(t)
	k := open(t, dir)
	path := keyPair(t, filepath.Join(dir, ".ssh", "id"))
	for _, given := range []string{path, "~/.ssh/id", dir + "/.ssh/../.ssh/id"} {
		key, err := k.Check(t.Context(), given)
		require.NoError(t, err, given)
		assert.Equal(t, path, key.Path)
		assert.Equal(t, path+".pub", key.PublicPath)
		assert.True(t, strings.HasSuffix(key.Public, " me@here"))
		assert.False(t, key.Made)
	}
	require.NoError(t, os.Symlink(path, filepath.Join(dir, "alias")))
	key, err := k.Check(t.Context(), filepath.Join(dir, "alias"))
	require.NoError(t, err, "a link to a file of one's own")
	assert.NotEmpty(t, key.Public)
}

func refusesGivenKeys(t *testing.T, open openKeys) {
	dir := realDir(t)
	k := open(t, dir)
	outside := keyPair(t, filepath.Join(realDir(t), "id"))
	path := keyPair(t, filepath.Join(dir, ".ssh", "id"))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "out")))
	require.NoError(t, os.Symlink(filepath.Dir(path), filepath.Join(dir, "dirlink")))
	_, err := k.Check(t.Context(), filepath.Join(dir, "gone"))
	require.ErrorIs(t, err, sandbox.ErrKeyNotFound)
	for _, given := range []string{"", "id", "./id", outside, filepath.Join(dir, "out"), filepath.Join(dir, "dirlink"), dir, path + ".pub", "/dev/null", "/etc/shadow", "/gone",
		"~/../x", dir + "/a\nb", "~root/.ssh/id"} {
		_, err := k.Check(t.Context(), given)
		require.ErrorIs(t, err, sandbox.ErrKeyInvalid, given)
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o620, 0o601} {
		require.NoError(t, os.Chmod(path, mode))
		_, err := k.Check(t.Context(), path)
		require.ErrorIs(t, err, sandbox.ErrKeyInvalid)
		assert.ErrorContains(t, err, "chmod 600")
	}
	assert.ErrorContains(t, func() error { _, err := k.Check(t.Context(), path); return err }(), "0601")
	require.NoError(t, os.Chmod(path, 0o400))
	_, err = k.Check(t.Context(), path)
	require.NoError(t, err)
	require.NoError(t, os.Remove(path+".pub"))
	_, err = k.Check(t.Context(), path)
	require.ErrorIs(t, err, sandbox.ErrKeyInvalid)
	assert.ErrorContains(t, err, "ssh-keygen -y")
}

func refusesOddNames(t *testing.T, open openKeys) {
	k := open(t, realDir(t))
	for _, name := range []string{"", "..", "../../.ssh/id", "-f", ".x", "a/b", "a\nb"} {
		_, err := k.Ensure(t.Context(), name)
		require.Error(t, err, name)
		_, _, err = k.Peek(t.Context(), name)
		require.Error(t, err, name)
	}
}

// showsNoOtherFiles: a public key is shown, so what stands beside a key has to be one.
func showsNoOtherFiles(t *testing.T, open openKeys) {
	dir := realDir(t)
	k := open(t, dir)
	path := keyPair(t, filepath.Join(dir, ".ssh", "id"))
	secret := filepath.Join(dir, ".ssh", "token")
	writeFile(t, secret, "ssh-ed25519 s3cr3t\n")
	require.NoError(t, os.Remove(path+".pub"))
	require.NoError(t, os.Symlink("token", path+".pub"))
	key, err := k.Check(t.Context(), path)
	require.ErrorIs(t, err, sandbox.ErrKeyInvalid)
	assert.NotContains(t, err.Error()+key.Public, "s3cr3t")
}
