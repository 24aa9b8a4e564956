package wire

import (
	"bytes"
	"strconv"
)

const lengthName = "content-length"

// headed reads a header block and its body. It reports false for an empty or blank body.
func (r *Reader) headed() (Message, bool) {
	length := -1
	for lines := 0; ; lines++ {
		if lines > 0 && r.atValue() {
			return badHeader(lines, "a header without an empty line after it"), true
		}
		line, how := r.line()
		switch {
		case how == lineTooLong:
			return badHeader(lines, "a header line longer than %d bytes", maxHeaderLine), true
		case how == lineCut && lines > 0:
			return badHeader(lines, "the input ends inside a header"), true
		case lines > 0 && len(line) == 0:
			return r.body(length)
		case lines >= maxHeaderLines:
			return badHeader(lines, "more than %d header lines", maxHeaderLines), true
		}
		name, value, ok := header(line)
		if !ok {
			return badHeader(lines, "a line that is neither JSON nor a header"), true
		}
		if name == lengthName {
			length = parseLength(value)
		}
	}
}

// badHeader returns the Message for an invalid header block after that many valid lines.
func badHeader(lines int, format string, args ...any) Message {
	m := bad(CodeParseError, "not a message: "+format, args...)
	m.Framed = lines > 0
	return m
}

// atValue reports whether the next byte begins a JSON value.
func (r *Reader) atValue() bool {
	return (r.start < r.end || r.fill()) && opens(r.buf[r.start:r.end])
}

// lineEnd says how a line ended.
type lineEnd uint8

const (
	lineWhole lineEnd = iota
	lineTooLong
	lineCut // by the end of the input
)

// line consumes a line and returns it trimmed; nil if it is too long to keep.
func (r *Reader) line() ([]byte, lineEnd) {
	seen := 0
	for {
		rest := r.buf[r.start+seen : r.end]
		if at := bytes.IndexByte(rest, '\n'); at >= 0 {
			line := r.buf[r.start : r.start+seen+at]
			r.start += seen + at + 1
			if len(line) > maxHeaderLine {
				return nil, lineTooLong
			}
			return bytes.TrimSpace(line), lineWhole
		}
		seen += len(rest)
		if seen > maxHeaderLine {
			r.skipLine()
			return nil, lineTooLong
		}
		if !r.fill() {
			line := r.buf[r.start:r.end]
			r.start = r.end
			return bytes.TrimSpace(line), lineCut
		}
	}
}

// header splits a header line. The name must be plausible, or a text line that contains a colon would swallow the messages after it.
func header(line []byte) (name, value string, ok bool) {
	left, right, found := bytes.Cut(line, []byte(":"))
	left = bytes.TrimSpace(left)
	if !found || len(left) == 0 {
		return "", "", false
	}
	for _, b := range left {
		letter := b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
		if !letter && b != '-' && b != '_' {
			return "", "", false
		}
	}
	return string(bytes.ToLower(left)), string(bytes.TrimSpace(right)), true
}

// parseLength returns the length in a header, or -1 if it is invalid.
func parseLength(value string) int {
	n, err := strconv.ParseUint(value, 10, 63)
	if err != nil || n > maxDrain {
		return -1
	}
	return int(n)
}

// isLength reports whether b is the beginning of a Content-Length header, possibly cut.
func isLength(b []byte) bool {
	n := min(len(b), len(lengthName))
	return n > 0 && string(bytes.ToLower(b[:n])) == lengthName[:n]
}
