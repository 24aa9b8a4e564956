package wire

// MaxDepth is the maximum nesting of objects and arrays in a message. The MCP SDK rejects deeper values too.
const MaxDepth = 1000

// maxElements is the maximum number of elements of a JSON array that are answered one by one: that many rejections still fit into MaxMessage.
const maxElements = 1000

// maxID is the maximum length of an ID, in bytes of JSON, that is kept and echoed.
const maxID = 4096

// status is the progress of a scanner.
type status uint8

const (
	more  status = iota // the value is not complete
	done                // the value ended with the last byte taken
	wrong               // the last byte taken cannot continue any JSON value
)

type state uint8

const (
	wantValue   state = iota
	wantElement       // after '[': a value or ']'
	wantFirst         // after '{': a key or '}'
	wantKey           // after ',' in an object
	wantColon
	wantNext // after a value: ',' or the closing bracket
	inString
	inEscape
	inHex
	inLiteral
	numMinus
	numZero
	numInt
	numPoint
	numFrac
	numExp
	numSign
	numPower
	beyond // deeper than MaxDepth: brackets are counted, the grammar is not checked
	beyondString
	beyondEscape
)

// span is a half-open range of offsets from the first byte of a message.
type span struct{ from, to int }

// The members of a message object that are used; the order is that of scanner.members.
const (
	memberVersion = iota
	memberID
	memberMethod
	memberParams
	memberResult
	memberError
	memberCount
)

var messageMembers = [memberCount]string{"jsonrpc", "id", "method", "params", "result", "error"}

// scanner checks JSON text byte by byte and finds where a value ends. In the same pass it records the positions of the members of an object message,
// or the elements of an array message, and keeps the ID, so that a message too long to keep can still be answered. Made by newScanner, it serves one
// value, which must be an object or an array.
type scanner struct {
	state  state
	isKey  bool   // the string being read is a key
	hex    uint8  // digits that \u still needs
	rest   string // remaining text of the literal
	kinds  [MaxDepth/8 + 1]byte
	depth  int
	pos    int // offset of the next byte
	tooFar bool

	names   []string // names of the members to record
	id      []byte   // of a message
	keepsID bool
	idLong  bool
	member  int // index of the member being read, or -1
	key     [48]byte
	keyLen  int
	from    int // where the value being read at depth 1 starts
	members [memberCount]span
	twice   bool // a known member occurs twice
	array   bool
	items   []span
	tooMany bool
}

func newScanner() *scanner {
	return &scanner{member: -1, names: messageMembers[:], keepsID: true}
}

// scan processes p up to the end of the value or the first byte that does not fit, which counts as taken, and returns the number of bytes taken.
func (s *scanner) scan(p []byte) (int, status) {
	for i := 0; i < len(p); i++ {
		if s.state == inString && !s.noting() {
			// Most bytes of most messages are inside strings.
			i += plainRun(p[i:])
			if i == len(p) {
				break
			}
		}
		at := s.pos + i
		st := s.step(p[i], at)
		if st != more {
			s.pos = at + 1
			return i + 1, st
		}
	}
	s.pos += len(p)
	return len(p), more
}

// plainRun counts the leading bytes of p that do not end, escape or break a string.
func plainRun(p []byte) int {
	for i, b := range p {
		if b == '"' || b == '\\' || b < 0x20 {
			return i
		}
	}
	return len(p)
}

// noting reports whether the scanner keeps the bytes being read.
func (s *scanner) noting() bool {
	return s.depth == 1 && s.isKey || s.inID()
}

// inID reports whether the id of a message is being read.
func (s *scanner) inID() bool { return s.keepsID && s.member == memberID }

func (s *scanner) step(b byte, at int) status {
	if s.inID() {
		s.keepID(b)
	}
	switch {
	case s.state >= beyond:
		return s.stepBeyond(b)
	case s.state >= numMinus:
		return s.stepNumber(b, at)
	case s.state >= inString:
		return s.stepText(b, at)
	}
	if b == ' ' || b == '\t' || b == '\n' || b == '\r' {
		return more
	}
	switch s.state {
	case wantElement:
		if b == ']' {
			return s.close(b, at)
		}
		return s.open(b, at)
	case wantFirst:
		if b == '}' {
			return s.close(b, at)
		}
		return s.openKey(b)
	case wantKey:
		return s.openKey(b)
	case wantColon:
		if b != ':' {
			return wrong
		}
		s.state = wantValue
		return more
	case wantNext:
		return s.next(b, at)
	default:
		return s.open(b, at)
	}
}

// open starts a value.
func (s *scanner) open(b byte, at int) status {
	if s.depth == 1 {
		s.from = at
		if s.inID() {
			s.id = append(s.id[:0], b)
		}
	}
	switch {
	case b == '{' || b == '[':
		return s.descend(b)
	case s.depth == 0:
		return wrong // a message is an object or an array
	case b == '"':
		s.state, s.isKey = inString, false
	case b == 't':
		s.state, s.rest = inLiteral, "rue"
	case b == 'f':
		s.state, s.rest = inLiteral, "alse"
	case b == 'n':
		s.state, s.rest = inLiteral, "ull"
	case b == '-':
		s.state = numMinus
	case b == '0':
		s.state = numZero
	case b >= '1' && b <= '9':
		s.state = numInt
	default:
		return wrong
	}
	return more
}

func (s *scanner) descend(b byte) status {
	s.depth++
	if s.depth > MaxDepth {
		s.state, s.tooFar = beyond, true
		return more
	}
	if s.depth == 1 {
		s.array = b == '['
	}
	bit := byte(1) << (s.depth % 8)
	if b == '{' {
		s.kinds[s.depth/8] |= bit
		s.state = wantFirst
	} else {
		s.kinds[s.depth/8] &^= bit
		s.state = wantElement
	}
	return more
}

func (s *scanner) inObject() bool { return s.kinds[s.depth/8]&(1<<(s.depth%8)) != 0 }

// close ends the innermost object or array.
func (s *scanner) close(b byte, at int) status {
	if s.inObject() != (b == '}') {
		return wrong
	}
	s.depth--
	if s.depth == 0 {
		return done
	}
	return s.ended(at + 1)
}

// ended records the end, exclusive, of a value inside the message.
func (s *scanner) ended(end int) status {
	s.state = wantNext
	if s.depth != 1 {
		return more
	}
	switch {
	case s.array && len(s.items) < maxElements:
		s.items = append(s.items, span{s.from, end})
	case s.array:
		s.tooMany = true
	case s.member >= 0:
		s.members[s.member] = span{s.from, end}
		s.member = -1
	}
	return more
}

func (s *scanner) next(b byte, at int) status {
	switch {
	case b == '}' || b == ']':
		return s.close(b, at)
	case b != ',':
		return wrong
	case s.inObject():
		s.state = wantKey
	default:
		s.state = wantValue
	}
	return more
}

func (s *scanner) openKey(b byte) status {
	if b != '"' {
		return wrong
	}
	s.state, s.isKey, s.keyLen = inString, true, 0
	return more
}

// stepText takes a byte of a string or of true, false and null.
func (s *scanner) stepText(b byte, at int) status {
	if s.isKey && s.depth == 1 && s.state != inLiteral {
		s.keepKey(b)
	}
	switch s.state {
	case inString:
		switch {
		case b == '"':
			return s.endString(at)
		case b == '\\':
			s.state = inEscape
		case b < 0x20:
			return wrong
		}
	case inEscape:
		switch b {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			s.state = inString
		case 'u':
			s.state, s.hex = inHex, 4
		default:
			return wrong
		}
	case inHex:
		if !isHex(b) {
			return wrong
		}
		if s.hex--; s.hex == 0 {
			s.state = inString
		}
	default:
		if b != s.rest[0] {
			return wrong
		}
		if s.rest = s.rest[1:]; s.rest == "" {
			return s.ended(at + 1)
		}
	}
	return more
}

func (s *scanner) endString(at int) status {
	if !s.isKey {
		return s.ended(at + 1)
	}
	s.isKey = false
	s.state = wantColon
	if s.depth == 1 {
		s.member = s.knownMember()
		if s.member >= 0 && s.members[s.member].to > 0 {
			s.twice = true
		}
	}
	return more
}

// stepBeyond counts brackets outside of strings until the nesting is back at MaxDepth.
func (s *scanner) stepBeyond(b byte) status {
	switch s.state {
	case beyondEscape:
		s.state = beyondString
	case beyondString:
		switch {
		case b == '\\':
			s.state = beyondEscape
		case b == '"':
			s.state = beyond
		case b < 0x20:
			return wrong
		}
	default:
		switch b {
		case '"':
			s.state = beyondString
		case '{', '[':
			s.depth++
		case '}', ']':
			if s.depth--; s.depth == MaxDepth {
				s.state = wantNext
			}
		}
	}
	return more
}

func (s *scanner) keepKey(b byte) {
	if b == '"' && s.state == inString {
		return
	}
	if s.keyLen < len(s.key) {
		s.key[s.keyLen] = b
	}
	s.keyLen++
}

func (s *scanner) keepID(b byte) {
	switch {
	case s.state < inString && s.depth == 1:
		return // before the value, or after it
	case len(s.id) < maxID:
		s.id = append(s.id, b)
	default:
		s.idLong = true
	}
}

func isHex(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'f' || b >= 'A' && b <= 'F'
}
