package stdio

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"

	"github.com/countersign-dev/countersign/adapters/mcp/wire"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// call is a request given to the SDK, until its answer is written.
type call struct {
	id     json.RawMessage // the client's; nil for one without an answer
	ours   jsonrpc.ID      // the SDK's, under which it is open
	taken  bool            // the SDK has answered; the answer is being written
	method string
	to     reply
	turn   Turn
	number int64         // in order of arrival
	late   chan struct{} // closed when the client cancels it because it took too long
}

// reply is the destination of an answer: the client, or its place in the answer to an array.
type reply struct {
	batch *batch
	place int
}

// batch collects the answers to the elements of an array (context-pack contract §6.2 allows this extension). A notification has no answer.
type batch struct {
	ids     []json.RawMessage
	answers [][]byte
	open    int // elements not settled
}

func newBatch(items []wire.Message) *batch {
	b := &batch{ids: make([]json.RawMessage, len(items)), answers: make([][]byte, len(items)), open: len(items)}
	for i, m := range items {
		b.ids[i] = m.ID
	}
	return b
}

// body returns the answer to the whole array, or nil if no element has one. If the answers exceed one message, they are replaced, the largest first.
func (b *batch) body() []byte {
	for {
		var answers [][]byte
		largest, size := -1, 1
		for i, a := range b.answers {
			if a == nil {
				continue
			}
			answers = append(answers, a)
			size += len(a) + 1
			if largest < 0 || len(a) > len(b.answers[largest]) {
				largest = i
			}
		}
		if len(answers) == 0 {
			return nil
		}
		if size <= wire.MaxMessage {
			return wire.Array(answers)
		}
		refusal := tooLarge(b.ids[largest])
		if len(refusal) >= len(b.answers[largest]) {
			return wire.Failure(nil, codeServer, "the responses are too large together; send fewer requests in one array", nil)
		}
		b.answers[largest] = refusal
	}
}

// Call is the part of a request that a tools/call handler cannot get from the SDK.
type Call struct {
	ID            json.RawMessage // of the request, exactly as it was written; nil for a notification
	Tool          string
	Arguments     json.RawMessage // an object, or nil
	ProgressToken json.RawMessage // exactly as it was written, or nil
	Meta          json.RawMessage // the member of _meta that Options.Meta names, or nil
	Turn          Turn            // nil if the tool has no queue
	Ending        <-chan struct{} // closed when the client sends no more; nil: never
	Late          <-chan struct{} // closed when the client cancels the call because it timed out, before the cancellation is passed on; nil: never
}

const extraKey = "countersign/call"

// CallOf returns this transport's data about a request; it reports false for requests of other transports.
func CallOf(extra *mcp.RequestExtra) (Call, bool) {
	if extra == nil || extra.TokenInfo == nil {
		return Call{}, false
	}
	c, ok := extra.TokenInfo.Extra[extraKey].(Call)
	return c, ok
}

// extra passes a Call to the handler by the only way that the SDK offers.
func (c Call) extra() *mcp.RequestExtra {
	return &mcp.RequestExtra{TokenInfo: &auth.TokenInfo{Extra: map[string]any{extraKey: c}}}
}

// firstID separates our IDs from client IDs that are passed through.
const firstID = 1 << 52

// open registers a call, waiting while too many are unanswered, and assigns it an ID of ours: the SDK rounds large and fractional IDs, rejects other
// types and drops a second request with an ID in use. It reports false if the session accepts no more.
//
// A subscription keeps its own ID if the SDK can represent it, because notifications repeat it.
func (c *conn) open(k *call) (jsonrpc.ID, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.calls)-len(c.questions) >= maxPending && !c.ended {
		c.changed.Wait()
	}
	if c.ended {
		return jsonrpc.ID{}, false
	}
	id, ok := jsonrpc.ID{}, false
	if k.method == methodListen {
		id, ok = keptID(k.id)
	}
	c.lastID++
	k.number = c.lastID
	if _, used := c.calls[id]; !ok || used {
		id, _ = jsonrpc.MakeID(float64(firstID + c.lastID))
	}
	k.ours = id
	c.calls[id] = k
	return id, true
}

// keptID returns a client's ID in the SDK's form if the SDK can represent it.
func keptID(raw json.RawMessage) (jsonrpc.ID, bool) {
	if text, ok := wire.Text(raw); ok {
		id, err := jsonrpc.MakeID(text)
		return id, err == nil
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || n >= firstID || n <= -firstID {
		return jsonrpc.ID{}, false
	}
	id, err := jsonrpc.MakeID(float64(n))
	return id, err == nil
}

// take claims a call for its one answer. The call stays open until settle has written that answer: nothing that follows the answers of all calls,
// such as the end of the session, may precede it.
func (c *conn) take(id jsonrpc.ID) (*call, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, open := c.calls[id]
	if !open || k.taken {
		return nil, false
	}
	k.taken = true
	return k, true
}

// sameID finds the open calls with a client's id.
func (c *conn) sameID(raw json.RawMessage) []jsonrpc.ID {
	c.mu.Lock()
	defer c.mu.Unlock()
	var ids []jsonrpc.ID
	for id, k := range c.calls {
		if k.id != nil && bytes.Equal(k.id, raw) {
			ids = append(ids, id)
		}
	}
	return ids
}

// tooLate records that the client cancels an open call because it timed out.
func (c *conn) tooLate(id jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, open := c.calls[id]
	if !open || k.late == nil {
		return
	}
	select {
	case <-k.late:
	default:
		close(k.late)
	}
}

// settle writes the answer of a call and then starts the next in its queue, so that answers of queued calls keep their order.
func (c *conn) settle(k *call, body []byte) {
	if k.id == nil {
		body = nil
	}
	c.answer(k.to, body)
	if k.turn != nil {
		k.turn.Release()
	}
	c.mu.Lock()
	if c.calls[k.ours] == k {
		delete(c.calls, k.ours)
	}
	c.changed.Broadcast()
	c.mu.Unlock()
	c.answerLasts(false)
}

// lastAnswer is an answer that follows those of all earlier calls: of shutdown and exit, after which a client may stop reading.
type lastAnswer struct {
	before int64 // number of the first call behind it
	to     reply
	body   []byte
}

// answerLast answers m once all earlier calls are answered, or after a time limit.
func (c *conn) answerLast(m wire.Message, to reply) {
	if m.ID == nil {
		c.answer(to, nil)
		return
	}
	c.mu.Lock()
	c.lasts = append(c.lasts, lastAnswer{before: c.lastID + 1, to: to, body: wire.Result(m.ID, nil)})
	c.mu.Unlock()
	time.AfterFunc(c.opts.Drain, func() { c.answerLasts(true) })
	c.answerLasts(false)
}

// answerLasts sends the last answers that are due, or all, in request order.
func (c *conn) answerLasts(all bool) {
	c.lasting.Lock()
	defer c.lasting.Unlock()
	c.mu.Lock()
	var due []lastAnswer
	if len(c.lasts) > 0 {
		oldest := c.lastID + 1
		for _, k := range c.calls {
			if k.method != methodListen {
				oldest = min(oldest, k.number)
			}
		}
		for len(c.lasts) > 0 && (all || c.lasts[0].before <= oldest) {
			due = append(due, c.lasts[0])
			c.lasts = c.lasts[1:]
		}
	}
	c.mu.Unlock()
	for _, l := range due {
		c.answer(l.to, l.body)
	}
}

// cancellation returns the message that tells the SDK to cancel a call.
func cancellation(id jsonrpc.ID) *jsonrpc.Request {
	raw, err := json.Marshal(id.Raw())
	if err != nil { // an id is a string or an integer
		raw = []byte("null")
	}
	return &jsonrpc.Request{Method: methodCancelled, Params: json.RawMessage(`{"requestId":` + string(raw) + `}`)}
}
