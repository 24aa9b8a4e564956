package osproc

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/domain/process"
)

// How large a segment grows: reading the newest lines takes one, and forgetting the oldest drops one.
const (
	segmentBytes = 128 << 10
	segmentLines = 1000
	suffix       = ".lines"
)

// segment is consecutive lines. It is in memory whole, and as far as that worked in a file.
type segment struct {
	first   int64
	lines   int
	raw     int64 // bytes of output they stand for
	data    []byte
	written int
	made    bool // there is a file
}

// files are the newest lines: MaxLines or MaxBytes at least, whichever is met first, one segment more at most.
type files struct {
	dir      string
	segments []*segment
	old      []string // names of files to be removed
	bytes    int
	count    int
	current  *os.File // of the last segment that was written
	name     string
}

func segmentName(first int64) string { return fmt.Sprintf("%019d%s", first, suffix) }

// add appends lines, of which the first has that number, and drops the oldest. It reports whether lines are missing before the first.
func (f *files) add(lines []line, first int64) (gap bool) {
	if len(lines) == 0 {
		return false
	}
	next := int64(1)
	if n := len(f.segments); n > 0 {
		next = f.segments[n-1].first + int64(f.segments[n-1].lines)
	}
	if gap = next != first; gap {
		f.drop(len(f.segments)) // more than all that is kept has come since
	}
	for i, l := range lines {
		last := len(f.segments) - 1
		if last < 0 || f.segments[last].lines >= segmentLines || len(f.segments[last].data)+len(l.text)+2 > segmentBytes {
			f.segments = append(f.segments, &segment{first: first + int64(i)})
			last++
		}
		s := f.segments[last]
		s.data = append(append(append(s.data, outputMark(l.stream)), l.text...), '\n')
		s.lines++
		s.raw += int64(l.raw)
		f.bytes += len(l.text) + 2
		f.count++
	}
	drop := 0
	for bytes, count := f.bytes, f.count; ; drop++ {
		bytes, count = bytes-len(f.segments[drop].data), count-f.segments[drop].lines
		if bytes < process.MaxBytes && count < process.MaxLines {
			break
		}
	}
	f.drop(drop)
	return gap
}

// drop forgets the n oldest segments.
func (f *files) drop(n int) {
	for _, s := range f.segments[:n] {
		if s.made {
			f.old = append(f.old, segmentName(s.first))
		}
		f.bytes -= len(s.data)
		f.count -= s.lines
	}
	f.segments = append([]*segment(nil), f.segments[n:]...)
}

// write makes the files what they should be: new lines first, so that readers always find some.
func (f *files) write() error {
	for _, s := range f.segments {
		if s.written < len(s.data) {
			if err := f.extend(s); err != nil {
				return err
			}
		}
	}
	for len(f.old) > 0 {
		if err := os.Remove(filepath.Join(f.dir, f.old[0])); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		f.old = f.old[1:]
	}
	return nil
}

func (f *files) extend(s *segment) error {
	if name := segmentName(s.first); name != f.name {
		f.close()
		file, err := os.OpenFile(filepath.Join(f.dir, name), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return err
		}
		f.current, f.name, s.made = file, name, true
	}
	n, err := f.current.Write(s.data[s.written:])
	s.written += n
	return err
}

func (f *files) close() {
	if f.current != nil {
		_ = f.current.Close() // nothing is buffered
		f.current, f.name = nil, ""
	}
}

// lines returns those in memory.
func (f *files) lines() []process.Line {
	lines := make([]process.Line, 0, f.count)
	for _, s := range f.segments {
		lines = parse(lines, s.first, string(s.data))
	}
	return lines
}

// excess returns how many lines to leave out so that the rest fits the bounds, and how many bytes of output that rest stands for.
func (f *files) excess() (lines int, standFor int64) {
	for _, s := range f.segments {
		standFor += s.raw
	}
	bytes, count := f.bytes-f.count, f.count // without the marks
	for _, l := range f.lines() {
		if bytes <= process.MaxBytes && count <= process.MaxLines {
			break
		}
		size := len(l.Text) + 1
		bytes, count, standFor, lines = bytes-size, count-1, standFor-int64(size), lines+1
	}
	return lines, standFor
}

// ReadOutput returns the output in dir after from, of a process that has not ended. A directory without output, or that is gone, is one of a
// process that printed nothing.
func ReadOutput(dir string, from process.Cursor) (process.Chunk, error) {
	const attempts = 5 // files can go between looking and reading, when much is printed
	for try := 1; ; try++ {
		chunk, err := read(dir, from)
		if err == nil || try == attempts || !errors.Is(err, fs.ErrNotExist) {
			return chunk, err
		}
	}
}

func read(dir string, from process.Cursor) (process.Chunk, error) {
	firsts, err := segmentsIn(dir)
	if err != nil {
		return process.Chunk{}, err
	}
	if len(firsts) == 0 {
		seen, dropped := from.Resolve(0, 0)
		return process.Chunk{Lines: []process.Line{}, Next: process.Cursor(seen), Dropped: dropped}, nil
	}
	last := firsts[len(firsts)-1]
	text, err := os.ReadFile(filepath.Join(dir, segmentName(last)))
	if err != nil {
		return process.Chunk{}, err
	}
	total := last - 1 + int64(bytes.Count(text, []byte{'\n'}))
	seen, dropped := from.Resolve(max(firsts[0]-1, total-process.MaxLines), total)
	chunk := process.Chunk{Next: process.Cursor(total), Dropped: dropped, Total: total}
	for i, first := range firsts[:len(firsts)-1] {
		if firsts[i+1]-1 <= seen {
			continue
		}
		if chunk.Lines == nil {
			chunk.Lines = make([]process.Line, 0, total-first+1)
		}
		text, err := os.ReadFile(filepath.Join(dir, segmentName(first)))
		if err != nil {
			return process.Chunk{}, err
		}
		chunk.Lines = parse(chunk.Lines, first, string(text))
	}
	if chunk.Lines == nil {
		chunk.Lines = make([]process.Line, 0, total-last+1)
	}
	chunk.Lines = parse(chunk.Lines, last, string(text))
	for len(chunk.Lines) > 0 && chunk.Lines[0].Number <= seen {
		chunk.Lines = chunk.Lines[1:]
	}
	return chunk, nil
}

// segmentsIn returns the numbers of the first lines of the segments in dir, in rising order.
func segmentsIn(dir string) ([]int64, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, err
	}
	var firsts []int64
	for _, e := range entries {
		number, ok := strings.CutSuffix(e.Name(), suffix)
		if first, err := strconv.ParseInt(number, 10, 64); ok && err == nil && first > 0 {
			firsts = append(firsts, first)
		}
	}
	return firsts, nil
}
