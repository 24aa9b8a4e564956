package packfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/pack"
	"github.com/countersign-dev/countersign/ports"
)

// MaxFile is how many bytes a pack file may have. Larger ones are neither written nor read. It is four times what one message or one rendered
// pack may have, so that a pack and the snapshots of all it shows fit.
const MaxFile = 4 << 20

const (
	packsDir      = "packs"
	trashDir      = "trash"
	quarantineDir = "quarantine"

	packSuffix = ".md"
	lockSuffix = ".lock"
	createLock = packsDir + "/.create" + lockSuffix
)

// What can be wrong besides what the port says.
var (
	ErrStore    = fault.New(fault.Unavailable, "pack_store_unusable", "the pack store cannot be used")
	ErrTooLarge = fault.New(fault.Invalid, "pack_too_large", "the pack is too large to store")
)

// Store keeps packs below one directory. It opens nothing until it is used and holds nothing open, so it needs no closing. Its
// methods may run concurrently, and beside other processes on the same directory.
type Store struct {
	dir     *docfile.Dir
	clock   ports.Clock
	today   func() time.Time // what the file system's times are compared with
	index   index
	recent  recent
	cleanup cleanup
}

// New returns the store in root, which is made, 0700, when the first pack is created. clock decides what has expired.
func New(root string, clock ports.Clock) *Store {
	return &Store{dir: docfile.NewDir(root), clock: clock, today: time.Now}
}

// LookOnly makes the store delete nothing by itself: expired packs are as invisible as ever, and their files stay. Call it before use.
func (s *Store) LookOnly() *Store {
	s.cleanup.off = true
	return s
}

func packName(id pack.ID) string { return packsDir + "/" + string(id) + packSuffix }
func lockName(id pack.ID) string { return packsDir + "/" + string(id) + lockSuffix }

// Get implements packport.Reader. It looks at one file, and reads it unless it is one of those read last.
func (s *Store) Get(ctx context.Context, id pack.ID) (*pack.Pack, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if p := s.recent.unchanged(id, s.dir.File(packName(id))); p != nil {
		return s.unexpired(p)
	}
	return s.live(id)
}

// live reads a pack that has not expired, from its file in any case.
func (s *Store) live(id pack.ID) (*pack.Pack, error) {
	p, err := s.load(id)
	if err != nil {
		return nil, err
	}
	return s.unexpired(p)
}

func (s *Store) unexpired(p *pack.Pack) (*pack.Pack, error) {
	if p.Expired(s.clock.Now()) {
		return nil, notFound(p.ID())
	}
	return p, nil
}

func notFound(id pack.ID) error {
	return pack.ErrNotFound.WithMessage("pack %s not found; it may have expired", id)
}

// load reads the pack's file, and decodes it unless that was done before.
func (s *Store) load(id pack.ID) (*pack.Pack, error) {
	if _, err := pack.ParseID(string(id)); err != nil {
		return nil, notFound(id)
	}
	file := string(id) + packSuffix
	data, info, err := s.bytes(file)
	if absent(err) {
		return nil, notFound(id)
	}
	if err != nil {
		return nil, err
	}
	at, sure := s.settled(info)
	if p := s.recent.decoded(id, data, at, sure); p != nil {
		return p, nil
	}
	p, err := s.decode(file, data)
	if err == nil {
		s.recent.put(p, data, at, sure)
	}
	return p, err
}

// read restores the pack in the file of that name. What is wrong with the file is pack.ErrMalformed or pack.ErrSchema and names it; a file
// that is not there is fs.ErrNotExist.
func (s *Store) read(file string) (*pack.Pack, fs.FileInfo, error) {
	data, info, err := s.bytes(file)
	if err != nil {
		return nil, info, err
	}
	p, err := s.decode(file, data)
	return p, info, err
}

// bytes returns what is in the file of that name. Errors are those of read.
func (s *Store) bytes(file string) ([]byte, fs.FileInfo, error) {
	name := packsDir + "/" + file
	data, info, err := s.dir.Read(name, MaxFile)
	switch {
	case err == nil:
		return data, info, nil
	case absent(err):
		return nil, nil, fs.ErrNotExist
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE), errors.Is(err, syscall.ENOMEM):
		return nil, nil, ErrStore.WithMessage("%v; too many files are open, try again", err).WithCause(err)
	}
	return nil, nil, s.malformed(name, err)
}

// decode restores the pack that the file of that name holds. Errors are those of read.
func (s *Store) decode(file string, data []byte) (*pack.Pack, error) {
	name := packsDir + "/" + file
	p, err := Decode(data)
	switch {
	case errors.Is(err, pack.ErrSchema):
		return nil, pack.ErrSchema.WithMessage("%s: %v; use the version that wrote it, or set the file aside with countersign pack doctor", s.dir.File(name), err)
	case err != nil:
		return nil, s.malformed(name, err)
	case string(p.ID())+packSuffix != file:
		return nil, s.malformed(name, fmt.Errorf("it contains pack %s, whose file name is %s%s", p.ID(), p.ID(), packSuffix))
	}
	return p, nil
}

func (s *Store) malformed(name string, reason error) error {
	return pack.ErrMalformed.WithMessage("%s is not a readable pack: %s; repair it, or set it aside with countersign pack doctor",
		s.dir.File(name), reasonOf(reason))
}

// reasonOf returns the error without the path, which the message names already.
func reasonOf(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		return "cannot " + at.Op + " it: " + at.Err.Error()
	}
	var f *fault.Error
	if errors.As(err, &f) {
		return f.Message
	}
	return err.Error()
}

// absent reports a file that is not there, or cannot be because a parent is a plain file.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// Update implements packport.Writer. It never looks at another pack.
func (s *Store) Update(ctx context.Context, id pack.ID, change func(*pack.Pack) error) (*pack.Pack, error) {
	lock, err := s.lock(ctx, id)
	if err != nil {
		return nil, err
	}
	defer lock.Release()
	stored, err := s.live(id)
	if err != nil {
		return nil, err
	}
	revision := stored.Revision()
	if err := change(stored); err != nil {
		return nil, err
	}
	if stored.Revision() == revision {
		return stored, nil
	}
	if err := s.write(stored); err != nil {
		return nil, err
	}
	return stored, nil
}

// Delete implements packport.Writer: the file moves to ROOT/trash.
func (s *Store) Delete(ctx context.Context, id pack.ID, check func(*pack.Pack) error) error {
	lock, err := s.lock(ctx, id)
	if err != nil {
		return err
	}
	defer lock.Release()
	stored, err := s.live(id)
	if err != nil {
		return err
	}
	if err := check(stored); err != nil {
		return err
	}
	if _, err := s.moveAside(packName(id), trashDir); err != nil {
		return unusable("delete pack "+string(id), err)
	}
	_ = lock.Retire() // the id does not come back; a lock file left behind does no harm
	return nil
}

// lock takes a pack's lock, unless its file is not there: no lock file appears for an id that only somebody's typing error made.
func (s *Store) lock(ctx context.Context, id pack.ID) (*docfile.Lock, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if _, err := pack.ParseID(string(id)); err != nil {
		return nil, notFound(id)
	}
	if _, err := s.dir.Stat(packName(id)); absent(err) {
		return nil, notFound(id)
	}
	lock, err := s.dir.Lock(ctx, lockName(id))
	if err != nil {
		return nil, unusable("lock pack "+string(id), err)
	}
	return lock, nil
}

func (s *Store) write(p *pack.Pack) error {
	data, err := Encode(p.State())
	if err != nil {
		return err
	}
	if len(data) > MaxFile {
		return ErrTooLarge.WithMessage("pack %s would have %d bytes; the limit is %d; split it", p.ID(), len(data), MaxFile)
	}
	if err := s.dir.Write(packName(p.ID()), data); err != nil {
		return unusable("store pack "+string(p.ID()), err)
	}
	s.recent.put(p, data, stamp{}, false) // the next look compares the file with it
	return nil
}

// moveAside moves the file to dir, under its own name or, when that is taken, its name with a number, and says where it is now.
func (s *Store) moveAside(name, dir string) (moved string, err error) {
	base := name[len(packsDir)+1:]
	for i := 1; ; i++ {
		to := dir + "/" + base
		if i > 1 {
			to += fmt.Sprintf(".%d", i)
		}
		if err := s.dir.Move(name, to); !errors.Is(err, fs.ErrExist) {
			return s.dir.File(to), err
		}
	}
}

// unusable says what could not be done and the way out; errors of the context and faults stay what they are.
func unusable(what string, err error) error {
	var at *fs.PathError
	if !errors.As(err, &at) {
		return err
	}
	out := "check " + at.Path
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		out = "free some space there"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		out = "make it writable, or set CONTEXT_PACK_ROOT to a directory that is"
	case errors.Is(err, syscall.ENOTDIR):
		out = "a parent of it is a plain file; set CONTEXT_PACK_ROOT to a directory"
	}
	return ErrStore.WithMessage("cannot %s: %s %s: %v; %s", what, at.Op, at.Path, at.Err, out).WithCause(err)
}
