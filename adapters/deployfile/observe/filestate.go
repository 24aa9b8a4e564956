package observe

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/fault"
)

// FileFault is the fault behind an error of the file system at path (agentpack contract §6.2).
func FileFault(err error, path string) error {
	var known *fault.Error
	if err == nil || errors.As(err, &known) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	details := deployment.Details{}.AddPath("path", path)
	var number syscall.Errno
	if errors.As(err, &number) {
		details.Add("raw_os_error", int(number))
	}
	switch number {
	case syscall.EACCES, syscall.EPERM, syscall.EROFS:
		return deployment.ErrPermission.WithMessage("%s cannot be read or written: %v; make it and its directory writable for this user", path, number).
			WithDetails(details.Add("io_kind", "permission_denied").Add("hint", "check the owner and the mode of the file and its directory")).WithCause(err)
	case syscall.ENAMETOOLONG:
		return deployment.ErrPathLong.WithMessage("the path %s is too long; shorten a name in it", path).
			WithDetails(details.Add("io_kind", "path_too_long").Add("hint", "shorten the path")).WithCause(err)
	}
	return deployment.ErrDisk.WithMessage("%s could not be written: %v", path, cause(err)).WithDetails(details).WithCause(err)
}

// cause is the innermost reason: the path around it is said already, or is only part of it.
func cause(err error) error {
	var at *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &at):
		return at.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}

// IsAbsent reports an error that says: nothing is there.
func IsAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// FileState is the state of a path, with the content of a file and the attributes that identify its version.
type FileState struct {
	deployment.Seen
	Data []byte
	Info fs.FileInfo // nil when nothing is there
}

// InspectPath looks at path itself, not at what a link leads to: that is not ours to touch.
func InspectPath(path string) (FileState, error) {
	info, err := os.Lstat(path)
	if IsAbsent(err) {
		return FileState{}, nil
	}
	if err != nil {
		return FileState{}, err
	}
	s := FileState{Info: info, Seen: deployment.Seen{Mode: info.Mode().Perm()}}
	switch info.Mode().Type() {
	case 0:
		s.Kind = deployment.Regular
		s.Data, s.Info, err = read(path)
		switch {
		case err != nil:
		case !os.SameFile(info, s.Info): // perhaps a link by now, whose target was read
			err = deployment.ErrStale.WithMessage("%s changed while it was read; try again", path)
		default:
			s.Sum, s.Size, s.Mode = deployment.SumOf(s.Data), int64(len(s.Data)), s.Info.Mode().Perm()
		}
	case fs.ModeSymlink:
		s.Kind, s.Mode = deployment.Link, 0
		s.Link, err = os.Readlink(path)
	case fs.ModeDir:
		s.Kind = deployment.Directory
	default:
		s.Kind = deployment.Special
	}
	return s, err
}

// ReadFile is a file's bytes, a link followed. What is no file holds nothing.
func ReadFile(path string) (data []byte, found bool, err error) {
	data, info, err := read(path)
	if IsAbsent(err) {
		return nil, false, nil
	}
	return data, info != nil && info.Mode().IsRegular(), err
}

// read is a file's bytes and what the file system says of the very file that was read.
func read(path string) ([]byte, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe must not block
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, info, err
	}
	data, err := readOpen(f, info.Size())
	return data, info, err
}

// readOpen is the rest of an open file, which most likely has that size.
func readOpen(f io.Reader, size int64) ([]byte, error) {
	data := make([]byte, 0, size+1)
	for {
		n, err := f.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case errors.Is(err, io.EOF):
			return data, nil
		case err != nil:
			return nil, err
		case len(data) == cap(data):
			data = append(data, 0)[:len(data)]
		}
	}
}

// ReadRegular is the bytes of a regular file, a link followed; anything else fails with fs.ErrNotExist. Of a file that has more than a number of bytes, it is
// that many and one more.
func ReadRegular(path string, most int64) ([]byte, error) {
	var at directory
	f, err := at.open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.stat()
	switch {
	case err != nil:
		return nil, err
	case !st.Mode.IsRegular():
		return nil, fs.ErrNotExist
	}
	return readOpen(io.LimitReader(f, most+1), min(st.Size, most))
}

// SameState reports whether s equals an earlier state: kind, content or link target, and all permission bits.
func SameState(s, then deployment.Seen) bool { return EquivalentState(s, then) && s.Mode == then.Mode }

// EquivalentState is SameState, except that of the modes only the executable bit is compared.
func EquivalentState(s, then deployment.Seen) bool {
	if s.Kind != then.Kind {
		return false
	}
	switch s.Kind {
	case deployment.Regular:
		return s.Sum == then.Sum && deployment.ModeOf(s.Mode) == deployment.ModeOf(then.Mode)
	case deployment.Link:
		return s.Link == then.Link
	}
	return true
}

// SameFile reports that the file is still the very one that was looked at.
func SameFile(now, then fs.FileInfo) bool {
	if now == nil || then == nil {
		return now == nil && then == nil
	}
	return os.SameFile(now, then) && now.ModTime().Equal(then.ModTime()) && now.Size() == then.Size() && now.Mode() == then.Mode()
}

const executeBits fs.FileMode = 0o111

// FinalMode is the mode a file gets. PlainMode and ExecutableMode only say whether it may be executed: a new file's other bits are the user's umask's,
// those of one that is there stay. Any other mode is meant as it is.
func FinalMode(w deployment.Write, umask fs.FileMode) fs.FileMode {
	mode := w.After.Mode.Perm()
	switch {
	case mode != deployment.PlainMode && mode != deployment.ExecutableMode:
		return mode
	case w.Before.Kind != deployment.Regular:
		return mode &^ umask
	}
	kept := w.Before.Mode.Perm()
	if deployment.ModeOf(kept) == mode {
		return kept
	}
	if mode == deployment.PlainMode {
		return kept &^ executeBits
	}
	return kept | kept>>2&executeBits | 0o100 // whoever may read may execute
}
