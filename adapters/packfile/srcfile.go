package packfile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/pack"
	"github.com/countersign-dev/countersign/ports/packport"
)

const (
	// MaxLine is how many bytes a line that is handed out may have, its line end not counted. Longer ones that are skipped do no harm.
	MaxLine = 1 << 20

	chunkSize = 128 << 10
)

// Source reads below its roots. Its methods may run concurrently.
type Source struct {
	roots  map[pack.Root]string
	chunks sync.Pool
	mu     sync.Mutex
	inUse  map[string]*shared // by directory
}

// shared is a root that reads under way have open together. The last one closes it, so nothing stays open between calls.
type shared struct {
	*os.Root
	readers int
}

// enter opens the directory, or joins those that have it open.
func (s *Source) enter(dir string) (*shared, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.inUse[dir]
	if r == nil {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, err
		}
		r = &shared{Root: root}
		s.inUse[dir] = r
	}
	r.readers++
	return r, nil
}

func (s *Source) leave(dir string, r *shared) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.readers--; r.readers == 0 {
		delete(s.inUse, dir)
		r.Close() //nolint:errcheck // it was only looked into
	}
}

// NewSource reads below the given directories; the default root has the name "". A directory that does not exist is not an error: every file in it is
// missing (context-pack contract §6.6).
func NewSource(roots map[pack.Root]string) *Source {
	s := &Source{roots: make(map[pack.Root]string, len(roots)), inUse: map[string]*shared{}}
	for name, dir := range roots {
		s.roots[name] = filepath.Clean(dir)
	}
	s.chunks.New = func() any { return new([chunkSize]byte) }
	return s
}

// Read implements packport.Excerpts.
func (s *Source) Read(ctx context.Context, at packport.Location, from int, visit func(n int, line []byte) (next int)) (lines int, err error) {
	dir, known := s.roots[at.Root]
	if !known {
		return 0, packport.ErrRoot.WithMessage("source root %q not found", at.Root)
	}
	root, err := s.enter(dir)
	if err != nil {
		return 0, refusal(at, err)
	}
	defer s.leave(dir, root)
	f, err := open(root.Root, dir, string(at.Path))
	if err != nil {
		return 0, refusal(at, err)
	}
	defer f.Close()
	chunk := s.chunks.Get().(*[chunkSize]byte)
	defer s.chunks.Put(chunk)
	w := walk{ctx: ctx, file: f, chunk: chunk[:], line: 1}
	if lines, err = w.run(max(from, 1), visit); err != nil {
		return lines, refusal(at, err)
	}
	return lines, nil
}

// open opens the regular file of that slash path below root, which is dir. os.Root follows relative links inside the root by itself; what it refuses is
// looked at again with all links resolved, because it also refuses absolute links that lead back inside.
func open(root *os.Root, dir, path string) (*os.File, error) {
	f, err := regular(root, filepath.FromSlash(path))
	switch {
	case err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission):
		return f, err
	case errors.Is(err, packport.ErrDirectory) || errors.Is(err, packport.ErrNotFile) || errors.Is(err, syscall.ENOTDIR):
		return nil, err
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	target, err := filepath.EvalSymlinks(filepath.Join(real, filepath.FromSlash(path)))
	if err != nil {
		return nil, err
	}
	inside, err := filepath.Rel(real, target)
	if err != nil || !filepath.IsLocal(inside) {
		return nil, packport.ErrOutside
	}
	return regular(root, inside) // through the root again: nothing that changed meanwhile leads out
}

// regular opens a regular file. O_NONBLOCK keeps a pipe without a writer from blocking the open.
func regular(root *os.Root, name string) (*os.File, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		if errors.Is(err, syscall.ENXIO) { // a socket, or a device without a driver
			return nil, packport.ErrNotFile
		}
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case info.IsDir():
		err = packport.ErrDirectory
	case !info.Mode().IsRegular():
		err = packport.ErrNotFile
	default:
		return f, nil
	}
	return nil, errors.Join(err, f.Close())
}

// refusal names the path as the pack does, never a place outside the root.
func refusal(at packport.Location, err error) error {
	where := string(at.Path)
	if at.Root != "" {
		where = string(at.Root) + ":" + where
	}
	var found *fault.Error
	var file *fs.PathError
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return packport.ErrMissing.WithMessage("%s does not exist under source root", where)
	case errors.Is(err, syscall.ENOTDIR):
		return packport.ErrNotFile.WithMessage("%s: a part of the path is a file, not a directory", where)
	case errors.As(err, &found):
		return found.WithMessage("%s: %s", where, found.Message)
	case errors.As(err, &file):
		return packport.ErrDenied.WithMessage("%s cannot be read: %v", where, file.Err)
	}
	return packport.ErrDenied.WithMessage("%s cannot be read", where).WithCause(err)
}
