package osproc

import (
	"bytes"
	"io"
	"sync"

	"github.com/countersign-dev/countersign/domain/process"
)

const (
	readSize = 128 << 10
	// rawLine is how much of a line is looked at. It is more than is kept, so that a secret which the end of what is kept cuts through is
	// known for one.
	rawLine = process.MaxLineBytes + 4<<10
)

// outputRecord is a piece of one stream: whole lines.
type outputRecord struct {
	stream process.Stream
	bytes  int
	lines  int
}

// batch is what was taken out of a ring: records one after the other in data.
type batch struct {
	data    []byte
	records []outputRecord
	lines   int
	total   int64 // lines ever pushed, up to and with these
}

// ring holds the newest whole lines of both streams, in the order they arrived: MaxBytes and MaxLines at least, one read more at most.
type ring struct {
	mu      sync.Mutex
	now     batch
	spare   batch // memory to be used again
	from    int   // where the first record that counts begins in now.data
	skip    int   // records that do not count any more
	kept    int   // bytes of those that do
	printed int64 // bytes ever read
	open    [process.Stderr + 1]bool
	lines   [process.Stderr + 1]int64 // ever pushed
	head    batch                     // the first lines, at most HeadLines and HeadBytes
	full    bool                      // head is complete
	wake    chan struct{}             // holds one when there is something to take
}

func newRing() *ring { return &ring{wake: make(chan struct{}, 1)} }

// push adds whole lines. It only copies: the process is waiting.
func (r *ring) push(stream process.Stream, data []byte, lines int) {
	r.mu.Lock()
	r.lines[stream] += int64(lines)
	if !r.full {
		r.begin(stream, data, lines)
	}
	b := &r.now
	b.data = append(b.data, data...)
	b.records = append(b.records, outputRecord{stream, len(data), lines})
	b.lines += lines
	b.total += int64(lines)
	r.kept += len(data)
	for first := b.records[r.skip]; r.kept-first.bytes >= process.MaxBytes || b.lines-first.lines >= process.MaxLines; first = b.records[r.skip] {
		r.skip++
		r.from += first.bytes
		r.kept -= first.bytes
		b.lines -= first.lines
	}
	if r.from > process.MaxBytes {
		b.data = b.data[:copy(b.data, b.data[r.from:])]
		b.records = b.records[:copy(b.records, b.records[r.skip:])]
		r.from, r.skip = 0, 0
	}
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// begin adds whole lines to the head, as far as they have room there.
func (r *ring) begin(stream process.Stream, data []byte, lines int) {
	if room := process.HeadBytes - len(r.head.data); len(data) > room {
		r.full = true
		data = data[:bytes.LastIndexByte(data[:room], '\n')+1]
		lines = bytes.Count(data, []byte{'\n'})
	}
	if room := process.HeadLines - r.head.lines; lines > room {
		r.full = true
		end := 0
		for range room {
			end += bytes.IndexByte(data[end:], '\n') + 1
		}
		data, lines = data[:end], room
	}
	if lines == 0 {
		return
	}
	r.head.data = append(r.head.data, data...)
	r.head.records = append(r.head.records, outputRecord{stream, len(data), lines})
	r.head.lines += lines
	r.head.total += int64(lines)
}

// take empties the ring. What it gives is good until the next take.
func (r *ring) take() batch {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.now
	b.data, b.records = b.data[r.from:], b.records[r.skip:]
	r.now, r.spare = batch{data: r.spare.data[:0], records: r.spare.records[:0], total: b.total}, r.now
	r.from, r.skip, r.kept = 0, 0, 0
	return b
}

func (r *ring) count(n int, stream process.Stream, open bool) {
	r.mu.Lock()
	r.printed += int64(n)
	r.open[stream] = open
	r.mu.Unlock()
}

// drain reads a stream to its end and pushes what it reads line by line; a last line without an end is one too. Of a line longer than
// rawLine the rest is read and forgotten.
func (r *ring) drain(stream process.Stream, from io.Reader) error {
	buf := make([]byte, readSize)
	held, cut := 0, false // bytes of an unfinished line in front of buf; its rest is forgotten
	for {
		n, err := from.Read(buf[held : readSize-1])
		r.count(n, stream, false)
		end := held + n
		if cut {
			next := bytes.IndexByte(buf[held:end], '\n')
			if cut = next < 0; cut {
				end = held
			} else {
				end = held + copy(buf[held:], buf[held+next:end])
			}
		}
		if last := bytes.LastIndexByte(buf[held:end], '\n') + held + 1; last > held {
			r.push(stream, buf[:last], bytes.Count(buf[held:last], []byte{'\n'}))
			held = copy(buf, buf[last:end])
		} else {
			held = end
		}
		if held > rawLine {
			held, cut = rawLine, true
		}
		if err == nil {
			continue
		}
		if held > 0 {
			buf[held] = '\n'
			r.push(stream, buf[:held+1], 1)
			r.count(1, stream, true)
		}
		if err == io.EOF {
			return nil
		}
		return err
	}
}
