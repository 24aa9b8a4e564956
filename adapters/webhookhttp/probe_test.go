package webhookhttp_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/webhookhttp"
)

// TestProbe: what listens is heard; only an answer that is no error counts, and no redirect is followed.
func TestProbe(t *testing.T) {
	t.Parallel()
	followed := false
	mux := http.NewServeMux()
	mux.HandleFunc("/bad", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	mux.HandleFunc("/good", func(http.ResponseWriter, *http.Request) {})
	mux.Handle("/away", http.RedirectHandler("/followed", http.StatusFound))
	mux.HandleFunc("/followed", func(http.ResponseWriter, *http.Request) { followed = true })
	server := httptest.NewServer(mux)
	at, err := url.Parse(server.URL)
	require.NoError(t, err)
	port, err := strconv.Atoi(at.Port())
	require.NoError(t, err)
	p := webhookhttp.Probe{}
	assert.True(t, p.Listens(t.Context(), port))
	for path, want := range map[string]bool{"/good": true, "/bad": false, "/away": true} {
		assert.Equal(t, want, p.Answers(t.Context(), server.URL+path), path)
	}
	server.Close()
	assert.False(t, followed)
	assert.False(t, p.Listens(t.Context(), port))
	assert.False(t, p.Answers(t.Context(), server.URL+"/good"))
}
