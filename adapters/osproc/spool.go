package osproc

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/redact"
)

const (
	pause      = 50 * time.Millisecond  // between two times that what came is kept
	floodPause = 200 * time.Millisecond // the same while more comes than is kept anyway
)

// Spool keeps the output of one process. Drain, once a stream, and Keep, once, run at the same time; the rest is for after them.
type Spool struct {
	ring    *ring
	cleaner cleaner
	files   files
	log     logFile
	err     error // the last failure to write
	mu      sync.Mutex
}

// NewSpool returns a spool in a directory that exists, or will. redactor is asked once, when there is output; secrets are exact values masked too.
func NewSpool(dir string, redactor func() *redact.Redactor, secrets []string) *Spool {
	return &Spool{ring: newRing(), cleaner: cleaner{redactor: redactor, secrets: secrets}, files: files{dir: dir}}
}

// LogTo has Keep append the lines to that file too, as they are kept. It is called before Keep, if at all.
func (s *Spool) LogTo(path string) { s.log.path = path }

// Drain reads a stream to its end, or until reading fails.
func (s *Spool) Drain(stream process.Stream, from io.Reader) error { return s.ring.drain(stream, from) }

// Keep writes what is read to the files, soon after it came, until end is closed; it then writes the rest and returns. Files that cannot be
// written cost nothing but themselves: what they would hold stays in memory, within the same bounds, and is tried again.
func (s *Spool) Keep(end <-chan struct{}) {
	next := time.NewTimer(0)
	defer next.Stop()
	defer s.files.close()
	defer s.log.close()
	for {
		select {
		case <-end:
			s.flush()
			return
		case <-s.ring.wake:
		}
		select {
		case <-end:
		case <-next.C:
		}
		if s.flush() {
			next.Reset(floodPause)
		} else {
			next.Reset(pause)
		}
	}
}

// flush keeps what is in the ring, and reports whether more came than can be.
func (s *Spool) flush() (flood bool) {
	b := s.ring.take()
	s.mu.Lock()
	defer s.mu.Unlock()
	lines, first := s.cleaner.clean(b)
	flood = s.files.add(lines, first)
	s.err = s.files.write()
	s.log.append(lines, first)
	return flood
}

// Err is why the files do not hold what they should, the log included, nil when they do. It may be asked at any time.
func (s *Spool) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.err, s.log.err)
}

// Result returns the kept output by stream, how many bytes of it are missing, and how many were printed. Both together have at most MaxBytes and MaxLines of the newest; where that is
// not all, the head stands before them, and a line between them says how many are missing. A last line has an end if it was printed with one.
func (s *Spool) Result() (stdout, stderr []byte, dropped, printed int64) {
	var kept [process.Stderr + 1][]byte
	skip, standFor := s.files.excess()
	newest := s.files.lines()[skip:]
	if len(newest) > 0 && newest[0].Number > 1 {
		missing := s.ring.lines
		for _, l := range newest {
			missing[l.Stream]--
		}
		for _, l := range s.head(newest[0].Number) {
			kept[l.stream] = append(append(kept[l.stream], l.text...), '\n')
			missing[l.stream]--
			standFor += int64(l.raw)
		}
		for stream, n := range missing {
			if n > 0 {
				kept[stream] = fmt.Appendf(kept[stream], "[... %d lines are left out ...]\n", n)
			}
		}
	}
	for _, l := range newest {
		kept[l.Stream] = append(append(kept[l.Stream], l.Text...), '\n')
	}
	dropped, printed = s.ring.printed-standFor, s.ring.printed
	for stream := range kept {
		if n := len(kept[stream]); n > 0 && s.ring.open[stream] {
			kept[stream] = kept[stream][:n-1]
			printed--
		}
	}
	return kept[process.Stdout], kept[process.Stderr], dropped, printed
}

// head returns the first lines before that number, clean and masked.
func (s *Spool) head(before int64) []line {
	first := cleaner{redactor: s.cleaner.redactor, secrets: s.cleaner.secrets}
	lines, _ := first.clean(s.ring.head)
	return lines[:min(int64(len(lines)), before-1)]
}

// parse appends the lines of a segment's text, of which the first has that number. What stands after the last line end is not complete.
func parse(lines []process.Line, first int64, text string) []process.Line {
	for {
		l, rest, whole := strings.Cut(text, "\n")
		if !whole {
			return lines
		}
		if l == "" {
			l = string(outputMark(process.Stdout)) // nobody writes that
		}
		stream := process.Stdout
		if l[0] == outputMark(process.Stderr) {
			stream = process.Stderr
		}
		lines = append(lines, process.Line{Number: first, Stream: stream, Text: l[1:]})
		first++
		text = rest
	}
}

// outputMark returns how a line of that stream begins in a file.
func outputMark(s process.Stream) byte { return '0' + byte(s) }
