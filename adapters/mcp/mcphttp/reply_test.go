package mcphttp_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/adapters/mcp/mcphttp"
)

func TestFailure(t *testing.T) {
	for id, want := range map[string]string{
		"":    `{"jsonrpc":"2.0","error":{"code":-32000,"message":"no \"way\""}}`,
		"7":   `{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"no \"way\""}}`,
		`"a"`: `{"jsonrpc":"2.0","id":"a","error":{"code":-32000,"message":"no \"way\""}}`,
	} {
		w := httptest.NewRecorder()
		raw := []byte(id)
		if id == "" {
			raw = nil
		}
		mcphttp.WriteError(w, 503, raw, -32000, `no "way"`)
		assert.Equal(t, 503, w.Code)
		assert.Equal(t, want, w.Body.String())
		assert.Equal(t, "application/json", w.Header().Get("Content-Type"))
		assert.Equal(t, "no-store", w.Header().Get("Cache-Control"))
	}
}

// Plain errors become JSON-RPC errors, everything else stays.
func TestWriter(t *testing.T) {
	for name, c := range map[string]struct {
		serve  http.HandlerFunc
		status int
		body   string
	}{
		"plain": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "bad thing", http.StatusTeapot) }, http.StatusTeapot, `{"jsonrpc":"2.0","id":3,"error":{"code":-32600,"message":"bad thing"}}`},
		"no method": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `JSON RPC not handled: "a/b" unsupported`, 400)
		}, 200,
			`{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"method not found: \"a/b\" unsupported"}}`},
		"no there": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "session not found", 404) }, 404, "session not found\n"},
		"silent": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.WriteHeader(400)
		}, 400, ""},
		"json": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(400)
			_, _ = w.Write([]byte(`{"own":1}`))
		}, 400, `{"own":1}`},
		"stream": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte("data: x\n\n"))
			assert.NoError(t, http.NewResponseController(w).Flush())
		}, 200, "data: x\n\n"},
		"nothing": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(202) }, 202, ""},
	} {
		rec := httptest.NewRecorder()
		w := mcphttp.NewWriter(rec, []byte("3"))
		c.serve(w, nil)
		w.Finish()
		assert.Equal(t, c.status, rec.Code, name)
		assert.Equal(t, c.body, rec.Body.String(), name)
		assert.Equal(t, name == "stream", rec.Flushed, name)
	}
}
