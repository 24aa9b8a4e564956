package mcphttp

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/countersign-dev/countersign/adapters/mcp/wire"
)

// Headers of every document.
var (
	jsonType = []string{"application/json"}
	noStore  = []string{"no-store"}
)

// WriteJSON writes a JSON document.
func WriteJSON(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h["Content-Type"], h["Cache-Control"], h["Content-Length"] = jsonType, noStore, []string{strconv.Itoa(len(body))}
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may be gone
}

// WriteError writes a JSON-RPC error. If the request is unknown, id is nil (MCP, streamable HTTP: input that is not accepted).
func WriteError(w http.ResponseWriter, status int, id json.RawMessage, code int64, message string) {
	body := wire.Failure(id, code, message, nil)
	if id == nil {
		body = bytes.Replace(body, []byte(`"id":null,`), nil, 1)
	}
	WriteJSON(w, status, body)
}

// writer is a ResponseWriter that converts plain-text errors to JSON-RPC errors. It serves one request; Finish ends it.
type writer struct {
	http.ResponseWriter
	id    json.RawMessage // of the request, or nil
	plain int             // status of an error whose text follows
}

// NewWriter returns a writer to w for the request with that ID, which may be nil.
func NewWriter(w http.ResponseWriter, id json.RawMessage) *writer {
	return &writer{ResponseWriter: w, id: id}
}

// Unwrap gives http.ResponseController access to the underlying writer.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader holds back the status of a plain-text error. The status of an unknown session stays plain: clients read only the status, and some take
// a JSON-RPC error for the answer to their request and never open another session.
func (w *writer) WriteHeader(status int) {
	if status >= http.StatusBadRequest && status != http.StatusNotFound && strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		w.plain = status
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

// Conversion of a plain-text error: it rejects the whole request, except for an unknown method, which the SDK rejects with a text that starts like
// this. That one answers the request and leaves the session unchanged (JSON-RPC 2.0, error object).
const (
	codeInvalid   = wire.CodeInvalidRequest
	codeUnhandled = jsonrpc.CodeMethodNotFound
	unhandled     = "JSON RPC not handled: "
)

// Write writes the answer, or converts the text of an error.
func (w *writer) Write(text []byte) (int, error) {
	if w.plain == 0 {
		return w.ResponseWriter.Write(text)
	}
	status, code, said := w.plain, int64(codeInvalid), strings.TrimSpace(string(text))
	w.plain = 0
	if method, ok := strings.CutPrefix(said, unhandled); ok && w.id != nil {
		status, code, said = http.StatusOK, codeUnhandled, "method not found: "+method
	}
	WriteError(w.ResponseWriter, status, w.id, code, said)
	return len(text), nil
}

// Finish sends the status of an error without a text.
func (w *writer) Finish() {
	if w.plain != 0 {
		w.ResponseWriter.WriteHeader(w.plain)
	}
}
