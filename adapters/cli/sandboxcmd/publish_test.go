package sandboxcmd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPullRequestIsOpenedByTheHostsOwnProgram, which is started outside of the repository; without it, the page is printed.
func TestPullRequestIsOpenedByTheHostsOwnProgram(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	for host, want := range map[string]string{
		"https://github.com/acme/shop/compare/main...sandbox/a?expand=1":                        "gh in /: pr create --repo github.com/acme/shop --head sandbox/a --base main --title Log in --body \n",
		"https://gitlab.com/o/t/shop/-/merge_requests/new?merge_request[source_branch]=sandbox": "glab in /: mr create --yes --repo https://gitlab.com/o/t/shop --source-branch sandbox/a --target-branch main --title Log in --description \n",
		"https://bitbucket.org/acme/shop/pull-requests/new?source=sandbox/a":                    "",
	} {
		for _, name := range []string{"gh", "glab"} {
			require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\necho \"${0##*/} in $PWD: $*\"\n"), 0o755))
		}
		s := stage{answers: answers{"opencode_project_list": says(shop), "sandbox_push": says(`{"status":"success","project":"acme-shop","git_url":"u","name":"a","branch":"sandbox/a","base":"main","commit":"0123456789abcdef","commits":2,"title":"Log in","message":"m","pull_request_url":"` + host + `"}`)}}
		got := s.run(t, "pr", "acme-shop", "a")
		require.NoError(t, got.err)
		if want == "" {
			want = host + "\n"
		}
		assert.Equal(t, "pushed sandbox/a, at 0123456789ab, with 2 commits\n"+want, got.out)
		assert.Contains(t, got.problems, host)
		require.NoError(t, os.WriteFile(filepath.Join(bin, "gh"), []byte("#!/bin/sh\nexit 3\n"), 0o755))
		if got = s.run(t, "pr", "acme-shop", "a"); strings.HasPrefix(host, "https://github") {
			require.ErrorContains(t, got.err, "could not open a pull request")
		}
	}
}
