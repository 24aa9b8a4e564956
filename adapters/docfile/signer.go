package docfile

import (
	"context"
	"crypto/ed25519"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/fault"
)

// The files of a Signer: the seed of its key, and the newest head stored beside it.
const (
	SigningKeyFile = "audit.key"
	HeadFile       = "audit.head"
)

// ErrSigner is returned for a key that has signed and is now missing, different or unusable.
var ErrSigner = fault.New(fault.State, "audit_key_unusable", "the key that signs the audit log cannot be used")

// Signer is a ports.Signer: an ed25519 key in a file that only its owner may read. It is created by the first signature, and never again without an
// explicit request. It is safe for concurrent use, and several processes may use the same key.
type Signer struct {
	dir           *Dir
	home, machine string
	now           func() time.Time

	mu   sync.Mutex
	info fs.FileInfo // of the file that key was read from
	key  ed25519.PrivateKey
}

// NewSigner returns the signer whose key is in dir, for the audit log of that home on that machine. Nothing is opened before it is needed.
func NewSigner(dir, home, machine string, now func() time.Time) *Signer {
	return &Signer{dir: NewDir(dir), home: home, machine: machine, now: now}
}

// File returns the path of the key.
func (s *Signer) File() string { return s.dir.File(SigningKeyFile) }

// Key returns the key that signs after had did; a zero had means that nothing was signed yet. A missing key is created only if there has never been
// one.
func (s *Signer) Key(had audit.Key) (audit.Key, error) {
	was := had
	if was == (audit.Key{}) {
		if beside, err := s.Head(); err != nil {
			return audit.Key{}, err
		} else if beside != nil {
			was = beside.Key
		}
	}
	key, err := s.Peek()
	if errors.Is(err, fs.ErrNotExist) && was == (audit.Key{}) {
		if err = s.make(context.Background(), false); err == nil {
			key, err = s.Peek()
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return audit.Key{}, s.Missing(was)
	case err != nil:
		return audit.Key{}, err
	case was != (audit.Key{}) && key != was:
		return audit.Key{}, ErrSigner.WithMessage("the key %s is %s, but the audit log was signed with %s; restore that file from a copy, or start a new key with countersign audit key new", s.File(), key, was)
	}
	return key, nil
}

// Missing returns the error for a key that has signed and is missing.
func (s *Signer) Missing(was audit.Key) error {
	return ErrSigner.WithMessage("the key %s, which signed the audit log (%s), is missing; restore that file from a copy, or start a new key with countersign audit key new", s.File(), was)
}

// Peek returns the existing key, or fs.ErrNotExist.
func (s *Signer) Peek() (audit.Key, error) {
	k, err := s.current()
	if err != nil {
		return audit.Key{}, err
	}
	return audit.Key(k.Public().(ed25519.PublicKey)), nil
}

// Sign signs a position in the chain with that key, which Key or Renew returned.
func (s *Signer) Sign(key audit.Key, at audit.Position) (audit.Head, error) {
	k, err := s.current()
	if err != nil {
		return audit.Head{}, err
	}
	h := audit.Head{Seq: at.Seq, Hash: at.Hash, Kept: at.Kept, At: s.now().UTC().Truncate(time.Millisecond), Home: s.home, Machine: s.machine, Key: audit.Key(k.Public().(ed25519.PublicKey))}
	if h.Key != key {
		return audit.Head{}, ErrSigner.WithMessage("the key %s was replaced during this call; call again", s.File())
	}
	h.Sig = ed25519.Sign(k, h.Statement())
	return h, nil
}

// Renew replaces the key, if any, with a new one. The caller must record that.
func (s *Signer) Renew(ctx context.Context) (audit.Key, error) {
	if err := s.make(ctx, true); err != nil {
		return audit.Key{}, err
	}
	return s.Peek()
}

// Head returns the newest head stored beside the key; nil if there is none. An unreadable one is an error.
func (s *Signer) Head() (*audit.Head, error) {
	data, _, err := s.dir.Read(HeadFile, 1<<16)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // none is none
	}
	if err != nil {
		return nil, s.unusable(err)
	}
	h, err := audit.ReadHead(data)
	if err != nil {
		return nil, ErrSigner.WithMessage("%s, the recorded head of the audit log, is damaged; restore it from a copy, or rewrite it with countersign audit accept", s.dir.File(HeadFile))
	}
	return &h, nil
}

// PutHead stores a head beside the key, unless there is a newer one. Over stores it in any case.
func (s *Signer) PutHead(ctx context.Context, h audit.Head, over bool) error {
	return s.locked(ctx, func() error {
		if !over {
			have, err := s.Head()
			if err != nil || have != nil && have.Seq >= h.Seq {
				return err
			}
		}
		return s.write(HeadFile, append(h.Line(), '\n'))
	})
}

// current returns the key in the file, or fs.ErrNotExist.
func (s *Signer) current() (ed25519.PrivateKey, error) {
	info, err := os.Stat(s.File())
	if err != nil {
		return nil, s.unusable(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.key != nil && os.SameFile(s.info, info) && s.info.ModTime().Equal(info.ModTime()) && s.info.Size() == info.Size() && s.info.Mode() == info.Mode() {
		return s.key, nil
	}
	seed, info, err := s.dir.Read(SigningKeyFile, 2*ed25519.SeedSize)
	if err != nil && !errors.Is(err, ErrTooLarge) {
		return nil, s.unusable(err)
	}
	if err != nil || len(seed) != ed25519.SeedSize {
		return nil, ErrSigner.WithMessage("the key %s is damaged: its size is not %d bytes; restore it from a copy, or start a new key with countersign audit key new",
			s.File(), ed25519.SeedSize)
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&others != 0 {
		return nil, ErrSigner.WithMessage("other users can read the key that signs the audit log (mode %#o); run: chmod 600 %s", mode, s.File())
	}
	s.key, s.info = ed25519.NewKeyFromSeed(seed), info
	return s.key, nil
}

// make creates a key: concurrent processes agree on the first one. Over replaces an existing one.
func (s *Signer) make(ctx context.Context, over bool) error {
	return s.locked(ctx, func() error {
		if _, err := os.Lstat(s.File()); !over && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return s.write(SigningKeyFile, fresh())
	})
}

func (s *Signer) locked(ctx context.Context, f func() error) error {
	lock, err := s.dir.Lock(ctx, SigningKeyFile+".lock") // a separate lock: sealing holds its lock while it waits for the database, and this wait happens within it
	if err != nil {
		if ended := ctx.Err(); ended != nil {
			return ended
		}
		return s.unusable(err)
	}
	defer lock.Release() //nolint:errcheck // what was done under it is done
	return f()
}

func (s *Signer) write(name string, data []byte) error {
	if err := s.dir.Write(name, data); err != nil {
		return s.unusable(err)
	}
	return nil
}

// unusable wraps a file system error with the name of the file; fs.ErrNotExist is kept.
func (s *Signer) unusable(err error) error {
	var said *fault.Error
	if errors.As(err, &said) {
		return err
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		return ErrSigner.WithMessage("the key that signs the audit log cannot be used: cannot %s %s: %v", p.Op, p.Path, p.Err).WithCause(err)
	}
	return ErrSigner.WithMessage("the key %s that signs the audit log cannot be used", s.File()).WithCause(err)
}
