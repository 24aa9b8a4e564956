package anchorgit_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/gitcli/anchorgit"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/internal/testkit/workroom"
)

func TestMain(m *testing.M) { os.Exit(workroom.Run(m, "")) }

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return strings.TrimSpace(string(out))
}

func bare(t *testing.T) string {
	dir := filepath.Join(t.TempDir(), "anchor.git")
	require.NoError(t, os.Mkdir(dir, 0o700))
	git(t, dir, "init", "--quiet", "--bare")
	return dir
}

func head(n int64) audit.Head {
	return audit.Head{Seq: n, Hash: canon.SumBytes("test", []byte{byte(n)}), At: time.Date(2026, 1, 2, 3, 4, int(n), 0, time.UTC), Home: "/home/of/ours", Machine: "m", Key: audit.Key{1}, Sig: make([]byte, 64)}
}

func open(t *testing.T, where, cache string) *anchorgit.Remote {
	r, err := anchorgit.Open(where, "record", cache)
	require.NoError(t, err)
	return r
}

func TestHeadsGoIntoABranch(t *testing.T) {
	remote, cache := bare(t), t.TempDir()
	r := open(t, remote, cache)
	heads, _, err := r.Heads(t.Context(), "")
	require.NoError(t, err)
	assert.Empty(t, heads)
	mark := ""
	for n := range int64(3) {
		mark, err = r.Put(t.Context(), head(n+1), mark)
		require.NoError(t, err)
	}
	branch := strings.TrimPrefix(r.Where(), remote+"#")
	assert.Equal(t, mark, git(t, remote, "rev-parse", "refs/heads/"+branch))
	require.NoError(t, os.RemoveAll(cache)) // it may be lost
	again := open(t, r.Where(), t.TempDir())
	heads, odd, err := again.Heads(t.Context(), mark)
	require.NoError(t, err)
	assert.Zero(t, odd)
	assert.Equal(t, []audit.Head{head(1), head(2), head(3)}, heads)
	_, err = again.Put(t.Context(), head(4), mark)
	require.NoError(t, err)
}

// A branch that is not what it was is said to be so, and nothing is pushed over it.
func TestABranchThatWasRewritten(t *testing.T) {
	for name, rewrite := range map[string]func(remote, branch, first string){
		"moved back": func(remote, branch, first string) { git(t, remote, "update-ref", "refs/heads/"+branch, first) },
		"begun anew": func(remote, branch, _ string) {
			tree := git(t, remote, "mktree", "--missing")
			commit := git(t, remote, "-c", "user.name=A", "-c", "user.email=a@example.com", "commit-tree", "-m", string(head(9).Line()), tree)
			git(t, remote, "update-ref", "refs/heads/"+branch, commit)
		},
		"gone": func(remote, branch, _ string) { git(t, remote, "update-ref", "-d", "refs/heads/"+branch) },
	} {
		t.Run(name, func(t *testing.T) {
			remote := bare(t)
			r := open(t, remote, t.TempDir())
			first, err := r.Put(t.Context(), head(1), "")
			require.NoError(t, err)
			mark, err := r.Put(t.Context(), head(2), first)
			require.NoError(t, err)
			branch := strings.TrimPrefix(r.Where(), remote+"#")
			rewrite(remote, branch, first)
			before := git(t, remote, "for-each-ref")
			_, _, err = r.Heads(t.Context(), mark)
			require.ErrorIs(t, err, audit.ErrContradicted)
			_, err = r.Put(t.Context(), head(3), mark)
			require.ErrorIs(t, err, audit.ErrContradicted)
			assert.Equal(t, before, git(t, remote, "for-each-ref"))
		})
	}
}

func TestWhatIsNoRemote(t *testing.T) {
	for _, wrong := range []string{"", "#x", "--upload-pack=x", "https://me:secret@example.com/x.git"} {
		_, err := anchorgit.Open(wrong, "record", t.TempDir())
		require.ErrorIs(t, err, anchorgit.ErrRemote, wrong)
	}
	r := open(t, filepath.Join(t.TempDir(), "nowhere.git"), t.TempDir())
	_, err := r.Put(t.Context(), head(1), "")
	require.ErrorIs(t, err, anchorgit.ErrRemote)
	_, _, err = r.Heads(t.Context(), "")
	require.ErrorIs(t, err, anchorgit.ErrRemote)
	r = open(t, "ext::sh -c 'echo x >"+filepath.Join(t.TempDir(), "run")+"'", t.TempDir())
	_, _, err = r.Heads(t.Context(), "")
	require.ErrorIs(t, err, anchorgit.ErrRemote)
}
