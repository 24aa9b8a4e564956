package confgit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"
)

func TestResolve(t *testing.T) {
	user(t, "")
	r := gitfixture.New(t, archive)
	first := r.Head()
	r.Git("tag", "-a", "v1", "-m", "annotated")
	r.Git("tag", "light")
	r.Git("tag", "both")
	r.Git("tag", "-a", "peeled", "-m", "annotated")
	r.Git("branch", "other/main") // whose end a careless match would take
	second := r.Commit("second")
	r.Git("branch", "both")
	r.Git("branch", "peeled")
	r.Git("push", "--quiet", "--all")
	r.Git("push", "--quiet", "--tags")
	resolve := func(ref string) (string, error) {
		return client().Resolve(t.Context(), deployment.GitSource{URL: r.Remote, Ref: ref})
	}
	for ref, want := range map[string]string{
		"": second, "main": second, "v1": first, "light": first, "other/main": first,
		"both": second, "peeled": first, // a branch comes before a plain tag, after an annotated one
		strings.ToUpper(first): first, strings.Repeat("ab", 20): strings.Repeat("ab", 20),
	} {
		got, err := resolve(ref)
		require.NoError(t, err, ref)
		assert.Equal(t, want, got, ref)
	}

	_, err := resolve("v2")
	require.ErrorIs(t, err, deployment.ErrGit)
	assert.Contains(t, err.Error(), `no branch or tag "v2"; there are: v1, main`)
	for _, ref := range []string{"-x", "--upload-pack=touch x", "a b", "a..b", "a:b", "*", "HEAD", "a^{}", "x\ny", "@{-1}", "a.lock"} {
		_, err := resolve(ref)
		require.ErrorIs(t, err, deployment.ErrConfig, ref)
	}
	_, err = client().Resolve(t.Context(), deployment.GitSource{URL: filepath.Join(t.TempDir(), "none")})
	require.ErrorIs(t, err, deployment.ErrGit)
	_, err = client().Resolve(t.Context(), deployment.GitSource{URL: "file://ada:secret@" + t.TempDir()})
	require.ErrorIs(t, err, deployment.ErrGit)
	assert.NotContains(t, err.Error(), "secret")
}

// TestABranchThatMovedStaysWhereItWasLocked: what is read depends on the commit alone.
func TestABranchThatMovedStaysWhereItWasLocked(t *testing.T) {
	user(t, "")
	r := gitfixture.New(t, archive)
	locked, err := client().Resolve(t.Context(), deployment.GitSource{URL: r.Remote})
	require.NoError(t, err)
	r.Write("-- top.md --\nmoved\n")
	moved := r.Commit("moved")
	r.Git("push", "--quiet")
	at := place(t)
	for commit, want := range map[string]string{locked: "top\n", moved: "moved\n"} {
		got, err := client().Git(t.Context(), at, deployment.ResolvedGit{URL: r.Remote, Commit: commit}, false)
		require.NoError(t, err)
		assert.Equal(t, want, texts(got)["top.md"])
	}
	require.NoError(t, os.RemoveAll(r.Remote))
	_, err = client().Git(t.Context(), at, deployment.ResolvedGit{URL: r.Remote, Commit: locked}, false)
	require.NoError(t, err, "the cache outlives its remote")
}
