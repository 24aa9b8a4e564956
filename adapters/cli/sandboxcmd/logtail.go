package sandboxcmd

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/fault"
)

// ErrLog reports a log that cannot be read.
var ErrLog = fault.New(fault.Unavailable, "sandbox_log_unreadable", "cannot read the log")

const (
	block   = 64 << 10
	longest = 1 << 20 // bytes of a line; what is longer comes in parts
	every   = 200 * time.Millisecond
)

// LastLines returns the last n lines of the log, oldest first, those of the one before it where it has fewer, and the position behind them. A log that is not
// there has none.
func LastLines(path string, n int) ([]string, *LogPosition, error) {
	p := &LogPosition{path: path}
	lines, err := p.last(n)
	if err != nil {
		p.Close()
		return nil, nil, ErrLog.WithMessage("cannot read the log %s", path).WithCause(err)
	}
	if missing := n - len(lines); missing > 0 {
		older := &LogPosition{path: path + ".1"}
		before, err := older.last(missing) // what is gone meanwhile is not missed
		if err == nil {
			lines = append(before, lines...)
		}
		older.Close()
	}
	return lines, p, nil
}

// LogPosition is a place in a log. Close it.
type LogPosition struct {
	path   string
	file   *os.File // nil: there is none yet
	offset int64
	begun  []byte // of a line that is not complete
}

// Close closes the log.
func (p *LogPosition) Close() {
	if p.file != nil {
		_ = p.file.Close() // it was only read
		p.file = nil
	}
}

// open opens the file of that name; there may be none. What is no plain file is not opened: reading it could last for ever.
func (p *LogPosition) open() error {
	info, err := os.Stat(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a file")
	}
	if err != nil {
		return err
	}
	p.file, err = os.Open(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// last reads the last n lines and puts the position behind them.
func (p *LogPosition) last(n int) ([]string, error) {
	if err := p.open(); err != nil || p.file == nil {
		return nil, err
	}
	info, err := p.file.Stat()
	if err != nil {
		return nil, err
	}
	p.offset = info.Size()
	var text []byte
	for at := p.offset; at > 0 && bytes.Count(text, []byte("\n")) <= n; {
		size := min(at, block)
		at -= size
		part := make([]byte, size)
		if _, err := p.file.ReadAt(part, at); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		text = append(part, text...)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(text) == 0 {
		lines = nil
	}
	return slices.Clone(lines[max(0, len(lines)-n):]), nil
}

// Follow hands every line that is written behind the position to emit, over rotations, until emit fails or ctx ends, and ends with their error.
func (p *LogPosition) Follow(ctx context.Context, emit func(line string) error) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		if err := p.turn(emit); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// turn reads what has come since: the rest of a log that was moved away, too, before the one in its place.
func (p *LogPosition) turn(emit func(string) error) error {
	moved := p.moved()
	if err := p.rest(emit); err != nil || !moved {
		return err
	}
	p.Close()
	if p.offset = 0; p.open() != nil {
		return nil // it is looked for again
	}
	return p.rest(emit)
}

// moved reports that the log of that name is another file by now, or is there at last. A log that was emptied is read from its start.
func (p *LogPosition) moved() bool {
	now, err := os.Stat(p.path)
	if err != nil {
		return false
	}
	if p.file == nil {
		return true
	}
	mine, err := p.file.Stat()
	if err != nil || !os.SameFile(mine, now) {
		return true
	}
	if now.Size() < p.offset {
		p.offset = 0
	}
	return false
}

// rest hands over the complete lines up to the end of the file.
func (p *LogPosition) rest(emit func(string) error) error {
	part := make([]byte, block)
	for p.file != nil {
		n, err := p.file.ReadAt(part, p.offset)
		p.offset += int64(n)
		p.begun = append(p.begun, part[:n]...)
		for {
			line, rest, whole := bytes.Cut(p.begun, []byte("\n"))
			if !whole && len(p.begun) < longest {
				break
			}
			if emitting := emit(string(line)); emitting != nil {
				return emitting
			}
			p.begun = rest
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return ErrLog.WithMessage("cannot read the log %s anymore", p.path).WithCause(err)
		}
	}
	return nil
}
