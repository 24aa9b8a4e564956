package sandbox_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/sandbox"
)

func TestPullRequestURL(t *testing.T) {
	t.Parallel()
	for repository, want := range map[string]string{
		"git@github.com:acme/shop.git":             "https://github.com/acme/shop/compare/main...sandbox/a%23b?expand=1",
		"https://github.example.org/acme/shop":     "https://github.example.org/acme/shop/compare/main...sandbox/a%23b?expand=1",
		"git@gitlab.com:org/team/shop.git":         "https://gitlab.com/org/team/shop/-/merge_requests/new?merge_request%5Bsource_branch%5D=sandbox%2Fa%23b&merge_request%5Btarget_branch%5D=main",
		"git@bitbucket.org:acme/shop.git":          "https://bitbucket.org/acme/shop/pull-requests/new?dest=main&source=sandbox%2Fa%23b",
		"ssh://git@codeberg.org/acme/shop.git":     "https://codeberg.org/acme/shop/compare/main...sandbox/a%23b",
		"git@git.example.com:acme/shop.git":        "",
		"file:///srv/git/shop.git":                 "",
		"git@githubbers.example.com:acme/shop.git": "",
	} {
		u, err := git.ParseURL(repository)
		require.NoError(t, err, repository)
		assert.Equal(t, want, sandbox.PullRequestURL(u, "main", "sandbox/a#b"), repository)
	}
}

func TestBase(t *testing.T) {
	t.Parallel()
	r := sandbox.BranchRefs{Current: "main", Local: map[string]string{"main": "/r", "dev": "", "sandbox/a": "/w"}, Origin: map[string]bool{"main": true, "far": true, "sandbox/a": true}}
	for _, row := range []struct{ on, recorded, wish, want string }{
		{"sandbox/a", "dev", "", "dev"}, {"sandbox/a", "", "", "main"}, {"sandbox/a", "refs/opencode-backup/a/1", "", "main"}, {"dev", "dev", "", "main"}, {"far", "origin/far", "", "main"},
		{"sandbox/a", "dev", "main", "main"}, {"sandbox/a", "dev", "far", "origin/far"}, {"sandbox/a", "dev", "origin/main", "origin/main"}, {"", "dev", "", "dev"},
	} {
		got, err := r.Base(row.on, row.recorded, row.wish)
		require.NoError(t, err, row)
		assert.Equal(t, row.want, got.Name, row)
	}
	_, err := r.Base("sandbox/a", "dev", "dvev")
	require.ErrorIs(t, err, sandbox.ErrBranch)
	_, err = r.Base("sandbox/a", "dev", "sandbox/a")
	require.ErrorIs(t, err, sandbox.ErrArguments)
	_, err = sandbox.BranchRefs{Local: map[string]string{"sandbox/a": ""}}.Base("sandbox/a", "sandbox/a", "")
	require.ErrorIs(t, err, sandbox.ErrBranch)
}

func TestComments(t *testing.T) {
	t.Parallel()
	all := sandbox.AddComment(nil, sandbox.Comment{Path: "a.go", Line: 3, Text: "why"})
	all = sandbox.AddComment(all, sandbox.Comment{Path: "b.go", Text: "hm"})
	settled, err := sandbox.Settle(all, 1)
	require.NoError(t, err)
	assert.Equal(t, []any{1, 2, true, false, false, "a.go:3", "b.go", ""}, []any{settled[0].Number, settled[1].Number, settled[0].Done, settled[1].Done, all[0].Done, all[0].Place(), all[1].Place(), sandbox.Comment{}.Place()})
	assert.Equal(t, 3, sandbox.AddComment(all[1:], sandbox.Comment{})[1].Number)
	_, err = sandbox.Settle(all, 7)
	require.ErrorIs(t, err, sandbox.ErrArguments)
}
