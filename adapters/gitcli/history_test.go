package gitcli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/pack"
	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"
	"github.com/countersign-dev/countersign/ports/packport"
)

const archive = "-- sub/a.go --\none\ntwo\nthree\n-- top.go --\ntop\n"

func TestLinesAsTheyWere(t *testing.T) {
	r := gitfixture.New(t, archive)
	commit := pack.Commit(strings.TrimSpace(r.Git("rev-parse", "HEAD")))
	require.NoError(t, os.WriteFile(filepath.Join(r.Dir, "sub", "a.go"), []byte("changed\n"), 0o600))
	h := gitcli.NewHistory(map[pack.Root]string{"": r.Dir, "sub": filepath.Join(r.Dir, "sub")})
	read := func(root pack.Root, path pack.Path, commit pack.Commit, start, end int) ([]string, error) {
		return h.Lines(t.Context(), packport.Location{Root: root, Path: path}, commit, pack.LineRange{Start: start, End: end})
	}
	lines, err := read("", "sub/a.go", commit, 2, 3)
	require.NoError(t, err)
	assert.Equal(t, []string{"two", "three"}, lines)
	lines, err = read("sub", "a.go", commit[:7], 1, 1)
	require.NoError(t, err, "a root below the repository's top, and a short commit")
	assert.Equal(t, []string{"one"}, lines)

	for name, call := range map[string]func() ([]string, error){
		"lines":     func() ([]string, error) { return read("", "sub/a.go", commit, 3, 4) },
		"file":      func() ([]string, error) { return read("", "sub/b.go", commit, 1, 1) },
		"directory": func() ([]string, error) { return read("", "sub", commit, 1, 1) },
		"commit":    func() ([]string, error) { return read("", "sub/a.go", "fffffff", 1, 1) },
	} {
		_, err := call()
		require.ErrorIs(t, err, packport.ErrMissing, name)
	}
	_, err = read("none", "a.go", commit, 1, 1)
	require.ErrorIs(t, err, packport.ErrRoot)
	_, err = gitcli.NewHistory(map[pack.Root]string{"": t.TempDir()}).Lines(t.Context(), packport.Location{Path: "a"}, commit, pack.LineRange{Start: 1, End: 1})
	require.ErrorIs(t, err, packport.ErrMissing, "no repository")
}

// TestTheRepositoryRunsNothing: a hostile configuration is read and not obeyed, and the caller's GIT_ variables lead nowhere.
func TestTheRepositoryRunsNothing(t *testing.T) {
	r := gitfixture.New(t, archive)
	commit := pack.Commit(strings.TrimSpace(r.Git("rev-parse", "HEAD")))
	mark := filepath.Join(t.TempDir(), "ran")
	for _, key := range []string{"core.fsmonitor", "core.sshCommand", "core.pager", "alias.cat-file", "diff.external", "filter.x.smudge"} {
		r.Git("config", key, "touch "+mark)
	}
	t.Setenv("GIT_DIR", "/nowhere")
	h := gitcli.NewHistory(map[pack.Root]string{"": r.Dir})
	lines, err := h.Lines(t.Context(), packport.Location{Path: "top.go"}, commit, pack.LineRange{Start: 1, End: 1})
	require.NoError(t, err)
	assert.Equal(t, []string{"top"}, lines)
	assert.NoFileExists(t, mark)
}

func TestWithoutGitItSaysSo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := gitcli.NewHistory(map[pack.Root]string{"": t.TempDir()}).Lines(t.Context(), packport.Location{Path: "a"}, "abcdef0", pack.LineRange{Start: 1, End: 1})
	require.ErrorIs(t, err, gitcli.ErrGit)
}
