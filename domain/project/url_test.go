package project_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/project"
)

func TestPublicURL(t *testing.T) {
	for url, want := range map[string]string{
		"":                                 "",
		"https://github.com/a/b.git":       "https://github.com/a/b.git",
		"https://ada:s3cret@h/x":           "https://h/x",
		"https://ghp_token@h:8443/x":       "https://h:8443/x",
		"https://ada:s3@cret@h/x":          "https://h/x",
		"https://ada:s3/cr?e#t@h/x/y":      "https://h/x/y",
		"https://ada:s3/cret@h":            "https://h",
		"https://h/x?private_token=s3cret": "https://h/x",
		"https://h/x?token=s3@cret":        "https://h/x",
		"https://h/x#s3cret":               "https://h/x",
		"https://h:80/a@b":                 "https://h:80/a@b",
		"https://h/@scope/b":               "https://h/@scope/b",
		"HTTPS://a:b@H/X":                  "HTTPS://H/X",
		"http://[::1]:8080/a@b":            "http://[::1]:8080/a@b",
		"ssh://git@h:22/x":                 "ssh://git@h:22/x",
		"ssh://git:s3cret@h/x":             "ssh://git@h/x",
		"git+ssh://git:s3cret@h/x":         "git+ssh://git@h/x",
		"git://ada:s3cret@h/x":             "git://h/x",
		"git@github.com:a/b":               "git@github.com:a/b",
		"git@h:a@b/c":                      "git@h:a@b/c",
		"ada:s3cret@h:x/y":                 "h:x/y",
		"h:x/y@z":                          "h:x/y@z",
		"/srv/git/a@b:c/x.git":             "/srv/git/a@b:c/x.git",
		"../x":                             "../x",
		"file:///srv/c#/a?b":               "file:///srv/c#/a?b",
		"ext::https://ada:s3cret@h/x":      "ext::https://h/x",
		" https://ada:\xffs3cret@h/x\n":    "https://h/x",
	} {
		assert.Equal(t, want, project.PublicURL(url), "%q", url)
	}
}

// FuzzPublicURL: a password is never returned, and the result is stable.
func FuzzPublicURL(f *testing.F) {
	f.Add("https", "ada", "x", "h/y?z")
	f.Add("ssh", "git", "/@?#", "h:22")
	f.Fuzz(func(t *testing.T, scheme, user, password, rest string) {
		letters := func(s string) string {
			return strings.Map(func(r rune) rune {
				if r < 'a' || r > 'z' {
					return -1
				}
				return r
			}, s)
		}
		public := project.PublicURL("x" + letters(scheme) + "://" + letters(user) + ":S3CRET" + password + "@host/" + rest)
		require.NotContains(t, public, "S3CRET")
		require.Equal(t, public, project.PublicURL(public))
	})
}
