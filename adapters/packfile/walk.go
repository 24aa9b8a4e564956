package packfile

import (
	"bytes"
	"context"
	"errors"
	"io"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/ports/packport"
)

// countBlock is how much is searched for line ends at once when many lines are skipped: counting runs at the speed of memory, finding
// each one does not.
const countBlock = 4 << 10

// walk goes through a file line by line, forwards only.
type walk struct {
	ctx   context.Context
	file  io.Reader
	chunk []byte // what rest is a part of
	rest  []byte // read and not yet passed
	line  int    // the number of the line that rest starts in
	begun bool   // some of that line was passed already
	ended bool   // the file has no more than rest
	long  []byte // a visited line that did not fit into one chunk
}

// run hands out the wanted lines; see packport.Excerpts.
func (w *walk) run(want int, visit func(n int, line []byte) (next int)) (lines int, err error) {
	for {
		if there, err := w.skipTo(want); err != nil || !there {
			return w.line - 1, err
		}
		text, err := w.take()
		if err != nil {
			return w.line - 1, err
		}
		if !utf8.Valid(text) {
			return w.line, packport.ErrNotText.WithMessage("line %d is not valid UTF-8 text", w.line)
		}
		next := visit(w.line, text)
		if next <= w.line {
			return w.line, nil
		}
		w.line++
		want = next
	}
}

// skipTo passes lines until the wanted one is next. When the file ends first, line is one more than the file has.
func (w *walk) skipTo(want int) (there bool, err error) {
	for w.line < want {
		if len(w.rest) == 0 {
			if more, err := w.fill(); err != nil {
				return false, err
			} else if !more {
				if w.begun {
					w.line++ // a last line without its end counts
				}
				return false, nil
			}
		}
		w.pass(want - w.line)
	}
	if len(w.rest) > 0 {
		return true, nil
	}
	return w.fill()
}

// pass goes over at most n line ends, and no further than one block.
func (w *walk) pass(n int) {
	block := w.rest[:min(len(w.rest), countBlock)]
	ends := bytes.Count(block, []byte{'\n'})
	if ends < n {
		w.line += ends
		w.begun = block[len(block)-1] != '\n'
		w.rest = w.rest[len(block):]
		return
	}
	for range n {
		w.rest = w.rest[bytes.IndexByte(w.rest, '\n')+1:]
	}
	w.line += n
	w.begun = false
}

// take returns the line that is next, without its end. The slice is good until the next call.
func (w *walk) take() ([]byte, error) {
	end := bytes.IndexByte(w.rest, '\n')
	if end >= 0 {
		text := w.rest[:end]
		w.rest = w.rest[end+1:]
		return w.bounded(text)
	}
	w.long = append(w.long[:0], w.rest...)
	for {
		more, err := w.fill()
		if err != nil {
			return nil, err
		}
		if !more {
			w.rest = nil
			return w.bounded(w.long)
		}
		end := bytes.IndexByte(w.rest, '\n')
		if end >= 0 {
			w.long = append(w.long, w.rest[:end]...)
			w.rest = w.rest[end+1:]
			return w.bounded(w.long)
		}
		w.long = append(w.long, w.rest...)
		if _, err := w.bounded(w.long); err != nil {
			return nil, err // do not gather more of it
		}
	}
}

func (w *walk) bounded(text []byte) ([]byte, error) {
	text = bytes.TrimSuffix(text, []byte{'\r'})
	if len(text) > MaxLine {
		return nil, packport.ErrTooLong.WithMessage("line %d is longer than %d bytes", w.line, MaxLine)
	}
	return text, nil
}

// fill reads the next chunk into rest; false when there is none. What rest held is gone.
func (w *walk) fill() (more bool, err error) {
	for !w.ended {
		if err := w.ctx.Err(); err != nil {
			return false, err
		}
		n, err := w.file.Read(w.chunk)
		if errors.Is(err, io.EOF) {
			w.ended = true
		} else if err != nil {
			return false, err
		}
		if w.rest = w.chunk[:n]; n > 0 {
			return true, nil
		}
	}
	return false, nil
}
