package ecosystemfile_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/ecosystemfile"
	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/domain/ecosystem"
)

// free returns a port that nobody listens on.
func free(t *testing.T) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func get(t *testing.T, url string, change ...func(*http.Request)) (int, string) {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	for _, f := range change {
		f(r)
	}
	a, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	require.NoError(t, err)
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	require.NoError(t, err)
	return a.StatusCode, string(body)
}

// TestItListensOnLoopbackAlone, once, and no more once it is stopped.
func TestItListensOnLoopbackAlone(t *testing.T) {
	l, port := ecosystemfile.NewControlPlane("1.2.3", system.Clock{}), free(t)
	for _, host := range []string{"0.0.0.0", "", "example.com", "::", "192.0.2.1"} {
		require.ErrorIs(t, l.Start(t.Context(), host, port), ecosystem.ErrServer, host)
	}
	stopped, err := l.Stop(t.Context())
	require.NoError(t, err)
	assert.False(t, stopped)
	assert.Zero(t, l.Status(t.Context()).Port)

	require.NoError(t, l.Start(t.Context(), "127.0.0.1", port))
	require.ErrorContains(t, l.Start(t.Context(), "127.0.0.1", port), "listens on port")
	assert.Equal(t, port, l.Status(t.Context()).Port)
	url := fmt.Sprintf("http://127.0.0.1:%d/health", port)
	code, body := get(t, url)
	assert.Equal(t, http.StatusOK, code)
	assert.Contains(t, body, `"version":"1.2.3"`)
	code, _ = get(t, url, func(r *http.Request) { r.Host = "evil.example" })
	assert.Equal(t, http.StatusForbidden, code, "another name for this address gets nothing")
	code, _ = get(t, url, func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") })
	assert.Equal(t, http.StatusForbidden, code)
	require.ErrorIs(t, ecosystemfile.NewControlPlane("2", system.Clock{}).Start(t.Context(), "127.0.0.1", port), ecosystem.ErrServer, "a port that is taken")

	stopped, err = l.Stop(t.Context())
	require.NoError(t, err)
	assert.True(t, stopped)
	_, err = net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	require.Error(t, err)
	require.NoError(t, l.Start(t.Context(), "127.0.0.1", port), "and again")
	_, err = l.Stop(t.Context())
	require.NoError(t, err)
}
