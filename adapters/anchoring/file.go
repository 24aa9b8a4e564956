package anchoring

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/countersign-dev/countersign/domain/audit"
)

// file is a Place: signed heads as lines of JSON in a file, which may be on other media. Several homes may share one.
type file struct{ path string }

// most is the maximum number of bytes read from an anchor.
const most = 1 << 30

// OpenFile returns the place of that name. The file need not exist, but the directory must.
func OpenFile(path string) (*file, error) {
	if !filepath.IsAbs(path) {
		return nil, ErrAnchor.WithMessage("invalid anchor file %q; use an absolute path", path)
	}
	return &file{filepath.Clean(path)}, nil
}

// Put appends the head durably. The mark is the size of the file: it never shrinks.
func (f *file) Put(_ context.Context, h audit.Head, mark string) (string, error) {
	out, err := os.OpenFile(f.path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return mark, f.unusable(err)
	}
	defer out.Close() //nolint:errcheck // it was synced
	size, err := f.check(out, mark)
	if err != nil {
		return mark, err
	}
	line := append(h.Line(), '\n')
	if size > 0 {
		end := make([]byte, 1)
		if _, err := out.ReadAt(end, size-1); err != nil {
			return mark, f.unusable(err)
		}
		if end[0] != '\n' { // a process died while writing a line
			line = append([]byte{'\n'}, line...)
		}
	}
	if _, err := out.Write(line); err != nil {
		return mark, f.unusable(err)
	}
	if err := out.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return mark, f.unusable(err)
	}
	return strconv.FormatInt(size+int64(len(line)), 10), nil
}

// check returns the size of the file, which must be a regular file and not smaller than the mark says.
func (f *file) check(in *os.File, mark string) (int64, error) {
	info, err := in.Stat()
	switch {
	case err != nil:
		return 0, f.unusable(err)
	case !info.Mode().IsRegular():
		return 0, ErrAnchor.WithMessage("the anchor %s is not a regular file", f.path)
	}
	if was, err := strconv.ParseInt(mark, 10, 64); err == nil && info.Size() < was {
		return 0, audit.ErrContradicted.WithMessage("the file %s was truncated: it has %d bytes and had %d", f.path, info.Size(), was)
	}
	return info.Size(), nil
}

// Heads returns the heads in the file, and the number of invalid lines.
func (f *file) Heads(_ context.Context, mark string) ([]audit.Head, int, error) {
	in, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) && mark == "" {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, f.unusable(err)
	}
	defer in.Close() //nolint:errcheck // it was only read
	if _, err := f.check(in, mark); err != nil {
		return nil, 0, err
	}
	text, err := io.ReadAll(io.LimitReader(in, most))
	if err != nil {
		return nil, 0, f.unusable(err)
	}
	heads, odd := lines(text)
	return heads, odd, nil
}

// lines returns the heads in a text, and the number of invalid lines.
func lines(text []byte) (heads []audit.Head, odd int) {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		h, err := audit.ReadHead(line)
		if err != nil {
			odd++
			continue
		}
		heads = append(heads, h)
	}
	return heads, odd
}

func (f *file) unusable(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return ErrAnchor.WithMessage("cannot %s %s: %v", p.Op, p.Path, p.Err).WithCause(err)
	}
	return ErrAnchor.WithMessage("the file %s cannot be used", f.path).WithCause(err)
}
