package git_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/git"
)

// TestNormalForm is the vector table of the opencode contract §3.2, and more of the same kinds.
func TestNormalForm(t *testing.T) {
	for in, want := range map[string]string{
		"git@github.com:user/repo.git":       "git@github.com:user/repo.git",
		"git@github.com:user/repo":           "git@github.com:user/repo.git",
		"https://github.com/user/repo":       "git@github.com:user/repo.git",
		"https://github.com/user/repo.git":   "git@github.com:user/repo.git",
		"  git@github.com:user/repo.git  ":   "git@github.com:user/repo.git",
		"https://github.com/org/team/repo":   "git@github.com:org/team/repo.git",
		"https://git.company.com/user/repo":  "git@git.company.com:user/repo.git",
		"git@gitlab.com:user/repo":           "git@gitlab.com:user/repo.git",
		"https://bitbucket.org/user/repo":    "git@bitbucket.org:user/repo.git",
		"https://github.com/user/repo/":      "git@github.com:user/repo.git",
		"https://github.com/user/repo.git/":  "git@github.com:user/repo.git",
		"http://github.com/user/repo":        "git@github.com:user/repo.git",
		"ssh://git@github.com/user/repo.git": "git@github.com:user/repo.git",
		"ssh://git@host:2222/user/repo":      "ssh://git@host:2222/user/repo.git",
		"ssh://git@host:22/user/repo":        "git@host:user/repo.git",
		"https://host:8443/o/r":              "https://host:8443/o/r.git",
		"https://TOKEN@github.com/user/repo": "git@github.com:user/repo.git",
		"https://user:pw@host:8443/o/r.git":  "https://host:8443/o/r.git",
		"https://GitHub.com/User/Repo":       "git@github.com:User/Repo.git",
		"http://localhost:3000/o/r":          "http://localhost:3000/o/r.git",
		"alice@host:o/r":                     "alice@host:o/r.git",
		"git://host/o/r":                     "git@host:o/r.git",
		"/home/me/repo":                      "file:///home/me/repo",
		"file:///srv/git/repo.git":           "file:///srv/git/repo.git",
		"github.com/user/repo":               "git@github.com:user/repo.git",

		"HTTPS://HOST/o/r":                      "git@host:o/r.git",
		"host:o/r":                              "git@host:o/r.git",
		"git@host:/srv//o/r.git//":              "git@host:srv/o/r.git",
		"git@host:repo":                         "git@host:repo.git",
		"git@host:~me/repo":                     "git@host:~me/repo.git",
		"git@host:o/r.git.git":                  "git@host:o/r.git.git",
		"git@host:o/.git":                       "git@host:o.git",
		"git@host:2222/o/r":                     "git@host:2222/o/r.git",
		"https://host:443/o/r":                  "git@host:o/r.git",
		"http://host:80/o/r":                    "git@host:o/r.git",
		"http://host:443/o/r":                   "http://host:443/o/r.git",
		"git://host:9418/o/r":                   "git@host:o/r.git",
		"git://host:1/o/r":                      "git://host:1/o/r.git",
		"ssh://host:65535/o/r":                  "ssh://git@host:65535/o/r.git",
		"ssh://alice:pw@host/o/r":               "alice@host:o/r.git",
		"git+ssh://alice@host:23/o/r":           "ssh://alice@host:23/o/r.git",
		"ssh://:pw@host/o/r":                    "git@host:o/r.git",
		"https://a:b@c@host/o/r":                "git@host:o/r.git",
		"git@[::1]:o/r":                         "git@[::1]:o/r.git",
		"ssh://git@[2001:DB8::1]:2222/o/r":      "ssh://git@[2001:db8::1]:2222/o/r.git",
		"https://[::1]/o/r":                     "git@[::1]:o/r.git",
		"https://dev.azure.com/o/My%20P/_git/r": "git@dev.azure.com:o/My%20P/_git/r.git",
		"https://host/@scope/r":                 "git@host:@scope/r.git",
		"https://host/組織/r":                     "git@host:組織/r.git",
		"/srv//git/repo/":                       "file:///srv/git/repo",
		"file://localhost/srv/a@b:c":            "file:///srv/a@b:c",
		"github.com/user/repo.git/":             "git@github.com:user/repo.git",
		"GitHub.com/U/r":                        "git@github.com:U/r.git",
	} {
		u, err := git.ParseURL(in)
		if assert.NoError(t, err, in) {
			assert.Equal(t, want, u.String(), in)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, in := range []string{
		"", "  ", "\n", "-oProxyCommand=x", "--upload-pack=touch x", "https://host/o/r r", "https://host/o\x00/r", "git@host:o/r\ninsecure",
		"https://host/o/../r", "https://host/./r", "git@host:../r", "git@host:o/..", "/home/../etc", "file:///a/./b", "git@host:..git/..", "git@host:..git", "https://host/o/...git",
		"https://host/o/%2e%2e/r", "https://host/o%2Fr", "https://host/a%5Cb", "https://host/a%00", "https://host/a%0A", "/a/%2e%2e/b", "/100%",
		"https://host", "https://host/", "https://host/.git", "https://host//", "git@host:", "git@host:/", "git@host:.git", "/", "//", "file://",
		"https://", "https:///o/r", "ssh://git@/o/r", "@host:o/r", "git@:o/r", ":o/r",
		"./repo", "../repo", "repo", "user/repo", "github.com/user", "~/repo", "./a.b/c/d", "..x/y/z",
		"ext::sh -c touch% x", "ext::sh", "fd::17", "git@host::o/r", "https://host/:o/r", "https://host/o:x/r",
		"ftp://host/o/r", "javascript://host/o/r", "file://host/srv/repo", "file://user:pw@host/srv/repo", "ssh:/host/o/r", "https:host/o/r",
		"http:/github.com/o/r", `C:\repo`, "C:/repo", `\\server\share\repo`, `git@host:o\r`,
		"https://host:0/o/r", "https://host:65536/o/r", "https://host:/o/r", "https://host:+80/o/r", "https://host:x/o/r", "https://host:8 0/o/r",
		"ssh://-oProxyCommand=x/o/r", "ssh://-o@host/o/r", "-o@host:o/r", "git@-host:o/r", "git@host-:o/r", "git@host.:o/r", "git@hõst:o/r",
		"git@host:-x/r", "git@host:/-x", "a@b@host:o/r", "us/er@host:o/r", "user:pa/ss@host:o/r", "https://user:pa/ss@host/o/r",
		"https://user:12/34@host/o/r", "https://host/o/r?access_token=x", "https://host/o/r#main", "git@[::1:o/r", "git@[zone%eth0::]:o/r",
		"git@host://o/r", "https://ho st/o/r", "https://host/o/r\u00a0x", "https://host/\xff/r", strings.Repeat("a", git.MaxURLBytes+1),
	} {
		u, err := git.ParseURL(in)
		require.ErrorIs(t, err, git.ErrURL, "%q became %s", in, u)
		assert.True(t, u.IsZero(), "%q", in)
	}
	long := "git@host:o/" + strings.Repeat("r", git.MaxURLBytes-len("git@host:o/"))
	_, err := git.ParseURL(long)
	require.NoError(t, err, "the length's edge")
	_, err = git.ParseURL(long + "r")
	require.ErrorIs(t, err, git.ErrURL)
}

func TestParts(t *testing.T) {
	u, err := git.ParseURL("https://user:secret@Host.example:8443/Org/Team/Repo.git")
	require.NoError(t, err)
	assert.Equal(t, "host.example", u.Host())
	assert.Equal(t, "Org/Team/Repo", u.Path())
	assert.False(t, u.IsLocal())
	u, err = git.ParseURL("/srv/git/repo.git")
	require.NoError(t, err)
	assert.Empty(t, u.Host())
	assert.Equal(t, "/srv/git/repo.git", u.Path())
	assert.True(t, u.IsLocal())
	assert.Equal(t, "", git.URL{}.String())

	seen := map[git.URL]bool{}
	for _, s := range []string{"https://github.com/u/r", "git@github.com:u/r.git", "ssh://git@GITHUB.com:22/u/r/", "git://github.com/u/r", "github.com/u/r"} {
		u, err := git.ParseURL(s)
		require.NoError(t, err)
		seen[u] = true
	}
	assert.Len(t, seen, 1, "one repository is one key, however it is spelled")
}

func TestURLText(t *testing.T) {
	var v struct{ URL git.URL }
	require.NoError(t, json.Unmarshal([]byte(`{"URL":"https://TOKEN@github.com/u/r"}`), &v))
	out, err := json.Marshal(v)
	require.NoError(t, err)
	assert.JSONEq(t, `{"URL":"git@github.com:u/r.git"}`, string(out))
	before := v
	require.ErrorIs(t, json.Unmarshal([]byte(`{"URL":"nonsense"}`), &v), git.ErrURL)
	assert.Equal(t, before, v)
}

func TestCarriesCredentials(t *testing.T) {
	for in, want := range map[string]bool{
		"https://TOKEN@github.com/u/r": true, "https://user:pw@host:8443/o/r.git": true, " HTTPS://x-access-token:abc@host/o/r": true,
		"ssh://alice:pw@host/o/r": true, "git://me@host/o/r": true, "https://:pw@host/o/r": true, "https://git:pw@host/o/r": true,
		"https://github.com/u/r": false, "ssh://git@host/o/r": false, "ssh://alice@host/o/r": false, "git@github.com:u/r": false,
		"alice@host:o/r": false, "/srv/a@b": false, "https://host/@scope/r": false, "https://git@host/o/r": false, "": false,
		"file:///srv/a:b@c/d": false, "ssh://alice:@host/o/r": false,
	} {
		assert.Equal(t, want, git.CarriesCredentials(in), in)
	}
}

// TestPasswordsAreNeverKept puts a secret wherever a URL can carry one: it is in no result and in no message.
func TestPasswordsAreNeverKept(t *testing.T) {
	const secret = "s3cr3tT0k3n"
	for _, form := range []string{
		"https://%@host/o/r", "https://me:%@host/o/r", "http://me:%@host:8080/o/r", "ssh://me:%@host/o/r", "ssh://me:%@host:99/o/r",
		"https://me:a@%@host/o/r", "https://me:a/%@host/o/r", "https://me:%/a@host/o/r", "https://me:1/%@host/o/r", "me:%@host:o/r", "git://%@host/o/r",
		"https://host/o/r?token=%", "https://host/o/r#%", "https://me:% x@host/o/r", "file://me:%@host/o/r", "https://me:%@ho st/o/r",
		"ftp://me:%@host/o/r", "https://me:%@host/../r", "https://me:%@host", "https://me:%@", "git+ssh://me:%@host:7/o/r", "https://%:x@host/o/r",
		"-https://me:%@host/o/r",
	} {
		in := strings.Replace(form, "%", secret, 1)
		u, err := git.ParseURL(in)
		assert.NotContains(t, u.String(), secret, form)
		assert.NotContains(t, strings.ToLower(u.Host()+u.Path()), strings.ToLower(secret), form)
		if err != nil {
			assert.NotContains(t, err.Error(), secret, form)
		}
	}
}

// FuzzParse: every text is a URL or an error, the normal form is its own normal form, and it cannot be an option, walk, or run a helper.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"https://user:pw@Host:8443/o/r.git/", "git@host:o/r", "ssh://git@[::1]:2222/~x/y", "file:///srv//git/", "/a/b", "ext::sh", "a.b/c/d",
		"git+ssh://h/%41", "http://h:80/.git/.git", "git@h:.git.git/.git", "-x", "h:/-/x", "https://h/o/%2e%2e/r", "://", "@:/", "[::]:x/y", "x]:y",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := git.ParseURL(s)
		if err != nil {
			require.ErrorIs(t, err, git.ErrURL)
			require.True(t, u.IsZero())
			return
		}
		form := u.String()
		again, err := git.ParseURL(form)
		require.NoError(t, err, "%q became %q", s, form)
		require.Equal(t, u, again, "%q became %q", s, form)
		require.Equal(t, form, again.String())
		require.False(t, git.CarriesCredentials(form), "%q", form)

		require.False(t, strings.HasPrefix(form, "-"))
		require.False(t, strings.HasPrefix(u.Host(), "-") || strings.HasPrefix(u.Path(), "-"), "%q", form)
		require.NotRegexp(t, `^[A-Za-z0-9+.-]*::`, form, "git would run a remote helper")
		for part := range strings.SplitSeq(u.Path(), "/") {
			require.NotContains(t, []string{".", ".."}, part, "%q", form)
		}
		if u.IsLocal() {
			require.True(t, strings.HasPrefix(u.Path(), "/"))
		} else {
			require.NotEmpty(t, u.Host())
		}
	})
}
