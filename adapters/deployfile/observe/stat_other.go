//go:build !linux

package observe

import (
	"io/fs"
	"os"
	"syscall"
)

// Lstat is what the file system says of path itself, links not followed. Errors are those of os.Lstat.
func Lstat(path string) (stat, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return stat{}, err
	}
	return StatOf(info), nil
}

// stampOf trusts nothing: what this system says of a file has not been tried, so every file is hashed every time.
func stampOf(fs.FileInfo) stamp { return stamp{} }

// directory is the one that the last path stood in; here nothing is gained from knowing it.
type directory struct{}

func (directory) lstat(path string) (stat, error) { return Lstat(path) }

// open opens a file for reading, a symbolic link followed. A pipe does not block.
func (directory) open(path string) (file, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	return file{f}, err
}

func (directory) close() {}

// file is an open file.
type file struct{ *os.File }

func (f file) stat() (stat, error) {
	info, err := f.Stat()
	if err != nil {
		return stat{}, err
	}
	return StatOf(info), nil
}
