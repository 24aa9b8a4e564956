package stdio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/adapters/mcp/wire"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// notAnswered is the answer used for an unanswered request.
const notAnswered = `{"action":"cancel"}`

// Write sends a message of the SDK. It fails only if the output does.
func (c *conn) Write(_ context.Context, m jsonrpc.Message) error {
	switch m := m.(type) {
	case *jsonrpc.Response:
		k, ok := c.take(m.ID)
		if !ok {
			return nil // it was answered at the end of the session
		}
		c.settle(k, encode(k.id, m))
	case *jsonrpc.Request:
		c.ask(m)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken {
		return errOutput
	}
	return nil
}

var errOutput = errors.New("standard output cannot be written")

// encode returns the answer with the client's own ID.
func encode(id json.RawMessage, m *jsonrpc.Response) []byte {
	if m.Error == nil {
		return wire.Result(id, m.Result)
	}
	code, data := int64(0), json.RawMessage(nil)
	var known *jsonrpc.Error
	if errors.As(m.Error, &known) {
		code, data = known.Code, known.Data
	}
	if code == 0 { // the SDK's errors without a code
		code = jsonrpc.CodeInternalError
	}
	text := m.Error.Error()
	if direct, ok := m.Error.(*jsonrpc.Error); ok { //nolint:errorlint // a wrapping error's text is the fuller one
		text = direct.Message
	}
	return wire.Failure(id, code, text, data)
}

// ask sends a request or notification of ours. A request is remembered until it is answered; after a time limit it is answered on the client's
// behalf.
func (c *conn) ask(m *jsonrpc.Request) {
	if m.Method == methodCancelled { // the SDK no longer waits for that answer
		if id, ok := keptID(wire.Members(m.Params, "requestId")[0]); ok {
			c.answered(id)
		}
	}
	body, err := jsonrpc.EncodeMessage(m)
	if err == nil && len(body) > wire.MaxMessage {
		err = fmt.Errorf("it is larger than %d bytes", wire.MaxMessage)
	}
	if err != nil {
		c.opts.Log.Error("a message to the client cannot be sent", "method", m.Method, "error", err)
	}
	if m.IsCall() {
		c.mu.Lock()
		c.questions[m.ID] = time.AfterFunc(c.opts.Answer, func() { c.answerUnasked(m.ID) })
		hopeless := err != nil || c.ended
		c.changed.Broadcast()
		c.mu.Unlock()
		if hopeless {
			// Not on this goroutine: the SDK accepts the answer only after this has returned.
			go c.answerUnasked(m.ID)
			return
		}
	}
	if err == nil {
		c.send(body)
	}
}

// answered removes a request and reports whether it was open.
func (c *conn) answered(id jsonrpc.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	timer, ok := c.questions[id]
	if ok {
		timer.Stop()
		delete(c.questions, id)
	}
	return ok
}

// answerUnasked answers a request on the client's behalf, without an approval.
func (c *conn) answerUnasked(id jsonrpc.ID) {
	if c.answered(id) {
		c.deliver(&jsonrpc.Response{ID: id, Result: json.RawMessage(notAnswered)})
	}
}

// giveUpQuestions answers all requests on the client's behalf.
func (c *conn) giveUpQuestions() {
	c.mu.Lock()
	open := slices.Collect(maps.Keys(c.questions))
	c.mu.Unlock()
	for _, id := range open {
		c.answerUnasked(id)
	}
}

// decideReplies sets the framing of answers to that of the first complete message.
func (c *conn) decideReplies(m wire.Message) {
	if !m.Whole {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.replies == undecided {
		c.replies = modeOf(m.Framed)
	}
}

func modeOf(framed bool) replyMode {
	if framed {
		return asFrames
	}
	return asLines
}

// answer sends an answer, or puts it into its place in the answer to an array. A nil body is no answer.
func (c *conn) answer(to reply, body []byte) { c.answerAs(to, body, false) }

// answerAs is answer, with the framing for a session without a decided one.
func (c *conn) answerAs(to reply, body []byte, framed bool) {
	if to.batch != nil {
		c.mu.Lock()
		to.batch.answers[to.place] = body
		to.batch.open--
		open := to.batch.open
		c.mu.Unlock()
		if open > 0 {
			return
		}
		body = to.batch.body()
	}
	if body != nil {
		c.sendAs(body, framed)
	}
}

func (c *conn) send(body []byte) { c.sendAs(body, false) }

func (c *conn) sendAs(body []byte, framed bool) {
	if len(body) > wire.MaxMessage {
		body = tooLarge(wire.Members(body, "id")[0])
	}
	c.mu.Lock()
	mode := c.replies
	c.mu.Unlock()
	if mode == undecided {
		mode = modeOf(framed)
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	c.frame = wire.Frame(c.frame[:0], body, mode == asFrames)
	_, err := c.opts.Out.Write(c.frame)
	if cap(c.frame) > 64<<10 {
		c.frame = nil
	}
	if err != nil {
		c.breakOff(err)
	}
}

// breakOff ends a session whose client no longer reads.
func (c *conn) breakOff(err error) {
	c.mu.Lock()
	first := !c.broken
	c.broken = true
	c.changed.Broadcast()
	c.mu.Unlock()
	if first {
		c.opts.Log.Error("standard output cannot be written; the session ends", "error", err)
		c.end()
	}
}

func tooLarge(id json.RawMessage) []byte {
	return wire.Failure(id, codeServer, fmt.Sprintf("the response is larger than %d bytes; request less", wire.MaxMessage), nil)
}
