package mcphttp

import (
	"context"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"strings"

	"github.com/countersign-dev/countersign/adapters/mcp/mcpserver"
	"github.com/countersign-dev/countersign/adapters/mcp/stdio"
	"github.com/countersign-dev/countersign/adapters/mcp/wire"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The methods that this package handles itself.
const (
	methodCall      = "tools/call"
	methodCancelled = "notifications/cancelled"
)

// call is the parsed params of a tools/call.
type call struct {
	mcpserver.Direct
	version      json.RawMessage // protocol members of _meta
	info, caps   json.RawMessage // of the client
	secondRound  bool            // it brings answers to its own input requests
	wellFormed   bool
	wantsReports bool
}

// callOf parses the request if it is a tools/call.
func (x *exchange) callOf() (call, bool) {
	if x.message.Kind != wire.Request || x.message.Method != methodCall {
		return call{}, false
	}
	part := wire.Members(x.message.Params, "name", "arguments", "_meta", "inputResponses", "requestState")
	meta := wire.Members(part[2], "progressToken", mcpserver.MetaConfirmWait, mcp.MetaKeyProtocolVersion, mcp.MetaKeyClientInfo, mcp.MetaKeyClientCapabilities)
	name, named := wire.Text(part[0])
	x.request.ProgressToken = meta[0]
	return call{
		Direct:  mcpserver.Direct{Request: &x.request, Tool: name, Arguments: part[1], ConfirmWait: meta[1]},
		version: meta[2], info: meta[3], caps: meta[4],
		secondRound: part[3] != nil || part[4] != nil, wantsReports: meta[0] != nil,
		wellFormed: named && (part[1] == nil || part[1][0] == '{') && (part[2] == nil || part[2][0] == '{'),
	}, true
}

// direct reports whether the call can bypass the SDK: it conforms to the protocol in every respect and needs only one answer.
func (x *exchange) direct(c *call, server *mcpserver.Server) bool {
	return c.wellFormed && !c.secondRound && !c.wantsReports && x.message.Stated && server.Direct(c.Tool) && isJSON(x.r.Header) && takesBoth(x.r.Header) &&
		len(x.r.Header[headerLast]) == 0
}

// isJSON reports whether the request declares a JSON body.
func isJSON(h http.Header) bool {
	said := h.Get("Content-Type")
	if said == "application/json" {
		return true
	}
	media, _, err := mime.ParseMediaType(said)
	return err == nil && media == "application/json"
}

// takesBoth reports whether the client accepts both a document and a stream, as the protocol requires it to state.
func takesBoth(h http.Header) bool {
	document, stream := false, false
	for _, line := range h["Accept"] {
		for one := range strings.SplitSeq(line, ",") {
			media, _, _ := strings.Cut(one, ";")
			switch strings.ToLower(strings.TrimSpace(media)) {
			case "application/json", "application/*":
				document = true
			case "text/event-stream", "text/*":
				stream = true
			case "*/*":
				return true
			}
		}
	}
	return document && stream
}

// key returns a request's ID in one form for all notations. It reports false for an ID that the SDK would reject or change.
func key(id json.RawMessage) (string, bool) {
	if text, ok := wire.Text(id); ok {
		return `"` + text, true
	}
	if len(id) == 0 || len(id) > 15 {
		return "", false
	}
	for i, b := range id {
		if (b < '0' || b > '9') && (i > 0 || b != '-') {
			return "", false
		}
	}
	return string(id), true
}

// answer sends the result of a direct call.
func (x *exchange) answer(result json.RawMessage, err error) {
	var failed *jsonrpc.Error
	if err == nil {
		WriteJSON(x.w, http.StatusOK, wire.Result(x.message.ID, result))
		return
	}
	if !errors.As(err, &failed) {
		failed = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
	}
	status := http.StatusOK
	if failed.Code == jsonrpc.CodeInvalidParams && x.version >= stdio.FirstModern {
		status = http.StatusBadRequest
	}
	WriteError(x.w, status, x.message.ID, failed.Code, failed.Message)
}

// within returns a context that ends as soon as either of the two does.
func within(ctx, life context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(life, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}
