package osproc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
)

// How large a log grows, and how many older ones are kept beside it as name.1, name.2, … (opencode contract §8.1).
const (
	LogBytes = 10 << 20
	logsKept = 3
)

// logFile is a file of lines for users and other programs, which several processes may append to one after the other.
type logFile struct {
	path string // empty for none
	file *os.File
	next int64 // the number of the line that should come next
	err  error // the first failure: what could not be written then is missing
}

// append writes lines, of which the first has that number. Lines that are missing before it are counted in a line of their own.
func (l *logFile) append(lines []line, first int64) {
	if l.path == "" || len(lines) == 0 {
		return
	}
	var text []byte
	if missing := first - max(l.next, 1); missing > 0 {
		text = fmt.Appendf(text, "[%d lines were dropped because they arrived too fast]\n", missing)
	}
	l.next = first + int64(len(lines))
	for _, line := range lines {
		text = append(append(text, line.text...), '\n')
	}
	if err := l.write(text); err != nil && l.err == nil {
		l.err = err
	}
}

func (l *logFile) write(text []byte) error {
	size, err := l.open()
	if err == nil && size > 0 && size+int64(len(text)) > LogBytes {
		if err = l.rotate(); err == nil {
			_, err = l.open()
		}
	}
	if err != nil {
		return err
	}
	_, err = l.file.Write(text)
	return err
}

// open makes sure that the file is the one of that name, which another process may have moved away, and says how large it is. It follows no
// link: whoever can write the directory must not choose what is written to.
func (l *logFile) open() (size int64, err error) {
	there, err := os.Lstat(l.path)
	switch {
	case err == nil && !there.Mode().IsRegular():
		return 0, fmt.Errorf("the log %s is not a file", l.path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return 0, err
	}
	if l.file != nil && there != nil {
		if mine, err := l.file.Stat(); err == nil && os.SameFile(mine, there) {
			return there.Size(), nil
		}
	}
	l.close()
	file, err := os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return 0, err
	}
	opened, err := file.Stat()
	if err == nil && there != nil && !os.SameFile(opened, there) {
		err = fmt.Errorf("the log %s was replaced while it was opened", l.path)
	}
	if err == nil && opened.Mode().Perm()&0o077 != 0 {
		err = file.Chmod(0o600)
	}
	if err != nil {
		return 0, errors.Join(err, file.Close())
	}
	l.file = file
	return opened.Size(), nil
}

// rotate moves every log one place on; the oldest goes.
func (l *logFile) rotate() error {
	l.close()
	for n := logsKept; n > 0; n-- {
		from := l.path
		if n > 1 {
			from += "." + strconv.Itoa(n-1)
		}
		if err := os.Rename(from, l.path+"."+strconv.Itoa(n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (l *logFile) close() {
	if l.file != nil {
		_ = l.file.Close() // nothing is buffered
		l.file = nil
	}
}
