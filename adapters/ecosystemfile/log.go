package ecosystemfile

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// The bounds of a log besides those of package tracked. What ends a run is logged even when the log is full: that is what the reserve is for.
const (
	maxSeen     = 64 << 10 // of a message, before it is masked and cut
	maxPayload  = 16 << 10
	maxStored   = 128 << 10 // bytes of a stored line: eight KiB of control characters are six times as long in JSON
	reserve     = 200       // events
	reserveSize = 1 << 20   // bytes
	logMode     = 0o600
)

// Append implements ecosystemport.Runs.
func (s *RunStore) Append(ctx context.Context, id string, events ...ecosystem.RunEvent) error {
	dir, err := s.dir()
	if err != nil {
		return err
	}
	if !isID(id) {
		return unknown(id)
	}
	clean := s.cleaned(id, events)
	held, err := lock(ctx, dir, id, logLock)
	if err != nil {
		return err
	}
	defer held.Release() //nolint:errcheck // closing is all there is to it
	f, err := openLog(dir, id, os.O_RDWR|os.O_CREATE|os.O_APPEND)
	if err != nil {
		return failed(dir, id, err)
	}
	defer f.Close()
	l, err := tail(f)
	if err != nil {
		return failed(dir, id, err)
	}
	if l.whole < l.size { // somebody died while writing a line
		if err := f.Truncate(l.whole); err != nil {
			return failed(dir, id, err)
		}
		l.size = l.whole
	}
	text, err := l.added(clean)
	if err != nil || len(text) == 0 {
		return err
	}
	_, err = f.Write(text)
	return failed(dir, id, err)
}

// openLog opens the log of a run, inside the directory and nowhere else.
func openLog(dir *docfile.Dir, id string, flag int) (*os.File, error) {
	root, err := os.OpenRoot(dir.Path())
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.OpenFile(id+logSuffix, flag, logMode)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, cmp.Or(err, f.Close(), error(docfile.ErrNotFile.WithMessage("%s is not a regular file", dir.File(id+logSuffix))))
	}
	return f, nil
}

// cleaned returns the events without secrets, cut, timed, and without numbers.
func (s *RunStore) cleaned(id string, events []ecosystem.RunEvent) []ecosystem.RunEvent {
	texts := make([]string, len(events))
	for i, e := range events {
		texts[i] = clip(e.Message, maxSeen)
	}
	texts, _ = s.mask().Lines(texts) // together: a key may spread over several
	out := make([]ecosystem.RunEvent, len(events))
	for i, e := range events {
		e.Message, e.RunID = clip(texts[i], ecosystem.MaxLine), id
		if e.Timestamp.IsZero() {
			e.Timestamp = s.o.Clock.Now()
		}
		e.Timestamp = e.Timestamp.UTC()
		e.Level, e.Type = cmp.Or(e.Level, "info"), cmp.Or(e.Type, "log")
		if e.Payload != nil {
			e.Payload = s.payload(e.Payload)
		}
		out[i] = e
	}
	return out
}

// payload returns a document without secrets, or nothing when it is too large or none.
func (s *RunStore) payload(doc json.RawMessage) json.RawMessage {
	masked, _, err := s.mask().JSON(doc)
	if err != nil || len(masked) > maxPayload || !json.Valid(masked) {
		return json.RawMessage(`{"omitted":true}`)
	}
	return masked
}

// clip cuts at a character, saying so.
func clip(s string, most int) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if len(s) <= most {
		return s
	}
	const mark = " … (cut)"
	return strings.ToValidUTF8(s[:most-len(mark)], "") + mark
}

// end is where a log ends: its size, the size of its whole lines, and the number of its last event.
type end struct {
	size, whole, last int64
}

// full reports a log that has met its bound. It follows from the file alone: the event that says so fills the log up to its bound.
func (l end) full() bool { return l.last >= ecosystem.MaxLines || l.size >= ecosystem.MaxLogBytes }

// added returns the lines to write for events.
func (l end) added(events []ecosystem.RunEvent) ([]byte, error) {
	var out []byte
	for _, e := range events {
		if l.full() && (e.Type == "log" || l.last >= ecosystem.MaxLines+reserve || l.size >= ecosystem.MaxLogBytes+reserveSize) {
			continue
		}
		e.Number = l.last + 1
		line, err := encode(e)
		if err != nil {
			return nil, err
		}
		if !l.full() && (e.Number >= ecosystem.MaxLines || l.size+int64(len(line)) > ecosystem.MaxLogBytes-maxStored) {
			if line, err = l.marker(e); err != nil {
				return nil, err
			}
			if e.Type != "log" { // it comes behind the marker
				l.last, l.size, out = l.last+1, l.size+int64(len(line)), append(out, line...)
				e.Number = l.last + 1
				if line, err = encode(e); err != nil {
					return nil, err
				}
			}
		}
		l.last, l.size, out = l.last+1, l.size+int64(len(line)), append(out, line...)
	}
	return out, nil
}

// marker returns the event that takes the place of e and of all that would come later, with blanks behind it up to the bound.
func (l end) marker(e ecosystem.RunEvent) ([]byte, error) {
	text, err := encode(ecosystem.RunEvent{Number: l.last + 1, Timestamp: e.Timestamp, Level: "warning", Type: "log", RunID: e.RunID,
		Message: "the log reached its size limit; later lines are missing", Payload: json.RawMessage(`{"truncated":true}`)})
	if err != nil || l.last+1 >= ecosystem.MaxLines {
		return text, err
	}
	pad := max(ecosystem.MaxLogBytes-l.size-int64(len(text)), 0)
	return append(append(text[:len(text)-1], bytes.Repeat([]byte(" "), int(pad))...), '\n'), nil
}

// tail finds the end of a log.
func tail(f *os.File) (end, error) {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return end{}, err
	}
	l := end{size: info.Size()}
	for window := int64(2 << 10); ; window *= 8 {
		from := max(l.size-window, 0)
		text := make([]byte, l.size-from)
		if n, err := f.ReadAt(text, from); err != nil && !(errors.Is(err, io.EOF) && int64(n) == l.size-from) {
			return l, err
		}
		last := bytes.LastIndexByte(text, '\n')
		l.whole = from + int64(last) + 1
		for text = text[:last+1]; len(text) > 0; {
			start := bytes.LastIndexByte(text[:len(text)-1], '\n') + 1
			if start == 0 && from > 0 {
				break // the line begins before the window
			}
			if n, ok := numberOf(text[start:]); ok {
				l.last = n
				return l, nil
			}
			text = text[:start]
		}
		if from == 0 {
			return l, nil // no line of it is an event
		}
	}
}

// numberOf returns the number at the beginning of a stored event.
func numberOf(line []byte) (n int64, ok bool) {
	digits, ok := bytes.CutPrefix(line, []byte(`{"seq":`))
	for i, c := range digits {
		if c < '0' || c > '9' || i > 18 {
			return n, ok && i > 0 && c == ','
		}
		n = n*10 + int64(c-'0')
	}
	return 0, false
}

// Events implements ecosystemport.Runs. Lines that are no events are passed over, as is one that is still being written.
func (s *RunStore) Events(ctx context.Context, id string, after int64) (ecosystemport.Chunk, error) {
	dir, err := s.dir()
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return ecosystemport.Chunk{}, err
	}
	if !isID(id) {
		return ecosystemport.Chunk{}, unknown(id)
	}
	f, err := openLog(dir, id, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return ecosystemport.Chunk{}, nil
	}
	if err != nil {
		return ecosystemport.Chunk{}, err
	}
	defer f.Close()
	l, err := tail(f)
	if err != nil || l.last == 0 {
		return ecosystemport.Chunk{}, err
	}
	chunk := ecosystemport.Chunk{Total: l.last, Truncated: l.full()}
	if after >= l.last {
		return chunk, nil
	}
	from, err := behind(f, l, after)
	if err != nil {
		return chunk, err
	}
	text := make([]byte, l.whole-from)
	if n, err := f.ReadAt(text, from); err != nil && !errors.Is(err, io.EOF) {
		return chunk, err
	} else {
		text = text[:n]
	}
	for line := range bytes.Lines(text) {
		if n, ok := numberOf(line); !ok || n <= after {
			continue
		}
		var e ecosystem.RunEvent
		if json.Unmarshal(line, &e) == nil {
			chunk.Events = append(chunk.Events, e)
		}
	}
	return chunk, nil
}

// behind returns a place in the log shortly before the first event whose number is above after: numbers rise, so it is found by halving.
func behind(f *os.File, l end, after int64) (int64, error) {
	low, high := int64(0), l.whole
	window := make([]byte, maxStored)
	for after > 0 && high-low > maxStored {
		middle := low + (high-low)/2
		n, err := f.ReadAt(window[:min(int64(len(window)), high-middle)], middle)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		at, number, ok := firstIn(window[:n])
		switch {
		case !ok || number > after:
			high = middle
		default:
			low = middle + at
		}
	}
	return low, nil
}

// firstIn returns the first event that begins in a part of a log.
func firstIn(text []byte) (at, number int64, ok bool) {
	for {
		i := bytes.IndexByte(text[at:], '\n')
		if i < 0 {
			return 0, 0, false
		}
		at += int64(i) + 1
		if number, ok = numberOf(text[at:]); ok {
			return at, number, true
		}
	}
}
