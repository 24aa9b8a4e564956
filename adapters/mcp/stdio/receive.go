package stdio

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/adapters/mcp/wire"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// The methods that this transport handles.
const (
	methodInitialize  = "initialize"
	methodInitialized = "notifications/initialized"
	methodCancelled   = "notifications/cancelled"
	methodCall        = "tools/call"
	methodListen      = "subscriptions/listen"
	methodPing        = "ping"
	methodDiscover    = "server/discover"
	methodShutdown    = "shutdown"
	methodExit        = "exit"
)

// MethodDirect is the method under which the server gets tools/call of the older era, without params: its Call contains everything. No client can use
// it, because its requests carry no Call. adapters/mcp/mcpserver/directcall.go documents what it saves.
const MethodDirect = "countersign/call"

// codeServer is the error code for requests that the state of the session forbids (context-pack contract §4.3).
const codeServer = -32000

// receive processes one message.
func (c *conn) receive(m wire.Message) {
	if m.Kind != wire.Batch {
		c.item(m, reply{}, m.Framed)
		return
	}
	b := newBatch(m.Items)
	for i, item := range m.Items {
		if c.left { // requests after exit are not served
			c.answer(reply{batch: b, place: i}, nil)
			continue
		}
		c.item(item, reply{batch: b, place: i}, m.Framed)
	}
}

func (c *conn) item(m wire.Message, to reply, framed bool) {
	switch m.Kind {
	case wire.Request:
		c.request(m, to)
	case wire.Response:
		c.answer(to, nil)
		c.response(m)
	default:
		c.opts.Log.Debug("a message cannot be handled", "problem", m.Problem)
		if m.Silent {
			return
		}
		c.answerAs(to, wire.Failure(m.ID, int64(m.Code), m.Problem, nil), framed)
	}
}

func (c *conn) request(m wire.Message, to reply) {
	switch {
	case m.Method == methodShutdown:
		c.shutDown = true
		c.giveUpQuestions() // or their calls would delay the answer
		c.leave()
		c.answerLast(m, to)
		return
	case m.Method == methodExit:
		c.left = true
		c.answerLast(m, to)
		return
	case c.shutDown:
		c.refuse(m, to, codeServer, "the client has shut down this session; only shutdown and exit are accepted")
		return
	}
	if len(m.Params) > 0 && m.Params[0] != '{' {
		m.Params = nil // no method uses them
	}
	switch m.Method {
	case methodInitialize:
		c.initialize(m, to)
	case methodInitialized, "initialized":
		c.initialized(m, to)
	case methodCall:
		c.toolCall(m, to)
	case methodCancelled:
		c.cancelled(m, to)
	default:
		c.forward(m, to, Call{Turn: c.turn(m.Method, "", nil)})
	}
}

// turn returns the queue position of a request, if it has one.
func (c *conn) turn(method, tool string, args json.RawMessage) Turn {
	if c.opts.Turn == nil || strings.HasPrefix(method, "notifications/") {
		return nil
	}
	return c.opts.Turn(method, tool, args)
}

// initialized handles the notification; sent as a request, it is answered with null (context-pack contract §6.3).
func (c *conn) initialized(m wire.Message, to reply) {
	c.answerRequest(m, to, nil)
	if c.begun {
		c.deliver(&jsonrpc.Request{Method: methodInitialized})
	}
}

// toolCall checks what the SDK would handle wrongly, and takes the call's queue position.
func (c *conn) toolCall(m wire.Message, to reply) {
	part := wire.Members(m.Params, "name", "arguments", "_meta")
	name, _ := wire.Text(part[0])
	if name == "" {
		c.refuse(m, to, jsonrpc.CodeInvalidParams, `unknown tool "": params.name must be the name of a tool`)
		return
	}
	if part[1] != nil && part[1][0] != '{' {
		c.refuse(m, to, jsonrpc.CodeInvalidParams, "params.arguments of "+strconv.Quote(name)+" must be an object")
		return
	}
	meta := wire.Members(part[2], "progressToken", c.opts.Meta)
	call := Call{ID: m.ID, Tool: name, Arguments: part[1], ProgressToken: meta[0], Meta: meta[1], Ending: c.gone}
	call.Turn = c.turn(m.Method, name, part[1])
	if !isModern(m.Params) {
		m.Method, m.Params = MethodDirect, nil
	}
	c.forward(m, to, call)
}

// cancelled translates the ID of the call to cancel, and notes whether the client only timed out.
func (c *conn) cancelled(m wire.Message, to reply) {
	c.answerRequest(m, to, nil)
	part := wire.Members(m.Params, "requestId", "reason")
	reason, _ := wire.Text(part[1])
	for _, id := range c.sameID(part[0]) {
		if timeOut.MatchString(reason) {
			c.tooLate(id)
		}
		c.deliver(cancellation(id))
	}
}

// timeOut matches how clients report that they cancel a call because of a time limit: the official SDKs, and what is built on them, use error code
// -32001.
var timeOut = regexp.MustCompile(`(?i)-32001|\btime[d-]?[ -]?out\b`)

// forward passes a request to the SDK. A request without an ID is run too, and its answer is dropped (context-pack contract §6.3).
func (c *conn) forward(m wire.Message, to reply, extra Call) {
	if isNotification(m) {
		c.answer(to, nil)
		c.deliver(&jsonrpc.Request{Method: m.Method, Params: m.Params})
		return
	}
	c.ensureBegun(m)
	c.start(m, to, extra)
}

func isNotification(m wire.Message) bool {
	return m.ID == nil && strings.HasPrefix(m.Method, "notifications/")
}

func (c *conn) start(m wire.Message, to reply, extra Call) {
	k := &call{id: m.ID, method: m.Method, to: to, turn: extra.Turn}
	if extra.Tool != "" {
		k.late = make(chan struct{})
		extra.Late = k.late
	}
	id, ok := c.open(k)
	if !ok {
		c.settle(k, wire.Failure(m.ID, codeServer, "the session is ending; this call was not started", nil))
		return
	}
	req := &jsonrpc.Request{ID: id, Method: m.Method, Params: m.Params}
	if extra.Tool != "" || extra.Turn != nil {
		req.Extra = extra.extra()
	}
	c.deliver(req)
}

// response passes on the client's answer to one of our requests.
func (c *conn) response(m wire.Message) {
	id, ok := keptID(m.ID)
	if !ok || !c.answered(id) {
		c.opts.Log.Debug("a response to an unknown request", "id", string(m.ID))
		return
	}
	r := &jsonrpc.Response{ID: id, Result: m.Result}
	if m.Error != nil && string(m.Error) != "null" {
		// A client that cannot show the form has not approved.
		r.Result = json.RawMessage(notAnswered)
	}
	c.deliver(r)
}

// answerRequest answers a request with a result, and a notification not at all.
func (c *conn) answerRequest(m wire.Message, to reply, result json.RawMessage) {
	if m.ID == nil {
		c.answer(to, nil)
		return
	}
	c.answer(to, wire.Result(m.ID, result))
}

// refuse answers a request with an error, and a notification not at all.
func (c *conn) refuse(m wire.Message, to reply, code int64, problem string) {
	if m.ID == nil {
		c.answer(to, nil)
		return
	}
	c.answer(to, wire.Failure(m.ID, code, problem, nil))
}
