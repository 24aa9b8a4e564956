package wire

import "bytes"

// frame is the progress in the body of a frame: white space and byte order marks, one value, and white space again.
type frame struct {
	s        *scanner
	begun    bool
	st       status // of the value; wrong also if something else precedes or follows it
	from, to int    // position of the value, in bytes taken
	mark     int    // bytes of a byte order mark that has begun
	taken    int
}

// take takes bytes of p up to the first that does not fit, and returns how many.
func (f *frame) take(p []byte) int {
	n := 0
	if !f.begun || f.st == done {
		n = f.blank(p)
	}
	if n < len(p) && f.st == more && f.mark == 0 {
		if !f.begun {
			f.begun, f.from = true, f.taken+n
		}
		var used int
		used, f.st = f.s.scan(p[n:])
		n += used
		switch f.st {
		case wrong:
			n--
		case done:
			f.to = f.taken + n
			n += f.blank(p[n:])
		}
	}
	if n < len(p) {
		f.st = wrong
	}
	f.taken += n
	return n
}

// blank counts the leading white space and byte order marks of p.
func (f *frame) blank(p []byte) int {
	for i, b := range p {
		switch {
		case b == bom[f.mark]:
			f.mark = (f.mark + 1) % len(bom)
		case f.mark > 0:
			return i
		case b != ' ' && b != '\t' && b != '\n' && b != '\f' && b != '\r':
			return i
		}
	}
	return len(p)
}

// body reads the n bytes that a header announced. It reports false for an empty frame.
func (r *Reader) body(n int) (Message, bool) {
	switch {
	case n < 0:
		// A frame of unknown length is dropped without an answer (context-pack contract §6.1).
		m := badHeader(1, "the header has no usable Content-Length")
		m.Silent = true
		return m, true
	case n > MaxMessage:
		return r.drainBody(n), true
	}
	f := &frame{s: newScanner()}
	line := 0 // where the line that is being taken begins
	for f.taken < n {
		if r.end-r.start == f.taken && !r.fill() {
			r.start = r.end
			return badHeader(1, "the input ends inside a message of %d bytes", n), true
		}
		piece, ends := firstLine(r.buf[r.start+f.taken : min(r.end, r.start+n)])
		if f.take(piece); f.st == wrong {
			return r.brokenBody(n, f, line), true
		}
		if !ends || f.taken == n {
			continue
		}
		if m, ok := wholeMessage(r.buf[r.start+line : r.start+f.taken]); ok {
			if f.st == done && f.from == line { // the length is too long, but the message is here
				r.start += f.taken
				m.Framed = true
				return m, true
			}
			if m.stated() {
				r.start += line
				return badBody(n), true
			}
		}
		line = f.taken
	}
	switch {
	case f.mark > 0 || f.begun && f.st != done:
		return r.brokenBody(n, f, line), true
	case !f.begun:
		r.start += n
		return Message{}, false
	}
	m := f.s.message(bytes.Clone(r.buf[r.start+f.from : r.start+f.to]))
	r.start += n
	m.Framed = true
	return m, true
}

func badBody(n int) Message {
	m := bad(CodeParseError, "not JSON: the message of %d bytes is not one JSON value", n)
	m.Framed = true
	return m
}

// brokenBody consumes a body of n bytes that is not one value, up to the line in which that became apparent. A wrong length makes a body end in or
// after the next message: what looks like its beginning is left unread.
func (r *Reader) brokenBody(n int, f *frame, line int) Message {
	m := badBody(n)
	at := f.taken // of the byte that does not fit, or n
	for f.to > 0 && r.end-r.start < min(n, at+len(lengthName)) && isLength(r.buf[r.start+at:r.end]) && r.fill() {
	}
	rest := r.buf[r.start+at : min(r.end, r.start+n)]
	switch {
	case f.to > 0 && (opens(rest) || isLength(rest)):
		r.start += at
		return m
	case at < n && line > f.from && opens(r.buf[r.start+line:]):
		r.start += line
		return m
	}
	for at < n && (r.end-r.start > at || r.fill()) {
		piece, ends := firstLine(r.buf[r.start+at : min(r.end, r.start+n)])
		if at += len(piece); ends {
			break
		}
	}
	text := r.buf[r.start+line : r.start+at]
	next := bytes.Index(bytes.ToLower(text), []byte(lengthName))
	switch {
	case next >= 0 && line+next > 0:
		at = line + next
	case f.taken == n && opens(text):
		at, r.cut = line, n-line
	default:
		m.Whole = at == n
	}
	r.start += at
	return m
}

// rejoin checks whether the part cut off by a frame's length forms one value with what follows on the same line. If not, the length was right and the
// rest inside it is discarded.
func (r *Reader) rejoin() {
	s := newScanner()
	cut, seen := r.cut, 0
	for r.cut = 0; ; {
		piece, ends := firstLine(r.buf[r.start+seen : min(r.end, r.start+MaxMessage+1)])
		n, st := s.scan(piece)
		seen += n
		switch {
		case st == done && (seen > cut || interrupts(r.buf[r.start:r.start+cut])):
			return
		case st != more || ends || seen > MaxMessage || seen == r.end-r.start && !r.fill():
			r.start += cut
			return
		}
	}
}

// drainBody discards a body that is too long.
func (r *Reader) drainBody(n int) Message {
	m := bad(CodeInvalidRequest, "the message is larger than %d bytes", MaxMessage)
	m.Framed = true
	f := &frame{s: newScanner()}
	kept, long := 0, false // buffered part of the current line, and whether the line is longer
	for f.taken < n && (r.end-r.start > kept || r.fill()) {
		piece, ends := firstLine(r.buf[r.start+kept : min(r.end, r.start+kept+n-f.taken)])
		kept += f.take(piece)
		if f.st == wrong {
			if kept > 0 || long || !opens(r.buf[r.start:]) { // or another message starts here
				r.start += kept
				kept = 0
				r.skipBroken(n - f.taken)
			}
			break
		}
		if ends && f.taken < n {
			if whole, ok := wholeMessage(r.buf[r.start : r.start+kept]); ok && !long && (whole.stated() || f.st == done) {
				if f.st != done { // otherwise the ID is that of the line
					m.ID = f.s.recoveredID()
				}
				return m
			}
		}
		if ends || kept > MaxMessage {
			r.start += kept
			kept, long = 0, !ends
		}
		if ends && f.s.tooFar && f.taken < n {
			r.gap = true
			break
		}
	}
	r.start += kept
	m.ID = f.s.recoveredID()
	return m
}

// skipBroken consumes the rest of a line, at most n bytes; anything beyond follows the message.
func (r *Reader) skipBroken(n int) {
	for n > 0 && (r.start < r.end || r.fill()) {
		piece, ends := firstLine(r.buf[r.start:min(r.end, r.start+n)])
		r.start += len(piece)
		n -= len(piece)
		if ends {
			r.gap = n > 0
			return
		}
	}
}
