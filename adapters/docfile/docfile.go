package docfile

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/countersign-dev/countersign/domain/fault"
)

const (
	dirMode  fs.FileMode = 0o700
	fileMode fs.FileMode = 0o600

	tempPrefix = "."
	tempSuffix = ".tmp"
)

// The errors of documents besides those of the file system.
var (
	ErrTooLarge = fault.New(fault.Unavailable, "document_too_large", "a stored document is too large")
	ErrNotFile  = fault.New(fault.Unavailable, "document_not_a_file", "a stored document is not a regular file")
	ErrLocked   = fault.New(fault.Unavailable, "document_locked", "another process has held the lock of a document for too long")
)

// Dir is a directory of documents. Names are slash paths below it. Nothing is opened or created until it is needed, and nothing is kept open between
// calls, so the directory may disappear and reappear. The zero Dir is not usable. Methods may run concurrently.
//
// Errors of the file system are *fs.PathError with the document's full path; errors.Is(err, fs.ErrNotExist) works.
type Dir struct{ path string }

// NewDir returns the directory of that path, which need not exist.
func NewDir(dir string) *Dir { return &Dir{filepath.Clean(dir)} }

// Path returns the path of the directory.
func (d *Dir) Path() string { return d.path }

// File returns the path of the named document, for display.
func (d *Dir) File(name string) string { return filepath.Join(d.path, filepath.FromSlash(name)) }

// Read returns the whole document and the file information of exactly the file that was read. A symbolic link is followed within the directory. A
// document over limit bytes fails with ErrTooLarge, anything but a regular file with ErrNotFile.
func (d *Dir) Read(name string, limit int64) ([]byte, fs.FileInfo, error) {
	root, err := d.open()
	if err != nil {
		return nil, nil, d.in("open", name, err)
	}
	defer root.Close()
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe must not block
	if err != nil {
		return nil, nil, d.in("open", name, err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, nil, d.in("stat", name, err)
	case !info.Mode().IsRegular():
		return nil, nil, ErrNotFile.WithMessage("%s is not a regular file", d.File(name))
	case info.Size() > limit:
		return nil, nil, d.tooLarge(name, limit)
	}
	data := make([]byte, 0, info.Size()+1)
	for { // like io.ReadAll, in one allocation if the size is right
		n, err := f.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case errors.Is(err, io.EOF):
			return data, info, nil
		case err != nil:
			return nil, nil, d.in("read", name, err)
		case int64(len(data)) > limit:
			return nil, nil, d.tooLarge(name, limit)
		case len(data) == cap(data):
			data = append(data, 0)[:len(data)]
		}
	}
}

func (d *Dir) tooLarge(name string, limit int64) error {
	return ErrTooLarge.WithMessage("%s is larger than %d bytes", d.File(name), limit)
}

// Stat describes the document; a symbolic link is followed within the directory.
func (d *Dir) Stat(name string) (fs.FileInfo, error) {
	root, err := d.open()
	if err != nil {
		return nil, d.in("stat", name, err)
	}
	defer root.Close()
	info, err := root.Stat(name)
	return info, d.in("stat", name, err)
}

// Write stores data as the document and replaces an existing one. If it returns nil, the document survives a crash of the machine; if it fails, or
// the process dies, the document is unchanged. The exception is an error whose Op is "sync": the new document is there, but may not survive a crash.
// Missing directories are created.
func (d *Dir) Write(name string, data []byte) error { return d.WriteMode(name, data, fileMode) }

// WriteParts is Write for a document that is in several pieces.
func (d *Dir) WriteParts(name string, parts ...[]byte) error { return d.write(name, parts, fileMode) }

// WriteMode is Write for a document with permissions of its own, whatever the umask.
func (d *Dir) WriteMode(name string, data []byte, mode fs.FileMode) error {
	return d.write(name, [][]byte{data}, mode)
}

func (d *Dir) write(name string, parts [][]byte, mode fs.FileMode) error {
	root, err := d.openFor(name)
	if err != nil {
		return d.in("write", name, err)
	}
	defer root.Close()
	temp := path.Join(path.Dir(name), tempPrefix+path.Base(name)+"."+rand.Text()+tempSuffix)
	if err := writeSynced(root, temp, parts, mode); err != nil {
		_ = root.Remove(temp)
		return d.in("write", name, err)
	}
	if err := root.Rename(temp, name); err != nil {
		_ = root.Remove(temp)
		return d.in("write", name, err)
	}
	return d.in("sync", name, syncDir(root, path.Dir(name)))
}

func writeSynced(root *os.Root, name string, parts [][]byte, mode fs.FileMode) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	for _, part := range parts {
		if err == nil {
			_, err = f.Write(part)
		}
	}
	if err == nil && mode != fileMode { // not earlier: no other user reads it before it is complete
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// Remove deletes the document. A missing one is not an error.
func (d *Dir) Remove(name string) error {
	root, err := d.open()
	if err == nil {
		defer root.Close()
		err = root.Remove(name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return d.in("remove", name, err)
}

// Move renames the document durably and creates the target directory. It fails with fs.ErrExist instead of replacing a document; the caller must hold
// a lock that prevents others from creating one.
func (d *Dir) Move(from, to string) error {
	root, err := d.openFor(to)
	if err != nil {
		return d.in("move", to, err)
	}
	defer root.Close()
	if _, err := root.Lstat(to); err == nil {
		return d.in("move", to, fs.ErrExist)
	}
	if err := root.Rename(from, to); err != nil {
		return d.in("move", from, err)
	}
	err = syncDir(root, path.Dir(to))
	if err == nil {
		err = syncDir(root, path.Dir(from))
	}
	return d.in("sync", to, err)
}

// Sweep removes the temporary files of dead writers in sub that are older than age, and returns their number.
func (d *Dir) Sweep(sub string, age time.Duration) (removed int, err error) {
	err = d.Scan(sub, func(name string, info func() (fs.FileInfo, error)) error {
		if !IsTemp(name) {
			return nil
		}
		at, err := info()
		if err != nil || !at.Mode().IsRegular() || time.Since(at.ModTime()) < age {
			return nil // gone, not ours, or possibly still being written
		}
		if d.Remove(path.Join(sub, name)) == nil {
			removed++
		}
		return nil
	})
	return removed, err
}

// IsTemp reports whether a document is written under that name before it gets its own.
func IsTemp(name string) bool {
	return strings.HasPrefix(name, tempPrefix) && strings.HasSuffix(name, tempSuffix)
}

// Scan calls visit for the names in sub, unordered, until it fails. info reads the file information when called; a symbolic link is followed within
// the directory. A missing sub fails with fs.ErrNotExist.
func (d *Dir) Scan(sub string, visit func(name string, info func() (fs.FileInfo, error)) error) error {
	root, err := d.open()
	if err != nil {
		return d.in("open", sub, err)
	}
	defer root.Close()
	inner, err := root.OpenRoot(sub)
	if err != nil {
		return d.in("open", sub, notDir(err, func() (fs.FileInfo, error) { return root.Stat(sub) }))
	}
	defer inner.Close()
	names, err := namesIn(inner)
	if err != nil {
		return d.in("list", sub, err)
	}
	var name string
	info := func() (fs.FileInfo, error) {
		at, err := inner.Lstat(name)
		if err == nil && at.Mode()&fs.ModeSymlink != 0 {
			at, err = root.Stat(path.Join(sub, name)) // a link may lead to a sibling of sub
			if _, gone := os.Stat(d.File(path.Join(sub, name))); errors.Is(gone, fs.ErrNotExist) {
				err = gone // a dangling link is ignored, wherever it leads
			}
		}
		return at, d.in("stat", path.Join(sub, name), err)
	}
	for _, name = range names {
		if err := visit(name, info); err != nil {
			return err
		}
	}
	return nil
}

func namesIn(root *os.Root) ([]string, error) {
	f, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

func (d *Dir) open() (*os.Root, error) {
	root, err := os.OpenRoot(d.path)
	if err != nil {
		return nil, notDir(err, func() (fs.FileInfo, error) { return os.Stat(d.path) })
	}
	return root, nil
}

// notDir returns ENOTDIR for an error that os.Root gives no errno: the root is not a directory.
func notDir(err error, stat func() (fs.FileInfo, error)) error {
	if info, statErr := stat(); statErr == nil && !info.IsDir() {
		return syscall.ENOTDIR
	}
	return err
}

// openFor opens the directory for a change of name, and creates it and name's parents if they are missing.
func (d *Dir) openFor(name string) (*os.Root, error) {
	root, err := d.open()
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeDirs(d.path); err != nil {
			return nil, err
		}
		root, err = d.open()
	}
	if err != nil {
		return nil, err
	}
	parent := path.Dir(name)
	if _, err := root.Stat(parent); errors.Is(err, fs.ErrNotExist) {
		err := root.MkdirAll(parent, dirMode)
		if err == nil {
			err = syncDir(root, path.Dir(parent))
		}
		if err != nil {
			return nil, errors.Join(err, root.Close())
		}
	}
	return root, nil
}

// makeDirs creates the directory and its parents; each new one is made durable in its parent.
func makeDirs(dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(dir)
	if err := makeDirs(parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	f, err := os.Open(parent)
	if err != nil {
		return nil // a parent that we can enter but not read cannot be synced
	}
	return errors.Join(syncDoc(f), f.Close())
}

func syncDir(root *os.Root, name string) error {
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(syncDoc(f), f.Close())
}

// syncDoc tolerates file systems that cannot sync a directory.
func syncDoc(dir *os.File) error {
	if err := dir.Sync(); !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}

// in adds the document's full path to a file system error; nil stays nil.
func (d *Dir) in(op, name string, err error) error {
	if err == nil {
		return nil
	}
	cause := err
	var at *fs.PathError
	var link *os.LinkError
	var call *os.SyscallError
	switch {
	case errors.As(err, &at):
		cause = at.Err
	case errors.As(err, &link):
		cause = link.Err
	case errors.As(err, &call):
		cause = call.Err
	}
	return &fs.PathError{Op: op, Path: d.File(name), Err: cause}
}
