package sandboxfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// openHomes opens the ProjectDirs of a user with that home directory, with no variables set.
type openHomes func(t testing.TB, home string) sandboxport.ProjectDirs

// homes checks the contract of ProjectDirs.
func homes(t *testing.T, open openHomes) {
	for name, test := range map[string]func(*testing.T, openHomes){
		"IdentifiesURLs":          identifiesURLs,
		"DropsCredentials":        dropsCredentials,
		"IdentifiesLocal":         identifiesLocal,
		"RefusesWhatIsNone":       refusesWhatIsNone,
		"LaysOut":                 laysOut,
		"PreparesAndDiscards":     preparesAndDiscards,
		"PreparesTwice":           preparesTwice,
		"ClaimsNothingOfOthers":   claimsNothingOfOthers,
		"DiscardsOnlyItsOwn":      discardsOnlyItsOwn,
		"FollowsNoLinks":          followsNoLinks,
		"WantsAConfiguration":     wantsAConfiguration,
		"DiscardsWhatWasLockedUp": discardsLocked,
	} {
		t.Run(name, func(t *testing.T) { test(t, open) })
	}
}

// realDir returns a directory that no link leads to.
func realDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	return dir
}

// bareRepository makes what git takes for an empty bare repository.
func bareRepository(t testing.TB, dir string) string {
	t.Helper()
	for _, sub := range []string{"objects", "refs"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, sub), 0o755))
	}
	writeFile(t, filepath.Join(dir, "HEAD"), "ref: refs/heads/main\n")
	return dir
}

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

func identifiesURLs(t *testing.T, open openHomes) {
	h := open(t, realDir(t))
	for raw, want := range map[string][2]string{
		" https://GitHub.com/User/Repo/ ": {"git@github.com:User/Repo.git", "https://GitHub.com/User/Repo/"},
		"git@github.com:user/repo":        {"git@github.com:user/repo.git", "git@github.com:user/repo"},
		"github.com/user/repo":            {"git@github.com:user/repo.git", "git@github.com:user/repo.git"},
		"ssh://git@host:2222/user/repo":   {"ssh://git@host:2222/user/repo.git", "ssh://git@host:2222/user/repo"},
	} {
		url, clone, warnings, err := h.Identify(t.Context(), raw)
		require.NoError(t, err, raw)
		assert.Equal(t, want, [2]string{url.String(), clone}, raw)
		assert.Empty(t, warnings)
	}
}

func dropsCredentials(t *testing.T, open openHomes) {
	h := open(t, realDir(t))
	for _, raw := range []string{"https://s3cr3t@github.com/u/r", "https://me:s3cr3t@host:8443/u/r", "ssh://git:s3cr3t@host/u/r"} {
		url, clone, warnings, err := h.Identify(t.Context(), raw)
		require.NoError(t, err)
		require.Len(t, warnings, 1)
		assert.NotContains(t, url.String()+clone+warnings[0], "s3cr3t")
	}
	for _, raw := range []string{"ftp://me:s3cr3t@host/u/r", "https://me:s3cr3t@host", "-https://me:s3cr3t@host/u/r", "file://me:s3cr3t@host/u/r", "user:s3cr3t@host:o/r"} {
		_, _, _, err := h.Identify(t.Context(), raw)
		require.ErrorIs(t, err, sandbox.ErrURL)
		assert.NotContains(t, err.Error(), "s3cr3t")
	}
}

func identifiesLocal(t *testing.T, open openHomes) {
	dir := realDir(t)
	h := open(t, dir)
	bare := bareRepository(t, filepath.Join(dir, "srv", "repo.git"))
	tree := filepath.Join(dir, "work", "tree")
	bareRepository(t, filepath.Join(tree, ".git"))
	linked := filepath.Join(dir, "linked")
	writeFile(t, filepath.Join(linked, ".git"), "gitdir: "+filepath.Join(tree, ".git", "worktrees", "linked")+"\n")
	require.NoError(t, os.Symlink(tree, filepath.Join(dir, "alias")))
	t.Chdir(tree)
	for raw, want := range map[string]string{
		bare: bare, "file://" + bare: bare, "FILE://localhost" + bare: bare, bare + "/": bare,
		"~/srv/repo.git": bare, ".": tree, "./": tree, "./../tree": tree, "../../srv/repo.git": bare, filepath.Join(dir, "alias"): tree,
		filepath.Join(tree, ".git"): tree, linked: linked,
	} {
		url, clone, warnings, err := h.Identify(t.Context(), raw)
		require.NoError(t, err, raw)
		assert.Equal(t, "file://"+want, url.String(), raw)
		assert.Equal(t, "file://"+want, clone)
		assert.Empty(t, warnings)
	}
}

func refusesWhatIsNone(t *testing.T, open openHomes) {
	dir := realDir(t)
	h := open(t, dir)
	tree := filepath.Join(dir, "tree")
	bareRepository(t, filepath.Join(tree, ".git"))
	require.NoError(t, os.MkdirAll(filepath.Join(tree, "sub"), 0o755))
	writeFile(t, filepath.Join(dir, "file"), "x")
	require.NoError(t, os.Symlink(filepath.Join(dir, "loop"), filepath.Join(dir, "loop")))
	bareRepository(t, filepath.Join(dir, "two words"))
	bareRepository(t, filepath.Join(dir, "100%"))
	for _, raw := range []string{
		"", " ", "-oProxyCommand=x", "repo", "user/repo", "https://host", "https://h/o/../r", "ext::sh -c x", "a\x00b", "./a\nb", "file://", "file://host/x",
		dir, filepath.Join(dir, "gone"), filepath.Join(dir, "file"), filepath.Join(dir, "file", "x"), filepath.Join(dir, "loop"),
		tree + "/../tree", "file://" + tree + "/./", "~/tree/sub", "~other/repo", filepath.Join(dir, "two words"), filepath.Join(dir, "100%"), "/", "~",
	} {
		url, _, _, err := h.Identify(t.Context(), raw)
		require.ErrorIs(t, err, sandbox.ErrURL, "%q became %s", raw, url)
		assert.True(t, url.IsZero())
	}
	_, _, _, err := h.Identify(t.Context(), filepath.Join(tree, "sub"))
	assert.ErrorContains(t, err, tree, "it says which repository that is in")
}

func laysOut(t *testing.T, open openHomes) {
	dir := realDir(t)
	h := open(t, dir)
	assert.Equal(t, sandbox.LayoutOf(sandbox.RootDirs{Projects: filepath.Join(dir, ".opencode-projects"), Memory: filepath.Join(dir, ".memory")}, "n", ""), h.Layout("n", ""))
	assert.Equal(t, "/elsewhere/repo", h.Layout("n", "/elsewhere").Repo)
}

func preparesAndDiscards(t *testing.T, open openHomes) {
	dir := realDir(t)
	h := open(t, dir)
	for _, base := range []string{"", filepath.Join(dir, "data", "own")} {
		p := record(t, "git@github.com:user/repo")
		l := h.Layout(p.Name, base)
		require.NoError(t, h.Prepare(t.Context(), p, l))
		for _, made := range []string{l.Base, l.Worktrees, filepath.Dir(l.Secrets), filepath.Dir(l.ServerLog)} {
			info, err := os.Stat(made)
			require.NoError(t, err)
			assert.Equal(t, os.FileMode(0o700), info.Mode().Perm(), made)
		}
		info, err := os.Stat(l.Secrets)
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
		ignored, err := os.ReadFile(filepath.Join(l.Base, ".gitignore"))
		require.NoError(t, err)
		assert.Equal(t, ".env\n.env.*\n*.env\n*.pid\n*.log\n", string(ignored))

		writeFile(t, filepath.Join(l.Repo, "deep", "file"), "x")
		writeFile(t, l.Key, "a key")
		deleted, err := h.Discard(t.Context(), l)
		require.NoError(t, err)
		assert.ElementsMatch(t, []string{l.Base, filepath.Dir(l.Secrets)}, deleted)
		assert.NoDirExists(t, l.Base)
		assert.NoDirExists(t, filepath.Dir(l.Secrets))
		assert.FileExists(t, l.Key)
		deleted, err = h.Discard(t.Context(), l)
		require.NoError(t, err, "what is gone is gone")
		assert.Empty(t, deleted)
	}
}

func preparesTwice(t *testing.T, open openHomes) {
	h := open(t, realDir(t))
	p := record(t, "git@github.com:user/repo")
	l := h.Layout(p.Name, "")
	require.NoError(t, h.Prepare(t.Context(), p, l))
	text, err := os.ReadFile(l.Secrets)
	require.NoError(t, err)
	assert.Equal(t, "GIT_URL=git@github.com:user/repo.git\nSSH_KEY_PATH="+l.Key+"\n", string(text))

	own := "# mine\nexport OPENCODE_PORT=4150\nGIT_URL=https://github.com/user/repo\nSSH_KEY_PATH=/old\n"
	writeFile(t, l.Secrets, own)
	writeFile(t, filepath.Join(l.Base, ".gitignore"), "mine\n")
	require.NoError(t, h.Prepare(t.Context(), p, l))
	text, err = os.ReadFile(l.Secrets)
	require.NoError(t, err)
	assert.Equal(t, own, string(text), "what is there wins")
	p.SSHKey = "/home/me/.ssh/new"
	require.NoError(t, h.Prepare(t.Context(), p, l))
	text, err = os.ReadFile(l.Secrets)
	require.NoError(t, err)
	assert.Equal(t, "# mine\nexport OPENCODE_PORT=4150\nGIT_URL=https://github.com/user/repo\nSSH_KEY_PATH=/home/me/.ssh/new\n", string(text))
	ignored, err := os.ReadFile(filepath.Join(l.Base, ".gitignore"))
	require.NoError(t, err)
	assert.Equal(t, "mine\n", string(ignored))

	writeFile(t, l.Secrets, "GIT_URL=git@github.com:user/other\n")
	require.ErrorIs(t, h.Prepare(t.Context(), p, l), sandbox.ErrConfig, "settings of another repository")
}

func claimsNothingOfOthers(t *testing.T, open openHomes) {
	dir := realDir(t)
	h := open(t, dir)
	p, other := record(t, "git@github.com:user/repo"), record(t, "git@github.com:user/other")
	full := filepath.Join(dir, "documents")
	writeFile(t, filepath.Join(full, "thesis"), "x")
	inManaged := filepath.Join(dir, ".opencode-projects", "mine")
	writeFile(t, filepath.Join(inManaged, "notes.txt"), "x")
	require.NoError(t, os.Symlink(full, filepath.Join(dir, "link")))
	writeFile(t, filepath.Join(dir, "plain"), "x")
	owned := h.Layout(other.Name, filepath.Join(dir, "owned"))
	require.NoError(t, h.Prepare(t.Context(), other, owned))
	theirs := filepath.Join(dir, ".opencode-projects", "theirs")
	writeFile(t, filepath.Join(theirs, "repo", "x"), "x")
	for _, base := range []string{
		full, inManaged, theirs, filepath.Dir(owned.Secrets), filepath.Join(dir, ".memory", "opencode-sandboxes", "nobodys"), dir, filepath.Dir(dir), "/", filepath.Join(dir, ".memory"), filepath.Join(dir, ".memory", "opencode-keys"),
		filepath.Join(dir, ".memory", "opencode-sandboxes"), filepath.Join(dir, ".opencode-projects"), filepath.Join(dir, "link"), filepath.Join(dir, "plain"),
		owned.Base, filepath.Join(owned.Base, "worktrees"), filepath.Join(owned.Base, "worktrees", "deep", "er"), "relative", filepath.Join(dir, "x") + "/../y",
	} {
		require.ErrorIs(t, h.Prepare(t.Context(), p, h.Layout(p.Name, base)), sandbox.ErrBaseDir, base)
	}
	assert.FileExists(t, filepath.Join(full, "thesis"))
	assert.NoFileExists(t, filepath.Join(full, sandbox.MarkerFile))

	interrupted := h.Layout(p.Name, "")
	writeFile(t, filepath.Join(interrupted.Base, "repo.tmp-1", "x"), "x")
	require.NoError(t, h.Prepare(t.Context(), p, interrupted), "what a start that was cut off left is no obstacle")
	original := h.Layout(p.Name, filepath.Join(dir, ".memory", "opencode-sandboxes", p.Name))
	writeFile(t, filepath.Join(original.Repo, "x"), "x")
	require.NoError(t, h.Prepare(t.Context(), p, original), "where the original had its base directories")
	empty := filepath.Join(dir, "empty")
	require.NoError(t, os.Mkdir(empty, 0o755))
	require.NoError(t, h.Prepare(t.Context(), p, h.Layout(p.Name, empty)))
}

func discardsOnlyItsOwn(t *testing.T, open openHomes) {
	dir := realDir(t)
	h := open(t, dir)
	p, other := record(t, "git@github.com:user/repo"), record(t, "git@github.com:user/other")
	full := filepath.Join(dir, "documents")
	writeFile(t, filepath.Join(full, "thesis"), "x")
	require.NoError(t, os.Symlink(full, filepath.Join(dir, "link")))
	owned := h.Layout(other.Name, filepath.Join(dir, "owned"))
	require.NoError(t, h.Prepare(t.Context(), other, owned))
	for _, base := range []string{full, owned.Base, filepath.Join(dir, "link"), dir, filepath.Join(dir, ".memory"), filepath.Join(dir, ".opencode-projects")} {
		l := h.Layout(p.Name, base)
		writeFile(t, l.Secrets, "x")
		require.NoError(t, os.MkdirAll(filepath.Join(dir, ".opencode-projects"), 0o700))
		deleted, err := h.Discard(t.Context(), l)
		require.ErrorIs(t, err, sandbox.ErrBaseDir, base)
		assert.Empty(t, deleted)
		assert.FileExists(t, l.Secrets, "nothing goes when not everything may")
	}
	assert.FileExists(t, filepath.Join(full, "thesis"))
	assert.FileExists(t, owned.Secrets)
	bent := h.Layout("..", "")
	_, err := h.Discard(t.Context(), bent)
	require.ErrorIs(t, err, sandbox.ErrBaseDir)
}

func followsNoLinks(t *testing.T, open openHomes) {
	dir := realDir(t)
	h := open(t, dir)
	outside := filepath.Join(dir, "precious")
	writeFile(t, filepath.Join(outside, "file"), "x")
	p := record(t, "git@github.com:user/repo")
	l := h.Layout(p.Name, "")
	require.NoError(t, h.Prepare(t.Context(), p, l))
	require.NoError(t, os.Symlink(outside, filepath.Join(l.Base, "link")))
	require.NoError(t, os.Remove(l.Worktrees))
	require.NoError(t, os.Symlink(outside, l.Worktrees))
	require.NoError(t, os.RemoveAll(filepath.Dir(l.Secrets)))
	require.NoError(t, os.Symlink(outside, filepath.Dir(l.Secrets)))
	_, err := h.Discard(t.Context(), l)
	require.NoError(t, err)
	assert.NoDirExists(t, l.Base)
	_, err = os.Lstat(filepath.Dir(l.Secrets))
	require.ErrorIs(t, err, os.ErrNotExist)
	assert.FileExists(t, filepath.Join(outside, "file"))

	require.NoError(t, os.Symlink(outside, l.Base))
	_, err = h.Discard(t.Context(), l)
	require.ErrorIs(t, err, sandbox.ErrBaseDir)
	assert.FileExists(t, filepath.Join(outside, "file"))
}

func wantsAConfiguration(t *testing.T, open openHomes) {
	h := open(t, realDir(t))
	_, err := h.Settings(t.Context(), "")
	require.ErrorIs(t, err, sandbox.ErrConfiguration)
	assert.ErrorContains(t, err, "countersign sandbox init")
}

// discardsLocked deletes directories that their owner may not write to, as caches of modules are.
func discardsLocked(t *testing.T, open openHomes) {
	h := open(t, realDir(t))
	p := record(t, "git@github.com:user/repo")
	l := h.Layout(p.Name, "")
	require.NoError(t, h.Prepare(t.Context(), p, l))
	writeFile(t, filepath.Join(l.Worktrees, "a", "cache", "module", "file"), "x")
	require.NoError(t, os.Chmod(filepath.Join(l.Worktrees, "a", "cache", "module"), 0o500))
	require.NoError(t, os.Chmod(filepath.Join(l.Worktrees, "a", "cache"), 0o500))
	_, err := h.Discard(t.Context(), l)
	require.NoError(t, err)
	assert.NoDirExists(t, l.Base)
}
