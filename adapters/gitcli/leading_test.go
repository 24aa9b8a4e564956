package gitcli_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"
)

// served returns a server of a repository, or of what it does instead, and how often it was asked.
func served(t *testing.T, answer http.Handler) (string, *atomic.Int64) {
	t.Helper()
	asked := new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		answer.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

// TestOnlyTheRemoteItselfIsReached: a redirection is not followed, also where the repository wants it followed, and a repository that names a proxy or less
// care is not fetched into. What the user's own configuration says stays.
func TestOnlyTheRemoteItselfIsReached(t *testing.T) {
	alone(t, "")
	for _, name := range []string{"http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, "")
	}
	r := gitfixture.New(t, "-- a --\na\n")
	r.Git("update-server-info")
	files := http.FileServer(http.Dir(filepath.Join(r.Dir, ".git")))
	other, followed := served(t, files)
	moved, asked := served(t, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		http.Redirect(w, q, other+q.URL.RequestURI(), http.StatusFound)
	}))
	plain, _ := served(t, files)
	list := func(url string) error {
		_, err := gitcli.Command{Dir: r.Dir, Args: []string{"ls-remote", "--", url}, Protocols: gitcli.Network}.Output(t.Context())
		return err
	}
	require.NoError(t, list(plain))
	require.Error(t, list(moved))
	require.NotZero(t, asked.Load())
	assert.Zero(t, followed.Load(), "a redirection leads to what nobody has approved")

	for key, value := range map[string]string{"http.proxy": other, "http." + plain + ".proxy": other, "http." + moved + "/.followRedirects": "true", "http.sslVerify": "false",
		"http.curloptResolve": "x:80:127.0.0.1", "remote.origin.proxy": other, "http.extraHeader": "Host: elsewhere"} {
		r.Git("config", key, value)
		for _, url := range []string{plain, moved} {
			require.ErrorIs(t, list(url), gitcli.ErrLed, key)
		}
		_, err := gitcli.Command{Dir: r.Dir, Args: []string{"status"}}.Output(t.Context())
		require.NoError(t, err, "what reaches nobody works")
		r.Git("config", "--unset-all", key)
	}
	assert.Zero(t, followed.Load())
	r.Git("config", "http.extraHeader", "Authorization: basic eDp5")
	r.Git("config", "http.postBuffer", "1000000")
	require.NoError(t, list(plain))

	alone(t, "[http]\n\tproxy = "+other+"\n")
	require.NoError(t, list("http://far.invalid"))
	assert.NotZero(t, followed.Load(), "the user's own proxy")
}
