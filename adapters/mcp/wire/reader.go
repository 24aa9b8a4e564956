// Package wire reads and writes JSON-RPC messages on a byte stream, with or without a Content-Length header, decided for each message (context-pack
// contract §6.1).
//
// It knows nothing of methods, sessions or tools, and does not import the MCP SDK: it determines where messages begin and end, which can be served,
// and where to continue after garbage. It never ends a stream by itself.
//
// No input makes it wait forever. Messages may span lines and frames may be long, but a line that is a complete JSON-RPC 2.0 message, starting in its
// first column, is always that message, whatever precedes it: an unfinished value or frame around it is discarded with an error. (So elements of an
// array that have a line each are indented, or followed by their comma or bracket on the line.) A line end inside a value that is nested too deeply
// or too large discards it as well.
//
// Its API may change at any time.
package wire

import (
	"bytes"
	"io"
)

// MaxMessage is the largest message in bytes, in both directions and both framings (context-pack contract
// §6.1).
const MaxMessage = 1 << 20

const (
	chunk          = 16 << 10
	keepBuffer     = 256 << 10 // a larger buffer is released after the message that needed it
	maxHeaderLine  = 8 << 10
	maxHeaderLines = 32
	// A declared length above maxDrain is treated as a mistake: discarding that much would end the session.
	maxDrain = 256 << 20
	// How far back a broken message is searched for complete ones. It limits the work that garbage can cause.
	maxSearch = 32 << 10
)

// Reader reads messages. It is for one goroutine.
type Reader struct {
	src        io.Reader
	buf        []byte
	start, end int  // buf[start:end] is read but not consumed
	gap        bool // at the start of a line, in the rest of a discarded message
	cut        int  // number of bytes at the start that ended a frame and may begin a message
	err        error
}

// NewReader makes a Reader of src.
func NewReader(src io.Reader) *Reader { return &Reader{src: src} }

// Whole returns the single message in text, ignoring surrounding white space, such as the body of an HTTP request. Anything else is a Bad one. It
// keeps text, whose length the caller must limit.
func Whole(text []byte) Message {
	text = bytes.TrimSpace(bytes.TrimPrefix(text, bom))
	if len(text) == 0 {
		return bad(CodeParseError, "the message is empty")
	}
	s := newScanner()
	n, st := s.scan(text)
	switch {
	case st == wrong:
		return bad(CodeParseError, "not JSON: unexpected byte at offset %d", n-1)
	case st == more:
		return bad(CodeParseError, "not JSON: the input ends inside a value")
	case n < len(text):
		return bad(CodeParseError, "more than one message: unexpected byte at offset %d", n)
	}
	return s.message(text)
}

// Next returns the next message, or a Bad one in its place. It returns as soon as the last byte of the message has arrived. The error is that of the
// source, io.EOF at its end, after everything before it has been returned.
//
// It holds at most twice MaxMessage; larger messages are read to their end and reported, not kept.
func (r *Reader) Next() (Message, error) {
	switch {
	case r.gap:
		r.skipGap()
	case r.cut > 0:
		r.rejoin()
	}
	for {
		b, err := r.skipBlank()
		if err != nil {
			return Message{}, err
		}
		if b == '{' || b == '[' {
			return r.value(), nil
		}
		m, ok := r.headed()
		if ok {
			return m, nil
		}
	}
}

// fill reads more, keeping what is unconsumed, and reports whether anything came.
func (r *Reader) fill() bool {
	if r.err != nil {
		return false
	}
	if r.start == r.end {
		r.start, r.end = 0, 0
		if cap(r.buf) > keepBuffer {
			r.buf = nil
		}
	}
	if len(r.buf)-r.end < chunk/2 {
		r.room()
	}
	for range 100 { // a source may return nothing occasionally, but not forever
		n, err := r.src.Read(r.buf[r.end:])
		r.end += n
		if err != nil {
			r.err = err
		}
		if n > 0 {
			return true
		}
		if err != nil {
			return false
		}
	}
	r.err = io.ErrNoProgress
	return false
}

// room frees space at the end of the buffer: by moving if half of it is consumed, else by growing.
func (r *Reader) room() {
	held := r.end - r.start
	size := len(r.buf)
	if size == 0 || held > size/2 {
		size = max(chunk, 2*size)
	}
	next := r.buf
	if size != len(r.buf) {
		next = make([]byte, size)
	}
	copy(next, r.buf[r.start:r.end])
	r.buf, r.start, r.end = next, 0, held
}

// skipBlank skips white space and byte order marks and returns the first other byte, unconsumed.
func (r *Reader) skipBlank() (byte, error) {
	for {
		for r.start < r.end {
			switch b := r.buf[r.start]; b {
			case ' ', '\t', '\n', '\f', '\r':
				r.start++
				continue
			case bom[0]:
				for r.end-r.start < len(bom) && r.fill() {
				}
				if bytes.HasPrefix(r.buf[r.start:r.end], bom) {
					r.start += len(bom)
					continue
				}
				return b, nil
			default:
				return b, nil
			}
		}
		if !r.fill() {
			return 0, r.err
		}
	}
}

var bom = []byte("\uFEFF")

// value reads an unframed object or array.
func (r *Reader) value() Message {
	s := newScanner()
	seen, line := 0, 0 // line is the start of the line that contains seen
	for {
		piece, ends := firstLine(r.buf[r.start+seen : min(r.end, r.start+MaxMessage+1)])
		n, st := s.scan(piece)
		seen += n
		switch {
		case st == wrong:
			r.resume(seen)
			return bad(CodeParseError, "not JSON: unexpected byte at offset %d", seen-1)
		case seen > MaxMessage:
			return r.drainValue(s, seen, st)
		case st == done:
			return s.message(r.take(seen))
		case ends && line > 0 && interrupts(r.buf[r.start+line:r.start+seen]):
			r.start += line
			return bad(CodeParseError, "not JSON: a value is not finished when another message begins on a new line")
		case ends && s.tooFar:
			r.start += seen
			r.gap = true
			m := bad(CodeParseError, "not JSON: a line ends inside a value that nests deeper than %d levels", MaxDepth)
			m.ID = s.recoveredID()
			return m
		case ends:
			line = seen
		case seen < r.end-r.start: // the piece ended at the limit
		case !r.fill():
			r.resume(seen)
			return bad(CodeParseError, "not JSON: the input ends inside a value")
		}
	}
}

// firstLine is p up to and including its first line end, and whether there is one.
func firstLine(p []byte) (line []byte, ends bool) {
	if at := bytes.IndexByte(p, '\n'); at >= 0 {
		return p[:at+1], true
	}
	return p, false
}

// wholeMessage parses a line that is a complete message, starting in its first column.
func wholeMessage(line []byte) (Message, bool) {
	if !opens(line) {
		return Message{}, false
	}
	s := newScanner()
	n, st := s.scan(line)
	if st != done || len(bytes.TrimSpace(line[n:])) > 0 {
		return Message{}, false
	}
	m := s.message(bytes.Clone(line[:n]))
	return m, m.Kind != Bad
}

// interrupts reports a line that is a message of its own, whatever precedes it.
func interrupts(line []byte) bool {
	m, ok := wholeMessage(line)
	return ok && m.stated()
}

// drainValue reads a value that is too long up to its end, or to the end of a line inside it, without keeping it. seen bytes of it are already read.
func (r *Reader) drainValue(s *scanner, seen int, st status) Message {
	r.start += seen
	r.gap = st == more && r.buf[r.start-1] == '\n'
	for st == more && !r.gap {
		if r.start == r.end && !r.fill() {
			break
		}
		piece, ends := firstLine(r.buf[r.start:r.end])
		var n int
		n, st = s.scan(piece)
		r.start += n
		r.gap = st == more && ends
	}
	if st == wrong {
		r.start-- // the byte may be the line's end
		r.skipLine()
	}
	m := bad(CodeInvalidRequest, "the message is larger than %d bytes", MaxMessage)
	m.ID = s.recoveredID()
	return m
}

// skipGap consumes lines up to the first that starts a value or a frame in its first column. The skipped lines belong to a message that was already
// answered: they get no further answers.
func (r *Reader) skipGap() {
	for r.gap = false; r.start < r.end || r.fill(); r.skipLine() {
		for r.end-r.start < len(lengthName) && isLength(r.buf[r.start:r.end]) && r.fill() {
		}
		if opens(r.buf[r.start:r.end]) || isLength(r.buf[r.start:r.end]) {
			return
		}
	}
}

// take consumes n bytes and returns a copy of them.
func (r *Reader) take(n int) []byte {
	text := append(make([]byte, 0, n), r.buf[r.start:r.start+n]...)
	r.start += n
	return text
}

// resume consumes a broken value of n bytes, the last of which did not fit, and finds where to continue: at a line inside it that is a complete
// value, else at the line that did not fit if that starts a value, else after that line. So a message without its end loses no messages on lines of
// their own.
func (r *Reader) resume(n int) {
	broken := r.buf[r.start : r.start+n]
	if n <= maxSearch {
		if at := wholeLine(broken); at > 0 {
			r.start += at
			return
		}
	}
	line := bytes.LastIndexByte(broken[:n-1], '\n') + 1
	if line > 0 && opens(broken[line:]) {
		r.start += line
		return
	}
	r.start += n - 1
	r.skipLine()
}

// wholeLine returns the offset of the first line of broken, except the first and last, that is a complete value, or 0.
func wholeLine(broken []byte) int {
	for at := 0; ; {
		next := bytes.IndexByte(broken[at:], '\n')
		if next < 0 {
			return 0
		}
		at += next + 1
		end := bytes.IndexByte(broken[at:], '\n')
		if end < 0 {
			return 0
		}
		text := broken[at : at+end]
		if !opens(text) {
			continue
		}
		n, st := newScanner().scan(text)
		if st == done && len(bytes.TrimSpace(text[n:])) == 0 {
			return at
		}
	}
}

func opens(line []byte) bool { return len(line) > 0 && (line[0] == '{' || line[0] == '[') }

// skipLine consumes up to and including the next line end.
func (r *Reader) skipLine() {
	for {
		if at := bytes.IndexByte(r.buf[r.start:r.end], '\n'); at >= 0 {
			r.start += at + 1
			return
		}
		r.start = r.end
		if !r.fill() {
			return
		}
	}
}
