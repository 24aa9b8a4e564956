package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// The JSON-RPC error codes that a Reader reports itself.
const (
	CodeParseError     = -32700 // not JSON, or not a request object (context-pack contract §4.3)
	CodeInvalidRequest = -32600 // JSON, but beyond a limit of this server
)

// kind is the kind of a Message.
type kind uint8

// The kinds of messages.
const (
	Bad      kind = iota // not a servable message: Problem and Code say why
	Request              // a request, or a notification when ID is nil
	Response             // the client's answer to a request of ours
	Batch                // a JSON array: Items, in order, none of them a Batch
)

// Message is one message as read. It owns its slices.
type Message struct {
	Kind   kind
	ID     json.RawMessage // exactly as it was written; nil when absent or null
	Method string
	Params json.RawMessage // nil when absent
	Result json.RawMessage // of a Response
	Error  json.RawMessage // of a Response
	Items  []Message       // of a Batch
	Stated bool            // it contains jsonrpc: "2.0"

	Code    int    // of a Bad: the JSON-RPC error code to answer
	Problem string // of a Bad: what is wrong, for the client
	Silent  bool   // of a Bad: not answered, only logged
	Framed  bool   // it came with a Content-Length header
	Whole   bool   // it was read completely; false for garbage, which does not decide the reply mode
}

func bad(code int, format string, args ...any) Message {
	return Message{Code: code, Problem: fmt.Sprintf(format, args...)}
}

// message returns the Message of the complete value text, which s has scanned. It keeps text.
func (s *scanner) message(text []byte) Message {
	if !utf8.Valid(text) {
		// Ids and arguments are echoed in answers, which must be valid UTF-8.
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
		s = newScanner()
		s.scan(text)
	}
	m := s.classify(text)
	m.Whole = true
	return m
}

func (s *scanner) classify(text []byte) Message {
	switch {
	case s.tooFar:
		m := bad(CodeInvalidRequest, "the message nests deeper than %d levels", MaxDepth)
		m.ID = s.recoveredID()
		return m
	case s.array:
		return s.batch(text)
	case s.idLong:
		return bad(CodeInvalidRequest, "the id is longer than %d bytes", maxID)
	case s.twice:
		return bad(CodeParseError, "not a request: a member occurs twice")
	}
	return s.request(text)
}

// request parses an object message (context-pack contract §4.3: jsonrpc may be missing and its value is not checked, but its type is).
func (s *scanner) request(text []byte) Message {
	if v := s.part(text, memberVersion); v != nil && v[0] != '"' {
		return bad(CodeParseError, "not a request: jsonrpc is not a string")
	}
	m := Message{ID: s.recoveredID(), Stated: string(s.part(text, memberVersion)) == `"2.0"`}
	method := s.part(text, memberMethod)
	if method == nil {
		m.Result, m.Error = s.part(text, memberResult), s.part(text, memberError)
		if m.ID == nil || m.Result == nil && m.Error == nil {
			return bad(CodeParseError, "not a request: method is missing")
		}
		m.Kind = Response
		return m
	}
	if method[0] != '"' {
		return bad(CodeParseError, "not a request: method is not a string")
	}
	m.Kind = Request
	m.Method = unquote(method)
	m.Params = s.part(text, memberParams)
	return m
}

func (s *scanner) batch(text []byte) Message {
	switch {
	case s.tooMany:
		return bad(CodeInvalidRequest, "the array has more than %d elements", maxElements)
	case len(s.items) == 0:
		return bad(CodeParseError, "the array is empty")
	}
	m := Message{Kind: Batch, Items: make([]Message, len(s.items))}
	for i, at := range s.items {
		m.Items[i] = element(text[at.from:at.to])
	}
	return m
}

func element(text []byte) Message {
	if text[0] != '{' {
		return bad(CodeParseError, "not a request: an element of the array is not an object")
	}
	s := newScanner()
	s.scan(text)
	return s.classify(text)
}

// stated reports a message that declares JSON-RPC 2.0, which does not occur inside other messages by chance.
func (m Message) stated() bool {
	for _, item := range m.Items {
		if !item.Stated {
			return false
		}
	}
	return m.Stated || m.Kind == Batch
}

// part returns the text of a member, or nil.
func (s *scanner) part(text []byte, member int) json.RawMessage {
	at := s.members[member]
	if at.to == 0 {
		return nil
	}
	return json.RawMessage(text[at.from:at.to:at.to])
}

// recoveredID returns the message's ID on one line, or nil if it is missing, null or incomplete.
func (s *scanner) recoveredID() json.RawMessage {
	if s.idLong || s.members[memberID].to == 0 || string(s.id) == "null" {
		return nil
	}
	if s.id[0] != '{' && s.id[0] != '[' {
		return s.id
	}
	// Only here can there be line ends, which would break a one-line reply.
	var line bytes.Buffer
	if json.Compact(&line, s.id) != nil {
		return nil
	}
	return line.Bytes()
}

// knownMember returns the index of the member whose key was just read, or -1.
func (s *scanner) knownMember() int {
	if s.keyLen > len(s.key) {
		return -1
	}
	key := s.key[:s.keyLen]
	if bytes.IndexByte(key, '\\') >= 0 {
		key = []byte(unquote(append(append([]byte{'"'}, key...), '"')))
	}
	for i, name := range s.names {
		if string(key) == name {
			return i
		}
	}
	return -1
}

// Members returns the text of the named members of a well-formed JSON object, at most six, nil for a missing one. If a member occurs twice, the last
// counts. Anything but an object has no members.
func Members(object json.RawMessage, names ...string) []json.RawMessage {
	found := make([]json.RawMessage, len(names))
	if len(object) == 0 || object[0] != '{' {
		return found
	}
	s := &scanner{member: -1, names: names}
	s.scan(object)
	for i := range names {
		found[i] = s.part(object, i)
	}
	return found
}

// Text decodes a JSON string; it reports false for any other value.
func Text(value json.RawMessage) (string, bool) {
	if len(value) < 2 || value[0] != '"' {
		return "", false
	}
	return unquote(value), true
}

// unquote decodes a JSON string that is known to be well-formed.
func unquote(text []byte) string {
	if bytes.IndexByte(text, '\\') < 0 {
		return string(text[1 : len(text)-1])
	}
	var s string
	if json.Unmarshal(text, &s) != nil {
		return ""
	}
	return s
}
