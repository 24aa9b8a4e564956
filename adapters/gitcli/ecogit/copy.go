package ecogit

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/fault"
)

// duplicate copies a directory with modes, times and links, and reads the copy again: it is the same, or it fails.
func duplicate(ctx context.Context, from, to string) error {
	type late struct {
		path string
		info fs.FileInfo
	}
	var dirs []late // their modes and times come last: files are put into them
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case d.IsDir():
			dirs = append(dirs, late{target, info})
			return os.MkdirAll(target, trashDirMode)
		case info.Mode()&fs.ModeSymlink != 0:
			link, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(link, target)
		case info.Mode().IsRegular():
			return file(path, target, info)
		}
		return nil // sockets and pipes hold nothing
	})
	for i := len(dirs) - 1; i >= 0 && err == nil; i-- {
		err = errors.Join(syncDir(dirs[i].path), os.Chmod(dirs[i].path, dirs[i].info.Mode().Perm()), os.Chtimes(dirs[i].path, time.Time{}, dirs[i].info.ModTime()))
	}
	if ctx.Err() != nil {
		return fault.From(ctx.Err())
	}
	return failed(from+" cannot be copied to "+to+"; it was not changed", err)
}

// file copies one file and compares what was written with what was read.
func file(from, to string, info fs.FileInfo) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	wrote, again := sha256.New(), sha256.New()
	if _, err := io.Copy(io.MultiWriter(out, wrote), in); err != nil {
		return err
	}
	if err := out.Sync(); err != nil {
		return err
	}
	if _, err := out.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if _, err := io.Copy(again, out); err != nil {
		return err
	}
	if string(wrote.Sum(nil)) != string(again.Sum(nil)) {
		return ecosystem.ErrStorage.WithMessage("%s differs from what was written to it", to)
	}
	return errors.Join(os.Chmod(to, info.Mode().Perm()), os.Chtimes(to, time.Time{}, info.ModTime()))
}

// RemoveTree removes a directory with everything in it, also what may not be written. One that is gone is not an error.
func RemoveTree(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, trashDirMode)
		}
		return nil
	})
	return failed(dir+" cannot be removed", os.RemoveAll(dir))
}

// MakeParentDir makes the directory that a file will be in.
func MakeParentDir(file string) error {
	return failed(file+" cannot be written", os.MkdirAll(filepath.Dir(file), trashDirMode))
}

// SyncToDisk has a file and its directory survive a crash of the machine.
func SyncToDisk(file string) error {
	f, err := os.Open(file)
	if err == nil {
		err = errors.Join(f.Sync(), f.Close(), syncDir(filepath.Dir(file)))
	}
	return failed(file+" cannot be synced to disk", err)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
