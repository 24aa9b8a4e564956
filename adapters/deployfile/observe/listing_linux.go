package observe

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// What is where in the kernel's directory entries (getdents64).
const (
	lengthAt = 16
	kindAt   = 18
	nameAt   = 19
)

// ReadDir is what stands in a directory, in no order. It is os.File.ReadDir without what that makes of every name, of which there are
// thousands.
func ReadDir(dir string) ([]DirEntry, error) {
	fd, err := again(func() (int, error) { return unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	defer unix.Close(fd) // nothing was written
	var out []DirEntry
	buffer := make([]byte, 8<<10)
	for {
		n, err := again(func() (int, error) { return unix.Getdents(fd, buffer) })
		if err != nil {
			return nil, &fs.PathError{Op: "readdirent", Path: dir, Err: err}
		}
		if n <= 0 {
			return out, nil
		}
		for rest := buffer[:n]; len(rest) > nameAt; {
			length := int(binary.NativeEndian.Uint16(rest[lengthAt:]))
			if length <= nameAt || length > len(rest) {
				return nil, &fs.PathError{Op: "readdirent", Path: dir, Err: unix.EIO}
			}
			entry := rest[:length]
			rest = rest[length:]
			name, _, _ := bytes.Cut(entry[nameAt:], []byte{0})
			if string(name) == "." || string(name) == ".." {
				continue
			}
			e := DirEntry{Path: dir + "/" + string(name)}
			if e.Kind, err = kind(entry[kindAt], e.Path); errors.Is(err, fs.ErrNotExist) {
				continue // it went meanwhile
			} else if err != nil {
				return nil, err
			}
			out = append(out, e)
		}
	}
}

// kind returns the type of the entry; it is looked up if the file system does not report it.
func kind(entry byte, path string) (fs.FileMode, error) {
	switch entry {
	case unix.DT_REG:
		return 0, nil
	case unix.DT_DIR:
		return fs.ModeDir, nil
	case unix.DT_LNK:
		return fs.ModeSymlink, nil
	case unix.DT_UNKNOWN:
		info, err := os.Lstat(path)
		if err != nil {
			return 0, err
		}
		return info.Mode().Type(), nil
	case unix.DT_FIFO:
		return fs.ModeNamedPipe, nil
	case unix.DT_SOCK:
		return fs.ModeSocket, nil
	case unix.DT_CHR:
		return fs.ModeDevice | fs.ModeCharDevice, nil
	case unix.DT_BLK:
		return fs.ModeDevice, nil
	}
	return fs.ModeIrregular, nil
}

// again does something until no signal interrupts it.
func again(do func() (int, error)) (int, error) {
	for {
		n, err := do()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
