package sandbox_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/sandbox"
)

func parse(t testing.TB, s string) git.URL {
	t.Helper()
	url, err := git.ParseURL(s)
	require.NoError(t, err, s)
	return url
}

func sum(url git.URL) string {
	h := sha256.Sum256([]byte(url.String()))
	return hex.EncodeToString(h[:])
}

// TestName is the contract's §3.4, and the edges it leaves.
func TestName(t *testing.T) {
	for in, want := range map[string]string{
		"git@github.com:user/repo.git":           "user-repo",
		"https://github.com/octocat/Hello-World": "octocat-hello-world",
		"git@github.com:My_Org/Cool-Repo":        "my_org-cool-repo",
		"https://github.com/org/team/repo":       "org-team-repo",
		"git@github.com:user/my.awesome.repo":    "user-my.awesome.repo",
		"/srv/git/Repo.git":                      "git-repo",
		"/home/me/repo":                          "me-repo",
		"/repo":                                  "unknown-repo",
		"git@host:repo":                          "unknown-repo",
		"git@host:~me/repo":                      "me-repo",
		"https://github.com/.github/.x":          "github-.x",
		"https://github.com/o/a%20%20b--c":       "o-a-20-20b-c",
		"https://host/o/--r--":                   "o-r",
		"https://host/組織/レポ":                     "_組織-レポ",
		"https://host/Ünïcode/R":                 "_ünïcode-r",
		"https://host/o/Straße":                  "o-straße",
		"https://host/_o/r":                      "_o-r",
		"https://host/1/2":                       "1-2",
		"https://host/~/r":                       "unknown-r",
		"https://host/o/e\u0301":                 "o-e", // a combining mark is no letter
	} {
		assert.Equal(t, want, sandbox.ProjectName(parse(t, in), nil), in)
	}
	for _, in := range []string{"git@host:o/~~~", "git@host:o/..."} {
		url, err := git.ParseURL(in)
		if err == nil {
			assert.Equal(t, "unknown-"+sandbox.ShortHash(url), sandbox.ProjectName(url, nil), in)
		}
	}
	assert.Regexp(t, `^unknown-[0-9a-f]{12}$`, sandbox.ProjectName(git.URL{}, nil))
}

func TestNameIsCappedAndTold(t *testing.T) {
	edge := parse(t, "git@host:o/"+strings.Repeat("r", sandbox.MaxProjectName-2))
	assert.Len(t, sandbox.ProjectName(edge, nil), sandbox.MaxProjectName, "the edge is not cut")
	assert.NotContains(t, sandbox.ProjectName(edge, nil), sum(edge)[:8])
	long := parse(t, "git@host:o/"+strings.Repeat("r", sandbox.MaxProjectName-1))
	name := sandbox.ProjectName(long, nil)
	assert.Len(t, name, sandbox.MaxProjectName)
	assert.True(t, strings.HasSuffix(name, "-"+sum(long)[:8]), name)
	wide := parse(t, "git@host:o/"+strings.Repeat("組", 60))
	assert.LessOrEqual(t, len(sandbox.ProjectName(wide, nil)), sandbox.MaxProjectName)

	url := parse(t, "git@github.com:user/repo")
	has := map[string]bool{"user-repo": true}
	taken := func(name string) bool { return has[name] }
	first := sandbox.ProjectName(url, taken)
	assert.Equal(t, "user-repo-"+sum(url)[:6], first)
	has[first] = true
	second := sandbox.ProjectName(url, taken)
	assert.NotContains(t, has, second, "a name somebody chose to look like a collision")
	cut := sandbox.ProjectName(long, func(name string) bool { return name == sandbox.ProjectName(long, nil) })
	assert.LessOrEqual(t, len(cut), sandbox.MaxProjectName)
	assert.True(t, strings.HasSuffix(cut, "-"+sum(long)[:6]), cut)
	assert.NotEmpty(t, sandbox.ProjectName(url, func(string) bool { return true }), "it always ends")
}

func TestHash12(t *testing.T) {
	assert.Equal(t, "88663fc17297", sandbox.ShortHash(parse(t, "git@github.com:user/repo1.git")))
	assert.Equal(t, "1c33b0bb8c69", sandbox.ShortHash(parse(t, "https://github.com/user/repo2")))
}

func TestTitle(t *testing.T) {
	for in, want := range map[string]string{"user-repo": "User Repo", "my_org-cool.repo": "My_org Cool.repo", "": "", "a--b": "A B", "_ünï-é": "_ünï É"} {
		assert.Equal(t, want, sandbox.ProjectTitle(in))
	}
}

func TestCheckName(t *testing.T) {
	for _, good := range []string{"a", "A-b_9", "_x", "9", strings.Repeat("n", sandbox.MaxName)} {
		assert.NoError(t, sandbox.CheckName(good), good)
	}
	for _, bad := range []string{"", "-", "-x", "--force", "a b", "a/b", "..", "a.b", "é", "a\n", "a\x00", "组", strings.Repeat("n", sandbox.MaxName+1)} {
		assert.ErrorIs(t, sandbox.CheckName(bad), sandbox.ErrName, "%q", bad)
	}
	assert.Equal(t, sandbox.SandboxKey("Fix-1"), sandbox.SandboxKey("fIX-1"))
}

func TestCheckProjectName(t *testing.T) {
	for _, good := range []string{"user-repo", "_組織-r", "Old Name", "a.b", "unknown-0123456789ab"} {
		assert.NoError(t, sandbox.CheckProjectName(good), good)
	}
	for _, bad := range []string{"", ".", "..", ".ssh", "-x", "a/b", "../x", `a\b`, "a\nb", "a\x00", "\xff", strings.Repeat("n", 250)} {
		assert.ErrorIs(t, sandbox.CheckProjectName(bad), sandbox.ErrState, "%q", bad)
	}
}

func TestCloneURL(t *testing.T) {
	for in, want := range map[string]string{
		"https://github.com/User/repo":           "https://github.com/User/repo",
		" HTTPS://TOKEN@GitHub.com/u/r.git ":     "https://GitHub.com/u/r.git",
		"https://user:pw@host:8443/o/r/":         "https://host:8443/o/r/",
		"https://a:b@c@host/o/r":                 "https://host/o/r",
		"http://localhost:3000/o/r":              "http://localhost:3000/o/r",
		"ssh://alice:pw@host:22/srv/r":           "ssh://alice@host:22/srv/r",
		"ssh://git@host:2222/o/r":                "ssh://git@host:2222/o/r",
		"git@host:/srv/git/r.git":                "git@host:/srv/git/r.git",
		"alice@host:o/r":                         "alice@host:o/r",
		"git@[::1]:o/r":                          "git@[::1]:o/r",
		"github.com/user/repo":                   "git@github.com:user/repo.git",
		"/srv/git/r.git":                         "file:///srv/git/r.git",
		"file:///srv/git//r.git":                 "file:///srv/git/r.git",
		"git://x:y@host/o/r":                     "git://host/o/r",
		"https://dev.azure.com/o/My%20P/_git/r/": "https://dev.azure.com/o/My%20P/_git/r/",
	} {
		url := parse(t, in)
		got := sandbox.CloneURL(in, url)
		assert.Equal(t, want, got, in)
		assert.Equal(t, url, parse(t, got), "it names the same repository")
		assert.False(t, git.CarriesCredentials(got), got)
	}
}

// FuzzIdentity: whatever names a repository gives a name that can name a directory, the same one every time, and a URL to clone from without secrets.
func FuzzIdentity(f *testing.F) {
	for _, s := range []string{
		"git@github.com:user/repo.git", "https://T@github.com/o/r", "/a/b", "git@h:~/.x", "https://h/組織/İ", "ssh://a:b@[::1]:9/x", "a.b/c/d", "git@h:é\u0301/-",
		"https://h/" + strings.Repeat("組/", 80) + "r",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		url, err := git.ParseURL(s)
		if err != nil {
			return
		}
		name := sandbox.ProjectName(url, nil)
		require.Regexp(t, `^[a-z0-9_][\p{L}\p{N}._-]*$`, name)
		require.LessOrEqual(t, len(name), sandbox.MaxProjectName)
		require.NoError(t, sandbox.CheckProjectName(name))
		require.Equal(t, name, sandbox.ProjectName(parse(t, url.String()), nil))
		other := sandbox.ProjectName(url, func(n string) bool { return n == name })
		require.NotEqual(t, name, other)
		require.Regexp(t, `^[a-z0-9_][\p{L}\p{N}._-]*$`, other)
		require.LessOrEqual(t, len(other), sandbox.MaxProjectName)
		clone := sandbox.CloneURL(s, url)
		require.Equal(t, url, parse(t, clone), "%q → %q", s, clone)
		require.False(t, git.CarriesCredentials(clone), "%q → %q", s, clone)
	})
}

// TestRequestNumbers: what people write for a pull request.
func TestRequestNumbers(t *testing.T) {
	for word, want := range map[string]int{"pr:12": 12, "mr:7": 7, "pr:": 0, "pr:0": 0, "pr:+1": 0, "pr:-1": 0, "pr:1x": 0, "12": 0, "": 0} {
		number, ok := sandbox.RequestNumber(word)
		assert.Equal(t, want > 0, ok, word)
		if ok {
			assert.Equal(t, want, number, word)
		}
	}
}
