package projectfile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/tasks"
)

// The bounds of a fingerprint.
const (
	maxPrintEntries = 200_000 // looked at
	maxPrintBytes   = 512 << 20
)

// Fingerprint implements projectport.Directories.
func (d *directories) Fingerprint(ctx context.Context, dir string, patterns []string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	named := slices.ContainsFunc(patterns, func(p string) bool { return strings.Contains(p, "node_modules") })
	sum, looked, found, left := sha256.New(), 0, 0, int64(maxPrintBytes)
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && (name == "." || !errors.Is(err, fs.ErrNotExist)):
			return err
		case err != nil: // it is gone
			return nil
		}
		if looked++; looked > maxPrintEntries {
			return project.ErrArgument.WithMessage("more than %d files and directories are below %s; give the step a cwd with fewer", maxPrintEntries, dir)
		}
		if entry.IsDir() {
			if entry.Name() == ".git" || entry.Name() == "node_modules" && !named {
				return fs.SkipDir
			}
			return nil
		}
		if !slices.ContainsFunc(patterns, func(p string) bool { return tasks.Fits(p, name) }) {
			return nil
		}
		found++
		return digest(sum, root, name, entry.Type(), &left)
	})
	if left < 0 {
		return "", project.ErrArgument.WithMessage("the input files below %s have more than %d MB; name fewer", dir, maxPrintBytes>>20)
	}
	if err != nil || found == 0 {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// digest adds a file: its name, its length and its content, or where a link leads.
func digest(sum hash.Hash, root *os.Root, name string, kind fs.FileMode, left *int64) error {
	switch {
	case kind&fs.ModeSymlink != 0:
		target, err := root.Readlink(name)
		fmt.Fprintf(sum, "link %q %q\n", name, target)
		return err
	case !kind.IsRegular():
		fmt.Fprintf(sum, "other %q\n", name)
		return nil
	}
	file, err := root.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	content := sha256.New()
	size, err := io.Copy(content, io.LimitReader(file, *left+1))
	if err != nil {
		return err
	}
	if *left -= size; *left < 0 {
		return fs.SkipAll
	}
	fmt.Fprintf(sum, "file %q %d %x\n", name, size, content.Sum(nil))
	return nil
}
