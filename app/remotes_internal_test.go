package app

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestRemotesAreKnownByTheWayToThem: each way to a repository has a name of its own, so that who approves one approves no other. What means the same to git
// has the same name, which holds no password.
func TestRemotesAreKnownByTheWayToThem(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for want, spellings := range map[string][]string{
		"git@host:acme/priv":         {"git@host:acme/priv.git", "git@HOST:acme/priv/", " git@host:acme/priv "},
		"host:acme/priv":             {"host:acme/priv"},
		"git@host:/acme/priv":        {"git@host:/acme/priv.git"},
		"git@[::1]:acme/priv":        {"git@[::1]:acme/priv.git"},
		"https://host/acme/priv":     {"https://host/acme/priv", "HTTPS://Host:443/acme/priv.git/", "https://host:/acme/priv"},
		"https://***@host/acme/priv": {"https://tok3n@host/acme/priv", "https://me:s3cret@host/acme/priv.git"},
		"https://host:444/acme/priv": {"https://host:444/acme/priv"},
		"http://host/acme/priv":      {"http://host/acme/priv", "http://host:80/acme/priv"},
		"http://host:443/acme/priv":  {"http://host:443/acme/priv"},
		"git://host/acme/priv":       {"git://host/acme/priv", "git://host:9418/acme/priv"},
		"ssh://host/acme/priv":       {"ssh://host/acme/priv", "ssh://host:22/acme/priv.git"},
		"ssh://git@host/acme/priv":   {"ssh://git@host/acme/priv"},
		"ssh://other@host/acme/priv": {"ssh://other:s3cret@host/acme/priv"},
		"http://host/.git":           {"http://host/.git", "http://host/.git/"},
		"http://host/Acme/priv":      {"http://host/Acme/priv"},
		"host.tld/acme/priv":         {"host.tld/acme/priv"},
		"http://host/acme/priv?a=b":  {"http://host/acme/priv?a=b"},
		"ext::sh -c x":               {"ext::sh -c x"},
		"":                           {"/srv/git/x", "file:///srv/git/x.git", "../x", "/srv/a:b"},
	} {
		for _, url := range spellings {
			name := remoteName(url)
			assert.Equal(t, want, name, url)
			assert.Equal(t, name, remoteName(name), "the name of a name is itself")
		}
		assert.NotContains(t, seen, want)
		seen[want] = want
	}
}
