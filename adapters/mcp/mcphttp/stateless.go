package mcphttp

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/countersign-dev/countersign/adapters/mcp/wire"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serveNewer serves a request of the era without sessions. A client is identified by its credential and its name.
func (e *Endpoint) serveNewer(x *exchange) {
	if x.r.Method != http.MethodPost || x.message.Kind != wire.Request || x.message.ID == nil {
		x.forward(e.newer, x.body)
		return
	}
	c, isCall := x.callOf()
	if !isCall {
		meta := wire.Members(wire.Members(x.message.Params, "_meta")[0], mcp.MetaKeyClientInfo, mcp.MetaKeyClientCapabilities)
		c.info, c.caps = meta[0], meta[1]
	}
	who := e.clients.of(c.info, c.caps)
	s, verdict := e.sessions.Named(x.visitor.Credential, who.name, func() SessionInfo {
		return SessionInfo{Principal: x.visitor.Principal.ID, Instance: instance("client", x.visitor.Credential, who.name), Client: who.client}
	})
	if verdict != SessionEntered {
		x.refuse(verdict)
		return
	}
	defer s.Leave()
	x.request.Caller.Session = s.Instance
	if who.client != "" {
		x.request.Caller.Client = who.client
	}
	if !isCall || !who.sound || !x.direct(&c, e.opts.Server) || !e.headersAgree(x, &c) {
		x.forward(e.newer, x.body)
		return
	}
	ctx, cancel := within(x.r.Context(), e.life) // a client that disconnects has cancelled its call
	defer cancel()
	c.Sessionless = true
	result, done, err := e.opts.Server.CallDirect(ctx, &c.Direct)
	if !done {
		x.forward(e.newer, x.body)
		return
	}
	x.answer(result, err)
}

// headersAgree reports whether the request's headers match its body, as this era requires.
func (e *Endpoint) headersAgree(x *exchange, c *call) bool {
	version, _ := wire.Text(c.version)
	_, plain := key(x.message.ID)
	h := x.r.Header
	return plain && version == x.version && slices.Contains(e.newest, version) &&
		h.Get(headerMethod) == methodCall && h.Get(headerName) == c.Tool
}

// maxClients is the maximum number of cached client descriptions.
const maxClients = 256

// clients parses and caches what clients state about themselves in every request. It is safe for concurrent use.
type clients struct {
	mu    sync.RWMutex
	known map[string]client
}

// client is the description of a client.
type client struct {
	name   string
	client string // name and version
	sound  bool   // the SDK would accept it
}

func newClients() *clients { return &clients{known: map[string]client{}} }

// of returns the client described by two entries of _meta, either of which may be nil.
func (c *clients) of(info, caps json.RawMessage) client {
	words := string(info) + "\x00" + string(caps)
	c.mu.RLock()
	who, known := c.known[words]
	c.mu.RUnlock()
	if known {
		return who
	}
	who = read(info, caps)
	if len(words) > maxWords {
		return who
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= maxClients {
		clear(c.known)
	}
	c.known[words] = who
	return who
}

// maxWords is the maximum size of a cached client description, in bytes.
const maxWords = 4 << 10

// maxName is the maximum length of a client name, in bytes.
const maxName = 200

func shortened(name string) string {
	if len(name) > maxName {
		return strings.ToValidUTF8(name[:maxName], "")
	}
	return name
}

func read(info, caps json.RawMessage) client {
	var self mcp.Implementation
	var can mcp.ClientCapabilities
	soundInfo := info == nil || json.Unmarshal(info, &self) == nil && info[0] == '{'
	soundCaps := len(caps) > 0 && caps[0] == '{' && json.Unmarshal(caps, &can) == nil
	return client{
		name: shortened(self.Name), client: shortened(strings.TrimSpace(self.Name + " " + self.Version)), sound: soundInfo && soundCaps,
	}
}
