package gitfixture_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"
)

const archive = `first light
-- README.md --
# Sample
-- src/main.go --
package main
`

func TestSameCommitsEverywhere(t *testing.T) {
	home := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[user]\n\tname = Somebody\n[commit]\n\tgpgSign = true\n"), 0o644))
	t.Setenv("HOME", home)
	t.Setenv("GIT_AUTHOR_NAME", "somebody else")
	t.Setenv("GIT_DIR", "/nowhere")
	for range 2 {
		r := gitfixture.New(t, archive)
		assert.Equal(t, "25809a224d2945cbd5a7ac6bf25a0f8034c675f2", r.Head())
		r.Write("-- src/more.go --\npackage main\n")
		assert.Equal(t, "89384895052a9026204cbf32f56b9fe5054f0daf", r.Commit("more"))
	}
}

func TestRemoteHasWhatWasPushed(t *testing.T) {
	r := gitfixture.New(t, archive)
	assert.Equal(t, r.Head(), r.Git("rev-parse", "origin/"+gitfixture.Branch))
	assert.Equal(t, "first light", r.Git("-C", r.Remote, "log", "--format=%s", gitfixture.Branch))
	assert.Equal(t, "Ada <ada@example.com> 2026-01-02T03:04:05+00:00", r.Git("log", "--format=%an <%ae> %aI"))

	r.Commit("not pushed")
	assert.Equal(t, "1", r.Git("rev-list", "--count", "@{upstream}..HEAD"))
	assert.Empty(t, r.Git("status", "--porcelain"))
}

func TestEmptyArchiveHasNoCommit(t *testing.T) {
	r := gitfixture.New(t, "")
	assert.Equal(t, gitfixture.Branch, r.Git("symbolic-ref", "--short", "HEAD"))
	assert.Equal(t, "0", r.Git("rev-list", "--all", "--count"))
}
