package docfile

import (
	"context"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"slices"

	"github.com/countersign-dev/countersign/domain/fault"
)

const (
	keySize  = 32
	lockFile = SecretKeyFile + ".lock"
	others   = fs.FileMode(0o077) // permissions that only the owner may have
)

// read returns the keys in the file. It rejects a directory or a file that others may read. It runs under mu.
func (b *SecretBox) read() (*keyRing, error) {
	dir, err := os.Stat(b.dir.Path())
	if err != nil {
		return nil, b.unusable(err)
	}
	data, info, err := b.dir.Read(SecretKeyFile, 2*keySize)
	if err != nil && !errors.Is(err, ErrTooLarge) {
		return nil, b.unusable(err)
	}
	if err != nil || len(data) != keySize && len(data) != 2*keySize {
		return nil, ErrSecretKey.WithMessage("the key %s is damaged: its size is not %d bytes; restore it from a copy, "+
			"or move it away to start with a new one, which cannot open values sealed with the old one", b.File(), keySize)
	}
	if runtime.GOOS != "windows" { // Windows has no such modes
		if mode := dir.Mode().Perm(); mode&others != 0 {
			return nil, ErrSecretKey.WithMessage("other users can read the directory of the key that seals secrets (mode %#o); run: chmod 700 %s", mode, b.dir.Path())
		}
		if mode := info.Mode().Perm(); mode&others != 0 {
			return nil, ErrSecretKey.WithMessage("other users can read the key that seals secrets (mode %#o); run: chmod 600 %s", mode, b.File())
		}
	}
	return &keyRing{info: info, masters: slices.Collect(slices.Chunk(data, keySize)), ciphers: map[purpose]cipher.AEAD{}}, nil
}

// unusable wraps a file system error with the name of the key; fs.ErrNotExist is kept.
func (b *SecretBox) unusable(err error) error {
	var said *fault.Error
	if errors.As(err, &said) {
		return err
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		return ErrSecretKey.WithMessage("the key that seals secrets cannot be used: cannot %s %s: %v", p.Op, p.Path, p.Err).WithCause(err)
	}
	return ErrSecretKey.WithMessage("the key %s that seals secrets cannot be used", b.File()).WithCause(err)
}

// create returns the keys after creating one: concurrent processes agree on the first one created.
func (b *SecretBox) create() (*keyRing, error) {
	err := b.locked(context.Background(), func() error {
		if _, err := os.Lstat(b.File()); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return b.write(fresh())
	})
	if err != nil {
		return nil, err
	}
	return b.current()
}

// locked runs f while no other process creates or replaces keys.
func (b *SecretBox) locked(ctx context.Context, f func() error) error {
	lock, err := b.dir.Lock(ctx, lockFile)
	if err != nil {
		if ended := ctx.Err(); ended != nil {
			return ended
		}
		return b.unusable(err)
	}
	defer lock.Release() //nolint:errcheck // what was done under it is done
	return f()
}

func (b *SecretBox) write(keys []byte) error {
	if err := b.dir.Write(SecretKeyFile, keys); err != nil {
		return b.unusable(err)
	}
	return nil
}

func fresh() []byte {
	key := make([]byte, keySize)
	rand.Read(key) //nolint:errcheck // it never fails
	return key
}

// Rotate replaces the key. Reseal opens everything that was sealed and seals it again, all or nothing; meanwhile both keys open and the new one
// seals, and afterwards the old one is deleted. If it is interrupted, or reseal fails, nothing is lost: everything stays readable, and the next
// Rotate continues with the same new key. It waits while another process replaces the key.
func (b *SecretBox) Rotate(ctx context.Context, reseal func() error) error {
	return b.locked(ctx, func() error {
		r, err := b.current()
		if errors.Is(err, fs.ErrNotExist) {
			if err = b.write(fresh()); err == nil {
				r, err = b.current()
			}
		}
		if err != nil {
			return err
		}
		next := r.masters[0]
		if len(r.masters) == 1 {
			next = fresh()
			if err := b.write(slices.Concat(next, r.masters[0])); err != nil {
				return err
			}
		}
		if err := reseal(); err != nil {
			return err
		}
		return b.write(next)
	})
}
