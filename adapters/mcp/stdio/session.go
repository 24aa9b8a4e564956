package stdio

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/mcp/wire"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// FirstModern is the first protocol revision without a handshake: every request identifies its sender.
const FirstModern = "2026-07-28"

// The other protocol revisions that matter here.
const (
	newestLegacy  = "2025-11-25"
	defaultLegacy = "2025-06-18" // for a client that names none (context-pack contract §6.3)
)

// LegacyVersion returns the revision of a handshake: the client's if it has a handshake, else the newest of those.
func LegacyVersion(asked string) string {
	if asked < FirstModern && slices.Contains(mcp.SupportedProtocolVersions(), asked) {
		return asked
	}
	return newestLegacy
}

// said returns the revision in the answer to a handshake: the one the client sent (context-pack contract §6.3), except for a revision later than any
// with a handshake, which must not look supported.
func said(asked string) string {
	if _, err := time.Parse(time.DateOnly, asked); err == nil && asked > newestLegacy {
		return newestLegacy
	}
	return asked
}

// initialize serves the handshake: the first through the SDK, later ones without it.
func (c *conn) initialize(m wire.Message, to reply) {
	if isModern(m.Params) {
		c.start(m, to, Call{}) // the SDK reports that this revision has no handshake
		return
	}
	c.heard()
	version, settled, params := handshake(m.Params)
	switch {
	case c.begun:
		c.answerRequest(m, to, c.opts.Initialize(version))
	case version != settled:
		c.begun = true
		c.start(wire.Message{Method: methodInitialize, Params: params}, reply{}, Call{})
		c.answerRequest(m, to, c.opts.Initialize(version))
	default:
		c.begun = true
		m.Params = params
		c.start(m, to, Call{})
	}
}

// heard stops the watchdog.
func (c *conn) heard() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watchdog != nil {
		c.watchdog.Stop()
	}
}

// ensureBegun makes the SDK serve a request that precedes any handshake, by performing one for the client (context-pack contract §6.3: tools/call
// works before initialize).
func (c *conn) ensureBegun(m wire.Message) {
	if c.begun || m.Method == methodPing || m.Method == methodDiscover {
		if m.Method == methodDiscover && isModern(m.Params) {
			c.begin(m)
		}
		return
	}
	if isModern(m.Params) {
		c.begin(m)
		return
	}
	c.begun = true
	_, _, params := handshake(nil)
	c.start(wire.Message{Method: methodInitialize, Params: params}, reply{}, Call{})
}

// begin records that a request opened a session without a handshake.
func (c *conn) begin(m wire.Message) {
	meta := wire.Members(wire.Members(m.Params, "_meta")[0], mcp.MetaKeyProtocolVersion, mcp.MetaKeyClientCapabilities)
	version, _ := wire.Text(meta[0])
	if slices.Contains(mcp.SupportedProtocolVersions(), version) && len(meta[1]) > 0 && meta[1][0] == '{' {
		c.begun = true
		c.heard()
	}
}

// isModern reports whether a request names a revision without handshake.
func isModern(params json.RawMessage) bool {
	if !bytes.Contains(params, []byte(mcp.MetaKeyProtocolVersion)) {
		return false
	}
	version, _ := wire.Text(wire.Members(wire.Members(params, "_meta")[0], mcp.MetaKeyProtocolVersion)[0])
	return version >= FirstModern
}

// handshake converts any params to params that the SDK accepts: everything in them is optional, and the revision is one that the SDK answers as
// requested. (Its capability checks use the requested revision, so it is determined first.) version is what the client is told.
func handshake(params json.RawMessage) (version, settled string, clean json.RawMessage) {
	part := wire.Members(params, "protocolVersion", "capabilities", "clientInfo")
	version, settled = defaultLegacy, defaultLegacy
	if asked, ok := wire.Text(part[0]); ok && strings.TrimSpace(asked) != "" {
		version, settled = said(asked), LegacyVersion(asked)
	}
	capabilities, info := json.RawMessage("{}"), json.RawMessage(`{"name":"unknown","version":""}`)
	if json.Unmarshal(part[1], new(mcp.ClientCapabilities)) == nil && len(part[1]) > 0 && part[1][0] == '{' {
		capabilities = part[1]
	}
	if json.Unmarshal(part[2], new(mcp.Implementation)) == nil && len(part[2]) > 0 && part[2][0] == '{' {
		info = part[2]
	}
	return version, settled, slices.Concat(json.RawMessage(`{"protocolVersion":"`+settled+`","capabilities":`), capabilities,
		json.RawMessage(`,"clientInfo":`), info, json.RawMessage("}"))
}
