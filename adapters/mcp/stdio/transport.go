// Package stdio is the MCP transport on standard input and output: a go-sdk Transport that no input can crash and that answers every request.
//
// The SDK serves every request; this package decides what the SDK gets to see. It reads both framings (package wire), gives requests IDs that the SDK
// preserves, and answers by itself what the SDK has no answer for: garbage, arrays, shutdown, repeated handshakes, the end of input. It knows
// JSON-RPC and the life of a session, and nothing of tools except the order of their calls.
//
// Its API may change at any time.
package stdio

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/adapters/mcp/wire"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Defaults and limits of a session.
const (
	// DefaultDrain is how long accepted calls may continue after the end of input.
	DefaultDrain = 5 * time.Second
	// defaultAnswer is how long the client may take to answer a request, which is the maximum lifetime of an approval request in a form.
	defaultAnswer = 10 * time.Minute
	// maxPending is the number of unanswered calls at which input is no longer read.
	maxPending = 1024
)

// Turn is a call's position in its queue.
type Turn interface {
	Wait(ctx context.Context) error // returns when it is this call's turn
	Release()                       // lets the next one go; more than once is harmless
}

// Options is the two ends of a session and its limits. In and Out are required.
type Options struct {
	In  io.Reader // closed at the end of the session if it can be
	Out io.Writer
	Log *slog.Logger // nil discards

	// InitializeTimeout ends the session if neither initialize nor a request of revision 2026-07-28 has arrived by then (context-pack contract §6.4).
	// Zero is no limit.
	InitializeTimeout time.Duration
	Drain             time.Duration // zero means DefaultDrain
	Answer            time.Duration // zero means defaultAnswer

	// Meta names a member of _meta that a tools/call passes on; empty is none.
	Meta string
	// Turn is called once for each request, in the order of arrival, with the tool's name and arguments for a tools/call. It may return nil for a
	// request without a queue.
	Turn func(method, tool string, args json.RawMessage) Turn
	// Initialize is the result of a handshake that the SDK will not repeat. Required.
	Initialize func(version string) json.RawMessage
}

// transport serves one session. It is made by New and used for one Server.Connect.
type transport struct{ conn *conn }

// New makes the transport of one session. Nothing is read before Connect.
func New(o Options) *transport {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Drain == 0 {
		o.Drain = DefaultDrain
	}
	if o.Answer == 0 {
		o.Answer = defaultAnswer
	}
	c := &conn{
		opts: o, in: wire.NewReader(o.In), inbox: make(chan jsonrpc.Message), last: make(chan struct{}), gone: make(chan struct{}),
		done: make(chan struct{}), calls: map[jsonrpc.ID]*call{}, questions: map[jsonrpc.ID]*time.Timer{},
	}
	c.changed.L = &c.mu
	return &transport{conn: c}
}

// Connect starts reading.
func (t *transport) Connect(context.Context) (mcp.Connection, error) {
	c := t.conn
	if c.opts.InitializeTimeout > 0 {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.watchdog = time.AfterFunc(c.opts.InitializeTimeout, func() {
			c.opts.Log.Warn("no initialize request arrived in time; the session ends", "timeout", c.opts.InitializeTimeout)
			c.end()
		})
	}
	go c.readLoop()
	return c, nil
}

// End stops accepting requests. Accepted ones are still answered, within Options.Drain.
func (t *transport) End() { t.conn.end() }

// Ending is closed when the input has ended or End was called.
func (t *transport) Ending() <-chan struct{} { return t.conn.last }

// conn is the mcp.Connection of a session.
type conn struct {
	opts    Options
	in      *wire.Reader
	inbox   chan jsonrpc.Message // what the SDK reads
	last    chan struct{}        // closed when no more is accepted
	gone    chan struct{}        // closed when the client asks for nothing more
	done    chan struct{}        // closed when the SDK has read everything
	leaving sync.Once
	ending  sync.Once
	closing sync.Once

	// Used only by the reading goroutine.
	shutDown bool // the client has sent shutdown
	left     bool // the client has sent exit
	begun    bool // the SDK's session is initialised or about to be

	mu        sync.Mutex
	changed   sync.Cond // calls, questions, ended or broken changed
	watchdog  *time.Timer
	calls     map[jsonrpc.ID]*call
	questions map[jsonrpc.ID]*time.Timer // our requests to the client
	lastID    int64
	lasts     []lastAnswer
	ended     bool // no more calls are accepted
	expired   bool // the time for the last answers has passed
	broken    bool // Out cannot be written
	replies   replyMode

	lasting sync.Mutex // held while last answers are taken and sent
	writing sync.Mutex
	frame   []byte // reused
}

// replyMode is the framing of answers (context-pack contract §6.1): that of the first message read.
type replyMode uint8

const (
	undecided replyMode = iota
	asLines
	asFrames
)

// SessionID is empty: the process is the session.
func (c *conn) SessionID() string { return "" }

// Read returns the next message for the SDK, and io.EOF once everything accepted is answered. At the end of input the SDK drops all pending answers,
// so the end is withheld until then.
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-c.inbox:
		return m, nil
	case <-c.done:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Close ends the session at once.
func (c *conn) Close() error {
	c.leave()
	c.ending.Do(func() { close(c.last) })
	c.finish()
	return nil
}

func (c *conn) readLoop() {
	defer c.end()
	for !c.left {
		m, err := c.in.Next()
		if err != nil {
			if !errors.Is(err, io.EOF) && !c.isOver() {
				c.opts.Log.Error("standard input cannot be read; the session ends", "error", err)
			}
			return
		}
		c.decideReplies(m)
		c.receive(m)
	}
}

func (c *conn) isOver() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// deliver passes a message to the SDK, and reports whether the session was still open.
func (c *conn) deliver(m jsonrpc.Message) bool {
	select {
	case c.inbox <- m:
		return true
	case <-c.done:
		return false
	}
}

// leave tells the calls in progress that no input follows.
func (c *conn) leave() { c.leaving.Do(func() { close(c.gone) }) }

// end stops accepting, once, and finishes the session when every answer is sent.
func (c *conn) end() {
	c.leave()
	c.ending.Do(func() {
		close(c.last)
		go c.drain()
	})
}

// drain waits for the last answers and finishes the session.
func (c *conn) drain() {
	c.mu.Lock()
	c.ended = true
	var listens []jsonrpc.ID
	for id, call := range c.calls {
		if call.method == methodListen {
			listens = append(listens, id)
		}
	}
	c.changed.Broadcast()
	c.mu.Unlock()

	// The client can no longer answer, and a subscription ends with the session: both would wait forever.
	c.giveUpQuestions()
	for _, id := range listens {
		c.deliver(cancellation(id))
	}

	timer := time.AfterFunc(c.opts.Drain, func() {
		c.mu.Lock()
		c.expired = true
		c.changed.Broadcast()
		c.mu.Unlock()
	})
	defer timer.Stop()
	c.mu.Lock()
	for len(c.calls) > 0 && !c.expired && !c.broken && !c.isOver() {
		c.changed.Wait()
	}
	c.mu.Unlock()
	c.finish()
}

// finish answers the rest, lets the SDK see the end of input, and closes the input.
func (c *conn) finish() {
	c.closing.Do(func() {
		c.mu.Lock()
		c.ended = true
		var left []*call
		for _, k := range c.calls {
			if !k.taken {
				k.taken = true
				left = append(left, k)
			}
		}
		for _, timer := range c.questions {
			timer.Stop()
		}
		c.mu.Unlock()
		for _, call := range left {
			c.settle(call, wire.Failure(call.id, codeServer, "the session ended before this call was finished", nil))
		}
		c.answerLasts(true)
		c.heard()
		close(c.done)
		c.mu.Lock()
		c.changed.Broadcast()
		c.mu.Unlock()
		if in, ok := c.opts.In.(io.Closer); ok {
			if err := in.Close(); err != nil {
				c.opts.Log.Debug("closing the input", "error", err)
			}
		}
	})
}
