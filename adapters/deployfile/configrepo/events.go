package configrepo

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/domain/deployment"
)

const (
	eventsDir  = "state/logs"
	eventsFile = "events.jsonl"
	eventsLock = ".events.lock"

	// MaxEvent is how long a line of the event log may be, in bytes.
	MaxEvent = 1 << 20
)

// Events is the event log below a home directory. It implements deployport.Events.
type Events struct{}

// NewEvents is the event log.
func NewEvents() *Events { return &Events{} }

// Append implements deployport.Events: one JSON value, one line, one write, under a lock between processes. A line that a crash cut off
// stays a line by itself. It fails with ErrConfig for what is no JSON value or longer than MaxEvent.
func (*Events) Append(ctx context.Context, home string, line json.RawMessage) (file string, err error) {
	var one bytes.Buffer
	if err := json.Compact(&one, line); err != nil {
		return "", deployment.ErrConfig.WithMessage("an event must be one JSON value: %v", err).WithDetails(deployment.FieldDetails("error", err.Error()))
	}
	if one.Len() > MaxEvent {
		return "", deployment.ErrConfig.WithMessage("the event has %d bytes; the limit is %d", one.Len(), MaxEvent).WithDetails(deployment.FieldDetails("bytes", one.Len()))
	}
	one.WriteByte('\n')
	dir := docfile.NewDir(filepath.Join(home, filepath.FromSlash(eventsDir)))
	lock, err := dir.Lock(ctx, eventsLock)
	if err != nil {
		return "", unwritable(dir.File(eventsLock), err)
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	file = dir.File(eventsFile)
	if err := appendLine(file, one.Bytes()); err != nil {
		return "", unwritable(file, err)
	}
	return file, nil
}

func unwritable(file string, err error) error {
	details := deployment.Details{}.AddPath("path", file)
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, docfile.ErrLocked):
		return err
	case errors.Is(err, fs.ErrPermission):
		return deployment.ErrPermission.WithMessage("cannot write %s: permission denied; change its permissions", file).WithDetails(details).WithCause(err)
	}
	return deployment.ErrDisk.WithMessage("%s cannot be written: %v", file, err).WithDetails(details).WithCause(err)
}

// appendLine writes a line at the end of a file, atomically, and waits for the disk.
func appendLine(file string, line []byte) (err error) {
	if info, err := os.Lstat(file); err == nil && !info.Mode().IsRegular() {
		return docfile.ErrNotFile.WithMessage("it is not a regular file; remove it")
	}
	f, err := os.OpenFile(file, os.O_RDWR|os.O_APPEND|os.O_CREATE|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	size := info.Size()
	if size > 0 {
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, size-1); err != nil {
			return err
		}
		if last[0] != '\n' {
			line = append([]byte{'\n'}, line...)
		}
	}
	if _, err := f.Write(line); err != nil {
		return errors.Join(err, f.Truncate(size))
	}
	if err := f.Sync(); err != nil || size > 0 {
		return err
	}
	dir, err := os.Open(filepath.Dir(file)) // the file is new, and so is its name
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Lines implements deployport.Events. Lines come without their line breaks; blank ones come, too. A line that is too long or not UTF-8
// comes as an error, without its text. No log is no lines.
func (*Events) Lines(ctx context.Context, home string, visit func(number int, line []byte, err error) error) error {
	file := filepath.Join(home, filepath.FromSlash(eventsDir), eventsFile)
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe must not block
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return unreadable(file, err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return unreadable(file, errors.Join(err, docfile.ErrNotFile))
	}
	r := bufio.NewReaderSize(f, MaxEvent+2) // room for CR LF
	for number := 1; ; number++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		line, lineErr, err := oneLine(r)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return unreadable(file, err)
		}
		if err := visit(number, line, lineErr); err != nil {
			return err
		}
	}
}

// oneLine returns the next line, valid until the next call, or its problem; err is io.EOF after the last one.
func oneLine(r *bufio.Reader) (line []byte, problem, err error) {
	line, err = r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = r.ReadSlice('\n')
		}
		if err == nil || errors.Is(err, io.EOF) {
			return nil, tooLong(), nil
		}
		return nil, nil, err
	}
	if err != nil && (!errors.Is(err, io.EOF) || len(line) == 0) {
		return nil, nil, err
	}
	line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
	switch {
	case len(line) > MaxEvent:
		return nil, tooLong(), nil
	case !utf8.Valid(line):
		return nil, deployment.ErrConfig.WithMessage("the line is not valid UTF-8"), nil
	}
	return line, nil, nil
}

func tooLong() error {
	return deployment.ErrConfig.WithMessage("the line is longer than %d bytes", MaxEvent)
}
