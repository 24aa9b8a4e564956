package ui_test

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/console/ui"
)

func get(t *testing.T, method, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, "http://x"+path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	ui.AssetHandler().ServeHTTP(w, r)
	return w
}

func TestFilesAreServed(t *testing.T) {
	for path, media := range map[string]string{"/assets/style.css": "text/css; charset=utf-8", "/assets/console.js": "text/javascript; charset=utf-8", "/assets/icon.svg": "image/svg+xml",
		"/assets/diagrams.js": "text/javascript; charset=utf-8", "/assets/notify.js": "text/javascript; charset=utf-8", "/assets/icon-waiting.svg": "image/svg+xml"} {
		w := get(t, http.MethodGet, path)
		assert.Equal(t, http.StatusOK, w.Code, path)
		assert.Equal(t, media, w.Header().Get("Content-Type"), path)
		assert.NotEmpty(t, w.Body.String(), path)
		tag := w.Header().Get("ETag")
		again := get(t, http.MethodGet, path, "If-None-Match", tag)
		assert.Equal(t, http.StatusNotModified, again.Code, path)
		assert.Empty(t, again.Body.String(), path)
		assert.Empty(t, get(t, http.MethodHead, path).Body.String(), path)
	}
}

func TestNothingElseIsServed(t *testing.T) {
	for _, path := range []string{"/assets/", "/assets", "/assets/nowhere.js", "/assets/mermaid.js.gz", "/assets/../assets.go", "/assets/static/style.css", "/assets/x/style.css", "/assets/assets.go",
		"/assets/%2e%2e/assets.go", "/assets/style"} {
		assert.Equal(t, http.StatusNotFound, get(t, http.MethodGet, path).Code, path)
	}
	w := get(t, http.MethodPost, "/assets/style.css")
	assert.Equal(t, http.StatusMethodNotAllowed, w.Code)
	assert.Equal(t, "GET, HEAD", w.Header().Get("Allow"))
}

func TestWhatIsCompressedIsSentAsItIsTaken(t *testing.T) {
	zipped := get(t, http.MethodGet, "/assets/mermaid.js", "Accept-Encoding", "gzip, br")
	assert.Equal(t, "gzip", zipped.Header().Get("Content-Encoding"))
	assert.Equal(t, "Accept-Encoding", zipped.Header().Get("Vary"))
	unzip, err := gzip.NewReader(zipped.Body)
	require.NoError(t, err)
	want, err := io.ReadAll(unzip)
	require.NoError(t, err)
	plain := get(t, http.MethodGet, "/assets/mermaid.js")
	assert.Empty(t, plain.Header().Get("Content-Encoding"))
	assert.Equal(t, want, plain.Body.Bytes())
	assert.Greater(t, len(want), 1<<20)
}

func TestTheLibraryIsTheOneThatWasTaken(t *testing.T) {
	want, err := os.ReadFile("mermaid.js.gz.sha256")
	require.NoError(t, err)
	body, err := os.ReadFile("static/mermaid.js.gz")
	require.NoError(t, err)
	sum := sha256.Sum256(body)
	assert.Equal(t, strings.Fields(string(want))[0], hex.EncodeToString(sum[:]))
}

// TestScriptsWriteNoMarkup: what the content security policy would let through is not written either.
func TestScriptsWriteNoMarkup(t *testing.T) {
	for _, name := range []string{"console.js", "diagrams.js", "find.js"} {
		body, err := os.ReadFile("static/" + name)
		require.NoError(t, err)
		for _, not := range []string{"innerHTML =", "outerHTML =", "insertAdjacentHTML", "document.write", "eval(", "new Function", "http://", "https://", "localStorage", "document.cookie"} {
			assert.NotContains(t, string(body), not, name)
		}
	}
	for _, name := range []string{"notify.js", "keys.js"} { // which remember switches and two numbers, and nothing that others could not know
		told, err := os.ReadFile("static/" + name)
		require.NoError(t, err)
		for _, not := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "http://", "https://", "fetch(", "document.cookie"} {
			assert.NotContains(t, string(told), not, name)
		}
	}
	style, err := os.ReadFile("static/style.css")
	require.NoError(t, err)
	assert.NotContains(t, string(style), "url(")
	assert.NotContains(t, string(style), "@import")
}
