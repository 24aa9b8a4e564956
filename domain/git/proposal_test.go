package git_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/git"
)

func TestProposalPage(t *testing.T) {
	t.Parallel()
	for clone, want := range map[string]string{
		"git@github.com:acme/api.git":              "https://github.com/acme/api/compare/main...feature/P-1%23x?expand=1",
		"https://me:secret@github.com/acme/api":    "https://github.com/acme/api/compare/main...feature/P-1%23x?expand=1",
		"ssh://git@gitlab.example.com:2222/a/b/c":  "https://gitlab.example.com/a/b/c/-/merge_requests/new?merge_request%5Bsource_branch%5D=feature%2FP-1%23x&merge_request%5Btarget_branch%5D=main",
		"git@bitbucket.org:acme/api.git":           "https://bitbucket.org/acme/api/pull-requests/new?dest=main&source=feature%2FP-1%23x",
		"https://codeberg.org/acme/api.git":        "https://codeberg.org/acme/api/compare/main...feature/P-1%23x",
		"https://git.example.com/acme/api.git":     "",
		"https://notgithub.example.com/a/github.x": "",
		"/srv/git/api.git":                         "",
	} {
		u, err := git.ParseURL(clone)
		require.NoError(t, err, clone)
		assert.Equal(t, want, u.ProposalPage("main", "feature/P-1#x"), clone)
	}
	assert.Empty(t, git.URL{}.ProposalPage("main", "x"))
}

func TestReleasePage(t *testing.T) {
	t.Parallel()
	for clone, want := range map[string]string{
		"git@github.com:acme/api.git":             "https://github.com/acme/api/releases/new?tag=api%2Fv1.0.0",
		"ssh://git@gitlab.example.com:2222/a/b/c": "https://gitlab.example.com/a/b/c/-/releases/new?tag_name=api%2Fv1.0.0",
		"https://codeberg.org/acme/api.git":       "https://codeberg.org/acme/api/releases/new?tag=api%2Fv1.0.0",
		"git@bitbucket.org:acme/api.git":          "",
		"/srv/git/api.git":                        "",
	} {
		u, err := git.ParseURL(clone)
		require.NoError(t, err, clone)
		assert.Equal(t, want, u.ReleasePage("api/v1.0.0"), clone)
		assert.Equal(t, clone == "git@github.com:acme/api.git", u.GitHub(), clone)
	}
	assert.Empty(t, git.URL{}.ReleasePage("v1.0.0"))
}
