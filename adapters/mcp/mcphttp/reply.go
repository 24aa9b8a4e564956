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

// What is said of every document.
var (
	jsonType = []string{"application/json"}
	noStore  = []string{"no-store"}
)

// WriteJSON answers with a document.
func WriteJSON(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h["Content-Type"], h["Cache-Control"], h["Content-Length"] = jsonType, noStore, []string{strconv.Itoa(len(body))}
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client that asked may be gone
}

// WriteError answers with a JSON-RPC error. Where it is not known what is answered, it has no id (MCP, streamable HTTP: input that is not accepted).
func WriteError(w http.ResponseWriter, status int, id json.RawMessage, code int64, message string) {
	body := wire.Failure(id, code, message, nil)
	if id == nil {
		body = bytes.Replace(body, []byte(`"id":null,`), nil, 1)
	}
	WriteJSON(w, status, body)
}

// writer is a ResponseWriter that says plain errors as JSON-RPC errors. It is for one request; Finish ends it.
type writer struct {
	http.ResponseWriter
	id    json.RawMessage // of the request, or nil
	plain int             // status of an error whose text is to come
}

// NewWriter writes to w what answers the request of that id, which may be nil.
func NewWriter(w http.ResponseWriter, id json.RawMessage) *writer {
	return &writer{ResponseWriter: w, id: id}
}

// Unwrap lets a ResponseController reach what can flush.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader keeps back the status of an error that is plain text. That of a session which is not there stays plain: clients look at no more than
// the status, and some take a JSON-RPC error for the answer to their request and never open another session.
func (w *writer) WriteHeader(status int) {
	if status >= http.StatusBadRequest && status != http.StatusNotFound && strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		w.plain = status
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

// What an error in plain text comes to: it refuses the whole request, but for a method that there is not, which the SDK refuses with a text that begins
// so. That is the answer to the request, and leaves its session as it is (JSON-RPC 2.0, error object).
const (
	codeInvalid   = wire.CodeInvalidRequest
	codeUnhandled = jsonrpc.CodeMethodNotFound
	unhandled     = "JSON RPC not handled: "
)

// Write writes the answer, or the text of an error in its form.
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

// Finish sends the status of an error that had no text.
func (w *writer) Finish() {
	if w.plain != 0 {
		w.ResponseWriter.WriteHeader(w.plain)
	}
}
